//! Runs the files of `tests/lit`, one behaviour each.
//!
//! A file has comments that say how to run it, and comments with the expected output:
//!
//! ```text
//! // RUN: ptxc lower %s --arch sm_90 | FileCheck %s
//! // CHECK-LABEL: .text.scale:
//! // CHECK: FMUL [[R:R[0-9]+]], {{.*}}, 2
//! ```
//!
//! Programs run in this process: `ptxc` is the driver as a library, `FileCheck` is [`filecheck`],
//! and `cat` prints files. A command after `not` must fail, and a command after `exits 2` must end
//! with exactly that code. `2>&1` at the end of a command appends its errors to its output; `%s` is
//! the test file, `%S` its folder and `%t` a scratch file.
//!
//! A test that should fail to compile marks the line of each diagnostic with `// error: E0107` (or
//! `warning:`, `note:`). All reported diagnostics must be marked, and all marked ones must be
//! reported.

pub mod edits;
pub mod filecheck;
pub mod forms;
pub mod instructions;
pub mod oracle;
pub mod script;
