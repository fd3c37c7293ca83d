//! The passes from PTX to SSA: pure functions over syntax trees.
//!
//! [`check`] finds the errors in a function and what its names mean; [`build_ssa`] translates a function without errors;
//! [`barriers`], [`flow`] and [`split_notes`] warn. Nothing here knows a machine instruction.

pub mod diagnostic;

pub mod check;
pub mod flow;
pub mod split_notes;

pub mod build_ssa;

pub mod barriers;
