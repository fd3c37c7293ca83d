//! Integer arithmetic: 8 bits exhaustively against small numbers, wider types against big integers.

use crate::oracle::Random;
use num_bigint::BigInt;
use ptxc_semantics::int::{self, IntCmp};
use ptxc_semantics::{IntType, S8, S16, S32, S64, U8, U16, U32, U64};

const WIDE: [IntType; 6] = [U16, S16, U32, S32, U64, S64];

/// Operands of a type: its edges, and random ones of random length.
fn operands(ty: IntType, random: &mut Random, count: usize) -> Vec<u64> {
    let top = 1 << (ty.bits() - 1);
    let mut operands = vec![0, 1, 2, ty.mask(), ty.mask() - 1, top, top - 1, top + 1];
    operands
        .extend((0..count).map(|_| (random.next() & ty.mask()) >> (random.next() % u64::from(ty.bits()))));
    operands
}

/// The number that the bits represent.
fn number(ty: IntType, a: u64) -> BigInt {
    let a = BigInt::from(a);
    let half = BigInt::from(1) << (ty.bits() - 1);
    if ty.is_signed() && a >= half { a - (half << 1) } else { a }
}

/// `value` modulo 2^bits.
fn modulo(bits: u32, value: BigInt) -> u64 {
    let modulus = BigInt::from(1) << bits;
    let residue = ((value % &modulus) + &modulus) % &modulus;
    u64::try_from(residue).unwrap()
}

fn saturated(ty: IntType, value: BigInt) -> u64 {
    let (least, greatest) = match ty.is_signed() {
        true => (-(BigInt::from(1) << (ty.bits() - 1)), (BigInt::from(1) << (ty.bits() - 1)) - 1),
        false => (BigInt::from(0), (BigInt::from(1) << ty.bits()) - 1),
    };
    modulo(ty.bits(), value.clamp(least, greatest))
}

#[test]
fn bytes_exhaustively() {
    for a in 0..=255u8 {
        for b in 0..=255u8 {
            let (x, y) = (u64::from(a), u64::from(b));
            let (s, t) = (a as i8, b as i8);
            let signed = |value: i8| u64::from(value as u8);
            assert_eq!(int::add(S8, x, y), signed(s.wrapping_add(t)));
            assert_eq!(int::sub(U8, x, y), u64::from(a.wrapping_sub(b)));
            assert_eq!(int::add_sat(S8, x, y), signed(s.saturating_add(t)));
            assert_eq!(int::sub_sat(S8, x, y), signed(s.saturating_sub(t)));
            assert_eq!(int::add_sat(U8, x, y), u64::from(a.saturating_add(b)));
            assert_eq!(int::sub_sat(U8, x, y), u64::from(a.saturating_sub(b)));
            assert_eq!(int::mul_lo(S8, x, y), signed(s.wrapping_mul(t)));
            assert_eq!(int::mul_hi(S8, x, y), signed(((i16::from(s) * i16::from(t)) >> 8) as i8));
            assert_eq!(int::mul_hi(U8, x, y), (x * y) >> 8);
            assert_eq!(int::mul_wide(S8, x, y), ((i16::from(s) * i16::from(t)) as u16).into());
            assert_eq!(int::div(U8, x, y), a.checked_div(b).unwrap_or(255).into());
            assert_eq!(int::rem(U8, x, y), a.checked_rem(b).unwrap_or(255).into());
            assert_eq!(int::div(S8, x, y), if b == 0 { 255 } else { signed(s.wrapping_div(t)) });
            assert_eq!(int::rem(S8, x, y), if b == 0 { 255 } else { signed(s.wrapping_rem(t)) });
            assert_eq!(int::min(S8, x, y), signed(s.min(t)));
            assert_eq!(int::max(S8, x, y), signed(s.max(t)));
            assert_eq!(int::min(U8, x, y), a.min(b).into());
            assert_eq!(int::max(U8, x, y), a.max(b).into());
            assert_eq!(int::sad(S8, x, y, 7), u64::from(s.abs_diff(t).wrapping_add(7)));
            assert_eq!(int::sad(U8, x, y, 7), u64::from(a.abs_diff(b).wrapping_add(7)));
            for (cmp, unsigned, signed) in [
                (IntCmp::Eq, a == b, s == t),
                (IntCmp::Ne, a != b, s != t),
                (IntCmp::Lt, a < b, s < t),
                (IntCmp::Le, a <= b, s <= t),
                (IntCmp::Gt, a > b, s > t),
                (IntCmp::Ge, a >= b, s >= t),
            ] {
                assert_eq!(int::compare(U8, cmp, x, y), unsigned);
                assert_eq!(int::compare(S8, cmp, x, y), signed);
            }
        }
        assert_eq!(int::abs(S8, a.into()), u64::from((a as i8).unsigned_abs()));
        assert_eq!(int::neg(S8, a.into()), u64::from(a.wrapping_neg()));
    }
}

#[test]
fn wide_types_match_big_integers() {
    let mut random = Random(20);
    for ty in WIDE {
        let bits = ty.bits();
        let operands = operands(ty, &mut random, 24);
        for (&a, &b) in operands.iter().flat_map(|a| operands.iter().map(move |b| (a, b))) {
            let c = random.next() & ty.mask();
            let (x, y, z) = (number(ty, a), number(ty, b), number(ty, c));
            let product = &x * &y;
            let high: BigInt = &product >> bits;
            assert_eq!(int::add(ty, a, b), modulo(bits, &x + &y));
            assert_eq!(int::sub(ty, a, b), modulo(bits, &x - &y));
            assert_eq!(int::add_sat(ty, a, b), saturated(ty, &x + &y));
            assert_eq!(int::sub_sat(ty, a, b), saturated(ty, &x - &y));
            assert_eq!(int::mul_lo(ty, a, b), modulo(bits, product.clone()));
            assert_eq!(int::mul_hi(ty, a, b), modulo(bits, high.clone()), "{a:x} {b:x} {ty:?}");
            assert_eq!(int::mul_wide(ty, a, b), modulo((2 * bits).min(64), product.clone()));
            assert_eq!(int::mad_lo(ty, a, b, c), modulo(bits, &product + &z));
            assert_eq!(int::mad_hi(ty, a, b, c), modulo(bits, &high + &z));
            assert_eq!(int::mad_hi_sat(ty, a, b, c), saturated(ty, &high + &z));
            let wide_addend = random.next();
            assert_eq!(
                int::mad_wide(ty, a, b, wide_addend),
                modulo((2 * bits).min(64), &product + BigInt::from(wide_addend))
            );
            assert_eq!(int::sad(ty, a, b, c), modulo(bits, BigInt::from((&x - &y).magnitude().clone()) + &z));
            assert_eq!(int::min(ty, a, b), modulo(bits, x.clone().min(y.clone())));
            assert_eq!(int::max(ty, a, b), modulo(bits, x.clone().max(y.clone())));
            assert_eq!(int::compare(ty, IntCmp::Lt, a, b), x < y);
            assert_eq!(int::compare(ty, IntCmp::Ge, a, b), x >= y);
            if b == 0 {
                assert_eq!([int::div(ty, a, b), int::rem(ty, a, b)], [ty.mask(); 2]);
            } else {
                assert_eq!(int::div(ty, a, b), modulo(bits, &x / &y));
                assert_eq!(int::rem(ty, a, b), modulo(bits, &x % &y));
            }
            assert_eq!(int::abs(ty, a), modulo(bits, x.magnitude().clone().into()));
            assert_eq!(int::neg(ty, a), modulo(bits, -&x));
        }
    }
}

#[test]
fn bits_above_the_width_are_ignored() {
    let junk = 0xabcd_ef00_0000_0000;
    for ty in [U8, S8, U16, S16, U32, S32] {
        assert_eq!(int::div(ty, junk | 7, junk | 2), 3);
        assert_eq!(int::max(ty, junk | 7, junk | 2), 7);
        assert_eq!(int::mul_wide(ty, junk | 7, junk | 2), 14);
        assert_eq!(int::add_carry(ty, junk | 7, junk | 2, true), (10, false));
    }
}

#[test]
fn carries_chain_to_wider_sums() {
    let mut random = Random(21);
    for _ in 0..2000 {
        let [a, b] = [0; 2].map(|_| random.next() >> (random.next() % 64));
        let (low, carry) = int::add_carry(U32, a, b, false);
        let (high, overflow) = int::add_carry(U32, a >> 32, b >> 32, carry);
        assert_eq!((high << 32 | low, overflow), a.overflowing_add(b));
        let (low, borrow) = int::sub_borrow(U32, a, b, false);
        let (high, overflow) = int::sub_borrow(U32, a >> 32, b >> 32, borrow);
        assert_eq!((high << 32 | low, overflow), a.overflowing_sub(b));
        // The machine's subtraction: the complement and a carry in.
        let (low, carry) = int::add_carry(U32, a, !b, true);
        assert_eq!((low, carry), (int::sub(U32, a, b), !borrow_of(a, b)));
        let (sum, carries) = int::add3_carry(U32, a, b, b >> 7, 2);
        let exact = (a & U32.mask()) + (b & U32.mask()) + (b >> 7 & U32.mask()) + 2;
        assert_eq!((sum, u64::from(carries)), (exact & U32.mask(), exact >> 32));
    }
    assert_eq!(int::add_carry(U64, u64::MAX, u64::MAX, true), (u64::MAX, true));
    assert_eq!(int::sub_borrow(U64, 0, u64::MAX, true), (0, true));
}

fn borrow_of(a: u64, b: u64) -> bool {
    (a as u32) < (b as u32)
}

#[test]
fn products_of_24_bits() {
    let mut random = Random(22);
    for _ in 0..2000 {
        let [a, b] = [0; 2].map(|_| random.next() as u32);
        let unsigned = u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff);
        let signed = (i64::from((a << 8) as i32 >> 8) * i64::from((b << 8) as i32 >> 8)) as u64;
        assert_eq!(int::mul24_lo(false, a, b), unsigned as u32);
        assert_eq!(int::mul24_hi(false, a, b), (unsigned >> 16) as u32);
        assert_eq!(int::mul24_lo(true, a, b), signed as u32);
        assert_eq!(int::mul24_hi(true, a, b), (signed >> 16) as u32);
    }
}

/// Counting up visits 0 to the limit in turn, and counting down is the inverse; a value beyond the
/// limit returns into the range.
#[test]
fn counters_wrap_at_their_limit() {
    for limit in 0..=255u64 {
        let mut at = 0;
        for expected in (0..=limit).cycle().skip(1).take(2 * limit as usize + 2) {
            let before = at;
            at = int::increment(U8, at, limit);
            assert_eq!(at, expected, "after {before} of {limit}");
            assert_eq!(int::decrement(U8, at, limit), before, "before {at} of {limit}");
        }
        for beyond in limit + 1..256 {
            assert_eq!((int::increment(U8, beyond, limit), int::decrement(U8, beyond, limit)), (0, limit));
        }
    }
    assert_eq!(int::increment(U32, 0xffff_fffe, 0xffff_ffff), 0xffff_ffff);
    assert_eq!(int::increment(U32, 0xffff_ffff, 0xffff_ffff), 0);
    assert_eq!(int::decrement(U32, 0, 0xffff_ffff), 0xffff_ffff);
}
