//! Which output has colours is decided by the option, then by the environment, then by whether the
//! stream is a terminal.

use ptxc::surroundings::Surroundings;

const ESCAPE: char = '\x1b';
const BROKEN: &str = ".version 8.0\n.target sm_90\n.entry k() { nonsense; }\n";

/// Whether the output and the errors of a command have colours.
fn colors(surroundings: Surroundings, words: &[&str], stdin: &str) -> (bool, bool) {
    let words: Vec<String> = std::iter::once("ptxc").chain(words.iter().copied()).map(String::from).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    ptxc::run_in(&surroundings, &words, &mut stdin.as_bytes(), &mut out, &mut err);
    let colored = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(ESCAPE);
    assert!(!out.is_empty() || !err.is_empty());
    (colored(&out), colored(&err))
}

fn terminals(out_is_terminal: bool, err_is_terminal: bool) -> Surroundings {
    Surroundings { out_is_terminal, err_is_terminal, ..Surroundings::default() }
}

#[test]
fn diagnostics_follow_standard_error() {
    let check = |surroundings| colors(surroundings, &["check", "-"], BROKEN).1;
    assert!(check(terminals(false, true)));
    assert!(!check(terminals(true, false)));
    assert!(!check(Surroundings { environment: Some(false), ..terminals(true, true) }));
    assert!(check(Surroundings { environment: Some(true), ..terminals(false, false) }));
}

#[test]
fn the_option_wins_everywhere_on_the_command_line() {
    let silent = Surroundings { environment: Some(false), ..terminals(false, false) };
    assert!(colors(silent, &["check", "-", "--color", "always"], BROKEN).1);
    assert!(colors(silent, &["--color=always", "check", "-"], BROKEN).1);
    assert!(!colors(terminals(true, true), &["check", "-", "--color=never"], BROKEN).1);
    // Machine-readable output has no colours, whatever the option says.
    assert!(!colors(silent, &["check", "-", "--message-format=json", "--color=always"], BROKEN).1);
}

#[test]
fn help_and_wrong_usage_follow_the_same_rules() {
    assert_eq!(colors(terminals(true, false), &["lower", "--help"], ""), (true, false));
    assert_eq!(colors(terminals(false, true), &["lower", "--help"], ""), (false, false));
    assert_eq!(colors(terminals(true, true), &["--color=never", "--help"], ""), (false, false));
    assert_eq!(colors(terminals(false, true), &["lower", "--no-such-option"], ""), (false, true));
    assert_eq!(colors(terminals(true, false), &["lower", "--no-such-option"], ""), (false, false));
    assert_eq!(colors(terminals(false, false), &["--color", "always", "nonsense"], ""), (false, true));
}

#[test]
fn several_files_have_the_same_colors() {
    let file = std::env::temp_dir().join(format!("ptxc-colors-{}.ptx", std::process::id()));
    std::fs::write(&file, BROKEN).expect("a file is written");
    let name = file.to_string_lossy();
    let seen = colors(terminals(false, true), &["check", &name, "-", "--progress=never"], BROKEN);
    std::fs::remove_file(&file).expect("it was there");
    assert_eq!(seen, (false, true));
}
