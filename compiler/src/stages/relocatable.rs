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

use ptxc_ir::{
    self as ir, Callee, CalleeKind, External, FuncRef, FunctionKind, InstData, Op, Space, SymbolData, Type,
};
use ptxc_ptx::build_ssa::layouts;
use ptxc_ptx::check::env::ModuleEnv;
use rustc_hash::FxHashSet;

use crate::db::Db;
use crate::input::items::Func;
use crate::module::{ModuleName, environment, signature};

/// Makes a function part of an object.
pub fn make_relocatable(db: &dyn Db, func: Func, function: &mut ir::Function) {
    let env: &ModuleEnv = environment(db, func);
    let own = signature(db, func.file(db), ModuleName::new(db, func.name(db).clone()));
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
            CalleeKind::Prototype(layouts) => (**layouts).clone(),
            CalleeKind::Device => {
                // An alias has the signature of its function.
                let name = &function.callees[number].name;
                let named = env.signatures.values().find(|one| *one.name == **name);
                named.map(layouts).unwrap_or_default()
            }
        };
        function.callees[number].kind = CalleeKind::External(Box::new(External { address: None, layouts }));
    }
    pass_sizes(function);
    if function.kind == FunctionKind::Device {
        function.platform = Some(Box::new(own.as_ref().map(layouts).unwrap_or_default()));
    }
}

/// Lets calls pass the sizes of arrays of any size: the translation of a call has made a copy of the
/// array, whose address is the last parameter.
fn pass_sizes(function: &mut ir::Function) {
    let is_open = |callee: &Callee| match &callee.kind {
        CalleeKind::External(external) => external.layouts.params.last().is_some_and(|one| one.is_open()),
        CalleeKind::Routine | CalleeKind::Device | CalleeKind::Prototype(_) => false,
    };
    let open: FxHashSet<FuncRef> =
        function.callees.iter().filter(|(_, callee)| is_open(callee)).map(|(number, _)| number).collect();
    if open.is_empty() {
        return;
    }
    for block in function.layout.clone() {
        let mut insts = Vec::new();
        for inst in std::mem::take(&mut function.blocks[block].insts) {
            let data = &function.insts[inst];
            if let Op::Call { callee, .. } | Op::CallIndirect(callee) = data.op
                && open.contains(&callee)
            {
                let first = usize::from(matches!(data.op, Op::CallIndirect(_)));
                let last = first + function.callees[callee].params.len();
                let bytes = match function.def_inst(data.args[last - 1]).map(|address| address.op) {
                    Some(Op::SymbolAddr(symbol)) => function.symbols[symbol].size,
                    _ => 0,
                };
                let size = InstData::new(Op::Const(bytes), Type::B32, &[]).at(data.loc);
                let size = function.make_inst(size);
                insts.push(size);
                let value = function.result(size);
                function.insts[inst].args.insert(last, value);
            }
            insts.push(inst);
        }
        function.blocks[block].insts = insts;
    }
    for (number, callee) in function.callees.iter_mut() {
        if open.contains(&number) {
            callee.params.push(Type::B32);
        }
    }
}

/// Whether a linker places the shared memory of a function. A kernel that calls nothing has all of it to
/// itself.
fn shares(function: &ir::Function) -> bool {
    let calls = |callee: &ir::Callee| callee.kind != CalleeKind::Routine;
    function.kind == FunctionKind::Device || function.callees.values().any(calls)
}
