//! Runs NVIDIA's assembler and disassembler: PTX in, listing with encodings out.
//!
//! Listings are kept in a folder, so that they are made only once. An empty listing means that the
//! assembler refuses the PTX for this architecture.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ptxc_machine::Arch;

/// Ways of compiling: with full optimization; with few registers, so that registers are soon
/// written again; and with little optimization, so that dependent instructions stay adjacent.
pub(super) const WAYS: &[(&str, &[&str])] =
    &[("o3", &["-O3"]), ("tight", &["-O3", "-maxrregcount=32"]), ("o1", &["-O1"])];

/// The tools, if listings are made, and the folder of the listings.
pub(super) struct Assembler {
    pub(super) tools: Option<PathBuf>,
    pub(super) listings: PathBuf,
}

impl Assembler {
    /// The listing of a PTX file, compiled in one of the [`WAYS`]; `None` if the assembler refuses
    /// it.
    pub(super) fn listing(
        &self,
        ptx: &Path,
        name: &str,
        arch: Arch,
        way: &(&str, &[&str]),
    ) -> Result<Option<String>, String> {
        let folder = self.listings.join(arch.to_string());
        let kept = folder.join(format!("{name}.{}.sass", way.0));
        if let Ok(text) = std::fs::read_to_string(&kept) {
            return Ok(Some(text).filter(|text| !text.is_empty()));
        }
        let Some(tools) = &self.tools else { return Ok(None) };
        let wrong = |error: std::io::Error| format!("{}: {error}", kept.display());
        std::fs::create_dir_all(&folder).map_err(wrong)?;
        let text = disassemble(tools, ptx, arch, way.1)?.unwrap_or_default();
        std::fs::write(&kept, &text).map_err(wrong)?;
        Ok(Some(text).filter(|text| !text.is_empty()))
    }
}

fn disassemble(tools: &Path, ptx: &Path, arch: Arch, options: &[&str]) -> Result<Option<String>, String> {
    let cubin = tempfile::NamedTempFile::with_suffix(".cubin").map_err(|error| error.to_string())?;
    let mut ptxas = Command::new(tools.join("ptxas"));
    ptxas.arg(format!("-arch={arch}")).arg("-w").args(options).arg(ptx).arg("-o").arg(cubin.path());
    let status = ptxas.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null()).status();
    if !status.map_err(|error| format!("ptxas: {error}"))?.success() {
        return Ok(None);
    }
    let output = Command::new(tools.join("nvdisasm"))
        .args(["-hex", "-c"])
        .arg(cubin.path())
        .output()
        .map_err(|error| format!("nvdisasm: {error}"))?;
    Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
}
