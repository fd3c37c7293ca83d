//! Changes of tensor maps by the program.
//!
//! ```text
//! tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [m], 1, n;
//!     =>   v1 = load.shared.b32 [v0 + 56]          // word 14 holds the box's dimensions 1 to 4
//!          …                                       // bits 0 to 7 become n - 1
//!          store.shared.b32 [v0 + 56], v2
//! ```
//!
//! A tensor map has 32 words. ptxas translates a replacement to loads, bitwise operations and stores
//! for sm_90a, which tell where the fields are (`docs/facts/tensor-maps.md`):
//!
//! ```text
//! words 0, 1    the address
//! word 2        bits 4:6 the rank less one, 7:10 and 16 the type, 11:12 the interleaving,
//!               13:14 the swizzle, 15 the fill; replacing the address clears bit 21, the swizzle bit 22
//! words 3 to 6  bits 35:4 of the strides of dimensions 1 to 4
//! word 7        bits 39:36 of these strides, four bits each
//! words 8 to 12 the sizes less one
//! word 13       the element strides less one, three bits each; bits 24:31 the box's first size less one
//! word 14       the box's other sizes less one, eight bits each
//! ```

use ptxc_ir::{Access, AtomicOp, MemType, Op, Order, Scope, Space, SpecialReg, Type, Value};
use ptxc_syntax::ast::Operand;

use super::form::{Form, Translated, Unsupported};
use super::mbarrier::place;
use super::memory;
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::modifiers::TensormapField as Field;
use crate::check::table::{Modifier, modifiers};

/// The size of a tensor map in bytes.
pub(super) const BYTES: u64 = 128;

/// The code of `tf32`. It and the next one are floats with a bit of their own.
const TF32: u64 = 11;
/// The codes of `f32` and `tf32` differ by this.
const TO_F32: u64 = 4;

/// A tensor map in memory.
struct Map {
    space: Space,
    address: Value,
}

impl Map {
    fn access(&self, word: u64, elem: MemType) -> Access {
        Access { offset: 4 * word as i32, ..Access::weak(self.space, elem) }
    }

    fn store(&self, t: &mut Translator, word: u64, value: Value) {
        t.inst(Op::Store(self.access(word, MemType::B32)), Type::B32, &[self.address, value]);
    }

    /// Replaces the bits of a word that `mask` has with those of `value`, moved up by `shift`.
    fn replace(&self, t: &mut Translator, word: u64, (mask, shift): (u64, u64), value: Value) {
        let old = t.emit(Op::Load(self.access(word, MemType::B32)), Type::B32, &[self.address]);
        let by = t.constant(Type::B32, shift);
        let moved = t.emit(Op::Shl, Type::B32, &[value, by]);
        let [mask, rest] = [mask, !mask].map(|mask| t.constant(Type::B32, mask & u64::from(u32::MAX)));
        let moved = t.emit(Op::And, Type::B32, &[moved, mask]);
        let kept = t.emit(Op::And, Type::B32, &[old, rest]);
        let new = t.emit(Op::Or, Type::B32, &[kept, moved]);
        self.store(t, word, new);
    }
}

/// `tensormap.replace`.
pub(super) fn replace(t: &mut Translator, form: &mut Form) -> Translated {
    form.take(Modifier::Tile);
    let field = form.choose::<Field>().ok_or(Unsupported)?;
    let space = form.choose::<modifiers::Space>().map_or(Space::Generic, Space::from);
    let address = place(t, form.operand(0)?, space)?;
    let address = t.extend(address, space.address_type(), false)?;
    let map = Map { space, address };
    let is_of_dimension =
        matches!(field, Field::BoxDim | Field::GlobalDim | Field::ElementStride | Field::GlobalStride);
    form.expect_operands(2 + usize::from(is_of_dimension))?;
    let dimension = match is_of_dimension {
        true => memory::constant(form.operand(1)?)?,
        false => 0,
    };
    if dimension > 4 {
        return Err(Unsupported);
    }
    let given = form.operand(1 + usize::from(is_of_dimension))?;
    match field {
        Field::GlobalAddress => {
            let value = t.read(given, Scalar::B64)?;
            let access = map.access(0, MemType::B64);
            t.inst(Op::Store(access), Type::B64, &[address, value]);
            let zero = t.constant(Type::B32, 0);
            map.replace(t, 2, (1 << 21, 0), zero);
        }
        Field::Rank => {
            let value = t.read(given, Scalar::B32)?;
            map.replace(t, 2, (0x70, 4), value);
        }
        Field::BoxDim => {
            let value = less_one(t, given)?;
            let (word, shift) = if dimension == 0 { (13, 24) } else { (14, 8 * (dimension - 1)) };
            map.replace(t, word, (0xff << shift, shift), value);
        }
        Field::GlobalDim => {
            let value = less_one(t, given)?;
            map.store(t, 8 + dimension, value);
        }
        Field::ElementStride => {
            let value = less_one(t, given)?;
            map.replace(t, 13, (7 << (3 * dimension), 3 * dimension), value);
        }
        Field::GlobalStride => {
            let value = t.read(given, Scalar::B64)?;
            let by = t.constant(Type::B32, 4);
            let units = t.emit(Op::Shr, Type::B64, &[value, by]);
            let (low, high) = t.emit_pair(Op::Unpack, Type::B64, &[units]);
            map.store(t, 3 + dimension, low);
            map.replace(t, 7, (0xf << (4 * dimension), 4 * dimension), high);
        }
        Field::Elemtype => {
            let code = memory::constant(given)?;
            let is_tf32 = code >= TF32;
            if is_tf32 {
                let one = t.constant(Type::B32, 1);
                map.replace(t, 2, (1 << 16, 16), one);
            }
            let value = t.constant(Type::B32, if is_tf32 { code - TO_F32 } else { code });
            map.replace(t, 2, (0x780, 7), value);
        }
        Field::InterleaveLayout => constant(t, &map, given, (0x1800, 11))?,
        Field::SwizzleMode => {
            // The other bit tells how large the pieces of a swizzle are.
            constant(t, &map, given, (0x6000 | 1 << 22, 13))?;
        }
        Field::FillMode => constant(t, &map, given, (0x8000, 15))?,
    }
    Ok(())
}

/// Replaces a field of word 2 with a constant.
fn constant(t: &mut Translator, map: &Map, given: &Operand, place: (u64, u64)) -> Translated {
    let code = memory::constant(given)?;
    let value = t.constant(Type::B32, code);
    map.replace(t, 2, place, value);
    Ok(())
}

fn less_one(t: &mut Translator, given: &Operand) -> Translated<Value> {
    let value = t.read(given, Scalar::B32)?;
    let minus_one = t.constant(Type::B32, u32::MAX.into());
    Ok(t.emit(Op::Iadd, Type::B32, &[value, minus_one]))
}

/// `tensormap.cp_fenceproxy`: each lane of the warp copies a word. As in ptxas's code, an exchange
/// puts the word where loads of tensor maps see it, and all lanes do so before any goes on.
pub(super) fn publish(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(3)?;
    let scope: Scope = form.choose::<modifiers::Scope>().ok_or(Unsupported)?.into();
    let spaces = [Modifier::Global, Modifier::SharedCta, Modifier::TensormapGeneric];
    let order = [Modifier::Release, Modifier::Sync, Modifier::Aligned];
    if !spaces.into_iter().chain(order).all(|modifier| form.take(modifier)) {
        return Err(Unsupported);
    }
    if memory::constant(form.operand(2)?)? != BYTES {
        return Err(Unsupported);
    }
    let to = place(t, form.operand(0)?, Space::Global)?;
    let from = place(t, form.operand(1)?, Space::Shared)?;
    let lane = t.emit(Op::SpecialReg(SpecialReg::LaneId), Type::B32, &[]);
    let by = t.constant(Type::B32, 2);
    let offset = t.emit(Op::Shl, Type::B32, &[lane, by]);
    let from = t.emit(Op::Iadd, Type::B32, &[from, offset]);
    let offset = t.extend(offset, Type::B64, false)?;
    let to = t.emit(Op::Iadd, Type::B64, &[to, offset]);
    let all = t.constant(Type::B32, u32::MAX.into());
    t.inst(Op::WarpSync, Type::B32, &[all]);
    let word = t.emit(Op::Load(Access::weak(Space::Shared, MemType::B32)), Type::B32, &[from]);
    let scope_of_copy = if scope == Scope::Cta { Scope::Gpu } else { scope };
    let access =
        Access { order: Order::Relaxed, scope: scope_of_copy, ..Access::weak(Space::Global, MemType::B32) };
    t.inst(Op::Atomic { op: AtomicOp::Exch, access }, Type::B32, &[to, word]);
    t.inst(Op::WarpSync, Type::B32, &[all]);
    if scope == Scope::Sys {
        t.inst(Op::TensormapRelease(scope), Type::B32, &[]);
    }
    Ok(())
}
