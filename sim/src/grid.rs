//! Runs a grid: all CTAs are resident, all warps make progress.
//!
//! The engine says what one instruction does to the lanes of one group; this module decides whose turn it
//! is. Warps take turns in a fixed order; each turn has a random length, and some are skipped, so that
//! different seeds give different interleavings and equal seeds the same. Since every warp gets a turn
//! again and again, and every ready group of a warp its share, spinning threads can't starve others.
//!
//! ```text
//! loop: for each warp: maybe skip it; else choose a ready group, execute 1 to 32 instructions of it
//! ```
//!
//! A round in which nobody was ready is a deadlock; the report says who waits for what. Cost: constant
//! time an instruction beyond its own work, and no allocation.

use crate::barrier::{Arrival, Barrier};
use crate::error::{Fault, SimError, Thread, Waiting};
use crate::memory::{CtaMemory, GridMemory, Memory};
use crate::random::Random;
use crate::warp::{Control, Flow, Joining, LANES, Wait};

/// Number of CTA barriers.
pub(crate) const CTA_BARRIERS: u32 = 16;
/// Instructions that a group executes at most before others get a turn.
const TURN: u32 = 32;

/// How a run chooses and when it gives up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The seed of all choices: interleaving of warps, content of registers that nobody has written.
    pub seed: u64,
    /// The number of warp instructions after which a run counts as endless.
    pub step_limit: u64,
    /// Whether reading a register that the lane has not written is a fault (SASS only). Without it such a
    /// register holds a pattern that depends on the seed.
    pub check_uninitialised: bool,
    /// The module's constant variables as the linker lays them out in constant bank 3.
    pub constants: Vec<u8>,
    /// By how many units in the last place a result of `MUFU.RCP`, `RSQ`, `SQRT`, `RCP64H` or `RSQ64H` may be off,
    /// in a direction and by an amount chosen at random. The hardware's last bits are not known; code that wants
    /// exact results must not depend on them.
    pub mufu_error: u8,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 0,
            step_limit: 20_000_000,
            check_uninitialised: false,
            constants: Vec::new(),
            mufu_error: 0,
        }
    }
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// CTAs in the grid.
    pub grid: [u32; 3],
    /// Threads in a CTA.
    pub block: [u32; 3],
    /// Bytes of shared memory a CTA.
    pub shared_bytes: u32,
    /// Bytes of local memory a thread.
    pub local_bytes: u32,
}

impl Shape {
    /// Threads in a CTA.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// The index of a thread of the CTA.
    pub fn tid(&self, thread: u32) -> [u32; 3] {
        unflatten(thread, self.block)
    }
}

fn unflatten(index: u32, [x, y, _]: [u32; 3]) -> [u32; 3] {
    [index % x, index / x % y, index / x / y]
}

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
    /// The warp in the CTA.
    pub warp: u32,
    /// Instructions executed so far: the clock.
    pub clock: u64,
    /// Memory.
    pub memory: Memory<'a>,
    /// The warp's control state.
    pub control: &'a mut Control,
    barriers: &'a mut [Barrier; CTA_BARRIERS as usize],
    warps: usize,
    arrived: &'a mut bool,
}

impl Step<'_> {
    /// The index of the thread in a lane.
    pub fn tid(&self, lane: u32) -> [u32; 3] {
        self.shape.tid(self.memory.first_thread + lane)
    }

    /// Lets lanes arrive at a CTA barrier. The caller then lets them wait, or not.
    pub fn arrive(
        &mut self,
        barrier: u32,
        lanes: u32,
        count: Option<u32>,
        reduction: Option<(crate::barrier::Reduction, u32)>,
    ) -> Result<(), Fault> {
        let Some(state) = self.barriers.get_mut(barrier as usize) else {
            return Err(Fault::new(lanes.trailing_zeros(), format!("there is no barrier {barrier}")));
        };
        *self.arrived = true;
        state.arrive(Arrival { warp: self.warp, lanes, count, reduction }, self.warps)
    }
}

struct Cta<R> {
    id: [u32; 3],
    memory: CtaMemory,
    barriers: [Barrier; CTA_BARRIERS as usize],
    warps: Vec<Warp<R>>,
}

struct Warp<R> {
    control: Control,
    registers: R,
}

/// Runs all threads to their end; the number of warp instructions executed.
pub(crate) fn run<E: Engine>(
    engine: &E,
    shape: &Shape,
    memory: &mut GridMemory,
    options: &Options,
) -> Result<u64, SimError> {
    let mut random = Random::new(options.seed);
    let mut ctas: Vec<_> =
        (0..shape.grid.iter().product()).map(|cta| start(engine, shape, cta, &mut random)).collect();
    let mut steps = 0;
    loop {
        let (mut alive, mut ready) = (false, false);
        for cta in &mut ctas {
            for warp in 0..cta.warps.len() {
                let control = &cta.warps[warp].control;
                alive |= control.live != 0;
                if !control.groups.iter().any(|group| group.wait == Wait::Ready) {
                    continue;
                }
                ready = true;
                if random.below(4) != 0 {
                    turn(engine, shape, memory, cta, warp, &mut random, &mut steps)?;
                }
            }
        }
        if !alive {
            return Ok(steps);
        }
        if !ready {
            return Err(SimError::Deadlock(report(engine, &ctas)));
        }
        if steps > options.step_limit {
            return Err(SimError::StepLimit { limit: options.step_limit, waiting: report(engine, &ctas) });
        }
    }
}

fn start<E: Engine>(engine: &E, shape: &Shape, cta: u32, random: &mut Random) -> Cta<E::Registers> {
    let threads = shape.threads();
    let warps = (0..threads.div_ceil(LANES as u32))
        .map(|warp| {
            let lanes = (threads - warp * LANES as u32).min(LANES as u32);
            Warp {
                control: Control::new(u32::MAX >> (LANES as u32 - lanes), E::JOINING),
                registers: engine.registers(random),
            }
        })
        .collect();
    // Shared and local memory start with anything, too.
    let mut garbage = |bytes: usize| (0..bytes).map(|_| random.next() as u8).collect();
    Cta {
        id: unflatten(cta, shape.grid),
        memory: CtaMemory {
            shared: garbage(shape.shared_bytes as usize),
            local: garbage(shape.local_bytes as usize * threads as usize),
            local_bytes: shape.local_bytes,
        },
        barriers: Default::default(),
        warps,
    }
}

/// Chooses a ready group of the warp and executes some instructions of it.
fn turn<E: Engine>(
    engine: &E,
    shape: &Shape,
    memory: &mut GridMemory,
    cta: &mut Cta<E::Registers>,
    warp: usize,
    random: &mut Random,
    steps: &mut u64,
) -> Result<(), SimError> {
    let Some(mut index) = choose(&cta.warps[warp].control, E::JOINING, random) else { return Ok(()) };
    for _ in 0..=random.below(TURN) {
        let warps = cta.warps.len();
        let Warp { control, registers } = &mut cta.warps[warp];
        let group = control.groups[index];
        let mut arrived = false;
        let mut step = Step {
            pc: group.pc,
            lanes: group.lanes,
            shape,
            cta: cta.id,
            warp: warp as u32,
            clock: *steps,
            memory: Memory { grid: memory, cta: &mut cta.memory, first_thread: (warp * LANES) as u32 },
            control,
            barriers: &mut cta.barriers,
            warps,
            arrived: &mut arrived,
        };
        let flow = engine.step(registers, &mut step).map_err(|fault| SimError::Fault {
            thread: Thread { cta: cta.id, tid: shape.tid((warp * LANES) as u32 + fault.lane) },
            at: engine.describe(group.pc),
            what: fault.what,
        })?;
        *steps += 1;
        let control = &mut cta.warps[warp].control;
        // BREAK may have regrouped the others; this group is still the one with its lanes.
        if control.groups.get(index).is_none_or(|same| same.lanes != group.lanes) {
            index = control.groups.iter().position(|same| same.lanes == group.lanes).unwrap_or(index);
        }
        control.apply(index, flow);
        if arrived || matches!(flow, Flow::Exit(_)) {
            complete_barriers(cta);
        }
        let control = &cta.warps[warp].control;
        let same = flow == Flow::Next
            && control
                .groups
                .get(index)
                .is_some_and(|same| same.lanes == group.lanes && same.pc == group.pc + 1);
        if !same {
            match choose(control, E::JOINING, random) {
                Some(next) => index = next,
                None => break,
            }
        }
    }
    Ok(())
}

/// A ready group of the warp. Lanes that should meet again do so soonest if those that are behind go first,
/// which is mostly what happens where meeting is left to chance.
fn choose(control: &Control, joining: Joining, random: &mut Random) -> Option<usize> {
    let ready = || control.groups.iter().enumerate().filter(|(_, group)| group.wait == Wait::Ready);
    let count = match control.groups.len() {
        1 => ready().count(),
        _ if joining == Joining::Anywhere && random.below(8) != 0 => {
            return ready().min_by_key(|(_, group)| group.pc).map(|(index, _)| index);
        }
        _ => ready().count(),
    };
    let nth = if count > 1 { random.below(count as u32) as usize } else { 0 };
    ready().nth(nth).map(|(index, _)| index)
}

/// Ends the phases that have all their threads, also by threads that have exited.
fn complete_barriers<R>(cta: &mut Cta<R>) {
    for name in 0..CTA_BARRIERS as u8 {
        let barrier = &mut cta.barriers[name as usize];
        if barrier.is_complete(cta.warps.iter().map(|warp| warp.control.live)) {
            let reduction = barrier.finish();
            for warp in &mut cta.warps {
                warp.control.release_cta(name, reduction);
            }
        }
    }
}

fn report<E: Engine>(engine: &E, ctas: &[Cta<E::Registers>]) -> Vec<Waiting> {
    let mut list = Vec::new();
    for cta in ctas {
        for (warp, state) in cta.warps.iter().enumerate() {
            for group in &state.control.groups {
                let (pc, on) = match group.wait {
                    Wait::Ready => (group.pc, "nothing, it runs".to_string()),
                    Wait::Converge(barrier) => {
                        (group.pc - 1, format!("lanes that have not come to convergence barrier B{barrier}"))
                    }
                    Wait::Lanes(mask) => (group.pc - 1, format!("lanes {:#010x}", mask & state.control.live)),
                    Wait::Gather(mask) => {
                        let missing = mask & state.control.live & !group.lanes;
                        (group.pc, format!("lanes {missing:#010x} of its mask"))
                    }
                    Wait::Cta(name) => {
                        let barrier = &cta.barriers[name as usize];
                        (group.pc - 1, format!("CTA barrier {name}: {}", barrier.describe()))
                    }
                };
                list.push(Waiting {
                    cta: cta.id,
                    warp: warp as u32,
                    lanes: group.lanes,
                    at: engine.describe(pc),
                    on,
                });
            }
        }
    }
    list
}
