//! The arguments of directives about code: targets, resources, parameters, source files.

use std::collections::BTreeMap;

use ptxc_machine::Arch;
use rustc_hash::FxHashMap;

use super::is_name;
use super::kernel::Target;
use crate::program::{CONSTANT_BANK_BYTES, ImageKind, ImageWord, ParamInfo, Program, Resources};

pub(super) fn target(text: &str) -> Result<Target, String> {
    let text = text.trim();
    let name = text.trim_end_matches(['a', 'f']);
    let accelerated = text.ends_with('a');
    name.parse().map(|arch| Target { arch, accelerated }).map_err(|()| {
        let known: Vec<String> = Arch::ALL.iter().map(Arch::to_string).collect();
        format!("`{}` is no architecture that is known here: {}", text.trim(), known.join(", "))
    })
}

pub(super) fn resources(text: &str) -> Result<Resources, String> {
    let mut resources = Resources::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, number) = part.split_once('=').ok_or_else(|| format!("`{part}` is not NAME=NUMBER"))?;
        let number = number.parse().map_err(|_| format!("`{number}` is no number"))?;
        let place = resources.by_name(name).ok_or_else(|| format!("there is no resource `{name}`"))?;
        *place = number;
    }
    Ok(resources)
}

fn image_kind(name: &str) -> Option<ImageKind> {
    ImageKind::ALL.into_iter().find(|one| one.name() == name)
}

/// `n b32 +0, block b8[12] +4, t texture`.
pub(super) fn parameters(text: &str) -> Result<Vec<ParamInfo>, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let read = |part: &str| {
        let mut words = part.split_whitespace();
        let (name, kind) = (words.next()?, words.next()?);
        if let Some(image) = image_kind(kind) {
            let name = name.to_string();
            let param = ParamInfo { name, size: 0, offset: ParamInfo::NO_PLACE, image: Some(image) };
            return words.next().is_none().then_some(param);
        }
        let offset = words.next()?.strip_prefix('+')?;
        let size = match kind.strip_prefix("b8[").and_then(|kind| kind.strip_suffix(']')) {
            Some(bytes) => bytes.parse().ok()?,
            None => kind.strip_prefix('b')?.parse::<u32>().ok().filter(|bits| bits % 8 == 0)? / 8,
        };
        let param = ParamInfo { name: name.to_string(), size, offset: offset.parse().ok()?, image: None };
        // The whole block has to fit its constant bank.
        let fits = param.size <= 1 << 16 && param.offset <= 1 << 16;
        (words.next().is_none() && fits).then_some(param)
    };
    parts
        .map(|part| read(part).ok_or_else(|| format!("`{part}` is no parameter such as `n b32 +0`")))
        .collect()
}

/// `texture t +12, sampler s +16`: words after the parameters, at most as many as a bank has.
pub(super) fn images(text: &str) -> Result<Vec<ImageWord>, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let read = |part: &str| {
        let mut words = part.split_whitespace();
        let (kind, name, offset) = (words.next()?, words.next()?, words.next()?.strip_prefix('+')?);
        let kind = image_kind(kind)?;
        let offset = offset.parse().ok().filter(|offset| *offset < CONSTANT_BANK_BYTES)?;
        (words.next().is_none() && is_name(name)).then(|| ImageWord { offset, kind, name: name.to_string() })
    };
    parts
        .map(|part| read(part).ok_or_else(|| format!("`{part}` is not a word such as `texture t +12`")))
        .collect()
}

/// `texture t`: the kind and the name of a texture, sampler or surface.
pub(super) fn image(text: &str) -> Result<(ImageKind, String), String> {
    let mut words = text.split_whitespace();
    let mut read = || {
        let (kind, name) = (image_kind(words.next()?)?, words.next()?);
        (words.next().is_none() && is_name(name)).then(|| (kind, name.to_string()))
    };
    read().ok_or_else(|| format!("`{}` is not a name such as `texture t`", text.trim()))
}

/// `1 "k.cu"`: the number and the name of a source file.
pub(super) fn source_file(text: &str) -> Option<(u32, String)> {
    let (number, name) = text.trim().split_once(char::is_whitespace)?;
    let name = name.trim().strip_prefix('"')?.split('"').next()?;
    Some((number.parse().ok()?, name.to_string()))
}

/// Replaces the numbers of files by indices. Lines of files without a name are dropped.
pub(super) fn name_files(program: &mut Program, files: &BTreeMap<u32, String>) {
    if program.lines.is_empty() {
        return;
    }
    let index: FxHashMap<u32, u32> = files.keys().copied().zip(0..).collect();
    program.lines.retain_mut(|line| match index.get(&line.file) {
        Some(&index) => {
            line.file = index;
            true
        }
        None => false,
    });
    program.files = files.values().cloned().collect();
}
