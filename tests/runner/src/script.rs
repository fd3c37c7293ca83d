//! The comments that say how to run a test, and the programs that they may name.

use std::path::{Path, PathBuf};

use crate::filecheck;

/// The requests of a test file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The `RUN:` lines, continuation lines joined.
    pub runs: Vec<String>,
    /// Diagnostics that the file marks, sorted.
    pub marks: Vec<Mark>,
}

/// A diagnostic that a file marks: the line from 1, `error` or `warning`, and the code.
pub type Mark = (usize, String, String);

/// Reads the comments of a test file.
pub fn parse(text: &str) -> Script {
    let mut script = Script::default();
    let mut continued = false;
    for (index, line) in text.lines().enumerate() {
        if let Some((_, run)) = line.split_once("RUN:") {
            let run = run.trim();
            let (run, more) = run.strip_suffix('\\').map_or((run, false), |head| (head.trim_end(), true));
            match script.runs.last_mut() {
                Some(last) if continued => {
                    last.push(' ');
                    last.push_str(run);
                }
                _ => script.runs.push(run.to_string()),
            }
            continued = more;
        }
        for severity in ["error", "warning", "note"] {
            if let Some((_, codes)) = line.split_once(&format!("// {severity}:")) {
                let codes = codes.split([',', ' ']).filter(|code| !code.is_empty());
                script.marks.extend(codes.map(|code| (index + 1, severity.to_string(), code.to_string())));
            }
        }
    }
    script.marks.sort();
    script
}

/// The state of a pipeline between two programs.
struct Piped {
    code: i32,
    out: Vec<u8>,
    err: Vec<u8>,
}

/// Runs a test file; the error describes the failure.
pub fn run(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let script = parse(&text);
    if script.runs.is_empty() {
        return Err("the file has no RUN line".into());
    }
    let outcome = script
        .runs
        .iter()
        .try_for_each(|line| run_line(line, path).map_err(|why| format!("RUN: {line}\n{why}")))
        .and_then(|()| if script.marks.is_empty() { Ok(()) } else { check_diagnostics(&script, path) });
    // Most tests write no scratch file.
    let _ = std::fs::remove_file(scratch(path));
    outcome
}

/// The exit code that a command must have.
enum Expected {
    /// It must succeed.
    Zero,
    /// It must fail (`not COMMAND`).
    Other,
    /// It must end with exactly this code (`exits 2 COMMAND`).
    Exactly(i32),
}

/// Removes `not` or `exits N` from the front of a command.
fn expected(words: &mut Vec<String>) -> Result<Expected, String> {
    match words.first().map(String::as_str) {
        Some("not") => {
            words.remove(0);
            Ok(Expected::Other)
        }
        Some("exits") => {
            let code = words.get(1).and_then(|word| word.parse().ok()).ok_or("`exits` needs a number")?;
            words.drain(..2);
            Ok(Expected::Exactly(code))
        }
        _ => Ok(Expected::Zero),
    }
}

fn run_line(line: &str, path: &Path) -> Result<(), String> {
    let mut piped = Piped { code: 0, out: Vec::new(), err: Vec::new() };
    for command in split_pipeline(line) {
        let mut words: Vec<String> = words(&command, path)?;
        let expected = expected(&mut words)?;
        let merge = words.last().is_some_and(|word| word == "2>&1");
        if merge {
            words.pop();
        }
        let program = words.first().cloned().ok_or("an empty command")?;
        piped = match program.as_str() {
            "ptxc" => {
                let (mut out, mut err) = (Vec::new(), Vec::new());
                let code = ptxc::run(&words, &mut piped.out.as_slice(), &mut out, &mut err);
                Piped { code, out, err }
            }
            "FileCheck" => file_check(&words[1..], &piped.out)?,
            "cat" => concatenate(&words[1..])?,
            other => return Err(format!("unknown program `{other}`")),
        };
        if merge {
            let err = std::mem::take(&mut piped.err);
            piped.out.extend(err);
        }
        let met = match expected {
            Expected::Zero => piped.code == 0,
            Expected::Other => piped.code != 0,
            Expected::Exactly(code) => piped.code == code,
        };
        if !met {
            let err = String::from_utf8_lossy(&piped.err).into_owned();
            return Err(format!("`{command}` ended with {}\n{err}", piped.code));
        }
    }
    Ok(())
}

/// Splits at `|` outside quotes.
fn split_pipeline(line: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(q) if q == c => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == '|' => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts
}

/// Splits a command into words, with `%s` the test file, `%S` its folder and `%t` a scratch file.
fn words(command: &str, path: &Path) -> Result<Vec<String>, String> {
    let mut list = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut started = false;
    for c in command.chars() {
        match quote {
            Some(q) if q == c => quote = None,
            Some(_) => word.push(c),
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                started = true;
            }
            None if c.is_whitespace() => {
                if started {
                    list.push(std::mem::take(&mut word));
                }
                started = false;
            }
            None => {
                word.push(c);
                started = true;
            }
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".into());
    }
    if started {
        list.push(word);
    }
    let folder = path.parent().unwrap_or(Path::new(".")).display().to_string();
    let scratch = scratch(path).display().to_string();
    let fill = |word: String| {
        word.replace("%S", &folder).replace("%s", &path.display().to_string()).replace("%t", &scratch)
    };
    Ok(list.into_iter().map(fill).collect())
}

/// A scratch file for the output of this test.
fn scratch(path: &Path) -> PathBuf {
    let name: String =
        path.display().to_string().chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    std::env::temp_dir().join(format!("ptxc-lit-{}-{name}", std::process::id()))
}

fn file_check(args: &[String], input: &[u8]) -> Result<Piped, String> {
    let mut file = None;
    let mut prefixes = Vec::new();
    for arg in args {
        if let Some(list) = arg.strip_prefix("--check-prefix=").or(arg.strip_prefix("--check-prefixes=")) {
            prefixes.extend(list.split(','));
        } else {
            file = Some(arg);
        }
    }
    if prefixes.is_empty() {
        prefixes.push("CHECK");
    }
    let file = file.ok_or("FileCheck needs a file")?;
    let checks = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let directives = filecheck::parse(&checks, &prefixes)?;
    let input = String::from_utf8_lossy(input);
    match filecheck::check(&directives, &input) {
        Ok(()) => Ok(Piped { code: 0, out: Vec::new(), err: Vec::new() }),
        Err(failure) => {
            let err = format!("{failure}\n--- the output was:\n{input}").into_bytes();
            Ok(Piped { code: 1, out: Vec::new(), err })
        }
    }
}

/// Reads files to the standard output.
fn concatenate(files: &[String]) -> Result<Piped, String> {
    let mut out = Vec::new();
    for file in files {
        out.extend(std::fs::read(file).map_err(|error| format!("{file}: {error}"))?);
    }
    Ok(Piped { code: 0, out, err: Vec::new() })
}

/// Compares the diagnostics of `ptxc check` with those that the file marks.
fn check_diagnostics(script: &Script, path: &Path) -> Result<(), String> {
    let command = ["ptxc", "check", "--message-format=json", &path.display().to_string()].map(String::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    ptxc::run(&command, &mut std::io::empty(), &mut out, &mut err);
    let mut reported: Vec<Mark> = Vec::new();
    for line in String::from_utf8_lossy(&err).lines().filter(|line| line.starts_with('{')) {
        let value: serde_json::Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let word = |key: &str| value[key].as_str().unwrap_or("").to_string();
        reported.push((value["line"].as_u64().unwrap_or(0) as usize, word("severity"), word("code")));
    }
    reported.sort();
    if reported == script.marks {
        return Ok(());
    }
    let missing = difference(&script.marks, &reported);
    let extra = difference(&reported, &script.marks);
    Err(format!("marked but not reported: {missing:?}\nreported but not marked: {extra:?}"))
}

/// The items of a sorted list without those of another list, each of which removes one.
fn difference(list: &[Mark], others: &[Mark]) -> Vec<Mark> {
    let mut others = others.iter().peekable();
    let mut left = Vec::new();
    for mark in list {
        while others.next_if(|other| *other < mark).is_some() {}
        if others.next_if_eq(&mark).is_none() {
            left.push(mark.clone());
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(line: usize, code: &str) -> Mark {
        (line, "error".into(), code.into())
    }

    #[test]
    fn comments_say_how_a_file_is_run() {
        let script =
            parse("// RUN: ptxc lower %s \\\n// RUN: | FileCheck %s\n// RUN: not x\nbad; // error: E1, E2\n");
        assert_eq!(script.runs, ["ptxc lower %s | FileCheck %s", "not x"]);
        assert_eq!(script.marks, [mark(4, "E1"), mark(4, "E2")]);
    }

    #[test]
    fn two_reports_need_two_marks() {
        let (one, two) = (vec![mark(1, "E1")], vec![mark(1, "E1"), mark(1, "E1"), mark(2, "E1")]);
        assert_eq!(difference(&two, &one), [mark(1, "E1"), mark(2, "E1")]);
        assert_eq!(difference(&one, &two), []);
    }

    #[test]
    fn exit_codes_are_compared() {
        let run = |line: &str| run_line(line, Path::new("absent.ptx"));
        assert!(run("exits 2 ptxc opt --no-such-option x").is_ok());
        assert!(run("not ptxc opt --no-such-option x").is_ok());
        assert!(run("exits 1 ptxc opt --no-such-option x").is_err());
        assert!(run("ptxc opt --no-such-option x").is_err());
        assert!(run("no-such-program").is_err());
    }
}
