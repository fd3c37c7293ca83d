//! Shifts, bit fields, counting, logic of three inputs and byte permutation.
//!
//! In: operands as bits, 32 bits wide where PTX and SASS have no other width. Out: bits, zeros above the
//! width. Constant time except for [`fns`], which looks at up to 32 bits.
//!
//! ```
//! use ptxc_semantics::{S32, U32, bits};
//! assert_eq!(bits::bfe(S32, 0x0000_0f00, 8, 4), 0xffff_ffff);
//! assert_eq!(bits::lop3(0b1100, 0b1010, 0, 0x3c) & 15, 0b0110);
//! assert_eq!(bits::shl(U32, 1, 40), 0);
//! ```

use crate::int::IntType;

/// How a shift count or position beyond the width is treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Limit {
    /// It counts as the width: `.clamp`.
    Clamp,
    /// It is taken modulo the width: `.wrap`, SASS `.W`.
    Wrap,
}

impl Limit {
    #[inline]
    const fn apply(self, count: u32, width: u32) -> u32 {
        match self {
            Limit::Wrap => count % width,
            Limit::Clamp if count > width => width,
            Limit::Clamp => count,
        }
    }
}

/// `a << count`; a count of at least the width gives 0: PTX `shl`.
#[inline]
pub const fn shl(ty: IntType, a: u64, count: u32) -> u64 {
    if count >= ty.bits() { 0 } else { (a << count) & ty.mask() }
}

/// `a >> count`, filled with the sign of a signed type or with zeros; a count of at least the width leaves
/// only the filling: PTX `shr`.
#[inline]
pub const fn shr(ty: IntType, a: u64, count: u32) -> u64 {
    ty.wrap(ty.value(a) >> Limit::Clamp.apply(count, ty.bits()))
}

/// The upper word of `high:low << count`: PTX `shf.l`.
#[inline]
pub const fn shf_l(low: u32, high: u32, count: u32, limit: Limit) -> u32 {
    ((join(low, high) << limit.apply(count, 32)) >> 32) as u32
}

/// The lower word of `high:low >> count`: PTX `shf.r`.
#[inline]
pub const fn shf_r(low: u32, high: u32, count: u32, limit: Limit) -> u32 {
    (join(low, high) >> limit.apply(count, 32)) as u32
}

/// A SASS `SHF`: which way, over which type, and which word of the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Funnel {
    /// `.L` rather than `.R`.
    pub left: bool,
    /// `.U32`, `.S32`, `.U64` or `.S64`: the width is the limit of the count, the sign fills a right shift.
    pub ty: IntType,
    /// `.HI`: the result is the upper word.
    pub high: bool,
    /// `.W` or not.
    pub limit: Limit,
}

/// SASS `SHF Rd, low, count, high`: the pair `high:low` is shifted by a count limited to the type's width,
/// and one word of the 64-bit result is kept. So `SHF.R.S32.HI Rd, RZ, n, Ra` is `shr.s32` and `SHF.L.U32 Rd,
/// Ra, n, RZ` is `shl.b32`.
#[inline]
pub const fn shf(funnel: Funnel, low: u32, count: u32, high: u32) -> u32 {
    let count = funnel.limit.apply(count, funnel.ty.bits());
    let pair = join(low, high);
    let wide = IntType::new(64, funnel.ty.is_signed());
    let shifted = if funnel.left { shl(wide, pair, count) } else { shr(wide, pair, count) };
    (if funnel.high { shifted >> 32 } else { shifted }) as u32
}

/// The 64-bit value of a register pair.
#[inline]
const fn join(low: u32, high: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

/// The field of `length` bits at `position`, extended to the width by zeros or, for a signed type, by its top
/// bit: PTX `bfe`. Only the low 8 bits of position and length count; a field that reaches past the width is
/// filled with the top bit of `a` (signed) or zeros; length 0 gives 0.
#[inline]
pub const fn bfe(ty: IntType, a: u64, position: u32, length: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    if length == 0 {
        return 0;
    }
    let shifted = shr(ty, a, position);
    if length >= ty.bits() {
        return shifted;
    }
    ty.wrap(IntType::new(length, ty.is_signed()).value(shifted))
}

/// `b` with the low `length` bits of `a` put at `position`: PTX `bfi`. Only the low 8 bits of
/// position and length count; bits that would go past the width are dropped.
#[inline]
pub const fn bfi(ty: IntType, a: u64, b: u64, position: u32, length: u32) -> u64 {
    let field = shl(ty, low_ones(length & 0xff), position & 0xff);
    (b & ty.mask() & !field) | (shl(ty, a, position & 0xff) & field)
}

/// `count` ones at the bottom; 64 or more give all.
#[inline]
const fn low_ones(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// The bits in reverse order: PTX `brev`.
#[inline]
pub const fn brev(ty: IntType, a: u64) -> u64 {
    a.reverse_bits() >> (64 - ty.bits())
}

/// The number of ones: PTX `popc`.
#[inline]
pub const fn popc(ty: IntType, a: u64) -> u32 {
    (a & ty.mask()).count_ones()
}

/// The number of zeros above the leading one; the width for 0: PTX `clz`.
#[inline]
pub const fn clz(ty: IntType, a: u64) -> u32 {
    (a & ty.mask()).leading_zeros() - (64 - ty.bits())
}

/// The position of the leading one or, in a negative number of a signed type, of the leading zero;
/// `0xffffffff` if there is none: PTX `bfind`, SASS `FLO`. With `shift_amount`, the result is
/// instead the shift that would bring that bit to the top.
#[inline]
pub const fn bfind(ty: IntType, a: u64, shift_amount: bool) -> u32 {
    let value = ty.value(a);
    let distinct = if value < 0 { !value } else { value } as u64;
    if distinct == 0 {
        return u32::MAX;
    }
    let position = 63 - distinct.leading_zeros();
    if shift_amount { ty.bits() - 1 - position } else { position }
}

/// The position of the `offset`-th one of `mask` at or above `base` (offset > 0), at or below it (offset <
/// 0), or of `base` itself if it is a one (offset 0); `0xffffffff` if there is none or `base` is not below
/// 32: PTX `fns`.
pub const fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    if base >= 32 {
        return u32::MAX;
    }
    let mut position = base as i32;
    let mut left = if offset == 0 { 1 } else { offset.unsigned_abs() };
    let last = if offset == 0 {
        base as i32
    } else if offset > 0 {
        31
    } else {
        0
    };
    loop {
        if mask >> position & 1 == 1 {
            left -= 1;
            if left == 0 {
                return position as u32;
            }
        }
        if position == last {
            return u32::MAX;
        }
        position += if offset > 0 { 1 } else { -1 };
    }
}

/// Bitwise function of two inputs: bit `2a + b` of `table` is the result for input bits `a`, `b`.
#[inline]
const fn lop2(a: u32, b: u32, table: u8) -> u32 {
    let (zero, one) = (lop1(b, table), lop1(b, table >> 2));
    zero ^ (a & (zero ^ one))
}

/// Bitwise function of one input: bit `a` of `table` is the result for input bit `a`.
#[inline]
const fn lop1(a: u32, table: u8) -> u32 {
    let (zero, one) = (0u32.wrapping_sub(table as u32 & 1), 0u32.wrapping_sub(table as u32 >> 1 & 1));
    zero ^ (a & (zero ^ one))
}

/// Bitwise function of three inputs: bit `4a + 2b + c` of `table` is the result for input bits `a`,
/// `b`, `c`: PTX `lop3`, SASS `LOP3.LUT`. The table of a function is its result for `a` = 0xf0, `b`
/// = 0xcc, `c` = 0xaa.
#[inline]
pub const fn lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    // An input of 1 chooses the upper half of the table, `a` first.
    let (zero, one) = (lop2(b, c, table), lop2(b, c, table >> 4));
    zero ^ (a & (zero ^ one))
}

/// The modes of PTX `prmt`: which byte of the eight bytes `b:a` each result byte takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum PrmtMode {
    /// One selector nibble a result byte: bits 2:0 choose the byte, bit 3 replaces it by eight copies of its
    /// sign.
    #[default]
    Index,
    /// `.f4e`: four bytes upwards from the selected one.
    F4e,
    /// `.b4e`: four bytes downwards from the selected one, modulo eight.
    B4e,
    /// `.rc8`: the selected byte of `a`, four times.
    Rc8,
    /// `.ecl`: byte `i` of `a`, or the byte at the selected position if `i` is below it.
    Ecl,
    /// `.ecr`: byte `i` of `a`, or the byte at the selected position if `i` is above it.
    Ecr,
    /// `.rc16`: the selected half of `a` (bit 0 of the selector), twice.
    Rc16,
}

/// Byte permutation: PTX `prmt.b32 d, a, b, selector`. All modes except [`PrmtMode::Index`] read
/// only selector bits 1:0.
#[inline]
pub const fn prmt(mode: PrmtMode, a: u32, b: u32, selector: u32) -> u32 {
    let pair = join(a, b);
    let chosen = selector & 3;
    let mut result = 0;
    let mut byte = 0;
    while byte < 4 {
        let source = match mode {
            PrmtMode::Index => selector >> (4 * byte) & 7,
            PrmtMode::F4e => chosen + byte,
            PrmtMode::B4e => chosen.wrapping_sub(byte) & 7,
            PrmtMode::Rc8 => chosen,
            PrmtMode::Ecl => {
                if byte > chosen {
                    byte
                } else {
                    chosen
                }
            }
            PrmtMode::Ecr => {
                if byte < chosen {
                    byte
                } else {
                    chosen
                }
            }
            PrmtMode::Rc16 => 2 * (chosen & 1) + (byte & 1),
        };
        let value = (pair >> (8 * source)) as u8;
        let copies_sign = matches!(mode, PrmtMode::Index) && selector >> (4 * byte + 3) & 1 == 1;
        let value = if copies_sign { ((value as i8) >> 7) as u8 } else { value };
        result |= (value as u32) << (8 * byte);
        byte += 1;
    }
    result
}

/// The low `length` bits of `a`, extended to 32 by zeros or (signed) by the top one of them: PTX `szext`,
/// SASS `SGXT`. Length 0 gives 0; a length of 32 or more keeps `a` (clamp) or counts modulo 32 (wrap).
#[inline]
pub const fn szext(signed: bool, a: u32, length: u32, limit: Limit) -> u32 {
    match limit.apply(length, 32) {
        0 => 0,
        length => IntType::new(length, signed).value(a as u64) as u32,
    }
}

/// `length` ones at `position`; ones that go past bit 31 are dropped: PTX `bmsk`, SASS `BMSK`. Both
/// numbers are limited to 32 (clamp) or taken modulo 32 (wrap).
#[inline]
pub const fn bmsk(position: u32, length: u32, limit: Limit) -> u32 {
    (low_ones(limit.apply(length, 32)) << limit.apply(position, 32)) as u32
}

/// `a` if `condition` holds, else `b`: PTX `selp`, SASS `SEL`.
#[inline]
pub const fn sel(condition: bool, a: u64, b: u64) -> u64 {
    if condition { a } else { b }
}

/// `c` plus the four products of the bytes of `a` and `b`, modulo 2^32: PTX `dp4a`. Each operand's bytes are
/// signed or not.
#[inline]
pub const fn dp4a(a_signed: bool, b_signed: bool, a: u32, b: u32, c: u32) -> u32 {
    let (a_type, b_type) = (IntType::new(8, a_signed), IntType::new(8, b_signed));
    let mut sum = c as i128;
    let mut byte = 0;
    while byte < 4 {
        sum += a_type.value((a >> (8 * byte)) as u64) * b_type.value((b >> (8 * byte)) as u64);
        byte += 1;
    }
    sum as u32
}

/// `c` plus the two products of the halves of `a` with the two lower (or, if `high`, upper) bytes of `b`,
/// modulo 2^32: PTX `dp2a.lo`, `dp2a.hi`.
#[inline]
pub const fn dp2a(a_signed: bool, b_signed: bool, high: bool, a: u32, b: u32, c: u32) -> u32 {
    let (a_type, b_type) = (IntType::new(16, a_signed), IntType::new(8, b_signed));
    let b = if high { b >> 16 } else { b };
    let low_product = a_type.value(a as u64) * b_type.value(b as u64);
    let high_product = a_type.value((a >> 16) as u64) * b_type.value((b >> 8) as u64);
    (c as i128 + low_product + high_product) as u32
}
