//! The version, the completions and the manual are well-formed and complete.

use std::io::Write;
use std::process::{Command, Stdio};

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "elvish", "powershell"];
const COMMANDS: [&str; 11] =
    ["lower", "check", "explain", "opt", "verify", "run", "decode", "asm", "disasm", "completions", "man"];

fn ptxc(words: &[&str]) -> String {
    let words: Vec<String> = std::iter::once("ptxc").chain(words.iter().copied()).map(String::from).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = ptxc::run(&words, &mut std::io::empty(), &mut out, &mut err);
    assert_eq!((code, String::from_utf8_lossy(&err).as_ref()), (0, ""), "{words:?}");
    String::from_utf8(out).expect("the output is text")
}

#[test]
fn the_version_names_the_commit() {
    let version = ptxc(&["--version"]);
    let plain = format!("ptxc {}", env!("CARGO_PKG_VERSION"));
    let rest = version.trim_end().strip_prefix(&plain).expect("the version comes first");
    let git = Command::new("git").args(["show", "-s", "--abbrev=12", "--format=%h %cs", "HEAD"]).output();
    match git {
        Ok(output) if output.status.success() && std::env::var_os("PTXC_COMMIT").is_none() => {
            let commit = String::from_utf8_lossy(&output.stdout).trim().to_string();
            assert_eq!(rest, format!(" ({commit})"));
        }
        _ => assert!(rest.is_empty() || rest.starts_with(" ("), "{version}"),
    }
    assert_eq!(version.replace("ptxc ", "ptxc-lower "), ptxc(&["lower", "--version"]));
}

#[test]
fn completions_name_every_command_and_option() {
    for shell in SHELLS {
        let script = ptxc(&["completions", shell]);
        for word in COMMANDS.into_iter().chain(["max-regs", "message-format", "color"]) {
            assert!(script.contains(word), "{shell} has no {word}");
        }
    }
}

#[test]
fn shells_that_are_there_take_their_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let started = Command::new(shell).arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let Ok(mut process) = started else {
            println!("SKIPPED: there is no {shell}");
            continue;
        };
        let script = ptxc(&["completions", shell]);
        process.stdin.take().expect("it is piped").write_all(script.as_bytes()).expect("the shell reads");
        let output = process.wait_with_output().expect("the shell ends");
        assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn bash_completes_a_command() {
    if Command::new("bash").arg("--version").output().is_err() {
        println!("SKIPPED: there is no bash");
        return;
    }
    let script = ptxc(&["completions", "bash"]);
    let asks = "COMP_WORDS=(ptxc dec); COMP_CWORD=1; _ptxc ptxc dec ptxc; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("bash").args(["-c", &format!("{script}\n{asks}")]).output().expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "decode");
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let all = ptxc(&["man"]);
    assert_eq!(all.lines().filter(|line| line.starts_with(".TH ")).count(), COMMANDS.len() + 1);
    let folder = tempfile::tempdir().expect("a folder");
    let pages = folder.path().join("man1");
    ptxc(&["man", "--output", &pages.to_string_lossy()]);
    let read = |name: &str| std::fs::read_to_string(pages.join(name)).expect("the page is there");
    let main = read("ptxc.1");
    for command in COMMANDS {
        assert!(main.contains(&format!("ptxc\\-{command}(1)")), "ptxc.1 names no {command}");
        let page = read(&format!("ptxc-{command}.1"));
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH OPTIONS"), "{command}: {page}");
    }
    assert!(read("ptxc-lower.1").contains("\\-\\-max\\-regs"));
    assert_eq!(std::fs::read_dir(&pages).expect("the folder is there").count(), COMMANDS.len() + 1);
}
