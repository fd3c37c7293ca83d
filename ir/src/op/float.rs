//! Floating-point arithmetic and the approximations of special functions.

use crate::memory::spelled;

spelled! {
    /// An IEEE rounding mode.
    Rounding {
        /// To nearest, ties to even.
        Nearest = "rn",
        /// Towards zero.
        Zero = "rz",
        /// Towards minus infinity.
        Down = "rm",
        /// Towards plus infinity.
        Up = "rp",
    }
}

spelled! {
    /// A hardware approximation (PTX `.approx`, SASS `MUFU`).
    Approx {
        /// `1 / x`.
        Rcp = "rcp",
        /// `1 / sqrt(x)`.
        Rsq = "rsq",
        /// `sqrt(x)`.
        Sqrt = "sqrt",
        /// Sine of radians.
        Sin = "sin",
        /// Cosine of radians.
        Cos = "cos",
        /// Base-2 logarithm.
        Lg2 = "lg2",
        /// Base-2 exponential.
        Ex2 = "ex2",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// Sine of whole turns; made by legalization.
        SinTurns = "sin_turns",
        /// Cosine of whole turns; made by legalization.
        CosTurns = "cos_turns",
    }
}

/// How a float operation rounds and clamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FloatMode {
    /// Rounding of the result.
    pub round: Rounding,
    /// Whether subnormal operands and results become zero (`.ftz`).
    pub ftz: bool,
    /// Whether the result is clamped to 0 through 1 (`.sat`).
    pub sat: bool,
    /// Whether a multiplication and an addition may still be fused (PTX gives no rounding modifier).
    pub contract: bool,
}

impl FloatMode {
    /// To nearest even, subnormals kept, not clamped, not fusable.
    pub const RN: FloatMode = FloatMode { round: Rounding::Nearest, ftz: false, sat: false, contract: false };
}

macro_rules! float_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `(a: T, b: T) -> T`: float sum.
        Fadd(mode: FloatMode) = "fadd" [T mode] [] FLOATS (T, T) -> (T) {};
        /// `(a: T, b: T) -> T`: float difference.
        Fsub(mode: FloatMode) = "fsub" [T mode] [] FLOATS (T, T) -> (T) {};
        /// `(a: T, b: T) -> T`: float product.
        Fmul(mode: FloatMode) = "fmul" [T mode] [] FLOATS (T, T) -> (T) {};
        /// `(a: T, b: T, c: T) -> T`: `a * b + c`, rounded once.
        Ffma(mode: FloatMode) = "ffma" [T mode] [] FLOATS (T, T, T) -> (T) {};
        /// `(a: T, b: T, c: T) -> T`: `a * b + c`, rounded once to nearest, or zero if any argument
        /// is `0xffff`, the NaN outside of the bounds of a tensor. PTX `fma.rn.oob`.
        FfmaOob = "ffma_oob" [T] [] HALVES (T, T, T) -> (T) {};
        /// `(a: T) -> T`: the sign inverted.
        Fneg {
            /// Whether subnormals become zero.
            ftz: bool,
        } = "fneg" [T (ftz)] [] FLOATS (T) -> (T) {};
        /// `(a: T) -> T`: the sign cleared.
        Fabs {
            /// Whether subnormals become zero.
            ftz: bool,
        } = "fabs" [T (ftz)] [] FLOATS (T) -> (T) {};
        /// `(a: T, b: T) -> T`: the lesser. PTX `min`; `xorsign` is PTX `.xorsign.abs`, which `f64`
        /// does not have.
        Fmin {
            /// Whether subnormals become zero.
            ftz: bool,
            /// Whether a NaN wins against a number.
            nan: bool,
            /// Whether the magnitudes are compared, and the result has the sign of the product.
            xorsign: bool,
        } = "fmin" [T (ftz) (nan) (xorsign)] [] FLOATS (T, T) -> (T) {};
        /// `(a: T, b: T) -> T`: the greater, with the fields of [`Op::Fmin`].
        Fmax {
            /// Whether subnormals become zero.
            ftz: bool,
            /// Whether a NaN wins against a number.
            nan: bool,
            /// Whether the magnitudes are compared, and the result has the sign of the product.
            xorsign: bool,
        } = "fmax" [T (ftz) (nan) (xorsign)] [] FLOATS (T, T) -> (T) {};
        /// `(a: T, b: T) -> T`: quotient, rounded once; with `a` = 1 a reciprocal.
        Fdiv(mode: FloatMode) = "fdiv" [T mode] [] FLOAT (T, T) -> (T) {} slow;
        /// `(a: T) -> T`: square root, rounded once.
        Fsqrt(mode: FloatMode) = "fsqrt" [T mode] [] FLOAT (T) -> (T) {} slow;
        /// `(a: T, b: T) -> T`: quotient by an approximate reciprocal.
        FdivApprox {
            /// Whether the whole range of divisors is needed (PTX `.full`).
            full: bool,
            /// Whether subnormals become zero.
            ftz: bool,
        } = "fdiv_approx" [T (full) (ftz)] [] F32 (T, T) -> (T) {} slow;
        /// `(a: T, b: T) -> pred`: whether `a / b` may need more than one reciprocal, a quotient
        /// and one remainder, because an operand or an intermediate result is not a normal number
        /// (SASS `FCHK`). Made by legalization.
        FdivCheck = "fdiv_check" [T] [] F32 (T, T) -> (Pred) {};
        /// `(a: T) -> T`: a hardware approximation. For `f64` with `ftz` the operation takes the
        /// upper word of `a` and gives the upper word of the result, with zeros below. For `f64`
        /// without `ftz` only `rsq` exists, and it is rounded to nearest.
        Fapprox {
            /// The function.
            function: Approx,
            /// Whether subnormals become zero.
            ftz: bool,
        } = "fapprox" [function T (ftz)] [] FLOATS (T) -> (T) {} slow;
    } } };
}
