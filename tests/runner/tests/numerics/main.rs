//! Division, roots and double precision on many operands: what the reference arithmetic of `ptxc-semantics` says
//! is what both engines compute.
//!
//! Every test is an instruction, its reference, and operands: the edges of the type crossed with each other, and
//! random ones. The kernel that applies the instruction to an array runs as built, as simplified, and as SASS; the SASS
//! with exact results of the special function unit and with results that are off by a few units in the last place.
//!
//! `PTXC_NUMERICS_CASES` sets how many random operands each test takes.

mod double_quotients;
mod doubles;
mod floats;
mod integers;
mod kernel;
mod operands;
mod routines;
