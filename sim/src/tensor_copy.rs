//! Asynchronous copies of boxes of tensors, and updates in bulk.
//!
//! In: the tensor map in memory, the coordinates, the place in shared memory. A request reads the map
//! and checks all places; [`asynchronous`](crate::asynchronous) decides when the copy is made.

use std::ops::Range;

use crate::checks::End;
use crate::copies::{Action, BulkUpdate, Destination, Effect, Kind, TensorCopy, Tile};
use crate::element_update::Update;
use crate::error::Fault;
use crate::memory::{AccessKind, Memory, RANK_SHIFT, Space};
use crate::signal::change;
use crate::tensor_map::{BYTES, TensorMap, Way};

/// The alignment of a box in shared memory, in bytes.
const PLACE: u64 = 128;
/// The alignment of tensors, of their strides and of the rows of boxes, in bytes.
const ROW: u64 = 16;

/// The same places in each of a set of CTAs of the cluster, one bit each; without a set the places
/// themselves.
pub(crate) fn destinations(to: u64, tell: u64, ctas: Option<u32>) -> Vec<Destination> {
    let Some(ctas) = ctas else { return vec![Destination { to, tell }] };
    let offset = |address: u64| address & ((1 << RANK_SHIFT) - 1);
    let ranks = (0..16u64).filter(|rank| ctas >> rank & 1 == 1);
    let of = |rank: u64| rank << RANK_SHIFT;
    ranks.map(|rank| Destination { to: of(rank) | offset(to), tell: of(rank) | offset(tell) }).collect()
}

/// Requests a copy of a box.
///
/// # Errors
/// The map, an address or the form of the box is bad, which is a fault of the lane.
pub(crate) fn copy_box(
    memory: &mut Memory<'_>,
    (thread, lane): (u32, u32),
    tile: Tile,
    action: Action,
) -> Result<(), Fault> {
    let map = read_map(memory, lane, tile.map)?;
    let fault = |what: String| Fault::new(lane, what);
    let (places, way, kind): (Vec<u64>, _, _) = match &action {
        Action::Load(destinations) => {
            (destinations.iter().map(|place| place.to).collect(), Way::Load, Kind::Signalled)
        }
        Action::Store(from) | Action::Update(from, _) => (vec![*from], Way::Store, Kind::BulkStore),
    };
    if let Some(place) = places.iter().find(|place| !place.is_multiple_of(PLACE)) {
        return Err(fault(format!(
            "a tensor copy at {place:#x} of shared memory: not a multiple of {PLACE}"
        )));
    }
    if !map.address.is_multiple_of(ROW) {
        return Err(fault(format!("a tensor at {:#x}: not a multiple of {ROW}", map.address)));
    }
    let bytes = map.element.bytes();
    let (space, ends) = match action {
        Action::Load(_) => (Space::Cluster, [End::Target, End::Source]),
        Action::Store(_) => (Space::Shared, [End::Source, End::Target]),
        Action::Update(..) => (Space::Shared, [End::Source, End::Updated]),
    };
    map.visit(lane, (tile.tile, way), (&tile.coordinates, tile.offsets), |offset, element| {
        for place in &places {
            memory.request_copy(lane, (space, map.swizzled(place + offset)), bytes, ends[0])?;
        }
        match element {
            Some(address) => memory.request_copy(lane, (Space::Global, address), bytes, ends[1]),
            None => Ok(()),
        }
    })?;
    let effect = Effect::Tensor(Box::new(TensorCopy { map, tile, action }));
    memory.cta().copies.ask(thread, kind, effect);
    Ok(())
}

/// The ranges of addresses in global memory of the elements of a box; neighbours are joined.
pub(crate) fn runs(copy: &TensorCopy) -> Vec<Range<u64>> {
    let TensorCopy { map, tile, action } = copy;
    let way = if matches!(action, Action::Load(_)) { Way::Load } else { Way::Store };
    let bytes = u64::from(map.element.bytes());
    let mut runs: Vec<Range<u64>> = Vec::new();
    let visited = map.visit(0, (tile.tile, way), (&tile.coordinates, tile.offsets), |_, element| {
        match (element, runs.last_mut()) {
            (Some(address), Some(run)) if run.end == address => run.end += bytes,
            (Some(address), _) => runs.push(address..address + bytes),
            (None, _) => {}
        }
        Ok(())
    });
    debug_assert!(visited.is_ok(), "the request has visited the box");
    runs
}

/// Reads a tensor map at a generic address.
fn read_map(memory: &mut Memory<'_>, lane: u32, address: u64) -> Result<TensorMap, Fault> {
    if !address.is_multiple_of(64) {
        return Err(Fault::new(lane, format!("a tensor map at {address:#x}: not a multiple of 64")));
    }
    let mut bytes = [0; BYTES];
    for (place, at) in bytes.chunks_exact_mut(8).zip((address..).step_by(8)) {
        place.copy_from_slice(memory.access(Space::Generic, lane, at, 8, AccessKind::Read)?);
    }
    TensorMap::from_bytes(&bytes).map_err(|what| Fault::new(lane, what))
}

/// Makes a copy of a box that a thread requested, at an instruction of a lane.
pub(crate) fn perform(memory: &mut Memory<'_>, by: (u32, u32), copy: &TensorCopy) -> Result<(), Fault> {
    let TensorCopy { map, tile, action } = copy;
    let (map, bytes) = (*map, map.element.bytes());
    let place = (&tile.coordinates[..], tile.offsets);
    match action {
        Action::Load(destinations) => {
            let size = map.visit(by.1, (tile.tile, Way::Load), place, |offset, element| {
                let value = match element {
                    Some(address) => read(memory, by, (Space::Global, address), bytes)?,
                    None => map.fill(),
                };
                destinations.iter().try_for_each(|destination| {
                    let to = (Space::Cluster, map.swizzled(destination.to + offset));
                    write(memory, by, to, (value, bytes), End::Target)
                })
            })?;
            for destination in destinations {
                memory.copy_arrives(by, destination.tell);
                change(memory, by.1, destination.tell, |barrier| barrier.complete(size as u32))?;
            }
        }
        Action::Store(from) => {
            map.visit(by.1, (tile.tile, Way::Store), place, |offset, element| {
                // The whole box is read, even where it is outside the tensor.
                let value = read(memory, by, (Space::Shared, map.swizzled(from + offset)), bytes)?;
                let Some(address) = element else { return Ok(()) };
                write(memory, by, (Space::Global, address), (value, bytes), End::Target)
            })?;
        }
        Action::Update(from, op) => {
            let update = Update { op: *op, element: map.element.into() };
            map.visit(by.1, (tile.tile, Way::Store), place, |offset, element| {
                let operand = read(memory, by, (Space::Shared, map.swizzled(from + offset)), bytes)?;
                let Some(address) = element else { return Ok(()) };
                combine(memory, by, (Space::Global, address), update, operand)
            })?;
        }
    }
    Ok(())
}

/// Requests an update in bulk.
///
/// # Errors
/// A bad address, which is a fault of the lane, or a size or address that is not a multiple of 16
/// bytes.
pub(crate) fn update_in_bulk(
    memory: &mut Memory<'_>,
    (thread, lane): (u32, u32),
    bulk: BulkUpdate,
) -> Result<(), Fault> {
    let BulkUpdate { from, to, bytes, update, tell } = bulk;
    if [to.1, from, bytes.into()].iter().any(|n| !n.is_multiple_of(ROW)) {
        let what = format!("an update of {bytes} bytes at {:#x} by {from:#x}: not multiples of 16", to.1);
        return Err(Fault::new(lane, what));
    }
    let size = update.element.bytes();
    for n in (0..u64::from(bytes)).step_by(size as usize) {
        memory.request_copy(lane, (Space::Shared, from + n), size, End::Source)?;
        memory.request_copy(lane, (to.0, to.1 + n), size, End::Updated)?;
    }
    let kind = if tell.is_some() { Kind::Signalled } else { Kind::BulkStore };
    memory.cta().copies.ask(thread, kind, Effect::Bulk(bulk));
    Ok(())
}

/// Makes an update in bulk that a thread requested, at an instruction of a lane.
pub(crate) fn perform_update(memory: &mut Memory<'_>, by: (u32, u32), bulk: BulkUpdate) -> Result<(), Fault> {
    let size = bulk.update.element.bytes();
    for n in (0..u64::from(bulk.bytes)).step_by(size as usize) {
        let operand = read(memory, by, (Space::Shared, bulk.from + n), size)?;
        combine(memory, by, (bulk.to.0, bulk.to.1 + n), bulk.update, operand)?;
    }
    let Some(barrier) = bulk.tell else { return Ok(()) };
    memory.copy_arrives(by, barrier);
    change(memory, by.1, barrier, |barrier| barrier.complete(bulk.bytes)).map(|_| ())
}

fn read(memory: &mut Memory<'_>, by: (u32, u32), from: (Space, u64), bytes: u32) -> Result<u64, Fault> {
    gather(memory, by, from, bytes, End::Source)
}

fn gather(
    memory: &mut Memory<'_>,
    by: (u32, u32),
    (space, address): (Space, u64),
    bytes: u32,
    end: End,
) -> Result<u64, Fault> {
    (0..bytes.into()).try_fold(0, |value, n| {
        Ok(value | u64::from(*memory.copied_byte(by, (space, address + n), end)?) << (8 * n))
    })
}

fn write(
    memory: &mut Memory<'_>,
    by: (u32, u32),
    (space, address): (Space, u64),
    (value, bytes): (u64, u32),
    end: End,
) -> Result<(), Fault> {
    for (byte, at) in value.to_le_bytes().into_iter().zip(address..).take(bytes as usize) {
        *memory.copied_byte(by, (space, at), end)? = byte;
    }
    Ok(())
}

fn combine(
    memory: &mut Memory<'_>,
    by: (u32, u32),
    to: (Space, u64),
    update: Update,
    operand: u64,
) -> Result<(), Fault> {
    let bytes = update.element.bytes();
    let old = gather(memory, by, to, bytes, End::Updated)?;
    let new = update.apply(old, operand);
    let new = new.ok_or_else(|| Fault::new(by.1, format!("no update {} of floats", update.op.name())))?;
    write(memory, by, to, (new, bytes), End::Updated)
}
