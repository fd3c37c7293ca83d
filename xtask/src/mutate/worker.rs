//! The process that puts inputs through the compiler, many after another, and measures each.
//!
//! On its standard input it takes frames: the number of a way, the length of an input (both little-endian), the input. For
//! each it answers a line: the exit code or `panic`, the CPU time in microseconds, the largest memory in KiB, and what a panic
//! said. An input that ends the process, by an overflow of the stack or by an abort, has no answer, and that is one, too.

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use super::measure::{cpu_time, limit_memory, peak_memory, restart_peak};
use super::ways::Way;

/// The stack of the thread that compiles: that of the main thread of a process, as a rule.
const STACK_BYTES: usize = 8 << 20;
/// With this much memory in all an allocation fails, so that a test does not take that of the machine.
const MOST_BYTES: u64 = 6 << 30;
/// The exit code of a process that has given up.
pub(super) const GAVE_UP: i32 = 124;

/// What the last panic said.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Serves until standard input ends, or until one input has taken that long by the clock.
pub(super) fn serve(patience: Duration) -> ExitCode {
    limit_memory(MOST_BYTES);
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let message = info.payload_as_str().unwrap_or("something that is no text");
        let said = format!("{place}: {message}").replace('\n', " ");
        *PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = said;
    }));
    let (answered, answers) = mpsc::channel();
    let compiling = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        let mut frames = std::io::stdin().lock();
        while let Some((way, input)) = next(&mut frames) {
            // Two messages an input: it has begun, and the answer.
            if answered.send(None).is_err() || answered.send(Some(answer(way, &input))).is_err() {
                return;
            }
        }
    });
    if compiling.is_err() {
        return ExitCode::FAILURE;
    }
    let mut out = std::io::stdout().lock();
    while answers.recv().is_ok() {
        match answers.recv_timeout(patience) {
            Ok(Some(line)) if writeln!(out, "{line}").and_then(|()| out.flush()).is_ok() => {}
            // Not by a return: the other thread goes on.
            Err(mpsc::RecvTimeoutError::Timeout) => std::process::exit(GAVE_UP),
            _ => break,
        }
    }
    ExitCode::SUCCESS
}

/// The frame of an input for a worker.
pub(super) fn frame(way: u8, input: &[u8]) -> Vec<u8> {
    let mut frame = vec![way];
    frame.extend((input.len() as u64).to_le_bytes());
    frame.extend(input);
    frame
}

fn next(frames: &mut dyn Read) -> Option<(&'static Way, Vec<u8>)> {
    let (mut way, mut length) = ([0u8; 1], [0u8; 8]);
    frames.read_exact(&mut way).ok()?;
    frames.read_exact(&mut length).ok()?;
    let mut input = vec![0; u64::from_le_bytes(length) as usize];
    frames.read_exact(&mut input).ok()?;
    Some((super::way(way[0]), input))
}

fn answer(way: &Way, input: &[u8]) -> String {
    restart_peak();
    let before = cpu_time();
    let result = catch_unwind(AssertUnwindSafe(|| way.run(input)));
    let micros = cpu_time().saturating_sub(before).as_micros();
    let memory = peak_memory();
    match result {
        Ok(code) => format!("{code} {micros} {memory}"),
        Err(_) => {
            let said = PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            format!("panic {micros} {memory} {said}")
        }
    }
}
