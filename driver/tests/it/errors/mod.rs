//! The pages of `docs/errors`: one for each code that the program can print, each with an example
//! that gives the code and a repaired example that gives no diagnostics. `PTXC_BLESS=1` rewrites
//! the program's messages in them, the index, and the list in the summary.

mod codes;
mod index;
mod page;

use std::path::{Path, PathBuf};

use page::Page;

/// Codes without a short example.
const WITHOUT_EXAMPLE: [&str; 8] = ["E0006", "E0039", "E0099", "E0903", "E0975", "E0990", "E0991", "E0992"];

/// A path in the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Compares a file with the wanted text; `PTXC_BLESS=1` writes the text instead.
fn expect(path: &Path, wanted: &str, wrong: &mut Vec<String>) {
    if std::fs::read_to_string(path).is_ok_and(|text| text == wanted) {
        return;
    }
    match std::env::var_os("PTXC_BLESS") {
        Some(_) => std::fs::write(path, wanted).expect("the file can be written"),
        None => wrong.push(format!("{} is not up to date: PTXC_BLESS=1 rewrites it", path.display())),
    }
}

fn report(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let defined = codes::defined();
    let written: Vec<&str> = ptxc::explain::PAGES.iter().map(|page| page.code).collect();
    let mut wrong: Vec<String> = Vec::new();
    wrong.extend(
        defined.iter().filter(|code| !written.contains(&&***code)).map(|code| format!("{code} has no page")),
    );
    wrong.extend(
        written.iter().filter(|code| !defined.contains(**code)).map(|code| format!("{code} is not a code")),
    );
    report(&wrong);
}

#[test]
fn pages_begin_with_the_rule_of_their_code() {
    let mut wrong = Vec::new();
    for page in Page::all() {
        if let Some(rule) = codes::rule(&page.code)
            && page.first_paragraph() != rule
        {
            wrong.push(format!("{} does not begin with its rule: {rule}", page.code));
        }
        let is_titled = page.text.starts_with(&format!("# {}: ", page.code));
        if !is_titled {
            wrong.push(format!("{} does not begin with its code and title", page.code));
        }
    }
    report(&wrong);
}

#[test]
fn examples_give_their_code_and_repaired_ones_nothing() {
    let mut wrong = Vec::new();
    for page in Page::all() {
        match page.example() {
            Some(example) => {
                let said = example.run(&example.broken);
                if !said.contains(&format!("[{}]", page.code)) {
                    wrong.push(format!("{}: the example gives\n{said}", page.code));
                }
                let repaired = example.run(&example.repaired);
                if !repaired.is_empty() {
                    wrong.push(format!("{}: the repaired example gives\n{repaired}", page.code));
                }
                expect(&page.path(), &page.with_said(&said), &mut wrong);
            }
            None if WITHOUT_EXAMPLE.contains(&&*page.code) => {}
            None => wrong.push(format!("{} has no example: ptx, text, ptx", page.code)),
        }
    }
    report(&wrong);
}

#[test]
fn the_book_lists_the_pages() {
    let pages = Page::all();
    let mut wrong = Vec::new();
    expect(&repository("docs/errors/README.md"), &index::index(&pages), &mut wrong);
    let summary = repository("docs/SUMMARY.md");
    expect(&summary, &index::summary(&read(&summary), &pages), &mut wrong);
    report(&wrong);
}

#[test]
fn the_example_of_json_is_what_is_printed() {
    let path = repository("docs/diagnostics.md");
    let text = read(&path);
    let section = text.find("## JSON output").expect("the book describes it");
    let within = |fence: &str| {
        let start = section + text[section..].find(fence).expect("the example is there") + fence.len();
        start..start + text[start..].find("```").expect("the block ends")
    };
    let (program, objects) = (within("```ptx,broken\n"), within("```json\n"));
    let words = ["ptxc", "check", "--message-format=json", "-"].map(String::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = ptxc::run(&words, &mut text[program.clone()].as_bytes(), &mut out, &mut err);
    let said = String::from_utf8_lossy(&err).replace("\"file\":\"-\"", "\"file\":\"a.ptx\"");
    let mut wrong = Vec::new();
    expect(&path, &format!("{}{said}{}", &text[..objects.start], &text[objects.end..]), &mut wrong);
    assert_eq!((code, out), (1, Vec::new()));
    // The locations refer to the text.
    for line in said.lines() {
        let object: serde_json::Value = serde_json::from_str(line).expect("each line is an object");
        let number = |name: &str| object[name].as_u64().expect("places are numbers") as usize;
        let before = &text[program.clone()][..number("start")];
        assert_eq!(number("line"), before.matches('\n').count() + 1);
        assert_eq!(number("column"), before.chars().rev().take_while(|&c| c != '\n').count() + 1);
        assert!(number("end") >= number("start") && number("end") <= program.len());
    }
    report(&wrong);
}
