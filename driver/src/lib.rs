//! The `ptxc` command line as a library, so that tests run it in their own process.

mod asm;
mod binary;
mod check;
mod cli;
mod decode;
mod disasm;
mod hazard;
mod lower;
mod messages;
mod opt;
mod output;
mod passes;
mod run;
mod sass_text;
mod verify;

use std::io::{Read, Write};

use clap::Parser;
use cli::{Cli, Command};

/// What a command comes to; the numbers are the exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Done.
    Done = 0,
    /// Errors in the input, or expectations that did not hold.
    Failed = 1,
    /// Wrong usage.
    Usage = 2,
}

/// The streams of a command.
struct Streams<'a> {
    stdin: &'a mut dyn Read,
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    /// Whether `out` is a terminal that shows colours.
    has_colors: bool,
}

impl Streams<'_> {
    /// Says that the command was used wrongly.
    fn usage(&mut self, message: impl std::fmt::Display) -> Outcome {
        // There is nowhere to report that reports can't be written.
        let _ = writeln!(self.err, "error: {message}");
        Outcome::Usage
    }

    /// Says that something outside of the program went wrong.
    fn failed(&mut self, message: impl std::fmt::Display) -> Outcome {
        let _ = writeln!(self.err, "error: {message}");
        Outcome::Failed
    }
}

/// Runs a command line (the first word is the program's name); the exit code: 0 done, 1 errors in the
/// input, 2 wrong usage.
pub fn run(args: &[String], stdin: &mut dyn Read, out: &mut dyn Write, err: &mut dyn Write) -> i32 {
    run_on(args, stdin, out, err, false)
}

/// The same for a caller who knows whether the output is a terminal that shows colours.
pub fn run_on(
    args: &[String],
    stdin: &mut dyn Read,
    out: &mut dyn Write,
    err: &mut dyn Write,
    has_colors: bool,
) -> i32 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let text = error.render();
            let written = if error.use_stderr() { write!(err, "{text}") } else { write!(out, "{text}") };
            let _ = written;
            return error.exit_code();
        }
    };
    let mut streams = Streams { stdin, out, err, has_colors };
    let outcome = match &cli.command {
        Command::Lower(args) => lower::run(args, &mut streams),
        Command::Check(args) => check::run(args, &mut streams),
        Command::Opt(args) => opt::run(args, &mut streams),
        Command::Verify(args) => verify::run(args, &mut streams),
        Command::Run(args) => run::run(args, &mut streams),
        Command::Decode(args) => decode::run(args, &mut streams),
        Command::Asm(args) => asm::run(args, &mut streams),
        Command::Disasm(args) => disasm::run(args, &mut streams),
    };
    let flushed = streams.out.flush();
    match (outcome, flushed) {
        (Outcome::Done, Err(_)) => Outcome::Failed as i32,
        (outcome, _) => outcome as i32,
    }
}
