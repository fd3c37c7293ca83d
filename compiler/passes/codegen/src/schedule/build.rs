//! The dependence graph of a region.
//!
//! In: straight-line instructions over virtual or physical registers. Out: a [`Region`] whose edges
//! are
//!
//! - **registers**, by single component: RAW from the last definition (and from guarded ones on top
//!   of an older one), WAR from the readers since, WAW from definition to definition. A virtual
//!   register is defined once. Only a guarded definition ties two of them to one place: it
//!   overwrites the old content that it names, so it comes after all readers of that content;
//! - **loops**: the definition of an edge argument comes after all readers of the parameter's
//!   present content in the block, so that both can share a register (`i` and `i + 1`);
//! - **memory**: pairs that [`MemoryUse::may_swap`] forbids, unless both addresses are constant
//!   distances from the same base and the bytes don't overlap;
//! - **order**: instructions that decide which lanes run together, and those that read the clock,
//!   stay in sequence; those that only depend on the lanes stay between two of them.
//!
//! Latencies are the table's for fixed ones and [`estimate`]s for the rest. Cost: linear in the
//! instructions. Last definitions and readers are looked up by the numbers of registers, in tables
//! that stay from region to region; a memory operation is compared with at most [`MEMORY_WINDOW`]
//! others; beyond that, the newest stands for all earlier ones.

use ptxc_machine::Arch;
use ptxc_sass::latency::{Dependence, Side, Source, latency, reads_at_issue};
use ptxc_sass::memory_order::{MemoryUse, only_depends_on_lanes};
use ptxc_sass::{Completion, Inst, Op, OperandKind, RegFile};
use smallvec::SmallVec;

use super::accesses::{Accesses, Role};
use super::address::{Place, place};
use super::estimate;
use super::live::LiveSet;
use super::pressure::NOBODY;
use super::region::{Dep, DepKind, Region};
use super::unit::{Numbers, Unit};
use crate::mir::MInst;

/// The most memory operations that a new one is compared with.
const MEMORY_WINDOW: usize = 64;

/// The most definitions that are tracked as visible under guarded ones; older ones come before
/// these anyway.
const VISIBLE_DEFS: usize = 4;

/// The facts about its surroundings that a region needs.
pub(super) struct Surroundings<'a> {
    pub(super) arch: Arch,
    /// The accesses of the function's instructions, and the number of the region's first
    /// instruction among them.
    pub(super) accesses: &'a Accesses,
    pub(super) first: usize,
    /// The registers that are needed after the region.
    pub(super) live_after: &'a LiveSet,
    /// The arguments of the block's edges, each with a parameter that receives it; in order.
    pub(super) edge_arguments: &'a [(u32, u32)],
    /// The predicate that the block's branch reads, if the region is the block's last.
    pub(super) branch_guard: Option<u32>,
    pub(super) frequency: u64,
    pub(super) pressure_limit: u32,
}

/// Marks a missing link, value or register.
const NONE: u32 = u32::MAX;

/// The state of one register while building. Its definitions and readers are chains of [`Link`]s,
/// the newest first.
struct State {
    number: u32,
    file: RegFile,
    /// Its content, as a value of the region; [`NONE`] as long as nothing reads the content from
    /// before the region.
    value: u32,
    defs: u32,
    readers: u32,
}

/// A node that reads or writes a register, and the next older one.
#[derive(Clone, Copy)]
struct Link {
    node: u32,
    slot: Slot,
    older: u32,
}

/// An access within an instruction.
#[derive(Clone, Copy)]
struct Slot {
    slot: u8,
    component: u8,
}

/// A node that touches memory.
#[derive(Clone, Copy)]
struct MemoryNode<R> {
    node: u32,
    does: MemoryUse,
    place: Option<Place<R>>,
}

/// Tables for building regions, one after the other.
pub(super) struct Tables<R> {
    /// For the number of each register its place in `states`; [`NONE`] for those that the region
    /// does not touch.
    places: Vec<u32>,
    states: Vec<State>,
    links: Vec<Link>,
    /// For each node whose results a scoreboard announces, the cycles that these take.
    announced: Vec<Option<u32>>,
    memory: Vec<MemoryNode<R>>,
    /// The instructions that only depend on which lanes run together, since the last other one of those
    /// that stay in sequence.
    of_lanes: Vec<u32>,
}

impl<R: Unit> Tables<R> {
    /// Tables for this number of registers.
    pub(super) fn new(registers: usize) -> Tables<R> {
        Tables {
            places: vec![NONE; registers],
            states: Vec::new(),
            links: Vec::new(),
            announced: Vec::new(),
            memory: Vec::new(),
            of_lanes: Vec::new(),
        }
    }

    fn clear(&mut self) {
        let Tables { places, states, links, announced, memory, of_lanes } = self;
        states.drain(..).for_each(|state| places[state.number as usize] = NONE);
        links.clear();
        announced.clear();
        memory.clear();
        of_lanes.clear();
    }

    /// Builds the region of these instructions; replaces the content of `region`.
    pub(super) fn build<N: Numbers<R>>(
        &mut self,
        insts: &[MInst<R>],
        numbers: &N,
        around: &Surroundings<'_>,
        region: &mut Region,
    ) {
        self.clear();
        region.clear(around.frequency, around.arch, around.pressure_limit);
        // Reserves room, so that the lists of a small kernel are allocated once.
        let count = insts.len();
        self.announced.reserve(count);
        self.states.reserve(2 * count);
        self.links.reserve(4 * count);
        region.reserve(count);
        let mut builder = Builder {
            arch: around.arch,
            insts,
            numbers,
            edge_arguments: around.edge_arguments,
            tables: self,
            region,
            memory_before: None,
            last_ordered: None,
        };
        for index in 0..insts.len() {
            builder.add(index as u32, around);
        }
        builder.finish(around);
    }
}

struct Builder<'a, R, N> {
    arch: Arch,
    insts: &'a [MInst<R>],
    numbers: &'a N,
    edge_arguments: &'a [(u32, u32)],
    tables: &'a mut Tables<R>,
    region: &'a mut Region,
    memory_before: Option<u32>,
    last_ordered: Option<u32>,
}

impl<R: Unit, N: Numbers<R>> Builder<'_, R, N> {
    fn add(&mut self, index: u32, around: &Surroundings<'_>) {
        let minst = &self.insts[index as usize];
        let inst = &minst.inst;
        self.region.add_node(inst.op);
        let is_variable = inst.completion(self.arch) == Completion::Variable;
        self.tables.announced.push(is_variable.then(|| estimate::completion(inst)));

        // The address is computed before the instruction overwrites its base.
        let effects = &inst.row().effects;
        let touches_memory = effects.reads_memory || effects.writes_memory || effects.fence;
        let place = touches_memory.then(|| place(inst, |reg| self.version(reg))).flatten();

        let guarded = inst.guard.is_some();
        for access in around.accesses.of(around.first + index as usize) {
            match access.role {
                Role::Use => {
                    for (component, reg) in (0..).zip(access.numbers()) {
                        self.read(index, reg, access.file, Slot { slot: access.slot, component });
                    }
                }
                // Handled with the definition that it is tied to.
                Role::Tied => {}
                Role::Def | Role::GuardedDef => {
                    let tied = minst.tied.iter().find(|&&(slot, _)| slot == access.slot).map(|&(_, old)| old);
                    for (component, reg) in (0..).zip(access.numbers()) {
                        let slot = Slot { slot: access.slot, component };
                        let old = tied.and_then(|old| old.nth(component));
                        let old = old.map(|old| (self.numbers.number(old), old.file()));
                        let old =
                            old.filter(|&(old, _)| old != reg).map(|(old, file)| self.place_of(old, file));
                        if let Some(old) = old {
                            self.read_value(index, old);
                            self.overwrite(index, old, slot);
                        }
                        self.write(index, reg, access.file, slot, guarded, old);
                    }
                }
            }
        }
        if touches_memory {
            self.order_memory(index, place);
        }
        if effects.convergent || reads_clock(inst) {
            self.order_lanes(index);
        }
        self.region.end_node();
    }

    /// The place of a register among those that the region touches.
    fn place_of(&mut self, number: u32, file: RegFile) -> usize {
        let Tables { places, states, .. } = &mut *self.tables;
        let place = &mut places[number as usize];
        if *place == NONE {
            *place = states.len() as u32;
            states.push(State { number, file, value: NONE, defs: NONE, readers: NONE });
        }
        *place as usize
    }

    /// The same, if the region has touched it.
    fn known_place(&self, number: u32) -> Option<usize> {
        Some(self.tables.places[number as usize]).filter(|&place| place != NONE).map(|place| place as usize)
    }

    /// The last definition of a register, as a name for its content.
    fn version(&self, reg: R) -> Option<u32> {
        let state = &self.tables.states[self.known_place(self.numbers.number(reg))?];
        self.tables.links.get(state.defs as usize).map(|link| link.node)
    }

    fn link(&mut self, node: u32, slot: Slot, older: u32) -> u32 {
        self.tables.links.push(Link { node, slot, older });
        self.tables.links.len() as u32 - 1
    }

    fn read(&mut self, index: u32, reg: u32, file: RegFile, slot: Slot) {
        let place = self.place_of(reg, file);
        let State { defs, readers, .. } = self.tables.states[place];
        let mut next = defs;
        while let Some(&Link { node, slot: def, older }) = self.tables.links.get(next as usize) {
            self.depend(Dependence::Raw, (node, def), (index, slot));
            next = older;
        }
        self.tables.states[place].readers = self.link(index, slot, readers);
        self.read_value(index, place);
    }

    fn read_value(&mut self, index: u32, place: usize) {
        let State { file, value, .. } = &mut self.tables.states[place];
        if *value == NONE {
            *value = self.region.pressure.add_value(*file, NOBODY);
        }
        self.region.pressure.add_read(index, *value);
    }

    /// Adds edges from all readers and writers of a register to the instruction that overwrites it.
    fn overwrite(&mut self, index: u32, place: usize, slot: Slot) {
        let State { defs, readers, .. } = self.tables.states[place];
        for (dependence, first) in [(Dependence::War, readers), (Dependence::Waw, defs)] {
            let mut next = first;
            while let Some(&Link { node, slot: from, older }) = self.tables.links.get(next as usize) {
                self.depend(dependence, (node, from), (index, slot));
                next = older;
            }
        }
    }

    /// Adds a definition. `old` is the place of the register whose content stays if the guard
    /// fails.
    fn write(&mut self, index: u32, reg: u32, file: RegFile, slot: Slot, guarded: bool, old: Option<usize>) {
        let place = self.place_of(reg, file);
        self.overwrite(index, place, slot);
        let start = self.edge_arguments.partition_point(|&(from, _)| from < reg);
        for &(_, param) in self.edge_arguments[start..].iter().take_while(|&&(from, _)| from == reg) {
            if let Some(param) = self.known_place(param) {
                self.overwrite(index, param, slot);
            }
        }
        if guarded && old.is_none() {
            // The old content of the same register lives on if the guard fails.
            self.read_value(index, place);
        }
        let older = if guarded { self.visible(place, old) } else { NONE };
        let def = self.link(index, slot, older);
        let state = &mut self.tables.states[place];
        (state.defs, state.readers) = (def, NONE);
        state.value = self.region.pressure.add_value(file, index);
    }

    /// The definitions that a guarded one on top of them leaves visible: those of the register, and
    /// newer ones of another whose content stays.
    fn visible(&mut self, place: usize, old: Option<usize>) -> u32 {
        let mut defs: SmallVec<[(u32, Slot); 8]> = SmallVec::new();
        for place in old.into_iter().chain([place]) {
            let mut next = self.tables.states[place].defs;
            while let Some(&Link { node, slot, older }) = self.tables.links.get(next as usize) {
                defs.push((node, slot));
                next = older;
            }
        }
        if defs.len() >= VISIBLE_DEFS {
            defs.pop();
        }
        defs.into_iter().rev().fold(NONE, |older, (node, slot)| self.link(node, slot, older))
    }

    /// Instructions that only depend on which lanes run together stay between two others.
    fn order_lanes(&mut self, node: u32) {
        let dep = Dep { kind: DepKind::Order, latency: 1 };
        if let Some(last) = self.last_ordered {
            self.region.add_edge(last, dep);
        }
        if only_depends_on_lanes(self.insts[node as usize].inst.op) {
            self.tables.of_lanes.push(node);
        } else {
            for other in self.tables.of_lanes.drain(..) {
                self.region.add_edge(other, dep);
            }
            self.last_ordered = Some(node);
        }
    }

    fn order_memory(&mut self, node: u32, place: Option<Place<R>>) {
        let does = MemoryUse::of(&self.insts[node as usize].inst);
        let dep = Dep { kind: DepKind::Memory, latency: 1 };
        if let Some(before) = self.memory_before {
            self.region.add_edge(before, dep);
        }
        let full = self.tables.memory.len() >= MEMORY_WINDOW;
        for other in &self.tables.memory {
            let is_disjoint =
                || matches!((&other.place, &place), (Some(there), Some(here)) if there.is_disjoint(here));
            let is_free =
                || other.does.may_swap(does) || (other.does.may_swap_if_disjoint(does) && is_disjoint());
            if full || !is_free() {
                self.region.add_edge(other.node, dep);
            }
        }
        if full {
            self.tables.memory.clear();
            self.memory_before = Some(node);
        }
        self.tables.memory.push(MemoryNode { node, does, place });
    }

    fn finish(&mut self, around: &Surroundings<'_>) {
        let Tables { states, links, announced, .. } = &*self.tables;
        for state in states {
            let lives_on = around.live_after.contains(state.number);
            if let Some(value) = self.region.pressure.values.get_mut(state.value as usize) {
                value.lives_on = lives_on;
            }
            let is_branch_guard = around.branch_guard == Some(state.number);
            let mut next = if lives_on || is_branch_guard { state.defs } else { NONE };
            while let Some(&Link { node, slot, older }) = links.get(next as usize) {
                let tail = match announced[node as usize] {
                    _ if is_branch_guard => self.until_branch(node, slot),
                    Some(cycles) if lives_on => cycles,
                    _ => 0,
                };
                self.region.add_tail(node, tail);
                next = older;
            }
        }
        self.region.finish();
    }

    /// Cycles from a node to the branch whose guard it defines.
    fn until_branch(&self, node: u32, slot: Slot) -> u32 {
        let branch = Inst::<R>::new(Op::BRA);
        let guard = branch.row().slots.len() as u8;
        let inst = &self.insts[node as usize].inst;
        let from = Side { inst, slot: slot.slot, component: slot.component };
        let to = Side { inst: &branch, slot: guard, component: 0 };
        u32::from(latency(self.arch, Dependence::Raw, from, to).safe)
    }

    /// An edge for a dependence between two accesses.
    fn depend(&mut self, dependence: Dependence, from: (u32, Slot), to: (u32, Slot)) {
        if from.0 != to.0 {
            let (kind, latency) = match dependence {
                Dependence::Raw => (DepKind::Raw, self.after_definition(dependence, from, to)),
                Dependence::War => (DepKind::War, self.after_reader(from, to)),
                Dependence::Waw => (DepKind::Waw, self.after_definition(dependence, from, to)),
            };
            self.region.add_edge(from.0, Dep { kind, latency });
        }
    }

    /// Cycles from a definition to an instruction that reads or overwrites its result.
    fn after_definition(&self, dependence: Dependence, from: (u32, Slot), to: (u32, Slot)) -> u32 {
        match self.tables.announced[from.0 as usize] {
            Some(cycles) => cycles,
            None => u32::from(latency(self.arch, dependence, self.side(from), self.side(to)).safe),
        }
    }

    /// Cycles from a reader to an instruction that overwrites the operand.
    fn after_reader(&self, from: (u32, Slot), to: (u32, Slot)) -> u32 {
        let reader = self.side(from);
        let found = latency(self.arch, Dependence::War, reader, self.side(to));
        match found.source {
            Source::Scoreboard if reads_at_issue(self.arch, reader.inst, RegFile::Gpr) => {
                estimate::completion(reader.inst)
            }
            Source::Scoreboard => estimate::OPERAND_READ,
            _ => u32::from(found.safe),
        }
    }

    fn side(&self, (node, slot): (u32, Slot)) -> Side<'_, R> {
        Side { inst: &self.insts[node as usize].inst, slot: slot.slot, component: slot.component }
    }
}

/// The instructions with a slot for a special register.
pub(super) const READ_SPECIAL: [Op; 4] = [Op::S2R, Op::S2UR, Op::CS2R, Op::CS2R_32];

/// Whether it reads the clock, which must not move against other readings.
fn reads_clock<R: Unit>(inst: &Inst<R>) -> bool {
    let is_clock = |kind| matches!(kind, OperandKind::Special(sr) if sr.is_clock());
    READ_SPECIAL.contains(&inst.op) && inst.operands.iter().any(|operand| is_clock(operand.kind))
}
