//! Asks both compilers for every form of the families and lists unexplained differences; and tries
//! every instruction that computes with signs on its operands.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use ptxc_families::{Campaign, Oracle, observed, page, signs};
use ptxc_machine::Arch;

/// The options of `xtask families`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Families {
    /// An architecture; may be given several times (default: all).
    #[arg(long, value_parser = |name: &str| name.parse::<Arch>().map_err(|()| "no architecture"))]
    arch: Vec<Arch>,
    /// Only forms whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Try one of this many forms.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    stride: u32,
    /// Print every form with both outcomes, separated by tabs.
    #[arg(long)]
    raw: bool,
    /// Ask ptxas about the forms that the book shows, and save its answers.
    #[arg(long)]
    observe: bool,
    /// Write the page of the book from the saved answers; needs no ptxas.
    #[arg(long)]
    write: bool,
}

/// The path of a file of this workspace.
fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Writes a file of this workspace.
pub(crate) fn save(path: &str, text: &str) -> Result<(), String> {
    std::fs::write(place(path), text).map_err(|error| format!("{path}: {error}"))
}

impl Families {
    /// All forms on all architectures.
    pub(crate) fn all() -> Families {
        Families {
            arch: Vec::new(),
            only: String::new(),
            stride: 1,
            raw: false,
            observe: false,
            write: false,
        }
    }

    /// Compares; unexplained differences are an error.
    pub(crate) fn run(&self) -> Result<(), String> {
        if self.write {
            return save("docs/families.md", &page::text()?);
        }
        let oracle = Oracle::find();
        let signed = if self.raw || self.observe { Ok(()) } else { self.signs(oracle.as_ref()) };
        let Some(oracle) = oracle else {
            signed?;
            println!("SKIPPED: the forms of the families; no ptxas, and ORACLE names no folder with it");
            return Ok(());
        };
        let mut campaign = Campaign::all();
        if self.observe {
            return save("tests/families/observed.txt", &campaign.observe(&oracle, &observed::candidates())?);
        }
        campaign.only.clone_from(&self.only);
        campaign.stride = self.stride as usize;
        if !self.arch.is_empty() {
            campaign.archs.clone_from(&self.arch);
        }
        let mut out = std::io::stdout().lock();
        let judge = campaign.run(&oracle, &mut |arch, form, theirs, ours, agrees| {
            if self.raw {
                let family = form.family.name();
                let _ = writeln!(out, "{arch}\t{family}\t{form}\t{theirs}\t{ours}\t{agrees}");
            }
        })?;
        if !self.raw {
            let _ = writeln!(out, "{}", judge.wrong.join("\n"));
        }
        let _ = writeln!(out, "{}", judge.summary());
        match judge.wrong.len() {
            0 => signed,
            count => Err(format!("{count} forms differ from ptxas without a reason")),
        }
    }

    /// Tries the instructions with signs.
    fn signs(&self, oracle: Option<&Oracle>) -> Result<(), String> {
        let archs = if self.arch.is_empty() { &Arch::ALL[..] } else { &self.arch };
        let report = signs::run(archs, self.stride as usize, &self.only, oracle);
        for what in &report.wrong {
            println!("{what}");
        }
        println!("{}", report.summary());
        match report.wrong.len() {
            0 => Ok(()),
            count => Err(format!("{count} instructions are wrong with a sign on an operand")),
        }
    }
}
