//! Bitwise logic, on integers and predicates alike, and selects.

use ptxc_ir::{Op, Type, Value};

use super::{Folder, Rewrite, value_of};
use crate::simplify::evaluate::ones;

pub(super) fn rule(folder: &mut Folder<'_>, op: &Op, ty: Type, args: &[Value]) -> Option<Rewrite> {
    match (op, args) {
        (Op::And | Op::Or | Op::Xor, &[a, b]) if ty.bits() <= 64 => binary(folder, op, ty, a, b),
        (Op::Not, &[a]) => complement(folder, a),
        (Op::Select, &[condition, a, b]) => select(folder, ty, condition, a, b),
        _ => None,
    }
}

fn binary(folder: &mut Folder<'_>, op: &Op, ty: Type, a: Value, b: Value) -> Option<Rewrite> {
    let all = ones(ty);
    if a == b {
        return Some(if *op == Op::Xor { Rewrite::Constant(0) } else { value_of(a) });
    }
    if let Some(bits) = folder.constant(b) {
        return match op {
            Op::And if folder.possible_bits(a) & bits == 0 => Some(Rewrite::Constant(0)),
            Op::And if folder.possible_bits(a) & !bits & all == 0 => Some(value_of(a)),
            Op::Or | Op::Xor if bits == 0 => Some(value_of(a)),
            Op::Or if bits == all => Some(Rewrite::Constant(all)),
            Op::Xor if bits == all => folder.op(Op::Not, ty, &[a]),
            _ => None,
        };
    }
    for (x, y) in [(a, b), (b, a)] {
        let Some([inner]) = folder.args_of(y, Op::Not) else { continue };
        if inner == x {
            return Some(Rewrite::Constant(if *op == Op::And { 0 } else { all }));
        }
        if *op == Op::Xor {
            let xor = folder.may_make(&Op::Xor, ty).then(|| folder.emit(Op::Xor, ty, &[x, inner]))?;
            return folder.op(Op::Not, ty, &[xor]);
        }
    }
    None
}

fn complement(folder: &mut Folder<'_>, a: Value) -> Option<Rewrite> {
    if let Some([inner]) = folder.args_of(a, Op::Not) {
        return Some(value_of(inner));
    }
    // A complement is free at the use of a predicate; a second comparison is not.
    if !folder.single_use(a) {
        return None;
    }
    let (op, ty, args) = folder.def(a)?;
    let op = match op {
        Op::Icmp(condition) => Op::Icmp(condition.negate()),
        Op::Fcmp { cond: condition, ftz } => Op::Fcmp { cond: condition.negate(), ftz },
        _ => return None,
    };
    // A comparison has the same width as the one that it replaces, so it is always allowed.
    Some(Rewrite::Op(op, ty, args.into()))
}

fn select(folder: &mut Folder<'_>, ty: Type, condition: Value, a: Value, b: Value) -> Option<Rewrite> {
    if a == b || folder.constant(a).is_some_and(|bits| folder.constant(b) == Some(bits)) {
        return Some(value_of(a));
    }
    if let Some(bits) = folder.constant(condition) {
        return Some(value_of(if bits != 0 { a } else { b }));
    }
    if let Some([inner]) = folder.args_of(condition, Op::Not) {
        return Some(Rewrite::Op(Op::Select, ty, [inner, b, a].as_slice().into()));
    }
    // A select whose arm is a select with the same condition.
    for (arm, place) in [(a, 1), (b, 2)] {
        let Some(inner) = folder.args_of::<3>(arm, Op::Select) else { continue };
        if inner[0] == condition {
            let (a, b) = if place == 1 { (inner[1], b) } else { (a, inner[2]) };
            return Some(Rewrite::Op(Op::Select, ty, [condition, a, b].as_slice().into()));
        }
    }
    if ty != Type::Pred {
        return None;
    }
    match (folder.constant(a), folder.constant(b)) {
        (Some(_), Some(0)) => Some(value_of(condition)),
        (Some(_), Some(_)) => folder.op(Op::Not, ty, &[condition]),
        (Some(0), None) => {
            let not = folder.emit(Op::Not, ty, &[condition]);
            folder.op(Op::And, ty, &[not, b])
        }
        (Some(_), None) => folder.op(Op::Or, ty, &[condition, b]),
        (None, Some(0)) => folder.op(Op::And, ty, &[condition, a]),
        (None, Some(_)) => {
            let not = folder.emit(Op::Not, ty, &[condition]);
            folder.op(Op::Or, ty, &[not, a])
        }
        (None, None) => None,
    }
}
