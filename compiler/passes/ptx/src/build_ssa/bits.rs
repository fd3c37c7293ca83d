//! Bit fields, positions of bits, and dot products of bytes.
//!
//! Positions and lengths of `bfe` and `bfi` count modulo 256, and may go beyond the word:
//!
//! ```text
//! bfe.s32 %r3, %r1, %r2, 5;    v4 = and.b32 v2, 0xff;  v5 = sar.b32 v1, v4;  v6 = szext.b32.signed v5, 5
//! bfi.b32 %r3, %r1, %r2, 8, 4; v4 = shl.b32 v1, 8;  v5 = and.b32 v4, 0xf00;  v6 = and.b32 v2, 0xfffff0ff
//!                              v7 = or.b32 v5, v6
//! ```

use ptxc_ir::{BytePick, IntCond, Op, Type, Value};
use ptxc_syntax::ast::OperandKind;

use super::form::{Form, Translated, Unsupported};
use super::translator::{Translator, integer};
use crate::check::scalar::Scalar;
use crate::check::table::{Modifier, modifiers};

fn count(t: &mut Translator, n: u64) -> Value {
    t.constant(Type::B32, n)
}

/// A position or length; only its low byte counts.
fn byte(t: &mut Translator, form: &Form, index: usize) -> Translated<Value> {
    let operand = form.operand(index)?;
    if let Some(expr) = operand.as_immediate() {
        let bits = integer(expr)? & 0xff;
        return Ok(count(t, bits));
    }
    let value = t.read(operand, Scalar::U32)?;
    let low = count(t, 0xff);
    Ok(t.emit(Op::And, Type::B32, &[value, low]))
}

/// Shifts the field down to bit 0, then cuts it to its length. A shift beyond the width leaves
/// zeros or copies of the sign, which is the content of the field there.
pub(super) fn extract_field(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(4)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let (start, length) = (byte(t, form, 2)?, byte(t, form, 3)?);
    let signed = scalar.is_signed();
    let shifted = t.emit(if signed { Op::Sar } else { Op::Shr }, ty, &[a, start]);
    let value = match (ty, signed) {
        (Type::B32, _) => match t.function.constant(length) {
            Some(length @ 0..32) if !signed => {
                let mask = t.constant(ty, (1 << length) - 1);
                t.emit(Op::And, ty, &[shifted, mask])
            }
            _ => t.emit(Op::Szext { signed, wrap: false }, ty, &[shifted, length]),
        },
        (_, false) => {
            let mask = low_ones(t, ty, length);
            t.emit(Op::And, ty, &[shifted, mask])
        }
        (_, true) => {
            // Shifts up to the sign and down again, by nothing if the field is wider than the word.
            let width = count(t, ty.bits().into());
            let least = t.emit(Op::Umin, Type::B32, &[length, width]);
            let by = t.emit(Op::Isub, Type::B32, &[width, least]);
            let high = t.emit(Op::Shl, ty, &[shifted, by]);
            t.emit(Op::Sar, ty, &[high, by])
        }
    };
    t.write(form.operand(0)?, value)
}

/// `length` ones in the low bits; all ones from the full width on.
fn low_ones(t: &mut Translator, ty: Type, length: Value) -> Value {
    let one = t.constant(ty, 1);
    let power = t.emit(Op::Shl, ty, &[one, length]);
    t.emit(Op::Isub, ty, &[power, one])
}

/// `(b & !mask) | (a << start & mask)`
pub(super) fn insert_field(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(5)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().ok_or(Unsupported)?;
    let a = t.read(form.operand(1)?, scalar)?;
    let b = t.read(form.operand(2)?, scalar)?;
    let (start, length) = (byte(t, form, 3)?, byte(t, form, 4)?);
    let mask = match ty {
        Type::B32 => t.emit(Op::Bmsk { wrap: false }, ty, &[start, length]),
        _ => {
            let low = low_ones(t, ty, length);
            t.emit(Op::Shl, ty, &[low, start])
        }
    };
    let outside = t.emit(Op::Not, ty, &[mask]);
    let shifted = t.emit(Op::Shl, ty, &[a, start]);
    let field = t.emit(Op::And, ty, &[shifted, mask]);
    let rest = t.emit(Op::And, ty, &[b, outside]);
    let value = t.emit(Op::Or, ty, &[field, rest]);
    t.write(form.operand(0)?, value)
}

pub(super) fn find(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    let scalar = form.ty()?;
    let ty = scalar.ir().filter(|_| scalar.is_number()).ok_or(Unsupported)?;
    let shift = form.take(Modifier::Shiftamt);
    let a = t.read(form.operand(1)?, scalar)?;
    let value = t.emit(Op::Bfind { signed: scalar.is_signed(), shift }, ty, &[a]);
    t.write(form.operand(0)?, value)
}

/// `.wrap`, or `.clamp`.
fn wraps(form: &mut Form) -> Translated<bool> {
    let limit = form.choose::<modifiers::Limit>().ok_or(Unsupported)?;
    Ok(limit == modifiers::Limit::Wrap)
}

pub(super) fn mask(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(3)?;
    let wrap = wraps(form)?;
    if form.ty()? != Scalar::B32 {
        return Err(Unsupported);
    }
    let a = t.read(form.operand(1)?, Scalar::U32)?;
    let b = t.read(form.operand(2)?, Scalar::U32)?;
    let value = t.emit(Op::Bmsk { wrap }, Type::B32, &[a, b]);
    t.write(form.operand(0)?, value)
}

pub(super) fn extend(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(3)?;
    let wrap = wraps(form)?;
    let scalar = form.ty()?;
    if scalar.bits() != 32 || !scalar.is_number() {
        return Err(Unsupported);
    }
    let a = t.read(form.operand(1)?, scalar)?;
    let length = t.read(form.operand(2)?, Scalar::U32)?;
    let value = t.emit(Op::Szext { signed: scalar.is_signed(), wrap }, Type::B32, &[a, length]);
    t.write(form.operand(0)?, value)
}

/// The position of the `n`-th one of a mask from a position up, or down for negative `n`; for `n` =
/// 0 the position itself if it holds a one.
///
/// The ones before the position are cleared; to search downwards, the mask is reversed. Then the
/// position is found by halving: if the lower half of the remaining range has fewer than `n` ones,
/// the `n`-th one is in the upper half.
pub(super) fn nth_set(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(4)?;
    if form.ty()? != Scalar::B32 {
        return Err(Unsupported);
    }
    let mask = t.read(form.operand(1)?, Scalar::B32)?;
    let base = t.read(form.operand(2)?, Scalar::B32)?;
    let offset = t.read(form.operand(3)?, Scalar::B32)?;
    let ty = Type::B32;
    let (zero, one, all) = (count(t, 0), count(t, 1), count(t, u32::MAX.into()));
    let down = t.emit(Op::Icmp(IntCond::Slt), ty, &[offset, zero]);
    let here = t.emit(Op::Icmp(IntCond::Eq), ty, &[offset, zero]);
    let reversed = t.emit(Op::Brev, ty, &[mask]);
    let mask = t.emit(Op::Select, ty, &[down, reversed, mask]);
    let last = count(t, 31);
    let mirrored = t.emit(Op::Isub, ty, &[last, base]);
    let start = t.emit(Op::Select, ty, &[down, mirrored, base]);
    let above = t.emit(Op::Shl, ty, &[all, start]);
    let single = t.emit(Op::Shl, ty, &[one, start]);
    let range = t.emit(Op::Select, ty, &[here, single, above]);
    let mask = t.emit(Op::And, ty, &[mask, range]);
    let size = t.emit(Op::Iabs, ty, &[offset]);
    let wanted = t.emit(Op::Select, ty, &[here, one, size]);
    let present = t.emit(Op::Popc, ty, &[mask]);
    // The least negative number is its own magnitude when read without sign.
    let enough = t.emit(Op::Icmp(IntCond::Uge), ty, &[present, wanted]);
    let inside = t.emit(Op::Icmp(IntCond::Ule), ty, &[base, last]);
    let exists = t.emit(Op::And, Type::Pred, &[enough, inside]);
    let (mut rest, mut left, mut position) = (mask, wanted, zero);
    for step in [16, 8, 4, 2, 1] {
        let lower = t.constant(ty, (1 << step) - 1);
        let half = t.emit(Op::And, ty, &[rest, lower]);
        let ones = t.emit(Op::Popc, ty, &[half]);
        let beyond = t.emit(Op::Icmp(IntCond::Ult), ty, &[ones, left]);
        let by = count(t, step);
        let upper = t.emit(Op::Shr, ty, &[rest, by]);
        rest = t.emit(Op::Select, ty, &[beyond, upper, rest]);
        let fewer = t.emit(Op::Isub, ty, &[left, ones]);
        left = t.emit(Op::Select, ty, &[beyond, fewer, left]);
        let moved = t.emit(Op::Iadd, ty, &[position, by]);
        position = t.emit(Op::Select, ty, &[beyond, moved, position]);
    }
    let mirrored = t.emit(Op::Isub, ty, &[last, position]);
    let position = t.emit(Op::Select, ty, &[down, mirrored, position]);
    let value = t.emit(Op::Select, ty, &[exists, position, all]);
    t.write(form.operand(0)?, value)
}

pub(super) fn permute(t: &mut Translator, form: &mut Form) -> Translated {
    let pick = form.choose::<modifiers::Pick>().map_or(BytePick::Index, BytePick::from);
    words(t, form, Op::Prmt(pick))
}

/// An operation on three words.
fn words(t: &mut Translator, form: &mut Form, op: Op) -> Translated {
    form.expect_operands(4)?;
    if form.types.iter().any(|ty| ty.bits() != 32 || !ty.is_int()) {
        return Err(Unsupported);
    }
    let mut args = [None; 3];
    for (index, arg) in args.iter_mut().enumerate() {
        *arg = Some(t.read(form.operand(index + 1)?, Scalar::B32)?);
    }
    let args: smallvec::SmallVec<[Value; 3]> = args.into_iter().flatten().collect();
    let value = t.emit(op, Type::B32, &args);
    t.write(form.operand(0)?, value)
}

/// The logic function of three words; with `.or` or `.and` also whether the result is nonzero,
/// joined with a predicate.
pub(super) fn logic(t: &mut Translator, form: &mut Form) -> Translated {
    let join = form.choose::<modifiers::Join>().map(Op::from);
    form.expect_operands(if join.is_some() { 6 } else { 5 })?;
    if form.ty()? != Scalar::B32 {
        return Err(Unsupported);
    }
    let a = t.read(form.operand(1)?, Scalar::B32)?;
    let b = t.read(form.operand(2)?, Scalar::B32)?;
    let c = t.read(form.operand(3)?, Scalar::B32)?;
    let table = integer(form.operand(4)?.as_immediate().ok_or(Unsupported)?)?;
    let table = u8::try_from(table).map_err(|_| Unsupported)?;
    let value = t.emit(Op::Lop3 { table }, Type::B32, &[a, b, c]);
    let Some(join) = join else { return t.write(form.operand(0)?, value) };
    let other = t.read(form.operand(5)?, Scalar::Pred)?;
    let zero = count(t, 0);
    let any = t.emit(Op::Icmp(IntCond::Ne), Type::B32, &[value, zero]);
    let holds = t.emit(join, Type::Pred, &[any, other]);
    match &form.operand(0)?.kind {
        OperandKind::Pair(pair) => {
            t.write(&pair.0, value)?;
            t.write(&pair.1, holds)
        }
        _ => Err(Unsupported),
    }
}

/// Whether the factors of a dot product are signed.
fn signs(form: &Form) -> Translated<(bool, bool)> {
    let &[a, b] = form.types else { return Err(Unsupported) };
    Ok((a.is_signed(), b.is_signed()))
}

/// Four products of bytes.
pub(super) fn dot_product_4(t: &mut Translator, form: &mut Form) -> Translated {
    let (a, b) = signs(form)?;
    words(t, form, Op::Dp4a { a_signed: a, b_signed: b })
}

/// Two products of a half and a byte of the low or high half.
pub(super) fn dot_product_2(t: &mut Translator, form: &mut Form) -> Translated {
    let (a, b) = signs(form)?;
    let high = match form.choose::<modifiers::Half>() {
        Some(modifiers::Half::Hi) => true,
        Some(modifiers::Half::Lo) => false,
        Some(modifiers::Half::Wide) | None => return Err(Unsupported),
    };
    words(t, form, Op::Dp2a { a_signed: a, b_signed: b, high })
}
