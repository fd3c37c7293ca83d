//! A custom scheduling heuristic beside a built-in one:
//! `cargo run -p ptxc-compiler --example heuristic [FILE.ptx]`.

use ptxc_compiler::codegen::schedule::{Cycle, Heuristic, Node, Region, heuristic_by_name};
use ptxc_compiler::{Settings, compile_with};

/// Prefers the instruction that unlocks the most others, then the one that has waited longest.
struct MostSuccessors;

impl Heuristic for MostSuccessors {
    fn name(&self) -> &str {
        "most-successors"
    }

    fn pick(&mut self, region: &Region, ready: &[Node], now: Cycle) -> Node {
        let score = |node: Node| (region.successors(node).len(), now - region.ready_at(node));
        ready.iter().copied().max_by_key(|&node| score(node)).expect("the ready list is never empty")
    }
}

fn main() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/lit/kernels/saxpy.ptx");
    let path = std::env::args().nth(1).unwrap_or_else(|| default.to_string());
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut balanced = heuristic_by_name("balanced").expect("it is built in");
    for heuristic in [&mut *balanced as &mut dyn Heuristic, &mut MostSuccessors] {
        let compiled = compile_with(&text, Settings::default(), heuristic).expect("the kernels are correct");
        for program in compiled.kernels.iter().map(|code| &code.program) {
            let (cycles, registers) = (program.static_cycles(), program.resources.registers);
            println!("{:24} {:18} {cycles:8} cycles {registers:5} registers", program.name, heuristic.name());
        }
    }
}
