//! Tests the rules that hold for every pattern, and that random instructions survive both
//! directions.

use std::collections::BTreeMap;

use ptxc_machine::Arch;

use super::pattern::Pattern;
use super::{DecodeError, EncodeError, decode, encode, pattern};
use crate::control::Control;
use crate::inst::Inst;
use crate::operand::{Operand, OperandKind};
use crate::program::Coded;
use crate::register::{PReg, RegFile};
use crate::table::{FormCode, Kinds, Op};

#[test]
fn no_bit_is_claimed_twice() {
    for arch in Arch::ALL {
        for pattern in pattern::all(arch) {
            let row = pattern.op.row();
            let mut claimed: u128 = 0xfff;
            let fixed = row.fixed.iter().filter(|fixed| fixed.archs.contains(arch));
            let fixed = fixed.map(|fixed| ("a fixed bit", fixed.bits.mask()));
            let guard = pattern.has_guard.then_some(("the guard", 0xf000));
            for (name, mask) in pattern.field_masks().chain(fixed).chain(guard) {
                assert_eq!(
                    claimed & mask,
                    0,
                    "{:?} on {arch}: {name} at bit {}",
                    pattern.op,
                    mask.trailing_zeros()
                );
                let control = mask >> Control::LOWEST_BIT | mask >> Control::PM_BIT & 3;
                assert_eq!(control, 0, "{:?} on {arch}: {name}", pattern.op);
                claimed |= mask;
            }
            assert_eq!(
                pattern.value & !pattern.constant,
                0,
                "{:?} on {arch}: fixed bits in a field",
                pattern.op
            );
        }
    }
}

/// The demands that a pattern makes on a word by opcode, fixed bits, modifiers and halves of
/// registers: masks, and the bits that are allowed under each mask.
fn demands(pattern: &Pattern) -> Vec<(u128, Vec<u128>)> {
    let fixed = (pattern.constant, vec![pattern.value]);
    let fields = pattern.mods.iter().map(|field| (field.mask(), field.words()));
    let halves =
        pattern.row.slots.iter().zip(&pattern.slots).filter(|(_, field)| !field.signs.half.is_none());
    let halves = halves.map(|(slot, field)| {
        let bits = field.signs.half;
        let codes = (0..1u64 << bits.len).filter(|&code| slot.halves.of_code(code).is_some());
        (bits.mask(), codes.filter_map(|code| bits.put(code)).collect())
    });
    [fixed].into_iter().chain(fields).chain(halves).collect()
}

/// A word that meets all of the remaining demands, given the bits that are already known under a
/// mask.
fn meeting(demands: &[&(u128, Vec<u128>)], known: u128, word: u128) -> Option<u128> {
    let Some(((mask, choices), rest)) = demands.split_first().map(|(first, rest)| (*first, rest)) else {
        return Some(word);
    };
    let possible = choices.iter().filter(|&&bits| (bits ^ word) & known & mask == 0);
    possible.copied().find_map(|bits| meeting(rest, known | mask, word | bits))
}

/// If a word fits two patterns, one pattern is a special case of the other: it has all constant
/// bits of the other pattern and more. The decoder tries patterns with more constant bits first, so
/// it takes the special case. Two forms of one row may have the same bits: then only their operands
/// tell them apart.
#[test]
fn words_have_one_meaning() {
    let (mut pairs, mut special) = (0, 0);
    let mut unclear = Vec::new();
    for arch in Arch::ALL {
        let mut of_code: BTreeMap<u16, Vec<_>> = BTreeMap::new();
        for pattern in pattern::all(arch) {
            of_code.entry((pattern.value & 0xfff) as u16).or_default().push(pattern);
        }
        for (code, patterns) in of_code {
            for (index, one) in patterns.iter().enumerate() {
                for other in &patterns[..index] {
                    pairs += 1;
                    let both = one.constant & other.constant;
                    if (one.value ^ other.value) & both != 0 {
                        continue;
                    }
                    let demands = [demands(one), demands(other)].concat();
                    let Some(word) = meeting(&demands.iter().collect::<Vec<_>>(), 0, 0) else { continue };
                    let is_special =
                        one.constant != other.constant && (both == one.constant || both == other.constant);
                    let is_same =
                        one.op == other.op && (one.constant, one.value) == (other.constant, other.value);
                    if !is_special && !is_same {
                        unclear.push(format!(
                            "{code:#x}: {word:#034x} is {:?} and {:?} on {arch}",
                            one.op, other.op
                        ));
                    }
                    special += 1;
                }
            }
        }
    }
    assert!(unclear.is_empty(), "{unclear:#?}");
    assert!(pairs > 1000 && special > 10, "{pairs} pairs of one opcode, {special} special cases");
}

#[test]
fn forms_have_opcodes_of_their_own() {
    for &op in Op::ALL {
        let row = op.row();
        let uppers = row.forms.iter().filter(|form| matches!(form.code, FormCode::Upper(upper) if upper > 7));
        assert_eq!(uppers.count(), 0, "{op:?}");
    }
}

#[test]
fn words_of_ptxas_survive() {
    let words: [(u128, &str); 5] = [
        // PM bits and a batch code.
        (0x140f_cac0_07ff_e0ff_0000_0004_0302_7210, "IADD3 R2, R3, R4, RZ"),
        (0x000f_e400_07ff_e0ff_0000_0004_0302_7210, "IADD3 R2, R3, R4, RZ"),
        (0x000f_da00_0bf0_6270_0000_0008_0000_7c0c, "ISETP.GE.AND P0, PT, R0, UR8, PT"),
        (0x000f_e400_078e_c0ff_ffff_ffe0_0808_7812, "LOP3.LUT R8, R8, 0xffffffe0, RZ, 0xc0, !PT"),
        (0x000f_e400_0000_0f00_0000_00ff_0059_7202, "MOV R89, RZ"),
    ];
    for (word, text) in words {
        let coded = decode(word, 0, Arch::Sm90).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(coded.inst.to_string(), text);
        assert_eq!(encode(&coded, 0, Arch::Sm90, |_| None), Ok(word), "{text}");
    }
}

/// The first two operands of a sum are not both negated, or both complemented: the hardware raises
/// an illegal instruction, which nvdisasm does not know. Every other choice of signs is legal.
#[test]
fn sums_have_one_sign_on_their_first_two_operands() {
    for arch in Arch::ALL {
        let mut refused = 0;
        for (op, file) in [
            (Op::IADD3, RegFile::Gpr),
            (Op::IADD3_X, RegFile::Gpr),
            (Op::UIADD3, RegFile::Ugpr),
            (Op::UIADD3_X, RegFile::Ugpr),
        ] {
            let register = |number| Operand::reg(PReg::new(file, number));
            let carry = Operand::reg(PReg::new(op.row().guard, 0));
            let kinds = [register(4), Operand::zero(file), Operand::constant(0, 0x210), Operand::imm(5)];
            for b in kinds.into_iter().filter(|b| op.row().slots[4].accepts(Kinds::of(b), arch)) {
                for signs in 0..8 {
                    let is_extended = matches!(op, Op::IADD3_X | Op::UIADD3_X);
                    let signed = |operand: Operand<PReg>, n: u32| match signs >> n & 1 != 0 {
                        false => operand,
                        true if is_extended => operand.not(),
                        true => operand.neg(),
                    };
                    let is_immediate = matches!(b.kind, OperandKind::Imm(_));
                    if is_immediate && signs >> 1 & 1 != 0 {
                        continue;
                    }
                    let operands =
                        [register(2), signed(register(6), 0), signed(b, 1), signed(register(8), 2)];
                    let carry = is_extended.then_some(carry);
                    let inst = Inst::new(op).ops(operands.into_iter().chain(carry));
                    if inst.check_arch(arch).is_err() {
                        continue;
                    }
                    let is_legal = signs & 3 != 3;
                    assert_eq!(inst.has_clashing_signs(), !is_legal, "{inst}");
                    assert_eq!(inst.check_form().is_ok(), is_legal, "{inst}");
                    let text = inst.to_string();
                    assert_eq!(crate::text::parse_inst(&text, arch).is_ok(), is_legal, "{text}");
                    let coded = Coded { inst, control: Control::plain(), loc: u32::MAX };
                    let word = encode(&coded, 0, arch, |_| None);
                    if is_legal {
                        let word = word.expect("it is legal");
                        assert_eq!(decode(word, 0, arch).as_ref(), Ok(&coded));
                        // The word of the illegal instruction differs only in the other sign.
                        let both = word | 1 << 72 | 1 << 63;
                        if signs & 3 != 0 && !is_immediate {
                            assert_eq!(decode(both, 0, arch), Err(DecodeError::Signs(op)), "{text}");
                        }
                    } else {
                        assert_eq!(word, Err(EncodeError::Signs(op)), "{text}");
                        refused += 1;
                    }
                }
            }
        }
        assert!(refused >= 12, "{arch}: {refused} forms are refused");
    }
}

#[test]
fn the_rule_about_signs_names_the_operands() {
    assert_eq!(
        EncodeError::Signs(Op::IADD3).to_string(),
        "IADD3 cannot negate both a and b: write one of them as c"
    );
    assert_eq!(
        DecodeError::Signs(Op::UIADD3_X).to_string(),
        "illegal instruction: UIADD3.X cannot complement both a and b: write one of them as c"
    );
}
