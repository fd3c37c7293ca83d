//! What is live at the end of each block of laid-out code, by physical register.
//!
//! In: [`Code`]. Out: for each block's body the registers that its branches or a later block read before they
//! overwrite them. A guarded definition does not end what it overwrites. Backward dataflow on sets of bits;
//! linear for bounded loop nesting.

use std::collections::BTreeSet;

use ptxc_sass::{PReg, RegFile};
use rustc_hash::FxHashSet;

use crate::interrupt;
use crate::layout::Code;
use crate::mir::MInst;

const WORDS: usize = PReg::COUNT.div_ceil(64);

/// A set of registers by their dense numbers.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Registers([u64; WORDS]);

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

    /// The registers in the set, file by file.
    pub(super) fn iter(&self) -> impl Iterator<Item = PReg> {
        let all =
            RegFile::ALL.into_iter().flat_map(|file| (0..file.count()).map(move |n| PReg::new(file, n)));
        all.filter(|&reg| self.contains(reg))
    }

    fn extend(&mut self, other: &Registers) -> bool {
        let before = *self;
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
        *self != before
    }

    fn step_back(&mut self, minst: &MInst<PReg>) {
        each_change(minst, |reg, live| self.set(reg, live));
    }
}

/// What is live at the end of each block's body.
pub(super) fn live_out(code: &Code) -> Vec<Registers> {
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
            interrupt::poll();
            live.step_back(minst);
        }
        after_body[block] = live;
        for minst in data.insts[..data.body].iter().rev() {
            interrupt::poll();
            live.step_back(minst);
        }
        if live_in[block].extend(&live) {
            work.extend(&preds[block]);
        }
    }
    after_body
}

/// Takes a live set from after an instruction to before it.
pub(super) fn step_back(minst: &MInst<PReg>, live: &mut FxHashSet<PReg>) {
    each_change(minst, |reg, is_live| {
        if is_live {
            live.insert(reg);
        } else {
            live.remove(&reg);
        }
    });
}

/// The registers that an instruction ends (seen backward), then those that it needs. A call ends those that
/// it destroys.
fn each_change(minst: &MInst<PReg>, mut change: impl FnMut(PReg, bool)) {
    let all = |reg: PReg, width: u8| (0..width).filter_map(move |n| reg.offset(n));
    if minst.inst.guard.is_none() {
        minst.for_each_def(|reg, width| all(reg, width).for_each(|reg| change(reg, false)));
    }
    if let Some(call) = &minst.call {
        call.clobbers.iter().for_each(|reg| change(reg, false));
    }
    minst.for_each_use(|reg, width| all(reg, width).for_each(|reg| change(reg, true)));
}
