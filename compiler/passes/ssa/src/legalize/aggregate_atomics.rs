//! Turns integer updates of one address by a warp into one update by one of its threads: all such
//! updates with `--aggregate-atomics`, and by default those that would be
//! [loops](super::atomic_loops), in which lanes take turns.
//!
//! ```text
//! red.add.global… [v1], v2          v3 = activemask
//!                                   v4 = bfind.b32 v3                 // the highest lane leads
//!                                   v5 = sreg.b32 laneid
//!                                   v6 = icmp.eq.b32 v5, v4
//!                              =>   v7 = popc.b32 v3                  // v2 is the same in all lanes:
//!                                   v8 = imul.b32 v2, v7              // so much together; else `redux.add v2, v3`
//!                                   brif v6, block1, block2
//!                               block1:
//!                                   red.add.global… [v1], v8
//!                                   jump block2
//!                               block2:
//! ```
//!
//! The lanes that lead, count and add up are the lanes that execute this together, so the result is
//! also right in a divergent warp. These updates are aggregated:
//!
//! | update | operand the same in all lanes | another one for each lane |
//! |---|---|---|
//! | `red.add` | 32 and 64 bits: times the number of lanes | `redux`; of 64 bits three, of 16, 16 and 32 bits |
//! | `red.xor` | 32 and 64 bits: if that number is odd | `redux`; of 64 bits two |
//! | `red.and .or` | 32 and 64 bits: once | `redux`; of 64 bits two |
//! | `red.min .max` | 32 and 64 bits: once | 32 bits: `redux` |
//! | `atom.add`, 32 bits | the leader's result, plus the operand times the number of lanes below | – |
//!
//! `redux` needs sm_80 and a block that the warp executes together: elsewhere its result has no
//! uniform register, and each lane's own update costs less than a loop. `inc` and `dec` wrap at
//! their operand, and `atom` would return the values in between, so both stay. Floats stay as well,
//! because their sums depend on the order. Only relaxed updates are aggregated, because each
//! thread's release or acquire concerns that thread. Other threads see the same memory as if the
//! updates of the lanes came directly one after the other, which is allowed. Linear, plus the
//! divergence analysis.

use ptxc_ir::{
    Access, AtomicOp, Block, Function, Inst, IntCond, Op, Order, ReduxOp, ShflMode, SpecialReg, Type, Value,
};
use ptxc_machine::{Arch, Feature};

use super::atomic_loops::needs_loop;
use super::emitter::{Emitter, rewrite};
use crate::uniformity::Uniformity;

/// The updates to aggregate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// All updates that can be aggregated.
    All,
    /// Updates that would be loops, in blocks that the warp executes together.
    Loops,
}

/// Aggregates the updates of addresses that a warp has in common.
pub fn aggregate_atomics(func: &mut Function, arch: Arch) -> bool {
    aggregate_some(func, arch, Which::All)
}

/// Aggregates those updates for which lanes would take turns in a loop, in blocks that the warp
/// executes together.
pub fn aggregate_loops(func: &mut Function, arch: Arch) -> bool {
    aggregate_some(func, arch, Which::Loops)
}

fn aggregate_some(func: &mut Function, arch: Arch, which: Which) -> bool {
    let is_candidate = |func: &Function, inst: Inst| {
        update(func, inst).filter(|_| which == Which::All || needs_loop(func, inst, arch).is_some())
    };
    let mut insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
    if !insts.any(|&inst| is_candidate(func, inst).is_some()) {
        return false;
    }
    let uniformity = Uniformity::compute(func);
    let mut from = None;
    rewrite(func, |emitter, inst| {
        let found = is_candidate(emitter.func, inst);
        // The lanes that execute the first part of a split block also execute the later parts.
        let block: Block = *match &mut from {
            Some((start, last)) if *last == emitter.block => start,
            place => &mut place.insert((emitter.block, emitter.block)).0,
        };
        let Some((op, access)) = found else { return false };
        let together = uniformity.is_convergent_block(block);
        if !uniformity.is_uniform(emitter.func.insts[inst].args[0]) || which == Which::Loops && !together {
            return false;
        }
        let done = aggregate(emitter, inst, op, access, &uniformity, together && arch.has(Feature::Redux));
        from = Some((block, emitter.block));
        done
    })
}

/// A relaxed update of one or two words.
fn update(func: &Function, inst: Inst) -> Option<(AtomicOp, Access)> {
    let data = &func.insts[inst];
    let (Op::Atomic { op, access } | Op::Red { op, access }) = data.op else { return None };
    let fits = access.order == Order::Relaxed && matches!(data.ty, Type::B32 | Type::B64);
    fits.then_some((op, access))
}

/// The update by one lane, if it can be aggregated; `reduces` says whether operands that differ can
/// be reduced.
fn aggregate(
    emitter: &mut Emitter,
    inst: Inst,
    op: AtomicOp,
    access: Access,
    uniformity: &Uniformity,
    reduces: bool,
) -> bool {
    let data = emitter.func.insts[inst].clone();
    let (ty, address, operand) = (data.ty, data.args[0], data.args[1]);
    let redux = match op {
        AtomicOp::Add => ReduxOp::Add,
        AtomicOp::Smin => ReduxOp::Smin,
        AtomicOp::Smax => ReduxOp::Smax,
        AtomicOp::Umin => ReduxOp::Umin,
        AtomicOp::Umax => ReduxOp::Umax,
        AtomicOp::And => ReduxOp::And,
        AtomicOp::Or => ReduxOp::Or,
        AtomicOp::Xor => ReduxOp::Xor,
        _ => return false,
    };
    let is_red = matches!(data.op, Op::Red { .. });
    let is_same = uniformity.is_uniform(operand);
    let can = match (is_red, is_same) {
        (true, true) => true,
        (true, false) => reduces && (ty == Type::B32 || is_by_words(op)),
        (false, same) => same && op == AtomicOp::Add && ty == Type::B32,
    };
    if !can {
        return false;
    }
    let lanes = emitter.value(Op::ActiveMask, Type::B32, &[]);
    let leader = emitter.value(Op::Bfind { signed: false, shift: false }, Type::B32, &[lanes]);
    let lane = emitter.value(Op::SpecialReg(SpecialReg::LaneId), Type::B32, &[]);
    let leads = emitter.value(Op::Icmp(IntCond::Eq), Type::B32, &[lane, leader]);
    let all = match op {
        _ if !is_same && ty == Type::B64 => reduced_pair(emitter, redux, operand, lanes),
        _ if !is_same => reduced(emitter, redux, operand, lanes),
        AtomicOp::Add => times(emitter, ty, operand, lanes),
        AtomicOp::Xor => {
            let count = emitter.value(Op::Popc, Type::B32, &[lanes]);
            let (one, zero) = (emitter.constant(Type::B32, 1), emitter.constant(Type::B32, 0));
            let odd = emitter.value(Op::And, Type::B32, &[count, one]);
            let is_odd = emitter.value(Op::Icmp(IntCond::Ne), Type::B32, &[odd, zero]);
            let nothing = emitter.constant(ty, 0);
            emitter.value(Op::Select, ty, &[is_odd, operand, nothing])
        }
        _ => operand,
    };
    if is_red {
        emitter.aside(leads, None, |emitter| {
            emitter.inst(Op::Red { op, access }, ty, &[address, all]);
            None
        });
        return true;
    }
    let nothing = emitter.value(Op::Undef, ty, &[]);
    let before = emitter.aside(leads, Some(nothing), |emitter| {
        Some(emitter.value(Op::Atomic { op, access }, ty, &[address, all]))
    });
    let Some(before) = before else { return false };
    let clamp = emitter.constant(Type::B32, 0x1f);
    let (before, _) = emitter.pair(Op::Shfl(ShflMode::Idx), Type::B32, &[before, leader, clamp, lanes]);
    let lower = emitter.value(Op::SpecialReg(SpecialReg::LanemaskLt), Type::B32, &[]);
    let below = emitter.value(Op::And, Type::B32, &[lanes, lower]);
    let part = times(emitter, ty, operand, below);
    let old = emitter.value(Op::Iadd, ty, &[before, part]);
    let result = emitter.func.result(inst);
    emitter.rename(result, old);
    true
}

/// Whether the update of a pair of words can be made from updates of words.
fn is_by_words(op: AtomicOp) -> bool {
    matches!(op, AtomicOp::Add | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor)
}

/// The combined operands of the lanes. The set of lanes was computed here, wherever they are by
/// then.
fn reduced(emitter: &mut Emitter, redux: ReduxOp, operand: Value, lanes: Value) -> Value {
    emitter.value(Op::Redux(redux), Type::B32, &[operand, lanes])
}

/// Does the same for 64 bits, for operations that are [by words](is_by_words).
fn reduced_pair(emitter: &mut Emitter, redux: ReduxOp, operand: Value, lanes: Value) -> Value {
    let (low, high) = emitter.pair(Op::Unpack, Type::B64, &[operand]);
    let high = reduced(emitter, redux, high, lanes);
    if redux != ReduxOp::Add {
        let low = reduced(emitter, redux, low, lanes);
        return emitter.value(Op::Pack, Type::B64, &[low, high]);
    }
    // The sum of 32 halves of a word fits into a word.
    let (mask, sixteen) = (emitter.constant(Type::B32, 0xffff), emitter.constant(Type::B32, 16));
    let halves = [(Op::And, mask), (Op::Shr, sixteen)];
    let [first, second] = halves.map(|(op, by)| {
        let half = emitter.value(op, Type::B32, &[low, by]);
        let sum = reduced(emitter, redux, half, lanes);
        emitter.value(Op::Zext, Type::B64, &[sum])
    });
    let second = emitter.value(Op::Shl, Type::B64, &[second, sixteen]);
    let zero = emitter.constant(Type::B32, 0);
    let high = emitter.value(Op::Pack, Type::B64, &[zero, high]);
    let low = emitter.value(Op::Iadd, Type::B64, &[first, second]);
    emitter.value(Op::Iadd, Type::B64, &[low, high])
}

/// `operand` times the number of lanes.
fn times(emitter: &mut Emitter, ty: Type, operand: Value, lanes: Value) -> Value {
    let count = emitter.value(Op::Popc, Type::B32, &[lanes]);
    let count = if ty == Type::B64 { emitter.value(Op::Zext, ty, &[count]) } else { count };
    emitter.value(Op::Imul, ty, &[operand, count])
}
