//! The examples run and print the expected output.

use std::process::Command;

/// The output of an example; `cargo test` builds it next to the test.
fn printed(example: &str, words: &[&str]) -> String {
    let test = std::env::current_exe().expect("the test has a path");
    let folder = test.parent().and_then(|deps| deps.parent()).expect("it is in target/PROFILE/deps");
    let output = Command::new(folder.join("examples").join(example)).args(words).output();
    let output = output.unwrap_or_else(|error| panic!("{example}: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints text")
}

#[test]
fn a_heuristic_of_ones_own_is_compared_with_a_built_in_one() {
    let text = printed("heuristic", &[]);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(
        text.lines().next().is_some_and(|line| line.starts_with("saxpy") && line.contains("balanced")),
        "{text}"
    );
    assert!(text.contains("most-successors"), "{text}");
}

#[test]
fn heuristics_are_compared_over_a_folder() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/lit/kernels");
    let text = printed("compare", &[folder, "source-order", "balanced"]);
    let mean = text.lines().last().unwrap_or_default();
    let means: Vec<f64> = mean.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert_eq!(means.len(), 2, "{text}");
    assert_eq!(means[0], 1.0, "{text}");
    assert!(means[1] < 1.0, "a scheduled kernel takes fewer cycles than one in source order: {text}");
}
