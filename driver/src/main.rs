//! The `ptxc` program; everything is in the library beside it.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use ptxc::surroundings::Surroundings;

/// A compiler makes many small things that live for a pass: the system's allocator took an eighth of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let surroundings = Surroundings::of_process();
    let mut out = BufWriter::new(std::io::stdout().lock());
    // Not locked: a thread that panics while this one waits for it has to be able to say so.
    let mut err = std::io::stderr();
    let code = ptxc::run_in(&surroundings, &args, &mut std::io::stdin().lock(), &mut out, &mut err);
    // A reader that has gone away (`ptxc … | head`) is no error of ours.
    let _ = out.flush();
    ExitCode::from(code as u8)
}
