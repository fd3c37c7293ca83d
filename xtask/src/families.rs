//! Asks both compilers for every form of the families and shows where they differ.

use std::io::Write as _;
use std::path::PathBuf;

use ptxc_families::{Form, Oracle, enumerate, ours};
use ptxc_sass::Arch;

/// Forms that are compiled before something is printed.
const CHUNK: usize = 500;

/// What is asked.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Families {
    /// The architectures (default: all).
    #[arg(long)]
    arch: Vec<String>,
    /// Only forms whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Only every so-manieth form.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    stride: u32,
}

impl Families {
    /// Compares.
    pub(crate) fn run(&self) -> Result<(), String> {
        let forms: Vec<Form> = enumerate::all();
        let mut forms: Vec<Form> = forms.into_iter().step_by(self.stride as usize).collect();
        forms.retain(|form| self.only.as_ref().is_none_or(|only| form.to_string().contains(only.as_str())));
        let oracle = Oracle::find().ok_or("no ptxas; ORACLE names the folder")?;
        let kept = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/families");
        for family in ptxc_families::Family::ALL {
            let count = forms.iter().filter(|form| form.family == family).count();
            eprintln!("{}: {count} forms", family.name());
        }
        let mut out = std::io::stdout().lock();
        for arch in
            Arch::ALL.iter().filter(|arch| self.arch.is_empty() || self.arch.contains(&arch.to_string()))
        {
            let start = std::time::Instant::now();
            let theirs = oracle.ask(*arch, &forms, &kept)?;
            eprintln!("{arch}: ptxas took {:?}", start.elapsed());
            for (forms, theirs) in forms.chunks(CHUNK).zip(theirs.chunks(CHUNK)) {
                for ((form, theirs), ours) in forms.iter().zip(theirs).zip(ours::outcomes(forms, *arch)) {
                    let _ = writeln!(out, "{arch}\t{}\t{form}\t{theirs}\t{ours}", form.family.name());
                }
            }
            eprintln!("{arch}: all took {:?}", start.elapsed());
        }
        Ok(())
    }
}
