//! The facts about each architecture.
//!
//! One file describes one architecture: `sm_75.rs` to `sm_90.rs`. Each file fills in every field of
//! [`Facts`], so that a new architecture compiles only after all of them have been decided. The
//! crate has no dependencies.
//!
//! Code asks for a [`Feature`] by its name, and never compares architectures:
//!
//! ```
//! use ptxc_machine::{Arch, Feature};
//!
//! assert!(Arch::Sm90.has(Feature::VectorAtomics));
//! assert!(!Arch::Sm80.has(Feature::VectorAtomics));
//! assert_eq!(Arch::Sm90.facts().banks.param_base, 0x210);
//! ```
//!
//! Rows of the instruction table name the [`Archs`] that were seen to have them.
//!
//! `docs/add-an-architecture.md` explains how to add an architecture.

mod arch;
mod archs;
mod facts;
mod feature;
mod invented;
mod per_arch;
mod sm_75;
mod sm_80;
mod sm_86;
mod sm_89;
mod sm_90;

pub use arch::{Arch, ByNumber};
pub use archs::Archs;
pub use facts::{
    AfterBarrier, Banks, ClusterPlaces, Cubin, Data, Distances, Facts, Limits, MbarrierLayout, Mbarriers,
    ParameterWindow, Registers,
};
pub use feature::{Feature, Features};
pub use per_arch::PerArch;
