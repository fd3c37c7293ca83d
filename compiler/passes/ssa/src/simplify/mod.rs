//! Simplification of SSA: makes a function smaller and faster without knowledge of the target.
//!
//! In: a verified function. Out: an equivalent function, verified at the same level. One file for
//! each pass:
//!
//! | pass | handles |
//! |---|---|
//! | [`params`](mod@params) | block parameters that equal another value |
//! | [`fold`](mod@fold) | constants, identities, conditions, conversions |
//! | [`gvn`](mod@gvn) | equal computations |
//! | [`branches`](mod@branches) | empty blocks, straight lines |
//! | [`common_starts`](mod@common_starts) | exchanges at the start of both arms |
//! | [`if_convert`](mod@if_convert) | short arms, which become selects |
//! | [`licm`](mod@licm) | loop invariants |
//! | [`strength`](mod@strength) | products of induction variables, which become sums |
//! | [`dead_atomics`](mod@dead_atomics) | atomics without a used result |
//! | [`dce`](mod@dce) | dead code |
//!
//! [`simplify`] runs them until nothing changes, but at most a bounded number of times, so the
//! whole is linear in the function except for the dominator trees. Then
//! [`rematerialize`](mod@rematerialize) moves values back into loops that have too few registers
//! for them, and after legalization [`repeat_masks`] computes predicates at their uses.

mod again;
pub mod branches;
pub mod common_starts;
pub mod dce;
pub mod dead_atomics;
pub mod evaluate;
pub mod fold;
pub mod gvn;
pub mod if_convert;
pub mod licm;
mod loop_pressure;
pub mod masks;
pub mod params;
#[cfg(test)]
mod properties;
pub mod rematerialize;
pub mod strength;
#[cfg(test)]
pub(crate) mod testing;

use ptxc_ir::Function;
use smallvec::SmallVec;

use crate::analyses::Analyses;
pub use branches::branches;
pub use common_starts::common_starts;
pub use dce::dce;
pub use dead_atomics::dead_atomics;
pub use fold::{Target, fold};
pub use gvn::gvn;
pub use if_convert::if_convert;
pub use licm::licm;
pub use masks::repeat_masks;
pub use params::params;
pub use rematerialize::rematerialize;
pub use strength::strength;

/// Name of the whole.
pub const NAME: &str = "simplify";

/// The effort to spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// Remove dead code only.
    Clean,
    /// Clean up after legalization: fold within legal operations, merge equal computations, remove
    /// dead code. The control flow stays unchanged.
    Light,
    /// Run all passes.
    Full,
}

/// A pass: rewrites a function, and returns whether anything changed. It uses the analyses that
/// earlier passes have computed, and leaves only analyses that are still valid.
pub type Pass = fn(&mut Function, &mut Analyses) -> bool;

/// The passes by name; each can be run alone.
pub const PASSES: &[(&str, Pass)] = &[
    (params::NAME, params),
    (fold::NAME, fold_any),
    (gvn::NAME, gvn),
    (branches::NAME, branches),
    (common_starts::NAME, common_starts),
    (if_convert::NAME, if_convert),
    (licm::NAME, licm),
    (strength::NAME, strength),
    (dead_atomics::NAME, dead_atomics),
    (dce::NAME, dce),
];

fn fold_any(func: &mut Function, known: &mut Analyses) -> bool {
    fold(func, known, Target::Any)
}

fn fold_legal(func: &mut Function, known: &mut Analyses) -> bool {
    fold(func, known, Target::Legal)
}

/// A pass at its place in the order.
#[derive(Clone, Copy)]
struct Step {
    pass: Pass,
    /// Its kind, among those of the order.
    kind: u16,
    /// The kinds of passes whose changes may give it something to do.
    fed_by: u16,
}

const PARAMS: u16 = 1 << 0;
const FOLD: u16 = 1 << 1;
const GVN: u16 = 1 << 2;
const DCE: u16 = 1 << 3;
const OTHERS: u16 = 1 << 4;
const ALL: u16 = PARAMS | FOLD | GVN | DCE | OTHERS;

const fn others(pass: Pass) -> Step {
    Step { pass, kind: OTHERS, fed_by: ALL }
}

// Removing dead code makes no values equal that were not equal before, so it feeds neither renaming
// nor numbering. After value numbering no two equal values are left, so numbering does not feed
// itself.
const RENAME_PARAMS: Step = Step { pass: params, kind: PARAMS, fed_by: ALL & !DCE };
const FOLD_ANY: Step = Step { pass: fold_any, kind: FOLD, fed_by: ALL };
const FOLD_LEGAL: Step = Step { pass: fold_legal, kind: FOLD, fed_by: ALL };
const NUMBER: Step = Step { pass: gvn, kind: GVN, fed_by: ALL & !(GVN | DCE) };
const SWEEP: Step = Step { pass: dce, kind: DCE, fed_by: ALL & !DCE };

/// The most repetitions of the passes. Two rounds are enough for nearly every function; the code
/// after the last round is correct, but may not be as small as possible.
const MOST_ROUNDS: usize = 6;

/// Simplifies a function; returns whether anything changed.
pub fn simplify(func: &mut Function, effort: Effort) -> bool {
    simplify_in(func, effort, &mut Analyses::default())
}

/// Does the same with cached analyses of the function's graph, which stay valid.
pub fn simplify_in(func: &mut Function, effort: Effort, known: &mut Analyses) -> bool {
    let steps: &[Step] = match effort {
        Effort::Clean => &[SWEEP],
        Effort::Light => &[RENAME_PARAMS, FOLD_LEGAL, NUMBER, SWEEP],
        Effort::Full => &[
            RENAME_PARAMS,
            FOLD_ANY,
            NUMBER,
            SWEEP,
            others(branches),
            others(common_starts),
            others(if_convert),
            others(licm),
            others(strength),
            others(dead_atomics),
            SWEEP,
        ],
    };
    // For each step, whether a change since its last run may give it something to do. Without such
    // a change it would find nothing.
    let mut due: SmallVec<[bool; 10]> = SmallVec::from_elem(true, steps.len());
    let mut changed = false;
    for _ in 0..MOST_ROUNDS {
        let mut changed_now = false;
        for (place, step) in steps.iter().enumerate() {
            if !due[place] {
                continue;
            }
            ptxc_interrupt::poll();
            let changes = (step.pass)(func, known);
            debug_assert!(known.hold_for(func), "a pass has changed the flow of control");
            changed_now |= changes;
            if changes && step.kind != DCE {
                known.take_uses();
            }
            for (due, other) in due.iter_mut().zip(steps) {
                let is_same = other.kind == step.kind && step.kind != OTHERS;
                *due = (*due && !is_same) || changes && other.fed_by & step.kind != 0;
            }
            due[place] = changes && step.fed_by & step.kind != 0;
        }
        changed |= changed_now;
        if !changed_now {
            break;
        }
    }
    changed
}
