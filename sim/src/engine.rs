//! What an engine is: a program and what its instructions do to one warp.
//!
//! The machine around it ([`grid`](crate::grid)) hands it a [`Step`]: where the warp stands, which lanes take
//! part, and everything that an instruction may see or change besides registers. The engine changes registers
//! and memory and says where the lanes go.

use crate::access::AccessLog;
use crate::barrier::{Arrival, Barrier, Reduction};
use crate::error::{Fault, SimError};
use crate::launch::Shape;
use crate::memory::{AccessKind, GridMemory, Memory, Space};
use crate::random::Random;
use crate::warp::{Control, Flow, Joining, LANES};

/// Number of CTA barriers.
pub(crate) const CTA_BARRIERS: usize = 16;

/// Executes instructions; knows a program.
pub(crate) trait Engine {
    /// The registers of one warp.
    type Registers;

    /// What joins lanes that went apart.
    const JOINING: Joining;

    /// The registers of a warp at its start.
    fn registers(&self, random: &mut Random) -> Self::Registers;

    /// Executes the instruction at `step.pc` for the lanes `step.lanes`.
    fn step(&self, registers: &mut Self::Registers, step: &mut Step<'_>) -> Result<Flow, Fault>;

    /// The instruction as text, for messages.
    fn describe(&self, pc: u32) -> String;
}

/// Decides whose turn it is.
pub(crate) trait Scheduler {
    /// Runs all threads of a grid to their end; the number of warp instructions executed.
    ///
    /// # Errors
    /// A fault of the program, a deadlock, more instructions than allowed.
    fn run<E: Engine>(self, engine: &E, shape: &Shape, memory: &mut GridMemory) -> Result<u64, SimError>;
}

/// What an instruction sees besides registers.
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
    /// The clock, in whatever unit the scheduler counts.
    pub clock: u64,
    /// Memory.
    pub memory: Memory<'a>,
    /// The warp's control state.
    pub control: &'a mut Control,
    /// Who wants to know which memory the instruction touches.
    pub log: Option<&'a mut AccessLog>,
    /// The barriers of the CTA.
    pub(crate) barriers: &'a mut [Barrier; CTA_BARRIERS],
    /// Number of warps of the CTA.
    pub(crate) warps: usize,
    /// Set when lanes arrive at a CTA barrier, which may end its phase.
    pub(crate) arrived: bool,
    /// Set when lanes arrive at the barrier of the cluster.
    pub(crate) arrived_at_cluster: bool,
    /// Set when an mbarrier has changed, which somebody may wait for.
    pub(crate) changed_mbarrier: bool,
    /// Whether a wait for an mbarrier suspends the lanes rather than fail.
    pub(crate) suspends: bool,
}

impl Step<'_> {
    /// The index of the thread in a lane.
    pub fn tid(&self, lane: u32) -> [u32; 3] {
        self.shape.tid(self.memory.first_thread + lane)
    }

    /// Tells who asked that the executing lanes touch `bytes` bytes each at these addresses, as memory counts.
    #[inline]
    pub fn log_access(&mut self, kind: AccessKind, space: Space, bytes: u32, addresses: &[u64; LANES]) {
        if let Some(log) = &mut self.log {
            log.record(kind, space, bytes, self.lanes, addresses);
        }
    }

    /// Whether the instruction concerns more than its own lanes.
    pub(crate) fn concerns_others(&self) -> bool {
        self.arrived || self.arrived_at_cluster || self.changed_mbarrier
    }

    /// Lets lanes arrive at a CTA barrier. The caller then lets them wait, or not.
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
        state.arrive(Arrival { warp: self.warp, lanes, count, reduction }, self.warps)
    }
}
