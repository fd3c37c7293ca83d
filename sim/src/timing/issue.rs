//! The issue of instructions: a sub-core chooses a warp, the instruction executes, and its time and that
//! of the warp's next one are determined.

use std::cmp::Reverse;

use ptxc_sass::issue::Hold;

use super::code::{Kind, Node};
use super::machine::{Core, Machine};
use super::memory::Ticket;
use super::observe::{Issue, MemoryEvent, Observer, Stall, WarpId};
use super::stalls::Cause;
use super::warp::{NEVER, choose_path, waits_for};
use crate::copies::{self, Effect};
use crate::engine::Engine;
use crate::error::SimError;
use crate::grid::{Executed, Outcome};
use crate::warp::LANES;

/// The start of local memory among addresses; global memory is far below.
const LOCAL_BASE: u64 = 1 << 56;

/// An instruction on its way through the SM.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// Its warp.
    pub id: WarpId,
    /// Its SM.
    pub sm: usize,
    /// The instruction.
    pub pc: u32,
    /// The cycle of its issue.
    pub now: u64,
    /// The cycle in which it would have issued to be as far now without queues.
    pub issued: u64,
    /// The cycle when it leaves the sub-core.
    pub leaves: u64,
    /// The cycle when its operands have been read.
    pub read: u64,
}

impl<E: Engine, O: Observer> Machine<'_, E, O> {
    /// Gives a sub-core its turn: it issues for one of its ready warps, if there is one.
    pub(super) fn turn(&mut self, core: usize, now: u64) -> Result<(), SimError> {
        let mut chosen: Option<usize> = None;
        let mut next = NEVER;
        for position in (0..self.cores[core].members.len()).rev() {
            let Core { members, front, last, .. } = &self.cores[core];
            let slot = members[position];
            let Some(warp) = &self.slots[slot] else { continue };
            if warp.ready > now {
                next = next.min(warp.ready);
                continue;
            }
            let (accounted, hold) = (warp.accounted, warp.hold);
            let (at, held) = match self.setup.code.get(warp.pc as usize) {
                Some(node) => front.earliest(&node.demand, now),
                None => (now, None),
            };
            let is_last = slot == *last;
            self.charge(slot, accounted, now, hold);
            if at > now {
                self.hold(slot, held);
                next = next.min(at);
                continue;
            }
            let rejected = match chosen {
                Some(other) if !is_last => {
                    debug_assert_ne!(other, slot);
                    Some(slot)
                }
                other => {
                    chosen = Some(slot);
                    other
                }
            };
            if let Some(rejected) = rejected {
                self.charge(rejected, now, now + 1, Cause::NotSelected);
                next = now + 1;
            }
        }
        self.cores[core].next = next;
        let Some(slot) = chosen else { return Ok(()) };
        self.cores[core].last = slot;
        self.issue(core, slot, now)
    }

    fn hold(&mut self, slot: usize, held: Option<Hold>) {
        if let Some(warp) = &mut self.slots[slot] {
            warp.hold = match held {
                Some(Hold::Pipe) => Cause::Pipe,
                Some(Hold::Queue) => Cause::Queue,
                Some(Hold::Port) => Cause::Port,
                None => Cause::NotSelected,
            };
        }
    }

    /// Accounts for cycles in which a warp did not issue.
    pub(super) fn charge(&mut self, slot: usize, from: u64, to: u64, cause: Cause) {
        let Some(warp) = &mut self.slots[slot] else { return };
        if to <= from {
            return;
        }
        warp.stalls[cause] += to - from;
        warp.accounted = to;
        if let Some(inst) = self.insts.get_mut(warp.pc as usize) {
            inst.stalls[cause] += to - from;
        }
        if O::LISTENS {
            if warp.told.1 != cause {
                self.tell(slot, from);
            }
            if let Some(warp) = &mut self.slots[slot] {
                warp.told.1 = cause;
            }
        }
    }

    /// Reports the stall that ends at `to`, if there is one, to the observer.
    pub(super) fn tell(&mut self, slot: usize, to: u64) {
        let sub_core = self.core_of(slot) as u32;
        let Some(warp) = &mut self.slots[slot] else { return };
        let (from, cause) = warp.told;
        warp.told.0 = to;
        if from < to {
            self.observer.stall(&Stall { from, to, sub_core, warp: warp.id, pc: warp.pc, cause });
        }
    }

    /// Issues the next instruction of a warp.
    fn issue(&mut self, core: usize, slot: usize, now: u64) -> Result<(), SimError> {
        if O::LISTENS {
            self.tell(slot, now);
        }
        let Some(warp) = &mut self.slots[slot] else { return Ok(()) };
        let (id, cta, group, pc) = (warp.id, warp.cta, warp.group, warp.pc);
        let sm = self.sm_of(slot);
        let index = id.warp as usize;
        let lanes = self.grid.ctas[cta].warps[index].control.groups[group].lanes;
        let code = self.setup.code;
        let Some(node) = code.get(pc as usize) else {
            // The program counter is past the end: the engine reports it.
            self.grid.execute(cta, index, group, now, None)?;
            return Ok(());
        };
        let timing = node.demand.pipe();
        let leaves = self.cores[core].front.issue(
            slot as u32,
            &node.demand,
            now,
            if timing.shared { self.sms[sm].port } else { 0 },
        );
        self.log.accesses.clear();
        let log = node.touches_memory.then_some(&mut self.log);
        let changes = self.grid.mbarrier_changes;
        let executed = self.grid.execute(cta, index, group, now, log)?;
        if self.grid.steps > self.setup.options.step_limit {
            let waiting = self.grid.waiting();
            return Err(SimError::StepLimit { limit: self.setup.options.step_limit, waiting });
        }

        // An instruction that issued then and met no queue would be where this one is now.
        let issued = leaves - u64::from(timing.delay).min(leaves - now);
        let read = issued + node.read;
        let flight = Flight { id, sm, pc, now, issued, leaves, read };
        let done = self.complete(node, flight);
        self.date_copies(cta, flight, done);
        if node.kind == Kind::ClusterArrive {
            self.arrive_at_cluster(cta, index, lanes, now);
        }

        let Some(warp) = &mut self.slots[slot] else { return Ok(()) };
        warp.issued += 1;
        warp.issued_at = now;
        warp.accounted = now + 1;
        warp.told.0 = now + 1;
        warp.stalled = now + u64::from(node.demand.stall);
        if let Some(scoreboard) = node.write_barrier {
            warp.take(scoreboard, now, done);
        }
        if node.touches_memory {
            warp.outstanding = warp.outstanding.max(done);
        }
        let mut read_done = read;
        let params = self.setup.params;
        let fence = match node.kind {
            Kind::FenceCta => Some(params.fence_cta),
            Kind::FenceGpu => Some(params.fence_gpu),
            _ => None,
        };
        if let Some(latency) = fence {
            let until = warp.outstanding.max(now) + self.setup.draw.pick(latency);
            warp.blocked = (until, Cause::Fence);
            read_done = read_done.max(until);
        }
        match node.kind {
            Kind::Product { cycles, ends_group } => warp.start_product(leaves + cycles, ends_group),
            Kind::Products(left) => warp.blocked = (warp.end_of_products(left).max(now), Cause::Scoreboard),
            Kind::Sleep(cycles) => {
                let cycles = cycles.map(u64::from).unwrap_or_else(|| self.setup.draw.pick(params.sleep));
                warp.blocked = (now + cycles, Cause::Sleep);
            }
            Kind::ClusterWait if executed.outcome == Outcome::Next => {
                warp.blocked = (self.ctas[cta].together, Cause::Cluster);
            }
            Kind::Doze => {
                let cycles = self.setup.draw.pick(params.barrier_release).max(1);
                warp.blocked = (now + cycles, Cause::Sleep);
            }
            Kind::Invalidate => self.memory.invalidate_l1(sm),
            _ => {}
        }
        if executed.copies_done > now {
            warp.blocked = (executed.copies_done, Cause::Scoreboard);
        }
        if let Some(scoreboard) = node.read_barrier {
            warp.take(scoreboard, now, read_done);
        }
        let counts = &mut self.insts[pc as usize];
        counts.issued += 1;
        counts.lanes += u64::from(lanes.count_ones());
        counts.threads += u64::from(executed.lanes.count_ones());
        self.cores[core].timing.issued += 1;
        if O::LISTENS {
            let announced = node.write_barrier.is_some().then_some(done);
            let issue = Issue {
                cycle: now,
                sub_core: core as u32,
                warp: id,
                pc,
                lanes: executed.lanes,
                done: announced,
            };
            self.observer.issue(&issue);
        }
        self.proceed(slot, lanes, node, executed, now);
        // The CTA may have ended, but then no other thread of its cluster waits for it here.
        if self.grid.mbarrier_changes != changes && cta < self.ctas.len() {
            self.release_cluster(cta, now);
        }
        Ok(())
    }

    /// The time of the result of an instruction; reserves the port for its data.
    fn complete(&mut self, node: &Node, flight: Flight) -> u64 {
        let Flight { id, sm, pc, now, issued, leaves, read } = flight;
        let ticket = Ticket { sm, issued, at: leaves };
        let draw = &mut self.setup.draw;
        let mut port = self.memory.least_port();
        let mut done = read;
        if !self.log.accesses.is_empty() {
            let warps = self.setup.shape.threads().div_ceil(LANES as u32);
            let number = u64::from(id.cta) * u64::from(warps) + u64::from(id.warp);
            let local = LOCAL_BASE + number * u64::from(self.setup.shape.local_bytes) * LANES as u64;
            port = 0;
            for access in &self.log.accesses {
                let answer = self.memory.serve(ticket, access, node.policy, local, draw);
                done = done.max(answer.done + port);
                port += answer.port;
            }
            if O::LISTENS {
                self.observer.memory(&MemoryEvent { issued: now, sent: leaves, done, warp: id, pc });
            }
        } else if node.write_barrier.is_some() {
            done = done.max(issued + draw.pick(node.latency));
        }
        if node.demand.pipe().shared {
            self.sms[sm].port = leaves + port;
        }
        done
    }

    /// Determines when a phase of the barrier of the cluster ends for all CTAs, if lanes that have arrived were
    /// the last ones.
    fn arrive_at_cluster(&mut self, cta: usize, warp: usize, lanes: u32, now: u64) {
        if self.grid.ctas[cta].warps[warp].control.cluster.passed & lanes != 0 {
            let together = now + self.setup.draw.pick(self.setup.params.cluster_release);
            for cta in self.grid.cluster_of(cta) {
                self.ctas[cta].together = together;
            }
        }
    }

    /// Determines when the asynchronous copies are done that an instruction has just requested; its own
    /// accesses are done at `done`.
    fn date_copies(&mut self, cta: usize, flight: Flight, done: u64) {
        let Machine { grid, memory, setup, events, .. } = self;
        let copies = grid.copies(cta);
        let mut last = None;
        for index in copies.undated() {
            let request = &copies.requests[index];
            let due = match request.effect {
                Effect::Arrive(_) | Effect::Complete(_) => {
                    copies.elements_due(request.thread).max(flight.now)
                }
                _ if request.kind == copies::Kind::Element => done,
                _ => super::copies::due(&request.effect, flight, memory, setup),
            };
            copies.requests[index].due = Some(due);
            if copies.requests[index].effect.tells() && last != Some(due) {
                events.push(Reverse(due));
                last = Some(due);
            }
        }
    }

    /// Determines how a warp continues after an instruction, and releases the warps that waited for
    /// it.
    fn proceed(&mut self, slot: usize, lanes: u32, node: &Node, executed: Executed, now: u64) {
        let Some(warp) = &mut self.slots[slot] else { return };
        let (cta, index) = (warp.cta, warp.id.warp as usize);
        let control = &self.grid.ctas[cta].warps[index].control;
        if control.live == 0 {
            // The others of its cluster may have waited for it at a barrier.
            self.release_cluster(cta, now);
            return self.finish(slot);
        }
        let mut resumes = now + 1;
        let mut cause = Cause::Dependence;
        match executed.group {
            Some(group) if control.groups.len() == 1 => {
                warp.group = group;
                warp.pc += 1;
            }
            next => {
                warp.turn += 1;
                // YIELD also lets another path continue.
                let yields = executed.outcome == Outcome::Next && next.is_none();
                let rotate = yields || warp.turn > self.setup.params.divergence_turn;
                let path = if rotate { None } else { next };
                if rotate {
                    warp.turn = 0;
                }
                match path.or_else(|| choose_path(control, lanes, rotate)) {
                    Some(group) => {
                        warp.group = group;
                        warp.pc = control.groups[group].pc;
                        let waited = executed.outcome == Outcome::Waited;
                        let met = waited && control.groups[group].lanes != lanes;
                        let latency = match node.kind {
                            Kind::Barrier if waited => {
                                Some((self.setup.params.barrier_release, Cause::Barrier))
                            }
                            _ if met => Some((self.setup.params.converge_release, Cause::Convergence)),
                            _ => None,
                        };
                        if let Some((latency, why)) = latency {
                            resumes = now + self.setup.draw.pick(latency);
                            cause = why;
                        }
                    }
                    None => {
                        warp.ready = NEVER;
                        warp.hold = waits_for(control);
                    }
                }
            }
        }
        if warp.ready != NEVER {
            self.charge(slot, now + 1, resumes, cause);
            self.settle(slot, resumes.max(now + 1));
        }
        let may_release = matches!(node.kind, Kind::Barrier | Kind::ClusterArrive);
        if may_release || matches!(executed.outcome, Outcome::Waited | Outcome::Exited) {
            self.release_cluster(cta, now);
        }
    }

    /// Computes when a warp is ready that waits for no other warp from cycle `from` on, and
    /// accounts for the time until then.
    pub(super) fn settle(&mut self, slot: usize, from: u64) {
        let (core, sm) = (self.core_of(slot), self.sm_of(slot));
        let of_sm = core % self.sub_cores();
        let Some(warp) = &mut self.slots[slot] else { return };
        let mut spans = [(0, Cause::Dependence); 5];
        let (stalled, blocked) = (warp.stalled, warp.blocked);
        let mut ready = from.max(stalled);
        spans[0] = (stalled, Cause::Dependence);
        spans[1] = blocked;
        ready = ready.max(blocked.0);
        if let Some(node) = self.setup.code.get(warp.pc as usize) {
            if node.waits != 0 {
                let free = warp.scoreboards_free(node.waits, ready);
                spans[2] = (free, Cause::Scoreboard);
                ready = ready.max(free);
            }
            let line = u64::from(warp.pc / self.sms[sm].fetch.line_insts());
            if warp.line != Some(line) {
                let at = from.min(warp.issued_at + 1);
                let there = self.sms[sm].fetch.fetch(of_sm, warp.line, line, at, &mut self.setup.draw);
                spans[3] = (there, Cause::Fetch);
                ready = ready.max(there);
                warp.line = Some(line);
            }
            if let Some(constant) = node.constant
                && self.cores[core].constants.insert(constant)
            {
                ready += self.setup.draw.pick(self.setup.params.constant_miss);
                spans[4] = (ready, Cause::Constant);
            }
        }
        warp.ready = ready;
        warp.hold = Cause::NotSelected;
        let mut cursor = from;
        for (until, cause) in spans {
            self.charge(slot, cursor, until, cause);
            cursor = cursor.max(until);
        }
        let next = &mut self.cores[core].next;
        *next = (*next).min(ready);
    }
}
