//! The families of instructions beside ptxas and in the simulator.

mod page;
mod ptxas;
mod run;
mod signs;
