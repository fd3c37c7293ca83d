//! The arithmetic, against other implementations and exact numbers.

mod bits;
mod convert;
mod float;
mod int;
mod mufu;
mod narrow;
mod oracle;
