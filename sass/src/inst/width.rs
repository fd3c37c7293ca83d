//! What a row leaves to the modifiers of an instruction: the number of registers of an operand, and how an immediate is printed.

use super::Inst;
use super::share::dimensions;
use crate::register::Register;
use crate::table::{ImmFormat, ModKind, Width};

impl Width {
    /// The width in this instruction.
    pub fn resolve<R: Register>(self, inst: &Inst<R>) -> u8 {
        match self {
            Width::Fixed(width) => width,
            other => other.of_modifiers(inst),
        }
    }

    /// The width of an operand whose width modifiers decide.
    pub(super) fn of_modifiers<R: Register>(self, inst: &Inst<R>) -> u8 {
        match self {
            Width::Fixed(width) => width,
            Width::Share(matrix, bits) => matrix.share(inst, bits),
            Width::Image(operand) => operand.registers(inst),
            Width::Dimensions(more) => more + dimensions(inst.modifier(ModKind::Shape)),
            Width::Size => inst.op.facts().sized_width(inst.mods),
        }
    }
}

impl ImmFormat {
    /// How an immediate is printed in an instruction.
    pub fn resolve<R: Register>(self, inst: &Inst<R>) -> ImmFormat {
        match self {
            ImmFormat::OfFunction => match (inst.modifier(ModKind::Mode), inst.modifier(ModKind::DataType)) {
                (".RCP64H" | ".RSQ64H", _) => ImmFormat::DoubleHigh,
                (_, ".F16") => ImmFormat::Half,
                (_, ".BF16") => ImmFormat::Brain,
                _ => ImmFormat::Float,
            },
            ImmFormat::OfSource => {
                match (inst.modifier(ModKind::SourceType), inst.modifier(ModKind::DataType)) {
                    (".F16", _) | ("", ".F16") => ImmFormat::Half,
                    (".BF16", _) | ("", ".BF16") => ImmFormat::Brain,
                    _ => ImmFormat::Float,
                }
            }
            ImmFormat::OfInteger => match inst.modifier(ModKind::SourceType) {
                ".U32" | ".U64" => ImmFormat::Hex,
                _ => ImmFormat::Signed,
            },
            format => format,
        }
    }
}
