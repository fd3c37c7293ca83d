//! The types of SSA values.
//!
//! Integers have no sign: an operation decides how it reads its operands. Floats are distinct from
//! integers of the same width, and [`Op::Bitcast`](crate::Op::Bitcast) converts between them at no
//! cost. A PTX vector `{a, b}` is not a type: a vector load has several results and a vector store
//! several arguments, so that every element is a separate value.

use std::fmt;
use std::str::FromStr;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// One truth value per thread.
    Pred,
    /// 16 bits.
    B16,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
    /// 128 bits.
    B128,
    /// IEEE binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    BF16,
    /// Two binary16 in 32 bits, element 0 in the low half.
    F16x2,
    /// Two bfloat16 in 32 bits, element 0 in the low half.
    BF16x2,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

impl Type {
    /// Every type, in the order of the enumeration.
    pub const ALL: [Type; 11] = [
        Type::Pred,
        Type::B16,
        Type::B32,
        Type::B64,
        Type::B128,
        Type::F16,
        Type::BF16,
        Type::F16x2,
        Type::BF16x2,
        Type::F32,
        Type::F64,
    ];

    /// Width in bits; a predicate counts as one.
    pub const fn bits(self) -> u32 {
        match self {
            Type::Pred => 1,
            Type::B16 | Type::F16 | Type::BF16 => 16,
            Type::B32 | Type::F16x2 | Type::BF16x2 | Type::F32 => 32,
            Type::B64 | Type::F64 => 64,
            Type::B128 => 128,
        }
    }

    /// Width in bytes in memory; `None` for a predicate, which memory never holds.
    pub const fn bytes(self) -> Option<u32> {
        match self {
            Type::Pred => None,
            other => Some(other.bits() / 8),
        }
    }

    /// Whether arithmetic on the type is floating point.
    pub const fn is_float(self) -> bool {
        matches!(self, Type::F16 | Type::BF16 | Type::F16x2 | Type::BF16x2 | Type::F32 | Type::F64)
    }

    /// Whether the type is a bit vector of 16 bits or more.
    pub const fn is_int(self) -> bool {
        matches!(self, Type::B16 | Type::B32 | Type::B64 | Type::B128)
    }

    /// The bit vector of the same width; a predicate stays a predicate.
    pub const fn as_int(self) -> Type {
        match self.bits() {
            16 => Type::B16,
            32 => Type::B32,
            64 => Type::B64,
            128 => Type::B128,
            _ => Type::Pred,
        }
    }

    /// The bit vector of `bits` bits, if there is one.
    pub const fn int(bits: u32) -> Option<Type> {
        match bits {
            16 => Some(Type::B16),
            32 => Some(Type::B32),
            64 => Some(Type::B64),
            128 => Some(Type::B128),
            _ => None,
        }
    }

    /// The name in the text form: `pred`, `b32`, `f16x2`, ….
    pub const fn name(self) -> &'static str {
        match self {
            Type::Pred => "pred",
            Type::B16 => "b16",
            Type::B32 => "b32",
            Type::B64 => "b64",
            Type::B128 => "b128",
            Type::F16 => "f16",
            Type::BF16 => "bf16",
            Type::F16x2 => "f16x2",
            Type::BF16x2 => "bf16x2",
            Type::F32 => "f32",
            Type::F64 => "f64",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Type {
    type Err = ();

    fn from_str(text: &str) -> Result<Type, ()> {
        Type::ALL.into_iter().find(|ty| ty.name() == text).ok_or(())
    }
}
