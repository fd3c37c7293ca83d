//! Accesses of the parameters of calls: a result is loaded after the call that gives it, and no
//! access is guarded.
//!
//! ```text
//! ld.param.b32 x, [r];       the value of no call
//! call (r), f, (a);
//! @p ld.param.b32 x, [r];    guarded
//! ```

use ptxc_syntax::ast::{Instruction, OperandKind, Space};
use rustc_hash::FxHashSet;

use super::codes::CALL_SEQUENCE;
use super::names::Names;
use super::scope::Meaning;
use super::table::Mnemonic;
use crate::diagnostic::Diagnostic;

/// The results of the calls so far, in the order of the text.
#[derive(Default)]
pub(super) struct CallSequence {
    results: FxHashSet<usize>,
    /// Whether a call was wrong, so that its results are not known.
    has_wrong_call: bool,
}

impl CallSequence {
    /// Checks an instruction, which is known to be of this kind.
    pub fn check(
        &mut self,
        kind: Option<Mnemonic>,
        instruction: &Instruction,
        names: &Names,
        out: &mut Vec<Diagnostic>,
    ) {
        match kind {
            Some(Mnemonic::Call) => self.call(instruction, names),
            Some(Mnemonic::Ld | Mnemonic::St) => self.access(kind, instruction, names, out),
            _ => {}
        }
    }

    /// A call has an error.
    pub fn wrong_call(&mut self) {
        self.has_wrong_call = true;
    }

    fn call(&mut self, instruction: &Instruction, names: &Names) {
        let [first, callee, ..] = &instruction.operands[..] else { return };
        if let (OperandKind::Arguments(results), false) =
            (&first.kind, matches!(callee.kind, OperandKind::Arguments(_)))
        {
            let named = results.iter().filter_map(|result| variable(names, result.as_symbol()?));
            self.results.extend(named);
        }
    }

    fn access(
        &self,
        kind: Option<Mnemonic>,
        instruction: &Instruction,
        names: &Names,
        out: &mut Vec<Diagnostic>,
    ) {
        for operand in &instruction.operands {
            let OperandKind::Address(address) = &operand.kind else { continue };
            let Some(name) = &address.place.base else { continue };
            let Some(index) = variable(names, name) else { continue };
            if instruction.guard.is_some() {
                let message = format!("`{name}` is a parameter of a call, and its access is guarded");
                out.push(
                    Diagnostic::error(CALL_SEQUENCE, operand.id, message)
                        .help("access it unconditionally, and select the value before or after"),
                );
            } else if kind == Some(Mnemonic::Ld) && !self.has_wrong_call && !self.results.contains(&index) {
                let message = format!("`{name}` is loaded before any call gives it a value");
                out.push(
                    Diagnostic::error(CALL_SEQUENCE, operand.id, message)
                        .label("not a result of an earlier call")
                        .help("load it after the call, or use a `.local` variable for other data"),
                );
            }
        }
    }
}

/// The number of the variable in `.param` that a name stands for.
fn variable(names: &Names, name: &str) -> Option<usize> {
    let Some(Meaning::Variable(index)) = names.scopes().lookup(name) else { return None };
    let (_, variable) = names.scopes().variables.get(index)?;
    (variable.space == Space::Param).then_some(index)
}
