//! `ptxc opt`: runs chosen passes on the text of any form.
//!
//! The text holds functions as SSA, machine IR, laid-out code or SASS. Each function goes through
//! the named passes, with the verifiers after each of them, and is printed in the form that the
//! last pass leaves.

use std::fmt::Display;
use std::ops::Range;

use ptxc_codegen::func_code::FuncCode;
use ptxc_codegen::mir::text::AnyMir;
use ptxc_codegen::schedule::{HEURISTICS, heuristic_by_name};
use ptxc_codegen::{layout, mir};
use ptxc_compiler::Located;
use ptxc_ir::text::{ParseError, quoted_name};
use ptxc_ir::verify::{Level, verify};
use ptxc_ir::{Function, Op};
use ptxc_machine::Arch;
use ptxc_passes::{CodeSettings, Form, Halt, Missing, Module, PASSES, Pass, Span, Stage, missing};
use ptxc_ptx::diagnostic::Severity;
use ptxc_sass::text::{ReadOptions, parse_programs};

use crate::cli::{MessageFormat, OptArgs, Sync};
use crate::destination::by_extension;
use crate::kind::{Kind, expect};
use crate::messages::report;
use crate::output::{check_overwrites, read_bytes, text_of, write};
use crate::sass_text::{arch, located, span};
use crate::streams::{Outcome, Streams};

/// The code for a line that the reader of a form rejects.
const UNREADABLE: &str = "E0950";

/// The verifiers of SSA, which `--passes` names like passes.
const VERIFIERS: [(&str, Level); 3] =
    [("verify", Level::Built), ("verify-legal", Level::Legal), ("verify-converged", Level::Converged)];

/// The extensions of the forms that passes leave.
const EXTENSIONS: [(&str, ()); 3] = [("ir", ()), ("mir", ()), ("sass", ())];

/// A request of `--passes`.
#[derive(Clone)]
enum Request {
    Pass(Pass),
    Verify(&'static str, Level),
    /// All passes that the text has not been through yet.
    Rest,
}

pub(crate) fn run(args: &OptArgs, streams: &mut Streams<'_>) -> Outcome {
    let arch = match arch(Some(&args.arch)) {
        Ok(arch) => arch.unwrap_or(Arch::DEFAULT),
        Err(message) => return streams.usage(message),
    };
    if heuristic_by_name(&args.heuristic).is_none() {
        let known = HEURISTICS.join(", ");
        return streams.usage(format!("no heuristic `{}`; expected one of {known}", args.heuristic));
    }
    let mut requests = Vec::new();
    for name in &args.passes {
        match request(name, args.opt) {
            Ok(list) => requests.extend(list),
            Err(message) => return streams.usage(message),
        }
    }
    let input = std::slice::from_ref(&args.file);
    let extension = by_extension(&args.output, input, &EXTENSIONS);
    let overwrites = check_overwrites([args.file.path()], [args.output.as_path()]);
    if let Err(message) = extension.and(overwrites) {
        return streams.usage(message);
    }
    let bytes = match read_bytes(&args.file, streams.stdin) {
        Ok(bytes) => bytes,
        Err(error) => return streams.failed(format!("{}: {error}", args.file)),
    };
    let expected = expect(&args.file, &bytes, "opt", &[Kind::Ir, Kind::Sass]);
    let text = text_of(bytes);
    if let Err(message) = expected {
        return streams.failed(message);
    }
    let forms = match forms(&text, arch) {
        Ok(forms) => forms,
        Err(found) => return report(args.file.shown(), &text, &found, MessageFormat::Human, streams),
    };
    let settings = CodeSettings {
        arch,
        accelerated: args.arch.ends_with('a'),
        opt: args.opt,
        fmad: args.fmad,
        aggregate: args.aggregate_atomics,
        heuristic: args.heuristic.clone(),
        max_regs: args.max_regs,
        serial: args.sync == Sync::Serial,
    };
    let links = requests.iter().any(|request| is_linking(request, &forms, &settings));
    let missing = if links { missing(&forms) } else { Vec::new() };
    if !missing.is_empty() {
        let found: Vec<Located> = missing.iter().map(|call| undefined(&text, call)).collect();
        return report(args.file.shown(), &text, &found, MessageFormat::Human, streams);
    }
    match through(forms, &requests, &settings) {
        Ok(parts) => {
            let result = write(&args.output, parts.join("\n"), streams.out);
            streams.written(&args.output, result)
        }
        Err(message) => streams.failed(message),
    }
}

/// The passes that one part of `--passes` names. A pass that is named itself runs at every
/// optimization level.
fn request(name: &str, opt: u8) -> Result<Vec<Request>, String> {
    if name == ".." {
        return Ok(vec![Request::Rest]);
    }
    if let Some((first, last)) = name.split_once("..") {
        let first = if first.is_empty() { PASSES[0].name } else { first };
        let last = if last.is_empty() { PASSES[PASSES.len() - 1].name } else { last };
        let span = Span::between(first, last).map_err(|unknown| unknown.to_string())?;
        let span = span.ok_or_else(|| format!("`{last}` comes before `{first}`"))?;
        let passes = span.passes().iter().filter(|pass| pass.level <= opt);
        return Ok(passes.map(|&pass| Request::Pass(pass)).collect());
    }
    let verifier = VERIFIERS.iter().find(|(known, _)| *known == name);
    let known =
        || Pass::named(name).copied().or_else(|| Pass::rules().into_iter().find(|rule| rule.name == name));
    let request = match verifier {
        Some(&(name, level)) => Some(Request::Verify(name, level)),
        None => known().map(Request::Pass),
    };
    request.map(|request| vec![request]).ok_or_else(|| {
        let verifiers = VERIFIERS.iter().map(|&(name, _)| name);
        let rules = Pass::rules().into_iter().map(|rule| rule.name);
        let names: Vec<&str> = verifiers.chain(Pass::names()).chain(rules).collect();
        format!("no pass `{name}`; expected one of {}", names.join(", "))
    })
}

/// The functions of a text, in the form that its first word indicates.
fn forms(text: &str, arch: Arch) -> Result<Vec<Form>, Vec<Located>> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("//"));
    let word = first.and_then(|line| line.split_whitespace().next()).unwrap_or("func");
    let unreadable = |errors: Vec<ParseError>| errors.into_iter().map(unreadable).collect::<Vec<_>>();
    match word {
        "mir" => {
            let functions = mir::text::parse(text).map_err(unreadable)?.into_iter();
            let form = |mir| match mir {
                AnyMir::Virtual(mir) => Form::Machine(mir),
                AnyMir::Allocated(mir) => Form::Allocated(mir),
            };
            Ok(functions.map(form).collect())
        }
        "code" => Ok(layout::parse(text).map_err(unreadable)?.into_iter().map(Form::from).collect()),
        // PTX begins with `.version`, and is not a form of the compiler.
        _ if (word.starts_with('.') && word != ".version")
            || word.starts_with('[')
            || word.starts_with("/*") =>
        {
            let options = ReadOptions { arch: Some(arch), ..ReadOptions::default() };
            let kernels = parse_programs(text, &options)
                .map_err(|errors| errors.into_iter().map(located).collect::<Vec<_>>())?;
            let code = |program| FuncCode { program, explain: Default::default(), summary: None };
            Ok(kernels.into_iter().map(|kernel| Form::from(code(kernel.program))).collect())
        }
        // For SSA and any other text: the reader of SSA reports what it expected.
        _ => Ok(ptxc_ir::text::parse(text).map_err(unreadable)?.into_iter().map(Form::from).collect()),
    }
}

fn unreadable(error: ParseError) -> Located {
    let Range { start, end } = error.span;
    Located {
        code: UNREADABLE.into(),
        severity: Severity::Error,
        message: error.message,
        primary: (span(&(start..end)), String::new()),
        secondary: Vec::new(),
        notes: Vec::new(),
        help: None,
    }
}

/// Whether a request includes the pass that needs the code of all callees.
fn is_linking(request: &Request, forms: &[Form], settings: &CodeSettings) -> bool {
    let stage = forms.first().map_or(Stage::Ssa, Form::stage);
    listed(request, stage, settings).iter().any(|pass| pass.name == "link")
}

/// A call of a function that the text lacks.
fn undefined(text: &str, call: &Missing) -> Located {
    let (caller, callee) = (quoted_name(&call.caller), quoted_name(&call.callee));
    let message = format!("`{caller}` calls `{callee}`, and the text has no device function of this name");
    let error = unreadable(ParseError { span: call_site(text, call), message });
    let help = format!("add the text of `{callee}`, or end the passes before `link`");
    Located { help: Some(help), ..error }
}

/// Where a function names its callee: the first line after its header that does, else the line that declares the callee.
fn call_site(text: &str, call: &Missing) -> Range<usize> {
    let (caller, callee) = (quoted_name(&call.caller), quoted_name(&call.callee));
    let names = [Some(callee), call.number.map(|number| format!("`(${number})"))];
    let mut site = None;
    let (mut is_inside, mut is_body, mut start) = (false, false, 0);
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or_default();
        let mut words = code.split_whitespace();
        let first = words.next().unwrap_or_default();
        let begins = ["func", "mir", "code"].contains(&first);
        if begins {
            is_inside = words.next() == Some(caller.as_str());
            is_body = false;
        }
        // The head of a block: `block1(v2: b32):`, `mb1(%r3): freq=512`, `.L_x_1: freq=512`.
        is_body |= code.trim_end().ends_with(':') || first.starts_with("mb") || first.starts_with(".L_x_");
        let place = names.iter().flatten().find_map(|name| Some((name_in(code, name)?, name.len())));
        if let Some((at, length)) = place.filter(|_| is_inside && !begins) {
            site = Some(start + at..start + at + length);
            if is_body {
                break;
            }
        }
        start += line.len();
    }
    site.unwrap_or(0..0)
}

/// Where a line has a name that is not the beginning of a longer one.
fn name_in(line: &str, name: &str) -> Option<usize> {
    let ends = |at: usize| {
        let next = line[at + name.len()..].chars().next();
        !next.is_some_and(|next| next.is_alphanumeric() || ['_', '$', '.'].contains(&next))
    };
    line.match_indices(name).map(|(at, _)| at).find(|&at| ends(at))
}

/// The text of each function after its passes.
fn through(forms: Vec<Form>, requests: &[Request], settings: &CodeSettings) -> Result<Vec<String>, String> {
    let only_verifies = matches!(requests.first(), Some(Request::Verify(..)));
    for form in forms.iter().filter(|_| !requests.is_empty() && !only_verifies) {
        check(form).map_err(|errors| format!("@{}: {errors}", form.name()))?;
    }
    let mut forms = forms;
    let mut rest = requests;
    while !rest.is_empty() {
        // Verifiers separate the passes: the passes between two verifiers run on a module together.
        let passes: Vec<&Request> =
            rest.iter().take_while(|request| !matches!(request, Request::Verify(..))).collect();
        if let Some(Request::Verify(name, level)) = rest.first() {
            for form in &forms {
                let Form::Ssa(func) = form else {
                    return Err(format!(
                        "@{}: {name}: the verifier accepts SSA IR, not {}",
                        form.name(),
                        form.stage()
                    ));
                };
                verify(func, *level).map_err(|found| format!("@{}: {name}: {}", func.name, errors(found)))?;
            }
            rest = &rest[1..];
            continue;
        }
        rest = &rest[passes.len()..];
        let stage = forms.first().map_or(Stage::Ssa, Form::stage);
        let passes: Vec<Pass> =
            passes.into_iter().flat_map(|request| listed(request, stage, settings)).collect();
        for form in &forms {
            check_order(form, &passes)?;
        }
        let mut module = Module::new(&forms, &passes, settings).verified();
        let results: Result<Vec<Form>, _> = forms.iter().map(|form| module.run(form)).collect();
        forms = results.map_err(|failure| {
            let pass = failure.pass.map_or_else(String::new, |pass| format!("{pass}: "));
            format!("@{}: {pass}{}", failure.function, reasons(&failure.halt))
        })?;
    }
    for form in forms.iter().filter(|_| !requests.is_empty()) {
        check(form).map_err(|errors| format!("@{}: {errors}", form.name()))?;
    }
    Ok(forms.iter().map(Form::to_string).collect())
}

/// Checks that each pass accepts the form that the pass before it leaves.
fn check_order(form: &Form, passes: &[Pass]) -> Result<(), String> {
    let name = form.name();
    let mut stage = form.stage();
    let mut is_converged = matches!(form, Form::Ssa(func) if level_of(func) == Level::Converged);
    for pass in passes {
        if pass.step.takes() != stage {
            return Err(format!(
                "@{name}: {}: the pass accepts {}, not {stage}",
                pass.name,
                pass.step.takes()
            ));
        }
        stage = pass.step.leaves();
        if stage == Stage::Ssa && is_converged && pass.leaves != Level::Converged {
            let message = "the pass must run before `converge`, but the function has convergence barriers";
            return Err(format!("@{name}: {}: {message}", pass.name));
        }
        is_converged |= stage == Stage::Ssa && pass.leaves == Level::Converged;
    }
    Ok(())
}

/// The passes of a request, for a text of this stage.
fn listed(request: &Request, stage: Stage, settings: &CodeSettings) -> Vec<Pass> {
    match request {
        Request::Pass(pass) => vec![*pass],
        Request::Verify(..) => Vec::new(),
        Request::Rest => {
            let passes = Span::from(stage).passes().iter();
            passes.filter(|pass| pass.level <= settings.opt).copied().collect()
        }
    }
}

/// Checks a form that was read from arbitrary text, or that is about to be printed.
fn check(form: &Form) -> Result<(), String> {
    match form {
        Form::Ssa(func) => verify(func, level_of(func)).map_err(errors),
        Form::Machine(mir) => mir::verify(mir).map_err(errors),
        Form::Allocated(_) => Ok(()),
        Form::LaidOut(code) => layout::check_convergence(code).map_err(errors),
        Form::Program(code) => ptxc_sass::verify::check(&code.program).map_err(errors),
    }
}

/// The level that the SSA of a text has reached.
fn level_of(func: &Function) -> Level {
    let brackets =
        func.insts.values().any(|inst| matches!(inst.op, Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_)));
    if brackets { Level::Converged } else { Level::Built }
}

fn errors(list: Vec<impl Display>) -> String {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn reasons(halt: &Halt) -> String {
    let reason = |diagnostic: &ptxc_ptx::diagnostic::Diagnostic| {
        let notes = diagnostic.notes.iter().map(|note| format!(": {note}"));
        format!("{}{}", diagnostic.message, notes.collect::<String>())
    };
    halt.iter().map(reason).collect::<Vec<_>>().join("\n")
}
