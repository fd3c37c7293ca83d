//! `xtask mine`: finds the distances that NVIDIA's assembler keeps between dependent instructions,
//! and derives the latency tables from them.
//!
//! In: an architecture, a corpus of PTX, NVIDIA's tools. Out: `machine/data/sm_XX/latency.csv`, and
//! reports.
//!
//! 1. [`sources`] gathers PTX: the corpus, directed [`chains`] and [`trees`] of [`forms`], the fuzzer's random kernels.
//! 2. [`assembler`] compiles it in three ways and keeps the listings.
//! 3. [`code`] reads the listings with the instruction table; an instruction without a row ends a
//!    straight line.
//! 4. [`observe`](mod@observe) adds up stalls between dependent instructions, [`spacing`] looks at
//!    instructions by themselves, and [`completion`] at the waits for results.
//! 5. [`figures`] computes figures from the distances, class by class, and [`report`] prints their
//!    basis.

mod assembler;
mod body;
mod chains;
mod code;
mod completion;
mod figures;
mod forms;
mod machine_code;
mod observe;
mod report;
mod sources;
mod spacing;
mod trees;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ptxc_machine::Arch;
use ptxc_sass::text::{ReadOptions, parse_programs};
use ptxc_sass::verify::{Order, check_with};
use ptxc_sass::{Op, Program};

use self::assembler::{Assembler, WAYS};
use self::code::Code;
use self::completion::Announced;
use self::figures::Figures;
use self::observe::Pairs;
use self::spacing::Spacing;

/// The options of `xtask mine`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Mine {
    /// The architecture.
    #[arg(value_parser = arch)]
    arch: Arch,
    /// The folder with ptxas and nvdisasm (default: ORACLE).
    #[arg(long, value_name = "DIR")]
    oracle: Option<PathBuf>,
    /// A folder of PTX, searched recursively.
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// The number of the fuzzer's programs.
    #[arg(long, default_value_t = 200)]
    random: u64,
    /// Only files whose names start with this (`none`: no PTX): chains, matrices, predicates, trees, random.
    #[arg(long, default_value = "")]
    only: String,
    /// Where listings and generated PTX are kept.
    #[arg(long, value_name = "DIR", default_value = "target/mine")]
    listings: PathBuf,
    /// A cubin, or a file that contains cubins: its code is mined, too; may be repeated.
    #[arg(long, value_name = "FILE")]
    code: Vec<PathBuf>,
    /// Use only existing listings, make no others.
    #[arg(long)]
    kept: bool,
    /// The files to use: one half to mine and the other half to check the result, or all.
    #[arg(long, value_enum, default_value = "all")]
    half: Half,
    /// Keep figures in use that are based on more observations, or for which nothing was seen.
    #[arg(long)]
    merge: bool,
    /// The output.
    #[arg(long, value_enum, default_value = "figures")]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Half {
    /// Every file.
    All,
    /// Every other one, from the first.
    First,
    /// Every other one, from the second.
    Second,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// The data file.
    Figures,
    /// The differences between the figures and those in use.
    Differences,
    /// Pairs of instructions whose least distance is not that of their classes.
    Members,
    /// Mine every other file and check the rest: pairs that are closer than the mined legal
    /// distance, and least distances that differ.
    Holdout,
    /// The data file in use, with lower legal distances where a pair was closer.
    Lowered,
    /// Every pair of operations with its number and its least distance.
    Pairs,
    /// Pairs of instructions that are closer than the figures in use demand, with their numbers and an example.
    Closer,
    /// Stalls, scoreboards and distances from barriers, instruction by instruction.
    Spacing,
    /// The instructions that set scoreboards, the results that are waited for, and contradictions
    /// with the table.
    Scoreboards,
    /// The hazard check over the listings.
    Check,
}

fn arch(name: &str) -> Result<Arch, String> {
    let known = Arch::ALL.map(|arch| arch.to_string()).join(", ");
    name.parse().map_err(|()| format!("there are {known}"))
}

/// All findings.
#[derive(Default)]
struct Found {
    files: usize,
    functions: usize,
    instructions: usize,
    unread: BTreeMap<String, (usize, String)>,
    pairs: Pairs,
    spacing: BTreeMap<Op, Spacing>,
    announced: BTreeMap<Op, Announced>,
}

impl Found {
    fn add(&mut self, arch: Arch, code: Code) {
        self.files += 1;
        self.functions += code.functions;
        self.instructions += code.instructions;
        for (word, (times, example)) in code.unread {
            self.unread.entry(word).or_insert((0, example)).0 += times;
        }
        for line in &code.lines {
            observe::observe(arch, line, &mut self.pairs);
            spacing::observe(line, &mut self.spacing);
            completion::observe(arch, line, &mut self.announced);
        }
    }

    fn summary(&self) -> String {
        let pairs: u64 = self.pairs.values().map(|distances| u64::from(distances.total())).sum();
        let unread: usize = self.unread.values().map(|(times, _)| times).sum();
        format!(
            "{} listings, {} functions, {} instructions ({unread} not read), {pairs} pairs",
            self.files, self.functions, self.instructions
        )
    }
}

impl Mine {
    /// Mines; prints the requested output, and its basis on the error stream.
    pub(crate) fn run(&self) -> Result<(), String> {
        let tools = self.oracle.clone().or_else(|| Some(std::env::var_os("ORACLE")?.into()));
        let tools = tools.filter(|_| !self.kept);
        if tools.is_none() && !self.kept {
            return Err("no ptxas: name its folder with --oracle or ORACLE".to_string());
        }
        let assembler = Assembler { tools, listings: self.listings.clone() };
        let mut sources = sources::sources(self.arch, self.corpus.as_deref(), self.random, &self.listings)?;
        sources.retain(|source| source.name.starts_with(&self.only));
        // The second element is for the files held out.
        let mut halves = [Found::default(), Found::default()];
        let mut checked = Checked::default();
        for (index, source) in sources.iter().enumerate() {
            let wanted = match self.half {
                Half::All => true,
                Half::First => index % 2 == 0,
                Half::Second => index % 2 == 1,
            };
            if !wanted {
                continue;
            }
            let found = &mut halves[if self.output == Output::Holdout { index % 2 } else { 0 }];
            for way in WAYS {
                let Some(listing) = assembler.listing(&source.path, &source.name, self.arch, way)? else {
                    continue;
                };
                if self.output == Output::Check {
                    self.check(&format!("{} {}", source.name, way.0), &listing, &mut checked);
                } else {
                    found.add(self.arch, Code::read(self.arch, &listing));
                }
            }
        }
        for path in &self.code {
            machine_code::programs(path, self.arch, &mut |name, program| {
                if self.output == Output::Check {
                    checked.add(&format!("{}: {name}", path.display()), program);
                } else {
                    let mut code = Code::default();
                    code.add(program);
                    halves[0].add(self.arch, code);
                }
            })?;
        }
        if self.output == Output::Check {
            let Checked { functions, instructions, claims } = checked;
            eprintln!("{}: {functions} functions, {instructions} instructions, {claims} hazards", self.arch);
            return if claims == 0 { Ok(()) } else { Err(format!("{claims} hazards in code of ptxas")) };
        }
        let [found, held_out] = halves;
        eprintln!("{}: {}", self.arch, found.summary());
        for (times, example) in found.unread.values() {
            eprintln!("no row: {times:6} {example}");
        }
        match self.output {
            Output::Figures => print!("{}", report::file(self.arch, &self.figures(&found.pairs))),
            Output::Differences => print!("{}", report::differences(self.arch, &self.figures(&found.pairs))),
            Output::Lowered => {
                print!("{}", report::file(self.arch, &figures::lowered(self.arch, &found.pairs)));
            }
            Output::Pairs => print!("{}", report::pairs(&found.pairs)),
            Output::Closer => print!("{}", report::closer(self.arch, &found.pairs)),
            Output::Members => print!("{}", report::members(&found.pairs)),
            Output::Holdout => {
                eprintln!("held out: {}", held_out.summary());
                print!("{}", report::holdout(&self.figures(&found.pairs), &found.pairs, &held_out.pairs));
            }
            Output::Scoreboards => print!("{}", report::scoreboards(self.arch, &found.announced)),
            Output::Spacing => print!("{}", report::spacing(&found.spacing)),
            Output::Check => {}
        }
        Ok(())
    }

    fn figures(&self, pairs: &Pairs) -> Figures {
        let mut figures = figures::figures(self.arch, pairs);
        if self.merge {
            figures::merge(self.arch, &mut figures);
        }
        figures
    }

    /// Runs the hazard check over a listing.
    fn check(&self, name: &str, listing: &str, checked: &mut Checked) {
        let options = ReadOptions { arch: Some(self.arch), ..ReadOptions::default() };
        match parse_programs(listing, &options) {
            Ok(kernels) => kernels.iter().for_each(|kernel| checked.add(name, &kernel.program)),
            Err(errors) => {
                for error in errors {
                    println!("{name}: not read: {}", error.message);
                }
            }
        }
    }
}

/// How much code the hazard check has seen, and the number of hazards that it reported.
#[derive(Default)]
struct Checked {
    functions: usize,
    instructions: usize,
    claims: usize,
}

impl Checked {
    /// Runs the hazard check over a function; prints and counts the hazards that it reports.
    fn add(&mut self, name: &str, program: &Program) {
        let hazards = check_with(program, Order::InOrder).err().unwrap_or_default();
        for hazard in &hazards {
            println!("{name} {}: {hazard}", program.name);
            for index in [hazard.producer, hazard.consumer] {
                let coded = &program.insts[index as usize];
                println!("    {} {:?}", coded.inst, coded.control);
            }
        }
        self.functions += 1;
        self.instructions += program.insts.len();
        self.claims += hazards.len();
    }
}
