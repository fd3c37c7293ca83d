//! Processes that try inputs: workers, which try many, and whole processes of `ptxc`, which confirm
//! a worker's finding.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use super::measure;
use super::worker::{GAVE_UP, frame};

/// A worker above this many KiB is replaced, so that memory that it keeps does not count for the
/// next input.
const LARGE_KIB: u64 = 128 << 10;
/// The option of the intermediate process that measures.
pub(super) const MEASURE: &str = "--measure";

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Normally, with that exit code.
    Code(i32),
    /// By a panic with that message.
    Panic(String),
    /// By a signal, or because the process gave up.
    Died(String),
}

/// The result of an input.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// How the run ended.
    pub(super) end: End,
    /// The CPU time.
    pub(super) time: Duration,
    /// The greatest memory in KiB.
    pub(super) memory: u64,
}

/// The limits of an input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// CPU time.
    pub(super) time: Duration,
    /// Memory in KiB.
    pub(super) memory: u64,
}

impl Limits {
    /// The wall-clock time after which the run is abandoned.
    fn patience(self) -> Duration {
        4 * self.time + Duration::from_secs(2)
    }
}

impl Answer {
    /// The fault, in words that are the same for the same fault; `None` if there is none.
    pub(super) fn fault(&self, limits: Limits) -> Option<String> {
        match &self.end {
            End::Panic(message) => {
                // Numbers in the message differ from input to input, so only the place is used.
                let place = message.split(": ").next().unwrap_or(message);
                Some(format!("panic at {place}"))
            }
            End::Died(how) => Some(how.clone()),
            End::Code(0 | 1) if self.time > limits.time => Some("too slow".to_string()),
            End::Code(0 | 1) if self.memory > limits.memory => Some("too large".to_string()),
            End::Code(0 | 1) => None,
            End::Code(code) => Some(format!("exit code {code}")),
        }
    }

    /// Whether only the figures can be wrong, which may be smaller in another run.
    pub(super) fn is_by_figures(&self, limits: Limits) -> bool {
        self.fault(limits).is_some_and(|fault| fault.starts_with("too ") || fault == "no end")
    }
}

/// A worker, which starts with the first input.
#[derive(Debug)]
pub(super) struct Worker {
    patience: Duration,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    frames: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    /// A worker that gives up on an input after a time.
    pub(super) fn new(limits: Limits) -> Worker {
        Worker { patience: limits.patience(), running: None }
    }

    /// Tries an input in the way of that number.
    pub(super) fn ask(&mut self, way: u8, input: &[u8]) -> Result<Answer, String> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => start(self.patience).map_err(|error| format!("a worker: {error}"))?,
        };
        let mut line = String::new();
        // A worker that has died does not answer.
        let asked = running.frames.write_all(&frame(way, input)).and_then(|()| running.frames.flush());
        let _ = asked.and_then(|()| running.answers.read_line(&mut line));
        match parse(&line) {
            Some(answer) => {
                match answer.memory < LARGE_KIB {
                    true => self.running = Some(running),
                    false => drop(end(running)),
                }
                Ok(answer)
            }
            None => {
                let status = end(running).map_err(|error| error.to_string())?;
                Ok(Answer { end: died(status), time: Duration::ZERO, memory: 0 })
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            drop(end(running));
        }
    }
}

fn start(patience: Duration) -> std::io::Result<Running> {
    let program = std::env::current_exe()?;
    let mut command = Command::new(program);
    command.args(["mutate", "--worker", "--seconds", &patience.as_secs().to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    match (child.stdin.take(), child.stdout.take()) {
        (Some(frames), Some(answers)) => Ok(Running { child, frames, answers: BufReader::new(answers) }),
        _ => Err(std::io::Error::other("a pipe is missing")),
    }
}

/// Closes the pipes and waits.
fn end(running: Running) -> std::io::Result<ExitStatus> {
    let Running { mut child, frames, answers } = running;
    drop((frames, answers));
    child.wait()
}

fn parse(line: &str) -> Option<Answer> {
    let mut words = line.trim_end().splitn(4, ' ');
    let (end, micros, memory) = (words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let rest = words.next().unwrap_or("").to_string();
    let end = match end {
        "panic" => End::Panic(rest),
        "died" => End::Died(rest),
        code => End::Code(code.parse().ok()?),
    };
    Some(Answer { end, time: Duration::from_micros(micros), memory })
}

#[cfg(unix)]
fn died(status: ExitStatus) -> End {
    use std::os::unix::process::ExitStatusExt;
    match (status.signal(), status.code()) {
        (Some(signal), _) => End::Died(format!("ended by signal {signal}")),
        (None, Some(GAVE_UP)) => End::Died("no end".to_string()),
        (None, code) => End::Died(format!("ended with {}", code.unwrap_or(-1))),
    }
}

#[cfg(not(unix))]
fn died(status: ExitStatus) -> End {
    match status.code() {
        Some(GAVE_UP) => End::Died("no end".to_string()),
        code => End::Died(format!("ended with {}", code.unwrap_or(-1))),
    }
}

/// Tries the input of a file in a whole process of `ptxc`. An intermediate process measures only
/// that child.
pub(super) fn whole(ptxc: &Path, words: &[&str], input: &Path, limits: Limits) -> Result<Answer, String> {
    let trouble = |error: std::io::Error| format!("{}: {error}", input.display());
    let mut command = Command::new(std::env::current_exe().map_err(trouble)?);
    let seconds = limits.patience().as_secs().to_string();
    command.args(["mutate", "--seconds", &seconds, MEASURE]).arg(ptxc).arg("--").args(words);
    command.stdin(std::fs::File::open(input).map_err(trouble)?).stderr(Stdio::null());
    let output = command.output().map_err(trouble)?;
    let line = String::from_utf8_lossy(&output.stdout);
    parse(&line).ok_or_else(|| format!("{}: no answer but {line:?}", ptxc.display()))
}

/// Runs as the intermediate process: runs a command on its standard input with a limit of CPU time,
/// and prints the child's figures.
pub(super) fn measured(ptxc: &Path, words: &[String], seconds: u64) -> ExitCode {
    measure::limit_time(seconds);
    let mut command = Command::new(ptxc);
    let Ok(output) = command.args(words).stdin(Stdio::inherit()).stdout(Stdio::null()).output() else {
        return ExitCode::FAILURE;
    };
    let (time, memory) = measure::of_children();
    let messages = String::from_utf8_lossy(&output.stderr);
    let panicked =
        messages.lines().find_map(|line| line.split_once("' panicked at ")).map(|(_, place)| place);
    let (end, rest) = match (output.status.code(), panicked) {
        (_, Some(place)) => ("panic".to_string(), place.to_string()),
        (Some(code), None) => (code.to_string(), String::new()),
        (None, None) => match died(output.status) {
            End::Died(how) => ("died".to_string(), how),
            _ => ("died".to_string(), String::new()),
        },
    };
    println!("{end} {} {memory} {rest}", time.as_micros());
    ExitCode::SUCCESS
}
