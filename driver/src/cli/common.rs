//! The command lines that builds repeat thousands of times, parsed without clap.
//!
//! Describing a command's options to clap and matching them takes a tenth of the time of a small
//! kernel. This parser knows the options that builds pass, and leaves everything else to clap, so
//! that wrong usage is explained in one place. A test compares the two.

use std::ffi::{OsStr, OsString};

use super::{
    CheckArgs, CodeArgs, Color, Command, Control, CubinAbi, Everywhere, HEURISTIC, JobArgs, LEVEL, LowerArgs,
    MAX_REGS, MessageFormat, Sync, WhenProgress,
};
use crate::input::Input;

/// Parses the words after the program's name. Returns `None` for anything except the correct use of
/// `lower` or `check` with these options.
pub(super) fn parse(words: &[OsString]) -> Option<(Everywhere, Command)> {
    let everywhere = Everywhere { color: Color::default(), progress: WhenProgress::default() };
    let (command, words) = words.split_first()?;
    let command = match command.to_str()? {
        "lower" => Command::Lower(Words::read(words)?.lower()),
        "check" => Command::Check(Words::read(words)?.check()?),
        _ => return None,
    };
    Some((everywhere, command))
}

/// The files and options of a command line.
#[derive(Default)]
struct Words {
    files: Vec<Input>,
    output: Option<OsString>,
    arch: Option<String>,
    level: Option<u8>,
    lineinfo: bool,
    strict: bool,
}

impl Words {
    /// Reads files and known options, each at most once and in its usual form.
    fn read(words: &[OsString]) -> Option<Words> {
        let mut found = Words::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if is_value(word) {
                found.files.push(Input::from(word));
                continue;
            }
            let is_new = match word.to_str()? {
                "-o" | "--output" => {
                    let value = words.next().filter(|value| is_value(value))?;
                    found.output.replace(value.clone()).is_none()
                }
                "--arch" => {
                    let value = words.next().filter(|value| is_value(value))?;
                    found.arch.replace(value.to_str()?.to_string()).is_none()
                }
                level @ ("-O0" | "-O1" | "-O2" | "-O3") => {
                    found.level.replace(level[2..].parse().ok()?).is_none()
                }
                "--lineinfo" => !std::mem::replace(&mut found.lineinfo, true),
                "--strict" => !std::mem::replace(&mut found.strict, true),
                _ => return None,
            };
            if !is_new {
                return None;
            }
        }
        (!found.files.is_empty()).then_some(found)
    }

    /// The arguments of `lower`.
    fn lower(self) -> LowerArgs {
        LowerArgs {
            files: self.files,
            output: self.output.unwrap_or_else(|| "-".into()).into(),
            jobs: JobArgs { jobs: None },
            code: CodeArgs {
                arch: self.arch,
                opt: self.level.unwrap_or(LEVEL),
                heuristic: HEURISTIC.to_string(),
                max_regs: MAX_REGS,
                fmad: true,
                aggregate_atomics: false,
                sync: Sync::default(),
                strict: self.strict,
            },
            kernel: Vec::new(),
            keep_going: false,
            emit: Vec::new(),
            compile_only: false,
            lineinfo: self.lineinfo,
            cubin_abi: CubinAbi::default(),
            control: Control::default(),
            explain: false,
            watch: false,
            print_before: Vec::new(),
            print_after: Vec::new(),
            stop_after: None,
            time_passes: false,
            verbose: false,
            message_format: MessageFormat::default(),
        }
    }

    /// The arguments of `check`, which has no output, level or line information.
    fn check(self) -> Option<CheckArgs> {
        let has_others = self.output.is_some() || self.level.is_some() || self.lineinfo;
        (!has_others).then(|| CheckArgs {
            files: self.files,
            jobs: JobArgs { jobs: None },
            arch: self.arch,
            strict: self.strict,
            syntax: false,
            message_format: MessageFormat::default(),
        })
    }
}

/// Whether a word is a file or the value of an option: `-` is, other words with a hyphen are not.
fn is_value(word: &OsStr) -> bool {
    word == "-" || !(word.is_empty() || word.as_encoded_bytes().starts_with(b"-"))
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::*;

    /// The words that the test combines. No parser knows some of them.
    const WORDS: [&str; 15] = [
        "k.ptx",
        "-",
        "-o",
        "--output",
        "--arch",
        "sm_90",
        "-O0",
        "-O3",
        "-O",
        "--lineinfo",
        "--strict",
        "--arch=sm_80",
        "-ok",
        "--",
        "",
    ];

    /// What both parsers make of a command line: `None` if only clap can tell.
    fn is_like_clap(words: &[&str]) -> bool {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let Some((everywhere, command)) = parse(&words) else { return false };
        let line: Vec<OsString> = std::iter::once("ptxc".into()).chain(words).collect();
        let clap = Cli::read_with_clap(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        assert_eq!(format!("{:?}", Cli { everywhere, command }), format!("{clap:?}"), "{line:?}");
        true
    }

    #[test]
    fn what_it_parses_is_what_clap_parses() {
        let mut parsed = 0;
        for command in ["lower", "check", "verify"] {
            for a in WORDS {
                parsed += usize::from(is_like_clap(&[command, a]));
                for b in WORDS {
                    parsed += usize::from(is_like_clap(&[command, a, b]));
                    for c in WORDS {
                        parsed += usize::from(is_like_clap(&[command, a, b, c]));
                    }
                }
            }
        }
        assert!(parsed > 100, "{parsed}");
        assert!(is_like_clap(&[
            "lower", "a.ptx", "-O1", "--arch", "sm_80", "b.ptx", "-o", "out/", "--strict"
        ]));
    }

    #[test]
    #[cfg(unix)]
    fn names_that_are_not_utf_8() {
        use std::os::unix::ffi::OsStringExt;
        let name = OsString::from_vec(b"k\xff.ptx".to_vec());
        let (_, command) = parse(&["check".into(), name.clone()]).expect("a correct command line");
        let Command::Check(args) = command else { panic!("{command:?}") };
        assert_eq!(args.files, [Input::from(name.clone())]);
        assert!(parse(&["check".into(), "k.ptx".into(), "--arch".into(), name]).is_none());
    }
}
