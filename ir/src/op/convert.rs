//! Conversions between types.

use crate::memory::spelled;

spelled! {
    /// A float of 8 bits.
    ByteFormat {
        /// Four bits of exponent and three of fraction.
        E4m3 = "e4m3",
        /// Five bits of exponent and two of fraction.
        E5m2 = "e5m2",
    }
}

macro_rules! convert_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `(a: narrower integer) -> T`: extended with zeros.
        Zext = "zext" [T] [] INT (Narrower) -> (T) {};
        /// `(a: narrower integer) -> T`: extended by the sign.
        Sext = "sext" [T] [] INT (Narrower) -> (T) {};
        /// `(a: wider integer) -> T`: the low bits.
        Trunc = "trunc" [T] [] INT (Wider) -> (T) {};
        /// `(a: type of equal width) -> T`: the same bits.
        Bitcast = "bitcast" [T] [] MEMORY (SameWidth) -> (T) {};
        /// `(a: integer) -> T`: a signed number rounded to a float.
        SintToFloat(round: Rounding) = "sint_to_float" [T round] [] FLOAT (Int) -> (T) {};
        /// `(a: integer) -> T`: an unsigned number rounded to a float.
        UintToFloat(round: Rounding) = "uint_to_float" [T round] [] FLOAT (Int) -> (T) {};
        /// `(a: float) -> T`: rounded to a signed integer, saturating. A NaN gives what PTX `cvt`
        /// says: 0, or only the top bit from `f64` and to 64 bits.
        FloatToSint {
            /// How the result is rounded.
            round: Rounding,
            /// Whether subnormals become zero.
            ftz: bool,
        } = "float_to_sint" [T round (ftz)] [] INT (Float) -> (T) {};
        /// `(a: float) -> T`: rounded to an unsigned integer, saturating. A NaN gives what PTX
        /// `cvt` says: 0, or only the top bit from `f64` and to 64 bits.
        FloatToUint {
            /// How the result is rounded.
            round: Rounding,
            /// Whether subnormals become zero.
            ftz: bool,
        } = "float_to_uint" [T round (ftz)] [] INT (Float) -> (T) {};
        /// `(a: float of another width) -> T`: rounded to another format.
        FloatToFloat(mode: FloatMode) = "float_to_float" [T mode] [] FLOAT (Float) -> (T) {};
        /// `(a: f32) -> T`: rounded to 16 bits.
        FloatToHalf {
            /// How the result is rounded.
            round: Rounding,
            /// Whether a negative result becomes zero (PTX `.relu`).
            relu: bool,
            /// Whether the largest finite number replaces a greater result (PTX `.satfinite`).
            finite: bool,
        } = "float_to_half" [T round (relu) (finite)] [] HALF (F32) -> (T) {};
        /// `(a: f32, b: f32) -> T`: both rounded as in [`Op::FloatToHalf`], `a` to the low half,
        /// `b` to the high.
        FloatsToHalves {
            /// How the result is rounded.
            round: Rounding,
            /// Whether a negative result becomes zero (PTX `.relu`).
            relu: bool,
            /// Whether the largest finite number replaces a greater result (PTX `.satfinite`).
            finite: bool,
        } = "floats_to_halves" [T round (relu) (finite)] [] HALF_PAIR (F32, F32) -> (T) {};
        /// `(a: f32) -> b32`: rounded to the upper 19 bits, a TF32.
        FloatToTf32 {
            /// How the result is rounded: to nearest or towards zero.
            round: Rounding,
            /// Whether a negative result becomes zero (PTX `.relu`).
            relu: bool,
        } = "float_to_tf32" [T round (relu)] [] B32 (F32) -> (T) {};
        /// `(a: f32, b: f32) -> b32`: both rounded to 8 bits, `a` to the lowest byte, `b` to the
        /// next; zeros above. PTX `cvt.rn.satfinite.{e4m3x2,e5m2x2}.f32`.
        FloatsToBytes {
            /// The format of the result.
            format: ByteFormat,
            /// Whether a negative result becomes zero (PTX `.relu`).
            relu: bool,
        } = "floats_to_bytes" [T format (relu)] [] B32 (F32, F32) -> (T) {};
        /// `(a: f16x2) -> b32`: both halves rounded to 8 bits, in the low bytes; zeros above. PTX
        /// `cvt.rn.satfinite.{e4m3x2,e5m2x2}.f16x2`.
        HalvesToBytes {
            /// The format of the result.
            format: ByteFormat,
            /// Whether a negative result becomes zero (PTX `.relu`).
            relu: bool,
        } = "halves_to_bytes" [T format (relu)] [] B32 (F16x2) -> (T) {};
        /// `(a: b32) -> f16x2`: the two lowest bytes as halves, exactly. PTX
        /// `cvt.rn.f16x2.{e4m3x2,e5m2x2}`.
        BytesToHalves {
            /// The format of the argument.
            format: ByteFormat,
            /// Whether a negative result becomes zero (PTX `.relu`).
            relu: bool,
        } = "bytes_to_halves" [T format (relu)] [] F16X2 (B32) -> (T) {};
        /// `(a: T) -> T`: rounded to an integral value.
        RoundToIntegral {
            /// How the result is rounded.
            round: Rounding,
            /// Whether subnormals become zero.
            ftz: bool,
        } = "round" [T round (ftz)] [] FLOAT (T) -> (T) {};
        /// `(a: half of T, b: half of T) -> T`: `a` in the low bits, `b` in the high.
        Pack = "pack" [T] [] PAIR (Half, Half) -> (T) {};
        /// `(a: T) -> half of T, half of T`: the low bits, then the high.
        Unpack = "unpack" [T] [] PAIR (T) -> (Half, Half) {};
    } } };
}
