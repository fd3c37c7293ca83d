//! Launches kernels on a GPU through a Python program, which takes one launch after another. After a
//! kernel that leaves the driver in an error state, or never ends, the next launch starts the program
//! again.
//!
//! The program is `launch.py`, which documents its input and output.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use ptxc_sim::Case;
use ptxc_sim::case::{Argument, bytes_of_hex};

/// The program.
const LAUNCH: &str = include_str!("launch.py");

/// The file of its messages.
const ERRORS: &str = "errors";

/// The time limit of the start of Python, which imports a library and initializes the driver.
const START: Duration = Duration::from_secs(60);

/// How to reach the GPU.
pub(super) struct Gpu {
    /// The Python interpreter.
    pub(super) python: PathBuf,
    /// Variables of its environment.
    pub(super) environment: Vec<(String, String)>,
    /// The time limit of a job: all launches of a kernel.
    pub(super) timeout: Duration,
    /// The programs that wait for a job.
    sessions: Mutex<Vec<Session>>,
}

/// The properties of the GPU.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Device {
    /// Its name.
    pub(super) device: String,
    /// Its compute capability, as 9 and 0.
    pub(super) capability: (u32, u32),
    /// The version of CUDA that the driver supports, as 13000.
    pub(super) driver: u32,
    /// The library by which Python reaches it.
    pub(super) by: String,
}

/// The result of a launch.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Launched {
    /// The buffers in hexadecimal, in the order of the arguments.
    buffers: Vec<String>,
    /// The time of each launch, in milliseconds.
    times: Vec<f64>,
}

impl Launched {
    /// The bytes of the buffers.
    pub(super) fn contents(&self) -> Option<Vec<Vec<u8>>> {
        self.buffers.iter().map(|text| bytes_of_hex(text)).collect()
    }

    /// The median of the times, in microseconds.
    pub(super) fn micros(&self) -> Option<f64> {
        let mut times = self.times.clone();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).map(|millis| millis * 1000.0)
    }
}

/// The facts of a case about its launch that the simulator does not need.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Extra {
    /// The CTAs of a cluster, if the kernel does not state them.
    pub(super) cluster: Option<[u32; 3]>,
}

impl Gpu {
    pub(super) fn new(python: PathBuf, environment: Vec<(String, String)>, timeout: Duration) -> Gpu {
        Gpu { python, environment, timeout, sessions: Mutex::new(Vec::new()) }
    }

    /// Asks for the properties of the GPU.
    pub(super) fn device(&self) -> Result<Device, String> {
        read(self.ask(&json!({}))?)
    }

    /// Launches a kernel of a cubin as the case says, that many times.
    pub(super) fn launch(
        &self,
        case: &Case,
        extra: &Extra,
        cubin: &Path,
        runs: u32,
    ) -> Result<Launched, String> {
        let args: Vec<Value> = case.args.iter().map(argument).collect();
        read(self.ask(&json!({
            "cubin": cubin, "entry": case.entry, "grid": case.grid, "block": case.block, "smem": case.dynamic_smem,
            "cluster": extra.cluster, "cooperative": case.cooperative, "runs": runs, "args": args,
        }))?)
    }

    /// Gives the program a job; returns its answer.
    fn ask(&self, job: &Value) -> Result<Value, String> {
        let sessions = || self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = sessions().pop();
        let mut session = waiting.map_or_else(|| Session::start(self), Ok)?;
        let answer = session.ask(job, self.timeout)?;
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_string()),
            None => {
                sessions().push(session);
                Ok(answer)
            }
        }
    }
}

/// A running program, which takes one job after another.
struct Session {
    child: Child,
    jobs: ChildStdin,
    answers: mpsc::Receiver<String>,
    /// The program's file and that of its messages.
    folder: TempDir,
}

impl Session {
    fn start(gpu: &Gpu) -> Result<Session, String> {
        let named = |error: std::io::Error| format!("{}: {error}", gpu.python.display());
        let folder = tempfile::tempdir().map_err(named)?;
        let program = folder.path().join("launch.py");
        std::fs::write(&program, LAUNCH).map_err(named)?;
        let errors = File::create(folder.path().join(ERRORS)).map_err(named)?;
        let mut python = Command::new(&gpu.python);
        python.arg(&program).envs(gpu.environment.iter().map(|(name, value)| (name, value)));
        python.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::from(errors));
        let mut child = python.spawn().map_err(named)?;
        let (Some(jobs), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both are pipes");
        };
        let (sender, answers) = mpsc::channel();
        // A thread, because a read has no time limit. It ends with the program.
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut session = Session { child, jobs, answers, folder };
        let answer = session.ask(&json!({}), START)?;
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_string()),
            None => Ok(session),
        }
    }

    fn ask(&mut self, job: &Value, timeout: Duration) -> Result<Value, String> {
        let end = Instant::now() + timeout;
        // If the program has ended, the reason is in its answers or messages.
        let _ = writeln!(self.jobs, "{job}").and_then(|()| self.jobs.flush());
        loop {
            match self.answers.recv_timeout(end.saturating_duration_since(Instant::now())) {
                // Libraries may print other lines.
                Ok(line) => match serde_json::from_str::<Value>(&line) {
                    Ok(answer) if answer.is_object() => return Ok(answer),
                    _ => continue,
                },
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    return Err(format!("no answer after {} s", timeout.as_secs_f64()));
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(self.end()),
            }
        }
    }

    /// The reason why the program ended.
    fn end(&mut self) -> String {
        let status = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        let errors = std::fs::read(self.folder.path().join(ERRORS)).unwrap_or_default();
        let errors = String::from_utf8_lossy(&errors);
        format!("Python ended with {status}: {}", errors.lines().last().unwrap_or("no message"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may never end by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read<T: for<'a> Deserialize<'a>>(answer: Value) -> Result<T, String> {
    serde_json::from_value(answer).map_err(|error| format!("an answer that is none: {error}"))
}

fn argument(argument: &Argument) -> Value {
    match argument {
        Argument::Buffer(buffer) => json!({"kind": "buffer", "hex": hex(&buffer.init)}),
        Argument::Bytes(bytes) => json!({"kind": "scalar", "hex": hex(bytes)}),
        // The other side knows no such kind, and says so.
        Argument::Image(..) | Argument::Sampler(..) => json!({"kind": "image", "hex": ""}),
        Argument::Struct(..) | Argument::Address { .. } => json!({"kind": "struct", "hex": ""}),
        Argument::TensorMap(_) => json!({"kind": "tensor_map", "hex": ""}),
        Argument::Scalar { elem, bits } => {
            let bytes = bits.to_le_bytes();
            json!({"kind": "scalar", "hex": hex(&bytes[..elem.bytes() as usize])})
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
