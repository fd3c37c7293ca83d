//! Opinions on hazards that share no code with the hazard check or the simulator, only the tables.
//!
//! | module | what it does |
//! |---|---|
//! | [`paths`] | searches all paths of a program from every producer |
//! | [`traces`] | searches the instructions that each warp of a run executed |
//! | [`weaken`] | weakens one control field of a program at a time |
//!
//! The searches are slow and obvious, so this package is optimised in every build: it is apart from
//! the tests, which are not.

pub mod paths;
pub mod traces;
pub mod weaken;
