//! The number of registers that the operands of a texture or surface access cover.
//!
//! A texture access names two sources, each the first of up to four registers, and two destinations
//! for the components of the texel: the first two wanted components go to one pair, the rest to the
//! other.
//!
//! ```text
//! TEX.LL R8, R10, R2, R6, UR4, 0x0, 3D       R2, R3, R4: coordinates. R6: the level.
//!        │   └ the first two components      R10, R11, and R8, R9
//!        └ the others
//! ```
//!
//! The first source holds the layer of an array, if there is one, with the least level (`.LC`) in
//! one register, and the coordinates. The second source holds the handle of the texture, unless a
//! constant bank or uniform register has it, then the level or its bias, offsets (`.AOFFI`), a
//! sample (`.MS`), and the value to compare with (`.DC`). With `.SCR` the values of both are
//! divided evenly. In `TXD` the second source holds two derivatives for each coordinate, and all
//! other values are before and after the coordinates in the first.
//!
//! In: an instruction. Out: numbers of registers. The evidence is `nvdisasm -plr`, which shows the
//! registers that an instruction reads and writes, for every combination of modifiers
//! (`docs/facts/textures.md`).

use super::Inst;
use crate::operand::OperandKind;
use crate::register::Register;
use crate::slot_name;
use crate::table::{ImageOperand, ModKind, Op};

impl ImageOperand {
    /// The number of registers.
    pub(super) fn registers<R: Register>(self, inst: &Inst<R>) -> u8 {
        match self {
            ImageOperand::Low | ImageOperand::High => self.components(inst),
            ImageOperand::First => divided(inst).0,
            // For an empty second source ptxas writes RZ; for any other register nvdisasm counts
            // one.
            ImageOperand::Second => divided(inst).1.max(1),
            ImageOperand::Place => match inst.modifier(ModKind::Shape) {
                ".1D" | ".1D_BUFFER" => 1,
                ".1D_ARRAY" | ".2D" => 2,
                _ => 3,
            },
            ImageOperand::Texel => match inst.modifier(ModKind::Components) {
                ".R" => 1,
                ".RG" => 2,
                _ => 4,
            },
        }
    }

    /// The registers for the wanted components; halves take two to a register.
    fn components<R: Register>(self, inst: &Inst<R>) -> u8 {
        let text = inst.modifier(ModKind::Components);
        let mask = text.strip_prefix("0x").and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let count = mask.unwrap_or(0xf).count_ones() as u8;
        let here = if self == ImageOperand::Low { count.min(2) } else { count.saturating_sub(2) };
        let is_half = !inst.modifier(ModKind::DataType).is_empty();
        here.min(if is_half { 1 } else { 2 }).max(1)
    }
}

/// The numbers of registers of the two sources.
fn divided<R: Register>(inst: &Inst<R>) -> (u8, u8) {
    let (first, second) = sources(inst);
    if !inst.modifier(ModKind::Variant).starts_with(".SCR") {
        return (first, second);
    }
    let all = (first + second).min(4);
    (all.div_ceil(2), all / 2)
}

/// The same before `.SCR` divides them evenly.
fn sources<R: Register>(inst: &Inst<R>) -> (u8, u8) {
    let has_handle = u8::from(inst.get(slot_name!("texture")).is_none());
    if let Some(query) = inst.get(slot_name!("query")) {
        // A level or the number of a sample, which a query for the type of a texture does not have.
        let is_of_type = query.kind == OperandKind::Imm(1);
        return (if is_of_type { 1 } else { 1 + has_handle }, 0);
    }
    let shape = inst.modifier(ModKind::Shape);
    let is_array = shape.starts_with("ARRAY");
    let coordinates = match shape.trim_start_matches("ARRAY_") {
        "1D" => 1,
        "2D" => 2,
        _ => 3,
    };
    let (mode, extra) = (inst.modifier(ModKind::Mode), inst.modifier(ModKind::Sources));
    let count = |text: &str, names: &[&str]| names.iter().filter(|name| text.contains(*name)).count() as u8;
    if matches!(inst.op, Op::TXD | Op::TXD_B) {
        let layer = is_array || !mode.is_empty() || !extra.is_empty();
        return (has_handle + coordinates + u8::from(layer), 2 * coordinates);
    }
    let layer = is_array || count(mode, &[".LC"]) != 0;
    // Offsets for each of the four points (`.PTP`) are two registers.
    let sample = count(inst.modifier(ModKind::Hint), &[".MS"]);
    let extra = sample + count(extra, &[".AOFFI", ".DC"]) + 2 * count(extra, &[".PTP"]);
    (u8::from(layer) + coordinates, has_handle + count(mode, &[".LB", ".LL"]) + extra)
}

#[cfg(test)]
mod tests {
    use ptxc_machine::Arch;

    use super::*;
    use crate::{PReg, text};

    /// The widths of all register operands, in the order of the text.
    fn widths(line: &str) -> Vec<u8> {
        let (inst, _): (Inst<PReg>, u8) = text::parse_inst(line, Arch::Sm75).unwrap();
        inst.accesses().iter().map(|access| access.width).collect()
    }

    #[test]
    fn components_go_to_two_pairs() {
        for (mask, low, high) in [("", 2, 2), (", 0x7", 2, 1), (", 0xc", 2, 1), (", 0x8", 1, 1)] {
            assert_eq!(widths(&format!("TEX.LZ R8, R10, R2, RZ, 0x0, 0x58, 2D{mask}")), [high, low, 2]);
        }
        assert_eq!(widths("TEX.F16.RN.LZ R8, R10, R2, RZ, 0x0, 0x58, 2D"), [1, 1, 2]);
    }

    #[test]
    fn sources_follow_the_shape_and_the_modifiers() {
        for (line, a, b) in [
            ("TEX.LL R8, R10, R4, R20, 0x0, 0x58, 3D", 3, 1),
            ("TEX.B.LL.AOFFI.DC R8, R10, R4, R20, ARRAY_2D", 3, 4),
            ("TEX.B.LB.LC R8, R10, R4, R20, CUBE", 4, 2),
            ("TEX.SCR.LZ R8, R10, R4, R20, 0x0, 0x58, 2D", 1, 1),
            ("TEX.SCR.LL R8, R10, R4, R20, 0x0, 0x58, 2D", 2, 1),
            ("TEX.SCR.B.LL R8, R10, R4, R20, 2D", 2, 2),
            ("TLD.LZ.MS.CL R8, R10, R4, R20, 0x0, 0x58, ARRAY_2D", 3, 1),
            ("TLD4.R.B.PTP R8, R10, R4, R20, 2D", 2, 3),
            ("TXD.B R8, R10, R4, R20, 2D", 3, 4),
            ("TXD.AOFFI R8, R10, R4, R20, 0x0, 0x58, ARRAY_1D", 2, 2),
        ] {
            assert_eq!(widths(line), [2, 2, a, b], "{line}");
        }
        assert_eq!(widths("TXQ.B R8, R10, R4, TEX_HEADER_DIMENSION, 0xf"), [2, 2, 2]);
        assert_eq!(widths("TXQ.B R8, R10, R4, TEX_HEADER_TEXTURE_TYPE, 0x3"), [1, 2, 1]);
    }

    #[test]
    fn places_in_surfaces_have_a_register_a_dimension() {
        assert_eq!(widths("SUST.D.BA.2D_ARRAY.64.STRONG.CTA.TRAP [R8], R4, 0x0, 0x58"), [3, 2]);
        assert_eq!(widths("SUST.P.1D.STRONG.CTA.RG [R8], R4, R6"), [1, 2, 1]);
        assert_eq!(widths("SURED.D.2D.MIN.SD64.STRONG.SYS.IGN [R8], R4, R6"), [2, 2, 1]);
    }
}
