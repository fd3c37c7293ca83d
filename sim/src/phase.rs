//! Waits for the phases of mbarriers.
//!
//! A test answers at once. A wait that may take its time suspends the lanes as long as no lane has
//! the phase that it waits for, until an mbarrier of the cluster changes or the time is over. The
//! length of the time is random, so programs must handle either answer. In a run in time, copies are
//! made when they are done, and not here.
//!
//! ```text
//! mbarrier_parity.try.acquire.cta v1, 0      // true, or false after a while
//! ```

use crate::copies::{Copies, Kind};
use crate::engine::Step;
use crate::error::Fault;
use crate::random::Random;
use crate::signal::change;
use crate::warp::{Flow, LANES, Wait, lanes_of};

/// The answer for a group of lanes.
pub(crate) enum Answer {
    /// The lanes whose phase is complete; the others have waited long enough.
    Lanes(u32),
    /// No answer yet.
    Flow(Flow),
}

/// Tests for each executing lane whether the last phase with a parity (odd for the lanes of `odd`)
/// of the mbarrier at its shared address is complete.
///
/// # Errors
/// A lane does not name an mbarrier, or a copy fails.
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
        if is_past {
            step.memory.learn_from_mbarrier(lane, address);
        }
        past |= u32::from(is_past) << lane;
    }
    let expired = step.control.expired & lanes;
    step.control.expired &= !lanes;
    if past == 0 && expired == 0 && tries {
        let address = addresses[lanes.trailing_zeros() as usize] as u32;
        return Ok(Answer::Flow(Flow::Wait(lanes, Wait::Mbarrier(address))));
    }
    Ok(Answer::Lanes(past))
}

/// Takes the copies out of the CTA while memory changes.
fn with_copies(
    step: &mut Step<'_>,
    f: impl FnOnce(&mut Copies, &mut Step<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut copies = std::mem::take(&mut step.memory.cta().copies);
    let before = copies.requests.len();
    let result = f(&mut copies, step);
    step.changed_mbarrier |= copies.requests.len() != before;
    step.memory.cta().copies = copies;
    result
}

/// Makes some of the outstanding copies.
pub(crate) fn tick(step: &mut Step<'_>, lane: u32, random: &mut Random) -> Result<(), Fault> {
    if step.in_time {
        return Ok(());
    }
    with_copies(step, |copies, step| copies.tick(&mut step.memory, lane, random))
}

/// Makes the copies that the executing lanes wait for: all groups of each kind of a lane except the
/// last `most`. Some of the other outstanding copies may be made too, as late as possible.
///
/// # Errors
/// A copy fails.
pub(crate) fn wait_for_groups(step: &mut Step<'_>, random: &mut Random, most: u32) -> Result<(), Fault> {
    tick(step, step.lanes.trailing_zeros(), random)?;
    with_copies(step, |copies, step| {
        for lane in lanes_of(step.lanes) {
            let thread = step.memory.first_thread + lane;
            for kind in [Kind::Element, Kind::BulkStore] {
                let done = copies.wait(&mut step.memory, lane, (thread, kind), Some(most))?;
                step.copies_done = step.copies_done.max(done);
            }
        }
        Ok(())
    })
}

/// Makes the copies of a kind that a thread waits for: all groups except the last `most`, or
/// everything without a number.
///
/// # Errors
/// A copy fails.
pub(crate) fn wait_for_copies(
    step: &mut Step<'_>,
    lane: u32,
    random: &mut Random,
    kind: Kind,
    most: Option<u32>,
) -> Result<(), Fault> {
    tick(step, lane, random)?;
    let thread = step.memory.first_thread + lane;
    with_copies(step, |copies, step| {
        let done = copies.wait(&mut step.memory, lane, (thread, kind), most)?;
        step.copies_done = step.copies_done.max(done);
        Ok(())
    })
}
