//! Instructions made from the rows of the checker's table, with chosen modifiers.

use ptxc_ptx::check::env::{PtxTarget, PtxVersion};
use ptxc_ptx::check::table::{
    Kind, Lanes, Operand as RowOperand, OperandPresence, Presence, Row, TABLE, TypeOf,
};
use ptxc_ptx::check::types::{Class, Scalar};

/// The version in which the instructions must exist.
pub const VERSION: PtxVersion = PtxVersion(9, 0);
/// The target on which the instructions must exist.
pub const TARGET: &str = "sm_90";

/// The instructions that compute in registers and among the lanes of a warp.
const MNEMONICS: &[&str] = &[
    "add",
    "addc",
    "sub",
    "subc",
    "mul",
    "mad",
    "madc",
    "mul24",
    "mad24",
    "sad",
    "abs",
    "neg",
    "min",
    "max",
    "dp4a",
    "dp2a",
    "and",
    "or",
    "xor",
    "not",
    "cnot",
    "lop3",
    "shl",
    "shr",
    "shf",
    "popc",
    "clz",
    "brev",
    "bfind",
    "bfe",
    "bfi",
    "bmsk",
    "szext",
    "fns",
    "prmt",
    "setp",
    "set",
    "selp",
    "slct",
    "shfl",
    "vote",
    "match",
    "redux",
    "activemask",
    "elect",
    "mov",
    "cvt",
    "fma",
    "sin",
    "cos",
    "lg2",
    "ex2",
    "tanh",
    "copysign",
    "testp",
    "nanosleep",
];

/// The instructions that are sequences or calls of routines.
const SEQUENCES: &[&str] = &["div", "rem", "rcp", "sqrt", "rsqrt"];

/// An operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// A register that is written, and an optional second one after `|`.
    Dest(Scalar, Option<Scalar>),
    /// A register or constant; a constant is at most the number.
    Source(Scalar, Option<u64>),
    /// A constant from 0 to this number.
    Constant(u64),
    /// Two registers that are written together.
    DestPair(Scalar),
    /// Two registers that are read together.
    SourcePair(Scalar),
}

/// The opcodes of a family that exist on [`TARGET`]: all of a small row, and of a larger one those
/// with a new pair of modifiers.
pub fn opcodes(family: &str) -> Vec<String> {
    const SMALL: usize = 300;
    let mut list = Vec::new();
    for row in TABLE.rows().iter().filter(|row| row.family == family && exists(row)) {
        let count: usize = row.groups.iter().map(|group| group.choices.len()).product();
        choices(row, &mut |chosen, is_new| {
            if count > SMALL && !is_new {
                return;
            }
            let mut opcode = row.mnemonic.to_string();
            for (group, choice) in row.groups.iter().zip(chosen) {
                if let Some(choice) = choice {
                    opcode = format!("{opcode}.{}", group.choices[*choice].text);
                }
            }
            list.push(opcode);
        });
    }
    list
}

/// An instruction without names for its operands.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The opcode with its modifiers.
    pub opcode: String,
    /// The operands in order.
    pub operands: Vec<Operand>,
    /// The text before and after each operand: the signs and selectors of video instructions. An
    /// operand without an entry has none.
    pub marks: Vec<(&'static str, String)>,
}

impl Sample {
    /// The text before and after an operand.
    pub fn mark(&self, index: usize) -> (&'static str, &str) {
        self.marks.get(index).map_or(("", ""), |(before, after)| (*before, after.as_str()))
    }

    /// The parts of the opcode.
    pub fn parts(&self) -> Vec<&str> {
        self.opcode.split('.').collect()
    }

    /// Whether an operand is the set of participating lanes.
    pub fn is_mask(&self, index: usize) -> bool {
        let warp = matches!(self.mnemonic(), "shfl" | "vote" | "match" | "redux" | "elect");
        warp && index + 1 == self.operands.len()
    }

    /// The mnemonic.
    pub fn mnemonic(&self) -> &str {
        self.opcode.split('.').next().unwrap_or_default()
    }
}

/// Every instruction that computes in registers or among the lanes of a warp, in the order of the
/// table, without repetitions and without 64-bit floats.
pub fn all() -> Vec<Sample> {
    of(&|mnemonic| MNEMONICS.contains(&mnemonic), false)
}

/// The same with 64-bit floats, and with instructions that are sequences or calls of routines.
pub fn with_doubles_and_sequences() -> Vec<Sample> {
    of(&|mnemonic| MNEMONICS.contains(&mnemonic) || SEQUENCES.contains(&mnemonic), true)
}

/// Every video instruction with every combination of modifiers, without and with the optional
/// operand. The operands have no selectors.
pub fn video() -> Vec<Sample> {
    let mut samples = Vec::new();
    for row in TABLE.rows().iter().filter(|row| row.family == "video" && exists(row)) {
        choices(row, &mut |chosen, _| {
            samples.extend(sample(row, chosen, Wants::default()));
            let is_optional = |operand: &RowOperand| operand.presence == OperandPresence::Optional;
            if row.operands.iter().any(is_optional) {
                samples.extend(sample(row, chosen, Wants { optional: true, ..Wants::default() }));
            }
        });
    }
    samples
}

fn of(takes: &dyn Fn(&str) -> bool, doubles: bool) -> Vec<Sample> {
    let mut seen = std::collections::HashSet::new();
    let mut samples = Vec::new();
    for row in TABLE.rows() {
        if takes(row.mnemonic) && exists(row) {
            choices(row, &mut |chosen, has_new_pair| {
                if has_new_pair {
                    for second in [false, true] {
                        samples.extend(sample(row, chosen, Wants { doubles, second, optional: false }));
                    }
                }
            });
        }
    }
    samples.retain(|sample| {
        seen.insert(format!("{} {}", sample.opcode, sample.operands.len()) + second(sample))
    });
    samples
}

/// A suffix that distinguishes the form with a destination after `|` from the form without.
fn second(sample: &Sample) -> &'static str {
    match sample.operands.first() {
        Some(Operand::Dest(_, Some(_))) => "|",
        Some(Operand::DestPair(_)) => "{",
        Some(_) if sample.operands.iter().any(|operand| matches!(operand, Operand::SourcePair(_))) => "}",
        _ => "",
    }
}

fn target() -> PtxTarget {
    PtxTarget::parse(TARGET).expect("a target")
}

fn exists(row: &Row) -> bool {
    let gone = row.until.is_some_and(|(version, number)| VERSION >= version && target().number >= number);
    row.needs.has_version(VERSION)
        && row.needs.has_target(target())
        && row.is_seen(VERSION, target())
        && !gone
}

/// Calls a function for each choice of a row's modifiers, which are counted like the digits of a
/// number. The flag tells whether the choice has a new pair of modifiers.
fn choices(row: &Row, take: &mut dyn FnMut(&[Option<usize>], bool)) {
    let digits = |group: &ptxc_ptx::check::table::Group| match group.presence {
        Presence::Required | Presence::Default(_) => group.choices.len(),
        Presence::Optional | Presence::With(_) => group.choices.len() + 1,
    };
    let count: usize = row.groups.iter().map(digits).product();
    let mut pairs = std::collections::HashSet::new();
    for number in 0..count {
        let mut left = number;
        let mut chosen = Vec::new();
        for group in row.groups {
            let digit = left % digits(group);
            left /= digits(group);
            chosen.push(if digits(group) == group.choices.len() {
                Some(digit)
            } else {
                digit.checked_sub(1)
            });
        }
        let exists = row.groups.iter().zip(&chosen).all(|(group, &choice)| {
            let paired = match group.presence {
                Presence::With(other) => chosen[other].is_some() == choice.is_some(),
                _ => true,
            };
            let choice = choice.map(|choice| &group.choices[choice].needs);
            paired && choice.is_none_or(|needs| needs.has_version(VERSION) && needs.has_target(target()))
        });
        let new = |pairs: &mut std::collections::HashSet<_>| {
            let all = (0..chosen.len()).flat_map(|a| (0..=a).map(move |b| (a, b)));
            all.fold(false, |new, (a, b)| pairs.insert((a, chosen[a], b, chosen[b])) | new)
        };
        if exists {
            take(&chosen, new(&mut pairs));
        }
    }
}

/// What an instruction may or must have.
#[derive(Clone, Copy, Default)]
struct Wants {
    /// Whether it may have 64-bit floats.
    doubles: bool,
    /// Whether it must have a second destination.
    second: bool,
    /// Whether it has the optional operands.
    optional: bool,
}

/// The instruction of one choice; none if it has vectors, or unwanted 64-bit floats.
fn sample(row: &Row, chosen: &[Option<usize>], wants: Wants) -> Option<Sample> {
    let Wants { doubles, second: with_second, optional } = wants;
    let mut opcode = row.mnemonic.to_string();
    for (group, choice) in row.groups.iter().zip(chosen) {
        if let Some(choice) = choice {
            opcode = format!("{opcode}.{}", group.choices[*choice].text);
        }
    }
    if opcode.split('.').any(|part| (part == "f64" && !doubles) || part == "b128") {
        return None;
    }
    let scalar = |ty: TypeOf| {
        let named = |group: usize| Scalar::parse(row.groups[group].choices[chosen[group]?].text);
        match ty {
            TypeOf::Fixed(scalar) => Some(scalar),
            TypeOf::Group(group) => named(group),
            TypeOf::Wide(group) => named(group)?.wide(),
        }
    };
    let mut operands = Vec::new();
    for operand in row.operands {
        match operand.presence {
            OperandPresence::Always => {}
            OperandPresence::With(group) if chosen[group].is_some() => {}
            OperandPresence::Optional if optional => {}
            _ => continue,
        }
        operands.push(match &operand.kind {
            Kind::Value(value) if operand.written => {
                if value.lanes != Lanes::One {
                    return None;
                }
                let second = match value.second {
                    Some((ty, optional)) if with_second || !optional => Some(scalar(ty)?),
                    None if with_second => return None,
                    _ => None,
                };
                Operand::Dest(scalar(value.ty)?, second)
            }
            Kind::Value(value) if value.lanes == Lanes::One => {
                Operand::Source(scalar(value.ty)?, value.range.map(|range| range.greatest as u64))
            }
            Kind::Constant(range) => Operand::Constant(range.map_or(31, |range| range.greatest as u64)),
            Kind::Pack(ty) if with_second => return scalar(*ty).and(None),
            Kind::Pack(ty) => {
                let half = Scalar::parse(&format!("b{}", scalar(*ty)?.bits() / 2))?;
                if half.bits() < 16 {
                    return None;
                }
                if operand.written { Operand::DestPair(half) } else { Operand::SourcePair(half) }
            }
            _ => return None,
        });
    }
    if with_second && !matches!(operands.first(), Some(Operand::Dest(_, Some(_)))) {
        return None;
    }
    Some(Sample { opcode, operands, marks: Vec::new() })
}

/// The declared type of a register for an operand.
pub fn register_type(ty: Scalar) -> String {
    match ty.class() {
        Class::Predicate => ".pred".to_string(),
        _ => format!(".b{}", ty.bits().max(16)),
    }
}
