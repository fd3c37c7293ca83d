//! Conversion of a module's variables to those of a program.

use ptxc_ir::Space;
use ptxc_ir::symbol::{Initial, InitialAddress, SymbolData};
use ptxc_sass::variable::{Pointer, Section, Variable};

/// The variable of the program that a symbol of a function names; `None` for a symbol in a window
/// of the CTA or thread.
pub(crate) fn variable(symbol: &SymbolData) -> Option<Variable> {
    let section = match symbol.space {
        Space::Const => Section::Constant,
        Space::Global => Section::Global,
        _ => return None,
    };
    let initial = symbol.initial.clone().unwrap_or_default();
    Some(placed(section, symbol.offset?, &symbol.name, (symbol.size, symbol.align), initial))
}

/// A variable in shared memory that a linker places.
pub(crate) fn shared_variable(symbol: &SymbolData) -> Variable {
    placed(Section::Shared, 0, &symbol.name, (symbol.size, symbol.align), Initial::default())
}

/// The variable of the program at a place of its section, in bytes, with a size and an alignment in
/// bytes.
pub fn placed(
    section: Section,
    place: u32,
    name: &str,
    (size, align): (u64, u32),
    initial: Initial,
) -> Variable {
    let pointer = |address: InitialAddress| {
        let InitialAddress { at, bytes, shift, symbol, generic, addend } = address;
        Pointer { at, bytes, shift, target: symbol, generic, addend }
    };
    Variable {
        section,
        place,
        name: name.to_string(),
        size,
        align,
        bytes: initial.bytes,
        pointers: initial.addresses.into_iter().map(pointer).collect(),
    }
}
