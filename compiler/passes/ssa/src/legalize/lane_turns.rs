//! Operations of which the machine does one for the whole warp, where lanes may want different ones: in turns.
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
//! In a device function a routine does it (`call @mbarrier.init, v1, v2`): it alone may write some uniform registers, and its lanes take turns there.
//!
//! `SYNCS.EXCH.64`, `UTMACCTL.IV` and bulk copies read uniform registers alone, which are one for all lanes. Where the operands are constants, parameters, or
//! the same in all lanes of a warp that is together, that is no matter; elsewhere the lanes go round until each has had its turn. Selection
//! takes an operand for one that lanes agree on if it is what an elected lane gives the others in the same block. ptxas has the same loop, in which `R2UR`
//! says who wants something else.
//!
//! A copy that tells an mbarrier of its bytes is made once for each lane, and not once for all that want the same:
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
//! Each loop cuts its block in two. Linear, and the divergence analysis where there is such an operation.

use ptxc_ir::op::MbarrierUpdate;
use ptxc_ir::{BlockCall, Function, FunctionKind, InstData, IntCond, Op, ShflMode, Type, Value, ValueDef};
use ptxc_machine::{Arch, Feature};

use super::emitter::{Emitter, rewrite};
use crate::runtime;
use crate::uniformity::Uniformity;

/// Lets lanes take turns at what the machine does once a warp.
pub fn lane_turns(func: &mut Function, arch: Arch) -> bool {
    let insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
    if !arch.has(Feature::OncePerWarpOperations)
        || !insts.into_iter().any(|&inst| is_once_a_warp(&func.insts[inst].op))
    {
        return false;
    }
    let uniformity = Uniformity::compute(func);
    let is_called = func.kind == FunctionKind::Device && !runtime::is_once_a_warp(&func.name);
    let mut start = None;
    rewrite(func, |emitter, inst| {
        // Later parts of a block that was cut are executed by the same lanes as the first.
        let block = match start {
            Some((first, last)) if last == emitter.block => first,
            _ => emitter.block,
        };
        start = Some((block, emitter.block));
        let data = emitter.func.insts[inst].clone();
        if !is_once_a_warp(&data.op) {
            return false;
        }
        if is_called {
            return call_routine(emitter, &data);
        }
        let is_together = uniformity.is_convergent_block(block);
        let is_agreed =
            |&arg: &Value| is_known(emitter.func, arg) || is_together && uniformity.is_uniform(arg);
        let is_each = is_for_each_lane(&data.op);
        if !is_each && data.args.iter().all(is_agreed) {
            return false;
        }
        let [turn, behind] = [emitter.block(), emitter.block()];
        emitter.end(Op::Jump, &[], &[BlockCall::new(turn, &[])]);
        emitter.go_on(turn);
        let (lane, elected) = emitter.pair(Op::Elect, Type::B32, &[]);
        let mut given = Vec::new();
        let mut is_mine = None;
        for &arg in &data.args {
            if is_known(emitter.func, arg) {
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
        let is_mine = if is_each { Some(elected) } else { is_mine };
        let targets = [BlockCall::new(behind, &[]), BlockCall::new(turn, &[])];
        emitter.end(Op::Branch { uni: false }, is_mine.as_slice(), &targets);
        emitter.go_on(behind);
        start = Some((block, behind));
        true
    })
}

/// Whether the instruction has operands in uniform registers alone.
fn is_once_a_warp(op: &Op) -> bool {
    let is_copy = matches!(op, Op::BulkStore | Op::BulkPrefetch) || is_for_each_lane(op);
    is_copy || matches!(op, Op::MbarrierUpdate { update: MbarrierUpdate::Init, .. } | Op::TensormapAcquire(_))
}

/// Whether each lane's counts, also where several want the same.
fn is_for_each_lane(op: &Op) -> bool {
    matches!(op, Op::BulkLoad | Op::BulkShare)
}

/// Whether a value is known before the kernel runs, so that it can be had in a uniform register anywhere: a constant, a parameter, the
/// address of a variable, or so many bytes behind one of these.
pub fn is_known(func: &Function, mut value: Value) -> bool {
    loop {
        let ValueDef::Result(inst, _) = func.def(value) else { return false };
        let data = &func.insts[inst];
        match data.op {
            Op::Const(_) | Op::SymbolAddr(_) | Op::Param { .. } => return true,
            Op::Iadd if func.constant(data.args[1]).is_some() => value = data.args[0],
            Op::Iadd if func.constant(data.args[0]).is_some() => value = data.args[1],
            _ => return false,
        }
    }
}

/// Leaves an operation of a device function, which has no uniform registers, to a routine that has, if there is one.
fn call_routine(emitter: &mut Emitter, data: &InstData) -> bool {
    let name = match data.op {
        Op::TensormapAcquire(_) => runtime::ACQUIRE_TENSORMAP,
        Op::MbarrierUpdate { .. } => runtime::MAKE_MBARRIER,
        _ => return false,
    };
    let callee = emitter.func.callee(&runtime::callee(name));
    emitter.inst(Op::Call { callee, pure: false }, Type::B32, &data.args);
    true
}

/// What a lane has, for all that are here, and whether this lane has the same.
fn give(emitter: &mut Emitter, value: Value, lane: Value) -> (Value, Value) {
    let clamp = emitter.constant(Type::B32, 0x1f);
    let word = |emitter: &mut Emitter, word: Value| {
        emitter.pair(Op::Shfl(ShflMode::Idx), Type::B32, &[word, lane, clamp]).0
    };
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
