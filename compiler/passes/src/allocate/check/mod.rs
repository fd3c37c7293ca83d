//! The allocation checker: proves that an allocated function computes what the function with virtual
//! registers does.
//!
//! In: the function before allocation, the [`Allocation`], the options. Out: nothing, or every
//! [`Violation`]. The checker knows nothing of live ranges or classes and shares no code with the passes
//! that assign. It runs the allocated function symbolically: for each point, which register and which word
//! of the frame holds which component of the input (the idea of regalloc2's checker and of Rideau and
//! Leroy, "Validating register allocation and spilling", CC 2010). Where paths meet, only what all of them
//! agree on remains. It demands that
//!
//! - each instruction is one of the input with the same operation, modifiers and operands, in the same
//!   order; or a copy, constant, store, load, recomputation or frame instruction whose effect is known;
//! - each register that is read holds the component that the input reads there, arguments of edges included;
//! - what the input has and the result lacks has no effect but a result that nobody misses;
//! - what a call reads is in the registers that the routine takes it from, and nothing that is read later is
//!   in a register that it destroys;
//! - the old value of a guarded definition is in the register that it defines;
//! - tuples are aligned and within the limits of their file;
//! - spill slots lie in the frame behind the function's own local memory, and R1 points to it; a function that is
//!   called returns with R1 as it got it;
//! - in blocks whose warp may have diverged, a uniform register has one meaning for all of the blocks that
//!   are connected by such blocks, since arms may run in any order.
//!
//! An argument that is a constant may be put into its register before or after the edge, so constants are
//! values too. The cost is that of a dataflow analysis whose sets are the contents of the register file: a
//! few visits to each block. So that they stay that small, what is known of components that the input does
//! not read any more is forgotten between blocks. To forget can only make the checker refuse more.

mod crossing;
mod decode;
mod frozen;
mod pending;
mod renamed;
mod state;
mod structure;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use cranelift_entity::{EntityRef, SecondaryMap};
use ptxc_ir::FunctionKind;
use ptxc_sass::{Inst, Op, Operand, OperandKind, PReg, Register, SpecialReg};
use smallvec::SmallVec;

use super::{Allocation, Options, Origin};
use crate::interrupt;
use crate::mir::liveness::Liveness;
use crate::mir::{Cfg, Edge, EdgeArg, Fixed, MBlockId, MInst, Mir, Term, Tuple, VReg};
use crossing::{Content, Crossing};
use decode::Frame;
use frozen::Frozen;
use pending::Pending;
use renamed::{Match, Renamed, same_but_registers};
use state::{Place, State, Value, Values};

/// Something wrong with an allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The block of the result.
    pub block: MBlockId,
    /// The instruction in it; their number for the terminator.
    pub inst: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, instruction {}: {}", self.block, self.inst, self.what)
    }
}

/// Checks an allocation of a function.
pub fn check(input: &Mir<VReg>, allocation: &Allocation, options: &Options) -> Result<(), Vec<Violation>> {
    let mut checker = Checker::new(input, allocation, options);
    checker.structure();
    if checker.violations.is_empty() {
        checker.match_instructions();
        let words = checker.frame.bytes.saturating_sub(checker.frame.own) / 4;
        let mut state = State::new(checker.is_predicate.len(), words as usize);
        let (entries, mut found) = checker.fixpoint(&BTreeMap::new(), &mut state);
        let writes = checker.uniform_writes(&entries, &mut state);
        if !writes.is_empty() {
            found = checker.fixpoint(&writes, &mut state).1;
        }
        checker.violations.extend(found);
    }
    checker.violations.sort_by_key(|violation| (violation.block, violation.inst));
    checker.violations.dedup();
    if checker.violations.is_empty() { Ok(()) } else { Err(checker.violations) }
}

/// For each region and uniform register that it writes, what every such write agrees on.
type UniformWrites = BTreeMap<(u32, Place), Values>;

/// What a walk through a block looks for.
enum Watch<'a> {
    /// Uniform registers that are written, with what they hold then.
    Writes(&'a mut Vec<(Place, Values)>),
    /// Whatever is wrong.
    Violations(&'a mut Vec<Violation>, &'a UniformWrites),
}

impl Watch<'_> {
    fn wrong(&mut self, block: MBlockId, inst: usize, what: impl FnOnce() -> String) {
        if let Watch::Violations(list, _) = self {
            list.push(Violation { block, inst, what: what() });
        }
    }
}

struct Checker<'a> {
    input: &'a Mir<VReg>,
    result: &'a Mir<PReg>,
    origins: &'a SecondaryMap<MBlockId, Vec<Origin>>,
    max_regs: u16,
    frame: Frame,
    /// The number of the first component of each virtual register.
    first: Vec<u32>,
    is_predicate: Vec<bool>,
    /// The instruction of the input that defines a component.
    definition: Vec<Option<&'a MInst<VReg>>>,
    /// By component, whether its definition gives the same whenever it runs.
    steady: Vec<bool>,
    /// What the input still reads behind the start of each block, block parameters apart.
    live: Liveness,
    /// The accesses of all instructions of the result that are of the input.
    renamed: Vec<Renamed>,
    /// For each instruction of the result, in the order of its layout, what it has in common with that of the input,
    /// or in what it differs.
    matches: Vec<Result<Match, String>>,
    /// The number of each block's first instruction.
    first_match: SecondaryMap<MBlockId, u32>,
    /// The divergent region of each block of the result.
    region: SecondaryMap<MBlockId, Option<u32>>,
    violations: Vec<Violation>,
}

impl<'a> Checker<'a> {
    fn new(input: &'a Mir<VReg>, allocation: &'a Allocation, options: &Options) -> Checker<'a> {
        let result = &allocation.mir;
        let mut first = Vec::new();
        let mut is_predicate = Vec::new();
        for data in input.vregs.values() {
            first.push(is_predicate.len() as u32);
            let count = data.width.max(1) as usize;
            is_predicate.extend(std::iter::repeat_n(data.file.is_predicate(), count));
        }
        let frame = Frame {
            stack_top: options.arch.stack_top(),
            bytes: result.local_bytes,
            own: input.local_bytes.next_multiple_of(16),
        };
        let mut checker = Checker {
            input,
            result,
            origins: &allocation.origins,
            max_regs: options.max_regs,
            frame,
            first,
            definition: vec![None; is_predicate.len()],
            steady: vec![false; is_predicate.len()],
            live: Liveness::new(input, &Cfg::new(input)),
            is_predicate,
            renamed: Vec::new(),
            matches: Vec::new(),
            first_match: SecondaryMap::new(),
            region: SecondaryMap::new(),
            violations: Vec::new(),
        };
        for &block in &input.layout {
            for inst in &input.blocks[block].insts {
                interrupt::poll();
                let steady = gives_the_same(inst);
                inst.for_each_def(|reg, width| {
                    for component in checker.components(reg, width) {
                        checker.definition[component as usize] = Some(inst);
                        checker.steady[component as usize] = steady;
                    }
                });
            }
        }
        checker.number_regions();
        checker
    }

    fn components(&self, reg: VReg, width: u8) -> Range<u32> {
        let start = self.first[reg.id.index()] + reg.component as u32;
        start..(start + width as u32).min(self.is_predicate.len() as u32)
    }

    /// The entry states, and whatever is wrong. `writes` says what uniform registers mean in divergent regions.
    fn fixpoint(
        &self,
        writes: &UniformWrites,
        state: &mut State,
    ) -> (SecondaryMap<MBlockId, Option<Frozen>>, Vec<Violation>) {
        let cfg = Cfg::new(self.result);
        let mut entries: SecondaryMap<MBlockId, Option<Frozen>> = SecondaryMap::new();
        entries.resize(self.result.blocks.len());
        entries[self.result.entry()] = Some(Frozen::default());
        // What the last walk through a block found: that walk began with the final state.
        let mut found: SecondaryMap<MBlockId, Vec<Violation>> = SecondaryMap::new();
        let mut crossing = Crossing::new(&self.steady);
        let mut pending = Pending::new(cfg.order().len());
        while let Some(place) = pending.next() {
            let block = cfg.order()[place];
            let Some(entry) = &entries[block] else { continue };
            self.start(block, entry, state);
            let mut wrong = Vec::new();
            self.walk(block, state, &mut Watch::Violations(&mut wrong, writes));
            if !wrong.is_empty() || !found[block].is_empty() {
                found[block] = wrong;
            }
            self.leave_region(block, state, writes);
            let originals = match self.input.blocks.get(block) {
                Some(original) => original.term.edges(),
                None => SmallVec::new(),
            };
            for (index, edge) in self.result.blocks[block].term.edges().into_iter().enumerate() {
                crossing.begin();
                self.for_each_live(edge.block, |component| crossing.read(component));
                if let Some(original) = originals.get(index) {
                    self.for_each_argument(original, |to, content| crossing.receive(state, to, content));
                }
                let behind = crossing.end(state);
                let changed = match &mut entries[edge.block] {
                    Some(entry) => entry.meet(behind, &self.is_predicate),
                    entry @ None => {
                        *entry = Some(std::mem::take(behind));
                        true
                    }
                };
                if changed && let Some(target) = cfg.rank(edge.block) {
                    pending.add(target as usize);
                }
            }
        }
        let found = self.result.layout.iter().flat_map(|&block| std::mem::take(&mut found[block]));
        (entries, found.collect())
    }

    /// Makes the state what holds at the start of a block: what its entry says, and in a function that is called, the
    /// stack pointer of its caller.
    fn start(&self, block: MBlockId, entry: &Frozen, state: &mut State) {
        state.thaw(entry);
        if self.input.kind == FunctionKind::Device && block == self.result.entry() {
            state.write(Place::register(PReg::r(1)), &[Value::Stack]);
        }
    }

    /// Calls `visit` for each component that the input reads behind the start of a block of the result. A
    /// block on an edge is as good as the edge's target.
    fn for_each_live(&self, mut block: MBlockId, mut visit: impl FnMut(u32)) {
        if block.index() >= self.input.blocks.len()
            && let Term::Jump(edge) = &self.result.blocks[block].term
        {
            block = edge.block;
        }
        for &index in self.live.live_in(block) {
            self.components(self.live.components().reg(index as usize), 1).for_each(&mut visit);
        }
        for param in &self.input.blocks[block].params {
            self.components(param.reg, param.width).for_each(&mut visit);
        }
    }

    /// Calls `visit` for each component of the parameters of an edge's target with what it receives.
    fn for_each_argument(&self, edge: &Edge<VReg>, mut visit: impl FnMut(u32, Content)) {
        for (param, arg) in self.input.blocks[edge.block].params.iter().zip(&edge.args) {
            for (index, to) in self.components(param.reg, param.width).enumerate() {
                let content = match *arg {
                    EdgeArg::Reg(reg) => {
                        Content::Component(self.components(reg, param.width).start + index as u32)
                    }
                    EdgeArg::Imm(bits) if param.reg.file.is_predicate() => Content::Imm(u32::from(bits != 0)),
                    EdgeArg::Imm(bits) => {
                        Content::Imm(if index < 2 { (bits >> (32 * index)) as u32 } else { 0 })
                    }
                    EdgeArg::Undef => Content::Undefined,
                };
                visit(to, content);
            }
        }
    }

    /// Other arms may have overwritten what this one, or the block before them, left in uniform registers.
    fn leave_region(&self, block: MBlockId, state: &mut State, writes: &UniformWrites) {
        if writes.is_empty() {
            return;
        }
        let targets = self.result.blocks[block].term.edges();
        let mut regions: SmallVec<[u32; 3]> =
            targets.iter().filter_map(|edge| self.region[edge.block]).chain(self.region[block]).collect();
        regions.dedup();
        let uniform: Vec<Place> =
            state.held().map(|(place, _)| place).filter(|place| place.is_uniform()).collect();
        for place in uniform {
            for &region in &regions {
                if let Some(agreed) = writes.get(&(region, place)) {
                    let mut values = state.get_all(place, &self.is_predicate);
                    values.retain(|value| agreed.contains(value));
                    state.write(place, &values);
                }
            }
        }
    }

    fn uniform_writes(
        &self,
        entries: &SecondaryMap<MBlockId, Option<Frozen>>,
        state: &mut State,
    ) -> UniformWrites {
        let mut agreed: UniformWrites = BTreeMap::new();
        for &block in &self.result.layout {
            let (Some(region), Some(entry)) = (self.region[block], &entries[block]) else { continue };
            let mut list = Vec::new();
            self.start(block, entry, state);
            self.walk(block, state, &mut Watch::Writes(&mut list));
            for (place, values) in list {
                agreed
                    .entry((region, place))
                    .and_modify(|agreed| agreed.retain(|value| values.contains(value)))
                    .or_insert(values);
            }
        }
        agreed
    }

    /// Runs a block.
    fn walk(&self, id: MBlockId, state: &mut State, watch: &mut Watch<'_>) {
        let block = &self.result.blocks[id];
        let original: &[MInst<VReg>] =
            if id.index() < self.input.blocks.len() { &self.input.blocks[id].insts } else { &[] };
        let mut next = 0;
        let mut index = 0;
        while index < block.insts.len() {
            interrupt::poll();
            let inst = &block.insts[index];
            let at = index;
            index += 1;
            let outcome = match self.origins[id][at] {
                Origin::Inst(origin) => {
                    let origin = origin as usize;
                    if origin < next || origin >= original.len() {
                        watch.wrong(id, at, || format!("{} is out of order", inst.inst));
                        continue;
                    }
                    for dropped in &original[next..origin] {
                        self.dropped(dropped, state).unwrap_or_else(|what| watch.wrong(id, at, || what));
                    }
                    next = origin + 1;
                    self.kept(id, at, &original[origin], inst, state, watch)
                }
                Origin::Remat(reg) => self.recomputed(reg, &inst.inst, state),
                Origin::Inserted => {
                    let rest: SmallVec<[&Inst<PReg>; 2]> =
                        block.insts[index..].iter().take(2).map(|inst| &inst.inst).collect();
                    decode::apply(&inst.inst, &rest, state, self.frame).map(|more| index += more)
                }
            };
            if let Err(what) = outcome {
                watch.wrong(id, at, || what);
            }
            if let Watch::Writes(list) = watch {
                let mut written = |reg: PReg| {
                    let place = Place::register(reg);
                    if place.is_uniform() {
                        list.push((place, state.get_all(place, &self.is_predicate)));
                    }
                };
                inst.for_each_def(|reg, width| {
                    (0..width).filter_map(|n| reg.offset(n)).for_each(&mut written)
                });
                inst.call.iter().flat_map(|call| call.clobbers.iter()).for_each(&mut written);
            }
        }
        for dropped in &original[next.min(original.len())..] {
            self.dropped(dropped, state).unwrap_or_else(|what| watch.wrong(id, index, || what));
        }
        if let Some((&after, _)) = block.term.selector()
            && id.index() < self.input.blocks.len()
            && let Some((&before, width)) = self.input.blocks[id].term.selector()
        {
            self.read(id, index, before, after, width, state, watch);
        }
    }

    /// The result reads `after` where the input reads `before`.
    #[expect(clippy::too_many_arguments, reason = "a place, a pair of operands, and what to do")]
    fn read(
        &self,
        block: MBlockId,
        inst: usize,
        before: VReg,
        after: PReg,
        width: u8,
        state: &State,
        watch: &mut Watch<'_>,
    ) {
        for (n, component) in self.components(before, width).enumerate() {
            let n = n as u8;
            let Some(reg) = after.offset(n) else {
                watch.wrong(block, inst, || format!("{after} has no neighbour {n}"));
                continue;
            };
            let place = Place::register(reg);
            if !state.holds(place, component) {
                watch.wrong(block, inst, || format!("{reg} does not hold {}", before.component(n)));
            }
            if let (Watch::Violations(_, writes), Some(region)) = (&*watch, self.region[block])
                && !writes.is_empty()
                && writes
                    .get(&(region, place))
                    .is_some_and(|agreed| !agreed.contains(&Value::Component(component)))
            {
                watch.wrong(block, inst, || format!("another arm may overwrite {reg}"));
            }
        }
    }

    /// An instruction of the input in the result.
    fn kept(
        &self,
        block: MBlockId,
        index: usize,
        before: &MInst<VReg>,
        after: &MInst<PReg>,
        state: &mut State,
        watch: &mut Watch<'_>,
    ) -> Result<(), String> {
        let matched = self.matches[self.first_match[block] as usize + index].as_ref();
        let Match { uses, defs, copied } = matched.map_err(String::clone)?;
        for &Renamed { from, to, width } in self.renamed(uses) {
            self.read(block, index, from, to, width, state, watch);
        }
        self.call(block, index, before, after, state, watch)?;
        // A copy is the same as whatever is where it comes from.
        let mut source = Values::new();
        if let Some((component, from)) = *copied {
            source = state.get(Place::register(from));
            source.push(Value::Component(self.components(component, 1).start));
        }
        for &Renamed { from, width, .. } in self.renamed(defs) {
            self.components(from, width).for_each(|component| state.forget(component));
        }
        for &Renamed { from, to, width } in self.renamed(defs) {
            for (n, component) in self.components(from, width).enumerate() {
                let reg = to.offset(n as u8).ok_or_else(|| format!("{to} has no neighbour {n}"))?;
                let value = Value::Component(component);
                let mut values = Values::from_slice(&[value]);
                values.extend(source.iter().copied().filter(|&other| other != value));
                state.write(Place::register(reg), &values);
            }
        }
        Ok(())
    }

    fn renamed(&self, range: &Range<u32>) -> &[Renamed] {
        &self.renamed[range.start as usize..range.end as usize]
    }

    /// What a call reads is in its place, and the registers that it destroys hold its results or nothing.
    fn call(
        &self,
        block: MBlockId,
        index: usize,
        before: &MInst<VReg>,
        after: &MInst<PReg>,
        state: &mut State,
        watch: &mut Watch<'_>,
    ) -> Result<(), String> {
        let (Some(old), Some(new)) = (&before.call, &after.call) else {
            let lost = before.call.is_some() != after.call.is_some();
            return if lost { Err("what a call reads and destroys got lost".into()) } else { Ok(()) };
        };
        let in_place = |fixed: &Fixed<VReg>| Fixed {
            value: Tuple { reg: fixed.place, width: fixed.value.width },
            place: fixed.place,
        };
        let same = new.args.iter().copied().eq(old.args.iter().map(in_place))
            && new.results.iter().copied().eq(old.results.iter().map(in_place))
            && (old.clobbers, old.uses_stack) == (new.clobbers, new.uses_stack);
        if !same {
            return Err("the values of a call are not in the registers where they belong".into());
        }
        for fixed in &old.args {
            self.read(block, index, fixed.value.reg, fixed.place, fixed.value.width, state, watch);
        }
        let at_frame = state.has(Place::register(PReg::r(1)), Value::Frame)
            || self.frame.bytes == 0 && state.has(Place::register(PReg::r(1)), Value::Stack);
        let at_top = || state.has(Place::register(PReg::r(1)), Value::Stack);
        if after.inst.op == Op::RET && !at_top() {
            return Err("R1 is not as the caller left it".into());
        }
        if old.uses_stack && !at_frame {
            return Err("R1 is not the stack pointer of a call".into());
        }
        // A function that is called may take the stack pointer for a value, which stays in R1.
        let stack = state.get(Place::register(PReg::r(1)));
        old.destroyed().iter().for_each(|reg| state.write(Place::register(reg), &[]));
        for fixed in &old.results {
            self.components(fixed.value.reg, fixed.value.width).for_each(|component| state.forget(component));
        }
        for fixed in &old.results {
            for (n, component) in self.components(fixed.value.reg, fixed.value.width).enumerate() {
                let reg = fixed.place.offset(n as u8);
                let reg = reg.ok_or_else(|| format!("{} has no neighbour {n}", fixed.place))?;
                let mut values = vec![Value::Component(component)];
                if reg == PReg::r(1) && after.inst.op == Op::NOP {
                    values.extend(stack.iter().copied());
                }
                state.write(Place::register(reg), &values);
            }
        }
        Ok(())
    }

    /// An instruction of the input that the result lacks.
    fn dropped(&self, inst: &MInst<VReg>, state: &mut State) -> Result<(), String> {
        if let Some((to, from)) = copy_operands(&inst.inst) {
            let (to, from) = (self.components(to, 1).start, self.components(from, 1).start);
            state.assign(to, from, self.is_steady(from));
            return Ok(());
        }
        for def in inst.inst.defs() {
            // A steady value may have been recomputed just before.
            let gone = self.components(def.reg, def.width).filter(|&component| !self.is_steady(component));
            gone.for_each(|component| state.forget(component));
        }
        if inst.inst.row().effects.is_none() && inst.call.is_none() {
            Ok(())
        } else {
            Err(format!("{} is missing", inst.inst))
        }
    }

    /// Whether the definition of a component gives the same whenever it runs.
    fn is_steady(&self, component: u32) -> bool {
        self.steady[component as usize]
    }

    /// A definition of the input performed once more.
    fn recomputed(&self, reg: VReg, inst: &Inst<PReg>, state: &mut State) -> Result<(), String> {
        let components = self.components(reg, 1);
        let definition = self.definition.get(components.start as usize).copied().flatten();
        let Some(definition) = definition else { return Err(format!("{reg} has no definition")) };
        if !self.is_steady(components.start) || !same_but_registers(&definition.inst, inst, |reg| reg.file())
        {
            return Err(format!("{inst} does not compute {reg} again"));
        }
        for (before, after) in definition.inst.defs().zip(inst.defs()) {
            for (n, component) in self.components(before.reg, before.width).enumerate() {
                let place = after.reg.offset(n as u8).ok_or("a register too far")?;
                state.write(Place::register(place), &[Value::Component(component)]);
            }
        }
        Ok(())
    }
}

/// Whether an instruction gives the same whenever it runs: it reads no register and nothing that changes.
fn gives_the_same(inst: &MInst<VReg>) -> bool {
    inst.inst.row().effects.is_none()
        && inst.call.is_none()
        && inst.inst.uses().next().is_none()
        && inst.tied.is_empty()
        && inst.inst.operands.iter().all(|operand| match operand.kind {
            OperandKind::Special(sr) => !(sr.is_clock() || sr == SpecialReg::WarpId),
            _ => true,
        })
}

/// The operands of a plain copy, `(to, from)`, in one file.
fn copy_operands<R: Register>(inst: &Inst<R>) -> Option<(R, R)> {
    let [to, from] = match inst.op {
        Op::MOV | Op::UMOV => ["d", "b"],
        Op::PLOP3 => {
            let all = ["pe", "pb", "pc"].iter().all(|slot| inst.get(slot) == Some(&Operand::pt()));
            if !all || inst.get("lut") != Some(&Operand::imm(0x80)) {
                return None;
            }
            ["pd", "pa"]
        }
        _ => return None,
    }
    .map(|slot| inst.get(slot).filter(|operand| operand.flags == Default::default())?.as_reg());
    let (to, from) = (to?, from?);
    (inst.guard.is_none() && to.file() == from.file()).then_some((to, from))
}
