//! Why a pass has no product, as diagnostics.

use std::fmt;

use ptxc_codegen::schedule::IllegalOrder;
use ptxc_codegen::select::Unsupported;
use ptxc_ptx::diagnostic::{Code, Diagnostic, UNSUPPORTED, source_node};
use ptxc_ssa::legalize::Incomplete;
use ptxc_syntax::{NodeId, ast};

/// The compiler contradicts itself: a check failed that no input should make fail.
pub const INTERNAL: Code = Code(990);

/// The compiler contradicts itself: the allocation checker rejects the allocation.
pub const WRONG_ALLOCATION: Code = Code(991);

/// The compiler contradicts itself: the hazard check rejects the control codes.
pub const HAZARD: Code = Code(992);

/// A heuristic returned an order that breaks a dependence.
pub const ILLEGAL_ORDER: Code = Code(903);

/// The diagnostics that explain why there is no product. The list is empty if the observer stopped
/// the run.
pub type Halt = Vec<Diagnostic>;

/// A check failed after a pass.
pub(crate) fn internal(pass: &str, errors: impl IntoIterator<Item = impl fmt::Display>) -> Halt {
    contradiction(INTERNAL, pass, errors)
}

/// A check with a code of its own failed after a pass.
pub(crate) fn contradiction(
    code: Code,
    pass: &str,
    errors: impl IntoIterator<Item = impl fmt::Display>,
) -> Halt {
    let list: Vec<String> = errors.into_iter().take(3).map(|error| error.to_string()).collect();
    let diagnostic =
        Diagnostic::error(code, NodeId(0), format!("{pass} produced wrong code: {}", list.join("; ")));
    vec![diagnostic.note("this is a bug in ptxc, not in the kernel; no output was written")]
}

/// A rule of legalization does not list all kinds that it starts from.
pub(crate) fn incomplete(rule: Incomplete) -> Halt {
    vec![Diagnostic::error(INTERNAL, NodeId(0), rule.to_string()).note("this is an error in ptxc")]
}

/// A heuristic broke a dependence in a scheduling pass.
pub(crate) fn illegal_order(pass: &str, error: &IllegalOrder) -> Halt {
    let message = format!("{pass}: the heuristic's order is illegal: {error}");
    vec![Diagnostic::error(ILLEGAL_ORDER, NodeId(0), message)]
}

/// The subject of a message that concerns no single instruction, until the function's name is
/// known.
const UNNAMED: &str = "a function like this";

/// An operation has no lowering.
pub(crate) fn unsupported(what: Unsupported) -> Diagnostic {
    match source_node(what.loc) {
        // `name_unsupported` replaces the subject by the instruction as the function's text spells
        // it.
        Some(node) => Diagnostic::unsupported(node, "this instruction").note(what.why),
        None => Diagnostic::unsupported(NodeId(0), UNNAMED).note(what.why),
    }
}

/// Rewrites diagnostics about operations without lowering, so that they name the instruction as the
/// function's text spells it. The passes that find them know only the operations that the
/// instruction became.
pub fn name_unsupported(function: &ast::Function, halt: Halt) -> Halt {
    let mut halt = halt;
    for diagnostic in halt.iter_mut().filter(|diagnostic| diagnostic.code == UNSUPPORTED) {
        let node = diagnostic.primary.node;
        let written = function.body.iter().flatten().find_map(|statement| match &statement.kind {
            ast::StatementKind::Instruction(instruction) if statement.id == node => Some(&instruction.opcode),
            _ => None,
        });
        if let Some(opcode) = written {
            diagnostic.message = format!("`{opcode}` is not supported yet");
        } else if diagnostic.message.starts_with(UNNAMED) {
            diagnostic.message = format!("the function `{}` is not supported yet", function.name.name);
        }
    }
    halt.dedup();
    halt
}
