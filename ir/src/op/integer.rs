//! Integer arithmetic.

use crate::memory::spelled;

spelled! {
    /// A function of two 16-bit integers, for the low halves and the high halves of words.
    PairFunction {
        /// The sum, wrapping.
        Add = "add",
        /// The lesser signed number.
        Smin = "smin",
        /// The greater signed number.
        Smax = "smax",
        /// The lesser unsigned number.
        Umin = "umin",
        /// The greater unsigned number.
        Umax = "umax",
    }
}

macro_rules! integer_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `(a: T, b: T) -> T`: sum.
        Iadd = "iadd" [T] [] INT (T, T) -> (T) {};
        /// `(a: T, b: T) -> T`: difference.
        Isub = "isub" [T] [] INT (T, T) -> (T) {};
        /// `(a: T) -> T`: two's complement negation.
        Ineg = "ineg" [T] [] INT (T) -> (T) {};
        /// `(a: T) -> T`: absolute value of a signed number.
        Iabs = "iabs" [T] [] INT (T) -> (T) {};
        /// `(a: T, b: T) -> T`: low half of the product.
        Imul = "imul" [T] [] INT (T, T) -> (T) {};
        /// `(a: T, b: T) -> T`: high half of the product of unsigned numbers.
        Umulh = "umulh" [T] [] INT (T, T) -> (T) {};
        /// `(a: T, b: T) -> T`: high half of the product of signed numbers.
        Smulh = "smulh" [T] [] INT (T, T) -> (T) {};
        /// `(a: T, b: T) -> 2T`: whole product of unsigned numbers; `T` is `b16` or `b32`.
        UmulWide = "umul_wide" [T] [] NARROW (T, T) -> (Double) {};
        /// `(a: T, b: T) -> 2T`: whole product of signed numbers; `T` is `b16` or `b32`.
        SmulWide = "smul_wide" [T] [] NARROW (T, T) -> (Double) {};
        /// `(a: b32, b: b32, c: b64) -> b64`: unsigned `a * b + c`; made by legalization. `T` is
        /// `b32`.
        UmadWide = "umad_wide" [T] [] B32 (T, T, B64) -> (B64) {};
        /// `(a: b32, b: b32, c: b64) -> b64`: signed `a * b + c`; made by legalization. `T` is
        /// `b32`.
        SmadWide = "smad_wide" [T] [] B32 (T, T, B64) -> (B64) {};
        /// `(a: T, b: T) -> T`: quotient of unsigned numbers.
        Udiv = "udiv" [T] [] INT (T, T) -> (T) {} slow;
        /// `(a: T, b: T) -> T`: quotient of signed numbers, towards zero.
        Sdiv = "sdiv" [T] [] INT (T, T) -> (T) {} slow;
        /// `(a: T, b: T) -> T`: remainder of unsigned numbers.
        Urem = "urem" [T] [] INT (T, T) -> (T) {} slow;
        /// `(a: T, b: T) -> T`: remainder of signed numbers, with the sign of the dividend.
        Srem = "srem" [T] [] INT (T, T) -> (T) {} slow;
        /// `(a: T, b: T) -> T`: signed minimum.
        Smin = "smin" [T] [] INT (T, T) -> (T) {};
        /// `(a: T, b: T) -> T`: signed maximum.
        Smax = "smax" [T] [] INT (T, T) -> (T) {};
        /// `(a: T, b: T) -> T`: unsigned minimum.
        Umin = "umin" [T] [] INT (T, T) -> (T) {};
        /// `(a: T, b: T) -> T`: unsigned maximum.
        Umax = "umax" [T] [] INT (T, T) -> (T) {};
        /// `(a: b32, b: b32) -> b32`: a function of the low halves, and of the high halves. PTX
        /// `add`, `min` and `max` of `.u16x2` and `.s16x2`.
        Ipair(function: PairFunction) = "ipair" [function T] [] B32 (T, T) -> (T) {};
        /// `(a: T, b: T) -> T, pred`: sum and carry; made by legalization.
        IaddCarryOut = "iadd_cout" [T] [] INT (T, T) -> (T, Pred) {};
        /// `(a: T, b: T, c: pred) -> T`: sum with a carry; made by legalization.
        IaddCarryIn = "iadd_cin" [T] [] INT (T, T, Pred) -> (T) {};
        /// `(a: T, b: T, c: pred) -> T, pred`: sum with a carry, and the next carry.
        IaddCarryInOut = "iadd_cinout" [T] [] INT (T, T, Pred) -> (T, Pred) {};
        /// `(a: T, b: T) -> T, pred`: `a - b`, and the carry of `a + !b + 1`, which is set if
        /// nothing is borrowed.
        IsubCarryOut = "isub_cout" [T] [] INT (T, T) -> (T, Pred) {};
        /// `(a: T, b: T, c: pred) -> T`: `a + !b + c`.
        IsubCarryIn = "isub_cin" [T] [] INT (T, T, Pred) -> (T) {};
        /// `(a: T, b: T, c: pred) -> T, pred`: `a + !b + c`, and its carry.
        IsubCarryInOut = "isub_cinout" [T] [] INT (T, T, Pred) -> (T, Pred) {};
    } } };
}
