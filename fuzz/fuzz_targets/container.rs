//! Files that contain machine code.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ptxc_fuzz_targets::machine_code::container(data));
