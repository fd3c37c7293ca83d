//! Registers by single component, virtual or physical alike.

use ptxc_sass::{PReg, Register};

use crate::mir::VReg;

/// A register whose neighbours can be named.
pub trait Unit: Register {
    /// The register `n` places on, if there is one.
    fn nth(self, n: u8) -> Option<Self>;
}

impl Unit for VReg {
    fn nth(self, n: u8) -> Option<VReg> {
        Some(self.component(n))
    }
}

impl Unit for PReg {
    fn nth(self, n: u8) -> Option<PReg> {
        self.offset(n)
    }
}
