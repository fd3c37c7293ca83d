//! Integer comparisons.

use ptxc_ir::{IntCond, Op, Type, Value};

use super::{Folder, Rewrite};
use crate::simplify::evaluate::{compare, ones};

pub(super) fn rule(folder: &mut Folder<'_>, op: &Op, ty: Type, args: &[Value]) -> Option<Rewrite> {
    let (&Op::Icmp(condition), &[a, b]) = (op, args) else { return None };
    if a == b {
        return Some(Rewrite::Constant(compare(condition, ty, 0, 0).into()));
    }
    let bits = folder.constant(b)?;
    range(folder, condition, ty, a, b, bits)
        .or_else(|| equality(folder, condition, ty, a, bits))
        .or_else(|| widened(folder, condition, a, bits))
}

/// Comparisons with the ends of the range, and comparisons of values that are known to be small.
fn range(
    folder: &mut Folder<'_>,
    condition: IntCond,
    ty: Type,
    a: Value,
    b: Value,
    bits: u64,
) -> Option<Rewrite> {
    let possible = folder.possible_bits(a);
    let constant = |holds: bool| Some(Rewrite::Constant(holds.into()));
    match condition {
        IntCond::Ult if possible < bits => constant(true),
        IntCond::Ule if possible <= bits => constant(true),
        IntCond::Ugt if possible <= bits => constant(false),
        IntCond::Uge if possible < bits => constant(false),
        IntCond::Ult if bits == 0 => constant(false),
        IntCond::Uge if bits == 0 => constant(true),
        IntCond::Ule if bits == 0 => Some(same(IntCond::Eq, ty, a, b)),
        IntCond::Ugt if bits == 0 => Some(same(IntCond::Ne, ty, a, b)),
        IntCond::Eq if bits & !possible != 0 => constant(false),
        IntCond::Ne if bits & !possible != 0 => constant(true),
        // A test of one bit: compare with zero, so that equal tests look equal.
        IntCond::Eq | IntCond::Ne if possible == bits && bits.is_power_of_two() => {
            let zero = folder.emit_constant(ty, 0);
            Some(same(condition.negate(), ty, a, zero))
        }
        _ if condition.is_signed() && possible | bits <= ones(ty) >> 1 => {
            // Neither operand is negative.
            let unsigned = match condition {
                IntCond::Slt => IntCond::Ult,
                IntCond::Sle => IntCond::Ule,
                IntCond::Sgt => IntCond::Ugt,
                _ => IntCond::Uge,
            };
            range(folder, unsigned, ty, a, b, bits)
        }
        _ => None,
    }
}

/// A comparison of the same width as the one that it replaces, which is therefore always allowed.
fn same(condition: IntCond, ty: Type, a: Value, b: Value) -> Rewrite {
    Rewrite::Op(Op::Icmp(condition), ty, [a, b].as_slice().into())
}

/// Equality of a sum, difference or exclusive or with a constant becomes equality of its operand,
/// if the sum has no other use.
fn equality(folder: &mut Folder<'_>, condition: IntCond, ty: Type, a: Value, bits: u64) -> Option<Rewrite> {
    if !matches!(condition, IntCond::Eq | IntCond::Ne) || !folder.single_use(a) {
        return None;
    }
    for op in [Op::Isub, Op::Xor] {
        if bits == 0
            && let Some([x, y]) = folder.args_of(a, op)
        {
            return Some(same(condition, ty, x, y));
        }
    }
    for op in [Op::Iadd, Op::Xor] {
        let Some([x, c]) = folder.args_of(a, op) else { continue };
        let Some(c) = folder.constant(c) else { continue };
        let rest = if op == Op::Iadd { bits.wrapping_sub(c) } else { bits ^ c };
        let rest = folder.emit_constant(ty, rest);
        return Some(same(condition, ty, x, rest));
    }
    None
}

/// A comparison of an extended value with a constant becomes a comparison of the value itself, if
/// that has 32 bits.
fn widened(folder: &mut Folder<'_>, condition: IntCond, a: Value, bits: u64) -> Option<Rewrite> {
    let (op, _, args) = folder.def(a)?;
    let &[inner] = args else { return None };
    let narrow = folder.func.ty(inner);
    if narrow != Type::B32 {
        return None;
    }
    let condition = match op {
        Op::Zext if bits > ones(narrow) => return None,
        // Both are zero above 32 bits, so signs do not matter.
        Op::Zext => match condition {
            IntCond::Slt => IntCond::Ult,
            IntCond::Sle => IntCond::Ule,
            IntCond::Sgt => IntCond::Ugt,
            IntCond::Sge => IntCond::Uge,
            other => other,
        },
        Op::Sext if bits as i64 == i64::from(bits as i32) => condition,
        _ => return None,
    };
    let constant = folder.emit_constant(narrow, bits);
    Some(same(condition, narrow, inner, constant))
}
