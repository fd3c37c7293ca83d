//! An instruction whose registers all have one other type: the instruction's type is wrong, and
//! there is one mistake.
//!
//! ```text
//! add.s32 %f1, %f2, %f3;        the registers of `add.s32` are `.f32`; did you mean `add.f32`?
//! ```

use ptxc_syntax::ast::{Instruction, OperandKind};

use super::codes;
use super::names::{Names, Thing};
use super::table::TABLE;
use crate::diagnostic::Diagnostic;

/// The findings about an instruction's operands; a single finding replaces those that report the
/// same for every register.
pub(super) fn as_one(instruction: &Instruction, names: &Names, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let [first, rest @ ..] = &found[..] else { return found };
    let is_alike = |finding: &Diagnostic| {
        finding.code == codes::TYPE_MISMATCH && finding.message == first.message && finding.help == first.help
    };
    if rest.is_empty() || !found.iter().all(is_alike) {
        return found;
    }
    let mut types = instruction.operands.iter().filter_map(|operand| match &operand.kind {
        OperandKind::Symbol(name) => match names.find(name)? {
            Thing::Register(ty, None) => Some(ty),
            _ => None,
        },
        _ => None,
    });
    let Some(ty) = types.next() else { return found };
    // If a register agrees, or has a third type, the findings concern single registers.
    if types.clone().any(|other| other != ty) || types.count() + 1 != found.len() {
        return found;
    }
    let opcode = &instruction.opcode;
    let message = format!("the registers of `{opcode}` are `{ty}`");
    let own = format!("{ty}");
    let own = own.trim_start_matches('.');
    let mut finding =
        Diagnostic::error(codes::TYPE_MISMATCH, opcode.part_id(opcode.part_count() - 1), message)
            .label("another type");
    finding.notes.clone_from(&first.notes);
    finding.help.clone_from(&first.help);
    // With further modifiers, the other type may allow other modifiers.
    let mut choices =
        TABLE.forms(opcode.mnemonic()).iter().flat_map(|row| row.groups).flat_map(|group| group.choices);
    if opcode.part_count() == 2 && choices.any(|choice| choice.text == own) {
        finding.help = Some(format!("did you mean `{}.{own}`?", opcode.mnemonic()));
    }
    vec![finding]
}
