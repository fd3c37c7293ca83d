//! Chores of the project: `cargo xtask verify`, `cargo xtask compare`.

mod cases;
mod compare;
mod kernels;
mod matrix;
mod oracle;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Chores of the project.
#[derive(Debug, Parser)]
#[command(name = "xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The chores.
#[derive(Debug, Subcommand)]
enum Command {
    /// Everything that needs the corpus or NVIDIA's tools: `matrix`, `cases`, `compare`.
    Verify {
        /// The folder with `ptx/` and `exec/`.
        #[arg(long, default_value = "../shared/corpus")]
        corpus: PathBuf,
    },
    /// Lower the kernels in every combination of options and run their cases on both engines.
    Matrix {
        /// The folder with `ptx/` and `exec/`.
        #[arg(long, default_value = "../shared/corpus")]
        corpus: PathBuf,
    },
    /// Run every execution case whose kernel lowers on both engines.
    Cases {
        /// The folder with `ptx/` and `exec/`.
        #[arg(long, default_value = "../shared/corpus")]
        corpus: PathBuf,
    },
    /// Compare instruction and register counts with ptxas, which ORACLE names the folder of.
    Compare {
        /// The folder with `ptx/` and `exec/`.
        #[arg(long, default_value = "../shared/corpus")]
        corpus: PathBuf,
    },
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Verify { corpus } => {
            matrix::run(&corpus).and_then(|()| cases::run(&corpus)).and_then(|()| compare::run(&corpus))
        }
        Command::Matrix { corpus } => matrix::run(&corpus),
        Command::Cases { corpus } => cases::run(&corpus),
        Command::Compare { corpus } => compare::run(&corpus),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
