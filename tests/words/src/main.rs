//! `cargo run -p ptxc-words`: the check alone, without the other crates that `cargo xtask` builds.

use std::process::ExitCode;

use clap::Parser;
use ptxc_words::Bits;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    bits: Bits,
}

fn main() -> ExitCode {
    match Cli::parse().bits.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
