//! The checks of each instruction by itself: types, arity, accesses, constants, symbols, level.
#![deny(clippy::wildcard_enum_match_arm)]

use rustc_hash::FxHashSet;

use super::{Level, Report, Rule};
use crate::entities::{Block, Inst};
use crate::function::{CalleeKind, Function, FunctionKind};
use crate::memory::{Access, AtomicOp, CacheOp, MemType, Order, Space};
use crate::op::Op;
use crate::signature::{Arg, Types, arguments, row};
use crate::symbol::SymbolData;
use crate::types::Type;

pub(super) fn check(func: &Function, level: Level, report: &mut Report<'_>) {
    let mut names = FxHashSet::default();
    for symbol in func.symbols.values() {
        if !names.insert(symbol.name.as_str()) {
            report.function(Rule::Symbol, format!("two symbols have the name `{}`", symbol.name));
        }
    }
    let mut callees = FxHashSet::default();
    for callee in func.callees.values() {
        if !callees.insert(callee.name.as_str()) {
            report.function(Rule::Call, format!("two callees have the name `{}`", callee.name));
        }
    }
    // The content may also be the address of a function.
    let is_function = |kind: &CalleeKind| matches!(kind, CalleeKind::Device | CalleeKind::External(_));
    let functions = func.callees.values().filter(|callee| is_function(&callee.kind));
    names.extend(functions.map(|callee| callee.name.as_str()));
    for symbol in func.symbols.values() {
        initial(symbol, &names, report);
    }
    if func.kind == FunctionKind::Entry && !func.returns.is_empty() {
        report.function(Rule::Call, "a kernel returns nothing".to_string());
    }
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            types(func, block, inst, report);
            payload(func, level, block, inst, report);
        }
    }
}

/// The content of a variable fits into it, and names variables that exist.
fn initial(symbol: &SymbolData, names: &FxHashSet<&str>, report: &mut Report<'_>) {
    let Some(initial) = &symbol.initial else { return };
    let mut say = |what: String| report.function(Rule::Symbol, format!("`{}`: {what}", symbol.name));
    if !matches!(symbol.space, Space::Const | Space::Global) {
        say(format!("a variable in {} memory has no content at the start", symbol.space));
    }
    if initial.bytes.len() > symbol.size as usize {
        say(format!("{} bytes are more than it has", initial.bytes.len()));
    }
    let mut free = 0;
    for address in &initial.addresses {
        if address.at < free || u64::from(address.at) + u64::from(address.bytes) > symbol.size {
            say(format!("no room for an address at {}", address.at));
        }
        free = address.at.saturating_add(address.bytes.into());
        if !names.contains(address.symbol.as_str()) {
            say(format!("it names `{}`, which does not exist", address.symbol));
        }
    }
}

/// The rules **type** and **address**.
fn types(func: &Function, block: Block, inst: Inst, report: &mut Report<'_>) {
    let data = &func.insts[inst];
    let allowed = row(&data.op).types;
    if allowed != Types::NONE && !allowed.contains(data.ty) {
        report.inst(block, inst, Rule::Type, format!("the operation does not exist for {}", data.ty));
        return;
    }
    let results = func.results(inst);
    let expected = func.result_types(&data.op, data.ty);
    if results.len() != expected.len()
        || expected.iter().zip(results).any(|(&ty, &result)| ty != func.ty(result))
    {
        let types: Vec<_> = expected.iter().map(|ty| ty.name()).collect();
        report.inst(block, inst, Rule::Type, format!("the results should be ({})", types.join(", ")));
    }
    if let Some(expected) = func.value_arguments(&data.op) {
        let actual: Vec<_> = data.args.iter().map(|&arg| func.ty(arg)).collect();
        if actual[..] != expected[..] {
            let names = |types: &[Type]| types.iter().map(|ty| ty.name()).collect::<Vec<_>>().join(", ");
            let message = format!("({}) should be ({})", names(&actual), names(&expected));
            report.inst(block, inst, Rule::Call, message);
        }
        return;
    }
    let expected = arguments(&data.op, data.args.len());
    if expected.len() != data.args.len() {
        let message = format!("{} arguments instead of {}", data.args.len(), expected.len());
        report.inst(block, inst, Rule::Type, message);
        return;
    }
    let space = data.op.address_space();
    for (&arg, kind) in data.args.iter().zip(expected) {
        if !kind.accepts(func.ty(arg), data.ty, space) {
            let rule = if kind == Arg::Address { Rule::Address } else { Rule::Type };
            let message =
                format!("{arg} is {} and should be {}", func.ty(arg), kind.describe(data.ty, space));
            report.inst(block, inst, rule, message);
        }
    }
}

/// The rules about an operation's payload.
fn payload(func: &Function, level: Level, block: Block, inst: Inst, report: &mut Report<'_>) {
    let data = &func.insts[inst];
    let mut say = |rule, message: String| report.inst(block, inst, rule, message);
    match data.op {
        Op::Const(bits) => {
            let width = data.ty.bits();
            if width < 64 && bits >> width != 0 {
                say(Rule::Constant, format!("does not fit into {width} bits"));
            }
        }
        Op::Param { offset } => {
            let bytes = data.ty.bytes().unwrap_or(0);
            let end = u64::from(offset) + u64::from(bytes);
            let inside = func.params.iter().any(|param| {
                param.offset <= offset && end <= u64::from(param.offset) + u64::from(param.size)
            });
            // The low half of a handle is a word, and nothing reads the other half.
            let is_word = func.image_words.iter().any(|word| word.offset == offset);
            if func.kind == FunctionKind::Entry && !inside && !is_word {
                say(Rule::Symbol, "no parameter lies there".to_string());
            }
        }
        Op::SymbolAddr(symbol) => {
            let space = func.symbols[symbol].space;
            // The word of a texture, sampler or surface that a linker places.
            let is_word = func.symbols[symbol].is_linked_word() && data.ty == Type::B32;
            if data.ty != space.address_type() && !is_word {
                say(Rule::Symbol, format!("an address in {space} is {}", space.address_type()));
            }
        }
        Op::Fence { order, .. } => {
            if matches!(order, Order::Weak | Order::Volatile) {
                say(Rule::Access, format!("there is no {order} fence"));
            }
        }
        Op::Call { callee, pure } => match func.callees[callee].kind {
            CalleeKind::Prototype(_) => say(Rule::Call, "a prototype is not a function".to_string()),
            CalleeKind::Device | CalleeKind::External(_) if pure => {
                say(Rule::Call, "`call.pure` is for runtime routines".to_string());
            }
            CalleeKind::Device | CalleeKind::Routine | CalleeKind::External(_) => {}
        },
        Op::FuncAddr(callee) => match func.callees[callee].kind {
            CalleeKind::Prototype(_) => say(Rule::Call, "a prototype is not a function".to_string()),
            CalleeKind::Routine => say(Rule::Call, "a routine has no address".to_string()),
            CalleeKind::Device | CalleeKind::External(_) => {}
        },
        Op::CallIndirect(callee) => {
            if !matches!(func.callees[callee].kind, CalleeKind::Prototype(_) | CalleeKind::External(_)) {
                say(Rule::Call, "`call_indirect` needs a prototype".to_string());
            }
        }
        Op::Bar(_) => {
            if level >= Level::Legal {
                say(Rule::Level, "legalization leaves only `barrier`".to_string());
            }
        }
        Op::Barrier { kind, packed, .. } => {
            let counted = data.args.len() == 2 + usize::from(kind.is_reduction());
            let is_register =
                |index: usize| data.args.get(index).is_some_and(|&arg| func.constant(arg).is_none());
            if level >= Level::Legal && counted && !packed && is_register(0) && is_register(1) {
                say(Rule::Level, "a name and a count that are not constants must be packed".to_string());
            }
        }
        Op::Bssy { barrier, .. }
        | Op::Bsync(barrier)
        | Op::Break(barrier)
        | Op::SaveBarrier(barrier)
        | Op::RestoreBarrier(barrier) => {
            if level < Level::Converged {
                say(Rule::Level, "there are no convergence barriers yet".to_string());
            }
            if barrier.0 > 15 {
                say(Rule::Convergence, "the last convergence barrier is b15".to_string());
            }
        }
        Op::Texture(sampling) => {
            if let Some(problem) = sampling.problem() {
                say(Rule::Access, problem);
            }
        }
        Op::SurfaceLoad(surface) | Op::SurfaceStore(surface) | Op::SurfaceRed { surface, .. } => {
            let is_red = matches!(data.op, Op::SurfaceRed { .. });
            let size = if surface.texel { u32::from(surface.size) * 4 } else { surface.size.into() };
            if let Some(problem) = surface.problem() {
                say(Rule::Access, problem);
            } else if (surface.texel || surface.guarded) && matches!(data.op, Op::SurfaceLoad(_)) {
                say(Rule::Access, "a load has no guard and does not convert texels".to_string());
            } else if is_red && data.ty.bytes() != Some(size) {
                say(Rule::Access, format!("an update of {} with {} bytes", data.ty, size));
            }
        }
        Op::MatrixProduct(product) => {
            if let Some(problem) = product.problem() {
                say(Rule::Access, problem);
            }
        }
        Op::WarpgroupProduct(product) => {
            if let Some(problem) = product.problem() {
                say(Rule::Access, problem);
            }
        }
        arithmetic!() => {}
        Op::Lend { .. } | Op::Settle { .. } | Op::Release { .. } => {}
        Op::WarpgroupArrive | Op::WarpgroupCommit | Op::WarpgroupWait { .. } => {}
        Op::ReturnRegisters { .. } | Op::TryRegisters { .. } => {}
        Op::ImageSize(_) => {}
        Op::Undef | Op::SpecialReg(_) => {}
        Op::Load(_) | Op::Store(_) | Op::Atomic { .. } | Op::Red { .. } | Op::TryAtomic { .. } => {}
        Op::LoadReduce { .. } => {}
        Op::ToGeneric(_) | Op::FromGeneric(_) | Op::CachePolicy | Op::CacheHint | Op::IsSpace(_) => {}
        Op::Vote(_) | Op::Shfl(_) | Op::ActiveMask | Op::Match(_) | Op::Redux(_) | Op::Elect => {}
        Op::MatrixLoad { .. } | Op::MatrixStore { .. } | Op::MatrixTranspose => {}
        Op::Nanosleep
        | Op::PmEvent { .. }
        | Op::CacheLine { .. }
        | Op::Breakpoint
        | Op::WarpSync
        | Op::WarpFence => {}
        Op::ClusterArrive { .. } | Op::ClusterWait { .. } | Op::GridDependency(_) => {}
        Op::MbarrierUpdate { .. } | Op::MbarrierInval | Op::MbarrierArrive { .. } => {}
        Op::MbarrierState { .. } | Op::MbarrierParity { .. } | Op::MbarrierPending => {}
        Op::AsyncCopy { .. } | Op::AsyncFill { .. } | Op::AsyncArrive { .. } | Op::AsyncCommit => {}
        Op::AsyncWait | Op::AsyncWaitAll | Op::BulkLoad { .. } | Op::BulkStore | Op::BulkShare => {}
        Op::BulkPrefetch | Op::BulkCommit | Op::BulkWait { .. } => {}
        Op::RemoteStore => {
            let bytes = (data.args.len() as u32 - 2) * data.ty.bits() / 8;
            if !bytes.is_power_of_two() || bytes > 16 {
                say(Rule::Access, format!("a store of {bytes} bytes"));
            }
        }
        Op::RemoteRed { op } | Op::BulkShareRed { op } => {
            if !is_integer_update(op, data.ty) || data.ty == Type::B64 && op != AtomicOp::Add {
                say(Rule::Access, format!("no such update of {}", data.ty));
            }
        }
        Op::BulkRed { op, .. } => {
            use AtomicOp::{Fadd, Fmax, Fmin};
            let of_halves = matches!(data.ty, Type::F16 | Type::BF16) && matches!(op, Fadd | Fmin | Fmax);
            let of_floats = matches!(data.ty, Type::F32 | Type::F64) && op == Fadd;
            let is_known = of_halves || of_floats || is_integer_update(op, data.ty);
            if !is_known {
                say(Rule::Access, format!("no such update of {}", data.ty));
            }
        }
        Op::TensorLoad { tile, .. }
        | Op::TensorStore(tile)
        | Op::TensorRed { tile, .. }
        | Op::TensorPrefetch(tile) => {
            if !tile.exists() {
                say(Rule::Access, format!("no such boxes in {} dimensions", tile.dimensions));
            }
        }
        Op::ProxyFence(_) | Op::TensormapAcquire(_) | Op::TensormapPrefetch | Op::TensormapRelease(_) => {}
        Op::Jump | Op::Branch { .. } | Op::BranchTogether | Op::Switch | Op::Return | Op::Exit => {}
        Op::Trap => {}
    }
    if let Some(access) = data.op.access()
        && let Err(message) = access_is_sound(&data.op, access, data.ty)
    {
        say(Rule::Access, message);
    }
}

/// Whether copies in bulk can update integers of a type so.
fn is_integer_update(op: AtomicOp, ty: Type) -> bool {
    use AtomicOp::{Add, And, Dec, Inc, Or, Smax, Smin, Umax, Umin, Xor};
    let of_both = matches!(op, Add | Smin | Smax | Umin | Umax | And | Or | Xor);
    ty == Type::B32 && (of_both || matches!(op, Inc | Dec)) || ty == Type::B64 && of_both
}

fn access_is_sound(op: &Op, access: &Access, ty: Type) -> Result<(), String> {
    let width = ty.bits();
    let atomic = if let Op::Atomic { op, .. }
    | Op::Red { op, .. }
    | Op::TryAtomic { op, .. }
    | Op::LoadReduce { op, .. } = op
    {
        Some(*op)
    } else {
        None
    };
    if matches!(op, Op::MatrixLoad { .. } | Op::MatrixStore { .. }) {
        return rows_are_sound(access);
    }
    let is_vector_update =
        |op| matches!(op, AtomicOp::Fadd | AtomicOp::FaddNoftz | AtomicOp::Fmin | AtomicOp::Fmax);
    let lanes: &[u8] = if atomic.is_some_and(|op| !is_vector_update(op)) { &[1] } else { &[1, 2, 4, 8] };
    if !lanes.contains(&access.lanes) || access.bytes() > 32 {
        return Err(format!("{} elements of {} bytes", access.lanes, access.elem.bytes()));
    }
    if matches!(op, Op::AsyncCopy { .. } | Op::AsyncFill { .. }) {
        return copy_is_sound(access);
    }
    if access.elem.bytes() * 8 > width {
        return Err(format!("a value of {width} bits does not hold {}", access.elem));
    }
    if atomic.is_some() && access.elem.bytes() * 8 != width {
        return Err(format!("the element of an atomic is as wide as its value, {width} bits"));
    }
    let wrong = if atomic.is_some() {
        matches!(access.order, Order::Weak | Order::Volatile)
    } else if matches!(op, Op::Load(_)) {
        matches!(access.order, Order::Release | Order::AcqRel)
    } else {
        matches!(access.order, Order::Acquire | Order::AcqRel)
    };
    if wrong {
        return Err(format!("the order {} does not suit the operation", access.order));
    }
    if matches!(atomic, Some(AtomicOp::Inc | AtomicOp::Dec)) && width != 32 {
        return Err("only words of 32 bits are counted".to_string());
    }
    if atomic == Some(AtomicOp::FaddNoftz) && ty != Type::F32 {
        return Err(format!("`fadd_noftz` adds f32, not {ty}"));
    }
    if matches!(op, Op::TryAtomic { .. }) && !matches!(access.space, Space::Generic | Space::SharedCluster) {
        return Err(format!("every update that there is in {} memory is done there", access.space));
    }
    if matches!(op, Op::Red { op: AtomicOp::Exch | AtomicOp::Cas | AtomicOp::Cast, .. }) {
        return Err("swaps have a result".to_string());
    }
    if matches!(op, Op::Atomic { op: AtomicOp::Cast, .. }) && access.space == Space::Global {
        return Err("a swap in global memory cannot report whether it stored".to_string());
    }
    if !matches!(op, Op::Load(_)) && matches!(access.space, Space::Const | Space::Param) {
        return Err(format!("{} is read-only", access.space));
    }
    Ok(())
}

/// A lane accesses one row of shared memory for all matrices together.
fn rows_are_sound(access: &Access) -> Result<(), String> {
    let is_plain = access.space == Space::Shared && access.order == Order::Weak;
    if !is_plain || access.elem != MemType::B128 || !matches!(access.lanes, 1 | 2 | 4) {
        return Err("matrices are one, two or four rows of 16 bytes in shared memory".to_string());
    }
    Ok(())
}

/// An asynchronous copy reads one element of global memory and may bypass the SM's cache.
fn copy_is_sound(access: &Access) -> Result<(), String> {
    if access.space != Space::Global || access.order != Order::Weak || access.lanes != 1 {
        return Err("a copy reads one element of global memory without order".to_string());
    }
    let sizes: &[u32] = if access.cache == CacheOp::Cg {
        &[16]
    } else if access.cache == CacheOp::Ca {
        &[4, 8, 16]
    } else {
        &[]
    };
    let suits = sizes.contains(&access.elem.bytes());
    if suits {
        Ok(())
    } else {
        Err(format!("a copy of {} by the cache operator {}", access.elem, access.cache))
    }
}
