//! NVIDIA's assembler compiles the corpus, its disassembler prints the result: every instruction of
//! which the table has a row must be readable, and printed again character by character as it was.
//!
//! Needs the two tools (`ORACLE` names their folder, else `~/.cache/ptxc-oracle` is looked at) and the
//! corpus beside the repository; without them the test says so and checks nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptxc_sass::Control;
use ptxc_sass::text::{ParseError, parse_inst, write_inst};

struct Oracle {
    tools: PathBuf,
    corpus: PathBuf,
}

fn oracle() -> Option<Oracle> {
    let tools = match std::env::var_os("ORACLE") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let python = Path::new(&std::env::var_os("HOME")?).join(".cache/ptxc-oracle/lib");
            let version = std::fs::read_dir(python).ok()?.flatten().next()?.path();
            version.join("site-packages/nvidia/cu13/bin")
        }
    };
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/ptx/t1");
    (tools.join("ptxas").is_file() && corpus.is_dir()).then_some(Oracle { tools, corpus })
}

impl Oracle {
    /// The disassembly of a kernel with its encoding: one line an instruction, and its upper half.
    fn disassemble(&self, ptx: &Path) -> Vec<(String, u64)> {
        let name = ptx.file_stem().unwrap().to_string_lossy().into_owned();
        let cubin = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.cubin"));
        let status = Command::new(self.tools.join("ptxas"))
            .args(["-arch=sm_90", "-w"])
            .arg(ptx)
            .arg("-o")
            .arg(&cubin)
            .status()
            .expect("ptxas runs");
        assert!(status.success(), "ptxas refuses {name}");
        let output = Command::new(self.tools.join("nvdisasm"))
            .args(["-hex", "-c"])
            .arg(&cubin)
            .output()
            .expect("runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut found = Vec::new();
        let mut pending = None;
        for line in text.lines().map(str::trim) {
            let Some(rest) = line.strip_prefix("/*") else { continue };
            let high = rest.trim_start().strip_prefix("0x").and_then(|rest| rest.strip_suffix("*/"));
            if let Some(digits) = high {
                let high = u64::from_str_radix(digits.trim(), 16).expect("hexadecimal");
                found.push((pending.take().expect("the lower half comes first"), high));
            } else if let Some((_, rest)) = rest.split_once("*/") {
                let Some((instruction, _)) = rest.split_once(';') else { continue };
                pending = Some(instruction.trim().trim_start_matches('{').trim().to_string());
            }
        }
        found
    }

    fn kernels(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(&self.corpus).expect("corpus").flatten().map(|entry| entry.path());
        let mut files: Vec<_> = files.filter(|path| path.to_string_lossy().ends_with(".sm_90.ptx")).collect();
        files.sort();
        files
    }
}

/// The labels of branches within a program, and the calls that no label names.
fn is_call(line: &str) -> bool {
    line.contains("`(") && !line.contains("`(.L_x_")
}

#[derive(Default)]
struct Findings {
    checked: usize,
    missing: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

const WORKERS: usize = 4;

fn check_all(oracle: &Oracle, kernels: &[PathBuf]) -> Findings {
    let mut found = Findings::default();
    for kernel in kernels {
        for (line, high) in oracle.disassemble(kernel) {
            if is_call(&line) {
                *found.missing.entry("calls".into()).or_default() += 1;
                continue;
            }
            match parse_inst(&line) {
                Ok((inst, reuse)) => {
                    let mut back = String::new();
                    write_inst(&mut back, &inst, reuse).unwrap();
                    if back.trim_end() != line {
                        found.wrong.push(format!("{line}  ->  {back}"));
                    }
                    if let Err(why) = inst.check_form() {
                        found.wrong.push(format!("{line}: {why}"));
                    }
                    match Control::of_word(high) {
                        Ok(control) if control.reuse == reuse => {}
                        Ok(control) => found.wrong.push(format!("{line}: reuse is {:#b}", control.reuse)),
                        Err(why) => found.wrong.push(format!("{line}: {why}")),
                    }
                    found.checked += 1;
                }
                Err(ParseError::Mnemonic(mnemonic)) => *found.missing.entry(mnemonic).or_default() += 1,
                Err(why) => found.wrong.push(format!("{line}: {why}")),
            }
        }
    }
    found
}

/// Checks the kernels whose name the filter takes; how many instructions were checked.
fn check(oracle: &Oracle, filter: impl Fn(&str) -> bool) -> usize {
    let mut kernels = oracle.kernels();
    kernels.retain(|path| filter(&path.file_name().unwrap_or_default().to_string_lossy()));
    let (mut checked, mut missing, mut wrong) = (0, BTreeMap::<String, usize>::new(), Vec::new());
    std::thread::scope(|scope| {
        let share = kernels.len().div_ceil(WORKERS).max(1);
        let workers: Vec<_> =
            kernels.chunks(share).map(|part| scope.spawn(|| check_all(oracle, part))).collect();
        for worker in workers {
            let found = worker.join().expect("a worker panicked");
            checked += found.checked;
            wrong.extend(found.wrong);
            for (mnemonic, times) in found.missing {
                *missing.entry(mnemonic).or_default() += times;
            }
        }
    });
    eprintln!("{checked} instructions of {} kernels checked; no row for {missing:?}", kernels.len());
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
    checked
}

#[test]
fn text_of_some_kernels_survives() {
    let Some(oracle) = oracle() else {
        eprintln!("skipped: no ptxas, nvdisasm or corpus here");
        return;
    };
    let names = ["mandelbrot", "matmul_tiled", "reduce_shared", "spmv_csr", "switch_vm", "warp_votes"];
    let checked = check(&oracle, |file| names.iter().any(|name| file.starts_with(name)));
    assert!(checked > 800, "only {checked} instructions");
}

#[test]
#[ignore = "compiles the whole corpus, which takes half a minute"]
fn text_of_the_corpus_survives() {
    let Some(oracle) = oracle() else {
        eprintln!("skipped: no ptxas, nvdisasm or corpus here");
        return;
    };
    let checked = check(&oracle, |_| true);
    assert!(checked > 5000, "only {checked} instructions");
}
