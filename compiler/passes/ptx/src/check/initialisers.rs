//! Initialisers of variables: which variables may have one, and whether it fits.

use ptxc_syntax::ast::{Declaration, Linkage, Space, SymbolAddress};

use super::codes::MISFIT_INITIALISER;
use super::env::{Declared, MOST_IN_RANGES, PtxTarget, PtxVersion, variables};
use super::features::{self, Feature};
use super::opaque;
use crate::diagnostic::Diagnostic;

/// Checks a declaration in a module or in a function. Other checks report a variable whose size is
/// wrong.
pub fn check(declaration: &Declaration, present: (PtxVersion, PtxTarget), out: &mut Vec<Diagnostic>) {
    if declaration.declarators.iter().all(|declarator| declarator.initialiser.is_none()) {
        return;
    }
    let before = out.len();
    opaque::check_needs(declaration, present, out);
    check_addresses(declaration, present, out);
    if out.len() > before {
        return;
    }
    let space = declaration.specifiers.space;
    for Declared { declarator, name, variable } in variables(declaration, &mut { MOST_IN_RANGES }) {
        let (node, is_initialised) = (declarator.name.id, declarator.initialiser.is_some());
        let Some(variable) = variable.filter(|_| is_initialised) else { continue };
        let error = |message: String| Diagnostic::error(MISFIT_INITIALISER, node, message);
        if declaration.linkage == Some(Linkage::Extern) {
            let message = format!("`{name}` is defined in another module, and gets its value there");
            out.push(error(message).label("declared `.extern` here"));
        } else if !matches!(space, Space::Const | Space::Global) {
            let message = format!("`{name}` in `.{}` can't have an initialiser", space.spelling());
            let whose = if space == Space::Shared { "every CTA" } else { "every thread" };
            out.push(
                error(message)
                    .label(format!("{whose} has its own copy, which starts uninitialised"))
                    .help("store its value at the start of the kernel"),
            );
        } else if variable.content.is_err() {
            let elements = variable.size / u64::from(variable.ty.bytes().unwrap_or(1).max(1));
            let label = match elements {
                1 => format!("one value of `.{}`", variable.ty.spelling()),
                count => format!("at most {count} values of `.{}`", variable.ty.spelling()),
            };
            out.push(
                error(format!("the initialiser of `{name}` does not fit")).label(label).note(
                    "integer types take integers, float types take numbers such as `2.0` or `0f40000000`, and `.u32` and `.u64` take addresses",
                ),
            );
        }
    }
}

/// Reports addresses that the module's version lacks, at most one of each kind.
fn check_addresses(declaration: &Declaration, present: (PtxVersion, PtxTarget), out: &mut Vec<Diagnostic>) {
    let kinds: [(Feature, IsOfKind); 3] = [
        (features::MASK, |address| address.mask.is_some()),
        (features::GENERIC, |address| address.generic),
        (features::ADDRESS, |_| true),
    ];
    for declarator in &declaration.declarators {
        let Some(initialiser) = &declarator.initialiser else { continue };
        for (feature, is_of_kind) in kinds {
            let before = out.len();
            if let Some(address) = initialiser.addresses().find(|address| is_of_kind(address)) {
                feature.check(address.symbol.id, present, out);
            }
            if out.len() > before {
                return;
            }
        }
    }
}

/// A test of an address.
type IsOfKind = fn(&SymbolAddress) -> bool;
