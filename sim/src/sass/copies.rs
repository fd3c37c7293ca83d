//! Asynchronous copies: they are made as late as the program lets them, see [`asynchronous`](crate::asynchronous).
//!
//! The groups that a wait waits for are those of the lanes that wait. The machine counts those of the whole warp, so that it waits
//! for more, never for less: what is right here is right there.

use ptxc_sass::ModKind;

use super::fields::{Decoded, Fields};
use super::memory::Place;
use crate::access::AccessKind;
use crate::asynchronous::{Kind, copy_element, filled};
use crate::memory::Space;
use crate::phase::wait_for_groups;
use crate::warp::{Flow, lanes_of};

/// `LDGSTS`.
pub(super) fn ldgsts(i: &Fields<'_>) -> Decoded {
    let (from, to) = (Place::new(i, Space::Global)?, Place::of(i, "to", Space::Shared)?);
    let copies = i.pred("ps")?;
    let size = match i.modifier(ModKind::Size) {
        "" => 4,
        ".64" => 8,
        ".128" => 16,
        _ => return i.unknown(ModKind::Size),
    };
    let zfill = i.modifier(ModKind::Mode) == ".ZFILL";
    Ok(Box::new(move |registers, step| {
        let (from, to) = (from.resolve(registers, step)?, to.resolve(registers, step)?);
        let copies = registers.pred(copies);
        step.log_access(AccessKind::Read, Space::Global, size, &from);
        for lane in lanes_of(step.lanes) {
            let (at, bytes) = filled(from[lane as usize], size, zfill, copies >> lane & 1 == 1);
            let thread = step.memory.first_thread + lane;
            copy_element(&mut step.memory, (thread, lane), at, to[lane as usize], (bytes, size))?;
        }
        Ok(Flow::Next)
    }))
}

/// `LDGDEPBAR`.
pub(super) fn ldgdepbar(_: &Fields<'_>) -> Decoded {
    Ok(Box::new(|_, step| {
        for lane in lanes_of(step.lanes) {
            let thread = step.memory.first_thread + lane;
            step.memory.cta().copies.commit(thread, Kind::Element);
        }
        Ok(Flow::Next)
    }))
}

/// `DEPBAR.LE`: of the groups of all kinds, since one scoreboard counts them.
pub(super) fn depbar_le(i: &Fields<'_>) -> Decoded {
    let most = i.imm("n")?;
    Ok(Box::new(move |registers, step| {
        wait_for_groups(step, &mut registers.random, most)?;
        Ok(Flow::Next)
    }))
}
