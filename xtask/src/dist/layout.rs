//! Where the linker puts the functions of the distributed program.
//!
//! Page faults are a noticeable part of the two milliseconds that a small kernel takes. Linux maps
//! the code of a program 64 KiB at a time, when it is first touched. Therefore the parts of
//! functions that never ran in the training are split off, and the functions that run for every
//! kernel come first.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::flag;

/// The folder of the kernels whose functions come first.
pub(super) const KERNELS: &str = "lit/kernels";

/// The flags of rustc, for LLVM's back end and LLD. The order of the functions is written into a
/// file. Each file of `counts` has the counts of one kernel.
///
/// # Errors
/// No counts, or a program or file that fails.
pub(super) fn flags(profdata: &OsStr, counts: &[PathBuf], order: &Path) -> Result<Vec<String>, String> {
    if counts.is_empty() {
        return Err(format!("no kernels in `{KERNELS}`"));
    }
    let mut kernels = BTreeMap::new();
    for file in counts {
        let profile = as_text(profdata, file)?;
        for name in functions_that_ran(&profile) {
            *kernels.entry(name.to_string()).or_insert(0) += 1;
        }
    }
    std::fs::write(order, in_order(&kernels)).map_err(|error| format!("{}: {error}", order.display()))?;
    Ok(vec![
        "-Cllvm-args=-enable-split-machine-functions".to_string(),
        // A block is split off if its count is 0, and not already if it is rare: a single kernel
        // runs most of its blocks once.
        "-Cllvm-args=-mfs-psi-cutoff=0".to_string(),
        flag("-Clink-arg=-Wl,--no-warn-symbol-ordering,--symbol-ordering-file=", order),
    ])
}

/// Counts in LLVM's text format.
fn as_text(profdata: &OsStr, counts: &Path) -> Result<String, String> {
    let output = Command::new(profdata).args(["merge", "--sparse", "--text", "-o", "-"]).arg(counts).output();
    let output = output.map_err(|error| format!("{}: {error}", profdata.display()))?;
    if !output.status.success() {
        return Err(format!("{}: {}", profdata.display(), String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The functions with a count in a profile without functions that never ran. In the text format, a
/// function's name is the line before its hash. A name that only one file knows begins with that
/// file and `;`, which the linker does not know.
fn functions_that_ran(profile: &str) -> BTreeSet<&str> {
    let lines = profile.lines().zip(profile.lines().skip(1));
    let names = lines.filter(|(_, next)| *next == "# Func Hash:").map(|(name, _)| name);
    names.map(|name| name.rsplit_once(';').map_or(name, |(_, name)| name)).collect()
}

/// The names, one a line: those that ran for the most kernels first, otherwise alphabetically,
/// which keeps packages and modules together.
fn in_order(kernels: &BTreeMap<String, usize>) -> String {
    let mut names: Vec<(&String, &usize)> = kernels.iter().collect();
    names.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
    names.iter().map(|(name, _)| format!("{name}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_functions_that_ran() {
        let profile = "# IR level Instrumentation Flag\n:ir\nmain\n# Func Hash:\n1\n# Num Counters:\n2\n\
                       # Counter Values:\n1\n0\n\nsome.c;walk\n# Func Hash:\n2\n";
        assert_eq!(functions_that_ran(profile), BTreeSet::from(["main", "walk"]));
    }

    #[test]
    fn functions_of_the_most_kernels_come_first() {
        let kernels = [("b", 3), ("a", 1), ("c", 3)].map(|(name, count)| (name.to_string(), count));
        assert_eq!(in_order(&BTreeMap::from(kernels)), "b\nc\na\n");
    }
}
