//! The limit on the static shared memory of a kernel. A launch may add more as an array of open size.

use ptxc_syntax::ast::{Function, FunctionKind, Space};

use super::env::{ModuleEnv, Variable};
use super::scope::Scopes;
use crate::diagnostic::{Diagnostic, TOO_MUCH_SHARED};

/// The most bytes, on every target.
const MOST: u64 = 48 << 10;

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
    if bytes > MOST {
        let message = format!("{bytes} bytes of static shared memory; a CTA has {MOST}");
        out.push(
            Diagnostic::error(TOO_MUCH_SHARED, function.id, message)
                .help("use an `.extern .shared` array, whose size is set at launch and may be larger"),
        );
    }
}
