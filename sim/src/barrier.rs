//! CTA barriers: sixteen per CTA, each with the number of threads that it waits for.
//!
//! Arrivals are recorded per thread, as the hardware has done since Volta, so parts of a warp may
//! arrive one after another, from different places in the program. But the barrier counts warps: a
//! warp has arrived when all of its threads that have not exited have arrived (PTX ISA, `barrier`:
//! the executing thread waits for all non-exited threads from its warp, and marks the warp's
//! arrival). The warp then counts as 32 threads, whole or not. Without a count the barrier waits
//! for all warps of the CTA that have not exited. When the barrier is complete, all waiting threads
//! continue, and the next phase begins.

use crate::error::Fault;

/// The fault of an arrival that does not give the number of awaited threads, which PTX requires.
pub(crate) const ARRIVES_WITHOUT_COUNT: &str =
    "arrives at a barrier without the count of the threads that it awaits";

/// The operation of a reduction barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    /// The number of threads whose predicate holds.
    Popc,
    /// Whether all predicates hold.
    And,
    /// Whether a predicate holds.
    Or,
}

/// An arrival of lanes of one warp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// The warp in the CTA.
    pub warp: u32,
    /// The lanes.
    pub lanes: u32,
    /// The number of awaited threads; `None` means all.
    pub count: Option<u32>,
    /// The reduction, and the lanes whose predicate holds.
    pub reduction: Option<(Reduction, u32)>,
}

/// The number of missing warps that a report names.
const SHOWN: usize = 4;

/// One barrier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barrier {
    /// For each warp, the lanes that have arrived in this phase.
    arrived: Vec<u32>,
    /// The count of this phase, given by its first arrival.
    count: Option<u32>,
    reduction: Option<Reduction>,
    /// The number of arrivals with a predicate, and the number of those whose predicate holds.
    votes: (u32, u32),
}

impl Barrier {
    /// Records the arrival of lanes.
    pub fn arrive(&mut self, arrival: Arrival, warps: usize) -> Result<(), Fault> {
        let lane = arrival.lanes.trailing_zeros();
        if let Some(count) = arrival.count
            && (count == 0 || !count.is_multiple_of(32))
        {
            let what =
                format!("a barrier for {count} threads: the count must be a multiple of 32, and not 0");
            return Err(Fault::new(lane, what));
        }
        if self.arrived.iter().all(|&lanes| lanes == 0) {
            self.arrived.resize(warps, 0);
            self.count = arrival.count;
        } else if self.count != arrival.count {
            // A count of all warps of the CTA awaits the same threads as no count.
            let all = |count: Option<u32>| count.is_none_or(|count| u64::from(count) == warps as u64 * 32);
            if all(self.count) && all(arrival.count) {
                self.count = None;
                return self.add(arrival);
            }
            let threads = |count: Option<u32>| count.map_or("all".to_string(), |count| count.to_string());
            let (own, others) = (threads(arrival.count), threads(self.count));
            let what = format!("awaits {own} threads, but others await {others}");
            return Err(Fault::new(lane, what));
        }
        self.add(arrival)
    }

    /// Adds lanes to the phase.
    fn add(&mut self, arrival: Arrival) -> Result<(), Fault> {
        let before = &mut self.arrived[arrival.warp as usize];
        if *before & arrival.lanes != 0 {
            let lane = (*before & arrival.lanes).trailing_zeros();
            return Err(Fault::new(lane, "arrives a second time at a barrier that still waits for others"));
        }
        *before |= arrival.lanes;
        if let Some((reduction, holds)) = arrival.reduction {
            self.reduction = Some(reduction);
            self.votes.0 += arrival.lanes.count_ones();
            self.votes.1 += (arrival.lanes & holds).count_ones();
        }
        Ok(())
    }

    /// Whether any thread has arrived and the phase can end, given the live lanes of each warp.
    pub fn is_complete(&self, live: impl Iterator<Item = u32>) -> bool {
        let (mut total, mut all, mut some) = (0, true, false);
        for (arrived, live) in self.arrived.iter().zip(live) {
            let whole = live & !arrived == 0;
            all &= whole;
            some |= *arrived != 0;
            total += if *arrived != 0 && whole { 32 } else { 0 };
        }
        some && self.count.map_or(all, |count| total >= count)
    }

    /// Ends the phase. Returns the result of its reduction as the hardware gives it: a count, or
    /// all ones or zeros.
    pub fn finish(&mut self) -> Option<u32> {
        let (voters, holds) = self.votes;
        let result = self.reduction.map(|reduction| match reduction {
            Reduction::Popc => holds,
            Reduction::And => {
                if holds == voters {
                    u32::MAX
                } else {
                    0
                }
            }
            Reduction::Or => {
                if holds != 0 {
                    u32::MAX
                } else {
                    0
                }
            }
        });
        self.arrived.fill(0);
        self.count = None;
        self.reduction = None;
        self.votes = (0, 0);
        result
    }

    /// The state of the phase for a report, given the live lanes of each warp.
    pub fn describe(&self, live: impl Iterator<Item = u32>) -> String {
        let arrived: u32 = self.arrived.iter().map(|lanes| lanes.count_ones()).sum();
        match self.count {
            Some(count) => format!("{arrived} of {count} threads have arrived"),
            None => {
                let missing =
                    self.arrived.iter().zip(live).map(|(arrived, live)| live & !arrived).enumerate();
                let mut missing = missing.filter(|(_, lanes)| *lanes != 0);
                let shown: Vec<String> = missing
                    .by_ref()
                    .take(SHOWN)
                    .map(|(warp, lanes)| format!("lanes {lanes:#010x} of warp {warp}"))
                    .collect();
                let more = match missing.count() {
                    0 => String::new(),
                    more => format!(" and {more} more warps"),
                };
                format!("{arrived} threads have arrived, missing: {}{more}", shown.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(warp: u32, lanes: u32, count: Option<u32>) -> Arrival {
        Arrival { warp, lanes, count, reduction: None }
    }

    #[test]
    fn a_count_is_in_whole_warps_and_exits_complete_a_barrier_for_all() {
        let mut barrier = Barrier::default();
        barrier.arrive(arrival(0, 0xff, Some(64)), 3).unwrap();
        let live = [0xff, u32::MAX, u32::MAX];
        assert!(!barrier.is_complete(live.into_iter()));
        barrier.arrive(arrival(2, 0xffff, Some(64)), 3).unwrap();
        assert!(!barrier.is_complete(live.into_iter()));
        barrier.arrive(arrival(2, 0xffff_0000, Some(64)), 3).unwrap();
        assert!(barrier.is_complete(live.into_iter()));
        assert_eq!(barrier.finish(), None);
        assert!(!barrier.is_complete(live.into_iter()), "nobody has come to the next phase");

        barrier.arrive(arrival(0, 1, None), 2).unwrap();
        assert!(!barrier.is_complete([1, 4].into_iter()));
        assert!(barrier.is_complete([1, 0].into_iter()));
    }

    #[test]
    fn the_count_of_all_warps_is_no_other_count_than_none() {
        for (first, second) in [(None, Some(64)), (Some(64), None)] {
            let mut barrier = Barrier::default();
            barrier.arrive(arrival(0, u32::MAX, first), 2).unwrap();
            barrier.arrive(arrival(1, 0xff, second), 2).unwrap();
            assert!(!barrier.is_complete([u32::MAX; 2].into_iter()));
            assert!(barrier.is_complete([u32::MAX, 0xff].into_iter()));
        }
        let mut barrier = Barrier::default();
        barrier.arrive(arrival(0, u32::MAX, None), 2).unwrap();
        assert!(barrier.arrive(arrival(1, u32::MAX, Some(32)), 2).is_err());
    }

    #[test]
    fn part_of_a_warp_is_no_arrival() {
        let mut barrier = Barrier::default();
        for warp in 0..4 {
            barrier.arrive(arrival(warp, 0xffff, Some(64)), 4).unwrap();
        }
        assert!(!barrier.is_complete([u32::MAX; 4].into_iter()), "64 threads, but no warp");
        barrier.arrive(arrival(1, 0xffff_0000, Some(64)), 4).unwrap();
        assert!(!barrier.is_complete([u32::MAX; 4].into_iter()));
        assert!(barrier.is_complete([u32::MAX, u32::MAX, u32::MAX, 0xffff].into_iter()), "the others exit");
    }

    #[test]
    fn reductions_count_the_threads_that_vote() {
        let mut barrier = Barrier::default();
        let vote = |reduction, holds| Arrival { reduction: Some((reduction, holds)), ..arrival(0, 7, None) };
        for (reduction, holds, result) in [
            (Reduction::Popc, 5, 2),
            (Reduction::And, 7, u32::MAX),
            (Reduction::And, 3, 0),
            (Reduction::Or, 4, u32::MAX),
            (Reduction::Or, 8, 0),
        ] {
            barrier.arrive(vote(reduction, holds), 1).unwrap();
            assert_eq!(barrier.finish(), Some(result));
        }
    }

    #[test]
    fn misuse_is_a_fault() {
        let mut barrier = Barrier::default();
        assert!(barrier.arrive(arrival(0, 1, Some(33)), 1).is_err());
        barrier.arrive(arrival(0, 1, Some(64)), 1).unwrap();
        assert!(barrier.arrive(arrival(0, 2, Some(32)), 1).is_err());
        assert_eq!(barrier.arrive(arrival(0, 3, Some(64)), 1).unwrap_err().lane, 0);
    }
}
