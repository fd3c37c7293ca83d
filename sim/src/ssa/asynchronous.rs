//! Operations on mbarriers and asynchronous copies in one lane; waits for phases are in
//! [`phase`](crate::phase).

use ptxc_ir::op::{MbarrierArrive, MbarrierUpdate};
use ptxc_ir::{AtomicOp, Op, TensorBox, Type};

use super::Values;
use super::code::SlotIndex;
use crate::asynchronous::{
    Bulk, Stored, copy_element, copy_in_bulk, filled, store_asynchronously, update_asynchronously,
};
use crate::copies::{Action, BulkUpdate, Destination, Effect, Kind, Tile};
use crate::element_update::Update;
use crate::engine::Step;
use crate::error::Fault;
use crate::mbarrier::Mbarrier;
use crate::memory::{AccessKind, Space, write_le};
use crate::phase::wait_for_copies;
use crate::signal::change;
use crate::tensor_copy::{copy_box, destinations, update_in_bulk};

/// Executes an operation for a lane.
pub(super) fn run(
    values: &mut Values,
    step: &mut Step<'_>,
    (op, ty): (&Op, Type),
    d: SlotIndex,
    args: &[SlotIndex],
    lane: u32,
) -> Result<(), Fault> {
    let arg = |n: usize| values.get(args[n], lane);
    let thread = step.memory.first_thread + lane;
    let memory = &mut step.memory;
    let fault = |what: String| Fault::new(lane, what);
    match *op {
        Op::MbarrierUpdate { update: MbarrierUpdate::Init, .. } => {
            let barrier = Mbarrier::new(arg(1) as u32).map_err(fault)?;
            let bits = memory.grid.mbarriers.bits(barrier);
            write_le(memory.access(Space::Shared, lane, arg(0), 8, AccessKind::Write)?, bits);
        }
        Op::MbarrierUpdate { update, space } => {
            own_if_shared(memory, space, lane, arg(0))?;
            let bytes = arg(1) as u32;
            change(memory, lane, arg(0), |barrier| match update {
                MbarrierUpdate::ExpectTx => barrier.expect(bytes),
                _ => barrier.complete(bytes),
            })?;
            memory.publish_to_mbarrier(lane, arg(0));
            step.changed_mbarrier = true;
        }
        Op::MbarrierInval => {
            change(memory, lane, arg(0), |_| Ok(()))?;
            write_le(memory.access(Space::Shared, lane, arg(0), 8, AccessKind::Write)?, 0);
        }
        Op::MbarrierArrive { kind, space, .. } => {
            own_if_shared(memory, space, lane, arg(0))?;
            let n = arg(1) as u32;
            let (_, before) = change(memory, lane, arg(0), |barrier| arrive(barrier, kind, n))?;
            memory.publish_to_mbarrier(lane, arg(0));
            if space == ptxc_ir::Space::Shared {
                values.set(d, lane, memory.grid.mbarriers.bits(before));
            }
            step.changed_mbarrier = true;
        }
        Op::MbarrierPending => {
            let pending = memory.grid.mbarriers.read(arg(0)).map_err(fault)?.pending();
            values.set(d, lane, pending.into());
        }
        Op::AsyncCopy { access, .. } | Op::AsyncFill { access, .. } => {
            let size = access.elem.bytes();
            let at = arg(0).wrapping_add_signed(access.offset.into());
            let (from, bytes) = match *op {
                Op::AsyncFill { zfill, .. } => filled(at, size, zfill, arg(2) != 0),
                _ => (at, arg(2) as u32),
            };
            copy_element(memory, (thread, lane), from, arg(1), (bytes, size))?;
        }
        Op::AsyncArrive { noinc } => {
            change(memory, lane, arg(0), |barrier| if noinc { Ok(()) } else { barrier.await_one_more() })?;
            memory.cta().copies.ask(thread, Kind::Element, Effect::Arrive(arg(0)));
        }
        Op::BulkLoad { multicast } => {
            let ctas = multicast.then(|| arg(4) as u32);
            for Destination { to, tell } in destinations(arg(0), arg(3), ctas) {
                let (from, to) = ((Space::Global, arg(1)), (Space::Cluster, to));
                let bulk = Bulk { from, to, bytes: arg(2) as u32, tell: Some(tell) };
                copy_in_bulk(memory, (thread, lane), Kind::Signalled, bulk)?;
            }
        }
        Op::BulkRed { .. } | Op::BulkShareRed { .. } => {
            let (is_shared, op) = match *op {
                Op::BulkRed { op, .. } => (false, op),
                Op::BulkShareRed { op } => (true, op),
                _ => return Ok(()),
            };
            let update = Update::of(op, ty).ok_or_else(|| fault(format!("no update {op} in bulk")))?;
            let space = if is_shared { Space::Cluster } else { Space::Global };
            let tell = is_shared.then(|| arg(3));
            let bulk = BulkUpdate { from: arg(1), to: (space, arg(0)), bytes: arg(2) as u32, update, tell };
            update_in_bulk(memory, (thread, lane), bulk)?;
        }
        Op::TensorLoad { tile, multicast } => {
            let tile = box_at(tile, args, 2, arg);
            let ctas = multicast.then(|| arg(args.len() - 1) as u32);
            let action = Action::Load(destinations(arg(0), arg(1), ctas));
            copy_box(memory, (thread, lane), tile, action)?;
        }
        Op::TensorStore(tile) => {
            copy_box(memory, (thread, lane), box_at(tile, args, 1, arg), Action::Store(arg(0)))?;
        }
        Op::TensorRed { op, tile } => {
            copy_box(memory, (thread, lane), box_at(tile, args, 1, arg), Action::Update(arg(0), op))?;
        }
        Op::BulkShare | Op::BulkStore => {
            let (kind, from, to) = match *op {
                Op::BulkShare => (Kind::Signalled, Space::Shared, Space::Cluster),
                _ => (Kind::BulkStore, Space::Shared, Space::Global),
            };
            let tell = (kind == Kind::Signalled).then(|| arg(3));
            let bulk = Bulk { from: (from, arg(1)), to: (to, arg(0)), bytes: arg(2) as u32, tell };
            copy_in_bulk(memory, (thread, lane), kind, bulk)?;
        }
        Op::AsyncCommit => memory.cta().copies.commit(thread, Kind::Element),
        Op::BulkCommit => memory.cta().copies.commit(thread, Kind::BulkStore),
        Op::AsyncWait | Op::AsyncWaitAll | Op::BulkWait { .. } => {
            let most = (*op != Op::AsyncWaitAll).then(|| arg(0) as u32);
            let kind = if matches!(op, Op::BulkWait { .. }) { Kind::BulkStore } else { Kind::Element };
            return wait_for_copies(step, lane, &mut values.random, kind, most);
        }
        _ => {}
    }
    Ok(())
}

/// The box whose tensor map is argument `map`; the coordinates and offsets follow.
fn box_at(tile: TensorBox, args: &[SlotIndex], map: usize, arg: impl Fn(usize) -> u64) -> Tile {
    let end = map + 1 + usize::from(tile.dimensions);
    let coordinates = (map + 1..end.min(args.len())).map(|n| arg(n) as i32).collect();
    let offsets = if tile.im2col && end < args.len() { arg(end) as u32 } else { 0 };
    Tile { tile, map: arg(map), coordinates, offsets }
}

/// Requests an asynchronous store for a lane. `args` are the address, the mbarrier, and values of
/// `bytes` bytes each.
pub(super) fn store_remotely(
    values: &Values,
    step: &mut Step<'_>,
    args: &[SlotIndex],
    bytes: u32,
    lane: u32,
) -> Result<(), Fault> {
    let mut stored = Stored::default();
    for &value in &args[2..] {
        stored.push(values.get(value, lane), bytes);
    }
    let place = (values.get(args[0], lane), values.get(args[1], lane));
    store_asynchronously(&mut step.memory, lane, place, stored)
}

/// Requests an asynchronous update of an integer of `bytes` bytes for a lane. `args` are the
/// address, the mbarrier, and the operand.
pub(super) fn update_remotely(
    values: &Values,
    step: &mut Step<'_>,
    (op, bytes): (AtomicOp, u32),
    args: &[SlotIndex],
    lane: u32,
) -> Result<(), Fault> {
    let place = (values.get(args[0], lane), values.get(args[1], lane));
    update_asynchronously(&mut step.memory, lane, place, (op, bytes), values.get(args[2], lane))
}

/// Checks that an address for an mbarrier of the CTA does not reach another CTA.
fn own_if_shared(
    memory: &mut crate::memory::Memory<'_>,
    space: ptxc_ir::Space,
    lane: u32,
    address: u64,
) -> Result<(), Fault> {
    match space {
        ptxc_ir::Space::Shared => {
            memory.access(Space::Shared, lane, address, 8, AccessKind::Mbarrier).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// Arrives as `kind` says.
pub(crate) fn arrive(barrier: &mut Mbarrier, kind: MbarrierArrive, n: u32) -> Result<(), String> {
    let completes = match kind {
        MbarrierArrive::Count | MbarrierArrive::NoComplete => barrier.arrive(n)?,
        MbarrierArrive::Drop | MbarrierArrive::DropNoComplete => barrier.drop_out(n)?,
        MbarrierArrive::ExpectTx => barrier.expect(n).and_then(|()| barrier.arrive(1))?,
        MbarrierArrive::DropExpectTx => barrier.expect(n).and_then(|()| barrier.drop_out(1))?,
    };
    match kind {
        MbarrierArrive::NoComplete | MbarrierArrive::DropNoComplete if completes => {
            Err("completes a phase, which .noComplete forbids".to_string())
        }
        _ => Ok(()),
    }
}
