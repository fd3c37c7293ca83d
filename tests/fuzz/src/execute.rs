//! One kernel, one launch, and three executions that must leave the same bytes: the SSA form as
//! built, the simplified SSA form, and the SASS.

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::callees::{device_callees, ssa_callees};
use ptxc_compiler::stages::{built, ssa};
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_ptx::diagnostic::Severity;
use ptxc_sass::Program;
use ptxc_sass::verify::Order;
use ptxc_sim::{Case, Report, SimError, run_sass, run_ssa};

use crate::counting;
use crate::random::Random;
use crate::regions;

/// The most warp instructions of a run.
const STEP_LIMIT: u64 = 2_000_000;
/// The default number of orders of warps that a kernel runs with.
pub const ORDERS: u32 = 3;

/// The options to compile and execute a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `-O`.
    pub opt: u8,
    /// `--heuristic`.
    pub heuristic: String,
    /// `--max-regs`.
    pub max_regs: u32,
    /// `--sync=serial`.
    pub serial: bool,
    /// `--fmad`.
    pub fmad: bool,
    /// The first seed of the simulator.
    pub seed: u64,
    /// The number of seeds, each of which gives another order of warps and lanes.
    pub orders: u32,
    /// The largest error of `MUFU`, in units in the last place.
    pub mufu_error: u8,
}

impl Settings {
    /// Random settings.
    pub fn random(random: &mut Random) -> Settings {
        let seed = random.bits() % 1000;
        let heuristic = match random.below(6) {
            0 => "balanced".to_string(),
            1 => "critical-path".to_string(),
            2 => "pressure".to_string(),
            3 => "source-order".to_string(),
            _ => format!("random:{seed}"),
        };
        let max_regs = random.pick(&[255, 255, 64, 40, 32, 24, 16]);
        Settings {
            opt: random.below(4) as u8,
            heuristic,
            max_regs,
            serial: random.chance(10),
            fmad: random.chance(50),
            seed,
            orders: ORDERS,
            mufu_error: random.below(2) as u8,
        }
    }

    /// Settings that are simpler in one way; simplification never leads back to these settings.
    pub fn simpler(&self) -> Vec<Settings> {
        let mut list = Vec::new();
        let mut with = |change: &dyn Fn(&mut Settings)| {
            let mut settings = self.clone();
            change(&mut settings);
            if settings != *self && !list.contains(&settings) {
                list.push(settings);
            }
        };
        with(&|settings| settings.max_regs = 255);
        with(&|settings| settings.heuristic = "balanced".to_string());
        if self.heuristic != "balanced" {
            with(&|settings| settings.heuristic = "source-order".to_string());
        }
        with(&|settings| settings.serial = false);
        with(&|settings| settings.seed = 0);
        with(&|settings| settings.orders = 1);
        with(&|settings| settings.mufu_error = 0);
        if self.opt != 3 {
            with(&|settings| settings.opt = 0);
            with(&|settings| settings.opt = 3);
        }
        list
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { opt, heuristic, max_regs, serial, fmad, seed, orders, mufu_error } = self;
        write!(f, "-O{opt} --heuristic={heuristic} --max-regs={max_regs}")?;
        write!(f, "{}", if *serial { " --sync=serial" } else { "" })?;
        write!(f, "{}", if *fmad { "" } else { " --fmad=off" })?;
        write!(f, ", simulator: {orders} seeds from {seed}, MUFU off by {mufu_error}")
    }
}

/// The part that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The compiler.
    Compiler,
    /// The SSA form as built: the kernel itself or the engine is wrong.
    AsBuilt,
    /// The simplified SSA form.
    Simplified,
    /// The SASS.
    Sass,
    /// NVIDIA's assembler.
    Ptxas,
    /// Its SASS.
    TheirSass,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Who::Compiler => "the compiler",
            Who::AsBuilt => "SSA as built",
            Who::Simplified => "simplified SSA",
            Who::Sass => "SASS",
            Who::Ptxas => "ptxas",
            Who::TheirSass => "ptxas's SASS",
        })
    }
}

/// The sort of failure for another compiler's code that cannot be run.
pub const NOT_RUN: &str = "not run";

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The part that failed.
    pub who: Who,
    /// The sort of failure, which a smaller kernel must share: the code of a diagnostic, or the
    /// description of a fault without numbers.
    pub sort: String,
    /// The full description.
    pub what: String,
}

impl Failure {
    /// Whether the compiler reports that it does not support something: there is no code, but no
    /// wrong code either. Or whether the other compiler's code cannot be run.
    pub fn is_unsupported(&self) -> bool {
        self.who == Who::Compiler && self.sort == "E0900"
            || self.who == Who::TheirSass && self.sort == NOT_RUN
            || self.who == Who::Ptxas && self.what.contains("Internal compiler error")
    }

    /// Whether another failure is equivalent to this one.
    pub fn is_like(&self, other: &Failure) -> bool {
        self.who == other.who && self.sort == other.sort
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.who, self.what)
    }
}

/// The first difference between the bytes and texts of two executions.
fn difference(expected: &Report, got: &Report) -> Option<String> {
    for (expected, got) in expected.outcomes.iter().zip(&got.outcomes) {
        let place = expected.content.iter().zip(&got.content).position(|(a, b)| a != b);
        if let Some(place) = place {
            let at = place & !3;
            let word = |content: &[u8]| {
                content[at..at + 4].iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>()
            };
            let (got, wanted) = (word(&got.content), word(&expected.content));
            return Some(format!("{}+{at}: {got} instead of {wanted}", expected.name));
        }
    }
    if expected.printed != got.printed {
        let (mut wanted, mut got) = (expected.printed.lines(), got.printed.lines());
        let mut line = 0;
        // One text may be the beginning of the other.
        loop {
            line += 1;
            match (wanted.next(), got.next()) {
                (None, None) => return Some("the printed texts differ in their ends".to_string()),
                (wanted, got) if wanted != got => {
                    return Some(format!("line {line} of the text: {got:?} instead of {wanted:?}"));
                }
                _ => {}
            }
        }
    }
    None
}

/// The sort of an engine's error: smaller kernels fault elsewhere and at other addresses.
fn sort_of(error: &SimError) -> String {
    match error {
        SimError::Fault { what, .. } => what.chars().filter(char::is_ascii_alphabetic).collect(),
        SimError::Deadlock(_) => "deadlock".to_string(),
        SimError::StepLimit { .. } => "no end".to_string(),
        SimError::Unsupported { what, .. } => what.clone(),
        SimError::Case(what) => what.clone(),
        SimError::After { hazards, findings, error, .. } if hazards.is_empty() && findings.is_empty() => {
            sort_of(error)
        }
        SimError::After { .. } => "hazard".to_string(),
    }
}

thread_local! {
    /// The message and place of the last panic of this thread.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Silences the panics of this process, and keeps their messages for the report.
pub fn keep_panics() {
    std::panic::set_hook(Box::new(|info| PANIC.with_borrow_mut(|kept| *kept = info.to_string())));
}

/// Compiles and executes a kernel; a panic is a failure of the compiler.
///
/// # Errors
/// The compiler refuses the kernel, or an execution fails or differs.
pub fn execute(text: &str, case: &Case, settings: &Settings) -> Result<(), Failure> {
    execute_beside(text, case, settings, None)
}

/// Another compiler: from a kernel's text and the settings that it supports to a program.
pub type Other<'a> = dyn Fn(&str, &Settings) -> Result<Program, Failure> + Sync + 'a;

/// The same, with another compiler's program, which must leave the same bytes too.
///
/// # Errors
/// The failure.
pub fn execute_beside(
    text: &str,
    case: &Case,
    settings: &Settings,
    other: Option<&Other<'_>>,
) -> Result<(), Failure> {
    catch_unwind(AssertUnwindSafe(|| compare(text, case, settings, other))).unwrap_or_else(|payload| {
        let message = payload.downcast_ref::<String>().cloned();
        let message = message.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string));
        let message = message.unwrap_or_default();
        let kept = PANIC.with_borrow(Clone::clone);
        let what = format!("panic: {}", if kept.contains(&message) { kept } else { message.clone() });
        Err(Failure {
            who: Who::Compiler,
            sort: message.chars().filter(|c| !c.is_ascii_digit()).collect(),
            what,
        })
    })
}

fn compare(text: &str, case: &Case, settings: &Settings, other: Option<&Other<'_>>) -> Result<(), Failure> {
    let db = Database::default();
    let file = SourceFile::new(&db, "fuzz.ptx".into(), text.into());
    let Settings { opt, heuristic, max_regs, serial, fmad, seed, orders, mufu_error } = settings.clone();
    let options = Options::new(&db, None, opt, fmad, heuristic, max_regs, serial);
    let refused = |sort: String, what: String| Err(Failure { who: Who::Compiler, sort, what });
    // A correct kernel may have warnings, because they are about possible problems.
    let mut found = diagnostics(&db, file, options);
    found.retain(|found| found.severity == Severity::Error);
    if let Some(first) = found.first() {
        let all: Vec<String> =
            found.iter().map(|found| format!("{}: {}", found.code, found.message)).collect();
        return refused(first.code.clone(), all.join("; "));
    }
    let kernels = kernels(&db, file, options);
    let [(func, Some(code))] = kernels[..] else {
        return refused("no code".to_string(), "no diagnostics and no code".to_string());
    };
    let (Some(as_built), Some(simplified)) = (&built(&db, func).value, &ssa(&db, func, options).value) else {
        return refused("no SSA".to_string(), "code without SSA".to_string());
    };
    let called = device_callees(&db, func).iter().map(|&callee| built(&db, callee).value.clone());
    let (Some(called), Some(called_simplified)) =
        (called.collect::<Option<Vec<_>>>(), ssa_callees(&db, func, options))
    else {
        return refused("no SSA".to_string(), "a function without SSA".to_string());
    };
    let simulator = ptxc_sim::Options {
        seed,
        step_limit: STEP_LIMIT,
        // A branch that became selects computes with the destination of a guarded load that did not
        // execute, and then discards the result. Such registers hold random values that depend on
        // the seed, so a result that is not discarded shows as a difference.
        check_uninitialised: false,
        mufu_error,
        hazards: true,
        loses_saved: true,
        ..ptxc_sim::Options::default()
    };
    let failed = |who: Who, error: &SimError| Failure { who, sort: sort_of(error), what: error.to_string() };
    let reference =
        run_ssa(case, as_built, &called, &simulator).map_err(|error| failed(Who::AsBuilt, &error))?;
    let check = |who: Who, result: Result<Report, SimError>| {
        let report = result.map_err(|error| failed(who, &error))?;
        if let Some(hazard) = report.hazards.first() {
            return Err(Failure { who, sort: "hazard".to_string(), what: hazard.to_string() });
        }
        match difference(&reference, &report) {
            Some(what) => Err(Failure { who, sort: "differs".to_string(), what }),
            None => Ok(()),
        }
    };
    let ordered = |simulator: &ptxc_sim::Options| {
        let simulator = simulator.clone();
        (0..u64::from(orders.max(1)))
            .map(move |order| ptxc_sim::Options { seed: seed + order, ..simulator.clone() })
    };
    for (order, simulator) in ordered(&simulator).enumerate() {
        if order > 0 {
            check(Who::AsBuilt, run_ssa(case, as_built, &called, &simulator))?;
        }
        check(Who::Simplified, run_ssa(case, simplified, &called_simplified, &simulator))?;
    }
    for simulator in ordered(&simulator) {
        check(Who::Sass, run_sass(case, &code.program, &simulator))?;
    }
    let Some(other) = other else { return Ok(()) };
    // Its routines may require more accurate approximations than ours, and its waits rely on
    // results that return in order.
    let simulator = ptxc_sim::Options {
        mufu_error: 0,
        order: Order::InOrder,
        holds_uniform: true,
        loses_saved: false,
        ..simulator
    };
    let theirs = other(text, settings)?;
    let not_run = |what: String| Err(Failure { who: Who::TheirSass, sort: NOT_RUN.to_string(), what });
    for simulator in ordered(&simulator) {
        match run_sass(case, &theirs, &simulator) {
            Err(SimError::Unsupported { what, .. }) => return not_run(what),
            result => match check(Who::TheirSass, result) {
                Err(failure) if failure.sort != "hazard" && counting::apart(case, &theirs, &simulator) => {
                    return not_run(
                        "it counts in a uniform register where lanes of a warp are apart".to_string(),
                    );
                }
                Err(failure)
                    if failure.sort == "deadlock" && failure.what.contains("at convergence barrier")
                        || failure.what.contains("which other lanes have saved in a register")
                        || failure.sort != "hazard" && regions::entered_twice(case, &theirs, &simulator) =>
                {
                    return not_run("lanes leave a region without `BREAK`".to_string());
                }
                // Such as `WARPSYNC UR36` of sm_75.
                Err(failure) if failure.what.contains("is not a known instruction") => {
                    return not_run("a word is not a known instruction".to_string());
                }
                Err(failure)
                    if failure.what.contains("is neither the descriptor of global memory")
                        && text.contains("ld.acquire") =>
                {
                    return not_run("a function with `ld.acquire` loads no descriptor".to_string());
                }
                outcome => outcome?,
            },
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_are_a_difference() {
        let report = |printed: &str| Report {
            outcomes: Vec::new(),
            steps: 0,
            hazards: Vec::new(),
            findings: Vec::new(),
            printed: printed.to_string(),
            differences: Vec::new(),
        };
        let between = |a: &str, b: &str| difference(&report(a), &report(b));
        assert_eq!(between("1\n2\n", "1\n2\n"), None);
        let what = between("1\n2\n", "1\n3\n").expect("a difference");
        assert_eq!(what, "line 2 of the text: Some(\"3\") instead of Some(\"2\")");
        assert!(between("1\n", "1\n2\n").is_some() && between("1", "1\n").is_some());
    }
}
