//! Uniform registers that count.
//!
//! ptxas also keeps values that are the same in all threads in uniform registers in loops that
//! lanes reach one group after the other, without reconvergence inside. Each group of lanes then
//! counts for all. See `docs/facts/ptxas.md`.

use std::collections::HashMap;

use ptxc_sass::{Inst, Op, PReg, Program, RegFile, Register};
use ptxc_sim::{Case, run_sass_observed};

/// Whether a run updates a uniform register from its own value (`UIADD3 UR4, UR4, 0x1`), directly
/// or through other uniform registers, at a place that not all live lanes of the warp reach
/// together.
pub(crate) fn apart(case: &Case, program: &Program, options: &ptxc_sim::Options) -> bool {
    let counting = counting(program);
    let mut there: HashMap<([u32; 3], u32), u32> = HashMap::new();
    let mut found = false;
    // The result of the run is known.
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

/// For each instruction, whether it writes a uniform register that depends on itself. The order of
/// instructions is ignored: a register that is used for two purposes may count as such even if
/// neither use counts.
fn counting(program: &Program) -> Vec<bool> {
    let insts = || program.insts.iter().map(|coded| &coded.inst);
    // For each register, the registers that it is computed from.
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
