//! Tests the rules that hold for every row.

use std::collections::{BTreeMap, BTreeSet};

use ptxc_machine::Arch;

use super::{Completion, Kinds, Op, Role, Row, Stand};
use crate::text::{parse_inst, write_inst};
use crate::{Inst, Operand, OperandKind, PReg, value};

fn for_each(mut check: impl FnMut(Op, &'static Row)) {
    for &op in Op::ALL {
        check(op, op.row());
    }
}

#[test]
fn slots_have_names_of_their_own() {
    for_each(|op, row| {
        let names: BTreeSet<_> = row.slots.iter().map(|slot| slot.name).collect();
        assert_eq!(names.len(), row.slots.len(), "{op:?}");
        assert!(row.summary.len() > 3 && !row.mnemonic.is_empty(), "{op:?}");
    });
}

#[test]
fn modifiers_fit_and_their_defaults_exist() {
    for_each(|op, row| {
        assert!(row.mods.len() <= 8, "{op:?}");
        let kinds: BTreeSet<_> = row.mods.iter().map(|modifier| modifier.kind).collect();
        assert_eq!(kinds.len(), row.mods.len(), "{op:?}: a kind names one modifier");
        for modifier in row.mods {
            let values: BTreeSet<_> = modifier.values.iter().collect();
            assert_eq!(values.len(), modifier.values.len(), "{op:?}: {modifier:?}");
            assert!(usize::from(modifier.default) < modifier.values.len(), "{op:?}: {modifier:?}");
            let is_last = modifier.stand == Stand::Last;
            let starts = |value: &&str| value.is_empty() || value.starts_with('.') != is_last;
            assert!(modifier.values.iter().all(starts), "{op:?}");
            if let Stand::Operand(name) = modifier.stand {
                assert!(row.slot(name).is_some(), "{op:?} has no {name}");
            }
        }
    });
}

#[test]
fn rows_can_name_the_scoreboards_that_their_completion_needs() {
    for_each(|op, row| {
        let has = |defined: bool| {
            let kinds = Kinds::R.or(Kinds::UR).or(Kinds::P).or(Kinds::UP).or(Kinds::MEM);
            row.slots.iter().any(|slot| (slot.role == Role::Def) == defined && slot.kinds.meets(kinds))
        };
        let (defines, reads) = (has(true), has(false));
        match row.completion {
            Completion::Fixed | Completion::Group => {}
            Completion::Variable => {
                assert!(row.scoreboards.write || !defines, "{op:?} cannot tell when its results are there");
                assert!(row.scoreboards.read || !reads, "{op:?} cannot tell when it has read its operands");
            }
            Completion::LateRead | Completion::LateUniformRead => {
                assert!(row.scoreboards.read || !reads, "{op:?} cannot tell when it has read its operands");
            }
        }
    });
}

#[test]
fn optional_slots_stay_at_defaults_that_fit() {
    for_each(|op, row| {
        for slot in row.slots.iter().filter(|slot| slot.optional || slot.hidden || slot.hidden_with.is_some())
        {
            let default: Operand<PReg> = slot.default_operand();
            assert!(slot.check(&default).is_ok(), "{op:?} {}", slot.name);
        }
        for text in row.slots.iter().filter_map(|slot| slot.hidden_with) {
            assert!(row.mods.iter().any(|m| m.values.contains(&text)), "{op:?}: {text} is no modifier");
        }
    });
}

#[test]
fn reuse_flags_and_definitions_are_where_they_can_be() {
    for_each(|op, row| {
        let reused: Vec<_> = row.slots.iter().filter_map(|slot| slot.reuse).collect();
        let distinct: BTreeSet<_> = reused.iter().collect();
        assert!(distinct.len() == reused.len() && reused.iter().all(|&index| index < 4), "{op:?}");
        let first_use = row.slots.iter().position(|slot| slot.role == Role::Use).unwrap_or(row.slots.len());
        assert!(row.slots[first_use..].iter().all(|slot| slot.role == Role::Use), "{op:?}: results first");
    });
}

/// A sample of a row with a fitting operand in every slot, on the architecture if it has the row.
/// The text shows all operands.
fn sample(op: Op, arch: Arch) -> Inst<PReg> {
    use super::Kinds;
    let row_exists = op.row().archs.contains(arch);
    let mut inst = Inst::new(op);
    for (index, slot) in op.row().slots.iter().enumerate() {
        if slot.repeated {
            inst = inst.targets([crate::Label(3), crate::Label(4)]);
            continue;
        }
        if slot.hidden_with.is_some() {
            continue;
        }
        let number = 2 * index as u8;
        let candidates = [
            (Kinds::R, Operand::reg(PReg::r(number))),
            (Kinds::UR, Operand::reg(PReg::ur(number))),
            (Kinds::P, Operand::reg(PReg::p(index as u8 % 7))),
            (Kinds::UP, Operand::reg(PReg::up(index as u8 % 7))),
            (Kinds::IMM, Operand::imm(1)),
            (Kinds::CONST, Operand::constant(0, 0x210)),
            (Kinds::MEM, Operand::mem(crate::Address::global(PReg::r(8), 4, None))),
            (
                Kinds::MEM_AT_UR,
                Operand::mem(crate::Address {
                    uniform: Some(PReg::ur(4)),
                    ..crate::Address::narrow(None, 8)
                }),
            ),
            (Kinds::LABEL, Operand::label(crate::Label(3))),
            (Kinds::FUNCTION, Operand::function(crate::FunctionIndex(1))),
            (Kinds::SPECIAL, Operand::special(crate::SpecialReg::TidX)),
            (Kinds::CONVERGENCE, Operand::convergence(1)),
            (Kinds::PREDICATES, Operand::predicates()),
        ];
        let takes = |kind| slot.accepts(kind, arch) || (!row_exists && slot.kinds.contains(kind));
        let found = candidates.into_iter().find(|(kind, _)| takes(*kind));
        let operand = found.unwrap_or_else(|| panic!("{op:?} {} takes nothing", slot.name)).1;
        inst.operands[index] = operand.half(slot.halves.default_half());
    }
    inst
}

/// On every architecture the text of an instruction leads back to its row: for the defaults, and
/// with every value of every modifier. The shapes may not collide with those of another row. A row
/// or value that an architecture lacks is rejected.
#[test]
fn the_text_names_the_row() {
    for arch in Arch::ALL {
        let mut shapes: BTreeMap<String, Op> = BTreeMap::new();
        for_each(|op, row| {
            let base = sample(op, arch);
            let mut variants = vec![base.clone()];
            for (position, modifier) in row.mods.iter().enumerate() {
                for value in 0..modifier.values.len() as u8 {
                    let mut variant = base.clone();
                    variant.mods.set(position, value);
                    variants.push(variant);
                }
            }
            for mut inst in variants {
                let extended = inst.is(value!(Extended = ".E"));
                for (operand, slot) in inst.operands.iter_mut().zip(row.slots) {
                    if let OperandKind::Mem(address) = &mut operand.kind {
                        address.wide = slot.address_is_wide(extended);
                    }
                }
                assert_eq!(inst.check_form(), Ok(()), "{inst}");
                let mut text = String::new();
                write_inst(&mut text, &inst, 0, &[], arch).unwrap();
                let read = parse_inst(&text, arch);
                if inst.check_arch(arch).is_err() {
                    assert!(read.is_err(), "{op:?} {text} on {arch}");
                    continue;
                }
                let (back, _) = read.unwrap_or_else(|why| panic!("{op:?} {text} on {arch}: {why}"));
                assert_eq!(back, inst, "{op:?} {text} on {arch}");
                let other = shapes.insert(text.clone(), op);
                assert!(other.is_none() || other == Some(op), "{text} is both {op:?} and {other:?}");
            }
        });
    }
}

#[test]
fn limits_and_spellings_are_about_what_the_row_has() {
    for_each(|op, row| {
        for (index, spelling) in row.spellings.iter().enumerate() {
            let others = &row.spellings[index + 1..];
            assert!(
                others.iter().all(|other| other.archs.is_disjoint(spelling.archs)),
                "{op:?}: {spelling:?}"
            );
            assert_ne!((spelling.mnemonic, spelling.opcode), (row.mnemonic, 0), "{op:?}: nothing differs");
        }
        for modifier in row.mods {
            let named = modifier.limits.iter().map(|&(value, _)| value);
            for value in named.chain(modifier.spellings.iter().map(|&(value, ..)| value)) {
                assert!(modifier.values.contains(&value), "{op:?}: {value} of {modifier:?}");
            }
        }
        for slot in row.slots {
            let within = slot.limits.iter().all(|&(kinds, _)| slot.kinds.contains(kinds));
            assert!(within, "{op:?} {}: a limit of what it never takes", slot.name);
        }
    });
}

#[test]
fn only_the_last_slot_repeats() {
    for_each(|op, row| {
        let repeated = row.slots.iter().rev().skip(1).any(|slot| slot.repeated);
        assert!(!repeated && (!sample(op, Arch::Sm90).is_indexed_branch() || row.effects.branch), "{op:?}");
    });
    let branch: Inst<PReg> = Inst::new(Op::BRX).ops([Operand::reg(PReg::r(4)), Operand::imm(0)]);
    assert_eq!(branch.check_form(), Ok(()));
    let mut wrong = branch.targets([crate::Label(1)]);
    wrong.operands.push(Operand::imm(1));
    assert!(wrong.check_form().is_err());
}

#[test]
fn labels_belong_to_control_flow() {
    for_each(|op, row| {
        let has_label = sample(op, Arch::Sm90)
            .operands
            .iter()
            .any(|operand| matches!(operand.kind, OperandKind::Label(_)));
        let flows = row.effects.branch || row.effects.convergent;
        assert!(!has_label || flows || op.row().never, "{op:?}");
    });
}
