//! What is live at the end of each block of laid-out code, by physical register.
//!
//! In: [`Code`]. Out: for each block's body the registers that its branches or a later block read before they
//! overwrite them. A guarded definition does not end what it overwrites. Backward dataflow on sets of bits;
//! linear for bounded loop nesting.

use std::collections::BTreeSet;

use ptxc_sass::{AccessRole, Inst, PReg, RegFile};
use rustc_hash::FxHashSet;

use crate::layout::Code;
use crate::mir::MInst;

const WORDS: usize = PReg::COUNT.div_ceil(64);

/// A set of registers by their dense numbers.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Registers([u64; WORDS]);

impl Registers {
    fn set(&mut self, reg: PReg, live: bool) {
        let (word, bit) = (reg.dense() / 64, 1 << (reg.dense() % 64));
        if live {
            self.0[word] |= bit;
        } else {
            self.0[word] &= !bit;
        }
    }

    fn contains(&self, reg: PReg) -> bool {
        self.0[reg.dense() / 64] >> (reg.dense() % 64) & 1 != 0
    }

    fn extend(&mut self, other: &Registers) -> bool {
        let before = *self;
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
        *self != before
    }

    fn step_back(&mut self, inst: &Inst<PReg>) {
        each_change(inst, |reg, live| self.set(reg, live));
    }
}

/// What is live at the end of each block's body.
pub(super) fn live_out(code: &Code) -> Vec<FxHashSet<PReg>> {
    let count = code.blocks.len();
    let preds = code.predecessors();
    let mut live_in = vec![Registers::default(); count];
    let mut after_body = vec![Registers::default(); count];
    let mut work: BTreeSet<usize> = (0..count).collect();
    while let Some(block) = work.pop_last() {
        let data = &code.blocks[block];
        let mut live = Registers::default();
        for way in code.ways(block) {
            live.extend(&live_in[way.target]);
        }
        for minst in data.insts[data.body..].iter().rev() {
            live.step_back(&minst.inst);
        }
        after_body[block] = live;
        for minst in data.insts[..data.body].iter().rev() {
            live.step_back(&minst.inst);
        }
        if live_in[block].extend(&live) {
            work.extend(&preds[block]);
        }
    }
    let all: Vec<PReg> =
        RegFile::ALL.iter().flat_map(|&file| (0..file.count()).map(move |n| PReg::new(file, n))).collect();
    after_body
        .into_iter()
        .map(|live| all.iter().copied().filter(|&reg| live.contains(reg)).collect())
        .collect()
}

/// Takes a live set from after an instruction to before it.
pub(super) fn step_back(minst: &MInst<PReg>, live: &mut FxHashSet<PReg>) {
    each_change(&minst.inst, |reg, is_live| {
        if is_live {
            live.insert(reg);
        } else {
            live.remove(&reg);
        }
    });
}

/// The registers that an instruction ends (seen backward), then those that it needs.
fn each_change(inst: &Inst<PReg>, mut change: impl FnMut(PReg, bool)) {
    let accesses = inst.accesses();
    for uses in [false, true] {
        for access in &accesses {
            let is_use = access.role != AccessRole::Def;
            if is_use == uses && (is_use || inst.guard.is_none()) {
                (0..access.width).filter_map(|n| access.reg.offset(n)).for_each(|reg| change(reg, is_use));
            }
        }
    }
}
