//! The page of the book that shows the instruction table: the number of rows and forms on each
//! architecture, and every row.

use std::fmt::Write as _;

use ptxc_machine::Arch;
use ptxc_sass::text::form;
use ptxc_sass::{Op, bits};

/// The text before the tables.
const HEAD: &str = "# Instruction table

This page lists every instruction that `ptxc` reads and writes. It comes from the table
(`sass/src/table`, one file per family) that text, encoding, latencies and hazard check use.
`cargo xtask bits --write` generates the page, and a test fails if it is out of date.

A *row* is an instruction. A *form* is one way to encode it: an operation with the kinds of its
operands. The *operation* is the lowest twelve bits of the word.

In the texts, braces enclose optional modifiers, and parentheses enclose modifiers of which one is
required. Operands have their names and the kinds that fit; `[-|!]` are the signs that an operand
accepts. A text is that of the newest architecture that has the row. [Encoding](facts/encoding.md)
describes the bits and how they were found.
";

/// The newest architecture for which a row can be encoded.
fn newest(op: Op) -> Option<Arch> {
    Arch::ALL.into_iter().rev().find(|&arch| bits::is_settled(op, arch))
}

/// `sm_75`–`sm_89` for neighbours; empty for all.
fn archs(op: Op) -> String {
    let list: Vec<Arch> = Arch::ALL.into_iter().filter(|&arch| bits::is_settled(op, arch)).collect();
    let all: &[Arch] = &Arch::ALL;
    match &list[..] {
        list if list == all => String::new(),
        [] => "none".to_string(),
        [only] => only.to_string(),
        list if all.windows(list.len()).any(|window| window == list) => {
            format!("{}–{}", list[0], list[list.len() - 1])
        }
        list => list.iter().map(Arch::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// The text of the page.
pub fn text() -> String {
    let mut page = String::from(HEAD);
    page.push_str("\n| | rows | forms | operations |\n|---|---|---|---|\n");
    for arch in Arch::ALL {
        let rows = Op::ALL.iter().filter(|&&op| bits::is_settled(op, arch)).count();
        let forms: usize = Op::ALL.iter().map(|&op| bits::forms(op, arch).len()).sum();
        let mut operations: Vec<u16> = Op::ALL.iter().flat_map(|&op| bits::opcodes(op, arch)).collect();
        operations.sort_unstable();
        operations.dedup();
        let _ = writeln!(page, "| {arch} | {rows} | {forms} | {} |", operations.len());
    }
    let _ = writeln!(page, "\n{} rows, {} architectures.", Op::ALL.len(), Arch::ALL.len());
    let mut family = "";
    for &op in Op::ALL {
        if op.family() != family {
            family = op.family();
            let _ = writeln!(
                page,
                "\n## {family}\n\n| text | effect | forms | operations | architectures |\n|---|---|---|---|---|"
            );
        }
        let Some(arch) = newest(op) else { continue };
        let opcodes: Vec<String> = bits::opcodes(op, arch).iter().map(|code| format!("{code:03x}")).collect();
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {} |",
            form(op, arch).replace('|', "\\|"),
            op.row().summary.replace('|', "\\|"),
            bits::forms(op, arch).len(),
            opcodes.join(" "),
            archs(op),
        );
    }
    page
}
