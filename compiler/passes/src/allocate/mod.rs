//! Register allocation: virtual registers in, physical registers out.
//!
//! In: machine IR in SSA form by component ([`Mir<VReg>`](crate::mir)), with block parameters, tuples and
//! guarded definitions. Out: the same function over R, P, UR and UP without parameters, where each
//! instruction says which one of the input it was ([`Allocation`]), so that [`check`] can prove the result
//! right without knowing how it came about.
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
//! 3. [`pressure`], [`spill`]: until no point needs more registers than there are. Uniform registers and
//!    predicates go first, since they are put away in general registers. Those have their live ranges split
//!    ([`next_use`], [`residence`], [`names`], [`split`]), or are put away everywhere, whichever costs less.
//! 4. [`coalesce`]: what edges and copies connect shares a register where it can.
//! 5. [`assign`], [`occupancy`]: aligned places for tuples and values, out of the way of calls where that costs no register.
//! 6. [`rewrite`], [`parallel_copy`], [`save`]: physical registers, copies on edges, what calls would destroy
//!    saved around them.
//!
//! Spilling before assigning means that assigning fails only where free registers are too scattered for an
//! aligned tuple or the order of choice was unlucky. Then it is tried again by the cost of spilling, and without
//! optional merges, where copies still wish for common registers. If that fails too, live ranges are split for
//! fewer registers, twice; and then what found no place is put away everywhere and everything is done again. Each
//! such attempt spills more, and in the end each value lives only around its definition and uses, where
//! placing the widest first always succeeds. Limits: R0–R254 or [`Options::max_regs`], UR0–UR62, P0–P6,
//! UP0–UP6. R1 is the stack pointer where a function uses local memory, and an ordinary register elsewhere.

mod assign;
mod check;
mod coalesce;
mod hoist;
mod isolate;
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
use ptxc_sass::{Arch, PReg, RegFile};

pub use check::{Violation, check};
pub use work::Origin;

use crate::interrupt;
use crate::mir::{Liveness, MBlockId, Mir, VReg, VRegId};
use assign::{Priority, Problem};
use coalesce::Classes;
use live::LiveRanges;
use next_use::NextUses;
use residence::Obstacle;
use work::Work;

/// What the allocator may use.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The number of general registers a thread may have, 16 to 255.
    pub max_regs: u16,
    /// The architecture: where the driver puts the stack pointer.
    pub arch: Arch,
}

impl Default for Options {
    fn default() -> Options {
        Options { max_regs: 255, arch: Arch::Sm90 }
    }
}

/// What the allocator did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The highest register named plus one, by file in the order of [`RegFile::ALL`].
    pub registers: [u8; 4],
    /// Virtual registers that went to local memory.
    pub spills: u32,
    /// Copies on edges that coalescing left.
    pub edge_copies: u32,
    /// Instructions added, copies on edges included.
    pub inserted: u32,
    /// Copies of the input that vanished.
    pub removed: u32,
    /// How often assigning had to start over.
    pub retries: u32,
}

/// An allocated function.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// The function. Blocks of the input keep their numbers; blocks on edges come after them.
    pub mir: Mir<PReg>,
    /// For each block, where each of its instructions came from.
    pub origins: SecondaryMap<MBlockId, Vec<Origin>>,
    /// What it took.
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
        /// How many it needs; 0 where alignment is what fails.
        needed: u32,
        /// How many there are.
        limit: u32,
        /// The instruction.
        loc: SourceLoc,
    },
    /// A guarded definition whose old value cannot be in its register.
    Tied {
        /// The instruction.
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

/// Allocates registers of a function of which it is known what is live across the borders of blocks.
pub fn allocate(mir: &Mir<VReg>, live: &Liveness, options: &Options) -> Result<Allocation, AllocError> {
    if !(16..=255).contains(&options.max_regs) {
        return Err(AllocError::MaxRegs(options.max_regs));
    }
    let instructions: usize = mir.layout.iter().map(|&block| mir.blocks[block].insts.len()).sum();
    let mut isolated = Work::new(mir);
    interrupt::poll();
    isolate::isolate(&mut isolated)?;
    let budget = RegFile::ALL
        .map(|file| if file == RegFile::Gpr { options.max_regs } else { u16::from(file.count()) });
    let mut forced = Forced::default();
    let mut retries = 0;
    loop {
        interrupt::poll();
        // Only what is spilled is changed, and where nothing is, nothing is copied.
        let mut work = Cow::Borrowed(&isolated);
        // In the end what fails is put away everywhere, which always succeeds.
        let splits = (retries < 3).then_some(retries);
        // What was isolated is live within blocks.
        let live = LiveRanges::with(&work.mir, work.frame, Cow::Borrowed(live));
        let Spilling { spilled, live, is_split } = spill_all(&mut work, live, &budget, &forced, splits)?;
        let mut cores = Classes::new(&work, &live, &budget)?;
        interrupt::poll();
        coalesce::join_ties(&work, &live, &mut cores)?;
        let affinities = coalesce::affinities(&work);
        let mut classes = cores.clone();
        coalesce::coalesce(&affinities, &live, &mut classes);
        let problem = Problem {
            work: &work,
            live: &live,
            cores: &cores,
            affinities: &affinities,
            budget: &budget,
            arch: options.arch,
        };
        let assign = |classes: &Classes, priority: Priority<'_>| assign::assign(&problem, classes, priority);
        // Merged classes are harder to place; without them only wishes are left of the affinities.
        let assignment = assign(&classes, Priority::Compact).or_else(|_| {
            let costs = all_costs(&work, &live);
            assign(&classes, Priority::Cost(&costs))
                .or_else(|_| assign(&cores, Priority::Compact))
                .or_else(|_| assign(&cores, Priority::Cost(&costs)))
        });
        match assignment {
            Ok(assignment) => {
                let stack_top = options.arch.stack_top();
                let Some(rewritten) = rewrite::rewrite(&work, &live, &assignment, &budget, stack_top)? else {
                    // What calls destroy has to be saved in memory.
                    isolated.frame();
                    continue;
                };
                let origins = rewritten.mir.layout.iter().flat_map(|&block| &rewritten.origins[block]);
                let kept = origins.clone().filter(|origin| matches!(origin, Origin::Inst(_))).count();
                let statistics = Statistics {
                    registers: rewritten.registers,
                    spills: rewritten.mir.spills,
                    edge_copies: rewritten.copies,
                    inserted: (origins.count() - kept) as u32,
                    removed: (instructions - kept) as u32,
                    retries,
                };
                return Ok(Allocation { mir: rewritten.mir, origins: rewritten.origins, statistics });
            }
            Err(failed) => {
                retries += 1;
                if is_split {
                    continue;
                }
                let found_more = forced.add(&isolated, &work, &failed);
                // What was spilled stays so; else it would take the room that was made.
                forced.add(&isolated, &work, &spilled);
                if !found_more && retries > 3 {
                    let file = work.mir.vregs[failed[0]].file;
                    let limit = u32::from(budget[file as usize]);
                    return Err(AllocError::TooFewRegisters { file, needed: 0, limit, loc: SourceLoc::NONE });
                }
            }
        }
    }
}

/// What is spilled because it found no register.
#[derive(Default)]
struct Forced {
    /// Virtual registers of the input.
    values: BTreeSet<VRegId>,
    /// Virtual registers of the input whose general registers go to memory.
    homes: BTreeSet<VRegId>,
}

impl Forced {
    /// Adds what failed; whether that is anything new. The numbers of the input's virtual registers are the
    /// same in every attempt, those of others are not.
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

    /// Those of a file, in the numbers of this attempt.
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

/// What was spilled.
struct Spilling<'a> {
    /// Everywhere.
    spilled: Vec<VRegId>,
    /// The live ranges that remain.
    live: LiveRanges<'a>,
    /// Whether live ranges of general registers were split.
    is_split: bool,
}

/// Spills until every point needs at most so many registers of each file. General registers have their live
/// ranges split if `splits` says which attempt that is (each leaves more room for tuples) and that is cheaper than
/// putting the cheapest away everywhere.
fn spill_all<'a>(
    work: &mut Cow<'_, Work<'_>>,
    mut live: LiveRanges<'a>,
    limits: &assign::Budget,
    forced: &Forced,
    splits: Option<u32>,
) -> Result<Spilling<'a>, AllocError> {
    let mut all = Vec::new();
    for file in [RegFile::Upred, RegFile::Ugpr, RegFile::Pred, RegFile::Gpr] {
        let limit = u32::from(limits[file as usize]);
        let framed = work.is_framed() && file == RegFile::Gpr;
        let limit = match file {
            RegFile::Gpr if framed => limit - 1,
            RegFile::Ugpr => limit - work.kept_uniform.count(file),
            _ => limit,
        };
        let forced = forced.of(work, file);
        let called = pressure::destroys_for_good(file) && live.crosses_calls(&work.mir, file);
        let fits =
            |live: &LiveRanges<'_>, limit: u32| forced.is_empty() && !called && live.most(file) <= limit;
        if fits(&live, limit) {
            continue;
        }
        let attempt = splits.filter(|_| file == RegFile::Gpr && forced.is_empty());
        let split = attempt.and_then(|attempt| split_ranges(work, &live, limit, attempt));
        let mut spilled = pressure::choose(work, &live, file, limit, &forced)?;
        let to_memory = file == RegFile::Gpr && spilled.contains(&Some(pressure::Plan::Store));
        if to_memory && !framed {
            // The stack pointer takes R1.
            spilled = pressure::choose(work, &live, file, limit.saturating_sub(1), &forced)?;
        }
        if spilled.iter().all(Option::is_none) {
            continue;
        }
        let stored = spill::spill(work.to_mut(), &live, file, &spilled);
        work.to_mut().mir.to_mut().spills += stored;
        // General registers come last. The live ranges of what costs more are not even computed.
        if let Some(other) = split
            && added_cost(&other) <= added_cost(work)
        {
            let now = LiveRanges::new(&other.mir, other.frame);
            if fits(&now, u32::from(limits[file as usize]) - u32::from(other.is_framed())) {
                *work = Cow::Owned(other);
                return Ok(Spilling { spilled: all, live: now, is_split: true });
            }
        }
        let ids = spilled.iter().enumerate().filter(|(_, plan)| plan.is_some());
        all.extend(ids.map(|(vreg, _)| VRegId::new(vreg)));
        live = LiveRanges::new(&work.mir, work.frame);
    }
    Ok(Spilling { spilled: all, live, is_split: false })
}

/// What the instructions that were added cost, by frequency: an access to memory counts as four others.
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

/// The function with the live ranges of general registers split so that at most `limit` are needed, or fewer in later attempts;
/// `None` if that is too tight.
fn split_ranges<'a>(work: &Work<'a>, live: &LiveRanges<'_>, limit: u32, attempt: u32) -> Option<Work<'a>> {
    let cfg = crate::mir::Cfg::new(&work.mir);
    if cfg.order().len() != work.mir.layout.len() {
        return None;
    }
    let limit = limit.saturating_sub([0, 1, 3][attempt.min(2) as usize]);
    let uses = NextUses::new(work, live, &cfg);
    let has_stack = work.is_framed();
    let mut residence = residence::reside(work, live, &cfg, &uses, limit, !has_stack);
    let stores = match &residence {
        Ok(residence) => !has_stack && split::stores(residence, work, &cfg),
        Err(Obstacle::NoStack) => true,
        Err(Obstacle::TooTight) => return None,
    };
    if stores {
        // The stack pointer takes R1.
        residence = residence::reside(work, live, &cfg, &uses, limit - 1, false);
    }
    let residence = residence.ok()?;
    let mut work = work.clone();
    let stored = split::split(&mut work, live, &cfg, &residence);
    work.mir.to_mut().spills += stored;
    Some(work)
}
