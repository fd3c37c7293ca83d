//! A thread of a grid, for messages.

use std::fmt;

/// A thread of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// `%ctaid`.
    pub cta: [u32; 3],
    /// `%tid`.
    pub tid: [u32; 3],
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([cx, cy, cz], [x, y, z]) = (self.cta, self.tid);
        write!(f, "thread ({x}, {y}, {z}) of CTA ({cx}, {cy}, {cz})")
    }
}
