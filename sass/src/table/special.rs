//! Special registers as `S2R` and its kin name them.

use std::fmt;

macro_rules! special_registers {
    ($($(#[$meta:meta])* $name:ident = $text:literal,)*) => {
        /// A special register.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum SpecialReg { $($(#[$meta])* $name,)* }

        impl SpecialReg {
            /// Every special register, in table order.
            pub const ALL: &'static [SpecialReg] = &[$(SpecialReg::$name,)*];

            /// The text, `SR_` included where it has it.
            pub const fn name(self) -> &'static str {
                match self { $(SpecialReg::$name => $text,)* }
            }
        }
    };
}

special_registers! {
    /// Thread index, x.
    TidX = "SR_TID.X",
    /// Thread index, y.
    TidY = "SR_TID.Y",
    /// Thread index, z.
    TidZ = "SR_TID.Z",
    /// CTA index, x.
    CtaidX = "SR_CTAID.X",
    /// CTA index, y.
    CtaidY = "SR_CTAID.Y",
    /// CTA index, z.
    CtaidZ = "SR_CTAID.Z",
    /// Lane in the warp.
    LaneId = "SR_LANEID",
    /// Warp in the CTA.
    WarpId = "SR_VIRTID",
    /// The lane's own bit.
    EqMask = "SR_EQMASK",
    /// Bits of the lanes below.
    LtMask = "SR_LTMASK",
    /// Bits of the lanes below and the lane's own.
    LeMask = "SR_LEMASK",
    /// Bits of the lanes above.
    GtMask = "SR_GTMASK",
    /// Bits of the lanes above and the lane's own.
    GeMask = "SR_GEMASK",
    /// Rank of the CTA in its cluster; the high byte of shared addresses on sm_90.
    CgaCtaId = "SR_CgaCtaId",
    /// Number of warp slots of the multiprocessor and of CTAs.
    VirtCfg = "SR_VIRTCFG",
    /// Number of the multiprocessor.
    VirtualSmId = "SR_VIRTUALSMID",
    /// High half of the address at which shared memory lies among generic ones.
    SharedWindowHigh = "SR_SWINHI",
    /// Shared memory of the CTA, in bytes.
    SharedSize = "SR_SMEMSZ",
    /// Low half of the wall clock, in nanoseconds.
    GlobalTimerLo = "SR_GLOBALTIMERLO",
    /// High half of the wall clock.
    GlobalTimerHi = "SR_GLOBALTIMERHI",
    /// High half of the cycle counter.
    ClockHi = "SR_CLOCKHI",
    /// Low half of the cycle counter.
    ClockLo = "SR_CLOCKLO",
    /// Zero.
    Zero = "SRZ",
}

impl SpecialReg {
    /// Whether it is a clock, which two reads by one thread find at different values.
    pub const fn is_clock(self) -> bool {
        matches!(
            self,
            SpecialReg::ClockLo | SpecialReg::ClockHi | SpecialReg::GlobalTimerLo | SpecialReg::GlobalTimerHi
        )
    }
}

impl fmt::Display for SpecialReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
