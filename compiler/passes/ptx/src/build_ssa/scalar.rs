//! The types that instructions name, `.u32`, `.f16x2`, `.bf16`, …, and what they are in the IR.

use ptxc_ir::Type;
use ptxc_syntax::ast;

/// How the bits of an operand are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Class {
    /// Untyped bits.
    Bits,
    /// An unsigned number.
    Unsigned,
    /// A signed number.
    Signed,
    /// An IEEE float, or a pair of halves in 32 bits.
    Float,
    /// A bfloat16, or a pair of them in 32 bits.
    Brain,
    /// A truth value.
    Pred,
}

/// A type of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Scalar {
    /// How the bits are read.
    pub class: Class,
    /// How many there are; 1 for a predicate.
    pub bits: u32,
    /// Whether two halves are packed.
    pub packed: bool,
}

impl Scalar {
    pub const B32: Scalar = Scalar { class: Class::Bits, bits: 32, packed: false };
    pub const U32: Scalar = Scalar { class: Class::Unsigned, bits: 32, packed: false };
    pub const PRED: Scalar = Scalar { class: Class::Pred, bits: 1, packed: false };

    /// Reads `u32`, `bf16x2`, `pred`, …
    pub fn parse(name: &str) -> Option<Scalar> {
        let (class, bits, packed) = match name {
            "b8" => (Class::Bits, 8, false),
            "b16" => (Class::Bits, 16, false),
            "b32" => (Class::Bits, 32, false),
            "b64" => (Class::Bits, 64, false),
            "b128" => (Class::Bits, 128, false),
            "u8" => (Class::Unsigned, 8, false),
            "u16" => (Class::Unsigned, 16, false),
            "u32" => (Class::Unsigned, 32, false),
            "u64" => (Class::Unsigned, 64, false),
            "s8" => (Class::Signed, 8, false),
            "s16" => (Class::Signed, 16, false),
            "s32" => (Class::Signed, 32, false),
            "s64" => (Class::Signed, 64, false),
            "f16" => (Class::Float, 16, false),
            "f16x2" => (Class::Float, 32, true),
            "f32" => (Class::Float, 32, false),
            "f64" => (Class::Float, 64, false),
            "bf16" => (Class::Brain, 16, false),
            "bf16x2" => (Class::Brain, 32, true),
            "pred" => return Some(Scalar::PRED),
            _ => return None,
        };
        Some(Scalar { class, bits, packed })
    }

    /// The same bits as a type of a declaration.
    pub fn of(ty: ast::Type) -> Option<Scalar> {
        let (class, bits, packed) = match ty {
            ast::Type::B8 => (Class::Bits, 8, false),
            ast::Type::B16 => (Class::Bits, 16, false),
            ast::Type::B32 => (Class::Bits, 32, false),
            ast::Type::B64 => (Class::Bits, 64, false),
            ast::Type::B128 => (Class::Bits, 128, false),
            ast::Type::U8 => (Class::Unsigned, 8, false),
            ast::Type::U16 => (Class::Unsigned, 16, false),
            ast::Type::U32 => (Class::Unsigned, 32, false),
            ast::Type::U64 => (Class::Unsigned, 64, false),
            ast::Type::S8 => (Class::Signed, 8, false),
            ast::Type::S16 => (Class::Signed, 16, false),
            ast::Type::S32 => (Class::Signed, 32, false),
            ast::Type::S64 => (Class::Signed, 64, false),
            ast::Type::F16 => (Class::Float, 16, false),
            ast::Type::F16x2 => (Class::Float, 32, true),
            ast::Type::F32 => (Class::Float, 32, false),
            ast::Type::F64 => (Class::Float, 64, false),
            ast::Type::Pred => return Some(Scalar::PRED),
            ast::Type::Texref | ast::Type::Samplerref | ast::Type::Surfref => return None,
        };
        Some(Scalar { class, bits, packed })
    }

    /// The IR type; none for 8 bits, which exist in memory alone.
    pub fn ir(self) -> Option<Type> {
        Some(match (self.class, self.bits, self.packed) {
            (Class::Pred, ..) => Type::Pred,
            (Class::Float, 16, _) => Type::F16,
            (Class::Float, 32, true) => Type::F16x2,
            (Class::Float, 32, false) => Type::F32,
            (Class::Float, 64, _) => Type::F64,
            (Class::Brain, 16, _) => Type::BF16,
            (Class::Brain, ..) => Type::BF16x2,
            _ => return Type::int(self.bits),
        })
    }

    pub fn is_signed(self) -> bool {
        self.class == Class::Signed
    }

    pub fn is_float(self) -> bool {
        matches!(self.class, Class::Float | Class::Brain)
    }

    pub fn is_int(self) -> bool {
        matches!(self.class, Class::Bits | Class::Unsigned | Class::Signed)
    }

    /// A number with or without sign, not mere bits.
    pub fn is_number(self) -> bool {
        matches!(self.class, Class::Unsigned | Class::Signed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_types_are_what_their_names_say() {
        for ty in ast::Type::ALL {
            assert_eq!(Scalar::of(ty), Scalar::parse(ty.spelling()), "{ty:?}");
        }
    }
}
