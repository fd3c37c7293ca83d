//! Integer arithmetic and comparison at any width.
//!
//! In: an [`IntType`] and operands in the low bits of a `u64` (bits above the width are ignored).
//! Out: the result in the low bits, zeros above. All results are modulo 2^width unless a function's
//! documentation says that it saturates. Constant time, no panics: division by zero and the
//! overflow of the least signed value have the results that the GPU gives.
//!
//! ```
//! use ptxc_semantics::{S8, U8, U32, int};
//! assert_eq!(int::add(U8, 200, 100), 44);
//! assert_eq!(int::add_sat(S8, 100, 100), 127);
//! assert_eq!(int::div(U32, 7, 0), 0xffff_ffff);
//! ```

/// The width and signedness of an integer operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct IntType {
    bits: u32,
    signed: bool,
}

/// 8 bits, unsigned.
pub const U8: IntType = IntType::new(8, false);
/// 16 bits, unsigned.
pub const U16: IntType = IntType::new(16, false);
/// 32 bits, unsigned.
pub const U32: IntType = IntType::new(32, false);
/// 64 bits, unsigned.
pub const U64: IntType = IntType::new(64, false);
/// 8 bits, two's complement.
pub const S8: IntType = IntType::new(8, true);
/// 16 bits, two's complement.
pub const S16: IntType = IntType::new(16, true);
/// 32 bits, two's complement.
pub const S32: IntType = IntType::new(32, true);
/// 64 bits, two's complement.
pub const S64: IntType = IntType::new(64, true);

impl IntType {
    /// The type of `bits` bits; a width outside 1 to 64 is clamped to that range.
    #[inline]
    pub const fn new(bits: u32, signed: bool) -> IntType {
        let bits = if bits == 0 {
            1
        } else if bits > 64 {
            64
        } else {
            bits
        };
        IntType { bits, signed }
    }

    /// The width, in bits.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// Whether values are in two's complement.
    #[inline]
    pub const fn is_signed(self) -> bool {
        self.signed
    }

    /// All bits of the type.
    #[inline]
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// The number that the low bits of `a` represent.
    #[inline]
    pub const fn value(self, a: u64) -> i128 {
        let unused = 64 - self.bits;
        if self.signed { (((a << unused) as i64) >> unused) as i128 } else { (a & self.mask()) as i128 }
    }

    /// The number that the low bits of `a` represent, modulo 2^64.
    #[inline]
    pub(crate) const fn extend(self, a: u64) -> u64 {
        let unused = 64 - self.bits;
        if self.signed { (((a << unused) as i64) >> unused) as u64 } else { a & self.mask() }
    }

    /// A number of 64 bits whose unsigned order is the order of the type's values.
    #[inline]
    const fn rank(self, a: u64) -> u64 {
        let sign = if self.signed { 1 << 63 } else { 0 };
        (a << (64 - self.bits)) ^ sign
    }

    /// The bits of `value` modulo 2^width.
    #[inline]
    pub const fn wrap(self, value: i128) -> u64 {
        value as u64 & self.mask()
    }

    /// The bits of the representable number nearest to `value`.
    #[inline]
    pub fn saturate(self, value: i128) -> u64 {
        self.wrap(value.clamp(self.least(), self.greatest()))
    }

    /// The least number of the type.
    #[inline]
    pub const fn least(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    /// The greatest number of the type.
    #[inline]
    pub const fn greatest(self) -> i128 {
        (1 << (self.bits - self.signed as u32)) - 1
    }

    /// The type of twice the width (at most 64 bits): the result type of `mul.wide`.
    #[inline]
    pub const fn widened(self) -> IntType {
        IntType::new(self.bits * 2, self.signed)
    }
}

/// `a + b` modulo 2^width.
#[inline]
pub const fn add(ty: IntType, a: u64, b: u64) -> u64 {
    a.wrapping_add(b) & ty.mask()
}

/// `a - b` modulo 2^width.
#[inline]
pub const fn sub(ty: IntType, a: u64, b: u64) -> u64 {
    a.wrapping_sub(b) & ty.mask()
}

/// `a + b`, limited to the range of the type: PTX `add.sat`.
#[inline]
pub fn add_sat(ty: IntType, a: u64, b: u64) -> u64 {
    ty.saturate(ty.value(a) + ty.value(b))
}

/// `a - b`, limited to the range of the type: PTX `sub.sat`.
#[inline]
pub fn sub_sat(ty: IntType, a: u64, b: u64) -> u64 {
    ty.saturate(ty.value(a) - ty.value(b))
}

/// `a + b + carry` and the carry out of the top bit: PTX `add.cc`, `addc`, SASS `IADD3` and
/// `IADD3.X`. SASS subtracts by adding `!b` with a carry in of one; the carry out is then set if
/// nothing was borrowed.
#[inline]
pub const fn add_carry(ty: IntType, a: u64, b: u64, carry: bool) -> (u64, bool) {
    let (a, b) = (a & ty.mask(), b & ty.mask());
    if ty.bits < 64 {
        let sum = a + b + carry as u64;
        return (sum & ty.mask(), sum >> ty.bits != 0);
    }
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(carry as u64);
    (sum, first | second)
}

/// `a - b - borrow` and the borrow: PTX `sub.cc`, `subc`.
#[inline]
pub const fn sub_borrow(ty: IntType, a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let difference = (a & ty.mask()) as i128 - (b & ty.mask()) as i128 - borrow as i128;
    (ty.wrap(difference), difference < 0)
}

/// `a + b + c` with the carries in, and the carry out (0, 1 or 2) that SASS `IADD3` splits over two
/// predicates.
#[inline]
pub const fn add3_carry(ty: IntType, a: u64, b: u64, c: u64, carry: u32) -> (u64, u32) {
    if ty.bits <= 32 {
        let sum = (a & ty.mask()) + (b & ty.mask()) + (c & ty.mask()) + carry as u64;
        return (sum & ty.mask(), (sum >> ty.bits) as u32);
    }
    let sum = (a & ty.mask()) as u128 + (b & ty.mask()) as u128 + (c & ty.mask()) as u128 + carry as u128;
    (sum as u64 & ty.mask(), (sum >> ty.bits) as u32)
}

/// The low half of `a * b`: PTX `mul.lo`, the same for both signednesses.
#[inline]
pub const fn mul_lo(ty: IntType, a: u64, b: u64) -> u64 {
    a.wrapping_mul(b) & ty.mask()
}

/// The high half of `a * b`: PTX `mul.hi`.
#[inline]
pub const fn mul_hi(ty: IntType, a: u64, b: u64) -> u64 {
    if ty.bits <= 32 {
        return (ty.extend(a).wrapping_mul(ty.extend(b)) >> ty.bits) & ty.mask();
    }
    ((product(ty, a, b) >> ty.bits) as u64) & ty.mask()
}

/// The whole of `a * b`, in twice the width: PTX `mul.wide`. For 64-bit operands, the low half.
#[inline]
pub const fn mul_wide(ty: IntType, a: u64, b: u64) -> u64 {
    ty.extend(a).wrapping_mul(ty.extend(b)) & ty.widened().mask()
}

/// The product modulo 2^128, which for two's complement operands includes its sign.
#[inline]
const fn product(ty: IntType, a: u64, b: u64) -> u128 {
    (ty.value(a) as u128).wrapping_mul(ty.value(b) as u128)
}

/// `a * b + c` modulo 2^width: PTX `mad.lo`.
#[inline]
pub const fn mad_lo(ty: IntType, a: u64, b: u64, c: u64) -> u64 {
    add(ty, mul_lo(ty, a, b), c)
}

/// The high half of `a * b`, plus `c`: PTX `mad.hi`.
#[inline]
pub const fn mad_hi(ty: IntType, a: u64, b: u64, c: u64) -> u64 {
    add(ty, mul_hi(ty, a, b), c)
}

/// [`mad_hi`], limited to the range of the type: PTX `mad.hi.sat.s32`.
#[inline]
pub fn mad_hi_sat(ty: IntType, a: u64, b: u64, c: u64) -> u64 {
    ty.saturate(ty.value(mul_hi(ty, a, b)) + ty.value(c))
}

/// `a * b + c` with `c` and the result of twice the width: PTX `mad.wide`.
#[inline]
pub const fn mad_wide(ty: IntType, a: u64, b: u64, c: u64) -> u64 {
    add(ty.widened(), mul_wide(ty, a, b), c)
}

/// `c + |a - b|` modulo 2^width, the difference taken exactly: PTX `sad`.
#[inline]
pub fn sad(ty: IntType, a: u64, b: u64, c: u64) -> u64 {
    ty.wrap((ty.value(a) - ty.value(b)).abs() + ty.value(c))
}

/// `a / b`, rounded towards zero. Division by zero gives all ones, in both signednesses, like the
/// sequences that ptxas emits for 32 and 64 bits (PTX does not define the result). The least signed
/// value divided by -1 is itself.
#[inline]
pub fn div(ty: IntType, a: u64, b: u64) -> u64 {
    match ty.value(b) {
        0 => ty.mask(),
        divisor => ty.wrap(ty.value(a) / divisor),
    }
}

/// `a - (a / b) * b`: the sign is that of `a`. The remainder of a division by zero is all ones, in
/// both signednesses, like the sequences that ptxas emits for 32 and 64 bits (PTX does not define
/// the result).
#[inline]
pub fn rem(ty: IntType, a: u64, b: u64) -> u64 {
    match ty.value(b) {
        0 => ty.mask(),
        divisor => ty.wrap(ty.value(a) % divisor),
    }
}

/// The smaller operand.
#[inline]
pub fn min(ty: IntType, a: u64, b: u64) -> u64 {
    (if ty.rank(a) < ty.rank(b) { a } else { b }) & ty.mask()
}

/// The larger operand.
#[inline]
pub fn max(ty: IntType, a: u64, b: u64) -> u64 {
    (if ty.rank(a) > ty.rank(b) { a } else { b }) & ty.mask()
}

/// The number after `old` when counting from 0 to `limit` and around; 0 if `old` is beyond `limit`:
/// PTX `atom.inc`.
pub const fn increment(ty: IntType, old: u64, limit: u64) -> u64 {
    let (old, limit) = (old & ty.mask(), limit & ty.mask());
    if old >= limit { 0 } else { old + 1 }
}

/// The number before `old` when counting from 0 to `limit` and around; `limit` if `old` is beyond
/// it: PTX `atom.dec`.
pub const fn decrement(ty: IntType, old: u64, limit: u64) -> u64 {
    let (old, limit) = (old & ty.mask(), limit & ty.mask());
    if old == 0 || old > limit { limit } else { old - 1 }
}

/// `|a|` modulo 2^width: the least signed value is its own absolute value.
#[inline]
pub const fn abs(ty: IntType, a: u64) -> u64 {
    let value = ty.extend(a);
    (if ty.signed { (value as i64).unsigned_abs() } else { value }) & ty.mask()
}

/// `-a` modulo 2^width.
#[inline]
pub const fn neg(ty: IntType, a: u64) -> u64 {
    sub(ty, 0, a)
}

/// The low 32 bits of the 48-bit product of the operands' low 24 bits: PTX `mul24.lo`.
#[inline]
pub const fn mul24_lo(signed: bool, a: u32, b: u32) -> u32 {
    product24(signed, a, b) as u32
}

/// Bits 47 to 16 of the product of the operands' low 24 bits: PTX `mul24.hi`.
#[inline]
pub const fn mul24_hi(signed: bool, a: u32, b: u32) -> u32 {
    (product24(signed, a, b) >> 16) as u32
}

#[inline]
const fn product24(signed: bool, a: u32, b: u32) -> u64 {
    product(IntType::new(24, signed), a as u64, b as u64) as u64
}

/// The comparisons of PTX `setp` on integers; signedness comes from the type (`lo`, `ls`, `hi`, `hs` are
/// [`Lt`], [`Le`], [`Gt`], [`Ge`] on an unsigned type).
///
/// [`Lt`]: IntCmp::Lt
/// [`Le`]: IntCmp::Le
/// [`Gt`]: IntCmp::Gt
/// [`Ge`]: IntCmp::Ge
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum IntCmp {
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
    /// `a > b`
    Gt,
    /// `a >= b`
    Ge,
}

/// Whether `a cmp b` holds.
#[inline]
pub const fn compare(ty: IntType, cmp: IntCmp, a: u64, b: u64) -> bool {
    let (a, b) = (ty.rank(a), ty.rank(b));
    match cmp {
        IntCmp::Eq => a == b,
        IntCmp::Ne => a != b,
        IntCmp::Lt => a < b,
        IntCmp::Le => a <= b,
        IntCmp::Gt => a > b,
        IntCmp::Ge => a >= b,
    }
}
