//! Builds the distributed program: `cargo xtask dist`.
//!
//! The plain build does not know how often each part of the program runs. This command first builds
//! a program that counts (`-C profile-generate`), lowers the kernels of `tests` with it, merges
//! the counts, and builds the program with them (`-C profile-use`) in the cargo profile `dist`,
//! which optimizes across packages. The result and its licence are in `target/dist`.
//!
//! The profile is made from the current sources, so it is never stale, and the repository holds
//! none. The kernels of the corpus are not part of the training, because the benchmarks measure
//! them.

mod layout;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use ptxc_words::ptx_files;

use crate::build::{cargo, program, root, target_folder};

/// `xtask dist`.
#[derive(Debug, Default, Args)]
pub(crate) struct Dist {
    /// LLVM's program that merges profiles (default: LLVM_PROFDATA, then rustup's `llvm-tools`, then `llvm-profdata`).
    #[arg(long, value_name = "FILE")]
    profdata: Option<PathBuf>,
}

/// How to get the program that merges profiles.
const INSTALLATION: &str = "install it with `rustup component add llvm-tools`, or Debian's package `llvm` (version 19 or later), \
     and name it with `--profdata FILE` or LLVM_PROFDATA if it is not in PATH";

/// How mimalloc is compiled.
/// - It reads no options from the environment, for which it would compare every variable with some
///   fifty names: a twentieth of the instructions for a small kernel.
/// - It returns no memory when the program ends.
/// - Small objects of one size share 8 KiB instead of 64, and larger ones 64 KiB instead of 512. Then
///   all objects of a small kernel lie in one huge page of the system, which otherwise clears three
///   of them: a sixth of the time.
const ALLOCATOR: &str = "-DMI_NO_GETENV -DMI_SKIP_COLLECT_ON_EXIT -DMI_SEGMENT_SLICE_SHIFT=13";

impl Dist {
    /// Builds the program; returns its path.
    ///
    /// # Errors
    /// A command that fails, or a file that cannot be read or written.
    pub(crate) fn run(&self) -> Result<PathBuf, String> {
        let host = Host::of_rustc()?;
        let profdata = self.profdata(&host)?;
        let package = target_folder().join("dist");
        let build = package.join("build");
        let counts = build.join("counts");
        // The merge reads the whole folder, so it must not contain counts of an earlier program.
        if counts.exists() {
            std::fs::remove_dir_all(&counts).map_err(|error| format!("{}: {error}", counts.display()))?;
        }
        let counting = host.build(&build, &[flag("-Cprofile-generate=", &counts)])?;
        let counts_alone = train(&counting, &root().join("tests"), &counts)?;
        let profile = build.join("ptxc.profdata");
        let mut merge = Command::new(&profdata);
        // Functions that never ran are part of the profile (no `--sparse`), which makes them small
        // and keeps them away from those that run.
        run(merge.args(["merge", "-o"]).arg(&profile).arg(&counts), INSTALLATION)?;
        let mut flags = vec![flag("-Cprofile-use=", &profile)];
        if host.triple == "x86_64-unknown-linux-gnu" {
            flags.extend(layout::flags(&profdata, &counts_alone, &build.join("order.txt"))?);
        }
        let built = host.build(&build, &flags)?;
        let result = program(&package);
        let licences = ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT"];
        let licences = licences.map(|name| (root().join(name), package.join(name)));
        for (from, to) in [(built, result.clone())].into_iter().chain(licences) {
            std::fs::copy(&from, &to).map_err(|error| format!("{}: {error}", to.display()))?;
        }
        println!("{}", result.display());
        Ok(result)
    }

    /// The program that merges profiles. The search comes before the first build, which takes
    /// minutes.
    fn profdata(&self, host: &Host) -> Result<OsString, String> {
        let given = self.profdata.clone().map(OsString::from).or_else(|| std::env::var_os("LLVM_PROFDATA"));
        let name = Path::new("llvm-profdata").with_extension(std::env::consts::EXE_EXTENSION);
        let of_rustup = host.tools.join(&name);
        let found = given.unwrap_or_else(|| if of_rustup.is_file() { of_rustup.into() } else { name.into() });
        run(Command::new(&found).arg("--version").stdout(Stdio::null()), INSTALLATION)?;
        Ok(found)
    }
}

/// The system that rustc makes programs for, and the folder of its tools.
struct Host {
    triple: String,
    tools: PathBuf,
}

impl Host {
    fn of_rustc() -> Result<Host, String> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let ask = |words: &[&str]| {
            let output = Command::new(&rustc).args(words).output();
            let output = output.map_err(|error| format!("{}: {error}", rustc.display()))?;
            Ok::<String, String>(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let version = ask(&["-vV"])?;
        let triple = version.lines().find_map(|line| line.strip_prefix("host: "));
        let triple = triple.ok_or("`rustc -vV` does not name its host")?.to_string();
        let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim());
        let tools = sysroot.join("lib/rustlib").join(&triple).join("bin");
        Ok(Host { triple, tools })
    }

    /// Builds the program, with all its features and additional flags of rustc; returns its path.
    fn build(&self, folder: &Path, flags: &[String]) -> Result<PathBuf, String> {
        let mut command = cargo();
        command.args(["build", "--quiet", "--profile", "dist", "--package", "ptxc", "--all-features"]);
        // A named target keeps the flags away from build scripts and macros, which run while the program is built.
        command.args(["--target", &self.triple, "--target-dir"]).arg(folder);
        let given = std::env::var("RUSTFLAGS").unwrap_or_default();
        let flags: Vec<&str> = given.split_whitespace().chain(flags.iter().map(String::as_str)).collect();
        command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        let flags = std::env::var("CFLAGS").unwrap_or_default();
        command.env(format!("CFLAGS_{}", self.triple.replace('-', "_")), format!("{flags} {ALLOCATOR}"));
        run(&mut command, "the build fails")?;
        Ok(program(&folder.join(&self.triple).join("dist")))
    }
}

/// A flag of rustc that ends with a path.
fn flag(start: &str, path: &Path) -> String {
    format!("{start}{}", path.display())
}

/// Runs a command; an error ends with the advice.
fn run(command: &mut Command, advice: &str) -> Result<(), String> {
    let name = command.get_program().display().to_string();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}; {advice}")),
        Err(error) => Err(format!("{name}: {error}; {advice}")),
    }
}

/// Lowers all kernels of a folder in one process, to text and to cubins, and each alone, as users
/// do. Some kernels have errors; their diagnostics are part of the training. The program adds its
/// counts to a file in the folder `counts`. Each kernel of [`layout::KERNELS`] has its own files
/// there, for its text and its cubin; returns their paths.
fn train(program: &Path, folder: &Path, counts: &Path) -> Result<Vec<PathBuf>, String> {
    let kernels = ptx_files(folder)?;
    let output = tempfile::tempdir().map_err(|error| error.to_string())?;
    let lower = |words: &[&str], own_counts: Option<&Path>, kernels: &[PathBuf]| {
        let mut ptxc = Command::new(program);
        ptxc.arg("lower").args(words).args(kernels).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(file) = own_counts {
            ptxc.env("LLVM_PROFILE_FILE", file);
        }
        ptxc.status().map_err(|error| format!("{}: {error}", program.display()))
    };
    let folder = output.path().join("").into_os_string().into_string();
    let folder = folder.map_err(|path| format!("{}: not UTF-8", path.display()))?;
    for emit in ["--emit=sass", "--emit=cubin"] {
        lower(&[emit, "--jobs", "1", "--progress", "never", "-o", &folder], None, &kernels)?;
    }
    let mut counts_alone = Vec::new();
    for (number, kernel) in kernels.iter().enumerate() {
        let is_laid_out = kernel.parent().is_some_and(|folder| folder.ends_with(layout::KERNELS));
        let forms: &[(&str, &[&str])] = &[("text", &[]), ("cubin", &["--emit=cubin", "-o", &folder])];
        for (form, words) in &forms[..1 + usize::from(is_laid_out)] {
            let own_counts = is_laid_out.then(|| counts.join(format!("alone-{number}-{form}.profraw")));
            lower(words, own_counts.as_deref(), std::slice::from_ref(kernel))?;
            counts_alone.extend(own_counts);
        }
    }
    Ok(counts_alone)
}
