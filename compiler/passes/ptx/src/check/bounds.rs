//! Accesses whose place is known: the name of a variable or parameter plus a constant.
//!
//! An access must be at a multiple of its size, for a vector the size of all elements together, or
//! the machine faults. An access outside a variable reads or writes other data or none at all.
//! ptxas accepts both, so they are warnings.
//!
//! ```text
//! .shared .align 16 .b8 tile[64];
//! ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [tile+4];     at 4, and not at a multiple of 16
//! ld.shared.u32 %r1, [tile+64];                        beyond the end
//! ```

use ptxc_syntax::ast::{Instruction, OperandKind};
use ptxc_syntax::const_eval::Constant;

use super::codes;
use super::forms::Form;
use super::names::Names;
use super::table::{Kind, Mnemonic};
use crate::diagnostic::Diagnostic;

/// Checks a load, a store or an atomic operation that fits its form.
pub(super) fn check(form: &Form, instruction: &Instruction, names: &Names, out: &mut Vec<Diagnostic>) {
    let opcode = &instruction.opcode;
    if !is_access(form.row.instruction) {
        return;
    }
    let Some(bytes) = bytes_moved(form) else { return };
    for operand in &instruction.operands {
        let OperandKind::Address(address) = &operand.kind else { continue };
        let Some(name) = &address.place.base else { continue };
        let Some((size, align)) = names.layout(name) else { continue };
        let offset = match &address.place.offset {
            None => 0,
            Some(expr) => match expr.evaluate() {
                Ok(Constant::S64(value)) => value,
                Ok(Constant::U64(value)) => value as i64,
                _ => continue,
            },
        };
        let whole = i64::from(bytes);
        // The launch sets the size of an open array.
        if size != 0 && (offset < 0 || offset.saturating_add(whole) as u64 > size) {
            let end = offset.saturating_add(whole);
            out.push(
                Diagnostic::warning(
                    codes::OUT_OF_BOUNDS,
                    operand.id,
                    format!("`{opcode}` accesses {bytes} bytes that are not within `{name}`"),
                )
                .label(format!("bytes {offset} to {} of {size}", end - 1)),
            );
        } else if offset % whole.min(align.into()) != 0 {
            out.push(
                misaligned(opcode, bytes, operand.id)
                    .label(format!("{offset} bytes into `{name}`, which is aligned to {align}")),
            );
        } else if bytes > align {
            out.push(
                misaligned(opcode, bytes, operand.id)
                    .label(format!("`{name}` is aligned to {align}"))
                    .help(format!("declare it with `.align {bytes}`")),
            );
        }
    }
}

/// Whether an instruction loads, stores or updates what lies at an address.
fn is_access(instruction: Mnemonic) -> bool {
    use Mnemonic::{Atom, Ld, Red, RedAsync, St, StAsync, StBulk};
    matches!(instruction, Ld | St | StAsync | StBulk | Atom | Red | RedAsync)
}

fn misaligned(opcode: &ptxc_syntax::ast::Opcode, bytes: u32, node: ptxc_syntax::NodeId) -> Diagnostic {
    let message =
        format!("`{opcode}` accesses {bytes} bytes and needs an address that is a multiple of {bytes}");
    Diagnostic::warning(codes::MISALIGNED, node, message)
        .note("a misaligned access ends the kernel with an error")
}

/// The bytes of the value that is loaded or stored; `None` if that is not a power of two.
fn bytes_moved(form: &Form) -> Option<u32> {
    let (ty, lanes) = match form.vector() {
        Some((ty, count, _)) => (ty, count),
        None => {
            let value = form.row.operands.iter().find_map(|spec| match &spec.kind {
                Kind::Value(value) => form.scalar(value.ty),
                _ => None,
            });
            (value?, 1)
        }
    };
    Some(ty.bits() / 8 * lanes).filter(|bytes| bytes.is_power_of_two())
}
