//! Moves from special registers, and the instructions that only the uniform datapath has.
//!
//! A uniform register exists once per warp: every group of lanes that executes the instruction
//! writes it, diverged or not.

use ptxc_sass::SpecialReg;

use super::fields::{Decoded, Fields};
use crate::engine::Step;
use crate::launch::WARP_SLOTS;
use crate::memory::SHARED_WINDOW;
use crate::warp::{Flow, LANES, lanes_of};

/// The value of a special register in a lane.
type Read = fn(&Step<'_>, u32) -> u32;

/// The function that reads a special register, if the engine knows it.
fn special(register: SpecialReg) -> Option<Read> {
    Some(match register {
        SpecialReg::TidX => |step, lane| step.tid(lane)[0],
        SpecialReg::TidY => |step, lane| step.tid(lane)[1],
        SpecialReg::TidZ => |step, lane| step.tid(lane)[2],
        SpecialReg::CtaidX => |step, _| step.cta[0],
        SpecialReg::CtaidY => |step, _| step.cta[1],
        SpecialReg::CtaidZ => |step, _| step.cta[2],
        SpecialReg::LaneId => |_, lane| lane,
        // The number of the warp and the number of warps are above the low byte.
        SpecialReg::WarpId => |step, _| step.warp << 8,
        SpecialReg::VirtCfg => |_, _| WARP_SLOTS << 8,
        SpecialReg::EqMask => |_, lane| 1 << lane,
        SpecialReg::LtMask => |_, lane| (1 << lane) - 1,
        SpecialReg::LeMask => |_, lane| u32::MAX >> (31 - lane),
        SpecialReg::GtMask => |_, lane| !(u32::MAX >> (31 - lane)),
        SpecialReg::GeMask => |_, lane| !((1 << lane) - 1),
        SpecialReg::CgaCtaId => |step, _| step.rank,
        SpecialReg::Zero | SpecialReg::VirtualSmId | SpecialReg::StackLimit => |_, _| 0,
        SpecialReg::ClockHi | SpecialReg::GlobalTimerHi => |_, _| 0,
        // The system reserves nothing here; the word of the constant bank says so.
        SpecialReg::SharedSize => |step, _| step.shape.total_shared(),
        SpecialReg::ClockLo | SpecialReg::GlobalTimerLo => |step, _| step.clock as u32,
        // Nothing counts, and the performance counters are in pairs of words.
        SpecialReg::Numbered(100..=115) => |_, _| 0,
        SpecialReg::SharedWindowHigh => |_, _| (SHARED_WINDOW >> 32) as u32,
        _ => return None,
    })
}

/// `S2R`, `S2UR`, `CS2R.32`.
pub(super) fn s2r(i: &Fields<'_>) -> Decoded {
    let (d, register) = (i.dest("d")?, i.special("sr")?);
    read_special(register, vec![d])
}

/// `CS2R`: a pair, whose upper word is 0 here.
pub(super) fn cs2r(i: &Fields<'_>) -> Decoded {
    let (d, register) = (i.dests("d", 2)?, i.special("sr")?);
    read_special(register, d)
}

fn read_special(register: SpecialReg, d: Vec<super::registers::Dest>) -> Decoded {
    let read = special(register).ok_or_else(|| format!("the register {register}"))?;
    Ok(Box::new(move |registers, step| {
        let mut values = [0; LANES];
        for lane in lanes_of(step.lanes) {
            values[lane as usize] = read(step, lane);
        }
        registers.write(d[0], step.lanes, |lane| values[lane]);
        if let Some(&high) = d.get(1) {
            registers.write(high, step.lanes, |_| 0);
        }
        Ok(Flow::Next)
    }))
}
