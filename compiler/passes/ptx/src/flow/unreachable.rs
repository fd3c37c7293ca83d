//! Code that nothing leads to, and bodies whose end control reaches.
//!
//! Compilers leave branches and returns behind calls that do not come back, and behind `trap`. Such a stretch does nothing, and
//! is not worth a word; one that would compute something is.

use super::graph::Graph;
use crate::check::codes::{FALLS_OFF, UNREACHABLE};
use crate::check::table::Mnemonic;
use crate::diagnostic::Diagnostic;

/// A warning for each stretch of blocks that nothing leads to, and one where control runs past the end.
pub(super) fn check(graph: &Graph) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut block = 0;
    while block < graph.blocks.len() {
        let start = block;
        while block < graph.blocks.len() && !graph.reached[block] {
            block += 1;
        }
        found.extend(stretch(graph, start, block));
        block += usize::from(block == start);
    }
    found.extend(end(graph));
    found
}

/// Whether an instruction only says where control goes.
fn is_padding(mnemonic: Option<Mnemonic>) -> bool {
    matches!(mnemonic, Some(Mnemonic::Bra | Mnemonic::Ret | Mnemonic::Exit | Mnemonic::Trap))
}

/// The warning about blocks `start..end`, which nothing leads to.
fn stretch(graph: &Graph, start: usize, end: usize) -> Option<Diagnostic> {
    let range = match (graph.blocks.get(start), graph.blocks.get(end.checked_sub(1)?)) {
        (Some(first), Some(last)) if start < end => first.instructions.start..last.instructions.end,
        _ => return None,
    };
    let lost = &graph.instructions[range.clone()];
    if lost.iter().all(|place| is_padding(place.mnemonic)) {
        return None;
    }
    let first = lost.first()?;
    let count = match lost.len() {
        1 => "this instruction is never executed".to_string(),
        count => format!("{count} instructions from here on are never executed"),
    };
    let mut finding = Diagnostic::warning(UNREACHABLE, first.node, "nothing leads here").label(count);
    // The last instruction in front ends what is executed, unless that ends elsewhere by itself.
    if let Some(before) = range.start.checked_sub(1) {
        finding = finding.also(graph.instructions[before].node, "control does not go on behind this");
    }
    // The label next to it: one further on belongs to another thought.
    let label = graph.blocks[start..end]
        .iter()
        .take_while(|block| block.instructions.start == range.start)
        .find_map(|block| block.label.as_ref());
    Some(match label {
        Some((node, name)) => finding
            .also(*node, "no branch that is executed goes to this label")
            .help(format!("branch to `{name}`, or remove the code")),
        None => finding
            .help("give the branch in front a guard, or the code a label and a branch to it; or remove it"),
    })
}

/// The warning about a body whose end control reaches. One that is empty, or ends with a call that need not come back, has
/// none.
fn end(graph: &Graph) -> Option<Diagnostic> {
    let (last, block) = (graph.instructions.last()?, graph.blocks.last()?);
    let is_reached = *graph.reached.last()?;
    if !is_reached || !block.goes_on || last.mnemonic == Some(Mnemonic::Call) {
        return None;
    }
    let finding = |node| Diagnostic::warning(FALLS_OFF, node, "control reaches the end of the body");
    let finding = match &block.label {
        Some((node, _)) if block.instructions.is_empty() => {
            finding(*node).label("nothing follows this label")
        }
        _ => finding(last.node).label("the last instruction"),
    };
    Some(
        finding
            .note("what happens there is as if `ret` stood there, which a reader has to guess")
            .help("write `ret;` at the end"),
    )
}
