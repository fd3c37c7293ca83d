//! Shared helpers for the tests of the simplification passes: a pass runs on IR text and is
//! compared with IR text.

use ptxc_ir::text::parse_function;
use ptxc_ir::{Function, Level, verify};

use crate::analyses::Analyses;

/// A kernel with this body; every line is separate.
pub(crate) fn function(body: &str) -> Function {
    let text = format!(
        "func @f entry {{\n param \"p\" 8 +0\n param \"q\" 8 +8\n symbol @s shared size 64 align 4 +0\n{body}\n}}\n"
    );
    let func = parse_function(&text).unwrap_or_else(|errors| panic!("{errors:?} in\n{text}"));
    assert_eq!(verify(&func, Level::Built), Ok(()), "in\n{text}");
    func
}

/// Checks that the pass turns one body into the other and reports a change.
#[track_caller]
pub(crate) fn check(pass: impl Fn(&mut Function, &mut Analyses) -> bool, before: &str, after: &str) {
    let mut func = function(before);
    let changed = pass(&mut func, &mut Analyses::default());
    let errors = verify(&func, Level::Built);
    assert_eq!(func.to_string(), function(after).to_string());
    assert_eq!(errors, Ok(()));
    assert!(changed);
}

/// Checks that the pass leaves the body unchanged and reports no change.
#[track_caller]
pub(crate) fn check_unchanged(pass: impl Fn(&mut Function, &mut Analyses) -> bool, body: &str) {
    let mut func = function(body);
    let changed = pass(&mut func, &mut Analyses::default());
    assert_eq!(func.to_string(), function(body).to_string());
    assert!(!changed);
}
