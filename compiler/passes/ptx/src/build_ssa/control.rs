//! Control flow: `bra`, `brx.idx`, `ret`, `exit`, `trap`, `brkpt`.
//!
//! A kernel has no caller: its `ret` ends the thread as `exit` does. A device function returns in one block.

use ptxc_ir::{Op, Type, Value};

use super::form::{Form, Translated, Unsupported};
use super::scalar::Scalar;
use super::translator::Translator;

/// Whether a guard on the instruction becomes the condition of a branch.
pub(super) fn is_branch(mnemonic: &str) -> bool {
    matches!(mnemonic, "bra" | "ret" | "exit")
}

/// A branch or exit under a guard.
pub(super) fn guarded(t: &mut Translator, form: &mut Form, condition: Value) -> Translated {
    let uniform = form.take("uni");
    let target = match form.mnemonic {
        "bra" => {
            form.expect_operands(1)?;
            t.target(form.operand(0)?.as_symbol().ok_or(Unsupported)?)?
        }
        _ => {
            form.expect_operands(0)?;
            if form.mnemonic == "ret" { t.end_block() } else { t.exit_block() }
        }
    };
    t.branch_away(condition, target, uniform);
    if form.is_done() { Ok(()) } else { Err(Unsupported) }
}

pub(super) fn translate(t: &mut Translator, form: &mut Form) -> Option<Translated> {
    Some(match form.mnemonic {
        "bra" => branch(t, form),
        "brx" => branch_indexed(t, form),
        "ret" => {
            form.take("uni");
            t.leave();
            Ok(())
        }
        "exit" => {
            t.terminate(Op::Exit, &[], &[]);
            Ok(())
        }
        "trap" => {
            t.terminate(Op::Trap, &[], &[]);
            Ok(())
        }
        "brkpt" => {
            t.inst(Op::Breakpoint, Type::B32, &[]);
            Ok(())
        }
        _ => return None,
    })
}

fn branch(t: &mut Translator, form: &mut Form) -> Translated {
    form.take("uni");
    form.expect_operands(1)?;
    let target = t.target(form.operand(0)?.as_symbol().ok_or(Unsupported)?)?;
    t.terminate(Op::Jump, &[], &[target]);
    Ok(())
}

fn branch_indexed(t: &mut Translator, form: &mut Form) -> Translated {
    form.take("uni");
    form.expect_operands(2)?;
    if !form.take("idx") {
        return Err(Unsupported);
    }
    let index = t.read(form.operand(0)?, Scalar::U32)?;
    let targets = t.target_list(form.operand(1)?.as_symbol().ok_or(Unsupported)?)?;
    if targets.is_empty() {
        return Err(Unsupported);
    }
    t.terminate(Op::Switch, &[index], &targets);
    Ok(())
}
