//! When the type of a register agrees with the type of an instruction.
//!
//! The rules are those of "Operand Type Checking" of the PTX ISA, as ptxas applies them:
//!
//! | instruction type | register of the same size |
//! |---|---|
//! | `.bN` | anything but a predicate |
//! | `.uN`, `.sN` | `.bN`, `.uN`, `.sN` |
//! | `.f32`, `.f64` | the same, or `.bN` |
//! | `.f16`, `.f16x2` | the same, or `.b16`, `.b32` |
//! | other packed and short floats, `.u16x2`, `.s16x2` | `.bN` |
//! | `.pred` | `.pred` |
//!
//! `ld`, `st` and `cvt` also take wider registers of the same kinds: `.bN` and integers any integer or
//! untyped one, floating point only untyped ones.

use std::fmt;

use ptxc_syntax::ast::Type;

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
    (Class::Packed, &[("u8x4", 32), ("s8x4", 32)]),
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

    /// The type of a declaration.
    pub fn of(ty: Type) -> Scalar {
        // Every declared type is in the list; a test walks over them all.
        Scalar::parse(ty.spelling()).unwrap_or(Scalar { name: "b32", class: Class::Bits, bits: 32 })
    }

    /// The type of the same kind that is twice as wide: `.u64` for `.u32`.
    pub fn wide(self) -> Option<Scalar> {
        let (kind, _) = self.name.split_at(self.name.find(|c: char| c.is_ascii_digit())?);
        Scalar::parse(&format!("{kind}{}", self.bits * 2))
    }

    /// Whether a register of type `register` may stand where the instruction has this type.
    pub fn agrees(self, register: Scalar, wider: bool) -> bool {
        let size = if wider { register.bits >= self.bits } else { register.bits == self.bits };
        let kind = match self.class {
            Class::Bits => !matches!(register.class, Class::Predicate | Class::Memory),
            Class::Integer => matches!(register.class, Class::Bits | Class::Integer),
            Class::Float | Class::Half => {
                register.class == Class::Bits || (register.class == self.class && register.bits == self.bits)
            }
            Class::Packed => register.class == Class::Bits,
            Class::Predicate => register.class == Class::Predicate,
            Class::Memory => false,
        };
        size && kind
    }

    /// The register types that agree, for a message: `.u32`, `.s32` or `.b32`.
    pub fn registers(self) -> String {
        let bits = self.bits;
        match self.class {
            Class::Bits => format!("any of {bits} bits"),
            Class::Integer => format!("`.u{bits}`, `.s{bits}` or `.b{bits}`"),
            Class::Float | Class::Half => format!("`.{}` or `.b{bits}`", self.name),
            Class::Packed => format!("`.b{bits}`"),
            Class::Predicate => "`.pred`".to_string(),
            Class::Memory => "none".to_string(),
        }
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

    fn agrees(instruction: &str, register: &str, wider: bool) -> bool {
        Scalar::parse(instruction).unwrap().agrees(Scalar::parse(register).unwrap(), wider)
    }

    #[test]
    fn declared_types_are_all_known() {
        for ty in Type::ALL {
            assert_eq!(Scalar::of(ty).name, ty.spelling());
            assert_eq!(Scalar::of(ty).bits, ty.bytes().map_or(1, |bytes| bytes * 8), "{ty:?}");
        }
    }

    #[test]
    fn agreement_is_that_of_ptxas() {
        // Each was asked of ptxas 13.0, as `add`, `and`, `fma` or `mov` with such a register.
        for (instruction, register, answer) in [
            ("u32", "s32", true),
            ("u32", "b32", true),
            ("u32", "f32", false),
            ("u32", "u16", false),
            ("b32", "f32", true),
            ("b32", "b64", false),
            ("f32", "b32", true),
            ("f32", "u32", false),
            ("f16", "b16", true),
            ("f16", "u16", false),
            ("f16x2", "u32", false),
            ("bf16", "b16", true),
            ("bf16", "f16", false),
            ("bf16x2", "f16x2", false),
            ("b32", "pred", false),
            ("pred", "b32", false),
        ] {
            assert_eq!(agrees(instruction, register, false), answer, "{instruction} with {register}");
        }
        // Each was asked as `ld` or `st`.
        for (instruction, register, answer) in [
            ("u8", "u32", true),
            ("u8", "f32", false),
            ("b8", "f32", true),
            ("b32", "f64", true),
            ("f32", "b64", true),
            ("f32", "f64", false),
            ("u32", "s64", true),
            ("u64", "u32", false),
        ] {
            assert_eq!(agrees(instruction, register, true), answer, "{instruction} with {register}");
        }
    }

    #[test]
    fn wide_doubles() {
        assert_eq!(Scalar::parse("u16").unwrap().wide().unwrap().name, "u32");
        assert_eq!(Scalar::parse("s32").unwrap().wide().unwrap().name, "s64");
    }
}
