//! What the targets of the fuzzer do with bytes of any kind: those that read machine code or its text in [`machine_code`],
//! those that read what is compiled in [`programs`].

pub mod machine_code;
pub mod programs;
pub mod ways;
