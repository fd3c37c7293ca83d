//! The passes from PTX to SSA: pure functions over syntax trees.
//!
//! [`check`] finds the errors in a function and the meanings of its names; [`build_ssa`] translates
//! a function without errors; [`barriers`], [`flow`] and [`split_notes`] warn. No module here knows
//! machine instructions.

pub mod diagnostic;

pub mod check;
pub mod flow;
pub mod split_notes;

pub mod build_ssa;

pub mod barriers;
