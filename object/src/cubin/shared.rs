//! The shared memory of linked objects.
//!
//! In: the functions and variables of a program, whose code leaves the addresses of shared variables open. Out:
//! the same program without these variables: each has a place, and its address is in the code.
//!
//! ```text
//! 0               mod, f's tile      variables of the files and of device functions: in all kernels that call
//! end of these    k's own            variables of one kernel
//! dynamic         x[]                after the longest of these, in every kernel
//! ```
//! A function is compiled once for all kernels, so everything that a function may name has one place. Linear.

use std::collections::BTreeMap;

use ptxc_machine::{Arch, Feature};
use ptxc_sass::variable::Section;
use rustc_hash::FxHashMap;

use super::contents::{Cubin, GlobalVariable};

/// Places the shared variables of a program. `open` are the alignments of the variables of open size.
pub(super) fn place(whole: &mut Cubin, open: &BTreeMap<String, u32>) {
    let is_shared = |variable: &GlobalVariable| variable.section == Section::Shared;
    let shared: Vec<GlobalVariable>;
    (shared, whole.variables) = std::mem::take(&mut whole.variables).into_iter().partition(is_shared);
    // The kernel that a variable belongs to is part of the variable's name.
    let kernels: FxHashMap<&str, usize> = whole
        .functions
        .iter()
        .enumerate()
        .filter(|(_, one)| one.is_kernel)
        .map(|(n, one)| (&*one.name, n))
        .collect();
    let owner = |name: &str| {
        let (function, _) = name.strip_prefix('$')?.rsplit_once('$')?;
        kernels.get(function).copied()
    };
    let mut places: FxHashMap<&str, u64> = FxHashMap::default();
    let mut common = 0u64;
    for variable in shared.iter().filter(|one| owner(&one.name).is_none()) {
        places.insert(&variable.name, put(variable, &mut common));
    }
    let mut ends = vec![common; whole.functions.len()];
    for variable in &shared {
        if let Some(kernel) = owner(&variable.name) {
            places.insert(&variable.name, put(variable, &mut ends[kernel]));
        }
    }
    let align = open.values().copied().max().unwrap_or(1).max(1);
    let dynamic = ends.iter().copied().max().unwrap_or(common).next_multiple_of(align.into());
    let has_open = !open.is_empty();
    for name in open.keys() {
        places.entry(name).or_insert(dynamic);
    }
    let reserved = first(whole.arch);
    let arch = whole.arch;
    for (function, end) in whole.functions.iter_mut().zip(ends) {
        let before = function.relocations.len();
        let code = &mut function.code;
        function.relocations.retain(|one| {
            let Some(place) = places.get(one.target.as_str()) else { return true };
            let value = (reserved + place).wrapping_add_signed(one.addend) as u32;
            // The immediate of the instruction.
            let at = one.at as usize + 4;
            if let Some(word) = code.get_mut(at..at + 4) {
                word.copy_from_slice(&value.to_le_bytes());
            }
            false
        });
        let names_shared = function.relocations.len() < before;
        if function.is_kernel && (names_shared || !function.calls(arch).is_empty()) {
            let bytes = if has_open { dynamic } else { end };
            let own = function.shared_bytes.unwrap_or(0).max(bytes);
            function.shared_bytes = (own > 0 || has_open).then_some(own);
        }
    }
}

/// The address of the first byte that programs may use, as the code counts it.
fn first(arch: Arch) -> u64 {
    if arch.has(Feature::RankedSharedAddresses) { 0 } else { arch.facts().limits.reserved_shared.into() }
}

fn put(variable: &GlobalVariable, end: &mut u64) -> u64 {
    let start = end.next_multiple_of(variable.align.max(1));
    *end = start.saturating_add(variable.size);
    start
}
