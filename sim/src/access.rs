//! The memory accesses of an instruction, for models of time.
//!
//! In: the kind, the space and the address of each lane of each memory instruction. Out:
//! [`Access`]es, one for each space that the lanes touch; generic addresses are resolved here.
//! Accesses are recorded, and take time, only if a scheduler passes a log to
//! [`Grid::execute`](crate::grid::Grid::execute).

use crate::memory::{AccessKind, Space, resolve};
use crate::warp::{LANES, lanes_of};

/// The bytes that the lanes of one instruction touch in one space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// The kind of the access.
    pub kind: AccessKind,
    /// The space; never [`Space::Generic`].
    pub space: Space,
    /// The number of bytes that each lane touches.
    pub bytes: u32,
    /// The lanes that touch this space, one bit each.
    pub lanes: u32,
    /// The address of each of these lanes in that space; the addresses of other lanes are
    /// meaningless.
    pub addresses: [u64; LANES],
}

/// The accesses of one instruction.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessLog {
    /// The accesses, in the order in which the instruction makes them.
    pub accesses: Vec<Access>,
}

impl AccessLog {
    /// Adds an access by `lanes`.
    pub fn record(
        &mut self,
        kind: AccessKind,
        space: Space,
        bytes: u32,
        lanes: u32,
        addresses: &[u64; LANES],
    ) {
        if space != Space::Generic {
            self.accesses.push(Access { kind, space, bytes, lanes, addresses: *addresses });
            return;
        }
        let first = self.accesses.len();
        for lane in lanes_of(lanes) {
            let (space, address) = match resolve(space, addresses[lane as usize]) {
                // Generic addresses of shared memory name the CTA.
                (Space::Shared, address) => (Space::Cluster, address),
                other => other,
            };
            let known = self.accesses[first..].iter().position(|access| access.space == space);
            let index = first + known.unwrap_or(self.accesses.len() - first);
            if known.is_none() {
                self.accesses.push(Access { kind, space, bytes, lanes: 0, addresses: [0; LANES] });
            }
            let access = &mut self.accesses[index];
            access.lanes |= 1 << lane;
            access.addresses[lane as usize] = address;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::SHARED_WINDOW;

    #[test]
    fn generic_addresses_are_told_apart() {
        let mut addresses = [0; LANES];
        addresses[..3].copy_from_slice(&[SHARED_WINDOW + 8, 0x4_0000_0000, SHARED_WINDOW + 16]);
        let mut log = AccessLog::default();
        log.record(AccessKind::Read, Space::Generic, 4, 0b111, &addresses);
        let seen: Vec<_> = log.accesses.iter().map(|access| (access.space, access.lanes)).collect();
        assert_eq!(seen, [(Space::Cluster, 0b101), (Space::Global, 0b010)]);
        assert_eq!(log.accesses[0].addresses[2], 16);
    }
}
