//! Asynchronous copies of a CTA: those that were requested and not made yet.
//!
//! A copy takes effect at some time between the instruction that requests it and the one that waits
//! for it. The simulator makes copies as late as possible, with one exception: whenever a thread of
//! the CTA waits or tests an mbarrier, each outstanding copy is made with a probability of one in
//! four. A wait makes the copies that it waits for. So a program that forgets to wait finds the old
//! content of memory under most seeds. A copy that nothing waits for is never made.
//!
//! ```text
//! async_copy …; async_commit; async_copy …; async_commit
//! async_wait 1        // the first copy has been made, the second may have been made
//! ```

use std::collections::BTreeSet;

use crate::copies::{Copies, Effect, Kind, Request};
use crate::error::Fault;
use crate::mbarrier::Mbarrier;
use crate::memory::{AccessKind, Memory, Space, read_le, write_le};
use crate::random::Random;

/// Bulk copies and their addresses are multiples of this number of bytes.
const BULK: u64 = 16;

impl Copies {
    /// Makes the copies that a thread waits for: all groups except the last `most`, or without a
    /// number everything of the kind.
    pub fn wait(
        &mut self,
        memory: &mut Memory<'_>,
        lane: u32,
        (thread, kind): (u32, Kind),
        most: Option<u32>,
    ) -> Result<(), Fault> {
        let groups = self.groups.iter().find(|group| (group.0, group.1) == (thread, kind));
        let groups = groups.map_or(0, |group| group.2);
        self.finish(memory, lane, |request| {
            let awaited = match most {
                Some(most) => request.group.is_some_and(|group| group < groups.saturating_sub(most)),
                None => true,
            };
            request.thread == thread && request.kind == kind && awaited
        })
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
                .is_some_and(|telling| request.kind != Kind::BulkLoad && !telling.contains(&request.thread))
        };
        self.finish(memory, lane, |request| random.below(4) == 0 && !is_kept(request))
    }

    /// Makes some of the outstanding copies, because no thread can execute.
    pub fn pass(&mut self, memory: &mut Memory<'_>, random: &mut Random) -> Result<(), Fault> {
        self.finish(memory, 0, |_| random.below(4) == 0)
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
                    true => *memory.copied_byte(by, (from.0, from.1 + n), false)?,
                    false => 0,
                };
                *memory.copied_byte(by, (to.0, to.1 + n), true)? = byte;
            }
            let Some(barrier) = tell else { return Ok(()) };
            memory.copy_arrives(by, barrier);
            change(memory, lane, barrier, |barrier| barrier.complete(bytes)).map(|_| ())
        }
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
    memory.request_copy(lane, (Space::Shared, to), size, true)?;
    if bytes != 0 {
        memory.request_copy(lane, (Space::Global, from), size, false)?;
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
        memory.request_copy(lane, (from.0, from.1 + n), BULK as u32, false)?;
        memory.request_copy(lane, (to.0, to.1 + n), BULK as u32, true)?;
    }
    memory.cta().copies.ask(thread, kind, Effect::Copy { from, to, bytes, zeros: 0, tell });
    Ok(())
}

/// Changes an mbarrier in shared memory. Returns the result of `f` and the state before.
pub(crate) fn change<T>(
    memory: &mut Memory<'_>,
    lane: u32,
    address: u64,
    f: impl FnOnce(&mut Mbarrier) -> Result<T, String>,
) -> Result<(T, Mbarrier), Fault> {
    let layout = memory.grid.mbarriers;
    let slice = memory.access(Space::Cluster, lane, address, 8, AccessKind::Mbarrier)?;
    let before = layout.read(read_le(slice)).map_err(|what| Fault::new(lane, what))?;
    let mut barrier = before;
    let result = f(&mut barrier).map_err(|what| Fault::new(lane, what))?;
    write_le(slice, layout.bits(barrier));
    Ok((result, before))
}
