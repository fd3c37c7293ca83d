//! Registers that are declared as a range, `%r<9>`: most registers of a function.
//!
//! Every pass that walks the text looks up every operand of every instruction here. A function has
//! a handful of prefixes of a few bytes each. These are compared as numbers, one after the other;
//! longer or additional prefixes are hashed.

use ptxc_syntax::ast::{Type, Vector};
use ptxc_syntax::{Name, NodeId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::scope::Register;

/// The most ranges of a scope that are searched one after the other.
const MOST_LISTED: usize = 16;

/// The registers that one declarator with a count declares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// The number of names.
    pub count: u32,
    /// The first lane of the first register.
    pub first: Register,
    /// The type of a lane.
    pub ty: Type,
    /// The vector size, if they are vectors.
    pub vector: Option<Vector>,
    /// The place of the declaration.
    pub declared: NodeId,
}

/// The part of a name before the number, `%r`.
#[derive(Clone, Copy)]
pub(super) struct Prefix<'a> {
    /// The name that begins with the prefix, and the length of the prefix.
    name: &'a str,
    length: usize,
    /// Its bytes, if they fit. Names have no zero bytes, so different prefixes have different
    /// numbers.
    bytes: Option<u64>,
}

impl<'a> Prefix<'a> {
    /// The prefix with this spelling.
    #[inline]
    pub fn of(text: &'a str) -> Prefix<'a> {
        Prefix { name: text, length: text.len(), bytes: packed(text.as_bytes()) }
    }

    /// Its spelling.
    pub fn text(&self) -> &'a str {
        &self.name[..self.length]
    }
}

/// Up to eight bytes as a number, with the first byte lowest.
#[inline]
fn packed(bytes: &[u8]) -> Option<u64> {
    // Reads from both ends, which may overlap, instead of byte by byte.
    if let (Some(&first), Some(&last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(first), u32::from_le_bytes(last));
        let offset = bytes.len() - size_of::<u32>();
        return (offset <= size_of::<u32>()).then(|| u64::from(first) | u64::from(last) << (8 * offset));
    }
    Some(bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)))
}

/// The prefix and the number of a name that may belong to a range: `%r<9>` declares `%r0` to `%r8`,
/// without leading zeros.
#[inline]
pub(super) fn member(name: &str) -> Option<(Prefix<'_>, u32)> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let Some(bytes) = packed(name.as_bytes()).filter(|_| !name.is_empty()) else { return long_member(name) };
    // After the addition, a byte that is not a digit (10 or more) has its highest bit set.
    let values = bytes ^ (u64::from(b'0') * EACH);
    let others = (((values & (0x7f * EACH)) + 0x76 * EACH) | values) & (0x80 * EACH);
    let unused = 64 - 8 * name.len() as u32;
    let length = (64 - unused - (others << unused).leading_zeros().min(64 - unused)) as usize / 8;
    let digits = name.len() - length;
    if digits == 0 {
        return None;
    }
    let values = values >> (8 * length);
    if digits > 1 && values & 0xff == 0 {
        return None;
    }
    // Eight digits, the first of them zero, become four numbers of two digits, then two of four,
    // then one.
    let mut number = values << (64 - 8 * digits);
    number = (number.wrapping_mul(10 << 8 | 1) >> 8) & (0xff * 0x0001_0001_0001_0001);
    number = (number.wrapping_mul(100 << 16 | 1) >> 16) & (0xffff * 0x0000_0001_0000_0001);
    number = number.wrapping_mul(10_000 << 32 | 1) >> 32;
    let prefix = bytes & ((1 << (8 * length)) - 1);
    Some((Prefix { name, length, bytes: Some(prefix) }, number as u32))
}

/// Does the same for names of any length.
#[cold]
fn long_member(name: &str) -> Option<(Prefix<'_>, u32)> {
    let length = name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    let digits = &name[length..];
    if digits.starts_with('0') && digits != "0" {
        return None;
    }
    Some((Prefix::of(&name[..length]), digits.parse().ok()?))
}

/// The ranges of a scope.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    listed: SmallVec<[(u64, Range); 6]>,
    others: FxHashMap<Name, Range>,
}

impl Ranges {
    /// The range of a prefix.
    #[inline]
    pub fn get(&self, prefix: &Prefix) -> Option<&Range> {
        if let Some(bytes) = prefix.bytes
            && let Some((_, range)) = self.listed.iter().find(|(listed, _)| *listed == bytes)
        {
            return Some(range);
        }
        if self.others.is_empty() { None } else { self.others.get(prefix.text()) }
    }

    /// Enters a range; returns the range that had its prefix before.
    pub fn insert(&mut self, name: &Name, range: Range) -> Option<Range> {
        if let Some(bytes) = Prefix::of(name).bytes {
            if let Some((_, listed)) = self.listed.iter_mut().find(|(listed, _)| *listed == bytes) {
                return Some(std::mem::replace(listed, range));
            }
            if self.listed.len() < MOST_LISTED {
                self.listed.push((bytes, range));
                return None;
            }
        }
        self.others.insert(name.clone(), range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_leading_zeros_and_fit() {
        let number = |name| member(name).map(|(prefix, number)| (prefix.text(), number));
        assert_eq!(number("%r0"), Some(("%r", 0)));
        assert_eq!(number("%rd4294967295"), Some(("%rd", u32::MAX)));
        assert_eq!(number("%x1y20"), Some(("%x1y", 20)));
        assert_eq!(number("a_long_name1234567890"), Some(("a_long_name", 1234567890)));
        for name in ["%r", "%r00", "%r01", "%r4294967296", "%r99999999999", "", "%tid.x"] {
            assert_eq!(number(name), None, "{name}");
        }
    }

    #[test]
    fn short_names_are_read_as_long_ones_are() {
        let alphabet = ['0', '1', '5', '9', '/', ':', '%', 'r', '\u{7f}', 'é'];
        let mut random = 1u64;
        for _ in 0..200_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let letters =
                (0..random >> 60).map(|at| alphabet[(random >> (3 * at) & 0xff) as usize % alphabet.len()]);
            let name: String = letters.collect();
            let seen = |found: Option<(Prefix, u32)>| {
                found.map(|(prefix, number)| (prefix.text().to_string(), prefix.bytes, number))
            };
            assert_eq!(seen(member(&name)), seen(long_member(&name)), "{name}");
        }
    }

    #[test]
    fn ranges_are_found_however_many_and_long() {
        let mut ranges = Ranges::default();
        let range =
            |count| Range { count, first: Register(1), ty: Type::B32, vector: None, declared: NodeId(0) };
        let name = |n: u32| Name::from(format!("%{}", "x".repeat(n as usize)).as_str());
        for n in 1..40 {
            assert!(ranges.insert(&name(n), range(n)).is_none());
        }
        for n in 1..40 {
            assert_eq!(ranges.get(&Prefix::of(&name(n))).map(|range| range.count), Some(n));
            assert_eq!(ranges.insert(&name(n), range(0)).map(|before| before.count), Some(n));
        }
        assert!(ranges.get(&Prefix::of("%y")).is_none());
    }
}
