//! Register allocation: virtual registers in, physical registers out.
//!
//! In: machine IR in SSA form by component ([`Mir<VReg>`](crate::mir)), with block parameters,
//! tuples and guarded definitions. Out: the same function over R, P, UR and UP without parameters,
//! where each instruction names its original in the input ([`Allocation`]), so that [`check`] can
//! prove the result correct without knowing how it was made.
//!
//! ```text
//! mb1(%r4):                                  mb1:
//!   IADD3 %r5, %r4, 0x1, RZ           =>       IADD3 R0, R0, 0x1, RZ
//!   ISETP.LT.AND %p0, PT, %r5, …, PT           ISETP.LT.AND P0, PT, R0, …, PT
//!   branch %p0, mb1(%r5), mb2                  branch P0, mb1, mb2
//! ```
//!
//! The steps, each in a file of its own:
//!
//! 1. [`isolate`]: old values of guarded definitions get copies of their own.
//! 2. [`live`]: live ranges by component. Uniform registers follow the warp's path, not the lane's.
//! 3. [`pressure`], [`spill`]: until no point needs more registers than there are. Uniform
//!    registers and predicates come first, since they are spilled to general registers. General
//!    registers have their live ranges split ([`next_use`], [`residence`], [`names`], [`split`]),
//!    or are spilled everywhere, whichever costs less.
//! 4. [`coalesce`]: values that edges and copies connect share a register if possible.
//! 5. [`assign`], [`occupancy`]: aligned places for tuples and values, out of the way of calls
//!    where that costs no register.
//! 6. [`rewrite`], [`parallel_copy`], [`save`]: physical registers, copies on edges, and saves
//!    around calls of the registers that they would destroy.
//!
//! Spilling before assigning means that assigning fails only where free registers are too scattered
//! for an aligned tuple or the order of choice was unlucky. Then assigning is tried again in the
//! order of spilling cost (unless live ranges were split), and without optional merges, although
//! copies still prefer common registers. If that fails, too, live ranges are split for fewer
//! registers, twice. After that, the values that found no place are spilled everywhere, and
//! everything is repeated. Each such attempt spills more. In the end each value lives only around
//! its definition and uses, and placing the widest first always succeeds. Limits: R0–R254 or
//! [`Options::max_regs`], UR0–UR62, P0–P6, UP0–UP6. R1 is the stack pointer if a function uses
//! local memory, and an ordinary register otherwise.

mod assign;
mod check;
mod coalesce;
mod granted;
mod hoist;
mod isolate;
mod lent;
mod live;
mod moves;
mod names;
mod next_use;
mod occupancy;
mod parallel_copy;
mod pressure;
mod residence;
mod rewrite;
mod save;
mod settled;
mod spill;
mod split;
#[cfg(test)]
mod tests;
mod work;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use cranelift_entity::{EntityRef, SecondaryMap};
use ptxc_ir::SourceLoc;
use ptxc_machine::Arch;
use ptxc_sass::{PReg, RegFile};

use crate::mir::{Cfg, Liveness, MBlockId, Mir, VReg, VRegId};
use assign::{Priority, Problem};
pub use check::{Violation, check};
use coalesce::Classes;
use granted::Granted;
use live::LiveRanges;
use next_use::NextUses;
use pressure::Spilled;
use residence::Obstacle;
use rewrite::Rewritten;
pub use work::Origin;
use work::Work;

/// The limits of the allocator.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The number of general registers a thread may have, 16 to 255.
    pub max_regs: u16,
    /// The architecture, which decides where the driver puts the stack pointer.
    pub arch: Arch,
}

impl Default for Options {
    fn default() -> Options {
        Options { max_regs: 255, arch: Arch::DEFAULT }
    }
}

/// Statistics of the allocator's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The highest register named plus one, by file in the order of [`RegFile::ALL`].
    pub registers: [u8; 4],
    /// Virtual registers that were spilled to local memory.
    pub spills: u32,
    /// Copies on edges that coalescing left.
    pub edge_copies: u32,
    /// Instructions added, copies on edges included.
    pub inserted: u32,
    /// Copies of the input that vanished.
    pub removed: u32,
    /// The number of times that assigning had to start over.
    pub retries: u32,
}

/// An allocated function.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// The function. Blocks of the input keep their numbers; blocks on edges come after them.
    pub mir: Mir<PReg>,
    /// For each block, the origins of its instructions.
    pub origins: SecondaryMap<MBlockId, Vec<Origin>>,
    /// The statistics.
    pub statistics: Statistics,
}

/// Why a function cannot be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocError {
    /// [`Options::max_regs`] is not between 16 and 255.
    MaxRegs(u16),
    /// One point needs more registers at once than there are, however much is spilled.
    TooFewRegisters {
        /// The file.
        file: RegFile,
        /// The number that it needs; 0 if alignment is the problem.
        needed: u32,
        /// The number that there is.
        limit: u32,
        /// The instruction.
        loc: SourceLoc,
    },
    /// A guarded definition whose old value cannot be in its register.
    Tied {
        /// The instruction.
        loc: SourceLoc,
    },
    /// Registers that are lent to products of a warpgroup would have to be copied.
    Lent {
        /// The instruction or branch.
        loc: SourceLoc,
    },
    /// Calls need one register for several uniform values that a divergent region keeps.
    SharedPlace {
        /// The file.
        file: RegFile,
        /// The register's number.
        index: u8,
    },
    /// A uniform predicate would have to be copied, for which the machine has no instruction.
    UniformPredicateCopy {
        /// The instruction or branch.
        loc: SourceLoc,
    },
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocError::MaxRegs(max) => write!(f, "a thread has 16 to 255 registers, not {max}"),
            AllocError::TooFewRegisters { file, needed: 0, limit, .. } => {
                write!(f, "{limit} registers {} are too few for aligned tuples", file.prefix())
            }
            AllocError::TooFewRegisters { file, needed, limit, .. } => {
                write!(f, "{needed} registers {} are needed at once, but there are {limit}", file.prefix())
            }
            AllocError::Tied { .. } => {
                write!(f, "the old value of a guarded definition cannot be in its register")
            }
            AllocError::Lent { .. } => {
                write!(f, "registers of a product of a warpgroup would have to be copied while it runs")
            }
            AllocError::SharedPlace { file, index } => {
                write!(f, "calls in one divergent region want different values in {}{index}", file.prefix())
            }
            AllocError::UniformPredicateCopy { .. } => {
                write!(f, "a uniform predicate would have to be copied")
            }
        }
    }
}

impl std::error::Error for AllocError {}

/// Allocates the registers of a function whose liveness across the borders of blocks is known.
pub fn allocate(mir: &Mir<VReg>, live: &Liveness, options: &Options) -> Result<Allocation, AllocError> {
    if !(16..=255).contains(&options.max_regs) {
        return Err(AllocError::MaxRegs(options.max_regs));
    }
    let too_few = match allocate_work(mir, Work::new(mir), Cow::Borrowed(live), options) {
        Err(error @ AllocError::TooFewRegisters { file: RegFile::Gpr, .. }) => error,
        result => return result,
    };
    // Sums of products that are settled may go to memory, if they are copied.
    let mut work = Work::new(mir);
    if !settled::copy(&mut work) {
        return Err(too_few);
    }
    let live = Liveness::new(&work.mir);
    allocate_work(mir, work, Cow::Owned(live), options)
}

/// Allocates the registers of a function in the making, given what it was made of.
fn allocate_work(
    mir: &Mir<VReg>,
    mut isolated: Work<'_>,
    live: Cow<'_, Liveness>,
    options: &Options,
) -> Result<Allocation, AllocError> {
    let instructions: usize = mir.layout.iter().map(|&block| mir.blocks[block].insts.len()).sum();
    let granted = Granted::of(mir, options.max_regs);
    ptxc_interrupt::poll();
    isolate::isolate(&mut isolated)?;
    let budget = RegFile::ALL.map(|file| {
        let count = u16::from(file.count_on(options.arch));
        if file == RegFile::Gpr {
            count.min(granted.as_ref().map_or(options.max_regs, |all| all.most))
        } else {
            count
        }
    });
    let mut failures = Failures::default();
    loop {
        match attempt(&isolated, &live, &budget, options, &mut failures)? {
            Attempt::Done(mut rewritten) => {
                rewritten.mir.header.launch_registers =
                    granted.as_ref().map_or(0, |granted| granted.at_launch.into());
                let origins = rewritten.mir.layout.iter().flat_map(|&block| &rewritten.origins[block]);
                let kept = origins.clone().filter(|origin| matches!(origin, Origin::Inst(_))).count();
                let statistics = Statistics {
                    registers: rewritten.registers,
                    spills: rewritten.mir.header.spills,
                    edge_copies: rewritten.copies,
                    inserted: (origins.count() - kept) as u32,
                    removed: (instructions - kept) as u32,
                    retries: failures.count,
                };
                return Ok(Allocation { mir: rewritten.mir, origins: rewritten.origins, statistics });
            }
            Attempt::SavesInMemory => {
                isolated.frame();
            }
            Attempt::Failed => {}
        }
    }
}

/// The result of an attempt.
enum Attempt {
    /// Everything has a register.
    Done(Box<Rewritten>),
    /// Registers that calls destroy have to be saved in memory, but there is no stack pointer.
    SavesInMemory,
    /// More must be spilled.
    Failed,
}

/// The failures so far.
#[derive(Default)]
struct Failures {
    /// The number of times that assigning failed.
    count: u32,
    forced: Forced,
}

/// Spills the forced values and as many others as necessary, and assigns registers. As long as live
/// ranges are split, a failed attempt is repeated for fewer registers, without other changes.
fn attempt(
    isolated: &Work<'_>,
    live: &Liveness,
    budget: &assign::Budget,
    &Options { arch, max_regs }: &Options,
    failures: &mut Failures,
) -> Result<Attempt, AllocError> {
    ptxc_interrupt::poll();
    // Only spilling changes the function; without spills, nothing is copied.
    let mut work = Cow::Borrowed(isolated);
    // The isolated copies are live only within blocks.
    let mut live = LiveRanges::with(&work.mir, work.frame, Cow::Borrowed(live));
    let mut spilled = Vec::new();
    for file in [RegFile::Upred, RegFile::Ugpr, RegFile::Pred] {
        spill_file(&mut work, &mut live, budget, file, &failures.forced, &mut spilled)?;
    }
    let mut general = General::new(&work, &live, budget, &failures.forced);
    loop {
        // The last attempts spill a failing value everywhere it is live, which always succeeds.
        let splits = (failures.count < 3).then_some(failures.count);
        let Spilling { work, live, is_split } = general.spill(splits)?;
        let (work, live) = (&*work, &*live);
        let mut cores = Classes::new(work, live, budget)?;
        ptxc_interrupt::poll();
        coalesce::join_ties(work, live, &mut cores)?;
        let affinities = coalesce::affinities(work);
        let mut classes = cores.clone();
        coalesce::coalesce(&affinities, live, &mut classes);
        let granted = Granted::of(&work.mir, max_regs).map(|granted| granted.segments(&work.mir, live));
        let granted = granted.as_deref().unwrap_or_default();
        let problem = Problem { work, live, cores: &cores, affinities: &affinities, budget, granted, arch };
        let assign = |classes: &Classes, priority: Priority<'_>, stops: bool| {
            assign::assign(&problem, classes, priority, stops)
        };
        // Merged classes are harder to place; without them the affinities are only preferences. If
        // live ranges were split, the order by cost never places a class that the other order
        // cannot, so the next attempt has fewer registers.
        let assignment = assign(&classes, Priority::Compact, true).or_else(|_| {
            if is_split {
                return assign(&cores, Priority::Compact, true)
                    .or_else(|_| assign(&classes, Priority::Start, true))
                    .or_else(|_| assign(&cores, Priority::Start, true));
            }
            let costs = all_costs(work, live);
            assign(&classes, Priority::Cost(&costs), true)
                .or_else(|_| assign(&cores, Priority::Compact, true))
                .or_else(|_| assign(&cores, Priority::Start, true))
                .or_else(|_| assign(&cores, Priority::Cost(&costs), false))
        });
        let failed = match assignment {
            Ok(assignment) => {
                let rewritten =
                    rewrite::rewrite(work, live, &assignment, budget, arch.facts().banks.stack_top)?;
                let done = |rewritten| Attempt::Done(Box::new(rewritten));
                return Ok(rewritten.map_or(Attempt::SavesInMemory, done));
            }
            Err(failed) => failed,
        };
        failures.count += 1;
        if is_split {
            continue;
        }
        let found_more = failures.forced.add(isolated, work, &failed);
        // Spilled values stay spilled; otherwise they would take the room that was made.
        failures.forced.add(isolated, work, &spilled);
        failures.forced.add(isolated, work, &general.spilled);
        if !found_more && failures.count > 3 {
            let file = work.mir.vregs[failed[0]].file;
            let limit = u32::from(budget[file as usize]);
            return Err(AllocError::TooFewRegisters { file, needed: 0, limit, loc: SourceLoc::NONE });
        }
        return Ok(Attempt::Failed);
    }
}

/// The values that are spilled because they found no register.
#[derive(Default)]
struct Forced {
    /// Virtual registers of the input.
    values: BTreeSet<VRegId>,
    /// Virtual registers of the input whose general registers go to memory.
    homes: BTreeSet<VRegId>,
}

impl Forced {
    /// Adds the failed values; returns whether any is new. The numbers of the input's virtual
    /// registers are the same in every attempt, those of other virtual registers are not.
    fn add(&mut self, isolated: &Work<'_>, work: &Work<'_>, failed: &[VRegId]) -> bool {
        let before = self.values.len() + self.homes.len();
        let count = isolated.mir.vregs.len();
        for &id in failed.iter().filter(|&&id| id.index() < count && !work.short[id]) {
            self.values.insert(id);
        }
        let failed: BTreeSet<VRegId> = failed.iter().copied().filter(|id| id.index() >= count).collect();
        for (id, general) in work.general.iter() {
            if general.is_some_and(|general| failed.contains(&general)) {
                self.homes.insert(id);
            }
        }
        self.values.len() + self.homes.len() > before
    }

    /// The forced values of a file, in the numbers of this attempt.
    fn of(&self, work: &Work<'_>, file: RegFile) -> BTreeSet<VRegId> {
        let homes = self.homes.iter().filter_map(|&id| work.general[id]);
        let all = self.values.iter().copied().chain(homes);
        all.filter(|&id| work.mir.vregs[id].file == file).collect()
    }
}

fn all_costs(work: &Work<'_>, live: &LiveRanges<'_>) -> Vec<u128> {
    let mut costs = vec![u128::MAX; work.mir.vregs.len()];
    for file in RegFile::ALL {
        let of_file = pressure::costs(work, live, &pressure::plans(work, live, file));
        costs.iter_mut().zip(of_file).for_each(|(cost, other)| *cost = (*cost).min(other));
    }
    costs
}

/// The number of registers of a file that are available for values.
fn limit_of(work: &Work<'_>, budget: &assign::Budget, file: RegFile) -> u32 {
    let all = u32::from(budget[file as usize]);
    match file {
        RegFile::Gpr => all - u32::from(work.is_framed()),
        RegFile::Ugpr => all - work.kept_uniform.count(file),
        _ => all,
    }
}

/// Spills until no point needs more registers of a file, other than the general one, than there
/// are.
fn spill_file(
    work: &mut Cow<'_, Work<'_>>,
    live: &mut LiveRanges<'_>,
    budget: &assign::Budget,
    file: RegFile,
    forced: &Forced,
    all: &mut Vec<VRegId>,
) -> Result<(), AllocError> {
    let limit = limit_of(work, budget, file);
    let forced = forced.of(work, file);
    let called = pressure::destroys_for_good(file) && live.crosses_calls(&work.mir, file);
    if forced.is_empty() && !called && live.most(file) <= limit {
        return Ok(());
    }
    let spilled = pressure::choose(work, live, file, limit, limit, &forced)?;
    if spilled.iter().all(Option::is_none) {
        return Ok(());
    }
    spill::spill(work.to_mut(), live, file, &spilled);
    all.extend(ids(&spilled));
    *live = LiveRanges::new(&work.mir, work.frame);
    Ok(())
}

/// The virtual registers that are spilled.
fn ids(spilled: &Spilled) -> impl Iterator<Item = VRegId> {
    spilled.iter().enumerate().filter(|(_, plan)| plan.is_some()).map(|(vreg, _)| VRegId::new(vreg))
}

/// A function and its live ranges in which no point needs more general registers than there are.
struct Spilling<'a, 'm> {
    work: Cow<'a, Work<'m>>,
    live: Cow<'a, LiveRanges<'m>>,
    /// Whether live ranges of general registers were split.
    is_split: bool,
}

/// Spills general registers, which come last. Facts that several attempts need are computed once.
struct General<'a, 'm> {
    work: &'a Work<'m>,
    live: &'a LiveRanges<'m>,
    /// The number of registers.
    limit: u32,
    forced: BTreeSet<VRegId>,
    /// The function with the cheapest values spilled wherever they are live; `spilled` names these
    /// values.
    everywhere: Option<Work<'m>>,
    spilled: Vec<VRegId>,
    splits: Option<Splits>,
}

/// The facts about a function that splitting of live ranges needs.
struct Splits {
    cfg: Cfg,
    uses: NextUses,
    /// Whether some value has to be in memory.
    stores: bool,
}

impl<'a, 'm> General<'a, 'm> {
    fn new(
        work: &'a Work<'m>,
        live: &'a LiveRanges<'m>,
        budget: &assign::Budget,
        forced: &Forced,
    ) -> General<'a, 'm> {
        let limit = limit_of(work, budget, RegFile::Gpr);
        let forced = forced.of(work, RegFile::Gpr);
        General { work, live, limit, forced, everywhere: None, spilled: Vec::new(), splits: None }
    }

    /// Splits live ranges if `attempt` gives the number of the attempt (each leaves more room for
    /// tuples), and if that is cheaper than spilling the cheapest values everywhere.
    fn spill(&mut self, attempt: Option<u32>) -> Result<Spilling<'a, 'm>, AllocError> {
        let (work, live) = (self.work, self.live);
        let unchanged = || Spilling { work: Cow::Borrowed(work), live: Cow::Borrowed(live), is_split: false };
        if self.forced.is_empty() && live.most(RegFile::Gpr) <= self.limit {
            return Ok(unchanged());
        }
        if self.everywhere.is_none() {
            // The stack pointer takes R1.
            let with_stack = if work.is_framed() { self.limit } else { self.limit.saturating_sub(1) };
            let spilled = pressure::choose(work, live, RegFile::Gpr, self.limit, with_stack, &self.forced)?;
            if spilled.iter().all(Option::is_none) {
                return Ok(unchanged());
            }
            let mut other = work.clone();
            let stored = spill::spill(&mut other, live, RegFile::Gpr, &spilled);
            other.mir.to_mut().header.spills += stored;
            self.spilled = ids(&spilled).collect();
            self.everywhere = Some(other);
        }
        let split = attempt.filter(|_| self.forced.is_empty()).and_then(|attempt| self.split(attempt));
        // The live ranges of the more expensive choice are not even computed.
        if let Some(split) = split
            && self.everywhere.as_ref().is_none_or(|everywhere| added_cost(&split) <= added_cost(everywhere))
        {
            let now = LiveRanges::new(&split.mir, split.frame);
            let framed = u32::from(split.is_framed() && !work.is_framed());
            if now.most(RegFile::Gpr) <= self.limit - framed {
                return Ok(Spilling { work: Cow::Owned(split), live: Cow::Owned(now), is_split: true });
            }
        }
        let Some(everywhere) = self.everywhere.take() else { return Ok(unchanged()) };
        let live = LiveRanges::new(&everywhere.mir, everywhere.frame);
        Ok(Spilling { work: Cow::Owned(everywhere), live: Cow::Owned(live), is_split: false })
    }

    /// The function with the live ranges of general registers split until the available registers
    /// suffice, or fewer in later attempts; `None` if that is too tight.
    fn split(&mut self, attempt: u32) -> Option<Work<'m>> {
        let (work, live) = (self.work, self.live);
        if self.splits.is_none() {
            let cfg = Cfg::new(&work.mir);
            if cfg.order().len() != work.mir.layout.len() {
                return None;
            }
            let uses = NextUses::new(work, live, &cfg);
            self.splits = Some(Splits { cfg, uses, stores: false });
        }
        let Splits { cfg, uses, stores } = self.splits.as_mut()?;
        let limit = self.limit.saturating_sub([0, 1, 3][attempt.min(2) as usize]);
        let has_stack = work.is_framed();
        let mut residence = Err(Obstacle::NoStack);
        if !*stores {
            residence = residence::reside(work, live, cfg, uses, limit, !has_stack);
        }
        if matches!(residence, Err(Obstacle::NoStack)) {
            // The stack pointer takes R1. Fewer registers don't need less memory.
            *stores = true;
            residence = residence::reside(work, live, cfg, uses, limit - 1, false);
        }
        let residence = residence.ok()?;
        let mut work = work.clone();
        let stored = split::split(&mut work, live, cfg, &residence);
        work.mir.to_mut().header.spills += stored;
        Some(work)
    }
}

/// The cost of the added instructions, weighted by frequency: an access to memory counts as four
/// other instructions.
fn added_cost(work: &Work<'_>) -> u128 {
    let block = |&block: &MBlockId| {
        let data = &work.mir.blocks[block];
        let added = data.insts.iter().zip(&work.origins[block]);
        let added = added.filter(|(_, origin)| !matches!(origin, Origin::Inst(_)));
        let cost = added.map(|(inst, _)| if inst.inst.row().effects.is_none() { 1 } else { 4 });
        u128::from(data.frequency.max(1)) * cost.sum::<u128>()
    };
    work.mir.layout.iter().map(block).sum()
}
