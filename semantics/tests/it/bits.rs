//! Bit operations against models that handle one bit at a time.

use crate::oracle::Random;
use ptxc_semantics::bits::{self, Funnel, Limit, PrmtMode};
use ptxc_semantics::{IntType, S8, S16, S32, S64, U8, U16, U32, U64};

const TYPES: [IntType; 8] = [U8, S8, U16, S16, U32, S32, U64, S64];

/// The bits of a value, least first.
fn spread(ty: IntType, a: u64) -> Vec<bool> {
    (0..ty.bits()).map(|bit| a >> bit & 1 == 1).collect()
}

/// The value of bits.
fn gather(bits: impl IntoIterator<Item = bool>) -> u64 {
    bits.into_iter().enumerate().map(|(position, bit)| u64::from(bit) << position).sum()
}

/// Counts and positions worth trying: around each width and in the upper bytes.
const COUNTS: [u32; 18] = [0, 1, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 257, u32::MAX];

#[test]
fn shifts() {
    let mut random = Random(30);
    for ty in TYPES {
        for _ in 0..20 {
            let a = random.next();
            let source = spread(ty, a);
            let fill = ty.is_signed() && source[source.len() - 1];
            for count in COUNTS {
                let at = |position: i64, otherwise| match usize::try_from(position) {
                    Ok(position) => source.get(position).copied().unwrap_or(otherwise),
                    Err(_) => false,
                };
                let width = i64::from(ty.bits());
                let left = gather((0..width).map(|bit| at(bit - i64::from(count), false)));
                let right = gather((0..width).map(|bit| at(bit + i64::from(count), fill)));
                assert_eq!(bits::shl(ty, a, count), left, "{ty:?} {a:x} {count}");
                assert_eq!(bits::shr(ty, a, count), right, "{ty:?} {a:x} {count}");
            }
        }
    }
}

#[test]
fn funnel_shifts() {
    let mut random = Random(31);
    for count in COUNTS {
        let (low, high) = (random.next() as u32, random.next() as u32);
        let pair = u128::from(high) << 32 | u128::from(low);
        for (limit, limited) in [(Limit::Clamp, count.min(32)), (Limit::Wrap, count % 32)] {
            assert_eq!(bits::shf_l(low, high, count, limit), ((pair << limited) >> 32) as u32);
            assert_eq!(bits::shf_r(low, high, count, limit), (pair >> limited) as u32);
        }
        let shf = |left, ty, high_word, limit, low, high| {
            bits::shf(Funnel { left, ty, high: high_word, limit }, low, count, high)
        };
        let value = u64::from(low);
        assert_eq!(shf(true, U32, false, Limit::Clamp, low, 0), bits::shl(U32, value, count) as u32);
        assert_eq!(shf(false, U32, true, Limit::Clamp, 0, low), bits::shr(U32, value, count) as u32);
        assert_eq!(shf(false, S32, true, Limit::Clamp, 0, low), bits::shr(S32, value, count) as u32);
        assert_eq!(shf(true, U32, true, Limit::Wrap, low, high), bits::shf_l(low, high, count, Limit::Wrap));
        assert_eq!(
            shf(false, U32, false, Limit::Clamp, low, high),
            bits::shf_r(low, high, count, Limit::Clamp)
        );
        let long = u64::from(high) << 32 | value;
        assert_eq!(shf(true, U64, true, Limit::Clamp, low, high), (bits::shl(U64, long, count) >> 32) as u32);
        assert_eq!(shf(false, U64, false, Limit::Clamp, low, high), bits::shr(U64, long, count) as u32);
        assert_eq!(shf(false, S64, false, Limit::Clamp, low, high), bits::shr(S64, long, count) as u32);
        assert_eq!(
            shf(false, S64, true, Limit::Clamp, low, high),
            (bits::shr(S64, long, count) >> 32) as u32
        );
        let wrapped = (long as i64).wrapping_shr(count);
        assert_eq!(shf(false, S64, true, Limit::Wrap, low, high), (wrapped >> 32) as u32);
    }
}

#[test]
fn fields() {
    let mut random = Random(32);
    for ty in [U32, S32, U64, S64] {
        let width = ty.bits() as usize;
        for (position, length) in COUNTS.iter().flat_map(|&p| COUNTS.iter().map(move |&l| (p, l))) {
            let (a, b) = (random.next(), random.next());
            let (source, target) = (spread(ty, a), spread(ty, b));
            let (start, count) = (position as usize & 0xff, length as usize & 0xff);
            let sign = count > 0 && ty.is_signed() && source[(start + count - 1).min(width - 1)];
            let extracted = gather((0..width).map(|bit| match bit < count && start + bit < width {
                true => source[start + bit],
                false => sign,
            }));
            assert_eq!(bits::bfe(ty, a, position, length), extracted, "{ty:?} {a:x} {position} {length}");
            let inserted = gather((0..width).map(|bit| match bit >= start && bit < start + count {
                true => source[bit - start],
                false => target[bit],
            }));
            assert_eq!(bits::bfi(ty, a, b, position, length), inserted, "{ty:?} {a:x} {position} {length}");
        }
    }
}

#[test]
fn counting() {
    let mut random = Random(33);
    for ty in TYPES {
        let mut operands = vec![0, 1, u64::MAX, 1 << (ty.bits() - 1), (1 << (ty.bits() - 1)) - 1];
        operands.extend((0..100).map(|_| random.next() >> (random.next() % 64)));
        operands.extend((0..100).map(|_| (random.next() as i64 >> (random.next() % 64)) as u64));
        for a in operands {
            let source = spread(ty, a);
            assert_eq!(bits::popc(ty, a), source.iter().filter(|&&bit| bit).count() as u32);
            assert_eq!(bits::clz(ty, a), source.iter().rev().take_while(|&&bit| !bit).count() as u32);
            assert_eq!(bits::brev(ty, a), gather(source.iter().rev().copied()));
            let sign = ty.is_signed() && source[source.len() - 1];
            let found = source.iter().rposition(|&bit| bit != sign);
            assert_eq!(bits::bfind(ty, a, false), found.map_or(u32::MAX, |at| at as u32));
            assert_eq!(bits::bfind(ty, a, true), found.map_or(u32::MAX, |at| ty.bits() - 1 - at as u32));
        }
    }
}

#[test]
fn nth_set_bit() {
    let mut random = Random(34);
    for _ in 0..300 {
        let mask = random.next() as u32 & random.next() as u32;
        let ones: Vec<u32> = (0..32).filter(|bit| mask >> bit & 1 == 1).collect();
        for base in [0, 1, 13, 30, 31, 32, u32::MAX] {
            for offset in [0, 1, 2, 5, 32, i32::MAX, -1, -2, -5, -32, i32::MIN] {
                let nth = offset.unsigned_abs() as usize;
                let found = match offset {
                    0 => ones.iter().find(|&&bit| bit == base),
                    1.. => ones.iter().filter(|&&bit| bit >= base).nth(nth - 1),
                    _ => ones.iter().rev().filter(|&&bit| bit <= base).nth(nth - 1),
                };
                let expected = if base < 32 { found.copied().unwrap_or(u32::MAX) } else { u32::MAX };
                assert_eq!(bits::fns(mask, base, offset), expected, "{mask:x} {base} {offset}");
            }
        }
    }
}

#[test]
fn logic_of_three_inputs() {
    let mut random = Random(35);
    for table in 0..=255u8 {
        assert_eq!(bits::lop3(0xf0, 0xcc, 0xaa, table) as u8, table);
        let [a, b, c] = [0; 3].map(|_| random.next() as u32);
        let expected = gather((0..32).map(|bit| {
            let row = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
            table >> row & 1 == 1
        }));
        assert_eq!(u64::from(bits::lop3(a, b, c, table)), expected);
    }
}

#[test]
fn byte_permutation() {
    let (a, b) = (0x8332_2110, 0x7766_9544);
    let bytes: Vec<u8> = [a, b].iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    let mut random = Random(36);
    for _ in 0..500 {
        let selector = random.next() as u32;
        let expected = [0, 4, 8, 12].map(|shift| {
            let nibble = (selector >> shift & 15) as usize;
            let byte = bytes[nibble & 7];
            if nibble < 8 { byte } else { ((byte as i8) >> 7) as u8 }
        });
        assert_eq!(bits::prmt(PrmtMode::Index, a, b, selector), u32::from_le_bytes(expected));
    }
    // The rows of the table in the PTX ISA's page on `prmt`: source bytes, most significant first, for
    // selectors 0 to 3.
    for (mode, rows) in [
        (PrmtMode::F4e, [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]),
        (PrmtMode::B4e, [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]]),
        (PrmtMode::Rc8, [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
        (PrmtMode::Ecl, [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]]),
        (PrmtMode::Ecr, [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]]),
        (PrmtMode::Rc16, [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]]),
    ] {
        for (selector, row) in rows.iter().enumerate() {
            let expected = u32::from_be_bytes(row.map(|index: usize| bytes[index]));
            assert_eq!(bits::prmt(mode, a, b, selector as u32 | 0xfffc), expected, "{mode:?} {selector}");
        }
    }
}

#[test]
fn extension_and_masks() {
    let mut random = Random(37);
    for count in COUNTS {
        for (limit, limited) in [(Limit::Clamp, count.min(32)), (Limit::Wrap, count % 32)] {
            let a = random.next() as u32;
            let source = spread(U32, a.into());
            let sign = limited > 0 && source[limited as usize - 1];
            let extended =
                |fill| gather((0..32).map(|bit| if bit < limited { source[bit as usize] } else { fill }));
            assert_eq!(u64::from(bits::szext(false, a, count, limit)), extended(false));
            assert_eq!(u64::from(bits::szext(true, a, count, limit)), extended(sign));
            for position in COUNTS {
                let start = if limit == Limit::Clamp { position.min(32) } else { position % 32 };
                let mask = gather((0..32).map(|bit| bit >= start && bit < start + limited));
                assert_eq!(
                    u64::from(bits::bmsk(position, count, limit)),
                    mask,
                    "{position} {count} {limit:?}"
                );
            }
        }
    }
}

#[test]
fn dot_products() {
    let mut random = Random(38);
    for _ in 0..1000 {
        let [a, b, c] = [0; 3].map(|_| random.next() as u32);
        for (a_signed, b_signed) in [(false, false), (false, true), (true, false), (true, true)] {
            let byte = |signed, byte: u8| if signed { i64::from(byte as i8) } else { i64::from(byte) };
            let half =
                |signed, half: u32| if signed { i64::from(half as i16) } else { i64::from(half as u16) };
            let bytes = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
            let sum: i64 = bytes.map(|(x, y)| byte(a_signed, x) * byte(b_signed, y)).sum();
            assert_eq!(bits::dp4a(a_signed, b_signed, a, b, c), (sum as u32).wrapping_add(c));
            let b_bytes = b.to_le_bytes();
            for (high, [low_byte, high_byte]) in
                [(false, [b_bytes[0], b_bytes[1]]), (true, [b_bytes[2], b_bytes[3]])]
            {
                let sum = half(a_signed, a & 0xffff) * byte(b_signed, low_byte)
                    + half(a_signed, a >> 16) * byte(b_signed, high_byte);
                assert_eq!(bits::dp2a(a_signed, b_signed, high, a, b, c), (sum as u32).wrapping_add(c));
            }
        }
    }
    assert_eq!([bits::sel(true, 1, 2), bits::sel(false, 1, 2)], [1, 2]);
}
