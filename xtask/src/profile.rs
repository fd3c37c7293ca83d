//! Makes what release builds are compiled and linked with (`profile/`): how often each part of the program runs, counted by a
//! program that is built for it while it lowers the kernels of `tests/lit`, and then which functions run ([`crate::order`]).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;

use crate::order;

/// `xtask profile`.
#[derive(Debug, Args)]
pub(crate) struct Profile {
    /// LLVM's program that merges profiles (default: LLVM_PROFDATA, or `llvm-profdata`). It has to know the format of rustc's LLVM.
    #[arg(long, value_name = "FILE")]
    profdata: Option<PathBuf>,
}

impl Profile {
    /// Writes `profile/ptxc.profdata` and `profile/order.txt`.
    ///
    /// # Errors
    /// What can't be built, run, read or written.
    pub(crate) fn run(&self) -> Result<(), String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let target = root.join("target/profile");
        let counts = target.join("counts");
        // Counts of an earlier program would be merged with those of this one.
        match std::fs::remove_dir_all(&counts) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(format!("{}: {error}", counts.display()));
            }
            _ => {}
        }
        let counting = counting_build(&root, &target, &counts)?;
        lower(&counting, &root.join("tests/lit"))?;
        self.merge(&counts, &root.join("profile/ptxc.profdata"))?;
        order::run()
    }

    /// Merges the counts in a folder into a profile. What never ran is left out: that is most of the program, and makes no difference.
    fn merge(&self, counts: &Path, profile: &Path) -> Result<(), String> {
        let given = self.profdata.clone().map(OsString::from).or_else(|| std::env::var_os("LLVM_PROFDATA"));
        let mut merge = Command::new(given.unwrap_or_else(|| "llvm-profdata".into()));
        merge.args(["merge", "--sparse", "-o"]).arg(profile).arg(counts);
        succeed(&mut merge)
    }
}

/// Builds the program that counts; where it lies.
fn counting_build(root: &Path, target: &Path, counts: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--release", "--package", "ptxc"]).current_dir(root);
    // profile/rustc reads the first.
    cargo.env("PTXC_PROFILE_GENERATE", counts).env("CARGO_TARGET_DIR", target);
    succeed(&mut cargo)?;
    Ok(target.join("release/ptxc"))
}

/// Lowers all kernels of a folder in one process, to text and to cubins, and some of them alone, as users start it. Some have errors, which
/// belong to what is counted.
fn lower(program: &Path, folder: &Path) -> Result<(), String> {
    let mut kernels = Vec::new();
    gather(folder, &mut kernels)?;
    kernels.sort();
    let output = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut ways = vec![(vec!["--emit=sass"], kernels.clone()), (vec!["--emit=cubin"], kernels.clone())];
    let alone =
        kernels.into_iter().filter(|path| path.parent().is_some_and(|parent| parent.ends_with("kernels")));
    ways.extend(alone.map(|kernel| (Vec::new(), vec![kernel])));
    for (words, kernels) in ways {
        let mut ptxc = Command::new(program);
        ptxc.arg("lower").args(words).args(["--jobs", "1", "--progress", "never", "-o"]);
        ptxc.arg(output.path().join("")).args(kernels);
        let status = ptxc.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.map_err(|error| format!("{}: {error}", program.display()))?;
    }
    Ok(())
}

/// The files of PTX in a folder and those in it.
fn gather(folder: &Path, kernels: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            gather(&path, kernels)?;
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            kernels.push(path);
        }
    }
    Ok(())
}

/// Runs a command that must end well.
fn succeed(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}
