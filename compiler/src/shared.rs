//! The static shared memory of kernels that call device functions.
//!
//! A kernel has the variables of all functions that it calls. Two functions that do not call each
//! other may share the place of their own variables, so only the largest of these counts. The
//! checker of a function knows the kernels that call nothing.

use ptxc_ptx::check::env::{self, MOST_IN_RANGES};
use ptxc_ptx::check::shared_size::{most, too_much};
use ptxc_ptx::diagnostic::{Diagnostic, TOO_MUCH_SHARED};
use ptxc_syntax::Name;
use ptxc_syntax::ast::{Space, StatementKind};
use ptxc_syntax::items::ItemKind;
use rustc_hash::FxHashMap;

use crate::db::Db;
use crate::input::items::Func;
use crate::module::{ast, environment};
use crate::stages::callees::device_callees;
use crate::stages::checked;

/// The error about a kernel that has too much shared memory together with the functions that it
/// calls.
pub(crate) fn finding(db: &dyn Db, func: Func) -> Option<Diagnostic> {
    if func.kind(db) != ItemKind::Entry {
        return None;
    }
    let callees = device_callees(db, func);
    let is_known = checked(db, func).findings.iter().any(|finding| finding.code == TOO_MUCH_SHARED);
    if callees.is_empty() || is_known {
        return None;
    }
    let mut named: FxHashMap<&Name, u64> = FxHashMap::default();
    let own = of_function(db, func);
    let callees = callees.iter().map(|&callee| of_function(db, callee));
    named.extend(
        callees.clone().chain([own]).flat_map(|function| &function.named).map(|(name, size)| (name, *size)),
    );
    let most_of_callee = callees.map(|callee| callee.own).max().unwrap_or(0);
    let bytes = named.values().fold(own.own, |sum, size| sum.saturating_add(*size));
    let bytes = bytes.saturating_add(most_of_callee);
    let most = most(environment(db, func).target);
    (bytes > most).then(|| too_much(ast(db, func), bytes, most))
}

/// The shared memory of a function without that of its callees.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OfFunction {
    /// The bytes of the variables that it declares.
    own: u64,
    /// The variables of the module that it names, with their sizes in bytes.
    named: Vec<(Name, u64)>,
}

/// Many kernels may call the function, so this is computed once.
#[salsa::tracked(returns(ref))]
fn of_function(db: &dyn Db, func: Func) -> OfFunction {
    let variables = environment(db, func).variables.iter();
    let shared = variables.filter(|(_, variable)| variable.space == Space::Shared);
    let named = shared.map(|(name, variable)| (name.clone(), variable.size)).collect();
    let (mut own, mut room) = (0u64, MOST_IN_RANGES);
    for statement in ast(db, func).body.iter().flatten() {
        let StatementKind::Declaration(declaration) = &statement.kind else { continue };
        if declaration.specifiers.space == Space::Shared {
            for variable in env::variables(declaration, &mut room).into_iter().filter_map(|one| one.variable)
            {
                own = own.saturating_add(variable.size);
            }
        }
    }
    OfFunction { own, named }
}
