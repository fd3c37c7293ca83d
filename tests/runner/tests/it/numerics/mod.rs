//! Division, roots and double precision on many operands: both engines must compute the results of
//! the reference arithmetic in `ptxc-semantics`.
//!
//! Every test is an instruction, its reference, and operands: the edge cases of the type in all
//! combinations, and random ones. The kernel that applies the instruction to an array runs as
//! built, as simplified, and as SASS. The SASS runs with exact results of the special function
//! unit, and with results that are off by a few units in the last place.
//!
//! `PTXC_NUMERICS_CASES` sets the number of random operands of each test.

mod double_quotients;
mod doubles;
mod floats;
mod integers;
mod kernel;
mod operands;
mod routines;
