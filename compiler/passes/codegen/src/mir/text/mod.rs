//! Machine IR as text, for `--emit=mir`, `--print-after`, `ptxc opt` and tests.
//!
//! ```text
//! mir @saxpy sm_90 entry {
//!     param "n" 4 +0
//! mb0:
//!     S2R %r0, SR_TID.X
//!     ISETP.GE.AND %p1, PT, %r0, %ur2, PT
//!     branch %p1, mb2, mb1(%r0, 0x0)
//! mb1(%r3, %r4:2): freq=512 divergent
//!     @!%p1 MOV %r5, 0x1 tied(%r3)
//!     exit
//! }
//! ```
//!
//! The lines before the first block hold the header: `bounds`, `param` and `symbol` as in the
//! [text of SSA](ptxc_ir::text::Header), where a symbol is a variable of the module;
//! `function @name` for each function that the code names as `` `($1) `` and so on; `shared`,
//! `local`, `tables` (bytes), `barriers`, `spills` (counts), each omitted if it is zero;
//! `returns together`; and `width %r9 4` for a virtual register that is wider than its uses show. A
//! function over physical registers has `allocated` after `entry` or `device`.
//!
//! A parameter of several components has its width after a colon, `%r3:2`; the second component of
//! a register is `%r3#1`. The frequency of a block is in units of 1/1024 of the entry's, and
//! omitted if it is equal to that. `tied(…)` names the registers whose content stays if the guard
//! fails, in the order of the definitions, with `_` for a definition without one. A call has
//! `args(…)` and `results(…)`, each a value and its register, `%r4:2 in R4`, `clobbers(R4-R7 P0)`,
//! and `stack` if the callee has a frame. The text follows only the layout, so equal functions
//! print equally. It does not include source locations.

mod lines;
mod print;
mod read;

pub(crate) use lines::Lines;
pub(crate) use print::{write_header, write_inst};
pub use read::{AnyMir, parse};
pub(crate) use read::{read_header, read_inst};
