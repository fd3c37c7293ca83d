//! The textures, samplers and surfaces of programs in a cubin.
//!
//! In: the words after the parameters that programs name, the parameters, and the objects that a
//! module declares. Out: the relocations of constant bank 0, by which the driver fills the words, and
//! the names that the file needs symbols for.

use ptxc_sass::Program;
use ptxc_sass::kept::{Attribute, AttributeValue};
use ptxc_sass::program::{ImageWord, ParamInfo};
use rustc_hash::FxHashSet;

use super::Source;
use crate::cubin::attribute as eiattr;
use crate::cubin::contents::{Image, Param};
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

/// The textures, samplers and surfaces of a module, and those that only the kernels name.
pub(super) fn named(sources: &[Source<'_>], declared: Vec<Image>) -> Vec<Image> {
    let mut images = declared;
    let mut known: FxHashSet<String> = images.iter().map(|image| image.name.clone()).collect();
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
