//! Loads and stores of the SSA engine: the lanes of an operation, their addresses and their bytes.

use ptxc_ir::MemType;

use super::Values;
use super::arith::Words;
use super::code::{Place, SlotIndex};
use crate::engine::Step;
use crate::error::Fault;
use crate::memory::{self, AccessKind};
use crate::unwritten::{Bits, Loaded};
use crate::warp::lanes_of;

/// The addresses of all lanes.
pub(super) fn addresses(values: &Values, place: &Place) -> Words {
    place.addresses(&values.words[place.address as usize])
}

pub(super) fn address(values: &Values, place: &Place, lane: u32) -> u64 {
    values.get(place.address, lane).wrapping_add_signed(place.offset.into()) & place.address_mask
}

/// Calls `each` with each lane and the bytes that it touches: `BYTES` of them.
pub(super) fn access<const BYTES: usize>(
    step: &mut Step<'_>,
    place: &Place,
    addresses: &Words,
    kind: AccessKind,
    mut each: impl FnMut(usize, &mut [u8]),
) -> Result<(), Fault> {
    step.memory
        .each(place.space, step.lanes, addresses, kind, |lane, bytes: &mut [u8; BYTES]| each(lane, bytes))
}

/// The same for any number of bytes.
pub(super) fn access_any(
    step: &mut Step<'_>,
    place: &Place,
    addresses: &Words,
    bytes: usize,
    kind: AccessKind,
    mut each: impl FnMut(usize, &mut [u8]),
) -> Result<(), Fault> {
    match bytes {
        1 => access::<1>(step, place, addresses, kind, each),
        2 => access::<2>(step, place, addresses, kind, each),
        4 => access::<4>(step, place, addresses, kind, each),
        8 => access::<8>(step, place, addresses, kind, each),
        16 => access::<16>(step, place, addresses, kind, each),
        _ => {
            for lane in lanes_of(step.lanes) {
                let address = addresses[lane as usize];
                each(lane as usize, step.memory.access(place.space, lane, address, bytes as u32, kind)?);
            }
            Ok(())
        }
    }
}

pub(super) fn load(
    values: &mut Values,
    step: &mut Step<'_>,
    place: &Place,
    d: &[SlotIndex],
    mask: u64,
) -> Result<(), Fault> {
    let size = place.elem.bytes() as usize;
    place.announce(step);
    let addresses = addresses(values, place);
    step.memory.instruction.follows = true;
    access_any(step, place, &addresses, size * d.len(), AccessKind::Read, |lane, bytes| {
        for (&d, bytes) in d.iter().zip(bytes.chunks_exact(size)) {
            values.words[d as usize][lane] = first_word(place.elem, bytes) & mask;
            if place.elem == MemType::B128 {
                values.words[d as usize + 1][lane] = memory::read_le(&bytes[8..]);
            }
        }
    })?;
    if !step.memory.grid.loaded.is_empty() {
        loaded(values, step, place.elem, d, mask);
    }
    Ok(())
}

/// The first 64 bits of an element, extended.
fn first_word(elem: MemType, bytes: &[u8]) -> u64 {
    let value = memory::read_le(&bytes[..bytes.len().min(8)]);
    match elem {
        MemType::S8 => value as i8 as u64,
        MemType::S16 => value as i16 as u64,
        _ => value,
    }
}

/// Gives slots the unwritten bits of what the lanes have just loaded into them.
#[cold]
fn loaded(values: &mut Values, step: &mut Step<'_>, elem: MemType, d: &[SlotIndex], mask: u64) {
    let size = elem.bytes() as usize;
    for Loaded { lane, missing, origin } in std::mem::take(&mut step.memory.grid.loaded) {
        let byte = |n: usize| if missing >> n.min(63) & 1 == 1 { u8::MAX } else { 0 };
        let bytes: Vec<u8> = (0..size * d.len()).map(byte).collect();
        for (&d, bytes) in d.iter().zip(bytes.chunks_exact(size)) {
            let of = |bits| Bits { bits, origin: Some(origin), computed: false };
            values.unwritten.set(d, lane, of(first_word(elem, bytes) & mask));
            if elem == MemType::B128 {
                values.unwritten.set(d + 1, lane, of(memory::read_le(&bytes[8..])));
            }
        }
    }
}

pub(super) fn store(
    values: &Values,
    step: &mut Step<'_>,
    place: &Place,
    sources: &[SlotIndex],
) -> Result<(), Fault> {
    let size = place.elem.bytes() as usize;
    place.announce(step);
    let addresses = addresses(values, place);
    access_any(step, place, &addresses, size * sources.len(), AccessKind::Write, |lane, bytes| {
        for (&source, bytes) in sources.iter().zip(bytes.chunks_exact_mut(size)) {
            memory::write_le(&mut bytes[..size.min(8)], values.words[source as usize][lane]);
            if place.elem == MemType::B128 {
                memory::write_le(&mut bytes[8..], values.words[source as usize + 1][lane]);
            }
        }
    })?;
    if !values.unwritten.is_empty() {
        stored(values, step, place, sources)?;
    }
    Ok(())
}

/// Makes bytes unwritten where the lanes have just stored unwritten bits.
#[cold]
fn stored(values: &Values, step: &mut Step<'_>, place: &Place, sources: &[SlotIndex]) -> Result<(), Fault> {
    let unwritten = &values.unwritten;
    let size = place.elem.bytes();
    let words = || sources.iter().flat_map(|&source| source..source + size.div_ceil(8));
    if words().all(|word| unwritten.lanes(word, step.lanes) == 0) {
        return Ok(());
    }
    for lane in lanes_of(step.lanes) {
        let byte = |n: u32| {
            let word = sources[(n / size) as usize] + n % size / 8;
            unwritten.get(word, lane).bits >> (n % size % 8 * 8) & 0xff != 0
        };
        let bytes = size * sources.len() as u32;
        let missing = (0..bytes.min(64)).filter(|&n| byte(n)).fold(0, |set, n| set | 1 << n);
        let own: Vec<Bits> = words().map(|word| unwritten.get(word, lane)).collect();
        let place = (place.space, lane, address(values, place, lane));
        step.memory.store_unwritten(place, bytes, missing, Bits::of_all(&own))?;
    }
    Ok(())
}
