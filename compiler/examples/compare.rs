//! Compares heuristics over a folder of PTX: cycles of each relative to the first, by kernel, and
//! the geometric mean.
//! `cargo run --release -p ptxc-compiler --example compare [FOLDER [HEURISTIC…]]`.

use std::path::Path;

use ptxc_compiler::{Settings, compile};

/// The cycles and registers of each kernel in a folder that compiles, with a heuristic.
fn figures(folder: &Path, heuristic: &str) -> Vec<(String, u64, u32)> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    paths.sort();
    let mut figures = Vec::new();
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let settings = Settings { heuristic: heuristic.to_string(), ..Settings::default() };
        let Ok(compiled) = compile(&text, settings) else { continue };
        for program in compiled.kernels.iter().map(|code| &code.program) {
            figures.push((program.name.clone(), program.static_cycles(), program.resources.registers));
        }
    }
    figures
}

fn main() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/lit/kernels");
    let mut words = std::env::args().skip(1);
    let folder = words.next().unwrap_or_else(|| default.to_string());
    let mut names: Vec<String> = words.collect();
    if names.is_empty() {
        names = ["balanced", "source-order", "critical-path", "pressure"].map(String::from).to_vec();
    }
    let columns: Vec<_> = names.iter().map(|name| figures(Path::new(&folder), name)).collect();
    println!("{:32}{}", "kernel", names.iter().map(|name| format!("{name:>22}")).collect::<String>());
    for (row, (kernel, first, _)) in columns[0].iter().enumerate() {
        let cell = |column: &Vec<(String, u64, u32)>| {
            let (_, cycles, registers) = &column[row];
            format!("{:>13.3} {registers:4} regs", *cycles as f64 / (*first).max(1) as f64)
        };
        println!("{kernel:32}{}", columns.iter().map(cell).collect::<String>());
    }
    let mean = |column: &Vec<(String, u64, u32)>| {
        let ratios =
            column.iter().zip(&columns[0]).map(|(one, first)| one.1.max(1) as f64 / first.1.max(1) as f64);
        let logarithms: f64 = ratios.map(f64::ln).sum();
        format!("{:>13.3}{:10}", (logarithms / column.len().max(1) as f64).exp(), "")
    };
    println!("{:32}{}", "geometric mean", columns.iter().map(mean).collect::<String>());
}
