//! The addresses in the initialisers of a module's variables.
//!
//! | symbol | rule |
//! |---|---|
//! | any | declared before the variable, or the variable itself |
//! | a variable | in `.global` or `.const` |
//! | a function | the whole address, without an offset or `generic()` |

use ptxc_ptx::check::codes::{MISFIT_INITIALISER, UNDECLARED_SYMBOL};
use ptxc_ptx::check::features;
use ptxc_ptx::diagnostic::Diagnostic;
use ptxc_syntax::Name;
use ptxc_syntax::ast::{Declaration, Initialiser, Space, SymbolAddress};
use ptxc_syntax::items::ItemKind;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::db::Db;
use crate::input::SourceFile;
use crate::input::items::{Func, items};
use crate::locate::MOST_FINDINGS;
use crate::module::{Header, ModuleName, module_variables, signature};
use crate::redeclared::Variables;

/// The functions of a file up to a place.
pub(crate) struct Functions<'a> {
    db: &'a dyn Db,
    rest: &'a [Func],
    known: FxHashMap<&'a Name, ItemKind>,
}

impl<'a> Functions<'a> {
    /// The functions before the first item: none.
    pub(crate) fn new(db: &'a dyn Db, file: SourceFile) -> Functions<'a> {
        Functions { db, rest: &items(db, file).functions, known: FxHashMap::default() }
    }

    /// Adds the functions before a place.
    pub(crate) fn advance(&mut self, offset: u32) {
        while let [func, rest @ ..] = self.rest
            && func.offset(self.db) < offset
        {
            self.known.insert(func.name(self.db), func.kind(self.db));
            self.rest = rest;
        }
    }
}

/// Checks the addresses in a declaration, at most one finding for each symbol of a declarator.
pub(crate) fn check(
    (db, file): (&dyn Db, SourceFile),
    declaration: &Declaration,
    (variables, functions): (&Variables, &Functions<'_>),
    header: &Header,
    out: &mut Vec<Diagnostic>,
) {
    let present = (header.version, header.target);
    let start = out.len();
    for declarator in &declaration.declarators {
        let mut seen = FxHashSet::default();
        for address in declarator.initialiser.iter().flat_map(Initialiser::addresses) {
            if out.len() - start > MOST_FINDINGS {
                return;
            }
            let name = &address.symbol.name;
            let node = address.symbol.id;
            if let Some(known) = variables.get(name) {
                if !matches!(known.space, Space::Global | Space::Const) && seen.insert(name) {
                    let message =
                        format!("the address of `{name}` in `.{}` is no constant", known.space.spelling());
                    out.push(
                        Diagnostic::error(MISFIT_INITIALISER, node, message)
                            .help("store its address at the start of the kernel"),
                    );
                }
            } else if let Some(&kind) = functions.known.get(name) {
                if let Some(finding) = wrong_function(address).filter(|_| seen.insert(name)) {
                    out.push(finding);
                    continue;
                }
                if seen.insert(name) {
                    let is_kernel = kind == ItemKind::Entry;
                    let feature =
                        if is_kernel { features::KERNEL_ADDRESS } else { features::FUNCTION_ADDRESS };
                    feature.check(node, present, out);
                }
            } else if seen.insert(name) {
                out.push(undeclared(db, file, address));
            }
        }
    }
}

/// The error about a part of a function's address.
fn wrong_function(address: &SymbolAddress) -> Option<Diagnostic> {
    let name = &address.symbol.name;
    let (what, help) = match (address.generic, &address.offset) {
        (true, _) => ("has no `generic()`", "write the name of the function alone"),
        (false, Some(_)) => ("has no offset", "remove the offset"),
        (false, None) => return None,
    };
    let message = format!("the address of the function `{name}` {what}");
    Some(Diagnostic::error(MISFIT_INITIALISER, address.symbol.id, message).help(help))
}

/// The error about a symbol that is not declared yet.
fn undeclared(db: &dyn Db, file: SourceFile, address: &SymbolAddress) -> Diagnostic {
    let name = &address.symbol.name;
    let message = format!("`{name}`, whose address this variable holds, is not declared");
    let finding = Diagnostic::error(UNDECLARED_SYMBOL, address.symbol.id, message);
    let key = ModuleName::new(db, name.clone());
    match module_variables(db, file).contains_key(name) || signature(db, file, key).is_some() {
        true => finding.label("declared only after the variable").help("declare it before the variable"),
        false => finding.help("declare the variable or function in this module"),
    }
}
