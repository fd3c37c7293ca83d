//! An instruction with checks: for registers that no lane has written, and for hazards; and with an
//! observer of the path.
//!
//! A hazard changes only the results of the instruction. A register that is read too early gives a
//! random value to this instruction and has its right value again after it. A register that is
//! overwritten too early keeps a random value, because the earlier result may be written last. An
//! operand that is overwritten before it is read can only be reported: the instruction that reads
//! it has already executed.

use ptxc_sass::PReg;
use ptxc_sass::verify::HazardKind;
use smallvec::SmallVec;

use super::registers::{Content, Registers};
use super::{Node, Sass, Touched};
use crate::engine::Step;
use crate::error::Fault;
use crate::hazard::{Earlies, Early, Place};
use crate::warp::{Flow, lanes_of};

/// An instruction that a warp executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executed {
    /// The instruction.
    pub pc: u32,
    /// The place; its lanes are those that reached the instruction.
    pub place: Place,
    /// The lanes for which its guard holds.
    pub active: u32,
}

/// The content of registers before they got random values.
type Saved = SmallVec<[(PReg, Content); 2]>;

impl Sass<'_> {
    pub(super) fn step_watched(
        &self,
        node: &Node,
        touched: &Touched,
        registers: &mut Registers,
        step: &mut Step<'_>,
    ) -> Result<Flow, Fault> {
        let (pc, lanes) = (step.pc, step.lanes);
        let place = Place { cta: step.cta, warp: step.warp, lanes };
        let mut early = Earlies::new();
        let mut tracks = registers.tracks.take();
        if let (Some(hazards), Some(tracks)) = (&self.hazards, &mut tracks) {
            hazards.enter(tracks, pc, lanes, &mut early);
        }
        let saved = poison(registers, &early);
        let active = self.active(node, touched, registers, lanes);
        restore(registers, saved, &[]);
        let (active, unwritten) = match active {
            Ok(active) => (active, None),
            Err(fault) => (0, Some(fault)),
        };

        let of_guard = early.len();
        if let (Some(hazards), Some(tracks)) = (&self.hazards, &mut tracks) {
            hazards.check(tracks, pc, active, &mut early);
        }
        let saved = poison(registers, &early[of_guard..]);
        step.lanes = active;
        let flow = match (unwritten, active) {
            (Some(fault), _) => Err(fault),
            (None, 0) => Ok(Flow::Next),
            _ => self.execute(node, touched, registers, step),
        };
        restore(registers, saved, &touched.defs);
        for overwritten in early.iter().filter(|early| early.kind == HazardKind::Waw) {
            if let Some(register) = overwritten.register {
                registers.scramble(register, overwritten.lanes);
            }
        }
        // Lanes that wait at the instruction have not executed it yet, and will execute it again.
        let comes_again = matches!(flow, Ok(Flow::Wait(_, wait)) if wait.comes_again());
        if let (Some(observer), false) = (&self.observer, comes_again) {
            (observer.borrow_mut())(Executed { pc, place, active });
        }
        if let (Some(hazards), Some(tracks), false) = (&self.hazards, &mut tracks, comes_again) {
            hazards.leave(tracks, pc, active, &mut early);
            if let Ok(Flow::Exit(lanes)) = flow {
                tracks.end(lanes);
            }
            if !early.is_empty() {
                hazards.record(pc, place, &early);
            }
        }
        registers.tracks = tracks;
        flow
    }
}

impl Sass<'_> {
    /// The lanes for which the guard of an instruction holds.
    fn active(
        &self,
        node: &Node,
        touched: &Touched,
        registers: &Registers,
        lanes: u32,
    ) -> Result<u32, Fault> {
        if let Some(guard) = touched.guard.filter(|_| self.check) {
            written(registers, guard, lanes)?;
        }
        Ok(lanes & registers.pred(node.guard))
    }

    /// Executes an instruction for the lanes for which its guard holds.
    fn execute(
        &self,
        node: &Node,
        touched: &Touched,
        registers: &mut Registers,
        step: &mut Step<'_>,
    ) -> Result<Flow, Fault> {
        if !self.check {
            return self.follow(node, registers, step);
        }
        let lanes = step.lanes;
        // Where a program assigns under a condition, code may choose between the new value and the
        // old one, which nothing may have written yet, and may compute with the choice before it tests
        // the condition. Such words stay unwritten, and their use is the fault.
        let mut missing = 0;
        if let Some(choice) = &touched.choice {
            let holds = registers.pred(choice.predicate);
            for (list, of) in choice.registers.iter().zip([holds, !holds]) {
                for &register in list {
                    match choice.is_copy {
                        true => missing |= registers.unwritten(register, lanes & of),
                        false => written(registers, register, lanes & of)?,
                    }
                }
            }
        }
        for &register in &touched.uses {
            let chosen = if touched.only_computes { registers.chosen(register, lanes) } else { 0 };
            written(registers, register, lanes & !chosen)?;
            missing |= chosen;
        }
        let flow = self.follow(node, registers, step)?;
        for &register in &touched.defs {
            registers.mark_written(register, lanes & !missing);
            registers.mark_chosen(register, missing);
        }
        Ok(flow)
    }
}

/// Faults if a lane reads a register that it has not written.
fn written(registers: &Registers, register: PReg, lanes: u32) -> Result<(), Fault> {
    match lanes_of(registers.unwritten(register, lanes)).next() {
        Some(lane) => Err(Fault::new(lane, format!("reads {register}, which it has not written"))),
        None => Ok(()),
    }
}

/// Gives random content to registers that are read too early, in the lanes where they are too
/// early.
fn poison(registers: &mut Registers, early: &[Early]) -> Saved {
    let mut saved = Saved::new();
    for early in early.iter().filter(|early| early.kind == HazardKind::Raw) {
        let Some(register) = early.register else { continue };
        if !saved.iter().any(|&(other, _)| other == register) {
            saved.push((register, registers.content(register)));
        }
        registers.scramble(register, early.lanes);
    }
    saved
}

/// Restores the content of registers, except those that the instruction has written.
fn restore(registers: &mut Registers, saved: Saved, written: &[PReg]) {
    for (register, content) in saved {
        if !written.contains(&register) {
            registers.set_content(register, content);
        }
    }
}
