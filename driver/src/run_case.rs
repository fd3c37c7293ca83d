//! `ptxc run`: an execution case on a simulator.

use std::path::Path;

use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::ssa;
use ptxc_compiler::{Database, SourceFile, diagnostics};
use ptxc_sim::{Case, run_sass, run_ssa};

use crate::cli::{Engine, MessageFormat, RunArgs};
use crate::lower::options;
use crate::messages::report;
use crate::output::read;
use crate::{Outcome, Streams};

pub(crate) fn run(args: &RunArgs, streams: &mut Streams<'_>) -> Outcome {
    let case = match Case::load(&args.case) {
        Ok(case) => case,
        Err(error) => return streams.failed(format!("{}: {error}", args.case.display())),
    };
    let path = case.ptx.display().to_string();
    let text = match read(&path, streams.stdin) {
        Ok(text) => text,
        Err(error) => return streams.failed(format!("{path}: {error}")),
    };
    let db = Database::default();
    let file = SourceFile::new(&db, path.clone(), text);
    let options = match options(&db, &args.code) {
        Ok(options) => options,
        Err(message) => return streams.usage(message),
    };
    let found = diagnostics(&db, file, options);
    if report(&path, file.text(&db), &found, MessageFormat::Human, streams) != Outcome::Done {
        return Outcome::Failed;
    }
    let Some((func, code)) =
        kernels(&db, file, options).into_iter().find(|(func, _)| *func.name(&db) == *case.entry)
    else {
        return streams.failed(format!("{path} has no kernel `{}`", case.entry));
    };
    let settings = ptxc_sim::Options { seed: args.seed, ..ptxc_sim::Options::default() };
    let result = match (args.engine, &ssa(&db, func, options).value, code) {
        (Engine::Ssa, Some(func), _) => run_ssa(&case, func, &[], &settings),
        (Engine::Sass, _, Some(code)) => run_sass(&case, &code.program, &settings),
        _ => return streams.failed(format!("`{}` has no code", case.entry)),
    };
    let name = Path::new(&args.case).display().to_string();
    match result {
        Ok(outcome) if outcome.passed() => {
            let _ = writeln!(streams.out, "{name}: every expectation holds");
            Outcome::Done
        }
        Ok(outcome) => streams.failed(format!("{name}:\n{outcome}")),
        Err(error) => streams.failed(format!("{name}: {error}")),
    }
}
