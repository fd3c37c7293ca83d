//! The search for products of warpgroups: registers that are used before the product's group is
//! complete, and registers that a product reads without an arrival after their last write.
//!
//! ```text
//! WARPGROUP.ARRIVE                                  writes before it are visible to the products after it
//! HGMMA.64x8x16.F32 R0, gdesc[UR0], R0, gsb0        closes the group
//! WARPGROUP.DEPBAR.LE gsb0, 0x0                     at most so many closed groups are under way
//! FADD R0, R0, R1                                   too early without the wait
//! ```

use std::collections::BTreeSet;

use ptxc_sass::{
    AccessRole, Completion, Inst, Op, OperandKind, PReg, RegFile, Register, SlotName, slot_name, value,
};
use rustc_hash::FxHashSet;

use super::{Culprit, Ways, leaves_for_certain};

/// More groups than a wait can leave under way.
const ALL: u32 = 8;

/// Whether a later instruction awaits the group of an instruction.
pub(super) fn is_product(inst: &Inst<PReg>) -> bool {
    inst.row().completion == Completion::Group
}

fn is_in(inst: &Inst<PReg>, slot: u8, name: SlotName) -> bool {
    inst.slot_index(name) == Some(usize::from(slot))
}

fn accumulates(inst: &Inst<PReg>, slot: u8) -> bool {
    is_product(inst) && (is_in(inst, slot, slot_name!("d")) || is_in(inst, slot, slot_name!("c")))
}

/// The accesses to a general register: the role and the slot.
fn accesses(inst: &Inst<PReg>, reg: PReg) -> Vec<(AccessRole, u8)> {
    let all = inst.accesses().into_iter();
    let of_reg = all.filter(|access| (0..access.width).any(|n| access.reg.offset(n) == Some(reg)));
    of_reg.map(|access| (access.role, access.slot)).collect()
}

/// The general registers of an instruction's accesses, each component by itself.
fn registers(inst: &Inst<PReg>) -> Vec<(PReg, AccessRole, u8)> {
    let mut list = Vec::new();
    for access in inst.accesses().into_iter().filter(|access| access.reg.file() == RegFile::Gpr) {
        let components = (0..access.width).filter_map(|n| access.reg.offset(n));
        list.extend(components.map(|reg| (reg, access.role, access.slot)));
    }
    list
}

/// Looks for instructions that use the registers of a product before its group is complete.
pub(super) fn uses(ways: Ways<'_>, producer: usize, found: &mut BTreeSet<Culprit>) {
    let program = ways.program;
    let product = &program.insts[producer].inst;
    let closes = |inst: &Inst<PReg>| u32::from(is_product(inst) && inst.is(value!(Group = "gsb0")));
    for (reg, role, slot) in registers(product) {
        let (writes, sums) = (role == AccessRole::Def, accumulates(product, slot));
        let start = ways.successors(producer).into_iter().map(|next| (next, closes(product)));
        walk_states(start.collect(), &mut |index, &closed| {
            let there = &program.insts[index];
            let is_early = ways.is_active(index)
                && accesses(&there.inst, reg).into_iter().any(|(role, slot)| {
                    (writes || role == AccessRole::Def) && !(sums && accumulates(&there.inst, slot))
                });
            if is_early || there.inst.row().effects.boundary && !is_meeting(&there.inst) {
                found.insert((index, producer, Some(reg)));
            }
            let is_certain = there.inst.guard.is_none();
            let is_replaced = is_certain && there.inst.defs().any(|def| covers(def.reg, def.width, reg));
            if is_replaced || leaves_for_certain(program, index) && !is_meeting(&there.inst) {
                return Vec::new();
            }
            let left = match there.inst.get(slot_name!("n")).map(|operand| operand.kind) {
                Some(OperandKind::Imm(left)) if there.inst.op == Op::WARPGROUP_DEPBAR => left,
                _ => ALL,
            };
            if is_certain && closed > left {
                return Vec::new();
            }
            let closed = (closed + closes(&there.inst)).min(ALL);
            ways.successors(index).into_iter().map(|next| (next, closed)).collect()
        });
    }
}

/// Whether the lanes of a warp only meet in other code, and products go on.
fn is_meeting(inst: &Inst<PReg>) -> bool {
    matches!(inst.op, Op::WARPSYNC_COLLECTIVE | Op::WARPSYNC_COLLECTIVE_ALL | Op::ENDCOLLECTIVE)
}

fn covers(first: PReg, width: u8, reg: PReg) -> bool {
    (0..width).any(|n| first.offset(n) == Some(reg))
}

/// Looks for products that read a register as a matrix which an instruction wrote after the last
/// arrival before them, or was still writing then.
pub(super) fn arrivals(ways: Ways<'_>, producer: usize, found: &mut BTreeSet<Culprit>) {
    let program = ways.program;
    let coded = &program.insts[producer];
    let is_announced = coded.inst.completion(program.arch) == Completion::Variable;
    let released_by = coded.control.write_barrier.map_or(0u8, |number| 1 << number);
    for (reg, role, _) in registers(&coded.inst) {
        if role != AccessRole::Def || !ways.is_active(producer) {
            continue;
        }
        // Whether the register is written, and the cycles since the start, up to two.
        let start = (!is_announced, coded.control.stall.min(2));
        let start = ways.successors(producer).into_iter().map(|next| (next, start));
        walk_states(start.collect(), &mut |index, &(mut is_written, cycles)| {
            let there = &program.insts[index];
            is_written |= there.control.wait_mask & released_by != 0 && cycles >= 2;
            let is_certain = there.inst.guard.is_none();
            let stops = if is_product(&there.inst) {
                if accesses(&there.inst, reg)
                    .into_iter()
                    .any(|(role, slot)| role == AccessRole::Use && reads_as_matrix(&there.inst, slot))
                {
                    found.insert((index, producer, Some(reg)));
                }
                there.inst.defs().any(|def| covers(def.reg, def.width, reg))
            } else if there.inst.op == Op::WARPGROUP_ARRIVE && is_certain {
                is_written
            } else {
                is_certain && there.inst.defs().any(|def| covers(def.reg, def.width, reg))
            };
            if stops || leaves_for_certain(program, index) && !is_meeting(&there.inst) {
                return Vec::new();
            }
            let state = (is_written, (cycles + there.control.stall).min(2));
            ways.successors(index).into_iter().map(|next| (next, state)).collect()
        });
    }
}

/// Whether a product reads the registers of a slot as a matrix: a new sum has no old one.
fn reads_as_matrix(inst: &Inst<PReg>, slot: u8) -> bool {
    let starts = inst.get(slot_name!("accumulate")).is_some_and(|operand| {
        operand.flags.not && matches!(operand.kind, OperandKind::Zero(RegFile::Upred))
    });
    is_in(inst, slot, slot_name!("a")) || is_in(inst, slot, slot_name!("c")) && !starts
}

/// Visits each instruction once in each state; `visit` returns the next ones.
fn walk_states<S: Copy + Eq + std::hash::Hash>(
    mut stack: Vec<(usize, S)>,
    visit: &mut impl FnMut(usize, &S) -> Vec<(usize, S)>,
) {
    let mut seen: FxHashSet<(usize, S)> = FxHashSet::default();
    while let Some((index, state)) = stack.pop() {
        if seen.insert((index, state)) {
            stack.extend(visit(index, &state));
        }
    }
}
