//! The types that instructions name, `.u32`, `.f16x2`, `.bf16`, …, and what they are in the IR.

use ptxc_ir::Type;

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
        let make = |class, bits, packed| Some(Scalar { class, bits, packed });
        match name {
            "pred" => return Some(Scalar::PRED),
            "f16x2" => return make(Class::Float, 32, true),
            "bf16x2" => return make(Class::Brain, 32, true),
            "bf16" => return make(Class::Brain, 16, false),
            _ => {}
        }
        let (class, widths): (Class, &[u32]) = match name.as_bytes().first()? {
            b'b' => (Class::Bits, &[8, 16, 32, 64, 128]),
            b'u' => (Class::Unsigned, &[8, 16, 32, 64]),
            b's' => (Class::Signed, &[8, 16, 32, 64]),
            b'f' => (Class::Float, &[16, 32, 64]),
            _ => return None,
        };
        let bits = widths.iter().copied().find(|bits| name[1..] == bits.to_string())?;
        make(class, bits, false)
    }

    /// The same bits as a type of a declaration.
    pub fn of(ty: ptxc_syntax::ast::Type) -> Option<Scalar> {
        Scalar::parse(ty.spelling())
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
