//! Runs SASS and SSA IR on the CPU
