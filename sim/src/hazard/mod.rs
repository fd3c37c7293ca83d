//! Hazards: accesses of an executed instruction before the control codes guarantee that they are
//! safe.
//!
//! In: the instructions of each warp as they execute, with the lanes that reach them and those for
//! which the guard holds. Out: the accesses that are too early, in time to give the instruction a
//! value other than that of the register, and at the end the list of [`Hazard`]s.
//!
//! ```text
//! [B------:R-:W-:-:S03]  FADD R2, R0, R1       R2 can be read after 4 cycles
//! [B------:R-:W-:-:S05]  FADD R3, R2, R2       3 have passed: R2 reads as a random value, which is reported
//! ```
//!
//! # What counts
//!
//! The check ignores the actual time, and uses the guarantee of the control codes on the executed
//! path. The sum of the stalls since the producer is compared with the `legal` column of the
//! latency table; an access that ends at an unknown time needs a wait for its scoreboard. A stall
//! that is too short is reported even if enough time passed by chance. So the verdict depends only
//! on the path, not on a scheduler or a model of time.
//!
//! The rules are those of [`ptxc_sass::verify`], which checks all paths of a program, also for code
//! that relies on the order of returns ([`Order`]). The two share only the latency table, the rows,
//! the facts about returns in order, and the kinds of hazards. The verifier computes a dataflow
//! fixed point, which joins states by the worst of each; here each lane has its own history. The
//! verifier reports every hazard that is found here. A hazard that only the verifier reports lies
//! on a path that the run did not take.
//!
//! # How
//!
//! Each warp has *tracks*: lanes with the same history, a clock that counts stalls, and the
//! accesses in flight. An instruction splits or joins tracks so that its lanes are one track. Its
//! accesses are compared with those in flight, then added with the longest time that a dependent
//! instruction may require. If the guard does not hold, the only access is the read of the guard.
//! Uniform registers belong to the warp, others to the executing lanes. An access ends with a write
//! of the register, a wait, or time.
//!
//! The cost is constant per instruction for short accesses, because few accesses outlive the stall
//! of their own instruction. A wait costs a scan of the outstanding loads and stores.

mod facts;
mod report;
mod track;
mod tracks;

use std::cell::RefCell;

use ptxc_sass::latency::{Dependence, Side, latency};
use ptxc_sass::return_order::{reads_in_order, returns_in_order};
use ptxc_sass::verify::{HazardKind, Lack, Order};
use ptxc_sass::{PReg, Program};
use smallvec::SmallVec;

use facts::Facts;
use report::Found;
pub(crate) use report::show_hazards;
pub use report::{Hazard, Place};
pub(crate) use tracks::Tracks;

/// An access that is too early, or breaks a rule by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Early {
    /// The instruction that it follows too early.
    pub producer: u32,
    /// The rule.
    pub kind: HazardKind,
    /// The register, if there is one.
    pub register: Option<PReg>,
    /// The lanes whose value is affected.
    pub lanes: u32,
    /// The missing wait or cycles.
    pub lack: Lack,
}

/// The instructions that an instruction follows too early: nearly always none.
pub(crate) type Earlies = SmallVec<[Early; 2]>;

/// Finds the hazards in the run of a program.
pub(crate) struct Hazards<'a> {
    program: &'a Program,
    facts: Vec<Facts>,
    /// The waits that the code relies on.
    order: Order,
    found: RefCell<Found>,
}

impl<'a> Hazards<'a> {
    /// No hazards found yet.
    pub fn new(program: &'a Program, order: Order) -> Hazards<'a> {
        let facts = program.insts.iter().map(|coded| Facts::new(program.arch, coded, order)).collect();
        Hazards { program, facts, order, found: RefCell::default() }
    }

    /// Called when lanes reach an instruction: applies its waits, and checks the read of the guard.
    pub fn enter(&self, tracks: &mut Tracks, pc: u32, lanes: u32, early: &mut Earlies) {
        let facts = &self.facts[pc as usize];
        let track = tracks.bring_together(lanes);
        track.wait(facts.waits);
        track.wait_late(facts.waits_late);
        if let Some((scoreboard, left)) = facts.waits_below {
            track.wait_below(scoreboard, left);
        }
        if let Some(guard) = &facts.guard {
            track.check(guard, lanes, |touched| self.check_access(pc, touched, early));
        }
    }

    /// Called before the lanes for which the guard holds execute the instruction: checks its
    /// accesses.
    pub fn check(&self, tracks: &mut Tracks, pc: u32, lanes: u32, early: &mut Earlies) {
        if lanes == 0 {
            return;
        }
        let facts = &self.facts[pc as usize];
        let track = tracks.current();
        for touch in &facts.touches {
            track.check(touch, lanes, |touched| self.check_access(pc, touched, early));
        }
        track.check_ahead(&facts.least, lanes, early);
        for &(kind, register) in &facts.broken {
            early.push(Early { producer: pc, kind, register, lanes, lack: Lack::Rule });
        }
    }

    /// Reports an access that is too early after another one on the same register.
    fn check_access(&self, pc: u32, touched: track::Touched, early: &mut Earlies) {
        let lack = match touched.since {
            track::Since::Announced(_) if self.cannot_overtake(pc, &touched) => return,
            track::Since::Announced(scoreboards) => Lack::Wait(scoreboards),
            track::Since::Issue { slot, component, age } => {
                let inst = |pc: u32| &self.program.insts[pc as usize].inst;
                let from = Side { inst: inst(touched.producer), slot, component };
                let to = Side { inst: inst(pc), slot: touched.slot, component: touched.component };
                let need = latency(self.program.arch, touched.dependence, from, to).legal;
                if age >= need {
                    return;
                }
                Lack::Cycles { need, have: age }
            }
        };
        let kind = facts::kind(touched.dependence);
        let register = PReg::from_dense(touched.register.into());
        early.push(Early { producer: touched.producer, kind, register, lanes: touched.lanes, lack });
    }

    /// Whether an access that overwrites a register cannot overtake the access in flight there.
    fn cannot_overtake(&self, pc: u32, touched: &track::Touched) -> bool {
        let [earlier, later] = [touched.producer, pc].map(|pc| self.facts[pc as usize].op);
        self.order == Order::InOrder
            && match touched.dependence {
                Dependence::Raw => false,
                // The result arrives even later than the read of the instruction's own operands.
                Dependence::War => reads_in_order(earlier, later),
                Dependence::Waw => returns_in_order(earlier, later),
            }
    }

    /// Called after the instruction: of the lanes that reached it, those of `active` have executed
    /// it.
    pub fn leave(&self, tracks: &mut Tracks, pc: u32, active: u32, early: &mut Earlies) {
        let facts = &self.facts[pc as usize];
        let track = tracks.current();
        track.start(facts, pc, active);
        // With NVIDIA's order of returns, NVIDIA's conventions between functions apply too:
        // accesses stay in flight.
        if facts.boundary && active != 0 && self.order == Order::Own {
            track.leave_function(active, early);
        }
    }

    /// Records the hazards found at an instruction of a warp.
    pub fn record(&self, pc: u32, place: Place, early: &[Early]) {
        self.found.borrow_mut().add(pc, place, early);
    }

    /// All hazards, in the order of the consumers.
    pub fn report(&self) -> Vec<Hazard> {
        self.found.borrow().list(self.program)
    }
}
