//! Division and remainder by constants: products with a fixed-point reciprocal, and shifts.
//!
//! ```text
//! v2 = udiv.b32 v1, 10    =>    v3 = umulh.b32 v1, 0xcccccccd
//!                               v2 = shr.b32 v3, 3
//! ```
//!
//! The reciprocal `m / 2^(n+s)` is just large enough for all dividends of `n` bits: Granlund and
//! Montgomery, *Division by Invariant Integers using Multiplication* (PLDI 1994). If `m` has
//! `n + 1` bits, a shift of the dividend makes an even divisor odd; for an odd divisor the topmost
//! bit is added separately. A remainder is the dividend minus quotient times divisor, and shares
//! its quotient with a division. Divisors that are powers of two become shifts and masks, with a
//! bias that makes signed quotients round towards zero.

use ptxc_ir::{IntCond, Op, Type, Value};
use smallvec::SmallVec;

use super::{Folder, Rewrite, value_of};
use crate::simplify::evaluate::ones;

/// Replaces a division or remainder by a constant other than zero.
pub(super) fn rule(folder: &mut Folder<'_>, op: &Op, ty: Type, args: &[Value]) -> Option<Rewrite> {
    let (signed, remainder) = match op {
        Op::Udiv => (false, false),
        Op::Urem => (false, true),
        Op::Sdiv => (true, false),
        Op::Srem => (true, true),
        _ => return None,
    };
    let &[a, b] = args else { return None };
    let divisor = folder.constant(b).filter(|&divisor| divisor != 0)?;
    if !folder.may_make(&Op::Umulh, ty) {
        return None;
    }
    let mut make = Make { folder, ty, bits: ty.bits() };
    let quotient = if signed { make.signed(a, divisor) } else { make.unsigned(a, divisor) };
    if !remainder {
        return Some(value_of(quotient));
    }
    // A remainder by a power of two is a mask.
    if !signed && divisor.is_power_of_two() {
        let mask = make.folder.emit_constant(ty, divisor - 1);
        return Some(Rewrite::Op(Op::And, ty, SmallVec::from_slice(&[a, mask])));
    }
    let taken = make.op(Op::Imul, &[quotient, b]);
    Some(Rewrite::Op(Op::Isub, ty, SmallVec::from_slice(&[a, taken])))
}

/// Emits operations of one type.
struct Make<'a, 'f> {
    folder: &'a mut Folder<'f>,
    ty: Type,
    bits: u32,
}

impl Make<'_, '_> {
    fn op(&mut self, op: Op, args: &[Value]) -> Value {
        self.folder.emit(op, self.ty, args)
    }

    fn with_constant(&mut self, op: Op, a: Value, bits: u64) -> Value {
        let constant = self.folder.emit_constant(self.ty, bits);
        self.op(op, &[a, constant])
    }

    fn shift(&mut self, op: Op, a: Value, count: u32) -> Value {
        if count == 0 {
            return a;
        }
        let count = self.folder.emit_constant(Type::B32, count.into());
        self.op(op, &[a, count])
    }

    fn unsigned(&mut self, a: Value, divisor: u64) -> Value {
        if divisor.is_power_of_two() {
            return self.shift(Op::Shr, a, divisor.trailing_zeros());
        }
        if divisor > ones(self.ty) >> 1 {
            // The quotient is 0 or 1.
            let divisor = self.folder.emit_constant(self.ty, divisor);
            let fits = self.folder.emit(Op::Icmp(IntCond::Uge), self.ty, &[a, divisor]);
            let (one, zero) = (self.folder.emit_constant(self.ty, 1), self.folder.emit_constant(self.ty, 0));
            return self.op(Op::Select, &[fits, one, zero]);
        }
        let (mut reciprocal, mut post) = reciprocal(divisor, self.bits, self.bits);
        let mut dividend = a;
        let twos = divisor.trailing_zeros();
        if reciprocal >> self.bits != 0 && twos > 0 {
            (reciprocal, post) = self::reciprocal(divisor >> twos, self.bits, self.bits - twos);
            dividend = self.shift(Op::Shr, a, twos);
        }
        let high = self.with_constant(Op::Umulh, dividend, reciprocal as u64 & ones(self.ty));
        if reciprocal >> self.bits == 0 {
            return self.shift(Op::Shr, high, post);
        }
        // (high + dividend) / 2 without overflow.
        let rest = self.op(Op::Isub, &[dividend, high]);
        let half = self.shift(Op::Shr, rest, 1);
        let sum = self.op(Op::Iadd, &[half, high]);
        self.shift(Op::Shr, sum, post - 1)
    }

    fn signed(&mut self, a: Value, divisor: u64) -> Value {
        let negative = divisor >> (self.bits - 1) & 1 == 1;
        let magnitude = if negative { divisor.wrapping_neg() & ones(self.ty) } else { divisor };
        let quotient = if magnitude.is_power_of_two() {
            self.signed_power(a, magnitude.trailing_zeros())
        } else {
            let (reciprocal, post) = reciprocal(magnitude, self.bits, self.bits - 1);
            let mut high = self.with_constant(Op::Smulh, a, reciprocal as u64 & ones(self.ty));
            if reciprocal >> (self.bits - 1) != 0 {
                // The constant counts as negative, which is 2^n too little.
                high = self.op(Op::Iadd, &[high, a]);
            }
            let rounded = self.shift(Op::Sar, high, post);
            let sign = self.shift(Op::Shr, a, self.bits - 1);
            self.op(Op::Iadd, &[rounded, sign])
        };
        if negative { self.op(Op::Ineg, &[quotient]) } else { quotient }
    }

    /// `a / 2^count` towards zero: `2^count - 1` is added to a negative dividend.
    fn signed_power(&mut self, a: Value, count: u32) -> Value {
        if count == 0 {
            return a;
        }
        let signs = self.shift(Op::Sar, a, self.bits - 1);
        let bias = self.shift(Op::Shr, signs, self.bits - count);
        let biased = self.op(Op::Iadd, &[a, bias]);
        self.shift(Op::Sar, biased, count)
    }
}

/// The least `m` and `s` such that `floor(m a / 2^(bits + s))` is `floor(a / divisor)` for all `a`
/// below `2^precision`; `m` has at most `bits + 1` bits. The divisor is not a power of two and is
/// below `2^(bits - 1)`.
fn reciprocal(divisor: u64, bits: u32, precision: u32) -> (u128, u32) {
    let divisor = u128::from(divisor);
    let mut post = 128 - (divisor - 1).leading_zeros();
    let power = 1u128 << (bits + post);
    let (mut low, mut high) = (power / divisor, (power + (power >> precision)) / divisor);
    while low >> 1 < high >> 1 && post > 0 {
        (low, high, post) = (low >> 1, high >> 1, post - 1);
    }
    (high, post)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reciprocals_are_exact_for_small_widths() {
        // Every divisor and every dividend of 10 bits.
        for divisor in 3..1u64 << 9 {
            if divisor.is_power_of_two() {
                continue;
            }
            let (factor, post) = reciprocal(divisor, 10, 10);
            assert!(factor < 1 << 11);
            let (half, half_post) = reciprocal(divisor, 10, 9);
            assert!(half < 1 << 10);
            for a in 0..1u64 << 10 {
                assert_eq!(
                    (u128::from(a) * factor) >> (10 + post),
                    u128::from(a / divisor),
                    "{a} / {divisor}"
                );
                let short = (u128::from(a) * half) >> (10 + half_post);
                assert!(a >= 1 << 9 || short == u128::from(a / divisor), "{a} / {divisor}");
            }
        }
    }

    #[test]
    fn known_reciprocals() {
        assert_eq!(reciprocal(10, 32, 32), (0xcccc_cccd, 3));
        assert_eq!(reciprocal(7, 32, 32), (0x1_2492_4925, 3));
        assert_eq!(reciprocal(7, 32, 31), (0x9249_2493, 2));
        assert_eq!(reciprocal(10, 64, 64), (0xcccc_cccc_cccc_cccd, 3));
    }
}
