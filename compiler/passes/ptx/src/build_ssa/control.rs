//! Control flow: `bra`, `brx.idx`, `ret`, `exit`, `trap`, `brkpt`.
//!
//! A kernel has no caller: its `ret` ends the thread as `exit` does. A device function returns in
//! one block.

use ptxc_ir::{Block, Op, Type, Value};

use super::form::{Form, Translated, Unsupported};
use super::memory::constant;
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::Modifier;

/// The events of a profiler, one bit for each.
const EVENTS: u64 = 0xffff;

/// The block that a guarded branch goes to.
pub(super) type Target = fn(&mut Translator, &Form) -> Translated<Block>;

/// The target of `bra`.
pub(super) fn label(t: &mut Translator, form: &Form) -> Translated<Block> {
    form.expect_operands(1)?;
    t.target(form.operand(0)?.as_symbol().ok_or(Unsupported)?)
}

/// The target of `ret`.
pub(super) fn end(t: &mut Translator, form: &Form) -> Translated<Block> {
    form.expect_operands(0)?;
    Ok(t.end_block())
}

/// The target of `exit`.
pub(super) fn exit_block(t: &mut Translator, form: &Form) -> Translated<Block> {
    form.expect_operands(0)?;
    Ok(t.exit_block())
}

/// A branch or exit under a guard.
pub(super) fn guarded(t: &mut Translator, form: &mut Form, target: Target, condition: Value) -> Translated {
    let uniform = form.take(Modifier::Uni);
    let target = target(t, form)?;
    t.branch_away(condition, target, uniform);
    if form.is_done() { Ok(()) } else { Err(Unsupported) }
}

pub(super) fn branch(t: &mut Translator, form: &mut Form) -> Translated {
    form.take(Modifier::Uni);
    let target = label(t, form)?;
    t.terminate(Op::Jump, &[], &[target]);
    Ok(())
}

pub(super) fn leave(t: &mut Translator, form: &mut Form) -> Translated {
    form.take(Modifier::Uni);
    t.leave();
    Ok(())
}

/// `exit` and `trap`.
pub(super) fn stop(t: &mut Translator, op: Op) -> Translated {
    t.terminate(op, &[], &[]);
    Ok(())
}

pub(super) fn breakpoint(t: &mut Translator, _: &mut Form) -> Translated {
    t.inst(Op::Breakpoint, Type::B32, &[]);
    Ok(())
}

/// `pmevent`: the number of an event, or a mask of events.
pub(super) fn event(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(1)?;
    let operand = constant(form.operand(0)?)?;
    let mask = match form.take(Modifier::Mask) {
        true => operand,
        false => 1u64.checked_shl(u32::try_from(operand).map_err(|_| Unsupported)?).ok_or(Unsupported)?,
    };
    if mask > EVENTS {
        return Err(Unsupported);
    }
    t.inst(Op::PmEvent { mask }, Type::B32, &[]);
    Ok(())
}

pub(super) fn branch_indexed(t: &mut Translator, form: &mut Form) -> Translated {
    form.take(Modifier::Uni);
    form.expect_operands(2)?;
    let index = t.read(form.operand(0)?, Scalar::U32)?;
    let targets = t.target_list(form.operand(1)?.as_symbol().ok_or(Unsupported)?)?;
    if targets.is_empty() {
        return Err(Unsupported);
    }
    t.terminate(Op::Switch, &[index], &targets);
    Ok(())
}
