//! The text of instructions and programs, as NVIDIA's disassembler spells it.

mod inst;
