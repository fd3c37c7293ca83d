//! Checks typed PTX against the declarative instruction table.
//!
//! [`env`] is what a function sees of its module, [`scope`] what names mean inside it; both serve the
//! construction of SSA as well.

pub mod env;
pub mod scope;
