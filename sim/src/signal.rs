//! Changes of mbarriers in shared memory.

use crate::error::Fault;
use crate::mbarrier::Mbarrier;
use crate::memory::{AccessKind, Memory, Space, read_le, write_le};

/// Changes an mbarrier in shared memory. Returns the result of `f` and the state before.
pub(crate) fn change<T>(
    memory: &mut Memory<'_>,
    lane: u32,
    address: u64,
    f: impl FnOnce(&mut Mbarrier) -> Result<T, String>,
) -> Result<(T, Mbarrier), Fault> {
    let layout = memory.grid.mbarriers;
    let slice = memory.access(Space::Cluster, lane, address, 8, AccessKind::Mbarrier)?;
    let before = layout.read(read_le(slice)).map_err(|what| Fault::new(lane, what))?;
    let mut barrier = before;
    let result = f(&mut barrier).map_err(|what| Fault::new(lane, what))?;
    write_le(slice, layout.bits(barrier));
    Ok((result, before))
}
