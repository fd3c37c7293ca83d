//! What is done with bytes of any kind, a function for each target: of the fuzzer, which makes them up, and of the test
//! `kept_bytes` of `ptxc-sass`, which goes through those that the fuzzer has found worth keeping.
//!
//! None may panic. What a function asserts besides is said there.

use ptxc_container::{Found, visit};
use ptxc_machine::Arch;
use ptxc_object::cubin;
use ptxc_sass::text::{ReadOptions, Style, parse_inst, parse_module, write_inst, write_program};
use ptxc_sass::verify::{self, Order};
use ptxc_sass::{Coded, Control, Program, bits};

/// The longest function that is verified: the fuzzer wants many files, not large ones.
const VERIFIED: usize = 256;

/// A cubin: an error or a module. What can be written of it can be read, with the same code; its functions become
/// programs, which are printed and verified.
pub fn module(data: &[u8]) {
    let Ok(module) = cubin::read(data) else { return };
    if let Ok(bytes) = cubin::write(&module) {
        let back = cubin::read(&bytes).unwrap_or_else(|why| panic!("what is written is not read: {why}"));
        let code =
            |module: &cubin::Cubin| module.functions.iter().map(|one| one.code.clone()).collect::<Vec<_>>();
        assert_eq!(code(&module), code(&back));
    }
    if let Ok((text, _)) = cubin::write_text(&module, &[], &Style::default())
        && let Ok(text) = parse_module(&text, &ReadOptions::default())
    {
        let _ = cubin::assemble_text(&text, module.abi).and_then(|made| cubin::write(&made));
    }
    for function in &module.functions {
        let Ok(program) = cubin::program(&module, &function.name) else { continue };
        let mut text = String::new();
        write_program(&program, &Style::default(), None, &mut text).expect("a string takes it");
        if program.insts.len() <= VERIFIED {
            let _ = verify::check_with(&program, Order::InOrder);
        }
        let sources = [cubin::Source { program: &program, lines: Vec::new() }];
        let of_one = cubin::Module::of(module.arch, module.abi);
        let _ = cubin::assemble(&sources, of_one).and_then(|made| cubin::write(&made));
    }
}

/// A file that contains machine code in whatever wrapping: errors and images, whose words are decoded.
pub fn container(data: &[u8]) {
    visit(data, &mut |_, found| {
        let Found::Image(image) = found else { return };
        let arch = image.arch.unwrap_or(Arch::Sm90);
        for function in &image.functions {
            for (offset, word) in function.words(0..function.len()) {
                let _ = bits::decode(word, offset, arch);
            }
        }
    });
}

/// An architecture, then instruction words: what is decoded is encoded to the same word, and its text is read back to it.
pub fn words(data: &[u8]) {
    let Some((&selector, rest)) = data.split_first() else { return };
    let arch = Arch::ALL[usize::from(selector) % Arch::ALL.len()];
    for (index, bytes) in rest.as_chunks::<16>().0.iter().enumerate() {
        let (word, offset) = (u128::from_le_bytes(*bytes), Program::INST_BYTES * index as u32);
        let Ok(coded) = bits::decode(word, offset, arch) else { continue };
        assert_eq!(bits::encode(&coded, offset, arch, |_| None), Ok(word));
        let mut line = String::new();
        write_inst(&mut line, &coded.inst, coded.control.reuse, &[], arch).expect("a string takes it");
        let (inst, reuse) = parse_inst(&line, arch).unwrap_or_else(|why| panic!("{line}: {why}"));
        let control = Control { reuse, ..coded.control };
        let back = Coded { inst, control, loc: u32::MAX };
        assert_eq!(bits::encode(&back, offset, arch, |_| None), Ok(word), "{line}");
    }
}

/// SASS text: errors or programs, whose instructions may have bits.
pub fn text(data: &[u8]) {
    let Ok(data) = std::str::from_utf8(data) else { return };
    let options = ReadOptions { arch: Some(Arch::Sm90), without_control: true, keeps_unknown: false };
    let Ok(module) = parse_module(data, &options) else { return };
    let _ = cubin::assemble_text(&module, cubin::Abi::V8).and_then(|made| cubin::write(&made));
    for kernel in module.kernels {
        let program = kernel.program;
        for (index, coded) in program.insts.iter().enumerate() {
            let place =
                |label: ptxc_sass::Label| Some(program.labels.get(label.0 as usize)? * Program::INST_BYTES);
            let _ = bits::encode(coded, Program::INST_BYTES * index as u32, program.arch, place);
        }
    }
}
