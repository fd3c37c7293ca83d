//! `ptxc lower`.

mod linked;
mod watch;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use ptxc_codegen::func_code::FuncCode;
use ptxc_codegen::schedule::{HEURISTICS, heuristic_by_name};
use ptxc_compiler::cubin;
use ptxc_compiler::input::items::{Func, items};
use ptxc_compiler::module::{ast, parsed};
use ptxc_compiler::output::{kernels, locate, program_text, variables_text};
use ptxc_compiler::stages::callees::{callees, device_callees, fill_lanes};
use ptxc_compiler::stages::{arch, built, code_settings, mir, ssa, unsuited};
use ptxc_compiler::{Database, Located, Options, Settings, SourceFile, diagnostics, dot, json, output};
use ptxc_machine::Arch;
use ptxc_object::cubin::Abi;
use ptxc_passes::{CodeSettings, Context, Halt, Span, name_unsupported};
use ptxc_ptx::diagnostic::Severity;
use ptxc_sass::text::{Notation, Style};
use ptxc_syntax::items::ItemKind;
use rustc_hash::FxHashSet;

use crate::batch;
use crate::batch::Workers;
use crate::cli::{CodeArgs, Control, Emit, LowerArgs, Sync};
use crate::destination::{Destination, Form, by_extension, heading};
use crate::input::Input;
use crate::messages::{report, report_with};
use crate::output::write_with;
use crate::passes::{Watch, Watcher, known_passes, time_table};
use crate::ptx_text::read_ptx;
use crate::streams::{Outcome, Streams};

/// Makes the compiler's options from those of the command line. The error says what is wrong with
/// them.
#[cfg(feature = "simulator")]
pub(crate) fn options(db: &Database, args: &CodeArgs) -> Result<Options, String> {
    settings(args, false, Abi::default()).map(|settings| settings.options(db))
}

/// The architecture that the options name. The error says what is wrong with the architecture or
/// the heuristic.
fn arch_and_heuristic(args: &CodeArgs) -> Result<Option<Arch>, String> {
    let arch = crate::sass_text::arch(args.arch.as_deref())?;
    match heuristic_by_name(&args.heuristic) {
        Some(_) => Ok(arch),
        None => Err(format!("no heuristic `{}`; there are {}", args.heuristic, HEURISTICS.join(", "))),
    }
}

/// The settings of the options, and those that decide how a cubin is written.
pub(crate) fn settings(args: &CodeArgs, line_info: bool, abi: Abi) -> Result<Settings, String> {
    Ok(Settings {
        arch: arch_and_heuristic(args)?,
        opt: args.opt,
        fmad: args.fmad,
        heuristic: args.heuristic.clone(),
        max_regs: args.max_regs,
        serial: args.sync == Sync::Serial,
        strict: args.strict,
        aggregate: args.aggregate_atomics,
        line_info,
        abi,
        relocatable: false,
    })
}

pub(crate) fn run(args: &LowerArgs, streams: &mut Streams<'_>) -> Outcome {
    let watch_passes = Watch {
        before: args.print_before.clone(),
        after: args.print_after.clone(),
        stop: args.stop_after.clone(),
        time: args.time_passes,
    };
    if let Some(name) = watch_passes.unknown() {
        return streams.usage(format!("no pass `{name}`; there are {}", known_passes()));
    }
    let emits = match emits(args) {
        Ok(emits) => emits,
        Err(message) => return streams.usage(message),
    };
    if let Some(alone) = emits.iter().find(|emit| stands_alone(**emit)).filter(|_| emits.len() > 1) {
        let what = form(&[*alone]).name;
        return streams.usage(format!("{what} cannot be written together with another form"));
    }
    if watch_passes.is_needed() && emits.iter().any(|emit| stands_alone(*emit)) {
        return streams.usage("options that print passes work only with SASS output");
    }
    if let Err(message) = arch_and_heuristic(&args.code) {
        return streams.usage(message);
    }
    if linked::is_wanted(args, &emits) {
        return linked::run(args, streams);
    }
    let targets = Destination::new(&args.output, args.files.len()).and_then(|destination| {
        let is_terminal = streams.surroundings.out_is_terminal;
        Ok((destination.targets(&args.files, form(&emits), is_terminal)?, destination))
    });
    let (targets, destination) = match targets {
        Ok(found) => found,
        Err(message) => return streams.usage(message),
    };
    if let Err(message) = destination.prepare() {
        return streams.failed(message);
    }
    if args.watch {
        if let Some(why) = watch::refusal(args, &watch_passes, emits == [Emit::Ast]) {
            return streams.usage(why);
        }
        let job =
            Job { input: &args.files[0], target: &targets[0], args, watch: &watch_passes, emits: &emits };
        return watch::run(job, streams);
    }
    batch::run(&args.files, &args.jobs, streams, |file, streams, workers| {
        let job = Job {
            input: &args.files[file],
            target: &targets[file],
            args,
            watch: &watch_passes,
            emits: &emits,
        };
        lower_file(job, workers, streams)
    })
}

/// The work to do with a file.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) input: &'a Input,
    target: &'a Path,
    pub(crate) args: &'a LowerArgs,
    watch: &'a Watch,
    emits: &'a [Emit],
}

/// The most bytes of a file whose compilation needs little memory.
const SMALL: usize = 16 << 10;

/// Makes the system map memory in small pages from now on. The allocator asks for huge pages, and a
/// small kernel uses a tenth of the second to fourth one: clearing them takes longer than mapping
/// what it uses.
fn prefer_small_pages() {
    #[cfg(target_os = "linux")]
    // If the system refuses it, the program is only slower.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

fn lower_file(job: Job<'_>, workers: &Workers, streams: &mut Streams<'_>) -> Outcome {
    let Job { input, args, .. } = job;
    let text = match read_ptx(input, "lower", streams) {
        Ok(text) => text,
        Err(failed) => return failed,
    };
    let settings = match settings(&args.code, args.lineinfo, args.cubin_abi.into()) {
        Ok(settings) => Settings { relocatable: args.compile_only, ..settings },
        Err(message) => return streams.usage(message),
    };
    let ends_here = streams.surroundings.ends_with_command && args.files.len() == 1;
    if ends_here && text.len() <= SMALL {
        prefer_small_pages();
    }
    let db = Database::default();
    let file = SourceFile::new(&db, input.to_string(), text);
    let options = settings.options(&db);
    let outcome = lower_in(&db, file, options, job, workers, streams);
    if ends_here {
        // The system reclaims the memory of a process in a fraction of the time that it takes to
        // free its objects.
        std::mem::forget(db);
    }
    outcome
}

fn lower_in(
    db: &Database,
    file: SourceFile,
    options: Options,
    job: Job<'_>,
    workers: &Workers,
    streams: &mut Streams<'_>,
) -> Outcome {
    let Job { input, args, watch, emits, .. } = job;
    if let Some(missing) = args.kernel.iter().find(|name| !has_kernel(db, file, name)) {
        return streams.failed(format!("{input} has no kernel `{missing}`"));
    }
    if emits == [Emit::Ast] {
        return emit_tree(db, file, job, streams);
    }
    if watch.is_needed() {
        return watched(db, file, options, job, streams);
    }
    if args.kernel.is_empty() {
        workers.compile(db, file, options);
    }
    write_out(db, file, options, diagnostics(db, file, options), job, streams)
}

/// Reports the findings in a file, and writes its outputs unless there are errors.
pub(crate) fn write_out(
    db: &Database,
    file: SourceFile,
    options: Options,
    found: Vec<Located>,
    job: Job<'_>,
    streams: &mut Streams<'_>,
) -> Outcome {
    let Job { input, args, .. } = job;
    let path = input.shown();
    let found = relevant(db, file, found, args);
    if args.keep_going && found.iter().any(|located| located.severity == Severity::Error) {
        return write_rest(db, file, options, &found, job, streams);
    }
    if report(path, file.text(db), &found, args.message_format, streams) != Outcome::Done {
        return Outcome::Failed;
    }
    write_code(db, file, options, job, streams)
}

/// Reports the findings in a file, and writes the kernels without errors.
fn write_rest(
    db: &Database,
    file: SourceFile,
    options: Options,
    found: &[Located],
    job: Job<'_>,
    streams: &mut Streams<'_>,
) -> Outcome {
    let Job { input, args, .. } = job;
    let (sound, all) = sound_kernels(db, file, options, found, args);
    let written = match sound.len() {
        0 => "nothing written".to_string(),
        count => format!("{count} of {all} kernels written"),
    };
    report_with(input.shown(), file.text(db), found, args.message_format, &written, streams);
    if !sound.is_empty() {
        let args = LowerArgs { kernel: sound, ..args.clone() };
        write_code(db, file, options, Job { args: &args, ..job }, streams);
    }
    Outcome::Failed
}

/// The names of the chosen kernels that have code and no errors, neither in themselves nor in the
/// functions that they call, and the number of chosen kernels. An error outside all functions
/// leaves no kernel.
fn sound_kernels(
    db: &Database,
    file: SourceFile,
    options: Options,
    found: &[Located],
    args: &LowerArgs,
) -> (Vec<String>, usize) {
    let functions = &items(db, file).functions;
    let starts: Vec<u32> = functions.iter().map(|func| func.offset(db)).collect();
    // The functions are in the order of the file.
    let owner = |at: u32| {
        let index = starts.partition_point(|&start| start <= at).checked_sub(1)?;
        let func = functions[index];
        (at <= func.offset(db) + func.text(db).len() as u32).then_some(func)
    };
    let errors = found.iter().filter(|located| located.severity == Severity::Error);
    let owners: Option<FxHashSet<Func>> = errors.map(|located| owner(located.primary.0.start)).collect();
    let chosen: Vec<_> = wanted_kernels(db, file, options, args).collect();
    let Some(wrong) = owners else { return (Vec::new(), chosen.len()) };
    let is_sound = |func: Func| {
        !wrong.contains(&func) && device_callees(db, func).iter().all(|callee| !wrong.contains(callee))
    };
    let sound = chosen.iter().filter(|&&(func, code)| code.is_some() && is_sound(func));
    (sound.map(|(func, _)| func.name(db).to_string()).collect(), chosen.len())
}

/// Writes the outputs of a file: the code of the chosen kernels.
fn write_code(
    db: &Database,
    file: SourceFile,
    options: Options,
    job: Job<'_>,
    streams: &mut Streams<'_>,
) -> Outcome {
    let Job { input, args, emits, .. } = job;
    let path = input.shown();
    if args.verbose {
        let _ = write!(streams.err, "{}", resources(db, file, options, args));
    }
    if emits == [Emit::Cubin] {
        return emit_cubin(db, file, options, job, streams);
    }
    if let &[emit @ (Emit::Json | Emit::Dot)] = emits {
        let codes: Vec<&FuncCode> =
            wanted_kernels(db, file, options, args).filter_map(|(_, code)| code).collect();
        let arch = arch(db, file, options);
        return finish_with(job, streams, |out| match emit {
            Emit::Json => json::write(out, path, arch, &codes),
            _ => codes.iter().try_for_each(|code| dot::write(out, code)),
        });
    }
    let text = emitted(db, file, options, args, emits);
    finish(job, &text, streams)
}

/// The forms that extensions of the output select.
const EXTENSIONS: [(&str, Emit); 7] = [
    ("sass", Emit::Sass),
    ("cubin", Emit::Cubin),
    ("o", Emit::Cubin),
    ("json", Emit::Json),
    ("dot", Emit::Dot),
    ("ir", Emit::Ir),
    ("mir", Emit::Mir),
];

/// The forms to write: those that the command line names, else the form that the extension of the
/// output selects.
fn emits(args: &LowerArgs) -> Result<Vec<Emit>, String> {
    if !args.emit.is_empty() {
        return Ok(args.emit.clone());
    }
    Ok(vec![by_extension(&args.output, &args.files, &EXTENSIONS)?.unwrap_or(Emit::Sass)])
}

/// Whether a form is a file of its own, not a part of a text.
fn stands_alone(emit: Emit) -> bool {
    matches!(emit, Emit::Cubin | Emit::Json | Emit::Dot)
}

/// The form of a file with these forms.
fn form(emits: &[Emit]) -> Form<'static> {
    let (name, extension) = match emits {
        [Emit::Cubin] => ("a cubin", "cubin"),
        [Emit::Json] => ("JSON", "json"),
        [Emit::Dot] => ("a graph", "dot"),
        [Emit::Ir] => ("IR", "ir"),
        [Emit::Mir] => ("machine IR", "mir"),
        [Emit::Ast] => ("PTX", "ptx"),
        _ => ("SASS text", "sass"),
    };
    Form { name, extension, is_text: emits != [Emit::Cubin] }
}

/// The chosen kernels as a cubin.
fn emit_cubin(
    db: &Database,
    file: SourceFile,
    options: Options,
    job: Job<'_>,
    streams: &mut Streams<'_>,
) -> Outcome {
    let Job { input, args, .. } = job;
    let bytes = if args.kernel.is_empty() {
        cubin::cubin(db, file, options).as_ref().clone()
    } else {
        let chosen: Vec<_> =
            wanted_kernels(db, file, options, args).filter_map(|(func, code)| Some((func, code?))).collect();
        cubin::cubin_of(db, file, options, &chosen)
    };
    match bytes {
        Ok(bytes) => finish(job, &bytes, streams),
        Err(error) => {
            let found = [cubin::finding(db, file, options, &error)];
            report(input.shown(), file.text(db), &found, args.message_format, streams);
            Outcome::Failed
        }
    }
}

/// The chosen kernels, with their code if they have any.
fn wanted_kernels<'db>(
    db: &'db Database,
    file: SourceFile,
    options: Options,
    args: &LowerArgs,
) -> impl Iterator<Item = (Func, Option<&'db FuncCode>)> {
    kernels(db, file, options).into_iter().filter(|(func, _)| wanted(db, *func, args))
}

fn wanted(db: &Database, func: Func, args: &LowerArgs) -> bool {
    args.kernel.is_empty() || args.kernel.iter().any(|name| func.name(db) == name.as_str())
}

fn has_kernel(db: &Database, file: SourceFile, name: &str) -> bool {
    let mut functions = items(db, file).functions.iter();
    functions.any(|func| func.kind(db) == ItemKind::Entry && func.name(db) == name)
}

/// The findings that prevent the output: all, or those in the chosen kernels and outside functions.
fn relevant(db: &Database, file: SourceFile, mut found: Vec<Located>, args: &LowerArgs) -> Vec<Located> {
    if !args.kernel.is_empty() {
        let others: Vec<_> = items(db, file)
            .functions
            .iter()
            .filter(|&&func| !wanted(db, func, args))
            .map(|func| func.offset(db)..func.offset(db) + func.text(db).len() as u32)
            .collect();
        found.retain(|located| !others.iter().any(|range| range.contains(&located.primary.0.start)));
    }
    found
}

/// The text style that the options ask for.
pub(crate) fn style(control: Control) -> Style {
    let control = match control {
        Control::Cuasm => Notation::Bracket,
        Control::Nv => Notation::Nv,
        Control::Hex => Notation::Hex,
        Control::None => Notation::None,
    };
    Style { control, ..Style::default() }
}

fn emitted(db: &Database, file: SourceFile, options: Options, args: &LowerArgs, emits: &[Emit]) -> String {
    let style = style(args.control);
    let mut parts = Vec::new();
    let kernels: Vec<_> = wanted_kernels(db, file, options, args).collect();
    // The kernels and the functions that they call, in the order of the file.
    let mut named: FxHashSet<Func> = kernels.iter().map(|&(func, _)| func).collect();
    named.extend(kernels.iter().flat_map(|&(func, _)| device_callees(db, func)).copied());
    let functions = || items(db, file).functions.iter().copied().filter(|func| named.contains(func));
    for emit in emits {
        match emit {
            Emit::Ast => parts.extend(functions().map(|func| ptxc_syntax::print_function(ast(db, func)))),
            Emit::Ir => parts.extend(functions().filter_map(|func| {
                let mut ssa = ssa(db, func, options).value.clone()?;
                fill_lanes(db, func, &mut ssa, options);
                Some(ssa.to_string())
            })),
            Emit::Mir => parts.extend(functions().filter_map(|func| text_of(&mir(db, func, options).value))),
            // These forms are written separately.
            Emit::Cubin | Emit::Json | Emit::Dot => {}
            Emit::Sass => {
                let codes = || kernels.iter().filter_map(|(_, code)| *code);
                parts.extend(codes().map(|code| program_text(code, &style, args.explain)));
                parts.extend(variables_text(codes()));
            }
        }
    }
    parts.join("\n")
}

fn text_of(form: &Option<impl ToString>) -> Option<String> {
    form.as_ref().map(ToString::to_string)
}

/// The whole file printed back as PTX.
fn emit_tree(db: &Database, file: SourceFile, job: Job<'_>, streams: &mut Streams<'_>) -> Outcome {
    let found = output::check_text(db, file);
    if report(job.input.shown(), file.text(db), &found, job.args.message_format, streams) != Outcome::Done {
        return Outcome::Failed;
    }
    let text = ptxc_syntax::print_module(&ptxc_syntax::parse_module(file.text(db)).value);
    finish(job, &text, streams)
}

fn finish(job: Job<'_>, content: impl AsRef<[u8]>, streams: &mut Streams<'_>) -> Outcome {
    let heading = heading(job.input, job.args.files.len(), job.target);
    finish_with(job, streams, |out| {
        out.write_all(heading.as_bytes())?;
        out.write_all(content.as_ref())
    })
}

fn finish_with(
    job: Job<'_>,
    streams: &mut Streams<'_>,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Outcome {
    let result = write_with(job.target, streams.out, content);
    streams.written(job.target, result)
}

/// A line for each kernel with the resources that it needs.
fn resources(db: &Database, file: SourceFile, options: Options, args: &LowerArgs) -> String {
    let mut text = String::new();
    for (func, code) in kernels(db, file, options) {
        let Some(code) = code.filter(|_| wanted(db, func, args)) else { continue };
        let needs = &code.program.resources;
        text.push_str(&format!(
            "{}: {} registers, {} uniform registers, {} barriers, {} bytes shared, {} bytes local, {} spills, {} instructions\n",
            func.name(db),
            needs.launch_registers(code.program.arch),
            needs.uniform_registers,
            needs.barriers,
            needs.shared_bytes,
            needs.local_bytes,
            needs.spills,
            code.program.insts.len(),
        ));
    }
    text
}

/// Runs the passes outside the queries, one kernel after another, with an observer.
fn watched(
    db: &Database,
    file: SourceFile,
    options: Options,
    job: Job<'_>,
    streams: &mut Streams<'_>,
) -> Outcome {
    let Job { input, args, watch, .. } = job;
    let mut found: Vec<Located> = output::check_text(db, file);
    found.extend(output::unsupported_target(db, file, options));
    let mut times: BTreeMap<&'static str, Duration> = BTreeMap::new();
    let mut parts = Vec::new();
    let mut written = Vec::new();
    for &func in &items(db, file).functions {
        if func.kind(db) != ItemKind::Entry || !wanted(db, func, args) {
            continue;
        }
        found.extend(built(db, func).diagnostics.iter().map(|diagnostic| locate(db, func, diagnostic)));
        if !options.strict(db) {
            found.extend(output::split_findings(db, func, arch(db, file, options)));
        }
        let mut watcher = Watcher::new(watch, func.name(db));
        let code = passes(db, func, options, &mut watcher);
        let _ = write!(streams.err, "{}", if watcher.stopped { "" } else { &watcher.text });
        for (pass, time) in &watcher.times {
            *times.entry(pass).or_default() += *time;
        }
        if watcher.stopped {
            parts.push(watcher.text);
        }
        match code {
            Ok(Some(code)) => {
                parts.push(program_text(&code, &style(args.control), args.explain));
                written.push(code);
            }
            Ok(None) => {}
            Err(halt) => found.extend(halt.iter().map(|diagnostic| locate(db, func, diagnostic))),
        }
    }
    parts.extend(variables_text(&written));
    if watch.time {
        let _ = write!(streams.err, "{}", time_table(&times));
    }
    if report(input.shown(), file.text(db), &found, args.message_format, streams) != Outcome::Done {
        return Outcome::Failed;
    }
    finish(job, parts.join("\n"), streams)
}

/// Runs all passes on a function. `None` if its text is damaged, which is reported elsewhere.
fn passes(
    db: &Database,
    func: Func,
    options: Options,
    watcher: &mut Watcher<'_>,
) -> Result<Option<FuncCode>, Halt> {
    if !parsed(db, func).errors.is_empty() {
        return Ok(None);
    }
    let Some(mut start) = built(db, func).value.clone() else { return Ok(None) };
    let unsuited = unsuited(db, func, options);
    if !unsuited.is_empty() {
        return Err(unsuited);
    }
    // The lanes are filled in before the first pass, so that every printed form has all the facts
    // that later passes need.
    fill_lanes(db, func, &mut start, options);
    let (fmad, aggregate) = (options.fmad(db), options.aggregate(db));
    let settings = CodeSettings { fmad, aggregate, ..code_settings(db, func, options) };
    let mir = ptxc_passes::run(start.into(), Span::TO_MACHINE, &mut Context::new(&settings), watcher)
        .map_err(|halt| name_unsupported(ast(db, func), halt))?
        .into_machine();
    let callees = callees(db, func, &mir, options, &settings)?;
    let mut context = Context::new(&settings).with_callees(&callees);
    let code = ptxc_passes::run(mir.into(), Span::CODE, &mut context, watcher);
    code.map(|code| Some(code.into_program())).map_err(|halt| name_unsupported(ast(db, func), halt))
}
