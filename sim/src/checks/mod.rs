//! Uses of unwritten memory, and races in shared memory.
//!
//! In: the accesses of all threads as the engines make them, and the events that order them. Out:
//! the list of [`Finding`]s. Both engines, with and without time, use the same checks, because they
//! share the memory and the barriers.
//!
//! A use of bytes of shared or local memory that were never written is a finding
//! ([`unwritten`](crate::unwritten)). Two accesses of a byte of shared memory by different threads are a race if at least one of them writes and
//! nothing orders them. The book (`docs/simulator.md`) lists what orders accesses.
//!
//! | module | holds |
//! |---|---|
//! | `bits` | the written bytes |
//! | `clocks` | what happened before what |
//! | `shadow` | the last accesses of each byte of shared memory |
//! | `found` | the findings of a run, each pair of instructions once |
//! | `finding` | a finding for a report |
//!
//! Without race detection an access costs a look at the written bits, until all bytes of the memory
//! have been written. With it, each access is examined byte by byte.

mod bits;
mod clocks;
mod finding;
mod found;
mod shadow;

pub(crate) use bits::Bits;
pub(crate) use clocks::Key;
pub(crate) use finding::show_findings;
pub use finding::{Finding, FindingKind, Role, Side};
pub(crate) use found::{Found, Place, Touch};
pub(crate) use shadow::{Actor, BYTES_PER_BYTE, End, Nature, Race, Range};
