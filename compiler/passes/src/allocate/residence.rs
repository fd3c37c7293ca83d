//! Decides where each general register is in a register and where in memory.
//!
//! In: a function with more live general registers than there are. Out: the [`Residence`]: what is in registers
//! at the start and the end of each block, and before which instructions something comes back.
//!
//! ```text
//! 3 registers     mb0: %r0 … %r3 = …        %r1 is evicted: its next use is behind the loop
//!                 mb1: … reads %r0 %r2 %r3  start: %r0 %r2 %r3
//!                 mb2: … reads %r1          before instruction 0: %r1
//! ```
//!
//! This is Braun and Hack's algorithm ("Register spilling and live-range splitting for SSA-form programs", CC
//! 2009): Belady's rule, evict what is needed last, from instruction to instruction, with distances that reach
//! across blocks. What a block begins with is what its predecessors end with where they agree; a loop begins with what
//! it reads first, so that reloads stand before it rather than in it, and with what only passes through if there is
//! room all the way. Values whose definition can be repeated are evicted earlier than others, since they need no
//! memory. Registers that the allocator made for an instruction stay. A tuple that is defined piece by piece
//! stays until it is complete; if that is too much the caller falls back to
//! [`pressure::choose`](super::pressure::choose).
//!
//! Cost: linear in the function and its liveness sets, and at an eviction the number of registers.

use cranelift_entity::{EntityRef, SecondaryMap};
use ptxc_sass::RegFile;
use smallvec::SmallVec;

use super::live::LiveRanges;
use super::next_use::{LEAVING, NEVER, NextUses};
use super::pressure::{Plan, Spilled, plans};
use super::work::{self, Operand, Work};
use crate::interrupt;
use crate::mir::{Cfg, EdgeArg, MBlockId};

/// A virtual register that comes back, with its components that are live then.
pub(super) type Reload = (u32, SmallVec<[u8; 4]>);

/// Where values are.
pub(super) struct Residence {
    /// Virtual registers in registers at the start of each block, parameters included, ascending.
    pub entry: SecondaryMap<MBlockId, Vec<u32>>,
    /// Those at the end, ascending.
    pub exit: SecondaryMap<MBlockId, Vec<u32>>,
    /// What comes back before an instruction of a block, in the order of the instructions.
    pub reloads: SecondaryMap<MBlockId, Vec<(u32, Reload)>>,
    /// What comes back on the edges of a block, parameters apart: the number of the edge and the virtual register, ascending.
    pub missing: SecondaryMap<MBlockId, Vec<(u32, u32)>>,
    /// How each may come back.
    pub plans: Spilled,
}

/// Why it cannot be done within the limit.
#[derive(Debug)]
pub(super) enum Obstacle {
    /// More is needed at some point.
    TooTight,
    /// Something goes to memory, for which there is no stack pointer yet.
    NoStack,
}

struct Resident<'a> {
    work: &'a Work<'a>,
    live: &'a LiveRanges<'a>,
    uses: &'a NextUses,
    limit: u32,
    /// Whether to give up where something comes back from memory.
    stops_at_stores: bool,
    plans: Spilled,
    /// Components that are yet to be defined, by virtual register.
    undefined: Vec<u32>,
    /// Whether a component is live here.
    alive: Vec<bool>,
    /// Live components by virtual register.
    count: Vec<u32>,
    /// The virtual registers in registers here, in no particular order; some may have died.
    list: Vec<u32>,
    inside: Vec<bool>,
    /// How many registers they take.
    pressure: u32,
    /// Where in the present block each is read next, by virtual register.
    next: Vec<u32>,
    /// By virtual register, how many blocks that lead to the present one have it in registers at their end.
    handed: Vec<u32>,
}

/// Finds out where to keep what, for so many registers; with `stops_at_stores` only as long as nothing has to be in memory.
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
        // What is never live need not be defined either.
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
    }
    residence.plans = resident.plans;
    for &block in cfg.order() {
        for (number, edge) in (0..).zip(work.mir.blocks[block].term.edges()) {
            let missing = residence.missing_on(work, block, edge.block);
            residence.missing[block].extend(missing.into_iter().map(|vreg| (number, vreg)));
        }
    }
    Ok(residence)
}

impl Residence {
    /// The virtual registers, parameters apart, that a block begins with and that one before it does not end with.
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
}

impl Resident<'_> {
    fn block(&mut self, block: MBlockId, cfg: &Cfg, residence: &mut Residence) -> Result<(), Obstacle> {
        let (work, live) = (self.work, self.live);
        let data = &work.mir.blocks[block];
        // What is live at the start.
        let mut touched: Vec<u32> =
            live.live_in(block).filter(|&component| self.is_ours(component)).collect();
        let params = data.params.iter().flat_map(|param| live.of((param.reg, param.width)));
        let entry_point = live.points.entry(block);
        touched.extend(params.filter(|&component| self.is_ours(component)));
        for &component in &touched {
            self.alive[component as usize] = true;
            self.count[live.owner(component)] += 1;
        }
        for param in data.params.iter().filter(|param| param.reg.file() == RegFile::Gpr) {
            self.undefined[param.reg.id().index()] = 0;
        }

        let mut entry = self.entry(block, cfg, residence);
        // A stable sort merges lists that are sorted already, here and at the end.
        entry.sort();
        for &vreg in &entry {
            self.take(vreg);
        }
        if self.pressure > self.limit {
            return Err(Obstacle::TooTight);
        }
        residence.entry[block] = entry;
        for param in &data.params {
            self.end(&[(param.reg, param.width)], entry_point + 1);
        }

        // Where each operand is read next, from behind.
        let length = data.insts.len() as u32;
        let next = &mut self.next;
        self.uses.for_each_at_end(work, block, |vreg, far| {
            let nearest = &mut next[vreg as usize];
            *nearest = far.saturating_add(length).min(*nearest);
        });
        let mut after: Vec<SmallVec<[(u32, u32); 4]>> = Vec::with_capacity(data.insts.len());
        for (index, inst) in data.insts.iter().enumerate().rev() {
            interrupt::poll();
            let operands: SmallVec<[Operand; 8]> = work::uses(inst)
                .into_iter()
                .chain(work::defs(inst))
                .filter(|(reg, _)| reg.file() == RegFile::Gpr)
                .collect();
            after.push(
                operands.iter().map(|(reg, _)| (reg.id().as_u32(), self.next[reg.id().index()])).collect(),
            );
            for (reg, _) in work::uses(inst).into_iter().filter(|(reg, _)| reg.file() == RegFile::Gpr) {
                self.next[reg.id().index()] = index as u32;
            }
        }
        after.reverse();

        for (index, inst) in data.insts.iter().enumerate() {
            interrupt::poll();
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
                if self.count[vreg] > 0 && !self.inside[vreg] {
                    return Err(Obstacle::TooTight);
                }
                self.take(vreg as u32);
                for component in live.of((reg, width)) {
                    self.undefined[vreg] = self.undefined[vreg]
                        .saturating_sub(u32::from(!live.ranges[component as usize].is_empty()));
                    if !std::mem::replace(&mut self.alive[component as usize], true) {
                        self.count[vreg] += 1;
                        self.pressure += 1;
                        touched.push(component);
                    }
                }
            }
            self.fit(&defs, index as u32 + 1)?;
            self.end(&defs, late + 1);
        }

        let mut exit: Vec<u32> =
            self.list.iter().copied().filter(|&vreg| self.inside[vreg as usize]).collect();
        exit.sort();
        // The list has a register twice that was evicted and came back.
        exit.dedup();
        for &vreg in &exit {
            self.inside[vreg as usize] = false;
        }
        exit.retain(|&vreg| self.count[vreg as usize] > 0);
        residence.exit[block] = exit;
        self.list.clear();
        self.pressure = 0;
        for component in touched {
            self.alive[component as usize] = false;
            self.count[live.owner(component)] = 0;
        }
        let next = &mut self.next;
        self.uses.for_each_at_end(work, block, |vreg, _| next[vreg as usize] = NEVER);
        self.uses.at_start[block].iter().for_each(|&(vreg, _)| next[vreg as usize] = NEVER);
        Ok(())
    }

    fn is_ours(&self, component: u32) -> bool {
        self.live.file(component) == RegFile::Gpr
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

    /// Ends the components of operands that nothing reads behind a point.
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

    /// Evicts until the limit is kept; not what is in `keep`.
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
        }
        Ok(())
    }

    /// What is in registers at the start of a block, of what is live there.
    fn entry(&mut self, block: MBlockId, cfg: &Cfg, residence: &Residence) -> Vec<u32> {
        let mut limit = self.limit;
        let start = &self.uses.at_start[block];
        if block == self.work.mir.entry() || cfg.preds(block).is_empty() {
            return start.iter().map(|&(vreg, _)| vreg).collect();
        }
        let all: u32 = start.iter().map(|&(vreg, _)| self.count[vreg as usize]).sum();
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
        let width = |vreg: u32| self.count[vreg as usize];
        let is_loop = self.uses.is_header(block);
        let mut chosen = Vec::new();
        let mut candidates: Vec<(u32, u32, u32)> = Vec::new();
        let mut through: Vec<(u32, u32)> = Vec::new();
        let mut room = limit;
        let mut passing = 0;
        for &(vreg, far) in start {
            if self.plans[vreg as usize].is_none() || self.undefined[vreg as usize] > 0 {
                chosen.push(vreg);
                room = room.saturating_sub(width(vreg));
                continue;
            }
            let present = self.handed[vreg as usize] as usize;
            if is_loop && far >= LEAVING {
                passing += width(vreg);
                if present == done.len() {
                    through.push((far, vreg));
                }
            } else if is_loop || present > 0 {
                let missing = (done.len() - present) as u32;
                candidates.push((if is_loop { 0 } else { missing }, far, vreg));
            }
        }
        // Where all have room, their order does not matter.
        if candidates.iter().map(|&(_, _, vreg)| width(vreg)).sum::<u32>() > room {
            candidates.sort_unstable();
        }
        for (_, _, vreg) in candidates {
            if width(vreg) <= room {
                room -= width(vreg);
                chosen.push(vreg);
            }
        }
        // What only passes through stays if the loop has room for it all the way.
        let inner = self.uses.loop_pressure[block].saturating_sub(passing);
        let mut room = room.min(limit.saturating_sub(inner));
        if through.iter().map(|&(_, vreg)| width(vreg)).sum::<u32>() > room {
            through.sort_unstable();
        }
        for (_, vreg) in through {
            if width(vreg) <= room {
                room -= width(vreg);
                chosen.push(vreg);
            }
        }
        let params = self.work.mir.blocks[block].params.iter().map(|param| param.reg.id().as_u32());
        for vreg in done.iter().flat_map(|&pred| residence.exit[pred].iter().copied()).chain(params) {
            self.handed[vreg as usize] = 0;
        }
        chosen
    }

    /// Counts the blocks that have in a register what a virtual register is at the start of the block they lead to:
    /// itself, or the argument of the parameter that it is.
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
