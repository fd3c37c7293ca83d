//! The table in the README: how much of each family of PTX instructions ptxc compiles for each
//! architecture.
//!
//! A form is a row of the instruction table. The test makes an instruction of each form, and a
//! kernel of each instruction. `ptxc check` tells which forms the target has, and `ptxc lower` tells
//! for which of them ptxc makes code. `PTXC_BLESS=1` rewrites the table.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use ptxc_ptx::check::table::{Row, TABLE};
use ptxc_tests::instructions::{REGISTERS, Sample};
use serde_json::Value;

/// The targets of the columns. `sm_90a` is the one that has all instructions of its architecture.
const TARGETS: [&str; 5] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a"];

/// The marks around the table.
const START: &str = "<!-- status table -->\n";
const END: &str = "<!-- end of the status table -->\n";

/// The names of the families in the table.
const FAMILIES: [(&str, &str); 15] = [
    ("integer", "integer arithmetic"),
    ("float", "floating-point arithmetic"),
    ("compare", "comparison and selection"),
    ("logic", "logic, shifts, bit fields"),
    ("move", "moves, conversions, addresses"),
    ("memory", "loads, stores, cache control"),
    ("atomic", "atomics and reductions"),
    ("warp", "exchange among lanes"),
    ("synchronize", "barriers and fences"),
    ("control", "control flow"),
    ("async", "asynchronous copies"),
    ("matrix", "tensor cores"),
    ("tensor", "tensor memory (sm_100 and later)"),
    ("texture", "textures and surfaces"),
    ("video", "video instructions"),
];

/// A texture or a tensor with one coordinate.
const TEXTURE: &str = "[b64r9, {b32r9}]";

/// Instructions for the rows whose operands a [`Sample`] does not know.
fn by_hand(row: &Row) -> Option<&'static str> {
    Some(match row.mnemonic {
        "call" => "call f;",
        "brx" => "L: .branchtargets END; brx.idx u32r1, L;",
        _ => return None,
    })
}

/// One instruction of each form, in the order of the table.
fn forms() -> Vec<(&'static str, String)> {
    let mut wrong = String::new();
    let mut found = Vec::new();
    for row in TABLE.rows() {
        assert!(FAMILIES.iter().any(|family| family.0 == row.family), "`FAMILIES` lacks {}", row.family);
        match Sample::least(row).text_with_texture(Some(TEXTURE)).or_else(|| by_hand(row).map(str::to_string))
        {
            Some(text) => found.push((row.family, text)),
            None => writeln!(wrong, "{} of the family {}", row.mnemonic, row.family).expect("it is memory"),
        }
    }
    assert!(wrong.is_empty(), "no instruction for these rows; `by_hand` needs one:\n{wrong}");
    found
}

/// The forms of which a command reports an error, for a module with a kernel of each.
fn rejected(command: &str, target: &str, forms: &[(usize, &str)]) -> BTreeSet<usize> {
    let mut text = format!(".version 9.0\n.target {target}\n.address_size 64\n.func f() {{ ret; }}\n");
    let head = text.lines().count();
    for (number, form) in forms {
        writeln!(text, ".entry k{number}(.param .align 16 .b8 n[64]) {{ {REGISTERS} {form} END: ret; }}")
            .expect("it is memory");
    }
    let mut words = vec!["ptxc", command, "-", "--message-format=json"];
    if command == "lower" {
        words.extend(["-O0", "-o", "-"]);
    }
    let words: Vec<String> = words.into_iter().map(str::to_string).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    ptxc::run(&words, &mut text.as_bytes(), &mut out, &mut err);
    let messages = String::from_utf8(err).expect("messages are text");
    let mut found = BTreeSet::new();
    assert!(messages.lines().count() < 1000, "{command} for {target} may not print all messages");
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        if message["severity"] != "error" {
            continue;
        }
        let line = message["line"].as_u64().expect("errors have lines") as usize;
        let form = line.checked_sub(head + 1).and_then(|at| forms.get(at));
        found.insert(form.unwrap_or_else(|| panic!("{message}")).0);
    }
    found
}

/// A cell: the forms of a family that ptxc compiles for a target, of the forms that the target has.
fn cell(target: &str, forms: &[(usize, &str)]) -> String {
    let unknown = rejected("check", target, forms);
    let known: Vec<(usize, &str)> =
        forms.iter().filter(|(number, _)| !unknown.contains(number)).copied().collect();
    match known.len() {
        0 => "–".to_string(),
        all => format!("{}/{all}", all - rejected("lower", target, &known).len()),
    }
}

/// The table as Markdown.
fn table() -> String {
    let forms = forms();
    let columns = TARGETS.map(|target| target.trim_end_matches('a')).join(" | ");
    let mut text = format!("| family | {columns} |\n|---|{}\n", "---|".repeat(TARGETS.len()));
    for (family, name) in FAMILIES {
        // A module for each family: a file has a limit of messages.
        let own = forms.iter().filter(|form| form.0 == family);
        let own: Vec<(usize, &str)> = own.map(|form| &*form.1).enumerate().collect();
        let cells = TARGETS.map(|target| cell(target, &own));
        writeln!(text, "| {name} | {} |", cells.join(" | ")).expect("it is memory");
    }
    text
}

#[test]
fn the_readme_has_the_current_table() {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md"));
    let text = std::fs::read_to_string(&path).expect("the README can be read");
    let (before, rest) = text.split_once(START).expect("the README has the first mark");
    let (_, after) = rest.split_once(END).expect("the README has the second mark");
    let current = format!("{before}{START}{}{END}{after}", table());
    if std::env::var_os("PTXC_BLESS").is_some() {
        std::fs::write(&path, current).expect("the README can be written");
    } else {
        assert_eq!(text, current, "PTXC_BLESS=1 rewrites the table of the README");
    }
}
