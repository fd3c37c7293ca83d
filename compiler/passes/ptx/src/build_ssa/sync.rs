//! Operations of several threads: barriers, votes and shuffles.

use ptxc_ir::warpgroup::Groups;
use ptxc_ir::{BarrierKind, MatchMode, Op, ReduxOp, ShflMode, Type, Value, VoteMode};
use ptxc_syntax::ast::OperandKind;
use smallvec::SmallVec;

use super::form::{Form, Translated, Unsupported};
use super::memory;
use super::ssa::Above;
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::Modifier;
use crate::check::table::modifiers::{self, WarpReduction};

/// `setmaxnreg`: a hint, which [`register_counts`](crate::check::register_counts) may tell to ignore.
/// As in ptxas's code, a warp that gets no registers asks again.
pub(super) fn change_registers(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(1)?;
    let change = form.choose::<modifiers::Change>().ok_or(Unsupported)?;
    if !form.take(Modifier::Sync) || !form.take(Modifier::Aligned) {
        return Err(Unsupported);
    }
    let count = memory::constant(form.operand(0)?)?;
    let count = Groups(u8::try_from(count).unwrap_or(u8::MAX));
    if t.keeps_registers {
        return Ok(());
    }
    let all = t.constant(Type::B32, u32::MAX.into());
    match change {
        modifiers::Change::Dec => {
            t.inst(Op::WarpSync, Type::B32, &[all]);
            t.inst(Op::ReturnRegisters { count }, Type::B32, &[]);
        }
        modifiers::Change::Inc => {
            let [again, after] = [t.function.add_block(), t.function.add_block()];
            t.terminate(Op::Jump, &[], &[again]);
            t.start(again, Above::Join);
            t.inst(Op::WarpSync, Type::B32, &[all]);
            let done = t.emit(Op::TryRegisters { count }, Type::B32, &[]);
            t.terminate(Op::Branch { uni: true }, &[done], &[after, again]);
            t.start(after, Above::Single(again));
        }
    }
    Ok(())
}

/// `bar.warp.sync`.
pub(super) fn warp_barrier(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(1)?;
    if !form.take(Modifier::Sync) {
        return Err(Unsupported);
    }
    let mask = t.read(form.operand(0)?, Scalar::B32)?;
    t.inst(Op::WarpSync, Type::B32, &[mask]);
    Ok(())
}

/// The operation for a kind of barrier, with or without `.aligned`.
type Barrier = fn(BarrierKind, bool) -> Op;

/// `bar`, which is always aligned.
pub(super) const BAR: Barrier = |kind, _| Op::Bar(kind);

/// `barrier`.
pub(super) const BARRIER: Barrier = |kind, aligned| Op::Barrier { kind, aligned, packed: false };

/// `bar.red` and `barrier.red`.
pub(super) fn reducing_barrier(t: &mut Translator, form: &mut Form, op: Barrier) -> Translated {
    let kind = match form.choose::<modifiers::BarrierReduction>().ok_or(Unsupported)? {
        modifiers::BarrierReduction::Popc => BarrierKind::RedPopc,
        modifiers::BarrierReduction::And => BarrierKind::RedAnd,
        modifiers::BarrierReduction::Or => BarrierKind::RedOr,
    };
    barrier(t, form, op, kind)
}

/// A barrier of the CTA.
pub(super) fn barrier(t: &mut Translator, form: &mut Form, op: Barrier, kind: BarrierKind) -> Translated {
    form.take(Modifier::Cta);
    let op = op(kind, form.take(Modifier::Aligned));
    let reduction = kind.is_reduction();
    // Only a reduction has a destination and a predicate; the thread count is optional.
    let first = usize::from(reduction);
    let numbers = form.operands.len().checked_sub(2 * first).ok_or(Unsupported)?;
    if !(1..=2).contains(&numbers) || (kind == BarrierKind::Arrive && numbers != 2) {
        return Err(Unsupported);
    }
    let mut args: SmallVec<[Value; 3]> = SmallVec::new();
    for index in 0..numbers {
        args.push(t.read(form.operand(first + index)?, Scalar::U32)?);
    }
    if reduction {
        args.push(t.read(form.operand(first + numbers)?, Scalar::Pred)?);
    }
    let inst = t.inst(op, Type::B32, &args);
    if reduction {
        let result = t.function.result(inst);
        t.write(form.operand(0)?, result)?;
    }
    Ok(())
}

pub(super) fn vote(t: &mut Translator, form: &mut Form) -> Translated {
    let sync = form.take(Modifier::Sync);
    form.expect_operands(2 + usize::from(sync))?;
    let mode = VoteMode::from(form.choose::<modifiers::Vote>().ok_or(Unsupported)?);
    let expected = if mode == VoteMode::Ballot { Scalar::B32 } else { Scalar::Pred };
    if form.ty()? != expected {
        return Err(Unsupported);
    }
    let mut args: SmallVec<[Value; 2]> = SmallVec::new();
    args.push(t.read(form.operand(1)?, Scalar::Pred)?);
    if sync {
        args.push(t.read(form.operand(2)?, Scalar::B32)?);
    }
    let value = t.emit(Op::Vote(mode), Type::B32, &args);
    t.write(form.operand(0)?, value)
}

pub(super) fn shuffle(t: &mut Translator, form: &mut Form) -> Translated {
    // The older form has no mask: all threads that execute it together take part.
    let operands = 4 + usize::from(form.take(Modifier::Sync));
    form.expect_operands(operands)?;
    if form.ty()? != Scalar::B32 {
        return Err(Unsupported);
    }
    let mode = ShflMode::from(form.choose::<modifiers::Shuffle>().ok_or(Unsupported)?);
    let mut args: SmallVec<[Value; 4]> = SmallVec::new();
    for index in 1..operands {
        args.push(t.read(form.operand(index)?, Scalar::B32)?);
    }
    let (value, in_range) = t.emit_pair(Op::Shfl(mode), Type::B32, &args);
    write_both(t, form, value, in_range)
}

/// Writes a value and a predicate to `d|p`, or only the value to `d`.
fn write_both(t: &mut Translator, form: &Form, value: Value, holds: Value) -> Translated {
    match &form.operand(0)?.kind {
        OperandKind::Pair(pair) => {
            t.write(&pair.0, value)?;
            t.write(&pair.1, holds)
        }
        _ => t.write(form.operand(0)?, value),
    }
}

pub(super) fn match_lanes(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(3)?;
    let mode = MatchMode::from(form.choose::<modifiers::Match>().ok_or(Unsupported)?);
    if !form.take(Modifier::Sync) {
        return Err(Unsupported);
    }
    let scalar = form.ty()?;
    let a = t.read(form.operand(1)?, scalar)?;
    let mask = t.read(form.operand(2)?, Scalar::B32)?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    match mode {
        MatchMode::Any => {
            let value = t.emit(Op::Match(mode), ty, &[a, mask]);
            t.write(form.operand(0)?, value)
        }
        MatchMode::All => {
            let (value, all) = t.emit_pair(Op::Match(mode), ty, &[a, mask]);
            write_both(t, form, value, all)
        }
    }
}

pub(super) fn reduce(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(3)?;
    let scalar = form.ty()?;
    if !form.take(Modifier::Sync) || scalar.bits() != 32 || !scalar.is_int() {
        return Err(Unsupported);
    }
    let (add, min, max) = match scalar.is_signed() {
        true => (ReduxOp::Sadd, ReduxOp::Smin, ReduxOp::Smax),
        false => (ReduxOp::Add, ReduxOp::Umin, ReduxOp::Umax),
    };
    let op = match form.choose::<WarpReduction>().ok_or(Unsupported)? {
        WarpReduction::Add => add,
        WarpReduction::Min => min,
        WarpReduction::Max => max,
        WarpReduction::And => ReduxOp::And,
        WarpReduction::Or => ReduxOp::Or,
        WarpReduction::Xor => ReduxOp::Xor,
    };
    let a = t.read(form.operand(1)?, scalar)?;
    let mask = t.read(form.operand(2)?, Scalar::B32)?;
    let value = t.emit(Op::Redux(op), Type::B32, &[a, mask]);
    t.write(form.operand(0)?, value)
}

pub(super) fn elect(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    if !form.take(Modifier::Sync) {
        return Err(Unsupported);
    }
    let mask = t.read(form.operand(1)?, Scalar::B32)?;
    let (lane, elected) = t.emit_pair(Op::Elect, Type::B32, &[mask]);
    write_both(t, form, lane, elected)
}

pub(super) fn sleep(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(1)?;
    if form.ty()? != Scalar::U32 {
        return Err(Unsupported);
    }
    let time = t.read(form.operand(0)?, Scalar::U32)?;
    t.inst(Op::Nanosleep, Type::B32, &[time]);
    Ok(())
}

pub(super) fn active_mask(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(1)?;
    if form.ty()? != Scalar::B32 {
        return Err(Unsupported);
    }
    let value = t.emit(Op::ActiveMask, Type::B32, &[]);
    t.write(form.operand(0)?, value)
}
