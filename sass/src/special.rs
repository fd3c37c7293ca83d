//! Special registers, as `S2R` and similar instructions name them.

use std::fmt;

use ptxc_machine::{Arch, Archs};

macro_rules! special_registers {
    ($($(#[$meta:meta])* $name:ident = $code:literal $text:literal,)*) => {
        /// A special register.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum SpecialReg {
            $($(#[$meta])* $name,)*
            /// A register without a known meaning, by its number: `SR36`. Some have
            /// [names](Self::name) nevertheless.
            Numbered(u8),
        }

        impl SpecialReg {
            /// Every special register that has a name, in table order.
            pub const ALL: &'static [SpecialReg] = &[$(SpecialReg::$name,)*];

            /// The text on every architecture that has it, `SR_` included; empty for a register
            /// without a known meaning.
            const fn text(self) -> &'static str {
                match self { $(SpecialReg::$name => $text,)* SpecialReg::Numbered(_) => "" }
            }

            /// Its number in the encoding.
            pub const fn code(self) -> u8 {
                match self { $(SpecialReg::$name => $code,)* SpecialReg::Numbered(code) => code }
            }

            /// The register of that number.
            pub const fn from_code(code: u8) -> SpecialReg {
                match code { $($code => SpecialReg::$name,)* _ => SpecialReg::Numbered(code) }
            }
        }
    };
}

special_registers! {
    /// Thread index, x.
    TidX = 33 "SR_TID.X",
    /// Thread index, y.
    TidY = 34 "SR_TID.Y",
    /// Thread index, z.
    TidZ = 35 "SR_TID.Z",
    /// CTA index, x.
    CtaidX = 37 "SR_CTAID.X",
    /// CTA index, y.
    CtaidY = 38 "SR_CTAID.Y",
    /// CTA index, z.
    CtaidZ = 39 "SR_CTAID.Z",
    /// Lane in the warp.
    LaneId = 0 "SR_LANEID",
    /// Warp in the CTA.
    WarpId = 3 "SR_VIRTID",
    /// The lane's own bit.
    EqMask = 56 "SR_EQMASK",
    /// Bits of the lanes below.
    LtMask = 57 "SR_LTMASK",
    /// Bits of the lanes below and the lane's own.
    LeMask = 58 "SR_LEMASK",
    /// Bits of the lanes above.
    GtMask = 59 "SR_GTMASK",
    /// Bits of the lanes above and the lane's own.
    GeMask = 60 "SR_GEMASK",
    /// Rank of the CTA in its cluster; the high byte of shared addresses on sm_90.
    CgaCtaId = 136 "SR_CgaCtaId",
    /// Number of warp slots of the multiprocessor and of CTAs.
    VirtCfg = 2 "SR_VIRTCFG",
    /// Number of the multiprocessor.
    VirtualSmId = 67 "SR_VIRTUALSMID",
    /// High half of the generic address at which shared memory begins.
    SharedWindowHigh = 47 "SR_SWINHI",
    /// Shared memory of the CTA, in bytes.
    SharedSize = 50 "SR_SMEMSZ",
    /// The least local address that the stack may reach, in bytes: unoptimised code traps below it.
    StackLimit = 55 "SR_LMEMHIOFF",
    /// Low half of the wall clock, in nanoseconds.
    GlobalTimerLo = 82 "SR_GLOBALTIMERLO",
    /// High half of the wall clock.
    GlobalTimerHi = 83 "SR_GLOBALTIMERHI",
    /// High half of the cycle counter.
    ClockHi = 81 "SR_CLOCKHI",
    /// Low half of the cycle counter.
    ClockLo = 80 "SR_CLOCKLO",
    /// Zero.
    Zero = 255 "SRZ",
}

/// Names of registers without a known meaning, as `S2R` of each number is disassembled: the number,
/// the architectures with the name, the name.
const OTHERS: &[(u8, Archs, &str)] = &[
    (1, Archs::TURING_TO_HOPPER, "SR_CLOCK"),
    (15, Archs::TURING_TO_HOPPER, "SR_ORDERING_TICKET"),
    (16, Archs::TURING_TO_HOPPER, "SR_PRIM_TYPE"),
    (17, Archs::TURING_TO_HOPPER, "SR_INVOCATION_ID"),
    (18, Archs::TURING_TO_HOPPER, "SR_Y_DIRECTION"),
    (19, Archs::TURING_TO_HOPPER, "SR_THREAD_KILL"),
    (20, Archs::TURING_TO_HOPPER, "SM_SHADER_TYPE"),
    (21, Archs::TURING_TO_HOPPER, "SR_DIRECTCBEWRITEADDRESSLOW"),
    (22, Archs::TURING_TO_HOPPER, "SR_DIRECTCBEWRITEADDRESSHIGH"),
    (23, Archs::TURING_TO_HOPPER, "SR_DIRECTCBEWRITEENABLED"),
    (24, Archs::TURING, "SR_MACHINE_ID_0"),
    (24, Archs::AMPERE_TO_HOPPER, "SR_SW_SCRATCH"),
    (25, Archs::TURING_TO_HOPPER, "SR_MACHINE_ID_1"),
    (26, Archs::TURING_TO_HOPPER, "SR_MACHINE_ID_2"),
    (27, Archs::TURING_TO_HOPPER, "SR_MACHINE_ID_3"),
    (28, Archs::TURING_TO_HOPPER, "SR_AFFINITY"),
    (29, Archs::TURING_TO_HOPPER, "SR_INVOCATION_INFO"),
    (30, Archs::TURING_TO_HOPPER, "SR_WSCALEFACTOR_XY"),
    (31, Archs::TURING_TO_HOPPER, "SR_WSCALEFACTOR_Z"),
    (32, Archs::TURING_TO_HOPPER, "SR_TID"),
    (40, Archs::TURING_TO_HOPPER, "SR_NTID"),
    (41, Archs::TURING_TO_HOPPER, "SR_CirQueueIncrMinusOne"),
    (42, Archs::TURING_TO_HOPPER, "SR_NLATC"),
    (44, Archs::TURING_TO_HOPPER, "SR_SM_SPA_VERSION"),
    (45, Archs::TURING_TO_HOPPER, "SR_MULTIPASSSHADERINFO"),
    (46, Archs::TURING_TO_HOPPER, "SR_LWINHI"),
    (48, Archs::TURING_TO_HOPPER, "SR_SWINLO"),
    (49, Archs::TURING_TO_HOPPER, "SR_SWINSZ"),
    (51, Archs::TURING_TO_HOPPER, "SR_SMEMBANKS"),
    (52, Archs::TURING_TO_HOPPER, "SR_LWINLO"),
    (53, Archs::TURING_TO_HOPPER, "SR_LWINSZ"),
    (54, Archs::TURING_TO_HOPPER, "SR_LMEMLOSZ"),
    (61, Archs::TURING_TO_HOPPER, "SR_REGALLOC"),
    (62, Archs::TURING_TO_HOPPER, "SR_BARRIERALLOC"),
    (64, Archs::TURING_TO_HOPPER, "SR_GLOBALERRORSTATUS"),
    (65, Archs::HOPPER, "SR_CGAERRORSTATUS"),
    (66, Archs::TURING_TO_HOPPER, "SR_WARPERRORSTATUS"),
    (68, Archs::TURING_TO_HOPPER, "SR_VIRTUALENGINEID"),
    (84, Archs::TURING_TO_HOPPER, "SR_ESR_PC"),
    (85, Archs::TURING_TO_HOPPER, "SR_ESR_PC_HI"),
    (96, Archs::TURING_TO_HOPPER, "SR_HWTASKID"),
    (97, Archs::TURING_TO_HOPPER, "SR_CIRCULARQUEUEENTRYINDEX"),
    (98, Archs::TURING_TO_HOPPER, "SR_CIRCULARQUEUEENTRYADDRESSLOW"),
    (99, Archs::TURING_TO_HOPPER, "SR_CIRCULARQUEUEENTRYADDRESSHIGH"),
    (100, Archs::TURING_TO_HOPPER, "SR_PM0"),
    (101, Archs::TURING_TO_HOPPER, "SR_PM_HI0"),
    (102, Archs::TURING_TO_HOPPER, "SR_PM1"),
    (103, Archs::TURING_TO_HOPPER, "SR_PM_HI1"),
    (104, Archs::TURING_TO_HOPPER, "SR_PM2"),
    (105, Archs::TURING_TO_HOPPER, "SR_PM_HI2"),
    (106, Archs::TURING_TO_HOPPER, "SR_PM3"),
    (107, Archs::TURING_TO_HOPPER, "SR_PM_HI3"),
    (108, Archs::TURING_TO_HOPPER, "SR_PM4"),
    (109, Archs::TURING_TO_HOPPER, "SR_PM_HI4"),
    (110, Archs::TURING_TO_HOPPER, "SR_PM5"),
    (111, Archs::TURING_TO_HOPPER, "SR_PM_HI5"),
    (112, Archs::TURING_TO_HOPPER, "SR_PM6"),
    (113, Archs::TURING_TO_HOPPER, "SR_PM_HI6"),
    (114, Archs::TURING_TO_HOPPER, "SR_PM7"),
    (115, Archs::TURING_TO_HOPPER, "SR_PM_HI7"),
    (116, Archs::TURING_TO_HOPPER, "SR_SNAP_PM0"),
    (117, Archs::TURING_TO_HOPPER, "SR_SNAP_PM_HI0"),
    (118, Archs::TURING_TO_HOPPER, "SR_SNAP_PM1"),
    (119, Archs::TURING_TO_HOPPER, "SR_SNAP_PM_HI1"),
    (120, Archs::TURING_TO_HOPPER, "SR_SNAP_PM2"),
    (121, Archs::TURING_TO_HOPPER, "SR_SNAP_PM_HI2"),
    (122, Archs::TURING_TO_HOPPER, "SR_SNAP_PM3"),
    (123, Archs::TURING_TO_HOPPER, "SR_SNAP_PM_HI3"),
    (124, Archs::TURING_TO_HOPPER, "SR_SNAP_PM4"),
    (125, Archs::TURING_TO_HOPPER, "SR_SNAP_PM_HI4"),
    (126, Archs::TURING_TO_HOPPER, "SR_SNAP_PM5"),
    (127, Archs::TURING_TO_HOPPER, "SR_SNAP_PM_HI5"),
    (128, Archs::TURING_TO_HOPPER, "SR_SNAP_PM6"),
    (129, Archs::TURING_TO_HOPPER, "SR_SNAP_PM_HI6"),
    (130, Archs::TURING_TO_HOPPER, "SR_SNAP_PM7"),
    (131, Archs::TURING_TO_HOPPER, "SR_SNAP_PM_HI7"),
    (132, Archs::TURING_TO_HOPPER, "SR_VARIABLE_RATE"),
    (133, Archs::TURING_TO_HOPPER, "__HIR0X000"),
    (134, Archs::HOPPER, "SR_WARPGROUP_INFO"),
    (135, Archs::HOPPER, "SR_WARPGROUPID"),
    (137, Archs::HOPPER, "SR_GpcLocalCgaId"),
    (139, Archs::HOPPER, "SR_CTARegPoolSz"),
];

/// The architectures on which the registers above have these names. A new architecture joins the set after its names have been
/// compared.
const NAMED: Archs = Archs::TURING_TO_HOPPER;

impl SpecialReg {
    /// Its name on the architecture, including `SR_` if the name has it; empty for a register
    /// without a name.
    pub fn name(self, arch: Arch) -> &'static str {
        match self {
            SpecialReg::CgaCtaId if !Archs::HOPPER.contains(arch) => "",
            SpecialReg::Numbered(code) => {
                let other = OTHERS.iter().find(|&&(number, archs, _)| number == code && archs.contains(arch));
                other.map_or("", |&(_, _, name)| name)
            }
            named if NAMED.contains(arch) => named.text(),
            _ => "",
        }
    }

    /// The register of that name on the architecture.
    pub fn named(name: &str, arch: Arch) -> Option<SpecialReg> {
        (0..=u8::MAX).map(SpecialReg::from_code).find(|reg| !name.is_empty() && reg.name(arch) == name)
    }

    /// Whether it is a clock: two reads by one thread give different values.
    pub const fn is_clock(self) -> bool {
        matches!(
            self,
            SpecialReg::ClockLo | SpecialReg::ClockHi | SpecialReg::GlobalTimerLo | SpecialReg::GlobalTimerHi
        )
    }
}

impl fmt::Display for SpecialReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecialReg::Numbered(code) => write!(f, "SR{code}"),
            named => f.write_str(named.text()),
        }
    }
}
