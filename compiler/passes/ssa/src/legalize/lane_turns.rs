//! Lets lanes take turns at operations that the machine does once for the whole warp.
//!
//! ```text
//!                                              jump block1
//!                                          block1:
//!                                              v3, v4 = elect                      // one of the lanes that are still here
//! mbarrier_update.init.shared v1, v2   =>      v5, v6 = shfl.idx v1, v3, 0x1f      // what that lane wants
//!                                              v7, v8 = shfl.idx v2, v3, 0x1f
//!                                              mbarrier_update.init.shared v5, v7
//!                                              v9 = icmp.eq.b32 v5, v1             // and who else wants it
//!                                              v10 = icmp.eq.b32 v7, v2
//!                                              v11 = and.pred v9, v10
//!                                              brif v11, block2, block1
//!                                          block2:
//! ```
//!
//! In a device function a routine does it (`call @mbarrier.init, v1, v2`): only the routine may
//! write certain uniform registers, and its lanes take turns in it. Only accesses to textures and
//! surfaces are in the device function itself, each in a block of its own.
//!
//! `SYNCS.EXCH.64`, `UTMACCTL.IV` and bulk copies only read uniform registers, which are the same
//! for all lanes. That is enough for operands that are constants, parameters, or the same in all
//! lanes that are together. Otherwise the lanes loop until each has had its turn. Selection
//! treats an operand as uniform if an elected lane gives it to the others in the same block. ptxas
//! has the same loop, in which `R2UR` tells which lanes want something else.
//!
//! A copy that reports its bytes to an mbarrier or updates memory is made once for each lane, not
//! once for all lanes with the same operands:
//!
//! ```text
//!                                          block1:
//!                                              v5, v6 = elect
//!                                              v7, v8 = shfl.idx v2, v5, 0x1f
//! bulk_load v1, v2, 0x100, v3          =>      bulk_load v1, v7, 0x100, v3         // v1 and v3 are known
//!                                              brif v6, block2, block1
//!                                          block2:
//! ```
//!
//! A block that only an elected lane enters needs no loop if the operands are the same in all lanes:
//!
//! ```text
//! block1:                                      block1:
//!     v5, v6 = elect                               v5, v6 = elect
//!     brif v6, block2, block3              =>      brif v6, block2, block3
//! block2:                                      block2:
//!     bulk_load v1, v2, 0x100, v3                  bulk_load v1, v2, 0x100, v3
//! ```
//!
//! On sm_90 the handles of textures and surfaces are in uniform registers. All lanes that wait
//! read; a store has a guard:
//!
//! ```text
//!                                          block1:
//!                                              v5, v6 = elect
//!                                              v7, v8 = shfl.idx v1, v5, 0x1f
//!                                              v9 = icmp.eq.b32 v7, v1
//! v3 = image_size.width v1, v2         =>      v3 = image_size.width v7, v2
//!                                              brif v9, block2, block1
//!                                          block2:
//! ```
//!
//! Each loop splits its block in two. Linear, plus the divergence analysis if there is such an
//! operation.

use cranelift_entity::EntitySet;
use ptxc_ir::op::MbarrierUpdate;
use ptxc_ir::{
    Block, BlockCall, Function, FunctionKind, Inst, InstData, IntCond, Op, ShflMode, Space, SpecialReg,
    SurfaceAccess, Type, Value, ValueDef,
};
use ptxc_machine::{Arch, Feature};

use super::emitter::{Emitter, rewrite};
use super::one_lane::blocks_of_one_lane;
use crate::runtime;
use crate::uniformity::Uniformity;

/// Lets lanes take turns at operations that the machine does once for each warp.
pub fn lane_turns(func: &mut Function, arch: Arch) -> bool {
    let insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
    let once = arch.has(Feature::OncePerWarpOperations);
    let handles = arch.has(Feature::UniformHandles);
    let needs_turns = |op: &Op| once && is_once_a_warp(op) || handles && handles_of(op) > 0;
    if !insts.into_iter().any(|&inst| needs_turns(&func.insts[inst].op)) {
        return false;
    }
    let uniformity = Uniformity::compute(func);
    // What lanes agree on even if they come together nowhere. The converge pass brings them together in places, so
    // selection finds at least these.
    let apart = Uniformity::compute_converged(func);
    let is_called = func.kind == FunctionKind::Device && !runtime::is_once_a_warp(&func.name);
    let of_one_lane = if is_called { EntitySet::new() } else { blocks_of_one_lane(func) };
    let mut start = None;
    rewrite(func, |emitter, inst| {
        // The lanes that execute the first part of a split block also execute the later parts.
        let block = match start {
            Some((first, last)) if last == emitter.block => first,
            _ => emitter.block,
        };
        start = Some((block, emitter.block));
        let data = emitter.func.insts[inst].clone();
        if !needs_turns(&data.op) {
            return false;
        }
        let count = handles_of(&data.op);
        if is_called && count == 0 {
            return call_routine(emitter, inst, &data);
        }
        // Parts of a warp may be in a device function at the same time, and share its uniform registers.
        // Each access there has a block of its own, which writes and reads them.
        let is_alone = of_one_lane.contains(block);
        let is_together = uniformity.is_convergent_block(block);
        let is_agreed = |func: &Function, arg: Value| {
            is_alone
                || is_known(func, arg)
                || is_together && uniformity.is_uniform(arg)
                || apart.is_uniform(arg)
        };
        if count > 0 {
            if !is_called && data.args[..count].iter().all(|&arg| is_agreed(emitter.func, arg)) {
                return false;
            }
            let after = by_handle(emitter, inst, count, is_called);
            start = Some((block, after));
            return true;
        }
        let is_each = !is_alone && is_for_each_lane(&data.op);
        if !is_each && data.args.iter().all(|&arg| is_agreed(emitter.func, arg)) {
            return false;
        }
        let [turn, after] = [emitter.block(), emitter.block()];
        emitter.end(Op::Jump, &[], &[BlockCall::new(turn, &[])]);
        emitter.go_on(turn);
        let (lane, elected) = emitter.pair(Op::Elect, Type::B32, &[]);
        let mut given = Vec::new();
        let mut is_mine = None;
        for &arg in &data.args {
            if is_agreed(emitter.func, arg) {
                given.push(arg);
                continue;
            }
            let (value, same) = give(emitter, arg, lane);
            given.push(value);
            is_mine = Some(match is_mine {
                Some(others) => emitter.value(Op::And, Type::Pred, &[others, same]),
                None => same,
            });
        }
        emitter.inst(data.op, data.ty, &given);
        let is_mine = if is_for_each_lane(&data.op) { Some(elected) } else { is_mine };
        let targets = [BlockCall::new(after, &[]), BlockCall::new(turn, &[])];
        emitter.end(Op::Branch { uni: false }, is_mine.as_slice(), &targets);
        emitter.go_on(after);
        start = Some((block, after));
        true
    })
}

/// The number of handles among the arguments of an operation, which come first.
pub(super) fn handles_of(op: &Op) -> usize {
    match op {
        Op::Texture(sampling) => 1 + usize::from(sampling.sampler),
        Op::ImageSize(_) | Op::SurfaceLoad(_) | Op::SurfaceStore(_) | Op::SurfaceRed { .. } => 1,
        _ => 0,
    }
}

/// Lets the lanes with one handle after another execute an operation. Every lane that still waits
/// reads with the handle of the turn, and the last read is the one with its own handle. Returns the
/// last block. In a function that is called, the loop also keeps known handles in a block of their own.
fn by_handle(emitter: &mut Emitter, inst: Inst, count: usize, is_called: bool) -> Block {
    let [turn, after] = [emitter.block(), emitter.block()];
    emitter.end(Op::Jump, &[], &[BlockCall::new(turn, &[])]);
    emitter.go_on(turn);
    let (lane, _) = emitter.pair(Op::Elect, Type::B32, &[]);
    let mut is_mine = None;
    for index in 0..count {
        let handle = emitter.func.insts[inst].args[index];
        if !is_called && is_known(emitter.func, handle) {
            continue;
        }
        let (value, same) = give(emitter, handle, lane);
        emitter.func.insts[inst].args[index] = value;
        is_mine = Some(match is_mine {
            Some(others) => emitter.value(Op::And, Type::Pred, &[others, same]),
            None => same,
        });
    }
    if let Some(is_mine) = is_mine {
        restrict(emitter, inst, is_mine);
    }
    emitter.keep(inst);
    let targets = [BlockCall::new(after, &[]), BlockCall::new(turn, &[])];
    emitter.end(Op::Branch { uni: false }, is_mine.as_slice(), &targets);
    emitter.go_on(after);
    after
}

/// Lets an access to a surface have no effect for the lanes that wait: a store is guarded, and a
/// load reads the first place, which every surface has.
fn restrict(emitter: &mut Emitter, inst: Inst, is_mine: Value) {
    match emitter.func.insts[inst].op {
        Op::SurfaceLoad(_) => {
            let zero = emitter.constant(Type::B32, 0);
            for index in 1..emitter.func.insts[inst].args.len() {
                let place = emitter.func.insts[inst].args[index];
                let own = emitter.value(Op::Select, Type::B32, &[is_mine, place, zero]);
                emitter.func.insts[inst].args[index] = own;
            }
        }
        Op::SurfaceStore(surface) => {
            let data = &mut emitter.func.insts[inst];
            data.op = Op::SurfaceStore(SurfaceAccess { guarded: true, ..surface });
            data.args.push(is_mine);
        }
        Op::SurfaceRed { op, surface } => {
            let data = &mut emitter.func.insts[inst];
            data.op = Op::SurfaceRed { op, surface: SurfaceAccess { guarded: true, ..surface } };
            data.args.push(is_mine);
        }
        _ => {}
    }
}

/// Whether the instruction has operands only in uniform registers.
fn is_once_a_warp(op: &Op) -> bool {
    let is_store = matches!(op, Op::BulkStore | Op::TensorStore(_));
    let is_copy = is_store || matches!(op, Op::BulkPrefetch | Op::TensorPrefetch(_)) || is_for_each_lane(op);
    let is_map = matches!(op, Op::TensormapAcquire(_) | Op::TensormapPrefetch);
    is_copy || is_map || matches!(op, Op::MbarrierUpdate { update: MbarrierUpdate::Init, .. })
}

/// Whether each lane's operation counts, even if several lanes have the same operands.
fn is_for_each_lane(op: &Op) -> bool {
    let is_update = matches!(op, Op::BulkRed { .. } | Op::BulkShareRed { .. } | Op::TensorRed { .. });
    is_update || matches!(op, Op::BulkLoad { .. } | Op::BulkShare | Op::TensorLoad { .. })
}

/// Whether a value is known before the kernel runs, so that any block can have it in a uniform
/// register: a constant, a parameter, the address of a variable, one of these plus a constant, or two of
/// these as the halves of a handle.
pub fn is_known(func: &Function, mut value: Value) -> bool {
    loop {
        let ValueDef::Result(inst, _) = func.def(value) else { return false };
        let data = &func.insts[inst];
        match data.op {
            Op::Const(_) | Op::SymbolAddr(_) | Op::Param { .. } => return true,
            Op::Pack => {
                let is_simple = |half: &InstData| {
                    let is_window = matches!(
                        half.op,
                        Op::SpecialReg(SpecialReg::ParamWindow | SpecialReg::ParamWindowHigh)
                    );
                    is_window || matches!(half.op, Op::Const(_) | Op::SymbolAddr(_))
                };
                return data.args.iter().all(|&half| func.def_inst(half).is_some_and(is_simple));
            }
            // The generic address of a parameter, and the same as a sum of the start of a window.
            Op::ToGeneric(Space::Param) => value = data.args[0],
            Op::UmadWide if data.args[..2].iter().all(|&factor| func.constant(factor).is_some()) => {
                value = data.args[2];
            }
            Op::CacheHint => value = data.args[0],
            Op::Iadd if func.constant(data.args[1]).is_some() => value = data.args[0],
            Op::Iadd if func.constant(data.args[0]).is_some() => value = data.args[1],
            _ => return false,
        }
    }
}

/// Replaces an operation of a device function, which has no uniform registers, with a call of a
/// routine that has, if there is one.
fn call_routine(emitter: &mut Emitter, inst: Inst, data: &InstData) -> bool {
    let mut args = data.args.to_vec();
    let name = match data.op {
        Op::TensormapAcquire(_) => runtime::ACQUIRE_TENSORMAP.to_string(),
        Op::TensormapPrefetch => runtime::PREFETCH_TENSORMAP.to_string(),
        Op::MbarrierUpdate { .. } => runtime::MAKE_MBARRIER.to_string(),
        _ => {
            for arg in &mut args {
                if let Some(hint) = emitter.func.def_inst(*arg).filter(|hint| hint.op == Op::CacheHint) {
                    *arg = hint.args[0];
                }
            }
            let types: Vec<Type> = args.iter().map(|&arg| emitter.func.ty(arg)).collect();
            let Some(name) = runtime::bulk::routine_name(emitter.func, inst, &types) else { return false };
            name
        }
    };
    let callee = emitter.func.callee(&runtime::callee(&name));
    emitter.inst(Op::Call { callee, pure: false }, Type::B32, &args);
    true
}

/// A lane's value, broadcast to all present lanes, and whether this lane has the same value.
fn give(emitter: &mut Emitter, value: Value, lane: Value) -> (Value, Value) {
    let clamp = emitter.constant(Type::B32, 0x1f);
    let word = |emitter: &mut Emitter, word: Value| {
        emitter.pair(Op::Shfl(ShflMode::Idx), Type::B32, &[word, lane, clamp]).0
    };
    // A cache policy stays that of the address.
    if let Some(hint) = emitter.func.def_inst(value).filter(|hint| hint.op == Op::CacheHint) {
        let &[address, policy] = &hint.args[..] else { return (value, value) };
        let (given, same) = give(emitter, address, lane);
        return (emitter.value(Op::CacheHint, Type::B64, &[given, policy]), same);
    }
    let ty = emitter.func.ty(value);
    let given = if ty.bits() == 64 {
        let (low, high) = emitter.pair(Op::Unpack, Type::B64, &[value]);
        let [low, high] = [low, high].map(|half| word(emitter, half));
        emitter.value(Op::Pack, Type::B64, &[low, high])
    } else {
        word(emitter, value)
    };
    (given, emitter.value(Op::Icmp(IntCond::Eq), ty, &[given, value]))
}
