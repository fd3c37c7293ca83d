//! PTX: the whole compiler.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ptxc_fuzz_targets::programs::lower(data));
