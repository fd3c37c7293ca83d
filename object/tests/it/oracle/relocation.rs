//! Operands that a loader fills in are written as the disassembler writes them, and survive a round
//! trip.
//!
//! The assembler makes relocatable files of kernels that take addresses. If the linker is
//! installed, it links them to programs, in which most such operands are still unresolved.

use std::path::{Path, PathBuf};
use std::process::Command;

use ptxc_machine::Arch;
use ptxc_object::cubin::{Abi, Cubin, Module, Source, assemble, program, read, write};
use ptxc_sass::kept::Kept;
use ptxc_sass::text::{ReadOptions, Style, parse_programs, write_program, write_variables};
use ptxc_sass::variable::union;

use super::tools::{Oracle, architectures, oracle};

const KERNELS: &str = include_str!("addresses.ptx");

/// The operands with symbols, in the order of the listing. NVIDIA's listing does not distinguish a
/// field of 16 bits from one of 32 bits, and its labels have other numbers.
fn operands(text: &str) -> Vec<String> {
    let mut list = Vec::new();
    let mut kernel = "";
    for line in text.lines() {
        kernel = line.trim().strip_prefix(".text.").and_then(|name| name.strip_suffix(':')).unwrap_or(kernel);
        let Some((_, inst)) = line.split_once("*/") else { continue };
        let Some((inst, _)) = inst.split_once(';') else { continue };
        let inst = inst.trim().replace("16@(", "`(");
        let is_open = inst.contains("@lo(") || inst.contains("@hi(") || inst.contains("`(");
        if !is_open || inst.contains("`(.L") || inst.contains(".REL.") {
            continue;
        }
        let label = inst.split_once(".L_x_").map(|(front, rest)| {
            format!("{front}.L{}", rest.trim_start_matches(|c: char| c.is_ascii_digit()))
        });
        list.push(format!("{kernel}: {}", label.unwrap_or(inst)));
    }
    list.sort();
    list
}

fn listing(oracle: &Oracle, file: &Path) -> String {
    let output = Command::new(oracle.tool("nvdisasm")).arg("-c").arg(file).output().expect("nvdisasm runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.trim().is_empty(), "{}: {said}", file.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn text(cubin: &Cubin) -> String {
    let names = cubin.functions.iter().map(|function| &function.name);
    let programs: Vec<_> = names.map(|name| program(cubin, name).expect("ours to read")).collect();
    let mut text = String::new();
    for one in &programs {
        write_program(one, &Style::default(), None, &mut text).expect("a string takes it");
    }
    let variables = union(programs.iter().map(|program| &program.variables[..]));
    write_variables(&variables, &Kept::default(), &mut text).expect("a string takes it");
    text
}

fn assembled(text: &str, arch: Arch) -> Cubin {
    let kernels = parse_programs(text, &ReadOptions::default()).expect("ours to read");
    let sources: Vec<_> =
        kernels.iter().map(|kernel| Source { program: &kernel.program, lines: Vec::new() }).collect();
    assemble(&sources, Module::of(arch, Abi::V8)).expect("ours to assemble")
}

/// Converts bits to text and back: the code and the relocations. Returns the kinds of relocations.
fn survives(oracle: &Oracle, file: &Path, arch: Arch) -> Vec<String> {
    let theirs = read(&std::fs::read(file).expect("the file is there")).expect("ours to read");
    let own = text(&theirs);
    let listed = operands(&listing(oracle, file));
    assert_eq!(operands(&own), listed, "{arch}");
    let cubin = assembled(&own, arch);
    for (a, b) in theirs.functions.iter().zip(&cubin.functions) {
        assert_eq!((&a.name, a.is_kernel), (&b.name, b.is_kernel), "{arch}");
        assert!(a.code == b.code && a.relocations == b.relocations, "{} {arch}", a.name);
    }
    assert_eq!(text(&read(&write(&cubin).expect("ours to write")).expect("ours to read")), own, "{arch}");
    let path = file.with_extension("ours.cubin");
    std::fs::write(&path, write(&cubin).expect("ours to write")).expect("the folder takes files");
    assert_eq!(operands(&listing(oracle, &path)), listed, "{arch}");
    std::fs::remove_file(path).expect("the file is there");
    let relocations = theirs.functions.iter().flat_map(|function| &function.relocations);
    let mut kinds: Vec<_> = relocations.map(|one| one.kind.to_string()).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

#[test]
fn operands_that_the_loader_fills_in_survive() {
    let Some(oracle) = oracle() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for arch in architectures() {
        let [ptx, object, linked]: [PathBuf; 3] = ["ptx", "object.cubin", "linked.cubin"]
            .map(|extension| folder.join(format!("addresses.{arch}.{extension}")));
        std::fs::write(&ptx, KERNELS.replace("sm_75", &arch.to_string())).expect("the folder takes files");
        oracle.assemble(&ptx, arch, &["-c"], &object);
        let of_calls: &[&str] = if arch == Arch::Sm90 {
            &["R_CUDA_ABS55_16_34", "R_CUDA_ABS56_16_34", "R_CUDA_UNIFIED32_HI_32", "R_CUDA_UNIFIED32_LO_32"]
        } else {
            &["R_CUDA_ABS47_34"]
        };
        let mut expected = vec!["R_CUDA_ABS16_32", "R_CUDA_ABS32_HI_32", "R_CUDA_ABS32_LO_32"];
        expected.extend(of_calls);
        expected.sort_unstable();
        assert_eq!(survives(&oracle, &object, arch), expected, "{arch}");
        if oracle.tool("nvlink").is_file() {
            let linker = Command::new(oracle.tool("nvlink"))
                .arg(format!("-arch={arch}"))
                .arg(&object)
                .arg("-o")
                .arg(&linked)
                .status()
                .expect("nvlink runs");
            assert!(linker.success(), "{arch}");
            // The linker knows places in constant banks; the loader decides the places of code and
            // global memory.
            let call = if arch == Arch::Sm90 { "R_CUDA_ABS55_16_34" } else { "R_CUDA_ABS47_34" };
            let mut expected = ["R_CUDA_ABS32_HI_32", "R_CUDA_ABS32_LO_32", call];
            expected.sort_unstable();
            assert_eq!(survives(&oracle, &linked, arch), expected, "{arch}");
            std::fs::remove_file(&linked).expect("the file is there");
        }
        for file in [ptx, object] {
            std::fs::remove_file(file).expect("the file is there");
        }
    }
}
