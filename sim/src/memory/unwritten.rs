//! Unwritten bytes: loads of them, stores and copies that move them, and the uses that are findings.

use super::{AccessKind, Memory, Reach};
use crate::checks::{Place, Role, Touch};
use crate::error::Fault;
use crate::space::Space;
use crate::unwritten::{Bits, Loaded, Origin};
use crate::warp::lanes_of;

/// The greatest alignment of a structure without a directive. So its padding has no whole unit of
/// as many bytes.
const UNIT: usize = 16;

impl Memory<'_> {
    /// Deals with a read of bytes that are not all written. A load that the engine follows is kept for
    /// it; any other read is a use.
    ///
    /// # Errors
    /// The use, if it is a fault.
    pub(super) fn read_unwritten(&mut self, lane: u32, reach: Reach, kind: AccessKind) -> Result<(), Fault> {
        let Some(cta) = self.cluster.get(reach.owner) else { return Ok(()) };
        let Some(written) = &cta.written else { return Ok(()) };
        let bits = if reach.space == Space::Shared { &written.shared } else { &written.local };
        let Some(first) = bits.first_missing(reach.start, reach.bytes) else { return Ok(()) };
        let lacks = |n: usize| !bits.has(reach.start + n, 1);
        let is_followed = self.instruction.follows && reach.bytes <= u64::BITS as usize;
        let missing = (0..reach.bytes.min(64)).filter(|&n| lacks(n)).fold(0, |set, n| set | 1 << n);
        let role = if kind == AccessKind::Read { Role::Read } else { Role::Atomic };
        let place = Place { space: reach.space, cta: cta.id, start: reach.offset, bytes: reach.bytes as u32 };
        let touch = self.touch(lane, role);
        let origin = Origin { touch, place, missing: reach.offset + (first - reach.start) as u64 };
        if is_followed {
            self.grid.loaded.push(Loaded { lane, missing, origin });
            return Ok(());
        }
        self.use_unwritten(touch, lane, origin)
    }

    fn touch(&self, lane: u32, role: Role) -> Touch {
        let cta = self.cluster[self.rank].id;
        Touch { pc: self.instruction.pc, role, cta, thread: self.first_thread + lane }
    }

    /// Reports that the current instruction uses unwritten bits in a lane.
    ///
    /// # Errors
    /// The use, if it is a fault.
    pub fn report_use(&mut self, lane: u32, origin: Origin) -> Result<(), Fault> {
        self.use_unwritten(self.touch(lane, Role::Use), lane, origin)
    }

    fn use_unwritten(&mut self, touch: Touch, lane: u32, origin: Origin) -> Result<(), Fault> {
        let is_fault = self.cluster[self.rank].written.as_ref().is_some_and(|written| written.is_fault);
        let Origin { touch: read, place, missing } = origin;
        if !is_fault {
            self.grid.found.unwritten(read, touch, place);
            return Ok(());
        }
        let Place { space, start, bytes, .. } = place;
        let verb = if read.role == Role::Read { "read" } else { "atomic update" };
        let what = if space == Space::Shared { "shared" } else { "local" };
        let by = if touch.role == Role::Use { "uses the result of a " } else { "" };
        Err(Fault::new(
            lane,
            format!(
                "{by}{verb} of {bytes} bytes at {space:?} {start:#x}: byte {missing:#x} of {what} memory has \
                 not been written"
            ),
        ))
    }

    /// Marks bytes of a store that a lane has made as unwritten. In global memory, where all bytes
    /// count as written, it is a use if none of the stored bytes was written, or if some were computed
    /// from unwritten ones.
    ///
    /// # Errors
    /// The use, if it is a fault.
    pub fn store_unwritten(
        &mut self,
        (space, lane, address): (Space, u32, u64),
        bytes: u32,
        missing: u64,
        Bits { origin, computed, .. }: Bits,
    ) -> Result<(), Fault> {
        let reach = self.reach(space, lane, address, bytes, AccessKind::Write)?;
        if !matches!(reach.space, Space::Shared | Space::Local) {
            let is_use = missing.count_ones() == bytes || computed && missing != 0;
            return match origin.filter(|_| is_use) {
                Some(origin) => self.report_use(lane, origin),
                None => Ok(()),
            };
        }
        if let Some(written) = self.cluster.get_mut(reach.owner).and_then(|cta| cta.written.as_mut()) {
            let bits = if reach.space == Space::Shared { &mut written.shared } else { &mut written.local };
            bits.add(reach.start, reach.bytes);
            for n in (0..reach.bytes).filter(|&n| missing >> n.min(63) & 1 == 1) {
                bits.remove(reach.start + n);
            }
        }
        Ok(())
    }

    /// Checks the source of an asynchronous copy. Padding may be unwritten, but a whole unit may not.
    ///
    /// # Errors
    /// The use, if it is a fault.
    pub(super) fn note_copied(&mut self, lane: u32, reach: Reach) -> Result<(), Fault> {
        let Some(cta) = self.cluster.get(reach.owner) else { return Ok(()) };
        let Some(written) = &cta.written else { return Ok(()) };
        let bits = match reach.space {
            Space::Shared => &written.shared,
            Space::Local => &written.local,
            _ => return Ok(()),
        };
        let end = reach.start + reach.bytes;
        let is_missing =
            |start: usize| (start..(start + UNIT).min(end)).all(|byte| !bits.has(byte, 1)) && reach.bytes > 0;
        match bits.has(reach.start, reach.bytes) || !(reach.start..end).step_by(UNIT).any(is_missing) {
            true => Ok(()),
            false => self.read_unwritten(lane, reach, AccessKind::Read),
        }
    }

    /// Reports a use of unwritten bits for each of these lanes.
    ///
    /// # Errors
    /// The first use, if it is a fault.
    pub fn report_uses(&mut self, lanes: u32, origin: impl Fn(u32) -> Option<Origin>) -> Result<(), Fault> {
        lanes_of(lanes)
            .filter_map(|lane| Some((lane, origin(lane)?)))
            .try_for_each(|(lane, origin)| self.report_use(lane, origin))
    }
}
