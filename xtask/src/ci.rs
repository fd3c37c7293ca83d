//! `cargo xtask ci` and `cargo xtask nightly`: lists of commands that must pass.
//!
//! `ci --fast` is the loop of a developer: format, lints, unit tests and lit tests, in under three
//! minutes once the dependencies are built. `ci` is `.ci/run`, which decides whether a change
//! lands. `nightly` runs the checks that take too long for `ci`; `.ci/run` runs a sample of each.

use std::process::Command;
use std::time::Instant;

use clap::Args;

use crate::build::root;

/// The arguments of `ci`.
#[derive(Debug, Args)]
pub(crate) struct Ci {
    /// Only format, lints, unit tests and lit tests.
    #[arg(long)]
    fast: bool,
}

/// The arguments of `nightly`.
#[derive(Debug, Args)]
pub(crate) struct Nightly {
    /// The first seed of random programs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The number of random programs.
    #[arg(long, default_value_t = 20_000)]
    programs: u64,
}

impl Ci {
    pub(crate) fn run(self) -> Result<(), String> {
        if !self.fast {
            return steps(&[("all", &["bash", ".ci/run"])]);
        }
        steps(&[
            ("format", &["cargo", "fmt", "--check"]),
            ("lints", &["cargo", "clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
            // Both steps select the same packages, so that nothing is built twice.
            ("unit tests", &["cargo", "test", "--workspace", "--lib", "--quiet"]),
            ("lit tests", &["cargo", "test", "--workspace", "--test", "lit", "--quiet"]),
        ])
    }
}

impl Nightly {
    pub(crate) fn run(self) -> Result<(), String> {
        let [seed, programs] = [self.seed.to_string(), self.programs.to_string()];
        let optimized = ["cargo", "run", "--quiet", "--profile", "fuzz", "--package", "xtask", "--"];
        let with = |rest: &[&'static str]| optimized.iter().copied().chain(rest.iter().copied()).collect();
        let mut fuzz: Vec<&str> = with(&["fuzz", "--jobs", "2", "--orders", "3"]);
        fuzz.extend(["--programs", &programs, "--seed", &seed]);
        let forms: Vec<&str> = with(&["forms"]);
        let shapes: Vec<&str> = with(&["shapes"]);
        let bits: Vec<&str> = with(&["bits", "--random", "10000000"]);
        let emitted: Vec<&str> = with(&["bits"]);
        let generated: Vec<&str> = with(&["bits", "--generated"]);
        let mutate: Vec<&str> = with(&["mutate", "--count", "20000"]);
        let exec: Vec<&str> = with(&["exec"]);
        let clients: Vec<&str> = with(&["clients"]);
        let compare: Vec<&str> = with(&["compare", "../shared/corpus/ptx/t1", "--runs", "0"]);
        steps(&[
            (
                "guides",
                &["cargo", "test", "-p", "ptxc-tests", "--test", "it", "guides", "--", "--include-ignored"],
            ),
            ("benchmarks", &["cargo", "clippy", "--workspace", "--benches", "--", "-D", "warnings"]),
            (
                "documentation",
                &["env", "RUSTDOCFLAGS=-D warnings", "cargo", "doc", "--workspace", "--no-deps", "--quiet"],
            ),
            ("random programs", &fuzz),
            ("execution cases with all settings", &exec),
            (
                "the check against ptxas: all combinations, 20,000 edits",
                &[
                    "cargo",
                    "test",
                    "-p",
                    "ptxc-tests",
                    "--test",
                    "it",
                    "check_oracle",
                    "--",
                    "--include-ignored",
                ],
            ),
            (
                "every kernel and form of which `.ci/run` tries a sample",
                &[
                    "env",
                    "PTXC_STRIDE=1",
                    "PTXC_NUMERICS_CASES=20000",
                    "PTXC_COMBINATIONS=200",
                    "cargo",
                    "test",
                    "--workspace",
                    "--test",
                    "it",
                ],
            ),
            ("every form of every instruction", &forms),
            ("every shape of instruction", &shapes),
            ("code of tier 1 beside ptxas's", &compare),
            ("ptxas's machine words for the corpus", &emitted),
            ("ptxas's machine words for the generated modules", &generated),
            ("random machine words", &bits),
            ("mutated kernels", &mutate),
            ("the PTX of Numba, Warp, tinygrad, Triton and CUTLASS, and pipelines", &clients),
        ])
    }
}

/// Runs commands one after another in the repository, and prints the time that each took.
fn steps(list: &[(&str, &[&str])]) -> Result<(), String> {
    for (name, words) in list {
        println!("\n== {name}");
        let start = Instant::now();
        let [program, arguments @ ..] = words else { continue };
        let status = Command::new(program).args(arguments).current_dir(root()).status();
        let status = status.map_err(|error| format!("{program}: {error}"))?;
        if !status.success() {
            return Err(format!("{name}: {status}"));
        }
        println!("== {name}: {:.0} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}
