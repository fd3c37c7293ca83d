//! `ptxc opt`: passes alone, on IR text.
//!
//! The text holds functions in SSA form. Each named pass runs in turn; `select` turns SSA into machine IR,
//! `allocate` virtual registers into physical ones, `layout` blocks into a sequence, `control` that into a
//! program. What the last pass leaves is printed.

use std::fmt::Display;

use ptxc_codegen::layout::{Code, check_convergence, layout};
use ptxc_codegen::mir::{Liveness, Mir, VReg, verify as verify_mir};
use ptxc_codegen::schedule::{HEURISTICS, heuristic_by_name, post_ra, pre_ra};
use ptxc_codegen::{allocate, combine, control, select};
use ptxc_compiler::Located;
use ptxc_ir::text::parse;
use ptxc_ir::verify::{Level, verify};
use ptxc_ir::{Function, Op};
use ptxc_machine::Arch;
use ptxc_passes::pipeline::PASSES;
use ptxc_ptx::diagnostic::Severity;
use ptxc_sass::PReg;
use ptxc_sass::text::{Style, write_program};
use ptxc_ssa::analyses::Analyses;
use ptxc_ssa::simplify::Effort;
use ptxc_ssa::together;
use ptxc_ssa::uniformity::Uniformity;
use ptxc_ssa::{converge, frequency, gather, legalize, simplify};
use ptxc_syntax::Span;

use crate::cli::{MessageFormat, OptArgs};
use crate::messages::report;
use crate::output::{check_overwrites, read, write};
use crate::{Outcome, Streams};

/// A function on its way.
enum Unit {
    Ssa(Box<Function>),
    Virtual(Box<Mir<VReg>>),
    Physical(Box<Mir<PReg>>),
    LaidOut(Box<Code>),
    Text(String),
}

impl Unit {
    fn form(&self) -> &'static str {
        match self {
            Unit::Ssa(_) => "SSA",
            Unit::Virtual(_) => "machine IR over virtual registers",
            Unit::Physical(_) => "machine IR over physical registers",
            Unit::LaidOut(_) => "laid-out code",
            Unit::Text(_) => "a finished program",
        }
    }

    fn text(&self) -> String {
        match self {
            Unit::Ssa(func) => func.to_string(),
            Unit::Virtual(mir) => mir.to_string(),
            Unit::Physical(mir) => mir.to_string(),
            Unit::LaidOut(code) => code.to_string(),
            Unit::Text(text) => text.clone(),
        }
    }
}

pub(crate) fn run(args: &OptArgs, streams: &mut Streams<'_>) -> Outcome {
    let Ok(arch) = args.arch.parse::<Arch>() else {
        return streams.usage(format!("no architecture `{}`", args.arch));
    };
    if heuristic_by_name(&args.heuristic).is_none() {
        return streams.usage(format!(
            "no heuristic `{}`; there are {}",
            args.heuristic,
            HEURISTICS.join(", ")
        ));
    }
    if let Some(name) = args.passes.iter().find(|name| !names().contains(&name.as_str())) {
        return streams.usage(format!("no pass `{name}`; there are {}", names().join(", ")));
    }
    if let Err(message) = check_overwrites([args.file.as_str()], [args.output.as_path()]) {
        return streams.usage(message);
    }
    let text = match read(&args.file, streams.stdin) {
        Ok(text) => text,
        Err(error) => return streams.failed(format!("{}: {error}", args.file)),
    };
    let functions = match parse(&text) {
        Ok(functions) => functions,
        Err(errors) => {
            let found: Vec<Located> = errors
                .iter()
                .map(|error| Located {
                    code: "E0950".into(),
                    severity: Severity::Error,
                    message: error.message.clone(),
                    primary: (Span::new(error.span.start as u32, error.span.end as u32), String::new()),
                    secondary: Vec::new(),
                    notes: Vec::new(),
                    help: None,
                })
                .collect();
            return report(&args.file, &text, &found, MessageFormat::Human, streams);
        }
    };
    let mut parts = Vec::new();
    for func in functions {
        let name = func.name.clone();
        // Passes rely on what the verifier demands, and the text may be anything.
        if args.passes.first().is_some_and(|pass| !pass.starts_with("verify"))
            && let Err(found) = verify(&func, level_of(&func))
        {
            return streams.failed(format!("@{name}: {}", errors(found)));
        }
        let mut unit = Unit::Ssa(Box::new(func));
        for pass in &args.passes {
            unit = match step(unit, pass, arch, args) {
                Ok(unit) => unit,
                Err(message) => return streams.failed(format!("@{name}: {pass}: {message}")),
            };
        }
        parts.push(unit.text());
    }
    match write(&args.output, parts.join("\n"), streams.out) {
        Ok(()) => Outcome::Done,
        Err(error) => streams.failed(format!("{}: {error}", args.output.display())),
    }
}

/// How far a function in a text has come.
fn level_of(func: &Function) -> Level {
    let brackets =
        func.insts.values().any(|inst| matches!(inst.op, Op::Bssy(..) | Op::Bsync(_) | Op::Break(_)));
    if brackets { Level::Converged } else { Level::Built }
}

/// What is no pass of the pipeline: verifiers, and another mode of the control codes.
const OTHERS: &[&str] = &["verify", "verify-legal", "verify-converged", "control-serial"];

/// All names, the rules of simplification, legalization and combining among them. `control` checks what it makes,
/// so that the check of hazards has nothing left to do.
fn names() -> Vec<&'static str> {
    let pipeline = PASSES.iter().filter(|&&name| name != "hazard-check");
    let rules = simplify::PASSES.iter().map(|(name, _)| *name);
    let legal = legalize::RULES.iter().map(|(name, ..)| *name);
    let machine = combine::RULES.iter().map(|(name, _)| *name);
    OTHERS.iter().chain(pipeline).copied().chain(rules).chain(legal).chain(machine).collect()
}

fn errors(list: Vec<impl Display>) -> String {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn step(unit: Unit, pass: &str, arch: Arch, args: &OptArgs) -> Result<Unit, String> {
    let Some(mut heuristic) = heuristic_by_name(&args.heuristic) else {
        return Err("no such heuristic".into());
    };
    Ok(match (unit, pass) {
        (Unit::Ssa(mut func), _) => match pass {
            "select" => {
                let uniformity = Uniformity::compute_converged(&func);
                let frequency = frequency::block_frequencies(&func);
                let mir = select::select(&func, arch, &uniformity, &frequency).map_err(|list| {
                    let lines =
                        list.iter().map(|unsupported| format!("{}: {}", unsupported.op, unsupported.why));
                    lines.collect::<Vec<_>>().join("\n")
                })?;
                Unit::Virtual(Box::new(mir))
            }
            _ => {
                on_ssa(&mut func, pass, arch)?;
                Unit::Ssa(func)
            }
        },
        (Unit::Virtual(mut mir), "combine") => {
            combine::combine(&mut mir, arch);
            verify_mir(&mir).map_err(errors)?;
            Unit::Virtual(mir)
        }
        (Unit::Virtual(mut mir), rule) if combine::RULES.iter().any(|(name, _)| *name == rule) => {
            for (_, apply) in combine::RULES.iter().filter(|(name, _)| *name == rule) {
                apply(&mut mir, arch);
            }
            verify_mir(&mir).map_err(errors)?;
            Unit::Virtual(mir)
        }
        (Unit::Virtual(mut mir), "schedule-pre-ra") => {
            let live = Liveness::new(&mir);
            pre_ra(&mut mir, &live, arch, args.max_regs, &mut *heuristic)
                .map_err(|error| error.to_string())?;
            Unit::Virtual(mir)
        }
        (Unit::Virtual(mir), "allocate") => {
            let options = allocate::Options { max_regs: args.max_regs as u16, arch };
            let live = Liveness::new(&mir);
            let allocation = allocate::allocate(&mir, &live, &options).map_err(|error| error.to_string())?;
            allocate::check(&mir, &live, &allocation, &options).map_err(errors)?;
            Unit::Physical(Box::new(allocation.mir))
        }
        (Unit::Physical(mir), "layout") => {
            let code = layout(*mir, arch);
            check_convergence(&code).map_err(errors)?;
            Unit::LaidOut(Box::new(code))
        }
        (Unit::LaidOut(mut code), "schedule-post-ra") => {
            post_ra(&mut code, arch, &mut *heuristic).map_err(|error| error.to_string())?;
            Unit::LaidOut(code)
        }
        (Unit::LaidOut(code), "control" | "control-serial") => {
            let sync = if pass == "control" { control::Sync::Dataflow } else { control::Sync::Serial };
            let (mut program, _) = control::assign(*code, arch, control::Options { sync });
            program.number_labels();
            ptxc_sass::verify::check(&program).map_err(errors)?;
            let mut text = String::new();
            write_program(&program, &Style::default(), None, &mut text).map_err(|error| error.to_string())?;
            Unit::Text(text)
        }
        (unit, _) => return Err(format!("the pass does not work on {}", unit.form())),
    })
}

/// A pass from SSA to SSA, and the verifier behind it.
fn on_ssa(func: &mut Function, pass: &str, arch: Arch) -> Result<(), String> {
    let mut level = Level::Built;
    match pass {
        "verify" => {}
        "verify-legal" => level = Level::Legal,
        "verify-converged" => level = Level::Converged,
        "aggregate-atomics" => {
            legalize::aggregate_atomics(func, arch);
        }
        "fuse-multiply-add" => {
            legalize::fuse_multiply_add(func, arch);
        }
        "simplify" => {
            simplify::simplify(func, Effort::Full);
        }
        "rematerialize" => {
            simplify::rematerialize(func, &mut Analyses::default());
        }
        "simplify-legal" => {
            simplify::simplify(func, Effort::Light);
        }
        "legalize" => {
            legalize::legalize(func, arch);
            level = Level::Legal;
        }
        "converge" => {
            converge::converge(func);
            level = Level::Converged;
        }
        "gather" => {
            let for_anybody = together::verify::for_anybody(func);
            gather::gather(func, arch);
            together::verify::check(func, &Uniformity::compute_converged(func), &for_anybody)
                .map_err(errors)?;
            level = Level::Converged;
        }
        _ => {
            if let Some((_, rule)) = simplify::PASSES.iter().find(|(name, _)| *name == pass) {
                rule(func, &mut Analyses::default());
            } else if let Some((_, rule, _)) = legalize::RULES.iter().find(|(name, ..)| *name == pass) {
                rule(func, arch);
            } else {
                return Err("the pass does not work on SSA".into());
            }
        }
    }
    verify(func, level).map_err(errors)
}
