//! The assembler keeps every distance that the latency table calls legal.
//!
//! This test also covers kernels that have instructions without a row, where the hazard check
//! cannot check the whole kernel. Within a straight line of code, it adds up the stalls between two
//! dependent instructions. It skips pairs with a scoreboard wait or a drained pipe between them,
//! and pairs whose first instruction is announced by a scoreboard, because their distance has no
//! meaning.

use std::collections::BTreeMap;

use ptxc_machine::Arch;
use ptxc_sass::latency::{Dependence, Side, Source, latency};
use ptxc_sass::text::parse_inst;
use ptxc_sass::{Access, AccessRole, Control, Inst, PReg};

use super::FOLDERS;
use super::tools::{Line, oracle};

/// An instruction of a straight line, and the sum of the stalls before it.
struct Issued {
    inst: Inst<PReg>,
    control: Control,
    time: u32,
}

/// A register that an instruction touches: the instruction, the slot and the component.
#[derive(Clone, Copy)]
struct Touch {
    index: usize,
    slot: u8,
    component: u8,
}

#[derive(Default)]
struct Findings {
    pairs: usize,
    too_close: BTreeMap<String, u32>,
}

fn registers(access: &Access<PReg>) -> impl Iterator<Item = (PReg, u8)> + use<> {
    let first = access.reg;
    (0..access.width).filter_map(move |component| Some((first.offset(component)?, component)))
}

/// Whether the guards of two instructions exclude each other in each lane. If the predicate is
/// written between them, a pair is only skipped, not judged wrongly.
fn are_complementary(a: &Inst<PReg>, b: &Inst<PReg>) -> bool {
    matches!((a.guard, b.guard), (Some(a), Some(b)) if a.reg == b.reg && a.negated != b.negated)
}

/// Checks a straight line of code.
fn check_line(arch: Arch, line: &[Issued], found: &mut Findings) {
    let mut written: BTreeMap<PReg, Touch> = BTreeMap::new();
    let mut read: BTreeMap<PReg, Vec<Touch>> = BTreeMap::new();
    for (index, here) in line.iter().enumerate() {
        if here.control.wait_mask != 0 {
            written.clear();
            read.clear();
        }
        let accesses = here.inst.accesses();
        let mut compare = |dependence, before: &Touch, now: Touch| {
            let from = &line[before.index];
            let producer = Side { inst: &from.inst, slot: before.slot, component: before.component };
            let consumer = Side { inst: &here.inst, slot: now.slot, component: now.component };
            if are_complementary(&from.inst, &here.inst) {
                return;
            }
            let needed = latency(arch, dependence, producer, consumer);
            let distance = here.time - from.time;
            if needed.source != Source::Scoreboard {
                found.pairs += 1;
                if distance < u32::from(needed.legal) {
                    let pair = format!("{dependence:?} {} -> {}, {needed:?}", from.inst, here.inst);
                    found.too_close.insert(pair, distance);
                }
            }
        };
        for access in accesses.iter().filter(|access| access.role != AccessRole::Def) {
            for (reg, component) in registers(access) {
                let now = Touch { index, slot: access.slot, component };
                if let Some(before) = written.get(&reg) {
                    compare(Dependence::Raw, before, now);
                }
                read.entry(reg).or_default().push(now);
            }
        }
        for access in accesses.iter().filter(|access| access.role == AccessRole::Def) {
            for (reg, component) in registers(access) {
                let now = Touch { index, slot: access.slot, component };
                if let Some(before) = written.insert(reg, now) {
                    compare(Dependence::Waw, &before, now);
                }
                for before in read.remove(&reg).unwrap_or_default() {
                    if before.index != index {
                        compare(Dependence::War, &before, now);
                    }
                }
            }
        }
    }
}

fn check_program(arch: Arch, program: &[Line], found: &mut Findings) {
    let mut line: Vec<Issued> = Vec::new();
    let mut time = 0;
    for Line { text, high, labelled } in program {
        let (Ok((inst, _)), Ok(control)) = (parse_inst(text, arch), Control::of_word(*high)) else {
            check_line(arch, &std::mem::take(&mut line), found);
            continue;
        };
        if *labelled {
            check_line(arch, &std::mem::take(&mut line), found);
        }
        let effects = inst.row().effects;
        let ends = effects.branch || effects.exit || effects.convergent || control.stall == 0;
        line.push(Issued { inst, control, time });
        time += u32::from(control.stall);
        if ends {
            check_line(arch, &std::mem::take(&mut line), found);
        }
    }
    check_line(arch, &line, found);
}

#[test]
fn ptxas_keeps_the_legal_distances() {
    let Some(oracle) = oracle() else { return };
    for arch in Arch::ALL {
        let mut found = Findings::default();
        for kernel in oracle.listed_sample(FOLDERS, arch) {
            check_program(arch, &oracle.disassemble(&kernel, arch), &mut found);
        }
        eprintln!("{arch}: {} dependences checked", found.pairs);
        assert!(found.too_close.is_empty(), "closer than legal on {arch}: {:#?}", found.too_close);
        assert!(found.pairs > 500, "only {} dependences for {arch}", found.pairs);
    }
}
