//! To the queries, an edited file equals a file that has had the same text from the start.

use proptest::prelude::*;
use ptxc_compiler::input::items::{Func, items};
use ptxc_compiler::{Database, File, SourceFile};

/// The state of a function as queries see it.
fn seen(db: &Database, func: Func) -> (String, String, bool, u32, u32) {
    let (name, text) = (func.name(db).to_string(), func.text(db).to_string());
    (format!("{:?} {name}", func.kind(db)), text, func.has_body(db), func.index(db), func.offset(db))
}

fn compare(db: &Database, file: SourceFile) {
    let fresh = SourceFile::new(db, "fresh".into(), file.text(db).to_string());
    let all = |file| items(db, file).functions.iter().map(|&func| seen(db, func)).collect::<Vec<_>>();
    assert_eq!(all(file), all(fresh), "{}", file.text(db));
    assert_eq!(items(db, file).others, items(db, fresh).others, "{}", file.text(db));
    for func in &items(db, file).functions {
        assert!(ptxc_syntax::same_but_layout(func.code(db), func.text(db)));
        assert_eq!(func.file(db), file);
    }
}

const PIECES: &[&str] = &[
    ".entry a() { ret; }\n",
    ".entry b() { add.s32 %r1, %r2, 3; ret; }\n",
    ".func a() { }\n",
    ".entry a();\n",
    ".global .u32 x;\n",
    ".version 9.0\n",
    "// a comment\n",
    "/* another */",
    " ",
    "\n",
    "{",
    "}",
    ";",
    "*/",
    ".visible ",
    "add.s32 %r1, %r1, 4; ",
    "é",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn edits_give_the_state_of_a_new_file(
        start in prop::collection::vec(prop::sample::select(PIECES), 0..12),
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), 0usize..40, prop::collection::vec(prop::sample::select(PIECES), 0..3), any::<bool>()),
            1..12,
        ),
    ) {
        let mut db = Database::default();
        let mut text = start.concat();
        let mut file = File::new(&db, "k.ptx", text.clone());
        for (at, length, pieces, whole) in edits {
            let mut from = at.index(text.len() + 1);
            let mut to = (from + length).min(text.len());
            while !text.is_char_boundary(from) { from -= 1; }
            while !text.is_char_boundary(to) { to -= 1; }
            let to = to.max(from);
            let before = text.clone();
            text.replace_range(from..to, &pieces.concat());
            if whole { file.replace(&mut db, &text); } else { file.edit(&mut db, from..to, &pieces.concat()); }
            prop_assert_eq!(file.source().text(&db), &text, "{} {}..{}", before, from, to);
            compare(&db, file.source());
        }
    }
}

const TWO: &str = ".version 9.0\n.target sm_90\n.entry a() { ret; }\n.entry b(.param .u32 n) { ret; }\n.func c() { ret; }\n";

#[test]
fn a_change_names_the_functions_with_other_bodies() {
    let mut db = Database::default();
    let mut file = File::new(&db, "k.ptx", TWO);
    let mut change = |from: &str, to: &str| {
        let at = file.source().text(&db).find(from).expect("it is in the text");
        let change = file.edit(&mut db, at..at + from.len(), to);
        let names: Vec<String> = change.bodies.iter().map(|func| func.name(&db).to_string()).collect();
        (names.join(" "), change.all)
    };
    assert_eq!(change("a() { ", "a() { /* a comment */ "), (String::new(), false));
    assert_eq!(change("9.0\n", "9.0\n// a comment, too\n"), (String::new(), false));
    assert_eq!(change("ret", "exit"), ("a".into(), false));
    assert_eq!(change("exit", "exit"), (String::new(), false));
    assert_eq!(change("c() { ret", "c() { exit"), ("c".into(), false));
    assert_eq!(change("c() {", "c(.param .u32 n) {"), ("c".into(), true));
    assert_eq!(change(".u32", ".u64"), ("b".into(), true));
    assert_eq!(change("sm_90", "sm_80"), (String::new(), true));
    assert_eq!(change(".entry b", ".entry d"), ("d".into(), true));
}

#[test]
fn removed_functions_are_reused() {
    let mut db = Database::default();
    let mut file = File::new(&db, "k.ptx", TWO);
    let of = |db: &Database, file: &File| items(db, file.source()).functions.clone();
    let before = of(&db, &file);
    for name in 0..20 {
        let at = TWO.find("b(").expect("there is a kernel b");
        let end = at + file.source().text(&db)[at..].find('(').expect("it has parameters");
        file.edit(&mut db, at..end, &format!("b{name}"));
    }
    assert_eq!(of(&db, &file), before);
}
