//! The fields of textures, samplers and surfaces in initialisers.
//!
//! ```text
//! .global .samplerref s = { addr_mode_0 = wrap, filter_mode = linear };
//! ```

use ptxc_syntax::ast::{Field, FieldValue, Type};
use ptxc_syntax::const_eval::Constant;

/// The fields whose values are numbers.
const NUMBERS: &[&str] = &[
    "width",
    "height",
    "depth",
    "channel_data_type",
    "channel_order",
    "normalized_coords",
    "force_unnormalized_coords",
    "array_size",
    "num_mipmap_levels",
    "num_samples",
    "memory_layout",
];

/// How coordinates outside of a texture are mapped into it.
const ADDRESS_MODES: &[&str] = &["wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border"];

/// How the value between the elements of a texture is found.
const FILTER_MODES: &[&str] = &["nearest", "linear"];

/// Whether an object of that type can have these fields.
pub(super) fn fits(ty: Type, fields: &[Field]) -> bool {
    matches!(ty, Type::Texref | Type::Samplerref | Type::Surfref) && fields.iter().all(is_known)
}

fn is_known(field: &Field) -> bool {
    let names = match field.name.name.as_str() {
        "addr_mode_0" | "addr_mode_1" | "addr_mode_2" => ADDRESS_MODES,
        "filter_mode" => FILTER_MODES,
        number if NUMBERS.contains(&number) => &[],
        _ => return false,
    };
    match &field.value {
        FieldValue::Name(name) => names.contains(&name.name.as_str()),
        FieldValue::Constant(value) => {
            names.is_empty() && matches!(value.evaluate(), Ok(Constant::S64(_) | Constant::U64(_)))
        }
    }
}
