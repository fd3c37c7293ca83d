//! Conversions between widths, types and address spaces.

use ptxc_ir::{BytePick, Op, Space, Type, Value};
use smallvec::SmallVec;

use super::{Folder, Rewrite, Target, value_of};
use crate::simplify::evaluate::ones;

pub(super) fn rule(folder: &mut Folder<'_>, op: &Op, ty: Type, args: &[Value]) -> Option<Rewrite> {
    match (op, args) {
        (Op::Zext | Op::Sext, &[a]) => extend(folder, *op, ty, a),
        (Op::Trunc, &[a]) => truncate(folder, ty, a),
        (Op::Bitcast, &[a]) => {
            if folder.func.ty(a) == ty {
                return Some(value_of(a));
            }
            let [inner] = folder.args_of(a, Op::Bitcast)?;
            Some(Rewrite::Op(Op::Bitcast, ty, [inner].as_slice().into()))
        }
        (Op::Pack, &[low, high]) => pack(folder, ty, low, high),
        (Op::Unpack, &[a]) => {
            let halves = match folder.args_of(a, Op::Pack) {
                Some([low, high]) => [low, high],
                None => {
                    let bits = folder.constant(a)?;
                    let half = Type::int(ty.bits() / 2)?;
                    [folder.emit_constant(half, bits), folder.emit_constant(half, bits >> half.bits())]
                }
            };
            Some(Rewrite::Values(SmallVec::from_slice(&halves)))
        }
        // A global address equals its generic address.
        (Op::ToGeneric(Space::Global) | Op::FromGeneric(Space::Global), &[a]) => Some(value_of(a)),
        (Op::FromGeneric(space), &[a]) => {
            let [inner] = folder.args_of(a, Op::ToGeneric(*space))?;
            Some(value_of(inner))
        }
        (Op::ToGeneric(space), &[a]) => {
            let [inner] = folder.args_of(a, Op::FromGeneric(*space))?;
            Some(value_of(inner))
        }
        _ => None,
    }
}

fn extend(folder: &mut Folder<'_>, op: Op, ty: Type, a: Value) -> Option<Rewrite> {
    let narrow = folder.func.ty(a);
    let (inner_op, _, inner_args) = folder.def(a)?;
    match (op, inner_op, inner_args) {
        // Never negative: extend with zeros, so that the result can be merged and masked further.
        (Op::Sext, _, _) if folder.possible_bits(a) >> (narrow.bits() - 1) == 0 => {
            folder.op(Op::Zext, ty, &[a])
        }
        (Op::Zext, Op::Zext, &[inner]) | (Op::Sext, Op::Sext | Op::Zext, &[inner]) => {
            let op = if inner_op == Op::Zext { Op::Zext } else { op };
            let same = op == inner_op || folder.may_make(&op, ty);
            same.then(|| Rewrite::Op(op, ty, [inner].as_slice().into()))
        }
        (Op::Zext, Op::Trunc, &[inner]) if folder.func.ty(inner).bits() <= 64 => {
            let possible = folder.possible_bits(inner);
            let from = folder.func.ty(inner);
            if possible & !ones(narrow) == 0 {
                return resize(folder, inner, ty);
            }
            // The mask stays in the width of the source: a 64-bit mask is never cheaper.
            if from != ty || folder.target == Target::Legal && ty != Type::B32 {
                return None;
            }
            let mask = folder.emit_constant(ty, ones(narrow));
            folder.op(Op::And, ty, &[inner, mask])
        }
        _ => None,
    }
}

/// A value that is zero above the narrower of both widths, in another width.
fn resize(folder: &Folder<'_>, value: Value, ty: Type) -> Option<Rewrite> {
    let from = folder.func.ty(value);
    match from.bits().cmp(&ty.bits()) {
        std::cmp::Ordering::Equal => Some(value_of(value)),
        std::cmp::Ordering::Less => folder.op(Op::Zext, ty, &[value]),
        std::cmp::Ordering::Greater => folder.op(Op::Trunc, ty, &[value]),
    }
}

fn truncate(folder: &mut Folder<'_>, ty: Type, a: Value) -> Option<Rewrite> {
    let (op, _, args) = folder.def(a)?;
    match (op, args) {
        (Op::Trunc, &[inner]) => Some(Rewrite::Op(Op::Trunc, ty, [inner].as_slice().into())),
        (Op::Zext | Op::Sext, &[inner]) => {
            let from = folder.func.ty(inner);
            if from == ty {
                return Some(value_of(inner));
            }
            let op = if from.bits() > ty.bits() { Op::Trunc } else { op };
            folder.op(op, ty, &[inner])
        }
        (Op::Pack, &[low, _]) => {
            let half = folder.func.ty(low);
            match half.bits().cmp(&ty.bits()) {
                std::cmp::Ordering::Equal => Some(value_of(low)),
                std::cmp::Ordering::Greater => folder.op(Op::Trunc, ty, &[low]),
                std::cmp::Ordering::Less => None,
            }
        }
        // The bits that the mask clears are cut off anyway.
        (Op::And, &[inner, mask])
            if folder.constant(mask).is_some_and(|mask| mask & ones(ty) == ones(ty)) =>
        {
            Some(Rewrite::Op(Op::Trunc, ty, [inner].as_slice().into()))
        }
        _ => None,
    }
}

/// Both halves of one value, joined again.
fn pack(folder: &Folder<'_>, ty: Type, low: Value, high: Value) -> Option<Rewrite> {
    if let (Some((whole, false)), Some((other, true))) = (half_of(folder, low), half_of(folder, high))
        && whole == other
        && ty.bits() == 32
    {
        return if ty == Type::B32 { Some(value_of(whole)) } else { folder.op(Op::Bitcast, ty, &[whole]) };
    }
    let (first, second) = (folder.result_number(low)?, folder.result_number(high)?);
    if first.0 != second.0 || (first.1, second.1) != (0, 1) {
        return None;
    }
    let (Op::Unpack, from, &[whole]) = folder.def(low)? else { return None };
    if from == ty { Some(value_of(whole)) } else { folder.op(Op::Bitcast, ty, &[whole]) }
}

/// The 32-bit word that a half belongs to, and whether the half is the upper one. Recognizes the
/// result of `unpack` and the operations that halves in memory become.
fn half_of(folder: &Folder<'_>, half: Value) -> Option<(Value, bool)> {
    let (Op::Trunc, _, &[word]) = folder.def(half)? else { return None };
    if folder.func.ty(word) != Type::B32 {
        return None;
    }
    Some(match folder.def(word) {
        Some((Op::Shr, _, &[whole, count])) if folder.constant(count) == Some(16) => (whole, true),
        Some((Op::Prmt(BytePick::Index), _, &[whole, _, bytes])) => match folder.constant(bytes)? & 0xff {
            0x10 => (whole, false),
            0x32 => (whole, true),
            _ => return None,
        },
        _ => (word, false),
    })
}
