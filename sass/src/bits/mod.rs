//! Machine code: an instruction as 128 bits, and back.
//!
//! ```
//! use ptxc_machine::Arch;
//! use ptxc_sass::bits;
//!
//! // IADD3 R2, R3, R4, RZ, 2 cycles before the next instruction, as nvdisasm -hex shows it in two words.
//! let word = 0x000f_e400_07ff_e0ff_u128 << 64 | 0x0000_0004_0302_7210;
//! let coded = bits::decode(word, 0, Arch::Sm90)?;
//! assert_eq!(coded.inst.to_string(), "IADD3 R2, R3, R4, RZ");
//! assert_eq!(coded.control.stall, 2);
//! assert_eq!(bits::encode(&coded, 0, Arch::Sm90, |_| None), Ok(word));
//! # Ok::<(), bits::DecodeError>(())
//! ```
//!
//! Both directions use [patterns](pattern): a row of the table in one of its
//! [forms](crate::table::Form) on one architecture. A pattern says for each of the bits 0 to 104
//! whether the bit is constant or belongs to one field. Bits that no field names are constant and
//! zero, so that a decoded instruction is encoded to the same bits again. Neither direction
//! allocates.

mod decode;
mod encode;
mod error;
mod field;
mod pattern;

use ptxc_machine::Arch;

use crate::inst::Inst;
use crate::register::PReg;
use crate::slot_name;
use crate::table::{Op, Place, Shape};
pub use decode::{blank, decode, decode_into};
pub use encode::encode;
pub use error::{DecodeError, EncodeError};

/// The lowest bit of the guard's field: three bits hold the number, the bit above them the
/// complement.
const GUARD: u8 = 12;

/// The bits of the operation.
const OPERATION: u128 = 0xfff;

/// Whether the encoding of a row is known on an architecture.
pub fn is_settled(op: Op, arch: Arch) -> bool {
    pattern::of_op(op, arch).next().is_some()
}

/// The shapes of operands, one a slot, in which a row can be encoded on an architecture.
pub fn forms(op: Op, arch: Arch) -> Vec<Vec<Shape>> {
    let shapes = |pattern: &pattern::Pattern| pattern.slots.iter().map(|slot| slot.shape).collect();
    pattern::of_op(op, arch).map(shapes).collect()
}

/// The number of bits of an address's offset in the slot, if the address names no uniform register.
pub(crate) fn offset_len(op: Op, slot: &crate::table::Slot, arch: Arch) -> u8 {
    let of_slot = |pattern: &pattern::Pattern| {
        let index = op.row().slot(slot.name)?;
        let field = pattern.slots.get(index)?;
        match (field.shape, field.place) {
            (Shape::AddressUniform | Shape::AddressDescribed, _) => None,
            (_, Place::Address(place)) => Some(place.offset.len),
            _ => None,
        }
    };
    pattern::of_op(op, arch).find_map(of_slot).unwrap_or(OFFSET_LEN)
}

/// The slot of the operand that a loader may fill in: an immediate of 32 bits, or the address that
/// a call goes to. `None` if the instruction has no such operand or fits no form of its row.
pub fn loaded_slot(inst: &Inst<PReg>, arch: Arch) -> Option<usize> {
    match inst.op {
        Op::CALL_ABSOLUTE => return inst.slot_index(slot_name!("offset")),
        Op::CALL_LOADED => return inst.slot_index(slot_name!("target")),
        _ => {}
    }
    let mut fitting = pattern::fitting(inst.op, arch, &inst.operands);
    let pattern = fitting.find(|one| one.has_codes(inst.mods))?;
    let is_wide = |field: &field::SlotField| {
        field.shape == Shape::Immediate
            && matches!(field.place, Place::Number(bits, _) if bits.mask() == Place::WIDE.mask())
    };
    pattern.slots.iter().position(is_wide)
}

/// The number of bits of an offset if the encoding is not known.
const OFFSET_LEN: u8 = 24;

/// The opcodes of a row's forms on an architecture, each once: the lowest twelve bits of the words.
pub fn opcodes(op: Op, arch: Arch) -> Vec<u16> {
    let code = |pattern: &pattern::Pattern| (pattern.value & OPERATION) as u16;
    let mut found: Vec<u16> = pattern::of_op(op, arch).map(code).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests;
