//! Asynchronous copies.
//!
//! Hints to the caches are dropped. A destination in the shared memory of the cluster is taken for one of the
//! CTA's own, which it is where there are no clusters.

use ptxc_ir::{MemType, Op, Space, Type};

use super::form::{Form, Translated, Unsupported};
use super::mbarrier::{B64, barrier, place};
use super::memory;
use super::scalar::Scalar;
use super::translator::Translator;

const SHARED: &[(&str, ())] = &[("shared", ()), ("shared::cta", ())];

pub(super) fn translate(t: &mut Translator, form: &mut Form) -> Option<Translated> {
    Some(match form.mnemonic {
        "cp" => copy(t, form),
        _ => return None,
    })
}

/// `cp.async` and its family; of bulk copies those without tensors.
fn copy(t: &mut Translator, form: &mut Form) -> Translated {
    if !form.take("async") {
        return Err(Unsupported);
    }
    if form.take("bulk") {
        return bulk(t, form);
    }
    if form.take("mbarrier") {
        form.expect_operands(1)?;
        if !form.take("arrive") || form.ty()? != B64 {
            return Err(Unsupported);
        }
        let noinc = form.take("noinc");
        let address = barrier(t, form, 0)?;
        t.inst(Op::AsyncArrive(noinc), Type::B32, &[address]);
        return Ok(());
    }
    if let Some(op) = form.choose(&[("commit_group", Op::AsyncCommit), ("wait_all", Op::AsyncWaitAll)]) {
        form.expect_operands(0)?;
        t.inst(op, Type::B32, &[]);
        return Ok(());
    }
    if form.take("wait_group") {
        return wait_group(t, form, Op::AsyncWait);
    }
    element(t, form)
}

fn wait_group(t: &mut Translator, form: &mut Form, op: Op) -> Translated {
    form.expect_operands(1)?;
    let most = t.read(form.operand(0)?, Scalar::U32)?;
    t.inst(op, Type::B32, &[most]);
    Ok(())
}

/// Takes hints; the number of operands that they bring along.
fn hints(form: &mut Form) -> usize {
    for hint in ["L2::64B", "L2::128B", "L2::256B"] {
        form.take(hint);
    }
    usize::from(form.take("L2::cache_hint"))
}

fn element(t: &mut Translator, form: &mut Form) -> Translated {
    form.choose(&[("ca", ()), ("cg", ())]).ok_or(Unsupported)?;
    form.choose(SHARED).ok_or(Unsupported)?;
    if !form.take("global") {
        return Err(Unsupported);
    }
    let operands = form.operands.len().checked_sub(hints(form)).ok_or(Unsupported)?;
    let size = memory::constant(form.operand(2)?)?;
    let elem = match size {
        4 => MemType::B32,
        8 => MemType::B64,
        16 => MemType::B128,
        _ => return Err(Unsupported),
    };
    let to = place(t, form.operand(0)?, Space::Shared)?;
    let from = place(t, form.operand(1)?, Space::Global)?;
    let whole = t.constant(Type::B32, size);
    let bytes = match operands {
        3 => whole,
        // How many bytes, or whether none.
        4 => match t.read(form.operand(3)?, Scalar::PRED) {
            Ok(ignored) => {
                let none = t.constant(Type::B32, 0);
                t.emit(Op::Select, Type::B32, &[ignored, none, whole])
            }
            Err(_) => t.read(form.operand(3)?, Scalar::U32)?,
        },
        _ => return Err(Unsupported),
    };
    t.inst(Op::AsyncCopy(elem), Type::B32, &[to, from, bytes]);
    Ok(())
}

fn bulk(t: &mut Translator, form: &mut Form) -> Translated {
    if form.take("commit_group") {
        form.expect_operands(0)?;
        t.inst(Op::BulkCommit, Type::B32, &[]);
        return Ok(());
    }
    if form.take("wait_group") {
        let read = form.take("read");
        return wait_group(t, form, Op::BulkWait(read));
    }
    let policies = hints(form);
    if !form.take("global") {
        return Err(Unsupported);
    }
    if form.take("bulk_group") {
        form.expect_operands(3 + policies)?;
        form.choose(SHARED).ok_or(Unsupported)?;
        let to = place(t, form.operand(0)?, Space::Global)?;
        let from = place(t, form.operand(1)?, Space::Shared)?;
        let bytes = t.read(form.operand(2)?, Scalar::U32)?;
        t.inst(Op::BulkStore, Type::B32, &[to, from, bytes]);
        return Ok(());
    }
    form.expect_operands(4 + policies)?;
    form.choose(&[("shared::cluster", ()), ("shared::cta", ())]).ok_or(Unsupported)?;
    if !form.take("mbarrier::complete_tx::bytes") {
        return Err(Unsupported);
    }
    let to = place(t, form.operand(0)?, Space::Shared)?;
    let from = place(t, form.operand(1)?, Space::Global)?;
    let bytes = t.read(form.operand(2)?, Scalar::U32)?;
    let barrier = place(t, form.operand(3)?, Space::Shared)?;
    t.inst(Op::BulkLoad, Type::B32, &[to, from, bytes, barrier]);
    Ok(())
}
