//! The variables of a module in its cubin, including those that no kernel names: the host may look
//! them up by name.
//!
//! A function's code names variables as its SSA does. The names here come from the declarations
//! alone.

use std::collections::BTreeMap;

use ptxc_codegen::func_code::FuncCode;
use ptxc_codegen::variables::placed;
use ptxc_object::cubin::{Binding, OutsideVariable};
use ptxc_ptx::check::codes::{UNKNOWN_SIZE, WITHOUT_DEFINITION};
use ptxc_ptx::check::env;
use ptxc_ptx::diagnostic::Diagnostic;
use ptxc_sass::variable::{Section, Variable};
use ptxc_syntax::ast::{Ident, Item, Linkage, Space};
use ptxc_syntax::items::ItemKind;
use ptxc_syntax::{Name, NodeId, parse_item};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::db::Db;
use crate::input::SourceFile;
use crate::input::items::{items, places};
use crate::locate::{MOST_FINDINGS, locate_in};
use crate::module::{ModuleName, ast, definition, module_variables, signature};
use crate::render::Located;

/// The binding by which other files see each variable of a module.
pub(crate) fn bindings(db: &dyn Db, file: SourceFile) -> BTreeMap<String, Binding> {
    let binding = |variable: &env::Variable| match variable.linkage {
        None => Binding::Local,
        Some(Linkage::Weak) => Binding::Weak,
        Some(Linkage::Visible | Linkage::Common | Linkage::Extern) => Binding::Global,
    };
    let variables = module_variables(db, file).iter();
    let mut all: BTreeMap<String, Binding> =
        variables.map(|(name, variable)| (name.to_string(), binding(variable))).collect();
    // Only in an object do functions have symbols of their own.
    for func in items(db, file).functions.iter().filter(|func| func.kind(db) == ItemKind::Func) {
        let binding = match ast(db, *func).linkage {
            None => Binding::Local,
            Some(Linkage::Weak) => Binding::Weak,
            Some(Linkage::Visible | Linkage::Common | Linkage::Extern) => Binding::Global,
        };
        // A declaration before the definition may have the linkage.
        let known = all.entry(func.name(db).to_string()).or_insert(binding);
        if *known == Binding::Local {
            *known = binding;
        }
    }
    all
}

/// The constant and global variables that no kernel names. A program defines those that no module
/// defines. A variable that holds the address of a
/// function is not among them: the code of a function is part of the kernels that name it.
pub(crate) fn unnamed(
    db: &dyn Db,
    file: SourceFile,
    kernels: &[&FuncCode],
    relocatable: bool,
) -> Vec<Variable> {
    let all = module_variables(db, file);
    let named = kernels.iter().flat_map(|code| &code.program.variables);
    let named: FxHashSet<&str> = named.map(|variable| &*variable.name).collect();
    let is_here = |variable: &env::Variable| {
        let is_shared = relocatable && variable.space == Space::Shared;
        (is_shared || matches!(variable.space, Space::Const | Space::Global))
            && !variable.is_image()
            && (variable.linkage != Some(Linkage::Extern) || !relocatable)
    };
    // In an object, functions have addresses of their own.
    let lost = if relocatable { FxHashSet::default() } else { pointing_elsewhere(all) };
    let rest = all.iter().filter(|(name, variable)| {
        is_here(variable) && !named.contains(name.as_str()) && !lost.contains(name.as_str())
    });
    rest.filter_map(|(name, variable)| declared(name, variable)).collect()
}

/// The shared and constant variables of other files, and shared ones of open size.
pub(crate) fn outside_variables(db: &dyn Db, file: SourceFile) -> BTreeMap<String, OutsideVariable> {
    let outside = |variable: &env::Variable| {
        let is_extern = variable.linkage == Some(Linkage::Extern);
        let section = match variable.space {
            Space::Shared if is_extern || variable.size == 0 => Section::Shared,
            Space::Const if is_extern => Section::Constant,
            _ => return None,
        };
        Some(OutsideVariable { section, align: variable.align, size: variable.size })
    };
    let all = module_variables(db, file).iter();
    all.filter_map(|(name, variable)| Some((name.to_string(), outside(variable)?))).collect()
}

/// A variable as its declaration describes it. A variable in global memory needs no address, since
/// no code names it.
fn declared(name: &str, variable: &env::Variable) -> Option<Variable> {
    let (section, place) = match variable.space {
        Space::Const => (Section::Constant, variable.place?),
        Space::Global => (Section::Global, 0),
        Space::Shared => (Section::Shared, 0),
        _ => return None,
    };
    let initial = variable.content.as_ref().ok()?.as_deref().cloned().unwrap_or_default();
    Some(placed(section, place, name, (variable.size, variable.align), initial))
}

/// The variables that hold an address of something that is not a variable of the module, directly
/// or through the variables that they point to.
fn pointing_elsewhere(all: &indexmap::IndexMap<Name, env::Variable>) -> FxHashSet<&str> {
    let mut holders: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    let mut open: Vec<&str> = Vec::new();
    for (name, variable) in all {
        let Ok(Some(content)) = &variable.content else { continue };
        for address in &content.addresses {
            match all.get_key_value(address.symbol.as_str()) {
                // The driver has all textures, samplers and surfaces.
                Some((_, found)) if found.is_image() => {}
                Some((target, found)) if found.linkage != Some(Linkage::Extern) => {
                    holders.entry(target.as_str()).or_default().push(name.as_str());
                }
                _ => open.push(name.as_str()),
            }
        }
    }
    let mut lost = FxHashSet::default();
    while let Some(name) = open.pop() {
        if lost.insert(name) {
            open.extend(holders.get(name).into_iter().flatten());
        }
    }
    lost
}

/// The variables of a program that no module defines. Those of a known size are warnings, because the
/// program defines them, as ptxas's does.
pub(crate) fn undefined_variables(db: &dyn Db, file: SourceFile) -> Vec<Located> {
    // The driver has all textures, samplers and surfaces, and a launch gives the open array its size.
    let is_undefined = |variable: &env::Variable| {
        variable.linkage == Some(Linkage::Extern)
            && !variable.is_image()
            && (variable.space != Space::Shared || variable.size > 0)
    };
    let all = module_variables(db, file).iter();
    let undefined = all.filter(|(_, variable)| is_undefined(variable)).take(MOST_FINDINGS);
    let undefined = undefined.map(|(name, variable)| (name.as_str(), vec![variable.size == 0])).collect();
    at_declarations(db, file, undefined, |name, node, is_open| {
        let finding = match is_open {
            true => {
                let message = format!("no module defines `{name}`, and its size is unknown");
                Diagnostic::error(UNKNOWN_SIZE, node, message)
            }
            false => {
                let message = format!("no module defines `{name}`, so the program has its own");
                Diagnostic::warning(WITHOUT_DEFINITION, node, message)
            }
        };
        finding.help(
            "link the file that defines it (`lower a.ptx b.ptx`), or make a relocatable object (`lower -c`)",
        )
    })
}

/// The initialisers with addresses of functions that the module declares and does not define.
pub(crate) fn missing_definitions(db: &dyn Db, file: SourceFile) -> Vec<Located> {
    let mut lacking: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    for (name, variable) in module_variables(db, file) {
        let Ok(Some(content)) = &variable.content else { continue };
        let mut seen = FxHashSet::default();
        let targets = content.addresses.iter().map(|address| address.symbol.as_str());
        let targets = targets.filter(|target| seen.insert(*target) && is_missing(db, file, target));
        let targets: Vec<&str> = targets.take(MOST_FINDINGS).collect();
        if !targets.is_empty() {
            lacking.insert(name, targets);
        }
    }
    at_declarations(db, file, lacking, |_, node, target| {
        let what = format!("the address of the function `{target}`, which another module defines,");
        Diagnostic::unsupported(node, what).help("define the function in this module")
    })
}

/// A finding for each thing in these lists, at the first declaration of the variable that has the list.
fn at_declarations<T>(
    db: &dyn Db,
    file: SourceFile,
    mut lists: FxHashMap<&str, Vec<T>>,
    finding: impl Fn(&Name, NodeId, T) -> Diagnostic,
) -> Vec<Located> {
    let mut found = Vec::new();
    // Spans are computed only if there is a finding.
    for (item, &offset) in items(db, file).others.iter().zip(&places(db, file).others) {
        if lists.is_empty() || found.len() > MOST_FINDINGS {
            break;
        }
        if item.kind != ItemKind::Variable {
            continue;
        }
        let parsed = parse_item(&item.text, item.kind);
        let Some(Item::Declaration(declaration)) = &parsed.value else { continue };
        for declarator in &declaration.declarators {
            let Ident { name, id } = &declarator.name;
            for thing in lists.remove(name.as_str()).into_iter().flatten() {
                found.push(locate_in(&parsed.spans, offset, &finding(name, *id, thing)));
            }
        }
    }
    found
}

fn is_missing(db: &dyn Db, file: SourceFile, name: &str) -> bool {
    let key = ModuleName::new(db, Name::from(name));
    let is_defined = module_variables(db, file).contains_key(name) || definition(db, file, key).is_some();
    !is_defined && signature(db, file, key).is_some()
}
