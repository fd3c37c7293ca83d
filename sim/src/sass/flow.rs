//! Branches, calls, exits and convergence barriers.

use ptxc_sass::table::Transfer;
use ptxc_sass::{Inst, ModKind, Op, PReg, Program, slot_name};

use super::fields::{Decoded, Fields};
use super::registers::{Registers, Source};
use crate::error::Fault;
use crate::warp::{Control, Flow, LANES, Wait, lanes_of};

/// `BRA`. With `.U.ANY` all active lanes jump if one of them does, with `.U` if all of them do.
pub(super) fn bra(i: &Fields<'_>) -> Decoded {
    let (ps, target, guard) = (i.pred("ps")?, i.target("target")?, i.guard());
    let all = i.modifier(ModKind::Variant) == ALL;
    if all || i.modifier(ModKind::Variant) == ANY {
        return Ok(Box::new(move |registers, step| {
            let willing = registers.pred(guard) & registers.pred(ps) & step.lanes;
            let goes = if all { willing == step.lanes } else { willing != 0 };
            Ok(Flow::Branch { taken: if goes { step.lanes } else { 0 }, target })
        }));
    }
    Ok(Box::new(move |registers, step| {
        let taken = registers.pred(ps) & step.lanes;
        Ok(Flow::Branch { taken, target })
    }))
}

/// The modifier of a branch that all lanes take if any lane does.
const ANY: &str = ".U.ANY";
/// The modifier of a branch that no lane takes unless all do.
const ALL: &str = ".U";

/// Whether an instruction also decides for lanes whose guard is false: all active lanes go the same
/// way.
pub(super) fn decides_for_all(inst: &Inst<PReg>) -> bool {
    match inst.op {
        Op::BRA => matches!(inst.modifier(ModKind::Variant), ANY | ALL),
        op => op.row().transfer == Transfer::ByLanes,
    }
}

/// `BRA.DIV` is taken unless all live lanes of the mask are active; `BRA.CONV` is taken if they
/// are. All active lanes go the same way: the guard selects the lanes that count.
pub(super) fn bra_together<const CONV: bool>(i: &Fields<'_>) -> Decoded {
    let (target, guard) = (i.target("target")?, i.guard());
    // Without a mask it applies to all lanes, like the complement of an empty mask.
    let (mask, complement) = match i.inst.get(slot_name!("mask")) {
        Some(operand) => (Some(i.word("mask")?), operand.flags.not),
        None => (None, true),
    };
    Ok(Box::new(move |registers, step| {
        let mask = mask.map_or(0, |mask| registers.int(Source { not: false, ..mask })[0]);
        let mask = if complement { !mask } else { mask };
        let counted = step.lanes & registers.pred(guard);
        let together = mask & step.control.live & !counted == 0;
        Ok(Flow::Branch { taken: if together == CONV { step.lanes } else { 0 }, target })
    }))
}

/// `BRX` and `BRXU`. An address that is not one of the named targets is a fault of the lane.
pub(super) fn brx(i: &Fields<'_>) -> Decoded {
    let ([low, high], offset, targets) = (i.words::<2>("a")?, i.imm("offset")?, i.indexed_targets()?);
    let offset = i64::from(offset as i32);
    let bytes = i64::from(Program::INST_BYTES);
    Ok(Box::new(move |registers, step| {
        let (low, high) = (registers.int(low), registers.int(high));
        let next = step.pc + 1;
        let mut places = [next; LANES];
        for lane in lanes_of(step.lanes) {
            let at = lane as usize;
            let address = (u64::from(high[at]) << 32 | u64::from(low[at])) as i64;
            let address = address.wrapping_add(i64::from(next) * bytes).wrapping_add(offset);
            let place = u32::try_from(address / bytes).ok().filter(|_| address % bytes == 0);
            places[at] = match place {
                Some(place) if targets.binary_search(&place).is_ok() => place,
                _ => {
                    return Err(Fault::new(
                        lane,
                        format!("goes to {address:#x}, which is not one of its targets"),
                    ));
                }
            };
        }
        Ok(Flow::Spread(Box::new(places)))
    }))
}

/// `CALL`: the return address is in registers, which the caller has set.
pub(super) fn call(i: &Fields<'_>) -> Decoded {
    let target = i.function("target")?;
    Ok(Box::new(move |_, step| Ok(Flow::Branch { taken: step.lanes, target })))
}

/// `CALL` of an address in registers, and `RET`: each lane goes to the address in its own
/// registers.
pub(super) fn jump_to_register(i: &Fields<'_>) -> Decoded {
    jump_where(i, |_| u32::MAX)
}

/// `RET` with a predicate in addition to its guard.
pub(super) fn return_if(i: &Fields<'_>) -> Decoded {
    let ps = i.pred("ps")?;
    jump_where(i, move |registers| registers.pred(ps))
}

/// A jump of the lanes in `taken` to an address in registers; the others continue.
fn jump_where(i: &Fields<'_>, taken: impl Fn(&Registers) -> u32 + Send + Sync + 'static) -> Decoded {
    let ([low, high], base) = (i.words("a")?, i.function("base")?);
    let bytes = u64::from(Program::INST_BYTES);
    Ok(Box::new(move |registers, step| {
        let (low, high) = (registers.int(low), registers.int(high));
        let mut targets = [step.pc + 1; LANES];
        for lane in lanes_of(step.lanes & taken(registers)) {
            let address = u64::from(high[lane as usize]) << 32 | u64::from(low[lane as usize]);
            let target = u32::try_from(address / bytes).ok().filter(|_| address % bytes == 0);
            let Some(target) = target.and_then(|target| target.checked_add(base)) else {
                return Err(Fault::new(lane, format!("goes to {address:#x}, where there is no instruction")));
            };
            targets[lane as usize] = target;
        }
        Ok(Flow::Spread(Box::new(targets)))
    }))
}

/// `EXIT`.
pub(super) fn exit(_: &Fields<'_>) -> Decoded {
    Ok(Box::new(|_, step| Ok(Flow::Exit(step.lanes))))
}

/// `BPT`: there is neither a trap handler nor a debugger that could continue the thread.
pub(super) fn bpt(_: &Fields<'_>) -> Decoded {
    Ok(Box::new(|_, step| Err(Fault::trap(step.lanes))))
}

/// `EXIT` with a predicate in addition to its guard.
pub(super) fn exit_if(i: &Fields<'_>) -> Decoded {
    let ps = i.pred("ps")?;
    Ok(Box::new(move |registers, step| Ok(Flow::Exit(registers.pred(ps) & step.lanes))))
}

/// `BMOV.32.CLEAR`. With a result it saves the lanes' regions, and other lanes continue to wait for
/// them. Without a result the lanes leave their regions.
pub(super) fn bmov_clear(i: &Fields<'_>) -> Decoded {
    let (barrier, d) = (i.convergence("barrier")?, i.dest("d")?);
    if !i.is_register(slot_name!("d")) {
        return Ok(Box::new(move |_, step| {
            step.control.leave(step.lanes, barrier);
            Ok(Flow::Next)
        }));
    }
    Ok(Box::new(move |registers, step| {
        let regions = step.control.regions.save(step.lanes, barrier);
        registers.write(d, step.lanes, |lane| regions[lane]);
        Ok(Flow::Next)
    }))
}

/// `BMOV.32`: restores regions that the lanes have saved.
pub(super) fn bmov(i: &Fields<'_>) -> Decoded {
    let (barrier, a) = (i.convergence("barrier")?, i.word("a")?);
    let loses = i.loses_saved;
    Ok(Box::new(move |registers, step| {
        let regions = registers.int(a);
        step.control.restore(step.lanes, barrier, &regions).map_err(|lane| {
            Fault::new(lane, "restores a convergence barrier from a value that no `BMOV` has saved")
        })?;
        if loses {
            step.control.leave(step.lanes, barrier);
        }
        Ok(Flow::Next)
    }))
}

/// `RPCMOV.32` to a half of the return address, which lanes use as two more words: calls and
/// returns use registers here.
pub(super) fn rpcmov(i: &Fields<'_>) -> Decoded {
    let (half, b) = (return_half(i)?, i.word("b")?);
    Ok(Box::new(move |registers, step| {
        let words = registers.int(b);
        for lane in lanes_of(step.lanes) {
            registers.returns[half][lane as usize] = words[lane as usize];
        }
        Ok(Flow::Next)
    }))
}

/// `RPCMOV.32` from a half of the return address.
pub(super) fn rpcmov_read(i: &Fields<'_>) -> Decoded {
    let (half, d) = (return_half(i)?, i.dest("d")?);
    Ok(Box::new(move |registers, step| {
        let words = registers.returns[half];
        registers.write(d, step.lanes, |lane| words[lane]);
        Ok(Flow::Next)
    }))
}

/// The half of the return address that is accessed.
fn return_half(i: &Fields<'_>) -> Result<usize, String> {
    Ok((i.imm("half")? & 1) as usize)
}

/// `BSSY`.
pub(super) fn bssy(i: &Fields<'_>) -> Decoded {
    let (barrier, target) = (i.convergence("barrier")?, i.target("target")?);
    Ok(Box::new(move |_, step| {
        step.control.regions.open(step.lanes, barrier, target);
        Ok(Flow::Next)
    }))
}

/// `BSYNC`.
pub(super) fn bsync(i: &Fields<'_>) -> Decoded {
    let barrier = i.convergence("barrier")?;
    Ok(Box::new(move |_, step| Ok(Flow::Wait(step.lanes, Wait::Converge(barrier)))))
}

/// `BREAK`.
pub(super) fn break_(i: &Fields<'_>) -> Decoded {
    let barrier = i.convergence("barrier")?;
    Ok(Box::new(move |_, step| break_lanes(step.control, step.lanes, barrier)))
}

/// Removes lanes from their regions, if no other lane holds these in a register.
fn break_lanes(control: &mut Control, lanes: u32, barrier: u8) -> Result<Flow, Fault> {
    if control.regions.is_saved_by_others(lanes, barrier) {
        let what = format!(
            "leaves B{barrier}, which other lanes have saved in a register: `BREAK` does not reach them"
        );
        return Err(Fault::new(lanes.trailing_zeros(), what));
    }
    control.leave(lanes, barrier);
    Ok(Flow::Next)
}

/// `BREAK` with a predicate in addition to its guard.
pub(super) fn break_if(i: &Fields<'_>) -> Decoded {
    let (ps, barrier) = (i.pred("ps")?, i.convergence("barrier")?);
    Ok(Box::new(move |registers, step| break_lanes(step.control, step.lanes & registers.pred(ps), barrier)))
}

/// `YIELD` and `NANOSLEEP`: other warps go first. The scheduler decides for how long. Lanes that wait
/// at a `BSYNC` for these lanes go on without them, as on an H100.
pub(super) fn yield_(_: &Fields<'_>) -> Decoded {
    Ok(Box::new(|_, step| {
        step.control.end_regions(step.lanes);
        Ok(Flow::Yield)
    }))
}

/// `USETMAXREG.TRY_ALLOC`: there are always enough registers.
pub(super) fn granted(i: &Fields<'_>) -> Decoded {
    let pd = i.pred_dest("pd")?;
    Ok(Box::new(move |registers, step| {
        registers.write_pred(pd, step.lanes, u32::MAX);
        Ok(Flow::Next)
    }))
}

/// `MEMBAR`: accesses have one order, so it counts only for race detection.
pub(super) fn fence(_: &Fields<'_>) -> Decoded {
    Ok(Box::new(|_, step| {
        step.memory.fence(step.lanes);
        Ok(Flow::Next)
    }))
}

/// `NOP`, and instructions that have nothing to order or end here, such as fences.
pub(super) fn nop(_: &Fields<'_>) -> Decoded {
    Ok(Box::new(|_, _| Ok(Flow::Next)))
}
