//! Relocations: the values that a loader writes into code and data.
//!
//! The numbers and names come from NVIDIA's `cuobjdump -elf`, which printed the name for each
//! number of a file in which the numbers were counted up. `G` is a generic address; without it, the
//! address is in the space of its target.

use std::fmt;

use ptxc_machine::Arch;
use ptxc_sass::kept::KeptRelocation;
use ptxc_sass::program::ImageKind;
use ptxc_sass::symbol::{SymbolBits, SymbolValue};
use ptxc_sass::table::Op;

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
    /// 64 bits of the address of a function, or of its number in a table of the linker.
    pub const UNIFIED_64: RelocationKind = RelocationKind(102);
    /// The first of eight kinds: byte 0, byte 1 and so on of the address.
    const BYTE_0: u32 = 76;
    /// The first of eight kinds for the bytes of the generic address.
    const GENERIC_BYTE_0: u32 = 84;

    /// The kind that writes the number of a texture, sampler or surface into a word.
    pub const fn of_image(kind: ImageKind) -> RelocationKind {
        RelocationKind(match kind {
            ImageKind::Texture => 6,
            ImageKind::UpperSampler => 7,
            ImageKind::Sampler => 101,
            ImageKind::Surface => 52,
        })
    }

    /// Whether the kind writes the place of a word with the number of a texture, sampler or surface into an
    /// instruction.
    pub fn names_image_word(self) -> bool {
        [KeptRelocation::IMAGE_WORD, KeptRelocation::LOADED_IMAGE_WORD].contains(&self.0)
    }

    /// The number that the kind writes; `None` for other kinds.
    pub fn image(self) -> Option<ImageKind> {
        ImageKind::ALL.into_iter().find(|&kind| RelocationKind::of_image(kind) == self)
    }

    /// A byte of a generic address, the lowest for `index` 0.
    pub const fn generic_byte(index: u8) -> RelocationKind {
        RelocationKind(Self::GENERIC_BYTE_0 + (index & 7) as u32)
    }

    /// The written value: its size in bytes, how many low bits of the address are dropped, and
    /// whether the address is generic. `None` for a kind that is written into instructions, or an
    /// unknown kind.
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

    /// The kind that writes a value of this form into data: the other direction of
    /// [`data`](Self::data).
    pub fn of_data(bytes: u8, shift: u8, generic: bool) -> Option<RelocationKind> {
        let kinds = [1, 2, 3, 4].into_iter().chain(Self::BYTE_0..Self::GENERIC_BYTE_0 + 8);
        kinds.map(RelocationKind).find(|kind| kind.data() == Some((bytes, shift, generic)))
    }

    /// Kinds that put 32 bits into an instruction, from bit 32 on.
    const IN_CODE: [(u32, SymbolValue, SymbolBits); 10] = [
        (55, SymbolValue::Address, SymbolBits::Word),
        (56, SymbolValue::Address, SymbolBits::Low),
        (57, SymbolValue::Address, SymbolBits::High),
        (59, SymbolValue::Address, SymbolBits::Short16),
        (60, SymbolValue::Address, SymbolBits::Short24),
        (61, SymbolValue::Descriptor, SymbolBits::Word),
        (62, SymbolValue::Descriptor, SymbolBits::Low),
        (63, SymbolValue::Descriptor, SymbolBits::High),
        (112, SymbolValue::Unified, SymbolBits::Low),
        (113, SymbolValue::Unified, SymbolBits::High),
    ];

    /// The kind that writes the same bits of the address itself, for a kind that may write a function's number
    /// in a table.
    pub(super) fn of_address(self) -> RelocationKind {
        match self.0 {
            112 => RelocationKind(56),
            113 => RelocationKind(57),
            _ if self == Self::UNIFIED_64 => Self::ABS_64,
            _ => self,
        }
    }

    /// The kind that puts the address into a call; `None` if the architecture does not have the
    /// instruction.
    fn of_call(op: Op, arch: Arch) -> Option<RelocationKind> {
        let facts = arch.facts().cubin.as_ref()?;
        let number = match op {
            Op::CALL_LOADED => Some(facts.call_loaded),
            Op::CALL_ABSOLUTE => facts.call_absolute,
            _ => None,
        };
        number.map(RelocationKind)
    }

    /// The value and the bits of a symbol that the kind puts into an instruction; `None` for a kind
    /// that such an instruction has no place for.
    pub fn in_code(self, op: Op, arch: Arch) -> Option<(SymbolValue, SymbolBits)> {
        if matches!(op, Op::CALL_LOADED | Op::CALL_ABSOLUTE) {
            let is_it = RelocationKind::of_call(op, arch) == Some(self);
            return is_it.then_some((SymbolValue::Address, SymbolBits::Target));
        }
        let known = Self::IN_CODE.iter().find(|(kind, ..)| *kind == self.0);
        known.map(|&(_, value, bits)| (value, bits))
    }

    /// The kind that puts these bits of a value into an instruction.
    pub fn of_code(value: SymbolValue, bits: SymbolBits, op: Op, arch: Arch) -> Option<RelocationKind> {
        let of_call = RelocationKind::of_call(op, arch);
        let listed = Self::IN_CODE.iter().map(|&(kind, ..)| RelocationKind(kind));
        listed.chain(of_call).find(|kind| kind.in_code(op, arch) == Some((value, bits)))
    }
}

impl fmt::Display for RelocationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instruction = match self.0 {
            6 | 7 => "TEX_HEADER_INDEX",
            65 | 66 => "BINDLESSOFF14_40",
            52 => "SURF_HEADER_INDEX",
            35 => "FUNC_DESC_64",
            102 => "UNIFIED_64",
            55 => "ABS32_32",
            56 => "ABS32_LO_32",
            57 => "ABS32_HI_32",
            58 => "ABS47_34",
            59 => "ABS16_32",
            60 => "ABS24_32",
            61 => "FUNC_DESC32_32",
            62 => "FUNC_DESC32_LO_32",
            63 => "FUNC_DESC32_HI_32",
            75 => "ABS55_16_34",
            112 => "UNIFIED32_LO_32",
            113 => "UNIFIED32_HI_32",
            114 => "ABS56_16_34",
            115 => "CONST_FIELD22_37",
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
    /// Its place, in bytes from the start of a function's code, of a variable, or of constant bank
    /// 4.
    pub at: u64,
    /// The kind of the written value.
    pub kind: RelocationKind,
    /// The symbol whose address is written.
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
        for kind in (0..256).map(RelocationKind) {
            if let Some((bytes, shift, generic)) = kind.data() {
                assert_eq!(RelocationKind::of_data(bytes, shift, generic), Some(kind));
            }
        }
    }

    #[test]
    fn kinds_in_code_go_both_ways() {
        for (op, arch) in [Op::UMOV, Op::CALL_LOADED, Op::CALL_ABSOLUTE, Op::CALL]
            .into_iter()
            .flat_map(|op| Arch::ALL.map(|arch| (op, arch)))
        {
            for kind in (0..256).map(RelocationKind) {
                let Some((value, bits)) = kind.in_code(op, arch) else { continue };
                assert_eq!(RelocationKind::of_code(value, bits, op, arch), Some(kind));
            }
        }
        let call = (SymbolValue::Address, SymbolBits::Target);
        assert_eq!(RelocationKind(58).in_code(Op::CALL_LOADED, Arch::Sm89), Some(call));
        assert_eq!(RelocationKind(58).in_code(Op::CALL_LOADED, Arch::Sm90), None);
        assert_eq!(RelocationKind(58).in_code(Op::UMOV, Arch::Sm80), None);
        assert_eq!(RelocationKind(56).in_code(Op::CALL_LOADED, Arch::Sm80), None);
    }
}
