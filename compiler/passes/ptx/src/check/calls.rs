//! Whether a call fits the function that it calls.
//!
//! A call is `call (results), callee, (arguments), targets;` where everything except the callee is
//! optional. The callee is a function of the module, or a register together with a prototype or a
//! list of targets. A direct call must pass as many arguments as the function declares, with the
//! sizes that it declares.

use ptxc_syntax::NodeId;
use ptxc_syntax::ast::{Instruction, Operand, OperandKind};

use super::codes;
use super::env::{Formal, ModuleEnv};
use super::names::{Names, Thing};
use super::operands::lanes;
use crate::diagnostic::Diagnostic;

/// Checks a `call`.
pub fn check(instruction: &Instruction, names: &Names, env: &ModuleEnv, out: &mut Vec<Diagnostic>) {
    let mut rest = &instruction.operands[..];
    let results = take_list(&mut rest);
    let Some((callee, tail)) = rest.split_first() else {
        let node = instruction.opcode.part_id(0);
        out.push(
            Diagnostic::error(codes::OPERAND_COUNT, node, "`call` needs a function").label("no function"),
        );
        return;
    };
    rest = tail;
    let arguments = take_list(&mut rest);
    let targets = rest.first();
    if let Some(surplus) = rest.get(1) {
        let message = "`call` takes at most results, a function, arguments and a prototype";
        out.push(Diagnostic::error(codes::OPERAND_COUNT, surplus.id, message).label("one too many"));
    }
    let Some(name) = callee.as_symbol() else {
        out.push(not_callable(callee, "neither a function nor a register"));
        return;
    };
    match names.find(name) {
        None => {}
        Some(Thing::Function) => {
            let Some(signature) = env.signatures.get(name) else { return };
            if signature.is_entry {
                out.push(
                    not_callable(callee, &format!("`{name}` is a kernel"))
                        .help("call a device function; a kernel can only be launched"),
                );
                return;
            }
            let none = (callee.id, &[][..]);
            compare("result", &signature.returns, results.unwrap_or(none), name, names, out);
            compare("argument", &signature.parameters, arguments.unwrap_or(none), name, names, out);
        }
        Some(Thing::Register(..)) => {
            let target = targets.and_then(Operand::as_symbol).map(|target| names.find(target));
            match target {
                Some(None | Some(Thing::Prototype | Thing::CallTargets)) => {}
                _ => out.push(
                    not_callable(callee, "called through a register")
                        .help("name a `.callprototype` or a `.calltargets` list as the last operand"),
                ),
            }
        }
        Some(thing) => out.push(not_callable(callee, &format!("`{name}` is {}", thing.describe()))),
    }
}

/// Takes a list in parentheses, if one comes first.
fn take_list<'a>(rest: &mut &'a [Operand]) -> Option<(NodeId, &'a [Operand])> {
    let (first, tail) = rest.split_first()?;
    let OperandKind::Arguments(elements) = &first.kind else { return None };
    *rest = tail;
    Some((first.id, elements))
}

fn not_callable(callee: &Operand, label: &str) -> Diagnostic {
    let message = "expected a device function, or a register with a prototype or a list of targets";
    Diagnostic::error(codes::NOT_CALLABLE, callee.id, message).label(label)
}

/// Compares the arguments or results of a call with the declaration.
fn compare(
    what: &str,
    declared: &[Formal],
    (node, given): (NodeId, &[Operand]),
    callee: &str,
    names: &Names,
    out: &mut Vec<Diagnostic>,
) {
    if declared.len() != given.len() {
        let plural = if declared.len() == 1 { "" } else { "s" };
        let message = format!("`{callee}` declares {} {what}{plural}", declared.len());
        let there = if given.len() == 1 { "found 1".to_string() } else { format!("found {}", given.len()) };
        out.push(Diagnostic::error(codes::ARGUMENT_COUNT, node, message).label(there));
        return;
    }
    for (index, (&Formal { size, .. }, operand)) in declared.iter().zip(given).enumerate() {
        let Some(name) = operand.as_symbol() else { continue };
        let bytes = match names.find(name) {
            Some(Thing::Memory(_, bytes)) => bytes,
            Some(Thing::Register(ty, vector)) => u64::from(ty.bits().div_ceil(8) * lanes(vector)),
            _ => continue,
        };
        // A parameter of open size takes an array of any size.
        if bytes != u64::from(size) && size != 0 {
            let message =
                format!("{what} {} of `{callee}` has {size} bytes, but `{name}` has {bytes}", index + 1);
            let finding = Diagnostic::error(codes::ARGUMENT_SIZE, operand.id, message);
            out.push(finding.label(format!("`{name}` has {bytes} bytes")));
        }
    }
}
