//! Queries about textures, samplers and surfaces.
//!
//! ```text
//! txq.width.b32            d, [t];     an operation on the texture
//! txq.channel_order.b32    d, [t];     a load from the driver's table of textures
//! suq.memory_layout.b32    d, [s];     a load from its table of surfaces
//! ```
//!
//! As in ptxas's code, the low bits of a handle are the number of an entry of the table. Only the
//! driver knows the size of an entry.

use ptxc_ir::{Access, CacheOp, MemType, Op, Space, SpecialReg, Type, Value};

use super::form::{Form, Translated, Unsupported};
use super::modifiers::dimension;
use super::texture::handle;
use super::translator::Translator;
use crate::check::table::Modifier;
use crate::check::table::modifiers::{self, Query};

/// The low bits of a handle that are a number. A handle on sm_90 has no others; on older
/// architectures, the number of a sampler has only 12 bits.
const NUMBER_BITS: u64 = 0xf_ffff;

/// A table of the driver.
#[derive(Clone, Copy)]
enum Table {
    /// Textures with their samplers.
    SampledTextures,
    /// Textures of a module with separate samplers.
    Textures,
    Samplers,
    Surfaces,
}

/// The table that has a property, and its place in an entry in bytes. `None` for sizes of textures
/// and surfaces, which are read otherwise.
fn place(query: Query, is_surface: bool, has_samplers: bool) -> Option<(Table, u64)> {
    if is_surface {
        let at = match query {
            Query::ChannelDataType => 0xc,
            Query::ChannelOrder => 0x10,
            Query::MemoryLayout => 0x14,
            Query::ArraySize => 0x1c,
            _ => return None,
        };
        return Some((Table::Surfaces, at));
    }
    let of_sampler = match query {
        Query::AddrMode0 => Some(0),
        Query::AddrMode1 => Some(4),
        Query::AddrMode2 => Some(8),
        Query::FilterMode => Some(0xc),
        Query::ForceUnnormalizedCoords => Some(0x10),
        _ => None,
    };
    let of_texture = match query {
        Query::NormalizedCoords => Some(0),
        Query::ChannelDataType => Some(4),
        Query::ChannelOrder => Some(8),
        Query::ArraySize => Some(0xc),
        Query::NumMipmapLevels => Some(0x10),
        Query::NumSamples => Some(0x14),
        _ => None,
    };
    match (has_samplers, of_sampler, of_texture) {
        (true, Some(at), _) => Some((Table::Samplers, at)),
        (true, None, Some(at)) => Some((Table::Textures, 0xc + at)),
        // Coordinates belong to the texture here; ptxas reads the start of its entry.
        (false, Some(0x10), _) => Some((Table::SampledTextures, 0)),
        (false, Some(at), _) => Some((Table::SampledTextures, 0xc + at)),
        (false, None, Some(at)) => Some((Table::SampledTextures, 0x1c + at)),
        _ => None,
    }
}

/// `txq` and `suq`.
pub(super) fn query(t: &mut Translator, form: &mut Form, is_surface: bool, has_level: bool) -> Translated {
    form.expect_operands(if has_level { 3 } else { 2 })?;
    form.take(Modifier::Level);
    let query = form.choose::<modifiers::Query>().ok_or(Unsupported)?;
    let value = match dimension(query) {
        Some(dimension) => {
            let handle = handle(t, form.operand(1)?)?;
            let level = match has_level {
                true => t.read(form.operand(2)?, crate::check::scalar::Scalar::B32)?,
                false => t.constant(Type::B32, 0),
            };
            t.emit(Op::ImageSize(dimension), Type::B32, &[handle, level])
        }
        None => {
            let (table, at) = place(query, is_surface, t.env.has_samplers).ok_or(Unsupported)?;
            let handle = handle(t, form.operand(1)?)?;
            property(t, handle, table, at)
        }
    };
    t.write(form.operand(0)?, value)
}

/// Loads a property from a table of the driver.
fn property(t: &mut Translator, handle: Value, table: Table, at: u64) -> Value {
    let textures = [SpecialReg::TextureTable, SpecialReg::TextureTableHigh];
    let (bytes, words) = match table {
        Table::SampledTextures => (SpecialReg::SampledTextureBytes, textures),
        Table::Textures => (SpecialReg::TextureBytes, textures),
        Table::Samplers => {
            (SpecialReg::SamplerBytes, [SpecialReg::SamplerTable, SpecialReg::SamplerTableHigh])
        }
        Table::Surfaces => {
            (SpecialReg::SurfaceBytes, [SpecialReg::SurfaceTable, SpecialReg::SurfaceTableHigh])
        }
    };
    let (low, _) = t.emit_pair(Op::Unpack, Type::B64, &[handle]);
    let mask = t.constant(Type::B32, NUMBER_BITS);
    let number = t.emit(Op::And, Type::B32, &[low, mask]);
    let bytes = t.emit(Op::SpecialReg(bytes), Type::B32, &[]);
    // As in ptxas's code, a table has less than 4 GiB.
    let start = t.emit(Op::Imul, Type::B32, &[number, bytes]);
    let at = t.constant(Type::B32, at);
    let offset = t.emit(Op::Iadd, Type::B32, &[start, at]);
    let offset = t.emit(Op::Zext, Type::B64, &[offset]);
    let words = words.map(|word| t.emit(Op::SpecialReg(word), Type::B32, &[]));
    let table = t.emit(Op::Pack, Type::B64, &words);
    let address = t.emit(Op::Iadd, Type::B64, &[table, offset]);
    let access = Access { cache: CacheOp::Nc, ..Access::weak(Space::Global, MemType::B32) };
    t.emit(Op::Load(access), Type::B32, &[address])
}
