//! The constant and global variables that a function declares in its body.
//!
//! Such a variable exists once, like a variable of the module, and only its name is private: two
//! functions, or two blocks of a function, may use the same name. A variable therefore gets the name
//! `function.name` in the module, and then `function.name.2` and so on. No name in PTX has a dot, so
//! these names never collide with other names.

use std::sync::Arc;

use ptxc_syntax::Name;
use ptxc_syntax::ast::{Function, Initialiser, Space, StatementKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::codes::{MISFIT_INITIALISER, UNDECLARED_SYMBOL};
use super::env::{ModuleEnv, Variable};
use super::scope::{Meaning, Scopes};
use crate::diagnostic::Diagnostic;

/// A constant or global variable of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnVariable {
    /// Its number among the variables of the function, as in [`Meaning::Variable`].
    pub index: usize,
    /// Its name in the module.
    pub name: Name,
    /// The variable. The addresses in its content name variables by their names in the module.
    pub variable: Variable,
}

/// The constant and global variables that the body declares, in order of appearance.
pub fn own_variables(function: &Function) -> Vec<OwnVariable> {
    let body = function.body.as_deref().unwrap_or(&[]);
    let declares = body.iter().any(|statement| match &statement.kind {
        StatementKind::Declaration(declaration) => is_static(declaration.specifiers.space),
        _ => false,
    });
    let mut found: Vec<OwnVariable> = Vec::new();
    if !declares {
        return found;
    }
    let mut scopes = Scopes::new(function);
    let mut named: FxHashMap<usize, Name> = FxHashMap::default();
    let mut counts: FxHashMap<Name, u32> = FxHashMap::default();
    for (number, statement) in body.iter().enumerate() {
        let first = scopes.variables.len();
        scopes.statement(number, statement);
        let new = first..scopes.variables.len();
        for index in new.clone() {
            let (own, variable) = &scopes.variables[index];
            if is_static(variable.space) {
                let count = counts.entry(own.clone()).or_insert(0);
                *count += 1;
                let plain = format!("{}.{own}", function.name.name);
                let name = if *count == 1 { plain } else { format!("{plain}.{count}") };
                named.insert(index, Name::from(&*name));
            }
        }
        for index in new {
            let Some(name) = named.get(&index) else { continue };
            let mut variable = scopes.variables[index].1.clone();
            if let Ok(Some(content)) = &mut variable.content {
                for address in &mut Arc::make_mut(content).addresses {
                    if let Some(Meaning::Variable(target)) = scopes.lookup(&address.symbol)
                        && let Some(target) = named.get(&target)
                    {
                        address.symbol = target.to_string();
                    }
                }
            }
            found.push(OwnVariable { index, name: name.clone(), variable });
        }
    }
    found
}

fn is_static(space: Space) -> bool {
    matches!(space, Space::Const | Space::Global)
}

/// Checks the addresses in the initialisers of a declaration that the scopes already have, at most
/// one finding for each symbol of a declarator.
pub(super) fn check_addresses(
    declaration: &ptxc_syntax::ast::Declaration,
    (scopes, env): (&Scopes, &ModuleEnv),
    out: &mut Vec<Diagnostic>,
) {
    if !is_static(declaration.specifiers.space) {
        return;
    }
    for declarator in &declaration.declarators {
        let mut seen: FxHashSet<&Name> = FxHashSet::default();
        for address in declarator.initialiser.iter().flat_map(Initialiser::addresses) {
            let name = &address.symbol.name;
            if !seen.insert(name) {
                continue;
            }
            let space = match scopes.lookup(name) {
                Some(Meaning::Variable(index)) => scopes.variables.get(index).map(|found| found.1.space),
                Some(Meaning::Parameter(_) | Meaning::Result(_)) => Some(Space::Param),
                Some(Meaning::Register { .. } | Meaning::Label(_) | Meaning::List(_)) => None,
                None if env.later.contains(name) => None,
                None if env.signatures.contains_key(name) => Some(Space::Global),
                None => env.variables.get(name).map(|variable| variable.space),
            };
            let node = address.symbol.id;
            match space {
                Some(space) if is_static(space) => {}
                Some(space) => {
                    let message =
                        format!("the address of `{name}` in `.{}` is no constant", space.spelling());
                    out.push(
                        Diagnostic::error(MISFIT_INITIALISER, node, message)
                            .help("store its address at the start of the kernel"),
                    );
                }
                None => {
                    let message = format!("`{name}`, whose address this variable holds, is not declared");
                    out.push(
                        Diagnostic::error(UNDECLARED_SYMBOL, node, message)
                            .help("declare the variable or function before this variable"),
                    );
                }
            }
        }
    }
}
