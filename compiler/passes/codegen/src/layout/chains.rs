//! Block order by chains along likely edges.
//!
//! In: the edges between blocks with their frequencies. Out: an order in which likely edges are
//! fall-throughs, loops are contiguous and cold blocks come last. The algorithm is the bottom-up
//! positioning of Pettis and Hansen ("Profile guided code positioning", PLDI 1990): every block is
//! a chain at first; edges in falling order of weight join the chain that ends in their source with
//! the chain that begins with their target. The edge of a jump counts a third more than that of a
//! branch, since a jump that falls through needs no instruction; so loops that test at their top
//! get the test at their bottom. Then chains are placed, the entry's first, and then always the
//! chain with the heaviest edge from the placed ones. Edges inside a loop are heavier than those
//! out of it, so its chains are placed before the code that follows it. Ties go to the old order.
//! O(e log e) in the edges.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An edge between blocks, numbered by their old position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    /// Its source.
    pub(super) from: usize,
    /// Its target.
    pub(super) to: usize,
    /// Its frequency for one run of the entry, in units of 1/1024.
    pub(super) weight: u64,
}

/// Orders the blocks `0..count`; block 0 is the entry. Blocks that no arc reaches follow at the
/// end.
pub(super) fn order(count: usize, arcs: &[Arc]) -> Vec<usize> {
    let mut sorted: Vec<Arc> = arcs.to_vec();
    // The only arc of a source saves a jump if it falls through; a branch stays a branch.
    let mut ways = vec![0u32; count];
    arcs.iter().for_each(|arc| ways[arc.from] += 1);
    let gain = |arc: &Arc| if ways[arc.from] == 1 { arc.weight } else { arc.weight - arc.weight / 4 };
    sorted.sort_by_key(|arc| (Reverse(gain(arc)), arc.to != arc.from + 1, arc.from, arc.to));

    let mut chains = Chains::new(count);
    for arc in &sorted {
        if arc.to != 0 {
            chains.join(arc.from, arc.to);
        }
    }

    let mut outgoing: Vec<Vec<Arc>> = vec![Vec::new(); count];
    for arc in arcs {
        outgoing[arc.from].push(*arc);
    }
    let mut result = Vec::with_capacity(count);
    let mut placed = vec![false; count];
    let mut candidates = BinaryHeap::new();
    let starts = std::iter::once(0).chain(1..count);
    for start in starts {
        candidates.push((0, Reverse(start)));
        while let Some((_, Reverse(block))) = candidates.pop() {
            let mut next = Some(chains.first(block));
            if next.is_some_and(|first| placed[first]) {
                continue;
            }
            while let Some(block) = next {
                placed[block] = true;
                result.push(block);
                candidates.extend(outgoing[block].iter().map(|arc| (arc.weight, Reverse(arc.to))));
                next = chains.next[block];
            }
        }
    }
    result
}

/// Chains of blocks: each block knows its follower, each chain its ends.
struct Chains {
    next: Vec<Option<usize>>,
    has_previous: Vec<bool>,
    /// Union-find over the blocks of a chain; the root is the chain's name.
    parent: Vec<usize>,
    /// First block of the chain, by name.
    head: Vec<usize>,
}

impl Chains {
    fn new(count: usize) -> Chains {
        Chains {
            next: vec![None; count],
            has_previous: vec![false; count],
            parent: (0..count).collect(),
            head: (0..count).collect(),
        }
    }

    fn find(&mut self, mut block: usize) -> usize {
        while self.parent[block] != block {
            self.parent[block] = self.parent[self.parent[block]];
            block = self.parent[block];
        }
        block
    }

    fn first(&mut self, block: usize) -> usize {
        let chain = self.find(block);
        self.head[chain]
    }

    /// Lets `to` follow `from`, if `from` ends a chain and `to` begins another.
    fn join(&mut self, from: usize, to: usize) {
        if self.next[from].is_some() || self.has_previous[to] {
            return;
        }
        let (front, back) = (self.find(from), self.find(to));
        if front != back {
            self.next[from] = Some(to);
            self.has_previous[to] = true;
            self.parent[back] = front;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arcs(list: &[(usize, usize, u64)]) -> Vec<Arc> {
        list.iter().map(|&(from, to, weight)| Arc { from, to, weight }).collect()
    }

    #[test]
    fn a_cold_arm_goes_to_the_end() {
        // 0 -> 1 (cold) or 2 (hot); both -> 3.
        let arcs = arcs(&[(0, 1, 10), (0, 2, 1014), (1, 3, 10), (2, 3, 1014)]);
        assert_eq!(order(4, &arcs), [0, 2, 3, 1]);
    }

    #[test]
    fn a_loop_stays_together() {
        // The loop 1..3 with a cold arm 2 inside, then 4; 3 closes the loop.
        let arcs = arcs(&[(0, 1, 1024), (1, 2, 100), (1, 3, 9000), (2, 3, 100), (3, 1, 8000), (3, 4, 1024)]);
        let order = order(5, &arcs);
        assert_eq!(order[0], 0);
        assert_eq!(order[1], 1);
        assert_eq!(order[2], 3);
        assert!(order.contains(&2) && order.contains(&4));
    }

    #[test]
    fn a_loop_that_is_tested_at_its_top_is_laid_out_with_the_test_at_its_bottom() {
        // 1 tests; 2 is the body, which jumps back; 3 follows the loop.
        let arcs = arcs(&[(0, 1, 1024), (1, 2, 9216), (1, 3, 1024), (2, 1, 9216)]);
        assert_eq!(order(4, &arcs), [0, 2, 1, 3]);
    }

    #[test]
    fn the_entry_is_first_even_inside_a_loop() {
        let arcs = arcs(&[(0, 1, 5000), (1, 0, 4000), (1, 2, 1000)]);
        assert_eq!(order(3, &arcs), [0, 1, 2]);
    }
}
