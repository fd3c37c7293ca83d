//! Addresses, loads and stores.
//!
//! A shared address of sm_90 is a window of 24 bits below the rank of the CTA in its cluster; the first
//! bytes of the window belong to the system, so that an address below them, or with another rank, is a
//! fault. A global access names a descriptor, which must be the one of constant bank 0.

use ptxc_sass::{Arch, ModKind, OperandKind};
use ptxc_semantics::IntType;

use super::fields::{Address, Decoded, Fields};
use super::registers::{Dest, Origin, Registers, Source};
use crate::access::AccessKind;
use crate::engine::Step;
use crate::error::Fault;
use crate::memory::{SHARED_WINDOW, Space, WINDOW_BYTES, read_le, write_le};
use crate::warp::{Flow, LANES, lanes_of};

/// The descriptor of global accesses in constant bank 0.
pub(super) const DESCRIPTOR: u64 = 0x5eed_0000_de5c_0001;

/// The element of an access.
#[derive(Clone, Copy)]
struct Element {
    /// Bytes in memory.
    bytes: u32,
    /// Whether a narrow one is extended by its sign.
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

/// An address and the space it is in.
pub(super) struct Place {
    /// The space.
    pub space: Space,
    address: Address,
    arch: Arch,
}

impl Place {
    /// The address of an instruction.
    pub fn new(i: &Fields<'_>, space: Space) -> Result<Place, String> {
        let address = i.address("addr")?;
        let long = matches!(space, Space::Global | Space::Generic);
        if long && address.base_high.is_none() {
            return Err("an address of 32 bits".to_string());
        }
        if !long && address.base_high.is_some() {
            return Err(format!("an address of 64 bits in {space:?} memory"));
        }
        if long && !matches!(address.uniform.origin, Origin::Value(0)) {
            return Err("a uniform part of a 64-bit address".to_string());
        }
        let described = i.arch.global_descriptor().is_some() && !i.inst.op.is_compare_and_swap();
        if space == Space::Global && described && address.descriptor.is_none() {
            return Err("a global access without a descriptor".to_string());
        }
        Ok(Place { space, address, arch: i.arch })
    }

    /// The address of each lane, as memory counts.
    pub fn resolve(&self, registers: &Registers, step: &Step<'_>) -> Result<[u64; LANES], Fault> {
        let first = step.lanes.trailing_zeros();
        let Address { base, base_high, uniform, offset, descriptor } = self.address;
        if let Some(pair) = descriptor {
            let value = registers.wide(pair)[0];
            if value != DESCRIPTOR {
                return Err(Fault::new(first, format!("{value:#x} is not the descriptor of global memory")));
            }
        }
        if let Some(high) = base_high {
            let mut addresses = registers.wide([base, high]);
            for address in &mut addresses {
                *address = address.wrapping_add_signed(offset.into());
                if self.space == Space::Generic && address.wrapping_sub(SHARED_WINDOW) < WINDOW_BYTES {
                    *address = address.wrapping_sub(self.arch.reserved_shared().into());
                }
            }
            return Ok(addresses);
        }
        let (base, uniform) = (registers.int(base), registers.int(uniform));
        let mut addresses = [0; LANES];
        for lane in lanes_of(step.lanes) {
            let n = lane as usize;
            let address = base[n].wrapping_add(uniform[n]).wrapping_add_signed(offset);
            addresses[n] = u64::from(match self.space {
                Space::Shared => own_shared(address, self.arch).map_err(|what| Fault::new(lane, what))?,
                _ => address,
            });
        }
        Ok(addresses)
    }
}

/// The offset of a shared address from the first byte that the program owns.
fn own_shared(address: u32, arch: Arch) -> Result<u32, String> {
    let (rank, low) = if arch == Arch::Sm90 { (address >> 24, address & 0xff_ffff) } else { (0, address) };
    if rank != 0 {
        return Err(format!("shared address {address:#x} belongs to CTA {rank} of the cluster"));
    }
    low.checked_sub(arch.reserved_shared())
        .ok_or_else(|| format!("shared address {address:#x} is in the part that the system keeps"))
}

fn load_from(i: &Fields<'_>, space: Space) -> Decoded {
    let (element, place) = (element(i)?, Place::new(i, space)?);
    let d = i.dests("d", element.bytes.div_ceil(4) as u8)?;
    Ok(Box::new(move |registers, step| {
        let addresses = place.resolve(registers, step)?;
        step.log_access(AccessKind::Read, place.space, element.bytes, &addresses);
        let mut words = [[0; LANES]; 4];
        for lane in lanes_of(step.lanes) {
            let n = lane as usize;
            let slice = step.memory.access(place.space, lane, addresses[n], element.bytes, false)?;
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

/// The registers of the data operand.
fn data(i: &Fields<'_>, bytes: u32) -> Result<Vec<Source>, String> {
    match bytes {
        16 => i.words::<4>("data").map(|words| words.to_vec()),
        8 => i.words::<2>("data").map(|words| words.to_vec()),
        _ => i.words::<1>("data").map(|words| words.to_vec()),
    }
}

fn store_to(i: &Fields<'_>, space: Space) -> Decoded {
    let (element, place) = (element(i)?, Place::new(i, space)?);
    let sources = data(i, element.bytes)?;
    Ok(Box::new(move |registers, step| {
        let addresses = place.resolve(registers, step)?;
        step.log_access(AccessKind::Write, place.space, element.bytes, &addresses);
        let mut words = [[0; LANES]; 4];
        for (word, &source) in words.iter_mut().zip(&sources) {
            *word = registers.int(source);
        }
        for lane in lanes_of(step.lanes) {
            let n = lane as usize;
            let slice = step.memory.access(place.space, lane, addresses[n], element.bytes, true)?;
            for (word, bytes) in words.iter().zip(slice.chunks_mut(4)) {
                write_le(bytes, word[n].into());
            }
        }
        Ok(Flow::Next)
    }))
}

/// `LDG`.
pub(super) fn ldg(i: &Fields<'_>) -> Decoded {
    load_from(i, Space::Global)
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

/// `LDC`, `ULDC`. Constants do not change, so that the words are known when the program is decoded, unless a
/// register says where they are.
pub(super) fn ldc(i: &Fields<'_>) -> Decoded {
    let element = element(i)?;
    let d = i.dests("d", element.bytes.div_ceil(4) as u8)?;
    let (bank, offset) = match i.inst.get("src").map(|operand| operand.kind) {
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
            let slice =
                step.memory.access(Space::Constant(bank), lane, addresses[n], element.bytes, false)?;
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
