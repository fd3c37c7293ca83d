//! The tables of instructions, and ptxas on what they say.

mod ptxas;
mod tables;
