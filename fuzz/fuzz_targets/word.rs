//! Instruction words.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ptxc_fuzz_targets::machine_code::words(data));
