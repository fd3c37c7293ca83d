//! Measures the time and memory of a process, and limits both.
//!
//! If the system does not report them, the figures are zero and there are no limits.

use std::time::Duration;

use crate::cpu_time;

/// The CPU time of this process so far.
pub(super) fn cpu_time() -> Duration {
    cpu_time::of_this_process().map_or(Duration::ZERO, |usage| usage.cpu)
}

/// The CPU time of the children that this process has waited for, and the largest memory of any of them in KiB.
pub(super) fn of_children() -> (Duration, u64) {
    cpu_time::of_children().map_or((Duration::ZERO, 0), |usage| (usage.cpu, usage.memory))
}

/// Makes every allocation fail that would take this process, or one that it starts, above this many
/// bytes.
#[cfg(unix)]
pub(super) fn limit_memory(bytes: u64) {
    use nix::sys::resource::{Resource, setrlimit};
    // On a system without this limit, the machine's memory is the limit.
    let _ = setrlimit(Resource::RLIMIT_AS, bytes, bytes);
}

/// Ends this process, or one that it starts, after this much CPU time.
#[cfg(unix)]
pub(super) fn limit_time(seconds: u64) {
    use nix::sys::resource::{Resource, setrlimit};
    let _ = setrlimit(Resource::RLIMIT_CPU, seconds, seconds);
}

/// Restarts the measurement of [`peak_memory`].
pub(super) fn restart_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The greatest memory of this process since then, in KiB.
pub(super) fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(not(unix))]
pub(super) fn limit_memory(_bytes: u64) {}

#[cfg(not(unix))]
pub(super) fn limit_time(_seconds: u64) {}
