//! The operations of different functions at which lanes of one warp may have to meet.
//!
//! A `shfl.sync` waits for lanes that execute an operation of the same kind, wherever that
//! operation is: in the kernel's other arm, or in a function that the arm calls. A device function
//! is compiled once, so it must know which of its kinds also occur in the functions that some
//! kernel may execute together with it.
//!
//! In: the operations in which each function waits, and the functions that each kernel may call.
//! Out: for each function the kinds at which its lanes may meet lanes in other functions. A
//! function is compiled again only if its own list changes.

#![allow(missing_docs, reason = "salsa generates methods that carry no documentation")]

use std::collections::{BTreeMap, BTreeSet};

use indexmap::{IndexMap, IndexSet};
use ptxc_syntax::items::ItemKind;

use crate::db::Db;
use crate::input::SourceFile;
use crate::input::items::{Func, items};
use crate::stages::outline::{device_callees, outline, pointed_to};

/// The functions that a kernel may execute besides itself, directly or not.
#[salsa::tracked(returns(ref))]
fn executed(db: &dyn Db, kernel: Func) -> IndexSet<Func> {
    let called = device_callees(db, kernel);
    let mut found: IndexSet<Func> = called.iter().copied().collect();
    if called.iter().chain([&kernel]).any(|&func| outline(db, func).calls_by_address) {
        for &func in pointed_to(db, kernel.file(db)) {
            found.insert(func);
            found.extend(device_callees(db, func));
        }
    }
    found
}

/// For each function of a file the kinds that it shares with other functions that a kernel
/// executes, or with other activations of itself. Linear in the functions that all kernels execute.
#[salsa::tracked(returns(ref))]
fn common_kinds(db: &dyn Db, file: SourceFile) -> IndexMap<Func, BTreeSet<String>> {
    let mut common: IndexMap<Func, BTreeSet<String>> = IndexMap::new();
    for &kernel in items(db, file).functions.iter().filter(|func| func.kind(db) == ItemKind::Entry) {
        let executed = executed(db, kernel);
        if executed.is_empty() {
            continue;
        }
        let all = || executed.iter().copied().chain([kernel]);
        let mut functions: BTreeMap<&str, usize> = BTreeMap::new();
        for kind in all().flat_map(|func| outline(db, func).kinds.keys()) {
            *functions.entry(kind).or_default() += 1;
        }
        for func in all() {
            for (kind, &places) in &outline(db, func).kinds {
                if functions[kind.as_str()] > 1 || (places > 1 && device_callees(db, func).contains(&func)) {
                    common.entry(func).or_default().insert(kind.clone());
                }
            }
        }
    }
    common
}

/// The kinds of a function's operations that lanes may meanwhile execute in other functions, or
/// elsewhere in another activation of the same function; sorted.
#[salsa::tracked(returns(ref))]
pub(crate) fn elsewhere(db: &dyn Db, func: Func) -> Vec<String> {
    // Most functions wait for no other lanes and most kernels call nothing, so these need not look
    // at other functions.
    let is_alone = func.kind(db) == ItemKind::Entry && executed(db, func).is_empty();
    if is_alone || outline(db, func).kinds.is_empty() {
        return Vec::new();
    }
    common_kinds(db, func.file(db)).get(&func).into_iter().flatten().cloned().collect()
}
