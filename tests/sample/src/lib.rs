//! How much of their work the tests do.
//!
//! Some tests repeat a check for thousands of kernels or forms. `cargo test` tries a sample of them;
//! `PTXC_STRIDE=1`, as in `cargo xtask nightly`, tries all of them.

/// Of how many items a test tries one: `usual`, unless `PTXC_STRIDE` is a positive number.
pub fn stride(usual: usize) -> usize {
    let set = std::env::var("PTXC_STRIDE").ok().and_then(|text| text.parse().ok());
    set.unwrap_or(usual).max(1)
}

/// One of `stride` items, beginning with another one in each turn: `stride` turns have all of them.
pub fn in_turn<I: IntoIterator>(items: I, turn: usize, stride: usize) -> impl Iterator<Item = I::Item> {
    items.into_iter().skip(turn % stride).step_by(stride)
}
