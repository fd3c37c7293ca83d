//! `cargo xtask bits`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use fastrand::Rng;
use ptxc_machine::Arch;
use ptxc_sass::{Coded, Op, bits};
use rayon::prelude::*;

use crate::generate::{edges, random};
use crate::oracle::{Oracle, Words, of_arch};
use crate::page;
use crate::ptx_files::ptx_files;
use crate::survive::{Failure, form, normal, survive, without_guard};

/// The page of the book.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/instructions.md");

/// The options of the command.
#[derive(Clone, Debug, clap::Args)]
pub struct Bits {
    /// Folders of PTX, searched recursively.
    #[arg(default_value = "../shared/corpus/ptx")]
    ptx: Vec<PathBuf>,
    /// Instead of files, use the modules of `ptxc-opcodes`, from which ptxas makes every opcode and
    /// form.
    #[arg(long, conflicts_with_all = ["edges", "random"])]
    generated: bool,
    /// Compile only one of four files or modules for each architecture, different ones for each.
    #[arg(long, conflicts_with_all = ["edges", "random"])]
    sample: bool,
    /// Compile and disassemble again.
    #[arg(long)]
    observe: bool,
    /// The folder for the words and texts.
    #[arg(long, default_value = "target/bits")]
    cache: PathBuf,
    /// Use only this architecture.
    #[arg(long)]
    arch: Option<String>,
    /// Use only instructions whose text, without guard, starts with one of these.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Instead of ptxas's words, check every row of the table with every field at its limits
    /// against nvdisasm.
    #[arg(long, conflicts_with = "random")]
    edges: bool,
    /// Instead of ptxas's words, encode and decode this many random instructions of the table, an
    /// equal share for each architecture.
    #[arg(long, value_name = "COUNT")]
    random: Option<usize>,
    /// Instead of comparing, write the page of the book that shows the table.
    #[arg(long, conflicts_with_all = ["edges", "random", "generated"])]
    write: bool,
    /// The most failing forms to show per architecture.
    #[arg(long, default_value_t = 40)]
    show: usize,
}

/// The results for an architecture.
#[derive(Default)]
struct Counts {
    read: usize,
    survived: usize,
    agreed: usize,
    /// The number of words of each form that fails, and the first of them.
    failing: BTreeMap<String, (usize, u128, String, Failure)>,
}

impl Bits {
    /// Runs the comparison and prints the results.
    ///
    /// # Errors
    /// A word does not survive or is printed differently, a file cannot be read, or a program
    /// cannot be run.
    pub fn run(&self) -> Result<(), String> {
        if self.write {
            return std::fs::write(PAGE, page::text()).map_err(|error| format!("{PAGE}: {error}"));
        }
        let oracle = Oracle::find();
        let archs: Vec<Arch> = Arch::ALL
            .into_iter()
            .filter(|arch| self.arch.as_ref().is_none_or(|only| *only == arch.to_string()))
            .collect();
        let counts: Result<Vec<Option<Counts>>, String> = archs
            .par_iter()
            .map(|&arch| Ok(self.all_words(arch, oracle.as_ref())?.map(|words| self.check(arch, &words))))
            .collect();
        let mut failed = 0;
        for (arch, counts) in archs.into_iter().zip(counts?) {
            let Some(counts) = counts else {
                println!("SKIPPED: {arch}: ORACLE names no folder with ptxas and nvdisasm");
                continue;
            };
            println!(
                "{arch}: {} instructions read, {} round-tripped ({:.2} %), {} agreed ({:.2} %), {} forms fail",
                counts.read,
                counts.survived,
                percent(counts.survived, counts.read),
                counts.agreed,
                percent(counts.agreed, counts.read),
                counts.failing.len(),
            );
            let mut failing: Vec<_> = counts.failing.iter().collect();
            failing.sort_by_key(|(_, (count, ..))| std::cmp::Reverse(*count));
            for (form, (count, word, text, failure)) in failing.iter().take(self.show) {
                println!(
                    "    {count:6} {form}\n           {word:032x} {text}\n           {}",
                    failure.describe()
                );
            }
            failed += counts.read - counts.survived.min(counts.agreed);
        }
        if failed == 0 { Ok(()) } else { Err(format!("{failed} instructions fail")) }
    }

    /// The requested words of an architecture.
    fn all_words(&self, arch: Arch, oracle: Option<&Oracle>) -> Result<Option<Made>, String> {
        Ok(match (self.random, self.edges) {
            (Some(count), _) => Some(self.random_words(arch, count / Arch::ALL.len(), oracle)?),
            (None, true) => Some(self.edge_words(arch, oracle)?),
            (None, false) => self.words(arch, oracle)?.map(beside),
        })
    }

    /// The distinct words of an architecture with nvdisasm's texts: stored ones, or new ones.
    fn words(&self, arch: Arch, oracle: Option<&Oracle>) -> Result<Option<Words>, String> {
        let source = if self.generated { "-generated" } else { "" };
        let size = if self.sample { "-sample" } else { "" };
        let path = self.cache.join(format!("{arch}{source}{size}.txt"));
        if !self.observe
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            return Ok(Some(read_words(&text)));
        }
        let Some(oracle) = oracle else { return Ok(None) };
        let mut words = BTreeSet::new();
        if self.generated {
            words = oracle.generated(arch, self.stride())?;
        } else {
            for root in &self.ptx {
                words.extend(oracle.words(&of_arch(ptx_files(root)?, arch, self.stride()), arch)?);
            }
        }
        let words = oracle.disassemble(&words, arch)?;
        let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
        std::fs::create_dir_all(&self.cache).map_err(wrong)?;
        std::fs::write(&path, write_words(&words)).map_err(wrong)?;
        Ok(Some(words))
    }

    /// Of how many files or modules one is compiled. The corpus has kernels for three targets, as neighbours, so
    /// three would select one target.
    fn stride(&self) -> usize {
        if self.sample { 7 } else { 1 }
    }

    /// The requested rows.
    fn rows(&self, arch: Arch) -> Vec<Op> {
        let names = |op: &Op| {
            let name = op.row().mnemonic_on(arch);
            self.only.is_empty()
                || self.only.iter().any(|only| name.starts_with(only) || only.starts_with(name))
        };
        Op::ALL.iter().copied().filter(names).collect()
    }

    /// The words of every row with every field at its limits, with nvdisasm's texts.
    fn edge_words(&self, arch: Arch, oracle: Option<&Oracle>) -> Result<Made, String> {
        let list: Vec<Coded> = self.rows(arch).into_iter().flat_map(|op| edges(op, arch)).collect();
        let encoded = list.iter().enumerate();
        let encoded = encoded.map(|(index, coded)| bits::encode(coded, index as u32 * 16, arch, |_| None));
        let words: Result<Vec<u128>, _> = encoded.collect();
        made(words.map_err(|why| format!("{arch}: {why}"))?, arch, oracle)
    }

    /// Random instructions of the table with nvdisasm's texts, or without texts if there is no
    /// nvdisasm.
    fn random_words(&self, arch: Arch, count: usize, oracle: Option<&Oracle>) -> Result<Made, String> {
        let rows = self.rows(arch);
        let mut numbers = Rng::with_seed(arch.number().into());
        let mut words = Vec::with_capacity(count);
        for index in 0..count {
            let Some(coded) = random(&rows, arch, &mut numbers) else { break };
            let word = bits::encode(&coded, index as u32 * 16, arch, |_| None);
            words.push(word.map_err(|why| format!("{arch}: {}: {why}", coded.inst))?);
        }
        made(words, arch, oracle)
    }

    fn check(&self, arch: Arch, words: &Made) -> Counts {
        let mut counts = Counts::default();
        for (index, (word, theirs)) in words.iter().enumerate() {
            let offset = index as u32 * 16;
            let survived = survive(*word, offset, arch);
            // Words that nvdisasm does not read are named by our text.
            let name = match (theirs, &survived) {
                (Some(theirs), _) if theirs != REFUSED => theirs.clone(),
                (_, Ok(ours)) => ours.clone(),
                (_, Err(_)) => format!("opcode {:03x}", word & 0xfff),
            };
            let plain = without_guard(&name);
            if !self.edges && !self.only.is_empty() && !self.only.iter().any(|only| plain.starts_with(only)) {
                continue;
            }
            counts.read += 1;
            let mut note = |failure| {
                let text = theirs.clone().unwrap_or_default();
                let entry = counts.failing.entry(form(plain));
                entry.or_insert_with(|| (0, *word, text, failure)).0 += 1;
            };
            match survived {
                Err(failure) => note(failure),
                Ok(ours) => {
                    counts.survived += 1;
                    if theirs.as_ref().is_none_or(|theirs| normal(&ours, arch) == *theirs) {
                        counts.agreed += 1;
                    } else {
                        note(Failure::Text(ours));
                    }
                }
            }
        }
        counts
    }
}

/// Words that we encoded, each with nvdisasm's text, if there is an nvdisasm.
type Made = Vec<(u128, Option<String>)>;

/// The text for words that nvdisasm refuses.
const REFUSED: &str = "refused by nvdisasm";

fn made(words: Vec<u128>, arch: Arch, oracle: Option<&Oracle>) -> Result<Made, String> {
    let texts = match oracle {
        Some(oracle) => {
            let texts = oracle.texts(&words, arch)?.into_iter();
            texts.map(|text| Some(text.unwrap_or_else(|| REFUSED.to_string()))).collect()
        }
        None => vec![None; words.len()],
    };
    Ok(words.into_iter().zip(texts).collect())
}

fn beside(words: Words) -> Made {
    words.into_iter().map(|(word, text)| (word, Some(text))).collect()
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { part as f64 * 100.0 / whole as f64 }
}

fn write_words(words: &Words) -> String {
    words.iter().fold(String::new(), |mut text, (word, theirs)| {
        let _ = writeln!(text, "{word:032x} {theirs}");
        text
    })
}

fn read_words(text: &str) -> Words {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.filter_map(|(word, text)| Some((u128::from_str_radix(word, 16).ok()?, text.to_string()))).collect()
}
