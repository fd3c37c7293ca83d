//! Measures processes: user and system time, from start to end, and memory.
//!
//! The kernel adds a child's times to its parent's account of children when the parent has waited
//! for the child (`wait4`, `getrusage(RUSAGE_CHILDREN)`). Measurements must therefore not overlap.

use std::process::{Command, Output};
use std::time::Duration;

/// The time of one or more processes together, and their memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// User and system time.
    pub(crate) cpu: Duration,
    /// The greatest resident set of one of them, in KiB.
    pub(crate) memory: u64,
}

/// Runs a command to its end; returns its output, and its CPU time if the system reports it.
pub(crate) fn run(command: &mut Command) -> Result<(Output, Option<Duration>), String> {
    let before = of_children();
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    let after = of_children();
    Ok((output, after.zip(before).map(|(after, before)| after.cpu.saturating_sub(before.cpu))))
}

/// The usage of the children that this process has waited for; `None` if the system does not report
/// it.
#[cfg(unix)]
pub(crate) fn of_children() -> Option<Usage> {
    usage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN)
}

/// The usage of this process so far.
#[cfg(unix)]
pub(crate) fn of_this_process() -> Option<Usage> {
    usage(nix::sys::resource::UsageWho::RUSAGE_SELF)
}

#[cfg(unix)]
fn usage(who: nix::sys::resource::UsageWho) -> Option<Usage> {
    let usage = nix::sys::resource::getrusage(who).ok()?;
    let [user, system] = [usage.user_time(), usage.system_time()].map(|time| {
        let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
        Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(time.tv_usec()).unwrap_or(0))
    });
    Some(Usage { cpu: user + system, memory: u64::try_from(usage.max_rss()).unwrap_or(0) })
}

#[cfg(not(unix))]
pub(crate) fn of_children() -> Option<Usage> {
    None
}

#[cfg(not(unix))]
pub(crate) fn of_this_process() -> Option<Usage> {
    None
}
