//! Simplification of SSA: folding, value numbering, dead code.
