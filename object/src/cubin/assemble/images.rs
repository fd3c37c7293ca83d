//! The textures, samplers and surfaces of programs in a cubin.
//!
//! In: the words after the parameters that programs name, the parameters, and the objects that a
//! module declares. Out: the relocations of constant bank 0, by which the driver fills the words, and
//! the names that the file needs symbols for.

use ptxc_sass::Program;
use ptxc_sass::kept::{Attribute, AttributeValue, Kept};
use ptxc_sass::program::{ImageWord, ParamInfo};
use ptxc_sass::variable::Pointer;
use rustc_hash::FxHashSet;

use super::Source;
use crate::cubin::attribute as eiattr;
use crate::cubin::contents::{Image, Param};
use crate::cubin::error::CubinError;
use crate::cubin::relocation::{Relocation, RelocationKind};

/// The relocations of constant bank 0.
pub(super) fn words(program: &Program) -> Vec<Relocation> {
    let word = |word: &ImageWord| Relocation {
        at: u64::from(program.arch.facts().banks.param_base.saturating_add(word.offset)),
        kind: RelocationKind::of_image(word.kind),
        target: word.name.clone(),
        addend: 0,
    };
    let mut relocations: Vec<Relocation> = program.image_words.iter().map(word).collect();
    relocations.sort_unstable();
    relocations
}

/// The address of a texture, sampler or surface in the content of a variable. As in ptxas's files, it is generic.
///
/// # Errors
/// A part of an address that no relocation writes.
pub(super) fn address(pointer: &Pointer) -> Result<Relocation, CubinError> {
    let kind = RelocationKind::of_data(pointer.bytes, pointer.shift, true);
    let target = pointer.target.clone();
    let kind = kind.ok_or_else(|| CubinError::Unsupported(format!("a part of the address of `{target}`")))?;
    Ok(Relocation { at: pointer.at.into(), kind, target, addend: pointer.addend })
}

/// A parameter, which has no bytes if it is a texture, sampler or surface.
pub(super) fn param(param: &ParamInfo) -> Param {
    let image = param.image.map(|kind| (kind, param.name.clone()));
    Param { image, offset: param.offset, size: param.size }
}

/// The attributes with the content of a sampler: bytes for its coordinates and its filter, and
/// whether coordinates count texels.
pub fn sampler_attributes(name: &str, bytes: [u8; 4], unnormalized: Option<u32>) -> Vec<Attribute> {
    let attribute = |code, word| Attribute { code, value: AttributeValue::Of(name.to_string(), word) };
    let unnormalized = unnormalized.map(|word| attribute(eiattr::SAMPLER_FORCE_UNNORMALIZED, word));
    let content = attribute(eiattr::SAMPLER_INIT, u32::from_le_bytes(bytes));
    unnormalized.into_iter().chain([content]).collect()
}

/// The textures, samplers and surfaces of a module, those that a text keeps, and those that only the kernels
/// name.
pub(super) fn named(sources: &[Source<'_>], declared: Vec<Image>, kept: &Kept) -> Vec<Image> {
    let mut images = declared;
    let mut known: FxHashSet<String> = images.iter().map(|image| image.name.clone()).collect();
    let others = kept.images.iter().filter(|(_, name)| known.insert(name.clone()));
    images.extend(others.map(|(kind, name)| Image { name: name.clone(), kind: *kind }));
    for program in sources.iter().map(|source| source.program) {
        for word in &program.image_words {
            let is_param =
                program.params.iter().any(|param| param.image.is_some() && param.name == word.name);
            if !is_param && known.insert(word.name.clone()) {
                images.push(Image { name: word.name.clone(), kind: word.kind });
            }
        }
    }
    images
}
