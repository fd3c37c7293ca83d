//! The passes from SSA to SSA, and the analyses that they use.
//!
//! They know the features of architectures, but no machine instructions.

pub mod analyses;
pub mod simplify;

pub mod frequency;
mod lanes;
pub mod together;
pub mod uniformity;

pub mod runtime;

pub mod converge;
pub mod gather;
pub mod legalize;
