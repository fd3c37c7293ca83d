//! Sums, products and shifts.

use ptxc_ir::{Op, Type, Value};
use smallvec::SmallVec;

use super::{Folder, Rewrite, value_of};
use crate::simplify::evaluate::{evaluate, ones};

pub(super) fn rule(folder: &mut Folder<'_>, op: &Op, ty: Type, args: &[Value]) -> Option<Rewrite> {
    match (op, args) {
        (Op::Iadd | Op::Imul | Op::And | Op::Or | Op::Xor, &[a, b]) => reassociate(folder, op, ty, a, b)
            .or_else(|| match op {
                Op::Iadd => add(folder, ty, a, b),
                Op::Imul => multiply(folder, ty, a, b),
                _ => None,
            }),
        (Op::Isub, &[a, b]) => subtract(folder, ty, a, b),
        (Op::Ineg, &[a]) => {
            if let Some([inner]) = folder.args_of(a, Op::Ineg) {
                return Some(value_of(inner));
            }
            let [x, y] = folder.args_of(a, Op::Isub)?;
            folder.op(Op::Isub, ty, &[y, x])
        }
        (Op::Shl | Op::Shr | Op::Sar, &[a, count]) => shift(folder, *op, ty, a, count),
        (Op::Smin | Op::Smax | Op::Umin | Op::Umax, &[a, b]) if a == b => Some(value_of(a)),
        (Op::Umin, &[_, b]) if folder.constant(b) == Some(0) => Some(Rewrite::Constant(0)),
        (Op::Umax, &[a, b]) if folder.constant(b) == Some(0) => Some(value_of(a)),
        (Op::IaddCarryIn, &[a, b, carry]) if folder.constant(carry) == Some(0) => {
            Some(Rewrite::Op(Op::Iadd, ty, SmallVec::from_slice(&[a, b])))
        }
        (Op::IaddCarryOut, &[a, b]) if folder.constant(b) == Some(0) => {
            let none = folder.emit_constant(Type::Pred, 0);
            Some(Rewrite::Values(SmallVec::from_slice(&[a, none])))
        }
        (Op::UmulWide | Op::SmulWide, &[_, b]) if folder.constant(b) == Some(0) => Some(Rewrite::Constant(0)),
        _ => None,
    }
}

/// The folder, if it may emit an operation.
fn may<'a, 'f>(folder: &'a mut Folder<'f>, op: Op, ty: Type) -> Option<&'a mut Folder<'f>> {
    folder.may_make(&op, ty).then_some(folder)
}

/// `(a op c1) op c2` is `a op (c1 op c2)`.
fn reassociate(folder: &mut Folder<'_>, op: &Op, ty: Type, a: Value, b: Value) -> Option<Rewrite> {
    let second = folder.constant(b)?;
    let [inner, c] = folder.args_of(a, *op)?;
    let first = folder.constant(c)?;
    let both = evaluate(op, ty, &[(ty, first), (ty, second)])?;
    let both = folder.emit_constant(ty, both);
    Some(Rewrite::Op(*op, ty, SmallVec::from_slice(&[inner, both])))
}

fn add(folder: &mut Folder<'_>, ty: Type, a: Value, b: Value) -> Option<Rewrite> {
    if folder.constant(b) == Some(0) {
        return Some(value_of(a));
    }
    for (x, y) in [(a, b), (b, a)] {
        if let Some([negated]) = folder.args_of(y, Op::Ineg) {
            return folder.op(Op::Isub, ty, &[x, negated]);
        }
        // (p - q) + q
        if let Some([p, q]) = folder.args_of(x, Op::Isub)
            && q == y
        {
            return Some(value_of(p));
        }
    }
    None
}

fn subtract(folder: &mut Folder<'_>, ty: Type, a: Value, b: Value) -> Option<Rewrite> {
    if a == b {
        return Some(Rewrite::Constant(0));
    }
    if let Some(bits) = folder.constant(b) {
        if bits == 0 {
            return Some(value_of(a));
        }
        let negative = may(folder, Op::Iadd, ty)?.emit_constant(ty, bits.wrapping_neg());
        return folder.op(Op::Iadd, ty, &[a, negative]);
    }
    if folder.constant(a) == Some(0) {
        return folder.op(Op::Ineg, ty, &[b]);
    }
    if let Some([negated]) = folder.args_of(b, Op::Ineg) {
        return folder.op(Op::Iadd, ty, &[a, negated]);
    }
    // (p + q) - p
    let [p, q] = folder.args_of(a, Op::Iadd)?;
    match b {
        _ if p == b => Some(value_of(q)),
        _ if q == b => Some(value_of(p)),
        _ => None,
    }
}

fn multiply(folder: &mut Folder<'_>, ty: Type, a: Value, b: Value) -> Option<Rewrite> {
    match folder.constant(b)? {
        0 => Some(Rewrite::Constant(0)),
        1 => Some(value_of(a)),
        bits if bits == ones(ty) => folder.op(Op::Ineg, ty, &[a]),
        bits if bits.is_power_of_two() => {
            let count = may(folder, Op::Shl, ty)?.emit_constant(Type::B32, bits.trailing_zeros().into());
            folder.op(Op::Shl, ty, &[a, count])
        }
        _ => None,
    }
}

fn shift(folder: &mut Folder<'_>, op: Op, ty: Type, a: Value, count: Value) -> Option<Rewrite> {
    let width = u64::from(ty.bits());
    let by = folder.constant(count)?;
    if by == 0 {
        return Some(value_of(a));
    }
    if by >= width {
        if op != Op::Sar {
            return Some(Rewrite::Constant(0));
        }
        // A shift by more leaves the sign in all bits, as this one does.
        if by > width - 1 {
            let most = folder.emit_constant(Type::B32, width - 1);
            return Some(Rewrite::Op(op, ty, SmallVec::from_slice(&[a, most])));
        }
    }
    if let Some([inner, first]) = folder.args_of(a, op)
        && let Some(first) = folder.constant(first)
    {
        let both = folder.emit_constant(Type::B32, (first + by).min(width));
        return Some(Rewrite::Op(op, ty, SmallVec::from_slice(&[inner, both])));
    }
    if let (Op::Shl, Type::B64) = (op, ty)
        && let Some(rewrite) = scaled(folder, a, by)
    {
        return Some(rewrite);
    }
    // Shifted back and forth by the same count: a mask.
    let (back, mask) = match op {
        Op::Shl => (Op::Shr, ones(ty) << by),
        Op::Shr => (Op::Shl, ones(ty) >> by),
        _ => return None,
    };
    let [inner, first] = folder.args_of(a, back)?;
    if folder.constant(first) != Some(by) {
        return None;
    }
    let mask = may(folder, Op::And, ty)?.emit_constant(ty, mask);
    folder.op(Op::And, ty, &[inner, mask])
}

/// An extended 32-bit value times a power of two is one widening product, which the target adds to
/// an address in the same instruction. For a sum of two such values each one is scaled separately,
/// so the part that a loop does not change can be hoisted.
fn scaled(folder: &mut Folder<'_>, a: Value, by: u64) -> Option<Rewrite> {
    let ty = Type::B64;
    if !folder.may_make(&Op::Iadd, ty) {
        return None;
    }
    if let Some((wide, inner)) = extended(folder, a, by) {
        let factor = folder.emit_constant(Type::B32, 1 << by);
        return Some(Rewrite::Op(wide, Type::B32, SmallVec::from_slice(&[inner, factor])));
    }
    let [x, y] = folder.args_of(a, Op::Iadd).filter(|_| folder.single_use(a))?;
    let (first, second) = (extended(folder, x, by)?, extended(folder, y, by)?);
    let factor = folder.emit_constant(Type::B32, 1 << by);
    let [x, y] = [first, second].map(|(wide, inner)| folder.emit(wide, Type::B32, &[inner, factor]));
    folder.op(Op::Iadd, ty, &[x, y])
}

/// The 32-bit value that an extension widens, and the product that scales it by `2^by`.
fn extended(folder: &Folder<'_>, value: Value, by: u64) -> Option<(Op, Value)> {
    let (op, _, args) = folder.def(value)?;
    let (&[inner], true) = (args, by < 31) else { return None };
    let wide = match op {
        Op::Sext => Op::SmulWide,
        Op::Zext => Op::UmulWide,
        _ => return None,
    };
    (folder.func.ty(inner) == Type::B32).then_some((wide, inner))
}
