//! A set-associative cache of sectored lines that records when each sector arrives.
//!
//! The least recently used line of a set is replaced. The cost of an access is proportional to the
//! number of ways.

/// The result of looking for a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The sector is present, or arrives in that cycle.
    At(u64),
    /// The sector is not present.
    Missing,
}

/// A cache.
#[derive(Debug)]
pub(super) struct Cache {
    sets: usize,
    ways: usize,
    sectors: usize,
    /// The line of each way, plus one; 0 if the way is empty.
    tags: Vec<u64>,
    /// The last use of each way.
    used: Vec<u64>,
    /// For each way and sector, the cycle of its arrival plus one; 0 if it is absent.
    arrivals: Vec<u64>,
    clock: u64,
}

impl Cache {
    /// An empty cache of about `bytes` bytes.
    pub fn new(bytes: u32, line: u32, sectors: u32, ways: u32) -> Cache {
        let (ways, sectors) = (ways.max(1) as usize, sectors.max(1) as usize);
        let sets = ((bytes / line) as usize / ways).max(1);
        Cache {
            sets,
            ways,
            sectors,
            tags: vec![0; sets * ways],
            used: vec![0; sets * ways],
            arrivals: vec![0; sets * ways * sectors],
            clock: 0,
        }
    }

    fn ways_of(&self, line: u64) -> std::ops::Range<usize> {
        // Lines whose distance is a power of two should not all be in one set.
        let set = ((line ^ line >> 17) % self.sets as u64) as usize;
        set * self.ways..(set + 1) * self.ways
    }

    /// Looks up a sector of a line.
    pub fn look_up(&mut self, line: u64, sector: usize) -> Found {
        let Some(way) = self.ways_of(line).find(|&way| self.tags[way] == line + 1) else {
            return Found::Missing;
        };
        self.clock += 1;
        self.used[way] = self.clock;
        match self.arrivals[way * self.sectors + sector] {
            0 => Found::Missing,
            arrival => Found::At(arrival - 1),
        }
    }

    /// Fills a sector of a line, which arrives in cycle `arrival`.
    pub fn fill(&mut self, line: u64, sector: usize, arrival: u64) {
        let ways = self.ways_of(line);
        let way = ways.clone().find(|&way| self.tags[way] == line + 1).unwrap_or_else(|| {
            let victim = ways.clone().min_by_key(|&way| self.used[way]).unwrap_or(ways.start);
            self.tags[victim] = line + 1;
            self.arrivals[victim * self.sectors..(victim + 1) * self.sectors].fill(0);
            victim
        });
        self.clock += 1;
        self.used[way] = self.clock;
        self.arrivals[way * self.sectors + sector] = arrival + 1;
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.tags.fill(0);
        self.used.fill(0);
        self.arrivals.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_was_not_used_longest_goes() {
        let mut cache = Cache::new(2 * 128, 128, 4, 2);
        cache.fill(7, 1, 100);
        cache.fill(9, 0, 200);
        assert_eq!(cache.look_up(7, 1), Found::At(100));
        assert_eq!(cache.look_up(7, 0), Found::Missing, "another sector of the line");
        cache.fill(11, 0, 300);
        assert_eq!(cache.look_up(9, 0), Found::Missing);
        assert_eq!(cache.look_up(7, 1), Found::At(100));
        cache.clear();
        assert_eq!(cache.look_up(7, 1), Found::Missing);
    }
}
