//! The machine-readable forms: the JSON agrees with the text, the graphs are well-formed, and their
//! documentation is current.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The output of a command, or its messages if it fails.
fn tried(words: &[&str]) -> Result<String, String> {
    let words: Vec<String> = std::iter::once("ptxc").chain(words.iter().copied()).map(String::from).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = ptxc::run(&words, &mut std::io::empty(), &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).expect("the output is text");
    if code == 0 { Ok(text(out)) } else { Err(text(err)) }
}

fn ptxc(words: &[&str]) -> String {
    tried(words).unwrap_or_else(|why| panic!("{words:?}: {why}"))
}

/// The paths of the kernels that tests lower.
fn kernels() -> Vec<String> {
    let folder = root().join("tests/lit/kernels");
    let entries = std::fs::read_dir(folder).expect("the kernels are there");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let ptx = paths.filter(|path| path.extension().is_some_and(|name| name == "ptx"));
    let mut list: Vec<String> = ptx.map(|path| path.to_string_lossy().into_owned()).collect();
    list.sort();
    assert!(list.len() > 10);
    list
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("`{name}` is not a list"))
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("`{name}` is not a number in {value}"))
}

/// The line of text that the JSON of an instruction describes.
fn line(instruction: &Value) -> String {
    let explanations: Vec<&str> =
        list(instruction, "explanations").iter().filter_map(|one| one["text"].as_str()).collect();
    let text = format!(
        "/*{:04x}*/  {} ;",
        number(instruction, "offset"),
        instruction["instruction"].as_str().unwrap_or("")
    );
    if explanations.is_empty() { text } else { format!("{text:<60}  // {}", explanations.join("; ")) }
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn json_says_what_the_text_says() {
    for path in kernels() {
        for arch in ["sm_80", "sm_90"] {
            if arch == "sm_80" && tried(&["lower", &path, "--arch", arch, "-o", "-"]).is_err() {
                continue;
            }
            let document = ptxc(&["lower", &path, "--arch", arch, "--emit=json", "-o", "-"]);
            let document: Value = serde_json::from_str(&document).expect("it is JSON");
            assert_eq!((number(&document, "schema"), document["architecture"].as_str()), (1, Some(arch)));
            let text = ptxc(&["lower", &path, "--arch", arch, "--explain", "--control=hex", "-o", "-"]);
            let lines = text.lines().filter(|line| line.contains("*/") && line.contains(" ;"));
            let lines: Vec<String> = lines.map(|line| plain(&line[line.find("/*").unwrap_or(0)..])).collect();
            let kernels = list(&document, "kernels");
            let same: Vec<String> = kernels
                .iter()
                .flat_map(|kernel| list(kernel, "instructions"))
                .map(|one| plain(&line(one)))
                .collect();
            assert_eq!(same, lines, "{path} for {arch}");
            kernels.iter().for_each(|kernel| consistent(kernel, &format!("{path} for {arch}")));
        }
    }
}

/// Checks the properties that hold in any kernel.
fn consistent(kernel: &Value, path: &str) {
    let (blocks, instructions) = (list(kernel, "blocks"), list(kernel, "instructions"));
    let mut next = 0;
    for (index, block) in blocks.iter().enumerate() {
        assert_eq!((number(block, "index"), number(block, "start")), (index as u64, next), "{path}");
        next = number(block, "end");
        for successor in list(block, "successors") {
            assert!(number(successor, "block") < blocks.len() as u64, "{path}");
        }
        for instruction in &instructions[number(block, "start") as usize..next as usize] {
            assert_eq!(number(instruction, "block"), index as u64, "{path}");
            let word = instruction["word"].as_str();
            assert!(
                word.is_none_or(|word| word.len() == 34 && word.starts_with("0x")),
                "{path}: {instruction}"
            );
        }
    }
    assert_eq!(next, instructions.len() as u64, "{path}");
    let dependences = list(kernel, "dependences");
    assert!(!dependences.is_empty(), "{path}");
    for dependence in dependences {
        let (from, to) = (number(dependence, "from") as usize, number(dependence, "to") as usize);
        let carried = dependence["carried"] == true;
        let same_block = instructions[from]["block"] == instructions[to]["block"];
        assert!(carried || from < to && same_block, "{path}: {dependence}");
        match dependence["by"].as_str() {
            Some("stall") => {
                assert!(number(dependence, "cycles") >= number(dependence, "legal"), "{path}: {dependence}");
                assert!(number(dependence, "safe") >= number(dependence, "legal"), "{path}: {dependence}");
            }
            Some("scoreboard") => {
                let wait = &instructions[number(dependence, "wait") as usize]["control"];
                assert!(
                    number(wait, "wait") >> number(dependence, "scoreboard") & 1 == 1,
                    "{path}: {dependence}"
                );
                let sets = &instructions[from]["control"];
                let board = &dependence["scoreboard"];
                assert!(sets["read"] == *board || sets["write"] == *board, "{path}: {dependence}");
            }
            // The order of the instructions alone never protects a register.
            other => assert_eq!(
                (other, &dependence["kind"]),
                (Some("order"), &"memory".into()),
                "{path}: {dependence}"
            ),
        }
    }
}

/// The names of a graph's nodes, and of the end points of its edges, after a check of the syntax.
fn parse_graph(text: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut nodes, mut ends) = (BTreeSet::new(), BTreeSet::new());
    let mut depth = 0;
    for line in text.lines().map(str::trim) {
        // Braces, brackets and arrows inside strings do not count.
        let mut bare = String::new();
        let (mut quoted, mut escaped) = (false, false);
        for c in line.chars() {
            match (quoted, escaped, c) {
                (true, true, _) => escaped = false,
                (true, false, '\\') => escaped = true,
                (_, _, '"') => quoted = !quoted,
                (true, ..) => {}
                (false, ..) => bare.push(c),
            }
        }
        assert!(!quoted, "an open string: {line}");
        depth += bare.matches('{').count() as i32 - bare.matches('}').count() as i32;
        let Some((statement, rest)) = bare.split_once(" [label=") else { continue };
        assert_eq!(rest, "];", "{line}");
        match statement.split_once(" -> ") {
            Some((from, to)) => ends.extend([from.to_string(), to.to_string()]),
            None => drop(nodes.insert(statement.to_string())),
        }
    }
    assert_eq!(depth, 0, "braces");
    (nodes, ends)
}

#[test]
fn graphs_are_well_formed() {
    for path in kernels() {
        let text = ptxc(&["lower", &path, "--emit=dot", "-o", "-"]);
        let graphs: Vec<&str> = text.split("digraph ").skip(1).collect();
        assert!(!graphs.is_empty() && graphs.len().is_multiple_of(2), "{path}");
        for graph in graphs {
            let (nodes, ends) = parse_graph(&format!("digraph {graph}"));
            assert!(!nodes.is_empty() && ends.is_subset(&nodes), "{path}");
        }
    }
}

#[test]
fn graphviz_reads_the_graphs_where_it_is() {
    let text = ptxc(&["lower", &kernels()[0], "--emit=dot", "-o", "-"]);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("it is written");
    match std::process::Command::new("dot").arg("-Tcanon").arg(file.path()).output() {
        Ok(output) => assert!(output.status.success() && output.stderr.is_empty(), "{output:?}"),
        Err(_) => println!("SKIPPED: there is no Graphviz"),
    }
}

#[test]
fn the_page_about_json_is_current() {
    let page = root().join("docs/json.md");
    let written = std::fs::read_to_string(&page).expect("the page is there");
    let (front, rest) = written.split_once("```json\n").expect("it has an example");
    let (_, back) = rest.split_once("```\n").expect("the example ends");
    let kernel = root().join("tests/lit/emit/example.ptx");
    let kernel = kernel.to_string_lossy();
    let example = ptxc(&["lower", &kernel, "--emit=json", "-o", "-"]).replace(&*kernel, "example.ptx");
    let current = format!("{front}```json\n{example}```\n{back}");
    if std::env::var_os("PTXC_BLESS").is_some() {
        std::fs::write(&page, current).expect("it is written");
    } else {
        assert_eq!(written, current, "PTXC_BLESS=1 rewrites the example");
    }
    // The page describes each field of the example.
    let document: Value = serde_json::from_str(&example).expect("it is JSON");
    let mut names = BTreeSet::new();
    field_names(&document, &mut names);
    for name in names {
        assert!(front.contains(&format!("`{name}`")), "docs/json.md does not describe `{name}`");
    }
}

fn field_names(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            names.insert(name.clone());
            field_names(value, names);
        }),
        Value::Array(values) => values.iter().for_each(|value| field_names(value, names)),
        _ => {}
    }
}
