//! Uniform registers that count.
//!
//! ptxas keeps what is the same in all threads in uniform registers also in loops to which lanes come apart and within which
//! nothing gathers them: each group of lanes then counts for all. See `docs/facts/ptxas.md`.

use std::collections::HashMap;

use ptxc_sass::{Inst, Op, PReg, Program, RegFile, Register};
use ptxc_sim::{Case, run_sass_observed};

/// Whether a run changes a uniform register by what it holds (`UIADD3 UR4, UR4, 0x1`), at once or through other uniform
/// registers, where not all lanes of the warp that are still there come.
pub(crate) fn apart(case: &Case, program: &Program, options: &ptxc_sim::Options) -> bool {
    let counting = counting(program);
    let mut there: HashMap<([u32; 3], u32), u32> = HashMap::new();
    let mut found = false;
    // What comes of the run is known.
    let _ = run_sass_observed(case, program, options, &mut |executed| {
        let (place, pc) = (executed.place, executed.pc as usize);
        let there = there.entry((place.cta, place.warp)).or_insert(place.lanes);
        found |= counting.get(pc).is_some_and(|&counts| counts) && place.lanes != *there;
        if program.insts.get(pc).is_some_and(|coded| coded.inst.op == Op::EXIT) {
            *there &= !executed.active;
        }
    });
    found
}

/// For each instruction, whether it writes a uniform register that it depends on. Of the order of instructions nothing is
/// asked: a register that is used for two things may count where neither does.
fn counting(program: &Program) -> Vec<bool> {
    let insts = || program.insts.iter().map(|coded| &coded.inst);
    // For each register those that it is computed from.
    let mut sources = [0u128; 128];
    let mut grows = true;
    while grows {
        grows = false;
        for inst in insts() {
            let used = uses(inst).fold(0, |all, used| all | 1 << used | sources[used]);
            for def in defs(inst) {
                grows |= used & !sources[def] != 0;
                sources[def] |= used;
            }
        }
    }
    let counts =
        |inst| defs(inst).any(|def| uses(inst).any(|used| used == def || sources[used] >> def & 1 != 0));
    insts().map(counts).collect()
}

/// A number for a uniform register or predicate.
fn number(reg: PReg) -> Option<usize> {
    match reg.file() {
        RegFile::Ugpr => Some(usize::from(reg.index())),
        RegFile::Upred => Some(64 + usize::from(reg.index())),
        _ => None,
    }
}

fn defs(inst: &Inst<PReg>) -> impl Iterator<Item = usize> {
    inst.defs().filter_map(|def| number(def.reg))
}

fn uses(inst: &Inst<PReg>) -> impl Iterator<Item = usize> {
    inst.uses().filter_map(|used| number(used.reg))
}
