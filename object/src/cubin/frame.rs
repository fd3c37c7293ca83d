//! `.debug_frame`: the place of the caller's frame, for debuggers and for NVIDIA's disassembler.
//!
//! In: the functions of a file, each a symbol, an offset from it, and a size. Out: for each
//! function a description according to DWARF 3 in its 64-bit form. The description says that the
//! canonical frame address is the value of `R1` and that all registers are unchanged. The numbers
//! of registers are those of NVIDIA's compiler: `R1` is `0x5000001`, a class and a number.
//!
//! The compiler's code moves `R1` by constants that the descriptions do not follow, so a debugger
//! sees the frame of the innermost function only if that function does not have one.

use ptxc_sass::kept::{DebugSection, KeptRelocation};
use rustc_hash::{FxHashMap, FxHashSet};

use super::contents::Function;
use super::elf::{Entry, SymbolId};
use super::relocation::RelocationKind;

/// A general register by its class and its number in the class, as unsigned LEB128.
const STACK_POINTER: [u8; 5] = [0x81, 0x80, 0x80, 0x28, 0x00];
/// No register holds the return address of a kernel.
const NO_REGISTER: [u8; 5] = [0xff, 0xff, 0xff, 0xff, 0x0f];

const DEFINE_FRAME: u8 = 0x0c;
const SAME_VALUE: u8 = 0x08;
const LONG: [u8; 4] = [0xff; 4];

/// A function: the symbol of the kernel, the start of its code and its size, in bytes.
pub(super) struct Described {
    pub(super) symbol: SymbolId,
    pub(super) offset: u32,
    pub(super) size: u32,
}

/// The name of the section.
pub(super) const NAME: &str = ".debug_frame";

/// Whether a section that is kept describes functions of these sizes, and all of them, so that it
/// still belongs to the code.
pub(super) fn agrees(section: &DebugSection, functions: &[Function]) -> bool {
    let sizes: FxHashMap<&str, &Function> = functions.iter().map(|one| (&*one.name, one)).collect();
    let mut described = FxHashSet::default();
    let is_described = |one: &KeptRelocation| {
        let start = usize::try_from(one.at).ok()?.checked_add(8)?;
        let size = u64::from_le_bytes(*section.bytes.get(start..)?.first_chunk()?);
        let function = sizes.get(&*one.symbol)?;
        described.insert(&*function.name);
        let parts = function.parts.iter().flat_map(|part| [part.offset, part.size]);
        let known = parts.map(u64::from).chain([function.code.len() as u64]);
        known.into_iter().any(|known| known == size).then_some(())
    };
    section.relocations.iter().map(is_described).all(|found| found.is_some())
        && described.len() == functions.len()
}

/// The section, and the relocations that give each description its address.
pub(super) fn write(functions: &[Described]) -> (Vec<u8>, Vec<Entry>) {
    let mut bytes = Vec::new();
    entry(&mut bytes, |bytes| {
        bytes.extend([0xff; 8]);
        // Version 3, no augmentation, code in units of 4 bytes, data in units of -4.
        bytes.extend([3, 0, 4, 0x7c]);
        bytes.extend(NO_REGISTER);
        bytes.push(DEFINE_FRAME);
        bytes.extend(STACK_POINTER);
        bytes.push(SAME_VALUE);
        bytes.extend(&STACK_POINTER[..4]);
    });
    let mut relocations = Vec::new();
    for function in functions {
        entry(&mut bytes, |bytes| {
            bytes.extend(0u64.to_le_bytes());
            relocations.push(Entry {
                at: bytes.len() as u64,
                symbol: function.symbol,
                kind: RelocationKind::ABS_64,
                addend: i64::from(function.offset),
            });
            bytes.extend(0u64.to_le_bytes());
            bytes.extend(u64::from(function.size).to_le_bytes());
        });
    }
    (bytes, relocations)
}

/// An entry, preceded by its length and padded with `DW_CFA_nop` to a multiple of 8 bytes.
fn entry(bytes: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = bytes.len();
    bytes.extend(LONG);
    let at = bytes.len();
    bytes.extend([0; 8]);
    write(bytes);
    bytes.resize(start + (bytes.len() - start).next_multiple_of(8), 0);
    let length = (bytes.len() - at - 8) as u64;
    bytes[at..at + 8].copy_from_slice(&length.to_le_bytes());
}
