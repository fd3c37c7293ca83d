//! What the README and the book say about the instructions that ptxc compiles: how much of each
//! family for each architecture, and which instructions are missing.
//!
//! A form is a row of the instruction table. The test makes an instruction of each form, and a
//! kernel of each instruction. `ptxc check` tells which forms the target has, and `ptxc lower` tells
//! for which of them ptxc makes code. `PTXC_BLESS=1` rewrites these parts of the pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use ptxc_ptx::check::table::{Presence, Row, TABLE};
use ptxc_tests::instructions::{REGISTERS, Sample};
use serde_json::Value;

/// The targets of the columns. `sm_90a` is the one that has all instructions of its architecture.
const TARGETS: [&str; 5] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a"];

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

/// A texture with two coordinates.
const PLANE: &str = "[b64r9, {b32r9, b32r9}]";

/// Instructions for the rows whose operands a [`Sample`] does not know.
fn by_hand(row: &Row) -> Option<&'static str> {
    Some(match row.mnemonic {
        "call" => "call f;",
        "brx" => "L: .branchtargets END; brx.idx u32r1, L;",
        _ => return None,
    })
}

/// A form: its family, its name without modifiers that may vary, and an instruction of it.
struct Form {
    family: &'static str,
    name: String,
    text: String,
}

/// `cp.async.bulk.tensor`: the mnemonic, and the modifiers after it that the instruction always has.
fn name(row: &Row) -> String {
    let leading = row.groups[..row.leading].iter();
    let fixed = leading.take_while(|group| group.presence == Presence::Required && group.choices.len() == 1);
    fixed.fold(row.mnemonic.to_string(), |name, group| name + "." + group.choices[0].text)
}

/// One instruction of each form, in the order of the table.
fn forms() -> Vec<Form> {
    let mut wrong = String::new();
    let mut found = Vec::new();
    for row in TABLE.rows() {
        assert!(FAMILIES.iter().any(|family| family.0 == row.family), "`FAMILIES` lacks {}", row.family);
        let (family, name) = (row.family, name(row));
        let texture = if row.mnemonic == "tld4" { PLANE } else { TEXTURE };
        match Sample::least(row).text_with_texture(Some(texture)).or_else(|| by_hand(row).map(str::to_string))
        {
            // From version 6.3 on, `wmma` must say that the whole warp executes it.
            Some(text) if name.starts_with("wmma") => {
                found.push(Form { family, name, text: text.replace(".sync.", ".sync.aligned.") })
            }
            Some(text) => found.push(Form { family, name, text }),
            None => writeln!(wrong, "{name} of the family {family}").expect("it is memory"),
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

/// What ptxc does with the forms for the targets.
struct Answers {
    /// The forms that each target has.
    known: [BTreeSet<usize>; TARGETS.len()],
    /// Those of them for which ptxc makes no code.
    missing: [BTreeSet<usize>; TARGETS.len()],
}

impl Answers {
    fn of(forms: &[Form]) -> Answers {
        let mut answers = Answers { known: Default::default(), missing: Default::default() };
        for (target, (known, missing)) in
            TARGETS.iter().zip(answers.known.iter_mut().zip(&mut answers.missing))
        {
            for (family, _) in FAMILIES {
                // A module for each family: a file has a limit of messages.
                let own = forms.iter().enumerate().filter(|(_, form)| form.family == family);
                let mut own: Vec<(usize, &str)> = own.map(|(number, form)| (number, &*form.text)).collect();
                let unknown = rejected("check", target, &own);
                own.retain(|(number, _)| !unknown.contains(number));
                missing.extend(rejected("lower", target, &own));
                known.extend(own.iter().map(|(number, _)| number));
            }
        }
        answers
    }
}

/// A cell: the chosen forms that ptxc compiles for a target, of those that the target has.
fn cell(answers: &Answers, target: usize, is_chosen: impl Fn(usize) -> bool) -> String {
    let count = |forms: &BTreeSet<usize>| forms.iter().filter(|&&number| is_chosen(number)).count();
    match count(&answers.known[target]) {
        0 => "–".to_string(),
        all => format!("{}/{all}", all - count(&answers.missing[target])),
    }
}

/// A table with a row for each name; a form belongs to a name or to none.
fn table<'a>(
    head: &str,
    names: &[(String, &str)],
    answers: &Answers,
    name_of: impl Fn(usize) -> &'a str,
) -> String {
    let columns = TARGETS.map(|target| target.trim_end_matches('a')).join(" | ");
    let mut text = format!("| {head} | {columns} |\n|---|{}\n", "---|".repeat(TARGETS.len()));
    for (shown, name) in names {
        let cells: Vec<String> = (0..TARGETS.len())
            .map(|target| cell(answers, target, |number| name_of(number) == *name))
            .collect();
        writeln!(text, "| {shown} | {} |", cells.join(" | ")).expect("it is memory");
    }
    text
}

/// How many forms of each family ptxc compiles.
fn of_families(forms: &[Form], answers: &Answers) -> String {
    let names = FAMILIES.map(|(family, name)| (name.to_string(), family));
    table("family", &names, answers, |number| forms[number].family)
}

/// The instructions that have forms without code, in the order of the table.
fn incomplete<'a>(forms: &'a [Form], answers: &Answers) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for (number, form) in forms.iter().enumerate() {
        let is_missing = answers.missing.iter().any(|missing| missing.contains(&number));
        if is_missing && !found.contains(&&*form.name) {
            found.push(&form.name);
        }
    }
    found
}

/// How many forms of each of these instructions ptxc compiles.
fn of_instructions(forms: &[Form], answers: &Answers) -> String {
    let incomplete = incomplete(forms, answers);
    let names: Vec<(String, &str)> = incomplete.into_iter().map(|name| (format!("`{name}`"), name)).collect();
    table("instruction", &names, answers, |number| &*forms[number].name)
}

/// The sentences that name these instructions.
fn in_words(forms: &[Form], answers: &Answers) -> String {
    let mut parts: BTreeMap<bool, Vec<String>> = BTreeMap::new();
    for name in incomplete(forms, answers) {
        let compiles = |number: usize| {
            let both = answers.known.iter().zip(&answers.missing);
            both.into_iter().any(|(known, missing)| known.contains(&number) && !missing.contains(&number))
        };
        let is_partial = forms.iter().enumerate().any(|(number, form)| form.name == name && compiles(number));
        parts.entry(is_partial).or_default().push(format!("`{name}`"));
    }
    let mut text = "- ptxc prints `error[E0900]` with the instruction's name for".to_string();
    match (parts.get(&false), parts.get(&true)) {
        (None, None) => return String::new(),
        (Some(whole), None) => write!(text, " {}", whole.join(", ")),
        (None, Some(some)) => write!(text, " some forms of {}", some.join(", ")),
        (Some(whole), Some(some)) => {
            write!(text, " {}, and for some forms of {}", whole.join(", "), some.join(", "))
        }
    }
    .expect("it is memory");
    text.push('.');
    wrapped(&text)
}

/// The text of a list item, in lines of at most 100 characters.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        if width > 0 && width + 1 + word.chars().count() > 100 {
            lines.push_str("\n  ");
            width = 2;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += word.chars().count();
    }
    lines + "\n"
}

#[test]
fn the_pages_tell_what_is_compiled() {
    let forms = forms();
    let answers = Answers::of(&forms);
    let words = in_words(&forms, &answers);
    let parts = [
        ("README.md", "status table", of_families(&forms, &answers)),
        ("README.md", "missing instructions", words.clone()),
        ("docs/status.md", "missing instructions", words),
        ("docs/targets.md", "missing instructions", of_instructions(&forms, &answers)),
    ];
    for (page, name, current) in parts {
        let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(page);
        let text = std::fs::read_to_string(&path).expect("the page can be read");
        let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n"));
        let (before, rest) = text.split_once(&start).unwrap_or_else(|| panic!("{page} lacks {start}"));
        let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{page} lacks {end}"));
        let current = format!("{before}{start}{current}{end}{after}");
        if std::env::var_os("PTXC_BLESS").is_some() {
            std::fs::write(&path, current).expect("the page can be written");
        } else {
            assert_eq!(text, current, "PTXC_BLESS=1 rewrites {page}");
        }
    }
}
