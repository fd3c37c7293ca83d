//! What the targets before sm_20 lack of loads, stores and atomic operations, beyond the rows of the
//! table: it depends on the state space and the type together.

use ptxc_syntax::ast::Instruction;

use super::env::{ModuleEnv, PtxTarget, PtxVersion, TargetKind};
use super::forms::Form;
use super::needs::Needs;
use super::requirements::{target_too_old, version_too_old};
use super::table::{AddressSpace, Kind, Mnemonic, Modifier};
use super::types::Scalar;
use crate::diagnostic::Diagnostic;

const SM_12: Needs = since(&[PtxTarget { number: 12, kind: TargetKind::Baseline }]);
const SM_20: Needs = since(&[PtxTarget { number: 20, kind: TargetKind::Baseline }]);

const fn since(targets: &'static [PtxTarget]) -> Needs {
    Needs { version: None, targets }
}

/// The version from which `.ftz` of a conversion to 64 bits has a meaning.
const WIDE_FLUSH: PtxVersion = PtxVersion(1, 5);

/// Checks an instruction whose row and modifiers its target has.
pub(super) fn check(form: &Form, instruction: &Instruction, env: &ModuleEnv, out: &mut Vec<Diagnostic>) {
    let opcode = &instruction.opcode;
    if env.target.number >= 20 {
        return;
    }
    let types = || form.written().filter_map(|(choice, _)| choice.scalar);
    let wide = types().any(|ty| ty.bits() == 64);
    let needs = match form.row.instruction {
        Mnemonic::Ld | Mnemonic::St | Mnemonic::Atom | Mnemonic::Red if is_generic(form) => {
            let finding = target_too_old("generic addressing", &SM_20, env.target, opcode.part_id(0));
            return out.push(finding.help("write the state space after the name, such as `.global`"));
        }
        // The row of these on 64 bits needs more.
        Mnemonic::Atom | Mnemonic::Red
            if wide && (form.says(Modifier::And) || form.says(Modifier::Or) || form.says(Modifier::Xor)) =>
        {
            return;
        }
        Mnemonic::Atom | Mnemonic::Red => match (form.space(), wide) {
            (Some("shared"), true) => SM_20,
            (Some("shared"), false) | (_, true) => SM_12,
            _ => return,
        },
        Mnemonic::Cvt if form.says(Modifier::Ftz) && env.version < WIDE_FLUSH => {
            let to_wide = types().next().is_some_and(|result: Scalar| result.bits() == 64);
            if to_wide {
                let what = format!("`.ftz` of `{opcode}`");
                let finding = version_too_old(&what, WIDE_FLUSH, env.version, opcode.part_id(0));
                out.push(finding.note("earlier conversions to 64 bits keep subnormal numbers"));
            }
            return;
        }
        _ => return,
    };
    if !needs.has_target(env.target) {
        out.push(target_too_old(&format!("`{opcode}`"), &needs, env.target, opcode.part_id(0)));
    }
}

/// Whether the address could be in any state space.
fn is_generic(form: &Form) -> bool {
    let unnamed = |kind: &Kind| matches!(kind, Kind::Address(AddressSpace::Group(group)) if form.choice(*group).is_none());
    form.row.operands.iter().any(|operand| unnamed(&operand.kind))
}
