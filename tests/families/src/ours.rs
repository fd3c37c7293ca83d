//! The results of this compiler for forms, in this process.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ptxc_compiler::output::kernels;
use ptxc_compiler::{Database, Settings, SourceFile, diagnostics};
use ptxc_machine::Arch;
use ptxc_ptx::diagnostic::Severity;
use ptxc_sass::text::write_inst;
use ptxc_sass::{Inst, PReg, Program};
use rayon::prelude::*;

use crate::form::Form;
use crate::kernel::module;
use crate::outcome::Outcome;
use crate::signature::Signature;

/// The program of a form.
///
/// # Errors
/// The errors, each with its code first.
pub fn program(form: &Form, arch: Arch) -> Result<Program, Vec<String>> {
    compile(form, arch, false)
}

/// The same. In strict mode it refuses everything that ptxas refuses.
fn compile(form: &Form, arch: Arch, strict: bool) -> Result<Program, Vec<String>> {
    let text = module(form, arch);
    let compiled = catch_unwind(AssertUnwindSafe(|| {
        let db = Database::default();
        let file = SourceFile::new(&db, "form.ptx".into(), text);
        let options = Settings { strict, ..Settings::default() }.options(&db);
        let found = diagnostics(&db, file, options);
        let errors = found.iter().filter(|found| found.severity == Severity::Error);
        let errors: Vec<String> = errors.map(|found| format!("{}: {}", found.code, found.message)).collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        match kernels(&db, file, options)[..] {
            [(_, Some(code))] => Ok(code.program.clone()),
            _ => Err(vec!["neither code nor errors".to_string()]),
        }
    }));
    compiled.unwrap_or_else(|_| Err(vec!["a panic".to_string()]))
}

/// The outcome of the compiler for a form, in strict mode: vector updates before sm_90 are an
/// extension, which other tests cover.
pub fn outcome(form: &Form, arch: Arch) -> Outcome {
    match compile(form, arch, true) {
        Ok(program) => Outcome::Code(signature(&program, arch)),
        Err(errors) => Outcome::Refused(errors.join("; ")),
    }
}

/// The outcomes for many forms, in order.
pub fn outcomes(forms: &[Form], arch: Arch) -> Vec<Outcome> {
    forms.par_iter().map(|form| outcome(form, arch)).collect()
}

/// The signature in the spelling of nvdisasm for the architecture.
fn signature(program: &Program, arch: Arch) -> Signature {
    let text = |inst: &Inst<PReg>| {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write_inst(&mut text, inst, 0, &[], arch);
        text
    };
    let texts: Vec<String> = program.insts.iter().map(|coded| text(&coded.inst)).collect();
    Signature::of(texts.iter().map(String::as_str))
}
