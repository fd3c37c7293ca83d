//! `ptxc man`: the manual, with a page for the program and one for each of its commands.

use std::path::PathBuf;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::{Cli, ManArgs};
use crate::output::write;
use crate::streams::{Outcome, Streams};

pub(crate) fn run(args: &ManArgs, streams: &mut Streams<'_>) -> Outcome {
    // Names such as `ptxc-lower` exist once the command is built. `help` has no page.
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let folder = args.output.as_deref().filter(|folder| folder.as_os_str() != "-");
    if let Some(folder) = folder
        && let Err(error) = std::fs::create_dir_all(folder)
    {
        return streams.failed(format!("{}: {error}", folder.display()));
    }
    for command in std::iter::once(&root).chain(root.get_subcommands()) {
        let path = match folder {
            None => PathBuf::from("-"),
            Some(folder) => folder.join(format!("{}.1", name(command))),
        };
        if let Err(error) = write(&path, page(command), streams.out) {
            return streams.unwritten(&path, &error);
        }
    }
    Outcome::Done
}

fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

fn page(command: &Command) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let written = Man::new(command.clone()).render(&mut text);
    debug_assert!(written.is_ok());
    text
}
