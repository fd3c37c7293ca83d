//! Loads the variables of a module into the memory of a grid.
//!
//! In: constant and global variables with their addresses and content. Out: constant bank 3 with
//! the constants, an allocation of global memory for each global variable, and constant bank 4 with
//! their addresses. The cost is linear in the sizes, plus the number of pointers times the
//! logarithm of the number of variables.

use std::collections::BTreeMap;

use ptxc_ir::{Function, InitialAddress, Space};
use ptxc_sass::variable::{Pointer, Section, Variable};

use crate::error::SimError;
use crate::memory::{ADDRESS_BANK, CONSTANT_WINDOW, GridMemory, MODULE_BANK, write_le};
use crate::services::Service;

/// The most bytes that a constant bank may have.
const BANK_BYTES: usize = 1 << 16;

/// The most bytes of all variables together.
const MOST_BYTES: u64 = 1 << 30;

/// Places the variables that functions of one module name. Host code may have written to the
/// constants before the launch: `written` replaces the first bytes of bank 3.
pub(crate) fn load_functions(
    functions: &[&Function],
    code: &BTreeMap<String, u64>,
    written: &[u8],
    memory: &mut GridMemory,
) -> Result<BTreeMap<String, u64>, SimError> {
    let mut variables: BTreeMap<&str, Variable> = BTreeMap::new();
    for data in functions.iter().flat_map(|func| func.symbols.values()) {
        let section = match data.space {
            Space::Const => Section::Constant,
            Space::Global => Section::Global,
            _ => continue,
        };
        let Some(place) = data.offset else { continue };
        let initial = data.initial.clone().unwrap_or_default();
        let pointer = |address: InitialAddress| {
            let InitialAddress { at, bytes, shift, symbol, generic, addend } = address;
            Pointer { at, bytes, shift, target: symbol, generic, addend }
        };
        let variable = Variable {
            section,
            place,
            name: data.name.clone(),
            size: data.size,
            align: data.align,
            bytes: initial.bytes,
            pointers: initial.addresses.into_iter().map(pointer).collect(),
        };
        variables.insert(&data.name, variable);
    }
    let variables: Vec<Variable> = variables.into_values().collect();
    load(&variables, code, written, memory)
}

/// Places variables, and returns their addresses, each in its space, by name. Pointers to functions
/// get the address that `code` returns.
pub(crate) fn load(
    variables: &[Variable],
    code: &BTreeMap<String, u64>,
    written: &[u8],
    memory: &mut GridMemory,
) -> Result<BTreeMap<String, u64>, SimError> {
    let wrong = |variable: &Variable, what: &str| SimError::Case(format!("{}: {what}", variable.name));
    let mut constants: Vec<u8> = Vec::new();
    let mut table = Vec::new();
    let mut places: BTreeMap<&str, (Section, u64)> = BTreeMap::new();
    let bytes = variables.iter().fold(0u64, |sum, variable| sum.saturating_add(variable.size));
    if bytes > MOST_BYTES {
        return Err(SimError::Case(format!(
            "the variables have {bytes} bytes: the maximum here is {MOST_BYTES}"
        )));
    }
    for variable in variables {
        if variable.section == Section::Shared {
            return Err(wrong(variable, "is in shared memory that a linker must place"));
        }
        let mut content = variable.bytes.clone();
        content.resize(variable.size as usize, 0);
        let (start, size) = (variable.place as usize, variable.size as usize);
        let address = match variable.section {
            Section::Constant => {
                if start + size > BANK_BYTES {
                    return Err(wrong(variable, "ends beyond its constant bank"));
                }
                constants.resize(constants.len().max(start + size), 0);
                constants[start..start + size].copy_from_slice(&content);
                variable.place.into()
            }
            Section::Shared => continue,
            Section::Global => {
                let address = memory.global.allocate(&variable.name, content);
                if start + 8 > BANK_BYTES {
                    return Err(wrong(variable, "its address lies beyond the constant bank"));
                }
                table.resize(table.len().max(start + 8), 0);
                write_le(&mut table[start..start + 8], address);
                address
            }
            Section::External => {
                if start + 8 > BANK_BYTES {
                    return Err(wrong(variable, "its address lies beyond the constant bank"));
                }
                table.resize(table.len().max(start + 8), 0);
                let address = code.get(&variable.name).copied();
                let address = address.unwrap_or_else(|| Service::address(&variable.name));
                write_le(&mut table[start..start + 8], address);
                address
            }
        };
        places.insert(&variable.name, (variable.section, address));
    }
    for variable in variables {
        for pointer in &variable.pointers {
            let target = pointer.target.as_str();
            let (window, address) = match (places.get(target), code.get(target)) {
                (Some(&(Section::Constant, address)), _) if pointer.generic => (CONSTANT_WINDOW, address),
                (Some(&(_, address)), _) | (None, Some(&address)) => (0, address),
                (None, None) => match memory.images.address(target) {
                    Some(address) => (0, address),
                    None => {
                        let what =
                            format!("points to `{target}`, whose code or content is not part of the program");
                        return Err(wrong(variable, &what));
                    }
                },
            };
            let value = (address + window).wrapping_add_signed(pointer.addend) >> pointer.shift;
            let bytes = match variable.section {
                Section::Constant => constants.get_mut(variable.place as usize..),
                Section::Global => Some(memory.global.content(places[variable.name.as_str()].1)),
                Section::External | Section::Shared => None,
            };
            let range = pointer.at as usize..pointer.at as usize + usize::from(pointer.bytes);
            let slice = bytes.and_then(|bytes| bytes.get_mut(range));
            write_le(slice.ok_or_else(|| wrong(variable, "has no room for an address"))?, value);
        }
    }
    constants.resize(constants.len().max(written.len()), 0);
    constants[..written.len()].copy_from_slice(written);
    memory.constants.insert(MODULE_BANK, constants);
    memory.constants.insert(ADDRESS_BANK, table);
    Ok(places.into_iter().map(|(name, (_, address))| (name.to_string(), address)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::read_le;

    fn variable(section: Section, place: u32, name: &str, size: u64, bytes: &[u8]) -> Variable {
        let (name, bytes) = (name.to_string(), bytes.to_vec());
        Variable { section, place, name, size, align: 4, bytes, pointers: Vec::new() }
    }

    #[test]
    fn constants_tables_and_pointers() {
        let constant = variable(Section::Constant, 4, "c", 8, &[1, 2]);
        let target = variable(Section::Global, 8, "g", 16, &[]);
        let mut list = variable(Section::Global, 0, "list", 16, &[]);
        let to = |at, target: &str| Pointer {
            at,
            bytes: 8,
            shift: 0,
            target: target.to_string(),
            generic: true,
            addend: 4,
        };
        list.pointers = vec![to(0, "g"), to(8, "c")];
        let mut memory = GridMemory::default();
        let addresses = load(&[constant, target, list.clone()], &BTreeMap::new(), &[], &mut memory).unwrap();
        assert_eq!(memory.constants[&MODULE_BANK], [0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0]);
        let table = &memory.constants[&ADDRESS_BANK];
        assert_eq!(read_le(&table[8..]), addresses["g"]);
        let content = memory.global.content(addresses["list"]);
        assert_eq!(read_le(&content[..8]), addresses["g"] + 4);
        assert_eq!(read_le(&content[8..]), CONSTANT_WINDOW + 8);
        list.pointers[0].target = "nobody".to_string();
        let to_code =
            |code: &BTreeMap<String, u64>| load(&[list.clone()], code, &[], &mut GridMemory::default());
        assert!(to_code(&BTreeMap::new()).is_err());
    }

    #[test]
    fn content_from_the_host_stays() {
        let constant = variable(Section::Constant, 0, "c", 4, &[1, 2, 3, 4]);
        let mut memory = GridMemory::default();
        load(&[constant], &BTreeMap::new(), &[9, 9], &mut memory).unwrap();
        assert_eq!(memory.constants[&MODULE_BANK], [9, 9, 3, 4]);
    }
}
