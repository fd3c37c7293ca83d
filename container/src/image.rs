//! Machine code of one architecture, and its functions.

use std::borrow::Cow;

use ptxc_machine::Arch;

/// The greatest size of a decompressed image, in bytes.
pub const MAX_IMAGE: u64 = 1 << 29;

/// The greatest length of a function's name, in bytes.
pub const MAX_NAME: usize = 1 << 16;

/// Machine code of one architecture: the content of a cubin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image<'a> {
    /// The architecture; `None` if a text does not name it.
    pub arch: Option<Arch>,
    /// Its functions, in the order of the file.
    pub functions: Vec<Function<'a>>,
    /// The bytes of the cubin, decompressed; none for the code of a text.
    pub cubin: &'a [u8],
}

/// The code of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Its symbol.
    pub name: Cow<'a, str>,
    /// The function's start in its section, in bytes; targets of branches count from the start of
    /// the section.
    pub start: u32,
    /// The instructions, 16 bytes each.
    pub code: Cow<'a, [u8]>,
}

impl Function<'_> {
    /// The number of instructions.
    pub fn len(&self) -> usize {
        self.code.len() / 16
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The words of some of its instructions, with their offsets in the section, in bytes.
    pub fn words(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = (u32, u128)> + '_ {
        let (chunks, _) = self.code.as_chunks::<16>();
        let range = range.start.min(chunks.len())..range.end.min(chunks.len());
        let first = self.start.wrapping_add(range.start as u32 * 16);
        let words = chunks[range].iter().map(|bytes| u128::from_le_bytes(*bytes));
        (0u32..).map(move |index| first.wrapping_add(index * 16)).zip(words)
    }
}
