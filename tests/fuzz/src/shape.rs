//! The number of threads of a launch.

use crate::random::Random;

/// Threads of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads of a CTA, at most 128.
    pub block: [u32; 3],
}

/// The simplest launches first.
const SHAPES: &[Shape] = &[
    Shape { grid: [1, 1, 1], block: [32, 1, 1] },
    Shape { grid: [1, 1, 1], block: [64, 1, 1] },
    Shape { grid: [2, 1, 1], block: [32, 1, 1] },
    Shape { grid: [2, 1, 1], block: [96, 1, 1] },
    Shape { grid: [1, 2, 1], block: [8, 4, 2] },
    Shape { grid: [1, 1, 2], block: [32, 2, 1] },
    Shape { grid: [1, 1, 1], block: [1, 1, 1] },
    Shape { grid: [2, 1, 1], block: [40, 1, 1] },
    Shape { grid: [1, 1, 1], block: [5, 3, 3] },
];

impl Shape {
    /// A random launch.
    pub fn random(random: &mut Random) -> Shape {
        random.pick(SHAPES)
    }

    /// Launches that are simpler than this one, with whole warps if this one has them.
    pub fn simpler(self) -> impl Iterator<Item = Shape> {
        let before = SHAPES.iter().position(|&shape| shape == self).unwrap_or(0);
        SHAPES[..before].iter().copied().filter(move |shape| shape.whole_warps() == self.whole_warps())
    }

    /// Threads per CTA.
    pub fn threads(self) -> u32 {
        self.block.iter().product()
    }

    /// Whether all lanes of all warps have a thread.
    pub fn whole_warps(self) -> bool {
        self.threads().is_multiple_of(32)
    }

    /// Whether threads and CTAs have only one coordinate.
    pub fn is_flat(self) -> bool {
        [self.grid[1], self.grid[2], self.block[1], self.block[2]] == [1; 4]
    }
}
