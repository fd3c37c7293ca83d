//! The states at the starts of blocks: walks through blocks until no more facts are removed.
//!
//! The first run assumes that no arm of a divergent branch disturbs another one. Afterwards the
//! writes of the arms to uniform registers are known, and remove facts that the blocks of their
//! region rely on. So the second run continues from the result of the first one, with those blocks.

use std::collections::BTreeMap;

use cranelift_entity::{EntityRef, SecondaryMap};
use ptxc_ir::FunctionKind;
use ptxc_sass::PReg;
use smallvec::SmallVec;

use super::crossing::{Content, Crossing};
use super::frozen::{Frozen, Meeting};
use super::pending::Pending;
use super::state::{Place, State, Value};
use super::walk::{Walk, Watch};
use super::{Checker, UniformWrites, Violation};
use crate::mir::{Cfg, Edge, EdgeArg, MBlockId, Term, VReg, for_blocks};

/// The states at the starts of blocks so far.
pub(super) struct Fixpoint<'a> {
    checker: &'a Checker<'a>,
    cfg: Cfg,
    entries: SecondaryMap<MBlockId, Option<Frozen>>,
    /// The violations that the last walk through a block found; that walk began with the final
    /// state.
    found: BTreeMap<MBlockId, Vec<Violation>>,
    pending: Pending,
    state: State,
    crossing: Crossing<'a>,
    meeting: Meeting<'a>,
}

impl<'a> Fixpoint<'a> {
    /// Starts with the entry of the function only.
    pub fn new(checker: &'a Checker<'a>) -> Fixpoint<'a> {
        let result = checker.result;
        let cfg = Cfg::new(result);
        let mut entries: SecondaryMap<MBlockId, Option<Frozen>> = for_blocks(result, None);
        entries[result.entry()] = Some(Frozen::default());
        let words = checker.frame.bytes.saturating_sub(checker.frame.own) / 4;
        let mut pending = Pending::new(cfg.order().len());
        if !cfg.order().is_empty() {
            pending.add(0);
        }
        Fixpoint {
            checker,
            cfg,
            entries,
            found: BTreeMap::new(),
            pending,
            state: State::new(checker.components.count() as usize, words as usize),
            crossing: Crossing::new(&checker.steady),
            meeting: Meeting::new(&checker.components.is_predicate),
        }
    }

    /// Walks until nothing changes. `writes` tells the contents of uniform registers in divergent
    /// regions.
    pub fn run(&mut self, writes: &UniformWrites) {
        while let Some(place) = self.pending.next() {
            let block = self.cfg.order()[place];
            if !self.start(block) {
                continue;
            }
            let mut wrong = Vec::new();
            let watch = Watch::Violations(&mut wrong, writes);
            Walk::new(self.checker, block, &mut self.state, watch).run();
            if wrong.is_empty() {
                self.found.remove(&block);
            } else {
                self.found.insert(block, wrong);
            }
            self.leave_region(block, writes);
            self.leave(block);
        }
    }

    /// Passes the state at the end of a block to its successors.
    fn leave(&mut self, block: MBlockId) {
        let Checker { input, result, .. } = *self.checker;
        let originals = match input.blocks.get(block) {
            Some(original) => original.term.edges(),
            None => SmallVec::new(),
        };
        for (index, edge) in result.blocks[block].term.edges().into_iter().enumerate() {
            self.crossing.begin();
            for_each_live(self.checker, edge.block, |component| self.crossing.read(component));
            if let Some(original) = originals.get(index) {
                for_each_argument(self.checker, original, |to, content| {
                    self.crossing.receive(&self.state, to, content);
                });
            }
            let after = self.crossing.end(&self.state);
            let changed = match &mut self.entries[edge.block] {
                Some(entry) => self.meeting.meet(entry, after),
                entry @ None => {
                    *entry = Some(std::mem::take(after));
                    true
                }
            };
            if changed && let Some(target) = self.cfg.rank(edge.block) {
                self.pending.add(target as usize);
            }
        }
    }

    /// Schedules another walk for the blocks of divergent regions, and for those that lead into
    /// them.
    pub fn reopen_regions(&mut self) {
        let Checker { result, region, .. } = self.checker;
        for (place, &block) in self.cfg.order().iter().enumerate() {
            let targets = result.blocks[block].term.edges();
            if region[block].is_some() || targets.iter().any(|edge| region[edge.block].is_some()) {
                self.pending.add(place);
            }
        }
    }

    /// All violations.
    pub fn found(self) -> Vec<Violation> {
        self.found.into_values().flatten().collect()
    }

    /// Sets the state to the one at the start of a block, if the block has been reached: its entry
    /// state, and in a called function, the stack pointer of the caller.
    fn start(&mut self, block: MBlockId) -> bool {
        let Some(entry) = &self.entries[block] else { return false };
        self.state.thaw(entry);
        let Checker { input, result, .. } = *self.checker;
        if input.header.kind == FunctionKind::Device && block == result.entry() {
            self.state.write(Place::register(PReg::r(1)), &[Value::Stack]);
            for &reg in &self.checker.kept {
                self.state.write(Place::register(reg), &[Value::Kept(reg)]);
            }
        }
        true
    }

    /// Removes contents of uniform registers, from this arm or the block before the arms, that
    /// other arms may have overwritten.
    fn leave_region(&mut self, block: MBlockId, writes: &UniformWrites) {
        if writes.is_empty() {
            return;
        }
        let targets = self.checker.result.blocks[block].term.edges();
        let mut regions: SmallVec<[u32; 3]> = targets
            .iter()
            .filter_map(|edge| self.checker.region[edge.block])
            .chain(self.checker.region[block])
            .collect();
        regions.dedup();
        let mut uniform: Vec<Place> = Vec::new();
        self.state.for_each_held(|place, _| uniform.extend(place.is_uniform().then_some(place)));
        for place in uniform {
            for &region in &regions {
                if let Some(agreed) = writes.get(&(region, place)) {
                    let mut values = self.state.get_all(place, &self.checker.components.is_predicate);
                    values.retain(|value| agreed.contains(value));
                    self.state.write(place, &values);
                }
            }
        }
    }

    /// The known contents that the blocks of each region write to uniform registers.
    pub fn uniform_writes(&mut self) -> UniformWrites {
        let mut agreed: UniformWrites = BTreeMap::new();
        let Checker { result, region, writes_uniform, .. } = self.checker;
        for &block in &result.layout {
            let Some(region) = region[block].filter(|_| writes_uniform[block]) else { continue };
            if !self.start(block) {
                continue;
            }
            let mut list = Vec::new();
            Walk::new(self.checker, block, &mut self.state, Watch::Writes(&mut list)).run();
            for (place, values) in list {
                agreed
                    .entry((region, place))
                    .and_modify(|agreed| agreed.retain(|value| values.contains(value)))
                    .or_insert(values);
            }
        }
        agreed
    }
}

/// Calls `visit` for each component that the input reads after the start of a block of the result.
/// A block on an edge counts as the edge's target.
fn for_each_live(checker: &Checker<'_>, mut block: MBlockId, mut visit: impl FnMut(u32)) {
    let Checker { input, result, live, components, .. } = checker;
    if block.index() >= input.blocks.len()
        && let Term::Jump(edge) = &result.blocks[block].term
    {
        block = edge.block;
    }
    // Liveness and checker both number components in the order of their registers.
    live.live_in(block)
        .iter()
        .filter(|&&component| component < components.count())
        .for_each(|&component| visit(component));
    for param in &input.blocks[block].params {
        components.range(param.reg, param.width).for_each(&mut visit);
    }
}

/// Calls `visit` for each component of the parameters of an edge's target, with the content that it
/// receives.
fn for_each_argument(checker: &Checker<'_>, edge: &Edge<VReg>, mut visit: impl FnMut(u32, Content)) {
    for (param, arg) in checker.input.blocks[edge.block].params.iter().zip(&edge.args) {
        for (index, to) in checker.components.range(param.reg, param.width).enumerate() {
            let content = match *arg {
                EdgeArg::Reg(reg) => {
                    Content::Component(checker.components.range(reg, param.width).start + index as u32)
                }
                EdgeArg::Imm(bits) if param.reg.file().is_predicate() => Content::Imm(u32::from(bits != 0)),
                EdgeArg::Imm(bits) => Content::Imm(if index < 2 { (bits >> (32 * index)) as u32 } else { 0 }),
                EdgeArg::Undef => Content::Undefined,
            };
            visit(to, content);
        }
    }
}
