//! Builds SSA form from checked PTX.
