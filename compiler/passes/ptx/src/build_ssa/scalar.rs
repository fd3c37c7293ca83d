//! The IR types for the types of instructions.

use ptxc_ir::Type;

use super::form::{Translated, Unsupported};
use crate::check::scalar::Scalar;

impl Scalar {
    /// The IR type; `None` for 8 bits, which exist only in memory, and for formats that no
    /// operation has.
    pub(super) fn ir(self) -> Option<Type> {
        match self {
            Scalar::Pred => Some(Type::Pred),
            Scalar::F16 => Some(Type::F16),
            Scalar::F16x2 => Some(Type::F16x2),
            Scalar::F32 => Some(Type::F32),
            Scalar::F64 => Some(Type::F64),
            Scalar::Bf16 => Some(Type::BF16),
            Scalar::Bf16x2 => Some(Type::BF16x2),
            _ if self.is_int() => Type::int(self.bits()),
            _ => None,
        }
    }

    /// Whether instructions with this type can be translated.
    pub(super) fn is_translated(self) -> bool {
        let has_type = self.is_int() || self.ir().is_some();
        has_type || self.is_integer_pair() || self.is_byte_pair() || self == Scalar::Tf32
    }

    /// The bits of a value of this type, without a sign.
    pub(super) fn untyped(self) -> Translated<Scalar> {
        Scalar::of_bits(self.bits()).ok_or(Unsupported)
    }

    /// The type of the register that holds the value: 16 bits for 8-bit types.
    pub(super) fn in_register(self) -> Scalar {
        match self {
            Scalar::B8 | Scalar::U8 | Scalar::S8 => self.wide().unwrap_or(self),
            _ => self,
        }
    }
}
