//! What a guide tells its reader to do, read from the page.
//!
//! A sentence names the file, and a listing follows:
//!
//! | the text ends with | the listing |
//! |---|---|
//! | ``a new file `PATH`:`` | is the file |
//! | ``in `PATH`, after `LINE`:`` | is added after the line that begins with `LINE` |
//! | ``in `PATH`, before `LINE`:`` | is added before that line |
//! | ``in `PATH`, instead of `LINE`:`` | replaces that line |
//! | ``Copy `PATH` to `PATH`.`` | there is none |

use regex::Regex;

/// A change of the sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The page and the line of the listing.
    pub(crate) from: String,
    /// The file that changes, in the repository.
    pub(crate) path: String,
    pub(crate) what: What,
}

/// How a file changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The file is new.
    New(String),
    /// The file is a copy of another one.
    Copy(String),
    /// Lines are added after the line that begins so.
    After(String, String),
    /// Lines are added before that line.
    Before(String, String),
    /// Lines replace that line.
    InsteadOf(String, String),
}

/// The changes that a guide describes, in order, and the listings of code without a place.
pub(crate) fn edits(page: &str, text: &str) -> (Vec<Edit>, Vec<String>) {
    let new = Regex::new(r"[Aa] new file `([^`]+)`:$").expect("the expression is right");
    let change = Regex::new(r"[Ii]n `([^`]+)`, (after|before|instead of) `([^`]+)`:$").expect("it is right");
    let copy = Regex::new(r"Copy `([^`]+)` to `([^`]+)`").expect("it is right");
    let (mut edits, mut unplaced) = (Vec::new(), Vec::new());
    let mut paragraph = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else {
            if line.trim().is_empty() {
                continue;
            }
            let starts =
                line.trim_start().starts_with(['#', '|', '-', '*']) || text_before_is_blank(text, number);
            if starts {
                paragraph.clear();
            }
            paragraph += if paragraph.is_empty() { "" } else { " " };
            paragraph += line.trim();
            if text.lines().nth(number + 1).is_none_or(|next| next.trim().is_empty()) {
                edits.extend(copy.captures_iter(&paragraph).map(|found| Edit {
                    from: format!("{page}:{}", number + 1),
                    path: found[2].to_string(),
                    what: What::Copy(found[1].to_string()),
                }));
            }
            continue;
        };
        let indent = line.len() - line.trim_start().len();
        let listing =
            lines.by_ref().map(|(_, line)| line).take_while(|line| !line.trim_start().starts_with("```"));
        let listing: String =
            listing.map(|line| format!("{}\n", line.get(indent..).unwrap_or_default())).collect();
        let from = format!("{page}:{}", number + 1);
        let edit = |path: &str, what: What| Edit { from: from.clone(), path: path.to_string(), what };
        if let Some(found) = new.captures(&paragraph) {
            edits.push(edit(&found[1], What::New(listing)));
        } else if let Some(found) = change.captures(&paragraph) {
            let anchor = found[3].to_string();
            let what = match &found[2] {
                "after" => What::After(anchor, listing),
                "before" => What::Before(anchor, listing),
                _ => What::InsteadOf(anchor, listing),
            };
            edits.push(edit(&found[1], what));
        } else if !["rust", "sh", "console"].contains(&language) {
            // Rust alone is a program: the documentation of `ptxc-compiler` compiles it.
            unplaced.push(from);
        }
        paragraph.clear();
    }
    (edits, unplaced)
}

fn text_before_is_blank(text: &str, number: usize) -> bool {
    number == 0 || text.lines().nth(number - 1).is_some_and(|line| line.trim().is_empty())
}

/// Changes a text as an edit of an existing file says.
///
/// # Errors
/// Which line is missing or is there twice.
pub(crate) fn apply(text: &str, what: &What) -> Result<String, String> {
    let (anchor, listing) = match what {
        What::After(anchor, listing) | What::Before(anchor, listing) | What::InsteadOf(anchor, listing) => {
            (anchor, listing)
        }
        What::New(text) | What::Copy(text) => return Ok(text.clone()),
    };
    let mut found =
        text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with(anchor.as_str()));
    let (number, line) = match (found.next(), found.next()) {
        (Some(found), None) => found,
        (None, _) => return Err(format!("no line begins with `{anchor}`")),
        (Some(_), Some(_)) => return Err(format!("more than one line begins with `{anchor}`")),
    };
    let indent = &line[..line.len() - line.trim_start().len()];
    let listing: String = listing
        .lines()
        .map(|line| if line.is_empty() { "\n".to_string() } else { format!("{indent}{line}\n") })
        .collect();
    let (before, after) = match what {
        What::After(..) => (number + 1, number + 1),
        What::InsteadOf(..) => (number, number + 1),
        What::New(_) | What::Copy(_) | What::Before(..) => (number, number),
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    Ok(format!("{}{listing}{}", lines[..before].concat(), lines[after..].concat()))
}

#[test]
fn a_guide_becomes_edits() {
    let text = "# Title\n\nWrite a new file\n`a/b.rs`:\n\n```rust,ignore\nfn b() {}\n```\n\n1. Add it in\n   `a/mod.rs`, after `mod a;`:\n\n\
                \x20  ```rust,ignore\n   mod b;\n   ```\n\nCopy `a/c` to `a/d`.\n\n```rust,ignore\nlost\n```\n";
    let (edits, unplaced) = edits("page", text);
    let what: Vec<(&str, &What)> = edits.iter().map(|edit| (edit.path.as_str(), &edit.what)).collect();
    let after = What::After("mod a;".to_string(), "mod b;\n".to_string());
    assert_eq!(
        what,
        [
            ("a/b.rs", &What::New("fn b() {}\n".to_string())),
            ("a/mod.rs", &after),
            ("a/d", &What::Copy("a/c".to_string()))
        ]
    );
    assert_eq!(unplaced, ["page:19"]);
    assert_eq!(apply("x {\n    mod a;\n}\n", &after), Ok("x {\n    mod a;\n    mod b;\n}\n".to_string()));
    assert!(apply("mod a;\nmod a;\n", &after).is_err());
}
