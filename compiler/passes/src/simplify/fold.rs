//! Folding: constants, identities, comparisons.
//!
//! Each instruction is looked at once a sweep, in layout order, with what is known of its arguments by
//! then; a rule answers with a constant, with one of the values at hand, or with a cheaper operation.
//! Nothing here changes a result in any bit: float identities that fail for NaN, signed zeros or
//! subnormals are not used.

use ptxc_ir::{Function, Inst, IntCond, Op, Space, Type, Value};

use super::constants::{compare, evaluate};
use super::rewriter::{Rewriter, mask};
use super::significant::significant_bits;

/// Folds everywhere, once; whether anything changed.
pub fn fold(func: &mut Function) -> bool {
    Rewriter::sweep(func, |rewriter, inst| {
        if rewriter.func.results(inst).len() == 1 && !fold_constant(rewriter, inst) {
            let data = &rewriter.func.insts[inst];
            let (op, ty) = (data.op, data.ty);
            let args = data.args.clone();
            match args.as_slice() {
                &[a] => unary(rewriter, inst, op, ty, a),
                &[a, b] => binary(rewriter, inst, op, ty, a, b),
                &[a, b, c] if op == Op::Select => select(rewriter, inst, ty, a, b, c),
                _ => {}
            }
        }
        branch_on_not(rewriter, inst);
    })
}

fn fold_constant(rewriter: &mut Rewriter<'_>, inst: Inst) -> bool {
    let data = &rewriter.func.insts[inst];
    if data.args.is_empty() || !data.op.effects().is_pure() {
        return false;
    }
    let mut types = smallvec::SmallVec::<[Type; 4]>::new();
    let mut bits = smallvec::SmallVec::<[u64; 4]>::new();
    for &arg in &data.args {
        let Some(constant) = rewriter.func.constant(arg) else { return false };
        types.push(rewriter.func.ty(arg));
        bits.push(constant);
    }
    let Some(result) = evaluate(data.op, data.ty, &types, &bits) else { return false };
    rewriter.become_constant(inst, result);
    true
}

fn rename_to(rewriter: &mut Rewriter<'_>, inst: Inst, by: Value) {
    let result = rewriter.func.result(inst);
    rewriter.rename(result, by);
}

fn unary(rewriter: &mut Rewriter<'_>, inst: Inst, op: Op, ty: Type, a: Value) {
    let from = rewriter.func.ty(a);
    match (op, rewriter.def(a)) {
        (Op::Bitcast, _) if from == ty => rename_to(rewriter, inst, a),
        (Op::Bitcast, Some((Op::Bitcast, _, [Some(inner), ..]))) => {
            if rewriter.func.ty(inner) == ty {
                rename_to(rewriter, inst, inner);
            } else {
                rewriter.become_op(inst, Op::Bitcast, ty, &[inner]);
            }
        }
        (Op::Not, Some((Op::Not, _, [Some(inner), ..]))) => rename_to(rewriter, inst, inner),
        (Op::Not, Some((Op::Icmp(cond), compared, [Some(x), Some(y), _]))) => {
            rewriter.become_op(inst, Op::Icmp(cond.negate()), compared, &[x, y]);
        }
        (Op::Ineg, Some((Op::Ineg, _, [Some(inner), ..]))) => rename_to(rewriter, inst, inner),
        (Op::Zext | Op::Sext | Op::Trunc, _) if from == ty => rename_to(rewriter, inst, a),
        (Op::Trunc, Some((Op::Zext | Op::Sext | Op::Trunc, _, [Some(inner), ..]))) => {
            let bits = rewriter.func.ty(inner).bits();
            if bits == ty.bits() {
                rename_to(rewriter, inst, inner);
            } else if bits > ty.bits() {
                rewriter.become_op(inst, Op::Trunc, ty, &[inner]);
            }
        }
        (Op::Zext, Some((Op::Zext, _, [Some(inner), ..]))) => {
            rewriter.become_op(inst, Op::Zext, ty, &[inner]);
        }
        (Op::Zext, Some((Op::Trunc, _, [Some(inner), ..]))) if rewriter.func.ty(inner) == ty => {
            let bits = rewriter.constant(inst, ty, mask(from));
            rewriter.become_op(inst, Op::And, ty, &[inner, bits]);
        }
        (Op::Sext, _) if significant_bits(rewriter, a) < from.bits() => {
            rewriter.become_op(inst, Op::Zext, ty, &[a]);
        }
        // A global address is the generic address of the same byte.
        (Op::ToGeneric(Space::Global) | Op::FromGeneric(Space::Global), _) => rename_to(rewriter, inst, a),
        _ => {}
    }
}

fn is_commutative(op: Op) -> bool {
    matches!(
        op,
        Op::Iadd
            | Op::Imul
            | Op::Umulh
            | Op::Smulh
            | Op::UmulWide
            | Op::SmulWide
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Smin
            | Op::Smax
            | Op::Umin
            | Op::Umax
    )
}

fn binary(rewriter: &mut Rewriter<'_>, inst: Inst, op: Op, ty: Type, a: Value, b: Value) {
    if let (Some(_), None) = (rewriter.func.constant(a), rewriter.func.constant(b)) {
        // Constants stand on the right.
        if is_commutative(op) {
            return rewriter.become_op(inst, op, ty, &[b, a]);
        }
        if let Op::Icmp(cond) = op {
            return rewriter.become_op(inst, Op::Icmp(cond.swap()), ty, &[b, a]);
        }
    }
    if let Op::Icmp(cond) = op {
        return comparison(rewriter, inst, cond, ty, a, b);
    }
    if a == b {
        match op {
            Op::And | Op::Or | Op::Smin | Op::Smax | Op::Umin | Op::Umax => return rename_to(rewriter, inst, a),
            Op::Xor | Op::Isub => return rewriter.become_constant(inst, 0),
            _ => {}
        }
    }
    if let Some(constant) = rewriter.func.constant(b) {
        with_constant(rewriter, inst, op, ty, a, constant);
    }
}

/// `a op constant`.
fn with_constant(rewriter: &mut Rewriter<'_>, inst: Inst, op: Op, ty: Type, a: Value, constant: u64) {
    let ones = mask(ty);
    match (op, constant) {
        (Op::Iadd | Op::Isub | Op::Or | Op::Xor | Op::Shl | Op::Shr | Op::Sar, 0) => {
            return rename_to(rewriter, inst, a);
        }
        (Op::Imul | Op::And, 0) => return rewriter.become_constant(inst, 0),
        (Op::Imul, 1) => return rename_to(rewriter, inst, a),
        (Op::And, _) if constant == ones => return rename_to(rewriter, inst, a),
        (Op::Or, _) if constant == ones => return rewriter.become_constant(inst, ones),
        (Op::Xor, _) if constant == ones => return rewriter.become_op(inst, Op::Not, ty, &[a]),
        (Op::Shl | Op::Shr, count) if count >= u64::from(ty.bits()) => return rewriter.become_constant(inst, 0),
        (Op::Isub, _) => {
            let negated = rewriter.constant(inst, ty, constant.wrapping_neg());
            return rewriter.become_op(inst, Op::Iadd, ty, &[a, negated]);
        }
        (Op::Imul, _) if constant.is_power_of_two() => {
            let count = rewriter.constant(inst, Type::B32, u64::from(constant.trailing_zeros()));
            return rewriter.become_op(inst, Op::Shl, ty, &[a, count]);
        }
        (Op::And, _) if constant.count_ones() == constant.trailing_ones() => {
            // The mask keeps every bit that may be set.
            if significant_bits(rewriter, a) <= constant.trailing_ones() {
                return rename_to(rewriter, inst, a);
            }
        }
        _ => {}
    }
    let Some((inner_op, inner_ty, [Some(x), y, _])) = rewriter.def(a) else { return };
    let inner_constant = y.and_then(|y| rewriter.func.constant(y));
    match (op, inner_op, inner_constant) {
        // (x + c) + d, (x & c) & d, …
        (Op::Iadd, Op::Iadd, Some(inner)) => {
            let sum = rewriter.constant(inst, ty, inner.wrapping_add(constant));
            rewriter.become_op(inst, Op::Iadd, ty, &[x, sum]);
        }
        (Op::And, Op::And, Some(inner)) if ty != Type::Pred => {
            let both = rewriter.constant(inst, ty, inner & constant);
            rewriter.become_op(inst, Op::And, ty, &[x, both]);
        }
        (Op::Shl, Op::Shl, Some(inner)) => {
            let count = rewriter.constant(inst, Type::B32, (inner + constant).min(u64::from(u32::MAX)));
            rewriter.become_op(inst, Op::Shl, ty, &[x, count]);
        }
        // A mask of a truncated value is a truncated mask: the wider type has the cheaper instructions.
        (Op::And, Op::Trunc, None) if ty != Type::Pred && inner_ty == ty => {
            let wide = rewriter.func.ty(x);
            if wide.bits() <= 32 {
                let bits = rewriter.constant(inst, wide, constant);
                let masked = rewriter.emit(inst, Op::And, wide, &[x, bits]);
                rewriter.become_op(inst, Op::Trunc, ty, &[masked]);
            }
        }
        _ => {}
    }
}

fn comparison(rewriter: &mut Rewriter<'_>, inst: Inst, cond: IntCond, ty: Type, a: Value, b: Value) {
    if a == b {
        return rewriter.become_constant(inst, u64::from(compare(cond, ty, 0, 0)));
    }
    let Some(constant) = rewriter.func.constant(b) else { return };
    let definition = rewriter.def(a);
    // Where a predicate was spread over a register, compare the predicate: `(p ? x : y) cond constant`.
    if let Some((Op::Select, _, [Some(pred), Some(x), Some(y)])) = definition
        && let (Some(x), Some(y)) = (rewriter.func.constant(x), rewriter.func.constant(y))
    {
        match (compare(cond, ty, x, constant), compare(cond, ty, y, constant)) {
            (true, false) => rename_to(rewriter, inst, pred),
            (false, true) => rewriter.become_op(inst, Op::Not, Type::Pred, &[pred]),
            (both, _) => rewriter.become_constant(inst, u64::from(both)),
        }
        return;
    }
    let bits = significant_bits(rewriter, a);
    // Narrow values compare in 32 bits where no sign is in the way.
    if let Some((Op::Trunc, _, [Some(wide), ..])) = definition
        && rewriter.func.ty(wide) == Type::B32
    {
        let fits = if cond.is_signed() { bits < ty.bits() && constant >> (ty.bits() - 1) == 0 } else { true };
        if fits && significant_bits(rewriter, wide) <= ty.bits() {
            let constant = rewriter.constant(inst, Type::B32, constant);
            return rewriter.become_op(inst, Op::Icmp(cond), Type::B32, &[wide, constant]);
        }
    }
    match (cond, constant) {
        (IntCond::Uge, 0) => rewriter.become_constant(inst, 1),
        (IntCond::Ult, 0) => rewriter.become_constant(inst, 0),
        (IntCond::Ugt, 0) => rewriter.become_op(inst, Op::Icmp(IntCond::Ne), ty, &[a, b]),
        (IntCond::Ule, 0) => rewriter.become_op(inst, Op::Icmp(IntCond::Eq), ty, &[a, b]),
        // One bit: it is 1 where it is not 0.
        (IntCond::Eq | IntCond::Ne, 1) if bits == 1 => {
            let zero = rewriter.constant(inst, ty, 0);
            rewriter.become_op(inst, Op::Icmp(cond.negate()), ty, &[a, zero]);
        }
        _ => {}
    }
}

fn select(rewriter: &mut Rewriter<'_>, inst: Inst, ty: Type, pred: Value, x: Value, y: Value) {
    if let Some(constant) = rewriter.func.constant(pred) {
        return rename_to(rewriter, inst, if constant != 0 { x } else { y });
    }
    if x == y {
        return rename_to(rewriter, inst, x);
    }
    if let Some((Op::Not, _, [Some(inner), ..])) = rewriter.def(pred) {
        return rewriter.become_op(inst, Op::Select, ty, &[inner, y, x]);
    }
    if ty == Type::Pred {
        match (rewriter.func.constant(x), rewriter.func.constant(y)) {
            (Some(1), Some(0)) => rename_to(rewriter, inst, pred),
            (Some(0), Some(1)) => rewriter.become_op(inst, Op::Not, ty, &[pred]),
            (Some(1), None) => rewriter.become_op(inst, Op::Or, ty, &[pred, y]),
            (None, Some(0)) => rewriter.become_op(inst, Op::And, ty, &[pred, x]),
            _ => {}
        }
    }
}

/// A branch on a negated predicate is the branch on the predicate with its targets exchanged.
fn branch_on_not(rewriter: &mut Rewriter<'_>, inst: Inst) {
    let data = &rewriter.func.insts[inst];
    if !matches!(data.op, Op::Branch(_)) {
        return;
    }
    let Some((Op::Not, _, [Some(inner), ..])) = rewriter.def(data.args[0]) else { return };
    let (op, ty) = (data.op, data.ty);
    rewriter.become_op(inst, op, ty, &[inner]);
    rewriter.func.insts[inst].targets.swap(0, 1);
}
