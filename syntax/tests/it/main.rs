//! The parser: real files, every corner of the grammar, and broken text.

mod corpus;
mod grammar;
mod properties;
mod recovery;
