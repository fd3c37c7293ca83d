//! Directives of functions and of modules: whether the version and the target have them, and
//! whether they fit their place.
//!
//! | directive | what ptxas rejects |
//! |---|---|
//! | anything | a version or target without it, see [`features`] |
//! | `.attribute` | unknown ones; `.managed` outside `.global` |
//! | `.pragma` | strings for another place, see [`Place`] |
//! | linkage of functions | `.common`; `.extern` with a body |

use ptxc_syntax::ast::{
    Attribute, Directive, DirectiveKind, Function, FunctionKind, Linkage, Pragma, Space, Statement,
    StatementKind,
};
use ptxc_syntax::codes::UNKNOWN_DIRECTIVE;
use ptxc_syntax::{Name, NodeId};

use super::codes::DECLARATION_FORM;
use super::env::{ModuleEnv, PtxTarget, PtxVersion};
use super::features::{self, Feature};
use crate::diagnostic::Diagnostic;

/// The version and the target of a module.
type Present = (PtxVersion, PtxTarget);

/// Where a `.pragma` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Between functions.
    Module,
    /// Between the parameters of a kernel and its body.
    Head,
    /// In the body of a function.
    Body(FunctionKind),
}

/// Checks the part of a function before its body, except for the parameters.
pub(super) fn function(function: &Function, env: &ModuleEnv, out: &mut Vec<Diagnostic>) {
    let present = (env.version, env.target);
    let node = function.name.id;
    linkage(function.linkage, node, present, out);
    let name = &function.name.name;
    if function.linkage == Some(Linkage::Common) {
        out.push(
            Diagnostic::error(DECLARATION_FORM, node, format!("the function `{name}` is `.common`"))
                .label("only variables are")
                .help("write `.weak` or `.visible`"),
        );
    }
    if function.linkage == Some(Linkage::Extern) && function.body.is_some() {
        out.push(
            Diagnostic::error(DECLARATION_FORM, node, format!("the function `{name}` is `.extern`"))
                .label("but has a body")
                .help("write `.visible`, or remove the body"),
        );
    }
    if function.kind == FunctionKind::Entry && function.body.is_none() {
        features::KERNEL_DECLARATION.check(node, present, out);
    }
    attributes(&function.attributes, None, present, out);
    for directive in &function.directives {
        one(directive, Place::Head, present, out);
    }
}

fn one(directive: &Directive, place: Place, present: Present, out: &mut Vec<Diagnostic>) {
    if directive.kind == DirectiveKind::Pragma {
        return strings(&directive.strings, directive.id, place, present, out);
    }
    features::of_directive(directive.kind).check(directive.id, present, out);
}

/// Checks a directive in the body of a function.
pub(super) fn statement(
    statement: &Statement,
    function: FunctionKind,
    env: &ModuleEnv,
    out: &mut Vec<Diagnostic>,
) {
    let present = (env.version, env.target);
    let feature = match &statement.kind {
        StatementKind::Pragma(directive) => return pragma(directive, Place::Body(function), present, out),
        StatementKind::BranchTargets(_) => features::BRANCH_TARGETS,
        StatementKind::CallTargets(_) => features::CALL_TARGETS,
        StatementKind::CallPrototype(prototype) => {
            for directive in &prototype.directives {
                one(directive, Place::Head, present, out);
            }
            features::CALL_PROTOTYPE
        }
        _ => return,
    };
    feature.check(statement.id, present, out);
}

/// Checks how other modules see a symbol.
pub(super) fn linkage(linkage: Option<Linkage>, node: NodeId, present: Present, out: &mut Vec<Diagnostic>) {
    match linkage {
        Some(Linkage::Weak) => features::WEAK.check(node, present, out),
        Some(Linkage::Common) => features::COMMON.check(node, present, out),
        Some(Linkage::Visible | Linkage::Extern) | None => {}
    }
}

/// Checks the attributes of a variable in a space, or of a function.
pub(super) fn attributes(
    attributes: &[Attribute],
    space: Option<Space>,
    present: Present,
    out: &mut Vec<Diagnostic>,
) {
    for attribute in attributes {
        let (node, name) = (attribute.name.id, &attribute.name.name);
        let (feature, arguments): (Feature, usize) = match name.as_str() {
            "managed" if space == Some(Space::Global) => (features::MANAGED, 0),
            "managed" => {
                let message = "`.managed` is an attribute of `.global` variables";
                out.push(Diagnostic::error(DECLARATION_FORM, node, message).help("remove it"));
                continue;
            }
            "unified" => (features::UNIFIED, 2),
            _ => {
                let message = format!("unknown attribute `.{name}`");
                let finding = Diagnostic::error(DECLARATION_FORM, node, message);
                out.push(finding.help("the attributes are `.managed` and `.unified`"));
                continue;
            }
        };
        if attribute.arguments.len() != arguments {
            let found = attribute.arguments.len();
            let message = format!("`.{name}` has {arguments} arguments, found {found}");
            out.push(Diagnostic::error(DECLARATION_FORM, node, message));
        }
        feature.check(node, present, out);
    }
}

/// Checks a `.pragma`.
pub fn pragma(pragma: &Pragma, place: Place, present: Present, out: &mut Vec<Diagnostic>) {
    strings(&pragma.strings, pragma.id, place, present, out);
}

fn strings(texts: &[Name], node: NodeId, place: Place, present: Present, out: &mut Vec<Diagnostic>) {
    let before = out.len();
    features::PRAGMA.check(node, present, out);
    if out.len() > before {
        return;
    }
    for text in texts {
        let known = [
            ("used_bytes_mask", features::USED_BYTES_MASK),
            ("frequency", features::FREQUENCY),
            ("enable_smem_spilling", features::SHARED_SPILLING),
        ];
        let word = text.trim_start();
        let Some((name, feature)) = known.iter().find(|(name, _)| word.starts_with(name)) else {
            if place == Place::Module && text != "nounroll" {
                let message = format!("the pragma `{text}` is not one of a module");
                let finding = Diagnostic::error(UNKNOWN_DIRECTIVE, node, message);
                out.push(finding.help("write it in the body of a function, or remove it"));
            }
            continue;
        };
        let message = match place {
            Place::Body(FunctionKind::Func) if *name == "enable_smem_spilling" => {
                Some(format!("the pragma `{name}` is for kernels"))
            }
            Place::Body(_) if *name != "enable_smem_spilling" && !has_number(&word[name.len()..]) => {
                Some(format!("the pragma `{name}` needs a number"))
            }
            Place::Body(_) => None,
            Place::Module | Place::Head => {
                Some(format!("the pragma `{name}` must be in the body of a function"))
            }
        };
        match message {
            Some(message) => out.push(Diagnostic::error(UNKNOWN_DIRECTIVE, node, message)),
            None => feature.check(node, present, out),
        }
    }
}

/// Whether the text after the name of a pragma is a separator and a number.
fn has_number(text: &str) -> bool {
    let Some(number) = text.get(1..) else { return false };
    let (digits, radix) = match number.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix))
}
