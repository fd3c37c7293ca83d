//! The type of a vector.
//!
//! ptxas gives a vector one type. Its registers have the same width, and either integers or floats
//! or pairs of halves; untyped registers go with any of them, and make the vector untyped. A vector
//! agrees with an instruction as a register of its type does. Vectors of integers are also vectors
//! of floats for instructions that only move their elements.

use ptxc_syntax::ast::{Address, Operand, OperandKind};
use ptxc_syntax::const_eval::Constant;
use ptxc_syntax::{Name, NodeId};

use super::codes;
use super::names::Thing;
use super::operands::{Operands, lane_of};
use super::table::{Mnemonic, Value};
use super::types::{Class, Scalar};
use crate::diagnostic::Diagnostic;

/// A register that is an element of a vector.
struct Element<'a> {
    ty: Scalar,
    name: &'a Name,
    node: NodeId,
}

/// The elements of a vector that have a type.
struct Elements<'a> {
    registers: Vec<Element<'a>>,
    /// The constants.
    constants: Vec<&'a Operand>,
    /// Whether some elements are untyped and others are not, or all are.
    is_untyped: bool,
}

impl Operands<'_, '_> {
    /// Checks the registers and constants of a vector in braces; other elements have been checked.
    pub(super) fn vector(&mut self, value: &Value, ty: Scalar, written: bool, list: &[Operand]) {
        let is_typed = |names: &Self, element: &Operand| match &element.kind {
            OperandKind::Immediate(_) => !written,
            _ => names.element(element, !written && !value.special).is_some(),
        };
        for element in list {
            match &element.kind {
                OperandKind::SymbolOffset(_) => self.wrong_kind(element, &format!("a `{ty}` register")),
                OperandKind::Sink if value.discard => {}
                _ if is_typed(self, element) => {}
                _ => self.scalar(value, ty, written, element),
            }
        }
        let elements = match self.mixture(list, !written && !value.special) {
            Ok(elements) => elements,
            Err(finding) => return self.out.push(*finding),
        };
        let bits = Scalar::of_bits(ty.bits()).unwrap_or(ty);
        for &Element { ty: register, name, node } in &elements.registers {
            let untyped = Scalar::of_bits(register.bits()).filter(|_| elements.is_untyped);
            if !self.vector_agrees(ty, untyped.unwrap_or(register), value.wider) {
                self.mismatch(ty, register, name, node);
            }
        }
        for operand in &elements.constants {
            let OperandKind::Immediate(expr) = &operand.kind else { continue };
            let is_packed = matches!(ty.class(), Class::Half | Class::Packed);
            let ty = if is_packed && !elements.registers.is_empty() { bits } else { ty };
            self.constant(ty, value.range, expr, operand.id);
        }
        if self.form.row.family == "matrix" && ty == Scalar::F32 && is_doubles(list) {
            self.doubles(ty, &list[0]);
        }
    }

    /// The type of a vector register that is used whole.
    pub(super) fn whole_vector(&mut self, ty: Scalar, lane: Scalar, wider: bool, name: &Name, node: NodeId) {
        if !self.vector_agrees(ty, lane, wider) {
            self.mismatch(ty, lane, name, node);
        }
    }

    /// Checks that the elements to pack have the same width, and not two different types.
    pub(super) fn packed(&mut self, bits: u32, list: &[Operand]) {
        if let Err(finding) = self.mixture(list, true) {
            return self.out.push(*finding);
        }
        if let Some(ty) = Scalar::of_bits(bits).filter(|_| bits < 64 && is_doubles(list)) {
            self.doubles(ty, &list[0]);
        }
    }

    /// The coordinates of a texture or surface.
    pub(super) fn coordinates(&mut self, address: &Address) {
        let Some(OperandKind::Vector(list)) = address.rest.last().map(|last| &last.kind) else { return };
        let opcode = &self.instruction.opcode;
        // The first coordinate of an array is an index, and the others may be floats.
        if opcode.modifiers().any(|part| matches!(part, "a1d" | "a2d" | "acube" | "a2dms")) {
            return;
        }
        let ty = match self.form.row.instruction {
            Mnemonic::Tex | Mnemonic::Tld4 => opcode.modifiers().last().and_then(Scalar::parse),
            Mnemonic::SuldB | Mnemonic::SustB | Mnemonic::SustP | Mnemonic::SuredB | Mnemonic::SuredP => None,
            _ => return,
        };
        let elements = match self.mixture(list, true) {
            Ok(elements) => elements,
            Err(finding) => return self.out.push(*finding),
        };
        let Some(ty) = ty.filter(|_| !elements.is_untyped && elements.constants.is_empty()) else { return };
        for &Element { ty: register, name, node } in &elements.registers {
            if !self.vector_agrees(ty, register, false) {
                self.mismatch(ty, register, name, node);
            }
        }
    }

    /// Whether a vector of that type agrees with an instruction.
    fn vector_agrees(&self, ty: Scalar, vector: Scalar, wider: bool) -> bool {
        let moves = matches!(
            self.form.row.mnemonic,
            "ld" | "ldu" | "st" | "mov" | "tex" | "tld4" | "atom" | "red" | "suld" | "sust"
        );
        let is_moved = moves && ty.class() == Class::Float && vector.class() == Class::Integer;
        ty.agrees(vector, wider) || (is_moved && ty.bits() == vector.bits())
    }

    /// The register that an element is: a scalar one, a part of a vector one, or a special one if it
    /// `may_be_special`.
    fn element<'o>(&self, operand: &'o Operand, may_be_special: bool) -> Option<(Scalar, &'o Name)> {
        let (ty, name) = match &operand.kind {
            OperandKind::Symbol(name) => match self.names.find_at(operand.id, name)? {
                Thing::Register(ty, None) => (ty, name),
                Thing::Special(register) if may_be_special && !register.vector => (register.ty, name),
                _ => return None,
            },
            OperandKind::Selected(selected) => match self.names.find(&selected.0)? {
                Thing::Register(lane, Some(vector)) => {
                    lane_of(&selected.1).filter(|&index| index < vector.lanes())?;
                    (lane, &selected.0)
                }
                _ => return None,
            },
            _ => return None,
        };
        Some((ty, name)).filter(|(ty, _)| !matches!(ty.class(), Class::Predicate | Class::Memory))
    }

    /// The elements of a vector, or the finding that they don't make one.
    fn mixture<'o>(
        &self,
        list: &'o [Operand],
        may_be_special: bool,
    ) -> Result<Elements<'o>, Box<Diagnostic>> {
        let mut found = Elements { registers: Vec::new(), constants: Vec::new(), is_untyped: false };
        // The class of the typed elements, with the first of them.
        let mut class: Option<(Class, &Operand)> = None;
        let mut selected: Option<&Operand> = None;
        for operand in list {
            let own = if let Some((ty, name)) = self.element(operand, may_be_special) {
                if let Some(first) = found.registers.first().filter(|first| first.ty.bits() != ty.bits()) {
                    return Err(Box::new(self.unequal(first, ty, operand)));
                }
                found.registers.push(Element { ty, name, node: operand.id });
                selected = selected.or(Some(operand).filter(|operand| operand.as_symbol().is_none()));
                ty.class()
            } else if let OperandKind::Immediate(expr) = &operand.kind {
                let Ok(constant) = expr.evaluate() else { continue };
                found.constants.push(operand);
                if constant.integer_bits().is_some() { Class::Integer } else { Class::Float }
            } else {
                continue;
            };
            match class {
                _ if own == Class::Bits => found.is_untyped = true,
                None => class = Some((own, operand)),
                Some((known, first)) if known != own => {
                    let message =
                        format!("the elements of a vector of `{}` have different types", self.opcode());
                    let finding = Diagnostic::error(codes::TYPE_MISMATCH, operand.id, message);
                    return Err(Box::new(
                        finding
                            .label(format!("this is {}", noun(own)))
                            .also(first.id, format!("this is {}", noun(known)))
                            .note("a vector has integers or floats; only untyped registers go with both"),
                    ));
                }
                Some(_) => {}
            }
        }
        if let (Some(selected), Some(constant)) = (selected, found.constants.first()) {
            let message =
                format!("`{}` expects only registers beside an element of a vector register", self.opcode());
            let finding = Diagnostic::error(codes::OPERAND_KIND, constant.id, message);
            return Err(Box::new(
                finding
                    .label("this is a constant")
                    .also(selected.id, "an element of a vector register")
                    .help("move the constant into a register first"),
            ));
        }
        Ok(found)
    }

    fn unequal(&self, first: &Element, ty: Scalar, operand: &Operand) -> Diagnostic {
        let message = format!("the elements of a vector of `{}` have different widths", self.opcode());
        Diagnostic::error(codes::TYPE_MISMATCH, operand.id, message)
            .label(format!("this has {} bits", ty.bits()))
            .also(first.node, format!("this has {} bits", first.ty.bits()))
    }

    /// Reports decimal constants without a register, which make a vector of double precision.
    fn doubles(&mut self, ty: Scalar, first: &Operand) {
        let message = format!("`{}` expects `{ty}` elements, found doubles", self.opcode());
        self.out.push(
            Diagnostic::error(codes::CONSTANT_TYPE, first.id, message)
                .label("this has 64 bits")
                .note("a vector of decimal constants alone is of double precision")
                .help("write the bits of each, such as `0f3F800000`"),
        );
    }
}

/// Whether all elements are constants of double precision.
fn is_doubles(list: &[Operand]) -> bool {
    let is_double = |operand: &Operand| matches!(&operand.kind, OperandKind::Immediate(expr) if matches!(expr.evaluate(), Ok(Constant::F64(_))));
    !list.is_empty() && list.iter().all(is_double)
}

fn noun(class: Class) -> &'static str {
    match class {
        Class::Integer => "an integer",
        Class::Float => "a float",
        _ => "a pair of halves",
    }
}
