//! `ptxc run`: runs a kernel on the simulator.
//!
//! In: an execution case (`CASE.json`), or a kernel as PTX or SASS text with a launch on the
//! command line. Out: whether the case's expectations hold, or the content of the buffers after the
//! launch. The exit code is 1 if an expectation does not hold or the run fails.
//!
//! | module | holds |
//! |---|---|
//! | `code` | the code to run: SSA and SASS of one kernel, from PTX or from SASS text |
//! | `launch` | grid, block and arguments from the command line, checked against the kernel's parameters |
//! | `content` | the content of a buffer before the launch |
//! | `places` | source lines and variables for findings |
//! | `show` | the printed results of a run |

mod code;
mod content;
mod launch;
mod places;
mod show;

use std::path::{Path, PathBuf};

use ptxc_sim::{Case, Finding};

use crate::cli::{Engine, RunArgs, StatsFormat};
use crate::input::Input;
use crate::output::check_overwrites;
use crate::sass_text::count;
use crate::streams::{Outcome, Streams};
use code::Code;
use show::Run;

pub(crate) fn run(args: &RunArgs, streams: &mut Streams<'_>) -> Outcome {
    let needs_sass =
        [("--hazards", args.hazards), ("--timing", args.timing), ("--trace", !args.trace.is_empty())];
    if let Some((option, _)) = needs_sass.iter().find(|(_, given)| *given && args.engine == Engine::Ssa) {
        return streams.usage(format!("{option} is for SASS, which has control codes"));
    }
    let files = args.arg.iter().filter_map(|arg| arg.split_once('@').map(|(_, file)| file));
    let files = files.map(Path::new);
    let inputs = [Some(&args.input), args.sass.as_ref(), args.cubin.as_ref()].into_iter().flatten();
    let traces = || args.trace.iter().map(PathBuf::as_path);
    if let Err(message) = check_overwrites(inputs.map(Input::path).chain(files), traces()) {
        return streams.usage(message);
    }
    let is_case = args.input.has_extension("json");
    let formats = args.trace.iter().try_for_each(|path| code::trace_format(path).map(drop));
    if let Err(message) = formats {
        return streams.usage(message);
    }
    let result = if is_case { run_case(args, streams) } else { run_kernel(args, streams) };
    result.unwrap_or_else(|outcome| outcome)
}

/// Runs a case: each engine that was asked for is compared with the expectations.
fn run_case(args: &RunArgs, streams: &mut Streams<'_>) -> Result<Outcome, Outcome> {
    if let Some(option) = launch::given(args) {
        return Err(streams.usage(format!("a case contains its launch; {option} is for kernels")));
    }
    let case = Case::load(args.input.path()).map_err(|error| streams.failed(error))?;
    let ptx = Input::from(case.ptx.clone());
    check_overwrites([ptx.path()], args.trace.iter().map(PathBuf::as_path))
        .map_err(|message| streams.usage(message))?;
    let source = args.sass.as_ref().or(args.cubin.as_ref()).unwrap_or(&ptx);
    let code = Code::load(source, Some(&case.entry), args, streams)?;
    let runs: Vec<Run> = engines(args).iter().map(|&engine| code.run(engine, &case, args)).collect();
    if args.stats == Some(StatsFormat::Json) {
        show::stats(args.input.shown(), &code, &runs, streams);
    }
    print_output(&runs, args, streams);
    for run in &runs {
        let several = runs.len() > 1;
        let name = if several { format!("{}, {}", args.input, run.engine) } else { args.input.to_string() };
        let (hazards, end) = run.end();
        code.print_hazards(hazards, streams);
        code.print_findings(run.findings(), streams);
        match end {
            Ok(report) if !report.is_as_expected() => {
                say(streams, format!("{name}: not as expected\n{}", show::mismatches(report)));
            }
            Ok(_) if !hazards.is_empty() => say(streams, too_early(&name, hazards.len())),
            Ok(_) if !run.findings().is_empty() => say(streams, unreliable(&name, run)),
            Ok(_) if args.stats.is_none() => {
                let _ = writeln!(streams.out, "{name}: every expectation holds");
            }
            Ok(_) => {}
            Err(error) => say(streams, format!("{name}: {error}")),
        }
    }
    timings(&runs, args, streams);
    Ok(if runs.iter().all(Run::is_fine) { Outcome::Done } else { Outcome::Failed })
}

/// Runs a launch from the command line and prints the changed buffers. With both engines, they must
/// agree.
fn run_kernel(args: &RunArgs, streams: &mut Streams<'_>) -> Result<Outcome, Outcome> {
    if let Some(code) = args.sass.as_ref().or(args.cubin.as_ref()) {
        return Err(streams.usage(format!(
            "--sass and --cubin replace the code of an execution case, `CASE.json`; to run that code, write \
             `ptxc run {code}`"
        )));
    }
    let code = Code::load(&args.input, args.entry.as_deref(), args, streams)?;
    let case = launch::case(&code, args).map_err(|message| streams.usage(message))?;
    let mut runs: Vec<Run> = Vec::new();
    for &engine in engines(args) {
        let mut run = match runs.first().map(|first| &first.result) {
            // The second engine must leave the same content as the first.
            Some(Ok(report)) => code.run(engine, &case.expecting(report), args),
            _ => code.run(engine, &case, args),
        };
        if let (Some(Ok(_)), Ok(report)) = (runs.first().map(|first| &first.result), &run.result) {
            run.agrees = Some(report.outcomes.iter().all(|buffer| buffer.wrong == 0));
        }
        runs.push(run);
    }
    if args.stats == Some(StatsFormat::Json) {
        show::stats(args.input.shown(), &code, &runs, streams);
    }
    print_output(&runs, args, streams);
    if let (None, Some(Ok(report))) = (args.stats, runs.first().map(|run| &run.result)) {
        let _ = write!(streams.out, "{}", show::changes(&case, report, args.print));
    }
    for run in &runs {
        let name = format!("{} ({})", code.entry, run.engine);
        let (hazards, end) = run.end();
        code.print_hazards(hazards, streams);
        code.print_findings(run.findings(), streams);
        match (end, run.agrees) {
            (Err(error), _) => say(streams, format!("{name}: {error}")),
            (Ok(report), Some(false)) => {
                let message =
                    format!("{}: the engines do not agree; the expected values are those of SSA", code.entry);
                let reason = reason(&code, &case, &runs, args, streams);
                say(streams, format!("{message}{reason}\n{}", show::mismatches(report)));
            }
            (Ok(_), _) if !hazards.is_empty() => say(streams, too_early(&name, hazards.len())),
            (Ok(_), _) if !run.findings().is_empty() => say(streams, unreliable(&name, run)),
            (Ok(_), Some(true)) if args.stats.is_none() => {
                let _ = writeln!(streams.out, "{}: both engines agree", code.entry);
            }
            _ => {}
        }
    }
    timings(&runs, args, streams);
    Ok(if runs.iter().all(Run::is_fine) { Outcome::Done } else { Outcome::Failed })
}

fn unreliable(name: &str, run: &Run) -> String {
    format!("{name}: {}; the values are not reliable", show::summary(run.findings()))
}

/// Why engines may disagree: reads of unwritten memory and races give each engine its own values.
/// If no run has found any, both run again with all checks, and the findings are printed.
fn reason(code: &Code, case: &Case, runs: &[Run], args: &RunArgs, streams: &mut Streams<'_>) -> String {
    let mut found: Vec<Finding> = runs.iter().flat_map(Run::findings).cloned().collect();
    if found.is_empty() {
        let quiet = RunArgs { trace: Vec::new(), ..args.clone() };
        for &engine in engines(args) {
            let run = code.run_checked(engine, case, &quiet, (true, true));
            code.print_findings(run.findings(), streams);
            found.extend(run.findings().iter().cloned());
            if !found.is_empty() {
                break;
            }
        }
    }
    match found.is_empty() {
        true => String::new(),
        false => format!("; the likely reason: {}", show::summary(&found)),
    }
}

fn too_early(name: &str, hazards: usize) -> String {
    format!("{name}: {}; the values are not reliable", count(hazards, "hazard"))
}

/// Prints the results of the model of one SM.
fn timings(runs: &[Run], args: &RunArgs, streams: &mut Streams<'_>) {
    for timing in runs.iter().filter_map(|run| run.timing.as_ref()).filter(|_| args.stats.is_none()) {
        let _ = writeln!(streams.out, "{timing}");
    }
}

/// Prints the output of the kernel on the first engine that finished, or else on the first engine,
/// before its error; `--stats=json` has it as a field.
fn print_output(runs: &[Run], args: &RunArgs, streams: &mut Streams<'_>) {
    let finished = runs.iter().find(|run| run.result.is_ok());
    if let (None, Some(run)) = (args.stats, finished.or(runs.first())) {
        let _ = write!(streams.out, "{}", run.printed());
    }
}

/// Reports an error. The caller must record the failure.
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
