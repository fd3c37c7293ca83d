//! The architectures by name.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::facts::Facts;
use crate::feature::Feature;
use crate::{invented, sm_75, sm_80, sm_86, sm_89, sm_90};

/// A GPU architecture that shares the 128-bit instruction format, Turing to Hopper.
///
/// Architectures have no order: a later one may lack what an earlier one has. Ask for a
/// [`Feature`] with [`has`](Arch::has), or for a number with [`facts`](Arch::facts).
///
/// ```compile_fail
/// use ptxc_machine::Arch;
///
/// let is_new = Arch::Sm90 >= Arch::Sm80;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
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
    /// An architecture that does not exist. Tests use it to show that the code assumes nothing
    /// about an architecture that no table names: it has no feature, no text names it, and its
    /// figures are those of no other architecture.
    #[doc(hidden)]
    Invented,
}

impl Arch {
    /// Every architecture that exists, in the order of the numbers.
    pub const ALL: [Arch; 5] = [Arch::Sm75, Arch::Sm80, Arch::Sm86, Arch::Sm89, Arch::Sm90];

    /// The architecture that tools assume where neither the input nor an option names one.
    pub const DEFAULT: Arch = Arch::Sm90;

    /// Every variant, at its [index](Arch::index).
    pub(crate) const VARIANTS: [Arch; 6] =
        [Arch::Sm75, Arch::Sm80, Arch::Sm86, Arch::Sm89, Arch::Sm90, Arch::Invented];

    /// The facts about the architecture. They are statics: the tables in a constant would be part of
    /// the program once for each package that asks for a fact, 2 MB in all.
    #[inline]
    pub const fn facts(self) -> &'static Facts {
        match self {
            Arch::Sm75 => &sm_75::FACTS,
            Arch::Sm80 => &sm_80::FACTS,
            Arch::Sm86 => &sm_86::FACTS,
            Arch::Sm89 => &sm_89::FACTS,
            Arch::Sm90 => &sm_90::FACTS,
            Arch::Invented => &invented::FACTS,
        }
    }

    /// Whether the architecture has the feature.
    #[inline]
    pub const fn has(self, feature: Feature) -> bool {
        self.facts().features.has(feature)
    }

    /// The number in its name: 90 for `sm_90`. Code for a target of PTX runs on architectures whose
    /// number is at least the target's. The number has no other meaning.
    #[inline]
    pub const fn number(self) -> u32 {
        self.facts().number
    }

    /// The architecture with that number.
    pub fn of_number(number: u32) -> Option<Arch> {
        Arch::ALL.into_iter().find(|arch| arch.number() == number)
    }

    /// The place of the variant in tables with an entry for each.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().name)
    }
}

impl FromStr for Arch {
    type Err = ();

    fn from_str(text: &str) -> Result<Arch, ()> {
        Arch::ALL.into_iter().find(|arch| arch.facts().name == text).ok_or(())
    }
}

/// An architecture as a key of sorted collections: the order of the numbers, for lists that people
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ByNumber(pub Arch);

impl Ord for ByNumber {
    fn cmp(&self, other: &ByNumber) -> Ordering {
        self.0.number().cmp(&other.0.number())
    }
}

impl PartialOrd for ByNumber {
    fn partial_cmp(&self, other: &ByNumber) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for ByNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_at_their_indices() {
        for (index, arch) in Arch::VARIANTS.into_iter().enumerate() {
            assert_eq!(arch.index(), index);
        }
    }

    #[test]
    fn names_are_read_back() {
        for arch in Arch::ALL {
            assert_eq!(arch.to_string().parse(), Ok(arch));
            assert_eq!(arch.to_string(), format!("sm_{}", arch.number()));
            assert_eq!(Arch::of_number(arch.number()), Some(arch));
        }
        assert!(Arch::ALL.is_sorted_by_key(|arch| arch.number()));
    }

    #[test]
    fn nothing_names_the_invented_architecture() {
        assert!(!Arch::ALL.contains(&Arch::Invented));
        assert_eq!(Arch::Invented.to_string().parse::<Arch>(), Err(()));
        assert_eq!(Arch::of_number(Arch::Invented.number()), None);
    }
}
