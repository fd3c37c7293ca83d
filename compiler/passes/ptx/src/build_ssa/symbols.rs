//! Variables in memory: from names to IR symbols with their places.
//!
//! A symbol is made at the first mention of a variable in the function. Shared and local variables,
//! of the function or of the module, get offsets in the function's part of their window, in the
//! order of first mention. Arrays of open size follow the others and share the rest of the window,
//! whose size is set at launch. The linker places global and constant variables.

use ptxc_ir::symbol::SymbolData;
use ptxc_ir::{Callee, CalleeKind, CalleeLanes, CalleeStack, Function, FunctionKind, Space, Symbol};
use ptxc_syntax::ast;
use ptxc_syntax::{Name, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::calls::callee_of;
use super::params;
use crate::check::env::{MOST_ADDRESSES, ModuleEnv, Signature, Variable};
use crate::diagnostic::Diagnostic;

/// The IR's name for a state space; `None` for spaces without variables.
pub(super) fn ir_space(space: ast::Space) -> Option<Space> {
    match space {
        ast::Space::Const => Some(Space::Const),
        ast::Space::Global => Some(Space::Global),
        ast::Space::Local => Some(Space::Local),
        ast::Space::Shared => Some(Space::Shared),
        _ => None,
    }
}

/// The space of a texture, sampler or surface; `None` for other types.
pub(super) fn image_space(ty: ast::Type) -> Option<Space> {
    match ty {
        ast::Type::Texref => Some(Space::Texture),
        ast::Type::Samplerref => Some(Space::Sampler),
        ast::Type::Surfref => Some(Space::Surface),
        _ => None,
    }
}

/// The size of a constant bank in bytes.
const BANK_BYTES: u32 = 1 << 16;

/// The size of the address of a texture, sampler or surface.
const IMAGE_BYTES: u32 = 8;

/// The owner of a variable.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// The function; the number is that of the variable in it.
    Function(usize),
    /// The module, where a name stands for one variable.
    Module(Name),
    /// The kernel; the number is that of the parameter.
    Kernel(usize),
}

/// A variable that does not fit its constant bank, or whose address does not fit.
pub(super) struct NoRoom {
    name: Name,
    space: ast::Space,
}

impl NoRoom {
    /// The finding about the instruction that names the variable.
    pub(super) fn finding(self, node: NodeId) -> Diagnostic {
        let (kind, note) = match self.space {
            ast::Space::Const => {
                ("constant", format!("a module has room for {BANK_BYTES} bytes of constants"))
            }
            _ => ("global", format!("a module may use at most {MOST_ADDRESSES} global variables")),
        };
        Diagnostic::unsupported(node, format!("the {kind} variable `{}`", self.name)).note(note)
    }
}

/// The symbols so far.
pub(super) struct Symbols {
    made: FxHashMap<Owner, Symbol>,
    /// The names of the symbols, and of the variables of the module that may become symbols.
    names: FxHashSet<String>,
}

impl Symbols {
    /// No symbols of a function in this module.
    pub fn new(env: &ModuleEnv) -> Symbols {
        let names = env.variables.keys().map(ToString::to_string).collect();
        Symbols { made: FxHashMap::default(), names }
    }

    /// The symbol of a variable.
    ///
    /// # Errors
    /// The variable is in no addressable space, does not fit its constant bank (then the error says
    /// so), or has an initialiser that does not fit.
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
        if let Some(space) = image_space(variable.ty) {
            // The word of an element would have no name.
            let is_single = variable.size == u64::from(IMAGE_BYTES);
            return if is_single {
                Ok(self.image(func, owner, name, space, variable.place))
            } else {
                Err(None)
            };
        }
        // A thread has one copy of a local variable of the module, which all functions share, but each
        // function has its own part of the local window.
        if variable.space == ast::Space::Local
            && matches!(owner, Owner::Module(_))
            && func.kind == FunctionKind::Device
        {
            return Err(None);
        }
        // A variable beyond its constant bank can't be named.
        let end = |bytes: u64| variable.place.map(|place| u64::from(place) + bytes);
        let end = match variable.space {
            ast::Space::Const => end(variable.size),
            ast::Space::Global => end(8),
            _ => Some(0),
        };
        if end.is_none_or(|end| end > BANK_BYTES.into()) {
            return Err(Some(NoRoom { name: name.clone(), space: variable.space }));
        }
        let unique = self.name(&owner, name);
        // For other spaces, the declaration's own error reports the initialiser.
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

    /// The symbol of a texture, sampler or surface. Its word has a place if device functions of the
    /// module name any.
    pub fn image(
        &mut self,
        func: &mut Function,
        owner: Owner,
        name: &Name,
        space: Space,
        offset: Option<u32>,
    ) -> Symbol {
        if let Some(&symbol) = self.made.get(&owner) {
            return symbol;
        }
        let name = self.name(&owner, name);
        let (size, align) = (IMAGE_BYTES.into(), IMAGE_BYTES);
        let symbol = func.symbols.push(SymbolData { name, space, size, align, offset, initial: None });
        self.made.insert(owner, symbol);
        symbol
    }

    /// A symbol in local memory that is no variable of the source.
    pub fn local(&mut self, func: &mut Function, name: &str, size: u32, align: u32) -> Symbol {
        let name = self.unique(name);
        let space = Space::Local;
        func.symbols.push(SymbolData { name, space, size: size.into(), align, offset: None, initial: None })
    }

    /// The name of a symbol. Only a variable of the module has the name of one: a linker knows it by
    /// that name.
    fn name(&mut self, owner: &Owner, name: &Name) -> String {
        match owner {
            Owner::Module(_) => name.to_string(),
            Owner::Function(_) | Owner::Kernel(_) => self.unique(name),
        }
    }

    /// A name that no symbol has: a variable of the function may share its name with a variable of the
    /// module or of another block.
    fn unique(&mut self, name: &str) -> String {
        let mut unique = name.to_string();
        let mut number = 2;
        while !self.names.insert(unique.clone()) {
            unique = format!("{name}${number}");
            number += 1;
        }
        unique
    }

    /// Makes symbols for the variables that other variables point to, and callees for the
    /// functions, and lets addresses name them. The first name that is neither a variable nor a
    /// device function is an error.
    pub fn follow_addresses(&mut self, func: &mut Function, env: &ModuleEnv) -> Result<(), String> {
        let mut called: FxHashSet<String> = func.callees.values().map(|callee| callee.name.clone()).collect();
        let mut next = 0;
        while next < func.symbols.len() {
            let symbol = Symbol::from_u32(next as u32);
            next += 1;
            let Some(mut initial) = func.symbols[symbol].initial.take() else { continue };
            for address in &mut initial.addresses {
                if let Some(signature) = env.signatures.get(address.symbol.as_str()) {
                    let callee = callee_of(signature, env).filter(|_| !signature.is_entry);
                    let callee = callee.ok_or_else(|| address.symbol.clone())?;
                    address.symbol.clone_from(&callee.name);
                    if called.insert(callee.name.clone()) {
                        func.callees.push(callee);
                    }
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

/// The IR's callee for a function of the module; `None` if its parameters can't be values.
pub(super) fn device_callee(signature: &Signature) -> Option<Callee> {
    let (params, results) = params::types(signature).ok()?;
    Some(Callee {
        name: signature.name.to_string(),
        kind: CalleeKind::Device,
        params,
        results,
        lanes: CalleeLanes::default(),
        stack: CalleeStack::default(),
    })
}

/// Gives the shared and local symbols their offsets. Symbols of open size come last and share one
/// start, which linking decides for a program of several functions. `shared_start` is the start of shared
/// symbols without a place, in a device function and in a kernel that calls device functions; other
/// kernels have all of shared memory to themselves. Returns the first symbol that ends beyond 2^31
/// bytes.
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
                // Only linking knows the end of the static shared memory of several functions.
                if space == Space::Shared && open && !alone {
                    data.offset = None;
                    continue;
                }
                let start = end.checked_next_multiple_of(data.align).ok_or(symbol)?;
                data.offset = Some(start);
                if !open {
                    end = Some(data.end_from(start)).filter(|&end| end <= 1 << 31).ok_or(symbol)?;
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
    fn open_arrays_follow_the_others_at_their_alignment() {
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
