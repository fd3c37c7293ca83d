//! Warnings about the control flow of a function, from its text.
//!
//! In: a function that passed [`check`](crate::check). Out: warnings. Each of them is certain: it
//! holds on all paths through the function, or concerns unreachable code. The analysis uses the
//! text instead of the SSA form, because SSA has lost unreachable code and cannot tell which
//! register an unknown value came from.
//!
//! ```text
//! mov.u32 %r1, %tid.x;
//! bra DONE;
//! add.u32 %r2, %r1, %r3;     warning: unreachable code
//! DONE:
//! st.global.u32 [%rd1], %r2; warning: `%r2` is read before anything is written to it
//! }                          warning: the body ends without `ret`
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`graph`] | the blocks of the text, with the [registers](crate::check::accesses) that each reads and writes |
//! | [`unwritten`] | registers that are read before any write |
//! | [`unreachable`] | unreachable code, and bodies whose end control reaches |
//!
//! Cost: linear in the text, times the logarithm of the blocks for their dominators; [`unwritten`]
//! states its own limit.

mod graph;
#[cfg(test)]
mod tests;
mod unreachable;
mod unwritten;

use ptxc_syntax::ast::Function;

use crate::check::Checked;
use crate::diagnostic::Diagnostic;
use graph::Graph;

/// The warnings about the control flow of a function without errors, sorted by place. `checked`
/// comes from its [check](crate::check::examine).
pub fn warnings(function: &Function, checked: &Checked) -> Vec<Diagnostic> {
    let Some(graph) = Graph::of(function, checked) else { return Vec::new() };
    let mut found = unreachable::check(&graph);
    found.extend(unwritten::check(&graph));
    found
}
