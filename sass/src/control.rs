//! The control field of an instruction: bits 105 to 125, which the compiler fills.
//!
//! ```text
//! bit 125 124‥‥‥‥‥122 121‥‥‥116 115‥113 112‥110  109  108‥105 104 103‥102
//!    reuse reuse/batch wait mask read   write   go on  stall   –    PM
//! ```
//!
//! Bit 109 is set if the scheduler may go on with the same warp: it is the complement of
//! [`Control::yield_hint`]. If bit 109 is clear, bits 122 to 124 are a batch code instead of reuse
//! flags. A scoreboard field of 7 means none. The two bits 102 and 103, below the field, count as a
//! part of it: NVIDIA's disassembler calls them PM where it shows control fields at all (12.8, for
//! sm_120). NVIDIA's compiler was never seen to set the PM bits or a batch code; they are kept so
//! that no bit of an instruction gets lost. [`Control::check`] accepts the fields that the
//! disassembler (13.5, for sm_75 to sm_90) was seen to accept.

use std::fmt;

/// Stall, yield, scoreboards and reuse of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Control {
    /// Cycles until the warp's next instruction may issue, 0 to 15.
    pub stall: u8,
    /// Whether the scheduler should turn to another warp (printed `Y`; bit 109 clear). Stalls of 12
    /// and more need the hint, reuse flags forbid it.
    pub yield_hint: bool,
    /// The scoreboard that is released when the results have been written, 0 to 5.
    pub write_barrier: Option<u8>,
    /// The scoreboard that is released when the operands have been read, 0 to 5.
    pub read_barrier: Option<u8>,
    /// The scoreboards that must be released before issue, a bit each.
    pub wait_mask: u8,
    /// The operand slots whose register the next instruction reads in the same slot, a bit each: a,
    /// b, c, and the slot of the places in a sparse matrix.
    pub reuse: u8,
    /// The place of the instruction in a batch, 0 to 5: 0 in no batch, 1 at the start of a batch, 2
    /// at the start of a tile, 4 at its end, 5 exempt from barriers; 3 has no name. Only with the
    /// yield hint.
    pub batch: u8,
    /// The two PM bits, 0 to 3.
    pub pm: u8,
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
    /// A reuse mask of more than four bits.
    ReuseRange(u8),
    /// A scoreboard above 5, named or waited for.
    Scoreboard(u8),
    /// A batch code above 5.
    BatchRange(u8),
    /// A batch code without the yield hint.
    BatchNeedsYield(u8),
    /// A batch code with a stall of 0.
    BatchNeedsStall(u8),
    /// PM bits above 3.
    PmRange(u8),
    /// Bit 125 is set together with the yield hint; this combination has no known meaning.
    Unused,
    /// Bit 126 or 127, above the field, is set.
    Above,
    /// A scoreboard for results, on an instruction that cannot name one.
    WriteScoreboard(u8),
    /// A scoreboard for operands, on an instruction that cannot name one.
    ReadScoreboard(u8),
    /// A wait mask on an instruction that cannot wait for scoreboards.
    Waits,
    /// Reuse flags for operands that have none.
    ReuseFlags(u8),
}

impl fmt::Display for Illegal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Illegal::StallRange(stall) => write!(f, "stall {stall} is above {}", Control::MAX_STALL),
            Illegal::StallNeedsYield(stall) => write!(f, "stall {stall} needs the yield hint"),
            Illegal::ReuseWithYield => f.write_str("reuse flags together with the yield hint"),
            Illegal::ReuseRange(mask) => write!(f, "reuse mask {mask:#x} has more than four bits"),
            Illegal::Scoreboard(index) => write!(f, "scoreboard {index} does not exist"),
            Illegal::BatchRange(code) => write!(f, "batch code {code} does not exist"),
            Illegal::BatchNeedsYield(code) => write!(f, "batch code {code} needs the yield hint"),
            Illegal::BatchNeedsStall(code) => write!(f, "batch code {code} needs a stall"),
            Illegal::PmRange(bits) => write!(f, "PM {bits} is above {}", Control::MAX_PM),
            Illegal::Above => f.write_str("bit 126 or 127 is set, above the control field"),
            Illegal::Unused => f.write_str("bit 125 is set with the yield hint"),
            Illegal::WriteScoreboard(index) => {
                write!(f, "the instruction cannot name scoreboard {index} for results")
            }
            Illegal::ReadScoreboard(index) => {
                write!(f, "the instruction cannot name scoreboard {index} for operands")
            }
            Illegal::Waits => f.write_str("the instruction cannot wait for scoreboards"),
            Illegal::ReuseFlags(mask) => write!(f, "the operands have no reuse flags {mask:#x}"),
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

    /// All reuse flags.
    pub const MAX_REUSE: u8 = 15;

    /// The reuse flag of the places in a sparse matrix: bit 125 on sm_90; on older architectures, a
    /// bit of the instruction.
    pub const LAST_REUSE: u8 = 8;

    /// The greatest batch code.
    pub const MAX_BATCH: u8 = 5;

    /// The greatest value of the PM bits.
    pub const MAX_PM: u8 = 3;

    /// The lowest of the PM bits in the 128-bit instruction word.
    pub const PM_BIT: u32 = 102;

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
            batch: 0,
            pm: 0,
        }
    }

    /// Checks that the machine takes the field. The check does not look at the instruction: it may
    /// lack the operands for the reuse flags or a use for the scoreboards.
    #[inline]
    pub fn check(&self) -> Result<(), Illegal> {
        if self.stall > Self::MAX_STALL {
            return Err(Illegal::StallRange(self.stall));
        }
        if !self.yield_hint && (self.stall == 0 || self.stall > Self::MAX_STALL_WITHOUT_YIELD) {
            return Err(Illegal::StallNeedsYield(self.stall));
        }
        if self.reuse > Self::MAX_REUSE {
            return Err(Illegal::ReuseRange(self.reuse));
        }
        if self.reuse != 0 && self.yield_hint {
            return Err(Illegal::ReuseWithYield);
        }
        match self.batch {
            0 => {}
            1..=Self::MAX_BATCH if !self.yield_hint => return Err(Illegal::BatchNeedsYield(self.batch)),
            1..=Self::MAX_BATCH if self.stall == 0 => return Err(Illegal::BatchNeedsStall(self.batch)),
            1..=Self::MAX_BATCH => {}
            code => return Err(Illegal::BatchRange(code)),
        }
        if self.pm > Self::MAX_PM {
            return Err(Illegal::PmRange(self.pm));
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

    /// The 21 bits of the field, with bit 105 as the lowest, without the PM bits.
    pub fn encode(&self) -> Result<u32, Illegal> {
        self.check()?;
        let barrier = |index: Option<u8>| u32::from(index.unwrap_or(7));
        Ok(u32::from(self.stall)
            | u32::from(!self.yield_hint) << 4
            | barrier(self.write_barrier) << 5
            | barrier(self.read_barrier) << 8
            | u32::from(self.wait_mask) << 11
            | u32::from(self.reuse | self.batch) << 17)
    }

    /// The bits 102 to 125 of the instruction word, as part of its upper half: bits 64 to 127.
    ///
    /// # Errors
    /// If the field is not legal.
    pub fn to_word(&self) -> Result<u64, Illegal> {
        let field = u64::from(self.encode()?);
        Ok(field << (Self::LOWEST_BIT - 64) | u64::from(self.pm) << (Self::PM_BIT - 64))
    }

    /// Reads the 21 bits of the field and leaves the PM bits 0. `decode(encode(c)) == c` for fields
    /// without PM bits, and the other way round.
    #[inline]
    pub fn decode(field: u32) -> Result<Control, Illegal> {
        let bits = |lo: u32, len: u32| (field >> lo & ((1 << len) - 1)) as u8;
        let barrier = |index: u8| match index {
            7 => Ok(None),
            0..=5 => Ok(Some(index)),
            _ => Err(Illegal::Scoreboard(index)),
        };
        let yield_hint = bits(4, 1) == 0;
        let (reuse, batch) = if yield_hint { (0, bits(17, 3)) } else { (bits(17, 4), 0) };
        if yield_hint && field >> 20 != 0 {
            return Err(Illegal::Unused);
        }
        let control = Control {
            stall: bits(0, 4),
            yield_hint,
            write_barrier: barrier(bits(5, 3))?,
            read_barrier: barrier(bits(8, 3))?,
            wait_mask: bits(11, 6),
            reuse,
            batch,
            pm: 0,
        };
        control.check()?;
        Ok(control)
    }

    /// Reads the field from the upper half, bits 64 to 127, of an instruction word, PM bits
    /// included.
    ///
    /// # Errors
    /// If the field is not legal.
    #[inline]
    pub fn of_word(high: u64) -> Result<Control, Illegal> {
        let shift = Self::LOWEST_BIT - 64;
        if high >> (shift + Self::BITS) != 0 {
            return Err(Illegal::Above);
        }
        let field = Control::decode((high >> shift & ((1 << Self::BITS) - 1)) as u32)?;
        Ok(Control { pm: (high >> (Self::PM_BIT - 64)) as u8 & Self::MAX_PM, ..field })
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
        // S2R R5: sets scoreboard 0, stalls for 7 cycles.
        let load = Control::of_word(0x000e_2e00_0000_2100).unwrap();
        assert_eq!(load, Control { stall: 7, write_barrier: Some(0), ..Control::plain() });
        // IMAD.WIDE after it: waits for scoreboard 0, stalls for 5 cycles with the yield hint.
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

    #[test]
    fn batch_codes_take_the_place_of_reuse_flags() {
        let yields = Control { stall: 5, yield_hint: true, ..Control::plain() };
        for batch in 1..=Control::MAX_BATCH {
            let control = Control { batch, ..yields };
            assert_eq!(control.encode().map(|field| field >> 17), Ok(u32::from(batch)));
            assert_eq!(Control { stall: 0, ..control }.check(), Err(Illegal::BatchNeedsStall(batch)));
            assert_eq!(
                Control { yield_hint: false, ..control }.check(),
                Err(Illegal::BatchNeedsYield(batch))
            );
        }
        assert_eq!(Control { batch: 6, ..yields }.check(), Err(Illegal::BatchRange(6)));
        assert_eq!(Control::decode(0x10_0fe1), Err(Illegal::Unused));
        assert_eq!(Control::decode(0x10_0ff1).map(|control| control.reuse), Ok(8));
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
        fn words_survive(high: u64) {
            // Bit 125 is clear: otherwise one of the two is illegal at once.
            let bits = high & 0x1fff_fec0_0000_0000;
            prop_assert_eq!(Control::of_word(bits | 1 << 62), Err(Illegal::Above));
            if let Ok(control) = Control::of_word(bits) {
                prop_assert_eq!(control.to_word(), Ok(bits));
            }
        }

        #[test]
        fn fields_survive(
            stall in 0u8..20, yield_hint: bool, write in 0u8..9, read in 0u8..9, wait in 0u8..70, reuse in 0u8..9,
            batch in 0u8..8, pm in 0u8..5,
        ) {
            let barrier = |n| (n < 7).then_some(n);
            let control = Control {
                stall, yield_hint, write_barrier: barrier(write), read_barrier: barrier(read),
                wait_mask: wait, reuse, batch, pm,
            };
            match control.to_word() {
                Ok(word) => prop_assert_eq!(Control::of_word(word), Ok(control)),
                Err(why) => prop_assert_eq!(control.check(), Err(why)),
            }
        }
    }
}
