//! The soft-float core: exact values and the one rounding step that all formats share.
//!
//! In: a finite value as `(-1)^negative * significand * 2^exponent`, with a sticky bit for the
//! digits below the significand. Out: the bits of the value of a [`Format`] that the rounding
//! direction selects, including overflow and gradual underflow. Every arithmetic operation is then
//! "compute exactly, round once", which is how IEEE 754-2019, section 5.1, defines it. All steps
//! take constant time; none can overflow or panic.

use crate::{Format, Rounding};

/// A finite value: `(-1)^negative * (significand + s) * 2^exponent`. Here `s` is 0 or, if `sticky`,
/// some number strictly between 0 and 1. A sticky value has at least 60 significant bits, so that
/// it still rounds correctly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Exact {
    pub negative: bool,
    pub exponent: i32,
    pub significand: u128,
    pub sticky: bool,
}

/// Position of the leading one of a normalised significand, with two bits left above it for a
/// carry.
const TOP: i32 = 125;

impl Exact {
    /// The value of finite `a`.
    pub fn unpack(format: Format, a: u64) -> Exact {
        let magnitude = format.magnitude(a);
        let biased = (magnitude >> format.fraction_bits()) as i32;
        let fraction = magnitude & format.fraction_mask();
        let hidden = if biased == 0 { 0 } else { 1 << format.fraction_bits() };
        Exact {
            negative: format.is_negative(a),
            exponent: format.least_exponent() + biased.max(1) - 1,
            significand: u128::from(fraction | hidden),
            sticky: false,
        }
    }

    /// Shifts the significand left until its leading one is at [`TOP`]. The value must not be sticky and must
    /// fit.
    fn normalize(self) -> Exact {
        let shift = TOP - (127 - self.significand.leading_zeros() as i32);
        if self.significand == 0 || shift <= 0 {
            return self;
        }
        Exact { significand: self.significand << shift, exponent: self.exponent - shift, ..self }
    }

    /// `self * other`. Exact for significands of at most 64 bits.
    pub fn mul(self, other: Exact) -> Exact {
        Exact {
            negative: self.negative != other.negative,
            exponent: self.exponent + other.exponent,
            significand: self.significand.wrapping_mul(other.significand),
            sticky: false,
        }
    }

    /// `self + other`; an exact zero has the sign that IEEE 754-2019, section 6.3, requires under
    /// `rounding`.
    ///
    /// Both significands have at most 106 bits, so that normalised ones end in at least 20 zeros: the smaller
    /// operand loses bits only if it is shifted by 20 or more, and then no cancellation reaches the sticky
    /// part.
    pub fn add(self, other: Exact, rounding: Rounding) -> Exact {
        if self.significand == 0 && other.significand == 0 {
            let negative = match self.negative == other.negative {
                true => self.negative,
                false => rounding == Rounding::Down,
            };
            return Exact { negative, ..self };
        }
        if other.significand == 0 {
            return self;
        }
        if self.significand == 0 {
            return other;
        }
        let (a, b) = (self.normalize(), other.normalize());
        let (big, small) = match (a.exponent, a.significand) >= (b.exponent, b.significand) {
            true => (a, b),
            false => (b, a),
        };
        let (shifted, sticky) = shift_right_sticky(small.significand, (big.exponent - small.exponent) as u32);
        if big.negative == small.negative {
            return Exact { significand: big.significand + shifted, sticky, ..big };
        }
        let significand = big.significand - shifted - u128::from(sticky);
        if significand == 0 && !sticky {
            return Exact { negative: rounding == Rounding::Down, significand: 0, ..big };
        }
        Exact { significand, sticky, ..big }
    }

    /// `self / other` for a divisor that is not zero and operands of at most 64 bits.
    pub fn div(self, other: Exact) -> Exact {
        let numerator = self.normalize();
        let divisor = other.significand.max(1);
        Exact {
            negative: self.negative != other.negative,
            exponent: numerator.exponent - other.exponent,
            significand: numerator.significand / divisor,
            sticky: !numerator.significand.is_multiple_of(divisor),
        }
    }

    /// The square root of the magnitude, with the sign of `self`.
    pub fn sqrt(self) -> Exact {
        let mut radicand = self.normalize();
        if radicand.exponent % 2 != 0 {
            radicand.significand <<= 1;
            radicand.exponent -= 1;
        }
        let root = radicand.significand.isqrt();
        Exact {
            negative: self.negative,
            exponent: radicand.exponent / 2,
            significand: root,
            sticky: root * root != radicand.significand,
        }
    }

    /// The reciprocal of the square root of a positive value of at most 54 bits: the greatest `r` with `r^2 m <= 2^180`,
    /// found bit by bit, for a significand `m` of 55 or 56 bits and an even exponent. It has 63 bits or is 2^63.
    pub fn rsqrt(self) -> Exact {
        let up = self.significand.leading_zeros() as i32 - 73;
        let odd = (self.exponent - up) & 1;
        let (m, exponent) = (self.significand << (up + odd), self.exponent - up - odd);
        // The comparison of `r^2 m` with the limit, which needs 184 bits.
        let compare = |root: u128| {
            let square = root * root;
            let low = (square & u128::from(u64::MAX)) * m;
            let high = (square >> 64) * m + (low >> 64);
            high.cmp(&(1 << (180 - 64))).then((low as u64).cmp(&0))
        };
        let mut root = 0;
        let mut exact = false;
        for bit in (0..64).rev() {
            let tried = root | 1 << bit;
            let order = compare(tried);
            if order.is_le() {
                (root, exact) = (tried, order.is_eq());
            }
        }
        Exact { negative: false, exponent: -(exponent + 180) / 2, significand: root, sticky: !exact }
    }

    /// The value of `format` that `rounding` selects: the nearest one, or the neighbour on the given side.
    /// Beyond the largest finite value this is an infinity, or the largest finite value if the direction
    /// points inwards.
    pub fn round(self, format: Format, rounding: Rounding) -> u64 {
        if self.significand == 0 && !self.sticky {
            return format.zero(self.negative);
        }
        let fraction_bits = format.fraction_bits() as i32;
        let leading = self.exponent + 127 - self.significand.leading_zeros() as i32;
        let last = (leading - fraction_bits).max(format.least_exponent());
        let quotient = self.round_at(last, rounding);

        let biased = last - format.least_exponent() + 1;
        if biased < format.special_exponent() {
            // A subnormal has no hidden bit and has biased exponent 1 here, so that the subtraction
            // removes the exponent again; a significand that rounded up to a power of two carries
            // into the exponent.
            let bits = ((biased as u64) << fraction_bits) + quotient as u64 - (1 << fraction_bits);
            if bits < format.infinity(false) {
                return format.zero(self.negative) | bits;
            }
        }
        match rounds_away(rounding, self.negative) {
            Some(false) => format.largest(self.negative),
            Some(true) | None => format.infinity(self.negative),
        }
    }

    /// The magnitude as a multiple of `2^last`, rounded to an integer. The result must fit.
    pub fn round_at(self, last: i32, rounding: Rounding) -> u128 {
        let shift = last - self.exponent;
        if shift <= 0 {
            return self.significand << shift.unsigned_abs().min(127);
        }
        // Keep one bit below the last place; of the rest only whether it is zero matters.
        let (doubled, low) = shift_right_sticky(self.significand, (shift - 1) as u32);
        let (quotient, half, below) = (doubled >> 1, doubled & 1 == 1, low || self.sticky);
        let up = match rounds_away(rounding, self.negative) {
            Some(away) => away && (half || below),
            None => half && (below || quotient & 1 == 1),
        };
        quotient + u128::from(up)
    }
}

/// For a directed rounding: whether it moves the magnitude up. `None` for round-to-nearest.
fn rounds_away(rounding: Rounding, negative: bool) -> Option<bool> {
    match rounding {
        Rounding::Nearest => None,
        Rounding::Zero => Some(false),
        Rounding::Down => Some(negative),
        Rounding::Up => Some(!negative),
    }
}

/// `value >> shift` for any shift, and whether a one was shifted out.
fn shift_right_sticky(value: u128, shift: u32) -> (u128, bool) {
    match shift {
        0 => (value, false),
        1..=127 => (value >> shift, value << (128 - shift) != 0),
        _ => (0, value != 0),
    }
}
