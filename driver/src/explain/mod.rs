//! `ptxc explain`: the pages of `docs/errors`, one per code.
//!
//! The program contains the pages as they stand in the repository. `build.rs` lists them, so a new
//! code needs only a page. Nothing is read or built when the program starts.

mod plain;

use crate::cli::ExplainArgs;
use crate::streams::{Outcome, Streams};

/// The explanation of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The code, such as `E0101`.
    pub code: &'static str,
    /// The page in Markdown; its first line is `# E0101: unknown instruction`.
    pub text: &'static str,
}

/// All pages, sorted by code.
pub static PAGES: &[Page] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

impl Page {
    /// The title: what is wrong, in a few words.
    pub fn title(&self) -> &'static str {
        let line = self.text.lines().next().unwrap_or_default();
        line.split_once(": ").map_or(line, |(_, title)| title)
    }
}

pub(crate) fn run(args: &ExplainArgs, streams: &mut Streams<'_>) -> Outcome {
    let mut text = String::new();
    if args.codes.is_empty() {
        PAGES
            .iter()
            .for_each(|page| text.push_str(&format!("{}  {}\n", page.code, plain::inline(page.title()))));
    }
    let mut outcome = Outcome::Done;
    for code in &args.codes {
        match find(code) {
            Ok(page) => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&plain::page(page.text));
            }
            Err(nearest) => {
                outcome = streams.failed(match nearest {
                    Some(page) => {
                        let title = plain::inline(page.title());
                        format!("there is no code `{code}`; the nearest one is {}: {title}", page.code)
                    }
                    None => format!("`{code}` is not a code such as E0101; `ptxc explain` lists all codes"),
                });
            }
        }
    }
    // The caller of the command reports an error of standard output.
    let _ = streams.out.write_all(text.as_bytes());
    outcome
}

/// The page of a code in any spelling, `E0101`, `e101` or `101`. For an unknown number, the error
/// is the page with the nearest code.
pub fn find(code: &str) -> Result<&'static Page, Option<&'static Page>> {
    let digits = code.strip_prefix(['E', 'e']).unwrap_or(code);
    let number =
        |text: &str| text.parse::<u32>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let Some(wanted) = number(digits) else { return Err(None) };
    let distance = |page: &&Page| number(&page.code[1..]).map_or(u32::MAX, |own| own.abs_diff(wanted));
    match PAGES.iter().min_by_key(distance) {
        Some(page) if distance(&page) == 0 => Ok(page),
        nearest => Err(nearest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_in_any_spelling() {
        for spelling in ["E0101", "e0101", "E101", "101"] {
            assert_eq!(find(spelling).map(|page| page.code), Ok("E0101"), "{spelling}");
        }
        assert_eq!(find("E0200").map_err(|page| page.map(|page| page.code)), Err(Some("E0201")));
        for spelling in ["", "E", "+101", "addd"] {
            assert_eq!(find(spelling), Err(None), "{spelling}");
        }
    }

    #[test]
    fn pages_ascend() {
        assert!(PAGES.windows(2).all(|pair| pair[0].code < pair[1].code));
    }
}
