//! The check of an order that a heuristic returned.
//!
//! In: the instructions in source order, and an order. Out: nothing, or the first dependence that
//! the order breaks. The check does not use the dependence graph but contents: it runs both orders,
//! and every definition leaves its own number in its registers. Each instruction must find the same
//! number as in the source order in every register that it reads (or leaves alone if its guard
//! fails); so must the code after the region. For instructions that are ordered by more than
//! registers, every pair that has changed places is checked.
//!
//! ```text
//! 0: FADD R0, R1, R1      order 1, 0: IADD3 finds R0 as it was before the region, not as 0 leaves it:
//! 1: IADD3 R2, R0, …      error: `IADD3 R2, R0, …` before `FADD R0, R1, R1` (RAW R0)
//! ```
//! Cost: linear, plus one step for each pair of memory operations that has changed places.

use std::fmt;

use ptxc_sass::AccessRole;
use ptxc_sass::memory_order::MemoryUse;

use super::address::{Place, place};
use super::region::DepKind;
use super::unit::{Numbers, Unit};
use crate::mir::MInst;

/// An order that breaks a dependence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IllegalOrder {
    /// The heuristic that chose it.
    pub heuristic: String,
    /// The block, by its place in the layout.
    pub block: usize,
    /// The error.
    pub broken: Broken,
}

/// An error of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// An instruction is missing, repeated, or not one of the region; its place in the source
    /// order.
    NotAnInstruction(usize),
    /// Two instructions are in the wrong order.
    Dependence {
        /// The text of the one that must come first.
        first: String,
        /// The text of the other.
        second: String,
        /// The kind of the dependence.
        kind: DepKind,
        /// The register, if the dependence is through one.
        reg: Option<String>,
    },
}

impl fmt::Display for IllegalOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the order of heuristic `{}` for block {} is illegal: ", self.heuristic, self.block)?;
        match &self.broken {
            Broken::NotAnInstruction(index) => {
                write!(f, "instruction {index} is not there exactly once")
            }
            Broken::Dependence { first, second, kind, reg } => {
                write!(f, "`{second}` comes before `{first}` ({}", kind.name())?;
                match reg {
                    Some(reg) => write!(f, " {reg})"),
                    None => f.write_str(")"),
                }
            }
        }
    }
}

impl std::error::Error for IllegalOrder {}

/// Checks orders, one after the other, and reuses its memory.
pub(super) struct Checker<R> {
    /// For the number of each register its place in `regs`; [`BEFORE`] for those that no
    /// instruction touches.
    places: Vec<u32>,
    regs: Vec<R>,
    /// The registers that instructions read, one instruction after another, with their contents in
    /// the source order.
    looks: Vec<(u32, u32)>,
    /// The registers that they define.
    defs: Vec<u32>,
    /// For each instruction, the end of its reads and definitions in these lists.
    ends: Vec<(u32, u32)>,
    /// The content of each register: the number of the instruction that defined it, or [`BEFORE`].
    content: Vec<u32>,
}

/// The number of a content that no instruction of the region has defined.
const BEFORE: u32 = u32::MAX;

/// The place of the instruction that left a content.
fn definition(content: u32) -> Option<usize> {
    (content != BEFORE).then_some(content as usize)
}

impl<R: Unit> Checker<R> {
    /// A checker for this number of registers.
    pub(super) fn new(registers: usize) -> Checker<R> {
        Checker {
            places: vec![BEFORE; registers],
            regs: Vec::new(),
            looks: Vec::new(),
            defs: Vec::new(),
            ends: Vec::new(),
            content: Vec::new(),
        }
    }

    /// Checks an order: `order[k]` is the source place of the instruction that comes `k`th.
    pub(super) fn check<N: Numbers<R>>(
        &mut self,
        insts: &[MInst<R>],
        numbers: &N,
        order: &[usize],
    ) -> Result<(), Broken> {
        let mut place_of = vec![usize::MAX; insts.len()];
        for (at, &index) in order.iter().enumerate() {
            match place_of.get_mut(index) {
                Some(slot) if *slot == usize::MAX => *slot = at,
                _ => return Err(Broken::NotAnInstruction(index)),
            }
        }
        if let Some(missing) = place_of.iter().position(|&at| at == usize::MAX) {
            return Err(Broken::NotAnInstruction(missing));
        }
        // The moved part, from the first moved instruction to the last; all instructions before and
        // after it run as in the source order.
        let moved = |(at, &index): (usize, &usize)| at != index;
        let Some(first) = order.iter().enumerate().position(moved) else { return Ok(()) };
        let end = order.iter().enumerate().rposition(moved).map_or(first, |last| last + 1);
        let within = |places: &[usize]| places[first..end].iter().map(|&at| at - first).collect::<Vec<_>>();
        let found = self.compare(&insts[first..end], numbers, &within(order), &within(&place_of));
        if found.is_err() && end - first < insts.len() {
            // The instructions after the moved part may overwrite a register that differs.
            return self.compare(insts, numbers, order, &place_of);
        }
        found
    }

    /// Compares the contents that instructions find in an order, given the place of each, with
    /// those in the source order.
    fn compare<N: Numbers<R>>(
        &mut self,
        insts: &[MInst<R>],
        numbers: &N,
        order: &[usize],
        place_of: &[usize],
    ) -> Result<(), Broken> {
        self.run_source(insts, numbers);
        let last = std::mem::take(&mut self.content);
        self.content.resize(last.len(), BEFORE);
        if !self.finds_the_same(order) {
            self.find_wrong_content(insts, order, place_of)?;
        }
        if self.content != last {
            self.compare_ends(insts, &last)?;
        }
        self.check_memory(insts, place_of)
    }

    /// Records the registers that instructions read and define, and the contents that they find in
    /// the source order.
    fn run_source<N: Numbers<R>>(&mut self, insts: &[MInst<R>], numbers: &N) {
        for reg in self.regs.drain(..) {
            self.places[numbers.number(reg) as usize] = BEFORE;
        }
        let Checker { places, regs, looks, defs, ends, content } = self;
        looks.clear();
        defs.clear();
        ends.clear();
        content.clear();
        for (index, minst) in insts.iter().enumerate() {
            ptxc_interrupt::poll();
            // The place of the neighbour of a register that has that number.
            let mut place = |reg: R, n: u8, number: u32, content: &mut Vec<u32>| {
                let place = &mut places[number as usize];
                if *place == BEFORE {
                    *place = content.len() as u32;
                    regs.extend(reg.nth(n));
                    content.push(BEFORE);
                }
                *place
            };
            let numbered = |reg: R, width: u8| (0..numbers.neighbours(reg, width)).zip(numbers.number(reg)..);
            let first = defs.len();
            let guarded = minst.inst.guard.is_some();
            minst.inst.for_each_access(|access| {
                let is_def = access.role == AccessRole::Def;
                for (n, number) in numbered(access.reg, access.width) {
                    let place = place(access.reg, n, number, content);
                    // If its guard fails, it leaves the old content.
                    if !is_def || guarded {
                        looks.push((place, content[place as usize]));
                    }
                    if is_def {
                        defs.push(place);
                    }
                }
            });
            for &(slot, old) in &minst.tied {
                for (n, number) in numbered(old, minst.inst.slot_width(usize::from(slot))) {
                    let place = place(old, n, number, content);
                    looks.push((place, content[place as usize]));
                }
            }
            for &def in &defs[first..] {
                content[def as usize] = index as u32;
            }
            ends.push((looks.len() as u32, defs.len() as u32));
        }
    }

    fn before(&self, index: usize) -> (u32, u32) {
        index.checked_sub(1).map_or((0, 0), |before| self.ends[before])
    }

    /// The registers that an instruction reads, with their contents in the source order.
    fn looks_of(&self, index: usize) -> &[(u32, u32)] {
        &self.looks[self.before(index).0 as usize..self.ends[index].0 as usize]
    }

    fn defs_of(&self, index: usize) -> &[u32] {
        &self.defs[self.before(index).1 as usize..self.ends[index].1 as usize]
    }

    /// Lets an instruction define its registers.
    fn define(&mut self, index: usize) {
        let defs = self.before(index).1 as usize..self.ends[index].1 as usize;
        for &def in &self.defs[defs] {
            self.content[def as usize] = index as u32;
        }
    }

    /// Runs an order from the start; returns whether each instruction finds the same contents as in
    /// the source order.
    fn finds_the_same(&mut self, order: &[usize]) -> bool {
        let mut same = true;
        for &index in order {
            same &= self.looks_of(index).iter().all(|&(reg, found)| self.content[reg as usize] == found);
            self.define(index);
        }
        same
    }

    /// Runs an order from the start; the error is that of the first instruction, in the source
    /// order, that finds another content.
    fn find_wrong_content(
        &mut self,
        insts: &[MInst<R>],
        order: &[usize],
        place_of: &[usize],
    ) -> Result<(), Broken> {
        self.content.fill(BEFORE);
        let mut wrong: Option<(usize, u32, u32, u32)> = None;
        for &index in order {
            ptxc_interrupt::poll();
            let mut looks = self.looks_of(index).iter();
            let differs = looks.find(|&&(reg, expected)| self.content[reg as usize] != expected);
            if let Some(&(reg, expected)) = differs
                && wrong.is_none_or(|(first, ..)| index < first)
            {
                wrong = Some((index, reg, expected, self.content[reg as usize]));
            }
            self.define(index);
        }
        let Some((index, reg, expected, found)) = wrong else { return Ok(()) };
        let reg = self.regs[reg as usize];
        Err(wrong_content(insts, place_of, index, reg, definition(expected), definition(found)))
    }

    /// Checks that the code after the region finds the same contents as after the source order.
    fn compare_ends(&self, insts: &[MInst<R>], last: &[u32]) -> Result<(), Broken> {
        for index in 0..insts.len() {
            ptxc_interrupt::poll();
            for &reg in self.defs_of(index) {
                let (expected, found) = (last[reg as usize], self.content[reg as usize]);
                if let (Some(expected), Some(found)) = (definition(expected), definition(found))
                    && expected != found
                {
                    let reg = self.regs[reg as usize];
                    return Err(dependence(insts, found, expected, DepKind::Waw, Some(reg)));
                }
            }
        }
        Ok(())
    }

    /// Checks every pair that touches memory, or depends on the lanes, and has changed places.
    fn check_memory(&self, insts: &[MInst<R>], place_of: &[usize]) -> Result<(), Broken> {
        // Sorted in the new order; they are inserted in the source order.
        let mut done: Vec<(usize, usize, MemoryUse, Option<Place<R>>)> = Vec::new();
        for (index, minst) in insts.iter().enumerate() {
            ptxc_interrupt::poll();
            if minst.inst.row().effects.is_none() {
                continue;
            }
            let content = |reg: R| {
                let mut looks = self.looks_of(index).iter();
                let &(_, found) = looks.find(|&&(look, _)| self.regs[look as usize] == reg)?;
                Some(found).filter(|&content| content != BEFORE)
            };
            let (does, here) = (MemoryUse::of(&minst.inst), place(&minst.inst, content));
            let at = place_of[index];
            let after = done.partition_point(|&(other, ..)| other < at);
            for (_, first, did, there) in &done[after..] {
                let is_disjoint = || matches!((there, &here), (Some(p), Some(q)) if p.is_disjoint(q));
                if !(did.may_swap(does) || (did.may_swap_if_disjoint(does) && is_disjoint())) {
                    let (a, b) = (&insts[*first].inst, &minst.inst);
                    let both = a.row().effects.convergent && b.row().effects.convergent;
                    let kind = if both { DepKind::Order } else { DepKind::Memory };
                    return Err(dependence(insts, *first, index, kind, None));
                }
            }
            done.insert(after, (at, index, does, here));
        }
        Ok(())
    }
}

/// Names the pair of instructions that makes an instruction find another content than in the source
/// order.
fn wrong_content<R: Unit>(
    insts: &[MInst<R>],
    place_of: &[usize],
    index: usize,
    reg: R,
    expected: Option<usize>,
    found: Option<usize>,
) -> Broken {
    let reads =
        insts[index].inst.uses().any(|access| (0..access.width).any(|n| access.reg.nth(n) == Some(reg)));
    match (expected, found) {
        (Some(def), _) if place_of[def] > place_of[index] => {
            let kind = if reads { DepKind::Raw } else { DepKind::Waw };
            dependence(insts, def, index, kind, Some(reg))
        }
        (_, Some(other)) if other > index => {
            let kind = if reads { DepKind::War } else { DepKind::Waw };
            dependence(insts, index, other, kind, Some(reg))
        }
        (Some(def), Some(other)) => dependence(insts, other, def, DepKind::Waw, Some(reg)),
        // One of the two exists, since they differ, and the cases above have it.
        (Some(other), None) | (None, Some(other)) => {
            dependence(insts, other.min(index), other.max(index), DepKind::Waw, Some(reg))
        }
        (None, None) => Broken::NotAnInstruction(index),
    }
}

fn dependence<R: Unit>(
    insts: &[MInst<R>],
    first: usize,
    second: usize,
    kind: DepKind,
    reg: Option<R>,
) -> Broken {
    let [first, second] = [first, second].map(|index| insts[index].inst.to_string());
    Broken::Dependence { first, second, kind, reg: reg.map(|reg| reg.to_string()) }
}
