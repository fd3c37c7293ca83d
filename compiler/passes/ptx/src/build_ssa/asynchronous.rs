//! Asynchronous copies.
//!
//! ```text
//! cp.async.cg.shared.global.L2::128B [%r1], [%rd1+16], 16;   =>   async_copy.global.cg.b128.l2_128 [v2 + 16], v1, 16
//! ```
//!
//! An element's policy of caching is that of its global address; those of bulk copies are dropped.

use ptxc_ir::op::Prefetch;
use ptxc_ir::{Access, CacheOp, MemType, Op, Space, Type};
use ptxc_syntax::ast::OperandKind;

use super::cache_policy::hinted;
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
        t.inst(Op::AsyncArrive { noinc }, Type::B32, &[address]);
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

const PREFETCH: &[(&str, Prefetch)] =
    &[("L2::64B", Prefetch::L64), ("L2::128B", Prefetch::L128), ("L2::256B", Prefetch::L256)];

/// Takes hints; the number of operands that they bring along.
fn hints(form: &mut Form) -> usize {
    usize::from(form.take("L2::cache_hint"))
}

fn element(t: &mut Translator, form: &mut Form) -> Translated {
    let cache = form.choose(&[("ca", CacheOp::Ca), ("cg", CacheOp::Cg)]).ok_or(Unsupported)?;
    let prefetch = form.choose(PREFETCH).unwrap_or(Prefetch::Needed);
    form.choose(SHARED).ok_or(Unsupported)?;
    if !form.take("global") {
        return Err(Unsupported);
    }
    let policies = hints(form);
    let operands = form.operands.len().checked_sub(policies).ok_or(Unsupported)?;
    let size = memory::constant(form.operand(2)?)?;
    let elem = match size {
        4 => MemType::B32,
        8 => MemType::B64,
        16 => MemType::B128,
        _ => return Err(Unsupported),
    };
    let to = place(t, form.operand(0)?, Space::Shared)?;
    let mut access = Access { cache, ..Access::weak(Space::Global, elem) };
    let mut from = memory::address(t, form.operand(1)?, &mut access)?;
    if policies > 0 {
        from = hinted(t, Space::Global, from, form.operand(operands)?)?;
    }
    let whole = t.constant(Type::B32, size);
    let bytes = match operands {
        3 => whole,
        // How many bytes, or whether none.
        4 => {
            let given = form.operand(3)?;
            let is_number = matches!(given.kind, OperandKind::Immediate(_));
            match t.read(given, if is_number { Scalar::U32 } else { Scalar::PRED }) {
                Ok(bytes) if is_number => bytes,
                Ok(ignored) => {
                    let none = t.constant(Type::B32, 0);
                    t.emit(Op::Select, Type::B32, &[ignored, none, whole])
                }
                Err(_) => t.read(given, Scalar::U32)?,
            }
        }
        _ => return Err(Unsupported),
    };
    t.inst(Op::AsyncCopy { access, prefetch }, Type::B32, &[from, to, bytes]);
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
        return wait_group(t, form, Op::BulkWait { read });
    }
    let policies = hints(form);
    if form.take("prefetch") {
        form.expect_operands(2 + policies)?;
        if !form.take("L2") || !form.take("global") {
            return Err(Unsupported);
        }
        let from = place(t, form.operand(0)?, Space::Global)?;
        let bytes = t.read(form.operand(1)?, Scalar::U32)?;
        t.inst(Op::BulkPrefetch, Type::B32, &[from, bytes]);
        return Ok(());
    }
    let is_global = form.take("global");
    if form.take("bulk_group") {
        form.expect_operands(3 + policies)?;
        form.choose(SHARED).filter(|()| is_global).ok_or(Unsupported)?;
        let to = place(t, form.operand(0)?, Space::Global)?;
        let from = place(t, form.operand(1)?, Space::Shared)?;
        let bytes = t.read(form.operand(2)?, Scalar::U32)?;
        t.inst(Op::BulkStore, Type::B32, &[to, from, bytes]);
        return Ok(());
    }
    form.expect_operands(4 + policies)?;
    let is_cluster = form.take("shared::cluster");
    // Of two spaces of shared memory the first is that of the cluster.
    let is_own = form.take("shared::cta");
    if !form.take("mbarrier::complete_tx::bytes") || is_global == (is_cluster && is_own) {
        return Err(Unsupported);
    }
    let (op, space) = if is_global { (Op::BulkLoad, Space::Global) } else { (Op::BulkShare, Space::Shared) };
    let to = place(t, form.operand(0)?, Space::Shared)?;
    let from = place(t, form.operand(1)?, space)?;
    let bytes = t.read(form.operand(2)?, Scalar::U32)?;
    let barrier = place(t, form.operand(3)?, Space::Shared)?;
    t.inst(op, Type::B32, &[to, from, bytes, barrier]);
    Ok(())
}
