//! The state of a grid, and the one function that changes it: executing an instruction of a group of lanes.
//!
//! The engine says what one instruction does to the lanes of one group; this module carries it out: it moves
//! the group, ends the phases of CTA barriers, and says what happened. Whose turn it is, and when, is not
//! decided here: [`interleave`](crate::interleave) does so for a run without time.
//!
//! ```text
//! let mut grid = Grid::new(&engine, &shape, &mut memory);
//! grid.start(0, &mut random);                        // a CTA enters; grid.ctas[0]
//! let executed = grid.execute(0, warp, group, clock, None)?;
//! ```
//!
//! Cost: constant time an instruction beyond its own work, and no allocation.

use crate::access::AccessLog;
use crate::asynchronous::Copies;
use crate::barrier::Barrier;
use crate::engine::{CTA_BARRIERS, Engine, Step};
use crate::error::{SimError, Thread, Waiting};
use crate::launch::{Shape, unflatten};
use crate::memory::{CtaMemory, GridMemory, Memory, Written};
use crate::random::Random;
use crate::warp::{Control, Flow, Group, Joining, LANES, Wait};

/// A CTA that has started.
pub(crate) struct Cta<R> {
    /// `%ctaid`.
    pub id: [u32; 3],
    /// Its warps.
    pub warps: Vec<Warp<R>>,
    memory: CtaMemory,
    barriers: [Barrier; CTA_BARRIERS],
}

/// A warp.
pub(crate) struct Warp<R> {
    /// Where its lanes are.
    pub control: Control,
    registers: R,
}

/// What became of the lanes that executed an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// They all go on with the next instruction.
    Next,
    /// They went elsewhere, or some of them.
    Jumped,
    /// They wait, or some of them; some may wait no more already, since they were the last to come.
    Waited,
    /// They ended, or some of them.
    Exited,
}

/// An instruction has been executed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Executed {
    /// The lanes that did: those of the group whose guard holds. None: it had no effect.
    pub lanes: u32,
    /// What became of them.
    pub outcome: Outcome,
    /// The index of the group that goes straight on with the same lanes, if there is one and it did not yield.
    pub group: Option<usize>,
}

/// A grid.
pub(crate) struct Grid<'a, E: Engine> {
    /// The CTAs that have started and not been removed.
    pub ctas: Vec<Cta<E::Registers>>,
    /// Warp instructions executed.
    pub steps: u64,
    engine: &'a E,
    shape: &'a Shape,
    memory: &'a mut GridMemory,
}

impl<'a, E: Engine> Grid<'a, E> {
    /// A grid of which nothing has started.
    pub fn new(engine: &'a E, shape: &'a Shape, memory: &'a mut GridMemory) -> Grid<'a, E> {
        Grid { ctas: Vec::new(), steps: 0, engine, shape, memory }
    }

    /// Starts the CTA of that number. Registers, shared and local memory hold anything.
    pub fn start(&mut self, cta: u32, random: &mut Random) {
        let threads = self.shape.threads();
        let warps = (0..threads.div_ceil(LANES as u32))
            .map(|warp| {
                let lanes = (threads - warp * LANES as u32).min(LANES as u32);
                Warp {
                    control: Control::new(u32::MAX >> (LANES as u32 - lanes), E::JOINING),
                    registers: self.engine.registers(random),
                }
            })
            .collect();
        let mut garbage = |bytes: usize| {
            let words = std::iter::repeat_with(|| random.next().to_le_bytes()).take(bytes.div_ceil(8));
            let mut memory: Vec<u8> = words.flatten().collect();
            memory.truncate(bytes);
            memory
        };
        let shared = garbage(self.shape.shared_bytes as usize);
        let local = garbage(self.shape.local_bytes as usize * threads as usize);
        let written = self
            .shape
            .check_uninitialised
            .then(|| Written { shared: vec![false; shared.len()], local: vec![false; local.len()] });
        self.ctas.push(Cta {
            id: unflatten(cta, self.shape.grid),
            memory: CtaMemory {
                shared,
                local,
                local_bytes: self.shape.local_bytes,
                written,
                copies: Copies::default(),
            },
            barriers: Default::default(),
            warps,
        });
    }

    /// Executes the next instruction of a group that is ready. `cta`, `warp` and `group` are indices into
    /// [`Grid::ctas`], its warps and their groups; `clock` is what the program sees as time.
    ///
    /// # Errors
    /// A fault of the program.
    pub fn execute(
        &mut self,
        cta: usize,
        warp: usize,
        group: usize,
        clock: u64,
        log: Option<&mut AccessLog>,
    ) -> Result<Executed, SimError> {
        self.run(cta, warp, group, clock, 1, log)
    }

    /// Executes instructions of a group until it may no longer be alone in its place in the warp, or something
    /// else than its own lanes is concerned, or it has executed `most`, at least one. The clock ticks with each.
    /// What is returned is about the last one.
    ///
    /// # Errors
    /// A fault of the program.
    pub fn execute_some(
        &mut self,
        cta: usize,
        warp: usize,
        group: usize,
        most: u32,
    ) -> Result<Executed, SimError> {
        let clock = self.steps;
        self.run(cta, warp, group, clock, most, None)
    }

    #[inline]
    fn run(
        &mut self,
        cta: usize,
        warp: usize,
        group: usize,
        clock: u64,
        most: u32,
        log: Option<&mut AccessLog>,
    ) -> Result<Executed, SimError> {
        let cta = &mut self.ctas[cta];
        let warps = cta.warps.len();
        let Warp { control, registers } = &mut cta.warps[warp];
        let Group { pc, lanes, .. } = control.groups[group];
        let alone = control.groups.len() == 1 || E::JOINING == Joining::Barriers;
        let mut step = Step {
            pc,
            lanes,
            shape: self.shape,
            cta: cta.id,
            warp: warp as u32,
            clock,
            memory: Memory { grid: self.memory, cta: &mut cta.memory, first_thread: (warp * LANES) as u32 },
            control,
            log,
            barriers: &mut cta.barriers,
            warps,
            arrived: false,
        };
        let mut left = most;
        let flow = loop {
            let flow = match self.engine.step(registers, &mut step) {
                Ok(flow) => flow,
                Err(fault) => {
                    return Err(SimError::Fault {
                        thread: Thread {
                            cta: cta.id,
                            tid: self.shape.tid((warp * LANES) as u32 + fault.lane),
                        },
                        at: self.engine.describe(step.pc),
                        what: fault.what,
                    });
                }
            };
            left -= 1;
            let next = match flow {
                Flow::Next | Flow::Branch { taken: 0, .. } => step.pc + 1,
                Flow::Branch { taken, target } if taken == lanes => target,
                _ => break flow,
            };
            if left == 0 || step.arrived || !alone {
                break flow;
            }
            step.pc = next;
            step.lanes = lanes;
            step.clock += 1;
        };
        self.steps += u64::from(most - left);
        let (pc, executing, arrived) = (step.pc, step.lanes, step.arrived);
        let yields = flow == Flow::Yield;
        let outcome = match flow {
            Flow::Next | Flow::Yield => Outcome::Next,
            Flow::Branch { .. } | Flow::Spread(_) => Outcome::Jumped,
            Flow::Exit(_) => Outcome::Exited,
            Flow::Wait(..) => Outcome::Waited,
        };
        // BREAK may have regrouped the others; this group is still the one with its lanes.
        let same = |control: &Control| {
            let is_same = |other: &Group| other.lanes == lanes;
            match control.groups.get(group) {
                Some(other) if is_same(other) => Some(group),
                _ => control.groups.iter().position(is_same),
            }
        };
        let control = &mut cta.warps[warp].control;
        let index = same(control).unwrap_or(group);
        control.groups[index].pc = pc;
        control.apply(index, flow);
        if arrived || outcome == Outcome::Exited {
            complete_barriers(cta);
        }
        let control = &cta.warps[warp].control;
        let straight = outcome == Outcome::Next && !yields;
        let group = same(control).filter(|&index| straight && control.groups[index].pc == pc + 1);
        Ok(Executed { lanes: executing, outcome, group })
    }

    /// Where everybody is and who waits on what.
    pub fn waiting(&self) -> Vec<Waiting> {
        let mut list = Vec::new();
        for cta in &self.ctas {
            for (warp, state) in cta.warps.iter().enumerate() {
                for group in &state.control.groups {
                    let missing = state.control.missing(group);
                    let (pc, on) = match group.wait {
                        Wait::Ready => (group.pc, "nothing, it runs".to_string()),
                        Wait::Converge(barrier) => {
                            (group.pc - 1, format!("lanes {missing:#010x} at convergence barrier B{barrier}"))
                        }
                        Wait::Lanes(mask) => {
                            (group.pc - 1, format!("lanes {missing:#010x} of mask {mask:#010x}"))
                        }
                        Wait::Gather(mask) => {
                            (group.pc, format!("lanes {missing:#010x} of mask {mask:#010x}"))
                        }
                        Wait::Cta(name) => {
                            let live = cta.warps.iter().map(|warp| warp.control.live);
                            let barrier = &cta.barriers[name as usize];
                            (group.pc - 1, format!("CTA barrier {name}: {}", barrier.describe(live)))
                        }
                    };
                    let (warp, lanes, at) = (warp as u32, group.lanes, self.engine.describe(pc));
                    list.push(Waiting { cta: cta.id, warp, lanes, at, on });
                }
            }
        }
        list
    }
}

/// Ends the phases that have all their threads, also by threads that have exited.
fn complete_barriers<R>(cta: &mut Cta<R>) {
    for (name, barrier) in cta.barriers.iter_mut().enumerate() {
        if barrier.is_complete(cta.warps.iter().map(|warp| warp.control.live)) {
            let reduction = barrier.finish();
            for warp in &mut cta.warps {
                warp.control.release_cta(name as u8, reduction);
            }
        }
    }
}
