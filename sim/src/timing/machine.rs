//! The machine in time: CTAs start and end, sub-cores issue, warps wait, copies are done.
//!
//! The machine has an SM for each CTA of a cluster, or one SM if there are no clusters. Together they
//! run the whole grid.
//!
//! Each sub-core knows the next cycle in which it may issue; time jumps to the earliest of these
//! cycles. The end of a warp's wait is known as soon as its last instruction has issued, because
//! memory computes at once when it will be done. Only barriers depend on other warps, and they
//! release their warps explicitly; an mbarrier may also depend on an asynchronous copy, which is an event
//! of its own. A sub-core scans its warps (at most 16) in its turn, so the cost
//! of an instruction does not depend on the length of waits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use ptxc_sass::issue::Front;
use rustc_hash::FxHashSet;

use super::code::Node;
use super::fetch::Fetch;
use super::memory::MemorySystem;
use super::observe::{Observer, WarpId};
use super::params::{Draw, Params};
use super::report::{Residency, SubCoreTiming, WarpTiming};
use super::stalls::{Cause, Stalls};
use super::warp::{NEVER, Warp, choose_path};
use crate::access::AccessLog;
use crate::engine::Engine;
use crate::error::SimError;
use crate::grid::Grid;
use crate::launch::{Options, Shape};
use crate::random::Random;
use crate::warp::LANES;

/// The number of times in a row that the waits for mbarriers may time out, while nothing else can execute,
/// before they count as endless.
const MOST_IN_VAIN: u32 = 64;

/// The cycles after which a wait for an mbarrier times out if nothing else can happen (assumed).
const TIME_LIMIT: u64 = 20_000;

/// A sub-core.
#[derive(Debug)]
pub(super) struct Core {
    /// Its pipes, queues and register ports.
    pub front: Front,
    /// The slots of its warps, oldest first.
    pub members: Vec<usize>,
    /// The warp that issued last.
    pub last: usize,
    /// The next cycle in which it may issue.
    pub next: u64,
    /// The cached lines of constants for fixed-latency instructions.
    pub constants: FxHashSet<(u8, u32)>,
    /// The cycle since which it has had warps.
    active_since: u64,
    /// The end of the last of its warps that has ended.
    last_end: u64,
    /// Its results.
    pub timing: SubCoreTiming,
}

/// What the sub-cores of an SM share, besides memory.
#[derive(Debug)]
pub(super) struct Sm {
    /// The cycle when its port accepts another request.
    pub port: u64,
    /// Its instruction caches.
    pub fetch: Fetch,
}

/// A CTA that has started; those of a cluster are adjacent, as in the grid, until all of them have ended.
pub(super) struct Resident {
    /// The slots of the warps that have not ended.
    slots: Vec<usize>,
    /// The end of the last warp that has ended so far.
    end: u64,
    /// The cycle when the last phase of the cluster's barrier has ended.
    pub together: u64,
}

/// The statistics of an instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InstCounts {
    /// The number of issues.
    pub issued: u64,
    /// Lanes that issued it.
    pub lanes: u64,
    /// The number of those lanes for which it had an effect.
    pub threads: u64,
    /// Cycles that warps waited to issue it.
    pub stalls: Stalls,
}

/// The parts of the model.
pub(super) struct Setup<'a> {
    /// The program.
    pub code: &'a [Node],
    /// The figures.
    pub params: &'static Params,
    /// The number of resident CTAs.
    pub residency: Residency,
    /// The shape of the launch.
    pub shape: &'a Shape,
    /// The options of the run.
    pub options: &'a Options,
    /// The source of latencies.
    pub draw: Draw,
}

/// The SMs of a cluster.
pub(super) struct Machine<'a, E: Engine, O> {
    pub(super) grid: Grid<'a, E>,
    pub(super) setup: Setup<'a>,
    random: Random,
    next_cta: u32,
    pub(super) ctas: Vec<Resident>,
    /// Places for warps: first those of the first SM.
    pub(super) slots: Vec<Option<Warp>>,
    /// Sub-cores: first those of the first SM.
    pub(super) cores: Vec<Core>,
    pub(super) sms: Vec<Sm>,
    /// The memory.
    pub memory: MemorySystem,
    pub(super) log: AccessLog,
    /// The cycles in which asynchronous copies are done that an mbarrier counts.
    pub(super) events: BinaryHeap<Reverse<u64>>,
    pub(super) observer: &'a mut O,
    /// The cycle after the last one.
    pub cycles: u64,
    /// The warps that have ended.
    pub warps: Vec<WarpTiming>,
    /// The instructions.
    pub insts: Vec<InstCounts>,
}

impl<'a, E: Engine, O: Observer> Machine<'a, E, O> {
    /// SMs without warps.
    pub fn new(mut grid: Grid<'a, E>, setup: Setup<'a>, observer: &'a mut O) -> Machine<'a, E, O> {
        grid.in_time = true;
        let params = setup.params;
        let sms = setup.shape.cluster_size();
        let core = |_| Core {
            front: Front::default(),
            members: Vec::new(),
            last: usize::MAX,
            next: NEVER,
            constants: FxHashSet::default(),
            active_since: 0,
            last_end: 0,
            timing: SubCoreTiming::default(),
        };
        let shared = (setup.shape.shared_bytes + params.shared_reserved) * setup.residency.ctas;
        Machine {
            grid,
            random: Random::new(setup.options.seed),
            next_cta: 0,
            ctas: Vec::new(),
            slots: (0..params.warps * sms).map(|_| None).collect(),
            cores: (0..params.sub_cores * sms).map(core).collect(),
            sms: (0..sms).map(|_| Sm { port: 0, fetch: Fetch::new(params) }).collect(),
            memory: MemorySystem::new(params, sms as usize, shared),
            log: AccessLog::default(),
            events: BinaryHeap::new(),
            observer,
            cycles: 0,
            warps: Vec::new(),
            insts: vec![InstCounts::default(); setup.code.len()],
            setup,
        }
    }

    /// Runs the whole grid and returns the number of warp instructions.
    ///
    /// # Errors
    /// A fault of the program, a deadlock, or more instructions than the options allow.
    pub fn run(&mut self) -> Result<u64, SimError> {
        for _ in 0..self.setup.residency.ctas {
            self.launch(0);
        }
        // The cycle of the last event, and how often waits for mbarriers have timed out since an mbarrier changed.
        let (mut last, mut in_vain, mut changes) = (0, 0, 0);
        loop {
            let now = self.cores.iter().map(|core| core.next).min().unwrap_or(NEVER);
            if let Some(&Reverse(due)) = self.events.peek()
                && due <= now
            {
                self.events.pop();
                last = last.max(due);
                self.grid.make_copies(due)?;
                self.release_all(due);
            } else if now != NEVER {
                last = last.max(now);
                for core in 0..self.cores.len() {
                    if self.cores[core].next <= now {
                        self.turn(core, now)?;
                    }
                }
            } else {
                if self.ctas.is_empty() {
                    return Ok(self.grid.steps);
                }
                let waiting = self.grid.waiting();
                in_vain = if self.grid.mbarrier_changes == changes { in_vain + 1 } else { 0 };
                changes = self.grid.mbarrier_changes;
                if in_vain > MOST_IN_VAIN || !self.grid.wake(0..self.ctas.len(), true) {
                    return Err(SimError::Deadlock(waiting));
                }
                last += TIME_LIMIT;
                self.release_all(last);
            }
        }
    }

    /// The results of the sub-cores.
    pub fn sub_core_timings(&self) -> Vec<SubCoreTiming> {
        self.cores.iter().map(|core| core.timing).collect()
    }

    /// The number of sub-cores of an SM.
    pub(super) fn sub_cores(&self) -> usize {
        self.setup.params.sub_cores as usize
    }

    /// The SM of a slot.
    pub(super) fn sm_of(&self, slot: usize) -> usize {
        slot / self.setup.params.warps as usize
    }

    /// The sub-core of a slot.
    pub(super) fn core_of(&self, slot: usize) -> usize {
        self.sm_of(slot) * self.sub_cores() + slot % self.setup.params.warps as usize % self.sub_cores()
    }

    /// Starts the CTAs of the next cluster, if there is one.
    fn launch(&mut self, start: u64) {
        if self.next_cta >= self.setup.shape.grid.iter().product() {
            return;
        }
        let per_sm = self.setup.params.warps as usize;
        for sm in 0..self.sms.len() {
            let cta = self.next_cta;
            self.next_cta += 1;
            self.grid.start(cta, &mut self.random);
            let index = self.ctas.len();
            self.ctas.push(Resident { slots: Vec::new(), end: start, together: start });
            for warp in 0..self.setup.shape.threads().div_ceil(LANES as u32) {
                // The residency guarantees a slot for each warp.
                let free = (sm * per_sm..(sm + 1) * per_sm).find(|&slot| self.slots[slot].is_none());
                let Some(slot) = free else { break };
                let id = WarpId { cta, warp };
                self.slots[slot] = Some(Warp::new(id, index, start));
                self.ctas[index].slots.push(slot);
                let core = self.core_of(slot);
                if O::LISTENS {
                    self.observer.start(start, core as u32, id);
                }
                let Core { members, active_since, next, .. } = &mut self.cores[core];
                if members.is_empty() {
                    *active_since = start;
                }
                members.push(slot);
                *next = (*next).min(start);
                self.settle(slot, start);
            }
        }
    }

    /// Releases the warps that waited for others, or for a copy, and need not wait any more.
    fn release_all(&mut self, now: u64) {
        for cta in 0..self.ctas.len() {
            self.release(cta, now);
        }
    }

    /// The same in the cluster of a CTA.
    pub(super) fn release_cluster(&mut self, cta: usize, now: u64) {
        for cta in self.grid.cluster_of(cta) {
            self.release(cta, now);
        }
    }

    fn release(&mut self, cta: usize, now: u64) {
        for position in 0..self.ctas[cta].slots.len() {
            let slot = self.ctas[cta].slots[position];
            let Some(warp) = &mut self.slots[slot] else { continue };
            if warp.ready != NEVER {
                continue;
            }
            let control = &self.grid.ctas[cta].warps[warp.id.warp as usize].control;
            let Some(group) = choose_path(control, u32::MAX, false) else { continue };
            let (from, cause) = (warp.accounted, warp.hold);
            let params = self.setup.params;
            let latency = match cause {
                Cause::Barrier => params.barrier_release,
                Cause::Cluster => params.cluster_release,
                Cause::Mbarrier => params.mbarrier_release,
                _ => params.converge_release,
            };
            let together = self.ctas[cta].together;
            let resumes = match cause {
                Cause::Cluster if together > now => together,
                _ => (now + self.setup.draw.pick(latency)).max(now + 1),
            };
            warp.group = group;
            warp.pc = control.groups[group].pc;
            self.charge(slot, from, resumes, cause);
            self.settle(slot, resumes);
        }
    }

    /// Ends a warp. If it was the last of its cluster, the next cluster takes the place.
    pub(super) fn finish(&mut self, slot: usize) {
        let core = self.core_of(slot);
        let Some(warp) = &self.slots[slot] else { return };
        let (from, end, cta) = (warp.accounted, warp.stalled.max(warp.accounted), warp.cta);
        self.charge(slot, from, end, Cause::Dependence);
        if O::LISTENS {
            self.tell(slot, end);
        }
        let Some(warp) = self.slots[slot].take() else { return };
        if O::LISTENS {
            self.observer.end(end, core as u32, warp.id);
        }
        let WarpId { cta: number, warp: index } = warp.id;
        self.warps.push(WarpTiming {
            cta: number,
            warp: index,
            sub_core: core as u32,
            start: warp.start,
            end,
            issued: warp.issued,
            stalls: warp.stalls,
        });
        self.cycles = self.cycles.max(end);
        let Core { members, active_since, last_end, timing, .. } = &mut self.cores[core];
        members.retain(|&other| other != slot);
        *last_end = (*last_end).max(end);
        if members.is_empty() {
            timing.active += *last_end - *active_since;
            timing.no_eligible_warp = timing.active - timing.issued;
        }
        self.ctas[cta].end = self.ctas[cta].end.max(end);
        self.ctas[cta].slots.retain(|&other| other != slot);
        let cluster = self.grid.cluster_of(cta);
        if self.ctas[cluster.clone()].iter().all(|cta| cta.slots.is_empty()) {
            self.remove(cluster);
        }
    }

    /// Removes a cluster that has ended, and starts the next one.
    fn remove(&mut self, cluster: Range<usize>) {
        let end = self.ctas[cluster.clone()].iter().map(|cta| cta.end).max().unwrap_or(0);
        for cta in cluster.rev() {
            self.ctas.swap_remove(cta);
            self.grid.swap_remove(cta);
            for &moved in self.ctas.get(cta).iter().flat_map(|cta| &cta.slots) {
                if let Some(warp) = &mut self.slots[moved] {
                    warp.cta = cta;
                }
            }
        }
        self.launch(end);
    }
}
