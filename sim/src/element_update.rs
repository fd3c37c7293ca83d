//! Updates of elements by asynchronous copies.

use ptxc_ir::{AtomicOp, TensorUpdate, Type};
use ptxc_semantics::float::{self, NanRule};
use ptxc_semantics::{BF16, F16, F32, F64, Format, Mode};

use crate::integer_update::integer_update;
use crate::tensor_map::TensorElement;

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Element {
    /// An integer of that many bytes.
    Int { bytes: u32, signed: bool },
    /// A float.
    Float(Format),
}

impl Element {
    /// The size in bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Element::Int { bytes, .. } => bytes,
            Element::Float(format) => format.bits() / 8,
        }
    }
}

impl From<TensorElement> for Element {
    fn from(element: TensorElement) -> Element {
        match element.format() {
            Some(format) => Element::Float(format),
            None => Element::Int { bytes: element.bytes(), signed: element.is_signed() },
        }
    }
}

/// The update of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Update {
    /// What it does.
    pub op: TensorUpdate,
    /// The type of the element.
    pub element: Element,
}

impl Update {
    /// That of an atomic operation on values of a type; `None` for operations that copies lack.
    pub fn of(op: AtomicOp, ty: Type) -> Option<Update> {
        let signed = matches!(op, AtomicOp::Smin | AtomicOp::Smax);
        let element = match ty {
            Type::B32 | Type::B64 => Element::Int { bytes: ty.bits() / 8, signed },
            Type::F16 => Element::Float(F16),
            Type::BF16 => Element::Float(BF16),
            Type::F32 => Element::Float(F32),
            Type::F64 => Element::Float(F64),
            _ => return None,
        };
        let op = match op {
            AtomicOp::Add | AtomicOp::Fadd | AtomicOp::FaddNoftz => TensorUpdate::Add,
            AtomicOp::Smin | AtomicOp::Umin | AtomicOp::Fmin => TensorUpdate::Min,
            AtomicOp::Smax | AtomicOp::Umax | AtomicOp::Fmax => TensorUpdate::Max,
            AtomicOp::Inc => TensorUpdate::Inc,
            AtomicOp::Dec => TensorUpdate::Dec,
            AtomicOp::And => TensorUpdate::And,
            AtomicOp::Or => TensorUpdate::Or,
            AtomicOp::Xor => TensorUpdate::Xor,
            AtomicOp::Exch | AtomicOp::Cas | AtomicOp::Cast => return None,
        };
        Some(Update { op, element })
    }

    /// The new element, from the old one and the operand; `None` if floats have no such update. Sums
    /// are rounded to the nearest, and subnormal numbers stay.
    pub fn apply(self, old: u64, operand: u64) -> Option<u64> {
        match self.element {
            Element::Float(format) => Some(match self.op {
                TensorUpdate::Add => float::add(format, old, operand, Mode::IEEE),
                TensorUpdate::Min => float::min(format, old, operand, NanRule::Number, false),
                TensorUpdate::Max => float::max(format, old, operand, NanRule::Number, false),
                TensorUpdate::Inc | TensorUpdate::Dec => return None,
                TensorUpdate::And | TensorUpdate::Or | TensorUpdate::Xor => return None,
            }),
            Element::Int { bytes, signed } => {
                let op = match (self.op, signed) {
                    (TensorUpdate::Add, _) => AtomicOp::Add,
                    (TensorUpdate::Min, true) => AtomicOp::Smin,
                    (TensorUpdate::Min, false) => AtomicOp::Umin,
                    (TensorUpdate::Max, true) => AtomicOp::Smax,
                    (TensorUpdate::Max, false) => AtomicOp::Umax,
                    (TensorUpdate::Inc, _) => AtomicOp::Inc,
                    (TensorUpdate::Dec, _) => AtomicOp::Dec,
                    (TensorUpdate::And, _) => AtomicOp::And,
                    (TensorUpdate::Or, _) => AtomicOp::Or,
                    (TensorUpdate::Xor, _) => AtomicOp::Xor,
                };
                integer_update(op, bytes, old, operand)
            }
        }
    }
}
