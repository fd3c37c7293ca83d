//! Hazards as diagnostics on SASS text.

use ptxc_compiler::Located;
use ptxc_ptx::diagnostic::Severity;
use ptxc_sass::text::Kernel;
use ptxc_sass::verify::{Hazard, HazardKind, Lack};
use ptxc_sass::{Control, Op, Program};

use crate::sass_text::{count, span};

/// Hazards that differ in their registers alone, together: those of a tuple lack the same.
pub(crate) fn group(hazards: &[Hazard]) -> impl Iterator<Item = &[Hazard]> {
    hazards.chunk_by(|a, b| Hazard { reg: a.reg, ..b.clone() } == *a)
}

/// The code of a kind of hazard.
fn code(kind: HazardKind) -> &'static str {
    match kind {
        HazardKind::Raw => "E0970",
        HazardKind::Waw => "E0971",
        HazardKind::War => "E0972",
        HazardKind::AfterBarrier => "E0973",
        HazardKind::StaleReuse => "E0974",
        HazardKind::Format => "E0975",
        HazardKind::Boundary => "E0976",
        HazardKind::FallsOff => "E0977",
        HazardKind::LostResult => "E0978",
        HazardKind::TrapMode => "E0979",
        HazardKind::AfterResult => "E0980",
        HazardKind::LostGroup => "E0981",
        HazardKind::UnawaitedFence => "E0982",
        HazardKind::UnfencedExchange => "E0983",
        HazardKind::Parted => "E0984",
    }
}

/// A barrier and what follows it too soon, or a barrier that itself follows `CGAERRBAR` too soon.
fn after_barrier(program: &Program, hazard: &Hazard) -> (String, String, String) {
    let op = |index: u32| program.insts.get(index as usize).map(|coded| coded.inst.op);
    let (message, here, there) = match op(hazard.producer) {
        Some(Op::CGAERRBAR) => (
            "a barrier follows `CGAERRBAR` too soon".to_string(),
            "the barrier comes",
            "waits for errors of the whole cluster, which a barrier of the CTA or the cluster must not overtake",
        ),
        _ => ("an instruction follows a CTA barrier too soon".to_string(), "comes", "the barrier"),
    };
    (message, here.to_string(), there.to_string())
}

/// Hazards that differ in their registers alone in words, at the instruction that comes too soon.
pub(crate) fn located(kernel: &Kernel, hazards: &[Hazard]) -> Located {
    let program = &kernel.program;
    let hazard = &hazards[0];
    let regs: Vec<String> =
        hazards.iter().filter_map(|hazard| hazard.reg).map(|reg| reg.to_string()).collect();
    let regs = match &regs[..] {
        [] => "what it needs".to_string(),
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        [reg, ..] => reg.clone(),
    };
    let (is, it, has, keeps) = if hazards.len() > 1 {
        ("are", "they", "have", "values are")
    } else {
        ("is", "it", "has", "value is")
    };
    let place = |index: u32| kernel.spans.get(index as usize).map_or(span(&(0..0)), span);
    let (message, here, there) = match hazard.kind {
        HazardKind::Raw => (
            format!("{regs} {is} read before {it} {is} there"),
            format!("reads {regs}"),
            format!("writes {regs}"),
        ),
        HazardKind::Waw => (
            format!("{regs} {is} overwritten before the first {keeps} there"),
            format!("overwrites {regs}"),
            format!("writes {regs}, perhaps later"),
        ),
        HazardKind::War => (
            format!("{regs} {is} overwritten before {it} {has} been read"),
            format!("overwrites {regs}"),
            format!("still has to read {regs}"),
        ),
        HazardKind::AfterBarrier => after_barrier(program, hazard),
        HazardKind::AfterResult => (
            "a CTA barrier follows the reading of a barrier result too soon".to_string(),
            "may replace the result".to_string(),
            "reads the result".to_string(),
        ),
        HazardKind::StaleReuse => (
            format!("the reuse cache keeps {regs}, which the instruction overwrites"),
            format!("overwrites {regs}"),
            String::new(),
        ),
        HazardKind::Format => {
            ("the control field is illegal".to_string(), "this instruction's".to_string(), String::new())
        }
        HazardKind::Boundary => (
            format!("{regs} {is} under way where the function is left"),
            "leaves the function".to_string(),
            format!("{regs} {is} not settled here"),
        ),
        HazardKind::FallsOff => (
            "control runs past the last instruction".to_string(),
            "nothing follows".to_string(),
            String::new(),
        ),
        HazardKind::LostResult => (
            "a barrier result is read that may be lost".to_string(),
            "reads the result of the warp's last reduction".to_string(),
            "the result is lost here".to_string(),
        ),
        HazardKind::Parted => (
            "an instruction of the warp may see a part of its lanes".to_string(),
            "exchanges with the lanes that are here".to_string(),
            "lanes may return one by one from this call".to_string(),
        ),
        HazardKind::LostGroup => (
            "a wait for asynchronous copies does not know of all of them".to_string(),
            "waits until a scoreboard counts no more".to_string(),
            "makes a group of copies".to_string(),
        ),
        HazardKind::UnawaitedFence => (
            "a fence of the asynchronous view of memory is not awaited".to_string(),
            "relies on the fence".to_string(),
            "the fence".to_string(),
        ),
        HazardKind::UnfencedExchange => (
            "an mbarrier is made behind an access to shared memory without a fence".to_string(),
            "its unit may not see what was there".to_string(),
            "accesses shared memory, or may".to_string(),
        ),
        HazardKind::TrapMode if program.trap_handler => (
            "a CTA barrier in a trap handler is unpredictable".to_string(),
            "runs in trap mode".to_string(),
            String::new(),
        ),
        HazardKind::TrapMode => (
            "`BAR.SYNCALL` outside of a trap handler is an illegal instruction".to_string(),
            "runs in user mode".to_string(),
            String::new(),
        ),
    };
    let lack = match hazard.lack {
        Lack::Cycles { need, have } => format!(" after {}, {need} are needed", cycles(have)),
        Lack::Wait(0) => ", and nothing says when it may".to_string(),
        Lack::Wait(mask) if waits(program, hazard.consumer) & mask != 0 => {
            format!(" and waits for {} too early to see it", names(mask))
        }
        Lack::Wait(mask) => format!(" without waiting for {}", names(mask)),
        Lack::Rule => String::new(),
    };
    let mut secondary = Vec::new();
    if hazard.producer != hazard.consumer {
        let sets = match (hazard.lack, hazard.kind) {
            (Lack::Wait(0), HazardKind::War) => ", and sets no scoreboard",
            (Lack::Wait(0), _) => ", and sets no scoreboard",
            _ => "",
        };
        secondary.push((place(hazard.producer), format!("{there}{sets}")));
    }
    Located {
        code: code(hazard.kind).to_string(),
        severity: Severity::Error,
        message,
        primary: (place(hazard.consumer), format!("{here}{lack}")),
        secondary,
        notes: vec![format!("in `{}`, /*{:04x}*/", program.name, hazard.consumer * Program::INST_BYTES)],
        help: help(program, hazard),
    }
}

fn cycles(number: u8) -> String {
    count(number.into(), "cycle")
}

fn waits(program: &Program, index: u32) -> u8 {
    program.insts.get(index as usize).map_or(0, |coded| coded.control.wait_mask)
}

fn names(mask: u8) -> String {
    let names: Vec<String> = (0..8).filter(|sb| mask >> sb & 1 != 0).map(|sb| format!("SB{sb}")).collect();
    names.join(" or ")
}

/// What would repair it.
fn help(program: &Program, hazard: &Hazard) -> Option<String> {
    let stall_of = |index: u32| program.insts.get(index as usize).map(|coded| coded.control.stall);
    Some(match hazard.lack {
        Lack::Cycles { need, have } => {
            let missing = need.saturating_sub(have);
            // What is left waits too before the first instruction behind it issues.
            let before = match hazard.kind {
                HazardKind::Boundary => hazard.consumer,
                _ => hazard.consumer.checked_sub(1)?,
            };
            let stall = stall_of(before)?;
            let place = before * Program::INST_BYTES;
            let is_behind = hazard.producer <= before;
            if is_behind && stall + missing <= Control::MAX_STALL {
                let yields =
                    if stall + missing > Control::MAX_STALL_WITHOUT_YIELD { " with yield" } else { "" };
                format!(
                    "a stall of {}{yields} at /*{place:04x}*/, where it is {stall}, would do",
                    stall + missing
                )
            } else {
                format!(
                    "{} more between the two would do, such as a stall of {missing} at a NOP",
                    cycles(missing)
                )
            }
        }
        Lack::Wait(0) if hazard.kind == HazardKind::War => {
            "a read scoreboard at the one and a wait for it at the other would do".to_string()
        }
        Lack::Wait(0) => "a write scoreboard at the one and a wait for it at the other would do".to_string(),
        Lack::Wait(mask) if waits(program, hazard.consumer) & mask != 0 => {
            let place = hazard.producer * Program::INST_BYTES;
            format!(
                "a scoreboard counts an instruction from the second cycle on: a stall of 2 at /*{place:04x}*/ would do"
            )
        }
        Lack::Wait(mask) => {
            let scoreboard = mask.trailing_zeros();
            let place = hazard.consumer * Program::INST_BYTES;
            format!("a wait for SB{scoreboard} at /*{place:04x}*/ would do")
        }
        Lack::Rule => match hazard.kind {
            HazardKind::Parted => "bring the lanes together: `BSSY` before the call and `BSYNC` behind it, or \
                                   `WARPSYNC.ALL` here"
                .to_string(),
            HazardKind::StaleReuse => "the instruction without that `.reuse` would do".to_string(),
            HazardKind::LostResult => {
                "a warp has one barrier result: B2R before the next BAR would do".to_string()
            }
            HazardKind::LostGroup => {
                "`LDGDEPBAR` as writer, or `UTMACMDFLUSH` as reader, of the scoreboard that the wait names would do".to_string()
            }
            HazardKind::UnfencedExchange => "`FENCE.VIEW.ASYNC.S` in between would do".to_string(),
            HazardKind::TrapMode if program.trap_handler => {
                "`BAR.SYNCALL` waits for all warps of the CTA that are alive".to_string()
            }
            HazardKind::TrapMode => {
                "a line `.trap_handler` in front of `.text` says that the code runs in trap mode".to_string()
            }
            HazardKind::FallsOff => "EXIT or a branch as the last instruction would do".to_string(),
            _ => return None,
        },
    })
}
