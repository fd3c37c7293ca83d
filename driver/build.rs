//! Embeds the commit that the program is built from: `0.1.0 (abcdef123456 2026-11-23)`. The date is
//! that of the commit, so the same commit makes the same program. Where there is no git, as in a
//! source archive, `PTXC_COMMIT` names the commit. Without either, the version has no commit.
//!
//! It also lists the pages of `docs/errors` for `ptxc explain`, and links the program at a fixed
//! address and without shared libraries, so that it starts fast.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of this package in the repository.
const FOLDER: &str = "driver/";

fn main() {
    println!("cargo::rerun-if-env-changed=PTXC_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let given = std::env::var("PTXC_COMMIT").ok();
    let commit = given.or_else(commit).filter(|commit| !commit.is_empty());
    let version = commit.map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=PTXC_VERSION={version}");
    let pages = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("pages.rs");
    if let Err(error) = list_pages().and_then(|list| std::fs::write(pages, list)) {
        println!("cargo::error=the pages of docs/errors: {error}");
    }
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        // A program at a fixed address has no addresses to relocate when it starts. The tables have
        // 19,000 of them, which cost 0.3 ms, as much as parsing a small kernel.
        println!("cargo::rustc-link-arg-bins=-no-pie");
        let is_native = std::env::var("HOST") == std::env::var("TARGET");
        if is_native && let Err(why) = link_statically() {
            // This is not a warning: the program works as well, and nobody has to act.
            println!("linked dynamically: {why}");
        }
    }
}

/// The libraries that rustc names, and the replacement for each in a statically linked program.
const STATIC_LIBRARIES: [(&str, &str); 3] = [("gcc_s", "libgcc_eh.a"), ("m", "libm.a"), ("c", "libc.a")];

/// Links the C library statically, if its archive is installed, as it usually is with a compiler.
/// To find four shared libraries, map them and bind their names takes 0.4 ms, a tenth of the time
/// of a small kernel.
///
/// `-C target-feature=+crt-static` has the same effect, but the procedural macros in the same build
/// cannot be linked that way. The linker searches the folders of its command line before those of
/// the system. So this function puts linker scripts there, which have the names of the shared
/// libraries and name the archives. Only programs are linked so; tests are not.
///
/// # Errors
/// The reason why the library cannot be linked statically.
fn link_statically() -> Result<(), String> {
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("static");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    for (library, archive) in STATIC_LIBRARIES {
        // `cc` prints the bare name if it does not know the file.
        let output = Command::new("cc").arg(format!("-print-file-name={archive}")).output();
        let path = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
        let path = path.ok().filter(|path| Path::new(path).is_absolute() && Path::new(path).exists());
        let path = path.ok_or_else(|| format!("there is no {archive}"))?;
        // Each archive may need the others.
        let script = format!("GROUP(\"{path}\" -l:libgcc.a)\n");
        std::fs::write(folder.join(format!("lib{library}.so")), script).map_err(|error| error.to_string())?;
    }
    println!("cargo::rustc-link-arg-bins=-L{}", folder.display());
    println!("cargo::rustc-link-arg-bins=-static");
    Ok(())
}

/// The pages as a Rust expression, sorted by code.
fn list_pages() -> std::io::Result<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors").canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut codes = Vec::new();
    for entry in std::fs::read_dir(&folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let code = name.strip_suffix(".md").and_then(|code| code.strip_prefix('E'));
        if let Some(code) =
            code.filter(|code| code.len() == 4 && code.bytes().all(|byte| byte.is_ascii_digit()))
        {
            codes.push(format!("E{code}"));
        }
    }
    codes.sort();
    let pages = codes.iter().map(|code| {
        let path = folder.join(format!("{code}.md"));
        format!("    Page {{ code: {code:?}, text: include_str!({path:?}) }},\n")
    });
    Ok(format!("&[\n{}]\n", pages.collect::<String>()))
}

/// The commit according to git, if this is a checkout of the project and not a copy inside another
/// one.
fn commit() -> Option<String> {
    if git(&["rev-parse", "--show-prefix"])? != FOLDER {
        return None;
    }
    // These files change when another commit is checked out, or one is made.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        let path = git(&["rev-parse", "--git-path", name]);
        // Cargo considers a missing path changed.
        if let Some(path) = path.filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["show", "--no-patch", "--abbrev=12", "--format=%h %cs", "HEAD"])
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}
