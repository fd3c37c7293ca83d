//! Renders the Markdown of a page as text for a terminal.
//!
//! ````text
//! # E0101: unknown instruction             E0101: unknown instruction
//! ## Fix                                   Fix:
//! See [SASS text](../sass-text.md).   =>   See SASS text.
//! ```ptx                                       add.u32 %r1, %r2, %r3;
//! add.u32 %r1, %r2, %r3;
//! ```
//! ```
//! ````

/// A page without markup.
pub(super) fn page(markdown: &str) -> String {
    let mut text = String::new();
    let mut is_code = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if is_code {
            if !line.is_empty() {
                text.push_str("    ");
            }
            text.push_str(line);
        } else if let Some(heading) = line.strip_prefix("# ") {
            text.push_str(&inline(heading));
        } else if let Some(heading) = line.strip_prefix("## ") {
            text.push_str(&inline(heading));
            text.push(':');
        } else {
            text.push_str(&inline(line));
        }
        text.push('\n');
    }
    text
}

/// A line without the targets of its links.
pub(super) fn inline(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('[') {
        let link = rest[start + 1..].split_once("](").and_then(|(label, after)| {
            let (_, after) = after.split_once(')')?;
            Some((label, after)).filter(|(label, _)| !label.contains(['[', ']', '`']))
        });
        let Some((label, after)) = link else {
            text.push_str(&rest[..=start]);
            rest = &rest[start + 1..];
            continue;
        };
        text.push_str(&rest[..start]);
        text.push_str(label);
        rest = after;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_code_is_set_in() {
        let markdown = "# E0101: a `b`\n\nSee [SASS text](../sass.md), `[%rd1]`.\n\n```ptx\nret;\n\n\tret;\n```\n\n## Fix\n";
        let text = "E0101: a `b`\n\nSee SASS text, `[%rd1]`.\n\n    ret;\n\n    \tret;\n\nFix:\n";
        assert_eq!(page(markdown), text);
    }

    #[test]
    fn brackets_that_are_no_links_stay() {
        for line in ["`[tile+4]` and `[%rd1] (generic)`", "x[", "[a](b"] {
            assert_eq!(inline(line), line);
        }
    }
}
