//! The SSA intermediate representation of ptxc
