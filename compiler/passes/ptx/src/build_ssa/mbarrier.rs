//! Mbarriers.
//!
//! An mbarrier lies in shared memory, so a generic address becomes a shared one: of the CTA, or where the operation may
//! reach another CTA of the cluster, of the cluster.
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
use super::memory::{self, SCOPES};
use super::scalar::Scalar;
use super::translator::Translator;

pub(super) const B64: Scalar = Scalar { bits: 64, ..Scalar::B32 };

pub(super) fn translate(t: &mut Translator, form: &mut Form) -> Option<Translated> {
    (form.mnemonic == "mbarrier").then(|| mbarrier(t, form))
}

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

/// The address of an mbarrier, which is in a space of the cluster if that is written or, for a generic address, if
/// nobody wants the state of one of the CTA's own.
fn barrier_in(
    t: &mut Translator,
    form: &mut Form,
    index: usize,
    generic: Space,
) -> Translated<(Value, Space)> {
    let operand = form.operand(index)?;
    let spaces = [
        ("shared", Space::Shared),
        ("shared::cta", Space::Shared),
        ("shared::cluster", Space::SharedCluster),
    ];
    if let Some(space) = form.choose(&spaces) {
        return Ok((place(t, operand, space)?, space));
    }
    // The name of a shared variable says where it lies.
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

fn mbarrier(t: &mut Translator, form: &mut Form) -> Translated {
    if form.ty()? != B64 {
        return Err(Unsupported);
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
    if form.take("init") {
        form.expect_operands(2)?;
        let address = barrier(t, form, 0)?;
        let count = t.read(form.operand(1)?, Scalar::U32)?;
        t.inst(
            Op::MbarrierUpdate { update: MbarrierUpdate::Init, space: Space::Shared },
            Type::B32,
            &[address, count],
        );
        return Ok(());
    }
    let orders = [("relaxed", Order::Relaxed), ("release", Order::Release), ("acquire", Order::Acquire)];
    let order = form.choose(&orders);
    let scope = form.choose(SCOPES).unwrap_or(Scope::Cta);
    let wait = form.choose(&[("test_wait", MbarrierWait::Test), ("try_wait", MbarrierWait::Try)]);
    if let Some(wait) = wait {
        return ask(t, form, wait, (order.unwrap_or(Order::Acquire), scope));
    }
    let arrives = form.take("arrive");
    let drops = !arrives && form.take("arrive_drop");
    if arrives || drops {
        return arrive(t, form, drops, (order.unwrap_or(Order::Release), scope));
    }
    // Both are relaxed.
    let updates = [("expect_tx", MbarrierUpdate::ExpectTx), ("complete_tx", MbarrierUpdate::CompleteTx)];
    let update = form.choose(&updates).ok_or(Unsupported)?;
    form.expect_operands(2)?;
    let (address, space) = barrier_in(t, form, 0, Space::SharedCluster)?;
    let count = t.read(form.operand(1)?, Scalar::U32)?;
    t.inst(Op::MbarrierUpdate { update, space }, Type::B32, &[address, count]);
    Ok(())
}

fn ask(
    t: &mut Translator,
    form: &mut Form,
    wait: MbarrierWait,
    (order, scope): (Order, Scope),
) -> Translated {
    let limited = wait == MbarrierWait::Try && form.operands.len() == 4;
    form.expect_operands(3 + usize::from(limited))?;
    let wait = if limited { MbarrierWait::TryFor } else { wait };
    let address = barrier(t, form, 1)?;
    let parity = form.take("parity");
    let of = t.read(form.operand(2)?, if parity { Scalar::U32 } else { B64 })?;
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

fn arrive(t: &mut Translator, form: &mut Form, drops: bool, (order, scope): (Order, Scope)) -> Translated {
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
    let sink = matches!(form.operand(0)?.kind, OperandKind::Sink);
    // Only the state of an mbarrier of the CTA can be had, so that who wants it has such an address.
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
