//! Operations that lanes perform together, for both engines: matches and reductions.
//!
//! In: the values of all lanes, and the set of participating lanes. The values of other lanes are
//! ignored.
//!
//! ```text
//! reduce(ReduxOp::Add, &[1, 2, 3, …], 0b101) == 4
//! matching(&[7, 8, 7, …], 0b111) == [0b101, 0b010, 0b101, 0, …]
//! ```

use ptxc_ir::op::ReduxOp;

use crate::warp::{LANES, lanes_of};

/// For each lane of `lanes`, the set of lanes with the same value.
pub(crate) fn matching(values: &[u64; LANES], lanes: u32) -> [u32; LANES] {
    let mut found = [0; LANES];
    for lane in lanes_of(lanes) {
        let same = lanes_of(lanes).filter(|&other| values[other as usize] == values[lane as usize]);
        found[lane as usize] = same.fold(0, |set, other| set | 1 << other);
    }
    found
}

/// The reduction of the lanes' values; 0 for no lanes.
pub(crate) fn reduce(op: ReduxOp, values: &[u32; LANES], lanes: u32) -> u32 {
    let combine: fn(u32, u32) -> u32 = match op {
        ReduxOp::Add | ReduxOp::Sadd => u32::wrapping_add,
        ReduxOp::Smin => |a, b| (a as i32).min(b as i32) as u32,
        ReduxOp::Smax => |a, b| (a as i32).max(b as i32) as u32,
        ReduxOp::Umin => u32::min,
        ReduxOp::Umax => u32::max,
        ReduxOp::And => |a, b| a & b,
        ReduxOp::Or => |a, b| a | b,
        ReduxOp::Xor => |a, b| a ^ b,
    };
    lanes_of(lanes).map(|lane| values[lane as usize]).reduce(combine).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_given_lanes_count() {
        let values = std::array::from_fn(|n| n as u32);
        assert_eq!(reduce(ReduxOp::Add, &values, 0b1010), 4);
        assert_eq!(reduce(ReduxOp::Umin, &values, 0b1000), 3);
        let values = std::array::from_fn(|n| n as u64 % 2);
        assert_eq!(matching(&values, 0b1101)[..4], [0b0101, 0, 0b0101, 0b1000]);
    }

    #[test]
    fn signs_count_where_they_should() {
        let mut values = [1; LANES];
        values[3] = u32::MAX;
        assert_eq!(reduce(ReduxOp::Smin, &values, u32::MAX), u32::MAX);
        assert_eq!(reduce(ReduxOp::Umin, &values, u32::MAX), 1);
        assert_eq!(reduce(ReduxOp::Smax, &values, u32::MAX), 1);
    }
}
