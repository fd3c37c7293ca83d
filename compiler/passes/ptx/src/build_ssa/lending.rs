//! Lends registers to the products of a warpgroup, and takes them back.
//!
//! In: a function whose [products](super::warpgroup) take and give ordinary values, as PTX has it.
//! Out: each product takes [lent](ptxc_ir::op) values and gives lent ones, and after a wait they
//! are settled.
//!
//! ```text
//! warpgroup_arrive                               v8, v9, … = lend.f32.x4 v4, v5, …
//! v12, … = warpgroup_product v1, v2, v4, …       warpgroup_arrive
//! warpgroup_commit                         =>    v12, … = warpgroup_product v1, v2, v8, …
//! warpgroup_wait 0                               warpgroup_commit
//! … v12 …                                        warpgroup_wait 0
//!                                                v16, … = settle.f32.x4 v12, …
//!                                                … v16 …
//! ```
//!
//! A data-flow analysis ([`flights`](super::flights)) finds the products that may be under way at
//! each point. PTX leaves it undefined what a program finds in their registers, but compilers
//! before us copy them where control flow meets. So parameters may be in flight, too. Where the
//! program does more with a value in flight, or where control flow meets from places with different
//! products under way, all products of the function are performed one after another, as ptxas does:
//! each of them with an arrival, a commit and a wait of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use cranelift_entity::SecondaryMap;
use ptxc_ir::warpgroup::{Count, GroupOptions, Groups};
use ptxc_ir::{Block, Function, Inst, InstData, Op, SourceLoc, Type, Value};
use ptxc_syntax::NodeId;

use super::flights::{Flights, Landed, State};
use super::ssa::{Above, Ssa};
use crate::check::codes;
use crate::check::scope::Register;
use crate::diagnostic::{Diagnostic, source_node};

/// Marks everything that is lent to products. Returns a warning if they are performed one after
/// another.
pub(super) fn lend(func: &mut Function) -> Option<Diagnostic> {
    let Some(flights) = Flights::find(func) else {
        let products = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
        let first = products.copied().find(|&inst| matches!(func.insts[inst].op, Op::WarpgroupProduct(_)));
        let node = first.and_then(|inst| source_node(func.insts[inst].loc));
        one_after_another(func);
        return Some(serialized(node.unwrap_or(NodeId(0))));
    };
    overlapping(func, &flights);
    None
}

/// The warning about products that are performed one after another, at the first of them.
fn serialized(first: NodeId) -> Diagnostic {
    let message = "the products of this function are performed one after another";
    Diagnostic::warning(codes::SERIALIZED_PRODUCTS, first, message)
        .label("this is the first of them")
        .note(
            "a register of a product is used while the product is under way, or control flow meets from \
             places with different products under way (PTX ISA, `wgmma.mma_async`)",
        )
        .help("use the registers after a `wgmma.wait_group` for the group of the product")
}

/// The ranges of a product's arguments that are registers of the product while it is under way.
pub(super) struct Borrowed {
    /// c.
    pub sums: Range<usize>,
    /// What it only reads: a, if it is in registers, and the places of its elements.
    pub read: [Range<usize>; 2],
}

/// What a product borrows.
pub(super) fn borrowed(op: Op, args: &[Value]) -> Option<Borrowed> {
    let Op::WarpgroupProduct(product) = op else { return None };
    let parts = product.parts(args)?;
    let first = parts.a.len() + 1;
    let of_a = if product.options.has(GroupOptions::REGISTERS) { parts.a.len() } else { 0 };
    let end = args.len();
    let places = end - usize::from(parts.places.is_some());
    Some(Borrowed { sums: first..first + parts.c.len(), read: [0..of_a, places..end] })
}

/// Whether an operation gives the same value anywhere.
const fn is_constant(op: Op) -> bool {
    matches!(op, Op::Const(_) | Op::Undef)
}

/// A block's instructions in the making.
struct Body<'a> {
    func: &'a mut Function,
    loc: SourceLoc,
    insts: Vec<Inst>,
}

impl Body<'_> {
    fn make(&mut self, op: Op, ty: Type, args: &[Value]) -> Inst {
        self.func.make_inst(InstData::new(op, ty, args).at(self.loc))
    }

    fn push(&mut self, op: Op, ty: Type, args: &[Value]) -> Inst {
        let inst = self.make(op, ty, args);
        self.insts.push(inst);
        inst
    }

    /// Lends values of one type before the instruction at a place; returns their lent names.
    /// A constant gets a new definition here, since its own may come later.
    fn lend_at(&mut self, place: usize, values: &[Value]) -> Vec<Value> {
        let count = Count(values.len() as u8);
        let mut constants: BTreeMap<Value, (Inst, Value)> = BTreeMap::new();
        let mut values = values.to_vec();
        for value in &mut values {
            let Some(op) = self.func.def_inst(*value).map(|data| data.op).filter(|&op| is_constant(op))
            else {
                continue;
            };
            let ty = self.func.ty(*value);
            let known = constants.get(value).copied();
            let (inst, made) = known.unwrap_or_else(|| {
                let inst = self.make(op, ty, &[]);
                (inst, self.func.result(inst))
            });
            constants.insert(*value, (inst, made));
            *value = made;
        }
        let inst = self.make(Op::Lend { count }, self.func.ty(values[0]), &values);
        let new = constants.into_values().map(|(inst, _)| inst).chain([inst]);
        self.insts.splice(place..place, new);
        self.func.results(inst).to_vec()
    }

    /// Settles the sums of a product; returns their new names.
    fn settle(&mut self, values: &[Value]) -> Vec<Value> {
        let count = Count(values.len() as u8);
        let inst = self.push(Op::Settle { count }, self.func.ty(values[0]), values);
        self.func.results(inst).to_vec()
    }

    fn release(&mut self, values: &[Value]) {
        if let Some(&first) = values.first() {
            let count = Count(values.len() as u8);
            self.push(Op::Release { count }, self.func.ty(first), values);
        }
    }
}

/// Gives each product an arrival, a commit and a wait.
fn one_after_another(func: &mut Function) {
    let mut names: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    for index in 0..func.layout.len() {
        ptxc_interrupt::poll();
        let block = func.layout[index];
        let insts = std::mem::take(&mut func.blocks[block].insts);
        let mut body = Body { func, loc: SourceLoc::NONE, insts: Vec::with_capacity(insts.len()) };
        for inst in insts {
            let data = body.func.insts[inst].clone();
            let orders =
                matches!(data.op, Op::WarpgroupArrive | Op::WarpgroupCommit | Op::WarpgroupWait { .. });
            let Some(Borrowed { sums, read }) = borrowed(data.op, &data.args) else {
                if !orders {
                    body.insts.push(inst);
                }
                continue;
            };
            body.loc = data.loc;
            let mut args = data.args.to_vec();
            for range in read.iter().chain([&sums]).filter(|range| !range.is_empty()) {
                let lent = body.lend_at(body.insts.len(), &args[range.clone()]);
                args[range.clone()].copy_from_slice(&lent);
            }
            body.push(Op::WarpgroupArrive, Type::B32, &[]);
            body.func.replace(inst, data.op, data.ty, &args);
            body.insts.push(inst);
            body.push(Op::WarpgroupCommit, Type::B32, &[]);
            body.push(Op::WarpgroupWait { pending: Groups(0) }, Type::B32, &[]);
            let results = body.func.results(inst).to_vec();
            for (result, settled) in results.iter().zip(body.settle(&results)) {
                names[*result] = Some(settled);
            }
            read.into_iter().for_each(|range| body.release(&args[range]));
        }
        func.blocks[block].insts = body.insts;
    }
    // Only settling reads the lent results.
    for index in 0..func.layout.len() {
        let block = func.layout[index];
        for at in 0..func.blocks[block].insts.len() {
            let inst = func.blocks[block].insts[at];
            let data = &mut func.insts[inst];
            if matches!(data.op, Op::Settle { .. }) {
                continue;
            }
            let edges = data.targets.iter_mut().flat_map(|edge| &mut edge.args);
            for arg in data.args.iter_mut().chain(edges) {
                *arg = names[*arg].unwrap_or(*arg);
            }
        }
    }
}

/// Lends and settles where the program waits.
fn overlapping(func: &mut Function, flights: &Flights) {
    let registers = flights.settled(func);
    let mut pass = Overlapping { flights, registers, ssa: Ssa::new(), holds: BTreeMap::new() };
    let entry = func.entry();
    for index in 0..func.layout.len() {
        ptxc_interrupt::poll();
        let block = func.layout[index];
        pass.ssa.enter(block, if block == entry { Above::Nothing } else { Above::Join });
        for at in 0..func.blocks[block].params.len() {
            pass.define(block, func.blocks[block].params[at]);
        }
        pass.block(func, block);
    }
    pass.ssa.finish(func);
}

struct Overlapping<'a> {
    flights: &'a Flights,
    /// The variables for values that are settled.
    registers: BTreeMap<Value, Register>,
    ssa: Ssa,
    /// The lent names of what each product only reads.
    holds: BTreeMap<Inst, [Vec<Value>; 2]>,
}

impl Overlapping<'_> {
    /// Notes the definition of a value that is settled later.
    fn define(&mut self, block: Block, value: Value) {
        if let Some(&register) = self.registers.get(&value) {
            self.ssa.write(block, register, value);
        }
    }

    /// The name of a value that is not in flight.
    fn name(&mut self, func: &mut Function, block: Block, value: Value) -> Value {
        match self.registers.get(&value) {
            Some(&register) => {
                let ty = func.ty(value);
                self.ssa.read(func, block, register, ty)
            }
            None => value,
        }
    }

    fn block(&mut self, func: &mut Function, block: Block) {
        let mut state = self.flights.at_start(block);
        let insts = std::mem::take(&mut func.blocks[block].insts);
        // The place of the last arrival, and the values that are defined after it.
        let mut arrival = None;
        let mut late: BTreeSet<Value> = BTreeSet::new();
        // The lent names of what products only read, by their names before that arrival.
        let mut lent_before: BTreeMap<Vec<Value>, Vec<Value>> = BTreeMap::new();
        let mut body = Body { func, loc: SourceLoc::NONE, insts: Vec::with_capacity(insts.len()) };
        for inst in insts {
            let op = body.func.insts[inst].op;
            body.loc = body.func.insts[inst].loc;
            if op.is_terminator() && self.flights.waits(block) && !state.is_empty() {
                if state.is_open() {
                    body.push(Op::WarpgroupCommit, Type::B32, &[]);
                }
                body.push(Op::WarpgroupWait { pending: Groups(0) }, Type::B32, &[]);
                let landed = state.finish();
                self.land(&mut body, block, landed, &state);
            }
            if op.is_terminator() {
                self.lend_on_edges(&mut body, block, inst, &state);
            }
            self.rename(body.func, block, inst, &state);
            let data = body.func.insts[inst].clone();
            if let Some(Borrowed { sums, read }) = borrowed(op, &data.args) {
                let mut args = data.args.to_vec();
                let flies = args[sums.clone()].first().is_some_and(|&c| state.flies(c));
                let wanted = read.iter().chain((!flies).then_some(&sums)).filter(|range| !range.is_empty());
                let wanted: Vec<Range<usize>> = wanted.cloned().collect();
                let mut place = arrival.filter(|_| {
                    let precedes = |value: &Value| {
                        let is_constant = body.func.def_inst(*value).is_some_and(|data| is_constant(data.op));
                        is_constant || !late.contains(value)
                    };
                    wanted.iter().all(|range| args[range.clone()].iter().all(precedes))
                });
                if place.is_none() && !wanted.is_empty() {
                    place = Some(body.insts.len());
                    arrival = place;
                    late.clear();
                    lent_before.clear();
                    body.push(Op::WarpgroupArrive, Type::B32, &[]);
                }
                for range in wanted {
                    let Some(at) = place else { continue };
                    let values = args[range.clone()].to_vec();
                    if let Some(lent) = lent_before.get(&values).filter(|_| range != sums) {
                        args[range].copy_from_slice(lent);
                        continue;
                    }
                    let before = body.insts.len();
                    let lent = body.lend_at(at, &values);
                    let added = body.insts.len() - before;
                    args[range.clone()].copy_from_slice(&lent);
                    place = Some(at + added);
                    arrival = place;
                    if range != sums {
                        lent_before.insert(values, lent);
                    }
                }
                body.func.replace(inst, op, data.ty, &args);
                self.holds.insert(inst, read.map(|range| args[range].to_vec()));
            }
            if op == Op::WarpgroupArrive {
                arrival = Some(body.insts.len());
                late.clear();
                lent_before.clear();
            }
            body.insts.push(inst);
            for index in 0..body.func.results(inst).len() {
                let result = body.func.results(inst)[index];
                late.insert(result);
                self.define(block, result);
            }
            let landed = state.step(body.func, inst, &data);
            late.extend(self.land(&mut body, block, landed, &state));
        }
        func.blocks[block].insts = body.insts;
    }

    /// Settles and releases what a wait has completed, except what other products read; returns the
    /// settled values.
    fn land(&mut self, body: &mut Body<'_>, block: Block, landed: Landed, state: &State) -> Vec<Value> {
        let mut made = Vec::new();
        for sums in landed.sums {
            let settled = body.settle(&sums);
            for (value, &new) in sums.iter().zip(&settled) {
                if let Some(&register) = self.registers.get(value) {
                    self.ssa.write(block, register, new);
                }
            }
            made.extend(settled);
        }
        // The same registers may be lent to several products.
        let flying = state.products().filter_map(|product| self.holds.get(&product)).flatten();
        let mut released: BTreeSet<&[Value]> = flying.map(Vec::as_slice).collect();
        for product in landed.products {
            for held in self.holds.get(&product).into_iter().flatten() {
                if released.insert(held) {
                    body.release(held);
                }
            }
        }
        made
    }

    /// Replaces the names of values that are not in flight.
    fn rename(&mut self, func: &mut Function, block: Block, inst: Inst, state: &State) {
        for index in 0..func.insts[inst].args.len() {
            let value = func.insts[inst].args[index];
            if !state.flies(value) {
                func.insts[inst].args[index] = self.name(func, block, value);
            }
        }
        for edge in 0..func.insts[inst].targets.len() {
            for index in 0..func.insts[inst].targets[edge].args.len() {
                let value = func.insts[inst].targets[edge].args[index];
                if !state.flies(value) {
                    func.insts[inst].targets[edge].args[index] = self.name(func, block, value);
                }
            }
        }
    }

    /// Lends the ordinary arguments of parameters that are in flight on another edge.
    fn lend_on_edges(&mut self, body: &mut Body<'_>, block: Block, inst: Inst, state: &State) {
        for edge in 0..body.func.insts[inst].targets.len() {
            let target = body.func.insts[inst].targets[edge].block;
            let args = body.func.insts[inst].targets[edge].args.clone();
            let params = body.func.blocks[target].params.clone();
            let mut needs_arrival = false;
            for places in self.flights.flying_parameters(target, &params) {
                // All sums of a product are in flight, or none.
                if state.flies(args[places[0]]) {
                    continue;
                }
                let values: Vec<Value> =
                    places.iter().map(|&index| self.name(body.func, block, args[index])).collect();
                let lent = body.lend_at(body.insts.len(), &values);
                for (&index, lent) in places.iter().zip(lent) {
                    body.func.insts[inst].targets[edge].args[index] = lent;
                }
                needs_arrival = true;
            }
            if needs_arrival {
                body.push(Op::WarpgroupArrive, Type::B32, &[]);
            }
        }
    }
}
