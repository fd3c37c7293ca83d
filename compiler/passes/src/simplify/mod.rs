//! Simplification of SSA: makes a function smaller and faster without knowing the target.
//!
//! In: a verified function. Out: an equivalent one, verified at the same level. One file a pass:
//!
//! | pass | what |
//! |---|---|
//! | [`params`](mod@params) | block parameters that equal another value |
//! | [`fold`](mod@fold) | constants, identities, conditions, conversions |
//! | [`gvn`](mod@gvn) | equal computations |
//! | [`branches`](mod@branches) | empty blocks, straight lines |
//! | [`if_convert`](mod@if_convert) | short arms become choices |
//! | [`licm`](mod@licm) | loop invariants |
//! | [`strength`](mod@strength) | products of induction variables become sums |
//! | [`dead_atomics`](mod@dead_atomics) | atomics without a used result |
//! | [`dce`](mod@dce) | dead code |
//!
//! [`simplify`] runs them until nothing changes, but a bounded number of times, so that the whole is
//! linear in the function but for the dominator trees.

pub mod branches;
pub mod dce;
pub mod dead_atomics;
pub mod evaluate;
pub mod fold;
pub mod gvn;
pub mod if_convert;
pub mod licm;
pub mod params;
#[cfg(test)]
mod properties;
pub mod strength;
#[cfg(test)]
pub(crate) mod testing;

use crate::interrupt;
use ptxc_ir::Function;
use smallvec::SmallVec;

pub use branches::branches;
pub use dce::dce;
pub use dead_atomics::dead_atomics;
pub use fold::{Target, fold};
pub use gvn::gvn;
pub use if_convert::if_convert;
pub use licm::licm;
pub use params::params;
pub use strength::strength;

/// Name of the whole.
pub const NAME: &str = "simplify";

/// How much to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// Only what is dead goes.
    Clean,
    /// What legalization leaves behind: folding within legal operations, equal computations, dead code. The
    /// flow of control stays as it is.
    Light,
    /// Everything.
    Full,
}

/// A pass: rewrites a function, and tells whether anything changed.
pub type Pass = fn(&mut Function) -> bool;

/// The passes by name, each to be run alone.
pub const PASSES: &[(&str, Pass)] = &[
    (params::NAME, params),
    (fold::NAME, fold_any),
    (gvn::NAME, gvn),
    (branches::NAME, branches),
    (if_convert::NAME, if_convert),
    (licm::NAME, licm),
    (strength::NAME, strength),
    (dead_atomics::NAME, dead_atomics),
    (dce::NAME, dce),
];

fn fold_any(func: &mut Function) -> bool {
    fold(func, Target::Any)
}

fn fold_legal(func: &mut Function) -> bool {
    fold(func, Target::Legal)
}

/// How often the passes are repeated at most. Two rounds are enough for nearly every function; what is left
/// after the last is correct, only not as small as it could be.
const MOST_ROUNDS: usize = 6;

/// Simplifies a function; says whether anything changed.
pub fn simplify(func: &mut Function, effort: Effort) -> bool {
    let passes: &[Pass] = match effort {
        Effort::Clean => &[dce],
        Effort::Light => &[params, fold_legal, gvn, dce],
        Effort::Full => {
            &[params, fold_any, gvn, dce, branches, if_convert, licm, strength, dead_atomics, dce]
        }
    };
    // How often a pass has changed the function, and how often that was when each pass last found nothing to do: until there is
    // another change it would find nothing again.
    let mut changes = 0u32;
    let mut done_at: SmallVec<[Option<u32>; 10]> = SmallVec::from_elem(None, passes.len());
    for _ in 0..MOST_ROUNDS {
        let before = changes;
        for (pass, done_at) in passes.iter().zip(&mut done_at) {
            if *done_at == Some(changes) {
                continue;
            }
            interrupt::poll();
            if pass(func) {
                changes += 1;
            } else {
                *done_at = Some(changes);
            }
        }
        if changes == before {
            break;
        }
    }
    changes > 0
}
