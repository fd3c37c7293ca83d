//! The order of a run without time: all warps of the resident CTAs make progress.
//!
//! As many CTAs are resident as the largest GPU has room for; others start when a resident CTA
//! ends. A cooperative grid must be resident as a whole. Warps take turns in a fixed order. Each turn has a random length, and some are skipped, so
//! different seeds give different interleavings, and equal seeds the same one. Every warp gets
//! turns repeatedly, and every ready group of a warp gets its share, so spinning threads cannot
//! starve others.
//!
//! ```text
//! loop: for each warp: maybe skip it; else choose a ready group, execute 1 to 256 instructions of it
//! ```
//!
//! A round in which no thread was ready lets time pass for threads that wait for mbarriers. If
//! there are none, it is a deadlock. If time passes without effect too often in a row, it is also a
//! deadlock. The report lists what each thread waits for.

use crate::engine::{Engine, Scheduler};
use crate::error::SimError;
use crate::grid::Grid;
use crate::launch::{Options, Shape};
use crate::memory::GridMemory;
use crate::random::Random;
use crate::warp::{Control, Group, Joining, LANES, Wait};

/// The binary logarithm of the largest number of instructions in a turn.
const TURN_BITS: u32 = 8;

/// The number of resident warps, unless one CTA has more: an H100 has places for as many (132 SMs
/// of 64).
const RESIDENT_WARPS: u32 = 132 * 64;

/// Bytes of shared and local memory of all resident CTAs, unless one cluster has more.
const MOST_MEMORY: u64 = 1 << 30;

/// The number of times in a row that the waits for mbarriers may time out, while nothing else can
/// execute, before they count as endless.
const MOST_IN_VAIN: u32 = 64;

/// The scheduler of a run without time.
pub(crate) struct Interleaved<'a> {
    /// The seed and the limits.
    pub options: &'a Options,
}

impl Scheduler for Interleaved<'_> {
    fn run<E: Engine>(self, engine: &E, shape: &Shape, memory: &mut GridMemory) -> Result<u64, SimError> {
        let options = self.options;
        let mut random = Random::new(options.seed);
        let mut grid = Grid::new(engine, shape, memory);
        // The number of waits that ended since the last change of an mbarrier, and the number of
        // changes.
        let (mut in_vain, mut changes) = (0, 0);
        let size = shape.cluster_size();
        let mut to_come = 0..shape.grid.iter().product();
        let resident = RESIDENT_WARPS / shape.threads().div_ceil(LANES as u32).max(1);
        let in_memory = (MOST_MEMORY / shape.memory().max(1)).min(u64::from(u32::MAX)) as u32;
        let resident = (resident.min(in_memory) / size).max(1) * size;
        shape.check_residency(resident, "the simulator")?;
        for cta in to_come.by_ref().take(resident as usize) {
            grid.start(cta, &mut random);
        }
        loop {
            let (mut alive, mut ready) = (false, false);
            for cta in 0..grid.ctas.len() {
                for warp in 0..grid.ctas[cta].warps.len() {
                    let control = &grid.ctas[cta].warps[warp].control;
                    alive |= control.live != 0;
                    if !control.groups.iter().any(|group| group.wait == Wait::Ready) {
                        continue;
                    }
                    ready = true;
                    if random.below(4) != 0 {
                        turn(&mut grid, cta, warp, &mut random)?;
                    }
                }
            }
            if !to_come.is_empty() {
                let ended = grid.remove_ended_clusters();
                for cta in to_come.by_ref().take(ended) {
                    grid.start(cta, &mut random);
                }
                if ended > 0 {
                    continue;
                }
            }
            if !alive {
                return Ok(grid.steps);
            }
            if !ready {
                let waiting = grid.waiting();
                in_vain = if grid.mbarrier_changes == changes { in_vain + 1 } else { 0 };
                if in_vain > MOST_IN_VAIN || !grid.let_time_pass(&mut random)? {
                    return Err(SimError::Deadlock(waiting));
                }
                changes = grid.mbarrier_changes;
            }
            if grid.steps > options.step_limit {
                return Err(SimError::StepLimit { limit: options.step_limit, waiting: grid.waiting() });
            }
        }
    }
}

/// Chooses a ready group of the warp and executes some instructions of it.
fn turn<E: Engine>(
    grid: &mut Grid<'_, E>,
    cta: usize,
    warp: usize,
    random: &mut Random,
) -> Result<(), SimError> {
    // Most turns are short, so that all orders of nearby instructions occur; most instructions are
    // in long ones.
    let longest = 2 << random.below(TURN_BITS);
    let end = grid.steps + 1 + u64::from(random.below(longest));
    let mut next = choose(&grid.ctas[cta].warps[warp].control, E::JOINING, random);
    while let Some(group) = next
        && grid.steps < end
    {
        let executed = grid.execute_some(cta, warp, group, (end - grid.steps) as u32)?;
        next = executed.group.or_else(|| choose(&grid.ctas[cta].warps[warp].control, E::JOINING, random));
    }
    Ok(())
}

/// A ready group of the warp. If reconvergence is left to chance, the groups that are furthest
/// behind in the program mostly go first, because lanes then meet soonest.
fn choose(control: &Control, joining: Joining, random: &mut Random) -> Option<usize> {
    let first = control.first();
    let is_ready = |group: &Group| group.wait == Wait::Ready;
    // Waiting lanes need no turn.
    let goes_first = |group: &Group| is_ready(group) && group.lanes & first != 0;
    let first = if control.groups.iter().any(goes_first) { first } else { u32::MAX };
    let may_go = move |group: &Group| is_ready(group) && group.lanes & first != 0;
    let ready = || control.groups.iter().enumerate().filter(move |(_, group)| may_go(group));
    let count = match control.groups.len() {
        1 => ready().count(),
        _ if joining == Joining::Anywhere && random.below(8) != 0 => {
            return ready().min_by_key(|(_, group)| group.pc).map(|(index, _)| index);
        }
        _ => ready().count(),
    };
    let nth = if count > 1 { random.below(count as u32) as usize } else { 0 };
    ready().nth(nth).map(|(index, _)| index)
}
