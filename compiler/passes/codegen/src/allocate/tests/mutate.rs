//! Damages an allocation in one place.

use ptxc_sass::{Op, OperandKind, PReg, Register};

use super::random::Random;
use crate::allocate::{Allocation, Origin};

/// A copy with one change, and a description of it; `None` if the chosen place does not allow the
/// chosen change.
pub(super) fn mutate(allocation: &Allocation, random: &mut Random) -> Option<(Allocation, String)> {
    let mut damaged = allocation.clone();
    let block = damaged.mir.layout[random.below(damaged.mir.layout.len())];
    let insts = &mut damaged.mir.blocks[block].insts;
    let origins = &mut damaged.origins[block];
    if insts.is_empty() {
        return None;
    }
    let index = random.below(insts.len());
    let text = insts[index].inst.to_string();
    let change = match random.below(5) {
        0 if !matches!(origins[index], Origin::Inst(_)) => {
            insts.remove(index);
            origins.remove(index);
            "removed"
        }
        1 if index + 1 < insts.len() => {
            insts.swap(index, index + 1);
            origins.swap(index, index + 1);
            "exchanged with the next"
        }
        2 if matches!(insts[index].inst.op, Op::LDL | Op::STL) => {
            for operand in &mut insts[index].inst.operands {
                if let OperandKind::Mem(address) = &mut operand.kind {
                    address.offset += 16;
                }
            }
            "moved to another slot"
        }
        _ => {
            let registers = allocation.statistics.registers;
            let chosen = random.below(insts[index].inst.accesses().len());
            let mut at = 0;
            let renamed = insts[index].inst.map(|reg| {
                let hit = at == chosen;
                at += 1;
                let count = registers[reg.file() as usize];
                if hit && count > 1 { PReg::new(reg.file(), random.below(count as usize) as u8) } else { reg }
            });
            if renamed == insts[index].inst {
                return None;
            }
            insts[index].inst = renamed;
            "with another register"
        }
    };
    Some((damaged, format!("{block}: {text} {change}")))
}
