//! The targets that PTX is compiled for.

use std::fmt;
use std::str::FromStr;

/// A name that ptxas accepts after `-arch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// Turing.
    Sm75,
    /// Ampere, data centre.
    Sm80,
    /// Ampere.
    Sm86,
    /// Ada.
    Sm89,
    /// Hopper.
    Sm90,
    /// Hopper with the instructions that are not promised for other architectures. It gets only
    /// these: the rest is the code of [`Target::Sm90`].
    Sm90a,
}

impl Target {
    /// Every target, oldest first.
    pub const ALL: [Target; 6] =
        [Target::Sm75, Target::Sm80, Target::Sm86, Target::Sm89, Target::Sm90, Target::Sm90a];

    /// `sm_90a`.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Sm75 => "sm_75",
            Target::Sm80 => "sm_80",
            Target::Sm86 => "sm_86",
            Target::Sm89 => "sm_89",
            Target::Sm90 => "sm_90",
            Target::Sm90a => "sm_90a",
        }
    }

    /// The number of the architecture: 90 for both Hopper targets.
    pub const fn number(self) -> u32 {
        match self {
            Target::Sm75 => 75,
            Target::Sm80 => 80,
            Target::Sm86 => 86,
            Target::Sm89 => 89,
            Target::Sm90 | Target::Sm90a => 90,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let found = Target::ALL.into_iter().find(|target| target.name() == text);
        found.ok_or_else(|| format!("no architecture {text}"))
    }
}
