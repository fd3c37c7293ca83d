//! The text form of functions: a printer, and a reader that accepts everything that the printer
//! writes.
//!
//! A text holds any number of functions. Header lines come first, then blocks; the first block is the
//! entry. Everything is line-oriented, `//` starts a comment.
//!
//! ```text
//! func @sum entry {
//!     bounds reqntid 256 1 1 maxnreg 64       // also maxntid X Y Z, minnctapersm N, cluster X Y Z
//!     param "data" 8 +0                       // name, bytes, offset
//!     symbol @buf shared size 512 align 4 +0  // without the offset: a linker places it
//! block0:
//!     v0 = param.b64 +0
//!     v1 = symbol.b32 @buf
//!     v2, v3 = load.global.b32.v2 [v0 + 8]    // space, order, scope, cache operator, element, lanes, type
//!     v4 = const.pred 0x1
//!     brif.uni v4, block1(v2), block2 !17     // a source location, if asked for
//! block1(v5: b32):
//!     store.shared.b32 [v1], v5
//!     jump block2
//! block2:
//!     exit
//! }
//! ```
//!
//! The words and operands of each operation come from its declaration in [`op`](mod@crate::op). An
//! access omits every property that has its default: order `weak`, scope `sys`, cache operator
//! `default`, one lane, and the type if it is the bit vector of the element's width.
//!
//! Values and blocks keep the numbers of names like `v12` and `block3`; any other name gets a
//! greater number. Printing a text that was read gives the same text again. The exception is a text
//! with numbers so sparse that keeping them would take memory out of proportion to the text; they
//! are then renumbered densely, once.
//!
//! Reading takes time linear in the text. The reader collects an error for each line that is
//! malformed. It checks neither types nor dominance; the verifier does.

mod field;
mod header;
mod lexer;
mod names;
mod operations;
mod parse;
mod print;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use header::{Header, quoted_name, unquoted_name};
pub use parse::{parse, parse_function};
pub use print::{PrintOptions, print, print_inst};

/// A malformed place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The bytes of the text that the error concerns.
    pub span: Range<usize>,
    /// The problem, or the token that was expected: one sentence without a final stop.
    pub message: String,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (bytes {}..{})", self.message, self.span.start, self.span.end)
    }
}

impl std::error::Error for ParseError {}
