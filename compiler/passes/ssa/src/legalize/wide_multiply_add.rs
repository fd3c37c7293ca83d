//! Turns index arithmetic into a multiply-add with a 64-bit sum.
//!
//! ```text
//! v3 = smul_wide.b32 v1, v2
//! v5 = iadd.b64 v3, v4         =>    v5 = smad_wide.b32 v1, v2, v4
//!
//! v2 = sext.b64 v1
//! v3 = shl.b64 v2, 2           =>    v3 = smul_wide.b32 v1, 4
//!
//! v2 = sext.b64 v1
//! v4 = iadd.b64 v2, v3         =>    v4 = smad_wide.b32 v1, 1, v3
//! ```
//!
//! The same holds for `zext` and `umul_wide`. `IMAD.WIDE` is one instruction and a 64-bit addition
//! is two, so a product with several users is multiplied again for each of them.

use ptxc_ir::{Function, Op, Type, Value};
use ptxc_machine::Arch;

use super::emitter::rewrite;

/// A product of two 32-bit numbers, or an extended 32-bit number as its product with one.
struct Product {
    signed: bool,
    a: Value,
    b: Option<Value>,
}

/// Forms 64-bit multiply-adds.
pub fn wide_multiply_add(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        if data.ty != Type::B64 {
            return false;
        }
        let (a, b) = match (data.op, &data.args[..]) {
            (Op::Iadd | Op::Shl, &[a, b]) => (a, b),
            _ => return false,
        };
        if data.op == Op::Shl {
            let (Some(count), Some(Product { signed, a, b: None })) =
                (emitter.func.constant(b), product(emitter.func, a))
            else {
                return false;
            };
            // The factor 2^31 would be negative as a signed number.
            if count > if signed { 30 } else { 31 } {
                return false;
            }
            let factor = emitter.constant(Type::B32, 1 << count);
            let op = if signed { Op::SmulWide } else { Op::UmulWide };
            emitter.become_op(inst, op, Type::B32, &[a, factor]);
            return true;
        }
        // Try a true product first: an extension is cheaper to compute on its own.
        let terms = [(product(emitter.func, a), b), (product(emitter.func, b), a)];
        let best = terms
            .into_iter()
            .filter_map(|(product, addend)| Some((product?, addend)))
            .max_by_key(|(product, _)| product.b.is_some());
        let Some((Product { signed, a, b }, addend)) = best else { return false };
        // With a constant addend the sum is two additions of immediates; the multiply-add would
        // need the constant in a register pair.
        if emitter.func.constant(addend).is_some() {
            return false;
        }
        let b = b.unwrap_or_else(|| emitter.constant(Type::B32, 1));
        let op = if signed { Op::SmadWide } else { Op::UmadWide };
        emitter.become_op(inst, op, Type::B32, &[a, b, addend]);
        true
    })
}

fn product(func: &Function, value: Value) -> Option<Product> {
    let data = func.def_inst(value)?;
    let a = *data.args.first()?;
    let from_word = func.ty(a) == Type::B32;
    match data.op {
        Op::SmulWide | Op::UmulWide if from_word => {
            Some(Product { signed: data.op == Op::SmulWide, a, b: Some(data.args[1]) })
        }
        Op::Sext | Op::Zext if from_word => Some(Product { signed: data.op == Op::Sext, a, b: None }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legalize::emitter::tests::Build;

    #[test]
    fn an_extended_and_shifted_index_ends_in_one_multiply_add() {
        for (extend, mad) in [(Op::Sext, Op::SmadWide), (Op::Zext, Op::UmadWide)] {
            let mut b = Build::new();
            let base = b.value(Op::Param { offset: 0 }, Type::B64, &[]);
            let index = b.value(Op::Param { offset: 8 }, Type::B32, &[]);
            let wide = b.value(extend, Type::B64, &[index]);
            let two = b.value(Op::Const(2), Type::B32, &[]);
            let scaled = b.value(Op::Shl, Type::B64, &[wide, two]);
            let sum = b.inst(Op::Iadd, Type::B64, &[base, scaled]);
            let mut func = b.finish();
            assert!(wide_multiply_add(&mut func, Arch::Sm90));
            let data = &func.insts[sum];
            assert_eq!((data.op, data.args[0], data.args[2]), (mad, index, base));
            assert_eq!(func.constant(data.args[1]), Some(4));
        }
    }

    #[test]
    fn the_sign_bit_is_no_factor() {
        let mut b = Build::new();
        let index = b.value(Op::Param { offset: 8 }, Type::B32, &[]);
        let wide = b.value(Op::Sext, Type::B64, &[index]);
        let count = b.value(Op::Const(31), Type::B32, &[]);
        b.value(Op::Shl, Type::B64, &[wide, count]);
        assert!(!wide_multiply_add(&mut b.finish(), Arch::Sm90));
    }
}
