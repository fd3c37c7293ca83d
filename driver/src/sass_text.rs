//! SASS text from files or cubins: its kernels, or printed errors.

use std::ops::Range;

use ptxc_compiler::Located;
use ptxc_machine::Arch;
use ptxc_ptx::check::env::PtxTarget;
use ptxc_ptx::check::targets;
use ptxc_ptx::diagnostic::Severity;
use ptxc_sass::text::{Module, ReadOptions, Style, TextError, parse_module};
use ptxc_syntax::Span;

use crate::binary::disassemble;
use crate::cli::MessageFormat;
use crate::input::Input;
use crate::kind::{Kind, expect};
use crate::messages::{print, sum};
use crate::output::{read_bytes, text_of};
use crate::streams::{Outcome, Streams};

/// A file and its kernels.
pub(crate) struct SassFile {
    /// Its text, for diagnostics.
    pub(crate) text: String,
    /// Its kernels, in the order of the text, and its variables.
    pub(crate) module: Module,
}

/// Reads a file of text, or a cubin, whose disassembly becomes the text. Errors are printed.
pub(crate) fn load(
    input: &Input,
    command: &str,
    options: &ReadOptions,
    format: MessageFormat,
    streams: &mut Streams<'_>,
) -> Result<SassFile, Outcome> {
    let bytes = match read_bytes(input, streams.stdin) {
        Ok(bytes) => bytes,
        Err(error) => return Err(streams.failed(format!("{input}: {error}"))),
    };
    load_bytes(input, bytes, command, options, format, streams)
}

/// The same for bytes that have been read.
pub(crate) fn load_bytes(
    input: &Input,
    bytes: Vec<u8>,
    command: &str,
    options: &ReadOptions,
    format: MessageFormat,
    streams: &mut Streams<'_>,
) -> Result<SassFile, Outcome> {
    let path = input.shown();
    let kind = expect(input, &bytes, command, &[Kind::Sass, Kind::Cubin]);
    let text = match kind.map_err(|message| streams.failed(message))? {
        Kind::Cubin => match disassemble(&bytes, &[], &Style::default()) {
            Ok(disassembly) => disassembly.text,
            Err(why) => return Err(streams.failed(format!("{path}: {why}"))),
        },
        _ => text_of(bytes),
    };
    match parse_module(&text, options) {
        Ok(module) => Ok(SassFile { text, module }),
        Err(errors) => {
            let found: Vec<Located> = errors.into_iter().map(located).collect();
            print(path, &text, &found, format, streams);
            sum(&format!("{} in {path}", count(found.len(), "error")), format, streams);
            Err(Outcome::Failed)
        }
    }
}

/// The architecture that an option names.
pub(crate) fn arch(name: Option<&str>) -> Result<Option<Arch>, String> {
    let Some(name) = name else { return Ok(None) };
    // `sm_90a` is a variant of `sm_90`; `sm_75` has none.
    let variant = PtxTarget::parse(name).filter(|&target| targets::first_version(target).is_some());
    let base = if variant.is_some() { name.trim_end_matches(['a', 'f']) } else { name };
    base.parse().map(Some).map_err(|()| {
        let is_known = |target: &PtxTarget| Arch::of_number(target.number).is_some();
        let known: Vec<String> = targets::all().filter(is_known).map(|target| target.to_string()).collect();
        format!("no architecture `{name}`; there are {}", known.join(", "))
    })
}

/// `1 error`, `2 errors`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A span of a text.
pub(crate) fn span(range: &Range<usize>) -> Span {
    let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span { start: place(range.start), end: place(range.end) }
}

pub(crate) fn located(error: TextError) -> Located {
    Located {
        code: error.code.to_string(),
        severity: Severity::Error,
        message: error.message,
        primary: (span(&error.span), error.label),
        secondary: error.secondary.into_iter().map(|(range, label)| (span(&range), label)).collect(),
        notes: error.notes,
        help: error.help,
    }
}
