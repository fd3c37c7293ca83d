//! Hazards as diagnostics on SASS text.

use ptxc_compiler::Located;
use ptxc_ptx::diagnostic::Severity;
use ptxc_sass::table::Completion;
use ptxc_sass::text::Kernel;
use ptxc_sass::verify::{Hazard, HazardKind, Lack};
use ptxc_sass::{Control, Op, Program};

use crate::sass_text::{count, span};

/// Groups hazards that differ only in their registers: the registers of a tuple have the same
/// hazard.
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
        HazardKind::Unarrived => "E0986",
        HazardKind::Ungranted => "E0987",
    }
}

/// Messages for an instruction too soon after a barrier, or for a barrier too soon after
/// `CGAERRBAR`. They are the message, the label of the later instruction and the label of the
/// earlier one.
fn after_barrier(program: &Program, hazard: &Hazard) -> (String, String, String) {
    let op = |index: u32| program.insts.get(index as usize).map(|coded| coded.inst.op);
    let (message, here, there) = match op(hazard.producer) {
        Some(Op::CGAERRBAR) => (
            "a barrier follows `CGAERRBAR` too soon".to_string(),
            "the barrier runs",
            "waits for errors of the whole cluster, which a barrier of the CTA or the cluster must not overtake",
        ),
        Some(Op::WARPGROUP_ARRIVE) => (
            "a matrix product follows `WARPGROUP.ARRIVE` too soon".to_string(),
            "the product starts",
            "orders earlier accesses to registers before the product",
        ),
        Some(op) if op.row().completion == Completion::Group => (
            "a matrix product follows another one too soon".to_string(),
            "the product starts",
            "the product before",
        ),
        _ => ("an instruction follows a CTA barrier too soon".to_string(), "runs", "the barrier"),
    };
    (message, here.to_string(), there.to_string())
}

/// One diagnostic for hazards that differ only in their registers, located at the instruction that
/// comes too soon.
pub(crate) fn located(kernel: &Kernel, hazards: &[Hazard]) -> Located {
    let program = &kernel.program;
    let hazard = &hazards[0];
    let regs: Vec<String> =
        hazards.iter().filter_map(|hazard| hazard.reg).map(|reg| reg.to_string()).collect();
    let regs = match &regs[..] {
        [] => "a needed register".to_string(),
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        [reg, ..] => reg.clone(),
    };
    let (is, it, has, finished) = if hazards.len() > 1 {
        ("are", "they", "have", "writes have finished")
    } else {
        ("is", "it", "has", "write has finished")
    };
    let place = |index: u32| kernel.spans.get(index as usize).map_or(span(&(0..0)), span);
    let (message, here, there) = match hazard.kind {
        HazardKind::Raw => (
            format!("{regs} {is} read before {it} {is} written"),
            format!("reads {regs}"),
            format!("writes {regs}"),
        ),
        HazardKind::Waw => (
            format!("{regs} {is} overwritten before the first {finished}"),
            format!("overwrites {regs}"),
            format!("writes {regs}, possibly later"),
        ),
        HazardKind::War => (
            format!("{regs} {is} overwritten before {it} {has} been read"),
            format!("overwrites {regs}"),
            format!("still has to read {regs}"),
        ),
        HazardKind::AfterBarrier => after_barrier(program, hazard),
        HazardKind::AfterResult => (
            "a CTA barrier follows the read of a barrier result too soon".to_string(),
            "may replace the result".to_string(),
            "reads the result".to_string(),
        ),
        HazardKind::StaleReuse => (
            format!("the reuse cache keeps {regs}, which the instruction overwrites"),
            format!("overwrites {regs}"),
            String::new(),
        ),
        HazardKind::Format => (
            "the control field is illegal".to_string(),
            "has an illegal control field".to_string(),
            String::new(),
        ),
        HazardKind::Boundary => (
            format!("{regs} {is} still in flight at the end of the function"),
            "leaves the function".to_string(),
            format!("starts the access to {regs}"),
        ),
        HazardKind::FallsOff => (
            "control runs past the last instruction".to_string(),
            "nothing follows".to_string(),
            String::new(),
        ),
        HazardKind::LostResult => (
            "a barrier result may be lost before it is read".to_string(),
            "reads the result of the warp's last reduction".to_string(),
            "the result is lost here".to_string(),
        ),
        HazardKind::Parted => (
            "a warp-wide instruction may see only some of the lanes".to_string(),
            "exchanges data with the lanes that are here".to_string(),
            "lanes may return one by one from this call".to_string(),
        ),
        HazardKind::LostGroup => (
            "a wait for asynchronous copies does not cover all of them".to_string(),
            "waits until the count of a scoreboard is low enough".to_string(),
            "commits a group of copies".to_string(),
        ),
        HazardKind::UnawaitedFence => (
            "nothing waits for a fence of the asynchronous view of memory".to_string(),
            "relies on the fence".to_string(),
            "the fence".to_string(),
        ),
        HazardKind::UnfencedExchange => (
            "an mbarrier is initialized after an access to shared memory without a fence".to_string(),
            "its unit may not see the earlier access".to_string(),
            "accesses shared memory, or may do so".to_string(),
        ),
        HazardKind::Unarrived => (
            format!("a matrix product reads {regs} without `WARPGROUP.ARRIVE` after the write"),
            format!("may not see the value of {regs}"),
            format!("writes {regs}"),
        ),
        HazardKind::Ungranted => (
            format!("an instruction names {regs}, which the warp does not have"),
            format!("names {regs}"),
            "changes the number of registers of the warp".to_string(),
        ),
        HazardKind::TrapMode if program.trap_handler => (
            "a CTA barrier in a trap handler is unpredictable".to_string(),
            "runs in trap mode".to_string(),
            String::new(),
        ),
        HazardKind::TrapMode => (
            "`BAR.SYNCALL` outside a trap handler is an illegal instruction".to_string(),
            "runs in user mode".to_string(),
            String::new(),
        ),
    };
    let lack = match hazard.lack {
        Lack::Cycles { need, have } => format!(" after {}, but {need} are needed", cycles(have)),
        Lack::Wait(0) => ", but nothing signals when this is safe".to_string(),
        Lack::Wait(mask) if waits(program, hazard.consumer) & mask != 0 => {
            format!(", but waits for {} too early to see the signal", names(mask))
        }
        Lack::Wait(mask) => format!(" without waiting for {}", names(mask)),
        Lack::Group => " without waiting for the group of products".to_string(),
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

/// The change that repairs the hazard.
fn help(program: &Program, hazard: &Hazard) -> Option<String> {
    let stall_of = |index: u32| program.insts.get(index as usize).map(|coded| coded.control.stall);
    Some(match hazard.lack {
        Lack::Cycles { need, have } => {
            let missing = need.saturating_sub(have);
            // At the end of a function, the stall of the last instruction also counts.
            let before = match hazard.kind {
                HazardKind::Boundary => hazard.consumer,
                _ => hazard.consumer.checked_sub(1)?,
            };
            let stall = stall_of(before)?;
            let place = before * Program::INST_BYTES;
            let is_between = hazard.producer <= before;
            if is_between && stall + missing <= Control::MAX_STALL {
                let yields =
                    if stall + missing > Control::MAX_STALL_WITHOUT_YIELD { " with yield" } else { "" };
                format!(
                    "raise the stall at /*{place:04x}*/ from {stall} to {}{yields}",
                    stall + missing
                )
            } else {
                format!(
                    "put {} more between the two, such as a NOP with a stall of {missing}",
                    cycles(missing)
                )
            }
        }
        Lack::Wait(0) if hazard.kind == HazardKind::War => {
            "set a read scoreboard at the earlier instruction, and wait for it at the later one".to_string()
        }
        Lack::Wait(0) => {
            "set a write scoreboard at the earlier instruction, and wait for it at the later one".to_string()
        }
        Lack::Wait(mask) if waits(program, hazard.consumer) & mask != 0 => {
            let place = hazard.producer * Program::INST_BYTES;
            format!(
                "a scoreboard is taken in the second cycle after its instruction: set a stall of 2 at /*{place:04x}*/"
            )
        }
        Lack::Wait(mask) => {
            let scoreboard = mask.trailing_zeros();
            let place = hazard.consumer * Program::INST_BYTES;
            format!("wait for SB{scoreboard} at /*{place:04x}*/")
        }
        Lack::Group => "put `WARPGROUP.DEPBAR.LE gsb0, 0x0` before the later instruction, after a product with `gsb0`".to_string(),
        Lack::Rule => match hazard.kind {
            HazardKind::Parted => "bring the lanes together: `BSSY` before the call and `BSYNC` after it, or \
                                   `WARPSYNC.ALL` here"
                .to_string(),
            HazardKind::StaleReuse => "remove that `.reuse` from the instruction".to_string(),
            HazardKind::LostResult => {
                "a warp has one barrier result: put the `B2R` before the next `BAR`".to_string()
            }
            HazardKind::LostGroup => {
                "make `LDGDEPBAR` the writer, or `UTMACMDFLUSH` the reader, of the scoreboard that the wait names".to_string()
            }
            HazardKind::UnfencedExchange => "put `FENCE.VIEW.ASYNC.S` between them".to_string(),
            HazardKind::Unarrived => "put `WARPGROUP.ARRIVE` between them".to_string(),
            HazardKind::Ungranted => "name lower registers, or leave the warp more of them".to_string(),
            HazardKind::TrapMode if program.trap_handler => {
                "`BAR.SYNCALL` waits for all warps of the CTA that are alive".to_string()
            }
            HazardKind::TrapMode => {
                "if the code runs in trap mode, write a line `.trap_handler` before `.text`".to_string()
            }
            HazardKind::FallsOff => "end the function with `EXIT` or a branch".to_string(),
            _ => return None,
        },
    })
}
