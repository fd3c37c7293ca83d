//! The cycles in which a sub-core can issue instructions: pipes, queues and register ports.
//!
//! In: instructions with their control fields, in the order of their issue. Out: the earliest cycle
//! of each, as far as that follows from the instructions alone: stall counts, the pipe that an
//! instruction needs, and the ports through which its operands are read. The caller adds everything
//! that depends on data (caches, other warps, scoreboards).
//! [`Program::static_cycles`](crate::Program::static_cycles) has one warp and no waits; the
//! simulator has the rest. So both count the same cycles.
//!
//! ```
//! use ptxc_machine::Arch;
//! use ptxc_sass::{Coded, Control, Inst, Op, Operand, PReg, issue};
//!
//! let r = |n| Operand::reg(PReg::r(n));
//! let add = |d| Inst::new(Op::IADD3).ops([r(d), r(1), r(2), Operand::rz()]);
//! let coded = |inst| Coded { inst, control: Control::plain(), loc: u32::MAX };
//! // Both stall for one cycle only, but the integer unit takes a warp in two halves.
//! assert_eq!(issue::distances(Arch::Sm90, &[coded(add(3)), coded(add(4))]), [2, 1]);
//! ```
//!
//! **Pipes.** The figures are in `machine/data/sm_*/issue.csv`. A unit that is half a warp wide is
//! taken for two cycles by each instruction. If there are two units (single precision), the
//! instruction goes to the one that is free first. The memory pipe and similar pipes have a queue:
//! an instruction enters it at issue and leaves it after `delay` cycles, and at least `interval`
//! cycles after the previous instruction. Issue continues until the queue is full.
//!
//! **Register ports.** The model is that of Huerta et al., "Analyzing Modern NVIDIA GPU cores"
//! (arXiv 2503.20481), sections 5.1.1 and 5.3. The general registers are in two banks, even and
//! odd, each with one port that reads one register of a warp in a cycle. An instruction of fixed
//! latency takes one cycle in stage Control and then stays in stage Allocate until all its operands
//! can be read within the three cycles that follow. An instruction can issue when Control is free.
//! A register that a reuse flag has kept from an earlier instruction of the same warp, in the same
//! operand slot and bank, is not read again. Instructions of variable latency use the cycles of the
//! ports that are left; that is not modelled.
//!
//! Cost: constant time per instruction.

mod ports;
mod table;

use ptxc_machine::Arch;
use smallvec::SmallVec;

use crate::control::Control;
use crate::inst::{AccessRole, Inst};
use crate::program::{Coded, Program};
use crate::register::{PReg, RegFile, Register};
use crate::slot_name;
use crate::table::{Completion, ModKind, Op, Pipe};
use ports::Ports;
pub use table::{PipeTiming, pipe_timing, pipes};

/// The number of register banks.
pub const BANKS: usize = 2;

/// The most units that an architecture has.
const UNITS: usize = 16;
/// The longest queue.
const QUEUE: usize = 8;

/// A stall count of 0 with the yield hint drains the warp, for this many cycles. Source: Huerta et
/// al. 2025, section 4; measured on sm_86.
pub const DRAIN: u8 = 45;

/// Cycles from the issue of an instruction to the earliest issue of the next one of the warp, by
/// the control field alone. A yield hint leaves the next cycle to other warps; a stall count of 0
/// with it drains.
pub const fn stall(control: &Control) -> u8 {
    match (control.stall, control.yield_hint) {
        (0, _) => DRAIN,
        (1, true) => 2,
        (stall, _) => stall,
    }
}

/// A register that an instruction reads through a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Read {
    register: u8,
    /// The operand slot of the reuse cache, if it has one.
    slot: Option<u8>,
    /// Whether the register is kept there.
    keep: bool,
}

/// The demands of an instruction on the sub-core that issues it.
#[derive(Clone, Debug)]
pub struct Demand {
    pipe: Pipe,
    timing: &'static PipeTiming,
    /// Cycles for which it occupies its unit, if its pipe has no queue.
    interval: u64,
    /// Whether it goes through stage Allocate.
    fixed: bool,
    reads: SmallVec<[Read; 6]>,
    /// See [`stall`].
    pub stall: u8,
}

impl Demand {
    /// The demands of an instruction.
    pub fn new(arch: Arch, coded: &Coded) -> Demand {
        let inst = &coded.inst;
        let row = inst.row();
        let fixed = inst.completion(arch) == Completion::Fixed;
        let mut reads = SmallVec::new();
        if fixed {
            inst.for_each_use(|access| {
                if access.role != AccessRole::Use || access.reg.file() != RegFile::Gpr {
                    return;
                }
                let slot = row.slots.get(usize::from(access.slot)).and_then(|slot| slot.reuse);
                let keep = slot.is_some_and(|slot| coded.control.reuse >> slot & 1 != 0);
                let first = access.reg.index();
                for register in first..first.saturating_add(access.width).min(RegFile::Gpr.count()) {
                    reads.push(Read { register, slot, keep });
                }
            });
        }
        Demand {
            pipe: row.pipe,
            timing: pipe_timing(arch, row.pipe),
            interval: interval(arch, inst),
            fixed,
            reads,
            stall: stall(&coded.control),
        }
    }

    /// Cycles for which it occupies its unit.
    pub fn interval(&self) -> u64 {
        self.interval
    }

    /// The figures of its pipe.
    pub fn pipe(&self) -> &'static PipeTiming {
        self.timing
    }
}

/// Cycles for which an instruction occupies its unit.
///
/// The tensor cores take a product of four registers of a in the interval of their pipe, and shorter
/// products in proportion, whatever the elements: halves of the width come in twice the number
/// (guide: results a cycle for each type). Doubles take twice as many multiply-adds a cycle as the
/// pipe of double precision, which takes 32 in its interval (A100 and H100 white papers).
///
/// A warp's part of a product of a warpgroup takes half a cycle for each column of b, whatever the
/// elements, since a row of a always has 32 bytes: 128 cycles for 256 columns (Luo et al.,
/// "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking", 2024).
fn interval(arch: Arch, inst: &Inst<PReg>) -> u64 {
    let pipe = inst.row().pipe;
    let base = u64::from(pipe_timing(arch, pipe).interval);
    if inst.row().completion == Completion::Group {
        return columns(inst).map_or(base, |columns| columns / 2);
    }
    let registers = match pipe {
        Pipe::Tensor => inst.slot_index(slot_name!("a")).map(|slot| u64::from(inst.slot_width(slot))),
        _ => None,
    };
    match registers {
        Some(registers) if inst.op == Op::DMMA => {
            2 * registers * u64::from(pipe_timing(arch, Pipe::Fp64).interval)
        }
        Some(registers) => (base * registers).div_ceil(4),
        None => base,
    }
}

/// The columns of b in a product of a warpgroup.
pub fn columns(inst: &Inst<PReg>) -> Option<u64> {
    let (columns, _) = inst.modifier(ModKind::Shape).strip_prefix(".64x")?.split_once('x')?;
    columns.parse().ok()
}

/// Why a sub-core can't issue an instruction yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Its unit is busy.
    Pipe,
    /// The queue of its unit is full.
    Queue,
    /// Operands of earlier instructions wait for a register port.
    Port,
}

/// The last instructions of a queue, by the cycles in which they leave it.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    leaves: [u64; QUEUE],
    next: u8,
    last: u64,
}

/// The state of a sub-core, as far as issue needs it.
#[derive(Clone, Debug)]
pub struct Front {
    free: [u64; UNITS],
    queues: [Queue; Pipe::ALL.len()],
    ports: Ports,
}

impl Default for Front {
    fn default() -> Front {
        Front { free: [0; UNITS], queues: [Queue::default(); Pipe::ALL.len()], ports: Ports::default() }
    }
}

impl Front {
    /// The earliest cycle, not before `at`, in which the instruction can issue, and what holds it
    /// until then.
    pub fn earliest(&self, demand: &Demand, at: u64) -> (u64, Option<Hold>) {
        let mut found = (at, None);
        let mut demand_cycle = |cycle: u64, hold| {
            if cycle > found.0 {
                found = (cycle, Some(hold));
            }
        };
        demand_cycle(self.ports.next_issue(), Hold::Port);
        match demand.timing.queue {
            0 => {
                let free = demand.timing.units.iter().map(|&unit| self.free[usize::from(unit)]).min();
                demand_cycle(free.unwrap_or(0), Hold::Pipe);
            }
            _ => {
                // The oldest instruction that may still be in the queue.
                let queue = &self.queues[demand.pipe as usize];
                demand_cycle(queue.leaves[usize::from(queue.next)], Hold::Queue);
            }
        }
        found
    }

    /// Issues an instruction of a warp. Returns the cycle in which it leaves the queue of its unit,
    /// or the cycle of its issue if the unit has no queue. `port` is the first cycle in which the
    /// port of the SM can take it, if it goes through that port.
    pub fn issue(&mut self, warp: u32, demand: &Demand, at: u64, port: u64) -> u64 {
        if demand.fixed {
            self.ports.allocate(warp, &demand.reads, at);
        }
        let timing = demand.timing;
        if timing.queue == 0 {
            let free = |unit: &&u8| self.free[usize::from(**unit)];
            if let Some(&unit) = timing.units.iter().min_by_key(free) {
                self.free[usize::from(unit)] = at + demand.interval;
            }
            return at;
        }
        let queue = &mut self.queues[demand.pipe as usize];
        let turn = queue.last + u64::from(timing.interval);
        let leaves = turn.max(at + u64::from(timing.delay)).max(port);
        queue.last = leaves;
        queue.leaves[usize::from(queue.next)] = leaves;
        queue.next = (queue.next + 1) % timing.queue;
        leaves
    }
}

/// For each instruction of a sequence that one warp runs alone, without waiting for scoreboards,
/// the cycles from its issue to the next one's; for the last, its stall count.
pub fn distances(arch: Arch, insts: &[Coded]) -> Vec<u64> {
    let mut front = Front::default();
    let mut next = 0;
    let mut times = Vec::with_capacity(insts.len() + 1);
    for coded in insts {
        let demand = Demand::new(arch, coded);
        let (at, _) = front.earliest(&demand, next);
        front.issue(0, &demand, at, 0);
        times.push(at);
        next = at + u64::from(demand.stall);
    }
    times.push(next);
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[cfg(test)]
mod tests;

impl Program {
    /// Cycles that a warp takes alone if it waits for no scoreboard and no data: for each instruction the cycles
    /// until the next one issues, by stall counts, pipes and register ports as in this module, weighted with how often
    /// it runs; rounded down. Instructions without a frequency count once. Code is taken in the order in which it
    /// lies: what a pipe is busy with where a branch arrives is not looked at.
    pub fn static_cycles(&self) -> u64 {
        let frequencies = self.frequency.iter().copied().chain(std::iter::repeat(Self::ONCE));
        let weighted = distances(self.arch, &self.insts).into_iter().zip(frequencies);
        let total: u128 = weighted.map(|(cycles, times)| u128::from(cycles) * u128::from(times)).sum();
        u64::try_from(total / u128::from(Self::ONCE)).unwrap_or(u64::MAX)
    }
}
