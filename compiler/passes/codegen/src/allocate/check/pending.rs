//! The blocks that a fixpoint still has to visit.

/// A set of places in an order, visited in sweeps: a place at or before the last visited one waits
/// for the next sweep. So all loops of a nest see a change at once.
pub(super) struct Pending {
    /// A bit for each place.
    words: Vec<u64>,
    /// The place where the sweep continues.
    at: usize,
}

impl Pending {
    /// An empty set of places.
    pub fn new(places: usize) -> Pending {
        Pending { words: vec![0; places.div_ceil(64)], at: 0 }
    }

    /// Adds a place.
    pub fn add(&mut self, place: usize) {
        self.words[place / 64] |= 1 << (place % 64);
    }

    /// Takes the next place: the first one from the current place of the sweep on, or else the
    /// first one of all.
    pub fn next(&mut self) -> Option<usize> {
        let place = self.first_from(self.at).or_else(|| self.first_from(0))?;
        self.words[place / 64] &= !(1 << (place % 64));
        self.at = place + 1;
        Some(place)
    }

    fn first_from(&self, start: usize) -> Option<usize> {
        let mut mask = u64::MAX << (start % 64);
        for (index, word) in self.words.iter().enumerate().skip(start / 64) {
            if word & mask != 0 {
                return Some(64 * index + (word & mask).trailing_zeros() as usize);
            }
            mask = u64::MAX;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_passed_waits_for_the_next_sweep() {
        let mut pending = Pending::new(130);
        pending.add(0);
        assert_eq!(pending.next(), Some(0));
        for place in [0, 129, 3, 64] {
            pending.add(place);
        }
        assert_eq!(pending.next(), Some(3));
        pending.add(2);
        pending.add(3);
        assert_eq!([(); 6].map(|()| pending.next()), [Some(64), Some(129), Some(0), Some(2), Some(3), None]);
    }
}
