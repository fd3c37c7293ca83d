//! Merges two shifts that fill each other's gap into one funnel shift.
//!
//! ```text
//! v3 = shl.b32 v1, 7
//! v4 = shr.b32 v2, 25
//! v5 = or.b32 v3, v4           =>    v5 = funnel_shl.wrap.b32 v2, v1, 7
//!
//! v3 = shl.b64 v1, 13                v6, v7 = unpack.b64 v1
//! v4 = shr.b64 v2, 51                v8, v9 = unpack.b64 v2
//! v5 = iadd.b64 v3, v4         =>    v10 = funnel_shl.wrap.b32 v9, v6, 13
//!                                    v11 = funnel_shl.wrap.b32 v6, v7, 13
//!                                    v5 = pack.b64 v10, v11
//! ```
//!
//! The counts are constants that add up to the width, so no bit comes from both sides, and `or`,
//! `xor` and addition are equivalent. With one source the result is a rotation, in one instruction
//! for 32 bits and in two for 64. The shifts may have other users, since the funnel shift replaces
//! only the operation that joined them. Linear.

use ptxc_ir::{Function, Funnel, Op, Type, Value};
use ptxc_machine::Arch;

use super::emitter::{Emitter, rewrite};

/// Forms funnel shifts.
pub fn funnel_shifts(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        let ty = data.ty;
        let (a, b) = match (data.op, &data.args[..]) {
            (Op::Or | Op::Xor | Op::Iadd, &[a, b]) if matches!(ty, Type::B32 | Type::B64) => (a, b),
            _ => return false,
        };
        let Some((up, down, count)) = halves(emitter.func, a, b).or_else(|| halves(emitter.func, b, a))
        else {
            return false;
        };
        if ty == Type::B32 {
            let count = emitter.constant(Type::B32, count);
            emitter.become_op(inst, Op::FunnelShl(Funnel::Wrap), Type::B32, &[down, up, count]);
            return true;
        }
        let (up_low, up_high) = emitter.pair(Op::Unpack, Type::B64, &[up]);
        let (down_low, down_high) = emitter.pair(Op::Unpack, Type::B64, &[down]);
        // The result is the upper half of the four words `up:down`, shifted left by the count.
        let words = [down_low, down_high, up_low, up_high];
        let first = if count < 32 { 1 } else { 0 };
        let [low, high] = [first, first + 1].map(|at| joined(emitter, words[at], words[at + 1], count % 32));
        emitter.become_op(inst, Op::Pack, Type::B64, &[low, high]);
        true
    })
}

/// The sources of a left and a right shift whose constant counts add up to the width, and the left
/// count.
fn halves(func: &Function, up: Value, down: Value) -> Option<(Value, Value, u64)> {
    let (up, down) = (func.def_inst(up)?, func.def_inst(down)?);
    if up.op != Op::Shl || down.op != Op::Shr {
        return None;
    }
    let (left, right) = (func.constant(up.args[1])?, func.constant(down.args[1])?);
    let width = u64::from(up.ty.bits());
    let fits = left > 0 && right > 0 && left.checked_add(right) == Some(width);
    fits.then_some((up.args[0], down.args[0], left))
}

/// The upper word of `high:low << count`, for a count below 32.
fn joined(emitter: &mut Emitter, low: Value, high: Value, count: u64) -> Value {
    if count == 0 {
        return high;
    }
    let count = emitter.constant(Type::B32, count);
    emitter.value(Op::FunnelShl(Funnel::Wrap), Type::B32, &[low, high, count])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legalize::emitter::tests::{Build, ops};

    fn joined_shifts(ty: Type, join: Op, left: u64, right: u64) -> Function {
        let mut b = Build::new();
        let x = b.value(Op::Param { offset: 0 }, ty, &[]);
        let y = b.value(Op::Param { offset: 8 }, ty, &[]);
        let left = b.value(Op::Const(left), Type::B32, &[]);
        let right = b.value(Op::Const(right), Type::B32, &[]);
        let up = b.value(Op::Shl, ty, &[x, left]);
        let down = b.value(Op::Shr, ty, &[y, right]);
        b.value(join, ty, &[down, up]);
        b.finish()
    }

    #[test]
    fn words_take_one_funnel_shift_however_they_are_joined() {
        for join in [Op::Or, Op::Xor, Op::Iadd] {
            let mut func = joined_shifts(Type::B32, join, 7, 25);
            assert!(funnel_shifts(&mut func, Arch::Sm90));
            let made = ops(&func).iter().filter(|op| **op == Op::FunnelShl(Funnel::Wrap)).count();
            assert_eq!(made, 1, "{join:?}");
        }
    }

    #[test]
    fn double_words_take_two_or_none_at_the_half() {
        for (left, expected) in [(13, 2), (32, 0), (45, 2)] {
            let mut func = joined_shifts(Type::B64, Op::Or, left, 64 - left);
            assert!(funnel_shifts(&mut func, Arch::Sm90));
            let made = ops(&func).iter().filter(|op| **op == Op::FunnelShl(Funnel::Wrap)).count();
            assert_eq!(made, expected, "{left}");
        }
    }

    #[test]
    fn shifts_that_overlap_or_leave_a_gap_stay() {
        for (left, right) in [(7, 24), (7, 26), (0, 32), (32, 0)] {
            assert!(!funnel_shifts(&mut joined_shifts(Type::B32, Op::Or, left, right), Arch::Sm90));
        }
    }
}
