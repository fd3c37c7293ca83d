//! A scheduling heuristic of one's own, compared with the built-in one:
//! `cargo run -p ptxc-compiler --example heuristic [FILE.ptx]`.

use ptxc_compiler::module::{ast, environment};
use ptxc_compiler::{Database, SourceFile, items::items};
use ptxc_passes::link::Callees;
use ptxc_passes::pipeline::{self, CodeSettings, Halt, Silent};
use ptxc_passes::schedule::{Cycle, Heuristic, Node, Region, heuristic_by_name};
use ptxc_sass::Arch;

/// Prefer what unlocks the most, then what has waited longest.
struct MostSuccessors;

impl Heuristic for MostSuccessors {
    fn name(&self) -> &str {
        "most-successors"
    }

    fn pick(&mut self, region: &Region, ready: &[Node], now: Cycle) -> Node {
        let score = |node: Node| (region.successors(node).len(), now - region.ready_at(node));
        let best = ready.iter().copied().max_by_key(|&node| score(node));
        best.unwrap_or_else(|| unreachable!("the ready list is never empty"))
    }
}

fn cycles(
    db: &Database,
    file: SourceFile,
    heuristic: &mut dyn Heuristic,
) -> Result<Vec<(String, u64, u32)>, Halt> {
    let settings = CodeSettings {
        arch: Arch::Sm90,
        accelerated: false,
        opt: 3,
        heuristic: String::new(),
        max_regs: 255,
        serial: false,
    };
    let mut rows = Vec::new();
    for &func in &items(db, file).functions {
        let built = pipeline::build(ast(db, func), environment(db, func))?;
        let ssa = pipeline::ssa(built, settings.arch, settings.opt, true, &mut Silent)?;
        let mir = pipeline::machine(ssa, settings.arch, settings.opt, &mut Silent)?;
        let code = pipeline::code_with(mir, &Callees::new(), &settings, heuristic, &mut Silent)?;
        let program = &code.program;
        rows.push((program.name.clone(), program.static_cycles(), program.resources.registers));
    }
    Ok(rows)
}

fn main() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/lit/kernels/saxpy.ptx");
    let path = std::env::args().nth(1).unwrap_or_else(|| default.to_string());
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let db = Database::default();
    let file = SourceFile::new(&db, path, text);
    let mut balanced = heuristic_by_name("balanced").unwrap_or_else(|| unreachable!("it is built in"));
    println!("{:24} {:18} {:>8} {:>5}", "kernel", "heuristic", "cycles", "regs");
    for heuristic in [&mut *balanced as &mut dyn Heuristic, &mut MostSuccessors] {
        let name = heuristic.name().to_string();
        match cycles(&db, file, heuristic) {
            Ok(rows) => {
                for (kernel, cycles, registers) in rows {
                    println!("{kernel:24} {name:18} {cycles:8} {registers:5}");
                }
            }
            Err(halt) => {
                halt.iter().for_each(|diagnostic| println!("{}: {}", diagnostic.code, diagnostic.message))
            }
        }
    }
}
