//! The effects of operations besides computing.

/// The effects of an operation besides computing its results from its arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// It may read memory that others write.
    pub reads: bool,
    /// It may write memory, or order writes of others.
    pub writes: bool,
    /// It depends on which threads execute it together, so no pass may make it depend on more or
    /// fewer branches.
    pub convergent: bool,
    /// It must stay, and stay in order, even if its results are unused. All terminators are ordered.
    pub ordered: bool,
    /// It may raise an error that ends the grid even if its arguments are valid.
    pub traps: bool,
}

impl Effects {
    /// No effects.
    pub const NONE: Effects =
        Effects { reads: false, writes: false, convergent: false, ordered: false, traps: false };

    /// Whether the operation is a function of its arguments alone: it may be merged, moved and
    /// removed.
    pub const fn is_pure(self) -> bool {
        !(self.reads || self.writes || self.convergent || self.ordered || self.traps)
    }
}

/// The effects in a declaration.
macro_rules! effects {
    ({ $($effect:ident $(: $condition:expr)?),* }) => {
        Effects { $($effect: effects!(@ $($condition)?),)* ..Effects::NONE }
    };
    (@) => {
        true
    };
    (@ $condition:expr) => {
        $condition
    };
}
pub(super) use effects;
