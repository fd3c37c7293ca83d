//! `ptxc completions`: scripts for a shell to complete command lines.

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::streams::{Outcome, Streams};

pub(crate) fn run(args: &CompletionsArgs, streams: &mut Streams<'_>) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ptxc", &mut script);
    // The caller of the command reports an error of standard output.
    let _ = streams.out.write_all(&script);
    Outcome::Done
}
