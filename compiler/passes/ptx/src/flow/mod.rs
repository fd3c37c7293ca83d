//! Warnings about the ways through a function, as its text has them.
//!
//! In goes a function that passed [`check`](crate::check), out come warnings. What each says is certain: it concerns
//! all ways through the function, or code that no way leads to. The text is looked at, not the SSA form, which has lost what
//! nothing reaches and cannot say which register an unknown value came from.
//!
//! ```text
//! mov.u32 %r1, %tid.x;
//! bra DONE;
//! add.u32 %r2, %r1, %r3;     warning: nothing leads here
//! DONE:
//! st.global.u32 [%rd1], %r2; warning: `%r2` is read, but nothing has been written to it
//! }                          warning: the body ends without `ret`
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`graph`] | the blocks of the text, with the [registers](crate::check::accesses) that each reads and writes |
//! | [`unwritten`] | registers that are read and that nothing before has written |
//! | [`unreachable`] | code that nothing leads to, and bodies whose end control reaches |
//!
//! Cost: linear in the text, times the logarithm of the blocks for their dominators; [`unwritten`] says what bounds the rest.

mod graph;
#[cfg(test)]
mod tests;
mod unreachable;
mod unwritten;

use ptxc_syntax::ast::Function;

use crate::check::Checked;
use crate::diagnostic::Diagnostic;
use graph::Graph;

/// The warnings about the ways through a function without errors, by the places of what they are about; what it accesses
/// comes from its [check](crate::check::examine).
pub fn warnings(function: &Function, checked: &Checked) -> Vec<Diagnostic> {
    let Some(graph) = Graph::of(function, checked) else { return Vec::new() };
    let mut found = unreachable::check(&graph);
    found.extend(unwritten::check(&graph));
    found
}
