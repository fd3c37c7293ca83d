//! The `ptxc` program. Everything is in the library next to it.

use std::io::BufWriter;
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};

use ptxc::surroundings::Surroundings;

/// A compiler makes many small objects that live for one pass. With the system's allocator, they
/// took an eighth of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Whether standard output was closed when the program was started (`ptxc … >&-`). The standard
/// library opens `/dev/null` in its place before `main`, which hides it.
#[cfg(unix)]
static OUT_IS_CLOSED: AtomicBool = AtomicBool::new(false);

#[cfg(unix)]
#[ctor::ctor]
fn look_at_standard_output() {
    let is_closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err();
    OUT_IS_CLOSED.store(is_closed, Ordering::Relaxed);
}

/// The surroundings of this process.
fn surroundings() -> Surroundings {
    let surroundings = Surroundings::of_process();
    #[cfg(unix)]
    let surroundings = Surroundings { out_is_closed: OUT_IS_CLOSED.load(Ordering::Relaxed), ..surroundings };
    surroundings
}

fn main() -> ExitCode {
    let args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let surroundings = surroundings();
    let mut out = BufWriter::new(std::io::stdout().lock());
    // The stream is not locked: a thread that panics while this one waits for it must be able to
    // report it.
    let mut err = std::io::stderr();
    let code = ptxc::run_in(&surroundings, &args, &mut std::io::stdin().lock(), &mut out, &mut err);
    // The command has written everything, or reported why it could not.
    let (_, _) = out.into_parts();
    ExitCode::from(code as u8)
}
