//! From a function's tree to its code: one query for each stage.
//!
//! Each result carries its diagnostics. A stage after a failed one does nothing and adds no
//! diagnostics.

pub mod callees;
mod meetings;
pub(crate) mod outline;
pub(crate) mod parts;
mod relocatable;

use std::sync::Arc;

use ptxc_codegen::func_code::FuncCode;
use ptxc_codegen::mir::{Mir, VReg};
use ptxc_ir as ir;
use ptxc_machine::Arch;
use ptxc_passes::{CodeSettings, Context, Form, Silent, Span, name_unsupported, register_limit, run};
use ptxc_ptx::barriers;
use ptxc_ptx::check::env::{PtxTarget, TargetKind};
use ptxc_ptx::check::requirements::Strictness;
use ptxc_ptx::check::{self, Checked, codes};
use ptxc_ptx::diagnostic::{Code, Diagnostic, Severity, source_node};
use ptxc_ptx::flow;
use ptxc_ptx::split_notes::split_notes;
use ptxc_syntax::NodeId;
use ptxc_syntax::ast::Space;
use rustc_hash::FxHashSet;

use callees::{SYSTEM_FUNCTIONS, fill_lanes};
use outline::named_callee;
pub use parts::code;
use relocatable::make_relocatable;

use crate::db::Db;
use crate::input::items::Func;
use crate::input::{Options, SourceFile};
use crate::module::{Lost, arch_of_target, ast, environment, header, is_damaged, text_of};

/// The result of a stage: its product, unless there are errors, and its diagnostics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage<T> {
    /// The product.
    pub value: Option<T>,
    /// The findings of the stage.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Stage<T> {
    pub(crate) fn of(result: Result<T, Vec<Diagnostic>>) -> Arc<Stage<T>> {
        Arc::new(match result {
            Ok(value) => Stage { value: Some(value), diagnostics: Vec::new() },
            Err(diagnostics) => Stage { value: None, diagnostics },
        })
    }

    fn nothing() -> Arc<Stage<T>> {
        Arc::new(Stage { value: None, diagnostics: Vec::new() })
    }
}

/// The architecture to compile a file for.
#[salsa::tracked(returns(copy))]
pub fn arch(db: &dyn Db, file: SourceFile, options: Options) -> Arch {
    options.arch(db).unwrap_or_else(|| arch_of_target(header(db, file).target.number))
}

/// Whether a file's code runs only on exactly one architecture: its `.target` is specific to one
/// (`sm_90a`), and the file is compiled for that one.
pub fn accelerated(db: &dyn Db, file: SourceFile, options: Options) -> bool {
    let target = header(db, file).target;
    target.kind == TargetKind::Specific && target.number == arch(db, file, options).number()
}

/// The statements of a function that need a newer architecture than the one that the options name.
/// In strict mode, also those that need a newer target than the file's.
pub fn unsuited(db: &dyn Db, func: Func, options: Options) -> Vec<Diagnostic> {
    // An architecture has the same specific features that `.target sm_90a` gives access to.
    let target = |arch: Arch| PtxTarget { number: arch.number(), kind: TargetKind::Specific };
    let strictness = if options.strict(db) { Strictness::Strict } else { Strictness::Splits };
    beyond(db, func, options.arch(db).map(target), strictness)
}

/// The statements of a function that need more than a target that is older than the file's own. In
/// strict mode, also those that need more than the file's own target and that the checker accepts
/// only outside strict mode.
pub fn beyond(db: &dyn Db, func: Func, target: Option<PtxTarget>, strictness: Strictness) -> Vec<Diagnostic> {
    if is_damaged(db, func) {
        return Vec::new();
    }
    let (ast, environment) = (ast(db, func), environment(db, func));
    let mut found = match strictness {
        Strictness::Splits => Vec::new(),
        Strictness::Strict => check::check_strictly(ast, environment),
    };
    if let Some(target) = target.filter(|target| target.number < environment.target.number) {
        let own: FxHashSet<NodeId> = found.iter().map(|finding| finding.primary.node).collect();
        let older = check::check_target(ast, environment, target, strictness);
        found.extend(older.into_iter().filter(|finding| !own.contains(&finding.primary.node)));
    }
    found
}

/// The instructions of a function that are split for an architecture, each with the instructions
/// that replace it.
#[salsa::tracked(returns(ref))]
pub fn splits(db: &dyn Db, func: Func, arch: Arch) -> Vec<Diagnostic> {
    match &built(db, func).value {
        Some(built) => split_notes(built, ast(db, func), environment(db, func), arch),
        None => Vec::new(),
    }
}

/// The warnings about the CTA barriers of a function.
#[salsa::tracked(returns(ref))]
pub fn barrier_warnings(db: &dyn Db, func: Func) -> Vec<Diagnostic> {
    built(db, func).value.as_ref().map_or_else(Vec::new, barriers::warnings)
}

/// The warnings about the control flow of a function: registers that are read before any write, and
/// unreachable code.
#[salsa::tracked(returns(ref))]
pub fn flow_warnings(db: &dyn Db, func: Func) -> Vec<Diagnostic> {
    if has_errors(db, func) { Vec::new() } else { flow::warnings(ast(db, func), checked(db, func)) }
}

/// Whether a function's text has errors, so that it is not compiled.
fn has_errors(db: &dyn Db, func: Func) -> bool {
    is_damaged(db, func)
        || checked(db, func).findings.iter().any(|finding| finding.severity == Severity::Error)
}

/// The errors that are not reported where skipped text may declare the name.
const UNDECLARED: [Code; 3] = [codes::UNDECLARED_REGISTER, codes::UNDECLARED_SYMBOL, codes::UNDECLARED_LABEL];

/// The findings of the checker in a function, and the facts that it found.
#[salsa::tracked(returns(ref))]
pub fn checked(db: &dyn Db, func: Func) -> Checked {
    let mut found = check::examine(ast(db, func), environment(db, func));
    if is_damaged(db, func) {
        let lost = Lost::of(db, func);
        found.findings.retain(|finding| {
            !UNDECLARED.contains(&finding.code) || !lost.explains(text_of(db, func, finding.primary.node))
        });
    }
    found
}

/// The SSA form of the function as it was written.
#[salsa::tracked(returns(ref))]
pub fn built(db: &dyn Db, func: Func) -> Arc<Stage<ir::Function>> {
    if has_errors(db, func) || !func.has_body(db) {
        return Stage::nothing();
    }
    // The registers that an old module declares for all of its functions have one finding, at their
    // declaration.
    if environment(db, func).variables.values().any(|variable| variable.space == Space::Reg) {
        return Stage::nothing();
    }
    match ptxc_passes::build(ast(db, func), environment(db, func), &checked(db, func).resolved) {
        Ok(built) => Arc::new(Stage { value: Some(built.function), diagnostics: built.warnings }),
        Err(diagnostics) => Stage::of(Err(diagnostics)),
    }
}

/// The calls of functions that neither the module nor the driver defines.
fn undefined_callees(db: &dyn Db, func: Func, function: &ir::Function) -> Vec<Diagnostic> {
    let mut missing = Vec::new();
    for (number, callee) in function.callees.iter() {
        let is_known = match callee.kind {
            ir::CalleeKind::External(_) => SYSTEM_FUNCTIONS.contains(&callee.name.as_str()),
            ir::CalleeKind::Device => named_callee(db, func.file(db), &callee.name).is_some(),
            ir::CalleeKind::Routine | ir::CalleeKind::Prototype(_) => true,
        };
        if is_known {
            continue;
        }
        let names = |inst: &&ir::InstData| match inst.op {
            ir::Op::Call { callee, .. } | ir::Op::FuncAddr(callee) => callee == number,
            _ => false,
        };
        let node = function.insts.values().find(names).and_then(|inst| source_node(inst.loc));
        let what = format!("the function `{}`, which another module defines,", callee.name);
        missing.push(Diagnostic::unsupported(node.unwrap_or(NodeId(0)), what));
    }
    missing
}

/// The simplified SSA form.
#[salsa::tracked(returns(ref))]
pub fn ssa(db: &dyn Db, func: Func, options: Options) -> Arc<Stage<ir::Function>> {
    match &built(db, func).value {
        Some(built) => {
            let unsuited = unsuited(db, func, options);
            if !unsuited.is_empty() {
                return Stage::of(Err(unsuited));
            }
            let mut built = built.clone();
            if options.relocatable(db) {
                make_relocatable(db, func, &mut built);
            } else {
                let missing = undefined_callees(db, func, &built);
                if !missing.is_empty() {
                    return Stage::of(Err(missing));
                }
            }
            // Only the options that these passes read: with another heuristic their product stays
            // valid.
            let settings = CodeSettings {
                arch: arch(db, func.file(db), options),
                opt: options.opt(db),
                fmad: options.fmad(db),
                aggregate: options.aggregate(db),
                ..CodeSettings::default()
            };
            let ssa = run(built.into(), Span::SSA, &mut Context::new(&settings), &mut Silent);
            Stage::of(ssa.map(Form::into_ssa))
        }
        None => Stage::nothing(),
    }
}

/// Machine IR over virtual registers.
#[salsa::tracked(returns(ref))]
pub fn mir(db: &dyn Db, func: Func, options: Options) -> Arc<Stage<Mir<VReg>>> {
    match &ssa(db, func, options).value {
        Some(ssa) => {
            let mut ssa = ssa.clone();
            fill_lanes(db, func, &mut ssa, options);
            let (arch, opt) = (arch(db, func.file(db), options), options.opt(db));
            let settings = CodeSettings { arch, opt, ..CodeSettings::default() };
            let mir = run(ssa.into(), Span::MACHINE, &mut Context::new(&settings), &mut Silent);
            Stage::of(mir.map(Form::into_machine).map_err(|halt| name_unsupported(ast(db, func), halt)))
        }
        None => Stage::nothing(),
    }
}

/// The settings of a function's passes from machine IR on, with at most this many general
/// registers.
pub(crate) fn settings(db: &dyn Db, func: Func, options: Options, max_regs: u32) -> CodeSettings {
    CodeSettings {
        arch: arch(db, func.file(db), options),
        accelerated: accelerated(db, func.file(db), options),
        opt: options.opt(db),
        heuristic: options.heuristic(db).clone(),
        max_regs,
        serial: options.serial(db),
        ..CodeSettings::default()
    }
}

/// The same settings, with as many registers as the options and the function's own bounds allow.
pub fn code_settings(db: &dyn Db, func: Func, options: Options) -> CodeSettings {
    let max_regs = match &ssa(db, func, options).value {
        Some(ssa) => register_limit(&ssa.bounds, arch(db, func.file(db), options), options.max_regs(db)),
        None => options.max_regs(db),
    };
    settings(db, func, options, max_regs)
}

/// A kernel's code before its callees are appended.
#[salsa::tracked(returns(ref))]
pub(crate) fn own_code(db: &dyn Db, func: Func, options: Options) -> Arc<Stage<FuncCode>> {
    let Some(mir) = &mir(db, func, options).value else { return Stage::nothing() };
    let settings = code_settings(db, func, options);
    let code = callees::own_code(db, func, mir, options, &settings);
    Stage::of(code.map_err(|halt| name_unsupported(ast(db, func), halt)))
}
