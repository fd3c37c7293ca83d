//! A sample of our code has only shapes of instructions with a witness. `cargo xtask shapes` checks
//! all code, and the witnesses.

use ptxc_shapes::{Source, campaign, list};

/// One out of this many pairs of a file and an architecture is compiled here. The number shares no
/// divisor with the number of architectures, so that each has its turn.
const STRIDE: usize = 8;

#[test]
fn a_sample_of_our_code_has_only_shapes_with_a_witness() {
    let list = list().expect("the list is well-formed");
    let ours = campaign::ours(&Source::all(), STRIDE).expect("the files can be read");
    assert!(ours.len() > 500);
    let unknown = campaign::without_witness(&ours, &list);
    assert!(unknown.is_empty(), "run `cargo xtask shapes --observe`:\n{}", unknown.join("\n"));
}
