//! The memory of the machine: the meaning of every address.
//!
//! | space | one per | addresses |
//! |---|---|---|
//! | global | grid | 64 bits; allocations with unmapped gaps between them |
//! | shared | CTA | byte offset from the first byte that the program owns; above it, from bit 24 on, the rank of the CTA in its cluster |
//! | local | thread | byte offset |
//! | constant banks | grid | bank and byte offset, read-only |
//! | parameters | grid | byte offset in the parameter block, read-only |
//! | generic | | global, or the [`SHARED_WINDOW`] or [`LOCAL_WINDOW`] of the accessing thread, or the [`CONSTANT_WINDOW`] |
//!
//! An access names its size, must be aligned to it, and must lie in one allocation. Any other
//! access is a fault, whose message has the access and the nearby allocations. All accesses take
//! effect at once and in one order, which every memory model permits.

mod images;
mod unwritten;
mod watched;
mod windows;

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::checks::{Bits, Found, Race};
use crate::copies::Copies;
use crate::error::Fault;
use crate::heap::Heap;
use crate::images::Images;
use crate::mbarrier::Layout;
use crate::printed::Printed;
use crate::products::UnderWay;
pub(crate) use crate::space::Space;
use crate::unwritten::Loaded;
use crate::warp::{LANES, lanes_of};

pub use windows::{
    CONSTANT_WINDOW, LOCAL_WINDOW, PARAMETER_END, PARAMETER_WINDOW, SHARED_WINDOW, SHARED_WINDOW_BYTES,
    WINDOW_BYTES,
};
pub(crate) use windows::{MOST_PARAMETER_BYTES, RANK_SHIFT, resolve};

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A read and a write in one.
    Atomic,
    /// The same, by an operation on an mbarrier.
    Mbarrier,
}

/// Alignment of global allocations, in bytes.
const ALLOCATION_ALIGN: u64 = 256;
/// The minimum number of unmapped bytes between allocations.
const GUARD: u64 = 4096;
/// Address of the first allocation: below a multiple of 4 GiB, so that a lost carry is an error.
const FIRST_ADDRESS: u64 = 0x3_ffff_ff00;

/// A piece of global memory.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    /// Its name in messages.
    pub name: String,
    /// Address of its first byte.
    pub base: u64,
    /// Its content.
    pub data: Vec<u8>,
}

/// Global memory: allocations in ascending order of their addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Global {
    /// The allocations.
    pub allocations: Vec<Allocation>,
}

impl Global {
    /// Adds an allocation after the others and returns its address.
    pub fn allocate(&mut self, name: impl Into<String>, data: Vec<u8>) -> u64 {
        let base = match self.allocations.last() {
            None => FIRST_ADDRESS,
            Some(last) => (last.base + last.data.len() as u64 + GUARD).next_multiple_of(ALLOCATION_ALIGN),
        };
        self.allocations.push(Allocation { name: name.into(), base, data });
        base
    }

    /// Takes the bytes of an allocation away. Its address is not used again.
    pub fn release(&mut self, base: u64) {
        if let Ok(index) = self.allocations.binary_search_by_key(&base, |allocation| allocation.base) {
            self.allocations[index].data = Vec::new();
        }
    }

    /// The content of the allocation at an address; empty if there is none.
    pub fn content(&mut self, base: u64) -> &mut [u8] {
        match self.allocations.binary_search_by_key(&base, |allocation| allocation.base) {
            Ok(index) => &mut self.allocations[index].data,
            Err(_) => &mut [],
        }
    }

    /// The allocation at or below an address.
    #[inline]
    fn around(&mut self, address: u64) -> Option<&mut Allocation> {
        let after = self.allocations.partition_point(|allocation| allocation.base <= address);
        self.allocations.get_mut(after.wrapping_sub(1))
    }

    /// The index of the allocation at an address, and the index of the byte in it.
    fn find(&self, address: u64, bytes: u32) -> Result<(usize, usize), String> {
        let after = self.allocations.partition_point(|allocation| allocation.base <= address);
        let inside = after.checked_sub(1).filter(|&index| {
            let allocation = &self.allocations[index];
            address - allocation.base + u64::from(bytes) <= allocation.data.len() as u64
        });
        match inside {
            Some(index) => Ok((index, (address - self.allocations[index].base) as usize)),
            None => Err(match after.checked_sub(1).map(|index| &self.allocations[index]) {
                Some(Allocation { name, base, data }) => format!(
                    "outside all allocations; {name} is {base:#x} to {:#x}, {:#x} bytes below",
                    base + data.len() as u64,
                    address - base
                ),
                None => "outside all allocations, below the first".to_string(),
            }),
        }
    }
}

/// Number of the constant bank that holds the module's constant variables.
pub(crate) const MODULE_BANK: u8 = 3;

/// Number of the constant bank that holds the addresses of the module's global variables.
pub(crate) const ADDRESS_BANK: u8 = 4;

/// The memory that exists once per grid.
#[derive(Clone, Debug, Default)]
pub(crate) struct GridMemory {
    /// Global memory.
    pub global: Global,
    /// The constant banks by number.
    pub constants: BTreeMap<u8, Vec<u8>>,
    /// The parameter block.
    pub params: Vec<u8>,
    /// The heap of `malloc`.
    pub heap: Heap,
    /// Texts that threads printed, in order.
    pub printed: Vec<Printed>,
    /// The layout of mbarriers in shared memory.
    pub mbarriers: Layout,
    /// The textures, surfaces and samplers.
    pub images: Images,
    /// The environment registers, which the driver sets.
    pub environment: [u32; 32],
    /// The reads of unwritten memory and the races so far.
    pub found: Found,
    /// The unwritten bytes that the current instruction has loaded.
    pub loaded: Vec<Loaded>,
    /// The number of warp instructions executed before a fault.
    pub steps_before_fault: u64,
}

/// The memory that exists once per CTA.
#[derive(Clone, Debug)]
pub(crate) struct CtaMemory {
    /// Shared memory.
    pub shared: Vec<u8>,
    /// Local memory of all threads, one after another.
    pub local: Vec<u8>,
    /// Bytes of local memory per thread.
    pub local_bytes: u32,
    /// The written bytes, if reads of others are faults or findings.
    pub written: Option<Written>,
    /// The accesses of the cluster, if they are checked for races: in the first CTA of the cluster.
    pub race: Option<Box<Race>>,
    /// `%ctaid`.
    pub id: [u32; 3],
    /// Outstanding asynchronous copies.
    pub copies: Copies,
    /// Outstanding products of warpgroups.
    pub products: UnderWay,
}

/// The written bytes of a CTA's memory.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// The written bytes of shared memory.
    pub shared: Bits,
    /// The written bytes of local memory.
    pub local: Bits,
    /// Whether a read of another byte is a fault; otherwise it is a finding.
    pub is_fault: bool,
}

/// The instruction that accesses memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Instruction {
    /// Its index.
    pub pc: u32,
    /// Whether its accesses are strong: volatile, relaxed, acquire or release.
    pub strong: bool,
    /// Whether its accesses release.
    pub releases: bool,
    /// Whether it only moves what it reads, and the engine follows unwritten bytes of it.
    pub follows: bool,
}

/// Memory as a warp sees it.
pub(crate) struct Memory<'a> {
    /// The memory of the grid.
    pub grid: &'a mut GridMemory,
    /// The memory of the started CTAs of the cluster, by rank.
    pub cluster: &'a mut [CtaMemory],
    /// The rank of the CTA in its cluster.
    pub rank: usize,
    /// The number of the thread in lane 0 within the CTA.
    pub first_thread: u32,
    /// The instruction that executes.
    pub instruction: Instruction,
    /// The last atomic update, until its effect is known.
    pub update: Option<Update>,
}

/// The bytes that an access reaches.
#[derive(Clone, Copy, Debug)]
struct Reach {
    /// The space, which is not generic.
    space: Space,
    /// The CTA in the cluster, or the index of the allocation of global memory.
    owner: usize,
    /// The index of the first byte in the data of that space.
    start: usize,
    bytes: usize,
    /// The address in the space, for messages.
    offset: u64,
}

/// An atomic update of a lane whose effect is not known yet: the content before.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    lane: u32,
    reach: Reach,
    before: SmallVec<[u8; 16]>,
}

/// A piece of memory that holds the data of the lanes.
struct Piece<'a> {
    data: &'a mut [u8],
    /// The address of the first byte that lane 0 may touch.
    base: u64,
    /// The number of bytes that a lane may touch.
    size: u64,
    /// Index of the first byte of lane 0, and the distance from lane to lane.
    start: u64,
    stride: u64,
    /// The written bytes, if they are known and not all are written.
    written: Option<&'a mut Bits>,
}

impl Memory<'_> {
    /// The memory of the CTA.
    pub fn cta(&mut self) -> &mut CtaMemory {
        &mut self.cluster[self.rank]
    }

    /// The address of a byte of the CTA's shared memory.
    pub fn shared_address(&self, offset: u64) -> u64 {
        (self.rank as u64) << RANK_SHIFT | offset
    }

    /// Calls `each` with the bytes that each of the lanes touches, as [`access`](Self::access)
    /// does, but faster if all lie in one piece of memory, and fastest if the lanes of a whole warp
    /// are consecutive.
    #[inline]
    pub fn each<const BYTES: usize>(
        &mut self,
        space: Space,
        lanes: u32,
        addresses: &[u64; LANES],
        kind: AccessKind,
        mut each: impl FnMut(usize, &mut [u8; BYTES]),
    ) -> Result<(), Fault> {
        let first = lanes.trailing_zeros() as usize % LANES;
        if self.cluster[0].race.is_some() {
            return self.each_watched(space, lanes, addresses, kind, each);
        }
        let Some(Piece { data, base, size, start, stride, written }) =
            self.piece(space, addresses[first], kind)
        else {
            return self.each_alone(space, lanes, addresses, kind, each);
        };
        let (mut bits, mut farthest, mut apart) = (0, 0, 0);
        let mut look = |lane: usize| {
            let (address, offset) = (addresses[lane], addresses[lane].wrapping_sub(base));
            bits |= address;
            farthest = farthest.max(offset);
            apart |= address ^ addresses[0].wrapping_add((BYTES * lane) as u64);
        };
        match lanes {
            u32::MAX => (0..LANES).for_each(&mut look),
            _ => lanes_of(lanes).for_each(|lane| look(lane as usize)),
        }
        if bits & (BYTES as u64 - 1) != 0 || farthest.checked_add(BYTES as u64).is_none_or(|end| end > size) {
            return self.each_alone(space, lanes, addresses, kind, each);
        }
        let place = |lane: usize| (start + stride * lane as u64 + addresses[lane] - base) as usize;
        if let Some(written) = written {
            let in_order = apart == 0 && stride == 0 && lanes == u32::MAX;
            let write = kind == AccessKind::Write;
            let is_known = match (in_order, write) {
                (true, true) => {
                    written.add(place(0), LANES * BYTES);
                    true
                }
                (true, false) => written.has(place(0), LANES * BYTES),
                (false, true) => {
                    lanes_of(lanes).for_each(|lane| written.add_few::<BYTES>(place(lane as usize)));
                    true
                }
                (false, false) if lanes == u32::MAX => {
                    (0..LANES).fold(true, |all, lane| all & written.has_few::<BYTES>(place(lane)))
                }
                (false, false) => lanes_of(lanes).all(|lane| written.has_few::<BYTES>(place(lane as usize))),
            };
            if !is_known {
                return self.each_alone(space, lanes, addresses, kind, each);
            }
        }
        if apart == 0 && stride == 0 && lanes == u32::MAX {
            let all = &mut data[place(0)..][..LANES * BYTES];
            let (all, _) = all.as_chunks_mut::<BYTES>();
            all.iter_mut().enumerate().for_each(|(lane, bytes)| each(lane, bytes));
            return Ok(());
        }
        let mut one = |lane: usize| {
            if let Some(bytes) = data.get_mut(place(lane)..).and_then(|rest| rest.first_chunk_mut()) {
                each(lane, bytes);
            }
        };
        match lanes {
            u32::MAX => (0..LANES).for_each(&mut one),
            _ => lanes_of(lanes).for_each(|lane| one(lane as usize)),
        }
        Ok(())
    }

    /// [`each`](Self::each), lane by lane.
    #[cold]
    fn each_alone<const BYTES: usize>(
        &mut self,
        space: Space,
        lanes: u32,
        addresses: &[u64; LANES],
        kind: AccessKind,
        mut each: impl FnMut(usize, &mut [u8; BYTES]),
    ) -> Result<(), Fault> {
        for lane in lanes_of(lanes) {
            let slice = self.access(space, lane, addresses[lane as usize], BYTES as u32, kind)?;
            if let Some(bytes) = slice.first_chunk_mut() {
                each(lane as usize, bytes);
            }
        }
        Ok(())
    }

    /// The piece of memory around an address, unless each access must be checked separately.
    #[inline]
    fn piece<'m>(&'m mut self, space: Space, address: u64, kind: AccessKind) -> Option<Piece<'m>> {
        let (space, offset) = resolve(space, address);
        let base = address.wrapping_sub(offset);
        let whole = |data: &'m mut Vec<u8>| Piece {
            size: data.len() as u64,
            data,
            base,
            start: 0,
            stride: 0,
            written: None,
        };
        let own = (self.rank as u64) << RANK_SHIFT;
        let first_thread = self.first_thread;
        let cta = &mut self.cluster[self.rank];
        match space {
            Space::Global | Space::Generic => {
                let allocation = self.grid.global.around(offset)?;
                Some(Piece { base: allocation.base, ..whole(&mut allocation.data) })
            }
            Space::Shared | Space::Cluster => {
                let written = cta.written.as_mut().map(|written| &mut written.shared);
                let written = written.filter(|written| !written.is_full());
                Some(Piece { base: base + own, written, ..whole(&mut cta.shared) })
            }
            Space::Local => {
                let size = u64::from(cta.local_bytes);
                let start = size * u64::from(first_thread);
                let written = cta.written.as_mut().map(|written| &mut written.local);
                let written = written.filter(|written| !written.is_full());
                Some(Piece { size, start, stride: size, written, ..whole(&mut cta.local) })
            }
            Space::Param if kind == AccessKind::Read => Some(whole(&mut self.grid.params)),
            Space::Constant(bank) if kind == AccessKind::Read => {
                self.grid.constants.get_mut(&bank).map(whole)
            }
            _ => None,
        }
    }

    /// The bytes that an access of a lane touches, aligned to their number, which is a power of
    /// two.
    pub fn access(
        &mut self,
        space: Space,
        lane: u32,
        address: u64,
        bytes: u32,
        kind: AccessKind,
    ) -> Result<&mut [u8], Fault> {
        let reach = self.reach(space, lane, address, bytes, kind)?;
        self.note_written(lane, reach, kind)?;
        match kind {
            AccessKind::Atomic => self.begin_update(lane, reach),
            _ => self.note_order(lane, reach, kind, u64::MAX),
        }
        Ok(self.bytes(reach))
    }

    /// Finds the bytes that an access of a lane touches, without an access.
    fn reach(
        &mut self,
        space: Space,
        lane: u32,
        address: u64,
        bytes: u32,
        kind: AccessKind,
    ) -> Result<Reach, Fault> {
        let verb = match kind {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Atomic | AccessKind::Mbarrier => "atomic update",
        };
        let fault =
            |why: &str| Fault::new(lane, format!("{verb} of {bytes} bytes at {space:?} {address:#x}: {why}"));
        if !address.is_multiple_of(u64::from(bytes)) {
            return Err(fault("misaligned"));
        }
        let (named, mut offset) = resolve(space, address);
        let mut rank = self.rank;
        if matches!(named, Space::Shared | Space::Cluster) {
            rank = (offset >> RANK_SHIFT) as usize;
            offset &= WINDOW_BYTES - 1;
            if space == Space::Shared && rank != self.rank {
                return Err(fault(&format!("it belongs to CTA {rank} of the cluster")));
            }
        }
        let started = self.cluster.len();
        let Some(cta) = self.cluster.get(rank) else {
            return Err(fault(&format!(
                "the cluster has no CTA {rank}, or it has not started; {started} have"
            )));
        };
        let mut first = 0;
        let (what, size) = match named {
            Space::Global | Space::Generic => {
                let (owner, start) = self.grid.global.find(offset, bytes).map_err(|why| fault(&why))?;
                return Ok(Reach { space: Space::Global, owner, start, bytes: bytes as usize, offset });
            }
            Space::Shared | Space::Cluster => ("shared memory", cta.shared.len()),
            Space::Local => {
                let size = cta.local_bytes as usize;
                first = (self.first_thread + lane) as usize * size;
                ("local memory", size)
            }
            Space::Param | Space::Constant(_) if kind != AccessKind::Read => return Err(fault("read-only")),
            Space::Param => ("the parameter block", self.grid.params.len()),
            Space::Constant(bank) => {
                ("the constant bank", self.grid.constants.get(&bank).map_or(0, |bank| bank.len()))
            }
        };
        let start = usize::try_from(offset).ok();
        let start = start.filter(|start| start.checked_add(bytes as usize).is_some_and(|end| end <= size));
        let Some(start) = start else {
            return Err(fault(&format!("outside {what}, which has {size:#x} bytes")));
        };
        let space = if named == Space::Cluster { Space::Shared } else { named };
        Ok(Reach { space, owner: rank, start: first + start, bytes: bytes as usize, offset })
    }

    /// The bytes that were found.
    fn bytes(&mut self, reach: Reach) -> &mut [u8] {
        let memory = match reach.space {
            Space::Global | Space::Generic => &mut self.grid.global.allocations[reach.owner].data,
            Space::Shared | Space::Cluster => &mut self.cluster[reach.owner].shared,
            Space::Local => &mut self.cluster[reach.owner].local,
            Space::Param => &mut self.grid.params,
            Space::Constant(bank) => self.grid.constants.entry(bank).or_default(),
        };
        &mut memory[reach.start..reach.start + reach.bytes]
    }
}

/// The little-endian number in at most eight bytes.
#[inline]
pub(crate) fn read_le(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => a.into(),
        [a, b] => u16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)),
    }
}

/// Writes as many low bytes of a number as the slice has.
#[inline]
pub(crate) fn write_le(bytes: &mut [u8], value: u64) {
    let count = bytes.len().min(8);
    bytes[..count].copy_from_slice(&value.to_le_bytes()[..count]);
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Memory<'_> {
        fn load(&mut self, space: Space, lane: u32, address: u64, bytes: u32) -> Result<u64, Fault> {
            self.access(space, lane, address, bytes, AccessKind::Read).map(|slice| read_le(slice))
        }

        fn store(
            &mut self,
            space: Space,
            lane: u32,
            address: u64,
            bytes: u32,
            value: u64,
        ) -> Result<(), Fault> {
            self.access(space, lane, address, bytes, AccessKind::Write).map(|slice| write_le(slice, value))
        }
    }

    fn with_memory(test: impl FnOnce(&mut Memory<'_>, u64, u64)) {
        let mut grid = GridMemory::default();
        let first = grid.global.allocate("first", vec![0; 512]);
        let second = grid.global.allocate("second", vec![7; 3]);
        let (shared, local, copies) = (vec![0; 16], vec![0; 64], Copies::default());
        let (written, race, id) = (None, None, [0; 3]);
        let mut cta = [CtaMemory {
            shared,
            local,
            local_bytes: 8,
            written,
            race,
            id,
            copies,
            products: UnderWay::default(),
        }];
        let (rank, first_thread, instruction, update) = (0, 4, Instruction::default(), None);
        let mut memory =
            Memory { grid: &mut grid, cluster: &mut cta, rank, first_thread, instruction, update };
        test(&mut memory, first, second);
    }

    #[test]
    fn allocations_are_aligned_and_apart() {
        with_memory(|_, first, second| {
            assert_eq!(first % 256, 0);
            assert_eq!(second % 256, 0);
            assert!(second - (first + 512) >= GUARD);
            assert!(first < 4 << 32 && first + 512 > 4 << 32, "the first one crosses a 4 GiB boundary");
        });
    }

    #[test]
    fn a_bad_access_says_what_and_where() {
        with_memory(|memory, first, second| {
            memory.store(Space::Global, 3, first + 8, 8, 0x1122_3344_5566_7788).unwrap();
            assert_eq!(memory.load(Space::Generic, 0, first + 12, 2).unwrap(), 0x3344);
            let beyond = memory.load(Space::Global, 3, first + 512, 4).unwrap_err();
            assert_eq!(beyond.lane, 3);
            assert!(beyond.what.contains("first is 0x3ffffff00 to 0x400000100"), "{}", beyond.what);
            assert!(memory.load(Space::Global, 0, first + 2, 4).unwrap_err().what.ends_with("misaligned"));
            assert!(memory.load(Space::Global, 0, second + 2, 2).is_err(), "reaches beyond the end");
            assert!(memory.load(Space::Global, 0, 0, 1).unwrap_err().what.contains("below the first"));
            assert!(memory.load(Space::Shared, 0, 16, 1).unwrap_err().what.contains("0x10 bytes"));
            assert!(memory.store(Space::Param, 0, 0, 4, 1).unwrap_err().what.ends_with("read-only"));
        });
    }

    #[test]
    fn local_memory_belongs_to_the_thread_and_windows_alias() {
        with_memory(|memory, _, _| {
            memory.store(Space::Generic, 2, LOCAL_WINDOW + 4, 4, 5).unwrap();
            memory.store(Space::Generic, 2, SHARED_WINDOW + 4, 4, 6).unwrap();
            assert_eq!(memory.load(Space::Local, 2, 4, 4).unwrap(), 5);
            assert_eq!(memory.load(Space::Local, 1, 4, 4).unwrap(), 0);
            assert_eq!(memory.load(Space::Shared, 9, 4, 4).unwrap(), 6);
        });
    }
}
