//! Decides where each virtual general register is in a register and where it is in memory.
//!
//! In: a function with more live general registers than there are. Out: the [`Residence`]: the
//! virtual registers that are in registers at the start and the end of each block, and the reloads
//! before instructions.
//!
//! ```text
//! 3 registers     mb0: %r0 … %r3 = …        %r1 is evicted: its next use is after the loop
//!                 mb1: … reads %r0 %r2 %r3  start: %r0 %r2 %r3
//!                 mb2: … reads %r1          before instruction 0: %r1
//! ```
//!
//! This is Braun and Hack's algorithm ("Register spilling and live-range splitting for SSA-form
//! programs", CC 2009): Belady's rule (evict the value that is needed last) from instruction to
//! instruction, with distances that reach across blocks. A block begins with the values that its
//! predecessors end with, if they agree. A loop begins with the values that it reads first, so that
//! reloads are before the loop instead of in it, and with values that only pass through if there is
//! room all the way. Values whose definition can be repeated are evicted earlier than others, since
//! they need no memory. Registers that the allocator made for an instruction are not evicted. A
//! tuple that is defined piece by piece is not evicted until it is complete; if that takes too many
//! registers, the caller falls back to [`pressure::choose`](super::pressure::choose).
//!
//! Cost: linear in the function and its liveness sets, plus the number of registers for each
//! eviction.

use cranelift_entity::{EntityRef, SecondaryMap};
use ptxc_sass::RegFile;
use smallvec::SmallVec;

use super::live::LiveRanges;
use super::next_use::{LEAVING, NEVER, NextUses, Start};
use super::pressure::{Plan, Spilled, plans};
use super::work::{self, Operand, Work};
use crate::mir::{Cfg, Edge, EdgeArg, MBlockId, VReg};

/// A virtual register that is reloaded, with its components that are live then.
pub(super) type Reload = (u32, SmallVec<[u8; 4]>);

/// The places of values.
pub(super) struct Residence {
    /// Virtual registers in registers at the start of each block, parameters included, ascending.
    pub entry: SecondaryMap<MBlockId, Vec<u32>>,
    /// Virtual registers in registers at the end of each block, ascending.
    pub exit: SecondaryMap<MBlockId, Vec<u32>>,
    /// The reloads before instructions of a block, in the order of the instructions.
    pub reloads: SecondaryMap<MBlockId, Vec<(u32, Reload)>>,
    /// The reloads on the edges of a block, except those of parameters: the number of the edge and
    /// the virtual register, ascending.
    pub missing: SecondaryMap<MBlockId, Vec<(u32, u32)>>,
    /// How each virtual register may be brought back.
    pub plans: Spilled,
}

/// Why the limit cannot be kept.
#[derive(Debug)]
pub(super) enum Obstacle {
    /// Some point needs more registers.
    TooTight,
    /// A value goes to memory, but there is no stack pointer yet.
    NoStack,
}

struct Resident<'a> {
    work: &'a Work<'a>,
    live: &'a LiveRanges<'a>,
    uses: &'a NextUses,
    limit: u32,
    /// Whether to give up when a value is reloaded from memory.
    stops_at_stores: bool,
    plans: Spilled,
    /// Components that are yet to be defined, by virtual register.
    undefined: Vec<u32>,
    /// Whether a component is live here and in a register.
    alive: Vec<bool>,
    /// The number of such components by virtual register.
    count: Vec<u32>,
    /// The virtual registers in registers here, in no particular order; some may have died.
    list: Vec<u32>,
    inside: Vec<bool>,
    /// The number of registers that they take.
    pressure: u32,
    /// By virtual register in registers, its next read in the present block.
    next: Vec<u32>,
    /// By virtual register, the number of predecessors of the present block that have it in
    /// registers at their end.
    handed: Vec<u32>,
}

/// Decides the places of values for `limit` registers; with `stops_at_stores` only as long as no
/// value has to be in memory.
pub(super) fn reside(
    work: &Work<'_>,
    live: &LiveRanges<'_>,
    cfg: &Cfg,
    uses: &NextUses,
    limit: u32,
    stops_at_stores: bool,
) -> Result<Residence, Obstacle> {
    let count = work.mir.vregs.len();
    let mut undefined: Vec<u32> = work.mir.vregs.values().map(|data| u32::from(data.width)).collect();
    for component in 0..live.ranges.len() {
        // A component that is never live need not be defined either.
        if live.ranges[component].is_empty() {
            undefined[live.owner(component as u32)] -= 1;
        }
    }
    let mut resident = Resident {
        work,
        live,
        uses,
        limit,
        stops_at_stores,
        plans: plans(work, live, RegFile::Gpr),
        undefined,
        alive: vec![false; live.ranges.len()],
        count: vec![0; count],
        list: Vec::new(),
        inside: vec![false; count],
        pressure: 0,
        next: vec![NEVER; count],
        handed: vec![0; count],
    };
    let mut residence = Residence {
        entry: SecondaryMap::new(),
        exit: SecondaryMap::new(),
        reloads: SecondaryMap::new(),
        missing: SecondaryMap::new(),
        plans: Spilled::new(),
    };
    for &block in cfg.order() {
        resident.block(block, cfg, &mut residence)?;
        if stops_at_stores && resident.stores_around(block, cfg, &residence) {
            return Err(Obstacle::NoStack);
        }
    }
    residence.plans = resident.plans;
    for &block in cfg.order() {
        for (number, edge) in (0..).zip(work.mir.blocks[block].term.edges()) {
            let missing = residence.missing_on(work, block, edge.block);
            residence.missing[block].extend(missing.into_iter().map(|vreg| (number, vreg)));
            let mut args = residence.missing_args(work, block, edge).into_iter();
            if stops_at_stores && args.any(|vreg| residence.plans[vreg as usize] == Some(Plan::Store)) {
                return Err(Obstacle::NoStack);
            }
        }
    }
    Ok(residence)
}

impl Residence {
    /// The virtual registers, except parameters, that are in registers at the start of `target`,
    /// but not at the end of `block`.
    fn missing_on(&self, work: &Work<'_>, block: MBlockId, target: MBlockId) -> SmallVec<[u32; 8]> {
        let params = &work.mir.blocks[target].params;
        let mut exit = self.exit[block].iter().peekable();
        let mut missing = SmallVec::new();
        for &vreg in &self.entry[target] {
            while exit.next_if(|&&other| other < vreg).is_some() {}
            if exit.peek() != Some(&&vreg) && !params.iter().any(|param| param.reg.id().as_u32() == vreg) {
                missing.push(vreg);
            }
        }
        missing
    }

    /// The arguments that must be reloaded on an edge: those of parameters in registers.
    pub fn missing_args(&self, work: &Work<'_>, block: MBlockId, edge: &Edge<VReg>) -> SmallVec<[u32; 8]> {
        let (exit, entry) = (&self.exit[block], &self.entry[edge.block]);
        let mut missing = SmallVec::new();
        for (param, arg) in work.mir.blocks[edge.block].params.iter().zip(&edge.args) {
            if let EdgeArg::Reg(arg) = arg
                && exit.binary_search(&arg.id().as_u32()).is_err()
                && entry.binary_search(&param.reg.id().as_u32()).is_ok()
            {
                missing.push(arg.id().as_u32());
            }
        }
        missing
    }
}

impl Resident<'_> {
    fn block(&mut self, block: MBlockId, cfg: &Cfg, residence: &mut Residence) -> Result<(), Obstacle> {
        let (work, live) = (self.work, self.live);
        let data = &work.mir.blocks[block];
        let entry_point = live.points.entry(block);
        for param in data.params.iter().filter(|param| param.reg.file() == RegFile::Gpr) {
            self.undefined[param.reg.id().index()] = 0;
        }
        let after = self.next_uses(block);
        let mut entry = self.entry(block, cfg, residence);
        // A stable sort merges lists that are sorted already, here and at the end.
        entry.sort_by_key(|start| start.vreg);
        for start in &entry {
            self.next[start.vreg as usize] = start.far;
            self.revive(start.vreg, entry_point);
            self.take(start.vreg);
        }
        if self.pressure > self.limit {
            return Err(Obstacle::TooTight);
        }
        residence.entry[block] = entry.into_iter().map(|start| start.vreg).collect();
        for param in &data.params {
            self.end(&[(param.reg, param.width)], entry_point + 1);
        }

        for (index, inst) in data.insts.iter().enumerate() {
            ptxc_interrupt::poll();
            let ours = |list: SmallVec<[Operand; 8]>| -> SmallVec<[Operand; 8]> {
                list.into_iter()
                    .filter(|(reg, _)| reg.file() == RegFile::Gpr && Some(reg.id()) != work.frame_id())
                    .collect()
            };
            let uses = ours(work::uses(inst));
            let defs = ours(work::defs(inst).into_iter().collect());
            for (reg, _) in &uses {
                let vreg = reg.id().as_u32();
                if !self.inside[vreg as usize] {
                    match self.plans[vreg as usize].filter(|_| self.undefined[vreg as usize] == 0) {
                        None => return Err(Obstacle::TooTight),
                        Some(Plan::Store) if self.stops_at_stores => return Err(Obstacle::NoStack),
                        Some(_) => {}
                    }
                    self.revive(vreg, live.points.early(block, index));
                    residence.reloads[block].push((index as u32, (vreg, self.live_components(vreg))));
                    self.take(vreg);
                }
            }
            self.fit(&uses, index as u32)?;
            let late = live.points.late(block, index);
            self.end(&uses, late);
            for &(vreg, next) in &after[index] {
                self.next[vreg as usize] = next;
            }
            for &(reg, width) in &defs {
                let vreg = reg.id().index();
                // The rest of a tuple cannot be in memory.
                let defined = live.of((reg, width));
                let mut rest = live.all(vreg).filter(|component| !defined.contains(component));
                if !self.inside[vreg] && rest.any(|component| live.covers(component, late)) {
                    return Err(Obstacle::TooTight);
                }
                self.take(vreg as u32);
                for component in live.of((reg, width)) {
                    self.undefined[vreg] = self.undefined[vreg]
                        .saturating_sub(u32::from(!live.ranges[component as usize].is_empty()));
                    if !std::mem::replace(&mut self.alive[component as usize], true) {
                        self.count[vreg] += 1;
                        self.pressure += 1;
                    }
                }
            }
            self.fit(&defs, index as u32 + 1)?;
            self.end(&defs, late + 1);
        }

        let mut exit = std::mem::take(&mut self.list);
        exit.retain(|&vreg| self.inside[vreg as usize]);
        exit.sort();
        // A register that was evicted and reloaded is in the list twice.
        exit.dedup();
        exit.retain(|&vreg| {
            self.inside[vreg as usize] = false;
            let is_live = self.count[vreg as usize] > 0;
            self.forget(vreg);
            is_live
        });
        residence.exit[block] = exit;
        self.pressure = 0;
        Ok(())
    }

    /// Whether a value is in memory because of a block: a parameter, or a value that is reloaded on
    /// an edge to or from a block that has been visited.
    fn stores_around(&self, block: MBlockId, cfg: &Cfg, residence: &Residence) -> bool {
        let data = &self.work.mir.blocks[block];
        let is_done = |other: &MBlockId| cfg.rank(*other) <= cfg.rank(block);
        let stores = |from: MBlockId, to: MBlockId| {
            let missing = residence.missing_on(self.work, from, to);
            missing.into_iter().any(|vreg| self.plans[vreg as usize] == Some(Plan::Store))
        };
        let entry = &residence.entry[block];
        let is_evicted = |reg: VReg| entry.binary_search(&reg.id().as_u32()).is_err();
        data.params.iter().any(|param| param.reg.file() == RegFile::Gpr && is_evicted(param.reg))
            || data.term.edges().iter().map(|edge| edge.block).filter(is_done).any(|to| stores(block, to))
            || cfg.preds(block).iter().copied().filter(is_done).any(|from| stores(from, block))
    }

    /// For each operand of each instruction of a block, its next read after that instruction.
    fn next_uses(&mut self, block: MBlockId) -> Vec<SmallVec<[(u32, u32); 4]>> {
        let insts = &self.work.mir.blocks[block].insts;
        let length = insts.len() as u32;
        let is_general = |(reg, _): &Operand| reg.file() == RegFile::Gpr;
        let mut named: Vec<(u32, u32)> = Vec::new();
        for inst in insts {
            ptxc_interrupt::poll();
            let operands = work::uses(inst).into_iter().chain(work::defs(inst)).filter(is_general);
            named.extend(operands.map(|(reg, _)| (reg.id().as_u32(), NEVER)));
        }
        named.sort_unstable();
        named.dedup();
        self.uses.find_at_end(self.work, block, &mut named);
        for (vreg, far) in named {
            self.next[vreg as usize] = far.saturating_add(length);
        }
        let mut after = Vec::with_capacity(insts.len());
        for (index, inst) in insts.iter().enumerate().rev() {
            ptxc_interrupt::poll();
            let operands = work::uses(inst).into_iter().chain(work::defs(inst)).filter(is_general);
            after.push(operands.map(|(reg, _)| (reg.id().as_u32(), self.next[reg.id().index()])).collect());
            for (reg, _) in work::uses(inst).into_iter().filter(is_general) {
                self.next[reg.id().index()] = index as u32;
            }
        }
        after.reverse();
        after
    }

    /// Records the live components of a virtual register that gets into registers.
    fn revive(&mut self, vreg: u32, point: u32) {
        for component in self.live.all(vreg as usize) {
            let is_live = self.live.covers(component, point);
            self.alive[component as usize] = is_live;
            self.count[vreg as usize] += u32::from(is_live);
        }
    }

    /// The opposite, for a virtual register that is no longer in registers.
    fn forget(&mut self, vreg: u32) {
        self.count[vreg as usize] = 0;
        for component in self.live.all(vreg as usize) {
            self.alive[component as usize] = false;
        }
    }

    fn live_components(&self, vreg: u32) -> SmallVec<[u8; 4]> {
        let all = self.live.all(vreg as usize).enumerate();
        all.filter(|&(_, component)| self.alive[component as usize]).map(|(n, _)| n as u8).collect()
    }

    /// Puts a virtual register into registers.
    fn take(&mut self, vreg: u32) {
        if !std::mem::replace(&mut self.inside[vreg as usize], true) {
            self.list.push(vreg);
            self.pressure += self.count[vreg as usize];
        }
    }

    /// Ends the components of operands that nothing reads after a point.
    fn end(&mut self, operands: &[Operand], point: u32) {
        for component in operands.iter().flat_map(|&operand| self.live.of(operand)) {
            let vreg = self.live.owner(component);
            if self.alive[component as usize] && self.live.ends_by(component, point) {
                self.alive[component as usize] = false;
                self.count[vreg] -= 1;
                self.pressure -= u32::from(self.inside[vreg]);
            }
        }
    }

    /// Evicts values, except those in `keep`, until the limit is kept.
    fn fit(&mut self, keep: &[Operand], now: u32) -> Result<(), Obstacle> {
        if self.pressure <= self.limit {
            return Ok(());
        }
        let mut list = std::mem::take(&mut self.list);
        list.retain(|&vreg| {
            self.inside[vreg as usize] && self.count[vreg as usize] > 0 || {
                self.inside[vreg as usize] = false;
                false
            }
        });
        self.list = list;
        while self.pressure > self.limit {
            let may_go = |&vreg: &u32| {
                self.inside[vreg as usize]
                    && self.undefined[vreg as usize] == 0
                    && !keep.iter().any(|(reg, _)| reg.id().as_u32() == vreg)
            };
            // Among equals the lowest number, so that the order of the list does not matter.
            let candidates = self.list.iter().copied().filter(may_go);
            let far = |vreg: u32| self.next[vreg as usize].saturating_sub(now);
            let worth = |vreg: u32| match self.plans[vreg as usize] {
                None => None,
                Some(Plan::Remat(..)) => Some(u64::from(far(vreg)) * 4),
                Some(Plan::Store) => Some(u64::from(far(vreg))),
            };
            let victim = candidates.filter_map(|vreg| Some((worth(vreg)?, std::cmp::Reverse(vreg)))).max();
            let Some((_, std::cmp::Reverse(victim))) = victim else { return Err(Obstacle::TooTight) };
            self.inside[victim as usize] = false;
            self.pressure -= self.count[victim as usize];
            self.forget(victim);
        }
        Ok(())
    }

    /// The values in registers at the start of a block, out of those that are live there.
    fn entry(&mut self, block: MBlockId, cfg: &Cfg, residence: &Residence) -> Vec<Start> {
        let mut limit = self.limit;
        let start = &self.uses.at_start[block];
        if block == self.work.mir.entry() || cfg.preds(block).is_empty() {
            return start.clone();
        }
        let all: u32 = start.iter().map(|start| start.width).sum();
        if all > limit && !self.work.mir.blocks[block].params.is_empty() {
            // Copies between slots take a register, a cycle of them another one.
            limit = limit.saturating_sub(2);
        }
        let done: SmallVec<[MBlockId; 4]> = cfg
            .preds(block)
            .iter()
            .copied()
            .filter(|&pred| cfg.rank(pred).is_some_and(|rank| Some(rank) < cfg.rank(block)))
            .collect();
        self.count_handed(block, &done, residence);
        let is_loop = self.uses.is_header(block);
        let mut chosen = Vec::new();
        let mut candidates: Vec<(u32, Start)> = Vec::new();
        let mut through: Vec<(u32, Start)> = Vec::new();
        let mut room = limit;
        let mut passing = 0;
        for &start in start {
            let vreg = start.vreg as usize;
            if self.plans[vreg].is_none() || self.undefined[vreg] > 0 {
                chosen.push(start);
                room = room.saturating_sub(start.width);
                continue;
            }
            let present = self.handed[vreg] as usize;
            if is_loop && start.far >= LEAVING {
                passing += start.width;
                if present == done.len() {
                    through.push((0, start));
                }
            } else if is_loop || present > 0 {
                let missing = (done.len() - present) as u32;
                candidates.push((if is_loop { 0 } else { missing }, start));
            }
        }
        choose(candidates, &mut room, &mut chosen);
        // A value that only passes through stays if the loop has room for it all the way.
        let inner = self.uses.loop_pressure[block].saturating_sub(passing);
        let mut room = room.min(limit.saturating_sub(inner));
        choose(through, &mut room, &mut chosen);
        let params = self.work.mir.blocks[block].params.iter().map(|param| param.reg.id().as_u32());
        for vreg in done.iter().flat_map(|&pred| residence.exit[pred].iter().copied()).chain(params) {
            self.handed[vreg as usize] = 0;
        }
        chosen
    }

    /// Counts, for each virtual register at the start of a block, the predecessors that have it in
    /// a register: itself, or the argument if it is a parameter.
    fn count_handed(&mut self, block: MBlockId, preds: &[MBlockId], residence: &Residence) {
        for &pred in preds {
            for &vreg in &residence.exit[pred] {
                self.handed[vreg as usize] += 1;
            }
        }
        let mir = &self.work.mir;
        for (number, param) in mir.blocks[block].params.iter().enumerate() {
            let hands = |&&pred: &&MBlockId| {
                let mut edges = mir.blocks[pred].term.edges().into_iter().filter(|edge| edge.block == block);
                edges.all(|edge| match edge.args[number] {
                    EdgeArg::Reg(reg) => residence.exit[pred].binary_search(&reg.id().as_u32()).is_ok(),
                    EdgeArg::Imm(_) | EdgeArg::Undef => true,
                })
            };
            self.handed[param.reg.id().index()] = preds.iter().filter(hands).count() as u32;
        }
    }
}

/// Chooses the values that have room: those with the fewest reloads on edges first, then those that
/// are read first.
fn choose(mut candidates: Vec<(u32, Start)>, room: &mut u32, chosen: &mut Vec<Start>) {
    // If all have room, their order does not matter.
    if candidates.iter().map(|(_, start)| start.width).sum::<u32>() > *room {
        candidates.sort_unstable_by_key(|&(missing, start)| (missing, start.far, start.vreg));
    }
    for (_, start) in candidates {
        if start.width <= *room {
            *room -= start.width;
            chosen.push(start);
        }
    }
}
