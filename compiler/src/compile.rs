//! From a text to machine code in one call.

use std::fmt;

use ptxc_codegen::func_code::FuncCode;
use ptxc_codegen::schedule::{HEURISTICS, Heuristic};
use ptxc_ir as ir;
use ptxc_machine::Arch;
use ptxc_object::cubin::CubinError;
use ptxc_passes::{CodeSettings, Context, Form, Module, Silent, Span, run};
use ptxc_ptx::diagnostic::{Diagnostic, Severity};
use ptxc_sass::text::Style;

use crate::cubin::cubin_of;
use crate::db::Database;
use crate::input::items::Func;
use crate::input::{Options, SourceFile};
use crate::output::{coded, diagnostics, kernels, locate, program_text, ssa_diagnostics, variables_text};
use crate::render::Located;
use crate::settings::Settings;
use crate::stages::callees::{barriers_of_indirect_calls, callees};
use crate::stages::{code_settings, mir};

/// The result of compiling a PTX text. It prints as SASS.
#[derive(Debug)]
pub struct Compiled {
    /// The kernels, in the order of the text; in an object also the device functions.
    pub kernels: Vec<FuncCode>,
    /// The warnings and notes.
    pub warnings: Vec<Located>,
    db: Database,
    file: SourceFile,
    options: Options,
}

/// Compiles a PTX text.
///
/// ```
/// use ptxc_compiler::{Settings, compile};
///
/// let text = ".version 9.0\n.target sm_90\n.entry k() { bar.sync 0; ret; }";
/// let compiled = compile(text, Settings::default()).unwrap();
/// assert!(compiled.to_string().contains("BAR.SYNC"));
///
/// let wrong = compile(".version 9.0\n.target sm_90\n.entry k() { bar.sink 0; }", Settings::default());
/// assert_eq!(wrong.unwrap_err()[0].message, "`bar` has no modifier `.sink`");
/// ```
///
/// # Errors
/// All findings, if one of them is an error.
pub fn compile(text: &str, settings: Settings) -> Result<Compiled, Vec<Located>> {
    let (db, file, options) = opened(text, settings);
    let warnings = free_of_errors(diagnostics(&db, file, options))?;
    let kernels = kernels(&db, file, options).into_iter().filter_map(|(_, code)| code.cloned()).collect();
    Ok(Compiled { kernels, warnings, db, file, options })
}

/// Compiles a PTX text with a caller-supplied heuristic, which replaces the one that the settings
/// name. The built-in heuristic schedules the functions that the kernels call.
///
/// # Errors
/// As [`compile`]; also an order that breaks a dependence.
pub fn compile_with(
    text: &str,
    settings: Settings,
    heuristic: &mut dyn Heuristic,
) -> Result<Compiled, Vec<Located>> {
    let settings = Settings { heuristic: HEURISTICS[0].to_string(), ..settings };
    let (db, file, options) = opened(text, settings);
    let mut found = ssa_diagnostics(&db, file, options);
    let mut kernels = Vec::new();
    for func in coded(&db, file, options) {
        match scheduled(&db, func, options, heuristic) {
            Ok(code) => kernels.extend(code),
            // A callee has no code, and its own diagnostics say why.
            Err(halt) if halt.is_empty() => return Err(diagnostics(&db, file, options)),
            Err(halt) => found.extend(halt.iter().map(|diagnostic| locate(&db, func, diagnostic))),
        }
    }
    let warnings = free_of_errors(found)?;
    Ok(Compiled { kernels, warnings, db, file, options })
}

/// Compiles a function that was [built](ir::Builder) or read, not parsed from PTX: runs all passes
/// after the first one.
///
/// # Errors
/// The diagnostics of the passes, without places in a text.
pub fn compile_ir(
    function: ir::Function,
    arch: Arch,
    settings: &Settings,
) -> Result<FuncCode, Vec<Diagnostic>> {
    let Settings { opt, fmad, aggregate, heuristic, max_regs, serial, .. } = settings.clone();
    let settings =
        CodeSettings { arch, accelerated: false, opt, fmad, aggregate, heuristic, max_regs, serial };
    let form = Form::from(function);
    Module::new(std::slice::from_ref(&form), &[], &settings).finish(&form).map_err(|failure| failure.halt)
}

impl Compiled {
    /// The kernels as a cubin, which the driver loads.
    ///
    /// # Errors
    /// Anything that a cubin can't hold.
    pub fn cubin(&self) -> Result<Vec<u8>, CubinError> {
        let kernels: Vec<(Func, &FuncCode)> =
            coded(&self.db, self.file, self.options).zip(&self.kernels).collect();
        cubin_of(&self.db, self.file, self.options, &kernels)
    }
}

impl fmt::Display for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernels = self.kernels.iter().map(|code| program_text(code, &Style::default(), false));
        let parts: Vec<String> = kernels.chain(variables_text(&self.kernels)).collect();
        f.write_str(&parts.join("\n"))
    }
}

fn opened(text: &str, settings: Settings) -> (Database, SourceFile, Options) {
    let db = Database::default();
    let file = SourceFile::new(&db, "ptx".to_string(), text.to_string());
    let options = settings.options(&db);
    (db, file, options)
}

fn free_of_errors(found: Vec<Located>) -> Result<Vec<Located>, Vec<Located>> {
    match found.iter().any(|located| located.severity == Severity::Error) {
        true => Err(found),
        false => Ok(found),
    }
}

/// A kernel's code by a heuristic; `None` if an earlier stage has reported why there is none.
fn scheduled(
    db: &Database,
    func: Func,
    options: Options,
    heuristic: &mut dyn Heuristic,
) -> Result<Option<FuncCode>, Vec<Diagnostic>> {
    let stage = mir(db, func, options);
    let Some(mir) = &stage.value else {
        return if stage.diagnostics.is_empty() { Ok(None) } else { Err(stage.diagnostics.clone()) };
    };
    let settings = code_settings(db, func, options);
    let callees = callees(db, func, mir, options, &settings)?;
    let mut context = Context::new(&settings).with_callees(&callees).with_heuristic(heuristic);
    let code = run(mir.clone().into(), Span::CODE, &mut context, &mut Silent)?;
    let mut code = code.into_program();
    let barriers = barriers_of_indirect_calls(db, func, options, &settings, [&code].into_iter());
    let needs = &mut code.program.resources;
    needs.barriers = needs.barriers.max(barriers);
    Ok(Some(code))
}
