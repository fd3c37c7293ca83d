//! The types of registers, operands and memory.

use std::fmt;

/// The class of a type, for deciding agreement.
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
    /// A format in untyped registers: `.bf16`, `.tf32`, `.e4m3x2`, `.s16x2`.
    Packed,
    /// `.pred`
    Predicate,
    /// A type of memory contents that no register has: `.b1024`, `.s4`.
    Memory,
}

/// Declares the types: for each its variant, its name as a modifier, its class and its size in
/// bits.
macro_rules! scalars {
    ($($variant:ident = $name:literal $class:ident $bits:literal;)*) => {
        /// The type of an instruction or of a register.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Scalar {
            $(#[doc = concat!("`.", $name, "`")] $variant,)*
        }

        impl Scalar {
            /// The type that a modifier names.
            pub fn parse(name: &str) -> Option<Scalar> {
                match name {
                    $($name => Some(Scalar::$variant),)*
                    _ => None,
                }
            }

            /// The spelling as a modifier, without its dot.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Scalar::$variant => $name,)*
                }
            }

            /// Its kind.
            pub const fn class(self) -> Class {
                match self {
                    $(Scalar::$variant => Class::$class,)*
                }
            }

            /// Size in bits of the register that holds it; 1 for predicates.
            pub const fn bits(self) -> u32 {
                match self {
                    $(Scalar::$variant => $bits,)*
                }
            }
        }
    };
}

scalars! {
    B8 = "b8" Bits 8;
    B16 = "b16" Bits 16;
    B32 = "b32" Bits 32;
    B64 = "b64" Bits 64;
    B128 = "b128" Bits 128;
    U8 = "u8" Integer 8;
    U16 = "u16" Integer 16;
    U32 = "u32" Integer 32;
    U64 = "u64" Integer 64;
    S8 = "s8" Integer 8;
    S16 = "s16" Integer 16;
    S32 = "s32" Integer 32;
    S64 = "s64" Integer 64;
    F32 = "f32" Float 32;
    F64 = "f64" Float 64;
    F16 = "f16" Half 16;
    F16x2 = "f16x2" Half 32;
    Bf16 = "bf16" Packed 16;
    Bf16x2 = "bf16x2" Packed 32;
    Tf32 = "tf32" Packed 32;
    U16x2 = "u16x2" Packed 32;
    S16x2 = "s16x2" Packed 32;
    U8x4 = "u8x4" Packed 32;
    S8x4 = "s8x4" Packed 32;
    F32x2 = "f32x2" Packed 64;
    E4m3 = "e4m3" Packed 8;
    E5m2 = "e5m2" Packed 8;
    E4m3x2 = "e4m3x2" Packed 16;
    E5m2x2 = "e5m2x2" Packed 16;
    E4m3x4 = "e4m3x4" Packed 32;
    E5m2x4 = "e5m2x4" Packed 32;
    E2m3x2 = "e2m3x2" Packed 16;
    E3m2x2 = "e3m2x2" Packed 16;
    E2m3x4 = "e2m3x4" Packed 32;
    E3m2x4 = "e3m2x4" Packed 32;
    E2m1x2 = "e2m1x2" Packed 8;
    E2m1x4 = "e2m1x4" Packed 16;
    Ue8m0x2 = "ue8m0x2" Packed 16;
    S2f6x2 = "s2f6x2" Packed 16;
    Pred = "pred" Predicate 1;
    B1 = "b1" Memory 1;
    S4 = "s4" Memory 4;
    U4 = "u4" Memory 4;
    B1024 = "b1024" Memory 1024;
    E3m2 = "e3m2" Memory 8;
    E2m3 = "e2m3" Memory 8;
    E2m1 = "e2m1" Memory 8;
    Texref = "texref" Memory 64;
    Samplerref = "samplerref" Memory 64;
    Surfref = "surfref" Memory 64;
}

impl Scalar {
    /// The untyped bits of that size.
    pub const fn of_bits(bits: u32) -> Option<Scalar> {
        match bits {
            8 => Some(Scalar::B8),
            16 => Some(Scalar::B16),
            32 => Some(Scalar::B32),
            64 => Some(Scalar::B64),
            128 => Some(Scalar::B128),
            _ => None,
        }
    }

    /// The integer or untyped type of the same kind that is twice as wide: `.u64` for `.u32`.
    pub const fn wide(self) -> Option<Scalar> {
        match self {
            Scalar::B8 => Some(Scalar::B16),
            Scalar::B16 => Some(Scalar::B32),
            Scalar::B32 => Some(Scalar::B64),
            Scalar::B64 => Some(Scalar::B128),
            Scalar::U8 => Some(Scalar::U16),
            Scalar::U16 => Some(Scalar::U32),
            Scalar::U32 => Some(Scalar::U64),
            Scalar::S8 => Some(Scalar::S16),
            Scalar::S16 => Some(Scalar::S32),
            Scalar::S32 => Some(Scalar::S64),
            _ => None,
        }
    }

    /// Whether it is a number with a sign.
    pub const fn is_signed(self) -> bool {
        matches!(self, Scalar::S8 | Scalar::S16 | Scalar::S32 | Scalar::S64)
    }

    /// Whether it is a number with or without sign, not mere bits.
    pub const fn is_number(self) -> bool {
        matches!(self.class(), Class::Integer)
    }

    /// Whether it is an integer or mere bits.
    pub const fn is_int(self) -> bool {
        matches!(self.class(), Class::Bits | Class::Integer)
    }

    /// Whether it is a bfloat16, or a pair of them.
    pub const fn is_brain(self) -> bool {
        matches!(self, Scalar::Bf16 | Scalar::Bf16x2)
    }

    /// Whether it is an IEEE float, a bfloat16, or a pair of halves.
    pub const fn is_float(self) -> bool {
        matches!(self.class(), Class::Float | Class::Half) || self.is_brain()
    }

    /// Whether it is two 16-bit integers.
    pub const fn is_integer_pair(self) -> bool {
        matches!(self, Scalar::U16x2 | Scalar::S16x2)
    }

    /// Whether it is two floats of 8 bits that `cvt` makes before sm_100.
    pub const fn is_byte_pair(self) -> bool {
        matches!(self, Scalar::E4m3x2 | Scalar::E5m2x2)
    }

    /// Whether it is a pair of halves.
    pub const fn is_pair(self) -> bool {
        matches!(self, Scalar::F16x2 | Scalar::Bf16x2)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_doubles() {
        assert_eq!(Scalar::U16.wide(), Some(Scalar::U32));
        assert_eq!(Scalar::S32.wide(), Some(Scalar::S64));
    }
}
