//! One form of an instruction, as a row of the table says it.

use std::fmt;

use super::super::needs::{Needs, PtxVersion};
use super::super::scalar::Scalar;
use super::names::{Mnemonic, Modifier};

/// One form of an instruction.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// `add`
    pub mnemonic: &'static str,
    /// The instruction.
    pub instruction: Mnemonic,
    /// The modifiers; the first [`leading`](Row::leading) belong to the name.
    pub groups: &'static [Group],
    /// The [traces](trace) of all modifiers of the groups.
    pub traces: u64,
    /// Of each of the first groups that have to be there, the traces of its modifiers; 0 behind the last.
    pub demanded: [u64; 4],
    /// How many groups stand directly behind the mnemonic, in order; the others stand in any order, but
    /// those that share an alternative (such as two types) take theirs from left to right.
    pub leading: usize,
    /// The operands in order, destinations first.
    pub operands: &'static [Operand],
    /// What the form needs.
    pub needs: Needs,
    /// The PTX version from which targets of this number and later don't have the form any more.
    pub until: Option<(PtxVersion, u32)>,
    /// Whether targets before those that it needs get it all the same: legalization splits it into what they have.
    pub splits: bool,
}

/// Modifiers of which an instruction has at most one.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    /// Whether its members are types, state spaces or layouts: they keep their order, since `cvt.f16.u16` is
    /// not `cvt.u16.f16`.
    pub keeps_order: bool,
    /// The name by which operands refer to the group.
    pub label: Option<&'static str>,
    /// At least one.
    pub choices: &'static [Choice],
    /// Whether one has to be written.
    pub presence: Presence,
}

/// Whether a modifier has to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It has.
    Required,
    /// It may be left out, and then nothing takes its place.
    Optional,
    /// Left out, this choice is meant.
    Default(u8),
    /// It has if that group has a modifier, and may not be written otherwise.
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
    /// What it needs beyond what the form needs.
    pub needs: Needs,
}

/// One operand of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Whether it is written.
    pub written: bool,
    /// When it is there.
    pub presence: OperandPresence,
    /// What stands there.
    pub kind: Kind,
}

/// When an operand is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandPresence {
    /// Always.
    Always,
    /// Where the number of operands says so.
    Optional,
    /// If that group has a modifier.
    With(usize),
}

/// What stands in an operand's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A register or a constant.
    Value(Value),
    /// A constant alone.
    Constant(Option<&'static Range>),
    /// `[a]` in a state space.
    Address(AddressSpace),
    /// `[tex, {x, y}]`
    Texture,
    /// `{a, b}` whose elements together have the size of the type.
    Pack(TypeOf),
    /// Anything.
    Any,
    /// `_` alone.
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
    /// What the modifier of that group says; any, if there is none.
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
    /// Whether the address of a variable or function may stand there (`mov`).
    pub symbol: bool,
    /// Whether a special register may stand there.
    pub special: bool,
    /// Whether `_` may stand there.
    pub discard: bool,
    /// Whether `!` may stand in front.
    pub negated: bool,
    /// Whether a part may be selected, `a.b0`, and `-` may stand in front (video instructions).
    pub selected: bool,
    /// How many.
    pub lanes: Lanes,
    /// A second destination behind `|`, and whether it may be left out.
    pub second: Option<(TypeOf, bool)>,
    /// The range of a constant.
    pub range: Option<&'static Range>,
}

/// The number of elements of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// No vector.
    One,
    /// As many as the modifier of that group ends in: 2 for `v2` or `x2`; no vector without it.
    Group(usize),
    /// So many times what the modifier of that group ends in.
    Multiple(usize, u32),
    /// The columns of the shape that the modifier of that group is, divided by a number: 32 for
    /// `m64n128k16` by 4.
    Columns(usize, u32),
    /// A vector of so many.
    Fixed(u32),
    /// A vector of any size.
    Any,
}

/// One bit of 64 for a modifier, which others share: what a row has no trace of is no modifier of the form.
pub fn trace(modifier: &str) -> u64 {
    let mix = |sum: u32, byte: u8| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    1 << (modifier.bytes().fold(0x811c_9dc5, mix) >> 26)
}

/// The columns of a shape such as `m64n128k16`: the number behind the `n`.
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
    /// What the constant is, with its article: `a barrier number`.
    pub noun: &'static str,
    /// The least.
    pub least: i64,
    /// The greatest.
    pub greatest: i64,
    /// What it is a multiple of; 1 for anything.
    pub multiple: i64,
    /// A multiple in between that it is not.
    pub except: Option<i64>,
    /// Why there is such a range.
    pub rule: Option<&'static str>,
    /// What to do about a constant outside of it.
    pub help: Option<&'static str>,
}

impl Row {
    /// Whether a group is part of the instruction's name, as `.init` is of `mbarrier.init`: one modifier alone that stands directly
    /// after the mnemonic, always, and without a label.
    pub fn is_name(&self, group: usize) -> bool {
        group < self.leading && self.groups[group].is_name()
    }
}

impl Group {
    /// See [`Row::is_name`], of a group that stands directly after the mnemonic.
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
