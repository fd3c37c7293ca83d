//! A warp in time: which path of it runs, what it waits for, and where its cycles went.

use super::observe::WarpId;
use super::stalls::{Cause, Stalls};
use crate::warp::{Control, Group, Wait};

/// The cycle of what has no time yet.
pub(super) const NEVER: u64 = u64::MAX;

/// Number of scoreboards.
const SCOREBOARDS: usize = ptxc_sass::Control::SCOREBOARDS as usize;

/// A scoreboard: a counter that is zero when everything that it counted has been done.
#[derive(Clone, Copy, Debug, Default)]
struct Scoreboard {
    /// When it is zero.
    free: u64,
    /// When it would have been without the instruction that took it last.
    before: u64,
    /// When that was issued.
    taken: u64,
}

/// A warp on the SM.
#[derive(Debug)]
pub(super) struct Warp {
    /// Who it is.
    pub id: WarpId,
    /// Its CTA's index in the grid.
    pub cta: usize,
    /// The index, among its groups of lanes, of the path that runs.
    pub group: usize,
    /// The next instruction of that path.
    pub pc: u32,
    /// The earliest cycle of the next issue as far as the warp itself is concerned; [`NEVER`] while it waits for others.
    pub ready: u64,
    /// Its first cycle.
    pub start: u64,
    /// The cycle of its last issue.
    pub issued_at: u64,
    /// When the stall count of that has passed.
    pub stalled: u64,
    /// It does nothing until then, and why.
    pub blocked: (u64, Cause),
    /// When all that it asked of memory is done.
    pub outstanding: u64,
    /// The line of instructions that it is in.
    pub line: Option<u64>,
    /// Instructions since a path got its turn.
    pub turn: u32,
    /// The first cycle that is not accounted for.
    pub accounted: u64,
    /// Why it does not issue from then on.
    pub hold: Cause,
    /// Instructions issued.
    pub issued: u64,
    /// The cycles in which it did not.
    pub stalls: Stalls,
    /// What was told to observers last, as far as it may grow: first cycle and cause.
    pub told: (u64, Cause),
    scoreboards: [Scoreboard; SCOREBOARDS],
}

impl Warp {
    /// A warp that starts.
    pub fn new(id: WarpId, cta: usize, start: u64) -> Warp {
        Warp {
            id,
            cta,
            group: 0,
            pc: 0,
            ready: start,
            start,
            issued_at: start,
            stalled: start,
            blocked: (0, Cause::Fence),
            outstanding: 0,
            line: None,
            turn: 0,
            accounted: start,
            hold: Cause::NotSelected,
            issued: 0,
            stalls: Stalls::default(),
            told: (start, Cause::NotSelected),
            scoreboards: Default::default(),
        }
    }

    /// Takes a scoreboard from the cycle after `issue` until `free`.
    pub fn take(&mut self, scoreboard: u8, issue: u64, free: u64) {
        let Some(board) = self.scoreboards.get_mut(usize::from(scoreboard)) else { return };
        if board.taken != issue || board.free == 0 {
            board.before = board.free;
            board.taken = issue;
        }
        board.free = board.free.max(free);
    }

    /// When all scoreboards of a mask are free for an instruction that could issue at `at`. What was taken the cycle
    /// before is not seen yet.
    pub fn scoreboards_free(&self, mask: u8, at: u64) -> u64 {
        let waits = self.scoreboards.iter().enumerate().filter(|(index, _)| mask >> index & 1 != 0);
        waits.fold(0, |free, (_, board)| {
            free.max(if board.taken + 1 >= at { board.before } else { board.free })
        })
    }
}

/// The path that runs next, after one at `from` with `lanes` did something else than go straight on; `rotate` if another
/// one shall have its turn. An index into the groups.
///
/// Whatever is left of the lanes that just ran goes on, the part that is behind first, so that parts meet; if they
/// wait, whoever is behind most. Lanes that have the uniform registers to themselves go before all.
pub(super) fn choose_path(control: &Control, lanes: u32, rotate: bool) -> Option<usize> {
    let ready = || control.groups.iter().enumerate().filter(|(_, group)| group.wait == Wait::Ready);
    let first = control.first();
    if let Some((index, _)) = ready().find(|(_, group)| group.lanes & first != 0) {
        return Some(index);
    }
    let behind = |(_, group): &(usize, &Group)| (group.pc, group.lanes);
    let first_lane = |group: &Group| group.lanes.trailing_zeros();
    if rotate {
        let mine = lanes.trailing_zeros();
        let next =
            ready().filter(|(_, group)| first_lane(group) > mine).min_by_key(|(_, group)| first_lane(group));
        let next = next.or_else(|| ready().min_by_key(|(_, group)| first_lane(group)));
        return next.map(|(index, _)| index);
    }
    let same = ready().filter(|(_, group)| group.lanes & lanes != 0).min_by_key(behind);
    same.or_else(|| ready().min_by_key(behind)).map(|(index, _)| index)
}

/// What a warp none of whose paths can run waits for.
pub(super) fn waits_for(control: &Control) -> Cause {
    match control.groups.iter().any(|group| matches!(group.wait, Wait::Cta(_))) {
        true => Cause::Barrier,
        false => Cause::Convergence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scoreboard_is_seen_two_cycles_after_it_is_taken() {
        let mut warp = Warp::new(WarpId { cta: 0, warp: 0 }, 0, 0);
        warp.take(2, 10, 50);
        assert_eq!(warp.scoreboards_free(0b100, 11), 0);
        assert_eq!(warp.scoreboards_free(0b100, 12), 50);
        assert_eq!(warp.scoreboards_free(0b011, 12), 0);
        warp.take(2, 20, 40);
        assert_eq!(warp.scoreboards_free(0b100, 21), 50, "the first one still counts");
        assert_eq!(warp.scoreboards_free(0b100, 30), 50);
    }
}
