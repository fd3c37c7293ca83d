//! The architectures and their constants.

use std::fmt;
use std::str::FromStr;

/// Where sm_90 has in constant bank 0, in bytes, whether the launch named a cluster size: 1 or 0. This and the four places
/// below are what ptxas reads for the special registers of clusters.
pub const EXPLICIT_CLUSTER: u32 = 0x140;
/// Where it has the cluster size in CTAs: three words.
pub const CLUSTER_SIZE: u32 = 0x144;
/// Where it has the grid size in clusters: three words.
pub const CLUSTERS: u32 = 0x15c;
/// Where it has the number of CTAs of a cluster.
pub const CLUSTER_RANKS: u32 = 0x188;

/// A GPU architecture that shares the 128-bit instruction format, Turing to Hopper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arch {
    /// Turing.
    Sm75,
    /// Ampere, data centre.
    Sm80,
    /// Ampere.
    Sm86,
    /// Ada.
    Sm89,
    /// Hopper.
    Sm90,
}

impl Arch {
    /// Every architecture, oldest first.
    pub const ALL: [Arch; 5] = [Arch::Sm75, Arch::Sm80, Arch::Sm86, Arch::Sm89, Arch::Sm90];

    /// The number in its name: 90 for `sm_90`.
    pub const fn number(self) -> u32 {
        match self {
            Arch::Sm75 => 75,
            Arch::Sm80 => 80,
            Arch::Sm86 => 86,
            Arch::Sm89 => 89,
            Arch::Sm90 => 90,
        }
    }

    /// Byte offset of the first kernel parameter in constant bank 0.
    pub const fn param_base(self) -> u32 {
        match self {
            Arch::Sm90 => 0x210,
            _ => 0x160,
        }
    }

    /// Byte offset in constant bank 0 of the 64-bit descriptor that global accesses name, where they do.
    pub const fn global_descriptor(self) -> Option<u32> {
        match self {
            Arch::Sm75 => None,
            Arch::Sm80 | Arch::Sm86 | Arch::Sm89 => Some(0x118),
            Arch::Sm90 => Some(0x208),
        }
    }

    /// Byte offset in constant bank 0 of the initial stack pointer.
    pub const fn stack_top(self) -> u32 {
        0x28
    }

    /// Byte offset in constant bank 0 of the generic address of the local window.
    pub const fn local_window(self) -> u32 {
        0x20
    }

    /// Byte offset in constant bank 0 of the generic address of the shared window; `None` where its high word is
    /// `SR_SWINHI` and its low word zero.
    pub const fn shared_window(self) -> Option<u32> {
        match self {
            Arch::Sm90 => None,
            _ => Some(0x18),
        }
    }

    /// Byte offset in constant bank 0 of the generic address of constant bank 3, where the module's constant
    /// variables lie: ptxas loads it for `cvta.const`.
    pub const fn constant_window(self) -> u32 {
        match self {
            Arch::Sm90 => 0xd0,
            _ => 0x50,
        }
    }

    /// The warps that a multiprocessor has room for, where that is a constant and no special register tells it.
    pub const fn warp_slots(self) -> Option<u32> {
        match self {
            Arch::Sm75 => Some(32),
            Arch::Sm80 => Some(64),
            Arch::Sm86 | Arch::Sm89 => Some(48),
            Arch::Sm90 => None,
        }
    }

    /// Bytes at the start of a CTA's shared window that the system keeps.
    pub const fn reserved_shared(self) -> u32 {
        match self {
            Arch::Sm90 => 0x400,
            _ => 0,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number())
    }
}

impl FromStr for Arch {
    type Err = ();

    fn from_str(text: &str) -> Result<Arch, ()> {
        Arch::ALL.into_iter().find(|arch| arch.to_string() == text).ok_or(())
    }
}
