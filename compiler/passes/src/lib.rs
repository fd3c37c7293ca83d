//! The order of the passes of ptxc, and the runner that takes a function through them.
//!
//! The passes themselves are in crates by stage: `ptxc-ptx`, `ptxc-ssa` and `ptxc-codegen`.

pub mod limits;
pub mod pipeline;
pub mod register_limit;
