//! Sets of lanes of a warp: bit n of a mask is lane n.

/// The number of lanes of a warp.
pub(crate) const LANES: usize = 32;

/// The bit of each lane. It is a table because loading from a table becomes vector code, and
/// shifting by the number of the lane does not.
pub(crate) const BIT: [u32; LANES] = {
    let mut bits = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// Whether a mask has a lane.
#[inline]
pub(crate) fn has(mask: u32, lane: usize) -> bool {
    mask & BIT[lane] != 0
}

/// The lanes of a mask, lowest first.
#[inline]
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = u32> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}
