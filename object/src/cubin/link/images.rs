//! The words of textures, samplers and surfaces in a linked program.
//!
//! In: functions whose instructions name a texture, sampler or surface by a relocation. Out: the same
//! functions with places in constant bank 0 in these instructions, and kernels whose bank 0 has the words
//! after the parameters.
//!
//! ```text
//! k: 16 bytes of parameters, calls f         TEX … 0x0, 0x5d, 2D          c[0x0][0x170]: s   (sm_80)
//!    TEX … `(t)                         =>   SULD … 0x0, 0x5c             c[0x0][0x174]: t
//! f: SULD … `(s)
//! ```
//!
//! A function is in the file once, so its words have the same places in all kernels: after the longest list of
//! parameters. A kernel has the words of the functions that it may call. Linear in the relocations, plus the
//! calls that each kernel may reach.

use ptxc_machine::Feature;
use ptxc_sass::program::{CONSTANT_BANK_BYTES, ImageKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::contents::{Cubin, Function, Param};
use super::super::relocation::{Relocation, RelocationKind};

/// The place of a word's number in an instruction.
const NUMBER_SHIFT: u32 = 40;

/// Whether a name is that of a kernel's own parameter.
pub(super) fn is_parameter(function: &Function, name: &str) -> bool {
    let named = |param: &Param| param.image.as_ref().is_some_and(|(_, own)| own == name);
    function.params.iter().any(named)
}

/// Gives the words places. `callees` has the functions that each function may call. Returns whether the bank
/// has room for all words.
#[must_use]
pub(super) fn place(cubin: &mut Cubin, callees: &[Vec<usize>]) -> bool {
    let is_named = |function: &Function| function.relocations.iter().any(|one| one.kind.names_image_word());
    if !cubin.functions.iter().any(is_named) {
        return true;
    }
    let kinds: FxHashMap<String, ImageKind> =
        cubin.images.iter().map(|image| (image.name.clone(), image.kind)).collect();
    let base = cubin.arch.facts().banks.param_base;
    let in_upper_bits = !cubin.arch.has(Feature::UniformHandles);
    let word = |at: u32, kind: ImageKind, name: &str| {
        let kind = match kind {
            ImageKind::Sampler if in_upper_bits => ImageKind::UpperSampler,
            kind => kind,
        };
        let kind = RelocationKind::of_image(kind);
        Relocation { at: at.into(), kind, target: name.to_string(), addend: 0 }
    };
    // The words of parameters directly follow the parameters.
    let mut own: Vec<FxHashMap<String, u32>> = Vec::with_capacity(cubin.functions.len());
    let mut end = base;
    for function in &mut cubin.functions {
        let mut places = FxHashMap::default();
        let images: Vec<(ImageKind, String)> =
            function.params.iter().filter_map(|param| param.image.clone()).collect();
        if let Some(bank) = function.banks.iter_mut().find(|bank| bank.number == 0) {
            for (kind, name) in images {
                let at = (bank.bytes.len() as u32).next_multiple_of(4);
                bank.bytes.resize(at as usize + 4, 0);
                bank.relocations.push(word(at, kind, &name));
                places.insert(name, at);
            }
            end = end.max((bank.bytes.len() as u32).next_multiple_of(4));
        }
        own.push(places);
    }
    // The others have the same places in all kernels.
    let mut shared: FxHashMap<String, u32> = FxHashMap::default();
    let mut named: Vec<Vec<String>> = Vec::with_capacity(cubin.functions.len());
    for (function, own) in cubin.functions.iter_mut().zip(&own) {
        let mut names = Vec::new();
        let code = &mut function.code;
        function.relocations.retain(|one| {
            if !one.kind.names_image_word() {
                return true;
            }
            let at = own.get(&one.target).copied().unwrap_or_else(|| {
                names.push(one.target.clone());
                *shared.entry(one.target.clone()).or_insert_with(|| {
                    end += 4;
                    end - 4
                })
            });
            write(code, one.at, at);
            false
        });
        named.push(names);
    }
    if end > CONSTANT_BANK_BYTES {
        return false;
    }
    for kernel in 0..cubin.functions.len() {
        if !cubin.functions[kernel].is_kernel {
            continue;
        }
        let mut words: Vec<(u32, &str)> = reachable(kernel, callees)
            .into_iter()
            .flat_map(|function| &named[function])
            .filter_map(|name| Some((*shared.get(name)?, name.as_str())))
            .collect();
        words.sort_unstable();
        words.dedup();
        let Some(bank) = cubin.functions[kernel].banks.iter_mut().find(|bank| bank.number == 0) else {
            continue;
        };
        for (at, name) in words {
            let Some(&kind) = kinds.get(name) else { continue };
            bank.bytes.resize(at as usize + 4, 0);
            bank.relocations.push(word(at, kind, name));
        }
        bank.relocations.sort_unstable();
    }
    true
}

/// Writes the place of a word into an instruction.
fn write(code: &mut [u8], at: u64, word: u32) {
    let Ok(start) = usize::try_from(at) else { return };
    let Some(inst) = code.get_mut(start..).and_then(|rest| rest.first_chunk_mut::<16>()) else { return };
    let number = u128::from(word / 4) << NUMBER_SHIFT;
    *inst = (u128::from_le_bytes(*inst) | number).to_le_bytes();
}

/// A function and all that it may call.
fn reachable(function: usize, callees: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = FxHashSet::from_iter([function]);
    let mut list = vec![function];
    let mut next = 0;
    while let Some(&one) = list.get(next) {
        next += 1;
        list.extend(callees[one].iter().copied().filter(|callee| seen.insert(*callee)));
    }
    list
}

#[cfg(test)]
mod tests {
    use ptxc_machine::Arch;

    use super::*;
    use crate::cubin::contents::{Bank, Image};
    use crate::cubin::{Abi, Module, assemble};

    fn function(name: &str, words: &[(u64, &str)]) -> Function {
        let relocation = |&(at, name): &(u64, &str)| Relocation {
            at,
            kind: RelocationKind(if at == 0 { 65 } else { 66 }),
            target: name.to_string(),
            addend: 0,
        };
        let bank = Bank { number: 0, bytes: vec![0; 0x168], relocations: Vec::new() };
        let is_kernel = name.starts_with('k');
        Function {
            name: name.to_string(),
            is_kernel,
            code: vec![0; 32],
            banks: if is_kernel { vec![bank] } else { Vec::new() },
            relocations: words.iter().map(relocation).collect(),
            ..Function::default()
        }
    }

    fn words(cubin: &Cubin, kernel: usize) -> Vec<(u64, u32, &str)> {
        let relocations = &cubin.functions[kernel].banks[0].relocations;
        relocations.iter().map(|one| (one.at, one.kind.0, one.target.as_str())).collect()
    }

    fn numbers(cubin: &Cubin, function: usize) -> [u64; 2] {
        let (insts, _) = cubin.functions[function].code.as_chunks::<16>();
        [0, 1].map(|index| u128::from_le_bytes(insts[index]) >> NUMBER_SHIFT).map(|number| number as u64)
    }

    #[test]
    fn a_word_has_one_place_in_all_kernels() {
        let mut cubin = assemble(&[], Module::of(Arch::Sm80, Abi::V7)).expect("an empty file");
        let image = |name: &str, kind| Image { name: name.to_string(), kind };
        cubin.images = vec![
            image("t", ImageKind::Texture),
            image("s", ImageKind::Sampler),
            image("u", ImageKind::Surface),
        ];
        cubin.functions = vec![
            function("k", &[(0, "own"), (16, "t")]),
            function("k2", &[(16, "u")]),
            function("f", &[(0, "t"), (16, "s")]),
            function("k3", &[]),
        ];
        let own = Param { image: Some((ImageKind::Texture, "own".to_string())), offset: 0xffff, size: 8 };
        cubin.functions[0].params.push(own);
        // The second kernel calls the function.
        assert!(place(&mut cubin, &[vec![], vec![2], vec![], vec![]]));
        assert!(cubin.functions.iter().all(|function| function.relocations.is_empty()));
        assert_eq!(words(&cubin, 0), [(0x168, 6, "own"), (0x16c, 6, "t")]);
        assert_eq!(words(&cubin, 1), [(0x16c, 6, "t"), (0x170, 52, "u"), (0x174, 7, "s")]);
        assert_eq!(words(&cubin, 3), []);
        assert_eq!(numbers(&cubin, 0), [0x5a, 0x5b]);
        assert_eq!(numbers(&cubin, 1), [0, 0x5c]);
        assert_eq!(numbers(&cubin, 2), [0x5b, 0x5d]);
        assert_eq!(cubin.functions[1].banks[0].bytes.len(), 0x178);
    }
}
