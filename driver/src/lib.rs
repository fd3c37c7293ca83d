//! The `ptxc` command line as a library, so that tests run it in their own process.

mod asm;
mod batch;
mod binary;
mod check;
mod cli;
mod completions;
mod decode;
mod destination;
mod disasm;
pub mod explain;
mod hazard;
mod lower;
mod man;
mod messages;
mod opt;
mod output;
mod passes;
mod progress;
mod run;
mod sass_text;
mod streams;
pub mod surroundings;
mod verify;

use std::io::{Read, Write};

use cli::{Cli, Command, WhenProgress};
use streams::{Outcome, Streams};
use surroundings::Surroundings;

/// Runs a command line; its first word is the name of the program. The exit code is 0 for
/// success, 1 for errors in the input and 2 for wrong usage.
pub fn run(args: &[String], stdin: &mut dyn Read, out: &mut dyn Write, err: &mut dyn Write) -> i32 {
    run_in(&Surroundings::default(), args, stdin, out, err)
}

/// The same for a caller that knows the properties of the streams.
pub fn run_in(
    surroundings: &Surroundings,
    args: &[String],
    stdin: &mut dyn Read,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> i32 {
    let cli = match Cli::read(args) {
        Ok(cli) => cli,
        Err(error) => {
            let text = error.render();
            let (stream, is_terminal): (&mut dyn Write, bool) = match error.use_stderr() {
                true => (err, surroundings.err_is_terminal),
                false => (out, surroundings.out_is_terminal),
            };
            let colored = surroundings.has_colors(surroundings::choice(args), is_terminal);
            // A failure to write messages cannot be reported anywhere.
            let _ = if colored { write!(stream, "{}", text.ansi()) } else { write!(stream, "{text}") };
            return error.exit_code();
        }
    };
    let shows_progress = surroundings.err_is_terminal && cli.everywhere.progress == WhenProgress::Auto;
    let surroundings = *surroundings;
    let mut streams = Streams { stdin, out, err, surroundings, color: cli.everywhere.color, shows_progress };
    let outcome = match &cli.command {
        Command::Lower(args) => lower::run(args, &mut streams),
        Command::Check(args) => check::run(args, &mut streams),
        Command::Explain(args) => explain::run(args, &mut streams),
        Command::Opt(args) => opt::run(args, &mut streams),
        Command::Verify(args) => verify::run(args, &mut streams),
        Command::Run(args) => run::run(args, &mut streams),
        Command::Decode(args) => decode::run(args, &mut streams),
        Command::Asm(args) => asm::run(args, &mut streams),
        Command::Disasm(args) => disasm::run(args, &mut streams),
        Command::Completions(args) => completions::run(args, &mut streams),
        Command::Man(args) => man::run(args, &mut streams),
    };
    let flushed = streams.out.flush();
    match (outcome, flushed) {
        (Outcome::Done, Err(_)) => Outcome::Failed as i32,
        (outcome, _) => outcome as i32,
    }
}
