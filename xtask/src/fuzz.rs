//! `xtask fuzz`: random kernels through both engines, before and after the compiler (see [`ptxc_fuzz`]).
//!
//! Prints progress on the error stream. For each failure it prints the seed, the options of the
//! kernel, the difference between the engines, and the reduced kernel; the whole kernel and the
//! reduced one are written to a folder. The output for a seed, and the order of the output, do not
//! depend on the number of threads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use ptxc_fuzz::Trial;
use ptxc_fuzz::campaign::{Campaign, Finding, Outcome};
use ptxc_fuzz::execute::{Failure, NOT_RUN, ORDERS, Settings, Who, keep_panics};
use ptxc_fuzz::program::Family;
use ptxc_sass::Program;

use crate::oracle::{Oracle, Refusal};

/// All families.
const FAMILIES: &str = "plain,calls,flow,packed,parameters,services,images,matrices";
/// The interval between progress reports.
const TELL: Duration = Duration::from_secs(10);

/// The options of `xtask fuzz`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Fuzz {
    /// The number of programs.
    #[arg(long, default_value_t = 1000)]
    programs: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Number of threads.
    #[arg(long, default_value = "1")]
    jobs: NonZeroUsize,
    /// Start no program after this many minutes.
    #[arg(long)]
    minutes: Option<u64>,
    /// Try only this seed, and print its kernel.
    #[arg(long, value_name = "SEED", conflicts_with_all = ["programs", "seed", "jobs", "minutes"])]
    replay: Option<u64>,
    /// The families of kernels, which alternate by seed.
    #[arg(long, value_name = "FAMILY", value_delimiter = ',', value_parser = family, default_value = FAMILIES)]
    only: Vec<Family>,
    /// The targets, which alternate by seed for each family.
    #[arg(long, value_name = "TARGET", value_delimiter = ',', value_parser = target, default_value = "sm_90")]
    target: Vec<u32>,
    /// The number of orders of warps and lanes that each kernel runs with on each engine.
    #[arg(long, value_name = "N", default_value_t = ORDERS, value_parser = clap::value_parser!(u32).range(1..))]
    orders: u32,
    /// The folder for kernels that fail.
    #[arg(long, value_name = "DIR", default_value = "target/fuzz")]
    failures: PathBuf,
    /// The folder with ptxas, whose code must leave the same bytes (default: ORACLE).
    #[arg(long, value_name = "DIR")]
    oracle: Option<PathBuf>,
    /// Give ptxas one of this many kernels.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    oracle_sample: u64,
}

fn family(name: &str) -> Result<Family, String> {
    let found = Family::ALL.into_iter().find(|family| family.name() == name);
    found.ok_or_else(|| format!("expected one of the families {FAMILIES}"))
}

fn target(name: &str) -> Result<u32, String> {
    let number = name.strip_prefix("sm_").and_then(|number| number.parse().ok());
    number.filter(|number| (75..=90).contains(number)).ok_or_else(|| "expected sm_75 to sm_90".to_string())
}

/// The program that ptxas makes of a kernel.
fn theirs(oracle: &Oracle, target: u32, text: &str, settings: &Settings) -> Result<Program, Failure> {
    let level = format!("-O{}", settings.opt);
    let fmad = format!("-fmad={}", settings.fmad);
    oracle.program(text, &format!("sm_{target}"), &[&level, &fmad], "fuzz").map_err(|why| match why {
        Refusal::Refused(what) => {
            // Without line numbers and names.
            let sort = what.split(';').next_back().unwrap_or("").to_string();
            Failure { who: Who::Ptxas, sort, what }
        }
        Refusal::Unreadable(what) => {
            // Without the place.
            let what = what.split_once(": ").map_or(what.clone(), |(_, why)| why.to_string());
            Failure { who: Who::TheirSass, sort: NOT_RUN.to_string(), what }
        }
        Refusal::Unusable(what) => Failure { who: Who::Ptxas, sort: what.clone(), what },
    })
}

impl Fuzz {
    fn oracle(&self) -> Option<Oracle> {
        Oracle::find(self.oracle.as_deref())
    }

    fn test(&self, seed: u64, trial: &Trial) -> Result<(), Failure> {
        match self.oracle() {
            Some(oracle) if seed.is_multiple_of(self.oracle_sample) => {
                let why = match &trial.program {
                    program if program.disputed => Some("code where it is known to differ"),
                    // ptxas evaluates constant expressions with more digits than the hardware has.
                    program if program.approximates => Some("functions of which only bounds are known"),
                    _ => None,
                };
                if let Some(why) = why {
                    trial.run()?;
                    let what = format!("ptxas's SASS is not compared: {why}");
                    return Err(Failure { who: Who::TheirSass, sort: NOT_RUN.to_string(), what });
                }
                let target = trial.program.target;
                trial.run_beside(&|text, settings| theirs(&oracle, target, text, settings))
            }
            _ => trial.run(),
        }
    }

    /// Reports a failure, and writes its kernels to files.
    fn report(&self, finding: &Finding) -> Result<(), String> {
        let Finding { seed, whole, trial, failure } = finding;
        let family = trial.program.family;
        let name = family.name();
        let mut report = format!(
            "seed {seed} of {name}, sm_{}: {whole}\nreduced: {failure}\n{}\n",
            trial.program.target,
            trial.conditions()
        );
        // Writing to a string cannot fail.
        let _ = write!(report, "{}", trial.text());
        println!("{report}");
        let commented = |trial: &Trial, failure: &Failure| {
            let notes = format!("seed {seed} of {name}: {failure}\n{}", trial.conditions());
            let notes: String = notes.lines().map(|line| format!("// {line}\n")).collect();
            notes + &trial.text()
        };
        let write = |name: String, text: String| {
            let path = self.failures.join(name);
            std::fs::create_dir_all(&self.failures)
                .and_then(|()| std::fs::write(&path, text))
                .map_err(|error| format!("{}: {error}", path.display()))
        };
        let mut original = Trial::for_target(family, *seed, trial.program.target);
        original.settings.orders = self.orders;
        write(format!("{name}-{seed}.ptx"), commented(&original, whole))?;
        write(format!("{name}-{seed}.reduced.ptx"), commented(trial, failure))
    }

    fn replay(&self, seed: u64) -> Result<(), String> {
        for &family in &self.only {
            for &target in &self.target {
                let campaign = Campaign {
                    families: vec![family],
                    targets: vec![target],
                    orders: self.orders,
                    first: seed,
                    count: 1,
                    jobs: NonZeroUsize::MIN,
                    time: None,
                };
                let trial = campaign.trial(seed);
                println!("{}\n{}", trial.conditions(), trial.text());
                if self.test(seed, &trial).is_err() {
                    self.campaign(&campaign)?;
                }
            }
        }
        Ok(())
    }

    fn campaign(&self, campaign: &Campaign) -> Result<(), String> {
        let start = Instant::now();
        let mut told = start;
        let (mut tried, mut failures) = (0u64, 0u64);
        let mut unsupported: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let mut trouble = Ok(());
        let rate = |tried: u64| tried as f64 / start.elapsed().as_secs_f64();
        campaign.run(&|seed, trial| self.test(seed, trial), &mut |seed, outcome| {
            tried += 1;
            match outcome {
                Outcome::Agreed => {}
                Outcome::Unsupported(what) => unsupported.entry(what).or_default().push(seed),
                Outcome::Failed(finding) => {
                    failures += 1;
                    let written = self.report(&finding);
                    trouble = std::mem::replace(&mut trouble, Ok(())).and(written);
                }
            }
            if told.elapsed() > TELL {
                told = Instant::now();
                eprintln!("{tried} programs, {failures} failures, {:.0} programs/s", rate(tried));
            }
        });
        for (what, seeds) in &unsupported {
            let first: Vec<String> = seeds.iter().take(5).map(u64::to_string).collect();
            println!("not supported, {} programs: {what} (seeds {}…)", seeds.len(), first.join(", "));
        }
        println!("{tried} programs from seed {}, {failures} failures", campaign.first);
        eprintln!("{:.0} programs/s", rate(tried));
        trouble?;
        if failures > 0 {
            return Err(format!("{failures} failures; see {}", self.failures.display()));
        }
        Ok(())
    }

    /// Runs the programs; the error counts the failures.
    pub(crate) fn run(&self) -> Result<(), String> {
        keep_panics();
        match (self.oracle(), &self.oracle) {
            (Some(_), _) => {
                let sample = match self.oracle_sample {
                    1 => "each kernel".to_string(),
                    sample => format!("one kernel in {sample}"),
                };
                println!("compared: SSA as built, simplified SSA, our SASS, and of {sample} ptxas's SASS");
            }
            (None, Some(folder)) => return Err(format!("there is no ptxas in {}", folder.display())),
            (None, None) => {
                println!("compared: SSA as built, simplified SSA, our SASS");
                println!("SKIPPED: ptxas's SASS; ORACLE or --oracle names the folder with ptxas");
            }
        }
        if let Some(seed) = self.replay {
            return self.replay(seed);
        }
        self.campaign(&Campaign {
            families: self.only.clone(),
            targets: self.target.clone(),
            orders: self.orders,
            first: self.seed,
            count: self.programs,
            jobs: self.jobs,
            time: self.minutes.map(|minutes| Duration::from_secs(60 * minutes)),
        })
    }
}
