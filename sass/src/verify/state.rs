//! The state at the entry of a block: everything that is under way.

use super::arrival::Unarrived;
use super::fixed::Fixed;
use super::groups::InGroup;
use super::pending::Pending;
use crate::latency::Ahead;

/// The age, in cycles, at which an access is old enough for every consumer: above every entry of
/// the latency tables.
pub(super) const HORIZON: u8 = 40;

/// The age from which a scoreboard counts an instruction.
pub(super) const VISIBLE: u8 = 2;

/// Groups of asynchronous copies that are under way and set the same scoreboards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Groups {
    /// The scoreboards that count them.
    pub(super) scoreboards: u8,
    /// The instruction that made one of them.
    pub(super) producer: u32,
}

/// A fence of the asynchronous view that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct View {
    /// The scoreboards that a wait for it names.
    pub(super) scoreboards: u8,
    /// Cycles since the issue of the youngest fence with these scoreboards, up to [`VISIBLE`].
    pub(super) age: u8,
    /// The instruction of the youngest fence.
    pub(super) producer: u32,
}

/// The known state of the warp's barrier result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ResultState {
    /// Nothing is known: code before the function may have left a result.
    #[default]
    Unknown,
    /// The last barrier left a result.
    There,
    /// Since this instruction, the result may be that of an earlier barrier than the last, or of
    /// none.
    Lost(u32),
}

/// Everything that is under way or known, besides accesses of registers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Others {
    /// By the number of an [`Ahead`], the last such instruction and its age, below [`HORIZON`].
    pub(super) ahead: [Option<(u32, u8)>; Ahead::ALL.len()],
    pub(super) result: ResultState,
    /// Groups of copies, by the scoreboards that they set.
    pub(super) groups: Vec<Groups>,
    /// Fences of the asynchronous view that are under way, likewise.
    pub(super) views: Vec<View>,
    /// An access to shared memory with no fence of the asynchronous view after it.
    pub(super) unfenced: Option<u32>,
    /// The registers that a matrix product must not read before `WARPGROUP.ARRIVE`.
    pub(super) unarrived: Unarrived,
    /// The last change of the number of general registers: the number, and the instruction. `None` is the
    /// number at the launch.
    pub(super) granted: Option<(u16, u32)>,
}

/// Everything under way, sorted by key.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    fixed: Vec<Fixed>,
    pending: Vec<Pending>,
    in_groups: Vec<InGroup>,
    others: Others,
}

impl State {
    /// A state from everything that is under way, in any order.
    pub(super) fn new(
        mut fixed: Vec<Fixed>,
        mut pending: Vec<Pending>,
        mut in_groups: Vec<InGroup>,
        others: Others,
    ) -> State {
        Fixed::merge(&mut fixed);
        Pending::merge(&mut pending);
        InGroup::merge(&mut in_groups);
        State { fixed, pending, in_groups, others }
    }

    /// The state where paths meet: everything that is under way on any path, with its youngest age.
    /// Cost: sorting the states of the paths.
    pub(super) fn join<'a>(paths: impl Iterator<Item = &'a State>) -> State {
        let (mut fixed, mut pending, mut in_groups) = (Vec::new(), Vec::new(), Vec::new());
        let mut others = Others::default();
        for path in paths {
            fixed.extend_from_slice(&path.fixed);
            pending.extend_from_slice(&path.pending);
            in_groups.extend_from_slice(&path.in_groups);
            others.join(&path.others);
        }
        others.groups.sort_unstable();
        others.groups.dedup_by_key(|groups| groups.scoreboards);
        others.views.sort_unstable();
        others.views.dedup_by_key(|views| views.scoreboards);
        others.unarrived.merge();
        State::new(fixed, pending, in_groups, others)
    }

    /// Accesses of fixed latency.
    pub(super) fn fixed(&self) -> &[Fixed] {
        &self.fixed
    }

    /// Accesses that scoreboards announce.
    pub(super) fn pending(&self) -> &[Pending] {
        &self.pending
    }

    /// Accesses that end with a group of products.
    pub(super) fn in_groups(&self) -> &[InGroup] {
        &self.in_groups
    }

    /// The rest.
    pub(super) fn others(&self) -> &Others {
        &self.others
    }
}

impl Others {
    /// Joins the state of another path; appends its lists.
    fn join(&mut self, path: &Others) {
        self.groups.extend_from_slice(&path.groups);
        self.views.extend_from_slice(&path.views);
        self.unfenced = self.unfenced.max(path.unfenced);
        self.unarrived.append(&path.unarrived);
        // The fewest registers of all paths.
        self.granted = match (self.granted, path.granted) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        for (mine, theirs) in self.ahead.iter_mut().zip(path.ahead) {
            *mine = younger(*mine, theirs);
        }
        // The worst state of all paths; of several culprits, the last one in the program.
        self.result = self.result.max(path.result);
    }

    /// Lets cycles pass; returns whether any entry is still young afterwards.
    pub(super) fn pass(&mut self, cycles: u8) -> bool {
        for view in &mut self.views {
            view.age = view.age.saturating_add(cycles).min(VISIBLE);
        }
        for ahead in &mut self.ahead {
            *ahead = ahead.map(|(index, age)| (index, age.saturating_add(cycles)));
            *ahead = ahead.filter(|&(_, age)| age < HORIZON);
        }
        self.ahead.iter().any(Option::is_some) || self.views.iter().any(|view| view.age < VISIBLE)
    }
}

/// The younger of two instructions with their ages; if they are equally young, the first one in the
/// program.
fn younger(one: Option<(u32, u8)>, other: Option<(u32, u8)>) -> Option<(u32, u8)> {
    match (one, other) {
        (Some(a), Some(b)) => Some(if (a.1, a.0) <= (b.1, b.0) { a } else { b }),
        (a, b) => a.or(b),
    }
}
