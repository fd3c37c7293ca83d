//! How much time and memory a process has used, and a bound for the latter.
//!
//! Where the system does not tell, figures are zero and nothing is bounded.

use std::time::Duration;

/// The CPU time of this process so far.
#[cfg(unix)]
pub(super) fn cpu_time() -> Duration {
    use nix::sys::resource::UsageWho;
    times(UsageWho::RUSAGE_SELF)
}

#[cfg(unix)]
fn times(who: nix::sys::resource::UsageWho) -> Duration {
    let Ok(usage) = nix::sys::resource::getrusage(who) else { return Duration::ZERO };
    let [user, system] = [usage.user_time(), usage.system_time()].map(|time| {
        let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
        Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(time.tv_usec()).unwrap_or(0))
    });
    user + system
}

/// The CPU time of the children that this process has waited for, and the largest memory of any of them in KiB.
#[cfg(unix)]
pub(super) fn of_children() -> (Duration, u64) {
    use nix::sys::resource::{UsageWho, getrusage};
    let memory = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| usage.max_rss());
    (times(UsageWho::RUSAGE_CHILDREN), u64::try_from(memory).unwrap_or(0))
}

/// Lets no allocation succeed that takes this process, or one that it starts, above so many bytes.
#[cfg(unix)]
pub(super) fn limit_memory(bytes: u64) {
    use nix::sys::resource::{Resource, setrlimit};
    // A system without this limit is one where the machine's memory is the limit.
    let _ = setrlimit(Resource::RLIMIT_AS, bytes, bytes);
}

/// Ends this process, or one that it starts, after so much CPU time.
#[cfg(unix)]
pub(super) fn limit_time(seconds: u64) {
    use nix::sys::resource::{Resource, setrlimit};
    let _ = setrlimit(Resource::RLIMIT_CPU, seconds, seconds);
}

/// Makes [`peak_memory`] begin anew.
pub(super) fn restart_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The most memory that this process had since then, in KiB.
pub(super) fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(not(unix))]
pub(super) fn cpu_time() -> Duration {
    Duration::ZERO
}

#[cfg(not(unix))]
pub(super) fn of_children() -> (Duration, u64) {
    (Duration::ZERO, 0)
}

#[cfg(not(unix))]
pub(super) fn limit_memory(_bytes: u64) {}

#[cfg(not(unix))]
pub(super) fn limit_time(_seconds: u64) {}
