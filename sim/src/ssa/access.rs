//! Loads and stores of the SSA engine: the lanes of an operation, their addresses and their bytes.

use ptxc_ir::MemType;

use super::Values;
use super::arith::Words;
use super::code::{Place, SlotIndex};
use crate::engine::Step;
use crate::error::Fault;
use crate::memory::{self, AccessKind};
use crate::warp::lanes_of;

/// The addresses of all lanes.
pub(super) fn addresses(values: &Values, place: &Place) -> Words {
    values.words[place.address as usize]
        .map(|base| base.wrapping_add_signed(place.offset.into()) & place.address_mask)
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
    access_any(step, place, &addresses, size * d.len(), AccessKind::Read, |lane, bytes| {
        for (&d, bytes) in d.iter().zip(bytes.chunks_exact(size)) {
            let value = memory::read_le(&bytes[..size.min(8)]);
            let value = match place.elem {
                MemType::S8 => value as i8 as u64,
                MemType::S16 => value as i16 as u64,
                _ => value,
            };
            values.words[d as usize][lane] = value & mask;
            if place.elem == MemType::B128 {
                values.words[d as usize + 1][lane] = memory::read_le(&bytes[8..]);
            }
        }
    })
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
    })
}
