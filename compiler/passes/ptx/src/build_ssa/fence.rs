//! Fences, between scopes and between proxies, and what a grid says to grids around it.
//!
//! | PTX | IR |
//! |---|---|
//! | `membar.{cta,gl,sys}`, `fence.sc.scope` | `fence.sc.scope` |
//! | `fence.{acq_rel,acquire,release}.scope` | `fence.order.scope` |
//! | `fence.mbarrier_init`, `fence.….sync_restrict::…`, `fence.proxy.…`, `membar.proxy.…` | `proxy_fence.kind` |
//! | `fence.proxy.tensormap::generic.…` | `tensormap_acquire.scope`, `tensormap_release.scope` |
//! | `griddepcontrol.…` | `grid_dependency.…` |
//!
//! A fence that `.sync_restrict` limits to mbarriers in shared memory does for the thread's accesses what the proxy fence with
//! the same limit does for asynchronous ones: ptxas has one instruction sequence for both, and so have we.

use ptxc_ir::op::{GridDependency, Proxy};
use ptxc_ir::{Op, Order, Scope, Type};

use super::form::{Form, Translated, Unsupported};
use super::memory::{self, SCOPES};
use super::translator::Translator;

/// The only size of a tensor map, in bytes.
const TENSORMAP_BYTES: u64 = 128;

pub(super) fn translate(t: &mut Translator, form: &mut Form) -> Option<Translated> {
    Some(match form.mnemonic {
        "membar" | "fence" => match (form.take("proxy"), form.mnemonic) {
            (true, _) => proxy_fence(t, form),
            (false, "membar") => memory_barrier(t, form),
            (false, _) => fence(t, form),
        },
        "griddepcontrol" => grid_dependency(t, form),
        _ => return None,
    })
}

fn put(t: &mut Translator, form: &Form, op: Op) -> Translated {
    form.expect_operands(0)?;
    t.inst(op, Type::B32, &[]);
    Ok(())
}

/// `membar.gl` is `fence.sc.gpu` (PTX ISA, `membar`).
fn memory_barrier(t: &mut Translator, form: &mut Form) -> Translated {
    let scopes = [("cta", Scope::Cta), ("gl", Scope::Gpu), ("sys", Scope::Sys)];
    let scope = form.choose(&scopes).ok_or(Unsupported)?;
    put(t, form, Op::Fence { order: Order::SeqCst, scope })
}

fn fence(t: &mut Translator, form: &mut Form) -> Translated {
    let restricted = [
        ("mbarrier_init", "release", Proxy::MbarrierInit),
        ("sync_restrict::shared::cta", "release", Proxy::ReleaseShared),
        ("sync_restrict::shared::cluster", "acquire", Proxy::AcquireSharedCluster),
    ];
    for (restriction, order, proxy) in restricted {
        if form.take(restriction) {
            let whole = form.take(order) && form.take("cluster");
            return if whole { put(t, form, Op::ProxyFence(proxy)) } else { Err(Unsupported) };
        }
    }
    let order = form.choose(&[
        ("sc", Order::SeqCst),
        ("acq_rel", Order::AcqRel),
        ("acquire", Order::Acquire),
        ("release", Order::Release),
    ]);
    let scope = form.choose(SCOPES).ok_or(Unsupported)?;
    put(t, form, Op::Fence { order: order.unwrap_or(Order::AcqRel), scope })
}

fn proxy_fence(t: &mut Translator, form: &mut Form) -> Translated {
    if form.take("alias") {
        return put(t, form, Op::ProxyFence(Proxy::Alias));
    }
    if form.take("async::generic") {
        // The order, the restriction and the scope go together as in a fence.
        return fence(t, form);
    }
    if form.take("tensormap::generic") {
        let (release, acquire) = (form.take("release"), form.take("acquire"));
        let scope = form.choose(SCOPES).ok_or(Unsupported)?;
        return match (release, acquire) {
            (true, false) => put(t, form, Op::TensormapRelease(scope)),
            (false, true) => acquire_tensormap(t, form, scope),
            _ => Err(Unsupported),
        };
    }
    if !form.take("async") {
        return Err(Unsupported);
    }
    let spaces = [
        ("global", Proxy::AsyncGlobal),
        ("shared::cta", Proxy::AsyncShared),
        ("shared::cluster", Proxy::AsyncSharedCluster),
    ];
    let proxy = form.choose(&spaces).unwrap_or(Proxy::Async);
    put(t, form, Op::ProxyFence(proxy))
}

fn acquire_tensormap(t: &mut Translator, form: &mut Form, scope: Scope) -> Translated {
    form.expect_operands(2)?;
    let address = super::mbarrier::place(t, form.operand(0)?, ptxc_ir::Space::Generic)?;
    if memory::constant(form.operand(1)?)? != TENSORMAP_BYTES {
        return Err(Unsupported);
    }
    let address = t.extend(address, Type::B64, false)?;
    t.inst(Op::TensormapAcquire(scope), Type::B32, &[address]);
    Ok(())
}

fn grid_dependency(t: &mut Translator, form: &mut Form) -> Translated {
    let kinds = [("launch_dependents", GridDependency::Launch), ("wait", GridDependency::Wait)];
    let what = form.choose(&kinds).ok_or(Unsupported)?;
    put(t, form, Op::GridDependency(what))
}
