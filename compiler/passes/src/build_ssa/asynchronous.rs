//! Mbarriers and asynchronous copies.
//!
//! An mbarrier lies in the CTA's shared memory, so a generic address becomes a shared one. The time limit of a `try_wait`
//! and hints to the caches are dropped. A destination in the shared memory of the cluster is taken for one of the
//! CTA's own, which it is where there are no clusters.

use ptxc_ir::op::{MbarrierArrive, MbarrierUpdate, MbarrierWait};
use ptxc_ir::{Access, MemType, Op, Space, Type, Value};
use ptxc_syntax::ast::Operand;

use super::form::{Form, Translated, Unsupported};
use super::memory;
use super::scalar::Scalar;
use super::translator::Translator;

const B64: Scalar = Scalar { bits: 64, ..Scalar::B32 };

const SHARED: &[(&str, ())] = &[("shared", ()), ("shared::cta", ())];

pub(super) fn translate(t: &mut Translator, form: &mut Form) -> Option<Translated> {
    Some(match form.mnemonic {
        "mbarrier" => mbarrier(t, form),
        "cp" => copy(t, form),
        _ => return None,
    })
}

/// An address with its constant part.
fn place(t: &mut Translator, operand: &Operand, space: Space) -> Translated<Value> {
    let mut access = Access::weak(space, MemType::B64);
    let base = memory::address(t, operand, &mut access)?;
    if access.offset == 0 {
        return Ok(base);
    }
    let ty = space.address_type();
    let offset = t.constant(ty, access.offset as u64);
    Ok(t.emit(Op::Iadd, ty, &[base, offset]))
}

/// The shared address of an mbarrier.
fn barrier(t: &mut Translator, form: &mut Form, index: usize) -> Translated<Value> {
    let operand = form.operand(index)?;
    if form.choose(SHARED).is_some() {
        return place(t, operand, Space::Shared);
    }
    let generic = place(t, operand, Space::Generic)?;
    Ok(t.emit(Op::FromGeneric(Space::Shared), Type::B32, &[generic]))
}

fn mbarrier(t: &mut Translator, form: &mut Form) -> Translated {
    if form.ty()? != B64 {
        return Err(Unsupported);
    }
    // What an operation without these modifiers does is stronger or the same.
    for name in ["acquire", "release", "relaxed", "cta", "cluster"] {
        form.take(name);
    }
    if form.take("pending_count") {
        form.expect_operands(2)?;
        let state = t.read(form.operand(1)?, B64)?;
        let count = t.emit(Op::MbarrierPending, Type::B32, &[state]);
        return t.write(form.operand(0)?, count);
    }
    if form.take("inval") {
        form.expect_operands(1)?;
        let address = barrier(t, form, 0)?;
        t.inst(Op::MbarrierInval, Type::B32, &[address]);
        return Ok(());
    }
    let wait = form.choose(&[("test_wait", MbarrierWait::Test), ("try_wait", MbarrierWait::Try)]);
    if let Some(wait) = wait {
        return ask(t, form, wait);
    }
    let arrives = form.take("arrive");
    let drops = !arrives && form.take("arrive_drop");
    if arrives || drops {
        return arrive(t, form, drops);
    }
    let update = form
        .choose(&[
            ("init", MbarrierUpdate::Init),
            ("expect_tx", MbarrierUpdate::ExpectTx),
            ("complete_tx", MbarrierUpdate::CompleteTx),
        ])
        .ok_or(Unsupported)?;
    form.expect_operands(2)?;
    let address = barrier(t, form, 0)?;
    let count = t.read(form.operand(1)?, Scalar::U32)?;
    t.inst(Op::MbarrierUpdate(update), Type::B32, &[address, count]);
    Ok(())
}

fn ask(t: &mut Translator, form: &mut Form, wait: MbarrierWait) -> Translated {
    let limit = usize::from(wait == MbarrierWait::Try && form.operands.len() == 4);
    form.expect_operands(3 + limit)?;
    let address = barrier(t, form, 1)?;
    let past = if form.take("parity") {
        let parity = t.read(form.operand(2)?, Scalar::U32)?;
        t.emit(Op::MbarrierParity(wait), Type::B32, &[address, parity])
    } else {
        let state = t.read(form.operand(2)?, B64)?;
        t.emit(Op::MbarrierState(wait), Type::B32, &[address, state])
    };
    t.write(form.operand(0)?, past)
}

fn arrive(t: &mut Translator, form: &mut Form, drops: bool) -> Translated {
    let (expects, completes) = (form.take("expect_tx"), !form.take("noComplete"));
    let kind = match (drops, expects, completes) {
        (false, false, true) => MbarrierArrive::Count,
        (false, false, false) => MbarrierArrive::NoComplete,
        (false, true, true) => MbarrierArrive::ExpectTx,
        (true, false, true) => MbarrierArrive::Drop,
        (true, false, false) => MbarrierArrive::DropNoComplete,
        (true, true, true) => MbarrierArrive::DropExpectTx,
        (_, true, false) => return Err(Unsupported),
    };
    let address = barrier(t, form, 1)?;
    let count = match form.operands.len() {
        2 if !expects => t.constant(Type::B32, 1),
        3 => t.read(form.operand(2)?, Scalar::U32)?,
        _ => return Err(Unsupported),
    };
    let state = t.emit(Op::MbarrierArrive(kind), Type::B32, &[address, count]);
    t.write(form.operand(0)?, state)
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
