//! The limit on the static shared memory of a kernel. A launch may add more as an array of open size.

use ptxc_syntax::ast::{Function, FunctionKind, Space};

use super::env::{ModuleEnv, PtxTarget, TargetKind, Variable};
use super::scope::Scopes;
use crate::diagnostic::{Diagnostic, TOO_MUCH_SHARED};

/// The most bytes of static shared memory of a kernel. Code for one architecture alone may use all
/// that the architecture has. Source: ptxas 13.5, tested with every target.
pub fn most(target: PtxTarget) -> u64 {
    match (target.kind, target.number) {
        (TargetKind::Specific, 120..) => 99 << 10,
        (TargetKind::Specific, 90..) => 227 << 10,
        _ => 48 << 10,
    }
}

/// The error about a kernel with too much static shared memory.
pub fn too_much(function: &Function, bytes: u64, most: u64) -> Diagnostic {
    let message = format!("{bytes} bytes of static shared memory; a CTA has {most}");
    Diagnostic::error(TOO_MUCH_SHARED, function.id, message)
        .help("use an `.extern .shared` array, whose size is set at launch and may be larger")
}

/// Checks the variables that a kernel declares, and those of the module that it names; the scopes are
/// those at the end of its body.
pub(super) fn check(function: &Function, env: &ModuleEnv, scopes: &Scopes, out: &mut Vec<Diagnostic>) {
    if function.kind != FunctionKind::Entry {
        return;
    }
    let own = scopes.variables.iter().map(|(_, variable)| variable);
    let shared = own.chain(env.variables.values()).filter(|variable| variable.space == Space::Shared);
    let mut shared: Vec<&Variable> = shared.collect();
    // In this order the least padding is needed.
    shared.sort_by_key(|variable| std::cmp::Reverse(variable.align));
    let bytes = shared.iter().fold(0u64, |end, variable| {
        end.next_multiple_of(variable.align.max(1).into()).saturating_add(variable.size)
    });
    let most = most(env.target);
    if bytes > most {
        out.push(too_much(function, bytes, most));
    }
}
