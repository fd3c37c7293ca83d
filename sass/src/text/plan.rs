//! What is known of a row's text before an instruction is: worked out when it is first written.
//!
//! In: the table. Out: for each operation a [`Plan`]: its modifiers by the place where they stand, with the text of each value,
//! and what decides for each slot whether its operand is shown. Names and texts are compared here, and not for each
//! instruction.

use std::sync::OnceLock;

use ptxc_machine::{Arch, PerArch, per_arch};

use super::line::Text;
use crate::bits;
use crate::inst::Mods;
use crate::operand::{Operand, OperandKind};
use crate::register::{PReg, Register};
use crate::table::{Halves, Kinds, ModKind, Modifier, Op, Pipe, Row, SIGN, Slot, Stand};

/// How a row is written on an architecture.
pub(super) struct Plan {
    pub(super) row: &'static Row,
    pub(super) mnemonic: Text,
    /// The modifiers behind the mnemonic.
    pub(super) mods: Vec<ModText>,
    /// One a slot.
    pub(super) slots: Vec<SlotText>,
    /// The modifiers that stand as the last operand.
    pub(super) last: Vec<ModText>,
    /// The modifiers with which addresses name their uniform register even if they have none.
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
    /// Whether a register in it is written by its name alone, signs apart.
    pub(super) is_plain: bool,
    /// Whether an operand is written whatever it is.
    pub(super) is_always_shown: bool,
    /// Whether its default is not written.
    hides_default: bool,
    default: Operand<PReg>,
    /// The modifiers with which nothing is written.
    hidden_with: Choices,
    /// Whether there are any.
    pub(super) has_substitute: bool,
    /// The slots behind it, by index, that reading could take for it, were it left out.
    rivals: Vec<u8>,
    /// The modifiers behind the operand.
    pub(super) behind: Vec<ModText>,
    /// Whether an offset has no sign where it is all of an address.
    is_unsigned_alone: bool,
    /// The bits that it has then, once somebody has asked.
    offset_len: OnceLock<u8>,
    /// Whether an address may have 64 bits or 32.
    pub(super) may_extend: bool,
    /// Whether a part of the operand may be chosen.
    may_be_part: bool,
    /// The modifiers with which that is so, if it is not.
    parts: Choices,
}

impl ModText {
    fn new(row: &Row, position: usize, arch: Arch) -> ModText {
        let modifier = &row.mods[position];
        let texts = modifier.values.iter().map(|value| Text::new(modifier.text(value, arch)));
        ModText { position: position as u8, texts: texts.collect() }
    }

    /// The texts of the modifiers that stand in a place.
    fn list(row: &Row, arch: Arch, stands_here: impl Fn(Stand) -> bool) -> Vec<ModText> {
        let places = (0..row.mods.len()).filter(|&position| stands_here(row.mods[position].stand));
        places.map(|position| ModText::new(row, position, arch)).collect()
    }

    /// The text of the value that is chosen; `None` where that does not exist.
    pub(super) fn get(&self, mods: Mods) -> Option<&Text> {
        self.texts.get(usize::from(mods.get(usize::from(self.position))))
    }
}

impl Choices {
    /// Those of a row that are so.
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

    /// Whether one of them is chosen.
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
        let of_conversion = |modifier: &Modifier, value: &str| {
            let kind = if row.mnemonic == "FRND" { ModKind::DataType } else { ModKind::SourceType };
            row.pipe == Pipe::Xu
                && modifier.kind == kind
                && [".U8", ".S8", ".U16", ".S16", ".F16", ".BF16"].contains(&value)
        };
        let behind = ModText::list(row, arch, |stand| stand == Stand::Operand(slot.name));
        let addresses = Kinds::MEM.or(Kinds::MEM_AT_UR).or(Kinds::MEM_SCALED);
        let is_unsigned_alone = slot.kinds.meets(addresses) && !slot.signed_alone.contains(arch);
        let is_marked = slot.bracketed || !slot.prefix.is_empty() || !slot.suffix.is_empty();
        let hides_default = slot.hidden && !slot.shown_on.contains(arch);
        SlotText {
            slot,
            is_always_shown: !slot.repeated && !hides_default && slot.hidden_with.is_none(),
            is_plain: !is_marked && slot.halves == Halves::None && behind.is_empty(),
            hides_default,
            default: slot.default_operand(),
            hidden_with: Choices::of(row, |_, value| slot.hidden_with == Some(value)),
            has_substitute: slot.hidden_with.is_some(),
            rivals: rivals.map(|(later, _)| later).collect(),
            behind,
            is_unsigned_alone,
            offset_len: OnceLock::new(),
            may_extend: !slot.narrow && row.mods.iter().any(|modifier| modifier.kind == ModKind::Extended),
            may_be_part: slot.halves != Halves::None || slot.suffix == SIGN,
            parts: Choices::of(row, of_conversion),
        }
    }

    /// Whether the text does without the operand, as far as that alone says.
    #[inline]
    pub(super) fn is_left_out<R: Register>(&self, operand: &Operand<R>, mods: Mods) -> bool {
        (self.hides_default && self.is_default(operand))
            || (self.has_substitute && self.hidden_with.any(mods))
    }

    /// The bits of an offset that has no sign where it is all of an address. To know them takes the patterns of the row, and
    /// few ask.
    pub(super) fn unsigned_len(&self, op: Op, arch: Arch) -> Option<u8> {
        self.is_unsigned_alone.then(|| *self.offset_len.get_or_init(|| bits::offset_len(op, self.slot, arch)))
    }

    /// Whether a default that is hidden elsewhere is written, lest reading takes the operand of a later hidden slot for
    /// its own.
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

    /// Whether the operand is one of those of which a part may be chosen: halves, and what a conversion reads of less than
    /// 32 bits.
    pub(super) fn selects_part(&self, mods: Mods) -> bool {
        self.may_be_part || self.parts.any(mods)
    }
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

    /// The plan of a row; made when first asked for.
    pub(super) fn of(op: Op, arch: Arch) -> &'static Plan {
        // A plan of its own is boxed: a small kernel has few rows, whose places here lie on one page.
        static ALL: PerArch<[OnceLock<Box<Plan>>; Op::ALL.len()]> =
            per_arch!(ARCH => [const { OnceLock::new() }; Op::ALL.len()]);
        ALL.get(arch)[op as usize].get_or_init(|| Box::new(Plan::new(op, arch)))
    }
}
