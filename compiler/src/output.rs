//! The results for a file: its diagnostics, and its kernels as SASS text.

use std::iter;

use ptxc_codegen::func_code::FuncCode;
use ptxc_machine::Arch;
use ptxc_passes::UNSUPPORTED_ARCH;
use ptxc_ptx::check::codes::WITHOUT_KERNEL;
use ptxc_ptx::check::env::PtxTarget;
use ptxc_ptx::check::requirements::Strictness;
use ptxc_ptx::diagnostic::{Diagnostic, Severity};
use ptxc_sass::kept::Kept;
use ptxc_sass::text::{Style, write_program, write_variables};
use ptxc_sass::variable::union;
use ptxc_syntax::items::{ItemKind, split};
use ptxc_syntax::{NodeId, Span, codes, item_errors};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::causes;
use crate::db::{Database, Db};
use crate::header::registers;
use crate::input::items::{Func, items, places};
use crate::input::{Options, SourceFile};
use crate::locate::{MOST_FINDINGS, locate_in, syntax_error};
use crate::module::{arch_of_target, ast, header, is_damaged, parsed};
use crate::render::Located;
use crate::shared;
use crate::stages::callees::{device_callees, device_code};
use crate::stages::parts::parts;
use crate::stages::{
    arch, barrier_warnings, beyond, built, checked, code, flow_warnings, mir, splits, ssa, unsuited,
};
use crate::variables::{missing_definitions, undefined_variables};

/// Every finding in a file, sorted by place. A device function that no kernel calls is not lowered,
/// so constructs in it that cannot be lowered are not reported.
pub fn diagnostics(db: &dyn Db, file: SourceFile, options: Options) -> Vec<Located> {
    let mut found = ssa_findings(db, file, options);
    add_program_findings(db, file, options, &mut found);
    let called: FxHashSet<Func> =
        defined_kernels(db, file).flat_map(|kernel| device_callees(db, kernel)).copied().collect();
    for &func in &items(db, file).functions {
        if func.kind(db) != ItemKind::Func || called.contains(&func) || options.relocatable(db) {
            found.extend(lowering_findings(db, func, options));
        }
    }
    sort(file.text(db), found)
}

/// Every finding in a file that is not in one of its functions, or that concerns how its functions
/// agree.
pub(crate) fn module_findings(db: &dyn Db, file: SourceFile, options: Options) -> Vec<Located> {
    let mut found = findings_between_functions(db, file);
    add_program_findings(db, file, options, &mut found);
    sort(file.text(db), found)
}

/// Adds the findings about a file as a program, or as an object.
fn add_program_findings(db: &dyn Db, file: SourceFile, options: Options, found: &mut Vec<Located>) {
    found.extend(unsupported_target(db, file, options));
    if !options.relocatable(db) {
        found.extend(missing_definitions(db, file));
        found.extend(undefined_variables(db, file));
    }
    found.extend(registers(db, file));
    found.extend(lonely_function(db, file, options));
}

/// Every finding in a function, and in the device functions that it calls.
pub(crate) fn function_findings(db: &dyn Db, func: Func, options: Options) -> Vec<Located> {
    let mut found = text_findings(db, func);
    found.extend(ssa_findings_in(db, func, options));
    if func.kind(db) != ItemKind::Func || options.relocatable(db) {
        found.extend(lowering_findings(db, func, options));
        let callees = device_callees(db, func).iter();
        found.extend(callees.flat_map(|&callee| lowering_findings(db, callee, options)));
    }
    found
}

/// Whether there may be findings in a function. This links no kernel.
pub(crate) fn may_have_findings(db: &dyn Db, func: Func, options: Options) -> bool {
    !text_findings(db, func).is_empty()
        || !ssa_findings_in(db, func, options).is_empty()
        || is_coded(db, func, options) && parts(db, func, options).value.is_none()
}

/// The findings that keep the SSA of a function from becoming code.
fn lowering_findings(db: &dyn Db, func: Func, options: Options) -> Vec<Located> {
    let has_code = func.kind(db) != ItemKind::Func || options.relocatable(db);
    let code = has_code.then(|| &code(db, func, options).diagnostics);
    let mut stages = iter::once(&mir(db, func, options).diagnostics).chain(code).flatten().peekable();
    if stages.peek().is_none() {
        return Vec::new();
    }
    let unsuited = unsuited_nodes(db, func, options);
    let stages = stages.filter(|finding| !unsuited.contains(&finding.primary.node));
    stages.map(|diagnostic| locate(db, func, diagnostic)).collect()
}

/// The warning that a file has only device functions, so that a program has no code.
fn lonely_function(db: &dyn Db, file: SourceFile, options: Options) -> Option<Located> {
    if options.relocatable(db) || defined_kernels(db, file).next().is_some() {
        return None;
    }
    let func = items(db, file).functions.iter().find(|func| func.has_body(db))?;
    let message = "a module without kernels: no code is written";
    let warning = Diagnostic::warning(WITHOUT_KERNEL, ast(db, *func).id, message)
        .label("no kernel calls it")
        .help("`lower -c` makes a relocatable object, which contains the functions");
    Some(locate(db, *func, &warning))
}

/// All findings except those of the lowering from SSA to code.
pub fn ssa_diagnostics(db: &dyn Db, file: SourceFile, options: Options) -> Vec<Located> {
    sort(file.text(db), ssa_findings(db, file, options))
}

/// The nodes that use a feature that the architecture lacks, as a finding says.
fn unsuited_nodes(db: &dyn Db, func: Func, options: Options) -> FxHashSet<NodeId> {
    unsuited(db, func, options).iter().map(|finding| finding.primary.node).collect()
}

fn ssa_findings(db: &dyn Db, file: SourceFile, options: Options) -> Vec<Located> {
    let mut found = findings(db, file);
    for &func in &items(db, file).functions {
        found.extend(ssa_findings_in(db, func, options));
    }
    found
}

/// The findings about a function from the checks after the parser and the checker, up to its SSA.
fn ssa_findings_in(db: &dyn Db, func: Func, options: Options) -> Vec<Located> {
    // These come first, because they hold even if the function has no SSA for another reason. A
    // node that the architecture does not suit is not reported as unsupported as well.
    let unsuited = unsuited(db, func, options);
    let nodes: FxHashSet<NodeId> = unsuited.iter().map(|finding| finding.primary.node).collect();
    let mut found: Vec<Located> = unsuited.iter().map(|diagnostic| locate(db, func, diagnostic)).collect();
    let stages = [
        flow_warnings(db, func),
        &built(db, func).diagnostics,
        barrier_warnings(db, func),
        &ssa(db, func, options).diagnostics,
    ];
    for stage in stages {
        let stage = stage.iter().filter(|finding| !nodes.contains(&finding.primary.node));
        found.extend(stage.map(|diagnostic| locate(db, func, diagnostic)));
    }
    if !options.strict(db) {
        found.extend(split_findings(db, func, arch(db, func.file(db), options)));
    }
    found
}

/// The findings about instructions that are split for an architecture, in a function whose PTX is
/// for a newer one.
pub fn split_findings<'db>(
    db: &'db dyn Db,
    func: Func,
    arch: Arch,
) -> impl Iterator<Item = Located> + use<'db> {
    splits(db, func, arch).iter().map(move |note| locate(db, func, note))
}

/// The kernels of a file that have a body, in order.
pub(crate) fn defined_kernels(db: &dyn Db, file: SourceFile) -> impl Iterator<Item = Func> {
    let functions = items(db, file).functions.iter().copied();
    functions.filter(|func| func.kind(db) == ItemKind::Entry && func.has_body(db))
}

/// The finding that there is no code generation for an architecture as new as the file's target,
/// unless the options name one.
pub fn unsupported_target(db: &dyn Db, file: SourceFile, options: Options) -> Option<Located> {
    let target = header(db, file).target;
    let arch = arch(db, file, options);
    if options.arch(db).is_some() || target.number <= arch.number() {
        return None;
    }
    let position = items(db, file).others.iter().position(|item| item.kind == ItemKind::Target)?;
    let start = *places(db, file).others.get(position)?;
    let length = items(db, file).others[position].text.len() as u32;
    Some(Located {
        code: UNSUPPORTED_ARCH.to_string(),
        severity: Severity::Error,
        message: format!("code for `.target {target}` is not supported yet"),
        primary: (Span::new(start, start + length), String::new()),
        secondary: Vec::new(),
        notes: Vec::new(),
        help: Some(format!(
            "use --arch {arch} to compile for {arch}; it reports the instructions that need a newer architecture"
        )),
    })
}

/// The syntax errors of a text, in order. Each function is dropped before the next one is read, so
/// this takes little more memory than the text.
pub fn check_syntax(text: &str) -> Vec<Located> {
    let mut found = Vec::new();
    for item in split(text) {
        let errors = item_errors(&text[item.span.range()], item.kind);
        found.extend(errors.iter().map(|error| syntax_error(error, item.span.start)));
    }
    causes::only(text, found)
}

/// The findings in a file's text: syntax, names, types, forms.
pub fn check_text(db: &dyn Db, file: SourceFile) -> Vec<Located> {
    sort(file.text(db), findings(db, file))
}

/// The findings in a file that need no lowering. They concern its text; instructions that need more
/// than a target, if the caller names one that is older than the file's; instructions that are
/// split (an error in strict mode); its barriers and its control flow. Only [`diagnostics`] reports
/// code that is correct but unsupported (E0900 to E0904).
pub fn check(
    db: &dyn Db,
    file: SourceFile,
    target: Option<PtxTarget>,
    strictness: Strictness,
) -> Vec<Located> {
    let mut found = findings(db, file);
    let runs = |target: PtxTarget| Arch::ALL.into_iter().find(|arch| arch.number() >= target.number);
    let arch = match target {
        Some(target) => runs(target),
        None => Some(arch_of_target(header(db, file).target.number)),
    };
    for &func in &items(db, file).functions {
        let beyond = beyond(db, func, target, strictness);
        let about = beyond.iter().chain(flow_warnings(db, func)).chain(barrier_warnings(db, func));
        found.extend(about.map(|diagnostic| locate(db, func, diagnostic)));
        let built = built(db, func).diagnostics.iter();
        let warnings = built.filter(|finding| finding.severity == Severity::Warning);
        found.extend(warnings.map(|diagnostic| locate(db, func, diagnostic)));
        found.extend(shared::finding(db, func).map(|diagnostic| locate(db, func, &diagnostic)));
        if let (Strictness::Splits, Some(arch)) = (strictness, arch) {
            found.extend(split_findings(db, func, arch));
        }
    }
    sort(file.text(db), found)
}

/// Sorts the findings in a text, and keeps as many as a reader needs.
pub(crate) fn sort(text: &str, found: Vec<Located>) -> Vec<Located> {
    let mut found = causes::only(text, found);
    found.sort_by(|a, b| (a.primary.0, &a.code, &a.message).cmp(&(b.primary.0, &b.code, &b.message)));
    found.dedup();
    if found.len() > MOST_FINDINGS {
        let error = found[MOST_FINDINGS..].iter().find(|located| located.severity == Severity::Error);
        let last = error.map(|error| Located {
            code: codes::TOO_MANY_ERRORS.to_string(),
            severity: Severity::Error,
            message: format!("more than {MOST_FINDINGS} errors; the others are not listed"),
            primary: (error.primary.0, String::new()),
            secondary: Vec::new(),
            notes: Vec::new(),
            help: None,
        });
        found.truncate(MOST_FINDINGS);
        found.extend(last);
    }
    found
}

fn findings(db: &dyn Db, file: SourceFile) -> Vec<Located> {
    let mut found = findings_between_functions(db, file);
    for &func in &items(db, file).functions {
        found.extend(text_findings(db, func));
    }
    found
}

/// The findings in a function's text.
fn text_findings(db: &dyn Db, func: Func) -> Vec<Located> {
    let mut found = Vec::new();
    if is_damaged(db, func) {
        let errors = &parsed(db, func).errors;
        found.extend(errors.iter().map(|error| syntax_error(error, func.offset(db))));
    }
    found.extend(checked(db, func).findings.iter().map(|diagnostic| locate(db, func, diagnostic)));
    found
}

/// The findings in the text outside functions, and in functions with the same name.
fn findings_between_functions(db: &dyn Db, file: SourceFile) -> Vec<Located> {
    let mut found = crate::header::findings(db, file);
    found.extend(crate::declared::findings(db, file));
    found.extend(crate::aliases::findings(db, file));
    found
}

/// Gives a diagnostic of a function its place in the file.
pub fn locate(db: &dyn Db, func: Func, diagnostic: &Diagnostic) -> Located {
    locate_in(&parsed(db, func).spans, func.offset(db), diagnostic)
}

/// The kernels of a file, in order, with their code if they have it. In an object, device functions
/// have code of their own, too.
pub fn kernels(db: &dyn Db, file: SourceFile, options: Options) -> Vec<(Func, Option<&FuncCode>)> {
    coded(db, file, options).map(|func| (func, code(db, func, options).value.as_ref())).collect()
}

/// The functions that have code of their own: kernels with a body, and in an object all functions with
/// one.
pub(crate) fn coded(db: &dyn Db, file: SourceFile, options: Options) -> impl Iterator<Item = Func> {
    items(db, file).functions.iter().copied().filter(move |&func| is_coded(db, func, options))
}

fn is_coded(db: &dyn Db, func: Func, options: Options) -> bool {
    func.has_body(db) && (func.kind(db) == ItemKind::Entry || options.relocatable(db))
}

/// The SASS text of a file: one kernel after another, then the variables that they name. Kernels
/// with errors are missing from it, so check [`diagnostics`] first.
pub fn lower(db: &dyn Db, file: SourceFile, options: Options, style: &Style, explain: bool) -> String {
    let mut parts = Vec::new();
    let mut written = Vec::new();
    for (_, code) in kernels(db, file, options) {
        let Some(code) = code else { continue };
        parts.push(program_text(code, style, explain));
        written.push(code);
    }
    parts.extend(variables_text(written));
    parts.join("\n")
}

/// The text of the variables that kernels of one file name, if there are any.
pub fn variables_text<'a>(kernels: impl IntoIterator<Item = &'a FuncCode>) -> Option<String> {
    let variables = union(kernels.into_iter().map(|code| &code.program.variables[..]));
    let mut text = String::new();
    let written = write_variables(&variables, &Kept::default(), &mut text);
    debug_assert!(written.is_ok());
    (!text.is_empty()).then_some(text)
}

/// The SASS text of a kernel.
pub fn program_text(code: &FuncCode, style: &Style, explain: bool) -> String {
    let lines: Option<Vec<String>> =
        explain.then(|| (0..code.program.insts.len()).map(|inst| code.explain.line(inst)).collect());
    let mut text = String::new();
    // Writing to a string fails only if a formatter fails, and these formatters do not.
    let written = write_program(&code.program, style, lines.as_deref(), &mut text);
    debug_assert!(written.is_ok());
    text
}

/// Compiles all kernels of a file on all cores, so that later queries find the results ready. The
/// results do not depend on it.
pub fn compile_in_parallel(db: &Database, file: SourceFile, options: Options) {
    let count = items(db, file).functions.len();
    if count < 2 {
        return;
    }
    // Each worker has a clone of the database: a handle to the same storage.
    let clones: Vec<(usize, Database)> = (0..count).map(|index| (index, db.clone())).collect();
    clones.into_par_iter().for_each(|(index, db)| compile_function(&db, file, options, index));
}

/// Compiles a function of a file, given by its place among the functions.
pub fn compile_function(db: &dyn Db, file: SourceFile, options: Options, index: usize) {
    if let Some(&func) = items(db, file).functions.get(index) {
        match func.kind(db) {
            ItemKind::Func if !options.relocatable(db) => {
                let _ = device_code(db, func, options, options.max_regs(db));
            }
            _ => {
                let _ = code(db, func, options);
            }
        }
    }
}
