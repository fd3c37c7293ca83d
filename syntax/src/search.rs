//! Searches for bytes and words in a text.
//!
//! The functions of the crate `memchr` use the best vector instructions of the processor, so the first
//! call asks it which ones it has. In a virtual machine the answers take 30 µs, more than a hundredth
//! of the time of a small kernel. Here the searches use the vector instructions that every processor
//! of the target has.

#[cfg(target_arch = "x86_64")]
use memchr::arch::x86_64::sse2::{memchr as bytes, packedpair};

/// The place of the first such byte.
#[cfg(target_arch = "x86_64")]
pub(crate) fn byte(needle: u8, text: &[u8]) -> Option<usize> {
    match bytes::One::new(needle) {
        Some(search) => search.find(text),
        None => memchr::memchr(needle, text),
    }
}

/// The place of the first byte that is one of three.
#[cfg(target_arch = "x86_64")]
pub(crate) fn any_of([a, b, c]: [u8; 3], text: &[u8]) -> Option<usize> {
    match bytes::Three::new(a, b, c) {
        Some(search) => search.find(text),
        None => memchr::memchr3(a, b, c, text),
    }
}

/// The place of the first such word, which has at least two bytes.
#[cfg(target_arch = "x86_64")]
pub(crate) fn word(word: &[u8], text: &[u8]) -> Option<usize> {
    match packedpair::Finder::new(word) {
        Some(search) if text.len() >= search.min_haystack_len() => search.find(text, word),
        _ => text.windows(word.len()).position(|window| window == word),
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn byte(needle: u8, text: &[u8]) -> Option<usize> {
    memchr::memchr(needle, text)
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn any_of([a, b, c]: [u8; 3], text: &[u8]) -> Option<usize> {
    memchr::memchr3(a, b, c, text)
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn word(word: &[u8], text: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_found() {
        for length in 0..100 {
            for place in 0..length {
                let mut text = vec![b'*'; length];
                text[place] = b'/';
                assert_eq!((byte(b'/', &text), any_of(*b"x/y", &text)), (Some(place), Some(place)));
                assert_eq!(word(b"*/", &text), place.checked_sub(1));
                assert_eq!(word(b"**/", &text), place.checked_sub(2));
                assert_eq!(word(b"*/x", &text), None);
            }
            let text = vec![b'*'; length];
            assert_eq!((byte(b'/', &text), any_of(*b"x/y", &text), word(b"*/", &text)), (None, None, None));
        }
    }
}
