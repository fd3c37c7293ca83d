//! Kernels as graphs for Graphviz.
//!
//! In: a finished kernel. Out: two digraphs, one after the other. The first is the control flow:
//! one box for each block with its instructions, and an edge for each way that control takes. The
//! second shows the dependences: one cluster for each block, and edges labelled with the kind, the
//! registers, and the reason for the distance between the two instructions. Dependences on other
//! blocks are left out.
//!
//! ```text
//! digraph "saxpy: control flow" {
//!     b0 [label="0000  S2R R0, SR_TID.X\l0010  EXIT\l"];
//!     b0 -> b1 [label="taken"];
//! }
//! digraph "saxpy: dependences" {
//!     subgraph cluster_b0 { … }
//!     i0 -> i4 [label="RAW R0\nSB0"];
//! }
//! ```

use std::io::{self, Write};

use ptxc_codegen::func_code::FuncCode;
use ptxc_sass::Program;
use ptxc_sass::blocks::{Block, Way, blocks};
use ptxc_sass::dependences::{Edge, Kind, Protection, dependences};
use ptxc_sass::text::write_loaded;

/// Writes both graphs of a kernel.
///
/// # Errors
/// If the writer fails.
pub fn write(out: &mut dyn Write, code: &FuncCode) -> io::Result<()> {
    let program = &code.program;
    let blocks = blocks(program);
    let lines = lines(program);
    control_flow(out, program, &blocks, &lines)?;
    let edges = dependences(program, &blocks);
    dependence_graph(out, program, &blocks, &lines, &edges)
}

/// The label of each instruction: its offset and its text.
fn lines(program: &Program) -> Vec<String> {
    let mut relocations = program.relocations.iter().peekable();
    let line = |(index, coded): (usize, _)| {
        let mut text = format!("{:04x}  ", index as u32 * Program::INST_BYTES);
        let loaded = relocations.next_if(|one| one.inst as usize == index);
        // Writing to a string fails only if a formatter fails, and these formatters do not.
        let written = write_loaded(&mut text, coded, program, loaded);
        debug_assert!(written.is_ok());
        text
    };
    program.insts.iter().enumerate().map(line).collect()
}

/// The beginning of a graph.
fn begin(out: &mut dyn Write, program: &Program, what: &str) -> io::Result<()> {
    writeln!(out, "digraph \"{}: {what}\" {{", escaped(&program.name))?;
    writeln!(out, "    node [shape=box, fontname=monospace];\n    edge [fontname=monospace];")
}

fn control_flow(
    out: &mut dyn Write,
    program: &Program,
    blocks: &[Block],
    lines: &[String],
) -> io::Result<()> {
    let names = names(program, blocks);
    begin(out, program, "control flow")?;
    for (number, block) in blocks.iter().enumerate() {
        write!(out, "    b{number} [label=\"")?;
        for name in &names[number] {
            write!(out, "{}:\\l", escaped(name))?;
        }
        for line in &lines[block.range()] {
            write!(out, "{}\\l", escaped(line))?;
        }
        writeln!(out, "\"];")?;
    }
    for (number, block) in blocks.iter().enumerate() {
        for next in &block.successors {
            let way = match next.way {
                Way::Taken => "taken",
                Way::Indexed => "indexed",
                Way::FallsThrough => "fallthrough",
            };
            writeln!(out, "    b{number} -> b{} [label=\"{way}\"];", next.block)?;
        }
    }
    writeln!(out, "}}")
}

/// The functions and labels at the beginning of each block.
fn names(program: &Program, blocks: &[Block]) -> Vec<Vec<String>> {
    let mut names = vec![Vec::new(); blocks.len()];
    let functions = program.functions.iter().filter_map(|one| Some((one.start?, one.name.clone())));
    let labels = program.labels.iter().enumerate().map(|(number, &at)| (at, format!(".L_x_{number}")));
    for (place, name) in functions.chain(labels) {
        if let Ok(block) = blocks.binary_search_by_key(&place, |block| block.start) {
            names[block].push(name);
        }
    }
    names
}

fn dependence_graph(
    out: &mut dyn Write,
    program: &Program,
    blocks: &[Block],
    lines: &[String],
    edges: &[Edge],
) -> io::Result<()> {
    begin(out, program, "dependences")?;
    for (number, block) in blocks.iter().enumerate() {
        writeln!(out, "    subgraph cluster_b{number} {{\n        label=\"block {number}\";")?;
        for index in block.range() {
            writeln!(out, "        i{index} [label=\"{}\"];", escaped(&lines[index]))?;
        }
        writeln!(out, "    }}")?;
    }
    for edge in edges.iter().filter(|edge| !edge.carried) {
        let kind = match edge.kind {
            Kind::Memory => "memory".to_string(),
            kind => kind.name().to_uppercase(),
        };
        let registers: String = edge.registers.iter().map(|register| format!(" {register}")).collect();
        let how = match edge.protection {
            Protection::Stall { cycles, safe, .. } => format!("\\n{cycles} cycles, needs {safe}"),
            Protection::Scoreboard { scoreboard, .. } => format!("\\nSB{scoreboard}"),
            Protection::Order => String::new(),
        };
        writeln!(out, "    i{} -> i{} [label=\"{kind}{registers}{how}\"];", edge.from, edge.to)?;
    }
    writeln!(out, "}}")
}

/// A text as it is written between quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
