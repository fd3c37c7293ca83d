//! The functions of the order: each adapts one pass to the runner.

pub mod code;
pub mod machine;
pub mod ssa;

pub use machine::TOO_MUCH_SHARED;
pub use ssa::UNSUPPORTED_ARCH;
