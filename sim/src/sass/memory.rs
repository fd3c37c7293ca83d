//! Addresses, loads and stores.
//!
//! A shared address of sm_90 has 24 bits of offset below the rank of the CTA in its cluster. The
//! first bytes belong to the system, so an address of one of them, or with another rank, is a
//! fault. A global access names a descriptor, which must be that of constant bank 0, or a cache
//! policy.

use ptxc_machine::{Arch, Feature};
use ptxc_sass::{ModKind, OperandKind, slot_name};
use ptxc_semantics::IntType;

use super::alu::set_where;
use super::fields::{Address, Decoded, Fields};
use super::registers::{Dest, Registers, Source};
use super::unwritten;
use crate::engine::Step;
use crate::error::Fault;
use crate::memory::{
    AccessKind, RANK_SHIFT, SHARED_WINDOW, SHARED_WINDOW_BYTES, Space, WINDOW_BYTES, read_le,
};
use crate::warp::{Flow, LANES, lanes_of};

/// The descriptor of global accesses in constant bank 0.
pub(super) const DESCRIPTOR: u64 = 0x5eed_0000_de5c_0001;

/// Whether a word is one that `createpolicy` makes; a policy does not change the value of an
/// access.
fn is_cache_policy(word: u64) -> bool {
    const KIND_AND_REST: u64 = 0xf000_0000;
    word as u32 == 0 && word >> 32 & KIND_AND_REST == 0x1000_0000
}

/// The element of an access.
#[derive(Clone, Copy)]
struct Element {
    /// The size in memory, in bytes.
    bytes: u32,
    /// Whether a narrow element is sign-extended.
    signed: bool,
}

fn element(i: &Fields<'_>) -> Result<Element, String> {
    let (bytes, signed) = match i.modifier(ModKind::Size) {
        ".U8" => (1, false),
        ".S8" => (1, true),
        ".U16" => (2, false),
        ".S16" => (2, true),
        "" => (4, false),
        ".64" => (8, false),
        ".128" => (16, false),
        _ => return i.unknown(ModKind::Size),
    };
    Ok(Element { bytes, signed })
}

/// An address and its space.
pub(super) struct Place {
    /// The space.
    pub space: Space,
    address: Address,
    arch: Arch,
}

impl Place {
    /// The address of an instruction.
    pub fn new(i: &Fields<'_>, space: Space) -> Result<Place, String> {
        Place::of(i, "addr", space)
    }

    /// The address in a slot.
    pub fn of(i: &Fields<'_>, slot: &str, space: Space) -> Result<Place, String> {
        let address = i.address(slot)?;
        let long = matches!(space, Space::Global | Space::Generic);
        if long && address.base_high.is_none() && address.uniform_high.is_none() {
            return Err("an address of 32 bits".to_string());
        }
        if !long && (address.base_high.is_some() || address.uniform_high.is_some()) {
            return Err(format!("an address of 64 bits in {space:?} memory"));
        }
        Ok(Place { space, address, arch: i.arch })
    }

    /// The address of each lane, in memory's numbering.
    #[inline]
    pub fn resolve(&self, registers: &Registers, step: &Step<'_>) -> Result<[u64; LANES], Fault> {
        let Address { base, base_high, scale, uniform, uniform_high, offset, descriptor } = self.address;
        if let Some(pair) = descriptor {
            let [low, high] = pair.map(|word| registers.int(word)[0]);
            let value = u64::from(high) << 32 | u64::from(low);
            if value != DESCRIPTOR && !is_cache_policy(value) {
                let what =
                    format!("{value:#x} is neither the descriptor of global memory nor a cache policy");
                return Err(Fault::new(step.lanes.trailing_zeros(), what));
            }
        }
        if base_high.is_some() || uniform_high.is_some() {
            let mut addresses = match base_high {
                Some(high) => registers.wide([base, high]),
                None => registers.int(base).map(u64::from),
            };
            if let Some(high) = uniform_high {
                let uniform = registers.wide([uniform, high]);
                addresses = std::array::from_fn(|n| addresses[n].wrapping_add(uniform[n]));
            }
            for address in &mut addresses {
                *address = address.wrapping_add_signed(offset.into());
            }
            if self.space == Space::Generic {
                for address in &mut addresses {
                    if address.wrapping_sub(SHARED_WINDOW) < SHARED_WINDOW_BYTES {
                        *address = address.wrapping_sub(self.arch.facts().limits.reserved_shared.into());
                    }
                }
            }
            return Ok(addresses);
        }
        let (base, uniform) = (registers.int(base), registers.int(uniform));
        let addresses: [u32; LANES] = std::array::from_fn(|n| {
            let scaled = base[n].wrapping_mul(scale.into());
            scaled.wrapping_add(uniform[n]).wrapping_add_signed(offset)
        });
        if !matches!(self.space, Space::Shared | Space::Cluster) {
            return Ok(addresses.map(u64::from));
        }
        let reserved = self.arch.facts().limits.reserved_shared;
        let own: [u32; LANES] = addresses.map(|address| address.wrapping_sub(reserved));
        // An address below the program's own bytes wraps into the rank, which is known for memory
        // of the CTA.
        let kept = set_where(|n| addresses[n] % (WINDOW_BYTES as u32) < reserved);
        let others = set_where(|n| own[n] >> RANK_SHIFT != step.rank);
        let others = if self.space == Space::Shared && self.arch.has(Feature::RankedSharedAddresses) {
            others
        } else {
            0
        };
        let foreign = (kept | others) & step.lanes;
        match foreign {
            0 => Ok(own.map(u64::from)),
            _ => Err(self.foreign(foreign.trailing_zeros(), addresses[foreign.trailing_zeros() as usize])),
        }
    }

    /// The fault of a lane whose shared address does not belong to the program.
    #[cold]
    fn foreign(&self, lane: u32, address: u32) -> Fault {
        let rank = address >> RANK_SHIFT;
        let what = match address % (WINDOW_BYTES as u32) < self.arch.facts().limits.reserved_shared {
            true => format!("shared address {address:#x} is in the part that the system reserves"),
            false => format!("shared address {address:#x} belongs to CTA {rank} of the cluster"),
        };
        Fault::new(lane, what)
    }
}

fn load_from(i: &Fields<'_>, space: Space) -> Decoded {
    let (element, place) = (element(i)?, Place::new(i, space)?);
    let d = i.dests("d", element.bytes.div_ceil(4) as u8)?;
    match element {
        Element { bytes: 1, signed: false } => load(place, d, |[byte]: [u8; 1]| [byte.into()]),
        Element { bytes: 1, signed: true } => load(place, d, |[byte]: [u8; 1]| [byte as i8 as u32]),
        Element { bytes: 2, signed: false } => load(place, d, |half| [u16::from_le_bytes(half).into()]),
        Element { bytes: 2, signed: true } => load(place, d, |half| [i16::from_le_bytes(half) as u32]),
        Element { bytes: 4, .. } => load(place, d, |word| [u32::from_le_bytes(word)]),
        Element { bytes: 8, .. } => load::<8, 2>(place, d, words_of),
        _ => load::<16, 4>(place, d, words_of),
    }
}

/// The words in the bytes of an element.
#[inline]
fn words_of<const BYTES: usize, const WORDS: usize>(bytes: [u8; BYTES]) -> [u32; WORDS] {
    let (words, _) = bytes.as_chunks();
    std::array::from_fn(|n| words.get(n).map_or(0, |&word| u32::from_le_bytes(word)))
}

/// Loads an element of `BYTES` bytes into `WORDS` registers.
fn load<const BYTES: usize, const WORDS: usize>(
    place: Place,
    d: Vec<Dest>,
    words: impl Fn([u8; BYTES]) -> [u32; WORDS] + 'static,
) -> Decoded {
    Ok(Box::new(move |registers, step| {
        let addresses = place.resolve(registers, step)?;
        step.log_access(AccessKind::Read, place.space, BYTES as u32, &addresses);
        step.memory.instruction.follows = true;
        let mut loaded = [[0; LANES]; WORDS];
        step.memory.each(place.space, step.lanes, &addresses, AccessKind::Read, |lane, bytes| {
            for (register, word) in loaded.iter_mut().zip(words(*bytes)) {
                register[lane] = word;
            }
        })?;
        for (&d, loaded) in d.iter().zip(&loaded) {
            registers.write(d, step.lanes, |lane| loaded[lane]);
        }
        if !step.memory.grid.loaded.is_empty() {
            unwritten::loaded(registers, step, &d, &words);
        }
        Ok(Flow::Next)
    }))
}

fn store_to(i: &Fields<'_>, space: Space) -> Decoded {
    let (element, place) = (element(i)?, Place::new(i, space)?);
    match element.bytes {
        1 => store(place, i.words("data")?, |[word]: [u32; 1]| [word as u8]),
        2 => store(place, i.words("data")?, |[word]: [u32; 1]| (word as u16).to_le_bytes()),
        4 => store(place, i.words("data")?, |[word]: [u32; 1]| word.to_le_bytes()),
        8 => store::<8, 2>(place, i.words("data")?, bytes_of),
        _ => store::<16, 4>(place, i.words("data")?, bytes_of),
    }
}

/// The bytes of the words of an element.
#[inline]
fn bytes_of<const BYTES: usize, const WORDS: usize>(words: [u32; WORDS]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let (places, _) = bytes.as_chunks_mut();
    for (place, word) in places.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
    bytes
}

/// Stores an element of `BYTES` bytes from `WORDS` registers.
fn store<const BYTES: usize, const WORDS: usize>(
    place: Place,
    data: [Source; WORDS],
    bytes_of: impl Fn([u32; WORDS]) -> [u8; BYTES] + 'static,
) -> Decoded {
    Ok(Box::new(move |registers, step| {
        let addresses = place.resolve(registers, step)?;
        step.log_access(AccessKind::Write, place.space, BYTES as u32, &addresses);
        let words = data.map(|word| registers.int(word));
        step.memory.each(place.space, step.lanes, &addresses, AccessKind::Write, |lane, bytes| {
            *bytes = bytes_of(std::array::from_fn(|n| words[n][lane]));
        })?;
        if !registers.unwritten.is_empty() {
            unwritten::stored(registers, step, (place.space, &addresses), &data, &bytes_of)?;
        }
        Ok(Flow::Next)
    }))
}

/// `LDG`.
pub(super) fn ldg(i: &Fields<'_>) -> Decoded {
    load_from(i, Space::Global)
}

/// `LDGMC`. The simulator has one device, so a multicast address stands for one place.
pub(super) fn ldgmc(i: &Fields<'_>) -> Decoded {
    let place = Place::new(i, Space::Global)?;
    match i.modifier(ModKind::DataType) {
        ".32" | ".S32" | ".F16x2.RN" | ".BF16x2.RN" | ".F32.RN" => {
            load(place, i.dests("d", 1)?, |word| [u32::from_le_bytes(word)])
        }
        ".64" | ".S64" | ".F16x4.RN" | ".BF16x4.RN" | ".F32x2.RN" | ".F64.RN" => {
            load::<8, 2>(place, i.dests("d", 2)?, words_of)
        }
        ".F16x8.RN" | ".BF16x8.RN" | ".F32x4.RN" => load::<16, 4>(place, i.dests("d", 4)?, words_of),
        _ => i.unknown(ModKind::DataType),
    }
}

/// `STG`.
pub(super) fn stg(i: &Fields<'_>) -> Decoded {
    store_to(i, Space::Global)
}

/// `LDS`.
pub(super) fn lds(i: &Fields<'_>) -> Decoded {
    load_from(i, Space::Shared)
}

/// `STS`.
pub(super) fn sts(i: &Fields<'_>) -> Decoded {
    store_to(i, Space::Shared)
}

/// `LDL`.
pub(super) fn ldl(i: &Fields<'_>) -> Decoded {
    load_from(i, Space::Local)
}

/// `STL`.
pub(super) fn stl(i: &Fields<'_>) -> Decoded {
    store_to(i, Space::Local)
}

/// `LD`.
pub(super) fn ld(i: &Fields<'_>) -> Decoded {
    load_from(i, Space::Generic)
}

/// `ST`.
pub(super) fn st(i: &Fields<'_>) -> Decoded {
    store_to(i, Space::Generic)
}

/// `LDC`, `ULDC`. Constants do not change, so the words are known when the program is decoded,
/// unless the address is in a register.
pub(super) fn ldc(i: &Fields<'_>) -> Decoded {
    let element = element(i)?;
    let d = i.dests("d", element.bytes.div_ceil(4) as u8)?;
    let (bank, offset) = match i.inst.get(slot_name!("src")).map(|operand| operand.kind) {
        Some(OperandKind::Const { bank, offset }) => (bank, offset),
        Some(OperandKind::IndexedConst { bank, index, offset }) => {
            return ldc_at(element, d, bank, i.register_source(index)?, offset);
        }
        _ => return Err("its source".to_string()),
    };
    let bank_bytes = i.constants.get(&bank).map_or(&[][..], |bytes| bytes);
    let range = offset as usize..offset as usize + element.bytes as usize;
    let slice = bank_bytes
        .get(range)
        .ok_or_else(|| format!("constant bank {bank} has {:#x} bytes", bank_bytes.len()))?;
    if !offset.is_multiple_of(element.bytes) {
        return Err("misaligned".to_string());
    }
    let mut words: Vec<u32> = slice.chunks(4).map(|bytes| read_le(bytes) as u32).collect();
    if element.signed {
        words[0] = IntType::new(element.bytes * 8, true).value(words[0].into()) as u32;
    }
    Ok(Box::new(move |registers, step| {
        for (&d, &word) in d.iter().zip(&words) {
            registers.write(d, step.lanes, |_| word);
        }
        Ok(Flow::Next)
    }))
}

/// A load from a constant bank at an offset in a register.
fn ldc_at(element: Element, d: Vec<Dest>, bank: u8, index: Source, offset: i32) -> Decoded {
    Ok(Box::new(move |registers, step| {
        let addresses = registers.int(index).map(|base| u64::from(base.wrapping_add_signed(offset)));
        step.log_access(AccessKind::Read, Space::Constant(bank), element.bytes, &addresses);
        let mut words = [[0; LANES]; 2];
        for lane in lanes_of(step.lanes) {
            let n = lane as usize;
            let slice = step.memory.access(
                Space::Constant(bank),
                lane,
                addresses[n],
                element.bytes,
                AccessKind::Read,
            )?;
            for (word, bytes) in words.iter_mut().zip(slice.chunks(4)) {
                word[n] = read_le(bytes) as u32;
            }
            if element.signed {
                words[0][n] = IntType::new(element.bytes * 8, true).value(words[0][n].into()) as u32;
            }
        }
        for (&d, word) in d.iter().zip(&words) {
            registers.write(d, step.lanes, |lane| word[lane]);
        }
        Ok(Flow::Next)
    }))
}
