//! `ptxc completions`: scripts for a shell to complete command lines.

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::streams::{Outcome, Streams};

pub(crate) fn run(args: &CompletionsArgs, streams: &mut Streams<'_>) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ptxc", &mut script);
    match streams.out.write_all(&script) {
        Ok(()) => Outcome::Done,
        Err(error) => streams.failed(error),
    }
}
