//! Any text as SASS: errors or programs, whose instructions may have bits.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ptxc_sass::text::{ReadOptions, parse_programs};
use ptxc_sass::{Arch, bits};

fuzz_target!(|data: &str| {
    let options = ReadOptions { arch: Some(Arch::Sm90), without_control: true };
    let Ok(kernels) = parse_programs(data, &options) else { return };
    for kernel in kernels {
        let program = kernel.program;
        for (index, coded) in program.insts.iter().enumerate() {
            let place =
                |label: ptxc_sass::Label| program.labels.get(label.0 as usize).map(|index| index * 16);
            let _ = bits::encode(coded, 16 * index as u32, program.arch, place);
        }
    }
});
