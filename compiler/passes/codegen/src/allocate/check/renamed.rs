//! Compares instructions before and after allocation: they must be the same except for their
//! registers.

use std::ops::Range;

use ptxc_sass::{AccessRole, Address, Inst, Operand, OperandKind, PReg, RegFile, Register};

use super::state::Place;
use super::{Components, copy_operands};
use crate::mir::{MInst, VReg};

/// A register operand of an instruction, before and after allocation.
pub struct Renamed {
    pub from: VReg,
    pub to: PReg,
    pub width: u8,
    /// The number of the first component of `from`.
    pub component: u32,
    /// The place of `to`.
    pub place: Place,
}

impl Renamed {
    /// A register before and after allocation, with `width` components.
    pub fn new(from: VReg, to: PReg, width: u8, components: &Components) -> Renamed {
        let Range { start, end } = components.range(from, width);
        Renamed { from, to, width: (end - start) as u8, component: start, place: Place::register(to) }
    }

    /// Its components, each with its place after allocation. There must be enough registers.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, Place)> + use<> {
        let Renamed { width, component, place, .. } = *self;
        (0..u32::from(width)).map(move |n| (component + n, place.neighbour(n)))
    }
}

/// The registers of an instruction before and after allocation: ranges of the lists of [`Matcher`].
#[derive(Default)]
pub struct Match {
    /// The registers that it reads: operands, guard and old values.
    pub uses: Range<u32>,
    /// The registers that it writes, except for the results of a call.
    pub defs: Range<u32>,
    /// The source of a plain copy, before and after allocation.
    pub copied: Option<(VReg, PReg)>,
}

/// Finds the registers of instructions before and after allocation.
pub struct Matcher {
    uses: Vec<Renamed>,
    defs: Vec<Renamed>,
    /// The registers of the current instruction after allocation, in the order of its accesses.
    registers: Vec<PReg>,
}

impl Matcher {
    /// Reserves room for the registers of this number of instructions.
    pub fn with_capacity(instructions: usize) -> Matcher {
        Matcher {
            uses: Vec::with_capacity(2 * instructions),
            defs: Vec::with_capacity(instructions),
            registers: Vec::with_capacity(8),
        }
    }

    /// The registers that an instruction reads.
    pub fn uses(&self, matched: &Match) -> &[Renamed] {
        &self.uses[matched.uses.start as usize..matched.uses.end as usize]
    }

    /// The registers that an instruction writes.
    pub fn defs(&self, matched: &Match) -> &[Renamed] {
        &self.defs[matched.defs.start as usize..matched.defs.end as usize]
    }

    /// Finds the registers of an instruction.
    ///
    /// # Errors
    /// If the two differ in more than their registers.
    pub fn add(
        &mut self,
        before: &MInst<VReg>,
        after: &MInst<PReg>,
        components: &Components,
    ) -> Result<Match, String> {
        let Matcher { uses, defs, registers } = self;
        let start = (uses.len(), defs.len());
        let shape = || format!("{} has another shape than {}", after.inst, before.inst);
        registers.clear();
        if !same_but_registers(&before.inst, &after.inst, |_, to| registers.push(to)) {
            return Err(shape());
        }
        let (mut count, mut same_files) = (0, true);
        before.inst.for_each_access(|access| {
            if let Some(&to) = registers.get(count) {
                let pair = Renamed::new(access.reg, to, access.width, components);
                let list = if access.role == AccessRole::Def { &mut *defs } else { &mut *uses };
                list.push(pair);
                same_files &= access.reg.file() == to.file();
            }
            count += 1;
        });
        if count != registers.len() {
            return Err(shape());
        }
        if !same_files {
            takes_other_files(&uses[start.0..], &defs[start.1..]).then_some(()).ok_or_else(shape)?;
            after.inst.check_form()?;
        }
        if before.tied.len() != after.tied.len() {
            return Err("tied operands got lost".into());
        }
        for (&(slot, from), &(same_slot, to)) in before.tied.iter().zip(&after.tied) {
            if slot != same_slot || after.inst.operands[slot as usize].as_reg() != Some(to) {
                return Err(format!("{to} is not the register that is defined"));
            }
            uses.push(Renamed::new(from, to, before.inst.slot_width(slot as usize), components));
        }
        written_once(&defs[start.1..])?;
        // Other contents of a uniform register may come from another arm.
        let copied =
            copy_in_file(&before.inst).zip(copy_in_file(&after.inst)).map(|((_, from), (_, to))| (from, to));
        let (uses, defs) = (start.0 as u32..uses.len() as u32, start.1 as u32..defs.len() as u32);
        Ok(Match { uses, defs, copied })
    }
}

/// The operands of a plain copy within one file, `(to, from)`.
fn copy_in_file<R: Register>(inst: &Inst<R>) -> Option<(R, R)> {
    copy_operands(inst).filter(|(to, from)| to.file() == from.file())
}

/// Whether every change of a register's file is allowed: the result may read a uniform register of
/// the input from a general one, if it does so everywhere in the instruction and the instruction
/// takes it.
fn takes_other_files(uses: &[Renamed], defs: &[Renamed]) -> bool {
    let is_general = |reg: VReg| {
        let first = uses.iter().find(|pair| pair.from == reg);
        reg.file() == RegFile::Ugpr && first.is_some_and(|pair| pair.to.file() == RegFile::Gpr)
    };
    uses.iter().chain(defs).all(|pair| {
        let file = if is_general(pair.from) { RegFile::Gpr } else { pair.from.file() };
        pair.to.file() == file
    })
}

/// Checks that the written registers do not overlap.
fn written_once(defs: &[Renamed]) -> Result<(), String> {
    let registers = |def: &Renamed| {
        let first = u16::from(def.to.index());
        first..first + u16::from(def.width)
    };
    for (index, def) in defs.iter().enumerate().skip(1) {
        let overlaps = |other: &Renamed| {
            let (a, b) = (registers(def), registers(other));
            def.to.file() == other.to.file() && a.start < b.end && b.start < a.end
        };
        if let Some(other) = defs[..index].iter().find(|other| overlaps(other)) {
            return Err(format!("{} is written twice", def.to.max(other.to)));
        }
    }
    Ok(())
}

/// Whether two instructions are the same except for their registers. Calls `visit` for each
/// register of the first with its counterpart in the second: operands in the order of their slots,
/// then the guard.
pub fn same_but_registers(a: &Inst<VReg>, b: &Inst<PReg>, mut visit: impl FnMut(VReg, PReg)) -> bool {
    if a.op != b.op || a.mods != b.mods || a.operands.len() != b.operands.len() {
        return false;
    }
    let others = b.operands.as_slice();
    for (index, operand) in a.operands.as_slice().iter().enumerate() {
        if !same_operand(operand, &others[index], &mut visit) {
            return false;
        }
    }
    match (a.guard, b.guard) {
        (Some(a), Some(b)) => {
            visit(a.reg, b.reg);
            a.negated == b.negated
        }
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// The same for an operand. All predicates together are not a register of the input, so they are
/// never the same.
#[inline]
fn same_operand(a: &Operand<VReg>, b: &Operand<PReg>, visit: &mut impl FnMut(VReg, PReg)) -> bool {
    use OperandKind::{
        Code, Const, Convergence, Function, Imm, IndexedConst, Label, Mem, Reg, SharedEnd, Special, Zero,
    };
    a.flags == b.flags
        && match (&a.kind, &b.kind) {
            (&Reg(a), &Reg(b)) => {
                visit(a, b);
                true
            }
            (Zero(a), Zero(b)) => a == b,
            (Imm(a), Imm(b)) => a == b,
            (Mem(a), Mem(b)) => same_address(a, b, visit),
            (Const { bank, offset }, Const { bank: other, offset: place }) => {
                (bank, offset) == (other, place)
            }
            (
                &IndexedConst { bank, index, offset },
                &IndexedConst { bank: other, index: to, offset: place },
            ) => {
                visit(index, to);
                (bank, offset) == (other, place)
            }
            (Label(a), Label(b)) => a == b,
            (Code(a), Code(b)) => a == b,
            (Function(a), Function(b)) => a == b,
            (SharedEnd(a), SharedEnd(b)) => a == b,
            (Special(a), Special(b)) => a == b,
            (Convergence(a), Convergence(b)) => a == b,
            _ => false,
        }
}

/// The same for an address.
fn same_address(a: &Address<VReg>, b: &Address<PReg>, visit: &mut impl FnMut(VReg, PReg)) -> bool {
    let mut same = |a: Option<VReg>, b: Option<PReg>| match (a, b) {
        (Some(a), Some(b)) => {
            visit(a, b);
            true
        }
        (a, b) => a.is_none() && b.is_none(),
    };
    (a.wide, a.scale, a.offset) == (b.wide, b.scale, b.offset)
        && same(a.base, b.base)
        && same(a.uniform, b.uniform)
        && same(a.descriptor, b.descriptor)
}
