//! What the tests of the simplification passes share: a pass runs on IR text and is compared with IR text.

use ptxc_ir::text::parse_function;
use ptxc_ir::{Function, Level, verify};

use crate::analyses::Analyses;

/// A kernel with this body; every line stands by itself.
pub(crate) fn function(body: &str) -> Function {
    let text = format!(
        "func @f entry {{\n param \"p\" 8 +0\n param \"q\" 8 +8\n symbol @s shared size 64 align 4 +0\n{body}\n}}\n"
    );
    let func = parse_function(&text).unwrap_or_else(|errors| panic!("{errors:?} in\n{text}"));
    assert_eq!(verify(&func, Level::Built), Ok(()), "in\n{text}");
    func
}

/// The pass turns one body into the other, and says that it changed something.
#[track_caller]
pub(crate) fn check(pass: impl Fn(&mut Function, &mut Analyses) -> bool, before: &str, after: &str) {
    let mut func = function(before);
    let changed = pass(&mut func, &mut Analyses::default());
    let errors = verify(&func, Level::Built);
    assert_eq!(func.to_string(), function(after).to_string());
    assert_eq!(errors, Ok(()));
    assert!(changed);
}

/// The pass leaves the body alone, and says so.
#[track_caller]
pub(crate) fn check_unchanged(pass: impl Fn(&mut Function, &mut Analyses) -> bool, body: &str) {
    let mut func = function(body);
    let changed = pass(&mut func, &mut Analyses::default());
    assert_eq!(func.to_string(), function(body).to_string());
    assert!(!changed);
}
