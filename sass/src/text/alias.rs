//! Other names for special cases: an `IMAD` that adds, shifts or moves is printed as that
//! operation.
//!
//! | the case | printed |
//! |---|---|
//! | the product is zero: a or b is RZ, or b is 0 | `IMAD.MOV` |
//! | b is 1, c is RZ | `IMAD.MOV` |
//! | b is 1 | `IMAD.IADD` |
//! | b is a power of two from 2 to 2³⁰ except 2¹⁶, c is RZ | `IMAD.SHL` |
//!
//! A uniform register anywhere, or an immediate c beside a true product, keeps the plain name. The
//! names carry no information: a reader drops them.

use crate::inst::Inst;
use crate::operand::{Operand, OperandKind};
use crate::register::{RegFile, Register};
use crate::slot_name;
use crate::table::Op;

/// The suffix of the mnemonic.
pub(super) fn suffix<R: Register>(inst: &Inst<R>) -> &'static str {
    if inst.op != Op::IMAD {
        return "";
    }
    let (Some(a), Some(b), Some(c)) =
        (inst.get(slot_name!("a")), inst.get(slot_name!("b")), inst.get(slot_name!("c")))
    else {
        return "";
    };
    if [a, b, c].into_iter().any(is_outside_the_general_file) {
        return "";
    }
    let addend_is_zero = is_zero(c);
    match b.kind {
        _ if is_zero(a) || is_zero(b) => ".MOV",
        OperandKind::Imm(0) => ".MOV",
        OperandKind::Imm(1) if addend_is_zero => ".MOV",
        OperandKind::Imm(1) => ".IADD",
        OperandKind::Imm(factor) if is_shift(factor) && addend_is_zero => ".SHL",
        _ => "",
    }
}

/// The mnemonic and modifiers without the alias.
pub(super) fn plain(text: &str) -> String {
    for alias in ["MOV", "IADD", "SHL"] {
        let rest = text.strip_prefix("IMAD.").and_then(|rest| rest.strip_prefix(alias));
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('.')) {
            return format!("IMAD{rest}");
        }
    }
    text.to_string()
}

/// Whether a product with it is printed as a shift.
fn is_shift(factor: u32) -> bool {
    factor.is_power_of_two() && factor < 1 << 31 && factor != 1 << 16
}

fn is_zero<R>(operand: &Operand<R>) -> bool {
    matches!(operand.kind, OperandKind::Zero(RegFile::Gpr))
}

fn is_outside_the_general_file<R: Register>(operand: &Operand<R>) -> bool {
    match operand.kind {
        OperandKind::Reg(reg) => reg.file() != RegFile::Gpr,
        OperandKind::Zero(file) => file != RegFile::Gpr,
        _ => false,
    }
}
