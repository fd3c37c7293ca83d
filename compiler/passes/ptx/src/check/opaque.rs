//! The fields of textures, samplers and surfaces in initialisers.
//!
//! ```text
//! .global .samplerref s = { addr_mode_0 = wrap, filter_mode = linear };
//! ```
//!
//! As in ptxas, a field takes any number and any of the names.

use ptxc_syntax::NodeId;
use ptxc_syntax::ast::{Declaration, Field, FieldValue, Initialiser, Type};
use ptxc_syntax::const_eval::Constant;

use super::features::{self, Feature};
use super::needs::{PtxTarget, PtxVersion};
use crate::diagnostic::Diagnostic;

/// The fields of all objects in memory.
const SIZES: &[&str] = &["width", "height", "depth", "channel_data_type", "channel_order", "array_size"];

/// The fields of textures and samplers.
const SAMPLING: &[&str] = &["addr_mode_0", "addr_mode_1", "addr_mode_2", "filter_mode"];

/// The names of values: how coordinates outside of a texture are mapped into it, and how the value
/// between its elements is found.
const NAMES: &[&str] =
    &["wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border", "nearest", "linear"];

/// Whether an object of that type can have these fields.
pub(super) fn fits(ty: Type, fields: &[Field]) -> bool {
    fields.iter().all(|field| has_field(ty, &field.name.name) && is_value(&field.value))
}

fn has_field(ty: Type, name: &str) -> bool {
    match ty {
        Type::Texref => {
            SIZES.contains(&name)
                || SAMPLING.contains(&name)
                || matches!(name, "normalized_coords" | "num_mipmap_levels" | "num_samples")
        }
        Type::Samplerref => SAMPLING.contains(&name) || name == "force_unnormalized_coords",
        Type::Surfref => SIZES.contains(&name) || name == "memory_layout",
        _ => false,
    }
}

fn is_value(value: &FieldValue) -> bool {
    match value {
        FieldValue::Name(name) => NAMES.contains(&name.name.as_str()),
        FieldValue::Constant(value) => {
            matches!(value.evaluate(), Ok(Constant::S64(_) | Constant::U64(_) | Constant::F64(_)))
        }
    }
}

/// Reports the fields that the module's version lacks.
pub(super) fn check_needs(
    declaration: &Declaration,
    present: (PtxVersion, PtxTarget),
    out: &mut Vec<Diagnostic>,
) {
    let mut check = |fields: &[Field]| {
        for field in fields {
            let node: NodeId = field.name.id;
            let feature: Feature = match field.name.name.as_str() {
                "channel_data_type" => features::CHANNEL_DATA_TYPE,
                "channel_order" => features::CHANNEL_ORDER,
                "force_unnormalized_coords" => features::UNNORMALIZED,
                _ => continue,
            };
            feature.check(node, present, out);
        }
    };
    for initialiser in declaration.declarators.iter().filter_map(|declarator| declarator.initialiser.as_ref())
    {
        match initialiser {
            Initialiser::Fields(fields) => check(fields),
            // An array of objects has one list of them.
            Initialiser::List(list) => {
                for part in list {
                    if let Initialiser::Fields(fields) = part {
                        check(fields);
                    }
                }
            }
            Initialiser::Constant(_) | Initialiser::Address(_) => {}
        }
    }
}
