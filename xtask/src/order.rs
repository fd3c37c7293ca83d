//! Lists the functions that run when a kernel is lowered, as the linker knows them, for `driver/build.rs`, which has the linker put
//! them side by side: a program's code is mapped 64 KiB at a time when it is touched, and each time costs a small kernel
//! as much as a pass over it.
//!
//! What runs is asked of valgrind's callgrind, for each kernel of `tests/lit/kernels` alone, as processes that users start.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use ptxc_words::ptx_files;

use crate::release_build;

/// What the list says of itself.
const HEAD: &str = "\
# The functions that run when a kernel is lowered, first those that run for each: driver/build.rs gives this list to the linker.
# Made by `cargo xtask profile` (profile/README.md). Names that a program does not have are passed over.
";

/// Writes `profile/order.txt`, of the program as users have it.
///
/// # Errors
/// What can't be built, traced, read or written.
pub(crate) fn run() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let program = release_build()?;
    let kernels = ptx_files(&root.join("tests/lit/kernels"))?;
    let mut counts = BTreeMap::new();
    for kernel in &kernels {
        for name in functions(&program, kernel)? {
            *counts.entry(name).or_insert(0) += 1;
        }
    }
    let path = root.join("profile/order.txt");
    std::fs::write(&path, list(&counts)).map_err(|error| format!("{}: {error}", path.display()))?;
    let everywhere = counts.values().filter(|&&count| count == kernels.len()).count();
    println!("{} functions, {everywhere} of them for each of {} kernels", counts.len(), kernels.len());
    Ok(())
}

/// The functions that run when a program lowers a kernel.
fn functions(program: &Path, kernel: &Path) -> Result<BTreeSet<String>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let profile = folder.path().join("profile");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--demangle=no"]);
    valgrind.arg(format!("--callgrind-out-file={}", profile.display()));
    valgrind.arg(program).arg("lower").arg(kernel).arg("-o").arg(folder.path().join("kernel.sass"));
    let status = valgrind.stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("{}: {status}", kernel.display())),
        Err(error) => return Err(format!("valgrind: {error}")),
    }
    let text = std::fs::read_to_string(&profile).map_err(|error| error.to_string())?;
    Ok(text.lines().filter_map(function).map(str::to_string).collect())
}

/// The function that a line of callgrind's output names for the first time, which is where its number stands before a name:
/// `fn=(12) main`, or `cfn=(12) main` for one that is called. A function that is called again from inside has a number behind its
/// name (`main'2`), and code without a symbol has no name that the linker would know.
fn function(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("fn=(").or_else(|| line.strip_prefix("cfn=("))?;
    let (_, name) = rest.split_once(") ")?;
    let name = name.split_once('\'').map_or(name, |(name, _)| name);
    let is_symbol = !name.starts_with("0x") && !name.contains([' ', '(']);
    is_symbol.then_some(name)
}

/// The list: what runs for the most kernels comes first, and otherwise the alphabet decides.
fn list(counts: &BTreeMap<String, usize>) -> String {
    let mut names: Vec<(&String, &usize)> = counts.iter().collect();
    names.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let lines = names.iter().map(|(name, _)| format!("{name}\n"));
    HEAD.to_string() + &lines.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_where_they_come_first() {
        assert_eq!(
            function("fn=(12) _ZN4ptxc4main17h0123456789abcdefE"),
            Some("_ZN4ptxc4main17h0123456789abcdefE")
        );
        assert_eq!(function("cfn=(13) memcpy"), Some("memcpy"));
        assert_eq!(function("fn=(14) walk'2"), Some("walk"));
        assert_eq!(function("fn=(12)"), None, "named before");
        assert_eq!(function("fn=(15) 0x00000000003c0cc0"), None, "no symbol");
        assert_eq!(function("fn=(16) (below main)"), None);
        assert_eq!(function("cob=(2) ptxc"), None);
    }

    #[test]
    fn what_runs_most_often_comes_first() {
        let counts = BTreeMap::from([("b".to_string(), 3), ("a".to_string(), 1), ("c".to_string(), 3)]);
        assert_eq!(list(&counts).strip_prefix(HEAD), Some("b\nc\na\n"));
    }
}
