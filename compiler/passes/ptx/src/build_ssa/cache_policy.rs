//! Cache policies: `createpolicy`, and the policy operand of accesses.
//!
//! A policy is a word of 64 bits that the program may keep and pass on. An access that follows a
//! policy names it instead of the descriptor that other accesses have. Its layout, the same on
//! sm_80 to sm_90, was found from the values that ptxas computes:
//!
//! ```text
//! bits 63:56  kind: 0x14 last, 0x12 first, 0x16 normal, 0x10 unchanged; 8 more for a range, 1 more where the rest is evicted first
//! fraction    55:52  sixteenths of the accesses less one that follow the first kind: ⌊fraction · 15.99⌋
//! range       55:52  ⌈log2 of the whole size⌉ - 19, at least 0: the size of a granule is 2^(that + 12) bytes
//!             50:44  the granule that the range begins in, modulo 128
//!             43:37  the number of granules that the first kind is for, at most 127
//! ```
//!
//! Policies are computed like any other number and fold to a constant if the operands are
//! constants:
//!
//! ```text
//! createpolicy.fractional.L2::evict_last.b64 %p, 0.5   =>   v0 = const.b64 0x1470000000000000
//! ld.global.L2::cache_hint.u32 %r, [%rd+8], %p         =>   v2 = cache_policy v0
//!                                                           v3 = cache_hint v1, v2
//!                                                           v4 = load.global.b32 [v3 + 8]
//! ```
//!
//! ptxas takes the logarithm in single precision; for sizes a little above a power of two from 2^20
//! on, its granules are half as large as these. `createpolicy.cvt` returns the access property
//! itself as the policy.

use ptxc_ir::{Access, FloatMode, IntCond, MemType, Op, Rounding, Space, Type, Value};
use ptxc_syntax::ast::Operand;

use super::form::{Form, Translated, Unsupported};
use super::memory::address;
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::Modifier;
use crate::check::table::modifiers::Eviction;

/// The bits that a range adds to its kind.
const RANGE: u32 = 0x08;
/// The bits that evicting the rest first adds to a kind.
const REST_FIRST: u32 = 0x01;
/// 15.99, which puts the fraction 1 in the last sixteenth.
const SIXTEENTHS: f32 = 15.99;

/// `createpolicy.cvt`.
pub(super) fn convert(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    if !form.take(Modifier::L2) {
        return Err(Unsupported);
    }
    let policy = t.read(form.operand(1)?, Scalar::B64)?;
    t.write(form.operand(0)?, policy)
}

/// `createpolicy.range`.
pub(super) fn of_range(t: &mut Translator, form: &mut Form) -> Translated {
    let kind = kind(form)? + RANGE;
    let high = range(t, form, kind)?;
    finish(t, form, high)
}

/// `createpolicy.fractional`.
pub(super) fn of_fraction(t: &mut Translator, form: &mut Form) -> Translated {
    let kind = kind(form)?;
    let high = fraction(t, form, kind)?;
    finish(t, form, high)
}

/// The kinds of a policy, in bits 31:24 of the upper word: for the selected accesses and for the
/// rest.
fn kind(form: &mut Form) -> Translated<u32> {
    let first = match form.choose::<Eviction>().ok_or(Unsupported)? {
        Eviction::L2EvictLast => 0x14,
        Eviction::L2EvictFirst => 0x12,
        Eviction::L2EvictNormal => 0x16,
        Eviction::L2EvictUnchanged => 0x10,
    };
    let rest = match form.choose::<Eviction>() {
        Some(Eviction::L2EvictFirst) => REST_FIRST,
        Some(Eviction::L2EvictUnchanged) | None => 0,
        Some(Eviction::L2EvictLast | Eviction::L2EvictNormal) => return Err(Unsupported),
    };
    Ok(first + rest)
}

/// Writes the policy with that upper word.
fn finish(t: &mut Translator, form: &Form, high: Value) -> Translated {
    let low = t.constant(Type::B32, 0);
    let policy = t.emit(Op::Pack, Type::B64, &[low, high]);
    t.write(form.operand(0)?, policy)
}

/// The upper word of a policy for a part of the accesses.
fn fraction(t: &mut Translator, form: &Form, kind: u32) -> Translated<Value> {
    let base = t.constant(Type::B32, u64::from(kind << 24));
    let part = match form.operands {
        [_] => t.constant(Type::F32, 1.0_f32.to_bits().into()),
        [_, part] => t.read(part, Scalar::F32)?,
        _ => return Err(Unsupported),
    };
    let scale = t.constant(Type::F32, SIXTEENTHS.to_bits().into());
    let scaled = t.emit(Op::Fmul(FloatMode::RN), Type::F32, &[part, scale]);
    let sixteenths = t.emit(Op::FloatToUint { round: Rounding::Zero, ftz: false }, Type::B32, &[scaled]);
    let field = field(t, sixteenths, 0xf, 20);
    Ok(t.emit(Op::Or, Type::B32, &[base, field]))
}

/// The upper word of a policy for a part of a range of addresses.
fn range(t: &mut Translator, form: &mut Form, kind: u32) -> Translated<Value> {
    form.expect_operands(4)?;
    let space = if form.take(Modifier::Global) { Space::Global } else { Space::Generic };
    let mut access = Access::weak(space, MemType::B8);
    let base = address(t, form.operand(1)?, &mut access)?;
    let offset = t.constant(Type::B64, i64::from(access.offset) as u64);
    let start = t.emit(Op::Iadd, Type::B64, &[base, offset]);
    let primary = t.read(form.operand(2)?, Scalar::B32)?;
    let whole = t.read(form.operand(3)?, Scalar::B32)?;

    let ty = Type::B32;
    let [zero, one, twelve] = [0, 1, 12].map(|bits| t.constant(ty, bits));
    // 32 - clz(whole - 1) - 7, in granules of 2^12 bytes at least.
    let less = t.emit(Op::Isub, ty, &[whole, one]);
    let zeros = t.emit(Op::Clz, ty, &[less]);
    let twenty_five = t.constant(ty, 25);
    let log = t.emit(Op::Isub, ty, &[twenty_five, zeros]);
    let log = t.emit(Op::Smax, ty, &[log, twelve]);
    let granule = t.emit(Op::Shl, ty, &[one, log]);
    let round_up = t.emit(Op::Isub, ty, &[granule, one]);
    let reach = t.emit(Op::Iadd, ty, &[primary, round_up]);
    let reach = t.emit(Op::Zext, Type::B64, &[reach]);
    let end = t.emit(Op::Iadd, Type::B64, &[start, reach]);
    let first = t.emit(Op::Shr, Type::B64, &[start, log]);
    let last = t.emit(Op::Shr, Type::B64, &[end, log]);
    let count = t.emit(Op::Isub, Type::B64, &[last, first]);
    let most = t.constant(Type::B64, 127);
    let count = t.emit(Op::Umin, Type::B64, &[count, most]);

    let [first, count] = [first, count].map(|wide| t.emit(Op::Trunc, ty, &[wide]));
    let exponent = t.emit(Op::Isub, ty, &[log, twelve]);
    let mut word = t.constant(ty, u64::from(kind << 24));
    for (value, mask, shift) in [(exponent, 0xf, 20), (first, 0x7f, 12), (count, 0x7f, 5)] {
        let field = field(t, value, mask, shift);
        word = t.emit(Op::Or, ty, &[word, field]);
    }
    // An empty range leaves everything unchanged.
    let unchanged = t.constant(ty, 0x1800_0000);
    let is_empty = t.emit(Op::Icmp(IntCond::Eq), ty, &[whole, zero]);
    Ok(t.emit(Op::Select, ty, &[is_empty, unchanged, word]))
}

/// `(value & mask) << shift`.
fn field(t: &mut Translator, value: Value, mask: u64, shift: u64) -> Value {
    let (mask, shift) = (t.constant(Type::B32, mask), t.constant(Type::B32, shift));
    let cut = t.emit(Op::And, Type::B32, &[value, mask]);
    t.emit(Op::Shl, Type::B32, &[cut, shift])
}

/// The address of an access whose policy is `operand`.
pub(super) fn hinted(
    t: &mut Translator,
    space: Space,
    address: Value,
    operand: &Operand,
) -> Translated<Value> {
    if !matches!(space, Space::Global | Space::Generic) {
        return Err(Unsupported);
    }
    let policy = t.read(operand, Scalar::B64)?;
    let policy = t.emit(Op::CachePolicy, Type::B64, &[policy]);
    Ok(t.emit(Op::CacheHint, Type::B64, &[address, policy]))
}
