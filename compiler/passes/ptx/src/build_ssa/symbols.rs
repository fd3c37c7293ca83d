//! Variables in memory: from names to IR symbols with their places.
//!
//! A symbol is made when the function first mentions a variable. Shared and local variables, whether of
//! the function or of the module, get offsets in the function's part of their window, in the order of
//! first mention; arrays of open size share the rest behind them, as the launch gives it. Where global and
//! constant variables lie is for the linker to say.

use ptxc_ir::symbol::SymbolData;
use ptxc_ir::{Callee, CalleeKind, CalleeLanes, Function, FunctionKind, Space, Symbol};
use ptxc_syntax::ast;
use ptxc_syntax::{Name, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::params;
use crate::check::env::{MOST_ADDRESSES, ModuleEnv, Signature, Variable};
use crate::diagnostic::Diagnostic;

/// The IR's name for a state space; none for those without variables.
pub(super) fn ir_space(space: ast::Space) -> Option<Space> {
    match space {
        ast::Space::Const => Some(Space::Const),
        ast::Space::Global => Some(Space::Global),
        ast::Space::Local => Some(Space::Local),
        ast::Space::Shared => Some(Space::Shared),
        _ => None,
    }
}

/// Bytes of a constant bank.
const BANK_BYTES: u32 = 1 << 16;

/// What a variable belongs to.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// The function: the number of the variable in it.
    Function(usize),
    /// The module, which has one variable of a name.
    Module(Name),
}

/// A variable that lies beyond its constant bank, or whose address would.
pub(super) struct NoRoom {
    name: Name,
    space: ast::Space,
}

impl NoRoom {
    /// What is said of the instruction that names the variable.
    pub(super) fn finding(self, node: NodeId) -> Diagnostic {
        let (kind, note) = match self.space {
            ast::Space::Const => {
                ("constant", format!("there is room for {BANK_BYTES} bytes of constants in a module"))
            }
            _ => ("global", format!("a module may use {MOST_ADDRESSES} global variables")),
        };
        Diagnostic::unsupported(node, format!("the {kind} variable `{}`", self.name)).note(note)
    }
}

/// The symbols made so far.
#[derive(Default)]
pub(super) struct Symbols {
    made: FxHashMap<Owner, Symbol>,
    names: FxHashSet<String>,
}

impl Symbols {
    /// The symbol of a variable.
    ///
    /// # Errors
    /// It lies in no addressable space or beyond its constant bank, which the message says, or nothing fits its
    /// initialiser.
    pub fn get(
        &mut self,
        func: &mut Function,
        owner: Owner,
        name: &Name,
        variable: &Variable,
    ) -> Result<Symbol, Option<NoRoom>> {
        if let Some(&symbol) = self.made.get(&owner) {
            return Ok(symbol);
        }
        // What lies beyond a constant bank, or where only a linker knows, can't be named.
        let end = |bytes: u32| variable.place.and_then(|place| place.checked_add(bytes));
        let end = match variable.space {
            ast::Space::Const => end(variable.size),
            ast::Space::Global => end(8),
            _ => Some(0),
        };
        if variable.linkage == Some(ast::Linkage::Extern) && end.is_none() {
            return Err(None);
        }
        if end.is_none_or(|end| end > BANK_BYTES) {
            return Err(Some(NoRoom { name: name.clone(), space: variable.space }));
        }
        // A variable of the function may have the name of one of the module, or of another block of it.
        let mut unique = name.to_string();
        let mut number = 2;
        while !self.names.insert(unique.clone()) {
            unique = format!("{name}${number}");
            number += 1;
        }
        // An initialiser elsewhere is an error of the declaration, about which nothing more is to be said.
        let has_content = matches!(variable.space, ast::Space::Const | ast::Space::Global);
        let content = variable.content.as_ref().map_err(|_| None)?.as_deref();
        let symbol = func.symbols.push(SymbolData {
            name: unique,
            space: ir_space(variable.space).ok_or(None)?,
            size: variable.size,
            align: variable.align,
            offset: variable.place,
            initial: content.filter(|_| has_content).cloned(),
        });
        self.made.insert(owner, symbol);
        Ok(symbol)
    }

    /// Makes symbols of the variables that others point to, and callees of the functions; lets addresses name them.
    /// The first name that is no variable's or device function's is an error.
    pub fn follow_addresses(&mut self, func: &mut Function, env: &ModuleEnv) -> Result<(), String> {
        let mut next = 0;
        while next < func.symbols.len() {
            let symbol = Symbol::from_u32(next as u32);
            next += 1;
            let Some(mut initial) = func.symbols[symbol].initial.take() else { continue };
            for address in &mut initial.addresses {
                if let Some(signature) = env.signatures.get(address.symbol.as_str()) {
                    let callee = device_callee(signature).filter(|_| !signature.is_entry);
                    let callee = callee.ok_or_else(|| address.symbol.clone())?;
                    func.callee(&callee);
                    address.symbol = callee.name;
                    continue;
                }
                let found =
                    env.variables.get_key_value(address.symbol.as_str()).and_then(|(name, variable)| {
                        self.get(func, Owner::Module(name.clone()), name, variable).ok()
                    });
                let found = found.ok_or_else(|| address.symbol.clone())?;
                address.symbol.clone_from(&func.symbols[found].name);
            }
            func.symbols[symbol].initial = Some(initial);
        }
        Ok(())
    }
}

/// The IR's callee for a function of the module; none if its parameters are no values.
pub(super) fn device_callee(signature: &Signature) -> Option<Callee> {
    let types = |formals| params::types(formals).ok();
    Some(Callee {
        name: signature.name.to_string(),
        kind: CalleeKind::Device,
        params: types(&signature.parameters)?,
        results: types(&signature.returns)?,
        lanes: CalleeLanes::default(),
    })
}

/// Gives the shared and local symbols their offsets. Those of open size come last and start at one place, which in a
/// device function is the kernel's business. `shared_start` is where shared symbols begin that have no place yet, in a
/// device function and in a kernel that calls some; other kernels have all of shared memory for themselves.
/// Returns the first symbol that ends beyond 2^31 bytes.
pub(super) fn place(func: &mut Function, shared_start: u32) -> Result<(), Symbol> {
    let alone = func.kind == FunctionKind::Entry && func.callees.is_empty();
    for space in [Space::Shared, Space::Local] {
        let mut end = if alone || space == Space::Local { 0 } else { shared_start };
        for open in [false, true] {
            for symbol in func.symbols.keys().collect::<Vec<_>>() {
                let data = &mut func.symbols[symbol];
                if data.space != space || (data.size == 0) != open {
                    continue;
                }
                if space == Space::Shared && !alone && data.offset.is_some() {
                    continue;
                }
                if space == Space::Shared && open && func.kind == FunctionKind::Device {
                    data.offset = None;
                    continue;
                }
                let start = end.checked_next_multiple_of(data.align).ok_or(symbol)?;
                data.offset = Some(start);
                if !open {
                    end = start.checked_add(data.size).filter(|&end| end <= 1 << 31).ok_or(symbol)?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_arrays_lie_behind_the_others_at_their_alignment() {
        let mut func = Function::new("f", FunctionKind::Entry);
        let mut add = |size, align| {
            let name = String::from("s");
            let space = Space::Shared;
            func.symbols.push(SymbolData { name, space, size, align, offset: None, initial: None })
        };
        let symbols = [add(0, 16), add(3, 1), add(4, 4), add(0, 1)];
        place(&mut func, 64).unwrap();
        assert_eq!(symbols.map(|s| func.symbols[s].offset), [Some(16), Some(0), Some(4), Some(8)]);
    }
}
