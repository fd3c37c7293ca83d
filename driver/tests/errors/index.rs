//! The lists of pages: the index of `docs/errors` and the part of the book's summary.

use crate::page::Page;

/// The groups of codes: the first number behind each, and what they are about.
const GROUPS: [(u32, &str); 7] = [
    (100, "Syntax"),
    (200, "What an instruction may look like"),
    (300, "Names and types"),
    (400, "What a function does"),
    (950, "Correct, but not compiled"),
    (990, "IR and SASS text, and hazards"),
    (1000, "Errors in ptxc"),
];

const HEAD: &str = "\
# Errors

One page a code, each with an example, what ptxc says about it, and the repaired example. `ptxc explain E0101` prints a page,
`ptxc explain` lists them. A code keeps its meaning for ever. [Diagnostics](../diagnostics.md) says how they are printed,
[Beside ptxas](beside-ptxas.md) shows some next to what ptxas says.

A test compiles every example: what the pages say is what the program says.
";

/// The text of `docs/errors/README.md`.
pub fn index(pages: &[Page]) -> String {
    let mut text = HEAD.to_string();
    let mut from = 0;
    for (to, about) in GROUPS {
        text.push_str(&format!("\n## {about}\n\n| code | |\n|---|---|\n"));
        for page in pages.iter().filter(|page| (from..to).contains(&number(page))) {
            text.push_str(&format!("| [{0}]({0}.md) | {1} |\n", page.code, page.title()));
        }
        from = to;
    }
    text
}

/// The book's summary with a line for every page below that of the index.
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
