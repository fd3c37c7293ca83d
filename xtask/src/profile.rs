//! Makes what release builds are compiled and linked with (`profile/`): how often each part of the program runs, counted by a
//! program that is built for it while it lowers the kernels of `tests/lit`, and then which functions run ([`crate::order`]).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use ptxc_words::ptx_files;

use crate::{order, release_build_in};

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
        // profile/rustc reads the variable.
        let counting = release_build_in(&target, &[("PTXC_PROFILE_GENERATE", &counts)])?;
        lower(&counting, &root.join("tests/lit"))?;
        self.merge(&counts, &root.join("profile/ptxc.profdata"))?;
        order::run()
    }

    /// Merges the counts in a folder into a profile. What never ran is left out: that is most of the program, and makes no difference.
    fn merge(&self, counts: &Path, profile: &Path) -> Result<(), String> {
        let given = self.profdata.clone().map(OsString::from).or_else(|| std::env::var_os("LLVM_PROFDATA"));
        let program = given.unwrap_or_else(|| "llvm-profdata".into());
        let mut merge = Command::new(&program);
        merge.args(["merge", "--sparse", "-o"]).arg(profile).arg(counts);
        match merge.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{}: {status}", program.display())),
            Err(error) => Err(format!("{}: {error}", program.display())),
        }
    }
}

/// Lowers all kernels of a folder in one process, to text and to cubins, and some of them alone, as users start it. Some have errors, which
/// belong to what is counted.
fn lower(program: &Path, folder: &Path) -> Result<(), String> {
    let kernels = ptx_files(folder)?;
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
