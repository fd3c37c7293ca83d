//! Asynchronous copies of boxes of tensors.
//!
//! ```text
//! cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [to], [map, {x, y}], [bar];
//!     =>   tensor_load.2d to, bar, map, x, y
//! cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [map, {x}], [from];
//!     =>   tensor_red.add.1d from, map, x
//! ```
//!
//! The cache policy is attached to the address of the tensor map. The offsets of an image's pixels
//! are packed into half a word, as ptxas's code packs them: one of 16 bits, two of 8, or three of 5.

use ptxc_ir::{Op, Space, TensorBox, TensorUpdate, Type, Value};
use ptxc_syntax::ast::{Operand, OperandKind};
use smallvec::SmallVec;

use super::asynchronous::ctas;
use super::cache_policy::hinted;
use super::form::{Form, Translated, Unsupported};
use super::mbarrier::place;
use super::texture;
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::{Modifier, modifiers};

/// Room for most operands.
type Args = SmallVec<[Value; 10]>;

impl From<modifiers::Dimensions> for u8 {
    fn from(dimensions: modifiers::Dimensions) -> u8 {
        use modifiers::Dimensions as D;
        match dimensions {
            D::X1d => 1,
            D::X2d => 2,
            D::X3d => 3,
            D::X4d => 4,
            D::X5d => 5,
        }
    }
}

impl From<modifiers::TensorUpdate> for TensorUpdate {
    fn from(update: modifiers::TensorUpdate) -> TensorUpdate {
        use modifiers::TensorUpdate as U;
        match update {
            U::Add => TensorUpdate::Add,
            U::Min => TensorUpdate::Min,
            U::Max => TensorUpdate::Max,
            U::Inc => TensorUpdate::Inc,
            U::Dec => TensorUpdate::Dec,
            U::And => TensorUpdate::And,
            U::Or => TensorUpdate::Or,
            U::Xor => TensorUpdate::Xor,
        }
    }
}

/// The dimensions and the mode; `.tile` is the default. `columns` is the other mode's name.
fn tile(form: &mut Form, columns: Modifier) -> Translated<TensorBox> {
    let dimensions = form.choose::<modifiers::Dimensions>().ok_or(Unsupported)?.into();
    form.take(Modifier::Tile);
    Ok(TensorBox { dimensions, im2col: form.take(columns) })
}

/// `cp.async.bulk.tensor`.
pub(super) fn copy(t: &mut Translator, form: &mut Form) -> Translated {
    if form.take(Modifier::BulkGroup) {
        let tile = tile(form, Modifier::Im2colNoOffs)?;
        return from_shared(t, form, tile, Op::TensorStore(tile));
    }
    let tile = tile(form, Modifier::Im2col)?;
    let multicast = form.take(Modifier::MulticastCluster);
    let hint = form.take(Modifier::L2CacheHint);
    // Both name shared memory of the CTA's own part of the cluster's.
    let is_shared = form.take(Modifier::SharedCluster) || form.take(Modifier::SharedCta);
    if !is_shared || !form.take(Modifier::Global) || !form.take(Modifier::MbarrierCompleteTxBytes) {
        return Err(Unsupported);
    }
    let more = [tile.im2col, multicast].map(usize::from);
    form.expect_operands(3 + more[0] + more[1] + usize::from(hint))?;
    let to = place(t, form.operand(0)?, Space::Shared)?;
    let barrier = place(t, form.operand(2)?, Space::Shared)?;
    let policy = hint.then(|| form.operand(3 + more[0] + more[1])).transpose()?;
    let (map, coordinates) = map_and_coordinates(t, form.operand(1)?, tile, policy)?;
    let mut args = Args::from_slice(&[to, barrier, map]);
    args.extend(coordinates);
    if tile.im2col {
        args.push(offsets(t, form.operand(3)?, tile)?);
    }
    if multicast {
        args.push(ctas(t, form.operand(3 + more[0])?)?);
    }
    t.inst(Op::TensorLoad { tile, multicast }, Type::B32, &args);
    Ok(())
}

/// `cp.reduce.async.bulk.tensor`.
pub(super) fn update(t: &mut Translator, form: &mut Form) -> Translated {
    let op = form.choose::<modifiers::TensorUpdate>().ok_or(Unsupported)?.into();
    let tile = tile(form, Modifier::Im2colNoOffs)?;
    if !form.take(Modifier::BulkGroup) {
        return Err(Unsupported);
    }
    from_shared(t, form, tile, Op::TensorRed { op, tile })
}

/// `cp.async.bulk.prefetch.tensor`.
pub(super) fn prefetch(t: &mut Translator, form: &mut Form) -> Translated {
    let tile = tile(form, Modifier::Im2col)?;
    let hint = form.take(Modifier::L2CacheHint);
    if !form.take(Modifier::L2) || !form.take(Modifier::Global) {
        return Err(Unsupported);
    }
    let more = usize::from(tile.im2col);
    form.expect_operands(1 + more + usize::from(hint))?;
    let policy = hint.then(|| form.operand(1 + more)).transpose()?;
    let (map, coordinates) = map_and_coordinates(t, form.operand(0)?, tile, policy)?;
    let mut args = Args::from_slice(&[map]);
    args.extend(coordinates);
    if tile.im2col {
        args.push(offsets(t, form.operand(1)?, tile)?);
    }
    t.inst(Op::TensorPrefetch(tile), Type::B32, &args);
    Ok(())
}

/// A copy from shared memory to a tensor.
fn from_shared(t: &mut Translator, form: &mut Form, tile: TensorBox, op: Op) -> Translated {
    let hint = form.take(Modifier::L2CacheHint);
    if !form.take(Modifier::Global) || !form.take(Modifier::SharedCta) {
        return Err(Unsupported);
    }
    form.expect_operands(2 + usize::from(hint))?;
    let from = place(t, form.operand(1)?, Space::Shared)?;
    let policy = hint.then(|| form.operand(2)).transpose()?;
    let (map, coordinates) = map_and_coordinates(t, form.operand(0)?, tile, policy)?;
    let mut args = Args::from_slice(&[from, map]);
    args.extend(coordinates);
    t.inst(op, Type::B32, &args);
    Ok(())
}

/// The generic address of a tensor map and the coordinates of a box, from `[map, {x, y}]`.
fn map_and_coordinates(
    t: &mut Translator,
    operand: &Operand,
    tile: TensorBox,
    policy: Option<&Operand>,
) -> Translated<(Value, Vec<Value>)> {
    let address = texture::address(operand)?;
    let [coordinates] = &address.rest[..] else { return Err(Unsupported) };
    let base = address.place.base.as_ref().ok_or(Unsupported)?;
    let map = t.named(operand.id, base)?;
    let mut map = t.extend(map, Type::B64, false)?;
    let offset = t.offset(&address.place)?;
    if offset != 0 {
        let offset = t.constant(Type::B64, offset as u64);
        map = t.emit(Op::Iadd, Type::B64, &[map, offset]);
    }
    if let Some(policy) = policy {
        map = hinted(t, Space::Generic, map, policy)?;
    }
    let coordinates = words(t, coordinates, Scalar::B32)?;
    if coordinates.len() != usize::from(tile.dimensions) {
        return Err(Unsupported);
    }
    Ok((map, coordinates))
}

/// The elements of a vector, or the only one.
fn words(t: &mut Translator, operand: &Operand, scalar: Scalar) -> Translated<Vec<Value>> {
    match &operand.kind {
        OperandKind::Vector(_) => t.read_all(operand, scalar),
        _ => Ok(vec![t.read(operand, scalar)?]),
    }
}

/// The offsets of an image's pixels in half a word.
fn offsets(t: &mut Translator, operand: &Operand, tile: TensorBox) -> Translated<Value> {
    let offsets = words(t, operand, Scalar::U16)?;
    let bits = match tile.offsets() {
        count if usize::from(count) != offsets.len() => return Err(Unsupported),
        1 => 16,
        2 => 8,
        _ => 5,
    };
    let mut packed = None;
    for (offset, at) in offsets.into_iter().zip((0u64..).step_by(bits)) {
        let offset = t.extend(offset, Type::B32, false)?;
        let mask = t.constant(Type::B32, (1 << bits) - 1);
        let offset = t.emit(Op::And, Type::B32, &[offset, mask]);
        let at = t.constant(Type::B32, at);
        let offset = t.emit(Op::Shl, Type::B32, &[offset, at]);
        packed = Some(match packed {
            None => offset,
            Some(others) => t.emit(Op::Or, Type::B32, &[others, offset]),
        });
    }
    packed.ok_or(Unsupported)
}
