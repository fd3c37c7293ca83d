//! The directives that bound the launches of a kernel: `.maxntid`, `.reqntid`, `.maxnreg`,
//! `.minnctapersm`, and those of clusters.

use ptxc_syntax::ast::{Directive, DirectiveKind, Function};

use super::codes::LAUNCH_BOUND;
use super::env::constant_u32;
use crate::diagnostic::Diagnostic;

/// Directives that exclude each other: the one that implies the other, with the reasons.
const EXCLUSIVE: [(DirectiveKind, DirectiveKind, &str, &str); 2] = [
    (
        DirectiveKind::ReqNTid,
        DirectiveKind::MaxNTid,
        "the threads of every launch",
        "the most threads of a launch",
    ),
    (
        DirectiveKind::ReqNCtaPerCluster,
        DirectiveKind::MaxClusterRank,
        "the CTAs of every cluster",
        "the most CTAs of a cluster",
    ),
];

/// Checks the launch bounds of a function as ptxas does: numbers are positive, and some directives
/// exclude or need each other.
pub(super) fn check(function: &Function, out: &mut Vec<Diagnostic>) {
    for directive in &function.directives {
        let is_bound = matches!(
            directive.kind,
            DirectiveKind::MaxNTid
                | DirectiveKind::ReqNTid
                | DirectiveKind::MaxNReg
                | DirectiveKind::LocalMaxNReg
                | DirectiveKind::MinNCtaPerSm
                | DirectiveKind::MaxNCtaPerSm
        );
        let is_positive = |value| constant_u32(value).is_some_and(|value| value > 0);
        let name = directive.kind.spelling();
        if is_bound && !directive.values.iter().all(is_positive) {
            out.push(
                Diagnostic::error(LAUNCH_BOUND, directive.id, format!("`.{name}` expects positive numbers"))
                    .label("a launch has at least one of each")
                    .help("remove the directive if there is no bound"),
            );
        } else if !directive.values.iter().all(|value| constant_u32(value).is_some()) {
            let message = format!("`.{name}` expects numbers that are not negative");
            out.push(Diagnostic::error(LAUNCH_BOUND, directive.id, message));
        }
    }
    let find = |kind| function.directives.iter().find(|directive: &&Directive| directive.kind == kind);
    for (exact, most, why, other) in EXCLUSIVE {
        if let (Some(exact), Some(most)) = (find(exact), find(most)) {
            let (implied, implying) = (most.kind.spelling(), exact.kind.spelling());
            let message = format!("`.{implied}` and `.{implying}` exclude each other");
            out.push(
                Diagnostic::error(LAUNCH_BOUND, exact.id, message)
                    .label(why)
                    .also(most.id, other)
                    .help(format!("remove `.{implied}`, which `.{implying}` implies")),
            );
        }
    }
    if let Some(clusters) = find(DirectiveKind::BlocksAreClusters) {
        for kind in [DirectiveKind::ReqNTid, DirectiveKind::ReqNCtaPerCluster] {
            if find(kind).is_none() {
                let message = format!("`.blocksareclusters` needs `.{}`", kind.spelling());
                let finding = Diagnostic::error(LAUNCH_BOUND, clusters.id, message);
                out.push(finding.help("write both `.reqntid` and `.reqnctapercluster`"));
            }
        }
    }
}
