//! An instruction: a row of the table with its slots filled.

mod facts;
mod granted;
mod image;
mod share;
mod width;

use ptxc_machine::Arch;
use smallvec::SmallVec;

use crate::operand::{Address, Label, Operand, OperandKind};
use crate::register::{RegFile, Register};
use crate::slot_name;
use crate::table::{Choice, Choices, Kinds, ModKind, ModValue, Mods, Op, OpSlot, OpSlots, Row, SlotName};

/// The predicate that decides whether an instruction has an effect: `@P0`, `@!UP1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard<R> {
    /// The predicate register.
    pub reg: R,
    /// Whether the predicate must be false.
    pub negated: bool,
}

/// How an instruction touches a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessRole {
    /// It writes.
    Def,
    /// It reads, as an operand.
    Use,
    /// It reads, as its guard.
    Guard,
}

/// One register operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access<R> {
    /// The first register.
    pub reg: R,
    /// How many neighbours it covers.
    pub width: u8,
    /// Read or written.
    pub role: AccessRole,
    /// The slot; for a guard, the number of slots.
    pub slot: u8,
}

/// An instruction over registers of type `R`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Inst<R> {
    /// The row of the table.
    pub op: Op,
    /// The guard; `None` is `@PT`.
    pub guard: Option<Guard<R>>,
    /// The modifiers.
    pub mods: Mods,
    /// One operand for each slot of the row, in its order; any number for a
    /// [repeated](crate::Slot::repeated) one.
    pub operands: SmallVec<[Operand<R>; 8]>,
}

impl<R: Copy> Clone for Inst<R> {
    /// Like the derived implementation, except that it copies all operands at once.
    #[inline]
    fn clone(&self) -> Inst<R> {
        let operands = SmallVec::from_slice(&self.operands);
        Inst { op: self.op, guard: self.guard, mods: self.mods, operands }
    }
}

impl<R: Register> Inst<R> {
    /// An instruction with every modifier at its default and every slot at its
    /// [`default`](crate::Slot::default_operand).
    #[inline]
    pub fn new(op: Op) -> Inst<R> {
        let facts = op.facts();
        // Filling the returned value in place saves a copy.
        let mut inst = Inst { op, guard: None, mods: facts.defaults, operands: SmallVec::new() };
        facts.fillers().for_each(|operand| inst.operands.push(operand));
        inst
    }

    /// The row of the table.
    #[inline]
    pub fn row(&self) -> &'static Row {
        self.op.row()
    }

    /// Fills the slots that have no default, in order: optional ones (an unused predicate result or
    /// carry) are set by name with [`slot`](Self::slot).
    ///
    /// # Panics
    /// If the number of operands differs from the number of such slots.
    #[inline]
    pub fn ops(mut self, operands: impl IntoIterator<Item = Operand<R>>) -> Inst<R> {
        let mut open = self.op.facts().demanded;
        for operand in operands {
            assert!(open != 0, "{} has too many operands", self.op.row().mnemonic);
            if let Some(slot) = self.operands.get_mut(open.trailing_zeros() as usize) {
                *slot = operand;
            }
            open &= open - 1;
        }
        let missing = self.op.row().slots.get(open.trailing_zeros() as usize);
        if let Some(slot) = missing {
            panic!("{} lacks {}", self.op.row().mnemonic, slot.name);
        }
        self
    }

    /// Fills a slot: `slot(slot!(VOTE, "ps"), operand)`.
    ///
    /// # Panics
    /// If [`slot!`](crate::slot) does not list the row of this instruction.
    #[inline]
    pub fn slot(mut self, slots: OpSlots, operand: Operand<R>) -> Inst<R> {
        self.operands[OpSlot::of(slots, self.op)] = operand;
        self
    }

    /// Names the targets of an indexed branch, in addition to those named already.
    ///
    /// # Panics
    /// If the row has no slot for them.
    pub fn targets(mut self, labels: impl IntoIterator<Item = Label>) -> Inst<R> {
        assert!(self.is_indexed_branch(), "{} has no targets", self.op.row().mnemonic);
        self.operands.extend(labels.into_iter().map(Operand::label));
        self
    }

    /// Whether it branches to one of several targets, chosen by an address in a register.
    pub fn is_indexed_branch(&self) -> bool {
        self.op.row().slots.last().is_some_and(|slot| slot.repeated)
    }

    /// The places that it names: branch targets, and places where lanes continue.
    pub fn labels(&self) -> impl Iterator<Item = Label> + '_ {
        let operands = if self.op.facts().names_code { &self.operands[..] } else { &[] };
        operands.iter().filter_map(|operand| match operand.kind {
            OperandKind::Label(label) => Some(label),
            _ => None,
        })
    }

    /// Like [`labels`](Self::labels), with mutable references.
    pub fn labels_mut(&mut self) -> impl Iterator<Item = &mut Label> + '_ {
        let operands = if self.op.facts().names_code { &mut self.operands[..] } else { &mut [] };
        operands.iter_mut().filter_map(|operand| match &mut operand.kind {
            OperandKind::Label(label) => Some(label),
            _ => None,
        })
    }

    /// The position of the slot of that name.
    pub fn slot_index(&self, name: SlotName) -> Option<usize> {
        self.op.row().slot(name.text())
    }

    /// The operand in the slot of that name.
    pub fn get(&self, name: SlotName) -> Option<&Operand<R>> {
        self.slot_index(name).map(|index| &self.operands[index])
    }

    /// Chooses modifiers: `with(choice!(ISETP, ".GE"))`.
    ///
    /// # Panics
    /// If [`choice!`](crate::choice) does not list the row of this instruction.
    #[inline]
    pub fn with(mut self, choices: Choices) -> Inst<R> {
        Choice::make(choices, self.op, &mut self.mods);
        self
    }

    /// Chooses a modifier where the row has it: `set(value!(Atomic = ".MIN"))`; whether it has.
    pub fn set(&mut self, value: ModValue) -> bool {
        self.set_kind(value.kind, value.text)
    }

    /// Chooses the value of a modifier by kind and text, of which another row or a program gives the text; whether
    /// there is one.
    pub fn set_kind(&mut self, kind: ModKind, text: &str) -> bool {
        let mods = self.op.row().mods;
        let Some(position) = mods.iter().position(|modifier| modifier.kind == kind) else { return false };
        let Some(value) = mods[position].values.iter().position(|&value| value == text) else { return false };
        self.mods.set(position, value as u8);
        true
    }

    /// The text of the modifier of that kind; empty where the row lacks it or the value prints
    /// nothing.
    pub fn modifier(&self, kind: ModKind) -> &'static str {
        match self.op.facts().position(kind) {
            Some(position) => self.row().mods[position].values[usize::from(self.mods.get(position))],
            None => "",
        }
    }

    /// Whether that modifier is chosen: `is(value!(Size = ".64"))`.
    pub fn is(&self, value: ModValue) -> bool {
        self.modifier(value.kind) == value.text
    }

    /// Whether a modifier has that text, which a row gives.
    pub fn has(&self, text: &str) -> bool {
        let row = self.op.row();
        row.mods
            .iter()
            .enumerate()
            .any(|(position, m)| m.values[usize::from(self.mods.get(position))] == text)
    }

    /// Adds a guard.
    pub fn guarded(mut self, reg: R, negated: bool) -> Inst<R> {
        self.guard = Some(Guard { reg, negated });
        self
    }

    /// The number of registers that a slot covers: 1 for most, 2 for a 64-bit operand, and so on.
    pub fn slot_width(&self, slot: usize) -> u8 {
        self.op.facts().width(slot, self)
    }

    /// Every register operand: definitions and uses in slot order (an address or indexed constant
    /// gives its parts, [all predicates](OperandKind::Predicates) those of the mask), then the
    /// guard. Constant registers are not among them.
    pub fn accesses(&self) -> SmallVec<[Access<R>; 8]> {
        let mut list = SmallVec::new();
        self.for_each_access(|access| list.push(access));
        list
    }

    /// Calls `visit` for each of the [accesses](Self::accesses).
    #[inline]
    pub fn for_each_access(&self, mut visit: impl FnMut(Access<R>)) {
        self.visit_results(&mut visit);
        self.visit_sources(&mut visit);
    }

    /// Calls `visit` for each of the registers that it writes, with the number of neighbours.
    #[inline]
    pub fn for_each_def(&self, mut visit: impl FnMut(Access<R>)) {
        self.visit_results(&mut visit);
    }

    /// Calls `visit` for each of the registers that it reads, guard included, with the number of
    /// neighbours.
    #[inline]
    pub fn for_each_use(&self, mut visit: impl FnMut(Access<R>)) {
        self.visit_sources(&mut visit);
    }

    /// Visits the operands of the slots that are written: all of them are registers.
    #[inline]
    fn visit_results(&self, visit: &mut impl FnMut(Access<R>)) {
        let (facts, role) = (self.op.facts(), AccessRole::Def);
        for (index, operand) in facts.part(&self.operands).0.iter().enumerate() {
            let slot = index as u8;
            match operand.kind {
                OperandKind::Reg(reg) => {
                    visit(Access { reg, width: facts.width(index, self), role, slot });
                }
                OperandKind::Predicates => {
                    self.chosen_predicates().for_each(|reg| visit(Access { reg, width: 1, role, slot }));
                }
                _ => {}
            }
        }
    }

    /// Visits the operands of all other slots, and the guard.
    #[inline]
    fn visit_sources(&self, visit: &mut impl FnMut(Access<R>)) {
        let facts = self.op.facts();
        let (results, sources) = facts.part(&self.operands);
        for (index, operand) in sources.iter().enumerate() {
            let index = results.len() + index;
            let mut part =
                |reg, width| visit(Access { reg, width, role: AccessRole::Use, slot: index as u8 });
            match operand.kind {
                OperandKind::Reg(reg) => part(reg, facts.width(index, self)),
                OperandKind::Mem(address) => {
                    let wide = |is_wide| if is_wide { 2 } else { 1 };
                    if let Some(base) = address.base {
                        part(base, wide(address.wide));
                    }
                    if let Some(uniform) = address.uniform {
                        let is_extended = !self.modifier(ModKind::Extended).is_empty();
                        part(uniform, wide(is_extended && !self.row().slots[index].narrow));
                    }
                    if let Some(descriptor) = address.descriptor {
                        part(descriptor, self.descriptor_width());
                    }
                }
                OperandKind::IndexedConst { index, .. } => part(index, 1),
                OperandKind::Predicates => self.chosen_predicates().for_each(|reg| part(reg, 1)),
                _ => {}
            }
        }
        if let Some(guard) = self.guard {
            let slot = self.row().slots.len() as u8;
            visit(Access { reg: guard.reg, width: 1, role: AccessRole::Guard, slot });
        }
    }

    /// The number of registers of a descriptor: a pair, or only the upper word if another address
    /// has the place of the lower one.
    pub fn descriptor_width(&self) -> u8 {
        let has_uniform =
            |operand: &Operand<R>| matches!(operand.kind, OperandKind::Mem(Address { uniform: Some(_), .. }));
        if self.operands.iter().any(has_uniform) { 1 } else { 2 }
    }

    /// The predicates out of [all predicates](OperandKind::Predicates) that the slot `mask`
    /// chooses, a bit each from P0 or UP0 on; all of them if the row has no such slot.
    fn chosen_predicates(&self) -> impl Iterator<Item = R> + use<R> {
        let mask = match self.get(slot_name!("mask")).map(|operand| operand.kind) {
            Some(OperandKind::Imm(mask)) => mask,
            Some(_) => 0,
            None => u32::MAX,
        };
        // An instruction of the uniform datapath has a uniform guard, and moves uniform predicates.
        let file = self.row().guard;
        let numbers = (0..file.count()).filter(move |&number| mask >> number & 1 != 0);
        numbers.filter_map(move |number| R::numbered(file, number))
    }

    /// The registers it writes, each with the number of neighbours.
    pub fn defs(&self) -> impl Iterator<Item = Access<R>> {
        let mut list: SmallVec<[Access<R>; 4]> = SmallVec::new();
        self.for_each_def(|access| list.push(access));
        list.into_iter()
    }

    /// The registers it reads, guard included, each with the number of neighbours.
    pub fn uses(&self) -> impl Iterator<Item = Access<R>> {
        let mut list: SmallVec<[Access<R>; 8]> = SmallVec::new();
        self.for_each_use(|access| list.push(access));
        list.into_iter()
    }

    /// Renames the registers in place.
    pub fn rename(&mut self, mut rename: impl FnMut(R) -> R) {
        if let Some(guard) = &mut self.guard {
            guard.reg = rename(guard.reg);
        }
        for operand in self.operands.iter_mut() {
            operand.rename(&mut rename);
        }
    }

    /// A copy with each register replaced.
    pub fn map<S: Register>(&self, mut rename: impl FnMut(R) -> S) -> Inst<S> {
        let guard = self.guard.map(|guard| Guard { reg: rename(guard.reg), negated: guard.negated });
        let mut inst = Inst { op: self.op, guard, mods: self.mods, operands: SmallVec::new() };
        inst.operands.reserve(self.operands.len());
        for operand in self.operands.iter() {
            inst.operands.push(operand.map(&mut rename));
        }
        inst
    }

    /// Whether two operands have signs although only one of them [may have
    /// one](crate::Slot::sole_sign). The hardware rejects such an instruction, although
    /// disassemblers print it.
    #[inline]
    pub fn has_clashing_signs(&self) -> bool {
        let sole = self.op.facts().sole_sign;
        let signed = |(index, operand): (usize, &Operand<R>)| {
            sole >> index & 1 != 0 && (operand.flags.neg || operand.flags.not)
        };
        sole != 0 && self.operands.iter().enumerate().filter(|&one| signed(one)).count() > 1
    }

    /// Checks every operand against its slot: file and kind fit, flags are allowed. The message
    /// names the slot.
    pub fn check_form(&self) -> Result<(), String> {
        let row = self.op.row();
        let many = self.is_indexed_branch();
        let fixed = row.slots.len() - usize::from(many);
        if self.operands.len() < fixed || (self.operands.len() > fixed && !many) {
            return Err(format!(
                "{} has {} operands, not {}",
                row.mnemonic,
                row.slots.len(),
                self.operands.len()
            ));
        }
        let rest = row.slots.last().into_iter().cycle();
        for (slot, operand) in row.slots.iter().chain(rest).zip(&self.operands) {
            slot.check(operand).map_err(|why| format!("{} {}: {why}", row.mnemonic, slot.name))?;
            if let Some(modifier) = slot.hidden_with
                && self.has(modifier)
                && *operand != slot.default_operand()
            {
                return Err(format!("{} {}: {modifier} takes its place", row.mnemonic, slot.name));
            }
        }
        if self.has_clashing_signs() {
            return Err(sign_rule(self.op));
        }
        match self.guard {
            Some(_) if self.op.row().never => Err(format!("{}: it has a guard already", row.mnemonic)),
            Some(guard) if guard.reg.file() == RegFile::Gpr || guard.reg.file() == RegFile::Ugpr => {
                Err(format!("{}: a guard is a predicate", row.mnemonic))
            }
            _ => Ok(()),
        }
    }
}

impl<R: Register> Inst<R> {
    /// Whether the architecture has the row, the chosen modifiers, and the kinds of the operands.
    #[inline]
    pub fn exists_on(&self, arch: Arch) -> bool {
        self.op.facts().complete.contains(arch) || self.is_within_limits(arch)
    }

    fn is_within_limits(&self, arch: Arch) -> bool {
        let row = self.op.row();
        let mut mods =
            row.mods.iter().zip(self.mods.all()).filter(|(modifier, _)| !modifier.limits.is_empty());
        let mut slots = row.slots.iter().zip(&self.operands).filter(|(slot, _)| !slot.limits.is_empty());
        row.archs.contains(arch)
            && mods.all(|(modifier, chosen)| modifier.exists(modifier.values[usize::from(chosen)], arch))
            && slots.all(|(slot, operand)| !slot.lacks(Kinds::of(operand), arch))
    }

    /// Checks that the instruction [exists](Self::exists_on) on the architecture. The message names
    /// the part that the architecture lacks.
    #[inline]
    pub fn check_arch(&self, arch: Arch) -> Result<(), String> {
        if self.exists_on(arch) { Ok(()) } else { self.check_limits(arch) }
    }

    #[cold]
    fn check_limits(&self, arch: Arch) -> Result<(), String> {
        let row = self.op.row();
        if !row.archs.contains(arch) {
            return Err(format!("{arch} has no {}", row.mnemonic));
        }
        for (position, modifier) in row.mods.iter().enumerate() {
            let value = modifier.values[usize::from(self.mods.get(position))];
            if !modifier.limits.is_empty() && !modifier.exists(value, arch) {
                let name = row.mnemonic_on(arch);
                return Err(match value {
                    // The architecture demands one of the others.
                    "" => {
                        let needed = modifier.values.iter().filter(|value| modifier.exists(value, arch));
                        let needed: Vec<&str> = needed.copied().collect();
                        format!("{arch} has no {name} without {}", needed.join(" or "))
                    }
                    value => format!("{arch} has no {value} of {name}"),
                });
            }
        }
        for (slot, operand) in row.slots.iter().zip(&self.operands) {
            if !slot.limits.is_empty() && slot.lacks(Kinds::of(operand), arch) {
                let (name, kind) = (row.mnemonic_on(arch), operand.kind.describe());
                return Err(format!("{arch} has no {name} whose {} is {kind}", slot.name));
            }
        }
        Ok(())
    }
}

/// The [rule about signs](crate::Slot::sole_sign) of a row, as an error message.
pub(crate) fn sign_rule(op: Op) -> String {
    let row = op.row();
    let named = |sole: bool| {
        let slots = row.slots.iter().filter(move |slot| slot.sole_sign == sole);
        let slots = slots.filter(|slot| slot.neg || slot.not && !slot.kinds.meets(Kinds::P.or(Kinds::UP)));
        slots.map(|slot| slot.name).collect::<Vec<_>>().join(" and ")
    };
    let verb = if row.slots.iter().any(|slot| slot.sole_sign && slot.neg) { "negate" } else { "complement" };
    format!("{} cannot {verb} both {}: write one of them as {}", row.mnemonic, named(true), named(false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PReg;
    use crate::choice;

    fn r(n: u8) -> Operand<PReg> {
        Operand::reg(PReg::r(n))
    }

    #[test]
    fn forms_are_checked() {
        assert_eq!(Inst::new(Op::IADD3).ops([r(0), r(1).neg(), Operand::imm(1), r(2)]).check_form(), Ok(()));
        for wrong in [
            Inst::new(Op::IADD3).ops([r(0), r(1), Operand::imm(1).neg(), r(2)]),
            Inst::new(Op::IADD3).ops([r(0), r(1).abs(), r(2), r(3)]),
            Inst::new(Op::IADD3).ops([r(0), Operand::imm(1), r(2), r(3)]),
            Inst::new(Op::LEA_HI).with(choice!(LEA_HI, ".SX32")).ops([
                r(0),
                r(1),
                r(2),
                r(3),
                Operand::imm(1),
            ]),
            Inst::new(Op::NOP).guarded(PReg::r(1), false),
        ] {
            assert!(wrong.check_form().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_architecture_may_lack_a_row_a_modifier_or_an_operand() {
        let add = Inst::new(Op::VIADD).ops([r(0), r(1), r(2)]);
        assert_eq!(add.check_arch(Arch::Sm90), Ok(()));
        assert_eq!(add.check_arch(Arch::Sm89), Err("sm_89 has no VIADD".to_string()));
        let round = Inst::new(Op::F2FP).with(choice!(F2FP, ".BF16")).ops([r(0), r(1), r(2)]);
        assert_eq!(round.check_arch(Arch::Sm80), Ok(()));
        assert!(round.check_arch(Arch::Sm75).is_err());
    }

    #[test]
    fn accesses_follow_the_widths() {
        let address = crate::Address::global(PReg::r(4), 0, Some(PReg::ur(6)));
        let load = Inst::new(Op::LDG).with(choice!(LDG, ".128")).ops([r(8), Operand::mem(address)]);
        let seen: Vec<_> = load.accesses().iter().map(|a| (a.reg.to_string(), a.width)).collect();
        assert_eq!(seen, [("R8".to_string(), 4), ("R4".to_string(), 2), ("UR6".to_string(), 2)]);
        let store = Inst::new(Op::P2R).ops([r(8), Operand::predicates(), r(4), Operand::imm(0x41)]);
        let seen: Vec<_> = store.accesses().iter().map(|a| (a.reg.to_string(), a.role)).collect();
        let [written, read] = [AccessRole::Def, AccessRole::Use];
        let expected = [("R8", written), ("P0", read), ("P6", read), ("R4", read)];
        assert_eq!(seen, expected.map(|(name, role)| (name.to_string(), role)));
        let load = Inst::new(Op::R2P).ops([Operand::predicates(), r(4), Operand::imm(2)]);
        let defs: Vec<PReg> = load.defs().map(|access| access.reg).collect();
        assert_eq!(defs, [PReg::p(1)]);
        let add = Inst::new(Op::REDG).with(choice!(REDG, ".F64.RN")).ops([Operand::mem(address), r(8)]);
        assert_eq!(add.slot_width(1), 2);
    }
}
