//! The lane that a shuffle reads (PTX ISA, `shfl.sync`).

use ptxc_ir::op::ShflMode;

/// The source lane of `lane` for the operands `b` (lane or distance) and `c` (bits 4:0 the clamp,
/// bits 12:8 the mask that divides the warp into segments), and whether it was in range. If it is
/// out of range, a lane reads itself.
pub(crate) fn source_lane(mode: ShflMode, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 0x1f, c & 0x1f, c >> 8 & 0x1f);
    let least = lane & segment;
    let limit = least | (clamp & !segment);
    let (source, in_range) = match mode {
        ShflMode::Up => (lane.wrapping_sub(b), lane as i32 - b as i32 >= limit as i32),
        ShflMode::Down => (lane + b, lane + b <= limit),
        ShflMode::Bfly => (lane ^ b, lane ^ b <= limit),
        ShflMode::Idx => {
            let source = least | (b & !segment);
            (source, source <= limit)
        }
    };
    if in_range { (source & 0x1f, true) } else { (lane, false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_eight() {
        // Width 8 in CUDA: mask 0x18; clamp 0 for up, 31 otherwise.
        let (up, others) = (0x1800, 0x181f);
        assert_eq!(source_lane(ShflMode::Up, 9, 1, up), (8, true));
        assert_eq!(source_lane(ShflMode::Up, 8, 1, up), (8, false));
        assert_eq!(source_lane(ShflMode::Down, 14, 1, others), (15, true));
        assert_eq!(source_lane(ShflMode::Down, 15, 1, others), (15, false));
        assert_eq!(source_lane(ShflMode::Idx, 13, 2, others), (10, true));
        assert_eq!(source_lane(ShflMode::Bfly, 13, 16, others), (13, false));
    }

    #[test]
    fn whole_warp() {
        assert_eq!(source_lane(ShflMode::Up, 0, 1, 0), (0, false));
        assert_eq!(source_lane(ShflMode::Up, 31, 31, 0), (0, true));
        assert_eq!(source_lane(ShflMode::Down, 31, 1, 31), (31, false));
        assert_eq!(source_lane(ShflMode::Bfly, 5, 1, 31), (4, true));
        assert_eq!(source_lane(ShflMode::Idx, 5, 31, 31), (31, true));
    }
}
