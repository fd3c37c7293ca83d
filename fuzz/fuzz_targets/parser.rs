//! PTX: parsing and printing.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ptxc_fuzz_targets::programs::parser(data));
