//! Weakened programs (*mutants*): one control field at a time, or one instruction that orders products
//! of a warpgroup, guarantees a little less.

use ptxc_sass::{Coded, Completion, Control, Inst, Op, OperandKind, PReg, Program, slot_name, value};

/// The kind of the weakening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weakening {
    /// The stall is one less.
    Stall,
    /// A wait is dropped.
    Wait,
    /// The results are not signalled.
    WriteBarrier,
    /// The read of the operands is not signalled.
    ReadBarrier,
}

/// A weakened instruction.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Its index.
    pub index: usize,
    /// The kind of the weakening.
    pub weakening: Weakening,
    /// Its weakened control field.
    pub control: Control,
}

/// The weakened controls of an instruction that are legal on the hardware.
fn weakenings(control: Control) -> Vec<(Weakening, Control)> {
    let mut list = Vec::new();
    if control.stall > 0 {
        list.push((Weakening::Stall, Control { stall: control.stall - 1, ..control }));
    }
    for scoreboard in control.waits() {
        let wait_mask = control.wait_mask & !(1 << scoreboard);
        list.push((Weakening::Wait, Control { wait_mask, ..control }));
    }
    if control.write_barrier.is_some() {
        list.push((Weakening::WriteBarrier, Control { write_barrier: None, ..control }));
    }
    if control.read_barrier.is_some() {
        list.push((Weakening::ReadBarrier, Control { read_barrier: None, ..control }));
    }
    list.retain(|(_, weakened)| weakened.check().is_ok());
    list
}

/// A pseudo-random number: the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
fn scrambled(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The mutants of a program. If there are more than `sample`, the first ones in a pseudo-random
/// order.
pub fn mutants(program: &Program, sample: usize) -> Vec<Mutant> {
    let insts = program.insts.iter().enumerate();
    let all = insts.flat_map(|(index, coded)| weakenings(coded.control).into_iter().map(move |w| (index, w)));
    let all = all.map(|(index, (weakening, control))| Mutant { index, weakening, control });
    let mut numbered: Vec<(usize, Mutant)> = all.enumerate().collect();
    if numbered.len() > sample {
        numbered.sort_by_key(|(number, _)| scrambled(*number as u64 + 1));
        numbered.truncate(sample);
    }
    numbered.into_iter().map(|(_, mutant)| mutant).collect()
}

/// The mutants of the instructions that order products of a warpgroup and the asynchronous view of
/// memory: an arrival or a fence is missing, a product does not close its group, a wait is missing or leaves one group more under way.
pub fn without_order(program: &Program) -> Vec<(usize, Coded)> {
    let mut list = Vec::new();
    for (index, coded) in program.insts.iter().enumerate() {
        let mut add = |inst: Inst<PReg>| list.push((index, Coded { inst, ..coded.clone() }));
        match coded.inst.op {
            Op::WARPGROUP_ARRIVE | Op::FENCE_VIEW_ASYNC => add(Inst::new(Op::NOP)),
            Op::WARPGROUP_DEPBAR => {
                add(Inst::new(Op::NOP));
                let mut more = coded.inst.clone();
                if let Some(place) = more.slot_index(slot_name!("n"))
                    && let OperandKind::Imm(left) = &mut more.operands[place].kind
                {
                    *left += 1;
                    add(more);
                }
            }
            _ if coded.inst.row().completion == Completion::Group => {
                let mut open = coded.inst.clone();
                if open.is(value!(Group = "gsb0")) && open.set(value!(Group = "")) {
                    add(open);
                }
            }
            _ => {}
        }
    }
    list
}
