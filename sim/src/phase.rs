//! Waits for the phases of mbarriers.
//!
//! A test answers at once. A wait that may take its time suspends the lanes while none of them has what it waits
//! for, until an mbarrier of the cluster changes or the time is over; how long that takes is chance, so that
//! programs must be ready for either answer. Without a scheduler that ends waits, it answers at once.
//!
//! ```text
//! mbarrier_parity.try.acquire.cta v1, 0      // true, or false after a while
//! ```

use crate::asynchronous::change;
use crate::copies::{Copies, Kind};
use crate::engine::Step;
use crate::error::Fault;
use crate::random::Random;
use crate::warp::{Flow, LANES, Wait, lanes_of};

/// What a group of lanes finds.
pub(crate) enum Answer {
    /// The lanes whose phase is complete; the others have waited long enough.
    Lanes(u32),
    /// Nothing yet.
    Flow(Flow),
}

/// Asks for each executing lane whether the last phase with a parity, odd for those of `odd`, of the mbarrier at its
/// shared address is complete.
///
/// # Errors
/// A lane that names no mbarrier; a copy that goes wrong.
pub(crate) fn ask(
    step: &mut Step<'_>,
    random: &mut Random,
    addresses: &[u64; LANES],
    odd: u32,
    tries: bool,
) -> Result<Answer, Fault> {
    let lanes = step.lanes;
    tick(step, lanes.trailing_zeros(), random)?;
    let mut past = 0;
    for lane in lanes_of(lanes) {
        let address = addresses[lane as usize];
        let (is_past, _) = change(&mut step.memory, lane, address, |barrier| {
            Ok(barrier.is_past_parity(odd >> lane & 1 == 1))
        })?;
        past |= u32::from(is_past) << lane;
    }
    let expired = step.control.expired & lanes;
    step.control.expired &= !lanes;
    if past == 0 && expired == 0 && tries && step.suspends {
        let address = addresses[lanes.trailing_zeros() as usize] as u32;
        return Ok(Answer::Flow(Flow::Wait(lanes, Wait::Mbarrier(address))));
    }
    Ok(Answer::Lanes(past))
}

/// Lends the copies of the CTA while memory changes.
fn with_copies(
    step: &mut Step<'_>,
    f: impl FnOnce(&mut Copies, &mut Step<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut copies = std::mem::take(&mut step.memory.cta().copies);
    step.changed_mbarrier |= !copies.is_idle();
    let result = f(&mut copies, step);
    step.memory.cta().copies = copies;
    result
}

/// Makes a part of the copies that are under way.
pub(crate) fn tick(step: &mut Step<'_>, lane: u32, random: &mut Random) -> Result<(), Fault> {
    with_copies(step, |copies, step| copies.tick(&mut step.memory, lane, random))
}

/// Makes the copies that the executing lanes wait for: of each kind all groups of a lane but the last `most`. Of what else is
/// under way a part may be made once, as late as can be.
///
/// # Errors
/// A copy that goes wrong.
pub(crate) fn wait_for_groups(step: &mut Step<'_>, random: &mut Random, most: u32) -> Result<(), Fault> {
    tick(step, step.lanes.trailing_zeros(), random)?;
    with_copies(step, |copies, step| {
        for lane in lanes_of(step.lanes) {
            let thread = step.memory.first_thread + lane;
            for kind in [Kind::Element, Kind::BulkStore] {
                copies.wait(&mut step.memory, lane, (thread, kind), Some(most))?;
            }
        }
        Ok(())
    })
}

/// Makes the copies of a kind that a thread waits for: all groups but the last `most`, or without a number everything.
///
/// # Errors
/// A copy that goes wrong.
pub(crate) fn wait_for_copies(
    step: &mut Step<'_>,
    lane: u32,
    random: &mut Random,
    kind: Kind,
    most: Option<u32>,
) -> Result<(), Fault> {
    tick(step, lane, random)?;
    let thread = step.memory.first_thread + lane;
    with_copies(step, |copies, step| copies.wait(&mut step.memory, lane, (thread, kind), most))
}
