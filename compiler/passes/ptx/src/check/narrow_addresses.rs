//! Global and generic addresses of 32 bits.
//!
//! Machine code has 64-bit addresses in the global and the generic space. A module that computes
//! such an address in 32 bits was written for 32-bit pointers; if they were extended, its
//! parameters would still have the layout of the other mode. ptxas 13 rejects these modules,
//! whether or not they have `.address_size`. Addresses in the other spaces fit 32 bits.
//!
//! | instruction | rejected with |
//! |---|---|
//! | `ld`, `st`, `atom`, `red`, `ldu`, `prefetch` | a 32-bit register as a global or generic address |
//! | `cvta`, `cvta.to` | `.u32` |
//! | `mov` | a 32-bit type and the address of a global variable |

use ptxc_syntax::NodeId;
use ptxc_syntax::ast::{Instruction, OperandKind, Space};

use super::codes;
use super::forms::Form;
use super::names::{Names, Thing};
use super::scalar::Scalar;
use super::table::Mnemonic;
use crate::diagnostic::Diagnostic;

/// The width of a narrow address, in bits.
const NARROW: u32 = 32;

/// Checks the addresses of an instruction that has that form.
pub(super) fn check(form: &Form, instruction: &Instruction, names: &Names, out: &mut Vec<Diagnostic>) {
    let found = match form.row.instruction {
        Mnemonic::Ld
        | Mnemonic::Ldu
        | Mnemonic::St
        | Mnemonic::Atom
        | Mnemonic::Red
        | Mnemonic::Prefetch
        | Mnemonic::Prefetchu => access(form, instruction, names),
        Mnemonic::Cvta | Mnemonic::CvtaTo => conversion(form, instruction),
        Mnemonic::Mov => variable(form, instruction, names),
        _ => None,
    };
    let Some((node, label)) = found else { return };
    let message = format!("`{}` needs an address of 64 bits", instruction.opcode);
    let finding = Diagnostic::error(codes::NARROW_ADDRESSES, node, message).label(label);
    out.push(finding.help("declare pointers as `.u64`, and compute addresses in 64 bits"));
}

fn access(form: &Form, instruction: &Instruction, names: &Names) -> Option<(NodeId, String)> {
    if form.space().is_some_and(|space| space != "global") {
        return None;
    }
    instruction.operands.iter().find_map(|operand| {
        let OperandKind::Address(address) = &operand.kind else { return None };
        let base = address.place.base.as_ref()?;
        match names.find(base) {
            Some(Thing::Register(ty, _)) if ty.bits() == NARROW => {
                Some((operand.id, format!("`{base}` is `{ty}`")))
            }
            _ => None,
        }
    })
}

fn conversion(form: &Form, instruction: &Instruction) -> Option<(NodeId, String)> {
    let narrow = form.written().find(|(choice, _)| choice.scalar == Some(Scalar::U32));
    narrow.map(|(_, part)| (instruction.opcode.part_id(part), "generic addresses have 64 bits".into()))
}

fn variable(form: &Form, instruction: &Instruction, names: &Names) -> Option<(NodeId, String)> {
    let is_narrow = form.written().any(|(choice, _)| choice.scalar.is_some_and(|ty| ty.bits() == NARROW));
    let operand = instruction.operands.get(1).filter(|_| is_narrow)?;
    let name = match &operand.kind {
        OperandKind::Symbol(name) => name,
        OperandKind::SymbolOffset(place) => place.base.as_ref()?,
        _ => return None,
    };
    match names.find(name) {
        Some(Thing::Memory(Space::Global, _)) => Some((operand.id, format!("`{name}` is in `.global`"))),
        _ => None,
    }
}
