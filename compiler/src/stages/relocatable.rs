//! A function of a relocatable object: the calling convention of the platform, and names that a linker
//! resolves.
//!
//! In: the SSA of a function of a program. Out: the same for an object. Each device function has the
//! convention of the platform and is called by its name, since the caller may be in another object.
//!
//! ```text
//! func @f device -> (b32)             func @f device platform [4:4] -> [4:4] -> (b32)
//!     callee @g device (b32)     =>       callee @g external [4:4] (b32)
//!     symbol @v global … +8               symbol @v global …
//!     symbol @t texture size 8 …          symbol @t texture size 4 …
//! ```

use ptxc_ir::{self as ir, CalleeKind, External, FunctionKind, Layouts, Op, Space, SymbolData};
use ptxc_ptx::build_ssa::{Types, layouts, prototypes};
use ptxc_ptx::check::env::{Formal, ModuleEnv};
use ptxc_ptx::diagnostic::{Diagnostic, source_node};
use ptxc_syntax::NodeId;

use crate::db::Db;
use crate::input::items::Func;
use crate::module::{ModuleName, ast, environment, signature};

/// Makes a function part of an object.
///
/// # Errors
/// Uses that an object cannot hold yet.
pub fn make_relocatable(db: &dyn Db, func: Func, function: &mut ir::Function) -> Result<(), Vec<Diagnostic>> {
    let env: &ModuleEnv = environment(db, func);
    let prototypes = prototypes(ast(db, func), env);
    let mut found = Vec::new();
    for inst in function.insts.values() {
        let what = match inst.op {
            Op::CallIndirect(callee) if layouts_of(&prototypes, function, callee).is_none() => {
                "an indirect call whose prototypes pass the same values in different ways, in a relocatable \
                 object,"
                    .to_string()
            }
            _ => continue,
        };
        found.push(Diagnostic::unsupported(source_node(inst.loc).unwrap_or(NodeId(0)), what));
    }
    let own = signature(db, func.file(db), ModuleName::new(db, func.name(db).clone()));
    let called = function
        .callees
        .values()
        .filter_map(|callee| env.signatures.values().find(|one| *one.name == *callee.name));
    for one in own.iter().chain(called).filter(|one| one.parameters.iter().any(Formal::is_variadic)) {
        let what = format!("`{}`, whose parameter has any size, in a relocatable object,", one.name);
        found.push(Diagnostic::unsupported(NodeId(0), what));
    }
    if !found.is_empty() {
        return Err(found);
    }
    let (shares, owner) = (shares(function), function.name.clone());
    for symbol in function.symbols.values_mut() {
        if shares && symbol.space == Space::Shared {
            symbol.offset = None;
            // Functions may have variables of one name.
            if !env.variables.contains_key(symbol.name.as_str()) {
                symbol.name = format!("${owner}${}", symbol.name);
            }
        }
        if symbol.space.is_image() {
            symbol.size = SymbolData::LINKED_WORD;
            symbol.offset = None;
        }
        if matches!(symbol.space, Space::Global | Space::Const) {
            symbol.offset = None;
            // The module writes the content once.
            symbol.initial = None;
        }
    }
    for number in function.callees.keys().collect::<Vec<_>>() {
        let layouts = match &function.callees[number].kind {
            CalleeKind::Routine => continue,
            CalleeKind::External(external) => external.layouts.clone(),
            CalleeKind::Prototype => layouts_of(&prototypes, function, number).unwrap_or_default(),
            CalleeKind::Device => {
                // An alias has the signature of its function.
                let name = &function.callees[number].name;
                let named = env.signatures.values().find(|one| *one.name == **name);
                named.map(layouts).unwrap_or_default()
            }
        };
        function.callees[number].kind = CalleeKind::External(Box::new(External { address: None, layouts }));
    }
    if function.kind == FunctionKind::Device {
        function.platform = Some(Box::new(own.as_ref().map(layouts).unwrap_or_default()));
    }
    Ok(())
}

/// Whether a linker places the shared memory of a function. A kernel that calls nothing has all of it to
/// itself.
fn shares(function: &ir::Function) -> bool {
    let calls = |callee: &ir::Callee| callee.kind != CalleeKind::Routine;
    function.kind == FunctionKind::Device || function.callees.values().any(calls)
}

/// The layouts by which an indirect call passes its values. `None` if several prototypes pass the same
/// values in different ways, so that the IR does not tell which one is meant.
fn layouts_of(
    prototypes: &[(Types, Layouts)],
    function: &ir::Function,
    callee: ir::FuncRef,
) -> Option<Layouts> {
    let callee = &function.callees[callee];
    let is_same = |(types, _): &&(Types, Layouts)| types.0 == callee.params && types.1 == callee.results;
    let mut fitting = prototypes.iter().filter(is_same).map(|(_, layouts)| layouts);
    let first = fitting.next()?;
    fitting.all(|other| other == first).then(|| first.clone())
}
