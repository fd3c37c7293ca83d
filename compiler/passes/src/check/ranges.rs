//! Registers that are declared in a row, `%r<9>`: nearly all that a function has.
//!
//! Every operand of every instruction is looked for here, by each pass that walks the text. A function has a handful of
//! prefixes of a few bytes, which are compared as numbers, one after the other; what is longer, or comes when there are more,
//! is hashed.

use ptxc_syntax::ast::{Type, Vector};
use ptxc_syntax::{Name, NodeId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::scope::Register;

/// So many ranges of a scope are looked through one after the other.
const MOST_LISTED: usize = 16;

/// The registers that one declarator with a count declares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// How many names there are.
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

/// What stands in front of the number, `%r`.
#[derive(Clone, Copy)]
pub(super) struct Prefix<'a> {
    text: &'a str,
    /// Its bytes, if they fit; names have no zero bytes, so that two of them differ if they do.
    bytes: Option<u64>,
}

impl Prefix<'_> {
    /// The prefix that is written so.
    #[inline]
    pub fn of(text: &str) -> Prefix<'_> {
        let fits = text.len() <= size_of::<u64>();
        let bytes = fits.then(|| text.bytes().fold(0, |all, byte| all << 8 | u64::from(byte)));
        Prefix { text, bytes }
    }
}

/// The prefix and the number of a name that may be one of a range: `%r<9>` declares `%r0` to `%r8`, and nothing with leading
/// zeros.
#[inline]
pub(super) fn member(name: &str) -> Option<(Prefix<'_>, u32)> {
    let (mut start, mut number, mut scale, mut last) = (name.len(), 0u64, 1u64, b'0');
    for &byte in name.as_bytes().iter().rev() {
        let digit = byte.wrapping_sub(b'0');
        // Ten digits do not overflow 64 bits.
        if digit > 9 || scale > 1_000_000_000 {
            break;
        }
        number += u64::from(digit) * scale;
        (start, scale, last) = (start - 1, scale * 10, byte);
    }
    let digits = name.len() - start;
    if digits == 0
        || (last == b'0' && digits > 1)
        || name.as_bytes().get(start.wrapping_sub(1)).is_some_and(u8::is_ascii_digit)
    {
        return None;
    }
    Some((Prefix::of(&name[..start]), u32::try_from(number).ok()?))
}

/// The ranges of a scope.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    listed: SmallVec<[(u64, Range); 6]>,
    others: FxHashMap<Name, Range>,
}

impl Ranges {
    /// The range of a prefix.
    pub fn get(&self, prefix: &Prefix) -> Option<&Range> {
        if let Some(bytes) = prefix.bytes
            && let Some((_, range)) = self.listed.iter().find(|(listed, _)| *listed == bytes)
        {
            return Some(range);
        }
        if self.others.is_empty() { None } else { self.others.get(prefix.text) }
    }

    /// Enters a range; the one that had its prefix before.
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
        let number = |name| member(name).map(|(prefix, number)| (prefix.text, number));
        assert_eq!(number("%r0"), Some(("%r", 0)));
        assert_eq!(number("%rd4294967295"), Some(("%rd", u32::MAX)));
        assert_eq!(number("%x1y20"), Some(("%x1y", 20)));
        for name in ["%r", "%r00", "%r01", "%r4294967296", "%r99999999999", "", "%tid.x"] {
            assert_eq!(number(name), None, "{name}");
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
