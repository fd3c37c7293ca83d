//! Hazards: what an executed instruction touches before the control codes guarantee that it may.
//!
//! In: the instructions of each warp as they execute, with the lanes that stand at them and those for which
//! the guard holds. Out: the accesses that come too early, in time to give the instruction something else
//! than the register holds; and in the end the list of [`Hazard`]s.
//!
//! ```text
//! [B------:R-:W-:-:S03]  FADD R2, R0, R1       R2 can be read after 4 cycles
//! [B------:R-:W-:-:S05]  FADD R3, R2, R2       3 have passed: R2 reads as anything, and that is reported
//! ```
//!
//! # What counts
//!
//! Not the time that happened to pass, but what the control codes of the executed path guarantee: the sum of the
//! stalls since the producer, against the `legal` column of the latency table; for what ends at an unknown time, a
//! wait for its scoreboard. A load that was slow does not hide a stall that is too short. So the verdict depends on
//! the path alone, neither on a scheduler nor on a model of time.
//!
//! The rules are those of [`ptxc_sass::verify`], which asks the same of all paths that a program has, for code that counts on the
//! order of returns too ([`Order`]). The two share the latency table, the rows, what returns in order and the words for what
//! they find, and nothing else: there a dataflow to a fixed point
//! joins states by the worst of each; here each lane has its own past. What is found here is found there; what is
//! found there alone lies on paths that the run did not take.
//!
//! # How
//!
//! Each warp has *tracks*: lanes that have the same past, a clock that counts stalls, and the accesses that are
//! under way. An instruction splits tracks or joins them, so that its lanes are one. Its accesses are
//! looked up among those under way, then added with the time that the slowest dependent may ask for; a guard
//! that does not hold leaves reading the guard as the only access. Uniform registers belong to the warp, others to
//! the lanes that execute. What ends an access: a write of the register, a wait, the time.
//!
//! The cost is constant an instruction for what is short-lived, since few accesses outlive the stall of their own
//! instruction, and a scan of the outstanding loads and stores where one is waited for.

mod facts;
mod report;
mod track;
mod tracks;

use std::cell::RefCell;

use ptxc_sass::latency::{Dependence, Side, latency};
use ptxc_sass::return_order::{reads_behind, returns_behind};
use ptxc_sass::verify::{HazardKind, Lack, Order};
use ptxc_sass::{PReg, Program};
use smallvec::SmallVec;

use facts::Facts;
use report::Found;
pub(crate) use report::show_hazards;
pub use report::{Hazard, Place};
pub(crate) use tracks::Tracks;

/// An access that comes too early, or breaks a rule of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Early {
    /// The instruction that it is too early after.
    pub producer: u32,
    /// The rule.
    pub kind: HazardKind,
    /// The register, where there is one.
    pub register: Option<PReg>,
    /// The lanes whose value is at stake.
    pub lanes: u32,
    /// What lacks.
    pub lack: Lack,
}

/// What an instruction comes too early for: nearly always nothing.
pub(crate) type Earlies = SmallVec<[Early; 2]>;

/// The judge of a program's run.
pub(crate) struct Hazards<'a> {
    program: &'a Program,
    facts: Vec<Facts>,
    /// Which waits the code counts on.
    order: Order,
    found: RefCell<Found>,
}

impl<'a> Hazards<'a> {
    /// A judge who has seen nothing yet.
    pub fn new(program: &'a Program, order: Order) -> Hazards<'a> {
        let facts = program.insts.iter().map(|coded| Facts::new(program.arch, coded, order)).collect();
        Hazards { program, facts, order, found: RefCell::default() }
    }

    /// Lanes come to an instruction: waits end what they end, and the guard is read.
    pub fn enter(&self, tracks: &mut Tracks, pc: u32, lanes: u32, early: &mut Earlies) {
        let facts = &self.facts[pc as usize];
        let track = tracks.bring_together(lanes);
        track.wait(facts.waits);
        if let Some(guard) = &facts.guard {
            track.check(guard, lanes, |touched| self.judge(pc, touched, early));
        }
    }

    /// The lanes for which the guard holds are about to execute it.
    pub fn check(&self, tracks: &mut Tracks, pc: u32, lanes: u32, early: &mut Earlies) {
        if lanes == 0 {
            return;
        }
        let facts = &self.facts[pc as usize];
        let track = tracks.current();
        for touch in &facts.touches {
            track.check(touch, lanes, |touched| self.judge(pc, touched, early));
        }
        track.check_behind(&facts.behind, lanes, early);
        for &(kind, register) in &facts.broken {
            early.push(Early { producer: pc, kind, register, lanes, lack: Lack::Rule });
        }
    }

    /// Whether an access that meets another one on its register comes too early.
    fn judge(&self, pc: u32, touched: track::Touched, early: &mut Earlies) {
        let lack = match touched.since {
            track::Since::Announced(_) if self.is_behind(pc, &touched) => return,
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

    /// Whether an access that overwrites a register cannot overtake what is under way there.
    fn is_behind(&self, pc: u32, touched: &track::Touched) -> bool {
        let [earlier, later] = [touched.producer, pc].map(|pc| self.facts[pc as usize].op);
        self.order == Order::InOrder
            && match touched.dependence {
                Dependence::Raw => false,
                // The result comes later still than the reading of the instruction's own operands.
                Dependence::War => reads_behind(earlier, later),
                Dependence::Waw => returns_behind(earlier, later),
            }
    }

    /// The instruction has executed: of the lanes that came, those of `active` have done what it does.
    pub fn leave(&self, tracks: &mut Tracks, pc: u32, active: u32, early: &mut Earlies) {
        let facts = &self.facts[pc as usize];
        let track = tracks.current();
        track.start(facts, pc, active);
        // Where the order is NVIDIA's, so are the agreements between functions: what is under way stays so.
        if facts.boundary && active != 0 && self.order == Order::Own {
            track.leave_function(active, early);
        }
    }

    /// Remembers what was found at an instruction of a warp.
    pub fn record(&self, pc: u32, place: Place, early: &[Early]) {
        self.found.borrow_mut().add(pc, place, early);
    }

    /// All that was found, in the order of the consumers.
    pub fn report(&self) -> Vec<Hazard> {
        self.found.borrow().list(self.program)
    }
}
