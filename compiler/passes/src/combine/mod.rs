//! Peephole combination on machine IR.
