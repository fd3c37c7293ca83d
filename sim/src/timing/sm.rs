//! One SM in time: CTAs start and end, sub-cores issue, warps wait.
//!
//! Each sub-core knows the next cycle in which it may issue; time jumps to the earliest of these
//! cycles. The end of a warp's wait is known as soon as its last instruction has issued, because
//! memory computes at once when it will be done. Only barriers depend on other warps, and they
//! release their warps explicitly. A sub-core scans its warps (at most 16) in its turn, so the cost
//! of an instruction does not depend on the length of waits.

use ptxc_sass::issue::{Front, Hold};
use rustc_hash::FxHashSet;

use super::code::{Kind, Node};
use super::fetch::Fetch;
use super::memory::MemorySystem;
use super::observe::{Issue, MemoryEvent, Observer, Stall, WarpId};
use super::params::{Draw, Params};
use super::report::{Residency, SubCoreTiming, WarpTiming};
use super::stalls::{Cause, Stalls};
use super::warp::{NEVER, Warp, choose_path, waits_for};
use crate::access::AccessLog;
use crate::engine::Engine;
use crate::error::SimError;
use crate::grid::{Executed, Grid, Outcome};
use crate::launch::{Options, Shape};
use crate::random::Random;
use crate::warp::LANES;

/// The start of local memory among addresses; global memory is far below.
const LOCAL_BASE: u64 = 1 << 56;

/// A sub-core.
#[derive(Debug)]
struct Core {
    front: Front,
    /// The slots of its warps, oldest first.
    members: Vec<usize>,
    /// The warp that issued last.
    last: usize,
    /// The next cycle in which it may issue.
    next: u64,
    /// The cached lines of constants for fixed-latency instructions.
    constants: FxHashSet<(u8, u32)>,
    /// The cycle since which it has had warps.
    active_since: u64,
    /// The end of the last of its warps that has ended.
    last_end: u64,
    timing: SubCoreTiming,
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

/// An instruction on its way through the SM.
#[derive(Clone, Copy, Debug)]
struct Flight {
    /// Its warp.
    id: WarpId,
    /// The instruction.
    pc: u32,
    /// The cycle of its issue.
    now: u64,
    /// The cycle in which it would have issued to be as far now without queues.
    issued: u64,
    /// The cycle when it leaves the sub-core.
    leaves: u64,
    /// The cycle when its operands have been read.
    read: u64,
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

/// One SM.
pub(super) struct Sm<'a, E: Engine, O> {
    grid: Grid<'a, E>,
    setup: Setup<'a>,
    random: Random,
    next_cta: u32,
    /// The slots of the warps of each resident CTA.
    ctas: Vec<Vec<usize>>,
    /// The end of the last warp that has ended so far, for each of them.
    cta_ends: Vec<u64>,
    slots: Vec<Option<Warp>>,
    cores: Vec<Core>,
    /// The cycle when the port of the SM accepts another request.
    port: u64,
    /// The memory.
    pub memory: MemorySystem,
    fetch: Fetch,
    log: AccessLog,
    observer: &'a mut O,
    /// The cycle after the last one.
    pub cycles: u64,
    /// The warps that have ended.
    pub warps: Vec<WarpTiming>,
    /// The instructions.
    pub insts: Vec<InstCounts>,
}

impl<'a, E: Engine, O: Observer> Sm<'a, E, O> {
    /// An SM without warps.
    pub fn new(grid: Grid<'a, E>, setup: Setup<'a>, observer: &'a mut O) -> Sm<'a, E, O> {
        let params = setup.params;
        let cores = (0..params.sub_cores).map(|_| Core {
            front: Front::default(),
            members: Vec::new(),
            last: usize::MAX,
            next: NEVER,
            constants: FxHashSet::default(),
            active_since: 0,
            last_end: 0,
            timing: SubCoreTiming::default(),
        });
        let shared = (setup.shape.shared_bytes + params.shared_reserved) * setup.residency.ctas;
        Sm {
            grid,
            random: Random::new(setup.options.seed),
            next_cta: 0,
            ctas: Vec::new(),
            cta_ends: Vec::new(),
            slots: (0..params.warps).map(|_| None).collect(),
            cores: cores.collect(),
            port: 0,
            memory: MemorySystem::new(params, shared),
            fetch: Fetch::new(params),
            log: AccessLog::default(),
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
        loop {
            let now = self.cores.iter().map(|core| core.next).min().unwrap_or(NEVER);
            if now == NEVER {
                break;
            }
            for core in 0..self.cores.len() {
                if self.cores[core].next <= now {
                    self.turn(core, now)?;
                }
            }
        }
        if !self.ctas.is_empty() {
            return Err(SimError::Deadlock(self.grid.waiting()));
        }
        Ok(self.grid.steps)
    }

    /// The sub-cores.
    pub fn sub_cores(&self) -> Vec<SubCoreTiming> {
        self.cores.iter().map(|core| core.timing).collect()
    }

    /// Starts the next CTA, if there is one.
    fn launch(&mut self, start: u64) {
        let cta = self.next_cta;
        if cta >= self.setup.shape.grid.iter().product() {
            return;
        }
        self.next_cta += 1;
        self.grid.start(cta, &mut self.random);
        let index = self.ctas.len();
        let mut slots = Vec::new();
        for warp in 0..self.setup.shape.threads().div_ceil(LANES as u32) {
            // The residency guarantees a slot for each warp.
            let Some(slot) = self.slots.iter().position(Option::is_none) else { break };
            let id = WarpId { cta, warp };
            self.slots[slot] = Some(Warp::new(id, index, start));
            slots.push(slot);
            let core = slot % self.cores.len();
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
        self.ctas.push(slots);
        self.cta_ends.push(start);
    }

    /// Gives a sub-core its turn: it issues for one of its ready warps, if there is one.
    fn turn(&mut self, core: usize, now: u64) -> Result<(), SimError> {
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
    fn charge(&mut self, slot: usize, from: u64, to: u64, cause: Cause) {
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
    fn tell(&mut self, slot: usize, to: u64) {
        let sub_core = (slot % self.cores.len()) as u32;
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
            if timing.shared { self.port } else { 0 },
        );
        self.log.accesses.clear();
        let log = node.touches_memory.then_some(&mut self.log);
        let executed = self.grid.execute(cta, index, group, now, log)?;
        if self.grid.steps > self.setup.options.step_limit {
            let waiting = self.grid.waiting();
            return Err(SimError::StepLimit { limit: self.setup.options.step_limit, waiting });
        }

        // An instruction that issued then and met no queue would be where this one is now.
        let issued = leaves - u64::from(timing.delay).min(leaves - now);
        let read = issued + node.read;
        let done = self.complete(node, Flight { id, pc, now, issued, leaves, read });

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
            Kind::Doze => {
                let cycles = self.setup.draw.pick(params.barrier_release).max(1);
                warp.blocked = (now + cycles, Cause::Sleep);
            }
            Kind::Invalidate => self.memory.invalidate_l1(),
            _ => {}
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
        Ok(())
    }

    /// The time of the result of an instruction; reserves the port for its data.
    fn complete(&mut self, node: &Node, flight: Flight) -> u64 {
        let Flight { id, pc, now, issued, leaves, read } = flight;
        let draw = &mut self.setup.draw;
        let mut port = self.memory.least_port();
        let mut done = read;
        if !self.log.accesses.is_empty() {
            let warps = self.setup.shape.threads().div_ceil(LANES as u32);
            let number = u64::from(id.cta) * u64::from(warps) + u64::from(id.warp);
            let local = LOCAL_BASE + number * u64::from(self.setup.shape.local_bytes) * LANES as u64;
            port = 0;
            for access in &self.log.accesses {
                let answer = self.memory.serve(access, node.policy, issued, leaves, local, draw);
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
            self.port = leaves + port;
        }
        done
    }

    /// Determines how a warp continues after an instruction, and releases the warps that waited for
    /// it.
    fn proceed(&mut self, slot: usize, lanes: u32, node: &Node, executed: Executed, now: u64) {
        let Some(warp) = &mut self.slots[slot] else { return };
        let (cta, index) = (warp.cta, warp.id.warp as usize);
        let control = &self.grid.ctas[cta].warps[index].control;
        if control.live == 0 {
            self.finish(slot);
            return self.release(cta, now);
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
        if node.kind == Kind::Barrier || matches!(executed.outcome, Outcome::Waited | Outcome::Exited) {
            self.release(cta, now);
        }
    }

    /// Releases the warps of a CTA that waited for others and need not wait any more.
    fn release(&mut self, cta: usize, now: u64) {
        for position in 0..self.ctas.get(cta).map_or(0, Vec::len) {
            let slot = self.ctas[cta][position];
            let Some(warp) = &mut self.slots[slot] else { continue };
            if warp.ready != NEVER {
                continue;
            }
            let control = &self.grid.ctas[cta].warps[warp.id.warp as usize].control;
            let Some(group) = choose_path(control, u32::MAX, false) else { continue };
            let (from, cause) = (warp.accounted, warp.hold);
            let latency = match cause {
                Cause::Barrier => self.setup.params.barrier_release,
                _ => self.setup.params.converge_release,
            };
            let resumes = (now + self.setup.draw.pick(latency)).max(now + 1);
            warp.group = group;
            warp.pc = control.groups[group].pc;
            self.charge(slot, from, resumes, cause);
            self.settle(slot, resumes);
        }
    }

    /// Computes when a warp is ready that waits for no other warp from cycle `from` on, and
    /// accounts for the time until then.
    fn settle(&mut self, slot: usize, from: u64) {
        let core = slot % self.cores.len();
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
            let line = u64::from(warp.pc / self.fetch.line_insts());
            if warp.line != Some(line) {
                let at = from.min(warp.issued_at + 1);
                let there = self.fetch.fetch(core, warp.line, line, at, &mut self.setup.draw);
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

    /// Ends a warp, and its CTA if it was the CTA's last warp: the next CTA takes its place.
    fn finish(&mut self, slot: usize) {
        let core = slot % self.cores.len();
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
        self.cta_ends[cta] = self.cta_ends[cta].max(end);
        self.ctas[cta].retain(|&other| other != slot);
        if self.ctas[cta].is_empty() {
            let end = self.cta_ends.swap_remove(cta);
            self.ctas.swap_remove(cta);
            self.grid.swap_remove(cta);
            for &moved in self.ctas.get(cta).into_iter().flatten() {
                if let Some(warp) = &mut self.slots[moved] {
                    warp.cta = cta;
                }
            }
            self.launch(end);
        }
    }
}
