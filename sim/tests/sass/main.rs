//! The SASS engine on programs in SASS text: written here, made at random, and made by ptxas.

mod agree;
mod assemble;
mod hazards;
mod machine;
mod oracle;
mod programs;
