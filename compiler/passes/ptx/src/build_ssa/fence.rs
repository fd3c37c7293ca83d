//! Fences between scopes and between proxies, and the signals between dependent grids.
//!
//! | PTX | IR |
//! |---|---|
//! | `membar.{cta,gl,sys}`, `fence.sc.scope` | `fence.sc.scope` |
//! | `fence.{acq_rel,acquire,release}.scope` | `fence.order.scope` |
//! | `fence.mbarrier_init`, `fence.….sync_restrict::…`, `fence.proxy.…`, `membar.proxy.…` | `proxy_fence.kind` |
//! | `fence.proxy.tensormap::generic.…` | `tensormap_acquire.scope`, `tensormap_release.scope` |
//! | `griddepcontrol.…` | `grid_dependency.…` |
//!
//! A fence that `.sync_restrict` limits to mbarriers in shared memory orders the thread's accesses
//! as the proxy fence with the same limit orders asynchronous ones. ptxas has one instruction
//! sequence for both, and so has ptxc.

use ptxc_ir::op::{GridDependency, Proxy};
use ptxc_ir::{Op, Order, Scope, Type};

use super::form::{Form, Translated, Unsupported};
use super::memory;
use super::tensor_map;
use super::translator::Translator;
use crate::check::table::{Modifier, modifiers};

fn put(t: &mut Translator, form: &Form, op: Op) -> Translated {
    form.expect_operands(0)?;
    t.inst(op, Type::B32, &[]);
    Ok(())
}

/// `membar.gl` is `fence.sc.gpu` (PTX ISA, `membar`).
pub(super) fn memory_barrier(t: &mut Translator, form: &mut Form) -> Translated {
    let scope = form.choose::<modifiers::Level>().ok_or(Unsupported)?;
    put(t, form, Op::Fence { order: Order::SeqCst, scope: scope.into() })
}

pub(super) fn fence(t: &mut Translator, form: &mut Form) -> Translated {
    let restricted = [
        (Modifier::MbarrierInit, Modifier::Release, Proxy::MbarrierInit),
        (Modifier::SyncRestrictSharedCta, Modifier::Release, Proxy::ReleaseShared),
        (Modifier::SyncRestrictSharedCluster, Modifier::Acquire, Proxy::AcquireSharedCluster),
    ];
    for (restriction, order, proxy) in restricted {
        if form.take(restriction) {
            let whole = form.take(order) && form.take(Modifier::Cluster);
            return if whole { put(t, form, Op::ProxyFence(proxy)) } else { Err(Unsupported) };
        }
    }
    let order = form.choose::<modifiers::Order>().ok_or(Unsupported)?;
    let scope = form.choose::<modifiers::Scope>().ok_or(Unsupported)?;
    put(t, form, Op::Fence { order: order.into(), scope: scope.into() })
}

pub(super) fn proxy_fence(t: &mut Translator, form: &mut Form) -> Translated {
    match form.choose::<modifiers::Proxy>().ok_or(Unsupported)? {
        modifiers::Proxy::Alias => put(t, form, Op::ProxyFence(Proxy::Alias)),
        // The order, the restriction and the scope combine as in a fence.
        modifiers::Proxy::AsyncGeneric => fence(t, form),
        modifiers::Proxy::TensormapGeneric => {
            let (release, acquire) = (form.take(Modifier::Release), form.take(Modifier::Acquire));
            let scope = form.choose::<modifiers::Scope>().ok_or(Unsupported)?.into();
            match (release, acquire) {
                (true, false) => put(t, form, Op::TensormapRelease(scope)),
                (false, true) => acquire_tensormap(t, form, scope),
                _ => Err(Unsupported),
            }
        }
        modifiers::Proxy::Async => {
            use modifiers::Space as Written;
            let proxy = match form.choose::<Written>() {
                None => Proxy::Async,
                Some(Written::Global) => Proxy::AsyncGlobal,
                Some(Written::SharedCta) => Proxy::AsyncShared,
                Some(Written::SharedCluster) => Proxy::AsyncSharedCluster,
                Some(
                    Written::Shared
                    | Written::Local
                    | Written::Const
                    | Written::Param
                    | Written::ParamEntry
                    | Written::ParamFunc,
                ) => return Err(Unsupported),
            };
            put(t, form, Op::ProxyFence(proxy))
        }
    }
}

fn acquire_tensormap(t: &mut Translator, form: &mut Form, scope: Scope) -> Translated {
    form.expect_operands(2)?;
    let address = super::mbarrier::place(t, form.operand(0)?, ptxc_ir::Space::Generic)?;
    if memory::constant(form.operand(1)?)? != tensor_map::BYTES {
        return Err(Unsupported);
    }
    let address = t.extend(address, Type::B64, false)?;
    t.inst(Op::TensormapAcquire(scope), Type::B32, &[address]);
    Ok(())
}

pub(super) fn grid_dependency(t: &mut Translator, form: &mut Form) -> Translated {
    let what = match form.choose::<modifiers::Grid>().ok_or(Unsupported)? {
        modifiers::Grid::LaunchDependents => GridDependency::Launch,
        modifiers::Grid::Wait => GridDependency::Wait,
    };
    put(t, form, Op::GridDependency(what))
}
