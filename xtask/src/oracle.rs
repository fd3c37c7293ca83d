//! NVIDIA's assembler and disassembler, if they are installed. They only check; they are never part
//! of the product.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ptxc_object::cubin;
use ptxc_sass::Program;

use crate::cpu_time;
use crate::listing::Listing;

/// The folder of the programs.
pub(crate) struct Oracle(PathBuf);

/// The time after which ptxas counts as not ending: for some kernels it loops. On a busy machine it may need half a minute.
const PATIENCE: Duration = Duration::from_secs(60);

/// ptxas's result for a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Theirs {
    /// Its code.
    pub(crate) code: Listing,
    /// Registers per thread as ptxas reports them.
    pub(crate) registers: u32,
    /// Registers that it spills to local memory: the bytes of spill stores that ptxas reports, in
    /// words.
    pub(crate) spilled_words: u32,
}

impl Oracle {
    /// The given folder, otherwise the folder that `ORACLE` names, if it holds the programs.
    pub(crate) fn find(folder: Option<&Path>) -> Option<Oracle> {
        let folder = folder.map(Path::to_path_buf).or_else(|| Some(std::env::var_os("ORACLE")?.into()))?;
        // Some programs run in other folders, where a relative path would be wrong.
        let folder = folder.canonicalize().ok()?;
        folder.join("ptxas").is_file().then_some(Oracle(folder))
    }

    /// The folder with the programs.
    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// The kernels of a PTX file by name.
    pub(crate) fn compile(&self, ptx: &Path, arch: &str) -> Result<HashMap<String, Theirs>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let cubin = folder.path().join("k.cubin");
        let report = output(self.ptxas(ptx, arch, &cubin).arg("-v"))?;
        let text = output(Command::new(self.0.join("nvdisasm")).arg("-c").arg(&cubin))?;
        let mut kernels = kernels_of(&String::from_utf8_lossy(&text.stdout));
        let report = [report.stdout, report.stderr].concat();
        read_report(&String::from_utf8_lossy(&report), &mut kernels);
        Ok(kernels)
    }

    /// The CPU time of the assembler's whole process: the least of several runs. No other process may
    /// be waited for at the same time.
    pub(crate) fn time(&self, ptx: &Path, arch: &str, runs: u32) -> Result<Option<Duration>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut least: Option<Duration> = None;
        for _ in 0..runs {
            let (output, time) = cpu_time::run(&mut self.ptxas(ptx, arch, &folder.path().join("k.cubin")))?;
            if !output.status.success() {
                return Err(first_line(&output.stderr));
            }
            least = [least, time].into_iter().flatten().min();
        }
        Ok(least)
    }

    fn ptxas(&self, ptx: &Path, arch: &str, cubin: &Path) -> Command {
        let mut ptxas = Command::new(self.0.join("ptxas"));
        ptxas.arg(format!("-arch={arch}")).arg(ptx).arg("-o").arg(cubin);
        ptxas
    }
}

/// The output of a command that must succeed.
fn output(command: &mut Command) -> Result<Output, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() { Ok(output) } else { Err(first_line(&output.stderr)) }
}

/// The reason why there is no program of ptxas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// ptxas refuses the text: its first message.
    Refused(String),
    /// There is no cubin that can be read.
    Unreadable(String),
    /// It cannot be run.
    Unusable(String),
}

impl Oracle {
    /// The program that ptxas makes of a kernel's text, read from the cubin.
    pub(crate) fn program(
        &self,
        text: &str,
        target: &str,
        options: &[&str],
        entry: &str,
    ) -> Result<Program, Refusal> {
        let bytes = self.cubin(text, target, options)?;
        let read = cubin::read(&bytes).and_then(|cubin| cubin::program(&cubin, entry));
        read.map_err(|error| Refusal::Unreadable(error.to_string()))
    }

    /// The program, and the number of registers that it spills to local memory.
    pub(crate) fn program_and_spills(
        &self,
        text: &str,
        target: &str,
        entry: &str,
    ) -> Result<(Program, u32), Refusal> {
        let (bytes, report) = self.assemble(text, target, &["-v"])?;
        let read = cubin::read(&bytes).and_then(|cubin| cubin::program(&cubin, entry));
        let program = read.map_err(|error| Refusal::Unreadable(error.to_string()))?;
        let mut kernels = HashMap::from([(entry.to_string(), Theirs::default())]);
        read_report(&report, &mut kernels);
        Ok((program, kernels[entry].spilled_words))
    }

    /// The cubin that ptxas makes of a text.
    pub(crate) fn cubin(&self, text: &str, target: &str, options: &[&str]) -> Result<Vec<u8>, Refusal> {
        Ok(self.assemble(text, target, options)?.0)
    }

    /// The cubin that ptxas makes of a text, and its messages.
    fn assemble(&self, text: &str, target: &str, options: &[&str]) -> Result<(Vec<u8>, String), Refusal> {
        let unusable = |error: std::io::Error| Refusal::Unusable(format!("ptxas: {error}"));
        let folder = tempfile::tempdir().map_err(unusable)?;
        // Run in the folder itself, so that messages do not contain its name, which differs in each
        // run.
        std::fs::write(folder.path().join("k.ptx"), text).map_err(unusable)?;
        let mut ptxas = Command::new(self.0.join("ptxas"));
        ptxas.arg(format!("-arch={target}")).args(options).args(["-o", "k.cubin", "k.ptx"]);
        // A pipe that nobody reads may become full.
        let file = |name: &str| std::fs::File::create(folder.path().join(name)).map_err(unusable);
        ptxas.stdin(Stdio::null()).stdout(file("out")?).stderr(file("err")?);
        let mut child = ptxas.current_dir(folder.path()).spawn().map_err(unusable)?;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(unusable)? {
                break status;
            }
            if start.elapsed() > PATIENCE {
                child.kill().and_then(|()| child.wait()).map_err(unusable)?;
                return Err(Refusal::Unreadable(format!(
                    "ptxas does not end within {} s",
                    PATIENCE.as_secs()
                )));
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let read = |name: &str| std::fs::read(folder.path().join(name)).map_err(unusable);
        let (out, err) = (read("out")?, read("err")?);
        // A signal ended it: it refuses nothing.
        if status.code().is_none() {
            return Err(Refusal::Unreadable(format!("ptxas crashes: {status}")));
        }
        if !status.success() {
            return Err(Refusal::Refused(first_line(&err)));
        }
        let messages = String::from_utf8_lossy(&[out, err].concat()).into_owned();
        Ok((read("k.cubin")?, messages))
    }
}

impl Oracle {
    /// The release of ptxas, such as `13.0`.
    pub(crate) fn version(&self) -> Result<String, String> {
        let output = Command::new(self.0.join("ptxas")).arg("--version").output();
        let output = output.map_err(|error| format!("ptxas: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let release = text.split("release ").nth(1).and_then(|rest| rest.split(',').next());
        release.map(str::to_string).ok_or_else(|| "ptxas does not say its version".to_string())
    }

    /// All messages of ptxas about a text, which it gets as a file of this name.
    pub(crate) fn messages(&self, file: &str, text: &str, target: &str) -> Result<String, String> {
        let unusable = |error: std::io::Error| format!("ptxas: {error}");
        let folder = tempfile::tempdir().map_err(unusable)?;
        std::fs::write(folder.path().join(file), text).map_err(unusable)?;
        let mut ptxas = Command::new(self.0.join("ptxas"));
        ptxas.arg(format!("-arch={target}")).args([file, "-o", "k.cubin"]).current_dir(folder.path());
        let output = ptxas.stdin(Stdio::null()).output().map_err(unusable)?;
        Ok(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    }
}

fn first_line(messages: &[u8]) -> String {
    String::from_utf8_lossy(messages).lines().next().unwrap_or("no message").to_string()
}

/// The kernels in nvdisasm's text: one per section.
fn kernels_of(text: &str) -> HashMap<String, Theirs> {
    let parts = text.split("//--------------------- .text.").skip(1);
    parts
        .map(|part| {
            let name = part.chars().take_while(|c| !c.is_whitespace()).collect();
            (name, Theirs { code: Listing::read(part), ..Theirs::default() })
        })
        .collect()
}

/// Reads registers and spills from the output of `ptxas -v`. A function that it lists after a
/// kernel counts for that kernel.
fn read_report(report: &str, kernels: &mut HashMap<String, Theirs>) {
    let mut current = String::new();
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            current = rest.split('\'').next().unwrap_or("").to_string();
        }
        let Some(kernel) = kernels.get_mut(&current) else { continue };
        if let Some(stores) = line.split(", ").find(|part| part.contains("bytes spill stores")) {
            kernel.spilled_words += first_number(stores).unwrap_or(0).div_ceil(4);
        }
        if let Some((_, rest)) = line.split_once("Used ") {
            kernel.registers = first_number(rest).unwrap_or(0);
        }
    }
}

fn first_number(text: &str) -> Option<u32> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_and_spills_are_read_kernel_by_kernel() {
        let text = "//--------------------- .text.k   ----\n.text.k:\n  /*0000*/  EXIT ;\n";
        let mut kernels = kernels_of(text);
        let report = "ptxas info    : Compiling entry function 'k' for 'sm_90'\n    \
                      0 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n\
                      ptxas info    : Used 12 registers, 352 bytes cmem[0]\n\
                      ptxas info    : Function properties for f\n    \
                      4 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n";
        read_report(report, &mut kernels);
        let code = Listing { instructions: 1, ..Listing::default() };
        assert_eq!(kernels["k"], Theirs { code, registers: 12, spilled_words: 3 });
    }
}
