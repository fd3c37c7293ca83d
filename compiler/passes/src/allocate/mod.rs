//! Register allocation and its checker.
