//! The control field of an instruction: bits 105 to 125.

/// Stall, yield, scoreboards and reuse of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Control {
    /// Cycles until the warp's next instruction may issue, 0 to 15.
    pub stall: u8,
    /// Whether the scheduler should turn to another warp (printed `Y`; bit 109 clear). Stalls of 12 and
    /// more need it, reuse forbids it.
    pub yield_hint: bool,
    /// The scoreboard that is released when the results are there, 0 to 5.
    pub write_barrier: Option<u8>,
    /// The scoreboard that is released when the operands have been read, 0 to 5.
    pub read_barrier: Option<u8>,
    /// The scoreboards that must be released before issue, a bit each.
    pub wait_mask: u8,
    /// Operand slots a, b, c whose register the next instruction reads in the same slot, a bit each.
    pub reuse: u8,
}

impl Control {
    /// Number of scoreboards.
    pub const SCOREBOARDS: u8 = 6;

    /// The greatest stall without the yield hint.
    pub const MAX_STALL_WITHOUT_YIELD: u8 = 11;

    /// The greatest stall.
    pub const MAX_STALL: u8 = 15;

    /// One cycle, nothing else.
    pub const fn plain() -> Control {
        Control {
            stall: 1,
            yield_hint: false,
            write_barrier: None,
            read_barrier: None,
            wait_mask: 0,
            reuse: 0,
        }
    }
}

impl Default for Control {
    fn default() -> Self {
        Control::plain()
    }
}
