//! The call graph of an object, and the prototypes of its functions, by which a linker finds the functions
//! that an indirect call may reach. nvlink drops functions that nothing reaches.
//!
//! The call graph is four lists of pairs, each list after its own mark:
//!
//! | mark | pairs |
//! |---|---|
//! | -1 | a function, and a function that it calls by name |
//! | -2 | a function whose address is taken, and its prototype |
//! | -3 | a function, and the prototype of an indirect call in it |
//! | -4 | a function, and a function whose address it takes, also through variables |
//!
//! The section `.nv.prototype` has the prototypes of the other functions. A prototype is the place of its
//! text in the table of names (seen in ptxas 13.5's objects; `docs/abi.md`). Linear.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Writer;
use crate::cubin::attribute::Attributes;
use crate::cubin::contents::{Cubin, Function};
use crate::cubin::elf::SymbolId;

/// Pairs of words: symbols, and the text of prototypes.
#[derive(Default)]
pub(super) struct Pairs {
    pub(super) attributes: Attributes,
    /// The places of words that are the offset of a text in the table of names.
    pub(super) texts: Vec<(usize, String)>,
}

impl Pairs {
    fn mark(&mut self, number: i32) {
        self.attributes.bytes.extend([0, -number].into_iter().flat_map(i32::to_le_bytes));
    }

    fn first(&mut self, symbol: SymbolId) -> usize {
        let at = self.attributes.bytes.len();
        self.attributes.symbols.push((at, symbol));
        self.attributes.bytes.extend([0; 8]);
        at + 4
    }

    fn symbols(&mut self, first: SymbolId, second: SymbolId) {
        let at = self.first(first);
        self.attributes.symbols.push((at, second));
    }

    fn prototype(&mut self, function: SymbolId, text: &str) {
        let at = self.first(function);
        self.texts.push((at, text.to_string()));
    }
}

impl Writer<'_> {
    /// The call graph, and the prototypes of the functions whose addresses nothing takes.
    pub(super) fn call_graph(&mut self) -> (Pairs, Pairs) {
        let cubin = self.cubin;
        let mut graph = Pairs::default();
        graph.mark(1);
        for (function, symbol) in cubin.functions.iter().zip(self.kernels.clone()) {
            for name in function.calls(cubin.arch) {
                let callee = self.target(name);
                graph.symbols(symbol, callee);
            }
        }
        graph.mark(2);
        let in_variables = in_variables(cubin);
        let taken = taken(cubin, &in_variables);
        let mut pointed: Vec<&str> = taken.iter().flatten().copied().collect();
        pointed.extend(in_variables.values().flatten());
        pointed.sort_unstable();
        pointed.dedup();
        for name in &pointed {
            if let Some(prototype) = cubin.prototypes.get(*name) {
                let symbol = self.target(name);
                graph.prototype(symbol, &prototype.own);
            }
        }
        graph.mark(3);
        for (function, symbol) in cubin.functions.iter().zip(self.kernels.clone()) {
            let indirect = cubin.prototypes.get(&function.name).map(|prototype| &prototype.indirect[..]);
            indirect.unwrap_or_default().iter().for_each(|text| graph.prototype(symbol, text));
        }
        graph.mark(4);
        for (names, symbol) in taken.iter().zip(self.kernels.clone()) {
            for name in names {
                let pointed = self.target(name);
                graph.symbols(symbol, pointed);
            }
        }
        let mut others = Pairs::default();
        if cubin.relocatable {
            for (function, symbol) in cubin.functions.iter().zip(self.kernels.clone()) {
                let prototype = cubin.prototypes.get(&function.name);
                let is_other = !function.is_kernel && pointed.binary_search(&&*function.name).is_err();
                if let Some(prototype) = prototype.filter(|_| is_other) {
                    others.prototype(symbol, &prototype.own);
                }
            }
        }
        (graph, others)
    }
}

/// For each function, the functions whose addresses its code and the variables that it names hold. Only an
/// object has any.
fn taken<'a>(cubin: &'a Cubin, in_variables: &FxHashMap<&str, Vec<&'a str>>) -> Vec<Vec<&'a str>> {
    let of_function = |function| {
        let mut names = Vec::new();
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        for name in addresses_in_code(cubin, function) {
            let held = in_variables.get(name).map(Vec::as_slice);
            let own = [name];
            let held = held.unwrap_or(if is_function(cubin, name) { &own } else { &[] });
            names.extend(held.iter().copied().filter(|&name| seen.insert(name)));
        }
        names
    };
    let functions = cubin.functions.iter().filter(|_| !cubin.prototypes.is_empty());
    functions.map(of_function).collect()
}

/// The symbols whose addresses the code of a function holds. Its own is that of a return address.
fn addresses_in_code<'a>(cubin: &'a Cubin, function: &'a Function) -> impl Iterator<Item = &'a str> {
    let called = function.calls(cubin.arch).into_iter().collect::<FxHashSet<_>>();
    let others = function.relocations.iter().map(|one| one.target.as_str());
    others.filter(move |&name| name != function.name && !called.contains(name))
}

/// By variable, the functions whose addresses it holds.
fn in_variables(cubin: &Cubin) -> FxHashMap<&str, Vec<&str>> {
    let variables = cubin.variables.iter().filter(|_| !cubin.prototypes.is_empty());
    let with_functions = variables.map(|variable| {
        let targets = variable.relocations.iter().map(|one| one.target.as_str());
        (variable.name.as_str(), targets.filter(|name| is_function(cubin, name)).collect())
    });
    with_functions.collect()
}

fn is_function(cubin: &Cubin, name: &str) -> bool {
    cubin.prototypes.contains_key(name)
}
