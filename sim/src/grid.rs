//! The state of a grid, and the only function that changes it, which executes an instruction of a
//! group of lanes.
//!
//! The engine determines the effect of one instruction on the lanes of one group. This module
//! applies it: it moves the group, ends the phases of CTA barriers, and returns the outcome. It
//! does not decide which group executes, or when; in a run without time,
//! [`interleave`](crate::interleave) decides.
//!
//! ```text
//! let mut grid = Grid::new(&engine, &shape, &mut memory);
//! grid.start(0, &mut random);                        // starts a CTA: grid.ctas[0]
//! let executed = grid.execute(0, warp, group, clock, None)?;
//! ```
//!
//! Cost: constant time per instruction in addition to its own work, and no allocation.

use std::ops::Range;

use crate::access::AccessLog;
use crate::asynchronous::Made;
use crate::checks::{Bits, Race};
use crate::cluster;
use crate::copies::Copies;
use crate::cta::{Cta, Warp};
use crate::engine::{Engine, Step};
use crate::error::{SimError, Thread, Waiting};
use crate::launch::Shape;
use crate::memory::{CtaMemory, GridMemory, Instruction, Memory, RANK_SHIFT, WINDOW_BYTES, Written, read_le};
use crate::products::UnderWay;
use crate::random::Random;
use crate::services::NO_FUNCTION;
use crate::warp::{Control, Flow, Group, Joining, LANES, Wait};

/// The outcome for the lanes that executed an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All continue with the next instruction.
    Next,
    /// All or some of them jumped elsewhere.
    Jumped,
    /// All or some of them wait; some may have been released already, if they were the last to
    /// arrive.
    Waited,
    /// All or some of them exited.
    Exited,
}

/// An executed instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Executed {
    /// The lanes that executed it: those of the group whose guard holds. If there is none, the
    /// instruction had no effect.
    pub lanes: u32,
    /// The outcome for them.
    pub outcome: Outcome,
    /// The index of the group that continues straight on with the same lanes, if there is one and
    /// it did not yield.
    pub group: Option<usize>,
    /// The cycle when the asynchronous copies are done that the instruction waits for; 0 if the run is not in
    /// time.
    pub copies_done: u64,
}

/// A grid.
pub(crate) struct Grid<'a, E: Engine> {
    /// The CTAs that have started and not been removed; those of a cluster are adjacent, ordered by
    /// rank.
    pub ctas: Vec<Cta<E::Registers>>,
    /// The number of warp instructions executed.
    pub steps: u64,
    /// Whether the run is in time: asynchronous copies are made by [`Grid::make_copies`].
    pub in_time: bool,
    /// The number of changes of mbarriers.
    pub mbarrier_changes: u64,
    /// The memory of each CTA.
    memories: Vec<CtaMemory>,
    engine: &'a E,
    shape: &'a Shape,
    memory: &'a mut GridMemory,
}

impl<'a, E: Engine> Grid<'a, E> {
    /// A grid without started CTAs.
    pub fn new(engine: &'a E, shape: &'a Shape, memory: &'a mut GridMemory) -> Grid<'a, E> {
        let (ctas, memories) = (Vec::new(), Vec::new());
        Grid { ctas, memories, steps: 0, in_time: false, mbarrier_changes: 0, engine, shape, memory }
    }

    /// Removes a CTA, whose place the last one takes. To remove a cluster, its CTAs are removed from the last
    /// to the first; the last cluster takes its place.
    pub fn swap_remove(&mut self, cta: usize) {
        self.ctas.swap_remove(cta);
        self.memories.swap_remove(cta);
    }

    /// The outstanding asynchronous copies of a CTA.
    pub fn copies(&mut self, cta: usize) -> &mut Copies {
        &mut self.memories[cta].copies
    }

    /// Makes the asynchronous copies that are done at `now`, and lets the threads test again that wait for an
    /// mbarrier.
    ///
    /// # Errors
    /// A fault of a copy.
    pub fn make_copies(&mut self, now: u64) -> Result<(), SimError> {
        if self.pass_copies(&mut Made::Until(now))? {
            self.mbarrier_changes += 1;
            self.wake(0..self.ctas.len(), false);
        }
        Ok(())
    }

    /// Removes the clusters whose threads have all ended, and returns the number of removed CTAs.
    pub fn remove_ended_clusters(&mut self) -> usize {
        let size = self.shape.cluster_size() as usize;
        let is_alive = |cta: &Cta<E::Registers>| cta.warps.iter().any(|warp| warp.control.live != 0);
        let alive: Vec<bool> = self.ctas.chunks(size).map(|cluster| cluster.iter().any(is_alive)).collect();
        let before = self.ctas.len();
        let mut index = 0..before;
        self.ctas.retain(|_| index.next().is_some_and(|index| alive[index / size]));
        let mut index = 0..before;
        self.memories.retain(|_| index.next().is_some_and(|index| alive[index / size]));
        before - self.ctas.len()
    }

    /// Starts the CTA with number `cta`. Registers, shared and local memory hold arbitrary values.
    pub fn start(&mut self, cta: u32, random: &mut Random) {
        let threads = self.shape.threads();
        let warps = (0..threads.div_ceil(LANES as u32))
            .map(|warp| {
                let lanes = (threads - warp * LANES as u32).min(LANES as u32);
                Warp {
                    control: Control::new(u32::MAX >> (LANES as u32 - lanes), E::JOINING),
                    registers: self.engine.registers(random),
                }
            })
            .collect();
        let mut garbage = |bytes: usize| {
            let words = std::iter::repeat_with(|| random.next().to_le_bytes()).take(bytes.div_ceil(8));
            let mut memory: Vec<u8> = words.flatten().collect();
            memory.truncate(bytes);
            memory
        };
        let shared = garbage(self.shape.shared_bytes as usize);
        let local = garbage(self.shape.local_bytes as usize * threads as usize);
        let checks = self.shape.checks;
        let is_fault = checks.unwritten_is_fault;
        let written = (is_fault || checks.unwritten).then(|| Written {
            shared: Bits::new(shared.len()),
            local: Bits::new(local.len()),
            is_fault,
        });
        let local_bytes = self.shape.local_bytes;
        let (id, rank) = self.shape.nth_cta(cta);
        let size = self.shape.cluster_size() as usize;
        let race = (checks.races && rank == 0)
            .then(|| Box::new(Race::new(size, threads, shared.len(), checks.guesses_releases)));
        let (copies, products) = (Copies::default(), UnderWay::default());
        self.memories.push(CtaMemory { shared, local, local_bytes, written, race, id, copies, products });
        let first = self.memories.len() - 1 - rank as usize;
        if let Some(race) = &mut self.memories[first].race {
            race.start(id);
        }
        self.ctas.push(Cta { id, rank, barriers: Default::default(), warps });
    }

    /// Executes the next instruction of a group that is ready. `cta`, `warp` and `group` are
    /// indices into [`Grid::ctas`], its warps and their groups. `clock` is the time that the
    /// program sees.
    ///
    /// # Errors
    /// A fault of the program.
    pub fn execute(
        &mut self,
        cta: usize,
        warp: usize,
        group: usize,
        clock: u64,
        log: Option<&mut AccessLog>,
    ) -> Result<Executed, SimError> {
        self.run(cta, warp, group, clock, 1, log)
    }

    /// Executes at least one and at most `most` instructions of a group. It stops when other lanes
    /// of the warp may be at the same instruction, or when an instruction affects other lanes than
    /// its own. The clock advances by one per instruction. The result is that of the last
    /// instruction.
    ///
    /// # Errors
    /// A fault of the program.
    pub fn execute_some(
        &mut self,
        cta: usize,
        warp: usize,
        group: usize,
        most: u32,
    ) -> Result<Executed, SimError> {
        let clock = self.steps;
        self.run(cta, warp, group, clock, most, None)
    }

    #[inline]
    fn run(
        &mut self,
        cta: usize,
        warp: usize,
        group: usize,
        clock: u64,
        most: u32,
        log: Option<&mut AccessLog>,
    ) -> Result<Executed, SimError> {
        let members = self.cluster_of(cta);
        let cta = &mut self.ctas[cta];
        let warps = cta.warps.len();
        let Warp { control, registers } = &mut cta.warps[warp];
        let Group { pc, lanes, .. } = control.groups[group];
        if control.alone & lanes != 0 {
            control.alone &= !lanes;
            control.held = lanes;
        }
        control.begin(lanes);
        let alone = control.groups.len() == 1 || E::JOINING == Joining::Barriers;
        let mut step = Step {
            pc,
            lanes,
            shape: self.shape,
            cta: cta.id,
            rank: cta.rank,
            warp: warp as u32,
            clock,
            memory: Memory {
                grid: self.memory,
                cluster: &mut self.memories[members.clone()],
                rank: cta.rank as usize,
                first_thread: (warp * LANES) as u32,
                instruction: Instruction::default(),
                update: None,
            },
            control,
            log,
            barriers: &mut cta.barriers,
            warps,
            arrived: false,
            arrived_at_cluster: false,
            changed_mbarrier: false,
            in_time: self.in_time,
            copies_done: 0,
        };
        let mut left = most;
        let flow = loop {
            step.memory.instruction = Instruction { pc: step.pc, ..Instruction::default() };
            step.memory.meet(lanes);
            let flow = match self.engine.step(registers, &mut step) {
                Ok(flow) => flow,
                Err(fault) => {
                    step.memory.grid.steps_before_fault = self.steps + u64::from(most - left);
                    if fault.what == NO_FUNCTION {
                        let at = self.engine.describe(step.pc);
                        return Err(SimError::Unsupported { at, what: fault.what });
                    }
                    return Err(SimError::Fault {
                        thread: Thread {
                            cta: cta.id,
                            tid: self.shape.tid((warp * LANES) as u32 + fault.lane),
                        },
                        at: self.engine.describe(step.pc),
                        what: fault.what,
                    });
                }
            };
            step.memory.end_update();
            left -= 1;
            let next = match flow {
                Flow::Next | Flow::Branch { taken: 0, .. } => step.pc + 1,
                Flow::Branch { taken, target } if taken == lanes => target,
                _ => break flow,
            };
            if left == 0 || step.concerns_others() || !alone {
                break flow;
            }
            if flow != Flow::Next {
                step.control.held = 0;
            }
            step.pc = next;
            step.lanes = lanes;
            step.clock += 1;
        };
        self.steps += u64::from(most - left);
        let (pc, executing, arrived) = (step.pc, step.lanes, step.arrived);
        let (at_cluster, changed_mbarrier) = (step.arrived_at_cluster, step.changed_mbarrier);
        let copies_done = step.copies_done;
        let yields = flow == Flow::Yield;
        let exiting = if let Flow::Exit(lanes) = flow { lanes } else { 0 };
        let outcome = match flow {
            Flow::Next | Flow::Yield => Outcome::Next,
            Flow::Branch { .. } | Flow::Spread(_) => Outcome::Jumped,
            Flow::Exit(_) => Outcome::Exited,
            Flow::Wait(..) | Flow::Meet(..) => Outcome::Waited,
        };
        // BREAK may have regrouped the other lanes; this group is still the one with its lanes.
        let same = |control: &Control| {
            let is_same = |other: &Group| other.lanes == lanes;
            match control.groups.get(group) {
                Some(other) if is_same(other) => Some(group),
                _ => control.groups.iter().position(is_same),
            }
        };
        let control = &mut cta.warps[warp].control;
        let index = same(control).unwrap_or(group);
        control.groups[index].pc = pc;
        control.apply(index, flow);
        let rank = cta.rank as usize;
        let mut race = self.memories[members.start].race.as_deref_mut();
        if let Some(race) = &mut race {
            let warp = race.order.warp_of(rank, warp);
            control.met.iter().for_each(|&lanes| race.order.enter(warp, lanes));
            if exiting != 0 {
                race.order.exit(rank, warp, exiting);
            }
        }
        control.met.clear();
        if arrived || outcome == Outcome::Exited {
            complete_barriers(cta, race.as_deref_mut());
        }
        let index_of_cta = members.start + cta.rank as usize;
        if at_cluster || outcome == Outcome::Exited {
            let size = self.shape.cluster_size() as usize;
            cluster::complete(&mut self.ctas[members.clone()], size, race);
        }
        if changed_mbarrier {
            self.mbarrier_changes += 1;
            self.wake(members, false);
        }
        let control = &self.ctas[index_of_cta].warps[warp].control;
        let straight = outcome == Outcome::Next && !yields;
        let group = same(control).filter(|&index| straight && control.groups[index].pc == pc + 1);
        Ok(Executed { lanes: executing, outcome, group, copies_done })
    }

    /// The indices of the started CTAs of a cluster, given one of them.
    pub fn cluster_of(&self, cta: usize) -> Range<usize> {
        let first = cta - self.ctas[cta].rank as usize;
        first..(first + self.shape.cluster_size() as usize).min(self.ctas.len())
    }

    /// Lets threads of some CTAs that wait for an mbarrier test it again. With `expired` they then
    /// continue in any case. Returns whether there are any such threads.
    pub fn wake(&mut self, ctas: Range<usize>, expired: bool) -> bool {
        let mut woken = false;
        for warp in self.ctas[ctas].iter_mut().flat_map(|cta| &mut cta.warps) {
            woken |= warp.control.wake(expired);
        }
        woken
    }

    /// Lets time pass for threads that wait for mbarriers, when no thread can execute. If
    /// asynchronous copies are outstanding, some are made; otherwise waits end. Returns whether any
    /// thread can continue.
    ///
    /// # Errors
    /// A fault of a copy.
    pub fn let_time_pass(&mut self, random: &mut Random) -> Result<bool, SimError> {
        if self.pass_copies(&mut Made::ByChance(random))? {
            self.mbarrier_changes += 1;
            return Ok(self.wake(0..self.ctas.len(), false));
        }
        Ok(self.wake(0..self.ctas.len(), true))
    }

    /// Makes some of the outstanding asynchronous copies, and returns whether there were any.
    fn pass_copies(&mut self, made: &mut Made<'_>) -> Result<bool, SimError> {
        let mut found = false;
        for index in 0..self.ctas.len() {
            let mut copies = std::mem::take(&mut self.memories[index].copies);
            if copies.is_idle() {
                continue;
            }
            found = true;
            let (members, rank) = (self.cluster_of(index), self.ctas[index].rank as usize);
            let cluster = &mut self.memories[members];
            let (first_thread, instruction, update) = (0, Instruction::default(), None);
            let mut memory = Memory { grid: self.memory, cluster, rank, first_thread, instruction, update };
            copies.pass(&mut memory, made).map_err(|fault| SimError::Fault {
                thread: Thread { cta: self.ctas[index].id, tid: self.shape.tid(fault.lane) },
                at: "an asynchronous copy".to_string(),
                what: fault.what,
            })?;
            self.memories[index].copies = copies;
        }
        Ok(found)
    }

    /// The mbarrier at an address of a CTA, for a report.
    fn describe_mbarrier(&self, cta: usize, address: u32) -> String {
        let (rank, byte) = ((address >> RANK_SHIFT) as usize, address & (WINDOW_BYTES as u32 - 1));
        let shared = self.memories.get(self.cluster_of(cta).start + rank).map(|memory| &memory.shared);
        let bytes = shared.and_then(|shared| shared.get(byte as usize..byte as usize + 8));
        let state = bytes.and_then(|bytes| self.memory.mbarriers.read(read_le(bytes)).ok());
        let state = state.map_or(String::new(), |state| format!(", which awaits {state}"));
        format!("the mbarrier at byte {byte:#x} of the shared memory of CTA {rank} of the cluster{state}")
    }

    /// The positions of all threads, and what they wait for.
    pub fn waiting(&self) -> Vec<Waiting> {
        let mut list = Vec::new();
        for (index, cta) in self.ctas.iter().enumerate() {
            for (warp, state) in cta.warps.iter().enumerate() {
                for group in &state.control.groups {
                    let missing = state.control.missing(group);
                    let (pc, on) = match group.wait {
                        Wait::Ready => (group.pc, "nothing: it runs".to_string()),
                        Wait::Converge(barrier) => {
                            (group.pc - 1, format!("lanes {missing:#010x} at convergence barrier B{barrier}"))
                        }
                        Wait::Lanes(mask) | Wait::Exclusive(mask) | Wait::Collective(mask) => {
                            (group.pc - 1, format!("lanes {missing:#010x} of mask {mask:#010x}"))
                        }
                        Wait::Gather(mask) => {
                            (group.pc, format!("lanes {missing:#010x} of mask {mask:#010x}"))
                        }
                        Wait::Cta(name) => {
                            let live = cta.warps.iter().map(|warp| warp.control.live);
                            let barrier = &cta.barriers[name as usize];
                            (group.pc - 1, format!("CTA barrier {name}: {}", barrier.describe(live)))
                        }
                        Wait::Cluster => {
                            let cluster = &self.ctas[self.cluster_of(index)];
                            (group.pc - 1, cluster::describe(cluster))
                        }
                        Wait::Mbarrier(address) => (group.pc, self.describe_mbarrier(index, address)),
                        Wait::Warpgroup => {
                            let on = "other warps of the warpgroup, which have not issued the product";
                            (group.pc, on.to_string())
                        }
                    };
                    let (warp, lanes, at) = (warp as u32, group.lanes, self.engine.describe(pc));
                    list.push(Waiting { cta: cta.id, warp, lanes, at, on });
                }
            }
        }
        list
    }
}

/// Ends the phases that have all their threads, including those that ended because threads exited.
fn complete_barriers<R>(cta: &mut Cta<R>, mut race: Option<&mut Race>) {
    let rank = cta.rank as usize;
    for (name, barrier) in cta.barriers.iter_mut().enumerate() {
        if barrier.is_complete(cta.warps.iter().map(|warp| warp.control.live)) {
            let reduction = barrier.finish();
            for (index, warp) in cta.warps.iter_mut().enumerate() {
                if let Some(race) = &mut race {
                    let waiting = warp.control.waiting_at(Wait::Cta(name as u8));
                    let order = &mut race.order;
                    order.release(rank, name as u8, order.warp_of(rank, index), waiting);
                }
                warp.control.release_cta(name as u8, reduction);
            }
            if let Some(race) = &mut race {
                race.order.finish(rank, name as u8);
            }
        }
    }
}
