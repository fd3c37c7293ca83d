//! Tests the model against published measurements of the machine.

use super::*;
use crate::text::parse_inst;

fn coded(line: &str) -> Coded {
    let (inst, control) = parse_inst(line, Arch::Sm90).unwrap_or_else(|error| panic!("{line}: {error:?}"));
    Coded { inst, control: Control { reuse: control, ..Control::plain() }, loc: u32::MAX }
}

fn code(text: &str) -> Vec<Coded> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(coded).collect()
}

/// Cycles from the issue of the first instruction to that of the last.
fn elapsed(arch: Arch, insts: &[Coded]) -> u64 {
    distances(arch, insts)[..insts.len() - 1].iter().sum()
}

#[test]
fn files_name_every_pipe_with_figures_that_make_sense() {
    for arch in Arch::ALL {
        for timing in pipes(arch) {
            assert!(timing.interval > 0, "{arch} {timing:?}");
            assert!(usize::from(timing.queue) <= QUEUE && !timing.source.is_empty(), "{arch} {timing:?}");
            assert!(timing.units.iter().all(|&unit| usize::from(unit) < UNITS), "{arch} {timing:?}");
            assert!(timing.queue > 0 || !timing.shared, "{arch} {timing:?}");
        }
    }
}

/// Listing 1 of Huerta et al.: bubbles between two multiply-adds, by the banks of the second one's
/// operands.
#[test]
fn register_banks() {
    for (x, y, cycles) in [(19, 21, 5), (18, 21, 6), (18, 20, 7)] {
        let text = format!(
            "CS2R.32 R4, SR_CLOCKLO
             NOP
             FFMA R11, R10, R12, R14
             FFMA R13, R16, R{x}, R{y}
             NOP
             CS2R.32 R5, SR_CLOCKLO"
        );
        assert_eq!(elapsed(Arch::Sm86, &code(&text)), cycles, "R{x}, R{y}");
    }
    // Without the last NOP the clock is read before it can notice.
    let text = "CS2R.32 R4, SR_CLOCKLO
        NOP
        FFMA R11, R10, R12, R14
        FFMA R13, R16, R18, R20
        CS2R.32 R5, SR_CLOCKLO";
    assert_eq!(elapsed(Arch::Sm86, &code(text)), 4);
}

/// Section 5.3: two operands of one bank cost one cycle, three cost two.
#[test]
fn reads_of_one_bank_take_turns() {
    let many = |line: &str| code(&format!("{line}\n").repeat(41));
    assert_eq!(elapsed(Arch::Sm86, &many("FMUL R1, R2, R5")), 40);
    let conflict = elapsed(Arch::Sm86, &many("FMUL R1, R2, R4"));
    assert!((76..=80).contains(&conflict), "{conflict}");
    let conflict = elapsed(Arch::Sm86, &many("FFMA R1, R2, R4, R6"));
    assert!((114..=120).contains(&conflict), "{conflict}");
}

/// Listing 4: what the reuse cache keeps.
#[test]
fn reuse_cache() {
    let hits = |text: &str| {
        let mut ports = Ports::default();
        let mut hits = Vec::new();
        for coded in code(text) {
            for read in Demand::new(Arch::Sm86, &coded).reads.iter().filter(|read| read.register == 2) {
                hits.push(ports.clone().is_kept(0, read, 0));
            }
            ports.allocate(0, &Demand::new(Arch::Sm86, &coded).reads, 0);
        }
        hits
    };
    let first = "IADD3 R1, R2.reuse, R3, R4";
    let last = "IADD3 R10, R2, R12, R13";
    assert_eq!(hits(&format!("{first}\nFFMA R5, R2, R7, R8\n{last}")), [false, true, false]);
    assert_eq!(hits(&format!("{first}\nFFMA R5, R2.reuse, R7, R8\n{last}")), [false, true, true]);
    assert_eq!(hits(&format!("{first}\nFFMA R5, R7, R2, R8\n{last}")), [false, false, true]);
    assert_eq!(hits(&format!("{first}\nFFMA R5, R4, R7, R8\n{last}")), [false, false]);
}

/// Table 1: when each sub-core issues its memory instructions, with one to four sub-cores at work.
#[test]
fn memory_queue() {
    let demand = Demand::new(Arch::Sm86, &coded("LDS R0, [R2]"));
    let expected: [&[[u64; 4]]; 4] = [
        &[[13, 0, 0, 0], [17, 0, 0, 0], [21, 0, 0, 0]],
        &[[13, 15, 0, 0], [17, 19, 0, 0], [21, 23, 0, 0]],
        &[[13, 15, 17, 0], [19, 21, 23, 0], [25, 27, 29, 0]],
        &[[13, 15, 17, 19], [21, 23, 25, 27], [29, 31, 33, 35]],
    ];
    for (more, expected) in expected.iter().enumerate() {
        let cores = more + 1;
        let mut fronts = vec![Front::default(); cores];
        let mut issued = vec![Vec::new(); cores];
        let mut port = 0;
        for _ in 0..8 {
            for core in 0..cores {
                let next = issued[core].last().map_or(2, |last| last + 1);
                let (at, _) = fronts[core].earliest(&demand, next);
                port = fronts[core].issue(0, &demand, at, port) + 2;
                issued[core].push(at);
            }
        }
        for (core, issued) in issued.iter().enumerate() {
            assert_eq!(issued[..5], [2, 3, 4, 5, 6]);
            let later: Vec<u64> = expected.iter().map(|row| row[core]).collect();
            assert_eq!(issued[5..], later, "sub-core {core} of {cores}");
        }
    }
}

#[test]
fn units_take_a_warp_in_halves() {
    let arch = Arch::Sm90;
    let both = "IADD3 R0, R1, R2, RZ\nIMAD R3, R1, R2, RZ\n".repeat(10);
    assert_eq!(elapsed(arch, &code(&both)), 19, "two pipes take turns");
    assert_eq!(elapsed(arch, &code(&"IMAD R3, R1, R2, RZ\n".repeat(11))), 20);
    assert_eq!(elapsed(arch, &code(&"FADD R3, R1, R2\n".repeat(11))), 10, "single precision has two units");
    assert_eq!(elapsed(Arch::Sm80, &code(&"FADD R3, R1, R2\n".repeat(11))), 20);
}

#[test]
fn control_fields() {
    let control = |stall, yield_hint| Control { stall, yield_hint, ..Control::plain() };
    assert_eq!(stall(&control(1, false)), 1);
    assert_eq!(stall(&control(1, true)), 2);
    assert_eq!(stall(&control(13, true)), 13);
    assert_eq!(stall(&control(0, true)), DRAIN);
}
