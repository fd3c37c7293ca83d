//! The control field of an instruction: bits 105 to 125, which the compiler, not the machine, fills.
//!
//! ```text
//! bit 125 124‥122 121‥‥‥116 115‥113 112‥110  109  108‥105
//!      –   reuse   wait mask  read   write   go on  stall
//! ```
//!
//! Bit 109 is set where the scheduler may go on with the same warp: it is the complement of
//! [`Control::yield_hint`]. Where it is clear, bits 122 to 124 are no reuse flags but a batch code, of
//! which only 0 is made here. A scoreboard field of 7 means none. [`Control::check`] is what an
//! independent disassembler was seen to accept.

use std::fmt;

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

/// Why a control field is not legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Illegal {
    /// A stall above 15.
    StallRange(u8),
    /// A stall of 0, or of 12 and more, without the yield hint.
    StallNeedsYield(u8),
    /// Reuse with the yield hint.
    ReuseWithYield,
    /// A reuse mask of more than three bits.
    ReuseRange(u8),
    /// A scoreboard above 5, named or waited for.
    Scoreboard(u8),
    /// Bits 122 to 124 hold a batch code, or bit 125 is set: nothing that this type expresses.
    Batch(u8),
}

impl fmt::Display for Illegal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Illegal::StallRange(stall) => write!(f, "stall {stall} is above {}", Control::MAX_STALL),
            Illegal::StallNeedsYield(stall) => write!(f, "stall {stall} needs the yield hint"),
            Illegal::ReuseWithYield => f.write_str("reuse flags together with the yield hint"),
            Illegal::ReuseRange(mask) => write!(f, "reuse mask {mask:#x} has more than three bits"),
            Illegal::Scoreboard(index) => write!(f, "scoreboard {index} does not exist"),
            Illegal::Batch(code) => write!(f, "batch code {code}"),
        }
    }
}

impl std::error::Error for Illegal {}

impl Control {
    /// Number of scoreboards.
    pub const SCOREBOARDS: u8 = 6;

    /// The greatest stall without the yield hint.
    pub const MAX_STALL_WITHOUT_YIELD: u8 = 11;

    /// The greatest stall.
    pub const MAX_STALL: u8 = 15;

    /// The lowest bit of the field in the 128-bit instruction word.
    pub const LOWEST_BIT: u32 = 105;

    /// The number of bits.
    pub const BITS: u32 = 21;

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

    /// Whether the machine takes it. Whether the instruction has the reuse flags, and the scoreboards a
    /// use, is not looked at.
    pub fn check(&self) -> Result<(), Illegal> {
        if self.stall > Self::MAX_STALL {
            return Err(Illegal::StallRange(self.stall));
        }
        if !self.yield_hint && (self.stall == 0 || self.stall > Self::MAX_STALL_WITHOUT_YIELD) {
            return Err(Illegal::StallNeedsYield(self.stall));
        }
        if self.reuse > 7 {
            return Err(Illegal::ReuseRange(self.reuse));
        }
        if self.reuse != 0 && self.yield_hint {
            return Err(Illegal::ReuseWithYield);
        }
        for barrier in [self.write_barrier, self.read_barrier].into_iter().flatten() {
            if barrier >= Self::SCOREBOARDS {
                return Err(Illegal::Scoreboard(barrier));
            }
        }
        if self.wait_mask >> Self::SCOREBOARDS != 0 {
            return Err(Illegal::Scoreboard(7 - self.wait_mask.leading_zeros() as u8));
        }
        Ok(())
    }

    /// The 21 bits of the field, bit 105 lowest.
    pub fn encode(&self) -> Result<u32, Illegal> {
        self.check()?;
        let barrier = |index: Option<u8>| u32::from(index.unwrap_or(7));
        Ok(u32::from(self.stall)
            | u32::from(!self.yield_hint) << 4
            | barrier(self.write_barrier) << 5
            | barrier(self.read_barrier) << 8
            | u32::from(self.wait_mask) << 11
            | u32::from(self.reuse) << 17)
    }

    /// Reads the 21 bits of the field; `decode(encode(c)) == c`, and the other way round.
    pub fn decode(field: u32) -> Result<Control, Illegal> {
        let bits = |lo: u32, len: u32| (field >> lo & ((1 << len) - 1)) as u8;
        let barrier = |index: u8| match index {
            7 => Ok(None),
            0..=5 => Ok(Some(index)),
            _ => Err(Illegal::Scoreboard(index)),
        };
        let yield_hint = bits(4, 1) == 0;
        let reuse = bits(17, 3);
        if field >> 20 != 0 || (yield_hint && reuse != 0) {
            return Err(Illegal::Batch((field >> 17 & 0xf) as u8));
        }
        let control = Control {
            stall: bits(0, 4),
            yield_hint,
            write_barrier: barrier(bits(5, 3))?,
            read_barrier: barrier(bits(8, 3))?,
            wait_mask: bits(11, 6),
            reuse,
        };
        control.check()?;
        Ok(control)
    }

    /// Reads it out of the upper half, bits 64 to 127, of an instruction word.
    pub fn of_word(high: u64) -> Result<Control, Illegal> {
        let shift = Self::LOWEST_BIT - 64;
        Control::decode((high >> shift & ((1 << Self::BITS) - 1)) as u32)
    }

    /// The scoreboards waited for, lowest first.
    pub fn waits(&self) -> impl Iterator<Item = u8> + use<> {
        let mask = self.wait_mask;
        (0..Self::SCOREBOARDS).filter(move |index| mask >> index & 1 != 0)
    }
}

impl Default for Control {
    fn default() -> Self {
        Control::plain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn samples_of_real_programs() {
        // S2R R5: sets scoreboard 0, goes on after 7.
        let load = Control::of_word(0x000e_2e00_0000_2100).unwrap();
        assert_eq!(load, Control { stall: 7, write_barrier: Some(0), ..Control::plain() });
        // IMAD.WIDE after it: waits for scoreboard 0, yields for 5.
        let wide = Control::of_word(0x001f_ca00_078e_0002).unwrap();
        assert_eq!(wide, Control { stall: 5, yield_hint: true, wait_mask: 1, ..Control::plain() });
        // LDG: waits for 1, sets 2.
        let global = Control::of_word(0x002e_a200_0c1e_1900).unwrap();
        assert_eq!(global, Control { wait_mask: 2, write_barrier: Some(2), ..Control::plain() });
    }

    #[test]
    fn long_stalls_and_reuse_exclude_each_other() {
        let plain = Control::plain();
        assert_eq!(Control { stall: 12, ..plain }.check(), Err(Illegal::StallNeedsYield(12)));
        assert_eq!(Control { stall: 0, ..plain }.check(), Err(Illegal::StallNeedsYield(0)));
        assert_eq!(Control { reuse: 1, yield_hint: true, ..plain }.check(), Err(Illegal::ReuseWithYield));
        assert_eq!(Control { wait_mask: 0x40, ..plain }.check(), Err(Illegal::Scoreboard(6)));
        assert_eq!(Control { write_barrier: Some(6), ..plain }.check(), Err(Illegal::Scoreboard(6)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn bits_survive(field in 0u32..1 << 21) {
            if let Ok(control) = Control::decode(field) {
                prop_assert_eq!(control.encode(), Ok(field));
            }
        }

        #[test]
        fn fields_survive(
            stall in 0u8..20, yield_hint: bool, write in 0u8..9, read in 0u8..9, wait in 0u8..70, reuse in 0u8..9,
        ) {
            let barrier = |n| (n < 7).then_some(n);
            let control = Control {
                stall, yield_hint, write_barrier: barrier(write), read_barrier: barrier(read),
                wait_mask: wait, reuse,
            };
            match control.encode() {
                Ok(field) => prop_assert_eq!(Control::decode(field), Ok(control)),
                Err(why) => prop_assert_eq!(control.check(), Err(why)),
            }
        }
    }
}
