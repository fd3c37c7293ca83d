//! Decodes a function and its callees to the flat list of nodes that the engine executes.
//!
//! Blocks are in reverse postorder and nodes are numbered in that order, so the group of lanes with
//! the lowest number is the one that is furthest behind. If it goes first, lanes reconverge where
//! paths join; callees come before their callers for the same reason. Each value has a slot, a
//! `b128` two. Arithmetic becomes a function of one lane. An edge becomes its target, with the
//! parallel moves for the block's parameters. The cost is linear in the size of the function.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::{BTreeMap, BTreeSet};

use cranelift_entity::{EntityRef, SecondaryMap};
use ptxc_ir::op::{BarrierKind, SpecialReg};
use ptxc_ir::{
    AtomicOp, Block, Callee, FuncRef, Function, FunctionKind, Inst, Op, Order, Space, Type, Value, arithmetic,
};
use rustc_hash::FxHashMap;

use super::arith::{self, lane};
use super::code::{Action, Body, Code, Edge, Matrix, Node, Numbers, Place, SlotIndex};
use super::guesses::guessed_loads;
use super::layout::Layout;
use super::warpgroup::Group;
use crate::error::SimError;
use crate::generic_atomic::Update;
use crate::memory::{
    self, CONSTANT_WINDOW, LOCAL_WINDOW, MODULE_BANK, PARAMETER_WINDOW, SHARED_WINDOW, read_le,
};
use crate::random::Random;
use crate::services::Service;

/// The addresses of the functions. The first function is a kernel and has none.
pub(super) fn function_addresses(functions: &[&Function]) -> BTreeMap<String, u64> {
    let callees = functions.iter().zip(0..).skip(1);
    callees.map(|(func, index)| (func.name.clone(), CODE_STEP * index)).collect()
}

/// The index of the function at an address.
pub(super) fn function_at(address: u64) -> Option<usize> {
    usize::try_from(address / CODE_STEP).ok().filter(|&index| index > 0 && address.is_multiple_of(CODE_STEP))
}

/// The distance between the addresses of two functions.
const CODE_STEP: u64 = 16;

/// Blocks in reverse postorder from the entry.
fn reverse_postorder(func: &Function) -> Vec<Block> {
    let mut seen: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut order = Vec::new();
    let mut stack = vec![(func.entry(), 0)];
    seen[func.entry()] = true;
    while let Some((block, next)) = stack.last_mut() {
        match func.edges(*block).get(*next) {
            Some(edge) => {
                *next += 1;
                if !std::mem::replace(&mut seen[edge.block], true) {
                    stack.push((edge.block, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

/// Decodes functions, of which the first is the kernel; its parameters have the given content.
pub(super) fn decode(
    functions: &[&Function],
    layouts: &[Layout],
    params: &[u8],
    random: &mut Random,
) -> Result<Code, SimError> {
    let mut by_name = FxHashMap::default();
    let mut bodies = Vec::new();
    let mut slots: Vec<SecondaryMap<Value, SlotIndex>> = Vec::new();
    let mut words = 0;
    for (index, (func, layout)) in functions.iter().zip(layouts).enumerate() {
        if func.layout.is_empty() {
            return Err(SimError::Case(format!("{} has no body", func.name)));
        }
        by_name.insert(func.name.as_str(), index);
        let first = words;
        let mut own = SecondaryMap::new();
        for index in 0..func.num_values() {
            let value = Value::new(index);
            own[value] = words;
            words += words_of(func.ty(value));
        }
        slots.push(own);
        bodies.push(Body { start: 0, slots: first..words, frame: layout.local_bytes });
    }
    // The order of the nodes: a jump to the kernel, the callees, the kernel.
    let mut starts: Vec<SecondaryMap<Block, u32>> = vec![SecondaryMap::new(); functions.len()];
    let mut pc = u32::from(functions.len() > 1);
    let mut order = Vec::new();
    for (index, func) in functions.iter().enumerate().rev() {
        bodies[index].start = pc;
        for block in reverse_postorder(func) {
            starts[index][block] = pc;
            pc += func.blocks[block].insts.iter().map(|&inst| nodes_of(&func.insts[inst].op)).sum::<u32>();
            order.push((index, block));
        }
    }
    let mut nodes = Vec::with_capacity(pc as usize);
    if functions.len() > 1 {
        let edge = Edge { pc: bodies[0].start, moves: Vec::new() };
        nodes.push(Node { func: 0, action: Action::Jump(edge), inst: Inst::new(0) });
    }
    let mut decoder = Decoder {
        func: functions[0],
        index: 0,
        functions,
        by_name: &by_name,
        layout: &layouts[0],
        params,
        random,
        slots: &slots,
        starts: &starts,
        guesses: &functions.iter().map(|func| guessed_loads(func)).collect::<Vec<_>>(),
        nodes,
    };
    for (index, block) in order {
        (decoder.index, decoder.func, decoder.layout) = (index, functions[index], &layouts[index]);
        for &inst in &functions[index].blocks[block].insts {
            let at = || describe(functions[index], inst);
            decoder.inst(inst).map_err(|what| SimError::Unsupported { at: at(), what })?;
        }
    }
    Ok(Code { nodes: decoder.nodes, functions: bodies, slots: words as usize })
}

/// An instruction as text.
pub(super) fn describe(func: &Function, inst: Inst) -> String {
    ptxc_ir::text::print_inst(func, inst)
}

/// Number of nodes of an operation.
fn nodes_of(op: &Op) -> u32 {
    if let Op::Bar(kind) | Op::Barrier { kind, .. } = op { 1 + u32::from(kind.is_reduction()) } else { 1 }
}

fn words_of(ty: Type) -> u32 {
    if ty == Type::B128 { 2 } else { 1 }
}

struct Decoder<'a> {
    func: &'a Function,
    index: usize,
    functions: &'a [&'a Function],
    by_name: &'a FxHashMap<&'a str, usize>,
    layout: &'a Layout,
    params: &'a [u8],
    random: &'a mut Random,
    slots: &'a [SecondaryMap<Value, SlotIndex>],
    starts: &'a [SecondaryMap<Block, u32>],
    /// The loads that only guess, of each function.
    guesses: &'a [BTreeSet<Inst>],
    nodes: Vec<Node>,
}

impl Decoder<'_> {
    fn inst(&mut self, inst: Inst) -> Result<(), String> {
        let func = self.func;
        let data = &func.insts[inst];
        let results: Vec<SlotIndex> =
            func.results(inst).iter().map(|&value| self.slots[self.index][value]).collect();
        let args: Vec<SlotIndex> = data.args.iter().map(|&value| self.slots[self.index][value]).collect();
        let name = ptxc_ir::signature::row(&data.op).mnemonic;
        let group = |group| Action::Matrix {
            matrix: Matrix::Group(group, name),
            d: results.clone(),
            args: args.clone(),
        };
        let d = results.first().copied().unwrap_or(0);
        let ty = data.ty;
        let action = match data.op {
            Op::Const(bits) => Action::Fill { d, words: vec![bits] },
            Op::Undef => {
                let mask = u64::MAX >> (64 - ty.bits().min(64));
                let words = (0..words_of(ty)).map(|_| self.random.next() & mask).collect();
                Action::Fill { d, words }
            }
            Op::Param { offset } => {
                let bytes = ty.bytes().ok_or("a predicate cannot be a parameter")? as usize;
                let slice = self.params.get(offset as usize..offset as usize + bytes);
                let slice =
                    slice.ok_or_else(|| format!("the parameters have {} bytes", self.params.len()))?;
                Action::Fill { d, words: slice.chunks(8).map(read_le).collect() }
            }
            Op::SymbolAddr(symbol) => {
                let address = self.layout.address(symbol).ok_or_else(|| {
                    let data = &func.symbols[symbol];
                    format!("{} variable {} has no address without a linker", data.space, data.name)
                })?;
                let space = func.symbols[symbol].space;
                if space == Space::Local {
                    Action::FrameAddr { d, offset: address as u32 }
                } else if space == Space::Shared {
                    Action::SharedAddr { d, offset: address }
                } else {
                    Action::Fill { d, words: vec![address] }
                }
            }
            Op::SpecialReg(SpecialReg::LocalTop | SpecialReg::CallerStack) => {
                Action::FrameAddr { d, offset: self.layout.local_bytes }
            }
            Op::SpecialReg(SpecialReg::LocalBottom | SpecialReg::Outgoing) => {
                Action::FrameAddr { d, offset: 0 }
            }
            Op::SpecialReg(register) => Action::Special { d, register },
            // The simulator has one device, so a multicast address stands for one place.
            Op::Load(access) | Op::LoadReduce { access, .. } => {
                let mask = u64::MAX >> (64 - ty.bits().min(64));
                let strong = access.is_strong() || self.guesses[self.index].contains(&inst);
                let place = Place { strong, ..self.place(&access, args[0])? };
                Action::Load { d: results, place, mask }
            }
            Op::Store(access) => {
                Action::Store { values: args[1..].to_vec(), place: self.place(&access, args[0])? }
            }
            Op::Atomic { op: op @ (AtomicOp::Exch | AtomicOp::Cas), access } if ty == Type::B128 => {
                let compare = op == AtomicOp::Cas;
                let args2 = [args[1], if compare { args[2] } else { args[1] }];
                Action::AtomicWide {
                    d: results.first().copied(),
                    args: args2,
                    place: self.place(&access, args[0])?,
                    compare,
                }
            }
            Op::Atomic { op: AtomicOp::Cast, access } => {
                Action::CompareStore { d, args: [args[1], args[2]], place: self.place(&access, args[0])? }
            }
            Op::TryAtomic { op, access } => {
                let update = |ftz| arith::atomic(op, ty, ftz).ok_or_else(|| format!("no {op} of {ty}"));
                Action::TryAtomic {
                    d: [d, results[1]],
                    args: [args[1], *args.get(2).unwrap_or(&args[1])],
                    place: self.place(&access, args[0])?,
                    update: Update::of(op),
                    f: [update(false)?, update(true)?],
                }
            }
            Op::Texture(_)
            | Op::ImageSize(_)
            | Op::SurfaceLoad(_)
            | Op::SurfaceStore(_)
            | Op::SurfaceRed { .. } => {
                Action::Image { op: data.op, d: results, args, bytes: ty.bytes().unwrap_or(4) }
            }
            Op::IsSpace(space) => Action::IsSpace { d, address: args[0], space: memory_space(space) },
            Op::Atomic { op, access } | Op::Red { op, access } => {
                let update = |ftz| arith::atomic(op, ty, ftz).ok_or_else(|| format!("no {op} of {ty}"));
                let f = [update(false)?, update(true)?];
                let operands = match args[1..] {
                    [expected, new] if op == AtomicOp::Cas => vec![[expected, new]],
                    ref elements => elements.iter().map(|&element| [element; 2]).collect(),
                };
                Action::Atomic { d: results, args: operands, place: self.place(&access, args[0])?, f }
            }
            Op::ToGeneric(space) | Op::FromGeneric(space) => {
                let window = match space {
                    Space::Generic | Space::Global => 0,
                    Space::Shared | Space::SharedCluster => SHARED_WINDOW,
                    Space::Local => LOCAL_WINDOW,
                    Space::Const => CONSTANT_WINDOW,
                    Space::Param => PARAMETER_WINDOW,
                    Space::Texture | Space::Sampler | Space::Surface => {
                        return Err(format!("a generic address of a {space}"));
                    }
                };
                let f = if matches!(data.op, Op::ToGeneric(_)) {
                    lane(move |[a, ..]| [a + window, 0])
                } else {
                    let mask = u64::MAX >> (64 - space.address_type().bits());
                    lane(move |[a, ..]| [a.wrapping_sub(window) & mask, 0])
                };
                Action::Compute { d, d2: None, args: [args[0]; 3], f }
            }
            Op::CachePolicy | Op::CacheHint => {
                Action::Compute { d, d2: None, args: [args[0]; 3], f: lane(|[a, ..]| [a, 0]) }
            }
            Op::Vote(mode) => Action::Vote { d, mode, p: args[0], mask: args.get(1).copied() },
            Op::Shfl(mode) => {
                let mask = args.get(3).copied();
                Action::Shfl { d, p: results[1], mode, args: [args[0], args[1], args[2]], mask }
            }
            Op::ActiveMask => Action::ActiveMask { d },
            Op::Match(_) => {
                Action::Match { d, all: results.get(1).copied(), a: args[0], mask: args.get(1).copied() }
            }
            Op::Redux(op) => Action::Redux { d, op, a: args[0], mask: args.get(1).copied() },
            Op::Elect => Action::Elect { d, p: results[1], mask: args.first().copied() },
            Op::MatrixLoad { access, transposed } => {
                let matrix = Matrix::Load { place: self.place(&access, args[0])?, transposed };
                Action::Matrix { matrix, d: results, args }
            }
            Op::MatrixStore { access, transposed } => {
                let matrix = Matrix::Store { place: self.place(&access, args[0])?, transposed };
                Action::Matrix { matrix, d: results, args }
            }
            Op::MatrixTranspose => Action::Matrix { matrix: Matrix::Transpose, d: results, args },
            Op::MatrixProduct(product) => {
                Action::Matrix { matrix: Matrix::product(&product), d: results, args }
            }
            Op::Lend { .. } => group(Group::Lend),
            Op::Settle { .. } => group(Group::Settle),
            Op::Release { .. } | Op::WarpgroupArrive => group(Group::Nothing),
            Op::WarpgroupProduct(product) => group(Group::product(&product)),
            Op::WarpgroupCommit => group(Group::Commit),
            Op::WarpgroupWait { pending } => group(Group::Wait { pending: pending.0.into() }),
            // There are always enough registers.
            Op::TryRegisters { .. } => Action::Fill { d, words: vec![1] },
            Op::ReturnRegisters { .. } => Action::Nothing,
            Op::Nanosleep | Op::PmEvent { .. } | Op::WarpFence => Action::Nothing,
            Op::WarpSync => Action::WarpSync { mask: args[0] },
            Op::Bar(kind) | Op::Barrier { kind, .. } => {
                let reduction = kind.is_reduction();
                let p = reduction.then(|| args[args.len() - 1]);
                let numbers = if matches!(data.op, Op::Barrier { packed: true, .. }) {
                    Numbers::Packed(args[0])
                } else if args.len() > 1 + usize::from(reduction) {
                    Numbers::Both(args[0], args[1])
                } else {
                    Numbers::Name(args[0])
                };
                let arrive = Action::Barrier { kind, numbers, p };
                if !reduction {
                    arrive
                } else {
                    self.nodes.push(Node { func: self.index, action: arrive, inst });
                    Action::BarrierResult { d, counts: kind == BarrierKind::RedPopc }
                }
            }
            Op::MbarrierState { wait, .. } => {
                Action::AskPhase { d, address: args[0], of: args[1], wait, state: true }
            }
            Op::MbarrierParity { wait, .. } => {
                Action::AskPhase { d, address: args[0], of: args[1], wait, state: false }
            }
            Op::MbarrierUpdate { .. }
            | Op::MbarrierInval
            | Op::MbarrierArrive { .. }
            | Op::MbarrierPending
            | Op::AsyncCopy { .. }
            | Op::AsyncFill { .. }
            | Op::AsyncArrive { .. }
            | Op::AsyncCommit
            | Op::AsyncWait
            | Op::AsyncWaitAll
            | Op::BulkLoad { .. }
            | Op::BulkStore
            | Op::BulkShare
            | Op::BulkPrefetch
            | Op::BulkCommit
            | Op::BulkWait { .. }
            | Op::BulkRed { .. }
            | Op::BulkShareRed { .. }
            | Op::TensorLoad { .. }
            | Op::TensorStore(_)
            | Op::TensorRed { .. }
            | Op::TensorPrefetch(_) => Action::Asynchronous { op: data.op, ty: data.ty, d, args },
            Op::RemoteStore => Action::RemoteStore { args, bytes: data.ty.bits() / 8 },
            Op::RemoteRed { op } => Action::RemoteRed { op, args, bytes: data.ty.bits() / 8 },
            Op::ClusterArrive { .. } => Action::ClusterArrive,
            Op::ClusterWait { .. } => Action::ClusterWait,
            // Memory accesses have one order.
            Op::ProxyFence(_) => Action::Fence,
            Op::Fence { order, .. } if order != Order::Acquire => Action::Fence,
            // There are no caches, and discarded data stays.
            Op::CacheLine { .. } => Action::Nothing,
            // There is one grid.
            Op::TensormapAcquire(_)
            | Op::TensormapPrefetch
            | Op::TensormapRelease(_)
            | Op::GridDependency(_) => Action::Nothing,
            Op::Fence { .. }
            | Op::Bssy { .. }
            | Op::Bsync(_)
            | Op::Break(_)
            | Op::SaveBarrier(_)
            | Op::RestoreBarrier(_) => Action::Nothing,
            Op::Jump => Action::Jump(self.edge(inst, 0)),
            Op::Branch { .. } => Action::Branch(args[0], [self.edge(inst, 0), self.edge(inst, 1)]),
            Op::BranchTogether => Action::BranchTogether(args[0], [self.edge(inst, 0), self.edge(inst, 1)]),
            Op::Switch => {
                let edges = (0..data.targets.len()).map(|n| self.edge(inst, n)).collect();
                Action::Switch(args[0], edges)
            }
            Op::Call { callee, .. } => self.call(inst, callee)?,
            Op::CallIndirect(prototype) => self.call_indirect(inst, prototype),
            Op::FuncAddr(callee) => {
                let name = &func.callees[callee].name;
                let index = self.by_name.get(name.as_str()).filter(|&&index| index > 0);
                let index = index.ok_or_else(|| format!("{name} is not available"))?;
                Action::Fill { d, words: vec![CODE_STEP * *index as u64] }
            }
            Op::Return if self.index == 0 => Action::Exit,
            Op::Return => Action::Return { words: self.words(self.index, &data.args) },
            Op::Exit => Action::Exit,
            Op::Trap | Op::Breakpoint => Action::Trap,
            Op::Select if ty == Type::B128 => {
                Action::SelectWide { d, condition: args[0], a: args[1], b: args[2] }
            }
            Op::Bitcast if ty == Type::B128 => {
                Action::Copy { words: vec![(args[0], d), (args[0] + 1, d + 1)] }
            }
            Op::Pack if ty == Type::B128 => Action::Copy { words: vec![(args[0], d), (args[1], d + 1)] },
            Op::Unpack if ty == Type::B128 => {
                Action::Copy { words: vec![(args[0], results[0]), (args[0] + 1, results[1])] }
            }
            op @ arithmetic!() => {
                let from = data.args.first().map_or(ty, |&arg| func.ty(arg));
                let f = arith::arithmetic(&op, ty, from).ok_or_else(|| format!("not on {ty}"))?;
                let arg = |n: usize| args.get(n).or(args.first()).copied().unwrap_or(0);
                Action::Compute { d, d2: results.get(1).copied(), args: [arg(0), arg(1), arg(2)], f }
            }
        };
        self.nodes.push(Node { func: self.index, action, inst });
        Ok(())
    }

    fn place(&self, access: &ptxc_ir::Access, address: SlotIndex) -> Result<Place, String> {
        let space = memory_space(access.space);
        let address_mask = u64::MAX >> (64 - access.space.address_type().bits());
        let (offset, elem, strong) = (access.offset, access.elem, access.is_strong());
        let releases = matches!(access.order, Order::Release | Order::AcqRel | Order::SeqCst);
        Ok(Place { space, address, address_mask, offset, elem, strong, releases })
    }

    /// The words of values of a function.
    fn words(&self, index: usize, values: &[Value]) -> Vec<SlotIndex> {
        let (func, slots) = (self.functions[index], &self.slots[index]);
        values
            .iter()
            .flat_map(|&value| (0..words_of(func.ty(value))).map(move |word| slots[value] + word))
            .collect()
    }

    fn call(&self, inst: Inst, callee: FuncRef) -> Result<Action, String> {
        let known = &self.func.callees[callee];
        let args = &self.func.insts[inst].args;
        let results = self.words(self.index, self.func.results(inst));
        let Some(&index) = self.by_name.get(known.name.as_str()) else {
            // A service has no use for the stack pointer.
            let words = self.words(self.index, &args[..known.params.len()]);
            let service = Service::named(&known.name).filter(|one| one.arguments().len() == words.len());
            let service = service.ok_or_else(|| format!("the function {} is not available", known.name))?;
            return Ok(Action::Serve { service, words, d: results.first().copied() });
        };
        let moves = self.arguments(args, known, index);
        let moves = moves.ok_or_else(|| format!("{} has other parameters or results", known.name))?;
        let stack = self.stack(known, args);
        Ok(Action::Call { callee: index, moves, stack, results })
    }

    /// The slot of the stack pointer that a call passes.
    fn stack(&self, known: &Callee, args: &[Value]) -> Option<SlotIndex> {
        let last = args.last().filter(|_| known.stack.moves);
        last.map(|&pointer| self.slots[self.index][pointer])
    }

    fn call_indirect(&self, inst: Inst, prototype: FuncRef) -> Action {
        let known = &self.func.callees[prototype];
        let args = &self.func.insts[inst].args;
        let moves = (0..self.functions.len()).map(|index| self.arguments(&args[1..], known, index)).collect();
        let results = self.words(self.index, self.func.results(inst));
        let stack = self.stack(known, args);
        Action::CallIndirect { target: self.slots[self.index][args[0]], moves, stack, results }
    }

    /// The moves of arguments to the parameters of a function; `None` if its parameters or results
    /// are different.
    fn arguments(&self, args: &[Value], known: &Callee, index: usize) -> Option<Vec<(SlotIndex, SlotIndex)>> {
        let func = self.functions[index];
        let params = &func.blocks[func.entry()].params;
        let types: Vec<Type> = params.iter().map(|&param| func.ty(param)).collect();
        if func.kind == FunctionKind::Entry || types != known.params || func.returns != known.results {
            return None;
        }
        let (from, to) = (self.words(self.index, args), self.words(index, params));
        Some(from.into_iter().zip(to).collect())
    }

    fn edge(&self, inst: Inst, n: usize) -> Edge {
        let call = &self.func.insts[inst].targets[n];
        let params = &self.func.blocks[call.block].params;
        let slots = &self.slots[self.index];
        let mut moves = Vec::with_capacity(params.len());
        for (&from, &to) in call.args.iter().zip(params) {
            for word in 0..words_of(self.func.ty(to)) {
                moves.push((slots[from] + word, slots[to] + word));
            }
        }
        Edge { pc: self.starts[self.index][call.block], moves }
    }
}

/// A state space in memory's numbering.
fn memory_space(space: Space) -> memory::Space {
    match space {
        Space::Generic => memory::Space::Generic,
        Space::Global => memory::Space::Global,
        Space::Shared => memory::Space::Shared,
        Space::Local => memory::Space::Local,
        Space::Const => memory::Space::Constant(MODULE_BANK),
        Space::Param => memory::Space::Param,
        Space::SharedCluster => memory::Space::Cluster,
        // The verifier refuses an access to one of these.
        Space::Texture | Space::Sampler | Space::Surface => memory::Space::Global,
    }
}
