//! The directives that bound the launches of a kernel: `.maxntid`, `.reqntid`, `.maxnreg`,
//! `.minnctapersm`.

use ptxc_syntax::ast::{Directive, DirectiveKind, Function};

use super::codes::LAUNCH_BOUND;
use super::env::constant_u32;
use crate::diagnostic::Diagnostic;

/// Checks the launch bounds of a function as ptxas does: numbers are positive, and `.maxntid` and
/// `.reqntid` exclude each other.
pub(super) fn check(function: &Function, out: &mut Vec<Diagnostic>) {
    for directive in &function.directives {
        let is_bound = matches!(
            directive.kind,
            DirectiveKind::MaxNTid
                | DirectiveKind::ReqNTid
                | DirectiveKind::MaxNReg
                | DirectiveKind::MinNCtaPerSm
                | DirectiveKind::MaxNCtaPerSm
        );
        let is_positive = |value| constant_u32(value).is_some_and(|value| value > 0);
        if is_bound && !directive.values.iter().all(is_positive) {
            let name = directive.kind.spelling();
            out.push(
                Diagnostic::error(LAUNCH_BOUND, directive.id, format!("`.{name}` expects positive numbers"))
                    .label("a launch has at least one of each")
                    .help("remove the directive if there is no bound"),
            );
        }
    }
    let find = |kind| function.directives.iter().find(|directive: &&Directive| directive.kind == kind);
    if let (Some(most), Some(exact)) = (find(DirectiveKind::MaxNTid), find(DirectiveKind::ReqNTid)) {
        out.push(
            Diagnostic::error(LAUNCH_BOUND, exact.id, "`.maxntid` and `.reqntid` exclude each other")
                .label("the threads of every launch")
                .also(most.id, "the most threads of a launch")
                .help("remove `.maxntid`, which `.reqntid` implies"),
        );
    }
}
