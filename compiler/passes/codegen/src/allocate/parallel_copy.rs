//! Puts copies that happen at once into an order.
//!
//! In: pairs `(to, from)` of places, each place at most once as `to`. Out: single moves that have
//! the same effect, and the cycles that no order resolves. A place may be a register or a spill
//! slot.
//!
//! ```text
//! a <- b, c <- b, b <- a      =>   c <- b;  then the cycle a <- b <- a
//! ```
//!
//! A place can be overwritten once no pending copy reads it. If no such place exists, the rest is a
//! set of cycles in which each place is read once (Boissinot et al., "Revisiting out-of-SSA
//! translation", CGO 2009, algorithm 1). The cost is linear in the number of pairs, except for
//! hashing.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Moves to perform one after the other, then cycles.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Order<L> {
    /// `(to, from)`.
    pub moves: Vec<(L, L)>,
    /// Each place receives the content of the one after it, the last one that of the first.
    pub cycles: Vec<Vec<L>>,
}

/// Orders copies.
pub(super) fn order<L: Copy + Eq + Hash>(copies: &[(L, L)]) -> Order<L> {
    let mut source: FxHashMap<L, L> = FxHashMap::default();
    let mut readers: FxHashMap<L, u32> = FxHashMap::default();
    for &(to, from) in copies {
        if to != from {
            source.insert(to, from);
            *readers.entry(from).or_default() += 1;
        }
    }
    let mut ready: Vec<L> = copies
        .iter()
        .map(|&(to, _)| to)
        .filter(|to| source.contains_key(to) && !readers.contains_key(to))
        .rev()
        .collect();
    let mut moves = Vec::new();
    while let Some(to) = ready.pop() {
        let Some(from) = source.remove(&to) else { continue };
        moves.push((to, from));
        if let Some(count) = readers.get_mut(&from) {
            *count -= 1;
            if *count == 0 && source.contains_key(&from) {
                ready.push(from);
            }
        }
    }
    let mut cycles = Vec::new();
    for &(first, _) in copies {
        let mut cycle = Vec::new();
        let mut place = first;
        while let Some(from) = source.remove(&place) {
            cycle.push(place);
            place = from;
        }
        if !cycle.is_empty() {
            cycles.push(cycle);
        }
    }
    Order { moves, cycles }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fan_out_comes_before_its_cycle() {
        let order = order(&[('a', 'b'), ('c', 'b'), ('b', 'a')]);
        assert_eq!(order.moves, [('c', 'b')]);
        assert_eq!(order.cycles, [vec!['a', 'b']]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_copies_have_the_effect_of_happening_at_once(
            from in proptest::collection::vec(0u8..8, 8),
            targets in proptest::collection::btree_set(0u8..8, 0..8),
        ) {
            let copies: Vec<(u8, u8)> = targets.iter().map(|&to| (to, from[to as usize])).collect();
            let mut expected: BTreeMap<u8, u8> = (0..8).map(|place| (place, place)).collect();
            copies.iter().for_each(|&(to, from)| { expected.insert(to, from); });
            let order = order(&copies);
            let mut state: BTreeMap<u8, u8> = (0..8).map(|place| (place, place)).collect();
            for (to, from) in order.moves {
                state.insert(to, state[&from]);
            }
            for cycle in order.cycles {
                let first = state[&cycle[0]];
                for pair in cycle.windows(2) {
                    state.insert(pair[0], state[&pair[1]]);
                }
                state.insert(cycle[cycle.len() - 1], first);
            }
            prop_assert_eq!(state, expected);
        }
    }
}
