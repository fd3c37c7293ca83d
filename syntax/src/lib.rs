//! PTX text to and from a syntax tree
