//! Simplification of SSA: folding, value numbering, branches, dead code.
//!
//! [`simplify`] runs the rules of [`RULES`] in turn until a round changes nothing, at most
//! [`MAX_ROUNDS`] times; at level 0 it only removes dead code, which later passes rely on. Every rule is a
//! pass of its own with a name, and leaves a function that the verifier accepts.

mod branches;
mod constants;
mod dce;
mod fold;
mod gvn;
mod rewriter;
mod significant;

pub use branches::simplify_branches;
pub use dce::eliminate_dead_code;
pub use fold::fold;
pub use gvn::number_values;

use ptxc_ir::Function;

/// A rule: changes the function and says whether it did.
pub type Rule = fn(&mut Function) -> bool;

/// The rules in the order in which they run, by name.
pub const RULES: &[(&str, Rule)] =
    &[
    ("fold", fold),
    ("gvn", number_values),
    ("simplify-branches", simplify_branches),
    ("dce", eliminate_dead_code),
];

/// The most rounds that one call makes.
pub const MAX_ROUNDS: usize = 6;

/// Simplifies a function at an optimisation level, 0 to 3.
pub fn simplify(func: &mut Function, level: u8) {
    if level == 0 {
        eliminate_dead_code(func);
        return;
    }
    for _ in 0..MAX_ROUNDS {
        let mut changed = false;
        for (_, rule) in RULES {
            changed |= rule(func);
        }
        if !changed {
            break;
        }
    }
}
