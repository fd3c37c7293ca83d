//! Sets of architectures: the architectures that have a row, a modifier value or an operand kind.

use crate::arch::Arch;

/// A set of architectures. Its members are always listed: no set follows from an order, so that a
/// new architecture is in a set only after it has been added there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Archs(u8);

impl Archs {
    /// No architecture.
    pub const NONE: Archs = Archs(0);

    /// Turing: sm_75.
    pub const TURING: Archs = Archs::of(&[Arch::Sm75]);

    /// Turing and the Ampere of data centres: sm_75, sm_80.
    pub const TURING_AND_SM_80: Archs = Archs::of(&[Arch::Sm75, Arch::Sm80]);

    /// Turing and Ampere: sm_75, sm_80, sm_86.
    pub const TURING_TO_AMPERE: Archs = Archs::of(&[Arch::Sm75, Arch::Sm80, Arch::Sm86]);

    /// Turing, Ampere and Ada: sm_75, sm_80, sm_86, sm_89.
    pub const TURING_TO_ADA: Archs = Archs::of(&[Arch::Sm75, Arch::Sm80, Arch::Sm86, Arch::Sm89]);

    /// Turing, Ampere, Ada and Hopper: sm_75, sm_80, sm_86, sm_89, sm_90.
    pub const TURING_TO_HOPPER: Archs =
        Archs::of(&[Arch::Sm75, Arch::Sm80, Arch::Sm86, Arch::Sm89, Arch::Sm90]);

    /// Ampere and Ada: sm_80, sm_86, sm_89.
    pub const AMPERE_TO_ADA: Archs = Archs::of(&[Arch::Sm80, Arch::Sm86, Arch::Sm89]);

    /// Ampere, Ada and Hopper: sm_80, sm_86, sm_89, sm_90.
    pub const AMPERE_TO_HOPPER: Archs = Archs::of(&[Arch::Sm80, Arch::Sm86, Arch::Sm89, Arch::Sm90]);

    /// The two for data centres, Ampere and Hopper: sm_80, sm_90.
    pub const SM_80_AND_HOPPER: Archs = Archs::of(&[Arch::Sm80, Arch::Sm90]);

    /// The later Ampere, Ada and Hopper: sm_86, sm_89, sm_90.
    pub const SM_86_TO_HOPPER: Archs = Archs::of(&[Arch::Sm86, Arch::Sm89, Arch::Sm90]);

    /// Ada: sm_89.
    pub const ADA: Archs = Archs::of(&[Arch::Sm89]);

    /// Ada and Hopper: sm_89, sm_90.
    pub const ADA_AND_HOPPER: Archs = Archs::of(&[Arch::Sm89, Arch::Sm90]);

    /// Hopper: sm_90.
    pub const HOPPER: Archs = Archs::of(&[Arch::Sm90]);

    /// The set of these architectures.
    pub const fn of(members: &[Arch]) -> Archs {
        let mut set = 0;
        let mut n = 0;
        while n < members.len() {
            set |= 1 << members[n].index();
            n += 1;
        }
        Archs(set)
    }

    /// The union.
    pub const fn or(self, other: Archs) -> Archs {
        Archs(self.0 | other.0)
    }

    /// The members of both sets.
    pub const fn and(self, other: Archs) -> Archs {
        Archs(self.0 & other.0)
    }

    /// Whether the architecture is a member.
    #[inline]
    pub const fn contains(self, arch: Arch) -> bool {
        self.0 >> arch.index() & 1 != 0
    }

    /// Whether the sets have no member in common.
    pub const fn is_disjoint(self, other: Archs) -> bool {
        self.0 & other.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_the_listed_members() {
        let ampere = Archs::AMPERE_TO_HOPPER.and(Archs::TURING_TO_ADA);
        let members: Vec<Arch> = Arch::ALL.into_iter().filter(|&arch| ampere.contains(arch)).collect();
        assert_eq!(members, [Arch::Sm80, Arch::Sm86, Arch::Sm89]);
        assert_eq!(ampere, Archs::AMPERE_TO_ADA);
        assert!(ampere.is_disjoint(Archs::TURING.or(Archs::HOPPER)));
        assert!(!ampere.is_disjoint(Archs::of(&[Arch::Sm86])));
    }

    #[test]
    fn no_named_set_has_the_invented_architecture() {
        assert!(!Archs::TURING_TO_HOPPER.contains(Arch::Invented));
        assert!(Archs::TURING_TO_HOPPER.contains(Arch::Sm90));
    }
}
