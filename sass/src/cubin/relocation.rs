//! Relocations: what a loader writes into code and data.
//!
//! The numbers and names are those that NVIDIA's `cuobjdump -elf` prints for each number of a file in which they were
//! counted up. `G` is a generic address; without it, an address in the space of its target.

use std::fmt;

/// The number of a kind of relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelocationKind(pub u32);

impl RelocationKind {
    /// 64 bits of the address.
    pub const ABS_64: RelocationKind = RelocationKind(2);
    /// 32 bits of the generic address.
    pub const GENERIC_32: RelocationKind = RelocationKind(3);
    /// 64 bits of the generic address.
    pub const GENERIC_64: RelocationKind = RelocationKind(4);
    /// The first of eight kinds: byte 0, byte 1 and so on of the address.
    const BYTE_0: u32 = 76;
    /// The same of the generic address.
    const GENERIC_BYTE_0: u32 = 84;

    /// A byte of a generic address, the lowest for `index` 0.
    pub const fn generic_byte(index: u8) -> RelocationKind {
        RelocationKind(Self::GENERIC_BYTE_0 + (index & 7) as u32)
    }

    /// What is written: its size in bytes, how many bits of the address are dropped below it, and whether the address is
    /// generic. `None` of a kind that goes into instructions, or an unknown one.
    pub const fn data(self) -> Option<(u8, u8, bool)> {
        match self.0 {
            1 => Some((4, 0, false)),
            2 => Some((8, 0, false)),
            3 => Some((4, 0, true)),
            4 => Some((8, 0, true)),
            kind @ Self::BYTE_0..84 => Some((1, 8 * (kind - Self::BYTE_0) as u8, false)),
            kind @ Self::GENERIC_BYTE_0..92 => Some((1, 8 * (kind - Self::GENERIC_BYTE_0) as u8, true)),
            _ => None,
        }
    }
}

impl fmt::Display for RelocationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instruction = match self.0 {
            35 => "FUNC_DESC_64",
            55 => "ABS32_32",
            56 => "ABS32_LO_32",
            57 => "ABS32_HI_32",
            62 => "FUNC_DESC32_LO_32",
            63 => "FUNC_DESC32_HI_32",
            _ => "",
        };
        match self.data() {
            Some((1, shift, generic)) => write!(f, "R_CUDA_{}8_{shift}", if generic { "G" } else { "" }),
            Some((bytes, _, generic)) => {
                write!(f, "R_CUDA_{}{}", if generic { "G" } else { "" }, 8 * u32::from(bytes))
            }
            None if instruction.is_empty() => write!(f, "relocation {}", self.0),
            None => write!(f, "R_CUDA_{instruction}"),
        }
    }
}

/// A place that the loader fills with an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Relocation {
    /// Where, in bytes: from the start of a function's code, of a variable, or of constant bank 4.
    pub at: u64,
    /// What is written there.
    pub kind: RelocationKind,
    /// The symbol whose address it is.
    pub target: String,
    /// Added to the address.
    pub addend: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_the_vendors_tool_has_them() {
        let names = [2, 4, 77, 88, 56, 130].map(|kind| RelocationKind(kind).to_string());
        let expected =
            ["R_CUDA_64", "R_CUDA_G64", "R_CUDA_8_8", "R_CUDA_G8_32", "R_CUDA_ABS32_LO_32", "relocation 130"];
        assert_eq!(names, expected);
        assert_eq!(RelocationKind::generic_byte(4), RelocationKind(88));
        assert_eq!(RelocationKind(88).data(), Some((1, 32, true)));
    }
}
