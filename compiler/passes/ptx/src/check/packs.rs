//! Operands of several parts: packed vectors, and the sum of a register and a constant.

use ptxc_syntax::ast::{Operand, OperandKind, Space, SymbolOffset};
use ptxc_syntax::const_eval::Constant;

use super::codes;
use super::names::Thing;
use super::operands::Operands;
use super::table::{TypeOf, Value};
use super::types::{Class, Scalar};
use crate::diagnostic::Diagnostic;

impl Operands<'_, '_> {
    /// `{a, b}`: equal elements that are together as wide as the type.
    pub(super) fn pack(&mut self, ty: TypeOf, written: bool, operand: &Operand) {
        let Some(ty) = self.form.scalar(ty) else { return };
        if let Some(name) = operand.as_symbol()
            && let Some(Thing::Register(lane, Some(vector))) = self.names.find(name)
        {
            // A vector register used whole is the vector of its elements.
            if lane.bits() * vector.lanes() != ty.bits() {
                let message = format!("`{}` packs {} bits", self.opcode(), ty.bits());
                let finding = Diagnostic::error(codes::VECTOR_SIZE, operand.id, message);
                self.out.push(finding.label(format!("`{name}` has {} bits", lane.bits() * vector.lanes())));
            }
            return;
        }
        let OperandKind::Vector(list) = &operand.kind else {
            return self.wrong_kind(operand, "a vector in braces");
        };
        let count = list.len() as u32;
        if !(1..=8).contains(&count) || !ty.bits().is_multiple_of(count) {
            let message = format!("`{}` packs {} bits as 1, 2, 4 or 8 equal parts", self.opcode(), ty.bits());
            let finding = Diagnostic::error(codes::VECTOR_SIZE, operand.id, message);
            self.out.push(finding.label(format!("found {count} elements")));
            return;
        }
        let element = Scalar::parse(&format!("b{}", ty.bits() / count));
        if written && list.iter().all(|element| element.kind == OperandKind::Sink) {
            let message = format!("`{}` needs at least one element", self.opcode());
            let finding = Diagnostic::error(codes::DISCARDED_RESULT, operand.id, message);
            return self.out.push(finding.label("every element is discarded"));
        }
        self.packed(ty.bits() / count, list);
        for operand in list {
            match &operand.kind {
                OperandKind::Sink if !written => self.wrong_kind(operand, "a register or constant"),
                OperandKind::Immediate(_) if written => self.wrong_kind(operand, "a register"),
                OperandKind::SymbolOffset(_) | OperandKind::Element(_) => {
                    self.wrong_kind(operand, "a register or constant");
                }
                _ => {}
            }
            if let Some(name) = operand.as_symbol()
                && let Some(Thing::Memory(..) | Thing::Function) = self.names.find(name)
            {
                self.wrong_kind(operand, "a register or constant");
            }
            if let (Some(name), Some(element)) = (operand.as_symbol(), element)
                && let Some(Thing::Register(register, None)) = self.names.find(name)
            {
                self.agree(element, register, false, name, operand.id);
            }
        }
    }

    /// `r + 1` or `variable + 4` where a value is expected: the sum of an integer register or an address
    /// and a constant.
    pub(super) fn sum(&mut self, value: &Value, ty: Scalar, sum: &SymbolOffset, operand: &Operand) {
        let thing = sum.base.as_ref().and_then(|base| Some((base, self.names.find(base)?)));
        let offset = sum.offset.as_ref().map(|offset| offset.evaluate());
        match thing {
            None => return,
            Some((_, Thing::Memory(..))) if value.symbol => return,
            // ptxas takes a variable as a value only in a sum.
            Some((_, Thing::Memory(space, _)))
                if !value.selected
                    && matches!(ty.class(), Class::Bits | Class::Integer)
                    && (ty.bits() == self.names.address_bits()
                        || ty.bits() == 32 && matches!(space, Space::Shared | Space::Local)) => {}
            Some((base, Thing::Register(register, None)))
                if matches!(register.class(), Class::Bits | Class::Integer)
                    && register.bits() <= 64
                    && matches!(ty.class(), Class::Bits | Class::Integer)
                    && !value.selected =>
            {
                self.agree(ty, register, value.wider, base, operand.id);
            }
            Some(_) => return self.wrong_kind(operand, &format!("a `{ty}` register or constant")),
        }
        if !matches!(offset, None | Some(Ok(Constant::S64(_) | Constant::U64(_)))) {
            let message = format!("`{}` expects an integer after the register", self.opcode());
            let finding = Diagnostic::error(codes::CONSTANT_TYPE, operand.id, message);
            self.out.push(finding.label("only integers can be added here"));
        }
    }

    /// Whether an untyped operand is a number, a mask, a handle or a part of a matrix, and not bits of
    /// any type: ptxas rejects floats there.
    pub(super) fn takes_no_float(&self, value: &Value, written: bool) -> bool {
        let Some(ty @ (Scalar::B32 | Scalar::B64)) = self.form.scalar(value.ty) else { return false };
        let row = self.form.row;
        // The metadata of these products may come from float registers.
        let is_free = |part: &str| part == "tf32" || part.starts_with(['e', 'k']) || part.starts_with("sp");
        let is_matrix = row.family == "matrix"
            && !row.mnemonic.contains("matrix")
            && !self.instruction.opcode.modifiers().any(is_free);
        let is_fixed = value.ty == TypeOf::Fixed(ty);
        match row.mnemonic {
            "bar" | "cp" | "isspacep" | "elect" | "createpolicy" | "mbarrier" => is_fixed,
            // The register that a vote writes may have any type, but not the mask.
            "vote" => is_fixed && !written,
            "redux" => true,
            "cvt" => is_fixed && self.form.vector().is_none(),
            "ld" | "st" | "red" | "atom" => is_fixed && ty == Scalar::B64,
            _ => is_fixed && is_matrix,
        }
    }
}
