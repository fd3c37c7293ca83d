//! What this compiler makes of forms, in this process.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ptxc_compiler::output::kernels;
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_passes::diagnostic::Severity;
use ptxc_sass::{Arch, Program};
use rayon::prelude::*;

use crate::form::Form;
use crate::kernel::module;
use crate::outcome::Outcome;
use crate::signature::Signature;

/// The program of a form, or why there is none: codes and sentences of the errors.
///
/// # Errors
/// The errors, each with its code in front.
pub fn program(form: &Form, arch: Arch) -> Result<Program, Vec<String>> {
    let text = module(form, arch);
    let compiled = catch_unwind(AssertUnwindSafe(|| {
        let db = Database::default();
        let file = SourceFile::new(&db, "form.ptx".into(), text);
        let options = Options::defaults(&db);
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

/// What the compiler makes of a form.
pub fn outcome(form: &Form, arch: Arch) -> Outcome {
    match program(form, arch) {
        Ok(program) => Outcome::Code(signature(&program)),
        Err(errors) => Outcome::Refused(errors.join("; ")),
    }
}

/// The same of many forms, in their order.
pub fn outcomes(forms: &[Form], arch: Arch) -> Vec<Outcome> {
    forms.par_iter().map(|form| outcome(form, arch)).collect()
}

fn signature(program: &Program) -> Signature {
    let texts: Vec<String> = program.insts.iter().map(|coded| coded.inst.to_string()).collect();
    Signature::of(texts.iter().map(String::as_str))
}
