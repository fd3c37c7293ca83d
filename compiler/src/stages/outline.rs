//! What other functions of a module must know about a function before it has code.
//!
//! In: the SSA of each function as it was written. Out: the functions that it calls or whose
//! addresses it takes, directly or not, and where its lanes may wait. An edit that leaves a
//! function's outline as it is affects no other function through it.
//!
//! ```text
//! built(f) ──> outline(f) ──> device_callees(k) ──> reach(k)
//!                        └──> pointed_to(file) ───> pointers_reach(file)
//! ```

#![allow(missing_docs, reason = "salsa generates methods that carry no documentation")]

use std::collections::BTreeMap;

use indexmap::IndexSet;
use ptxc_ir::{self as ir, CalleeKind};
use ptxc_ssa::converge::has_waits;
use ptxc_ssa::gather;
use ptxc_syntax::Name;
use ptxc_syntax::items::ItemKind;

use crate::db::Db;
use crate::input::SourceFile;
use crate::input::items::{Func, items};
use crate::module::{ModuleName, definition, module_variables};
use crate::stages::built;

/// The most device functions that one function may call, directly or not. The compiler holds the
/// code of each until the code of its callers is ready, and that code becomes part of every kernel
/// that calls it.
pub(crate) const MOST_CALLEES: usize = 1000;

/// What others must know about a function itself, without its callees. Nothing is known about a
/// function with errors, so it may do everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    /// The device functions that it names.
    pub callees: Vec<Func>,
    /// The device functions whose addresses it takes, or whose addresses its own variables hold.
    pub addresses: Vec<Func>,
    /// The kinds of its operations at which lanes may have to meet, with the number of each, at most 2.
    pub kinds: BTreeMap<String, usize>,
    /// Whether a lane may wait for lanes that did not call the function together with that lane.
    waits: bool,
    /// Whether it makes an indirect call.
    pub calls_by_address: bool,
    /// Whether it calls a function outside of the module.
    calls_outside: bool,
}

#[salsa::tracked(returns(ref))]
pub(crate) fn outline(db: &dyn Db, func: Func) -> Outline {
    let Some(built) = &built(db, func).value else {
        return Outline {
            callees: Vec::new(),
            addresses: Vec::new(),
            kinds: BTreeMap::new(),
            waits: true,
            calls_by_address: true,
            calls_outside: true,
        };
    };
    let named = |name: &String| named_callee(db, func.file(db), name);
    let callees = built.callees.values().filter(|callee| callee.kind == CalleeKind::Device);
    let taken = built.insts.values().filter_map(|inst| match inst.op {
        ir::Op::FuncAddr(callee) => Some(&built.callees[callee].name),
        _ => None,
    });
    let initials = built.symbols.values().filter_map(|symbol| symbol.initial.as_ref());
    let held = initials.flat_map(|initial| &initial.addresses).map(|address| &address.symbol);
    let is_indirect = |inst: &ir::InstData| matches!(inst.op, ir::Op::CallIndirect(_));
    let is_external = |callee: &ir::Callee| matches!(callee.kind, CalleeKind::External(_));
    Outline {
        callees: callees.filter_map(|callee| named(&callee.name)).collect(),
        addresses: taken.chain(held).filter_map(named).collect(),
        // More than two give no other results.
        kinds: gather::kinds(built).into_iter().map(|(kind, places)| (kind, places.min(2))).collect(),
        waits: has_waits(built),
        calls_by_address: built.insts.values().any(is_indirect),
        calls_outside: built.callees.values().any(is_external),
    }
}

/// The device function of that name.
pub(crate) fn named_callee(db: &dyn Db, file: SourceFile, name: &str) -> Option<Func> {
    let func = definition(db, file, ModuleName::new(db, Name::from(name)))?;
    (func.kind(db) == ItemKind::Func).then_some(func)
}

/// The device functions of the module that a function calls or whose addresses it may obtain,
/// directly or not, each once, in the order in which they are found. A function that calls itself
/// is among them.
#[salsa::tracked(returns(ref))]
pub fn device_callees(db: &dyn Db, func: Func) -> Vec<Func> {
    let mut found: IndexSet<Func> = IndexSet::new();
    found.extend(&outline(db, func).callees);
    let mut next = 0;
    // Above the limit nothing is compiled, so the search stops there.
    while let Some(&callee) = found.get_index(next).filter(|_| found.len() <= MOST_CALLEES) {
        found.extend(&outline(db, callee).callees);
        next += 1;
    }
    found.into_iter().collect()
}

/// What lanes may do in functions and their callees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// No lane may wait for lanes that did not call the functions together with that lane.
    pub independent: bool,
    /// No function outside of the module is called.
    pub inside: bool,
}

impl Reach {
    /// Nothing is known.
    const ANYWHERE: Reach = Reach { independent: false, inside: false };
    /// Nothing is called.
    const HERE: Reach = Reach { independent: true, inside: true };

    fn and(self, other: Reach) -> Reach {
        Reach { independent: self.independent && other.independent, inside: self.inside && other.inside }
    }
}

/// The reach of a function and its callees.
#[salsa::tracked(returns(copy))]
pub(crate) fn reach(db: &dyn Db, func: Func) -> Reach {
    let own = direct_reach(db, func);
    let mut all = device_callees(db, func).iter().chain([&func]);
    match own != Reach::ANYWHERE && all.any(|&callee| outline(db, callee).calls_by_address) {
        true => own.and(pointers_reach(db, func.file(db))),
        false => own,
    }
}

/// The same, without the functions that indirect calls reach.
fn direct_reach(db: &dyn Db, func: Func) -> Reach {
    let inner = device_callees(db, func);
    if inner.len() > MOST_CALLEES {
        return Reach::ANYWHERE;
    }
    let outlines = inner.iter().chain([&func]).map(|&callee| outline(db, callee));
    outlines.fold(Reach::HERE, |reach, outline| {
        reach.and(Reach { independent: !outline.waits, inside: !outline.calls_outside })
    })
}

/// The reach of all functions whose addresses the module takes.
#[salsa::tracked(returns(copy))]
pub(crate) fn pointers_reach(db: &dyn Db, file: SourceFile) -> Reach {
    pointed_to(db, file).iter().fold(Reach::HERE, |reach, &func| reach.and(direct_reach(db, func)))
}

/// Every device function whose address the module takes, in code or in a variable.
#[salsa::tracked(returns(ref))]
pub(crate) fn pointed_to(db: &dyn Db, file: SourceFile) -> IndexSet<Func> {
    let taken = items(db, file).functions.iter().flat_map(|&func| &outline(db, func).addresses).copied();
    let contents = module_variables(db, file).values().filter_map(|variable| variable.content.as_ref().ok());
    let held = contents.flatten().flat_map(|content| &content.addresses);
    taken.chain(held.filter_map(|address| named_callee(db, file, &address.symbol))).collect()
}
