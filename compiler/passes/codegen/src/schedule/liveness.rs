//! The physical registers that are live at the end of each block of laid-out code.
//!
//! In: [`Code`] and the accesses of its instructions. Out: for each block's body the registers that
//! its branches or a later block read before they overwrite them. A guarded definition does not end
//! the register that it overwrites; a call ends those that it clobbers. This is a backward dataflow
//! on sets of bits. Each block needs two: the registers that it reads first, and those that it
//! overwrites. Linear for bounded loop nesting.

use ptxc_sass::PReg;

use super::accesses::{Access, Accesses, Role};
use crate::layout::Code;
use crate::mir::{MInst, RegSet};

const WORDS: usize = PReg::COUNT.div_ceil(64);

/// A set of registers by their dense numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Registers([u64; WORDS]);

impl Registers {
    /// The numbers in the set, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(place, word)| {
            let left = |&bits: &u64| Some(bits & (bits - 1)).filter(|&bits| bits != 0);
            let each = std::iter::successors(Some(word).filter(|&bits| bits != 0), left);
            each.map(move |bits| 64 * place + bits.trailing_zeros() as usize)
        })
    }

    fn insert(&mut self, access: &Access) {
        access.numbers().for_each(|number| self.0[number as usize / 64] |= 1 << (number % 64));
    }

    fn remove(&mut self, access: &Access) {
        access.numbers().for_each(|number| self.0[number as usize / 64] &= !(1 << (number % 64)));
    }

    fn extend(&mut self, other: &Registers) {
        self.0.iter_mut().zip(other.0).for_each(|(word, more)| *word |= more);
    }

    fn without(&self, other: &Registers) -> Registers {
        Registers(std::array::from_fn(|place| self.0[place] & !other.0[place]))
    }
}

impl From<&RegSet> for Registers {
    fn from(set: &RegSet) -> Registers {
        Registers(*set.words())
    }
}

/// The effect of some consecutive instructions on the live registers.
#[derive(Clone, Copy, Debug, Default)]
struct Effect {
    /// The registers that they read before they overwrite them.
    needs: Registers,
    /// The registers that they overwrite.
    ends: Registers,
}

impl Effect {
    /// The effect of these instructions; the first has the number `first`.
    fn new(insts: &[MInst<PReg>], accesses: &Accesses, first: usize) -> Effect {
        let mut effect = Effect::default();
        for (index, minst) in insts.iter().enumerate().rev() {
            ptxc_interrupt::poll();
            if let Some(call) = &minst.call {
                let lost = Registers::from(&call.clobbers);
                effect.needs = effect.needs.without(&lost);
                effect.ends.extend(&lost);
            }
            for access in accesses.of(first + index).iter().rev() {
                match access.role {
                    Role::Def => {
                        effect.needs.remove(access);
                        effect.ends.insert(access);
                    }
                    Role::GuardedDef => {}
                    Role::Use | Role::Tied => effect.needs.insert(access),
                }
            }
        }
        effect
    }

    /// The registers that are live before them, given those that are live after them.
    fn before(&self, after: &Registers) -> Registers {
        let mut live = after.without(&self.ends);
        live.extend(&self.needs);
        live
    }
}

/// The registers that are live at the end of each block's body.
pub(super) fn live_out(code: &Code, accesses: &Accesses) -> Vec<Registers> {
    let count = code.blocks.len();
    let mut effects = Vec::with_capacity(count);
    let mut ways = Ways::with_capacity(count);
    let mut first = 0;
    for (number, block) in code.blocks.iter().enumerate() {
        let (body, branches) = block.insts.split_at(block.body);
        let whole = first + block.insts.len();
        effects
            .push((Effect::new(body, accesses, first), Effect::new(branches, accesses, first + block.body)));
        code.ways(number).iter().for_each(|way| ways.add(number, way.target));
        first = whole;
    }
    let mut live_in = vec![Registers::default(); count];
    let mut after_body = vec![Registers::default(); count];
    let mut work = Work::all(count);
    while let Some(block) = work.pop() {
        ptxc_interrupt::poll();
        let mut after = Registers::default();
        ways.from(block).for_each(|target| after.extend(&live_in[target]));
        let (body, branches) = &effects[block];
        after_body[block] = branches.before(&after);
        let live = body.before(&after_body[block]);
        if live != live_in[block] {
            live_in[block] = live;
            ways.to(block).for_each(|source| work.add(source));
        }
    }
    after_body
}

/// The ways from block to block, each in two lists: the ways that leave its source, and those that
/// reach its target.
struct Ways {
    list: Vec<Way>,
    /// For each block the newest way that leaves it and that reaches it.
    newest: Vec<[u32; 2]>,
}

/// A way from one block to another, with the next older ones in its two lists.
struct Way {
    ends: [usize; 2],
    older: [u32; 2],
}

const NONE: u32 = u32::MAX;

impl Ways {
    fn with_capacity(blocks: usize) -> Ways {
        Ways { list: Vec::with_capacity(2 * blocks), newest: vec![[NONE; 2]; blocks] }
    }

    fn add(&mut self, source: usize, target: usize) {
        let number = self.list.len() as u32;
        let older = [
            std::mem::replace(&mut self.newest[source][0], number),
            std::mem::replace(&mut self.newest[target][1], number),
        ];
        self.list.push(Way { ends: [source, target], older });
    }

    fn each(&self, block: usize, side: usize) -> impl Iterator<Item = usize> {
        let mut at = self.newest[block][side];
        std::iter::from_fn(move || {
            let way = self.list.get(at as usize)?;
            at = way.older[side];
            Some(way.ends[1 - side])
        })
    }

    fn from(&self, block: usize) -> impl Iterator<Item = usize> {
        self.each(block, 0)
    }

    fn to(&self, block: usize) -> impl Iterator<Item = usize> {
        self.each(block, 1)
    }
}

/// Blocks to visit, the last one first: a bit for each.
struct Work {
    words: Vec<u64>,
    /// No word after this one has a bit.
    top: usize,
}

impl Work {
    fn all(count: usize) -> Work {
        let mut work = Work { words: vec![0; count.div_ceil(64).max(1)], top: 0 };
        (0..count).for_each(|block| work.add(block));
        work
    }

    fn add(&mut self, block: usize) {
        self.words[block / 64] |= 1 << (block % 64);
        self.top = self.top.max(block / 64);
    }

    fn pop(&mut self) -> Option<usize> {
        while self.words[self.top] == 0 {
            self.top = self.top.checked_sub(1)?;
        }
        let word = &mut self.words[self.top];
        let bit = 63 - word.leading_zeros() as usize;
        *word &= !(1 << bit);
        Some(64 * self.top + bit)
    }
}
