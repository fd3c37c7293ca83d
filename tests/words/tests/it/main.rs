//! The page of the book, and the memory that decoding takes.

mod allocation;
mod page;
