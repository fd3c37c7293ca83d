//! The process that compiles many inputs, one after another, and measures each.
//!
//! Its standard input has frames: the number of a way, the length of an input (both little-endian),
//! the input. For each frame it prints a line: the exit code or `panic`, the CPU time in
//! microseconds, the greatest memory in KiB, and the message of a panic. An input that ends the
//! process, by an overflow of the stack or by an abort, has no answer; the missing answer is a
//! result, too.

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use super::measure::{cpu_time, limit_memory, peak_memory, restart_peak};
use super::ways::Way;

/// The stack of the thread that compiles: as large as that of a process's main thread usually is.
const STACK_BYTES: usize = 8 << 20;
/// Allocations above this total fail, so that a test does not exhaust the machine's memory.
const MOST_BYTES: u64 = 6 << 30;
/// The exit code of a process that gave up.
pub(super) const GAVE_UP: i32 = 124;

/// The message of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Serves until standard input ends, or until one input has taken `patience` of wall-clock time.
pub(super) fn serve(patience: Duration) -> ExitCode {
    limit_memory(MOST_BYTES);
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let message = info.payload_as_str().unwrap_or("a message that is not text");
        let report = format!("{place}: {message}").replace('\n', " ");
        *PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = report;
    }));
    let (answered, answers) = mpsc::channel();
    let compiling = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        let mut frames = std::io::stdin().lock();
        while let Some((way, input)) = next(&mut frames) {
            // Two messages per input: a start, and the answer.
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
            // Not by a return, because the other thread is still running.
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
            let message = PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            format!("panic {micros} {memory} {message}")
        }
    }
}
