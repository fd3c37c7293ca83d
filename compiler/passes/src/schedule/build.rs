//! The dependence graph of a region.
//!
//! In: straight-line instructions over virtual or physical registers. Out: a [`Region`] whose edges are
//!
//! - **registers**, by single component: RAW from the last definition (and from guarded ones on top of an
//!   older one), WAR from the readers since, WAW from definition to definition. A virtual register is defined
//!   once; what ties two of them to one place is a guarded definition, which overwrites the old content that
//!   it names, so that it comes after all that read it;
//! - **loops**: the definition of what a block hands to a parameter on an edge comes after all that reads the
//!   parameter's present content in the block, so that both can share a register (`i` and `i + 1`);
//! - **memory**: pairs that [`may_swap`] forbids, unless both addresses are a constant apart from one and the
//!   same base and the bytes don't overlap;
//! - **order**: what depends on which lanes run together, and what reads the clock, stays in sequence.
//!
//! Latencies are the table's for fixed ones and [`estimate`]s for the rest. Cost: linear in the instructions.
//! Last definitions and readers are looked up in maps; memory operations are compared with at most
//! [`MEMORY_WINDOW`] others, after which the newest stands for all before it.

use petgraph::graph::DiGraph;
use ptxc_sass::latency::{Dependence, Side, Source, latency, reads_at_issue};
use ptxc_sass::memory_order::{may_swap, may_swap_if_disjoint};
use ptxc_sass::{AccessRole, Arch, Completion, Inst, OperandKind, RegFile};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::address::{Place, place};
use super::estimate;
use super::pressure::{NodeValues, Tracker, Value};
use super::region::{Dep, DepKind, Node, NodeData, Region};
use super::unit::Unit;
use crate::interrupt;
use crate::mir::MInst;

/// Memory operations that a new one is compared with.
const MEMORY_WINDOW: usize = 64;

/// Definitions that may still be visible under guarded ones; older ones come before these anyway.
const VISIBLE_DEFS: usize = 4;

/// What a region must know of its surroundings.
pub(super) struct Surroundings<'a, R> {
    pub(super) arch: Arch,
    /// What is needed after the region.
    pub(super) live_after: &'a FxHashSet<R>,
    /// Registers that hold a needed value at its start, by file.
    pub(super) live_before: [i32; RegFile::ALL.len()],
    /// For what the block's edges hand on, the parameters that receive it.
    pub(super) becomes: &'a FxHashMap<R, SmallVec<[R; 1]>>,
    /// The predicate that the block's branch reads, if the region is the block's last.
    pub(super) branch_guard: Option<R>,
    pub(super) frequency: u64,
    pub(super) pressure_limit: u32,
}

/// Builds the region of these instructions.
pub(super) fn build<R: Unit>(insts: &[MInst<R>], around: &Surroundings<'_, R>) -> Region {
    let mut builder = Builder {
        arch: around.arch,
        insts,
        becomes: around.becomes,
        graph: DiGraph::with_capacity(insts.len(), insts.len() * 2),
        state: FxHashMap::default(),
        memory: Vec::new(),
        memory_before: None,
        last_ordered: None,
        tracker: Tracker { live: around.live_before, ..Tracker::default() },
    };
    for index in 0..insts.len() {
        interrupt::poll();
        builder.add(index);
    }
    builder.finish(around)
}

/// What is known of one register component while building.
struct RegisterState {
    defs: SmallVec<[(u32, Slot); 2]>,
    readers: SmallVec<[(u32, Slot); 4]>,
    value: u32,
}

/// An access within an instruction.
#[derive(Clone, Copy)]
struct Slot {
    slot: u8,
    component: u8,
}

struct Builder<'a, R> {
    arch: Arch,
    insts: &'a [MInst<R>],
    becomes: &'a FxHashMap<R, SmallVec<[R; 1]>>,
    graph: DiGraph<NodeData, Dep, u32>,
    state: FxHashMap<R, RegisterState>,
    memory: Vec<(u32, Option<Place<R>>)>,
    memory_before: Option<u32>,
    last_ordered: Option<u32>,
    tracker: Tracker,
}

impl<R: Unit> Builder<'_, R> {
    fn add(&mut self, index: usize) {
        let minst = &self.insts[index];
        let inst = &minst.inst;
        let node = self.graph.add_node(NodeData { op: inst.op, height: 0, tail: 0 });
        let mut edges: SmallVec<[(u32, Dep); 8]> = SmallVec::new();
        let mut values = NodeValues::default();
        let accesses = inst.accesses();

        // The address is looked at before the instruction overwrites its base.
        let effects = inst.row().effects;
        let touches_memory = effects.reads_memory || effects.writes_memory || effects.fence;
        let place = touches_memory.then(|| place(inst, |reg| self.version(reg))).flatten();

        for access in accesses.iter().filter(|access| access.role != AccessRole::Def) {
            for component in 0..access.width {
                if let Some(reg) = access.reg.nth(component) {
                    let slot = Slot { slot: access.slot, component };
                    self.read(index, reg, slot, &mut edges, &mut values);
                }
            }
        }
        for access in accesses.iter().filter(|access| access.role == AccessRole::Def) {
            let tied = minst.tied.iter().find(|&&(slot, _)| slot == access.slot).map(|&(_, old)| old);
            for component in 0..access.width {
                let Some(reg) = access.reg.nth(component) else { continue };
                let slot = Slot { slot: access.slot, component };
                let old = tied.and_then(|old| old.nth(component)).filter(|&old| old != reg);
                if let Some(old) = old {
                    self.read_value(old, &mut values);
                    self.overwrite(index, old, slot, &mut edges);
                }
                self.write(index, reg, slot, old, &mut edges, &mut values);
            }
        }
        if touches_memory {
            self.order_memory(index, place, &mut edges);
        }
        if (effects.convergent || reads_clock(inst))
            && let Some(last) = self.last_ordered.replace(index as u32)
        {
            edges.push((last, Dep { kind: DepKind::Order, latency: 1 }));
        }

        edges.sort_by_key(|&(from, dep)| (from, std::cmp::Reverse(dep.latency), dep.kind));
        edges.dedup_by_key(|&mut (from, _)| from);
        for (from, dep) in edges {
            if from != index as u32 {
                self.graph.add_edge(Node::new(from as usize), node, dep);
            }
        }
        self.tracker.nodes.push(values);
    }

    fn entry(&mut self, reg: R) -> &mut RegisterState {
        let values = &mut self.tracker.values;
        self.state.entry(reg).or_insert_with(|| {
            values.push(Value { file: reg.file(), uses: 0, lives_on: false });
            let value = values.len() as u32 - 1;
            RegisterState { defs: SmallVec::new(), readers: SmallVec::new(), value }
        })
    }

    /// The last definition of a register, as a name for its content.
    fn version(&self, reg: R) -> Option<u32> {
        self.state.get(&reg).and_then(|state| state.defs.last()).map(|&(node, _)| node)
    }

    fn read(
        &mut self,
        index: usize,
        reg: R,
        slot: Slot,
        edges: &mut SmallVec<[(u32, Dep); 8]>,
        values: &mut NodeValues,
    ) {
        let (arch, insts) = (self.arch, self.insts);
        let state = self.entry(reg);
        for &(from, def) in &state.defs {
            let cycles = cycles(arch, insts, Dependence::Raw, (from, def), (index as u32, slot));
            edges.push((from, Dep { kind: DepKind::Raw, latency: cycles }));
        }
        state.readers.push((index as u32, slot));
        self.read_value(reg, values);
    }

    fn read_value(&mut self, reg: R, values: &mut NodeValues) {
        let value = self.entry(reg).value;
        if !values.uses.contains(&value) {
            values.uses.push(value);
            self.tracker.values[value as usize].uses += 1;
        }
    }

    /// Edges from all that reads or writes a register to what overwrites it.
    fn overwrite(&mut self, index: usize, reg: R, slot: Slot, edges: &mut SmallVec<[(u32, Dep); 8]>) {
        let Some(state) = self.state.get(&reg) else { return };
        let to = (index as u32, slot);
        for &(from, reader) in &state.readers {
            let latency = cycles(self.arch, self.insts, Dependence::War, (from, reader), to);
            edges.push((from, Dep { kind: DepKind::War, latency }));
        }
        for &(from, def) in &state.defs {
            let latency = cycles(self.arch, self.insts, Dependence::Waw, (from, def), to);
            edges.push((from, Dep { kind: DepKind::Waw, latency }));
        }
    }

    fn write(
        &mut self,
        index: usize,
        reg: R,
        slot: Slot,
        old: Option<R>,
        edges: &mut SmallVec<[(u32, Dep); 8]>,
        values: &mut NodeValues,
    ) {
        self.overwrite(index, reg, slot, edges);
        for &param in self.becomes.get(&reg).into_iter().flatten() {
            self.overwrite(index, param, slot, edges);
        }
        let guarded = self.insts[index].inst.guard.is_some();
        if guarded && old.is_none() {
            // The old content of the same register lives on where the guard fails.
            self.read_value(reg, values);
        }
        let inherited: SmallVec<[(u32, Slot); 2]> = match old {
            Some(old) if guarded => self.entry(old).defs.clone(),
            _ => SmallVec::new(),
        };
        let file = reg.file();
        self.tracker.values.push(Value { file, uses: 0, lives_on: false });
        let value = self.tracker.values.len() as u32 - 1;
        let state = self.entry(reg);
        state.value = value;
        if guarded {
            state.defs.extend(inherited);
            state.defs.push((index as u32, slot));
            if state.defs.len() > VISIBLE_DEFS {
                state.defs.remove(0);
            }
        } else {
            state.defs.clear();
            state.defs.push((index as u32, slot));
        }
        state.readers.clear();
        values.defs.push(value);
    }

    fn order_memory(&mut self, index: usize, place: Option<Place<R>>, edges: &mut SmallVec<[(u32, Dep); 8]>) {
        let second = &self.insts[index].inst;
        let dep = Dep { kind: DepKind::Memory, latency: 1 };
        edges.extend(self.memory_before.map(|before| (before, dep)));
        let full = self.memory.len() >= MEMORY_WINDOW;
        for (before, other) in &self.memory {
            let first = &self.insts[*before as usize].inst;
            let disjoint = matches!((other, &place), (Some(a), Some(b)) if a.is_disjoint(b))
                && may_swap_if_disjoint(first, second);
            if full || !(disjoint || may_swap(first, second)) {
                edges.push((*before, dep));
            }
        }
        if full {
            self.memory.clear();
            self.memory_before = Some(index as u32);
        }
        self.memory.push((index as u32, place));
    }

    fn finish(mut self, around: &Surroundings<'_, R>) -> Region {
        for (reg, state) in &self.state {
            // Each register sets its own value: the order of the map does not matter.
            self.tracker.values[state.value as usize].lives_on = around.live_after.contains(reg);
            for &(node, slot) in &state.defs {
                let inst = &self.insts[node as usize].inst;
                let variable = inst.completion(self.arch) == Completion::Variable;
                let tail = if around.branch_guard == Some(*reg) {
                    let branch = Inst::new(ptxc_sass::Op::BRA).guarded(*reg, false);
                    let guard = branch.row().slots.len() as u8;
                    let from = Side { inst, slot: slot.slot, component: slot.component };
                    let to = Side { inst: &branch, slot: guard, component: 0 };
                    u32::from(latency(self.arch, Dependence::Raw, from, to).safe)
                } else if variable && around.live_after.contains(reg) {
                    estimate::completion(inst)
                } else {
                    0
                };
                let data = &mut self.graph[Node::new(node as usize)];
                data.tail = data.tail.max(tail);
            }
        }
        Region::new(self.graph, self.tracker, around.frequency, around.pressure_limit)
    }
}

/// Cycles that a dependence asks for between two issues.
fn cycles<R: Unit>(
    arch: Arch,
    insts: &[MInst<R>],
    dependence: Dependence,
    (from, at): (u32, Slot),
    (to, there): (u32, Slot),
) -> u32 {
    let (producer, consumer) = (&insts[from as usize].inst, &insts[to as usize].inst);
    let found = latency(
        arch,
        dependence,
        Side { inst: producer, slot: at.slot, component: at.component },
        Side { inst: consumer, slot: there.slot, component: there.component },
    );
    match (found.source, dependence) {
        (Source::Scoreboard, Dependence::War) if !reads_at_issue(arch, producer, RegFile::Gpr) => {
            estimate::OPERAND_READ
        }
        (Source::Scoreboard, _) => estimate::completion(producer),
        _ => u32::from(found.safe),
    }
}

/// Whether it reads the clock, which must not move against other readings.
pub(super) fn reads_clock<R: Unit>(inst: &Inst<R>) -> bool {
    inst.operands.iter().any(|operand| matches!(operand.kind, OperandKind::Special(sr) if sr.is_clock()))
}
