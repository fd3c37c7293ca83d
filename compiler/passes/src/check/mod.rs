//! Checks typed PTX against the declarative instruction table.
