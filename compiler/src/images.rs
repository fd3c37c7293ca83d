//! The textures, samplers and surfaces of a module in its cubin.
//!
//! ```text
//! .global .texref t;                                              symbol t
//! .global .samplerref s = { addr_mode_0 = wrap, filter_mode = linear };   =>    symbol s, SAMPLER_INIT 0x01ffff00
//! ```
//!
//! The driver knows an object by its symbol, whether a kernel names it or not. Only the content of
//! a sampler is in the file: a byte for each coordinate and one for the filter.

use ptxc_object::cubin::{Image, sampler_attributes};
use ptxc_sass::kept::Attribute;
use ptxc_sass::program::ImageKind;
use ptxc_syntax::ast::{Declaration, Field, FieldValue, Initialiser, Item, Type};
use ptxc_syntax::const_eval::Constant;
use ptxc_syntax::items::ItemKind;
use ptxc_syntax::parse_item;

use crate::db::Db;
use crate::input::SourceFile;
use crate::input::items::items;
use crate::module::module_variables;

/// The names of values, by their numbers from 1 on.
const NAMES: [&str; 7] =
    ["wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border", "nearest", "linear"];

/// The byte of a field that a sampler does not have.
const ABSENT: u8 = 0xff;

/// The textures, samplers and surfaces that a file declares.
pub(crate) fn declared(db: &dyn Db, file: SourceFile) -> Vec<Image> {
    let image = |ty| match ty {
        Type::Texref => Some(ImageKind::Texture),
        Type::Samplerref => Some(ImageKind::Sampler),
        Type::Surfref => Some(ImageKind::Surface),
        _ => None,
    };
    let variables = module_variables(db, file).iter();
    variables
        .filter_map(|(name, variable)| Some(Image { name: name.to_string(), kind: image(variable.ty)? }))
        .collect()
}

/// The attributes with the contents of samplers.
pub(crate) fn samplers(db: &dyn Db, file: SourceFile) -> Vec<Attribute> {
    let mut list = Vec::new();
    // Only a module with samplers is worth parsing again.
    if !module_variables(db, file).values().any(|variable| variable.ty == Type::Samplerref) {
        return list;
    }
    for item in items(db, file).others.iter().filter(|item| item.kind == ItemKind::Variable) {
        let Some(Item::Declaration(declaration)) = parse_item(&item.text, item.kind).value else { continue };
        list.extend(contents(&declaration));
    }
    list
}

fn contents(declaration: &Declaration) -> Vec<Attribute> {
    let is_sampler = declaration.specifiers.ty == Type::Samplerref;
    let samplers = declaration.declarators.iter().filter(|one| is_sampler && one.dimensions.is_empty());
    samplers
        .flat_map(|declarator| {
            let fields = match &declarator.initialiser {
                Some(Initialiser::Fields(fields)) => &fields[..],
                _ => &[],
            };
            let field =
                |name: &str| fields.iter().rev().find(|field| field.name.name == name).and_then(number);
            let bytes =
                ["addr_mode_0", "addr_mode_1", "addr_mode_2", "filter_mode"].map(|name| byte(field(name)));
            let unnormalized = field("force_unnormalized_coords").map(|number| number as u32);
            sampler_attributes(&declarator.name.name, bytes, unnormalized)
        })
        .collect()
}

/// The number of a field.
fn number(field: &Field) -> Option<u64> {
    match &field.value {
        FieldValue::Name(name) => {
            (1..).zip(NAMES).find(|(_, known)| name.name == *known).map(|(number, _)| number)
        }
        FieldValue::Constant(value) => value.evaluate().ok().and_then(Constant::integer_bits),
    }
}

/// The byte of a field. As in ptxas's files, only the low three bits of a number count, and the
/// filters continue the numbers of the other names.
fn byte(number: Option<u64>) -> u8 {
    match number.map(|number| number & 7) {
        None | Some(0) => ABSENT,
        Some(number) => ((number - 1) % 5) as u8,
    }
}
