//! Asynchronous copies.
//!
//! ```text
//! cp.async.cg.shared.global.L2::128B [%r1], [%rd1+16], 16;   =>   async_copy.global.cg.b128.l2_128 [v2 + 16], v1, 16
//! ```
//!
//! The cache policy of a copy is attached to its global address.

use ptxc_ir::op::Prefetch;
use ptxc_ir::{Access, MemType, Op, Space, Type, Value};
use ptxc_syntax::ast::{Operand, OperandKind};
use smallvec::SmallVec;

use super::cache_policy::hinted;
use super::form::{Form, Translated, Unsupported};
use super::mbarrier::{barrier, expect_b64, place};
use super::memory;
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::{Modifier, modifiers};

/// `cp.async.mbarrier.arrive`.
pub(super) fn arrive(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(1)?;
    expect_b64(form)?;
    let noinc = form.take(Modifier::Noinc);
    let address = barrier(t, form, 0)?;
    t.inst(Op::AsyncArrive { noinc }, Type::B32, &[address]);
    Ok(())
}

/// An operation without operands: the end of a group, or a wait for all groups.
pub(super) fn plain(t: &mut Translator, form: &mut Form, op: Op) -> Translated {
    form.expect_operands(0)?;
    t.inst(op, Type::B32, &[]);
    Ok(())
}

/// `cp.async.bulk.wait_group`.
pub(super) fn wait_bulk_group(t: &mut Translator, form: &mut Form) -> Translated {
    let read = form.take(Modifier::Read);
    wait_group(t, form, Op::BulkWait { read })
}

pub(super) fn wait_group(t: &mut Translator, form: &mut Form, op: Op) -> Translated {
    form.expect_operands(1)?;
    let most = t.read(form.operand(0)?, Scalar::U32)?;
    t.inst(op, Type::B32, &[most]);
    Ok(())
}

/// Takes the modifier `.shared::cta`, if it is there.
fn takes_shared(form: &mut Form) -> bool {
    form.take(Modifier::Shared) || form.take(Modifier::SharedCta)
}

/// Takes hints; returns the number of operands that they add.
fn hints(form: &mut Form) -> usize {
    usize::from(form.take(Modifier::L2CacheHint))
}

/// `cp.async` of one element.
pub(super) fn element(t: &mut Translator, form: &mut Form) -> Translated {
    let cache = form.choose::<modifiers::Cache>().ok_or(Unsupported)?.into();
    let prefetch = form.choose::<modifiers::Prefetch>().map_or(Prefetch::Needed, Prefetch::from);
    if !takes_shared(form) {
        return Err(Unsupported);
    }
    if !form.take(Modifier::Global) {
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
        // The size, or the predicate to ignore the source.
        4 => {
            let given = form.operand(3)?;
            let is_number = matches!(given.kind, OperandKind::Immediate(_));
            match t.read(given, if is_number { Scalar::U32 } else { Scalar::Pred }) {
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

/// `cp.async.bulk.prefetch`.
pub(super) fn prefetch(t: &mut Translator, form: &mut Form) -> Translated {
    let policies = hints(form);
    form.expect_operands(2 + policies)?;
    if !form.take(Modifier::L2) || !form.take(Modifier::Global) {
        return Err(Unsupported);
    }
    let mut from = place(t, form.operand(0)?, Space::Global)?;
    let bytes = t.read(form.operand(1)?, Scalar::U32)?;
    if policies > 0 {
        from = hinted(t, Space::Global, from, form.operand(2)?)?;
    }
    t.inst(Op::BulkPrefetch, Type::B32, &[from, bytes]);
    Ok(())
}

/// `cp.async.bulk` and `multimem.cp.async.bulk`, which stores to every place of an address in the same
/// way.
pub(super) fn bulk(t: &mut Translator, form: &mut Form) -> Translated {
    let policies = hints(form);
    let is_global = form.take(Modifier::Global);
    if form.take(Modifier::BulkGroup) {
        form.expect_operands(3 + policies)?;
        if !takes_shared(form) || !is_global {
            return Err(Unsupported);
        }
        let args = to_global(t, form, policies)?;
        t.inst(Op::BulkStore, Type::B32, &args);
        return Ok(());
    }
    let multicast = form.take(Modifier::MulticastCluster);
    // The counts of bytes at both ends whose values do not matter. NVIDIA's assembler copies them, too.
    let counts = if form.take(Modifier::IgnoreOob) { 2 } else { 0 };
    form.expect_operands(4 + counts + usize::from(multicast) + policies)?;
    let is_cluster = form.take(Modifier::SharedCluster);
    // If both spaces are shared memory, the first is that of the cluster.
    let is_own = form.take(Modifier::SharedCta);
    if !form.take(Modifier::MbarrierCompleteTxBytes) || is_global == (is_cluster && is_own) {
        return Err(Unsupported);
    }
    let (op, space) = match is_global {
        true => (Op::BulkLoad { multicast }, Space::Global),
        false => (Op::BulkShare, Space::Shared),
    };
    let to = place(t, form.operand(0)?, Space::Shared)?;
    let mut from = place(t, form.operand(1)?, space)?;
    let bytes = t.read(form.operand(2)?, Scalar::U32)?;
    let barrier = place(t, form.operand(3 + counts)?, Space::Shared)?;
    if policies > 0 {
        from = hinted(t, Space::Global, from, form.operand(4 + counts + usize::from(multicast))?)?;
    }
    let mut args: SmallVec<[Value; 5]> = SmallVec::from_slice(&[to, from, bytes, barrier]);
    if multicast {
        args.push(ctas(t, form.operand(4)?)?);
    }
    t.inst(op, Type::B32, &args);
    Ok(())
}

/// The operands of a copy or an update from shared to global memory: to, from, and bytes.
fn to_global(t: &mut Translator, form: &Form, policies: usize) -> Translated<[Value; 3]> {
    let mut to = place(t, form.operand(0)?, Space::Global)?;
    let from = place(t, form.operand(1)?, Space::Shared)?;
    let bytes = t.read(form.operand(2)?, Scalar::U32)?;
    if policies > 0 {
        to = hinted(t, Space::Global, to, form.operand(3)?)?;
    }
    Ok([to, from, bytes])
}

/// A set of CTAs of the cluster, one bit for each.
pub(super) fn ctas(t: &mut Translator, operand: &Operand) -> Translated<Value> {
    let mask = t.read(operand, Scalar::U16)?;
    t.extend(mask, Type::B32, false)
}

/// `cp.reduce.async.bulk` and `multimem.cp.reduce.async.bulk`.
pub(super) fn bulk_update(t: &mut Translator, form: &mut Form, multicast: bool) -> Translated {
    let policies = hints(form);
    let is_group = form.take(Modifier::BulkGroup);
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let op = memory::atomic_op(form.choose::<modifiers::Atomic>().ok_or(Unsupported)?, scalar)?;
    // Halves are never flushed. Sums must say so.
    form.take(Modifier::Noftz);
    let is_cluster = form.take(Modifier::SharedCluster);
    if !form.take(Modifier::SharedCta) {
        return Err(Unsupported);
    }
    if is_group {
        form.expect_operands(3 + policies)?;
        if !form.take(Modifier::Global) {
            return Err(Unsupported);
        }
        let args = to_global(t, form, policies)?;
        t.inst(Op::BulkRed { op, multicast }, ty, &args);
        return Ok(());
    }
    form.expect_operands(4)?;
    if !is_cluster || !form.take(Modifier::MbarrierCompleteTxBytes) {
        return Err(Unsupported);
    }
    let to = place(t, form.operand(0)?, Space::Shared)?;
    let from = place(t, form.operand(1)?, Space::Shared)?;
    let bytes = t.read(form.operand(2)?, Scalar::U32)?;
    let barrier = place(t, form.operand(3)?, Space::Shared)?;
    t.inst(Op::BulkShareRed { op }, ty, &[to, from, bytes, barrier]);
    Ok(())
}

/// The address of remote data and that of its mbarrier, both in shared memory of the cluster.
fn remote_places(t: &mut Translator, form: &mut Form) -> Translated<[Value; 2]> {
    if !form.take(Modifier::MbarrierCompleteTxBytes) {
        return Err(Unsupported);
    }
    let is_generic = !form.take(Modifier::SharedCluster);
    let mut remote = |index: usize| {
        if !is_generic {
            return place(t, form.operand(index)?, Space::SharedCluster);
        }
        let address = place(t, form.operand(index)?, Space::Generic)?;
        Ok(t.emit(Op::FromGeneric(Space::SharedCluster), Type::B32, &[address]))
    };
    Ok([remote(0)?, remote(2)?])
}

/// Stored words: those of floats are integers of their size.
fn words(t: &mut Translator, form: &Form, scalar: Scalar, count: u8) -> Translated<SmallVec<[Value; 4]>> {
    let read = |source| {
        let value = t.read(source, scalar)?;
        t.convert(value, t.ty(value).as_int())
    };
    memory::lanes(form.operand(1)?, count)?.iter().map(read).collect()
}

/// `st.async` to shared memory of the cluster.
pub(super) fn store(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(3)?;
    form.take(Modifier::Weak);
    let scalar = form.ty()?;
    let count = form.choose::<modifiers::Vector>().map_or(1, u8::from);
    let mut args: SmallVec<[Value; 6]> = SmallVec::from_slice(&remote_places(t, form)?);
    let values = words(t, form, scalar, count)?;
    let ty = t.ty(values[0]);
    args.extend(values);
    t.inst(Op::RemoteStore, ty, &args);
    Ok(())
}

/// `red.async` in shared memory of the cluster.
pub(super) fn update(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(3)?;
    let scalar = form.ty()?;
    form.choose::<modifiers::Order>();
    form.choose::<modifiers::Scope>();
    let op = memory::atomic_op(form.choose::<modifiers::Atomic>().ok_or(Unsupported)?, scalar)?;
    let [to, barrier] = remote_places(t, form)?;
    let values = words(t, form, scalar, 1)?;
    t.inst(Op::RemoteRed { op }, t.ty(values[0]), &[to, barrier, values[0]]);
    Ok(())
}
