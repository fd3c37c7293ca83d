//! The names that a function mentions: the parts of its module that it can depend on.

#![allow(missing_docs, reason = "salsa generates methods that carry no documentation")]

use ptxc_ptx::check::env;
use ptxc_ptx::check::scope::misplaces_predicate;
use ptxc_syntax::Name;
use ptxc_syntax::ast::{Initialiser, Operand, OperandKind, Parameter, StatementKind, SymbolOffset};
use rustc_hash::FxHashSet;

use super::{ABI, ast, header};
use crate::db::Db;
use crate::input::items::Func;

/// The names that a function mentions and that its own declarations may not explain, sorted. A name
/// that calls a function is always among them.
#[salsa::tracked(returns(ref))]
pub(super) fn mentioned(db: &dyn Db, func: Func) -> Vec<Name> {
    let function = ast(db, func);
    let body = function.body.as_deref().unwrap_or(&[]);
    // A large function has tens of thousands of labels, and each would be a query.
    let labels: FxHashSet<&Name> = body
        .iter()
        .filter_map(|statement| match &statement.kind {
            StatementKind::Label(name) => Some(name),
            _ => None,
        })
        .collect();
    // Each parameter would be a query, too.
    let is_declared = |parameter: &&Parameter| {
        env::parameter_layout(parameter).is_some() && !misplaces_predicate(&parameter.specifiers)
    };
    let own = function.parameters.iter().chain(&function.returns).filter(is_declared);
    let own: FxHashSet<&Name> = own.map(|parameter| &parameter.name).collect();
    let mut names = Vec::new();
    // Operands nest as deep as a vector in an address; an explicit list replaces recursion.
    let mut rest: Vec<&Operand> = Vec::new();
    // Old modules declare registers for all of their functions.
    let any_name = header(db, func.file(db)).version < ABI;
    let mut add = |name: &Name, is_call: bool| {
        if (any_name || name.as_bytes().first() != Some(&b'%')) && (is_call || !own.contains(name)) {
            names.push(name.clone());
        }
    };
    for statement in body {
        match &statement.kind {
            StatementKind::Instruction(instruction) => {
                instruction.guard.iter().filter(|_| any_name).for_each(|guard| add(&guard.register, false));
                let goes_to_label = |operand: &Operand| match &operand.kind {
                    OperandKind::Symbol(name) => labels.contains(name),
                    _ => false,
                };
                let mnemonic = instruction.opcode.mnemonic();
                if mnemonic == "bra" && instruction.operands.iter().all(goes_to_label) {
                    continue;
                }
                // A parameter does not hide the function that is called.
                let is_call = mnemonic == "call";
                for first in &instruction.operands {
                    let mut next = Some(first);
                    while let Some(operand) = next {
                        let mut base = |place: &SymbolOffset| {
                            place.base.iter().for_each(|name| add(name, is_call));
                        };
                        match &operand.kind {
                            OperandKind::Symbol(name) => add(name, is_call),
                            OperandKind::Selected(selected) => add(&selected.0, is_call),
                            OperandKind::SymbolOffset(sum) => base(sum),
                            OperandKind::Element(element) => {
                                base(&element.1);
                                add(&element.0, is_call);
                            }
                            OperandKind::Address(address) => {
                                base(&address.place);
                                rest.extend(&address.rest);
                            }
                            OperandKind::Vector(list) | OperandKind::Arguments(list) => rest.extend(list),
                            OperandKind::Pair(pair) => rest.extend([&pair.0, &pair.1]),
                            OperandKind::Not(inner) | OperandKind::Minus(inner) => rest.push(inner),
                            OperandKind::Sink | OperandKind::Immediate(_) | OperandKind::String(_) => {}
                        }
                        next = rest.pop();
                    }
                }
            }
            StatementKind::Declaration(declaration) => {
                let initialisers = declaration.declarators.iter().filter_map(|one| one.initialiser.as_ref());
                let addresses = initialisers.flat_map(Initialiser::addresses);
                addresses.for_each(|address| add(&address.symbol.name, false));
            }
            StatementKind::CallTargets(list) => {
                list.targets.iter().for_each(|target| add(&target.name, true))
            }
            _ => {}
        }
    }
    names.sort();
    names.dedup();
    names
}
