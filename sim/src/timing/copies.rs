//! When asynchronous copies are done.
//!
//! One request names all bytes of a copy in bulk or of a box of a tensor. The unit that makes these copies
//! takes some time before its first request to memory; then it is as fast as memory.

use std::iter::once;

use super::issue::Flight;
use super::machine::Setup;
use super::memory::{MemorySystem, Ticket};
use crate::copies::{Action, Effect};
use crate::memory::Space;
use crate::tensor_copy::runs;

/// The cycle when the effect of a request is done, other than those of element copies.
pub(super) fn due(effect: &Effect, flight: Flight, memory: &mut MemorySystem, setup: &mut Setup<'_>) -> u64 {
    let Flight { sm, leaves, .. } = flight;
    let (params, draw) = (setup.params, &mut setup.draw);
    let start = match effect {
        Effect::Tensor(_) => draw.pick(params.tensor_start),
        Effect::Copy { .. } | Effect::Bulk(_) => draw.pick(params.bulk_start),
        Effect::Write { .. } | Effect::Update { .. } | Effect::Arrive(_) | Effect::Complete(_) => 0,
    };
    let at = leaves + start;
    let ticket = Ticket { sm, issued: at, at };
    let run = |address: u64, bytes: u32| once(address..address + u64::from(bytes));
    match effect {
        Effect::Copy { from: (Space::Global, from), bytes, .. } => {
            memory.bulk(ticket, run(*from, *bytes), false, draw)
        }
        Effect::Copy { to: (Space::Global, to), bytes, .. } => {
            memory.bulk(ticket, run(*to, *bytes), true, draw)
        }
        Effect::Copy { bytes, .. } => memory.cross(ticket, (*bytes).into(), draw),
        Effect::Bulk(update) => match update.to {
            (Space::Global, to) => memory.bulk(ticket, run(to, update.bytes), true, draw),
            _ => memory.cross(ticket, update.bytes.into(), draw),
        },
        Effect::Tensor(copy) => {
            let stores = !matches!(copy.action, Action::Load(_));
            memory.bulk(ticket, runs(copy), stores, draw)
        }
        Effect::Write { stored, .. } => memory.cross(ticket, stored.as_slice().len() as u64, draw),
        Effect::Update { bytes, .. } => memory.cross(ticket, (*bytes).into(), draw),
        Effect::Arrive(_) | Effect::Complete(_) => at,
    }
}
