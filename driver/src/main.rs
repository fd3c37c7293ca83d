//! The `ptxc` program. Everything is in the library next to it.

use std::io::BufWriter;
use std::process::ExitCode;

use ptxc::surroundings::Surroundings;

/// A compiler makes many small objects that live for one pass. With the system's allocator, they
/// took an eighth of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let surroundings = Surroundings::of_process();
    let mut out = BufWriter::new(std::io::stdout().lock());
    // The stream is not locked: a thread that panics while this one waits for it must be able to
    // report it.
    let mut err = std::io::stderr();
    let code = ptxc::run_in(&surroundings, &args, &mut std::io::stdin().lock(), &mut out, &mut err);
    // The command has written everything, or reported why it could not.
    let (_, _) = out.into_parts();
    ExitCode::from(code as u8)
}
