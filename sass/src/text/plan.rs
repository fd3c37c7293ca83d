//! Everything that is known about the text of a row without an instruction, computed on first use.
//!
//! In: the table. Out: for each operation a [`Plan`]: its modifiers by their place in the text,
//! with the text of each value, and for each slot the facts that decide whether its operand is
//! shown. Names and texts are compared here instead of for each instruction.

use std::sync::OnceLock;

use ptxc_machine::{Arch, PerArch, per_arch};

use super::line::Text;
use crate::bits;
use crate::operand::{Operand, OperandKind};
use crate::register::{PReg, Register};
use crate::table::Mods;
use crate::table::{Halves, Kinds, ModKind, Modifier, Op, Pipe, Row, SIGN, Slot, Stand};

/// How a row is written on an architecture.
pub(super) struct Plan {
    pub(super) row: &'static Row,
    pub(super) mnemonic: Text,
    /// The modifiers after the mnemonic.
    pub(super) mods: Vec<ModText>,
    /// One entry per slot.
    pub(super) slots: Vec<SlotText>,
    /// The modifiers that stand as the last operand.
    pub(super) last: Vec<ModText>,
    /// The modifier values with which addresses name a uniform register even if they have none.
    pub(super) names_uniform: Choices,
}

/// The texts of a modifier.
pub(super) struct ModText {
    /// Its position in the row.
    position: u8,
    /// For each value its text.
    texts: Vec<Text>,
}

/// Values of modifiers, by position.
pub(super) struct Choices(Vec<(u8, u8)>);

/// How the operand of a slot is written.
pub(super) struct SlotText {
    pub(super) slot: &'static Slot,
    /// Whether a register in it is written as its name only, apart from signs.
    pub(super) is_plain: bool,
    /// Whether an operand is written whatever it is.
    pub(super) is_always_shown: bool,
    /// Whether its default is not written.
    hides_default: bool,
    default: Operand<PReg>,
    /// The modifier values with which the operand is not written.
    hidden_with: Choices,
    /// Whether `hidden_with` has any.
    pub(super) has_substitute: bool,
    /// The later slots, by index, that a reader could confuse with this one if its operand were
    /// omitted.
    rivals: Vec<u8>,
    /// The modifiers after the operand.
    pub(super) after: Vec<ModText>,
    /// Whether an offset that is the whole address has no sign.
    is_unsigned_alone: bool,
    /// The number of bits of such an offset, once it has been computed.
    offset_len: OnceLock<u8>,
    /// Whether an address may have 64 bits or 32.
    pub(super) may_extend: bool,
    /// Whether a part of the operand may be chosen.
    may_be_part: bool,
    /// The modifier values with which a part may be chosen, if `may_be_part` is not set.
    parts: Choices,
}

impl ModText {
    fn new(row: &Row, position: usize, arch: Arch) -> ModText {
        let modifier = &row.mods[position];
        let texts = modifier.values.iter().map(|value| Text::new(modifier.text(value, arch)));
        ModText { position: position as u8, texts: texts.collect() }
    }

    /// The texts of the modifiers in one place of the text.
    fn list(row: &Row, arch: Arch, stands_here: impl Fn(Stand) -> bool) -> Vec<ModText> {
        let places = (0..row.mods.len()).filter(|&position| stands_here(row.mods[position].stand));
        places.map(|position| ModText::new(row, position, arch)).collect()
    }

    /// The text of the chosen value; `None` if the value does not exist.
    pub(super) fn get(&self, mods: Mods) -> Option<&Text> {
        self.texts.get(usize::from(mods.get(usize::from(self.position))))
    }
}

impl Choices {
    /// No values.
    const NONE: Choices = Choices(Vec::new());

    /// The values of a row's modifiers that satisfy the predicate.
    fn of(row: &Row, is_so: impl Fn(&Modifier, &str) -> bool) -> Choices {
        let mut list = Vec::new();
        for (position, modifier) in (0u8..).zip(row.mods) {
            for (value, text) in (0u8..).zip(modifier.values) {
                if is_so(modifier, text) {
                    list.push((position, value));
                }
            }
        }
        Choices(list)
    }

    /// Whether one of these values is chosen.
    pub(super) fn any(&self, mods: Mods) -> bool {
        self.0.iter().any(|&(position, value)| mods.get(usize::from(position)) == value)
    }
}

impl SlotText {
    fn new(op: Op, index: usize, arch: Arch) -> SlotText {
        let row = op.row();
        let slot = &row.slots[index];
        let rivals = (0u8..).zip(row.slots).skip(index + 1).filter(|(_, later)| {
            later.hidden && later.kinds.meets(slot.kinds) && later.prefix == slot.prefix
        });
        let parts = if row.pipe == Pipe::Xu { parts(row) } else { Choices::NONE };
        let hidden_with = |hidden: &str| Choices::of(row, |_, value| value == hidden);
        let after = ModText::list(row, arch, |stand| stand == Stand::Operand(slot.name));
        let addresses = Kinds::MEM.or(Kinds::MEM_AT_UR).or(Kinds::MEM_SCALED);
        let is_unsigned_alone = slot.kinds.meets(addresses) && !slot.signed_alone.contains(arch);
        let is_marked = slot.bracketed || !slot.prefix.is_empty() || !slot.suffix.is_empty();
        let hides_default = slot.hidden && !slot.shown_on.contains(arch);
        SlotText {
            slot,
            is_always_shown: !slot.repeated && !hides_default && slot.hidden_with.is_none(),
            is_plain: !is_marked && slot.halves == Halves::None && after.is_empty(),
            hides_default,
            default: slot.default_operand(),
            hidden_with: slot.hidden_with.map_or(Choices::NONE, hidden_with),
            has_substitute: slot.hidden_with.is_some(),
            rivals: rivals.map(|(later, _)| later).collect(),
            after,
            is_unsigned_alone,
            offset_len: OnceLock::new(),
            may_extend: !slot.narrow && row.mods.iter().any(|modifier| modifier.kind == ModKind::Extended),
            may_be_part: slot.halves != Halves::None || slot.suffix == SIGN,
            parts,
        }
    }

    /// Whether the text omits the operand, as far as the operand alone tells.
    #[inline]
    pub(super) fn is_left_out<R: Register>(&self, operand: &Operand<R>, mods: Mods) -> bool {
        (self.hides_default && self.is_default(operand))
            || (self.has_substitute && self.hidden_with.any(mods))
    }

    /// The number of bits of an offset that has no sign if it is the whole address. Computing it
    /// takes the patterns of the row, and few callers need it.
    pub(super) fn unsigned_len(&self, op: Op, arch: Arch) -> Option<u8> {
        self.is_unsigned_alone.then(|| *self.offset_len.get_or_init(|| bits::offset_len(op, self.slot, arch)))
    }

    /// Whether a default that could be hidden is written, because a reader would take the operand
    /// of a later hidden slot for it.
    pub(super) fn keeps_a_place<R: Register>(&self, slots: &[SlotText], operands: &[Operand<R>]) -> bool {
        self.rivals.iter().map(|&index| usize::from(index)).any(|index| {
            let later = slots.get(index).zip(operands.get(index));
            later.is_some_and(|(slot, operand)| !slot.is_default(operand))
        })
    }

    fn is_default<R: Register>(&self, operand: &Operand<R>) -> bool {
        let is_alike = match (operand.kind, self.default.kind) {
            (OperandKind::Zero(file), OperandKind::Zero(default)) => file == default,
            (OperandKind::Imm(value), OperandKind::Imm(default)) => value == default,
            (OperandKind::Predicates, OperandKind::Predicates) => true,
            _ => false,
        };
        is_alike && operand.flags == self.default.flags
    }

    /// Whether a part of the operand may be chosen: halves, and sources of less than 32 bits in
    /// conversions.
    pub(super) fn selects_part(&self, mods: Mods) -> bool {
        self.may_be_part || self.parts.any(mods)
    }
}

/// The types of less than 32 bits that a conversion reads from a part of a register.
fn parts(row: &Row) -> Choices {
    let kind = if row.mnemonic == "FRND" { ModKind::DataType } else { ModKind::SourceType };
    Choices::of(row, |modifier, value| {
        modifier.kind == kind && [".U8", ".S8", ".U16", ".S16", ".F16", ".BF16"].contains(&value)
    })
}

impl Plan {
    fn new(op: Op, arch: Arch) -> Plan {
        let row = op.row();
        Plan {
            row,
            mnemonic: Text::new(row.mnemonic_on(arch)),
            mods: ModText::list(row, arch, |stand| stand == Stand::Mnemonic),
            slots: (0..row.slots.len()).map(|index| SlotText::new(op, index, arch)).collect(),
            last: ModText::list(row, arch, |stand| stand == Stand::Last),
            names_uniform: Choices::of(row, |_, value| value == ".POPC.INC.32"),
        }
    }

    /// The plan of a row; made on first use.
    pub(super) fn of(op: Op, arch: Arch) -> &'static Plan {
        // The plans are boxed: a small kernel uses few rows, and the pointers to their plans fit on
        // one page.
        static ALL: PerArch<[OnceLock<Box<Plan>>; Op::ALL.len()]> =
            per_arch!(ARCH => [const { OnceLock::new() }; Op::ALL.len()]);
        ALL.get(arch)[op as usize].get_or_init(|| Box::new(Plan::new(op, arch)))
    }
}
