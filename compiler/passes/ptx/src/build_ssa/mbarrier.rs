//! Mbarriers.
//!
//! An mbarrier lies in shared memory, so a generic address becomes a shared one: of the CTA, or of
//! the cluster if the operation may reach another CTA of the cluster.
//!
//! ```text
//! mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];
//!                                          =>   mbarrier_arrive.count.shared_cluster.release.cluster v1, 1
//! mbarrier.try_wait.parity.b64 %p1, [%rd1], %r2;
//!                                          =>   v3 = from_generic.shared v1
//!                                               v4 = mbarrier_parity.try.acquire.cta v3, v2
//! ```

use ptxc_ir::op::{MbarrierArrive, MbarrierUpdate, MbarrierWait};
use ptxc_ir::{Access, MemType, Op, Order, Scope, Space, Type, Value};
use ptxc_syntax::ast::{Operand, OperandKind};

use super::form::{Form, Translated, Unsupported};
use super::memory;
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::{Modifier, modifiers};

/// An address with its constant part.
pub(super) fn place(t: &mut Translator, operand: &Operand, space: Space) -> Translated<Value> {
    let mut access = Access::weak(space, MemType::B64);
    let base = memory::address(t, operand, &mut access)?;
    if access.offset == 0 {
        return Ok(base);
    }
    let ty = space.address_type();
    let offset = t.constant(ty, access.offset as u64);
    Ok(t.emit(Op::Iadd, ty, &[base, offset]))
}

/// The address of an mbarrier. It is in a space of the cluster if the instruction says so. A
/// generic address is also in the cluster's space, unless the instruction returns the state, which
/// exists only for mbarriers of the own CTA.
fn barrier_in(
    t: &mut Translator,
    form: &mut Form,
    index: usize,
    generic: Space,
) -> Translated<(Value, Space)> {
    let operand = form.operand(index)?;
    if let Some(space) = form.choose::<modifiers::Space>() {
        let space = space.into();
        return Ok((place(t, operand, space)?, space));
    }
    // The name of a shared variable tells its space.
    if is_shared_variable(t, operand) {
        return Ok((place(t, operand, Space::Shared)?, Space::Shared));
    }
    let address = place(t, operand, Space::Generic)?;
    Ok((t.emit(Op::FromGeneric(generic), Type::B32, &[address]), generic))
}

/// Whether an address is that of a variable in shared memory, by name.
fn is_shared_variable(t: &mut Translator, operand: &Operand) -> bool {
    let OperandKind::Address(address) = &operand.kind else { return false };
    let symbol = address.place.base.as_ref().and_then(|name| t.symbol(name).ok());
    symbol.is_some_and(|symbol| t.function.symbols[symbol].space == Space::Shared)
}

/// The address of an mbarrier of the CTA.
pub(super) fn barrier(t: &mut Translator, form: &mut Form, index: usize) -> Translated<Value> {
    match barrier_in(t, form, index, Space::Shared)? {
        (address, Space::Shared) => Ok(address),
        _ => Err(Unsupported),
    }
}

/// Rejects every type except `.b64`, the only type of an mbarrier.
pub(super) fn expect_b64(form: &Form) -> Translated {
    if form.ty()? == Scalar::B64 { Ok(()) } else { Err(Unsupported) }
}

pub(super) fn pending_count(t: &mut Translator, form: &mut Form) -> Translated {
    expect_b64(form)?;
    form.expect_operands(2)?;
    let state = t.read(form.operand(1)?, Scalar::B64)?;
    let count = t.emit(Op::MbarrierPending, Type::B32, &[state]);
    t.write(form.operand(0)?, count)
}

pub(super) fn invalidate(t: &mut Translator, form: &mut Form) -> Translated {
    expect_b64(form)?;
    form.expect_operands(1)?;
    let address = barrier(t, form, 0)?;
    t.inst(Op::MbarrierInval, Type::B32, &[address]);
    Ok(())
}

pub(super) fn initialise(t: &mut Translator, form: &mut Form) -> Translated {
    expect_b64(form)?;
    form.expect_operands(2)?;
    let address = barrier(t, form, 0)?;
    let count = t.read(form.operand(1)?, Scalar::U32)?;
    t.inst(
        Op::MbarrierUpdate { update: MbarrierUpdate::Init, space: Space::Shared },
        Type::B32,
        &[address, count],
    );
    Ok(())
}

/// `mbarrier.expect_tx` and `mbarrier.complete_tx`, which are both relaxed.
pub(super) fn update(t: &mut Translator, form: &mut Form, update: MbarrierUpdate) -> Translated {
    expect_b64(form)?;
    form.choose::<modifiers::Order>();
    form.choose::<modifiers::Scope>();
    form.expect_operands(2)?;
    let (address, space) = barrier_in(t, form, 0, Space::SharedCluster)?;
    let count = t.read(form.operand(1)?, Scalar::U32)?;
    t.inst(Op::MbarrierUpdate { update, space }, Type::B32, &[address, count]);
    Ok(())
}

/// The order and the scope as written, or else the defaults.
fn order_and_scope(form: &mut Form, order: Order) -> (Order, Scope) {
    let order = form.choose::<modifiers::Order>().map_or(order, Order::from);
    (order, form.choose::<modifiers::Scope>().map_or(Scope::Cta, Scope::from))
}

/// `mbarrier.test_wait` and `mbarrier.try_wait`, for a state or a parity.
pub(super) fn ask(t: &mut Translator, form: &mut Form, wait: MbarrierWait, parity: bool) -> Translated {
    expect_b64(form)?;
    let (order, scope) = order_and_scope(form, Order::Acquire);
    let limited = wait == MbarrierWait::Try && form.operands.len() == 4;
    form.expect_operands(3 + usize::from(limited))?;
    let wait = if limited { MbarrierWait::TryFor } else { wait };
    let address = barrier(t, form, 1)?;
    let of = t.read(form.operand(2)?, if parity { Scalar::U32 } else { Scalar::B64 })?;
    let op = match parity {
        true => Op::MbarrierParity { wait, order, scope },
        false => Op::MbarrierState { wait, order, scope },
    };
    let past = match limited {
        true => {
            let limit = t.read(form.operand(3)?, Scalar::U32)?;
            t.emit(op, Type::B32, &[address, of, limit])
        }
        false => t.emit(op, Type::B32, &[address, of]),
    };
    t.write(form.operand(0)?, past)
}

/// `mbarrier.arrive`, or `mbarrier.arrive_drop` if `drops` holds; with `.expect_tx` it `expects`
/// bytes.
pub(super) fn arrive(t: &mut Translator, form: &mut Form, drops: bool, expects: bool) -> Translated {
    expect_b64(form)?;
    let (order, scope) = order_and_scope(form, Order::Release);
    let completes = !form.take(Modifier::NoComplete);
    let kind = match (drops, expects, completes) {
        (false, false, true) => MbarrierArrive::Count,
        (false, false, false) => MbarrierArrive::NoComplete,
        (false, true, true) => MbarrierArrive::ExpectTx,
        (true, false, true) => MbarrierArrive::Drop,
        (true, false, false) => MbarrierArrive::DropNoComplete,
        (true, true, true) => MbarrierArrive::DropExpectTx,
        (_, true, false) => return Err(Unsupported),
    };
    let sink = matches!(form.operand(0)?.kind, OperandKind::Sink);
    // An instruction that returns the state needs an mbarrier of the own CTA.
    let generic = if sink { Space::SharedCluster } else { Space::Shared };
    let (address, space) = barrier_in(t, form, 1, generic)?;
    let count = match form.operands.len() {
        2 if !expects => t.constant(Type::B32, 1),
        3 => t.read(form.operand(2)?, Scalar::U32)?,
        _ => return Err(Unsupported),
    };
    let op = Op::MbarrierArrive { kind, space, order, scope };
    let inst = t.inst(op, Type::B32, &[address, count]);
    match space {
        Space::SharedCluster if sink => Ok(()),
        Space::SharedCluster => Err(Unsupported),
        _ => {
            let state = t.function.result(inst);
            t.write(form.operand(0)?, state)
        }
    }
}
