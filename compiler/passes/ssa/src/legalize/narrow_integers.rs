//! Computes 16-bit integer arithmetic in 32 bits.
//!
//! ```text
//! v2 = trunc.b16 v1                  v2 = trunc.b16 v1
//! v4 = and.b16 v2, v3          =>    v5 = and.b32 v1, 255
//! v6 = icmp.sgt.b16 v4, v7           v6 = icmp.sgt.b32 v5, 6
//! ```
//!
//! Every 16-bit value that the rule computes has a 32-bit twin whose low half is the value. Beside
//! the twin the rule stores how many of its low bits may be set, and whether it is its own sign
//! extension. So a twin that already is the wanted extension is used unchanged, and extended only
//! otherwise. Loads extend the loaded value. Sums, products, logic and left shifts need no
//! extension: their low half depends only on low halves.
//!
//! The halves of a word are truncations of the word and of its upper half.
//!
//! Remaining values of type `b16` are moved but not computed: stores, selects, block parameters,
//! truncations and extensions.

use ptxc_ir::{Function, Inst, MemType, Op, Type, Value};
use ptxc_machine::Arch;

use super::emitter::{Emitter, rewrite};

/// A 32-bit value whose low half is a 16-bit value.
#[derive(Clone, Copy)]
struct Twin {
    value: Value,
    /// Bits from this one on are zero; 32 if nothing is known.
    width: u32,
    /// Whether the upper half repeats bit 15.
    signs: bool,
}

impl Twin {
    /// A value whose bits from `width` on are zero.
    fn below(width: u32, value: Value) -> Twin {
        Twin { value, width, signs: width <= 15 }
    }
}

/// The contents that are wanted in the half above a 16-bit operand.
#[derive(Clone, Copy, PartialEq)]
enum Above {
    Anything,
    Zeros,
    Signs,
}

/// Widens 16-bit arithmetic to 32 bits.
pub fn narrow_integers(func: &mut Function, _arch: Arch) -> bool {
    let mut twins: Vec<Option<Twin>> = vec![None; func.num_values()];
    rewrite(func, |emitter, inst| narrow(emitter, inst, &mut twins))
}

fn narrow(emitter: &mut Emitter, inst: Inst, twins: &mut [Option<Twin>]) -> bool {
    let data = &emitter.func.insts[inst];
    let converts =
        matches!(data.op, Op::Unpack | Op::Zext | Op::Sext | Op::SintToFloat(_) | Op::UintToFloat(_));
    if data.ty != Type::B16 && !converts {
        return false;
    }
    let data = data.clone();
    match data.op {
        Op::Trunc if data.ty == Type::B16 && emitter.func.ty(data.args[0]) == Type::B32 => {
            remember(twins, emitter.func.result(inst), Twin::below(32, data.args[0]));
            return false;
        }
        // The low half of a word is the truncated word; the high half is the truncated result of a
        // shift.
        Op::Unpack if data.ty.bits() == 32 => {
            let &[low, high] = emitter.func.results(inst) else { return false };
            let word = match data.ty {
                Type::B32 => data.args[0],
                _ => emitter.value(Op::Bitcast, Type::B32, &data.args),
            };
            let sixteen = emitter.constant(Type::B32, 16);
            let shifted = emitter.value(Op::Shr, Type::B32, &[word, sixteen]);
            for (half, twin) in [(low, Twin::below(32, word)), (high, Twin::below(16, shifted))] {
                let cut = emitter.value(Op::Trunc, Type::B16, &[twin.value]);
                emitter.rename(half, cut);
                remember(twins, half, twin);
            }
            return true;
        }
        // Loads extend the value themselves.
        Op::Load(access) if data.ty == Type::B16 && access.lanes == 1 && access.elem.bytes() <= 2 => {
            let word = emitter.value(data.op, Type::B32, &data.args);
            let result = emitter.func.result(inst);
            emitter.become_op(inst, Op::Trunc, Type::B16, &[word]);
            let twin = match access.elem {
                MemType::S8 | MemType::S16 => Twin { value: word, width: 32, signs: true },
                elem => Twin::below(8 * elem.bytes(), word),
            };
            remember(twins, result, twin);
            return true;
        }
        Op::Zext | Op::Sext if emitter.func.ty(data.args[0]) == Type::B16 && data.ty != Type::B16 => {
            let above = if data.op == Op::Zext { Above::Zeros } else { Above::Signs };
            let Some(twin) = known(twins, data.args[0]) else { return false };
            let wide = extend(emitter, twin, data.args[0], above);
            match data.ty {
                Type::B64 => emitter.become_op(inst, data.op, Type::B64, &[wide]),
                _ => {
                    let result = emitter.func.result(inst);
                    emitter.rename(result, wide);
                }
            }
            return true;
        }
        Op::SintToFloat(_) | Op::UintToFloat(_) if emitter.func.ty(data.args[0]) == Type::B16 => {
            let above = if matches!(data.op, Op::SintToFloat(_)) { Above::Signs } else { Above::Zeros };
            let wide = operand(emitter, twins, data.args[0], above).value;
            emitter.become_op(inst, data.op, data.ty, &[wide]);
            return true;
        }
        _ if data.ty != Type::B16 => return false,
        _ => {}
    }

    if let Op::Icmp(cond) = data.op {
        let above = if cond.is_signed() { Above::Signs } else { Above::Zeros };
        let a = operand(emitter, twins, data.args[0], above).value;
        let b = operand(emitter, twins, data.args[1], above).value;
        emitter.become_op(inst, data.op, Type::B32, &[a, b]);
        return true;
    }
    if matches!(data.op, Op::UmulWide | Op::SmulWide) {
        let above = if data.op == Op::SmulWide { Above::Signs } else { Above::Zeros };
        let a = operand(emitter, twins, data.args[0], above).value;
        let b = operand(emitter, twins, data.args[1], above).value;
        emitter.become_op(inst, Op::Imul, Type::B32, &[a, b]);
        return true;
    }
    let above = match data.op {
        Op::Iadd | Op::Isub | Op::Ineg | Op::Imul | Op::And | Op::Or | Op::Xor | Op::Not | Op::Shl => {
            Above::Anything
        }
        Op::Shr | Op::Udiv | Op::Urem | Op::Umin | Op::Umax | Op::Umulh => Above::Zeros,
        Op::Sar | Op::Sdiv | Op::Srem | Op::Smin | Op::Smax | Op::Smulh | Op::Iabs => Above::Signs,
        _ => return false,
    };
    let shift = matches!(data.op, Op::Shl | Op::Shr | Op::Sar);
    let first = operand(emitter, twins, data.args[0], above);
    let second = match data.args.get(1) {
        Some(&count) if shift => Some(Twin::below(32, count)),
        Some(&arg) => Some(operand(emitter, twins, arg, above)),
        None => None,
    };
    let width = match (data.op, second) {
        (Op::And, Some(second)) => first.width.min(second.width),
        (Op::Or | Op::Xor | Op::Umax, Some(second)) => first.width.max(second.width),
        (Op::Umin, Some(second)) => first.width.min(second.width),
        (Op::Shr | Op::Udiv, _) => first.width,
        (Op::Urem, _) => 16,
        _ => 32,
    };
    let keeps_signs = match (data.op, second) {
        (Op::Sar | Op::Not, _) => first.signs,
        (Op::Smin | Op::Smax | Op::And | Op::Or | Op::Xor, Some(second)) => first.signs && second.signs,
        _ => false,
    };
    let signs = keeps_signs || width <= 15;
    let wide = match (data.op, second) {
        (Op::Umulh | Op::Smulh, Some(second)) => {
            let product = emitter.value(Op::Imul, Type::B32, &[first.value, second.value]);
            let sixteen = emitter.constant(Type::B32, 16);
            emitter.value(Op::Shr, Type::B32, &[product, sixteen])
        }
        (op, Some(second)) => emitter.value(op, Type::B32, &[first.value, second.value]),
        (op, None) => emitter.value(op, Type::B32, &[first.value]),
    };
    let result = emitter.func.result(inst);
    emitter.become_op(inst, Op::Trunc, Type::B16, &[wide]);
    remember(twins, result, Twin { value: wide, width, signs });
    true
}

/// Stores the twin of a value that the function had before the rule; other values are never looked
/// up.
fn remember(twins: &mut [Option<Twin>], value: Value, twin: Twin) {
    twins[value.as_u32() as usize] = Some(twin);
}

fn known(twins: &[Option<Twin>], value: Value) -> Option<Twin> {
    twins.get(value.as_u32() as usize).copied().flatten()
}

/// The 32-bit form of a 16-bit operand, with its upper half as wanted.
fn operand(emitter: &mut Emitter, twins: &[Option<Twin>], value: Value, above: Above) -> Twin {
    if let Some(bits) = emitter.func.constant(value) {
        let wide = if above == Above::Signs { bits as u16 as i16 as i32 as u32 } else { bits as u32 };
        let value = emitter.constant(Type::B32, wide.into());
        return Twin { value, width: 32 - wide.leading_zeros(), signs: wide == wide as i16 as u32 };
    }
    match known(twins, value) {
        Some(twin) if above == Above::Anything => twin,
        Some(twin) => {
            let wide = extend(emitter, twin, value, above);
            match above {
                Above::Zeros => Twin::below(twin.width.min(16), wide),
                _ => Twin { value: wide, width: signed_width(twin), signs: true },
            }
        }
        None => {
            let op = if above == Above::Signs { Op::Sext } else { Op::Zext };
            let width = if above == Above::Signs { 32 } else { 16 };
            let value = emitter.value(op, Type::B32, &[value]);
            Twin { value, width, signs: above == Above::Signs }
        }
    }
}

/// The twin of `value`, extended unless its upper half is already as wanted.
fn extend(emitter: &mut Emitter, twin: Twin, value: Value, above: Above) -> Value {
    match above {
        Above::Zeros if twin.width > 16 => {
            let mask = emitter.constant(Type::B32, 0xffff);
            emitter.value(Op::And, Type::B32, &[twin.value, mask])
        }
        Above::Signs if !twin.signs => emitter.value(Op::Sext, Type::B32, &[value]),
        _ => twin.value,
    }
}

fn signed_width(twin: Twin) -> u32 {
    if twin.width > 15 { 32 } else { twin.width }
}

#[cfg(test)]
mod tests {
    use ptxc_ir::IntCond;

    use super::*;
    use crate::legalize::emitter::tests::{Build, ops};

    #[test]
    fn a_masked_value_is_compared_without_extension() {
        let mut b = Build::new();
        let word = b.value(Op::Param { offset: 0 }, Type::B32, &[]);
        let half = b.value(Op::Trunc, Type::B16, &[word]);
        let mask = b.value(Op::Const(255), Type::B16, &[]);
        let low = b.value(Op::And, Type::B16, &[half, mask]);
        let six = b.value(Op::Const(6), Type::B16, &[]);
        b.value(Op::Icmp(IntCond::Sgt), Type::B16, &[low, six]);
        let mut func = b.finish();
        assert!(narrow_integers(&mut func, Arch::Sm90));
        assert!(!ops(&func).iter().any(|op| matches!(op, Op::Sext | Op::Zext)));
    }

    #[test]
    fn loaded_values_are_already_extended() {
        for (elem, cond, extensions) in [
            (MemType::B8, IntCond::Ult, 0),
            (MemType::B8, IntCond::Slt, 0),
            (MemType::S8, IntCond::Slt, 0),
            (MemType::S8, IntCond::Ult, 2),
            (MemType::B16, IntCond::Ult, 0),
            (MemType::B16, IntCond::Slt, 2),
            (MemType::S16, IntCond::Slt, 0),
        ] {
            let mut b = Build::new();
            let address = b.value(Op::Param { offset: 0 }, Type::B64, &[]);
            let access = ptxc_ir::Access::weak(ptxc_ir::Space::Global, elem);
            let x = b.value(Op::Load(access), Type::B16, &[address]);
            let y = b.value(Op::Load(access), Type::B16, &[address]);
            b.value(Op::Icmp(cond), Type::B16, &[x, y]);
            let mut func = b.finish();
            assert!(narrow_integers(&mut func, Arch::Sm90));
            let made = ops(&func).iter().filter(|op| matches!(op, Op::Sext | Op::And)).count();
            assert_eq!(made, extensions, "{elem} {cond}");
        }
    }

    #[test]
    fn halves_of_a_word_are_truncations() {
        let mut b = Build::new();
        let word = b.value(Op::Param { offset: 0 }, Type::B32, &[]);
        let low = b.value(Op::Unpack, Type::B32, &[word]);
        b.value(Op::Icmp(IntCond::Ult), Type::B16, &[low, low]);
        let mut func = b.finish();
        assert!(narrow_integers(&mut func, Arch::Sm90));
        assert!(!ops(&func).contains(&Op::Unpack));
        assert_eq!(ops(&func).iter().filter(|op| **op == Op::Trunc).count(), 2);
    }

    #[test]
    fn an_unknown_upper_half_is_extended_for_a_comparison() {
        let mut b = Build::new();
        let word = b.value(Op::Param { offset: 0 }, Type::B32, &[]);
        let half = b.value(Op::Trunc, Type::B16, &[word]);
        b.value(Op::Icmp(IntCond::Slt), Type::B16, &[half, half]);
        b.value(Op::Icmp(IntCond::Ult), Type::B16, &[half, half]);
        let mut func = b.finish();
        narrow_integers(&mut func, Arch::Sm90);
        assert_eq!(ops(&func).iter().filter(|op| **op == Op::Sext).count(), 2);
        assert_eq!(ops(&func).iter().filter(|op| **op == Op::And).count(), 2);
    }
}
