//! The code that `ptxc run` executes: one kernel, compiled from PTX or read from SASS text.

use std::borrow::Cow;
use std::path::Path;

use ptxc_compiler::input::items::items;
use ptxc_compiler::output::{check_text, kernels, locate};
use ptxc_compiler::stages::callees::{device_callees, ssa_callees};
use ptxc_compiler::stages::{built, ssa};
use ptxc_compiler::{Database, Located, SourceFile, diagnostics};
use ptxc_ir::Function;
use ptxc_sass::joined::joined;
use ptxc_sass::text::{Kernel, ReadOptions};
use ptxc_sass::verify::Order;
use ptxc_sass::{ParamInfo, Program};
use ptxc_sim::timing::{Latencies, Timing, TimingOptions, run_observed, run_timed};
use ptxc_sim::trace::{Listing, Trace, html, konata, perfetto};
use ptxc_sim::{Case, Finding, Hazard, Options, Report, SimError, run_sass, run_ssa};
use ptxc_syntax::items::ItemKind;

use super::launch::assumed;
use super::places::Places;
use super::show::Run;
use crate::cli::{self, Engine, MessageFormat, RunArgs};
use crate::destination::by_extension;
use crate::hazard::{group, located};
use crate::input::Input;
use crate::kind::{Kind, expect};
use crate::messages::{print, report};
use crate::output::{read_bytes, text_of, write};
use crate::sass_text::count;
use crate::streams::{Outcome, Streams};
use crate::{lower, sass_text};

/// A kernel that can be run.
pub(crate) struct Code {
    /// Its name.
    pub(crate) entry: String,
    /// Its parameters; `None` if SASS text does not declare them.
    pub(crate) params: Option<Vec<ParamInfo>>,
    /// The simplified SSA of the kernel and of the functions that it calls, if an engine needs it.
    ssa: Option<(Function, Vec<Function>)>,
    /// The program, if an engine needs it.
    program: Option<Program>,
    /// The text that the program was read from.
    source: Option<SassSource>,
    /// The places for findings.
    places: Places,
}

/// The SASS text, its path and its kernel.
struct SassSource {
    path: String,
    text: String,
    kernel: Kernel,
}

impl Code {
    /// Compiles or reads a kernel of a file: the kernel with the given name, else the only one.
    /// Prints the reason if there is none to run.
    pub(crate) fn load(
        input: &Input,
        entry: Option<&str>,
        args: &RunArgs,
        streams: &mut Streams<'_>,
    ) -> Result<Code, Outcome> {
        let bytes =
            read_bytes(input, streams.stdin).map_err(|error| streams.failed(format!("{input}: {error}")))?;
        let is_replacement = args.sass.is_some() || args.cubin.is_some();
        let kinds: &[Kind] = match is_replacement {
            true => &[Kind::Sass, Kind::Cubin],
            false => &[Kind::Ptx, Kind::Sass, Kind::Cubin],
        };
        let is_sass = match expect(input, &bytes, "run", kinds).map_err(|why| streams.failed(why))? {
            Kind::Sass | Kind::Cubin => true,
            Kind::Ptx => false,
            // The name says what an unreadable text should be.
            _ => is_replacement || input.has_extension("sass"),
        };
        match is_sass {
            true => from_sass(input, bytes, entry, args, streams),
            false => from_ptx(input, text_of(bytes), entry, args, streams),
        }
    }

    /// Runs it on an engine.
    pub(crate) fn run(&self, engine: Engine, case: &Case, args: &RunArgs) -> Run {
        self.run_checked(engine, case, args, (args.initcheck.is_on(), args.racecheck.is_on()))
    }

    /// Runs it on an engine, with or without the checks for reads of unwritten memory and for races.
    pub(crate) fn run_checked(
        &self,
        engine: Engine,
        case: &Case,
        args: &RunArgs,
        (check_unwritten, check_races): (bool, bool),
    ) -> Run {
        let mut run = Run { engine, result: Err(SimError::Case(String::new())), timing: None, agrees: None };
        let timed = args.timing || !args.trace.is_empty();
        let hazards = args.hazards || timed;
        // A cubin or a text may come from another compiler.
        let holds_uniform = self.source.is_some();
        let order = if holds_uniform { Order::InOrder } else { Order::Own };
        let program = self.program.as_ref().filter(|_| check_races && engine == Engine::Sass);
        let options = Options {
            seed: args.seed,
            hazards,
            order,
            holds_uniform,
            check_unwritten,
            check_races,
            strong: program.and_then(|program| self.places.strong(program)),
            ..Options::default()
        };
        let absent = || SimError::Case(format!("`{}` has no {engine} here", self.entry));
        run.result = match (engine, &self.ssa, &self.program) {
            (Engine::Ssa, Some((func, callees)), _) => run_ssa(case, func, callees, &options),
            (Engine::Sass, _, Some(program)) => {
                let assumed = || Program { params: assumed(&case.args), ..program.clone() };
                let program =
                    if self.params.is_some() { Cow::Borrowed(program) } else { Cow::Owned(assumed()) };
                match timed {
                    true => self.run_timed(case, &program, args, &options).map(|(report, timing)| {
                        run.timing = Some(timing);
                        report
                    }),
                    false => run_sass(case, &program, &options),
                }
            }
            _ => Err(absent()),
        };
        match &mut run.result {
            Ok(report) => self.places.complete(&mut report.findings),
            Err(SimError::After { findings, .. }) => self.places.complete(findings),
            Err(_) => {}
        }
        run
    }

    /// Prints the findings of a run, one line each.
    pub(crate) fn print_findings(&self, findings: &[Finding], streams: &mut Streams<'_>) {
        for finding in findings.iter().take(SHOWN) {
            let _ = writeln!(streams.err, "{}: {finding}", self.entry);
        }
        if let Some(more @ 1..) = findings.len().checked_sub(SHOWN) {
            let _ = writeln!(streams.err, "and {more} more findings");
        }
    }

    fn run_timed(
        &self,
        case: &Case,
        program: &Program,
        args: &RunArgs,
        options: &Options,
    ) -> Result<(Report, Timing), SimError> {
        let latencies = match args.latencies {
            cli::Latencies::Best => Latencies::Best,
            cli::Latencies::Typical => Latencies::Typical,
            cli::Latencies::Worst => Latencies::Worst,
            cli::Latencies::Drawn => Latencies::Random(args.seed),
        };
        let timing = TimingOptions { latencies };
        if args.trace.is_empty() {
            return run_timed(case, program, options, &timing);
        }
        let mut trace = Trace::new();
        let result = run_observed(case, program, options, &timing, &mut trace)?;
        let listing = Listing::new(program);
        for path in &args.trace {
            let named = |error: std::io::Error| SimError::Case(format!("{}: {error}", path.display()));
            let mut bytes = Vec::new();
            match trace_format(path).map_err(SimError::Case)? {
                TraceFormat::Perfetto => perfetto::write(&trace, &listing, &mut bytes),
                TraceFormat::Html => html::write(&trace, &listing, &mut bytes),
                TraceFormat::Konata => konata::write(&trace, &listing, &mut bytes),
            }
            .map_err(named)?;
            let text = String::from_utf8_lossy(&bytes);
            write(path, text.as_bytes(), &mut std::io::sink()).map_err(named)?;
        }
        Ok(result)
    }

    /// Prints the hazards of a run: as diagnostics on the text that the program was read from, else
    /// one line each.
    pub(crate) fn print_hazards(&self, hazards: &[Hazard], streams: &mut Streams<'_>) {
        let Some(SassSource { path, text, kernel }) = &self.source else {
            for hazard in hazards.iter().take(SHOWN) {
                let _ = writeln!(streams.err, "hazard: {hazard}");
            }
            if let Some(more @ 1..) = hazards.len().checked_sub(SHOWN) {
                let _ = writeln!(streams.err, "and {more} more hazards");
            }
            return;
        };
        let what: Vec<_> = hazards.iter().map(|hazard| hazard.what.clone()).collect();
        let found: Vec<Located> = group(&what)
            .map(|group| {
                let mut located = located(kernel, group);
                let first = hazards.iter().find(|hazard| hazard.what == group[0]);
                located.notes.extend(first.map(|hazard| {
                    format!("first in {}, {} in all", hazard.place, count(hazard.count as usize, "time"))
                }));
                located
            })
            .collect();
        print(path, text, &found, MessageFormat::Human, streams);
    }
}

/// The format of a trace.
#[derive(Clone, Copy)]
pub(crate) enum TraceFormat {
    Perfetto,
    Html,
    Konata,
}

/// The format of a trace file, by its extension.
///
/// # Errors
/// The extension means nothing.
pub(crate) fn trace_format(path: &Path) -> Result<TraceFormat, String> {
    const EXTENSIONS: [(&str, TraceFormat); 5] = [
        ("json", TraceFormat::Perfetto),
        ("html", TraceFormat::Html),
        ("kanata", TraceFormat::Konata),
        ("konata", TraceFormat::Konata),
        ("log", TraceFormat::Konata),
    ];
    Ok(by_extension(path, &[], &EXTENSIONS)?.unwrap_or(TraceFormat::Konata))
}

/// The number of hazards, and of findings, that are listed.
const SHOWN: usize = 10;

/// The chosen kernel among those of a file.
fn choose<'n>(
    path: &str,
    entry: Option<&str>,
    names: impl Iterator<Item = &'n str>,
) -> Result<usize, String> {
    let names: Vec<&str> = names.collect();
    let list = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match entry {
        Some(entry) => names
            .iter()
            .position(|name| *name == entry)
            .ok_or_else(|| format!("{path} has no kernel `{entry}`; there are {list}")),
        None if names.len() == 1 => Ok(0),
        None if names.is_empty() => Err(format!("{path} has no kernel")),
        None => Err(format!("{path} has several kernels; choose one with --entry: {list}")),
    }
}

fn from_sass(
    input: &Input,
    bytes: Vec<u8>,
    entry: Option<&str>,
    args: &RunArgs,
    streams: &mut Streams<'_>,
) -> Result<Code, Outcome> {
    if args.engine != Engine::Sass {
        return Err(
            streams.usage(format!("--engine={} needs PTX; SASS text runs with --engine=sass", args.engine))
        );
    }
    let arch = sass_text::arch(args.code.arch.as_deref()).map_err(|message| streams.usage(message))?;
    let options = ReadOptions { arch, without_control: args.without_control, keeps_unknown: true };
    let mut file = sass_text::load_bytes(input, bytes, "run", &options, MessageFormat::Human, streams)?;
    // Functions that are called are not launched.
    let places = (0..).zip(&file.module.kernels).filter(|(_, kernel)| !kernel.program.device_function);
    let places: Vec<usize> = places.map(|(index, _)| index).collect();
    let names = places.iter().map(|&index| file.module.kernels[index].program.name.as_str());
    let chosen = choose(input.shown(), entry, names).map_err(|message| streams.failed(message))?;
    let index = places[chosen];
    let programs = file.module.kernels.iter().map(|kernel| &kernel.program);
    let whole = joined(&file.module.kernels[index].program, programs);
    let whole = whole.map_err(|what| streams.failed(format!("{}: {what}", input.shown())))?;
    let kernel = file.module.kernels.swap_remove(index);
    let places = Places::of_sass(input.shown(), &file.text, &kernel);
    Ok(Code {
        places,
        entry: kernel.program.name.clone(),
        params: kernel.has_parameters.then(|| kernel.program.params.clone()),
        ssa: None,
        program: Some(whole),
        source: Some(SassSource { path: input.to_string(), text: file.text, kernel }),
    })
}

fn from_ptx(
    input: &Input,
    text: String,
    entry: Option<&str>,
    args: &RunArgs,
    streams: &mut Streams<'_>,
) -> Result<Code, Outcome> {
    if args.without_control {
        return Err(streams.usage("--without-control is for SASS text"));
    }
    let path = input.shown();
    let db = Database::default();
    let file = SourceFile::new(&db, path.to_string(), text);
    let options = lower::options(&db, &args.code).map_err(|message| streams.usage(message))?;
    let functions = items(&db, file).functions.iter().copied().filter(|func| func.has_body(&db));
    let entries: Vec<_> = functions.filter(|func| func.kind(&db) == ItemKind::Entry).collect();
    let names = entries.iter().map(|func| func.name(&db).as_str());
    let chosen = choose(path, entry, names);

    // SSA can run even if the kernel cannot be lowered yet.
    let needs_sass = args.engine != Engine::Ssa;
    let mut found: Vec<Located> =
        if needs_sass { diagnostics(&db, file, options) } else { check_text(&db, file) };
    if let (Ok(index), false) = (&chosen, needs_sass) {
        let entry = entries[*index];
        for &func in device_callees(&db, entry).iter().chain([&entry]) {
            let stages = built(&db, func).diagnostics.iter().chain(&ssa(&db, func, options).diagnostics);
            found.extend(stages.map(|diagnostic| locate(&db, func, diagnostic)));
        }
    }
    if report(path, file.text(&db), &found, MessageFormat::Human, streams) != Outcome::Done {
        return Err(Outcome::Failed);
    }
    let func = entries[chosen.map_err(|message| streams.failed(message))?];
    let entry = func.name(&db).to_string();
    let program = match needs_sass {
        true => {
            let mut compiled = kernels(&db, file, options).into_iter();
            compiled.find(|(kernel, _)| *kernel == func).and_then(|(_, code)| Some(code?.program.clone()))
        }
        false => None,
    };
    let Some(simplified) = ssa(&db, func, options).value.clone() else {
        return Err(streams.failed(format!("`{entry}` has no code")));
    };
    let Some(callees) = ssa_callees(&db, func, options) else {
        return Err(streams.failed(format!("a function that `{entry}` calls has no code")));
    };
    let params = simplified.params.iter();
    let param = |param: &ptxc_ir::Param| ParamInfo {
        image: None,
        name: param.name.clone(),
        size: param.size,
        offset: param.offset,
    };
    let params = params.map(param).collect();
    let funcs = device_callees(&db, func).iter().copied().chain([func]).collect();
    let functions: Vec<&Function> = std::iter::once(&simplified).chain(&callees).collect();
    let places = Places::of_ptx(db, file, funcs, &functions);
    Ok(Code { places, entry, params: Some(params), ssa: Some((simplified, callees)), program, source: None })
}
