//! One set of features for the packages that several parts of ptxc use differently.
//!
//! Cargo unites the features of a package over the packages that a command selects. Without this
//! crate `cargo test -p ptxc-ir` and `cargo test -p ptxc` ask for different features of `smallvec`,
//! and each of the two commands compiles `smallvec`, and all that depends on it, once more. Every
//! member of the workspace has this crate among its dependencies for tests, with the feature `tests`,
//! so that all selections agree. The crate has no code.
//!
//! `tests/runner/tests/it/one_feature_set.rs` compares the features of all selections and names those
//! that are missing in `Cargo.toml`.
