//! The attributes that describe a kernel to the driver: its parameters, launch bounds, exits and
//! workarounds, and the attributes of the whole file.
//!
//! In: a [`Cubin`] and one of its functions. Out: the contents of `.nv.info.<kernel>` and
//! `.nv.compat`.

use ptxc_machine::Feature;
use ptxc_sass::program::ImageKind;
use rustc_hash::FxHashSet;

use super::attribute::{self as eiattr, Attributes, compat};
use super::contents::{Abi, Cubin, Function, Param};
use super::elf::SymbolId;
use super::notes;

/// If the parameters have at least this many bytes, their attributes are of another kind.
const LARGE_PARAM: u32 = 1 << 14;

/// The first toolkit of each layout that supports all architectures of this crate: 12.8 and 13.0.
pub(super) fn toolkit(abi: Abi) -> u32 {
    match abi {
        Abi::V7 => 0x80,
        Abi::V8 => 0x82,
    }
}

/// `.nv.compat`.
pub(super) fn compatibility(cubin: &Cubin, version: u16) -> Attributes {
    let mut list = Attributes::default();
    list.byte(compat::ACCELERATOR_TARGET, u8::from(cubin.accelerated));
    list.byte(compat::INTERNAL_TARGET, 0);
    list.byte(compat::ISA_CLASS, 1);
    list.half(compat::ISA_VERSION, version);
    list.byte(compat::TENSORMAP_V1, 0);
    list
}

/// The attributes of a kernel, in the order of NVIDIA's compiler.
pub(super) fn kernel_attributes(
    cubin: &Cubin,
    facts: &ptxc_machine::Cubin,
    function: &Function,
    bank: Option<SymbolId>,
    image: &dyn Fn(&str) -> SymbolId,
) -> Attributes {
    let mut list = Attributes::default();
    if let Some(word) = facts.first_workaround {
        list.words(eiattr::SW_WAR, &[word]);
    }
    list.words(eiattr::CUDA_API_VERSION, &[toolkit(cubin.abi)]);
    if facts.has_workaround_2861232 {
        list.flag(eiattr::SW2861232_WAR);
    }
    let end = Param::end(&function.params);
    let parameters = notes::parameter_facts(function);
    for (ordinal, param) in function.params.iter().enumerate().rev() {
        let place = param.offset << 16 | ordinal as u32;
        if let Some((kind, name)) = &param.image {
            let words = [place, image_parameter(*kind)];
            list.symbol_pair(eiattr::KPARAM_INFO, image(name), words);
            continue;
        }
        if end >= LARGE_PARAM {
            list.words(eiattr::KPARAM_INFO_V2, &[0, place, param.size]);
        } else {
            let facts = parameters.get(&(ordinal as u32)).copied().unwrap_or(notes::USUAL_PARAMETER);
            list.words(eiattr::KPARAM_INFO, &[0, place, param.size << 18 | facts]);
        }
    }
    let launch = &function.launch;
    if launch.explicit_cluster {
        list.flag(eiattr::EXPLICIT_CLUSTER);
    }
    if let Some(shape) = launch.cluster {
        list.words(eiattr::CTA_PER_CLUSTER, &shape);
    }
    if let Some(rank) = launch.max_cluster_rank {
        list.words(eiattr::MAX_CLUSTER_RANK, &[rank]);
    }
    if facts.has_sparse_mma_mask {
        list.half(eiattr::SPARSE_MMA_MASK, function.sparse_products);
    }
    if function.is_kernel || function.max_registers < 255 {
        list.half(eiattr::MAXREG_COUNT, function.max_registers.min(255) as u16);
    }
    if cubin.abi == Abi::V8 {
        if function.barriers > 0 {
            list.byte(eiattr::NUM_BARRIERS, function.barriers.min(255) as u8);
        }
        list.half(eiattr::MERCURY_ISA_VERSION, facts.mercury_version);
    }
    list.words(eiattr::EXIT_INSTR_OFFSETS, &function.exits);
    for branch in &function.branches {
        // An attribute holds at most this many words; the rest of a long table follows as if it
        // were another table.
        for targets in branch.targets.chunks(eiattr::MOST_WORDS - 3) {
            let mut words = vec![branch.offset, 0, targets.len() as u32];
            words.extend(targets);
            list.words(eiattr::INDIRECT_BRANCH_TARGETS, &words);
        }
    }
    if let Some(shape) = launch.threads {
        list.words(eiattr::REQNTID, &shape);
    }
    if let Some(shape) = launch.max_threads {
        list.words(eiattr::MAX_THREADS, &shape);
    }
    if let Some(bytes) = function.call_stack {
        list.words(eiattr::CRS_STACK_SIZE, &[bytes]);
    }
    if !function.params.is_empty() {
        list.half(eiattr::CBANK_PARAM_SIZE, end as u16);
        if let Some(bank) = bank {
            let place = end << 16 | cubin.arch.facts().banks.param_base;
            list.symbol_word(eiattr::PARAM_CBANK, bank, place);
        }
    }
    if let Some(word) = facts.last_workaround {
        list.words(eiattr::SW_WAR, &[word]);
    }
    let words = function.bank(0).map_or(&[][..], |bank| &bank.relocations);
    // In an object, instructions name them. On sm_90 such instructions only load, so nothing says which.
    let names_words = !cubin.arch.has(Feature::UniformHandles);
    let in_code = function.relocations.iter().filter(|one| names_words && one.kind.names_image_word());
    let in_code = in_code.filter_map(|one| image_named(cubin, function, &one.target));
    let all: FxHashSet<ImageKind> = words.iter().filter_map(|one| one.kind.image()).chain(in_code).collect();
    let kinds = || all.iter().copied();
    let has_both = cubin.arch.has(Feature::UniformHandles) && kinds().next().is_some();
    if has_both || kinds().any(|kind| kind != ImageKind::Surface) {
        list.byte(eiattr::BINDLESS_TEXTURE_BANK, 0);
    }
    if has_both || kinds().any(|kind| kind == ImageKind::Surface) {
        list.byte(eiattr::BINDLESS_SURFACE_BANK, 0);
    }
    list
}

/// The kind of a texture, sampler or surface that a function names.
fn image_named(cubin: &Cubin, function: &Function, name: &str) -> Option<ImageKind> {
    let own = function.params.iter().filter_map(|param| param.image.as_ref());
    let own = own.filter(|(_, known)| known == name).map(|(kind, _)| *kind);
    let of_file = cubin.images.iter().filter(|image| image.name == name).map(|image| image.kind);
    own.chain(of_file).next()
}

/// The facts about a parameter that is a texture, sampler or surface.
fn image_parameter(kind: ImageKind) -> u32 {
    let kind = match kind {
        ImageKind::Texture => 6,
        ImageKind::Surface => 7,
        ImageKind::Sampler | ImageKind::UpperSampler => 8,
    };
    notes::USUAL_PARAMETER | kind << IMAGE_SHIFT
}

/// The kind of a parameter with these facts, if it is a texture, sampler or surface.
pub(super) fn image_of(facts: u32) -> Option<ImageKind> {
    [ImageKind::Texture, ImageKind::Surface, ImageKind::Sampler]
        .into_iter()
        .find(|&kind| image_parameter(kind) == facts)
}

/// The place of the kind in the facts about a parameter.
const IMAGE_SHIFT: u32 = 8;
