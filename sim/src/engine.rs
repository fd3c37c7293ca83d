//! An engine: a program, and the effect of its instructions on one warp.
//!
//! The machine ([`grid`](crate::grid)) passes a [`Step`] to the engine: the position of the warp,
//! the participating lanes, and everything except registers that an instruction may read or change.
//! The engine changes registers and memory, and returns where the lanes go.

use crate::access::AccessLog;
use crate::barrier::{Arrival, Barrier, Reduction};
use crate::error::{Fault, SimError};
use crate::launch::Shape;
use crate::memory::{AccessKind, GridMemory, Memory, Space};
use crate::random::Random;
use crate::warp::{Control, Flow, Joining, LANES};

/// The number of CTA barriers.
pub(crate) const CTA_BARRIERS: usize = 16;

/// Executes the instructions of a program.
pub(crate) trait Engine {
    /// The registers of one warp.
    type Registers;

    /// How lanes that diverged reconverge.
    const JOINING: Joining;

    /// The initial registers of a warp.
    fn registers(&self, random: &mut Random) -> Self::Registers;

    /// Executes the instruction at `step.pc` for the lanes `step.lanes`.
    fn step(&self, registers: &mut Self::Registers, step: &mut Step<'_>) -> Result<Flow, Fault>;

    /// The instruction as text, for messages.
    fn describe(&self, pc: u32) -> String;
}

/// Decides which warp executes next.
pub(crate) trait Scheduler {
    /// Runs all threads of a grid to their end, and returns the number of warp instructions
    /// executed.
    ///
    /// # Errors
    /// A fault of the program, a deadlock, or more instructions than allowed.
    fn run<E: Engine>(self, engine: &E, shape: &Shape, memory: &mut GridMemory) -> Result<u64, SimError>;
}

/// The state that an instruction can access, except registers.
pub(crate) struct Step<'a> {
    /// The instruction.
    pub pc: u32,
    /// The lanes that execute it.
    pub lanes: u32,
    /// The shape of the launch.
    pub shape: &'a Shape,
    /// `%ctaid`.
    pub cta: [u32; 3],
    /// The rank of the CTA in its cluster.
    pub rank: u32,
    /// The warp in the CTA.
    pub warp: u32,
    /// The clock, in the unit of the scheduler.
    pub clock: u64,
    /// Memory.
    pub memory: Memory<'a>,
    /// The warp's control state.
    pub control: &'a mut Control,
    /// Records the memory that the instruction touches, if a scheduler asks for it.
    pub log: Option<&'a mut AccessLog>,
    /// The barriers of the CTA.
    pub(crate) barriers: &'a mut [Barrier; CTA_BARRIERS],
    /// The number of warps of the CTA.
    pub(crate) warps: usize,
    /// Set when lanes arrive at a CTA barrier, which may end its phase.
    pub(crate) arrived: bool,
    /// Set when lanes arrive at the barrier of the cluster.
    pub(crate) arrived_at_cluster: bool,
    /// Set when an mbarrier that some thread may wait for has changed.
    pub(crate) changed_mbarrier: bool,
    /// Whether the run is in time: then asynchronous copies are made when they are done.
    pub(crate) in_time: bool,
    /// The cycle when the asynchronous copies are done that the instruction waits for; 0 if the run is not in
    /// time.
    pub(crate) copies_done: u64,
}

impl Step<'_> {
    /// The index of the thread in a lane.
    pub fn tid(&self, lane: u32) -> [u32; 3] {
        self.shape.tid(self.memory.first_thread + lane)
    }

    /// Records in the log, if there is one, that the executing lanes touch `bytes` bytes each at
    /// these addresses, in memory's numbering.
    #[inline]
    pub fn log_access(&mut self, kind: AccessKind, space: Space, bytes: u32, addresses: &[u64; LANES]) {
        if let Some(log) = &mut self.log {
            log.record(kind, space, bytes, self.lanes, addresses);
        }
    }

    /// Whether the instruction affects other lanes than its own.
    pub(crate) fn concerns_others(&self) -> bool {
        self.arrived || self.arrived_at_cluster || self.changed_mbarrier
    }

    /// Records the arrival of lanes at a CTA barrier. The caller decides whether they also wait.
    pub fn arrive(
        &mut self,
        barrier: u32,
        lanes: u32,
        count: Option<u32>,
        reduction: Option<(Reduction, u32)>,
    ) -> Result<(), Fault> {
        let Some(state) = self.barriers.get_mut(barrier as usize) else {
            return Err(Fault::new(lanes.trailing_zeros(), format!("there is no barrier {barrier}")));
        };
        self.arrived = true;
        if let Some(race) = self.memory.race() {
            let warp = race.order.warp_of(self.rank as usize, self.warp as usize);
            race.order.arrive(self.rank as usize, barrier as u8, warp, lanes);
        }
        state.arrive(Arrival { warp: self.warp, lanes, count, reduction }, self.warps)
    }
}
