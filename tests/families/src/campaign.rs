//! Compiles thousands of forms on several architectures with both compilers, and compares the
//! results.

use std::path::{Path, PathBuf};

use ptxc_machine::Arch;

use crate::compare::Judge;
use crate::form::Form;
use crate::oracle::Oracle;
use crate::outcome::Outcome;
use crate::{enumerate, observed, ours};

/// The number of forms that are compiled at a time.
const CHUNK: usize = 500;

/// The selection of forms to compare.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The architectures.
    pub archs: Vec<Arch>,
    /// Only forms whose name contains this.
    pub only: String,
    /// Only one form out of this many. Each architecture starts at another form, so that together
    /// they cover more.
    pub stride: usize,
    /// The folder for ptxas's answers.
    pub kept: PathBuf,
}

impl Campaign {
    /// All forms on all architectures, with the answers in the build folder of this workspace.
    pub fn all() -> Campaign {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/families");
        Campaign { archs: Arch::ALL.to_vec(), only: String::new(), stride: 1, kept }
    }

    /// Whether it includes all forms.
    pub fn is_whole(&self) -> bool {
        self.archs.len() == Arch::ALL.len() && self.only.is_empty() && self.stride == 1
    }

    /// The forms that are compared on an architecture.
    pub fn forms(&self, arch: Arch) -> Vec<Form> {
        let first = Arch::ALL.iter().position(|&other| other == arch).unwrap_or(0) % self.stride;
        let forms = enumerate::all().into_iter().skip(first).step_by(self.stride);
        forms.filter(|form| form.to_string().contains(&self.only)).collect()
    }

    /// The results of ptxas for forms on every architecture, as the text of the
    /// [observations](observed).
    ///
    /// # Errors
    /// ptxas cannot be run.
    pub fn observe(&self, oracle: &Oracle, forms: &[Form]) -> Result<String, String> {
        let ask = |&arch| Ok((arch, oracle.ask(arch, forms, &self.kept)?));
        let outcomes: Vec<(Arch, Vec<Outcome>)> = Arch::ALL.iter().map(ask).collect::<Result<_, String>>()?;
        Ok(observed::write(oracle.version(), &observed::join(forms, &outcomes)))
    }

    /// Compares the forms and calls `tell` for each: with ptxas's outcome, our outcome, and whether
    /// they agree or differ as the list says.
    ///
    /// # Errors
    /// The lists have errors, or ptxas cannot be run.
    pub fn run(
        &self,
        oracle: &Oracle,
        tell: &mut dyn FnMut(Arch, &Form, &Outcome, &Outcome, bool),
    ) -> Result<Judge, String> {
        let mut judge = Judge::new()?;
        for &arch in &self.archs {
            let forms = self.forms(arch);
            let theirs = oracle.ask(arch, &forms, &self.kept)?;
            for (forms, theirs) in forms.chunks(CHUNK).zip(theirs.chunks(CHUNK)) {
                for ((form, theirs), ours) in forms.iter().zip(theirs).zip(ours::outcomes(forms, arch)) {
                    let agrees = judge.judge(arch, form, theirs, &ours);
                    tell(arch, form, theirs, &ours, agrees);
                }
            }
        }
        if self.is_whole() {
            let unused = judge.unused().into_iter().map(|entry| format!("{entry} is needed by no form"));
            judge.wrong.extend(unused);
        }
        Ok(judge)
    }
}
