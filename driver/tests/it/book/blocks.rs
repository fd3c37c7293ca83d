//! The listings of the book: ptxc accepts the PTX, the command lines are valid, and the JSON and IR
//! can be read. The Rust listings are compiled with the documentation of the crates
//! (`compiler/src/lib.rs`).

use super::{pages, ptxc};

/// The listings of a language: page, first line, text.
fn listings(language: &str) -> Vec<(String, usize, String)> {
    let mut found = Vec::new();
    for (path, text) in pages() {
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let Some(tag) = line.trim_start().strip_prefix("```") else { continue };
            let body =
                lines.by_ref().map(|(_, line)| line).take_while(|line| !line.trim_start().starts_with("```"));
            let body: String = body.map(|line| format!("{line}\n")).collect();
            if tag.trim() == language {
                found.push((path.display().to_string(), number + 2, body));
            }
        }
    }
    found
}

#[test]
fn command_lines_are_valid() {
    let mut count = 0;
    for (page, number, text) in listings("sh") {
        // A line may continue in the next one.
        for line in text.replace("\\\n", " ").lines() {
            let line = line.split(" #").next().unwrap_or_default().trim();
            let words: Vec<&str> = line.split_whitespace().collect();
            let at = words.iter().position(|word| ["ptxc", "./target/release/ptxc"].contains(word));
            let Some(at) = at.filter(|&at| words[..at].iter().all(|word| word.contains('='))) else {
                continue;
            };
            // The words after one of these belong to another command.
            let own =
                words[at + 1..].iter().take_while(|word| !["|", ">", "&&", ";", "2>", "<"].contains(word));
            let own: Vec<&str> = own.map(|word| word.trim_matches(['"', '\''])).collect();
            let own: Vec<String> = own.iter().map(|word| word.replace(['…', '[', ']'], "")).collect();
            // The help of a command has higher priority than its other arguments, so it is printed
            // whenever the options are known.
            let Some((command, options)) = own.split_first() else { continue };
            if command.starts_with('-') {
                continue;
            }
            for option in options.iter().filter(|word| word.starts_with("--")) {
                let name = option.split('=').next().unwrap_or_default();
                let (code, help, said) = ptxc(&[command, "--help"]);
                assert_eq!(code, 0, "{page}:{number}: {line}: {said}");
                let global = ptxc(&["--help"]).1;
                assert!(
                    help.contains(name) || global.contains(name),
                    "{page}:{number}: {line}: no option {name}"
                );
            }
            let (code, _, said) = ptxc(&[command, "--help"]);
            assert_eq!(code, 0, "{page}:{number}: {line}: {said}");
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn json_can_be_read() {
    for (page, number, text) in listings("json") {
        let lines = || text.lines().filter(|line| !line.trim().is_empty());
        let whole = serde_json::from_str::<serde_json::Value>(&text).is_ok();
        assert!(
            whole || lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()),
            "{page}:{number}"
        );
    }
}

#[test]
fn ir_can_be_read() {
    for (page, number, text) in listings("ir").into_iter().filter(|(page, ..)| !page.contains("errors")) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("k.ir");
        std::fs::write(&path, &text).expect("it is written");
        let (code, _, said) = ptxc(&["opt", "--passes=verify", &path.to_string_lossy()]);
        assert_eq!(code, 0, "{page}:{number}: {said}");
    }
}

#[test]
fn ptx_is_accepted_unless_marked_broken() {
    for (language, expected) in [("ptx", 0), ("ptx,broken", 1)] {
        // The listings in docs/errors are tested with their pages: half of them have errors.
        for (page, number, text) in
            listings(language).into_iter().filter(|(page, ..)| !page.contains("errors"))
        {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("k.ptx");
            let text =
                if text.contains(".version") { text } else { format!(".version 9.0\n.target sm_90\n{text}") };
            std::fs::write(&path, &text).expect("it is written");
            let (code, _, said) = ptxc(&["check", &path.to_string_lossy()]);
            assert_eq!(code, expected, "{page}:{number}: {said}");
        }
    }
}
