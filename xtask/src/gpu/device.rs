//! Launches kernels on a GPU. Each launch starts a Python program, so that a kernel that leaves the
//! driver in an error state, or never ends, does not affect other launches.
//!
//! The program is `launch.py`, which documents its input and output.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use ptxc_sim::Case;
use ptxc_sim::case::Argument;

/// The program.
const LAUNCH: &str = include_str!("launch.py");

/// The interval for checking whether a process has ended.
const TICK: Duration = Duration::from_millis(5);

/// How to reach the GPU.
pub(super) struct Gpu {
    /// The Python interpreter.
    pub(super) python: PathBuf,
    /// Variables of its environment.
    pub(super) environment: Vec<(String, String)>,
    /// The time limit of a launch, including the start of Python.
    pub(super) timeout: Duration,
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
        self.buffers.iter().map(|text| bytes(text)).collect()
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
    /// Whether all CTAs must run at once.
    #[serde(default)]
    pub(super) cooperative: bool,
}

impl Gpu {
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
            "cluster": extra.cluster, "cooperative": extra.cooperative, "runs": runs, "args": args,
        }))?)
    }

    /// Gives the program a job; returns its answer.
    fn ask(&self, job: &Value) -> Result<Value, String> {
        let named = |error: std::io::Error| format!("{}: {error}", self.python.display());
        // Files instead of pipes, because pipes would have to be read and written at the same time.
        let folder = tempfile::tempdir().map_err(named)?;
        let [program, input, output, errors] =
            ["launch.py", "in", "out", "err"].map(|name| folder.path().join(name));
        std::fs::write(&program, LAUNCH).map_err(named)?;
        std::fs::write(&input, job.to_string()).map_err(named)?;
        let mut python = Command::new(&self.python);
        python.arg(&program).envs(self.environment.iter().map(|(name, value)| (name, value)));
        python.stdin(Stdio::from(File::open(&input).map_err(named)?));
        python.stdout(Stdio::from(File::create(&output).map_err(named)?));
        python.stderr(Stdio::from(File::create(&errors).map_err(named)?));
        let status = self.wait(python.spawn().map_err(named)?)?;
        let output = std::fs::read(&output).map_err(named)?;
        // Libraries may print lines before the answer.
        let line = String::from_utf8_lossy(&output).lines().last().unwrap_or_default().to_string();
        match serde_json::from_str::<Value>(&line) {
            Ok(answer) => match answer.get("error").and_then(Value::as_str) {
                Some(error) => Err(error.to_string()),
                None => Ok(answer),
            },
            Err(_) => {
                let errors = std::fs::read(&errors).map_err(named)?;
                let errors = String::from_utf8_lossy(&errors);
                Err(format!("Python ended with {status}: {}", errors.lines().last().unwrap_or("no message")))
            }
        }
    }

    fn wait(&self, mut child: std::process::Child) -> Result<ExitStatus, String> {
        let start = Instant::now();
        loop {
            if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                return Ok(status);
            }
            if start.elapsed() > self.timeout {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("no answer after {} s", self.timeout.as_secs_f64()));
            }
            std::thread::sleep(TICK);
        }
    }
}

fn read<T: for<'a> Deserialize<'a>>(answer: Value) -> Result<T, String> {
    serde_json::from_value(answer).map_err(|error| format!("an answer that is none: {error}"))
}

fn argument(argument: &Argument) -> Value {
    match argument {
        Argument::Buffer(buffer) => json!({"kind": "buffer", "hex": hex(&buffer.init)}),
        Argument::Scalar { elem, bits } => {
            let bytes = bits.to_le_bytes();
            json!({"kind": "scalar", "hex": hex(&bytes[..elem.bytes() as usize])})
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |&byte: &u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(pair.first()?)? << 4 | digit(pair.get(1)?)?) as u8)).collect()
}
