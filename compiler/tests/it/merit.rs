//! The figure of merit: static cycles of blocks and of kernels.

use ptxc_compiler::sass::Program;
use ptxc_compiler::sass::blocks::{Block, blocks, static_cycles};
use ptxc_compiler::{Settings, compile};

#[test]
fn blocks_weighted_with_their_frequency_sum_to_the_kernel() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/lit/kernels");
    let mut kernels = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ptx") {
            continue;
        }
        let Ok(compiled) = compile(&std::fs::read_to_string(&path).unwrap(), Settings::default()) else {
            continue;
        };
        for program in compiled.kernels.iter().map(|code| &code.program) {
            let list = blocks(program);
            let cycles = static_cycles(program, &list);
            let frequency = |at: u32| program.frequency.get(at as usize).copied().unwrap_or(Program::ONCE);
            // Merged blocks of the machine IR may have had different estimates.
            let is_uniform =
                |block: &Block| block.range().all(|at| frequency(at as u32) == frequency(block.start));
            if !list.iter().all(is_uniform) {
                continue;
            }
            let weighted = list.iter().zip(&cycles).map(|(block, cycles)| cycles * frequency(block.start));
            assert_eq!(weighted.sum::<u64>() / Program::ONCE, program.static_cycles(), "{}", program.name);
            kernels += 1;
        }
    }
    assert!(kernels > 12, "{kernels}");
}
