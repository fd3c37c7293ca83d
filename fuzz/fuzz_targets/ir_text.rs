//! IR text.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ptxc_fuzz_targets::programs::ir_text(data));
