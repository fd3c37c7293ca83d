//! The bits of registers that come from memory that nothing has written, for [the
//! check](crate::Options::check_unwritten) of their uses.
//!
//! A load, a store or a copy does not use the bits that it moves, so the padding of a structure may
//! be copied. Engines keep the unwritten bits of each word and ask how an instruction treats them.
//! For that they execute it repeatedly, with several [patterns](pattern) in the place of these bits:
//!
//! ```text
//! R2 = R1 >> 16          bits 16 to 31 of R1 are unwritten: bits 0 to 15 of R2 are (Moved)
//! R2 = R1 & 0xffff       no pattern changes R2 (Same)
//! R2 = R1 + R3           R2 is not R1 with its bits elsewhere (Computed)
//! ```
//!
//! No table of instructions is needed, and an instruction that moves bytes counts as a move
//! whatever its name is. Results that are computed from unwritten bits are unwritten too. They may be
//! dropped, as the high bits of a sum of bytes are, but if they leave for global memory, it is a use.
//! Cost: a test per instruction if no word has unwritten bits; otherwise only the instructions that
//! read such bits take longer, by the number of patterns.

use std::collections::BTreeMap;

use crate::checks::{Place, Touch};
use crate::warp::{LANES, lanes_of};

/// A read of unwritten bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// The load.
    pub touch: Touch,
    /// The bytes that it reads.
    pub place: Place,
    /// The address of the first unwritten byte.
    pub missing: u64,
}

/// The unwritten bytes that a lane has loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded {
    /// The lane.
    pub lane: u32,
    /// A bit for each unwritten byte.
    pub missing: u64,
    /// The load.
    pub origin: Origin,
}

/// The unwritten bits of a word in a lane.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bits {
    /// The bits.
    pub bits: u64,
    /// The load that they come from.
    pub origin: Option<Origin>,
    /// Whether they are the result of a computation; otherwise they were only moved.
    pub computed: bool,
}

impl Bits {
    /// What the bits of several words have in common: a load, and whether some are computed.
    pub fn of_all(words: &[Bits]) -> Bits {
        let unwritten = || words.iter().filter(|own| own.bits != 0);
        Bits {
            bits: unwritten().fold(0, |set, own| set | own.bits),
            origin: unwritten().find_map(|own| own.origin),
            computed: unwritten().any(|own| own.computed),
        }
    }
}

/// The unwritten bits of a warp's words, by the number of the word.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unwritten {
    words: BTreeMap<u32, Box<[Bits; LANES]>>,
}

impl Unwritten {
    /// Whether no word has unwritten bits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The unwritten bits of a word in a lane.
    pub fn get(&self, word: u32, lane: u32) -> Bits {
        self.words.get(&word).map_or(Bits::default(), |word| word[lane as usize])
    }

    /// The lanes among `lanes` in which a word has unwritten bits.
    pub fn lanes(&self, word: u32, lanes: u32) -> u32 {
        let Some(word) = self.words.get(&word) else { return 0 };
        lanes_of(lanes).filter(|&lane| word[lane as usize].bits != 0).fold(0, |set, lane| set | 1 << lane)
    }

    /// The load that the unwritten bits of a lane come from. If the lane has none, that of the first
    /// lane that has some.
    pub fn origin(&self, word: u32, lane: u32) -> Option<Origin> {
        let lanes = self.words.get(&word)?;
        lanes[lane as usize].origin.or_else(|| lanes.iter().find_map(|bits| bits.origin))
    }

    /// Sets the unwritten bits of a word in a lane.
    pub fn set(&mut self, word: u32, lane: u32, bits: Bits) {
        if bits.bits == 0 {
            return self.clear(word, 1 << lane);
        }
        self.words.entry(word).or_default()[lane as usize] = bits;
    }

    /// All bits of a word are written in these lanes.
    pub fn clear(&mut self, word: u32, lanes: u32) {
        let Some(own) = self.words.get_mut(&word) else { return };
        lanes_of(lanes).for_each(|lane| own[lane as usize] = Bits::default());
        if own.iter().all(|bits| bits.bits == 0) {
            self.words.remove(&word);
        }
    }

    /// Words are copied to others, all at once: `(from, to)`.
    pub fn copy(&mut self, moves: &[(u32, u32)], lanes: u32) {
        let sources: Vec<_> = moves.iter().map(|(from, _)| self.words.get(from).cloned()).collect();
        for (&(_, to), source) in moves.iter().zip(sources) {
            self.clear(to, lanes);
            let Some(source) = source else { continue };
            lanes_of(lanes).for_each(|lane| self.set(to, lane, source[lane as usize]));
        }
    }
}

/// The number of patterns.
pub(crate) const PATTERNS: usize = 10;

/// The value with which an instruction is executed instead of one with unwritten bits. The first
/// patterns replace these bits, the last ones all bits up to the highest that is set or unwritten.
/// `operand` tells apart operands with different bits.
pub(crate) fn pattern(number: usize, operand: usize, value: u64, bits: u64) -> u64 {
    // 64 bits of the golden ratio, different for each operand.
    let mixed = 0x9e37_79b9_7f4a_7c15_u64.rotate_left(7 * operand as u32);
    let top = 1 << bits.checked_ilog2().unwrap_or(0);
    let (replaced, pattern) = match number {
        0 => (bits, 0),
        1 => (bits, u64::MAX),
        2 => (bits, mixed),
        3 => (bits, !mixed),
        4 => (bits, top),
        5 => (bits, !top),
        6 => (up_to_highest(bits | value), 0),
        7 => (up_to_highest(bits | value), u64::MAX),
        8 => (up_to_highest(bits | value), mixed),
        _ => (up_to_highest(bits | value), !mixed),
    };
    value & !replaced | pattern & replaced
}

/// The highest bit of a set, and all bits below it.
fn up_to_highest(bits: u64) -> u64 {
    u64::MAX.checked_shr(bits.leading_zeros()).unwrap_or(0)
}

/// How an instruction treats unwritten bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// The result does not depend on them.
    Same,
    /// They are these bits of the result.
    Moved(u64),
    /// These bits of the result are computed from them.
    Computed(u64),
}

/// How an instruction treats unwritten bits, by its results for all patterns. It moves them if two
/// halves of them change the result as both together do, and the same holds for the whole operand.
pub(crate) fn treatment(results: &[u64; PATTERNS]) -> Treatment {
    let [none, all, half, rest, top, others, nothing, whole, a, b] = *results;
    let replaced = [all, half, rest, top, others];
    let differences = replaced.iter().fold(0, |set, result| set | (result ^ none));
    let splits = half ^ rest == all ^ none && top ^ others == all ^ none;
    match differences {
        0 => Treatment::Same,
        bits if splits && a ^ b == whole ^ nothing => Treatment::Moved(bits),
        bits if splits => Treatment::Computed(bits),
        // A carry may reach all higher bits.
        bits => {
            let results = replaced.iter().fold(none, |set, result| set | result);
            Treatment::Computed(up_to_highest(results) & u64::MAX << bits.trailing_zeros())
        }
    }
}

impl Treatment {
    /// The unwritten bits of the result, which come from a load.
    pub fn bits(self, origin: Option<Origin>) -> Bits {
        match self {
            Treatment::Same => Bits::default(),
            Treatment::Moved(bits) => Bits { bits, origin, computed: false },
            Treatment::Computed(bits) => Bits { bits, origin, computed: true },
        }
    }
}

/// Whether a value consists of unwritten bits alone, above which there are only zeros: no part of it
/// was written, so it is no padding. A comparison with it mostly has one result for all patterns.
pub(crate) fn is_unwritten_whole(value: u64, bits: u64) -> bool {
    bits & 1 == 1 && (bits.wrapping_add(1) & bits) == 0 && value & !bits == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Role;
    use crate::space::Space;

    /// The treatment of bits of one operand.
    fn of(value: u64, bits: u64, f: impl Fn(u64) -> u64) -> Treatment {
        treatment(&std::array::from_fn(|number| f(pattern(number, 0, value, bits))))
    }

    #[test]
    fn moves_keep_bits() {
        for f in [|a: u64| a, |a| a | 0x70_0000, |a| a + 0x70_0000, |a| a << 8 >> 8] {
            assert_eq!(of(7, 0xff00, f), Treatment::Moved(0xff00));
        }
        assert_eq!(of(7, 0xff00, |a| a >> 4 | 1 << 40), Treatment::Moved(0xff0));
        assert_eq!(of(7, 0xff00, |a| a * 0x10000 + 3), Treatment::Moved(0xff00_0000));
        assert_eq!(of(7, 0xff00, |a| a as u16 as i16 as u64), Treatment::Moved(0xffff_ffff_ffff_ff00));
        assert_eq!(of(7, 0xff00, |a| a & 0xff), Treatment::Same);
        assert_eq!(of(7, 0xff00, |a| u64::from(a & 1 == 1)), Treatment::Same);
    }

    #[test]
    fn arithmetic_computes_bits() {
        assert_eq!(of(7, 0xff00, |a| a + 1), Treatment::Computed(0xff00), "the low byte is written");
        assert_eq!(of(0xff, 0xff00, |a| a + 1), Treatment::Computed(0x1_ff00), "the sum carries");
        let computes = |bits, f: fn(u64) -> u64| matches!(of(7, bits, f), Treatment::Computed(_));
        assert!(computes(0xff00, |a| a + 0x100));
        assert!(computes(0xff00, |a| a * 3));
        assert!(computes(0xff00, |a| a.count_ones().into()));
        assert!(computes(0xff_ffff, |a| f32::from_bits(a as u32).sqrt().to_bits().into()));
    }

    #[test]
    fn operands_with_the_same_bits_differ() {
        let sum = |number| pattern(number, 0, 0, 0xff) ^ pattern(number, 1, 0, 0xff);
        assert!(matches!(treatment(&std::array::from_fn(sum)), Treatment::Moved(1..)));
        let product = |number| pattern(number, 0, 0, 0xff) & pattern(number, 1, 0, 0xff);
        assert!(matches!(treatment(&std::array::from_fn(product)), Treatment::Computed(_)));
    }

    #[test]
    fn whole_values() {
        assert!(is_unwritten_whole(0x12, 0xff) && is_unwritten_whole(u64::MAX, u64::MAX));
        assert!(
            !is_unwritten_whole(0x100, 0xff) && !is_unwritten_whole(0, 0) && !is_unwritten_whole(0, 0xff00)
        );
    }

    #[test]
    fn words_move_at_once() {
        let touch = Touch { pc: 3, role: Role::Read, cta: [0; 3], thread: 0 };
        let place = Place { space: Space::Local, cta: [0; 3], start: 0, bytes: 4 };
        let of = |bits| Bits { bits, origin: Some(Origin { touch, place, missing: 1 }), computed: false };
        let mut words = Unwritten::default();
        words.set(1, 4, of(0xf0));
        words.set(2, 5, of(0xf));
        words.copy(&[(1, 2), (2, 1)], 0x30);
        assert_eq!((words.get(2, 4).bits, words.get(1, 5).bits), (0xf0, 0xf));
        assert_eq!((words.get(1, 4).bits, words.get(2, 5).bits, words.lanes(1, u32::MAX)), (0, 0, 0x20));
        assert!(words.origin(1, 0).is_some() && words.origin(7, 0).is_none());
        words.clear(1, 0x20);
        words.set(2, 4, Bits::default());
        assert!(words.is_empty());
    }
}
