//! Writes the page of the book that shows the messages of ptxas and of ptxc for broken kernels.
//!
//! The kernels are lit tests: a comment says what is broken, then come the checks, then the kernel.
//! `--check` compares the page with the current messages, so that it stays correct.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ptxc_compiler::{Database, SourceFile, output, render};
use ptxc_ptx::check::requirements::Strictness;

use crate::oracle::Oracle;

/// The page.
const PAGE: &str = "docs/errors/beside-ptxas.md";

/// The kernels on the page, in this order; those without a message of ptxas come last.
const KERNELS: [&str; 10] = [
    "register-beyond-range",
    "store-turned-round",
    "index-too-narrow",
    "integer-for-float",
    "half-missing",
    "special-register-of-cuda",
    "semicolon-missing",
    "label-in-another-block",
    "register-unwritten",
    "vector-misaligned",
];

/// The options of `xtask beside`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BrokenKernels {
    /// Compare with the current page, and write nothing.
    #[arg(long)]
    check: bool,
    /// The folder with ptxas (default: ORACLE).
    #[arg(long, value_name = "DIR")]
    oracle: Option<PathBuf>,
}

impl BrokenKernels {
    /// Writes the page, or compares it.
    pub(crate) fn run(&self) -> Result<(), String> {
        let Some(oracle) = Oracle::find(self.oracle.as_deref()) else {
            println!(
                "SKIPPED: broken kernels beside ptxas; neither --oracle nor ORACLE names a folder with ptxas"
            );
            return Ok(());
        };
        let text = page(&oracle)?;
        let path = place(PAGE);
        if !self.check {
            return std::fs::write(&path, text).map_err(|error| format!("{PAGE}: {error}"));
        }
        match std::fs::read_to_string(&path) {
            Ok(old) if old == text => Ok(()),
            Ok(_) => Err(format!("{PAGE} is out of date; run `cargo xtask beside` to write it")),
            Err(error) => Err(format!("{PAGE}: {error}")),
        }
    }
}

fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn page(oracle: &Oracle) -> Result<String, String> {
    let mut page = format!(
        "# Comparison with ptxas\n\n\
         This page shows ten broken kernels with the messages of ptxas {} and of ptxc. The kernels are tests in\n\
         `tests/lit/errors`, which has many more. `cargo xtask beside` writes this page.\n",
        oracle.version()?
    );
    for name in KERNELS {
        let path = place("tests/lit/errors").join(name).with_extension("ptx");
        let test = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let (about, text) = kernel(&test);
        let file = format!("{name}.ptx");
        let target = text.lines().find_map(|line| line.strip_prefix(".target ")).unwrap_or("sm_90");
        let theirs = match oracle.messages(&file, &text, target)? {
            messages if messages.is_empty() => "(nothing)\n".to_string(),
            messages => messages,
        };
        let (ours, codes) = ours(&file, &text);
        let pages: Vec<String> = codes.iter().map(|code| format!("[{code}]({code}.md)")).collect();
        // Writing to a string does not fail.
        let _ = write!(
            page,
            "\n## {about}\n\nptxas:\n\n```text\n{theirs}```\n\nptxc, {}:\n\n```text\n{ours}```\n",
            pages.join(", ")
        );
    }
    Ok(page)
}

/// The comment of a test about its kernel, and the kernel without the marks of the test.
fn kernel(test: &str) -> (&str, String) {
    let about = test.lines().next().unwrap_or_default().trim_start_matches("//").trim().trim_end_matches('.');
    let lines = test.lines().skip_while(|line| line.is_empty() || line.starts_with("//"));
    let mut text = String::new();
    for line in lines {
        let marks = [" // error: ", " // warning: ", " // note: "];
        let end = marks.iter().filter_map(|mark| line.find(mark)).min().unwrap_or(line.len());
        text.push_str(&line[..end]);
        text.push('\n');
    }
    (about, text)
}

/// The messages of ptxc about a kernel, and their codes.
fn ours(file: &str, text: &str) -> (String, Vec<String>) {
    let db = Database::default();
    let source = SourceFile::new(&db, file.to_string(), text.to_string());
    let found = output::check(&db, source, None, Strictness::Splits);
    let mut codes: Vec<String> = found.iter().map(|located| located.code.clone()).collect();
    codes.dedup();
    (render::human(file, text, &found, false).trim_end().to_string() + "\n", codes)
}
