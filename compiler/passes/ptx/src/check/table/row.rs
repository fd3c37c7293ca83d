//! One form of an instruction: a row of the table.

use std::fmt;

use super::super::needs::{Needs, PtxTarget, PtxVersion};
use super::super::scalar::Scalar;
use super::names::{Mnemonic, Modifier};

/// One form of an instruction.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// The family: the name of the file in `check/instructions`, without its extension.
    pub family: &'static str,
    /// `add`
    pub mnemonic: &'static str,
    /// The instruction.
    pub instruction: Mnemonic,
    /// The modifiers; the first [`leading`](Row::leading) belong to the name.
    pub groups: &'static [Group],
    /// The [traces](trace) of all modifiers of the groups.
    pub traces: u64,
    /// The traces of the modifiers of each of the first required groups; 0 after the last.
    pub demanded: [u64; 4],
    /// The number of groups that directly follow the mnemonic, in order. The other groups may come
    /// in any order, but groups that share an alternative (such as two types) are filled from left
    /// to right.
    pub leading: usize,
    /// The operands in order, destinations first.
    pub operands: &'static [Operand],
    /// The requirements of the form.
    pub needs: Needs,
    /// The PTX version that removed the form for targets of this number and later.
    pub until: Option<(PtxVersion, u32)>,
    /// The PTX version from which targets of this number and later lack the form. Modules of such a
    /// version and target do not see the row, so findings about them never mention it.
    pub before: Option<(PtxVersion, u32)>,
    /// Whether earlier targets get the form anyway: legalization splits it into what they have.
    pub splits: bool,
}

/// Modifiers that exclude each other.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    /// Whether its members are types, state spaces or layouts. These keep their order, since
    /// `cvt.f16.u16` is not `cvt.u16.f16`.
    pub keeps_order: bool,
    /// The name by which operands refer to the group.
    pub label: Option<&'static str>,
    /// The alternatives, at least one.
    pub choices: &'static [Choice],
    /// Whether one of them is required.
    pub presence: Presence,
}

/// Whether a modifier is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is required.
    Required,
    /// It is optional and has no default.
    Optional,
    /// It is optional, with this choice as the default.
    Default(u8),
    /// It is required if that group has a modifier, and forbidden otherwise.
    With(usize),
}

/// One modifier without its dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The modifier.
    pub text: &'static str,
    /// The type that it names, if it names one.
    pub scalar: Option<Scalar>,
    /// The modifier, if it names no type.
    pub modifier: Option<Modifier>,
    /// Its requirements beyond those of the form.
    pub needs: Needs,
}

/// One operand of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Whether it is written.
    pub written: bool,
    /// When it is present.
    pub presence: OperandPresence,
    /// The kind of the operand.
    pub kind: Kind,
}

/// When an operand is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandPresence {
    /// Always.
    Always,
    /// If the number of operands says so.
    Optional,
    /// If that group has a modifier.
    With(usize),
}

/// The kind of an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A register or a constant.
    Value(Value),
    /// Only a constant.
    Constant(Option<&'static Range>),
    /// `[a]` in a state space.
    Address(AddressSpace),
    /// `[tex, {x, y}]`
    Texture,
    /// `{a, b}` whose elements together have the size of the type.
    Pack(TypeOf),
    /// Anything.
    Any,
    /// Only `_`.
    Discard,
    /// A label.
    Label,
    /// The name of a `.branchtargets` list.
    TargetList,
    /// All operands of a `call`.
    Call,
}

/// The state space of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressSpace {
    /// The generic address space, or any.
    Any,
    /// The space that the modifier of that group names; any space without it.
    Group(usize),
    /// Always this one.
    Fixed(&'static str),
    /// Tensor memory, whose addresses have 32 bits and no variables.
    Tensor,
}

/// A register or constant, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The type of one.
    pub ty: TypeOf,
    /// Whether the register may be wider than the type (`ld`, `st`, `cvt`).
    pub wider: bool,
    /// Whether the address of a variable or function is allowed (`mov`).
    pub symbol: bool,
    /// Whether a special register is allowed.
    pub special: bool,
    /// Whether `_` is allowed.
    pub discard: bool,
    /// Whether a `!` before the operand is allowed.
    pub negated: bool,
    /// Whether a part may be selected, as in `a.b0`, and a `-` before it is allowed (video
    /// instructions).
    pub selected: bool,
    /// The number of elements.
    pub lanes: Lanes,
    /// A second destination after `|`, and whether it is optional.
    pub second: Option<(TypeOf, bool)>,
    /// The range of a constant.
    pub range: Option<&'static Range>,
}

/// The number of elements of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// Not a vector.
    One,
    /// The number at the end of that group's modifier: 2 for `v2` or `x2`; not a vector without it.
    Group(usize),
    /// The number at the end of that group's modifier, times this factor.
    Multiple(usize, u32),
    /// The number of columns of the shape in that group, divided by a number: 32 for `m64n128k16`
    /// by 4.
    Columns(usize, u32),
    /// A vector of this many elements.
    Fixed(u32),
    /// A vector of any size.
    Any,
}

/// One of 64 bits for a modifier. Modifiers share bits, so a missing trace proves that the form
/// does not have the modifier.
pub fn trace(modifier: &str) -> u64 {
    let mix = |sum: u32, byte: u8| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    1 << (modifier.bytes().fold(0x811c_9dc5, mix) >> 26)
}

/// The columns of a shape such as `m64n128k16`: the number after the `n`.
pub fn columns_of(shape: &str) -> Option<u32> {
    shape.split_once('n')?.1.split_once('k')?.0.parse().ok()
}

/// The type of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeOf {
    /// Always this one.
    Fixed(Scalar),
    /// The modifier of that group.
    Group(usize),
    /// Twice as wide as the modifier of that group.
    Wide(usize),
}

/// The values that a constant may have.
#[derive(Debug, PartialEq, Eq)]
pub struct Range {
    /// The description of the constant, with its article: `a barrier number`.
    pub noun: &'static str,
    /// The least.
    pub least: i64,
    /// The greatest.
    pub greatest: i64,
    /// The constant must be a multiple of this; 1 allows all values.
    pub multiple: i64,
    /// A multiple inside the range that is not allowed.
    pub except: Option<i64>,
    /// The reason for the range.
    pub rule: Option<&'static str>,
    /// The help for a constant outside the range.
    pub help: Option<&'static str>,
}

impl Row {
    /// Whether modules of that version and target see the row.
    pub fn is_seen(&self, version: PtxVersion, target: PtxTarget) -> bool {
        self.before.is_none_or(|(end, number)| version < end || target.number < number)
    }

    /// Whether a group is part of the instruction's name, as `.init` is of `mbarrier.init`: a
    /// single unlabelled modifier that is always required directly after the mnemonic.
    pub fn is_name(&self, group: usize) -> bool {
        group < self.leading && self.groups[group].is_name()
    }
}

impl Group {
    /// See [`Row::is_name`]; for a group that directly follows the mnemonic.
    pub fn is_name(&self) -> bool {
        self.presence == Presence::Required && self.choices.len() == 1 && self.label.is_none()
    }
}

impl fmt::Display for Row {
    /// The form as the manuals write it: `add{.rn|.rz|.rm|.rp}{.ftz}{.sat}.f32`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic)?;
        for group in self.groups {
            let optional = group.presence != Presence::Required;
            let bracket =
                if optional { Some(('{', '}')) } else { (group.choices.len() > 1).then_some(('(', ')')) };
            if let Some((open, _)) = bracket {
                write!(f, "{open}")?;
            }
            for (index, choice) in group.choices.iter().enumerate() {
                write!(f, "{}.{}", if index > 0 { "|" } else { "" }, choice.text)?;
            }
            if let Some((_, close)) = bracket {
                write!(f, "{close}")?;
            }
        }
        Ok(())
    }
}
