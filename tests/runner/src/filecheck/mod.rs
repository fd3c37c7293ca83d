//! LLVM's FileCheck, as far as these tests use it: `CHECK`, `CHECK-NEXT`, `CHECK-SAME`,
//! `CHECK-NOT`, `CHECK-DAG`, `CHECK-LABEL`, `CHECK-EMPTY`, `CHECK-COUNT-<n>`, `{{regex}}`,
//! `[[VAR:regex]]`, `[[VAR]]`.
//!
//! Runs of blanks count as one. A check line is compiled to one regular expression. The input is
//! scanned once from front to back, with two exceptions: adjacent `CHECK-DAG` lines match in any
//! order, and `CHECK-LABEL` lines divide the input into parts first.

mod matcher;
mod pattern;

pub use matcher::check;
pub use pattern::{Directive, Kind, parse};

/// The reason why an input does not satisfy its check lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The line of the check file, from 1.
    pub check_line: usize,
    /// The expected text.
    pub message: String,
    /// The line of the input where the search began, from 1.
    pub input_line: usize,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "check line {}: {} (searching from output line {})",
            self.check_line, self.message, self.input_line
        )
    }
}
