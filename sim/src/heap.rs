//! The heap of `malloc` of a grid: which blocks there are, and how much room is left.
//!
//! The bytes of a block are an allocation of global memory.

use std::collections::BTreeMap;

/// The most bytes of all blocks, as by default on a device (`cudaLimitMallocHeapSize`).
pub(crate) const MOST_BYTES: u64 = 8 << 20;
/// The alignment of a block, and the fewest bytes of it.
const UNIT: u64 = 16;

/// The sizes of the blocks, by their addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heap {
    blocks: BTreeMap<u64, u64>,
    bytes: u64,
}

impl Heap {
    /// Whether there is room for a block of that many bytes.
    pub fn has_room(&self, bytes: u64) -> bool {
        room(bytes).is_some_and(|room| room <= MOST_BYTES - self.bytes)
    }

    /// Adds a block for which there is room.
    pub fn add(&mut self, address: u64, bytes: u64) {
        let room = room(bytes).unwrap_or(0);
        self.blocks.insert(address, room);
        self.bytes += room;
    }

    /// Removes the block at an address; false if no block begins there.
    pub fn remove(&mut self, address: u64) -> bool {
        let removed = self.blocks.remove(&address);
        self.bytes -= removed.unwrap_or(0);
        removed.is_some()
    }
}

/// The room that a block takes.
fn room(bytes: u64) -> Option<u64> {
    bytes.max(1).checked_next_multiple_of(UNIT)
}
