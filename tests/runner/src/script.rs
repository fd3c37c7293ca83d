//! The comments that say how a test is run, and the programs they may name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::filecheck;

/// What a test file asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The `RUN:` lines, continuation lines joined.
    pub runs: Vec<String>,
    /// The `REQUIRES:` words.
    pub requires: Vec<String>,
    /// Diagnostics that the file marks: line from 1, code.
    pub diagnostics: BTreeSet<(usize, String)>,
}

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
        if let Some((_, words)) = line.split_once("REQUIRES:") {
            script.requires.extend(words.split([',', ' ']).filter(|word| !word.is_empty()).map(String::from));
        }
        for mark in ["// error:", "// warning:"] {
            if let Some((_, codes)) = line.split_once(mark) {
                let codes = codes.split([',', ' ']).filter(|code| !code.is_empty());
                script.diagnostics.extend(codes.map(|code| (index + 1, code.to_string())));
            }
        }
    }
    script
}

/// The state of a pipeline between two programs.
struct Piped {
    code: i32,
    out: Vec<u8>,
    err: Vec<u8>,
}

/// Runs a test file; the error says what went wrong.
pub fn run(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let script = parse(&text);
    if script.runs.is_empty() {
        return Err("the file has no RUN line".into());
    }
    for line in &script.runs {
        run_line(line, path).map_err(|why| format!("RUN: {line}\n{why}"))?;
    }
    if script.diagnostics.is_empty() { Ok(()) } else { check_diagnostics(&script, path) }
}

fn run_line(line: &str, path: &Path) -> Result<(), String> {
    let mut piped = Piped { code: 0, out: Vec::new(), err: Vec::new() };
    for command in split_pipeline(line) {
        let mut words: Vec<String> = words(&command, path)?;
        let negate = words.first().is_some_and(|word| word == "not");
        if negate {
            words.remove(0);
        }
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
            "exact" => exact(path, &piped.out)?,
            other => return Err(format!("unknown program `{other}`")),
        };
        if merge {
            let err = std::mem::take(&mut piped.err);
            piped.out.extend(err);
        }
        let failed = piped.code != 0;
        if failed != negate {
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

/// A file of this test's own for what it writes.
fn scratch(path: &Path) -> PathBuf {
    let name: String = path.display().to_string().chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
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
        Err(failure) => Err(format!("{failure}\n--- the output was:\n{input}")),
    }
}

fn exact(path: &Path, input: &[u8]) -> Result<Piped, String> {
    let expected = path.with_extension("expected");
    let done = Piped { code: 0, out: Vec::new(), err: Vec::new() };
    if std::env::var_os("PTXC_BLESS").is_some() {
        std::fs::write(&expected, input).map_err(|error| error.to_string())?;
        return Ok(done);
    }
    let want = std::fs::read(&expected).map_err(|error| format!("{}: {error}", expected.display()))?;
    if want == input {
        return Ok(done);
    }
    let (want, got) = (String::from_utf8_lossy(&want), String::from_utf8_lossy(input));
    let line = want.lines().zip(got.lines()).take_while(|(a, b)| a == b).count();
    Err(format!(
        "{} differs from line {} on (PTXC_BLESS=1 rewrites it)\n- {}\n+ {}",
        expected.display(),
        line + 1,
        want.lines().nth(line).unwrap_or("<end>"),
        got.lines().nth(line).unwrap_or("<end>"),
    ))
}

/// Compares the diagnostics of `ptxc check` with those that the file marks.
fn check_diagnostics(script: &Script, path: &Path) -> Result<(), String> {
    let command = ["ptxc", "check", "--message-format=json", &path.display().to_string()].map(String::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    ptxc::run(&command, &mut std::io::empty(), &mut out, &mut err);
    let mut reported = BTreeSet::new();
    for line in String::from_utf8_lossy(&err).lines().filter(|line| line.starts_with('{')) {
        let value: serde_json::Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let number = value["line"].as_u64().unwrap_or(0) as usize;
        reported.insert((number, value["code"].as_str().unwrap_or("").to_string()));
    }
    if reported == script.diagnostics {
        return Ok(());
    }
    let missing: Vec<_> = script.diagnostics.difference(&reported).collect();
    let extra: Vec<_> = reported.difference(&script.diagnostics).collect();
    Err(format!("marked but not reported: {missing:?}\nreported but not marked: {extra:?}"))
}
