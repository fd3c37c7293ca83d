//! NVIDIA's ptxas, if it is installed.

use std::io::Write as _;
use std::path::PathBuf;

use ptxc_families::oracle::folder;

/// The program; if it is missing, prints a line on stderr.
///
/// The variable `ORACLE` names its folder; without it, the folder is the usual one.
pub fn ptxas() -> Option<PathBuf> {
    let program = folder().map(|folder| folder.join("ptxas"));
    let found = program.filter(|program| program.is_file());
    if found.is_none() {
        // The test harness hides the output of `eprintln!`.
        let why = "no ptxas; ORACLE names the folder that ../shared/oracle/install.sh prints";
        let _ = writeln!(std::io::stderr(), "skipped: {why}");
    }
    found
}
