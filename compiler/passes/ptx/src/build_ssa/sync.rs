//! What threads do together: barriers, votes and shuffles.

use ptxc_ir::{BarrierKind, MatchMode, Op, ReduxOp, ShflMode, Type, Value, VoteMode};
use ptxc_syntax::ast::OperandKind;
use smallvec::SmallVec;

use super::form::{Form, Translated, Unsupported};
use super::scalar::Scalar;
use super::translator::Translator;

pub(super) fn translate(t: &mut Translator, form: &mut Form) -> Option<Translated> {
    Some(match form.mnemonic {
        "bar" | "barrier" => barrier(t, form),
        "vote" => vote(t, form),
        "shfl" => shuffle(t, form),
        "activemask" => active_mask(t, form),
        "match" => match_lanes(t, form),
        "redux" => reduce(t, form),
        "elect" => elect(t, form),
        "nanosleep" => sleep(t, form),
        "setmaxnreg" => keep_registers(form),
        _ => return None,
    })
}

/// `setmaxnreg`: a hint that is not followed, of which the checker says so.
fn keep_registers(form: &mut Form) -> Translated {
    form.expect_operands(1)?;
    let is_complete =
        form.choose(&[("inc", ()), ("dec", ())]).is_some() && form.take("sync") && form.take("aligned");
    if is_complete { Ok(()) } else { Err(Unsupported) }
}

fn barrier(t: &mut Translator, form: &mut Form) -> Translated {
    if form.take("cluster") {
        return super::cluster::barrier(t, form);
    }
    if form.take("warp") {
        form.expect_operands(1)?;
        if !form.take("sync") || form.mnemonic != "bar" {
            return Err(Unsupported);
        }
        let mask = t.read(form.operand(0)?, Scalar::B32)?;
        t.inst(Op::WarpSync, Type::B32, &[mask]);
        return Ok(());
    }
    form.take("cta");
    let aligned = form.mnemonic == "bar" || form.take("aligned");
    let kind = if form.take("sync") {
        BarrierKind::Sync
    } else if form.take("arrive") {
        BarrierKind::Arrive
    } else if form.take("red") {
        form.choose(&[
            ("popc", BarrierKind::RedPopc),
            ("and", BarrierKind::RedAnd),
            ("or", BarrierKind::RedOr),
        ])
        .ok_or(Unsupported)?
    } else {
        return Err(Unsupported);
    };
    let reduction = kind.is_reduction();
    // Destination and predicate are there for a reduction; the thread count may be left out.
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
        args.push(t.read(form.operand(first + numbers)?, Scalar::PRED)?);
    }
    let op =
        if form.mnemonic == "bar" { Op::Bar(kind) } else { Op::Barrier { kind, aligned, packed: false } };
    let inst = t.inst(op, Type::B32, &args);
    if reduction {
        let result = t.function.result(inst);
        t.write(form.operand(0)?, result)?;
    }
    Ok(())
}

fn vote(t: &mut Translator, form: &mut Form) -> Translated {
    let sync = form.take("sync");
    form.expect_operands(2 + usize::from(sync))?;
    let mode: VoteMode = form.read(|name| name.parse().ok()).ok_or(Unsupported)?;
    let expected = if mode == VoteMode::Ballot { Scalar::B32 } else { Scalar::PRED };
    if form.ty()? != expected {
        return Err(Unsupported);
    }
    let mut args: SmallVec<[Value; 2]> = SmallVec::new();
    args.push(t.read(form.operand(1)?, Scalar::PRED)?);
    if sync {
        args.push(t.read(form.operand(2)?, Scalar::B32)?);
    }
    let value = t.emit(Op::Vote(mode), Type::B32, &args);
    t.write(form.operand(0)?, value)
}

fn shuffle(t: &mut Translator, form: &mut Form) -> Translated {
    // The older form has no mask: whoever executes it together takes part.
    let operands = 4 + usize::from(form.take("sync"));
    form.expect_operands(operands)?;
    if form.ty()? != Scalar::B32 {
        return Err(Unsupported);
    }
    let mode: ShflMode = form.read(|name| name.parse().ok()).ok_or(Unsupported)?;
    let mut args: SmallVec<[Value; 4]> = SmallVec::new();
    for index in 1..operands {
        args.push(t.read(form.operand(index)?, Scalar::B32)?);
    }
    let (value, in_range) = t.emit_pair(Op::Shfl(mode), Type::B32, &args);
    write_both(t, form, value, in_range)
}

/// Writes a value and a predicate to `d|p`, or the value alone to `d`.
fn write_both(t: &mut Translator, form: &Form, value: Value, holds: Value) -> Translated {
    match &form.operand(0)?.kind {
        OperandKind::Pair(pair) => {
            t.write(&pair.0, value)?;
            t.write(&pair.1, holds)
        }
        _ => t.write(form.operand(0)?, value),
    }
}

fn match_lanes(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(3)?;
    let mode: MatchMode = form.read(|name| name.parse().ok()).ok_or(Unsupported)?;
    if !form.take("sync") {
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

fn reduce(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(3)?;
    let scalar = form.ty()?;
    if !form.take("sync") || scalar.bits != 32 || !scalar.is_int() {
        return Err(Unsupported);
    }
    let (add, min, max) = match scalar.is_signed() {
        true => (ReduxOp::Sadd, ReduxOp::Smin, ReduxOp::Smax),
        false => (ReduxOp::Add, ReduxOp::Umin, ReduxOp::Umax),
    };
    let op = form.choose(&[
        ("add", add),
        ("min", min),
        ("max", max),
        ("and", ReduxOp::And),
        ("or", ReduxOp::Or),
        ("xor", ReduxOp::Xor),
    ]);
    let a = t.read(form.operand(1)?, scalar)?;
    let mask = t.read(form.operand(2)?, Scalar::B32)?;
    let value = t.emit(Op::Redux(op.ok_or(Unsupported)?), Type::B32, &[a, mask]);
    t.write(form.operand(0)?, value)
}

fn elect(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    if !form.take("sync") {
        return Err(Unsupported);
    }
    let mask = t.read(form.operand(1)?, Scalar::B32)?;
    let (lane, elected) = t.emit_pair(Op::Elect, Type::B32, &[mask]);
    write_both(t, form, lane, elected)
}

fn sleep(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(1)?;
    if form.ty()? != Scalar::U32 {
        return Err(Unsupported);
    }
    let time = t.read(form.operand(0)?, Scalar::U32)?;
    t.inst(Op::Nanosleep, Type::B32, &[time]);
    Ok(())
}

fn active_mask(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(1)?;
    if form.ty()? != Scalar::B32 {
        return Err(Unsupported);
    }
    let value = t.emit(Op::ActiveMask, Type::B32, &[]);
    t.write(form.operand(0)?, value)
}
