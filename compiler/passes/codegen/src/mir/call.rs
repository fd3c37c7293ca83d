//! The effect of a call on registers.
//!
//! An instruction may also [hold](CallSite::held) registers that its operands do not name.
//!
//! A called routine finds its arguments in fixed registers, leaves its results in fixed registers,
//! and destroys others. In machine IR a call instruction has a [`CallSite`] with these registers:
//!
//! ```text
//! CALL.REL.NOINC fn0 args(%r4:2 in R4, %r6 in R6) results(%r9 in R4) clobbers(R4-R7 P0)
//! ```
//!
//! Before allocation a value is a virtual register and may be anywhere until the call; the
//! allocator brings it to its place, and keeps values that are read later out of the clobbered
//! registers. After allocation a value and its place are the same register. The arguments and
//! results of the site are reads and writes of the instruction like those of its operands. The
//! registers of results always count as clobbered; those of arguments only if the set has them.

use ptxc_sass::table::Transfer;
use ptxc_sass::{Op, PReg, RegFile, Register};
use smallvec::SmallVec;

use super::Tuple;

/// Whether the instruction calls a function.
pub(crate) fn is_call(op: Op) -> bool {
    op.row().transfer == Transfer::Call
}

/// A value that must be in a fixed register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fixed<R> {
    /// The value.
    pub value: Tuple<R>,
    /// The place of its first component. A tuple of general or uniform registers begins at a
    /// multiple of its alignment, as everywhere.
    pub place: PReg,
}

/// Arguments, results and clobbered registers of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite<R> {
    /// The values that the routine reads, each in its place. No two places overlap.
    pub args: SmallVec<[Fixed<R>; 4]>,
    /// The values that it returns, each in its place. No two places overlap.
    pub results: SmallVec<[Fixed<R>; 2]>,
    /// Registers that the instruction reads although no operand names them, and that no other
    /// instruction moves over it to write or read: those that are lent to products of a warpgroup.
    pub held: Vec<Tuple<R>>,
    /// The registers that it clobbers; never R1.
    pub clobbers: RegSet,
    /// Whether it has a stack frame of its own below that of the caller; R1 must then be the stack
    /// pointer. Otherwise R1 may hold any value.
    pub uses_stack: bool,
    /// The callee gets the stack pointer that is among the arguments ([`abi::moved_stack`](crate::abi::moved_stack)),
    /// and R1 keeps its value in memory that many bytes above it.
    pub moved_stack: Option<u32>,
}

impl<R> Default for CallSite<R> {
    /// A call site that reads, returns and clobbers nothing.
    fn default() -> CallSite<R> {
        let (args, results) = Default::default();
        CallSite {
            args,
            results,
            held: Vec::new(),
            clobbers: RegSet::default(),
            uses_stack: false,
            moved_stack: None,
        }
    }
}

impl<R: Copy> CallSite<R> {
    /// The same with other names for the values.
    pub fn map<S>(&self, mut rename: impl FnMut(R) -> S) -> CallSite<S> {
        let mut tuple = |tuple: &Tuple<R>| Tuple { reg: rename(tuple.reg), width: tuple.width };
        let held = self.held.iter().map(&mut tuple).collect();
        let mut fixed = |fixed: &Fixed<R>| Fixed { value: tuple(&fixed.value), place: fixed.place };
        CallSite {
            args: self.args.iter().map(&mut fixed).collect(),
            results: self.results.iter().map(&mut fixed).collect(),
            held,
            clobbers: self.clobbers,
            uses_stack: self.uses_stack,
            moved_stack: self.moved_stack,
        }
    }

    /// The registers whose content changes: the clobbered ones and those of results.
    pub fn destroyed(&self) -> RegSet {
        self.clobbers.union(self.result_places())
    }

    /// The registers of its results.
    pub fn result_places(&self) -> RegSet {
        let mut set = RegSet::default();
        for result in &self.results {
            set.insert_tuple(result.place, result.value.width);
        }
        set
    }
}

/// A set of physical registers of all files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegSet([u64; PReg::COUNT.div_ceil(64)]);

impl RegSet {
    /// Adds a register.
    pub fn insert(&mut self, reg: PReg) {
        self.0[reg.dense() / 64] |= 1 << (reg.dense() % 64);
    }

    /// Adds `width` neighbours, or as many as there are.
    pub fn insert_tuple(&mut self, first: PReg, width: u8) {
        (0..width).filter_map(|n| first.offset(n)).for_each(|reg| self.insert(reg));
    }

    /// Removes a register.
    pub fn remove(&mut self, reg: PReg) {
        self.0[reg.dense() / 64] &= !(1 << (reg.dense() % 64));
    }

    /// Whether a register is in the set.
    pub fn contains(&self, reg: PReg) -> bool {
        self.0[reg.dense() / 64] >> (reg.dense() % 64) & 1 != 0
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// The union of both sets.
    pub fn union(self, other: RegSet) -> RegSet {
        RegSet(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// The registers that are only in this set.
    pub fn without(self, other: RegSet) -> RegSet {
        RegSet(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// The number of registers of a file in the set.
    pub fn count(&self, file: RegFile) -> u32 {
        self.mask(file).iter().map(|word| word.count_ones()).sum()
    }

    /// A bit for each register of all files, by its [dense number](PReg::dense).
    pub const fn words(&self) -> &[u64; PReg::COUNT.div_ceil(64)] {
        &self.0
    }

    /// A bit for each register of a file, by its number.
    pub fn mask(&self, file: RegFile) -> [u64; 4] {
        let first = PReg::new(file, 0).dense();
        let count = usize::from(file.count());
        std::array::from_fn(|word| {
            let Some(left) = count.checked_sub(64 * word).filter(|&left| left > 0) else { return 0 };
            // The dense numbers of a file need not begin with a word.
            let (at, shift) = ((first + 64 * word) / 64, first % 64);
            let high = self.0.get(at + 1).filter(|_| shift > 0).map_or(0, |&next| next << (64 - shift));
            (self.0[at] >> shift | high) & if left >= 64 { u64::MAX } else { (1 << left) - 1 }
        })
    }

    /// The set that is printed as this text; `None` if there is none.
    pub fn parse(text: &str) -> Option<RegSet> {
        let mut set = RegSet::default();
        for run in text.split_whitespace() {
            let (first, last) = run.split_once('-').unwrap_or((run, run));
            let (first, last) = (PReg::parse(first)?, PReg::parse(last)?);
            let count = last.number()?.checked_sub(first.number()?)?;
            if first.file() != last.file() {
                return None;
            }
            (0..=count).filter_map(|n| first.offset(n)).for_each(|reg| set.insert(reg));
        }
        Some(set)
    }

    /// Its registers, file by file in the order of [`RegFile::ALL`], ascending.
    pub fn iter(&self) -> impl Iterator<Item = PReg> + '_ {
        let all = RegFile::ALL
            .into_iter()
            .flat_map(|file| (0..file.count()).map(move |index| PReg::new(file, index)));
        all.filter(|&reg| self.contains(reg))
    }
}

impl FromIterator<PReg> for RegSet {
    fn from_iter<I: IntoIterator<Item = PReg>>(regs: I) -> RegSet {
        let mut set = RegSet::default();
        regs.into_iter().for_each(|reg| set.insert(reg));
        set
    }
}

impl std::fmt::Display for RegSet {
    /// Runs of neighbours, `R4-R7 P0`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut runs: SmallVec<[(PReg, PReg); 8]> = SmallVec::new();
        for reg in self.iter() {
            match runs.last_mut() {
                Some((_, last)) if last.file() == reg.file() && last.offset(1) == Some(reg) => *last = reg,
                _ => runs.push((reg, reg)),
            }
        }
        for (index, (first, last)) in runs.into_iter().enumerate() {
            f.write_str(if index == 0 { "" } else { " " })?;
            if first == last { write!(f, "{first}")? } else { write!(f, "{first}-{last}")? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_prints_its_runs() {
        let mut set = RegSet::from_iter([PReg::r(9), PReg::r(4), PReg::r(5), PReg::p(0), PReg::up(6)]);
        assert_eq!(set.to_string(), "R4-R5 R9 P0 UP6");
        set.insert_tuple(PReg::r(253), 4);
        set.remove(PReg::r(4));
        assert_eq!(set.to_string(), "R5 R9 R253-R254 P0 UP6");
        assert_eq!(RegSet::parse("R5 R9 R253-R254 P0 UP6"), Some(set));
        assert_eq!(RegSet::parse("R5-P6"), None);
        assert!(set.contains(PReg::r(254)) && !set.contains(PReg::ur(9)));
        assert_eq!(set.mask(RegFile::Upred), [1 << 6, 0, 0, 0]);
        assert_eq!(set.mask(RegFile::Pred), [1, 0, 0, 0]);
        assert_eq!(set.mask(RegFile::Gpr), [1 << 5 | 1 << 9, 0, 0, 3 << 61]);
        assert_eq!(set.count(RegFile::Gpr), 4);
    }
}
