//! The number of registers that hold a lane's share of a matrix.
//!
//! The lanes of a warp, or of the four warps of a warpgroup, divide each matrix of a product d =
//! a·b + c evenly: a shape of m × n × k, `.16816` or `.64x128x16`, gives d and c m·n elements, a
//! m·k and b k·n. With `HMMA.16816.F32` a lane holds 16·8 elements of 32 bits / 32 lanes = 4
//! registers of d, and 16·16 of 16 bits / 32 = 4 of a.
//!
//! In: the text of the shape, and the types that the modifiers name. Out: registers. The layout is
//! that of the PTX ISA, section "Matrix multiply-accumulate operation". The loads and stores that
//! ptxas puts around the instruction show that its operands have exactly these registers.

use super::Inst;
use crate::register::Register;
use crate::table::{Matrix, ModKind};

impl Matrix {
    /// The registers of a lane's share; `bits` is the size of an element whose type no modifier
    /// names.
    pub(super) fn share<R: Register>(self, inst: &Inst<R>, bits: u8) -> u8 {
        let Some([m, n, k]) = extents(inst.modifier(ModKind::Shape)) else { return 1 };
        let lanes = if m == 64 { 128 } else { 32 };
        let (elements, kind) = match self {
            Matrix::Accumulator => (m * n, ModKind::DataType),
            Matrix::First => (m * k, ModKind::SourceType),
            Matrix::SparseFirst => (m * k / 2, ModKind::SourceType),
            Matrix::Second => (k * n, ModKind::SourceType),
        };
        let bits = element_bits(inst.modifier(kind)).unwrap_or(u32::from(bits));
        (elements * bits / (32 * lanes)).max(1) as u8
    }
}

/// The bits of an element of a type.
fn element_bits(text: &str) -> Option<u32> {
    Some(match text {
        ".F32" | ".TF32" => 32,
        ".F16" | ".BF16" => 16,
        ".U8" | ".S8" | ".E4M3" | ".E5M2" => 8,
        ".U4" | ".S4" => 4,
        _ => return None,
    })
}

/// m, n and k of a shape: `.64x128x16`, or, with m = 8 or 16 and n = 8, without the signs between
/// them: `.16816`.
fn extents(text: &str) -> Option<[u32; 3]> {
    let text = text.strip_prefix('.')?;
    let mut parts = text.split('x').map(|part| part.parse().ok());
    if let (Some(m), Some(n), Some(k)) = (parts.next()?, parts.next().flatten(), parts.next().flatten()) {
        return Some([m, n, k]);
    }
    let (m, rest) = match text.strip_prefix("16") {
        Some(rest) => (16, rest),
        None => (8, text.strip_prefix('8')?),
    };
    Some([m, 8, rest.strip_prefix('8')?.parse().ok()?])
}

/// The number of dimensions of a tensor: `.2D`.
pub(super) fn dimensions(text: &str) -> u8 {
    text.strip_prefix('.').and_then(|text| text.strip_suffix('D')).and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_three_extents() {
        for (text, expected) in [
            (".16816", [16, 8, 16]),
            (".1688", [16, 8, 8]),
            (".1684", [16, 8, 4]),
            (".8816", [8, 8, 16]),
            (".168256", [16, 8, 256]),
            (".88128", [8, 8, 128]),
            (".16x8x4", [16, 8, 4]),
            (".64x256x16", [64, 256, 16]),
        ] {
            assert_eq!(extents(text), Some(expected), "{text}");
        }
        assert_eq!((extents(""), extents(".2D"), dimensions(".5D")), (None, None, 5));
    }
}
