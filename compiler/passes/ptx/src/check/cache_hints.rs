//! Cache policies: the accesses that may follow one, and the fraction of accesses that one may
//! apply to.
//!
//! ```text
//! ld.shared.L2::cache_hint.u32 %r1, [%r2], %rd1;                 // E0118: shared memory is not cached
//! createpolicy.fractional.L2::evict_last.b64 %rd1, 1.5;          // E0107: a fraction above 1
//! ```
//!
//! In: an instruction whose form is known. Out: findings. The rules are those of ptxas.

use ptxc_syntax::ast::{Instruction, OperandKind};
use ptxc_syntax::const_eval::Constant;

use super::codes;
use super::forms::Form;
use super::table::{Mnemonic, Modifier};
use crate::diagnostic::Diagnostic;

/// Checks the state space of an access with a policy, and the fraction of a policy.
pub fn check(form: &Form, instruction: &Instruction, out: &mut Vec<Diagnostic>) {
    let opcode = &instruction.opcode;
    let hint = || form.written().find(|(choice, _)| choice.modifier == Some(Modifier::L2CacheHint));
    let is_access =
        matches!(form.row.instruction, Mnemonic::Ld | Mnemonic::St | Mnemonic::Red | Mnemonic::Atom);
    if is_access
        && let Some(space) = form.space().filter(|&space| space != "global")
        && let Some((_, part)) = hint()
    {
        let message = format!("`.L2::cache_hint` is not allowed with `.{space}`");
        out.push(
            Diagnostic::error(codes::HINT_SPACE, opcode.part_id(part), message)
                .label("only global and generic addresses have cache policies")
                .help("remove the modifier and its operand"),
        );
    }
    if matches!(form.row.instruction, Mnemonic::Ld | Mnemonic::St) {
        advice(form, instruction, out);
    }
    let [_, fraction] = &instruction.operands[..] else { return };
    if form.row.instruction != Mnemonic::CreatepolicyFractional {
        return;
    }
    let OperandKind::Immediate(expr) = &fraction.kind else { return };
    let value = match expr.evaluate() {
        Ok(Constant::F32(bits)) => f64::from(f32::from_bits(bits)),
        Ok(Constant::F64(bits)) => f64::from_bits(bits),
        _ => return,
    };
    if !(value > 0.0 && value <= 1.0) {
        let message = format!("`{opcode}` expects a fraction above 0 and at most 1");
        out.push(
            Diagnostic::error(codes::OUT_OF_RANGE, fraction.id, message).label(format!("this is {value}")),
        );
    }
}

/// Checks advice about the first cache, `.L1::evict_last` and the like, and about prefetches,
/// `.L2::64B`: both are for global memory, and the first replaces a cache operator.
fn advice(form: &Form, instruction: &Instruction, out: &mut Vec<Diagnostic>) {
    let opcode = &instruction.opcode;
    let written = |is: fn(&str) -> bool| form.written().find(move |(choice, _)| is(choice.text));
    let first = written(|text| text.starts_with("L1::"));
    let prefetch = written(|text| text.starts_with("L2::") && text.ends_with('B'));
    for (choice, part) in first.into_iter().chain(prefetch) {
        if let Some(space) = form.space().filter(|&space| space != "global") {
            let message = format!("`.{}` is not allowed with `.{space}`", choice.text);
            out.push(
                Diagnostic::error(codes::HINT_SPACE, opcode.part_id(part), message)
                    .label("only accesses of global and generic addresses take advice")
                    .help("remove the modifier"),
            );
            return;
        }
    }
    let operator = written(|text| matches!(text, "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt"));
    if let (Some((advice, part)), Some((operator, other))) = (first, operator) {
        let message = format!("`.{}` and `.{}` exclude each other", operator.text, advice.text);
        out.push(
            Diagnostic::error(codes::CONTRADICTORY_MODIFIERS, opcode.part_id(part), message)
                .label("one too many")
                .also(opcode.part_id(other), "the other one"),
        );
    }
}
