//! The convergence barriers that a region may use: the part of the calling convention that
//! `converge` decides.
//!
//! Barriers B0 to B15 exist once for each warp, and a callee runs while its callers' regions are
//! open. Each barrier therefore belongs to one kind of function.

use std::ops::Range;

use ptxc_ir::{Function, FunctionKind};
use smallvec::{SmallVec, smallvec};

use crate::runtime;

/// The convergence barriers that a callee preserves for its callers. A region that contains a call
/// has one of these, and a function that opens one of them saves it first. Functions of other modules
/// preserve B6 and those above it (seen in functions that ptxas compiles).
pub const KEPT_BARRIERS: Range<u8> = 6..12;
/// The convergence barriers of runtime routines, which may be called anywhere.
const OF_ROUTINES: Range<u8> = 12..16;

/// The convergence barriers that a region of a function may have, the preferred ones first. `calls`
/// says whether a device function is called in the region.
///
/// A callee must not open a barrier that is open at the call. So runtime routines have barriers of
/// their own, and a barrier that is open at a call of a device function is one that the callee
/// preserves. A kernel has nothing to preserve.
pub fn convergence_barriers(func: &Function, calls: bool) -> SmallVec<[Range<u8>; 3]> {
    let of_routines = if func.callees.is_empty() { OF_ROUTINES } else { 0..0 };
    match func.kind {
        FunctionKind::Device if runtime::is_routine(&func.name) => smallvec![OF_ROUTINES],
        _ if calls => smallvec![KEPT_BARRIERS],
        FunctionKind::Entry => smallvec![0..KEPT_BARRIERS.end, of_routines],
        FunctionKind::Device => smallvec![0..KEPT_BARRIERS.start, of_routines, KEPT_BARRIERS],
    }
}
