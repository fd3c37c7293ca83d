//! The references of the tests: `rustc_apfloat`, and a stream of numbers that is the same in every
//! run.

use ptxc_semantics::{BF16, F16, F32, F64, Format, Mode, Rounding};
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

/// The formats that are tested.
pub const FORMATS: [Format; 4] = [F16, BF16, F32, F64];

/// The splitmix64 generator.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A float of any class whose exponent is often near that of 1, so that operands meet; few significant
    /// bits in one of four, so that ties and exact results occur.
    pub fn float(&mut self, format: Format) -> u64 {
        let bits = self.next() & format.mask();
        let exponent_and_sign = match self.next() % 4 {
            0 => bits & !format.fraction_mask(),
            _ => {
                let near = (format.bias() as u64 - 8 + self.next() % 16) << format.fraction_bits();
                (bits & format.sign_bit()) | near
            }
        };
        let kept =
            if self.next().is_multiple_of(4) { self.next() % u64::from(format.fraction_bits()) } else { 0 };
        exponent_and_sign | (bits & format.fraction_mask()) >> kept << kept
    }
}

/// Values at which rules change: zeros, ends of the subnormal and normal ranges, around 1, infinities, NaNs;
/// both signs.
pub fn specials(format: Format) -> Vec<u64> {
    let (one, infinity) = (format.one(), format.infinity(false));
    let fraction = format.fraction_mask();
    let positive = [
        0,
        1,
        2,
        fraction / 2 + 1,
        fraction,
        fraction + 1,
        fraction + 2,
        one - 1,
        one,
        one + 1,
        one + fraction / 2 + 1,
        one + fraction,
        one + fraction + 1,
        infinity - fraction - 1,
        infinity - 1,
        infinity,
        infinity + 1,
        format.magnitude(format.nan()),
    ];
    positive.iter().flat_map(|&a| [a, a | format.sign_bit()]).collect()
}

pub fn round(rounding: Rounding) -> Round {
    match rounding {
        Rounding::Nearest => Round::NearestTiesToEven,
        Rounding::Zero => Round::TowardZero,
        Rounding::Down => Round::TowardNegative,
        Rounding::Up => Round::TowardPositive,
    }
}

/// Operations whose reference is an `apfloat` method.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Integral,
}

/// Calls a function that is generic over the `apfloat` type with the type of a format.
macro_rules! with_format {
    ($format:expr, $f:ident $args:tt) => {
        match $format {
            F16 => $f::<Half> $args,
            BF16 => $f::<BFloat> $args,
            F32 => $f::<Single> $args,
            _ => $f::<Double> $args,
        }
    };
}

/// The exact result of `op`, rounded, with every NaN replaced by the format's.
pub fn arithmetic(format: Format, op: Op, operands: [u64; 3], mode: Mode) -> u64 {
    let result = with_format!(format, operate(op, operands, mode));
    result.unwrap_or(format.nan())
}

fn operate<F: Float>(op: Op, operands: [u64; 3], mode: Mode) -> Option<u64> {
    let flush = |a: F| if mode.ftz && a.is_denormal() { F::ZERO.copy_sign(a) } else { a };
    let [a, b, c] = operands.map(|a| flush(F::from_bits(a.into())));
    let r = round(mode.rounding);
    let result = match op {
        Op::Add => a.add_r(b, r),
        Op::Sub => a.sub_r(b, r),
        Op::Mul => a.mul_r(b, r),
        Op::Fma => a.mul_add_r(b, c, r),
        Op::Div => a.div_r(b, r),
        Op::Integral => a.round_to_integral(r),
    };
    let result = flush(result.value);
    if mode.sat {
        let one = F::from_u128(1).value;
        let clamped = if result > one {
            one
        } else if result > F::ZERO {
            result
        } else {
            F::ZERO
        };
        return Some(clamped.to_bits() as u64);
    }
    (!result.is_nan()).then(|| result.to_bits() as u64)
}

/// `a` in another format, every NaN replaced by that format's.
pub fn convert(from: Format, to: Format, a: u64, rounding: Rounding) -> u64 {
    fn to_type<F: FloatConvert<T>, T: Float>(a: u64, rounding: Rounding) -> Option<u64> {
        let value: T = F::from_bits(a.into()).convert_r(round(rounding), &mut false).value;
        (!value.is_nan()).then(|| value.to_bits() as u64)
    }
    fn from_type<F>(to: Format, a: u64, rounding: Rounding) -> Option<u64>
    where
        F: FloatConvert<Half> + FloatConvert<BFloat> + FloatConvert<Single> + FloatConvert<Double>,
    {
        match to {
            F16 => to_type::<F, Half>(a, rounding),
            BF16 => to_type::<F, BFloat>(a, rounding),
            F32 => to_type::<F, Single>(a, rounding),
            _ => to_type::<F, Double>(a, rounding),
        }
    }
    with_format!(from, from_type(to, a, rounding)).unwrap_or(to.nan())
}

/// The integer `a` in a float format.
pub fn from_integer(to: Format, a: i128, rounding: Rounding) -> u64 {
    fn typed<F: Float>(a: i128, rounding: Rounding) -> u64 {
        F::from_i128_r(a, round(rounding)).value.to_bits() as u64
    }
    with_format!(to, typed(a, rounding))
}

/// The float `a` as an integer of the given width, limited to its range; `None` for a NaN.
pub fn to_integer(from: Format, a: u64, bits: u32, signed: bool, rounding: Rounding) -> Option<u64> {
    fn typed<F: Float>(a: u64, bits: usize, signed: bool, rounding: Rounding) -> Option<u64> {
        let (a, r) = (F::from_bits(a.into()), round(rounding));
        (!a.is_nan()).then(|| match signed {
            true => a.to_i128_r(bits, r, &mut false).value as u64,
            false => a.to_u128_r(bits, r, &mut false).value as u64,
        })
    }
    with_format!(from, typed(a, bits as usize, signed, rounding)).map(|a| a & (u64::MAX >> (64 - bits)))
}

/// The reference's order of two floats; `None` if one is a NaN.
pub fn order(format: Format, a: u64, b: u64) -> Option<std::cmp::Ordering> {
    fn typed<F: Float>(a: u64, b: u64) -> Option<std::cmp::Ordering> {
        F::from_bits(a.into()).partial_cmp(&F::from_bits(b.into()))
    }
    with_format!(format, typed(a, b))
}
