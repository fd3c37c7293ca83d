//! The lists of pages: the index of `docs/errors` and its part of the book's summary.

use super::page::Page;

/// The groups of codes: the first number after each group, and the subject of the group.
const GROUPS: [(u32, &str); 7] = [
    (100, "Syntax"),
    (200, "Instruction forms"),
    (300, "Names and types"),
    (400, "Function behaviour"),
    (950, "Unsupported programs"),
    (990, "IR and SASS text, and hazards"),
    (1000, "Internal errors"),
];

const HEAD: &str = "\
# Errors

Each code has a page with an example, the message of ptxc, and the repaired example. `ptxc explain
E0101` prints a page, and `ptxc explain` lists all codes. A code never changes its meaning.
[Diagnostics](../diagnostics.md) describes the format, and [Comparison with
ptxas](beside-ptxas.md) shows some messages next to those of ptxas.

A test compiles every example and compares its message with the page.
";

/// The text of `docs/errors/README.md`.
pub fn index(pages: &[Page]) -> String {
    let mut text = HEAD.to_string();
    let mut from = 0;
    for (to, about) in GROUPS {
        text.push_str(&format!("\n## {about}\n\n| code | error |\n|---|---|\n"));
        for page in pages.iter().filter(|page| (from..to).contains(&number(page))) {
            text.push_str(&format!("| [{0}]({0}.md) | {1} |\n", page.code, page.title()));
        }
        from = to;
    }
    text
}

/// The book's summary, with a line for every page after that of the index.
pub fn summary(text: &str, pages: &[Page]) -> String {
    let mut lines: Vec<String> =
        text.lines().filter(|line| !line.starts_with("  - [E0")).map(String::from).collect();
    let at = lines.iter().position(|line| line.contains("(errors/README.md)")).expect("the index is listed");
    let own = pages.iter().map(|page| format!("  - [{0}: {1}](errors/{0}.md)", page.code, page.title()));
    lines.splice(at + 1..at + 1, own);
    lines.join("\n") + "\n"
}

fn number(page: &Page) -> u32 {
    page.code.trim_start_matches('E').parse().unwrap_or_default()
}
