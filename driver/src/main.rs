//! The ptxc command line.
fn main() {}
