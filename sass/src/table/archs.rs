//! Sets of architectures: where a row, a modifier or an operand kind exists.

use crate::arch::Arch;

/// A set of architectures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Archs(u8);

impl Archs {
    /// None.
    pub const NONE: Archs = Archs(0);

    /// Every architecture.
    pub const ALL: Archs = Archs::since(Arch::Sm75);

    /// The one and all later ones.
    pub const fn since(first: Arch) -> Archs {
        Archs(u8::MAX << first as u8)
    }

    /// All earlier ones.
    pub const fn before(end: Arch) -> Archs {
        Archs(!(u8::MAX << end as u8))
    }

    /// That one alone.
    pub const fn only(arch: Arch) -> Archs {
        Archs(1 << arch as u8)
    }

    /// The union.
    pub const fn or(self, other: Archs) -> Archs {
        Archs(self.0 | other.0)
    }

    /// What is in both.
    pub const fn and(self, other: Archs) -> Archs {
        Archs(self.0 & other.0)
    }

    /// All others.
    pub const fn complement(self) -> Archs {
        Archs(!self.0)
    }

    /// Whether the architecture is in it.
    pub const fn contains(self, arch: Arch) -> bool {
        self.0 >> arch as u8 & 1 != 0
    }

    /// Whether the two have none in common.
    pub fn is_disjoint(self, other: Archs) -> bool {
        !Arch::ALL.into_iter().any(|arch| self.contains(arch) && other.contains(arch))
    }
}

/// What an instruction is called on some architectures, where that differs from its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// Where.
    pub archs: Archs,
    /// The text before the modifiers.
    pub mnemonic: &'static str,
    /// The base opcode; 0 where it is that of the row.
    pub opcode: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_follow_the_order_of_the_architectures() {
        let ampere = Archs::since(Arch::Sm80).and(Archs::before(Arch::Sm90));
        let in_it: Vec<Arch> = Arch::ALL.into_iter().filter(|&arch| ampere.contains(arch)).collect();
        assert_eq!(in_it, [Arch::Sm80, Arch::Sm86, Arch::Sm89]);
        assert!(Arch::ALL.into_iter().all(|arch| Archs::ALL.contains(arch)));
        assert!(ampere.is_disjoint(Archs::only(Arch::Sm75).or(Archs::only(Arch::Sm90))));
        assert!(!ampere.is_disjoint(Archs::only(Arch::Sm86)));
    }
}
