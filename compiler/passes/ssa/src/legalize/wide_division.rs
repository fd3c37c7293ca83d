//! Division and remainder of 64-bit integers: a routine that gives both.
//!
//! ```text
//! v3 = sdiv.b64 v1, v2    =>    v4 = iabs.b64 v1
//!                               v5 = iabs.b64 v2
//!                               v6, v7 = call.pure @u64.divrem, v4, v5
//!                               v3 = v2 == 0 ? -1 : (v1 ^ v2 < 0 ? -v6 : v6)
//! ```
//!
//! Value numbering merges quotient and remainder of the same operands into one call. Signed numbers
//! are divided by their magnitudes; division by zero gives all ones, as in `ptxc_semantics::int`.
//! Linear.

use ptxc_ir::{Function, IntCond, Op, Type, Value};
use ptxc_machine::Arch;

use super::emitter::{Emitter, rewrite};
use super::integer_division::division;
use crate::runtime;

const TY: Type = Type::B64;

/// Rewrites division and remainder of 64 bits.
pub fn wide_division(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = emitter.func.insts[inst].clone();
        let Some((signed, remainder)) = division(data.op) else { return false };
        let (TY, &[a, b]) = (data.ty, &data.args[..]) else { return false };
        if !signed {
            let (quotient, rest) = divide(emitter, a, b);
            let result = emitter.func.result(inst);
            emitter.rename(result, if remainder { rest } else { quotient });
            return true;
        }
        let [magnitude_a, magnitude_b] = [a, b].map(|value| emitter.value(Op::Iabs, TY, &[value]));
        let (quotient, rest) = divide(emitter, magnitude_a, magnitude_b);
        let (value, sign) =
            if remainder { (rest, a) } else { (quotient, emitter.value(Op::Xor, TY, &[a, b])) };
        let zero = emitter.constant(TY, 0);
        let negative = emitter.value(Op::Icmp(IntCond::Slt), TY, &[sign, zero]);
        let negated = emitter.value(Op::Ineg, TY, &[value]);
        let value = emitter.value(Op::Select, TY, &[negative, negated, value]);
        let undefined = emitter.value(Op::Icmp(IntCond::Eq), TY, &[b, zero]);
        let ones = emitter.constant(TY, u64::MAX);
        emitter.become_op(inst, Op::Select, TY, &[undefined, ones, value]);
        true
    })
}

fn divide(emitter: &mut Emitter, a: Value, b: Value) -> (Value, Value) {
    let callee = emitter.func.callee(&runtime::callee("u64.divrem"));
    let op = emitter.func.call(callee);
    emitter.pair(op, Type::B32, &[a, b])
}
