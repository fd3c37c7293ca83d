//! Facts that follow from a row. They are computed when this crate is compiled, so that no query
//! has to compare texts or walk over the row's slots.
//!
//! In: a row. Out: its [`Facts`]: the position of the modifier of each kind, the default choices
//! and operands, and the number of registers that each operand covers.

use ptxc_machine::Archs;

use super::Inst;
use crate::operand::{Operand, OperandFlags, OperandKind};
use crate::register::{PReg, RegFile, Register};
use crate::table::{Kinds, ModKind, Modifier, Mods, Op, Role, Row, Slot, Width, per_op};

/// The number of kinds of modifiers.
const KINDS: usize = ModKind::Hint as usize + 1;
/// The most values of a modifier that decides on a width.
const VALUES: usize = 32;
/// The most slots of a row.
const SLOTS: usize = 16;
/// The position of a part that a row does not have.
const NONE: u8 = u8::MAX;
/// Marks a width that modifiers decide.
const BY_MODIFIERS: u8 = 0;
/// Marks [`Width::Size`].
const BY_SIZE: u8 = u8::MAX;

/// The operand that fills a slot by default.
#[derive(Clone, Copy, Debug)]
struct Filler {
    kind: FillerKind,
    flags: OperandFlags,
}

/// The kind of the operand. It is never a register, so it does not depend on the register type.
#[derive(Clone, Copy, Debug)]
enum FillerKind {
    Zero(RegFile),
    Imm,
    Predicates,
}

impl Filler {
    /// The filler of a slot: its [`default`](Slot::default_operand).
    const fn of(slot: &Slot) -> Filler {
        let Operand { kind, flags } = slot.default_operand::<PReg>();
        let kind = match kind {
            OperandKind::Zero(file) => FillerKind::Zero(file),
            OperandKind::Predicates => FillerKind::Predicates,
            OperandKind::Imm(0) => FillerKind::Imm,
            _ => panic!("no other operand is a default"),
        };
        Filler { kind, flags }
    }
}

/// A choice of a memory order.
#[derive(Clone, Copy, Debug)]
struct OrderChoice {
    /// The position of the modifier; [`NONE`] if no modifier has such a value.
    position: u8,
    value: u8,
}

impl OrderChoice {
    const NONE: OrderChoice = OrderChoice { position: NONE, value: 0 };

    #[inline]
    fn is_made(self, mods: Mods) -> bool {
        self.position != NONE && mods.get(usize::from(self.position)) == self.value
    }
}

/// The facts that follow from a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// The default choices of the modifiers.
    pub(crate) defaults: Mods,
    /// The number of slots that are written; they are the first ones.
    results: u8,
    /// The number of all slots.
    slots: u8,
    /// Whether an operand may name a place in the code or a function.
    pub(crate) names_code: bool,
    /// The architectures where the row exists with every modifier value and every kind of operand.
    pub(crate) complete: Archs,
    /// Strong memory order.
    strong: OrderChoice,
    /// The modifier value for memory that nothing writes.
    constant: OrderChoice,
    /// The default operand of each slot that is not repeated.
    fillers: [Filler; SLOTS],
    /// The number of slots that are not repeated.
    filled: u8,
    /// The slots among them that have no default, a bit each.
    pub(crate) demanded: u16,
    /// The slots with [`Slot::sole_sign`], a bit each: only one of them may have a sign.
    pub(crate) sole_sign: u16,
    /// The number of registers that each slot covers; [`BY_SIZE`] or [`BY_MODIFIERS`] if the row
    /// alone does not tell.
    widths: [u8; SLOTS],
    /// The position of the modifier of each kind.
    positions: [u8; KINDS],
    /// The number of registers that each value of [`ModKind::Size`] stands for; 0 if the value does
    /// not tell.
    of_size: [u8; VALUES],
    /// The same of [`ModKind::DataType`].
    of_type: [u8; VALUES],
}

impl Op {
    /// The facts that follow from the row.
    #[inline]
    pub(crate) fn facts(self) -> &'static Facts {
        static FACTS: [Facts; Op::ALL.len()] = per_op!(Facts::of);
        &FACTS[self as usize]
    }
}

impl Facts {
    /// The facts of the row of an operation.
    const fn of(op: Op) -> Facts {
        let row = op.row();
        let mut facts = Facts {
            defaults: Mods::FIRST,
            results: 0,
            slots: row.slots.len() as u8,
            // Until code is linked, the return address of a call is a label in a slot that takes no
            // labels.
            names_code: matches!(op, Op::MOV),
            complete: row.archs,
            strong: OrderChoice::NONE,
            constant: OrderChoice::NONE,
            fillers: [Filler { kind: FillerKind::Imm, flags: OperandFlags::NONE }; SLOTS],
            filled: 0,
            demanded: 0,
            sole_sign: 0,
            widths: [BY_MODIFIERS; SLOTS],
            positions: [NONE; KINDS],
            of_size: [0; VALUES],
            of_type: [0; VALUES],
        };
        facts.add_modifiers(row);
        facts.add_slots(row);
        facts
    }

    const fn add_modifiers(&mut self, row: &Row) {
        let mut position = 0;
        while position < row.mods.len() {
            let modifier = &row.mods[position];
            assert!(self.positions[modifier.kind as usize] == NONE, "a kind names one modifier");
            self.positions[modifier.kind as usize] = position as u8;
            match modifier.kind {
                ModKind::Size => add_widths(modifier, &mut self.of_size),
                ModKind::DataType => add_widths(modifier, &mut self.of_type),
                ModKind::Order => self.add_orders(modifier, position as u8),
                _ => {}
            }
            self.defaults.set(position, modifier.default);
            let mut limit = 0;
            while limit < modifier.limits.len() {
                self.complete = self.complete.and(modifier.limits[limit].1);
                limit += 1;
            }
            position += 1;
        }
    }

    const fn add_orders(&mut self, modifier: &Modifier, position: u8) {
        let mut value = 0;
        while value < modifier.values.len() {
            let choice = OrderChoice { position, value: value as u8 };
            match modifier.values[value].as_bytes() {
                b".STRONG" => self.strong = choice,
                b".CONSTANT" => self.constant = choice,
                _ => {}
            }
            value += 1;
        }
    }

    const fn add_slots(&mut self, row: &Row) {
        let mut index = 0;
        while index < row.slots.len() {
            let slot = &row.slots[index];
            if !slot.repeated {
                self.fillers[self.filled as usize] = Filler::of(slot);
                self.filled += 1;
                if !slot.optional {
                    self.demanded |= 1 << index;
                }
            }
            self.sole_sign |= (slot.sole_sign as u16) << index;
            self.widths[index] = match slot.width {
                Width::Fixed(width) => {
                    assert!(width != BY_MODIFIERS && width != BY_SIZE, "that many registers");
                    width
                }
                Width::Size => BY_SIZE,
                _ => BY_MODIFIERS,
            };
            if matches!(slot.role, Role::Def) {
                assert!(self.results as usize == index, "results come first");
                assert!(!slot.kinds.meets(Kinds::ADDRESSES), "an address is read");
                self.results += 1;
            }
            self.names_code |= slot.kinds.meets(Kinds::LABEL.or(Kinds::FUNCTION));
            let mut limit = 0;
            while limit < slot.limits.len() {
                self.complete = self.complete.and(slot.limits[limit].1);
                limit += 1;
            }
            index += 1;
        }
    }

    /// Splits operands into those of slots that are written and those of slots that are read,
    /// without the [repeated](Slot::repeated) ones after them.
    #[inline]
    pub(crate) fn part<'a, R>(&self, operands: &'a [Operand<R>]) -> (&'a [Operand<R>], &'a [Operand<R>]) {
        let operands = &operands[..operands.len().min(usize::from(self.slots))];
        operands.split_at(operands.len().min(usize::from(self.results)))
    }

    /// The default operands of the slots.
    #[inline]
    pub(crate) fn fillers<R>(&self) -> impl Iterator<Item = Operand<R>> + '_ {
        self.fillers[..usize::from(self.filled)].iter().map(|&Filler { kind, flags }| {
            let kind = match kind {
                FillerKind::Zero(file) => OperandKind::Zero(file),
                FillerKind::Imm => OperandKind::Imm(0),
                FillerKind::Predicates => OperandKind::Predicates,
            };
            Operand { kind, flags }
        })
    }

    /// Whether an access is strong by its modifiers.
    #[inline]
    pub(crate) fn is_strong(&self, mods: Mods) -> bool {
        self.strong.is_made(mods)
    }

    /// Whether an access reads memory that nothing writes, by its modifiers.
    #[inline]
    pub(crate) fn is_constant(&self, mods: Mods) -> bool {
        self.constant.is_made(mods)
    }

    /// The position of the modifier of a kind.
    #[inline]
    pub(crate) const fn position(&self, kind: ModKind) -> Option<usize> {
        match self.positions[kind as usize] {
            NONE => None,
            position => Some(position as usize),
        }
    }

    /// The number of registers of an operand whose width follows from the [size](ModKind::Size), or
    /// else from the [type](ModKind::DataType).
    #[inline]
    pub(super) fn sized_width(&self, mods: Mods) -> u8 {
        for (kind, widths) in [(ModKind::Size, &self.of_size), (ModKind::DataType, &self.of_type)] {
            if let Some(position) = self.position(kind)
                && let width @ 1.. = widths[usize::from(mods.get(position))]
            {
                return width;
            }
        }
        1
    }

    /// The number of registers of the operand in a slot of an instruction of this row.
    #[inline]
    pub(crate) fn width<R: Register>(&self, slot: usize, inst: &Inst<R>) -> u8 {
        match self.widths[slot] {
            BY_SIZE => self.sized_width(inst.mods),
            BY_MODIFIERS => inst.row().slots[slot].width.of_modifiers(inst),
            width => width,
        }
    }
}

/// Fills in the numbers of registers that the values of a modifier stand for.
const fn add_widths(modifier: &Modifier, widths: &mut [u8; VALUES]) {
    let mut value = 0;
    while value < modifier.values.len() {
        widths[value] = match (modifier.kind, modifier.values[value].as_bytes()) {
            (ModKind::Size, b".64" | b".2") => 2,
            (ModKind::Size, b".128" | b".4") => 4,
            (ModKind::DataType, b".64" | b".S64" | b".U64" | b".SD64" | b".F64.RN") => 2,
            (ModKind::DataType, b".F32x2.FTZ.RN" | b".F32x2.RN" | b".F16x4.RN" | b".BF16x4.RN") => 2,
            (ModKind::DataType, b".F32x4.FTZ.RN" | b".F32x4.RN" | b".F16x8.RN" | b".BF16x8.RN") => 4,
            _ => 0,
        };
        value += 1;
    }
}

#[cfg(test)]
mod tests {
    use ptxc_machine::Arch;

    use super::*;

    /// The facts computed at compile time are those that a walk over the row finds.
    #[test]
    fn facts_are_those_of_the_row() {
        for &op in Op::ALL {
            let row = op.row();
            let (facts, inst) = (op.facts(), Inst::<PReg>::new(op));
            let slots = row.slots.iter().filter(|slot| !slot.repeated);
            assert!(slots.map(|slot| slot.default_operand()).eq(inst.operands.iter().copied()), "{op:?}");
            for (position, modifier) in row.mods.iter().enumerate() {
                assert_eq!(facts.position(modifier.kind), Some(position), "{op:?}");
                assert_eq!(
                    inst.modifier(modifier.kind),
                    modifier.values[usize::from(modifier.default)],
                    "{op:?}"
                );
            }
            for (index, slot) in row.slots.iter().enumerate() {
                assert_eq!(facts.width(index, &inst), slot.width.resolve(&inst), "{op:?} {}", slot.name);
            }
            for arch in Arch::ALL.into_iter().filter(|&arch| facts.complete.contains(arch)) {
                let has_values = row.mods.iter().all(|m| m.values.iter().all(|value| m.exists(value, arch)));
                let has_kinds = row.slots.iter().all(|slot| !slot.lacks(slot.kinds, arch));
                assert!(row.archs.contains(arch) && has_values && has_kinds, "{op:?} on {arch}");
            }
        }
    }
}
