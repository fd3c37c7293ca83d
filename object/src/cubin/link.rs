//! Linking: objects become one program.
//!
//! In: relocatable objects. Out: a program with the functions and
//! variables of all. A name that one object uses and another defines needs no more than that: the loader
//! writes the addresses. What the file says about a kernel covers the functions that it may call:
//! registers, barriers, and the stack.
//!
//! ```text
//! a: kernel k, calls f       k: 40 registers, 32 bytes of stack
//! b: .visible f, calls g  => f, g, v
//!    g, v
//! ```
//! A global definition replaces weak ones, and of several weak definitions the first remains. Names that
//! are not visible outside of their object get a number if another object uses them, too. Linear in the
//! objects, plus the calls that each kernel may reach.

mod images;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ptxc_machine::Arch;
use ptxc_sass::Op;
use ptxc_sass::kept::AttributeValue;
use ptxc_sass::symbol::FUNCTION_TABLE;
use ptxc_sass::variable::Section;
use rustc_hash::FxHashMap;

use super::attribute as eiattr;
use super::contents::{Binding, Cubin, Function, GlobalVariable, OutsideVariable};
use super::relocation::Relocation;
use super::shared;

/// Why objects cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// Two objects define a name that others see.
    Twice {
        /// The name.
        name: String,
        /// The indices of the objects.
        objects: [usize; 2],
    },
    /// No object defines a name.
    Undefined {
        /// The name.
        name: String,
        /// The function or variable that uses it.
        user: String,
        /// The index of its object.
        object: usize,
    },
    /// Constant bank 0 has no room for the words of textures, samplers and surfaces.
    Words,
    /// Objects for different architectures.
    Architectures {
        /// The indices of two of them.
        objects: [usize; 2],
    },
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Twice { name, .. } => write!(f, "`{name}` is defined in two files"),
            LinkError::Undefined { name, user, .. } => {
                write!(f, "`{user}` uses `{name}`, which no file defines")
            }
            LinkError::Words => {
                write!(f, "the textures, samplers and surfaces need more words than a constant bank has")
            }
            LinkError::Architectures { .. } => write!(f, "the files are for different architectures"),
        }
    }
}

/// The functions that a driver provides.
const SERVICES: [&str; 4] = ["vprintf", "__assertfail", "malloc", "free"];

/// Links objects.
///
/// # Errors
/// All names that are defined twice or not at all.
pub fn link(objects: Vec<Cubin>) -> Result<Cubin, Vec<LinkError>> {
    let Some(first) = objects.first() else { return Err(Vec::new()) };
    if let Some(other) = objects.iter().position(|object| object.arch != first.arch) {
        return Err(vec![LinkError::Architectures { objects: [0, other] }]);
    }
    let mut whole = Cubin {
        functions: Vec::new(),
        variables: Vec::new(),
        relocatable: false,
        accelerated: objects.iter().any(|object| object.accelerated),
        outside: BTreeSet::new(),
        prototypes: BTreeMap::new(),
        outside_variables: BTreeMap::new(),
        images: Vec::new(),
        attributes: Vec::new(),
        ..first.clone()
    };
    let mut errors = Vec::new();
    let visible = visible(&objects, &mut errors);
    let mut taken: BTreeSet<String> = visible.keys().cloned().collect();
    let mut users = Vec::new();
    let mut open_shared = BTreeMap::new();
    let mut known_images = BTreeSet::new();
    for (index, mut cubin) in objects.into_iter().enumerate() {
        for (name, OutsideVariable { align, .. }) in std::mem::take(&mut cubin.outside_variables)
            .into_iter()
            .filter(|(_, variable)| variable.is_dynamic())
        {
            let known = open_shared.entry(name).or_insert(align);
            *known = align.max(*known);
        }
        number_locals(&mut cubin, &mut taken);
        let is_here = |name: &str, binding| binding == Binding::Local || visible.get(name) == Some(&index);
        cubin.functions.retain(|function| is_here(&function.name, function.binding));
        cubin.variables.retain(|variable| is_here(&variable.name, variable.binding));
        for image in std::mem::take(&mut cubin.images) {
            if known_images.insert(image.name.clone()) {
                whole.images.push(image);
            }
        }
        for attribute in std::mem::take(&mut cubin.attributes) {
            if !whole.attributes.contains(&attribute) {
                whole.attributes.push(attribute);
            }
        }
        cubin.functions.iter_mut().for_each(|function| forget_table(&mut function.relocations));
        cubin.variables.iter_mut().for_each(|variable| forget_table(&mut variable.relocations));
        for function in &cubin.functions {
            let is_own = |one: &&Relocation| {
                one.kind.names_image_word() && images::is_parameter(function, &one.target)
            };
            let others = function.relocations.iter().filter(|one| !is_own(one));
            let targets = others.map(|one| one.target.clone());
            users.extend(targets.map(|target| (target, function.name.clone(), index)));
        }
        for variable in &cubin.variables {
            let targets = variable.relocations.iter().map(|one| one.target.clone());
            users.extend(targets.map(|target| (target, variable.name.clone(), index)));
        }
        whole.functions.append(&mut cubin.functions);
        whole.variables.append(&mut cubin.variables);
    }
    let names =
        whole.functions.iter().map(|one| &one.name).chain(whole.variables.iter().map(|one| &one.name));
    let names = names.chain(&known_images);
    let known: BTreeSet<&str> = names.chain(open_shared.keys()).map(String::as_str).chain(SERVICES).collect();
    let mut seen = BTreeSet::new();
    for (name, user, object) in users {
        // Only the driver knows the sizes of entries in its tables.
        let is_number = name.starts_with(".nv.");
        if !is_number && !known.contains(name.as_str()) && seen.insert(name.clone()) {
            errors.push(LinkError::Undefined { name, user, object });
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    for variable in whole.variables.iter().filter(|one| one.section == Section::Shared) {
        open_shared.remove(&variable.name);
    }
    shared::place(&mut whole, &open_shared);
    place(&mut whole.variables);
    let callees = callees(&whole.functions, whole.arch);
    if !images::place(&mut whole, &callees) {
        return Err(vec![LinkError::Words]);
    }
    let needs = needs(&whole.functions, &callees);
    for (function, needs) in whole.functions.iter_mut().zip(needs) {
        if function.is_kernel {
            function.registers = needs.registers;
            function.barriers = needs.barriers;
            function.stack_bytes = needs.stack;
            if needs.recursive {
                function.call_stack = Some(u32::MAX);
            }
        }
        // Only functions of the driver are left open.
        for one in function.attributes.iter_mut().filter(|one| one.code == eiattr::EXTERNS) {
            if let AttributeValue::Symbols(names) = &mut one.value {
                names.retain(|name| SERVICES.contains(&name.as_str()));
            }
        }
        let is_empty = AttributeValue::Symbols(Vec::new());
        function.attributes.retain(|one| one.code != eiattr::EXTERNS || one.value != is_empty);
    }
    Ok(whole)
}

/// Functions have addresses, and no table: relocations of numbers in the table become those of addresses.
fn forget_table(relocations: &mut Vec<Relocation>) {
    relocations.retain(|one| one.target != FUNCTION_TABLE);
    for one in relocations {
        one.kind = one.kind.of_address();
    }
}

/// The object whose definition of each visible name counts.
fn visible(objects: &[Cubin], errors: &mut Vec<LinkError>) -> BTreeMap<String, usize> {
    let mut found: BTreeMap<String, (usize, Binding)> = BTreeMap::new();
    for (index, cubin) in objects.iter().enumerate() {
        let functions = cubin.functions.iter().map(|one| (&one.name, one.binding));
        let variables = cubin.variables.iter().map(|one| (&one.name, one.binding));
        for (name, binding) in functions.chain(variables).filter(|(_, binding)| *binding != Binding::Local) {
            match found.get(name) {
                None => drop(found.insert(name.clone(), (index, binding))),
                Some((_, Binding::Weak)) if binding == Binding::Global => {
                    found.insert(name.clone(), (index, binding));
                }
                Some(&(first, Binding::Global)) if binding == Binding::Global => {
                    errors.push(LinkError::Twice { name: name.clone(), objects: [first, index] });
                }
                Some(_) => {}
            }
        }
    }
    found.into_iter().map(|(name, (index, _))| (name, index)).collect()
}

/// Gives the local names of an object that are taken a number.
fn number_locals(cubin: &mut Cubin, taken: &mut BTreeSet<String>) {
    let functions = cubin.functions.iter().map(|one| (&one.name, one.binding));
    let variables = cubin.variables.iter().map(|one| (&one.name, one.binding));
    let mut renamed: FxHashMap<String, String> = FxHashMap::default();
    for (name, binding) in functions.chain(variables) {
        if binding != Binding::Local || taken.insert(name.clone()) {
            continue;
        }
        let mut number = 2;
        let mut unique = format!("{name}${number}");
        while !taken.insert(unique.clone()) {
            number += 1;
            unique = format!("{name}${number}");
        }
        renamed.insert(name.clone(), unique);
    }
    if renamed.is_empty() {
        return;
    }
    let rename = |name: &mut String| {
        if let Some(unique) = renamed.get(name) {
            name.clone_from(unique);
        }
    };
    for Function { name, relocations, .. } in &mut cubin.functions {
        rename(name);
        // The words of parameters have names of their own.
        let others = relocations.iter_mut().filter(|one| !one.kind.names_image_word());
        others.for_each(|one| rename(&mut one.target));
    }
    for GlobalVariable { name, relocations, .. } in &mut cubin.variables {
        rename(name);
        relocations.iter_mut().for_each(|one| rename(&mut one.target));
    }
}

/// Places variables one after the other, by section and content.
fn place(variables: &mut [GlobalVariable]) {
    variables.sort_by_key(|one| (one.section, !one.has_content));
    let mut end = 0;
    let mut part = None;
    for variable in variables {
        let own = (variable.section, variable.has_content);
        if part != Some(own) {
            (part, end) = (Some(own), 0);
        }
        variable.offset = u64::next_multiple_of(end, variable.align.max(1));
        end = variable.offset + variable.size;
    }
}

/// The needs of a function and of all functions that it may call.
#[derive(Clone, Copy, Debug, Default)]
struct Needs {
    registers: u32,
    barriers: u32,
    /// Bytes, as far as they are known.
    stack: u32,
    recursive: bool,
}

/// The functions that each function may call.
fn callees(functions: &[Function], arch: Arch) -> Vec<Vec<usize>> {
    let number: FxHashMap<&str, usize> =
        functions.iter().enumerate().map(|(index, function)| (function.name.as_str(), index)).collect();
    let of = |function: &Function| -> Vec<usize> {
        if calls_by_address(function) {
            // That may be any function.
            return (0..functions.len()).filter(|&index| !functions[index].is_kernel).collect();
        }
        function.calls(arch).into_iter().filter_map(|name| number.get(name).copied()).collect()
    };
    functions.iter().map(of).collect()
}

fn needs(functions: &[Function], callees: &[Vec<usize>]) -> Vec<Needs> {
    let kernels = functions.iter().enumerate().map(|(index, function)| {
        if function.is_kernel { of_kernel(functions, callees, index) } else { Needs::default() }
    });
    kernels.collect()
}

/// Whether a function calls an address in registers.
fn calls_by_address(function: &Function) -> bool {
    let opcode = Op::CALL_ABSOLUTE.row().opcode;
    let (insts, _) = function.code.as_chunks::<16>();
    insts.iter().any(|inst| (u16::from_le_bytes([inst[0], inst[1]]) & 0xfff) == opcode)
}

/// Walks the calls below a kernel, each function once, depth first. A call of a function that is being
/// walked is recursion.
fn of_kernel(functions: &[Function], callees: &[Vec<usize>], kernel: usize) -> Needs {
    let mut needs = Needs::default();
    // The deepest stack below each function that is done; `None` while it is being walked.
    let mut below: FxHashMap<usize, Option<u32>> = FxHashMap::default();
    let mut path = vec![(kernel, 0, 0u32)];
    below.insert(kernel, None);
    while let Some((function, next, deepest)) = path.last_mut() {
        let function = *function;
        if let Some(&callee) = callees[function].get(*next) {
            *next += 1;
            match below.get(&callee) {
                Some(Some(stack)) => *deepest = (*deepest).max(*stack),
                Some(None) => needs.recursive = true,
                None => {
                    below.insert(callee, None);
                    path.push((callee, 0, 0));
                }
            }
            continue;
        }
        let one = &functions[function];
        needs.registers = needs.registers.max(one.registers);
        needs.barriers = needs.barriers.max(one.barriers);
        let stack = one.frame_bytes.saturating_add(*deepest);
        below.insert(function, Some(stack));
        path.pop();
        match path.last_mut() {
            Some((_, _, deepest)) => *deepest = (*deepest).max(stack),
            None => needs.stack = stack,
        }
    }
    needs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cubin::relocation::RelocationKind;

    fn function(name: &str, registers: u32, frame: u32, calls: &[&str]) -> Function {
        Function {
            name: name.to_string(),
            is_kernel: name == "k",
            registers,
            frame_bytes: frame,
            relocations: calls
                .iter()
                .map(|name| Relocation {
                    at: 0,
                    kind: RelocationKind(58),
                    target: name.to_string(),
                    addend: 0,
                })
                .collect(),
            ..Function::default()
        }
    }

    #[test]
    fn kernels_need_what_their_callees_need() {
        let functions =
            [function("k", 10, 16, &["f", "g"]), function("f", 40, 32, &["g"]), function("g", 20, 64, &[])];
        let needs = |functions: &[Function]| needs(functions, &callees(functions, Arch::Sm80));
        let found = needs(&functions)[0];
        assert_eq!((found.registers, found.stack, found.recursive), (40, 112, false));
        let functions = [function("k", 10, 16, &["f"]), function("f", 40, 32, &["f"])];
        assert!(needs(&functions)[0].recursive);
    }
}
