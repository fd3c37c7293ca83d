//! The cost of the accesses of a warp's lanes: passes over shared memory, and sectors of lines.
//!
//! Shared memory has 32 banks of 4 bytes. A 64-bit access serves the halves of the warp in turn, a
//! 128-bit access the quarters; each turn takes as many passes as the largest number of different
//! words in one bank. Lanes that read the same word share it. In other memory the lanes' bytes lie
//! in sectors of 32 bytes, four per line.

use smallvec::SmallVec;

use crate::warp::{LANES, lanes_of};

/// Passes over shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passes {
    /// The number of passes.
    pub taken: u32,
    /// The number without bank conflicts.
    pub ideal: u32,
}

/// The passes of an access of `bytes` bytes per lane. Atomics do not share words.
pub(super) fn passes(
    addresses: &[u64; LANES],
    lanes: u32,
    bytes: u32,
    atomic: bool,
    [banks, bank_bytes]: [u32; 2],
) -> Passes {
    let turns = (bytes / bank_bytes).max(1);
    let turn_lanes = LANES as u32 / turns;
    let mut passes = Passes::default();
    for turn in 0..turns {
        let mask = (u32::MAX >> (u32::BITS - turn_lanes)) << (turn * turn_lanes);
        let active = lanes & mask;
        if active == 0 {
            continue;
        }
        passes.ideal += 1;
        let words = turns as u64;
        let mut touched: SmallVec<[u64; LANES]> = SmallVec::new();
        for lane in lanes_of(active) {
            let word = addresses[lane as usize] / u64::from(bank_bytes);
            touched.extend(word..word + words);
        }
        if !atomic {
            touched.sort_unstable();
            touched.dedup();
        }
        let mut counts = [0u32; 64];
        let mut most = 1;
        for word in touched {
            let count = &mut counts[(word % u64::from(banks)) as usize % 64];
            *count += 1;
            most = most.max(*count);
        }
        passes.taken += most;
    }
    passes
}

/// The numbers of the sectors that an access touches, ascending and distinct.
pub(super) type Sectors = SmallVec<[u64; LANES]>;

/// The sectors of an access of `bytes` bytes per lane that does not cross a sector.
pub(super) fn sectors(addresses: &[u64; LANES], lanes: u32, bytes: u32, sector: u32) -> Sectors {
    let sector = u64::from(sector);
    let mut list = Sectors::new();
    for lane in lanes_of(lanes) {
        let first = addresses[lane as usize] / sector;
        let last = (addresses[lane as usize] + u64::from(bytes.max(1)) - 1) / sector;
        for number in first..=last {
            if list.last() != Some(&number) {
                list.push(number);
            }
        }
    }
    if !list.is_sorted() {
        list.sort_unstable();
    }
    list.dedup();
    list
}

/// The sectors of an access to local memory. Each word of a warp's 32 lanes is contiguous there, so
/// lanes at the same offset share sectors. `base` is the first byte of the warp's part.
pub(super) fn local_sectors(
    base: u64,
    addresses: &[u64; LANES],
    lanes: u32,
    bytes: u32,
    sector: u32,
) -> Sectors {
    let mut list = Sectors::new();
    for word in 0..u64::from(bytes.div_ceil(4)) {
        for lane in lanes_of(lanes) {
            let index = addresses[lane as usize] / 4 + word;
            let place = base + (index * LANES as u64 + u64::from(lane)) * 4;
            let number = place / u64::from(sector);
            if list.last() != Some(&number) {
                list.push(number);
            }
        }
    }
    list.sort_unstable();
    list.dedup();
    list
}

/// The largest number of lanes with the same address.
pub(super) fn sharers(addresses: &[u64; LANES], lanes: u32) -> u32 {
    let mut list: SmallVec<[u64; LANES]> = lanes_of(lanes).map(|lane| addresses[lane as usize]).collect();
    list.sort_unstable();
    list.chunk_by(|a, b| a == b).map(|same| same.len() as u32).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BANKS: [u32; 2] = [32, 4];

    fn of(address: impl Fn(u64) -> u64) -> [u64; LANES] {
        std::array::from_fn(|lane| address(lane as u64))
    }

    fn taken(bytes: u32, address: impl Fn(u64) -> u64) -> Passes {
        passes(&of(address), u32::MAX, bytes, false, BANKS)
    }

    #[test]
    fn strides_conflict_by_their_common_factor_with_the_banks() {
        for (stride, expected) in [(0, 1), (1, 1), (2, 2), (3, 1), (8, 8), (32, 32), (33, 1)] {
            assert_eq!(taken(4, |lane| lane * stride * 4).taken, expected, "stride {stride}");
        }
        assert_eq!(taken(1, |lane| lane), Passes { taken: 1, ideal: 1 }, "bytes of one word");
    }

    #[test]
    fn wide_accesses_take_turns() {
        assert_eq!(taken(8, |lane| lane * 8), Passes { taken: 2, ideal: 2 });
        assert_eq!(taken(16, |lane| lane * 16), Passes { taken: 4, ideal: 4 });
        assert_eq!(taken(8, |lane| lane * 16), Passes { taken: 4, ideal: 2 });
        assert_eq!(passes(&of(|lane| lane * 16), 0xff, 16, false, BANKS), Passes { taken: 1, ideal: 1 });
    }

    #[test]
    fn atomics_share_nothing() {
        assert_eq!(passes(&[0; LANES], u32::MAX, 4, true, BANKS).taken, 32);
        assert_eq!(sharers(&of(|lane| lane / 8 * 4), u32::MAX), 8);
    }

    #[test]
    fn lanes_share_sectors() {
        let count = |address: &dyn Fn(u64) -> u64, bytes| sectors(&of(address), u32::MAX, bytes, 32).len();
        assert_eq!(count(&|lane| 0x1000 + lane * 4, 4), 4);
        assert_eq!(count(&|lane| 0x1010 + lane * 4, 4), 5, "off by half a sector");
        assert_eq!(count(&|lane| 0x1000 + lane * 16, 16), 16);
        assert_eq!(count(&|lane| 0x1000 + lane * 128, 4), 32);
        assert_eq!(count(&|lane| 0x1000 + (31 - lane) * 4, 4), 4, "in any order");
        assert_eq!(count(&|_| 0x1000, 4), 1);
    }

    #[test]
    fn local_memory_is_interleaved_by_lane() {
        let same = [0x20; LANES];
        assert_eq!(local_sectors(0, &same, u32::MAX, 4, 32).len(), 4);
        assert_eq!(local_sectors(0, &same, u32::MAX, 16, 32).len(), 16);
        assert_eq!(local_sectors(0, &of(|lane| lane * 4), u32::MAX, 4, 32).len(), 32);
    }
}
