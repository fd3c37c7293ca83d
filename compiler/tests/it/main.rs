//! The library: incremental compilation, its figures, its examples.

mod edits;
mod examples;
mod growth;
mod incremental;
mod merit;
mod sessions;
mod uniform_results;
mod whole;
