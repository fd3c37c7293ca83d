//! Any bytes as a cubin: an error or a module, whose code is decoded.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ptxc_sass::{Arch, bits, cubin};

fuzz_target!(|data: &[u8]| {
    let Ok(module) = cubin::read(data) else { return };
    for function in &module.functions {
        for (index, word) in function.code.as_chunks::<16>().0.iter().enumerate() {
            let offset = u32::try_from(index * 16).unwrap_or(u32::MAX);
            let _ = bits::decode(u128::from_le_bytes(*word), offset, Arch::Sm90);
        }
    }
});
