//! The products that the warps of a CTA have issued and not completed.
//!
//! The four warps of a warpgroup perform a product together. So it is complete for all of them as soon as it
//! is for one, and until then all have issued it. Programs rely on this: in CUTLASS's pipelines one thread of
//! the warpgroup gives the factors free after its own wait, without a barrier for the other warps.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Factors, Product, WARPS, changed};
use crate::engine::Step;
use crate::error::Fault;

/// The products of each warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnderWay(Vec<OfWarp>);

#[derive(Clone, Debug, Default)]
struct OfWarp {
    /// The number of products that it has issued so far.
    issued: u64,
    /// Those that are not complete, the oldest first.
    pending: VecDeque<Pending>,
}

/// A product and the factors in shared memory when it was issued.
#[derive(Clone, Debug)]
struct Pending {
    number: u64,
    product: Product,
    descriptors: [u64; 2],
    factors: Arc<Factors>,
    /// Whether a is in registers.
    has_registers: bool,
    /// Where addresses in shared memory begin.
    reserved: u32,
}

/// Issues a product of the executing warp; returns its number.
pub(crate) fn issue(
    step: &mut Step<'_>,
    product: Product,
    (descriptors, reserved): ([u64; 2], u32),
    factors: &Arc<Factors>,
    has_registers: bool,
) -> u64 {
    // Other warps may wait for it.
    step.changed_mbarrier = true;
    let warps = &mut step.memory.cta().products.0;
    let index = step.warp as usize;
    if warps.len() <= index {
        warps.resize_with(index + 1, OfWarp::default);
    }
    let own = &mut warps[index];
    let number = own.issued;
    own.issued += 1;
    let factors = Arc::clone(factors);
    own.pending.push_back(Pending { number, product, descriptors, factors, has_registers, reserved });
    number
}

/// Completes the products up to a number for all warps of the executing one's warpgroup. Returns whether
/// they have all issued them.
///
/// # Errors
/// The factors in shared memory are not what they were.
pub(crate) fn complete(step: &mut Step<'_>, number: u64) -> Result<bool, Fault> {
    let first = step.warp - step.warp % WARPS;
    let group = first..(first + WARPS).min(step.warps as u32);
    let warps = &step.memory.cta().products.0;
    let has_issued = |warp: u32| warps.get(warp as usize).is_some_and(|warp| warp.issued > number);
    if !group.clone().all(has_issued) {
        return Ok(false);
    }
    for warp in group {
        loop {
            let pending = &mut step.memory.cta().products.0[warp as usize].pending;
            if pending.front().is_none_or(|front| front.number > number) {
                break;
            }
            let Some(Pending { product, descriptors, factors, has_registers, reserved, .. }) =
                pending.pop_front()
            else {
                break;
            };
            let a = has_registers.then_some(&factors.a[..]);
            let now = product.read(step, warp, reserved, a, descriptors)?;
            if now != *factors {
                return Err(changed(step, if now.a == factors.a { "b" } else { "a" }));
            }
        }
    }
    Ok(true)
}
