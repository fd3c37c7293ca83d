//! What one lane does to mbarriers and asynchronous copies.

use ptxc_ir::Op;
use ptxc_ir::op::{MbarrierArrive, MbarrierUpdate};

use super::Values;
use super::decode::SlotIndex;
use crate::access::AccessKind;
use crate::asynchronous::{Copies, Effect, Kind, change};
use crate::engine::Step;
use crate::error::Fault;
use crate::mbarrier::Mbarrier;
use crate::memory::{Space, write_le};

/// Bulk copies and their addresses are multiples of this many bytes.
const BULK: u64 = 16;

/// Executes an operation for a lane.
pub(super) fn run(
    values: &mut Values,
    step: &mut Step<'_>,
    op: &Op,
    d: SlotIndex,
    args: &[SlotIndex],
    lane: u32,
) -> Result<(), Fault> {
    let arg = |n: usize| values.get(args[n], lane);
    let thread = step.memory.first_thread + lane;
    let memory = &mut step.memory;
    let fault = |what: String| Fault::new(lane, what);
    match *op {
        Op::MbarrierUpdate(MbarrierUpdate::Init) => {
            let barrier = Mbarrier::new(arg(1) as u32).map_err(fault)?;
            write_le(memory.access(Space::Shared, lane, arg(0), 8, AccessKind::Write)?, barrier.bits());
        }
        Op::MbarrierUpdate(update) => {
            let bytes = arg(1) as u32;
            change(memory, lane, arg(0), |barrier| match update {
                MbarrierUpdate::ExpectTx => barrier.expect(bytes),
                _ => barrier.complete(bytes),
            })?;
        }
        Op::MbarrierInval => {
            change(memory, lane, arg(0), |_| Ok(()))?;
            write_le(memory.access(Space::Shared, lane, arg(0), 8, AccessKind::Write)?, 0);
        }
        Op::MbarrierArrive(kind) => {
            let n = arg(1) as u32;
            let (_, before) = change(memory, lane, arg(0), |barrier| arrive(barrier, kind, n))?;
            values.set(d, lane, before.bits());
        }
        Op::MbarrierState(_) | Op::MbarrierParity(_) => {
            let (address, with) = (arg(0), arg(1));
            tick(values, step, lane)?;
            let (past, _) = change(&mut step.memory, lane, address, |barrier| match op {
                Op::MbarrierState(_) => Ok(barrier.is_past(Mbarrier::of_bits(with)?)),
                _ => Ok(barrier.is_past_parity(with & 1 == 1)),
            })?;
            values.set(d, lane, past.into());
        }
        Op::MbarrierPending => {
            let pending = Mbarrier::of_bits(arg(0)).map_err(fault)?.pending();
            values.set(d, lane, pending.into());
        }
        Op::AsyncCopy(elem) => {
            let (size, bytes) = (elem.bytes(), arg(2) as u32);
            if bytes > size {
                return Err(fault(format!("copies {bytes} bytes to an element of {size}")));
            }
            // A bad address is the fault of the one who gives it.
            memory.access(Space::Shared, lane, arg(0), size, AccessKind::Write)?;
            memory.access(Space::Global, lane, arg(1), size, AccessKind::Read).map(|_| ()).or_else(
                |wrong| match bytes {
                    0 => Ok(()),
                    _ => Err(wrong),
                },
            )?;
            let (from, to) = ((Space::Global, arg(1)), (Space::Shared, arg(0)));
            let effect = Effect::Copy { from, to, bytes, zeros: size - bytes, tell: None };
            memory.cta.copies.ask(thread, Kind::Element, effect);
        }
        Op::AsyncArrive(noinc) => {
            change(memory, lane, arg(0), |barrier| if noinc { Ok(()) } else { barrier.await_one_more() })?;
            memory.cta.copies.ask(thread, Kind::Element, Effect::Arrive(arg(0)));
        }
        Op::BulkLoad | Op::BulkStore => {
            let (to, from, bytes) = (arg(0), arg(1), arg(2) as u32);
            let load = *op == Op::BulkLoad;
            let tell = load.then(|| arg(3));
            if [to, from, bytes.into()].iter().any(|n| !n.is_multiple_of(BULK)) {
                let what =
                    format!("a bulk copy of {bytes} bytes from {from:#x} to {to:#x}: not multiples of 16");
                return Err(fault(what));
            }
            let (source, target) =
                if load { (Space::Global, Space::Shared) } else { (Space::Shared, Space::Global) };
            for n in (0..u64::from(bytes)).step_by(BULK as usize) {
                memory.access(source, lane, from + n, BULK as u32, AccessKind::Read)?;
                memory.access(target, lane, to + n, BULK as u32, AccessKind::Write)?;
            }
            let effect = Effect::Copy { from: (source, from), to: (target, to), bytes, zeros: 0, tell };
            memory.cta.copies.ask(thread, if load { Kind::BulkLoad } else { Kind::BulkStore }, effect);
        }
        Op::AsyncCommit => memory.cta.copies.commit(thread, Kind::Element),
        Op::BulkCommit => memory.cta.copies.commit(thread, Kind::BulkStore),
        Op::AsyncWait => return wait(values, step, lane, (thread, Kind::Element), Some(arg(0) as u32)),
        Op::AsyncWaitAll => return wait(values, step, lane, (thread, Kind::Element), None),
        Op::BulkWait(_) => return wait(values, step, lane, (thread, Kind::BulkStore), Some(arg(0) as u32)),
        _ => {}
    }
    Ok(())
}

fn arrive(barrier: &mut Mbarrier, kind: MbarrierArrive, n: u32) -> Result<(), String> {
    let completes = match kind {
        MbarrierArrive::Count | MbarrierArrive::NoComplete => barrier.arrive(n)?,
        MbarrierArrive::Drop | MbarrierArrive::DropNoComplete => barrier.drop_out(n)?,
        MbarrierArrive::ExpectTx => barrier.expect(n).and_then(|()| barrier.arrive(1))?,
        MbarrierArrive::DropExpectTx => barrier.expect(n).and_then(|()| barrier.drop_out(1))?,
    };
    match kind {
        MbarrierArrive::NoComplete | MbarrierArrive::DropNoComplete if completes => {
            Err("completes a phase, which .noComplete excludes".to_string())
        }
        _ => Ok(()),
    }
}

/// Lends the copies of the CTA while memory changes.
fn with_copies(
    step: &mut Step<'_>,
    f: impl FnOnce(&mut Copies, &mut Step<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut copies = std::mem::take(&mut step.memory.cta.copies);
    let result = f(&mut copies, step);
    step.memory.cta.copies = copies;
    result
}

fn tick(values: &mut Values, step: &mut Step<'_>, lane: u32) -> Result<(), Fault> {
    with_copies(step, |copies, step| copies.tick(&mut step.memory, lane, &mut values.random))
}

fn wait(
    values: &mut Values,
    step: &mut Step<'_>,
    lane: u32,
    who: (u32, Kind),
    most: Option<u32>,
) -> Result<(), Fault> {
    tick(values, step, lane)?;
    with_copies(step, |copies, step| copies.wait(&mut step.memory, lane, who, most))
}
