//! The causes of waits: for each scoreboard in an instruction's wait mask, the instructions that
//! may have taken it.
//!
//! In: the instructions of a function. Out: for each [wait](Wait), its setters on any path to it.
//!
//! ```
//! use ptxc_sass::text::{ReadOptions, parse_programs};
//! use ptxc_sass::waits::waits;
//!
//! let text = ".target sm_90\n.text.k:\n\
//!     [B------:R-:W0:-:S02] S2R R0, SR_TID.X ;\n\
//!     [B0-----:R-:W-:Y:S05] IADD3 R1, R0, R0, RZ ;\n";
//! let kernels = parse_programs(text, &ReadOptions::default()).unwrap();
//! let insts = kernels[0].program.insts.iter();
//! let insts: Vec<_> = insts.map(|coded| (Some(coded.inst.clone()), coded.control)).collect();
//! let found = waits(&insts, 0);
//! assert_eq!((found[0].inst, found[0].scoreboard, &found[0].setters[..]), (1, 0, &[0][..]));
//! ```
//!
//! A scoreboard counts, and a wait is for zero, so a wait ends the pending accesses of all setters.
//! A forward dataflow over blocks in the order of the code finds the pending setters. It repeats
//! until nothing changes, which takes one sweep more than the depth of loop nests. Two bounds keep
//! it linear for any input: [`SETTERS`] per scoreboard, the first ones in the code, and [`SWEEPS`].
//! So the answer is for people who read code; the [hazard check](crate::verify) has its own
//! analysis.

use smallvec::SmallVec;

use crate::control::Control;
use crate::inst::Inst;
use crate::operand::OperandKind;
use crate::program::Program;
use crate::register::PReg;

/// The most setters of a scoreboard that are tracked.
pub const SETTERS: usize = 16;

/// The most sweeps over the code.
pub const SWEEPS: usize = 12;

/// A scoreboard that an instruction waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The instruction that waits, by its index.
    pub inst: u32,
    /// The scoreboard.
    pub scoreboard: u8,
    /// The instructions that may have taken it, by their indices, ascending. Empty if the wait is
    /// for nothing, or for an instruction outside of the function.
    pub setters: SmallVec<[u32; 4]>,
}

/// For each scoreboard the instructions that have taken it.
type Pending = [SmallVec<[u32; 4]>; Control::SCOREBOARDS as usize];

/// An instruction, as far as it could be decoded, and its control field.
pub type Step = (Option<Inst<PReg>>, Control);

/// The waits of a function in the order of its code. An instruction that could not be decoded
/// counts by its control field, and control is assumed to continue after it. `start` is the start
/// of the function in its section, in bytes, for branch targets that are places.
pub fn waits(insts: &[Step], start: u32) -> Vec<Wait> {
    let blocks = Blocks::new(insts, start);
    let mut entries: Vec<Pending> = vec![Pending::default(); blocks.starts.len()];
    for _ in 0..SWEEPS {
        let mut changed = false;
        for block in 0..blocks.starts.len() {
            let mut pending = entries[block].clone();
            for index in blocks.range(block, insts.len()) {
                step(&mut pending, insts, index, &mut |_, _| {});
            }
            for &next in &blocks.successors[block] {
                changed |= join(&mut entries[next as usize], &pending);
            }
        }
        if !changed {
            break;
        }
    }
    let mut waits = Vec::new();
    for (block, mut pending) in entries.into_iter().enumerate() {
        for index in blocks.range(block, insts.len()) {
            step(&mut pending, insts, index, &mut |scoreboard, setters| {
                waits.push(Wait { inst: index as u32, scoreboard, setters: setters.clone() });
            });
        }
    }
    waits
}

/// Applies an instruction to the pending setters; calls `each` for every scoreboard that it waits
/// for.
fn step(pending: &mut Pending, insts: &[Step], index: usize, each: &mut impl FnMut(u8, &SmallVec<[u32; 4]>)) {
    let (_, control) = &insts[index];
    for scoreboard in control.waits() {
        let setters = &mut pending[usize::from(scoreboard)];
        each(scoreboard, setters);
        setters.clear();
    }
    for scoreboard in [control.read_barrier, control.write_barrier].into_iter().flatten() {
        insert(&mut pending[usize::from(scoreboard)], index as u32);
    }
}

/// Adds a setter; returns whether anything changed.
fn insert(setters: &mut SmallVec<[u32; 4]>, index: u32) -> bool {
    match setters.binary_search(&index) {
        Ok(_) => false,
        Err(SETTERS) => false,
        Err(at) => {
            setters.insert(at, index);
            setters.truncate(SETTERS);
            true
        }
    }
}

fn join(entry: &mut Pending, other: &Pending) -> bool {
    let mut changed = false;
    for (setters, others) in entry.iter_mut().zip(other) {
        for &index in others {
            changed |= insert(setters, index);
        }
    }
    changed
}

/// The blocks of a function.
struct Blocks {
    /// The first instruction of each, ascending.
    starts: Vec<u32>,
    successors: Vec<SmallVec<[u32; 2]>>,
}

impl Blocks {
    fn new(insts: &[Step], start: u32) -> Blocks {
        let targets = |inst: &Inst<PReg>| -> SmallVec<[u32; 1]> {
            let place = |target: i32| {
                let distance = i64::from(target) - i64::from(start);
                u32::try_from(distance / i64::from(Program::INST_BYTES)).ok().filter(|_| distance >= 0)
            };
            if !inst.jumps() {
                return SmallVec::new();
            }
            let places = inst.operands.iter().filter_map(|operand| match operand.kind {
                OperandKind::Code(target) => place(target),
                _ => None,
            });
            places.filter(|&place| (place as usize) < insts.len()).collect()
        };
        let mut starts: Vec<u32> = if insts.is_empty() { Vec::new() } else { vec![0] };
        for (index, (inst, _)) in insts.iter().enumerate() {
            let Some(inst) = inst else { continue };
            if inst.jumps() || !inst.falls_through() {
                starts.extend(targets(inst));
                starts.push(index as u32 + 1);
            }
        }
        starts.sort_unstable();
        starts.dedup();
        starts.retain(|&start| (start as usize) < insts.len());
        let block_of = |place: u32| starts.binary_search(&place).ok().map(|block| block as u32);
        let successors = (0..starts.len())
            .map(|block| {
                let end = starts.get(block + 1).map_or(insts.len(), |&end| end as usize);
                let (Some(last), _) = &insts[end - 1] else {
                    return block_of(end as u32).into_iter().collect();
                };
                let next = last.falls_through().then_some(end as u32);
                targets(last).into_iter().chain(next).filter_map(block_of).collect()
            })
            .collect();
        Blocks { starts, successors }
    }

    fn range(&self, block: usize, count: usize) -> std::ops::Range<usize> {
        let end = self.starts.get(block + 1).map_or(count, |&end| end as usize);
        self.starts[block] as usize..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Op, Operand, slot};

    fn nop(control: Control) -> Step {
        (Some(Inst::new(Op::NOP)), control)
    }

    fn sets(scoreboard: u8) -> Step {
        nop(Control { write_barrier: Some(scoreboard), ..Control::plain() })
    }

    fn waits_for(wait_mask: u8) -> Step {
        nop(Control { wait_mask, ..Control::plain() })
    }

    fn branch(target: i32, guarded: bool) -> Step {
        let mut inst = Inst::new(Op::BRA).slot(slot!(BRA, "target"), Operand::code(target));
        if guarded {
            inst = inst.guarded(PReg::p(0), false);
        }
        (Some(inst), Control::plain())
    }

    fn found(insts: &[Step], start: u32) -> Vec<(u32, u8, Vec<u32>)> {
        waits(insts, start)
            .into_iter()
            .map(|wait| (wait.inst, wait.scoreboard, wait.setters.to_vec()))
            .collect()
    }

    #[test]
    fn both_paths_reach_a_wait_and_a_loop_reaches_its_own_start() {
        // 0 sets; 1 jumps over 2, which also sets; 3 waits; 4 sets; 5 jumps back to 3.
        let insts = [sets(1), branch(0x130, true), sets(1), waits_for(2), sets(1), branch(0x130, true)];
        assert_eq!(found(&insts, 0x100), [(3, 1, vec![0, 2, 4])]);
    }

    #[test]
    fn a_wait_ends_what_is_pending_and_words_that_are_no_instructions_count() {
        let unknown = |step: Step| (None, step.1);
        let insts = [sets(0), unknown(sets(0)), waits_for(1), waits_for(1), branch(0, false), waits_for(1)];
        assert_eq!(found(&insts, 0), [(2, 0, vec![0, 1]), (3, 0, vec![]), (5, 0, vec![])]);
    }

    #[test]
    fn more_setters_than_are_told_apart() {
        let mut insts: Vec<_> = (0..100).map(|_| sets(0)).collect();
        insts.push(waits_for(1));
        assert_eq!(found(&insts, 0)[0].2, (0..SETTERS as u32).collect::<Vec<_>>());
    }
}
