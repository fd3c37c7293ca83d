//! The CPU time of a whole process: user and system, from start to end.
//!
//! The kernel adds a child's times to its parent's account of children when the parent has waited for it
//! (`wait4`, `getrusage(RUSAGE_CHILDREN)`). So measurements must not overlap.

use std::process::{Command, Output};
use std::time::Duration;

/// Runs a command to its end; its output, and how much CPU time it took where the system tells.
pub(crate) fn run(command: &mut Command) -> Result<(Output, Option<Duration>), String> {
    let before = of_children();
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    let after = of_children();
    Ok((output, after.zip(before).map(|(after, before)| after.saturating_sub(before))))
}

#[cfg(unix)]
fn of_children() -> Option<Duration> {
    use nix::sys::resource::{UsageWho, getrusage};
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let [user, system] = [usage.user_time(), usage.system_time()].map(|time| {
        let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
        Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(time.tv_usec()).unwrap_or(0))
    });
    Some(user + system)
}

#[cfg(not(unix))]
fn of_children() -> Option<Duration> {
    None
}
