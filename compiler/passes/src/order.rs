//! The order of the passes.

use std::fmt;

use ptxc_codegen::combine;
use ptxc_ir::verify::Level;
use ptxc_ssa::{legalize, simplify};

use crate::halt::incomplete;
use crate::steps::{code, machine, ssa};
use crate::{Analysis, Context, Form, Halt, Stage};

/// A pass: a name, a place in the order, and a function.
#[derive(Clone, Copy)]
pub struct Pass {
    /// The name, as `ptxc opt --passes` and `--print-after` spell it.
    pub name: &'static str,
    /// The lowest optimization level at which it runs.
    pub level: u8,
    /// The function, by the form that it takes.
    pub step: Step,
    /// The analyses that are computed before it runs, unless they are valid.
    pub needs: &'static [Analysis],
    /// The analyses that are valid after it.
    pub keeps: &'static [Analysis],
    /// The level at which the verifier checks the resulting SSA form.
    pub leaves: Level,
}

/// The function of a pass.
#[derive(Clone, Copy)]
pub enum Step {
    /// SSA to SSA.
    Ssa(fn(&mut ptxc_ir::Function, &mut Context<'_>) -> Result<(), Halt>),
    /// One rule of `simplify`.
    SimplifyRule(simplify::Pass),
    /// One rule of `legalize`.
    LegalizeRule(&'static legalize::Rule),
    /// SSA to machine IR.
    Select(fn(ptxc_ir::Function, &mut Context<'_>) -> Result<machine::Virtual, Halt>),
    /// Machine IR to machine IR, over virtual registers.
    Machine(fn(&mut machine::Virtual, &mut Context<'_>) -> Result<(), Halt>),
    /// One rule of `combine`.
    CombineRule(combine::Rule),
    /// Virtual registers to physical registers.
    Allocate(fn(machine::Virtual, &mut Context<'_>) -> Result<code::Physical, Halt>),
    /// Blocks to a sequence.
    Layout(fn(code::Physical, &mut Context<'_>) -> Result<code::Code, Halt>),
    /// Laid-out code to laid-out code.
    LaidOut(fn(&mut code::Code, &mut Context<'_>) -> Result<(), Halt>),
    /// Laid-out code to a program.
    Control(fn(code::Code, &mut Context<'_>) -> Result<code::FuncCode, Halt>),
    /// A program to a program.
    Program(fn(code::FuncCode, &mut Context<'_>) -> Result<code::FuncCode, Halt>),
}

impl Step {
    /// The stage of the form that it takes.
    pub fn takes(self) -> Stage {
        match self {
            Step::Ssa(_) | Step::SimplifyRule(_) | Step::LegalizeRule(_) | Step::Select(_) => Stage::Ssa,
            Step::Machine(_) | Step::CombineRule(_) | Step::Allocate(_) => Stage::Machine,
            Step::Layout(_) => Stage::Allocated,
            Step::LaidOut(_) | Step::Control(_) => Stage::LaidOut,
            Step::Program(_) => Stage::Program,
        }
    }

    /// The stage of the form that it leaves.
    pub fn leaves(self) -> Stage {
        match self {
            Step::Ssa(_) | Step::SimplifyRule(_) | Step::LegalizeRule(_) => Stage::Ssa,
            Step::Select(_) | Step::Machine(_) | Step::CombineRule(_) => Stage::Machine,
            Step::Allocate(_) => Stage::Allocated,
            Step::Layout(_) | Step::LaidOut(_) => Stage::LaidOut,
            Step::Control(_) | Step::Program(_) => Stage::Program,
        }
    }

    /// Runs it; `None` if it takes another form.
    pub(crate) fn apply(self, form: Form, context: &mut Context<'_>) -> Option<Result<Form, Halt>> {
        Some(match (self, form) {
            (Step::Ssa(step), Form::Ssa(mut func)) => step(&mut func, context).map(|()| Form::Ssa(func)),
            (Step::SimplifyRule(rule), Form::Ssa(mut func)) => {
                rule(&mut func, &mut context.known.flow);
                Ok(Form::Ssa(func))
            }
            (Step::LegalizeRule(rule), Form::Ssa(mut func)) => {
                let applied = rule.apply_alone(&mut func, context.settings.arch);
                applied.map(|()| Form::Ssa(func)).map_err(incomplete)
            }
            (Step::CombineRule(rule), Form::Machine(mut mir)) => {
                rule(&mut mir, context.settings.arch);
                Ok(Form::Machine(mir))
            }
            (Step::Select(step), Form::Ssa(func)) => step(*func, context).map(Form::from),
            (Step::Machine(step), Form::Machine(mut mir)) => {
                step(&mut mir, context).map(|()| Form::Machine(mir))
            }
            (Step::Allocate(step), Form::Machine(mir)) => step(*mir, context).map(Form::from),
            (Step::Layout(step), Form::Allocated(mir)) => step(*mir, context).map(Form::from),
            (Step::LaidOut(step), Form::LaidOut(mut code)) => {
                step(&mut code, context).map(|()| Form::LaidOut(code))
            }
            (Step::Control(step), Form::LaidOut(code)) => step(*code, context).map(Form::from),
            (Step::Program(step), Form::Program(code)) => step(*code, context).map(Form::from),
            _ => return None,
        })
    }
}

const NOTHING: &[Analysis] = &[];
const FLOW: &[Analysis] = &[Analysis::Flow];
const FLOW_AND_UNIFORMITY: &[Analysis] = &[Analysis::Flow, Analysis::Uniformity];
const LIVENESS: &[Analysis] = &[Analysis::Liveness];

/// The fields that most passes share.
const BASE: Pass = Pass {
    name: "",
    level: 0,
    step: Step::Program(code::hazard_check),
    needs: NOTHING,
    keeps: NOTHING,
    leaves: Level::Built,
};

/// Every pass, in order.
///
/// | stage | passes | in → out |
/// |---|---|---|
/// | SSA | fuse-multiply-add to gather | SSA as built → SSA that the architecture has, with its lanes together |
/// | machine | select to schedule-pre-ra | SSA → machine IR |
/// | code | allocate to link | machine IR → program |
pub static PASSES: &[Pass] = &[
    Pass { name: "fuse-multiply-add", step: Step::Ssa(ssa::fuse_multiply_add), ..BASE },
    Pass { name: "simplify", step: Step::Ssa(ssa::simplify), keeps: FLOW, ..BASE },
    Pass { name: "rematerialize", level: 1, step: Step::Ssa(ssa::rematerialize), keeps: FLOW, ..BASE },
    Pass { name: "aggregate-atomics", step: Step::Ssa(ssa::aggregate_atomics), ..BASE },
    Pass { name: "legalize", step: Step::Ssa(ssa::legalize), leaves: Level::Legal, ..BASE },
    Pass {
        name: "simplify-legal",
        step: Step::Ssa(ssa::simplify_legal),
        keeps: FLOW,
        leaves: Level::Legal,
        ..BASE
    },
    Pass {
        name: "repeat-masks",
        level: 1,
        step: Step::Ssa(ssa::repeat_masks),
        keeps: FLOW,
        leaves: Level::Legal,
        ..BASE
    },
    Pass {
        name: "stack-arguments",
        step: Step::Ssa(ssa::stack_arguments),
        keeps: FLOW,
        leaves: Level::Legal,
        ..BASE
    },
    Pass {
        name: "converge",
        step: Step::Ssa(ssa::converge),
        keeps: FLOW_AND_UNIFORMITY,
        leaves: Level::Converged,
        ..BASE
    },
    Pass {
        name: "gather",
        step: Step::Ssa(ssa::gather),
        keeps: FLOW_AND_UNIFORMITY,
        leaves: Level::Converged,
        ..BASE
    },
    Pass { name: "select", step: Step::Select(machine::select), needs: FLOW_AND_UNIFORMITY, ..BASE },
    Pass { name: "combine", level: 1, step: Step::Machine(machine::combine), ..BASE },
    Pass { name: "call-clobbers", step: Step::Machine(machine::call_clobbers), ..BASE },
    Pass {
        name: "schedule-pre-ra",
        level: 2,
        step: Step::Machine(machine::schedule_pre_ra),
        needs: LIVENESS,
        // Another order of instructions changes nothing at the borders of blocks.
        keeps: LIVENESS,
        ..BASE
    },
    Pass { name: "allocate", step: Step::Allocate(code::allocate), needs: LIVENESS, ..BASE },
    Pass { name: "layout", step: Step::Layout(code::layout), ..BASE },
    Pass { name: "inline-collectives", step: Step::LaidOut(code::inline_collectives), ..BASE },
    Pass { name: "schedule-post-ra", level: 1, step: Step::LaidOut(code::schedule_post_ra), ..BASE },
    Pass { name: "space-copies", step: Step::LaidOut(code::space_copies), ..BASE },
    Pass { name: "control", step: Step::Control(code::control), ..BASE },
    Pass { name: "hazard-check", step: Step::Program(code::hazard_check), ..BASE },
    Pass { name: "link", step: Step::Program(code::link), ..BASE },
];

/// A part of the order: from one pass to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    first: usize,
    last: usize,
}

/// No pass of the order has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPass(pub String);

impl fmt::Display for UnknownPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Pass::names().collect();
        write!(f, "no pass `{}`; expected one of {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownPass {}

impl Pass {
    /// The names, in order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PASSES.iter().map(|pass| pass.name)
    }

    /// The pass of that name.
    pub fn named(name: &str) -> Option<&'static Pass> {
        PASSES.iter().find(|pass| pass.name == name)
    }

    /// The rules that `simplify`, `legalize` and `combine` consist of, as passes of their own, each
    /// name once.
    pub fn rules() -> Vec<Pass> {
        let simplify = simplify::PASSES.iter().map(|&(name, rule)| (name, Step::SimplifyRule(rule)));
        let legalize = legalize::RULES.iter().map(|rule| (rule.name, Step::LegalizeRule(rule)));
        let combine = combine::RULES.iter().map(|&(name, rule)| (name, Step::CombineRule(rule)));
        let mut rules: Vec<Pass> = Vec::new();
        for (name, step) in simplify.chain(legalize).chain(combine) {
            if rules.iter().all(|known| known.name != name) {
                rules.push(Pass { name, step, ..BASE });
            }
        }
        rules
    }
}

impl Span {
    /// The whole order.
    pub const ALL: Span = Span::of("fuse-multiply-add", "link");
    /// SSA as built to simplified SSA.
    pub const SSA: Span = Span::of("fuse-multiply-add", "aggregate-atomics");
    /// Simplified SSA to machine IR.
    pub const MACHINE: Span = Span::of("legalize", "combine");
    /// SSA as built to machine IR.
    pub const TO_MACHINE: Span = Span::of("fuse-multiply-add", "combine");
    /// Machine IR to the proved code of the function alone.
    pub const OWN_CODE: Span = Span::of("call-clobbers", "hazard-check");
    /// The function's own code to a program with its callees.
    pub const LINK: Span = Span::of("link", "link");
    /// Machine IR to a program with its callees.
    pub const CODE: Span = Span::of("call-clobbers", "link");

    /// A span between two passes of the order. A misspelt name does not compile.
    const fn of(first: &str, last: &str) -> Span {
        let span = Span { first: place(first), last: place(last) };
        assert!(span.first <= span.last, "the passes are in this order");
        span
    }

    /// From one pass to another, both included; `None` if the second comes first.
    ///
    /// # Errors
    /// A name that no pass of the order has.
    pub fn between(first: &str, last: &str) -> Result<Option<Span>, UnknownPass> {
        let place = |name: &str| {
            Pass::names().position(|known| known == name).ok_or_else(|| UnknownPass(name.to_string()))
        };
        let (first, last) = (place(first)?, place(last)?);
        Ok((first <= last).then_some(Span { first, last }))
    }

    /// The passes, in order.
    pub fn passes(self) -> &'static [Pass] {
        &PASSES[self.first..=self.last]
    }

    /// The passes after the one of that name; all if no pass of the order has it.
    pub fn after(name: &str) -> &'static [Pass] {
        let place = Pass::names().position(|known| known == name);
        &PASSES[place.map_or(0, |place| place + 1)..]
    }

    /// From the first pass that takes forms of a stage to the end.
    pub fn from(stage: Stage) -> Span {
        let first = PASSES.iter().position(|pass| pass.step.takes() == stage).unwrap_or(0);
        Span { first, last: PASSES.len() - 1 }
    }
}

/// The place of a pass in the order.
const fn place(name: &str) -> usize {
    let mut index = 0;
    while index < PASSES.len() {
        if is_equal(PASSES[index].name.as_bytes(), name.as_bytes()) {
            return index;
        }
        index += 1;
    }
    panic!("no pass has this name")
}

const fn is_equal(left: &[u8], right: &[u8]) -> bool {
    let mut index = 0;
    while index < left.len() && index < right.len() && left[index] == right[index] {
        index += 1;
    }
    left.len() == right.len() && index == left.len()
}
