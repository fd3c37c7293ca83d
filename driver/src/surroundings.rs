//! The environment of the program: the destination of its output, and the environment variables
//! about colours.
//!
//! | in this order | colours |
//! |---|---|
//! | `--color always`, `--color never` | as the option says |
//! | `NO_COLOR`, not empty | never |
//! | `CLICOLOR_FORCE`, not empty and not `0` | always |
//! | `CLICOLOR=0`, `TERM=dumb` | never |
//! | otherwise | on a terminal: standard error's state decides for diagnostics, standard output's for tables and help |

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;

use crate::cli::Color;

/// The properties of the streams and the environment. The default is for use as a library: no
/// terminal, and an empty environment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings {
    /// Whether standard output is a terminal.
    pub out_is_terminal: bool,
    /// Whether standard output is closed.
    pub out_is_closed: bool,
    /// Whether standard error is a terminal.
    pub err_is_terminal: bool,
    /// Whether the environment asks for colours, if it says anything about them.
    pub environment: Option<bool>,
    /// Whether the process ends with the command. If so, memory that lives until then need not be
    /// freed.
    pub ends_with_command: bool,
}

impl Surroundings {
    /// The surroundings of this process.
    pub fn of_process() -> Surroundings {
        Surroundings {
            out_is_terminal: std::io::stdout().is_terminal(),
            out_is_closed: false,
            err_is_terminal: std::io::stderr().is_terminal(),
            environment: environment(|name| std::env::var_os(name)),
            ends_with_command: true,
        }
    }

    /// Whether a stream has colours.
    pub(crate) fn has_colors(&self, choice: Color, is_terminal: bool) -> bool {
        match choice {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => self.environment.unwrap_or(is_terminal),
        }
    }
}

/// Whether environment variables ask for colours.
pub fn environment<S: AsRef<OsStr>>(variable: impl Fn(&str) -> Option<S>) -> Option<bool> {
    let is = |name: &str, test: fn(&OsStr) -> bool| variable(name).is_some_and(|value| test(value.as_ref()));
    if is("NO_COLOR", |value| !value.is_empty()) {
        return Some(false);
    }
    if is("CLICOLOR_FORCE", |value| !value.is_empty() && value != "0") {
        return Some(true);
    }
    (is("CLICOLOR", |value| value == "0") || is("TERM", |value| value == "dumb")).then_some(false)
}

/// The choice of a command line, even of one that cannot be parsed otherwise: errors and help have
/// colours too.
pub(crate) fn choice(args: &[OsString]) -> Color {
    let words = args.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str());
    let mut next = false;
    let mut choice = Color::Auto;
    for word in words {
        let value = if next { Some(word) } else { word.strip_prefix("--color=") };
        next = word == "--color";
        choice = match value {
            Some("always") => Color::Always,
            Some("never") => Color::Never,
            Some("auto") => Color::Auto,
            _ => choice,
        };
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(variables: &[(&str, &'static str)]) -> Option<bool> {
        environment(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value))
    }

    #[test]
    fn the_environment_speaks_by_the_usual_conventions() {
        assert_eq!(said(&[]), None);
        assert_eq!(said(&[("NO_COLOR", "")]), None);
        assert_eq!(said(&[("NO_COLOR", "1")]), Some(false));
        assert_eq!(said(&[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")]), Some(true));
        assert_eq!(said(&[("CLICOLOR_FORCE", "0")]), None);
        assert_eq!(said(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), Some(false));
        assert_eq!(said(&[("CLICOLOR", "0")]), Some(false));
        assert_eq!(said(&[("CLICOLOR", "1")]), None);
        assert_eq!(said(&[("TERM", "dumb")]), Some(false));
        assert_eq!(said(&[("TERM", "xterm")]), None);
    }

    #[test]
    fn the_option_wins_then_the_environment_then_the_terminal() {
        let around = |environment| Surroundings { environment, ..Surroundings::default() };
        assert!(around(Some(false)).has_colors(Color::Always, false));
        assert!(!around(Some(true)).has_colors(Color::Never, true));
        assert!(around(Some(true)).has_colors(Color::Auto, false));
        assert!(!around(Some(false)).has_colors(Color::Auto, true));
        assert!(around(None).has_colors(Color::Auto, true));
        assert!(!around(None).has_colors(Color::Auto, false));
    }

    #[test]
    fn the_choice_is_found_in_any_command_line() {
        let of = |line: &str| choice(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of("ptxc nonsense --color always"), Color::Always);
        assert_eq!(of("ptxc --color=never lower"), Color::Never);
        assert_eq!(of("ptxc lower -- --color always"), Color::Auto);
        assert_eq!(of("ptxc lower --color always --color=never"), Color::Never);
    }
}
