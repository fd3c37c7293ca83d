//! The level of a texture that derivatives of the coordinates ask for.
//!
//! ```text
//! tex.grad.3d.v4.f32.f32 {…}, [t, {x, y, z, z}], {dx, dy, dz, dz}, {ex, ey, ez, ez}
//!     =>   texture.level.3d t, x, y, z, level
//!          level = log2(max(|(dx·width, dy·height, dz·depth)|, |(ex·width, ey·height, ez·depth)|))
//! ```
//!
//! `TXD` has at most two coordinates and no comparison. For the other reads, ptxas gives the derivatives
//! to the four lanes of a quad, also to lanes that do not execute the instruction, and on sm_90 it
//! calls a function of the driver. The computed level needs neither. It follows the definition for
//! textures with normalized coordinates, and CUDA allows several levels only for these.
//!
//! A cube has coordinates within a face: two parts of the direction divided by the longest part.
//! The derivatives of the quotients are those of the parts, minus the quotient times that of the longest
//! part, all divided by the longest part.

use ptxc_ir::{Approx, Dimension, FloatCond, FloatMode, Op, Rounding, Shape, Type, Value};

use super::form::{Translated, Unsupported};
use super::translator::Translator;

/// The level below the least of any sampler: −32.
const LEAST_LEVEL: u64 = 0xc200_0000;
/// 0.5.
const HALF: u64 = 0x3f00_0000;

const MODE: FloatMode = FloatMode { round: Rounding::Nearest, ftz: false, sat: false, contract: false };

/// The texture and the place of a read.
pub(super) struct Read<'a> {
    pub handle: Value,
    pub shape: Shape,
    /// The coordinates; those of a cube after division by the longest part.
    pub place: &'a [Value],
    /// The reciprocal of the longest part, for a cube.
    pub scale: Option<Value>,
}

/// The level of a read whose coordinates change by `by_x` and `by_y`.
pub(super) fn level(
    t: &mut Translator,
    read: &Read<'_>,
    by_x: &[Value],
    by_y: &[Value],
) -> Translated<Value> {
    let factors = factors(t, read)?;
    let mut longest = None;
    for derivatives in [by_x, by_y] {
        let mut parts = derivatives
            .iter()
            .take(read.shape.coordinates())
            .map(|&part| t.convert(part, Type::F32))
            .collect::<Translated<Vec<Value>>>()?;
        if read.scale.is_some() {
            parts = within_face(t, read, &parts)?;
        }
        let mut sum = None;
        for (&part, &factor) in parts.iter().zip(&factors) {
            let texels = product(t, part, factor);
            let square = product(t, texels, texels);
            sum = Some(match sum {
                None => square,
                Some(sum) => t.emit(Op::Fadd(MODE), Type::F32, &[sum, square]),
            });
        }
        longest = match (longest, sum) {
            (Some(one), Some(other)) => Some(greater(t, one, other)),
            (one, other) => one.or(other),
        };
    }
    let square = match longest {
        Some(longest) => longest,
        None => t.constant(Type::F32, 0),
    };
    let logarithm = t.emit(Op::Fapprox { function: Approx::Lg2, ftz: true }, Type::F32, &[square]);
    let half = t.constant(Type::F32, HALF);
    let level = product(t, logarithm, half);
    let least = t.constant(Type::F32, LEAST_LEVEL);
    let level = greater(t, level, least);
    t.convert(level, Type::B32)
}

/// The number of texels by which the place changes if a coordinate changes by 1.
fn factors(t: &mut Translator, read: &Read<'_>) -> Translated<Vec<Value>> {
    if let Some(scale) = read.scale {
        // A face has coordinates from −1 to 1.
        let width = size(t, read.handle, Dimension::Width);
        let half = t.constant(Type::F32, HALF);
        let half_width = product(t, width, half);
        let factor = product(t, half_width, scale);
        return Ok(vec![factor; read.shape.coordinates()]);
    }
    let all = [Dimension::Width, Dimension::Height, Dimension::Depth];
    let dimensions = all.into_iter().take(read.shape.coordinates());
    Ok(dimensions.map(|dimension| size(t, read.handle, dimension)).collect())
}

fn size(t: &mut Translator, handle: Value, dimension: Dimension) -> Value {
    let level = t.constant(Type::B32, 0);
    let texels = t.emit(Op::ImageSize(dimension), Type::B32, &[handle, level]);
    t.emit(Op::UintToFloat(Rounding::Nearest), Type::F32, &[texels])
}

/// The derivatives of a place in a face, before the division by the longest part of the direction. The
/// derivative of the longest part becomes 0.
fn within_face(t: &mut Translator, read: &Read<'_>, parts: &[Value]) -> Translated<Vec<Value>> {
    let place =
        read.place.iter().map(|&part| t.convert(part, Type::F32)).collect::<Translated<Vec<Value>>>()?;
    let ([x, y, z], [dx, dy, dz]) = (&place[..], parts) else { return Err(Unsupported) };
    let (x, y, z) = (*x, *y, *z);
    let sizes = [x, y, z].map(|part| t.emit(Op::Fabs { ftz: false }, Type::F32, &[part]));
    // The longest part is 1 or −1, so the product has the sign of the change of its size.
    let along = [(x, *dx), (y, *dy), (z, *dz)].map(|(part, change)| product(t, part, change));
    let is_longer = |t: &mut Translator, one: usize, other: usize| {
        let op = Op::Fcmp { cond: FloatCond::Ge, ftz: false };
        t.emit(op, Type::F32, &[sizes[one], sizes[other]])
    };
    let y_or_z = is_longer(t, 1, 2);
    let y_or_z = t.emit(Op::Select, Type::F32, &[y_or_z, along[1], along[2]]);
    let (x_than_y, x_than_z) = (is_longer(t, 0, 1), is_longer(t, 0, 2));
    let is_x = t.emit(Op::And, Type::Pred, &[x_than_y, x_than_z]);
    let along = t.emit(Op::Select, Type::F32, &[is_x, along[0], y_or_z]);
    Ok(place
        .iter()
        .zip(parts)
        .map(|(&part, &change)| {
            let moved = product(t, part, along);
            t.emit(Op::Fsub(MODE), Type::F32, &[change, moved])
        })
        .collect())
}

fn product(t: &mut Translator, a: Value, b: Value) -> Value {
    t.emit(Op::Fmul(MODE), Type::F32, &[a, b])
}

fn greater(t: &mut Translator, a: Value, b: Value) -> Value {
    t.emit(Op::Fmax { ftz: false, nan: false, xorsign: false }, Type::F32, &[a, b])
}
