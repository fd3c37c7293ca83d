//! Unreachable code, and bodies whose end control reaches.
//!
//! Compilers leave branches and returns after `trap` and after calls that do not return. Such code
//! does nothing and gets no warning; unreachable code that would compute something does.

use super::graph::Graph;
use crate::check::codes::{FALLS_OFF, UNREACHABLE};
use crate::check::table::Mnemonic;
use crate::diagnostic::Diagnostic;

/// A warning for each unreachable stretch of blocks, and one if control reaches the end of the
/// body.
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

/// Whether an instruction only directs control.
fn is_padding(mnemonic: Option<Mnemonic>) -> bool {
    matches!(mnemonic, Some(Mnemonic::Bra | Mnemonic::Ret | Mnemonic::Exit | Mnemonic::Trap))
}

/// The warning about the unreachable blocks `start..end`.
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
    let mut finding = Diagnostic::warning(UNREACHABLE, first.node, "unreachable code").label(count);
    // The instruction before the stretch ends the executed code, unless it is itself unreachable.
    if let Some(before) = range.start.checked_sub(1) {
        finding = finding.also(graph.instructions[before].node, "control does not continue after this");
    }
    // Only the label at the start of the stretch: a later label is unrelated.
    let label = graph.blocks[start..end]
        .iter()
        .take_while(|block| block.instructions.start == range.start)
        .find_map(|block| block.label.as_ref());
    Some(match label {
        Some((node, name)) => finding
            .also(*node, "no reachable branch goes to this label")
            .help(format!("branch to `{name}`, or remove the code")),
        None => {
            finding.help("guard the branch before this code, add a label and a branch to it, or remove it")
        }
    })
}

/// The warning about a body whose end control reaches. An empty body, or one that ends with a call
/// that may not return, gets no warning.
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
            .note("control returns there as if by `ret`, but the text does not say so")
            .help("write `ret;` at the end"),
    )
}
