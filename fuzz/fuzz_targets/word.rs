//! Any words as instructions of any architecture: what is decoded is encoded to the same word, and its text is read
//! back to it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ptxc_sass::{Arch, Coded, bits, text};

fuzz_target!(|data: &[u8]| {
    let Some((&selector, rest)) = data.split_first() else { return };
    let arch = Arch::ALL[usize::from(selector) % Arch::ALL.len()];
    for (index, bytes) in rest.as_chunks::<16>().0.iter().enumerate() {
        let (word, offset) = (u128::from_le_bytes(*bytes), 16 * index as u32);
        let Ok(coded) = bits::decode(word, offset, arch) else { continue };
        assert_eq!(bits::encode(&coded, offset, arch, |_| None), Ok(word));
        let mut line = String::new();
        text::write_inst(&mut line, &coded.inst, coded.control.reuse, &[], arch).expect("a string takes it");
        let (inst, reuse) = text::parse_inst(&line, arch).unwrap_or_else(|why| panic!("{line}: {why}"));
        let control = ptxc_sass::Control { reuse, ..coded.control };
        let back = Coded { inst, control, loc: u32::MAX };
        assert_eq!(bits::encode(&back, offset, arch, |_| None), Ok(word), "{line}");
    }
});
