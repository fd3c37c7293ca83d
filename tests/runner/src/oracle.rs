//! NVIDIA's ptxas, if it is installed.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The program; if it is missing, prints a line on stderr.
///
/// The variable `ORACLE` names its folder; without it, the folder is the usual one.
pub fn ptxas() -> Option<PathBuf> {
    let found = find_ptxas();
    if found.is_none() {
        // The test harness hides the output of `eprintln!`.
        let why = "no ptxas; ORACLE names the folder that ../shared/oracle/install.sh prints";
        let _ = writeln!(std::io::stderr(), "skipped: {why}");
    }
    found
}

fn find_ptxas() -> Option<PathBuf> {
    let folder = match std::env::var_os("ORACLE") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let python = Path::new(&std::env::var_os("HOME")?).join(".cache/ptxc-oracle/lib");
            let version = std::fs::read_dir(python).ok()?.flatten().next()?.path();
            version.join("site-packages/nvidia/cu13/bin")
        }
    };
    let program = folder.join("ptxas");
    program.is_file().then_some(program)
}
