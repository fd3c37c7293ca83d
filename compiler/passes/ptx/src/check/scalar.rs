//! The types that registers, operands and memory have.

use std::fmt;

/// What kind of type it is, as far as agreement goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// `.bN`
    Bits,
    /// `.uN` and `.sN`, which agree with each other.
    Integer,
    /// `.f32`, `.f64`
    Float,
    /// `.f16`, `.f16x2`
    Half,
    /// A format that lives in untyped registers: `.bf16`, `.tf32`, `.e4m3x2`, `.s16x2`.
    Packed,
    /// `.pred`
    Predicate,
    /// A type of memory contents that no register has: `.b1024`, `.s4`.
    Memory,
}

/// The type of an instruction or of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scalar {
    /// As a modifier, without its dot.
    pub name: &'static str,
    /// Its kind.
    pub class: Class,
    /// Size in bits of the register that holds it; 1 for predicates.
    pub bits: u32,
}

/// Every type that a modifier can name.
const SCALARS: &[(Class, &[(&str, u32)])] = &[
    (Class::Bits, &[("b8", 8), ("b16", 16), ("b32", 32), ("b64", 64), ("b128", 128)]),
    (Class::Integer, &[("u8", 8), ("u16", 16), ("u32", 32), ("u64", 64)]),
    (Class::Integer, &[("s8", 8), ("s16", 16), ("s32", 32), ("s64", 64)]),
    (Class::Float, &[("f32", 32), ("f64", 64)]),
    (Class::Half, &[("f16", 16), ("f16x2", 32)]),
    (
        Class::Packed,
        &[
            ("bf16", 16),
            ("bf16x2", 32),
            ("tf32", 32),
            ("u16x2", 32),
            ("s16x2", 32),
            ("u8x4", 32),
            ("s8x4", 32),
            ("f32x2", 64),
        ],
    ),
    (
        Class::Packed,
        &[("e4m3", 8), ("e5m2", 8), ("e4m3x2", 16), ("e5m2x2", 16), ("e4m3x4", 32), ("e5m2x4", 32)],
    ),
    (Class::Packed, &[("e2m3x2", 16), ("e3m2x2", 16), ("e2m3x4", 32), ("e3m2x4", 32)]),
    (Class::Packed, &[("e2m1x2", 8), ("e2m1x4", 16), ("ue8m0x2", 16), ("s2f6x2", 16)]),
    (Class::Predicate, &[("pred", 1)]),
    (
        Class::Memory,
        &[("b1", 1), ("s4", 4), ("u4", 4), ("b1024", 1024), ("e3m2", 8), ("e2m3", 8), ("e2m1", 8)],
    ),
    (Class::Memory, &[("texref", 64), ("samplerref", 64), ("surfref", 64)]),
];

impl Scalar {
    /// The type that a modifier names.
    pub fn parse(name: &str) -> Option<Scalar> {
        SCALARS.iter().find_map(|&(class, list)| {
            let &(name, bits) = list.iter().find(|entry| entry.0 == name)?;
            Some(Scalar { name, class, bits })
        })
    }

    /// The type of the same kind that is twice as wide: `.u64` for `.u32`.
    pub fn wide(self) -> Option<Scalar> {
        let (kind, _) = self.name.split_at(self.name.find(|c: char| c.is_ascii_digit())?);
        Scalar::parse(&format!("{kind}{}", self.bits * 2))
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_doubles() {
        assert_eq!(Scalar::parse("u16").unwrap().wide().unwrap().name, "u32");
        assert_eq!(Scalar::parse("s32").unwrap().wide().unwrap().name, "s64");
    }
}
