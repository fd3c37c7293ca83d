//! Variables in memory, and their content when a grid starts.

use crate::entities::Symbol;
use crate::memory::Space;

/// A variable in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SymbolData {
    /// Its PTX name.
    pub name: String,
    /// Its space.
    pub space: Space,
    /// Size in bytes; 0 for an extern array whose size the launch gives. A texture, sampler or surface has 8,
    /// or 4 if a [linker](Self::is_linked_word) places its word.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u32,
    /// The variable's offset in bytes. A shared or local variable has an offset in the function's
    /// part of its window, a constant one in constant bank 3. The offset of a global variable is
    /// that of its address in the module's table of addresses, constant bank 4; the loader places
    /// the variable itself. The offset of a texture, sampler or surface is that of its
    /// [word](ImageWord), or if a linker places the word, the number of the name. `None` if a linker
    /// decides, or legalization.
    pub offset: Option<u32>,
    /// The initial content; `None` for zeros and for variables that cannot have content.
    pub initial: Option<Initial>,
}

impl SymbolData {
    /// The size of a texture, sampler or surface whose word a linker places.
    pub const LINKED_WORD: u64 = 4;

    /// Whether it is a texture, sampler or surface whose word a linker places. Its address of type `b32`
    /// stands for the content of the word.
    pub fn is_linked_word(&self) -> bool {
        self.space.is_image() && self.size == Self::LINKED_WORD
    }

    /// The place after the last byte of a variable in a window that begins at `start`, in bytes; at
    /// most 2^32 - 1. Only a variable in global memory may be larger than a window.
    pub fn end_from(&self, start: u32) -> u32 {
        end_from(start, self.size)
    }
}

/// The place after `size` bytes in a window or bank that begin at `start`, in bytes; at most
/// 2^32 - 1.
pub fn end_from(start: u32, size: u64) -> u32 {
    start.saturating_add(u32::try_from(size).unwrap_or(u32::MAX))
}

/// A word after the kernel's parameters that the driver fills with the number of a texture, sampler
/// or surface. A texture and a sampler may share a word; the sampler then is in the upper 12 bits, as
/// it always is before sm_90.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageWord {
    /// Its place in bytes from the start of the parameters.
    pub offset: u32,
    /// The texture, sampler or surface.
    pub symbol: Symbol,
}

/// The content of a variable when the grid starts.
///
/// ```text
/// .global .u64 list[3] = {7, other, generic(other)+8};      bytes 07, then zeros
///                                                           the address of `other` at 8, 8 bytes
///                                                           the generic address of `other` + 8 at 16, 8 bytes
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Initial {
    /// The first bytes; the rest of the variable is zero.
    pub bytes: Vec<u8>,
    /// The addresses in the content, in ascending order; `bytes` is zero there.
    pub addresses: Vec<InitialAddress>,
}

/// An address in the content of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InitialAddress {
    /// Its place, in bytes from the start of the variable.
    pub at: u32,
    /// Its size in bytes: 8, 4, or 1 for a single byte of it.
    pub bytes: u8,
    /// How far the address is shifted to the right first, in bits.
    pub shift: u8,
    /// The name of the variable whose address it is.
    pub symbol: String,
    /// Whether this is the generic address, instead of the address in the variable's space.
    pub generic: bool,
    /// Added to the address.
    pub addend: i64,
}
