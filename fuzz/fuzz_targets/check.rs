//! PTX: the checker.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ptxc_fuzz_targets::programs::check(data));
