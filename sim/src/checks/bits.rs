//! A set of bytes of a memory: one bit for each byte.

/// A set of bytes.
#[derive(Clone, Debug)]
pub(crate) struct Bits {
    words: Vec<u64>,
    /// The number of bytes that are not in the set.
    missing: usize,
}

/// The bits of a word.
const WORD: usize = u64::BITS as usize;

/// For each word that a range of bytes touches: its index and the touched bits.
#[inline]
fn parts(start: usize, count: usize) -> impl Iterator<Item = (usize, u64)> {
    let end = start + count;
    (start / WORD..end.div_ceil(WORD)).map(move |word| {
        let low = start.saturating_sub(word * WORD);
        let high = (end - word * WORD).min(WORD);
        (word, (u64::MAX >> (WORD - high)) & (u64::MAX << low))
    })
}

impl Bits {
    /// The empty set, for a memory of this size.
    pub fn new(bytes: usize) -> Bits {
        Bits { words: vec![0; bytes.div_ceil(WORD)], missing: bytes }
    }

    /// Whether all bytes of the memory are in the set.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.missing == 0
    }

    /// Adds a range of the memory.
    #[inline]
    pub fn add(&mut self, start: usize, count: usize) {
        if self.missing == 0 || count == 0 {
            return;
        }
        for (word, mask) in parts(start, count) {
            self.missing -= (mask & !self.words[word]).count_ones() as usize;
            self.words[word] |= mask;
        }
    }

    /// Removes a byte of the memory.
    pub fn remove(&mut self, byte: usize) {
        let Some(word) = self.words.get_mut(byte / WORD) else { return };
        let bit = 1 << (byte % WORD);
        self.missing += usize::from(*word & bit != 0);
        *word &= !bit;
    }

    /// Whether the set contains a range of the memory.
    #[inline]
    pub fn has(&self, start: usize, count: usize) -> bool {
        self.missing == 0
            || count == 0
            || parts(start, count).all(|(word, mask)| mask & !self.words[word] == 0)
    }

    /// Adds the bytes of an access of at most 64 bytes, which mostly lie in one word.
    #[inline]
    pub fn add_few<const BYTES: usize>(&mut self, start: usize) {
        let (word, shift) = (start / WORD, start % WORD);
        match self.words.get_mut(word) {
            Some(bits) if shift + BYTES <= WORD => {
                let mask = (u64::MAX >> (WORD - BYTES)) << shift;
                self.missing -= (mask & !*bits).count_ones() as usize;
                *bits |= mask;
            }
            _ => self.add(start, BYTES),
        }
    }

    /// Whether the set contains the bytes of such an access.
    #[inline]
    pub fn has_few<const BYTES: usize>(&self, start: usize) -> bool {
        let (word, shift) = (start / WORD, start % WORD);
        match self.words.get(word) {
            Some(bits) if shift + BYTES <= WORD => {
                let mask = u64::MAX >> (WORD - BYTES);
                bits >> shift & mask == mask
            }
            _ => self.has(start, BYTES),
        }
    }

    /// The first byte of a range that is not in the set.
    pub fn first_missing(&self, start: usize, count: usize) -> Option<usize> {
        (start..start + count).find(|&byte| !self.has(byte, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_across_words() {
        let mut bits = Bits::new(200);
        bits.add(60, 8);
        assert!(bits.has(60, 8) && !bits.has(59, 2) && !bits.has(67, 2));
        assert_eq!(bits.first_missing(60, 10), Some(68));
        bits.add_few::<8>(192);
        bits.add_few::<4>(126);
        assert!(bits.has_few::<8>(192) && bits.has_few::<4>(126) && !bits.has_few::<8>(191));
        bits.add(0, 128);
        assert!(bits.has(0, 128) && !bits.is_full());
        bits.add(100, 100);
        assert!(bits.is_full() && bits.has(0, 200));
        assert_eq!(bits.first_missing(0, 200), None);
        bits.remove(150);
        bits.remove(150);
        assert!(!bits.is_full() && !bits.has(149, 2));
        bits.add(150, 1);
        assert!(bits.is_full());
    }
}
