//! Asynchronous copies of a CTA: those that were requested and not made yet.
//!
//! A copy takes effect at some time between the instruction that requests it and the one that waits
//! for it. The simulator makes copies as late as possible, with one exception: whenever a thread of
//! the CTA waits or tests an mbarrier, each outstanding copy is made with a probability of one in
//! four. A wait makes the copies that it waits for. So a program that forgets to wait finds the old
//! content of memory under most seeds. A copy that nothing waits for is never made.
//!
//! In a run in time, each copy is made in the cycle in which it is done, or by a wait for it.
//!
//! ```text
//! async_copy …; async_commit; async_copy …; async_commit
//! async_wait 1        // the first copy has been made, the second may have been made
//! ```

use std::collections::BTreeSet;

use ptxc_ir::AtomicOp;

use crate::checks::End;
pub(crate) use crate::copies::Stored;
use crate::copies::{Copies, Effect, Kind, Request};
use crate::error::Fault;
use crate::integer_update::integer_update;
use crate::memory::{Memory, Space};
use crate::random::Random;
use crate::signal::change;
use crate::tensor_copy;

/// Bulk copies and their addresses are multiples of this number of bytes.
const BULK: u64 = 16;

/// The outstanding copies that are made although no thread waits for them.
pub(crate) enum Made<'a> {
    /// Each with a probability of one in four.
    ByChance(&'a mut Random),
    /// Those that are done in this cycle or earlier.
    Until(u64),
}

impl Made<'_> {
    fn has(&mut self, request: &Request) -> bool {
        match self {
            Made::ByChance(random) => random.below(4) == 0,
            Made::Until(now) => request.due.is_some_and(|due| due <= *now),
        }
    }
}

impl Copies {
    /// Makes the copies that a thread waits for: all groups except the last `most`, or without a
    /// number everything of the kind. Returns the cycle when the last of them is done, as far as a run in
    /// time has determined it.
    pub fn wait(
        &mut self,
        memory: &mut Memory<'_>,
        lane: u32,
        (thread, kind): (u32, Kind),
        most: Option<u32>,
    ) -> Result<u64, Fault> {
        let groups = self.groups.iter().find(|group| (group.0, group.1) == (thread, kind));
        let groups = groups.map_or(0, |group| group.2);
        let mut done = 0;
        self.finish(memory, lane, |request| {
            let awaited = match most {
                Some(most) => request.group.is_some_and(|group| group < groups.saturating_sub(most)),
                None => true,
            };
            let awaited = request.thread == thread && request.kind == kind && awaited;
            if awaited {
                done = done.max(request.due.unwrap_or(0));
            }
            awaited
        })?;
        Ok(done)
    }

    /// Makes some of the outstanding copies.
    pub fn tick(&mut self, memory: &mut Memory<'_>, lane: u32, random: &mut Random) -> Result<(), Fault> {
        // With race detection, a copy that only a wait of its own thread can await is never made
        // before that wait, so a wait that is missing is always found.
        let telling = |request: &Request| matches!(request.effect, Effect::Arrive(_) | Effect::Complete(_));
        let telling: Option<BTreeSet<u32>> = memory.race().map(|_| {
            self.requests.iter().filter(|request| telling(request)).map(|request| request.thread).collect()
        });
        let is_kept = |request: &Request| {
            let telling = telling.as_ref();
            telling
                .is_some_and(|telling| request.kind != Kind::Signalled && !telling.contains(&request.thread))
        };
        let mut made = Made::ByChance(random);
        self.finish(memory, lane, |request| made.has(request) && !is_kept(request))
    }

    /// Makes some of the outstanding copies, because no thread can execute or their time has come.
    pub fn pass(&mut self, memory: &mut Memory<'_>, made: &mut Made<'_>) -> Result<(), Fault> {
        self.finish(memory, 0, |request| made.has(request))
    }

    /// Makes the chosen copies, except those that must come after a copy that was not chosen.
    fn finish(
        &mut self,
        memory: &mut Memory<'_>,
        lane: u32,
        mut chosen: impl FnMut(&Request) -> bool,
    ) -> Result<(), Fault> {
        let mut left = Vec::with_capacity(self.requests.len());
        for request in std::mem::take(&mut self.requests) {
            let waits = matches!(request.effect, Effect::Arrive(_) | Effect::Complete(_))
                && left
                    .iter()
                    .any(|other: &Request| other.thread == request.thread && other.kind == request.kind);
            if waits || !chosen(&request) {
                left.push(request);
            } else {
                perform(memory, (request.thread, lane), request.effect)?;
            }
        }
        self.requests = left;
        Ok(())
    }
}

/// Makes a copy that a thread requested, at an instruction of a lane.
fn perform(memory: &mut Memory<'_>, by: (u32, u32), effect: Effect) -> Result<(), Fault> {
    let lane = by.1;
    match effect {
        Effect::Copy { from, to, bytes, zeros, tell } => {
            for n in 0..u64::from(bytes + zeros) {
                let byte = match n < u64::from(bytes) {
                    true => *memory.copied_byte(by, (from.0, from.1 + n), End::Source)?,
                    false => 0,
                };
                *memory.copied_byte(by, (to.0, to.1 + n), End::Target)? = byte;
            }
            let Some(barrier) = tell else { return Ok(()) };
            memory.copy_arrives(by, barrier);
            change(memory, lane, barrier, |barrier| barrier.complete(bytes)).map(|_| ())
        }
        Effect::Write { to, stored, tell } => {
            for (&byte, at) in stored.as_slice().iter().zip(to..) {
                *memory.copied_byte(by, (Space::Cluster, at), End::Target)? = byte;
            }
            memory.copy_arrives(by, tell);
            change(memory, lane, tell, |barrier| barrier.complete(stored.as_slice().len() as u32)).map(|_| ())
        }
        Effect::Update { to, op, bytes, operand, tell } => {
            let mut old = 0;
            for n in 0..bytes {
                let byte = *memory.copied_byte(by, (Space::Cluster, to + u64::from(n)), End::Updated)?;
                old |= u64::from(byte) << (8 * n);
            }
            let new = integer_update(op, bytes, old, operand)
                .ok_or_else(|| Fault::new(lane, format!("the update {op} of {bytes} bytes")))?;
            for n in 0..bytes {
                let byte = memory.copied_byte(by, (Space::Cluster, to + u64::from(n)), End::Updated)?;
                *byte = (new >> (8 * n)) as u8;
            }
            memory.copy_arrives(by, tell);
            change(memory, lane, tell, |barrier| barrier.complete(bytes)).map(|_| ())
        }
        Effect::Tensor(copy) => tensor_copy::perform(memory, by, &copy),
        Effect::Bulk(update) => tensor_copy::perform_update(memory, by, update),
        Effect::Arrive(barrier) => {
            memory.copy_arrives(by, barrier);
            change(memory, lane, barrier, |barrier| barrier.arrive(1)).map(|_| ())
        }
        Effect::Complete(barrier) => {
            memory.copy_arrives(by, barrier);
            change(memory, lane, barrier, |barrier| barrier.complete(1)).map(|_| ())
        }
    }
}

/// The address of the element of a copy and the number of bytes to read, given the address in the
/// instruction. With `zfill`, that address is above the address of the element by the number of
/// zeros.
pub(crate) fn filled(at: u64, size: u32, zfill: bool, copies: bool) -> (u64, u32) {
    let zeros = if zfill { at % u64::from(size) } else { 0 };
    (at - zeros, if copies { size - zeros as u32 } else { 0 })
}

/// Requests the copy of an element of `size` bytes, of which `bytes` are read.
///
/// # Errors
/// A bad address, which is a fault of the thread that gives it, or a `bytes` larger than `size`.
pub(crate) fn copy_element(
    memory: &mut Memory<'_>,
    (thread, lane): (u32, u32),
    from: u64,
    to: u64,
    (bytes, size): (u32, u32),
) -> Result<(), Fault> {
    if bytes > size {
        return Err(Fault::new(lane, format!("copies {bytes} bytes to an element of {size}")));
    }
    memory.request_copy(lane, (Space::Shared, to), size, End::Target)?;
    if bytes != 0 {
        memory.request_copy(lane, (Space::Global, from), size, End::Source)?;
    }
    let (from, to) = ((Space::Global, from), (Space::Shared, to));
    let effect = Effect::Copy { from, to, bytes, zeros: size - bytes, tell: None };
    memory.cta().copies.ask(thread, Kind::Element, effect);
    Ok(())
}

/// A bulk copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bulk {
    /// The source.
    pub from: (Space, u64),
    /// The destination.
    pub to: (Space, u64),
    /// The number of bytes.
    pub bytes: u32,
    /// The mbarrier, in shared memory of the cluster, that counts the bytes.
    pub tell: Option<u64>,
}

/// Requests a bulk copy.
///
/// # Errors
/// A bad address, which is a fault of the thread that gives it, or a size or address that is not a
/// multiple of 16 bytes.
pub(crate) fn copy_in_bulk(
    memory: &mut Memory<'_>,
    (thread, lane): (u32, u32),
    kind: Kind,
    bulk: Bulk,
) -> Result<(), Fault> {
    let Bulk { from, to, bytes, tell } = bulk;
    if [to.1, from.1, bytes.into()].iter().any(|n| !n.is_multiple_of(BULK)) {
        let what =
            format!("a bulk copy of {bytes} bytes from {:#x} to {:#x}: not multiples of 16", from.1, to.1);
        return Err(Fault::new(lane, what));
    }
    for n in (0..u64::from(bytes)).step_by(BULK as usize) {
        memory.request_copy(lane, (from.0, from.1 + n), BULK as u32, End::Source)?;
        memory.request_copy(lane, (to.0, to.1 + n), BULK as u32, End::Target)?;
    }
    memory.cta().copies.ask(thread, kind, Effect::Copy { from, to, bytes, zeros: 0, tell });
    Ok(())
}

/// Requests an asynchronous store to shared memory of the cluster. The places are that of the values
/// and that of the mbarrier.
///
/// # Errors
/// A bad address, which is a fault of the lane.
pub(crate) fn store_asynchronously(
    memory: &mut Memory<'_>,
    lane: u32,
    (to, tell): (u64, u64),
    stored: Stored,
) -> Result<(), Fault> {
    memory.request_copy(lane, (Space::Cluster, to), stored.as_slice().len() as u32, End::Target)?;
    let thread = memory.first_thread + lane;
    memory.cta().copies.ask(thread, Kind::Signalled, Effect::Write { to, stored, tell });
    Ok(())
}

/// Requests an asynchronous update of an integer in shared memory of the cluster. The places are
/// that of the integer and that of the mbarrier.
///
/// # Errors
/// A bad address, which is a fault of the lane.
pub(crate) fn update_asynchronously(
    memory: &mut Memory<'_>,
    lane: u32,
    (to, tell): (u64, u64),
    (op, bytes): (AtomicOp, u32),
    operand: u64,
) -> Result<(), Fault> {
    memory.request_copy(lane, (Space::Cluster, to), bytes, End::Updated)?;
    let thread = memory.first_thread + lane;
    memory.cta().copies.ask(thread, Kind::Signalled, Effect::Update { to, op, bytes, operand, tell });
    Ok(())
}
