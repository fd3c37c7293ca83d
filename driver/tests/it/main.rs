//! The program: its output, its files and its manners.

mod architectures;
mod book;
mod bounds;
mod colors;
mod decode;
mod emit;
mod errors;
mod findings;
mod inputs_are_kept;
mod kept_programs;
mod manners;
mod manual;
mod same_bytes;
mod several_files;
mod snapshots;
mod tools;
mod watch;
