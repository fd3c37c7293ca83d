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
//! `ld`, `st` and `cvt` also take wider registers of the same kinds: `.bN` and integers take any
//! integer or untyped register, floating point takes only untyped registers.

use ptxc_syntax::ast::Type;

pub use super::scalar::{Class, Scalar};

impl Scalar {
    /// The type of a declaration.
    pub const fn of(ty: Type) -> Scalar {
        match ty {
            Type::B8 => Scalar::B8,
            Type::B16 => Scalar::B16,
            Type::B32 => Scalar::B32,
            Type::B64 => Scalar::B64,
            Type::B128 => Scalar::B128,
            Type::U8 => Scalar::U8,
            Type::U16 => Scalar::U16,
            Type::U32 => Scalar::U32,
            Type::U64 => Scalar::U64,
            Type::S8 => Scalar::S8,
            Type::S16 => Scalar::S16,
            Type::S32 => Scalar::S32,
            Type::S64 => Scalar::S64,
            Type::F16 => Scalar::F16,
            Type::F16x2 => Scalar::F16x2,
            Type::F32 => Scalar::F32,
            Type::F64 => Scalar::F64,
            Type::Pred => Scalar::Pred,
            Type::Texref => Scalar::Texref,
            Type::Samplerref => Scalar::Samplerref,
            Type::Surfref => Scalar::Surfref,
        }
    }

    /// Whether a register of type `register` is allowed for an operand of this type.
    pub fn agrees(self, register: Scalar, wider: bool) -> bool {
        let size = if wider { register.bits() >= self.bits() } else { register.bits() == self.bits() };
        let kind = match self.class() {
            Class::Bits => !matches!(register.class(), Class::Predicate | Class::Memory),
            Class::Integer => matches!(register.class(), Class::Bits | Class::Integer),
            Class::Float | Class::Half => {
                register.class() == Class::Bits
                    || (register.class() == self.class() && register.bits() == self.bits())
            }
            Class::Packed => register.class() == Class::Bits,
            Class::Predicate => register.class() == Class::Predicate,
            Class::Memory => false,
        };
        size && kind
    }

    /// The register types that agree, for a message: `.u32`, `.s32` or `.b32`.
    pub fn registers(self) -> String {
        let bits = self.bits();
        match self.class() {
            Class::Bits => format!("any of {bits} bits"),
            Class::Integer => format!("`.u{bits}`, `.s{bits}` or `.b{bits}`"),
            Class::Float | Class::Half => format!("`.{}` or `.b{bits}`", self.name()),
            Class::Packed => format!("`.b{bits}`"),
            Class::Predicate => "`.pred`".to_string(),
            Class::Memory => "none".to_string(),
        }
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
            assert_eq!(Some(Scalar::of(ty)), Scalar::parse(ty.spelling()));
            assert_eq!(Scalar::of(ty).bits(), ty.bytes().map_or(1, |bytes| bytes * 8), "{ty:?}");
        }
    }

    #[test]
    fn agreement_is_that_of_ptxas() {
        // Each answer comes from ptxas 13.0, for `add`, `and`, `fma` or `mov` with such a register.
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
        // Each answer comes from ptxas 13.0, for `ld` or `st`.
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
}
