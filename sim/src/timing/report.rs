//! The results of a timed run.

use std::fmt;

use serde::Serialize;

use super::memory::MemoryCounts;
use super::stalls::{Cause, Stalls};

/// The number of instructions that the readable report lists.
const LISTED: usize = 12;

/// A sub-core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SubCoreTiming {
    /// Cycles in which it had a warp.
    pub active: u64,
    /// Instructions that it issued.
    pub issued: u64,
    /// Cycles in which it had warps, but none that could issue: `active - issued`.
    pub no_eligible_warp: u64,
}

/// A warp. Its life is `end - start` cycles: one for each instruction issued, the others are
/// stalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WarpTiming {
    /// The CTA, by its number in the grid.
    pub cta: u32,
    /// The warp in the CTA.
    pub warp: u32,
    /// The sub-core that it ran on.
    pub sub_core: u32,
    /// Its first cycle.
    pub start: u64,
    /// The cycle after its last one.
    pub end: u64,
    /// Instructions issued.
    pub issued: u64,
    /// The cycles in which it did not issue.
    pub stalls: Stalls,
}

/// An instruction of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InstTiming {
    /// Its offset in the program, in bytes.
    pub offset: u32,
    /// Its text.
    pub text: String,
    /// The number of warps that issued it.
    pub issued: u64,
    /// The number of active lanes over all issues: the lanes at this instruction, whatever their
    /// guards.
    pub lanes: u64,
    /// The number of those lanes for which it had an effect.
    pub threads: u64,
    /// The cycles that warps waited to issue it.
    pub stalls: Stalls,
}

/// The part of a grid that is resident on the SM at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Residency {
    /// Resident CTAs.
    pub ctas: u32,
    /// Resident warps.
    pub warps: u32,
    /// The resource that limits it.
    pub limited_by: &'static str,
}

/// The results of the model of one SM for a launch. All times are in cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// The architecture.
    pub arch: String,
    /// From the first instruction to the end of the last warp.
    pub cycles: u64,
    /// The time of a single warp that waits for nothing.
    pub static_cycles: u64,
    /// Warp instructions.
    pub issued: u64,
    /// Active lanes, over all warp instructions.
    pub lanes: u64,
    /// Instructions of lanes that had an effect.
    pub threads: u64,
    /// The resident part of the grid.
    pub residency: Residency,
    /// The resident part of a grid of unlimited size.
    pub occupancy: Residency,
    /// The sub-cores.
    pub sub_cores: Vec<SubCoreTiming>,
    /// The stalls of all warps.
    pub stalls: Stalls,
    /// The statistics of memory.
    pub memory: MemoryCounts,
    /// The warps, in the order of their start.
    pub warps: Vec<WarpTiming>,
    /// The instructions, in the order of the program.
    pub insts: Vec<InstTiming>,
}

impl Timing {
    /// The fraction of the cycles in which sub-cores that had a warp issued an instruction, 0 to 1.
    pub fn issue_utilisation(&self) -> f64 {
        let active: u64 = self.sub_cores.iter().map(|core| core.active).sum();
        share(self.issued, active)
    }

    /// The mean number of active lanes of an issued instruction, 0 to 32. It is below 32 if the
    /// lanes of a warp have diverged.
    pub fn lanes_per_issue(&self) -> f64 {
        share(self.lanes, self.issued)
    }

    /// The mean number of lanes for which an instruction had an effect: active lanes whose guard
    /// holds.
    pub fn effective_lanes_per_issue(&self) -> f64 {
        share(self.threads, self.issued)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * share(part, whole)
}

/// A readable table: totals, causes of stalls, sub-cores, memory, and the instructions that waited
/// most.
impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Residency { ctas, warps, limited_by } = self.residency;
        writeln!(f, "{}: {} cycles, {} warp instructions", self.arch, self.cycles, self.issued)?;
        write!(f, "  {ctas} CTAs ({warps} warps) at once, limited by {limited_by}")?;
        if self.residency != self.occupancy {
            let Residency { ctas, warps, limited_by } = self.occupancy;
            write!(f, "; {ctas} ({warps} warps) of a larger grid, limited by {limited_by}")?;
        }
        writeln!(f)?;
        writeln!(
            f,
            "  lanes per issue {:.1}, {:.1} of them with an effect",
            self.lanes_per_issue(),
            self.effective_lanes_per_issue()
        )?;
        writeln!(f, "  issue utilisation {:.1}%", 100.0 * self.issue_utilisation())?;
        for (n, core) in self.sub_cores.iter().enumerate() {
            let SubCoreTiming { active, issued, no_eligible_warp } = core;
            writeln!(
                f,
                "    sub-core {n}: {issued} issued in {active} cycles ({:.1}%), {no_eligible_warp} without an eligible warp",
                percent(*issued, *active)
            )?;
        }
        let lives: u64 = self.warps.iter().map(|warp| warp.end - warp.start).sum();
        writeln!(f, "  cycles of all warps: {lives}")?;
        writeln!(f, "    {:<18} {:>10} {:>5.1}%", "issue", self.issued, percent(self.issued, lives))?;
        let mut causes: Vec<(Cause, u64)> = self.stalls.iter().collect();
        causes.sort_by_key(|&(cause, cycles)| (std::cmp::Reverse(cycles), cause));
        for (cause, cycles) in causes {
            writeln!(f, "    {:<18} {cycles:>10} {:>5.1}%", cause.name(), percent(cycles, lives))?;
        }
        let memory = &self.memory;
        if memory.shared_accesses > 0 {
            writeln!(
                f,
                "  shared memory: {} accesses, {} passes, {} of them bank conflicts",
                memory.shared_accesses, memory.shared_passes, memory.bank_conflicts
            )?;
        }
        if memory.accesses > 0 {
            let (l1, l2) = (memory.l1_hits + memory.l1_misses, memory.l2_hits + memory.l2_misses);
            writeln!(
                f,
                "  memory: {} accesses, {} sectors; L1 hits {:.1}% of {l1}, L2 hits {:.1}% of {l2}",
                memory.accesses,
                memory.sectors,
                percent(memory.l1_hits, l1),
                percent(memory.l2_hits, l2)
            )?;
        }
        let mut waits: Vec<&InstTiming> = self.insts.iter().filter(|inst| inst.stalls.total() > 0).collect();
        waits.sort_by_key(|inst| (std::cmp::Reverse(inst.stalls.total()), inst.offset));
        write!(f, "  instructions that waited most:")?;
        for inst in waits.into_iter().take(LISTED) {
            let worst = inst.stalls.iter().max_by_key(|&(cause, cycles)| (cycles, std::cmp::Reverse(cause)));
            let (cause, cycles) = worst.map_or(("", 0), |(cause, cycles)| (cause.name(), cycles));
            write!(
                f,
                "\n    {:>10}  /*{:04x}*/ {:<48} {cause} {:.0}%",
                inst.stalls.total(),
                inst.offset,
                inst.text,
                percent(cycles, inst.stalls.total())
            )?;
        }
        Ok(())
    }
}
