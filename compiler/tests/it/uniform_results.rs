//! More results in uniform registers than exist: in code that lanes execute apart, each result
//! occupies its register alone.

use ptxc_compiler::{Settings, compile};

/// A result that is spilled to the general register where the code wants it needs no copy.
#[test]
fn results_that_go_to_general_registers_at_once() {
    for opt in 0..=3 {
        let settings = Settings { opt, ..Settings::default() };
        let compiled = compile(include_str!("data/uniform_results.ptx"), settings);
        assert!(compiled.is_ok(), "-O{opt}: {:?}", compiled.err());
    }
}
