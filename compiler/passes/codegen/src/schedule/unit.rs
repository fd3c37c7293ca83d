//! Registers by single component, virtual or physical alike, and dense numbers for them.

use ptxc_sass::{PReg, Register};

use crate::mir::liveness::Components;
use crate::mir::{CallSite, RegSet, VReg};

/// A register whose neighbours can be named.
pub trait Unit: Register {
    /// The register `n` places later, if there is one.
    fn nth(self, n: u8) -> Option<Self>;
}

impl Unit for VReg {
    fn nth(self, n: u8) -> Option<VReg> {
        Some(self.offset(n))
    }
}

impl Unit for PReg {
    fn nth(self, n: u8) -> Option<PReg> {
        self.offset(n)
    }
}

/// Dense numbers of single registers; those of neighbours follow one another.
pub(super) trait Numbers<R> {
    /// Whether each register has only one definition; its content then begins there, even if the
    /// definition is guarded.
    const DEFINED_ONCE: bool;

    /// One more than the greatest number.
    fn count(&self) -> usize;

    /// The number of a register.
    fn number(&self, reg: R) -> u32;

    /// The number of existing registers among `width` neighbours from a register on.
    fn neighbours(&self, reg: R, width: u8) -> u8;

    /// The registers that a call clobbers besides those of its results, if registers are physical.
    fn destroyed<'a>(&self, call: &'a CallSite<R>) -> Option<&'a RegSet>;
}

impl Numbers<VReg> for Components {
    const DEFINED_ONCE: bool = true;

    fn count(&self) -> usize {
        self.len()
    }

    fn number(&self, reg: VReg) -> u32 {
        self.index(reg) as u32
    }

    fn neighbours(&self, _: VReg, width: u8) -> u8 {
        width
    }

    fn destroyed<'a>(&self, _: &'a CallSite<VReg>) -> Option<&'a RegSet> {
        None
    }
}

/// The numbers of physical registers, [`PReg::dense`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Physical;

impl Numbers<PReg> for Physical {
    const DEFINED_ONCE: bool = false;

    fn count(&self) -> usize {
        PReg::COUNT
    }

    fn number(&self, reg: PReg) -> u32 {
        reg.dense() as u32
    }

    fn neighbours(&self, reg: PReg, width: u8) -> u8 {
        width.min(reg.file().count() - reg.index())
    }

    fn destroyed<'a>(&self, call: &'a CallSite<PReg>) -> Option<&'a RegSet> {
        Some(&call.clobbers)
    }
}
