//! Binary floating-point formats, rounding directions and the mode of an operation.
//!
//! A value of any format travels in the low bits of a `u64`; the bits above the format's width are zero.
//! [`Format`] knows the layout (IEEE 754-2019, section 3.4: sign, biased exponent, trailing significand) and
//! the one NaN that the hardware writes.
//!
//! ```
//! use ptxc_semantics::{BF16, F32};
//! assert_eq!(F32.one(), 1.0f32.to_bits().into());
//! assert_eq!(BF16.one(), 0x3f80);
//! assert!(F32.is_nan(F32.nan()));
//! ```

/// The layout of a binary floating-point format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Format {
    /// Width of the biased exponent, in bits.
    exponent_bits: u32,
    /// Width of the trailing significand (the hidden bit is not counted), in bits.
    fraction_bits: u32,
    /// The NaN that arithmetic writes.
    nan: u64,
}

/// IEEE binary16, PTX `.f16`. Its NaN is `0x7fff`.
pub const F16: Format = Format { exponent_bits: 5, fraction_bits: 10, nan: 0x7fff };
/// bfloat16, PTX `.bf16`: the upper half of a binary32. Its NaN is `0x7fff`.
pub const BF16: Format = Format { exponent_bits: 8, fraction_bits: 7, nan: 0x7fff };
/// PTX `.e5m2`: the upper byte of a binary16. Its NaN is `0x7f`.
pub const E5M2: Format = Format { exponent_bits: 5, fraction_bits: 2, nan: 0x7f };
/// TF32, PTX `.tf32`: the upper 19 bits of a binary32, here in the low bits. Its NaN is `0x3ffff`.
pub const TF32: Format = Format { exponent_bits: 8, fraction_bits: 10, nan: 0x3_ffff };
/// IEEE binary32, PTX `.f32`. Its NaN is `0x7fffffff` (PTX ISA, "Floating-Point Instructions").
pub const F32: Format = Format { exponent_bits: 8, fraction_bits: 23, nan: 0x7fff_ffff };
/// IEEE binary64, PTX `.f64`. Its NaN is `0xfff8000000000000`: a convention of this crate; programs
/// must not rely on it.
pub const F64: Format = Format { exponent_bits: 11, fraction_bits: 52, nan: 0xfff8_0000_0000_0000 };

impl Format {
    /// Width of the whole value, in bits: 16, 32 or 64.
    #[inline]
    pub const fn bits(self) -> u32 {
        1 + self.exponent_bits + self.fraction_bits
    }

    /// Width of the trailing significand, in bits; the precision is one more.
    #[inline]
    pub const fn fraction_bits(self) -> u32 {
        self.fraction_bits
    }

    /// The exponent bias.
    #[inline]
    pub const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// The exponent of the least significant bit of every subnormal: the smallest power of two that the
    /// format holds.
    #[inline]
    pub(crate) const fn least_exponent(self) -> i32 {
        1 - self.bias() - self.fraction_bits as i32
    }

    /// The largest biased exponent, that of infinities and NaNs.
    #[inline]
    pub(crate) const fn special_exponent(self) -> i32 {
        (1 << self.exponent_bits) - 1
    }

    /// All bits of a value: the mask for a wider word.
    #[inline]
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The sign bit.
    #[inline]
    pub const fn sign_bit(self) -> u64 {
        1 << (self.bits() - 1)
    }

    /// The bits of the trailing significand.
    #[inline]
    pub const fn fraction_mask(self) -> u64 {
        (1 << self.fraction_bits) - 1
    }

    /// The NaN that arithmetic returns: payloads of operands are not propagated.
    #[inline]
    pub const fn nan(self) -> u64 {
        self.nan
    }

    /// Zero of the given sign.
    #[inline]
    pub const fn zero(self, negative: bool) -> u64 {
        if negative { self.sign_bit() } else { 0 }
    }

    /// Infinity of the given sign.
    #[inline]
    pub const fn infinity(self, negative: bool) -> u64 {
        self.zero(negative) | ((self.special_exponent() as u64) << self.fraction_bits)
    }

    /// The finite value of greatest magnitude with the given sign.
    #[inline]
    pub const fn largest(self, negative: bool) -> u64 {
        self.infinity(negative) - 1
    }

    /// The value `1.0`.
    #[inline]
    pub const fn one(self) -> u64 {
        (self.bias() as u64) << self.fraction_bits
    }

    /// The value without its sign.
    #[inline]
    pub const fn magnitude(self, a: u64) -> u64 {
        a & self.mask() & !self.sign_bit()
    }

    /// Whether the sign bit is set (also for zeros and NaNs).
    #[inline]
    pub const fn is_negative(self, a: u64) -> bool {
        a & self.sign_bit() != 0
    }

    /// Whether `a` is a NaN, quiet or signalling.
    #[inline]
    pub const fn is_nan(self, a: u64) -> bool {
        self.magnitude(a) > self.infinity(false)
    }

    /// Whether `a` is an infinity of either sign.
    #[inline]
    pub const fn is_infinite(self, a: u64) -> bool {
        self.magnitude(a) == self.infinity(false)
    }

    /// Whether `a` is a zero of either sign.
    #[inline]
    pub const fn is_zero(self, a: u64) -> bool {
        self.magnitude(a) == 0
    }

    /// Whether `a` is neither infinite nor NaN.
    #[inline]
    pub const fn is_finite(self, a: u64) -> bool {
        self.magnitude(a) < self.infinity(false)
    }

    /// Whether `a` is subnormal: not zero and of magnitude below the least normal value.
    #[inline]
    pub const fn is_subnormal(self, a: u64) -> bool {
        let magnitude = self.magnitude(a);
        magnitude != 0 && magnitude <= self.fraction_mask()
    }

    /// `a` with a subnormal replaced by the zero of its sign, as `.ftz` does to inputs and results.
    #[inline]
    pub const fn flush(self, a: u64) -> u64 {
        if self.is_subnormal(a) { a & self.sign_bit() } else { a & self.mask() }
    }
}

/// The direction of rounding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Rounding {
    /// To the nearest value, ties to even: PTX `.rn` and `.rni`, SASS `RN` (the default).
    #[default]
    Nearest,
    /// Towards zero: `.rz`, `.rzi`, SASS `RZ`.
    Zero,
    /// Towards minus infinity: `.rm`, `.rmi`, SASS `RM`.
    Down,
    /// Towards plus infinity: `.rp`, `.rpi`, SASS `RP`.
    Up,
}

impl Rounding {
    /// All four directions.
    pub const ALL: [Rounding; 4] = [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up];
}

/// How an arithmetic operation rounds, and how it treats the ends of the range.
///
/// ```
/// use ptxc_semantics::{Mode, Rounding};
/// let mode = Mode::new(Rounding::Zero).with_ftz(true);
/// assert!(mode.ftz && !mode.sat);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct Mode {
    /// Direction of rounding.
    pub rounding: Rounding,
    /// Replace subnormal inputs and subnormal results by the zero of their sign. PTX does not say
    /// whether a result counts as subnormal before or after rounding. Here it is after rounding, so
    /// that a result that rounds up to the least normal value is kept.
    pub ftz: bool,
    /// Clamp the result to `[0, 1]`; a NaN and a negative zero become `+0`.
    pub sat: bool,
}

impl Mode {
    /// Round to nearest, keep subnormals, do not clamp: plain IEEE arithmetic.
    pub const IEEE: Mode = Mode::new(Rounding::Nearest);

    /// A mode with the given rounding that keeps subnormals and does not clamp.
    #[inline]
    pub const fn new(rounding: Rounding) -> Mode {
        Mode { rounding, ftz: false, sat: false }
    }

    /// The same mode with flushing of subnormals on or off.
    #[inline]
    pub const fn with_ftz(self, ftz: bool) -> Mode {
        Mode { ftz, ..self }
    }

    /// The same mode with clamping to `[0, 1]` on or off.
    #[inline]
    pub const fn with_sat(self, sat: bool) -> Mode {
        Mode { sat, ..self }
    }

    /// The value that the operation reads for the operand `a`.
    #[inline]
    pub(crate) const fn input(self, format: Format, a: u64) -> u64 {
        if self.ftz { format.flush(a) } else { a & format.mask() }
    }

    /// The value that the operation writes for the rounded result `a`.
    #[inline]
    pub(crate) const fn output(self, format: Format, a: u64) -> u64 {
        let a = if self.ftz { format.flush(a) } else { a };
        if !self.sat {
            a
        } else if format.is_nan(a) || format.is_negative(a) {
            0
        } else if a > format.one() {
            format.one()
        } else {
            a
        }
    }
}
