//! Scheduling before and after allocation, with the heuristic as a trait.
pub mod estimate;
pub mod random;
