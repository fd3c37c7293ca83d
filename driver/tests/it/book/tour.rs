//! The tour: a comment before each listing says what it shows, and this test regenerates it.
//!
//! | comment | listing |
//! |---|---|
//! | `<!-- the kernel -->` | the PTX |
//! | `<!-- before PASS -->`, `<!-- after PASS -->` | the code there |
//! | `<!-- changes of PASS -->` | the lines that the pass removes (`-`) and adds (`+`) |
//! | `<!-- explained -->` | the SASS with `--explain` |
//!
//! `PTXC_BLESS=1` regenerates the page.

use ptxc_passes::Pass;
use similar::TextDiff;

use super::{ptxc, root};

const PAGE: &str = "docs/tour.md";
const KERNEL: &str = "tests/lit/kernels/saxpy.ptx";

/// The code before or after a pass.
fn dump(option: &str, pass: &str) -> String {
    let kernel = root().join(KERNEL);
    let (code, _, said) =
        ptxc(&["lower", &kernel.to_string_lossy(), "-o", "-", &format!("--print-{option}={pass}")]);
    assert_eq!(code, 0, "{said}");
    // The first line names the kernel and the pass.
    said.lines().skip(1).map(|line| format!("{line}\n")).collect()
}

fn listing(what: &str) -> String {
    let words: Vec<&str> = what.split_whitespace().collect();
    let kernel = root().join(KERNEL);
    match words[..] {
        ["the", "kernel"] => {
            let text = std::fs::read_to_string(kernel).expect("the kernel can be read");
            let lines = text.lines().filter(|line| !line.starts_with("//"));
            lines.map(|line| format!("{line}\n")).collect()
        }
        [option @ ("before" | "after"), pass] => dump(option, pass),
        ["changes", "of", pass] => {
            let (before, after) = (dump("before", pass), dump("after", pass));
            let changes = TextDiff::from_lines(&before, &after).unified_diff().context_radius(0).to_string();
            let lines: String = changes
                .lines()
                .filter(|line| !line.starts_with("@@"))
                .map(|line| format!("{line}\n"))
                .collect();
            if lines.is_empty() { "(nothing)\n".to_string() } else { lines }
        }
        ["explained"] => {
            let (code, text, said) = ptxc(&["lower", &kernel.to_string_lossy(), "-o", "-", "--explain"]);
            assert_eq!(code, 0, "{said}");
            text
        }
        _ => panic!("{PAGE} has no listing `{what}`"),
    }
}

/// The page with regenerated listings.
fn regenerated(page: &str) -> String {
    let mut text = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        let Some(what) = line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->")) else {
            continue;
        };
        let fence = lines.next().unwrap_or_default();
        assert!(fence.starts_with("```"), "no listing follows {line}");
        lines.by_ref().take_while(|line| *line != "```").for_each(drop);
        let listing = listing(what);
        text += &format!("{fence}\n{}\n```\n", listing.trim_matches('\n'));
    }
    text
}

#[test]
fn the_tour_shows_what_the_program_prints() {
    let path = root().join(PAGE);
    let page = std::fs::read_to_string(&path).expect("the tour can be read");
    let regenerated = regenerated(&page);
    if std::env::var_os("PTXC_BLESS").is_some() {
        std::fs::write(&path, &regenerated).expect("the tour can be written");
    } else {
        assert!(page == regenerated, "{PAGE} is stale; PTXC_BLESS=1 regenerates it");
    }
}

#[test]
fn the_tour_goes_through_every_pass() {
    let page = std::fs::read_to_string(root().join(PAGE)).expect("the tour can be read");
    for pass in Pass::names() {
        let shown =
            ["after ", "changes of "].iter().any(|what| page.contains(&format!("<!-- {what}{pass} -->")));
        assert!(shown || page.contains(&format!("`{pass}`")), "{PAGE} does not mention `{pass}`");
    }
}
