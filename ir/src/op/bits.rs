//! Bitwise logic, shifts, and operations on bit fields.

use crate::memory::spelled;

spelled! {
    /// How a funnel shift reads its count, and which bits are shifted in from beyond the two words.
    Funnel {
        /// Modulo 32 (PTX `.wrap`).
        Wrap = "wrap",
        /// At most 32 (PTX `.clamp`).
        Clamp = "clamp",
        /// At most 64, zeros in: one word of a 64-bit shift; made by legalization.
        Wide = "wide",
        /// At most 64, signs in: one word of a signed 64-bit shift; made by legalization.
        WideSigned = "wide.s",
    }
}

spelled! {
    /// Which four of the eight bytes of a pair of words make up the result (PTX `prmt`).
    BytePick {
        /// One nibble of the selector per byte: the number of a byte; with bit 3 set, copies of the
        /// sign of that byte.
        Index = "index",
        /// Four bytes upwards from the selected one.
        Upwards = "f4e",
        /// Four bytes downwards from the selected one.
        Downwards = "b4e",
        /// The selected byte of the first word, four times.
        Byte = "rc8",
        /// Each byte of the first word, or the selected byte if the selected byte is higher.
        ClampLeft = "ecl",
        /// Each byte of the first word, or the selected byte if the selected byte is lower.
        ClampRight = "ecr",
        /// The selected half of the first word, twice.
        Half = "rc16",
    }
}

spelled! {
    /// The type of the elements that PTX `cvt.pack` makes.
    NarrowInt {
        /// 2 bits without sign.
        U2 = "u2",
        /// 2 bits with sign.
        S2 = "s2",
        /// 4 bits without sign.
        U4 = "u4",
        /// 4 bits with sign.
        S4 = "s4",
        /// 8 bits without sign.
        U8 = "u8",
        /// 8 bits with sign.
        S8 = "s8",
        /// 16 bits without sign.
        U16 = "u16",
        /// 16 bits with sign.
        S16 = "s16",
    }
}

macro_rules! bits_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `(a: T, b: T) -> T`: bitwise and, also on predicates.
        And = "and" [T] [] BITS (T, T) -> (T) {};
        /// `(a: T, b: T) -> T`: bitwise or, also on predicates.
        Or = "or" [T] [] BITS (T, T) -> (T) {};
        /// `(a: T, b: T) -> T`: bitwise exclusive or, also on predicates.
        Xor = "xor" [T] [] BITS (T, T) -> (T) {};
        /// `(a: T) -> T`: complement, also of predicates.
        Not = "not" [T] [] BITS (T) -> (T) {};
        /// `(a: T, b: b32) -> T`: shift left.
        Shl = "shl" [T] [] INT (T, B32) -> (T) {};
        /// `(a: T, b: b32) -> T`: shift right, zeros in.
        Shr = "shr" [T] [] INT (T, B32) -> (T) {};
        /// `(a: T, b: b32) -> T`: shift right, signs in.
        Sar = "sar" [T] [] INT (T, B32) -> (T) {};
        /// `(a: T) -> b32`: number of ones.
        Popc = "popc" [T] [] INT (T) -> (B32) {};
        /// `(a: T) -> b32`: number of zeros above the highest one; the width if there is none.
        Clz = "clz" [T] [] INT (T) -> (B32) {};
        /// `(a: T) -> T`: bits in reverse order.
        Brev = "brev" [T] [] INT (T) -> (T) {};
        /// `(a: T) -> b32`: the position of the highest one; all ones if there is none. PTX
        /// `bfind`.
        Bfind {
            /// Whether to look for the highest zero of a negative number.
            signed: bool,
            /// Whether the result is the left shift that brings the bit to the top.
            shift: bool,
        } = "bfind" [T (signed) (shift)] [] WORDS (T) -> (B32) {};
        /// `(a: b32, b: b32) -> b32`: `b` ones from bit `a` on. Without `wrap` both are limited to
        /// 32. PTX `bmsk`.
        Bmsk {
            /// Whether both numbers count modulo 32.
            wrap: bool,
        } = "bmsk" [T (wrap)] [] B32 (T, T) -> (T) {};
        /// `(a: b32, b: b32) -> b32`: the low `b` bits of `a`, extended. Without `wrap` a length of
        /// 32 or more means all bits. PTX `szext`.
        Szext {
            /// Whether the sign extends the bits, instead of zeros.
            signed: bool,
            /// Whether the length counts modulo 32.
            wrap: bool,
        } = "szext" [T (signed) (wrap)] [] B32 (T, T) -> (T) {};
        /// `(a: b32, b: b32, c: b32) -> b32`: four bytes of `b:a` (`a` is bytes 0 to 3) chosen by
        /// `c`. PTX `prmt`.
        Prmt(pick: BytePick) = "prmt" [pick T] [] B32 (T, T, T) -> (T) {};
        /// `(a: b32, b: b32, c: b32) -> b32`: `b` and `a` limited to the range of a type, in the
        /// lowest bits, `a` above `b`; above them the lower bits of `c`. PTX `cvt.pack`.
        PackSaturated(to: NarrowInt) = "pack_saturated" [to T] [] B32 (T, T, T) -> (T) {};
        /// `(a: b32, b: b32, c: b32) -> b32`: the bitwise function with this truth table, which is
        /// the function's value for the arguments 0xf0, 0xcc and 0xaa. PTX `lop3`.
        Lop3 {
            /// The truth table.
            table: u8,
        } = "lop3" [T] [table] B32 (T, T, T) -> (T) {};
        /// `(a: b32, b: b32, c: b32) -> b32`: `c` plus the products of the four bytes of `a` and of
        /// `b`. PTX `dp4a`.
        Dp4a {
            /// Whether the elements of `a` are signed.
            a_signed: bool,
            /// Whether the elements of `b` are signed.
            b_signed: bool,
        } = "dp4a" [T (a_signed) (b_signed)] [] B32 (T, T, T) -> (T) {};
        /// `(a: b32, b: b32, c: b32) -> b32`: `c` plus the products of the halves of `a` and two
        /// bytes of `b`. PTX `dp2a`.
        Dp2a {
            /// Whether the elements of `a` are signed.
            a_signed: bool,
            /// Whether the elements of `b` are signed.
            b_signed: bool,
            /// Whether the upper two bytes of `b` are used, instead of the lower two.
            high: bool,
        } = "dp2a" [T (a_signed) (b_signed) (high)] [] B32 (T, T, T) -> (T) {};
        /// `(a: b32, b: b32, c: b32) -> b32`: the high word of `b:a` (`a` is the low word) shifted
        /// left by `c`.
        FunnelShl(limit: Funnel) = "funnel_shl" [limit T] [] B32 (T, T, T) -> (T) {};
        /// `(a: b32, b: b32, c: b32) -> b32`: the low word of `b:a` (`a` is the low word) shifted
        /// right by `c`.
        FunnelShr(limit: Funnel) = "funnel_shr" [limit T] [] B32 (T, T, T) -> (T) {};
    } } };
}
