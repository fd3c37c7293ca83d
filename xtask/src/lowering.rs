//! Lowers a PTX file in this process and measures the result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use ptxc_codegen::func_code::FuncCode;
use ptxc_compiler::output::{kernels, program_text};
use ptxc_compiler::{Database, Located, SourceFile, diagnostics};
use ptxc_passes::{HAZARD, INTERNAL, UNSUPPORTED_ARCH, WRONG_ALLOCATION};
use ptxc_ptx::diagnostic::{Severity, UNSUPPORTED};
use ptxc_sass::Program;
use ptxc_sass::text::{Notation, Style};
use serde::Serialize;

use crate::exec::TOO_OLD;
use crate::listing::Listing;
use crate::settings::Settings;

/// The figures of a kernel's code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Measures {
    /// Its instructions.
    #[serde(flatten)]
    pub(crate) code: Listing,
    /// General registers per thread: the highest register named plus one.
    pub(crate) registers: u32,
    /// Registers that are spilled to local memory.
    pub(crate) spills: u32,
    /// Cycles that a warp spends issuing, weighted by block frequency.
    pub(crate) static_cycles: u64,
}

/// The kind of reason why a kernel has no code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reason {
    /// It needs something that is not implemented yet.
    Unsupported,
    /// The architecture is too old for it.
    NewerArch,
    /// It is wrong, or does not fit the machine.
    Rejected,
    /// The allocation checker rejects the allocation.
    Allocation,
    /// The hazard check rejects the control codes.
    Hazard,
    /// Another check of the compiler failed, or it panicked.
    Internal,
}

impl Reason {
    /// Whether a check of the compiler itself failed.
    pub(crate) fn is_failure(self) -> bool {
        matches!(self, Reason::Allocation | Reason::Hazard | Reason::Internal)
    }

    fn of(code: &str) -> Reason {
        let is = |known: ptxc_ptx::diagnostic::Code| code == known.to_string();
        if is(UNSUPPORTED) || is(UNSUPPORTED_ARCH) {
            Reason::Unsupported
        } else if code == TOO_OLD {
            Reason::NewerArch
        } else if is(WRONG_ALLOCATION) {
            Reason::Allocation
        } else if is(HAZARD) {
            Reason::Hazard
        } else if is(INTERNAL) {
            Reason::Internal
        } else {
            Reason::Rejected
        }
    }
}

/// A kernel without code, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Missing {
    /// The kind of reason.
    pub(crate) reason: Reason,
    /// The first diagnostic: code and message.
    pub(crate) message: String,
}

/// A kernel of a file.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// The entry's name; empty for a finding about the file as a whole.
    pub(crate) entry: String,
    /// Its measures, or the reason why there are none.
    pub(crate) result: Result<Measures, Missing>,
    /// The time of the stages from its text to its code.
    pub(crate) time: Duration,
}

/// Lowers every kernel of a file. A finding outside of the kernels, such as in a device function,
/// gets a separate line without an entry, if no kernel lacks code for another reason.
pub(crate) fn lower(path: &Path, settings: &Settings) -> Vec<Kernel> {
    let start = Instant::now();
    let of_file = |reason, message: String| {
        vec![Kernel { entry: String::new(), result: Err(Missing { reason, message }), time: start.elapsed() }]
    };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return of_file(Reason::Rejected, error.to_string()),
    };
    let lowered = catch_unwind(AssertUnwindSafe(|| lower_text(path, text, settings)));
    lowered.unwrap_or_else(|_| of_file(Reason::Internal, "panicked".to_string()))
}

fn lower_text(path: &Path, text: String, settings: &Settings) -> Vec<Kernel> {
    let db = Database::default();
    let file = SourceFile::new(&db, path.display().to_string(), text);
    let options = settings.options(&db);
    let mut list = Vec::new();
    let mut ranges = Vec::new();
    for &func in &ptxc_compiler::input::items::items(&db, file).functions {
        if func.kind(&db) != ptxc_syntax::items::ItemKind::Entry || !func.has_body(&db) {
            continue;
        }
        let start = Instant::now();
        ptxc_compiler::stages::code(&db, func, options);
        list.push((func, start.elapsed()));
        ranges.push(func.offset(&db)..func.offset(&db) + func.text(&db).len() as u32);
    }
    let found = diagnostics(&db, file, options);
    let errors = |inside: &dyn Fn(u32) -> bool| {
        let is_wrong =
            |located: &&Located| located.severity == Severity::Error && inside(located.primary.0.start);
        found.iter().find(is_wrong).map(missing)
    };
    let outside = errors(&|at| !ranges.iter().any(|range| range.contains(&at)));
    let code = kernels(&db, file, options);
    let mut report: Vec<Kernel> = Vec::new();
    for (((func, time), range), (_, code)) in list.iter().zip(&ranges).zip(code) {
        let result = match (errors(&|at| range.contains(&at)).or_else(|| outside.clone()), code) {
            (None, Some(code)) => Ok(measure(code)),
            (Some(missing), _) => Err(missing),
            (None, None) => {
                Err(Missing { reason: Reason::Internal, message: "neither code nor a diagnostic".into() })
            }
        };
        report.push(Kernel { entry: func.name(&db).to_string(), result, time: *time });
    }
    if let (Some(missing), true) = (outside, report.is_empty()) {
        report.push(Kernel { entry: String::new(), result: Err(missing), time: Duration::ZERO });
    }
    report
}

/// The program of one kernel of a text; messages show `name` as the text's file.
pub(crate) fn program(
    file: &str,
    text: String,
    entry: &str,
    settings: &Settings,
) -> Result<Program, Missing> {
    let compile = || {
        let db = Database::default();
        let file = SourceFile::new(&db, file.to_string(), text);
        let options = settings.options(&db);
        let found = diagnostics(&db, file, options);
        if let Some(first) = found.iter().find(|found| found.severity == Severity::Error) {
            return Err(missing(first));
        }
        let list = kernels(&db, file, options);
        let code = list.into_iter().find(|(func, _)| func.name(&db) == entry).and_then(|(_, code)| code);
        code.map(|code| code.program.clone()).ok_or_else(|| Missing {
            reason: Reason::Rejected,
            message: format!("there is no kernel `{entry}`"),
        })
    };
    let panicked = |_| Err(Missing { reason: Reason::Internal, message: "panicked".to_string() });
    catch_unwind(AssertUnwindSafe(compile)).unwrap_or_else(panicked)
}

fn missing(located: &Located) -> Missing {
    Missing { reason: Reason::of(&located.code), message: format!("{}: {}", located.code, located.message) }
}

fn measure(code: &FuncCode) -> Measures {
    let style = Style { control: Notation::None, header: false, offsets: true };
    let program = &code.program;
    Measures {
        code: Listing::read(&program_text(code, &style, false)),
        registers: program.resources.registers,
        spills: program.resources.spills,
        static_cycles: program.static_cycles(),
    }
}
