//! The SASS engine on programs in SASS text: written here, generated at random, and compiled by
//! ptxas.

mod agree;
mod hazards;
mod machine;
mod oracle;
mod programs;
mod unwritten;
