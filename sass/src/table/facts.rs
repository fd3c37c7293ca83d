//! What follows from a row, found when this crate is compiled, so that nobody has to compare texts or walk over the row's
//! slots for it again and again.
//!
//! In: a row. Out: its [`Facts`]: where the modifier of each kind is, what is chosen and filled in to begin with, how many
//! registers the operands cover.

use ptxc_machine::{Arch, Archs, PerArch, per_arch};

use super::Op;
use super::kinds::{Kinds, Width};
use super::modifier::{ModKind, Modifier};
use super::row::{LatencyClass, Role, Row};
use super::slot::Slot;
use crate::inst::{Inst, Mods};
use crate::latency::{self, Port};
use crate::operand::{Operand, OperandFlags, OperandKind};
use crate::register::{PReg, RegFile, Register};
use crate::table::Completion;

/// The number of kinds of modifiers.
const KINDS: usize = ModKind::Hint as usize + 1;
/// The most values of a modifier that decides on a width.
const VALUES: usize = 32;
/// The most slots of a row.
const SLOTS: usize = 16;
/// The position of what a row does not have.
const NONE: u8 = u8::MAX;
/// The width of what modifiers decide on.
const BY_MODIFIERS: u8 = 0;
/// That of [`Width::Size`].
const BY_SIZE: u8 = u8::MAX;

/// What fills a slot until something else does.
#[derive(Clone, Copy, Debug)]
struct Filler {
    kind: FillerKind,
    flags: OperandFlags,
}

/// What operand that is; no register, so that it is the same for all kinds of them.
#[derive(Clone, Copy, Debug)]
enum FillerKind {
    Zero(RegFile),
    Imm,
    Predicates,
}

impl Filler {
    /// That of a slot: its [`default`](Slot::default_operand).
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
    /// The position of the modifier; [`NONE`] where no modifier has such a value.
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

/// What follows from a row.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The modifiers that are chosen unless others are.
    pub(crate) defaults: Mods,
    /// The number of slots that are written; they are the first ones.
    results: u8,
    /// The number of all slots.
    slots: u8,
    /// Whether an operand may name a place in the code or a function.
    pub(crate) names_code: bool,
    /// Where the row exists with every modifier value and every kind of operand.
    pub(crate) complete: Archs,
    /// How its completion is tracked, by architecture.
    completions: PerArch<Completion>,
    /// Where its results leave and its operands enter.
    pub(crate) port: Port,
    /// Whether some of them have other ports.
    pub(crate) has_other_ports: bool,
    /// Strong memory order.
    strong: OrderChoice,
    /// The order of what nobody writes.
    constant: OrderChoice,
    /// What fills each slot that is not repeated, to begin with.
    fillers: [Filler; SLOTS],
    /// How many of those there are.
    filled: u8,
    /// The slots of those that have no default, a bit each.
    pub(crate) demanded: u16,
    /// The registers that each slot covers; [`BY_SIZE`] or [`BY_MODIFIERS`] where the row alone does not tell.
    widths: [u8; SLOTS],
    /// The position of the modifier of each kind.
    positions: [u8; KINDS],
    /// The registers that each value of [`ModKind::Size`] stands for; 0 where it says nothing of them.
    of_size: [u8; VALUES],
    /// The same of [`ModKind::DataType`].
    of_type: [u8; VALUES],
}

impl Facts {
    /// Those of the row of an operation.
    pub(super) const fn of(op: Op, row: &Row) -> Facts {
        let mut facts = Facts {
            defaults: Mods::FIRST,
            results: 0,
            slots: row.slots.len() as u8,
            // Until code is linked, the return address of a call is a label, which no row takes.
            names_code: matches!(op, Op::MOV),
            complete: row.archs,
            completions: per_arch!(ARCH => latency::completion_on(row, ARCH)),
            port: Port::of_class(row.latency),
            has_other_ports: matches!(row.latency, LatencyClass::ImadWide | LatencyClass::Mma)
                || matches!(op, Op::ELECT),
            strong: OrderChoice::NONE,
            constant: OrderChoice::NONE,
            fillers: [Filler { kind: FillerKind::Imm, flags: OperandFlags::NONE }; SLOTS],
            filled: 0,
            demanded: 0,
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

    /// Parts operands in those in slots that are written and those in slots that are read, without the [many](Slot::repeated)
    /// behind them.
    #[inline]
    pub(crate) fn part<'a, R>(&self, operands: &'a [Operand<R>]) -> (&'a [Operand<R>], &'a [Operand<R>]) {
        let operands = &operands[..operands.len().min(usize::from(self.slots))];
        operands.split_at(operands.len().min(usize::from(self.results)))
    }

    /// What fills the slots to begin with.
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

    /// How the completion of an instruction is tracked.
    #[inline]
    pub(crate) fn completion(&self, arch: Arch) -> Completion {
        *self.completions.get(arch)
    }

    /// Whether an access is strong by its modifiers.
    #[inline]
    pub(crate) fn is_strong(&self, mods: Mods) -> bool {
        self.strong.is_made(mods)
    }

    /// Whether it is one of memory that nobody writes, by its modifiers.
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

    /// The registers of an operand whose width is that of the [size](ModKind::Size), or else of the
    /// [type](ModKind::DataType).
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

    /// The registers of the operand in a slot of an instruction of this row.
    #[inline]
    pub(crate) fn width<R: Register>(&self, slot: usize, inst: &Inst<R>) -> u8 {
        match self.widths[slot] {
            BY_SIZE => self.sized_width(inst.mods),
            BY_MODIFIERS => inst.row().slots[slot].width.of_modifiers(inst),
            width => width,
        }
    }
}

/// Fills in the registers that the values of a modifier stand for.
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
