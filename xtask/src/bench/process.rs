//! Measures the CPU time and memory of a process.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::cpu_time;

/// The figures of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    /// User and system time, in seconds.
    pub(crate) cpu: f64,
    /// The greatest resident set, in bytes.
    pub(crate) memory: f64,
}

/// Runs a command as the only child that this process ever waits for.
pub(super) fn measure_here(command: &[String]) -> Result<String, String> {
    let (program, words) = command.split_first().ok_or("no command")?;
    let status = Command::new(program).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = status.map_err(|error| format!("{program}: {error}"))?;
    let usage =
        cpu_time::of_children().ok_or("this system does not report the CPU time and memory of a process")?;
    let (cpu, memory) = (usage.cpu.as_secs_f64(), usage.memory as f64 * 1024.0);
    if status.success() { Ok(format!("{cpu} {memory}")) } else { Err(format!("{program}: {status}")) }
}

/// Runs a command several times; returns the least figures.
pub(super) fn measure(program: &Path, words: &[&str], runs: u32) -> Result<Measured, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut least: Option<Measured> = None;
    for _ in 0..runs {
        let mut command = Command::new(&own);
        command.arg("measure").arg("--").arg(program).args(words);
        let output = command.output().map_err(|error| format!("{}: {error}", own.display()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let mut numbers = said.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
        let (Some(cpu), Some(memory)) = (numbers.next(), numbers.next()) else {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        };
        least = Some(least.map_or(Measured { cpu, memory }, |least| Measured {
            cpu: least.cpu.min(cpu),
            memory: least.memory.min(memory),
        }));
    }
    least.ok_or_else(|| "no run".to_string())
}
