//! NVIDIA's assembler and disassembler, where they are installed. They check; they are never part of the
//! product.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the programs.
pub(crate) struct Oracle(PathBuf);

impl Oracle {
    /// The folder that `ORACLE` names, if it holds the programs.
    pub(crate) fn find() -> Option<Oracle> {
        let folder = PathBuf::from(std::env::var_os("ORACLE")?);
        folder.join("ptxas").is_file().then_some(Oracle(folder))
    }

    fn output(&self, program: &str, args: &[&str]) -> Result<String, String> {
        let output = Command::new(self.0.join(program)).args(args).output();
        let output = output.map_err(|error| format!("{program}: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(text + &messages) } else { Err(format!("{program}: {messages}")) }
    }

    /// For each kernel of a PTX file: name, instructions without padding and the last branch to itself,
    /// registers as ptxas reports them.
    pub(crate) fn compile(&self, ptx: &Path) -> Result<Vec<(String, usize, u32)>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let cubin = folder.path().join("k.cubin").display().to_string();
        let report =
            self.output("ptxas", &["-arch=sm_90", "-v", &ptx.display().to_string(), "-o", &cubin])?;
        let text = self.output("nvdisasm", &["-c", &cubin])?;
        let mut kernels = Vec::new();
        for part in text.split("//--------------------- .text.").skip(1) {
            let name: String = part.chars().take_while(|c| !c.is_whitespace()).collect();
            let lines = part.lines().map(str::trim).filter(|line| line.starts_with("/*"));
            let count = lines.filter(|line| !line.contains("NOP")).count().saturating_sub(1);
            kernels.push((name, count, 0));
        }
        let mut current = String::new();
        for line in report.lines() {
            if let Some((_, rest)) = line.split_once("Compiling entry function '") {
                current = rest.split('\'').next().unwrap_or("").to_string();
            }
            if let Some((_, rest)) = line.split_once("Used ") {
                let registers = rest.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
                if let Some(kernel) = kernels.iter_mut().find(|kernel| kernel.0 == current) {
                    kernel.2 = registers;
                }
            }
        }
        Ok(kernels)
    }
}
