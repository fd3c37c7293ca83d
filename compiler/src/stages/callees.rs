//! The calls of a function: device functions of the module, and runtime routines.
//!
//! A routine's code depends only on its name and on the settings, not on its callers, so it is
//! compiled once for all kernels, edits and files.

#![allow(missing_docs, reason = "salsa generates methods that carry no documentation")]

use std::sync::Arc;

use indexmap::IndexSet;
use ptxc_codegen::func_code::{Callees, FuncCode, Summaries, Summary};
use ptxc_codegen::mir::{Mir, VReg};
use ptxc_ir::{self as ir, CalleeKind};
use ptxc_machine::Arch;
use ptxc_passes::{CodeSettings, Context, Form, Silent, Span, name_unsupported, routine_machine, run};
use ptxc_ptx::diagnostic::Diagnostic;
use ptxc_sass::Op;
use ptxc_sass::variable::Variable;
use ptxc_ssa::runtime;
use ptxc_syntax::NodeId;

use crate::db::Db;
use crate::input::items::Func;
use crate::input::{Options, SourceFile};
use crate::module::ast;
use crate::stages::meetings::elsewhere;
pub use crate::stages::outline::device_callees;
use crate::stages::outline::{MOST_CALLEES, Reach, named_callee, pointed_to, pointers_reach, reach};
use crate::stages::{Stage, arch, mir, settings, ssa};

/// The functions that a driver provides and that a module declares without a body.
pub const SYSTEM_FUNCTIONS: &[&str] = &["vprintf", "__assertfail", "malloc", "free"];

/// Whether lanes that call a function together return together. Callers know this before the
/// function has code.
#[salsa::tracked(returns(copy))]
fn returns_together(db: &dyn Db, func: Func, options: Options) -> bool {
    mir(db, func, options).value.as_ref().is_some_and(|mir| mir.header.returns_together)
}

/// Writes into a function the facts about the lanes that call its callees, and the other places
/// where lanes may wait. For a callee that calls the function in turn, the only fact is whether its
/// lanes wait.
pub fn fill_lanes(db: &dyn Db, owner: Func, function: &mut ir::Function, options: Options) {
    let file = owner.file(db);
    if device_callees(db, owner).len() > MOST_CALLEES {
        return;
    }
    function.elsewhere.clone_from(elsewhere(db, owner));
    for callee in function.callees.values_mut() {
        callee.lanes = match callee.kind {
            CalleeKind::Routine => continue,
            CalleeKind::Prototype(_) => {
                let Reach { independent, inside } = pointers_reach(db, file);
                ir::CalleeLanes { together: false, independent, inside }
            }
            CalleeKind::External(_) => {
                // A service of the driver waits for no other lanes; an unknown function may.
                let independent = SYSTEM_FUNCTIONS.contains(&callee.name.as_str());
                ir::CalleeLanes { independent, ..ir::CalleeLanes::default() }
            }
            CalleeKind::Device => match named_callee(db, file, &callee.name) {
                Some(func) => {
                    let calls_back = func == owner || device_callees(db, func).contains(&owner);
                    let Reach { independent, inside } = reach(db, func);
                    let together = !calls_back && returns_together(db, func, options);
                    ir::CalleeLanes { together, independent, inside }
                }
                None => ir::CalleeLanes::default(),
            },
        };
    }
}

/// The simplified SSA of the device functions that a kernel calls; `None` if one of them has none.
pub fn ssa_callees(db: &dyn Db, func: Func, options: Options) -> Option<Vec<ir::Function>> {
    device_callees(db, func).iter().map(|&callee| ssa(db, callee, options).value.clone()).collect()
}

/// A runtime routine, and the settings that decide its code.
#[salsa::interned(debug)]
pub struct Routine<'db> {
    /// Its symbol.
    #[returns(ref)]
    pub symbol: String,
    /// The architecture.
    #[returns(copy)]
    pub arch: Arch,
    /// The optimization level.
    #[returns(copy)]
    pub opt: u8,
    /// The scheduling heuristic.
    #[returns(ref)]
    pub heuristic: String,
    /// The most general registers that the routine may use.
    #[returns(copy)]
    pub max_regs: u32,
    /// Whether every instruction waits for everything.
    #[returns(copy)]
    pub serial: bool,
}

impl<'db> Routine<'db> {
    fn with_settings(db: &'db dyn Db, symbol: &str, settings: &CodeSettings) -> Routine<'db> {
        let CodeSettings { arch, opt, heuristic, max_regs, serial, .. } = settings.clone();
        Routine::new(db, symbol.to_string(), arch, opt, heuristic, max_regs, serial)
    }

    fn settings(self, db: &'db dyn Db) -> CodeSettings {
        CodeSettings {
            arch: self.arch(db),
            // Only a kernel says which targets it runs on.
            accelerated: false,
            opt: self.opt(db),
            // A routine says itself which products and sums are fused, and it has no atomics to
            // aggregate.
            fmad: false,
            aggregate: false,
            heuristic: self.heuristic(db).clone(),
            max_regs: self.max_regs(db),
            serial: self.serial(db),
        }
    }
}

/// The code of a runtime routine. All kernels that are compiled with the same settings share it. A
/// routine comes with the compiler and depends on nothing else, so all databases of the process
/// share it too.
#[salsa::tracked(returns(ref))]
pub fn routine_code<'db>(db: &'db dyn Db, routine: Routine<'db>) -> Arc<Stage<Arc<FuncCode>>> {
    let symbol = routine.symbol(db);
    let settings = routine.settings(db);
    if let Some(code) = finished::get(symbol, &settings) {
        return Stage::of(Ok(code));
    }
    let name = runtime::name_of_symbol(symbol).unwrap_or(symbol);
    let code = routine_machine(name, &settings).and_then(|mir| {
        let callees = routines(db, mir.header.callees().cloned().collect(), &settings)?;
        run(mir.into(), Span::CODE, &mut Context::new(&settings).with_callees(&callees), &mut Silent)
    });
    Stage::of(code.map(|code| finished::keep(symbol, settings, Arc::new(code.into_program()))))
}

/// Routines that this process has compiled. A routine comes with the compiler, so its code is as
/// constant as a table; keeping it here changes only the compile time.
mod finished {
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

    use ptxc_codegen::func_code::FuncCode;
    use ptxc_passes::CodeSettings;

    /// The most routines to keep: a file is compiled in few ways, but there are as many heuristics
    /// as seeds.
    const MOST: usize = 64;

    static CODE: Mutex<Vec<(String, CodeSettings, Arc<FuncCode>)>> = Mutex::new(Vec::new());

    fn all() -> MutexGuard<'static, Vec<(String, CodeSettings, Arc<FuncCode>)>> {
        CODE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The code of a routine with these settings, if it is here.
    pub fn get(symbol: &str, settings: &CodeSettings) -> Option<Arc<FuncCode>> {
        let code = all();
        let found = code.iter().find(|(known, compiled, _)| known == symbol && compiled == settings);
        found.map(|(.., code)| code.clone())
    }

    /// Keeps the code of a routine while there is room.
    pub fn keep(symbol: &str, settings: CodeSettings, code: Arc<FuncCode>) -> Arc<FuncCode> {
        let mut all = all();
        if all.len() < MOST {
            all.push((symbol.to_string(), settings, code.clone()));
        }
        code
    }
}

/// The code of these routines, and of those that they call.
fn routines(
    db: &dyn Db,
    mut wanted: Vec<String>,
    settings: &CodeSettings,
) -> Result<Callees, Vec<Diagnostic>> {
    let mut found = Callees::new();
    while let Some(symbol) = wanted.pop() {
        if found.contains_key(&symbol) {
            continue;
        }
        let stage = routine_code(db, Routine::with_settings(db, &symbol, settings));
        let Some(code) = &stage.value else { return Err(stage.diagnostics.clone()) };
        wanted.extend(code.program.functions.iter().skip(1).map(|function| function.name.clone()));
        found.insert(symbol, code.clone());
    }
    Ok(found)
}

/// The code of a device function by itself, with at most this many general registers.
#[salsa::tracked(returns(ref))]
pub fn device_code(db: &dyn Db, func: Func, options: Options, max_regs: u32) -> Arc<Stage<Arc<FuncCode>>> {
    let Some(mir) = &mir(db, func, options).value else { return Stage::of(Err(Vec::new())) };
    let settings = settings(db, func, options, max_regs);
    let code = own_code(db, func, mir, options, &settings)
        .and_then(|own| run(own.into(), Span::LINK, &mut Context::new(&settings), &mut Silent));
    let code = code.map(|code| Arc::new(code.into_program()));
    Stage::of(code.map_err(|halt| name_unsupported(ast(db, func), halt)))
}

/// The facts that callers must know about a device function's code.
#[salsa::tracked(returns(copy))]
fn device_summary(db: &dyn Db, func: Func, options: Options, max_regs: u32) -> Option<Summary> {
    device_code(db, func, options, max_regs).value.as_ref().and_then(|code| code.summary)
}

/// The number of CTA barriers in a device function's code and in the routines that it calls, without
/// the device functions.
#[salsa::tracked(returns(copy))]
fn device_barriers(db: &dyn Db, func: Func, options: Options, max_regs: u32) -> u32 {
    let Some(code) = &device_code(db, func, options, max_regs).value else { return 0 };
    let settings = settings(db, func, options, max_regs);
    let named = code.program.functions.iter().skip(1).map(|function| function.name.clone());
    let named = named.filter(|symbol| runtime::name_of_symbol(symbol).is_some()).collect();
    let routines = routines(db, named, &settings).unwrap_or_default();
    let programs = routines.values().chain([code]).map(|code| &code.program);
    programs.map(|program| program.resources.barriers).max().unwrap_or(0)
}

/// The number of CTA barriers that an indirect call may need: that of every function whose address
/// the module takes, and of their callees.
#[salsa::tracked(returns(copy))]
fn barriers_by_address(db: &dyn Db, file: SourceFile, options: Options, max_regs: u32) -> u32 {
    let mut called: IndexSet<Func> = pointed_to(db, file).clone();
    for &func in pointed_to(db, file) {
        called.extend(device_callees(db, func));
    }
    if called.len() > MOST_CALLEES {
        return arch(db, file, options).facts().limits.cta_barriers;
    }
    called.into_iter().map(|func| device_barriers(db, func, options, max_regs)).max().unwrap_or(0)
}

/// The number of CTA barriers that the indirect calls of a program may need. The address may come from
/// another kernel, so the functions that they reach need not be parts of the program.
pub(crate) fn barriers_of_indirect_calls<'a>(
    db: &dyn Db,
    owner: Func,
    options: Options,
    settings: &CodeSettings,
    mut parts: impl Iterator<Item = &'a FuncCode>,
) -> u32 {
    match parts.any(|part| part.program.insts.iter().any(|coded| coded.inst.op == Op::CALL_INDIRECT)) {
        true => barriers_by_address(db, owner.file(db), options, settings.max_regs),
        false => 0,
    }
}

/// The code of a function by itself. It depends only on the summaries of the device functions that
/// it calls. Nothing is known about callees that call the function in turn.
///
/// # Errors
/// The errors in it or in a routine.
pub fn own_code(
    db: &dyn Db,
    owner: Func,
    mir: &Mir<VReg>,
    options: Options,
    settings: &CodeSettings,
) -> Result<FuncCode, Vec<Diagnostic>> {
    if device_callees(db, owner).len() > MOST_CALLEES {
        return Err(too_many_callees());
    }
    let (mut summaries, mut codes) = (Summaries::new(), Callees::new());
    for symbol in mir.header.callees() {
        if runtime::name_of_symbol(symbol).is_some() {
            let stage = routine_code(db, Routine::with_settings(db, symbol, settings));
            let Some(code) = &stage.value else { return Err(stage.diagnostics.clone()) };
            summaries.extend(code.summary.map(|summary| (symbol.clone(), summary)));
            codes.insert(symbol.clone(), code.clone());
        } else if !options.relocatable(db)
            && let Some(func) = named_callee(db, owner.file(db), symbol)
            && func != owner
            && !device_callees(db, func).contains(&owner)
        {
            let summary = device_summary(db, func, options, settings.max_regs);
            summaries.extend(summary.map(|summary| (symbol.clone(), summary)));
        }
    }
    let mut context = Context::new(settings).with_callees(&codes).with_summaries(&summaries);
    run(mir.clone().into(), Span::OWN_CODE, &mut context, &mut Silent).map(Form::into_program)
}

fn too_many_callees() -> Vec<Diagnostic> {
    let what = format!("a call of more than {MOST_CALLEES} functions, directly or not,");
    vec![Diagnostic::unsupported(NodeId(0), what)]
}

/// The code of the functions that machine IR calls, directly or not: routines and device functions.
/// The callees of a device function do not include those that call it in turn, because their code
/// would have to exist before its own.
///
/// # Errors
/// The errors in one of them; an empty list if their own diagnostics report the errors.
pub fn callees(
    db: &dyn Db,
    owner: Func,
    mir: &Mir<VReg>,
    options: Options,
    settings: &CodeSettings,
) -> Result<Callees, Vec<Diagnostic>> {
    if device_callees(db, owner).len() > MOST_CALLEES {
        return Err(too_many_callees());
    }
    let mut found = Callees::new();
    let pointers = |variables: &[Variable]| {
        let targets = variables.iter().flat_map(|variable| &variable.pointers).map(|to| &to.target);
        let is_function = |name: &&String| named_callee(db, owner.file(db), name).is_some();
        targets.filter(is_function).cloned().collect::<Vec<String>>()
    };
    let mut wanted = pointers(&mir.header.variables);
    wanted.extend(mir.header.callees().rev().cloned());
    // In an object, everything else is for a linker to find.
    wanted.retain(|symbol| !options.relocatable(db) || runtime::name_of_symbol(symbol).is_some());
    while let Some(symbol) = wanted.pop() {
        if found.contains_key(&symbol) {
            continue;
        }
        let stage = if runtime::name_of_symbol(&symbol).is_some() {
            routine_code(db, Routine::with_settings(db, &symbol, settings))
        } else {
            let Some(func) = named_callee(db, owner.file(db), &symbol) else {
                let what = format!("a call of `{symbol}`, which the driver provides,");
                return Err(vec![Diagnostic::unsupported(NodeId(0), what)]);
            };
            if func == owner || device_callees(db, func).contains(&owner) {
                continue;
            }
            device_code(db, func, options, settings.max_regs)
        };
        let Some(code) = &stage.value else {
            // Nodes belong to the function that is being compiled.
            let found = stage.diagnostics.iter().cloned();
            let moved = found.map(|mut finding| {
                finding.primary.node = NodeId(0);
                finding.secondary.clear();
                finding
            });
            return Err(moved.collect());
        };
        wanted.extend(pointers(&code.program.variables));
        wanted.extend(code.program.functions.iter().skip(1).map(|function| function.name.clone()));
        found.insert(symbol, code.clone());
    }
    Ok(found)
}
