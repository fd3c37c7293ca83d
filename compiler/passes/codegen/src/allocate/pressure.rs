//! Chooses what to spill so that no point needs more registers of a file than there are.
//!
//! In: a function, its liveness, a file and a number of registers. Out: the virtual registers to
//! spill.
//!
//! Choosing comes before assigning, as in Hack's and Braun's allocators: in SSA form the number of
//! live components is all that assigning scalars needs. Blocks are visited the hottest first. Along
//! a block the set of live values is kept in the order of their cost for each point that they would
//! set free: the frequency of their reloads and stores over the length of their live range
//! (Chaitin's measure; Belady's furthest next use appears in it as length). Where too many are
//! live, the cheapest value that the instruction itself does not access is spilled everywhere
//! ("spill everywhere", Bouchez, Darte and Rastello, "On the complexity of spill everywhere under
//! SSA form", LCTES 2007): each use then has a reload of its own. The pressure of those short
//! ranges is counted along the way, so one sweep almost always suffices; sweeps repeat until
//! nothing more is chosen. The cost of a sweep is linear in the function and its liveness sets,
//! with a logarithmic factor where values are chosen.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use cranelift_entity::EntityRef;
use ptxc_ir::SourceLoc;
use ptxc_sass::{Op, OperandKind, RegFile, SpecialReg};
use smallvec::SmallVec;

use super::AllocError;
use super::live::{LiveRanges, exit_uses};
use super::work::{self, Operand, Work};
use crate::mir::{Edge, EdgeArg, MBlockId, MInst, VReg, VRegId};

/// How a virtual register that loses its register is brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// It is stored after its definition and loaded before each use.
    Store,
    /// The instruction that defines it, in that block at that index, is repeated before each use.
    Remat(MBlockId, u32),
}

/// By virtual register, how it is spilled, if it is.
pub(super) type Spilled = Vec<Option<Plan>>;

/// Whether an instruction may run again anywhere and give the same value: it reads no register, and
/// nothing that changes.
pub(super) fn is_rematerialisable(inst: &MInst<VReg>) -> bool {
    let row = inst.inst.row();
    let steady = |kind: &OperandKind<VReg>| !matches!(kind, OperandKind::Special(sr) if sr.is_clock() || *sr == SpecialReg::WarpId);
    inst.inst.guard.is_none()
        && inst.call.is_none()
        && row.effects.is_none()
        && inst.inst.op != Op::NOP
        && inst.inst.operands.iter().all(|operand| steady(&operand.kind))
        && work::uses(inst).is_empty()
}

/// Whether no value of a file may be in a register that a call destroys. General registers are
/// saved around the call instead.
pub(super) fn destroys_for_good(file: RegFile) -> bool {
    file != RegFile::Gpr
}

/// Chooses the values of a file to spill so that at most `limit` registers are needed, or
/// `with_stack` if anything goes to memory. The `forced` values are spilled in any case.
pub(super) fn choose(
    work: &Work<'_>,
    live: &LiveRanges<'_>,
    file: RegFile,
    limit: u32,
    with_stack: u32,
    forced: &BTreeSet<VRegId>,
) -> Result<Spilled, AllocError> {
    let mut chooser = Chooser::new(work, live, file, limit);
    let mut order = work.mir.layout.clone();
    order.sort_by_key(|&block| Reverse(work.mir.blocks[block].frequency));
    if with_stack < limit && !chooser.choose(&order, forced, true)? {
        chooser.limit = with_stack;
    } else if with_stack < limit {
        return Ok(chooser.spilled);
    }
    chooser.choose(&order, forced, false)?;
    Ok(chooser.spilled)
}

/// The plans for the virtual registers of a file: those that have a plan may be spilled.
///
/// A uniform register that is rematerialized in a divergent region is taken as long as the region
/// lasts, so rematerializing would free nothing. There, a spilled value is read from general
/// registers, or brought back by `R2UR`.
pub(super) fn plans(work: &Work<'_>, live: &LiveRanges<'_>, file: RegFile) -> Spilled {
    let mut plans = vec![None; work.mir.vregs.len()];
    for (id, data) in work.mir.vregs.iter() {
        if data.file == file && file != RegFile::Upred && !work.short[id] && Some(id) != work.frame_id() {
            plans[id.index()] = Some(Plan::Store);
        }
    }
    for &block in &work.mir.layout {
        for (index, inst) in work.mir.blocks[block].insts.iter().enumerate() {
            ptxc_interrupt::poll();
            if let [(reg, width)] = work::defs(inst)[..]
                && plans[reg.id().index()].is_some()
                && reg.component() == 0
                && width == work.mir.vregs[reg.id()].width
                && is_rematerialisable(inst)
            {
                plans[reg.id().index()] = Some(Plan::Remat(block, index as u32));
            }
        }
    }
    if file == RegFile::Ugpr {
        for &block in work.mir.layout.iter().filter(|&&block| live.extends(block, file)) {
            restrict(work, block, &mut plans);
        }
    }
    plans
}

/// Lets the uniform registers that a divergent block reads be spilled to general registers, from
/// where `R2UR` brings them back. Registers that the end of the block reads stay.
fn restrict(work: &Work<'_>, block: MBlockId, plans: &mut Spilled) {
    let mut may = |reg: VReg, plan: Option<Plan>| {
        let old = &mut plans[reg.id().index()];
        *old = old.and(plan);
    };
    for inst in &work.mir.blocks[block].insts {
        ptxc_interrupt::poll();
        let uses = work::uses(inst).into_iter().map(|(reg, _)| reg);
        uses.filter(|reg| reg.file() == RegFile::Ugpr).for_each(|reg| may(reg, Some(Plan::Store)));
    }
    if let Some((&selector, _)) = work.mir.blocks[block].term.selector()
        && selector.file() == RegFile::Ugpr
    {
        may(selector, None);
    }
}

/// By virtual register, the cost of spilling it per point that this frees. Registers without a plan
/// cost more than all others.
pub(super) fn costs(work: &Work<'_>, live: &LiveRanges<'_>, plans: &Spilled) -> Vec<u128> {
    let mut traffic = vec![0u64; plans.len()];
    for &block in &work.mir.layout {
        let data = &work.mir.blocks[block];
        let mut visit = |(reg, width): Operand| {
            let traffic = &mut traffic[reg.id().index()];
            *traffic = traffic.saturating_add(data.frequency.max(1).saturating_mul(u64::from(width)));
        };
        for inst in &data.insts {
            ptxc_interrupt::poll();
            work::uses(inst).into_iter().chain(work::defs(inst)).for_each(&mut visit);
        }
        exit_uses(&work.mir, block).into_iter().for_each(&mut visit);
        data.params.iter().for_each(|param| visit((param.reg, param.width)));
    }
    let cost = |(vreg, plan): (usize, &Option<Plan>)| {
        // A local load costs about as much as four constants.
        let each = match plan {
            None => return u128::MAX,
            Some(Plan::Remat(..)) => 1,
            Some(Plan::Store) => 4,
        };
        let segments = live.all(vreg).flat_map(|component| &live.ranges[component as usize]);
        let length: u64 = segments.map(|segment| u64::from(segment.end - segment.start)).sum();
        ((u128::from(traffic[vreg]) * each) << 20) / u128::from(length.max(1))
    };
    plans.iter().enumerate().map(cost).collect()
}

struct Chooser<'a> {
    work: &'a Work<'a>,
    live: &'a LiveRanges<'a>,
    file: RegFile,
    limit: u32,
    spilled: Spilled,
    chosen: usize,
    /// Whether anything goes to memory.
    stores: bool,
    /// By virtual register, the cost of a point that spilling it would free.
    cost: Vec<u128>,
    /// The plan for each virtual register.
    plans: Vec<Option<Plan>>,
    /// Live components that are not spilled.
    pressure: u32,
    alive: Vec<bool>,
    /// Live components by virtual register.
    count_alive: Vec<u32>,
    /// Live components of the block, and some that have died.
    members: Vec<u32>,
    /// The virtual registers that may be spilled in the block.
    candidates: Candidates,
}

/// Virtual registers that may be spilled, with their cost. They are sorted only if a block needs a
/// victim, which few blocks do: once the cheapest values of a crowd are spilled, the rest fits in
/// most places.
#[derive(Default)]
struct Candidates {
    /// The candidates from before a victim was needed.
    unsorted: Vec<Reverse<(u128, usize)>>,
    /// All other candidates; some may have died.
    sorted: BinaryHeap<Reverse<(u128, usize)>>,
    is_sorted: bool,
}

impl Candidates {
    fn clear(&mut self) {
        self.unsorted.clear();
        self.sorted.clear();
        self.is_sorted = false;
    }

    fn add(&mut self, cost: u128, vreg: usize) {
        if self.is_sorted {
            self.sorted.push(Reverse((cost, vreg)));
        } else {
            self.unsorted.push(Reverse((cost, vreg)));
        }
    }

    /// Takes the cheapest live candidate that may be spilled.
    fn take(&mut self, is_alive: impl Fn(usize) -> bool, may_go: impl Fn(usize) -> bool) -> Option<usize> {
        if !std::mem::replace(&mut self.is_sorted, true) {
            self.sorted.extend(self.unsorted.drain(..));
        }
        let mut kept: SmallVec<[Reverse<(u128, usize)>; 8]> = SmallVec::new();
        let mut found = None;
        while let Some(candidate) = self.sorted.pop() {
            let Reverse((_, vreg)) = candidate;
            if is_alive(vreg) {
                if may_go(vreg) {
                    found = Some(vreg);
                    break;
                }
                kept.push(candidate);
            }
        }
        self.sorted.extend(kept);
        found
    }
}

impl<'a> Chooser<'a> {
    fn new(work: &'a Work<'a>, live: &'a LiveRanges<'a>, file: RegFile, limit: u32) -> Chooser<'a> {
        let count = work.mir.vregs.len();
        let plans = plans(work, live, file);
        let cost = costs(work, live, &plans);
        Chooser {
            work,
            live,
            file,
            limit,
            spilled: vec![None; count],
            chosen: 0,
            stores: false,
            cost,
            plans,
            pressure: 0,
            alive: vec![false; live.ranges.len()],
            count_alive: vec![0; count],
            members: Vec::new(),
            candidates: Candidates::default(),
        }
    }

    /// Chooses from the start; with `stops_at_stores` only as long as nothing goes to memory.
    /// Returns whether it reached the end.
    fn choose(
        &mut self,
        order: &[MBlockId],
        forced: &BTreeSet<VRegId>,
        stops_at_stores: bool,
    ) -> Result<bool, AllocError> {
        self.spilled.fill(None);
        self.stores = false;
        for id in forced {
            self.mark(id.index());
        }
        // The block in which the previous sweep made its last choice: later blocks have been
        // visited with all choices.
        let mut settled = order.len();
        loop {
            let mut last = None;
            for (place, &block) in order.iter().enumerate() {
                if last.is_none() && place > settled {
                    return Ok(true);
                }
                if stops_at_stores && self.stores {
                    return Ok(false);
                }
                if !self.may_be_tight(block) {
                    continue;
                }
                let before = self.chosen;
                self.block(block)?;
                if self.chosen > before {
                    last = Some(place);
                }
            }
            match last {
                Some(place) => settled = place,
                None => return Ok(true),
            }
        }
    }

    /// Whether a block may need more registers than there are, whatever has been chosen. Values
    /// that are reloaded were live there before, so they add nothing, with three exceptions: an
    /// instruction may read a part of a tuple that is reloaded whole, an edge may pass one register
    /// several times, and registers that calls destroy count, too.
    fn may_be_tight(&self, block: MBlockId) -> bool {
        let is_wide = self.file != RegFile::Pred;
        let edge_width = |edge: &Edge<VReg>| {
            let params = &self.work.mir.blocks[edge.block].params;
            let width: u32 = params.iter().map(|param| u32::from(param.width)).sum();
            if is_wide && width > 0 { width + 2 } else { width }
        };
        let edges = self.work.mir.blocks[block].term.edges();
        let extra: u32 = edges.into_iter().map(edge_width).sum::<u32>() + if is_wide { 8 } else { 0 };
        let calls = destroys_for_good(self.file) && !self.live.calls.is_empty();
        calls || self.live.most_in(block, self.file) + extra > self.limit
    }

    /// Records that a virtual register is spilled.
    fn mark(&mut self, vreg: usize) {
        self.spilled[vreg] = self.plans[vreg];
        self.stores |= self.file == RegFile::Gpr && self.plans[vreg] == Some(Plan::Store);
    }

    fn add(&mut self, component: u32) {
        let vreg = self.live.owner(component);
        let ours = self.live.file(component) == self.file;
        if !ours || self.spilled[vreg].is_some() || self.alive[component as usize] {
            return;
        }
        self.alive[component as usize] = true;
        self.members.push(component);
        self.pressure += 1;
        self.count_alive[vreg] += 1;
        if self.count_alive[vreg] == 1 && self.plans[vreg].is_some() {
            self.candidates.add(self.cost[vreg], vreg);
        }
    }

    fn remove(&mut self, component: u32) {
        if !std::mem::replace(&mut self.alive[component as usize], false) {
            return;
        }
        let vreg = self.live.owner(component);
        self.pressure -= 1;
        self.count_alive[vreg] -= 1;
    }

    /// Spills the cheapest values, except those in `keep`, until `extra` more registers fit.
    fn fit(&mut self, extra: u32, keep: &[Operand], loc: SourceLoc) -> Result<(), AllocError> {
        self.fit_in(self.limit, extra, keep, loc)
    }

    /// The same with another limit.
    fn fit_in(&mut self, limit: u32, extra: u32, keep: &[Operand], loc: SourceLoc) -> Result<(), AllocError> {
        while self.pressure + extra > limit {
            let kept = |vreg: usize| keep.iter().any(|(reg, _)| reg.id().index() == vreg);
            let victim = self.candidates.take(|vreg| self.count_alive[vreg] > 0, |vreg| !kept(vreg));
            let Some(victim) = victim else {
                let needed = self.pressure + extra;
                return Err(AllocError::TooFewRegisters { file: self.file, needed, limit, loc });
            };
            self.spill(victim);
        }
        Ok(())
    }

    fn spill(&mut self, victim: usize) {
        self.mark(victim);
        self.chosen += 1;
        for component in self.live.all(victim) {
            self.remove(component);
        }
    }

    /// Spills the cheapest values until the operands of a block's end fit. An argument for a
    /// parameter in a register needs a register, too, so the parameter is spilled together with it.
    /// A block may have more parameters than there are registers.
    fn fit_exit(&mut self, block: MBlockId) -> Result<(), AllocError> {
        let work = self.work;
        let data = &work.mir.blocks[block];
        let predicate = data.term.selector().map(|(selector, _)| selector.id().index());
        let mut taken_by: BTreeMap<usize, SmallVec<[usize; 2]>> = BTreeMap::new();
        loop {
            // Spilling changes the width at most by the few registers for copies in memory.
            let extra = self.exit_width(block);
            if self.pressure + extra <= self.limit {
                return Ok(());
            }
            if taken_by.is_empty() {
                for edge in data.term.edges() {
                    for (param, arg) in work.mir.blocks[edge.block].params.iter().zip(&edge.args) {
                        if let EdgeArg::Reg(arg) = arg {
                            taken_by.entry(arg.id().index()).or_default().push(param.reg.id().index());
                        }
                    }
                }
            }
            while self.pressure + extra > self.limit {
                let may_go = |vreg: usize| {
                    let stays = |&param: &usize| self.spilled[param].is_none() && self.plans[param].is_none();
                    Some(vreg) != predicate
                        && !taken_by.get(&vreg).is_some_and(|params| params.iter().any(stays))
                };
                let victim = self.candidates.take(|vreg| self.count_alive[vreg] > 0, may_go);
                let Some(victim) = victim else {
                    if self.spill_params(block, self.pressure + extra - self.limit) {
                        break;
                    }
                    let (file, needed, limit) = (self.file, self.pressure + extra, self.limit);
                    return Err(AllocError::TooFewRegisters { file, needed, limit, loc: data.term_loc });
                };
                self.spill(victim);
                for &param in taken_by.get(&victim).into_iter().flatten() {
                    if self.spilled[param].is_none() {
                        self.spill(param);
                    }
                }
            }
        }
    }

    /// Spills parameters for which edges of a block reload spilled arguments, until `excess` fewer
    /// registers are needed there. Returns whether there was any.
    fn spill_params(&mut self, block: MBlockId, mut excess: u32) -> bool {
        let work = self.work;
        let mut found = false;
        for edge in work.mir.blocks[block].term.edges() {
            for (param, arg) in work.mir.blocks[edge.block].params.iter().zip(&edge.args) {
                let EdgeArg::Reg(arg) = arg else { continue };
                let (to, from) = (param.reg.id().index(), arg.id().index());
                let reloads = self.spilled[from].is_some() && self.spilled[to].is_none();
                if excess > 0 && reloads && self.plans[to].is_some() {
                    self.spill(to);
                    excess = excess.saturating_sub(u32::from(param.width));
                    found = true;
                }
            }
        }
        found
    }

    /// The registers that spilled operands take while they are used.
    fn spilled_width(&self, operands: &[Operand]) -> u32 {
        let mut seen: SmallVec<[Operand; 8]> = SmallVec::new();
        for &operand in operands {
            if self.spilled[operand.0.id().index()].is_some() && !seen.contains(&operand) {
                seen.push(operand);
            }
        }
        let width = |&(reg, width): &Operand| match self.spilled[reg.id().index()] {
            Some(Plan::Remat(..)) => self.work.mir.vregs[reg.id()].width as u32,
            _ => width as u32,
        };
        seen.iter().map(width).sum()
    }

    fn block(&mut self, block: MBlockId) -> Result<(), AllocError> {
        let (work, live) = (self.work, self.live);
        let data = &work.mir.blocks[block];
        let extended = live.extends(block, self.file);
        let entry = live.points.entry(block);
        for component in live.throughout(block).iter().copied().chain(live.live_in(block)) {
            self.add(component);
        }
        for param in &data.params {
            for component in live.of((param.reg, param.width)) {
                self.add(component);
            }
        }
        self.fit(0, &[], data.term_loc)?;
        if !extended {
            for param in &data.params {
                for component in live.of((param.reg, param.width)) {
                    if self.live.ends_by(component, entry + 1) {
                        self.remove(component);
                    }
                }
            }
        }
        for (index, inst) in data.insts.iter().enumerate() {
            ptxc_interrupt::poll();
            let (uses, defs) = (work::uses(inst), work::defs(inst));
            let late = live.points.late(block, index);
            self.fit(self.spilled_width(&uses), &uses, inst.loc)?;
            let is_ordinary = |component: u32| !extended || live.is_undisturbed(component);
            for component in uses.iter().flat_map(|&operand| live.of(operand)) {
                if is_ordinary(component) && self.live.ends_by(component, late) {
                    self.remove(component);
                }
            }
            for component in defs.iter().flat_map(|&operand| live.of(operand)) {
                if is_ordinary(component) {
                    self.add(component);
                }
            }
            let lost = match &inst.call {
                Some(call) if destroys_for_good(self.file) => call
                    .clobbers
                    .without(call.result_places())
                    .without(self.work.kept_uniform)
                    .count(self.file),
                _ => 0,
            };
            self.fit_in(self.limit.saturating_sub(lost), self.spilled_width(&defs), &defs, inst.loc)?;
            for component in defs.iter().flat_map(|&operand| live.of(operand)) {
                if is_ordinary(component) && self.live.ends_by(component, late + 1) {
                    self.remove(component);
                }
            }
        }
        self.fit_exit(block)?;
        let mut members = std::mem::take(&mut self.members);
        members.drain(..).for_each(|component| self.remove(component));
        self.members = members;
        self.candidates.clear();
        Ok(())
    }

    /// The registers that the end of a block takes for operands that are spilled.
    fn exit_width(&self, block: MBlockId) -> u32 {
        let term = &self.work.mir.blocks[block].term;
        let mut width = match term.selector() {
            Some((&selector, width)) => self.spilled_width(&[(selector, width)]),
            None => 0,
        };
        for edge in term.edges() {
            let mut through_memory = false;
            let mut made_again = 0;
            for (param, arg) in self.work.mir.blocks[edge.block].params.iter().zip(&edge.args) {
                match (self.spilled[param.reg.id().index()], arg) {
                    (None, EdgeArg::Reg(arg)) => width += self.spilled_width(&[(*arg, param.width)]),
                    (Some(_), arg) => {
                        through_memory = true;
                        // A value that is rematerialized for a spilled parameter passes through a
                        // register.
                        if let EdgeArg::Reg(arg) = arg
                            && matches!(self.spilled[arg.id().index()], Some(Plan::Remat(..)))
                        {
                            made_again = made_again.max(self.spilled_width(&[(*arg, param.width)]));
                        }
                    }
                    _ => {}
                }
            }
            if self.file != RegFile::Gpr {
                width += made_again;
            }
            // A copy between slots takes a register, a cycle of copies another one.
            if through_memory && self.file == RegFile::Gpr {
                width += 2;
            }
        }
        width
    }
}
