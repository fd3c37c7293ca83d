//! The `ptxc` command line as a library, so that tests run it in their own process.

mod asm;
mod batch;
mod binary;
mod check;
mod cli;
#[cfg(feature = "manual")]
mod completions;
#[cfg(feature = "decoder")]
mod decode;
mod destination;
mod disasm;
pub mod explain;
mod hazard;
mod input;
mod kind;
mod lower;
#[cfg(feature = "manual")]
mod man;
mod messages;
mod opt;
mod output;
mod passes;
mod progress;
mod ptx_text;
#[cfg(feature = "simulator")]
mod run;
mod sass_text;
mod scratch;
mod standard_output;
mod streams;
pub mod surroundings;
mod unknown;
mod verify;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};

use ptxc_compiler::render::{plain, plain_line};

use cli::{Cli, Command, WhenProgress};
use standard_output::StandardOutput;
use streams::{Outcome, Streams};
use surroundings::Surroundings;

/// Runs a command line; its first word is the name of the program. The exit code is 0 for
/// success, 1 for errors in the input or output and 2 for wrong usage.
pub fn run<S: AsRef<OsStr>>(
    args: &[S],
    stdin: &mut dyn Read,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> i32 {
    run_in(&Surroundings::default(), args, stdin, out, err)
}

/// The same for a caller that knows the properties of the streams.
pub fn run_in<S: AsRef<OsStr>>(
    surroundings: &Surroundings,
    args: &[S],
    stdin: &mut dyn Read,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> i32 {
    let args: Vec<OsString> = args.iter().map(|arg| arg.as_ref().to_os_string()).collect();
    let cli = match Cli::read(&args) {
        Ok(cli) => cli,
        Err(error) => return explain_usage(&error, surroundings, &args, out, err),
    };
    let shows_progress = surroundings.err_is_terminal && cli.everywhere.progress == WhenProgress::Auto;
    let surroundings = *surroundings;
    let escapes = surroundings.out_is_terminal && cli.command.prints_input();
    let mut out = StandardOutput::new(out, escapes, surroundings.out_is_closed);
    let mut streams =
        Streams { stdin, out: &mut out, err, surroundings, color: cli.everywhere.color, shows_progress };
    let outcome = match &cli.command {
        Command::Lower(args) => lower::run(args, &mut streams),
        Command::Check(args) => check::run(args, &mut streams),
        Command::Explain(args) => explain::run(args, &mut streams),
        Command::Opt(args) => opt::run(args, &mut streams),
        Command::Verify(args) => verify::run(args, &mut streams),
        #[cfg(feature = "simulator")]
        Command::Run(args) => run::run(args, &mut streams),
        #[cfg(feature = "decoder")]
        Command::Decode(args) => decode::run(args, &mut streams),
        Command::Asm(args) => asm::run(args, &mut streams),
        Command::Disasm(args) => disasm::run(args, &mut streams),
        #[cfg(feature = "manual")]
        Command::Completions(args) => completions::run(args, &mut streams),
        #[cfg(feature = "manual")]
        Command::Man(args) => man::run(args, &mut streams),
        #[cfg(not(feature = "decoder"))]
        Command::Decode(_) => streams.usage(lacks("decode", "decoder")),
        #[cfg(not(feature = "simulator"))]
        Command::Run(_) => streams.usage(lacks("run", "simulator")),
        #[cfg(not(feature = "manual"))]
        Command::Completions(_) => streams.usage(lacks("completions", "manual")),
        #[cfg(not(feature = "manual"))]
        Command::Man(_) => streams.usage(lacks("man", "manual")),
    };
    let outcome = match out.end() {
        Ok(()) => outcome,
        Err(error) => {
            // A failure to write messages cannot be reported anywhere.
            let _ = writeln!(err, "error: standard output: {error}");
            outcome.max(Outcome::Failed)
        }
    };
    outcome as i32
}

/// The message for a command that this program was built without.
#[cfg(not(all(feature = "decoder", feature = "manual", feature = "simulator")))]
fn lacks(command: &str, feature: &str) -> String {
    format!(
        "this program was built without `ptxc {command}`, the feature `{feature}`; \
         `cargo install --path driver` builds all commands"
    )
}

/// Prints the help that a command line asks for, or the reason why it is not valid.
fn explain_usage(
    error: &clap::Error,
    surroundings: &Surroundings,
    args: &[OsString],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> i32 {
    let is_error = error.use_stderr();
    let is_terminal = if is_error { surroundings.err_is_terminal } else { surroundings.out_is_terminal };
    let text = error.render();
    // The text repeats words of the command line, which a script may have taken from a file.
    let is_safe = |arg: &OsString| matches!(plain_line(&arg.to_string_lossy()), Cow::Borrowed(_));
    let colored =
        args.iter().all(is_safe) && surroundings.has_colors(surroundings::choice(args), is_terminal);
    let text = if colored { text.ansi().to_string() } else { plain(&text.to_string()).into_owned() };
    if is_error {
        // A failure to write messages cannot be reported anywhere.
        let _ = write!(err, "{text}");
        return error.exit_code();
    }
    let mut out = StandardOutput::new(out, false, surroundings.out_is_closed);
    let _ = write!(out, "{text}");
    match out.end() {
        Ok(()) => error.exit_code(),
        Err(error) => {
            let _ = writeln!(err, "error: standard output: {error}");
            Outcome::Failed as i32
        }
    }
}
