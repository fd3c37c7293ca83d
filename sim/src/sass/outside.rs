//! Calls by the whole address of a function, and the instructions that make and use such addresses.
//! The program begins at address zero.
//!
//! A call of a [service](crate::services) of the driver is served at the call: arguments and result are
//! in the registers of the platform's calling convention, and the registers that a service does not
//! preserve hold arbitrary values afterwards. ptxas notes the convention of the services in its objects
//! (`.nv.prototype`): 12 registers for parameters from R4 on, the return address in R20 and R21, and R0
//! and R3 to R15 are clobbered.

use ptxc_sass::{PReg, Program, RegFile};

use super::fields::{Decoded, Fields};
use super::registers::{Dest, Registers, Source};
use crate::engine::Step;
use crate::error::Fault;
use crate::services::{self, NO_FUNCTION, NOWHERE, Service};
use crate::warp::{Flow, LANES, lanes_of};

/// `CALL.ABS` of the address in a pair, plus an offset.
pub(super) fn call_absolute(i: &Fields<'_>) -> Decoded {
    let convention = Convention::new(i)?;
    let (address, offset) = (i.words::<2>("a")?, i.imm("offset")?);
    Ok(Box::new(move |registers, step| {
        let addresses = registers.wide(address).map(|low| low.wrapping_add_signed(i64::from(offset as i32)));
        convention.enter(registers, step, &addresses)
    }))
}

/// `CALL.ABS` of an address that the loader has filled in.
pub(super) fn call_loaded(i: &Fields<'_>) -> Decoded {
    let convention = Convention::new(i)?;
    let address = u64::from(i.imm("target")?);
    Ok(Box::new(move |registers, step| convention.enter(registers, step, &[address; LANES])))
}

/// `RET.ABS` to the address in a pair, plus an offset.
pub(super) fn ret_absolute(i: &Fields<'_>) -> Decoded {
    let (address, offset) = (i.words::<2>("a")?, i.imm("offset")?);
    Ok(Box::new(move |registers, step| {
        let addresses = registers.wide(address).map(|low| low.wrapping_add_signed(i64::from(offset as i32)));
        go(step, &addresses)
    }))
}

/// `LEPC`: its own address.
pub(super) fn lepc(i: &Fields<'_>) -> Decoded {
    let d = i.dests("d", 2)?;
    Ok(Box::new(move |registers, step| {
        let address = place(step.pc);
        registers.write_wide(&d, step.lanes, |_| address);
        Ok(Flow::Next)
    }))
}

/// `LEPC` of a label.
pub(super) fn lepc_target(i: &Fields<'_>) -> Decoded {
    let (d, target) = (i.dests("d", 2)?, i.target("target")?);
    Ok(Box::new(move |registers, step| {
        registers.write_wide(&d, step.lanes, |_| place(target));
        Ok(Flow::Next)
    }))
}

/// The address of an instruction.
fn place(pc: u32) -> u64 {
    u64::from(pc) * u64::from(Program::INST_BYTES)
}

/// Each lane goes to its address.
fn go(step: &Step<'_>, addresses: &[u64; LANES]) -> Result<Flow, Fault> {
    let mut targets = [step.pc + 1; LANES];
    for lane in lanes_of(step.lanes) {
        let address = addresses[lane as usize];
        if address == NOWHERE {
            return Err(Fault::new(lane, NO_FUNCTION));
        }
        let target = u32::try_from(address / u64::from(Program::INST_BYTES)).ok();
        let target = target.filter(|&target| place(target) == address);
        targets[lane as usize] = target.ok_or_else(|| {
            Fault::new(lane, format!("goes to {address:#x}, where there is no instruction"))
        })?;
    }
    Ok(Flow::Spread(Box::new(targets)))
}

/// The registers of the platform's convention.
struct Convention {
    /// R4 to R15.
    arguments: [Source; 12],
    /// R20 and R21.
    back: [Source; 2],
}

impl Convention {
    fn new(i: &Fields<'_>) -> Result<Convention, String> {
        let first = i.register_source(PReg::r(4))?;
        let mut arguments = [first; 12];
        for (argument, number) in arguments.iter_mut().zip(4..) {
            *argument = i.register_source(PReg::r(number))?;
        }
        let back = [i.register_source(PReg::r(20))?, i.register_source(PReg::r(21))?];
        Ok(Convention { arguments, back })
    }

    /// The lanes at a service are served and return; the others go to the function.
    fn enter(
        &self,
        registers: &mut Registers,
        step: &mut Step<'_>,
        addresses: &[u64; LANES],
    ) -> Result<Flow, Fault> {
        let mut next = *addresses;
        let mut results = [0; LANES];
        let mut served = 0;
        for lane in lanes_of(step.lanes) {
            let Some(service) = Service::at(addresses[lane as usize]) else { continue };
            let mut words = self.arguments.iter().map(|&word| registers.int(word)[lane as usize]);
            let mut number = 0;
            let mut arguments = Vec::new();
            for &bytes in service.arguments() {
                // A value of 8 bytes is in an aligned pair.
                if bytes == 8 && number % 2 == 1 {
                    words.next();
                    number += 1;
                }
                let low = u64::from(words.next().unwrap_or(0));
                let high = if bytes == 8 { u64::from(words.next().unwrap_or(0)) } else { 0 };
                number += bytes / 4;
                arguments.push(high << 32 | low);
            }
            results[lane as usize] = services::serve(service, step, lane, &arguments)?;
            served |= 1 << lane;
        }
        let back = registers.wide(self.back);
        for lane in lanes_of(served) {
            next[lane as usize] = back[lane as usize];
        }
        if served != 0 {
            let lost = [0].into_iter().chain(3..16).map(PReg::r);
            lost.clone().for_each(|register| registers.unwritten.clear(register.index().into(), served));
            let predicates = (0..RegFile::Pred.count()).map(PReg::p);
            lost.chain(predicates).for_each(|register| registers.scramble(register, served));
            registers.write_wide(&[4, 5].map(Dest::Lane), served, |lane| results[lane]);
            [4, 5].into_iter().for_each(|number| registers.mark_written(PReg::r(number), served));
        }
        go(step, &next)
    }
}
