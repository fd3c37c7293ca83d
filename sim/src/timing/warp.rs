//! A warp in time: the path that runs, the events that it waits for, and the use of its cycles.

use super::observe::WarpId;
use super::stalls::{Cause, Stalls};
use crate::warp::{Control, Group, Wait};

/// The cycle of an event without a known time.
pub(super) const NEVER: u64 = u64::MAX;

/// The number of scoreboards.
const SCOREBOARDS: usize = ptxc_sass::Control::SCOREBOARDS as usize;

/// A scoreboard: a counter that is zero when all events that it counted have happened.
#[derive(Clone, Copy, Debug, Default)]
struct Scoreboard {
    /// The cycle when it is zero.
    free: u64,
    /// The cycle when it would have been zero without the instruction that took it last.
    before: u64,
    /// The issue cycle of that instruction.
    taken: u64,
}

/// A warp on the SM.
#[derive(Debug)]
pub(super) struct Warp {
    /// Its identity.
    pub id: WarpId,
    /// Its CTA's index in the grid.
    pub cta: usize,
    /// The index, among its groups of lanes, of the path that runs.
    pub group: usize,
    /// The next instruction of that path.
    pub pc: u32,
    /// The earliest cycle of the next issue by the state of the warp alone; [`NEVER`] while it
    /// waits for others.
    pub ready: u64,
    /// Its first cycle.
    pub start: u64,
    /// The cycle of its last issue.
    pub issued_at: u64,
    /// The cycle when the stall count of that issue has passed.
    pub stalled: u64,
    /// The cycle until which it does nothing, and the cause.
    pub blocked: (u64, Cause),
    /// The cycle when all its memory accesses are done.
    pub outstanding: u64,
    /// Its current line of instructions.
    pub line: Option<u64>,
    /// Instructions since the current path got its turn.
    pub turn: u32,
    /// The first cycle that is not accounted for.
    pub accounted: u64,
    /// The cause why it does not issue from then on.
    pub hold: Cause,
    /// Instructions issued.
    pub issued: u64,
    /// The cycles in which it did not issue.
    pub stalls: Stalls,
    /// The start and cause of the last stall, which may grow before it is reported to observers.
    pub told: (u64, Cause),
    scoreboards: [Scoreboard; SCOREBOARDS],
    /// The cycles in which the groups of products end, the oldest first; the last one is open.
    products: Vec<u64>,
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
            products: vec![0],
        }
    }

    /// Starts a product of a warpgroup that ends in a cycle, and may be the last one of its group.
    pub fn start_product(&mut self, end: u64, ends_group: bool) {
        if let Some(open) = self.products.last_mut() {
            *open = end.max(*open);
        }
        if ends_group {
            self.products.push(0);
        }
    }

    /// The cycle when at most that many groups of products are under way.
    pub fn end_of_products(&mut self, left: u32) -> u64 {
        let closed = self.products.len() - 1;
        let complete = closed.saturating_sub(left as usize);
        self.products.drain(..complete).max().unwrap_or(0)
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

    /// The cycle when all scoreboards of a mask are free for an instruction that could issue at
    /// `at`. A scoreboard that was taken in the cycle before is not visible yet.
    pub fn scoreboards_free(&self, mask: u8, at: u64) -> u64 {
        let waits = self.scoreboards.iter().enumerate().filter(|(index, _)| mask >> index & 1 != 0);
        waits.fold(0, |free, (_, board)| {
            free.max(if board.taken + 1 >= at { board.before } else { board.free })
        })
    }
}

/// The path that runs next, after one with `lanes` did not simply continue; with `rotate`, another
/// path gets its turn. The result is an index into the groups.
///
/// The remaining lanes of the last path continue, those furthest behind first, so that parts meet.
/// If they wait, the path furthest behind of all continues. Lanes that own the uniform registers go
/// before all others.
pub(super) fn choose_path(control: &Control, lanes: u32, rotate: bool) -> Option<usize> {
    let ready = || control.groups.iter().enumerate().filter(|(_, group)| group.wait == Wait::Ready);
    let first = control.first();
    if let Some((index, _)) = ready().find(|(_, group)| group.lanes & first != 0) {
        return Some(index);
    }
    let position = |(_, group): &(usize, &Group)| (group.pc, group.lanes);
    let first_lane = |group: &Group| group.lanes.trailing_zeros();
    if rotate {
        let mine = lanes.trailing_zeros();
        let next =
            ready().filter(|(_, group)| first_lane(group) > mine).min_by_key(|(_, group)| first_lane(group));
        let next = next.or_else(|| ready().min_by_key(|(_, group)| first_lane(group)));
        return next.map(|(index, _)| index);
    }
    let same = ready().filter(|(_, group)| group.lanes & lanes != 0).min_by_key(position);
    same.or_else(|| ready().min_by_key(position)).map(|(index, _)| index)
}

/// The cause for a warp if none of its paths can run.
pub(super) fn waits_for(control: &Control) -> Cause {
    let any = |is: fn(Wait) -> bool| control.groups.iter().any(|group| is(group.wait));
    if any(|wait| matches!(wait, Wait::Cta(_))) {
        Cause::Barrier
    } else if any(|wait| wait == Wait::Cluster) {
        Cause::Cluster
    } else if any(|wait| matches!(wait, Wait::Mbarrier(_))) {
        Cause::Mbarrier
    } else {
        Cause::Convergence
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
