//! Every link within the repository leads to an existing file and heading, and the summary lists
//! every page.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use super::{pages, root};

/// The lines of a page outside of its listings.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_listing = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_listing ^= is_fence;
        !is_listing && !is_fence
    })
}

/// The targets of the links of a page.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // Text between backticks is not a link.
        let line: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for rest in line.split("](").skip(1) {
            found.extend(rest.split(')').next().map(str::to_string));
        }
    }
    found
}

/// The anchors of headings, as mdBook and GitHub generate them.
fn anchors(text: &str) -> HashSet<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let headings = prose(text).filter_map(|line| line.strip_prefix('#'));
    headings
        .map(|line| {
            let line = line.trim_start_matches('#').trim();
            let kept = line.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
            let name: String = kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect();
            let count = seen.entry(name.clone()).or_insert(0);
            *count += 1;
            if *count == 1 { name } else { format!("{name}-{}", *count - 1) }
        })
        .collect()
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn links_lead_somewhere() {
    let pages = pages();
    let by_path: HashMap<&Path, HashSet<String>> =
        pages.iter().map(|(path, text)| (path.as_path(), anchors(text))).collect();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (path, text) in &pages {
        for link in links(text).iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            count += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                file => plain(&path.parent().unwrap_or(Path::new("")).join(file)),
            };
            if !root().join(&target).exists() {
                wrong.push(format!("{}: {link}: no such file", path.display()));
            } else if !anchor.is_empty()
                && !by_path.get(target.as_path()).is_some_and(|known| known.contains(anchor))
            {
                wrong.push(format!("{}: {link}: no such heading", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "{count}");
}

#[test]
fn the_book_has_every_page_once() {
    let pages = pages();
    let summary = &pages.iter().find(|(path, _)| path.ends_with("SUMMARY.md")).expect("there is a summary").1;
    let mut listed = links(summary);
    listed.sort();
    let mut there: Vec<String> = pages
        .iter()
        .filter_map(|(path, _)| Some(path.strip_prefix("docs").ok()?.to_string_lossy().replace('\\', "/")))
        .filter(|path| path != "SUMMARY.md")
        .collect();
    there.sort();
    assert_eq!(listed, there);
}
