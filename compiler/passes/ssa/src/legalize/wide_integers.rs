//! Turns 64-bit integer arithmetic into arithmetic on pairs of words.
//!
//! ```text
//! v3 = iadd.b64 v1, v2     =>    v4, v5 = unpack.b64 v1
//!                                v6, v7 = unpack.b64 v2
//!                                v8, v9 = iadd_cout.b32 v4, v6
//!                                v10 = iadd_cin.b32 v5, v7, v9
//!                                v3 = pack.b64 v8, v10
//! ```
//!
//! A register pair *is* its two registers, so `pack` and `unpack` cost nothing after allocation.
//! The rule remembers the words of the values that it has packed and splits constants, so a chain
//! of 64-bit operations never goes through the pair.
//!
//! Operations that the machine does on pairs stay whole: comparisons, multiply-adds, memory
//! accesses, and moves. Division was replaced before.

use ptxc_ir::{Block, Function, Funnel, Inst, IntCond, Op, Type, Value};
use ptxc_machine::Arch;

use super::emitter::{Emitter, rewrite};

/// The low and the high word of a value.
type Words = (Value, Value);

/// The words of the 64-bit values that the function had before the rule, as far as they are known.
struct Halves {
    /// Words that exist wherever the value exists.
    known: Vec<Option<Words>>,
    /// Words unpacked in a block, for its later instructions.
    unpacked: Vec<Option<(Block, Words)>>,
}

impl Halves {
    fn of(&mut self, emitter: &mut Emitter, value: Value) -> Words {
        if let Some(bits) = emitter.func.constant(value) {
            return (emitter.constant(Type::B32, bits), emitter.constant(Type::B32, bits >> 32));
        }
        let index = value.as_u32() as usize;
        if let Some(words) = self.known[index] {
            return words;
        }
        match self.unpacked[index] {
            Some((block, words)) if block == emitter.block => words,
            _ => {
                let words = emitter.pair(Op::Unpack, Type::B64, &[value]);
                self.unpacked[index] = Some((emitter.block, words));
                words
            }
        }
    }
}

/// Splits 64-bit integer arithmetic into words.
pub fn wide_integers(func: &mut Function, _arch: Arch) -> bool {
    let values = func.num_values();
    let mut halves = Halves { known: vec![None; values], unpacked: vec![None; values] };
    rewrite(func, |emitter, inst| split(emitter, &mut halves, inst))
}

fn split(emitter: &mut Emitter, halves: &mut Halves, inst: Inst) -> bool {
    let data = &emitter.func.insts[inst];
    if data.ty != Type::B64 && !matches!(data.op, Op::Trunc) || matches!(data.op, Op::Load(_) | Op::Store(_))
    {
        return false;
    }
    let data = data.clone();
    let wide_argument = data.args.first().is_some_and(|&arg| emitter.func.ty(arg) == Type::B64);
    match data.op {
        Op::Pack if data.ty == Type::B64 => {
            halves.known[emitter.func.result(inst).as_u32() as usize] = Some((data.args[0], data.args[1]));
            return false;
        }
        Op::Unpack if data.ty == Type::B64 && wide_argument => {
            let (low, high) = halves.of(emitter, data.args[0]);
            let results = [emitter.func.results(inst)[0], emitter.func.results(inst)[1]];
            emitter.rename(results[0], low);
            emitter.rename(results[1], high);
            return true;
        }
        Op::Trunc if wide_argument => {
            let (low, _) = halves.of(emitter, data.args[0]);
            if data.ty == Type::B32 {
                let result = emitter.func.result(inst);
                emitter.rename(result, low);
            } else {
                emitter.become_op(inst, Op::Trunc, data.ty, &[low]);
            }
            return true;
        }
        Op::Popc if data.ty == Type::B64 => {
            let (low, high) = halves.of(emitter, data.args[0]);
            let low = emitter.value(Op::Popc, Type::B32, &[low]);
            let high = emitter.value(Op::Popc, Type::B32, &[high]);
            emitter.become_op(inst, Op::Iadd, Type::B32, &[low, high]);
            return true;
        }
        Op::Clz if data.ty == Type::B64 => {
            let (low, high) = halves.of(emitter, data.args[0]);
            let zero = emitter.constant(Type::B32, 0);
            let word = emitter.constant(Type::B32, 32);
            let none = emitter.value(Op::Icmp(IntCond::Eq), Type::B32, &[high, zero]);
            let low = emitter.value(Op::Clz, Type::B32, &[low]);
            let low = emitter.value(Op::Iadd, Type::B32, &[low, word]);
            let high = emitter.value(Op::Clz, Type::B32, &[high]);
            emitter.become_op(inst, Op::Select, Type::B32, &[none, low, high]);
            return true;
        }
        Op::Bfind { signed, shift } if data.ty == Type::B64 => {
            let (mut low, mut high) = halves.of(emitter, data.args[0]);
            if signed {
                // The highest bit unlike the sign is the highest set bit of the number xor its
                // sign.
                let sign = signs(emitter, high);
                low = emitter.value(Op::Xor, Type::B32, &[low, sign]);
                high = emitter.value(Op::Xor, Type::B32, &[high, sign]);
            }
            let zero = emitter.constant(Type::B32, 0);
            let word = emitter.constant(Type::B32, 32);
            let in_high = emitter.value(Op::Icmp(IntCond::Ne), Type::B32, &[high, zero]);
            let high = emitter.value(Op::Bfind { signed: false, shift }, Type::B32, &[high]);
            let low = emitter.value(Op::Bfind { signed: false, shift }, Type::B32, &[low]);
            // Positions grow with the word, shift counts decrease; all ones stay all ones.
            let (high, low) = if shift {
                let none = emitter.value(Op::Icmp(IntCond::Slt), Type::B32, &[low, zero]);
                let beyond = emitter.value(Op::Iadd, Type::B32, &[low, word]);
                (high, emitter.value(Op::Select, Type::B32, &[none, low, beyond]))
            } else {
                (emitter.value(Op::Iadd, Type::B32, &[high, word]), low)
            };
            emitter.become_op(inst, Op::Select, Type::B32, &[in_high, high, low]);
            return true;
        }
        Op::IaddCarryOut
        | Op::IaddCarryIn
        | Op::IaddCarryInOut
        | Op::IsubCarryOut
        | Op::IsubCarryIn
        | Op::IsubCarryInOut
            if data.ty == Type::B64 =>
        {
            let results: Vec<Value> = emitter.func.results(inst).to_vec();
            let (words, carry) = long_sum(emitter, halves, data.op, &data.args);
            halves.known[results[0].as_u32() as usize] = Some(words);
            let packed = emitter.value(Op::Pack, Type::B64, &[words.0, words.1]);
            emitter.rename(results[0], packed);
            if let (Some(&result), Some(carry)) = (results.get(1), carry) {
                emitter.rename(result, carry);
            }
            return true;
        }
        _ if data.ty != Type::B64 => return false,
        _ => {}
    }
    let Some((low, high)) = words(emitter, halves, data.op, &data.args) else { return false };
    halves.known[emitter.func.result(inst).as_u32() as usize] = Some((low, high));
    emitter.become_op(inst, Op::Pack, Type::B64, &[low, high]);
    true
}

/// The words of a 64-bit result; `None` for operations that stay whole.
fn words(emitter: &mut Emitter, halves: &mut Halves, op: Op, args: &[Value]) -> Option<Words> {
    Some(match (op, args) {
        (Op::Iadd, &[a, b]) => {
            let (a, b) = (halves.of(emitter, a), halves.of(emitter, b));
            add(emitter, a, b)
        }
        (Op::Isub, &[a, b]) => {
            let (a, b) = (halves.of(emitter, a), halves.of(emitter, b));
            subtract(emitter, a, b)
        }
        (Op::Ineg, &[a]) => {
            let a = halves.of(emitter, a);
            negate(emitter, a)
        }
        (Op::Iabs, &[a]) => {
            let zero = emitter.constant(Type::B32, 0);
            let a = halves.of(emitter, a);
            let negative = emitter.value(Op::Icmp(IntCond::Slt), Type::B32, &[a.1, zero]);
            let negated = negate(emitter, a);
            select(emitter, negative, negated, a)
        }
        (Op::And | Op::Or | Op::Xor, &[a, b]) => {
            let (a, b) = (halves.of(emitter, a), halves.of(emitter, b));
            (emitter.value(op, Type::B32, &[a.0, b.0]), emitter.value(op, Type::B32, &[a.1, b.1]))
        }
        (Op::Not, &[a]) => {
            let a = halves.of(emitter, a);
            (emitter.value(op, Type::B32, &[a.0]), emitter.value(op, Type::B32, &[a.1]))
        }
        (Op::Brev, &[a]) => {
            let a = halves.of(emitter, a);
            (emitter.value(op, Type::B32, &[a.1]), emitter.value(op, Type::B32, &[a.0]))
        }
        (Op::Shl | Op::Shr | Op::Sar, &[a, count]) => {
            let a = halves.of(emitter, a);
            match emitter.func.constant(count) {
                Some(count) => shift_by_constant(emitter, op, a, count),
                None => shift(emitter, op, a, count),
            }
        }
        (Op::Sext | Op::Zext, &[a]) => {
            let low = if emitter.func.ty(a) == Type::B32 { a } else { emitter.value(op, Type::B32, &[a]) };
            let high = if op == Op::Sext { signs(emitter, low) } else { emitter.constant(Type::B32, 0) };
            (low, high)
        }
        (Op::Select, &[condition, a, b]) => {
            let (a, b) = (halves.of(emitter, a), halves.of(emitter, b));
            select(emitter, condition, a, b)
        }
        (Op::Smin | Op::Smax | Op::Umin | Op::Umax, &[a, b]) => {
            let condition = match op {
                Op::Smin => IntCond::Slt,
                Op::Smax => IntCond::Sgt,
                Op::Umin => IntCond::Ult,
                _ => IntCond::Ugt,
            };
            let first = emitter.value(Op::Icmp(condition), Type::B64, &[a, b]);
            let (a, b) = (halves.of(emitter, a), halves.of(emitter, b));
            select(emitter, first, a, b)
        }
        (Op::Imul, &[a, b]) => {
            let (a, b) = (halves.of(emitter, a), halves.of(emitter, b));
            multiply(emitter, a, b)
        }
        (Op::Umulh, &[a, b]) => {
            let (a, b) = (halves.of(emitter, a), halves.of(emitter, b));
            multiply_high(emitter, a, b)
        }
        (Op::Smulh, &[a, b]) => {
            let (a, b) = (halves.of(emitter, a), halves.of(emitter, b));
            multiply_high_signed(emitter, a, b)
        }
        _ => return None,
    })
}

/// A sum or difference of 64 bits with a carry in or out: the carry goes through both words.
fn long_sum(emitter: &mut Emitter, halves: &mut Halves, op: Op, args: &[Value]) -> (Words, Option<Value>) {
    let (a, b) = (halves.of(emitter, args[0]), halves.of(emitter, args[1]));
    let (first, second) = match op {
        Op::IaddCarryOut => (Op::IaddCarryOut, Op::IaddCarryInOut),
        Op::IaddCarryIn => (Op::IaddCarryInOut, Op::IaddCarryIn),
        Op::IaddCarryInOut => (op, op),
        Op::IsubCarryOut => (Op::IsubCarryOut, Op::IsubCarryInOut),
        Op::IsubCarryIn => (Op::IsubCarryInOut, Op::IsubCarryIn),
        _ => (Op::IsubCarryInOut, Op::IsubCarryInOut),
    };
    let (low, carry) = match args.get(2) {
        Some(&carry) => emitter.pair(first, Type::B32, &[a.0, b.0, carry]),
        None => emitter.pair(first, Type::B32, &[a.0, b.0]),
    };
    if matches!(second, Op::IaddCarryIn | Op::IsubCarryIn) {
        return ((low, emitter.value(second, Type::B32, &[a.1, b.1, carry])), None);
    }
    let (high, carry) = emitter.pair(second, Type::B32, &[a.1, b.1, carry]);
    ((low, high), Some(carry))
}

fn add(emitter: &mut Emitter, a: Words, b: Words) -> Words {
    let (low, carry) = emitter.pair(Op::IaddCarryOut, Type::B32, &[a.0, b.0]);
    (low, emitter.value(Op::IaddCarryIn, Type::B32, &[a.1, b.1, carry]))
}

fn subtract(emitter: &mut Emitter, a: Words, b: Words) -> Words {
    let (low, carry) = emitter.pair(Op::IsubCarryOut, Type::B32, &[a.0, b.0]);
    (low, emitter.value(Op::IsubCarryIn, Type::B32, &[a.1, b.1, carry]))
}

fn negate(emitter: &mut Emitter, a: Words) -> Words {
    let zero = emitter.constant(Type::B32, 0);
    subtract(emitter, (zero, zero), a)
}

fn select(emitter: &mut Emitter, condition: Value, a: Words, b: Words) -> Words {
    let low = emitter.value(Op::Select, Type::B32, &[condition, a.0, b.0]);
    (low, emitter.value(Op::Select, Type::B32, &[condition, a.1, b.1]))
}

/// All bits as the sign of a word.
fn signs(emitter: &mut Emitter, word: Value) -> Value {
    let count = emitter.constant(Type::B32, 31);
    emitter.value(Op::Sar, Type::B32, &[word, count])
}

fn shift_by_constant(emitter: &mut Emitter, op: Op, (low, high): Words, count: u64) -> Words {
    let zero = emitter.constant(Type::B32, 0);
    let beyond = match op {
        Op::Sar => signs(emitter, high),
        _ => zero,
    };
    match (op, count) {
        (_, 0) => (low, high),
        (Op::Shl, 1..32) => {
            let n = emitter.constant(Type::B32, count);
            let out = emitter.value(Op::FunnelShl(Funnel::Wide), Type::B32, &[low, high, n]);
            (emitter.value(Op::Shl, Type::B32, &[low, n]), out)
        }
        (_, 1..32) => {
            let n = emitter.constant(Type::B32, count);
            let out = emitter.value(Op::FunnelShr(Funnel::Wide), Type::B32, &[low, high, n]);
            (out, emitter.value(op, Type::B32, &[high, n]))
        }
        (Op::Shl, 32) => (zero, low),
        (_, 32) => (high, beyond),
        (Op::Shl, 33..64) => {
            let n = emitter.constant(Type::B32, count - 32);
            (zero, emitter.value(Op::Shl, Type::B32, &[low, n]))
        }
        (_, 33..64) => {
            let n = emitter.constant(Type::B32, count - 32);
            (emitter.value(op, Type::B32, &[high, n]), beyond)
        }
        _ => (beyond, beyond),
    }
}

/// Shifts by an unknown count. Shifts of a word give zeros (or signs) from 32 on, so only the word
/// that receives bits of the other word needs a funnel shift.
fn shift(emitter: &mut Emitter, op: Op, (low, high): Words, count: Value) -> Words {
    match op {
        Op::Shl => {
            let out = emitter.value(Op::FunnelShl(Funnel::Wide), Type::B32, &[low, high, count]);
            (emitter.value(Op::Shl, Type::B32, &[low, count]), out)
        }
        _ => {
            let fill = if op == Op::Sar { Funnel::WideSigned } else { Funnel::Wide };
            let out = emitter.value(Op::FunnelShr(fill), Type::B32, &[low, high, count]);
            (out, emitter.value(op, Type::B32, &[high, count]))
        }
    }
}

/// `2^32 (a1 b0 + a0 b1) + a0 b0`, without the products with a high word that is zero.
fn multiply(emitter: &mut Emitter, a: Words, b: Words) -> Words {
    let product = emitter.value(Op::UmulWide, Type::B32, &[a.0, b.0]);
    let (low, mut high) = emitter.pair(Op::Unpack, Type::B64, &[product]);
    for (word, factor) in [(a.1, b.0), (b.1, a.0)] {
        if emitter.func.constant(word) != Some(0) {
            let cross = emitter.value(Op::Imul, Type::B32, &[word, factor]);
            high = emitter.value(Op::Iadd, Type::B32, &[cross, high]);
        }
    }
    (low, high)
}

/// Schoolbook multiplication that keeps the upper two of four words. No sum exceeds 64 bits:
/// `(2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1`.
fn multiply_high(emitter: &mut Emitter, a: Words, b: Words) -> Words {
    let zero = emitter.constant(Type::B32, 0);
    let mut multiply_add = |a, b, addend: Value| {
        let addend = emitter.value(Op::Pack, Type::B64, &[addend, zero]);
        let sum = emitter.value(Op::UmadWide, Type::B32, &[a, b, addend]);
        emitter.pair(Op::Unpack, Type::B64, &[sum])
    };
    let (_, carry) = multiply_add(a.0, b.0, zero);
    let (middle, carry_a) = multiply_add(a.1, b.0, carry);
    let (_, carry_b) = multiply_add(a.0, b.1, middle);
    let words = multiply_add(a.1, b.1, carry_a);
    add(emitter, words, (carry_b, zero))
}

/// The unsigned product counts a negative factor `x` as `x + 2^64`, so the other factor is
/// subtracted for it.
fn multiply_high_signed(emitter: &mut Emitter, a: Words, b: Words) -> Words {
    let mut product = multiply_high(emitter, a, b);
    for (factor, other) in [(a, b), (b, a)] {
        let negative = signs(emitter, factor.1);
        let low = emitter.value(Op::And, Type::B32, &[negative, other.0]);
        let high = emitter.value(Op::And, Type::B32, &[negative, other.1]);
        product = subtract(emitter, product, (low, high));
    }
    product
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::legalize::emitter::tests::{Build, ops};

    /// Runs straight-line code on bits; `param +8n` is input number n.
    fn run(func: &Function, inputs: &[u64], result: Value) -> u64 {
        let mut env: HashMap<Value, u64> = HashMap::new();
        for &inst in &func.blocks[func.entry()].insts {
            let data = &func.insts[inst];
            let arg = |n: usize| env[&data.args[n]];
            let word = |n: usize| arg(n) as u32;
            let wide = |low: usize| arg(low) & 0xffff_ffff | arg(low + 1) << 32;
            let shift = |value: u64, n: u64| value.checked_shl(n as u32).unwrap_or(0);
            let results: Vec<u64> = match data.op {
                Op::Const(bits) => vec![bits],
                Op::Param { offset } => vec![inputs[offset as usize / 8]],
                Op::Pack => vec![wide(0)],
                Op::Unpack => vec![arg(0) & 0xffff_ffff, arg(0) >> 32],
                Op::IaddCarryOut => {
                    let (sum, carry) = word(0).overflowing_add(word(1));
                    vec![sum.into(), carry.into()]
                }
                Op::IaddCarryIn => vec![word(0).wrapping_add(word(1)).wrapping_add(word(2)).into()],
                Op::IsubCarryOut => {
                    let (difference, borrow) = word(0).overflowing_sub(word(1));
                    vec![difference.into(), (!borrow).into()]
                }
                Op::IsubCarryIn => vec![word(0).wrapping_add(!word(1)).wrapping_add(word(2)).into()],
                Op::Iadd => vec![word(0).wrapping_add(word(1)).into()],
                Op::Imul => vec![word(0).wrapping_mul(word(1)).into()],
                Op::UmulWide => vec![u64::from(word(0)) * u64::from(word(1))],
                Op::UmadWide => vec![(u64::from(word(0)) * u64::from(word(1))).wrapping_add(arg(2))],
                Op::And => vec![arg(0) & arg(1)],
                Op::Or => vec![arg(0) | arg(1)],
                Op::Xor => vec![arg(0) ^ arg(1)],
                Op::Not => vec![(!word(0)).into()],
                Op::Brev => vec![word(0).reverse_bits().into()],
                Op::Popc => vec![word(0).count_ones().into()],
                Op::Clz => vec![word(0).leading_zeros().into()],
                Op::Shl => vec![word(0).checked_shl(word(1)).unwrap_or(0).into()],
                Op::Shr => vec![word(0).checked_shr(word(1)).unwrap_or(0).into()],
                Op::Sar => vec![((word(0) as i32) >> word(1).min(31)) as u32 as u64],
                Op::FunnelShl(Funnel::Wide) => vec![shift(wide(0), arg(2)) >> 32],
                Op::FunnelShr(Funnel::Wide) => {
                    vec![wide(0).checked_shr(word(2)).unwrap_or(0) & 0xffff_ffff]
                }
                Op::FunnelShr(Funnel::WideSigned) => {
                    vec![((wide(0) as i64) >> word(2).min(63)) as u64 & 0xffff_ffff]
                }
                Op::Select => vec![if arg(0) != 0 { arg(1) } else { arg(2) }],
                Op::Icmp(condition) => {
                    let (a, b) = (arg(0), arg(1));
                    let (sa, sb) = match data.ty {
                        Type::B32 => (i64::from(a as i32), i64::from(b as i32)),
                        _ => (a as i64, b as i64),
                    };
                    let holds = match condition {
                        IntCond::Eq => a == b,
                        IntCond::Slt => sa < sb,
                        IntCond::Sgt => sa > sb,
                        IntCond::Ult => a < b,
                        IntCond::Ugt => a > b,
                        other => panic!("{other}"),
                    };
                    vec![holds.into()]
                }
                Op::Exit => vec![],
                other => panic!("{other:?} is not an operation on words"),
            };
            for (&value, bits) in func.results(inst).iter().zip(results) {
                env.insert(value, bits);
            }
        }
        env[&result]
    }

    const SAMPLES: [u64; 9] =
        [0, 1, 31, 40, 0xffff_ffff, 0x1_0000_0000, 0x8000_0000_0000_0000, 0x0123_4567_89ab_cdef, u64::MAX];

    /// Checks `op` on all pairs of samples, with the second argument as input and as constant.
    fn check(op: Op, count: bool, expected: impl Fn(u64, u64) -> u64) {
        for a in SAMPLES {
            for b in SAMPLES.into_iter().filter(|&b| !count || b < 1 << 32) {
                for constant in [false, true] {
                    let mut build = Build::new();
                    let first = build.value(Op::Param { offset: 0 }, Type::B64, &[]);
                    let ty = if count { Type::B32 } else { Type::B64 };
                    let second = if constant { Op::Const(b) } else { Op::Param { offset: 8 } };
                    let second = build.value(second, ty, &[]);
                    let result = build.value(op, Type::B64, &[first, second]);
                    let mut func = build.finish();
                    assert!(wide_integers(&mut func, Arch::Sm90));
                    assert_eq!(run(&func, &[a, b], result), expected(a, b), "{op:?} {a:#x} {b:#x}");
                }
            }
        }
    }

    #[test]
    fn pairs_of_words_compute_what_64_bits_would() {
        check(Op::Iadd, false, u64::wrapping_add);
        check(Op::Isub, false, u64::wrapping_sub);
        check(Op::And, false, |a, b| a & b);
        check(Op::Imul, false, u64::wrapping_mul);
        check(Op::Umulh, false, |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64);
        check(Op::Smulh, false, |a, b| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64);
        check(Op::Smin, false, |a, b| (a as i64).min(b as i64) as u64);
        check(Op::Umax, false, u64::max);
        check(Op::Shl, true, |a, n| a.checked_shl(n as u32).unwrap_or(0));
        check(Op::Shr, true, |a, n| a.checked_shr(n as u32).unwrap_or(0));
        check(Op::Sar, true, |a, n| ((a as i64) >> n.min(63)) as u64);
    }

    #[test]
    fn operations_with_one_argument() {
        type Case = (Op, fn(u64) -> u64);
        let cases: [Case; 6] = [
            (Op::Ineg, u64::wrapping_neg),
            (Op::Iabs, |a| (a as i64).unsigned_abs()),
            (Op::Not, |a| !a),
            (Op::Brev, u64::reverse_bits),
            (Op::Popc, |a| a.count_ones().into()),
            (Op::Clz, |a| a.leading_zeros().into()),
        ];
        for (op, expected) in cases {
            for a in SAMPLES {
                let mut build = Build::new();
                let input = build.value(Op::Param { offset: 0 }, Type::B64, &[]);
                let result = build.value(op, Type::B64, &[input]);
                let mut func = build.finish();
                assert!(wide_integers(&mut func, Arch::Sm90));
                assert_eq!(run(&func, &[a], result), expected(a), "{op:?} {a:#x}");
            }
        }
    }

    #[test]
    fn a_chain_does_not_go_through_the_pair() {
        let mut build = Build::new();
        let input = build.value(Op::Param { offset: 0 }, Type::B64, &[]);
        let first = build.value(Op::Iadd, Type::B64, &[input, input]);
        let second = build.value(Op::Xor, Type::B64, &[first, input]);
        build.value(Op::Trunc, Type::B32, &[second]);
        let mut func = build.finish();
        wide_integers(&mut func, Arch::Sm90);
        assert_eq!(ops(&func).iter().filter(|op| **op == Op::Unpack).count(), 1);
    }
}
