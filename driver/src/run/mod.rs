//! `ptxc run`: a kernel on the simulator.
//!
//! In: an execution case (`CASE.json`), or a kernel as PTX or SASS text with a launch on the command line.
//! Out: whether the case's expectations hold, or what the launch left in its buffers; exit code 1 where
//! something is not as it should be.
//!
//! | module | holds |
//! |---|---|
//! | `code` | what is executed: SSA and SASS of one kernel, from PTX or from SASS text |
//! | `launch` | grid, block and arguments from the command line, held against the kernel's parameters |
//! | `content` | what is in a buffer before the launch |
//! | `show` | what is printed of a run |

mod code;
mod content;
mod launch;
mod show;

use std::path::Path;

use ptxc_sim::case::Argument;
use ptxc_sim::{Case, Report};

use crate::cli::{Engine, RunArgs, StatsFormat};
use crate::{Outcome, Streams};
use code::Code;
use show::Run;

pub(crate) fn run(args: &RunArgs, streams: &mut Streams<'_>) -> Outcome {
    let is_case = Path::new(&args.input).extension().is_some_and(|extension| extension == "json");
    let result = if is_case { run_case(args, streams) } else { run_kernel(args, streams) };
    result.unwrap_or_else(|outcome| outcome)
}

/// A case: both engines, if asked for, are held against the expectations.
fn run_case(args: &RunArgs, streams: &mut Streams<'_>) -> Result<Outcome, Outcome> {
    if let Some(option) = launch::given(args) {
        return Err(streams.usage(format!("a case says its launch; {option} is for kernels")));
    }
    let case = Case::load(&args.input).map_err(|error| streams.failed(error))?;
    let ptx = case.ptx.display().to_string();
    let source = args.sass.as_ref().unwrap_or(&ptx);
    let code = Code::load(source, Some(&case.entry), args, streams)?;
    let mut outcome = Outcome::Done;
    let mut runs = Vec::new();
    for &engine in engines(args) {
        let result = code.run(engine, &case, args.seed);
        if !matches!(&result, Ok(report) if report.passed()) {
            outcome = Outcome::Failed;
        }
        runs.push(Run { engine, result, agrees: None });
    }
    if args.stats == Some(StatsFormat::Json) {
        show::stats(&args.input, &code, &runs, streams);
    }
    for run in &runs {
        let name = format!(
            "{}{}",
            args.input,
            if runs.len() > 1 { format!(", {}", run.engine) } else { String::new() }
        );
        match &run.result {
            Ok(report) if report.passed() && args.stats.is_none() => {
                let _ = writeln!(streams.out, "{name}: every expectation holds");
            }
            Ok(report) if report.passed() => {}
            Ok(report) => say(streams, format!("{name}: not as expected\n{}", show::mismatches(report))),
            Err(error) => say(streams, format!("{name}: {}", show::trouble(error))),
        }
    }
    Ok(outcome)
}

/// A launch from the command line: what it changed is printed; with both engines, they must agree.
fn run_kernel(args: &RunArgs, streams: &mut Streams<'_>) -> Result<Outcome, Outcome> {
    let code = Code::load(&args.input, args.entry.as_deref(), args, streams)?;
    let case = launch::case(&code, args).map_err(|message| streams.usage(message))?;
    let mut runs: Vec<Run> = Vec::new();
    for &engine in engines(args) {
        let result = match runs.first().map(|first| &first.result) {
            // What one engine left is what the other one is expected to leave.
            Some(Ok(report)) => code.run(engine, &expecting(&case, report), args.seed),
            _ => code.run(engine, &case, args.seed),
        };
        let agrees = match (runs.first().map(|first| &first.result), &result) {
            (Some(Ok(_)), Ok(report)) => Some(report.passed()),
            _ => None,
        };
        runs.push(Run { engine, result, agrees });
    }
    let failed = |run: &Run| run.result.is_err() || run.agrees == Some(false);
    let outcome = if runs.iter().any(failed) { Outcome::Failed } else { Outcome::Done };
    if args.stats == Some(StatsFormat::Json) {
        show::stats(&args.input, &code, &runs, streams);
    } else if let Some(Ok(report)) = runs.first().map(|run| &run.result) {
        let _ = write!(streams.out, "{}", show::changes(&case, report, args.print));
    }
    for run in &runs {
        match (&run.result, run.agrees) {
            (Err(error), _) => {
                say(streams, format!("{} ({}): {}", code.entry, run.engine, show::trouble(error)));
            }
            (Ok(report), Some(false)) => {
                let message = format!("{}: the engines do not agree; expected is what SSA left", code.entry);
                say(streams, format!("{message}\n{}", show::mismatches(report)));
            }
            (Ok(_), Some(true)) if args.stats.is_none() => {
                let _ = writeln!(streams.out, "{}: both engines agree", code.entry);
            }
            _ => {}
        }
    }
    Ok(outcome)
}

/// Says what went wrong; that it did is the caller's to remember.
fn say(streams: &mut Streams<'_>, message: String) {
    let _: Outcome = streams.failed(message);
}

/// The engines to run, in order.
fn engines(args: &RunArgs) -> &'static [Engine] {
    match args.engine {
        Engine::Ssa => &[Engine::Ssa],
        Engine::Sass => &[Engine::Sass],
        Engine::Both => &[Engine::Ssa, Engine::Sass],
    }
}

/// The case with the content that another run left as what is expected.
fn expecting(case: &Case, report: &Report) -> Case {
    let mut case = case.clone();
    let buffers = case.args.iter_mut().filter_map(|arg| match arg {
        Argument::Buffer(buffer) => Some(buffer),
        Argument::Scalar { .. } => None,
    });
    for (buffer, outcome) in buffers.zip(&report.outcomes) {
        buffer.expect = Some(outcome.content.clone());
    }
    case
}
