//! The expected end of a run: the text that the kernel prints, and a fault.
//!
//! ```text
//! "printed": "thread 0\nthread 1\n",
//! "fault": {"text": "k.cu:6: void k(int): the assertion `x > 0` fails", "cta": [1, 0, 0], "thread": [5, 0, 0]}
//! ```
//!
//! The whole text must be equal. A fault must contain the text; without `cta` and `thread` any thread
//! may have it. A fault leaves the content of memory open, so such a case expects no content.

use std::fmt;

use serde::Deserialize;

use crate::error::SimError;

/// The expected end of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The text that the kernel prints; `None` if any text is right.
    pub printed: Option<String>,
    /// The fault that ends the run; without it, all threads must end.
    pub fault: Option<ExpectedFault>,
}

/// A fault that a case expects.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedFault {
    /// A part of its message.
    pub text: String,
    /// The CTA of its thread; `None` for any.
    pub cta: Option<[u32; 3]>,
    /// The index of its thread in the CTA; `None` for any.
    pub thread: Option<[u32; 3]>,
}

impl ExpectedFault {
    /// Whether an error is this fault.
    fn is(&self, error: &SimError) -> bool {
        let SimError::Fault { thread, what, .. } = error else { return false };
        what.contains(&self.text)
            && self.cta.is_none_or(|cta| cta == thread.cta)
            && self.thread.is_none_or(|tid| tid == thread.tid)
    }
}

impl fmt::Display for ExpectedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a fault with the text {:?}", self.text)?;
        if let Some([x, y, z]) = self.thread {
            write!(f, " in thread ({x}, {y}, {z})")?;
        }
        match self.cta {
            Some([x, y, z]) => write!(f, " of CTA ({x}, {y}, {z})"),
            None => Ok(()),
        }
    }
}

impl Ending {
    /// The differences between the expected end and that of a run, one text each. `error` is the
    /// fault that ended the run, if there was one.
    pub(crate) fn differences(&self, error: Option<&SimError>, printed: &str) -> Vec<String> {
        let fault = match (&self.fault, error) {
            (Some(fault), Some(error)) if fault.is(error) => None,
            (Some(fault), Some(error)) => Some(format!("expected {fault}, found: {error}")),
            (Some(fault), None) => Some(format!("expected {fault}, but all threads ended")),
            (None, Some(error)) => Some(error.to_string()),
            (None, None) => None,
        };
        let text = self.printed.as_ref().and_then(|expected| difference(expected, printed));
        fault.into_iter().chain(text).collect()
    }
}

/// The first line in which a text differs from the expected one.
fn difference(expected: &str, printed: &str) -> Option<String> {
    if expected == printed {
        return None;
    }
    let (mut want, mut got) = (expected.split_inclusive('\n'), printed.split_inclusive('\n'));
    let mut number = 1;
    loop {
        let show =
            |line: Option<&str>| line.map_or("the end of the text".to_string(), |line| format!("{line:?}"));
        match (want.next(), got.next()) {
            (want, got) if want != got => {
                return Some(format!("printed line {number}: expected {}, found {}", show(want), show(got)));
            }
            (None, _) => return None,
            _ => number += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::Thread;

    fn fault(cta: u32, tid: u32, what: &str) -> SimError {
        let thread = Thread { cta: [cta, 0, 0], tid: [tid, 0, 0] };
        SimError::Fault { thread, at: "trap".into(), what: what.into() }
    }

    #[test]
    fn a_fault_has_a_text_and_a_place() {
        let expected = ExpectedFault { text: "fails".into(), cta: None, thread: Some([5, 0, 0]) };
        let ending = Ending { fault: Some(expected), printed: None };
        let differences = |error: Option<&SimError>| ending.differences(error, "any text");
        assert!(differences(Some(&fault(1, 5, "it fails here"))).is_empty());
        let elsewhere = differences(Some(&fault(1, 6, "it fails")));
        assert!(
            elsewhere[0].starts_with(
                "expected a fault with the text \"fails\" in thread (5, 0, 0), found: thread (6"
            )
        );
        assert_eq!(differences(Some(&fault(1, 5, "a trap"))).len(), 1);
        assert!(differences(None)[0].ends_with("but all threads ended"));
        assert_eq!(Ending::default().differences(Some(&fault(0, 0, "a trap")), "").len(), 1);
    }

    #[test]
    fn every_character_of_the_text_counts() {
        let differences = |expected: &str, printed: &str| {
            let ending = Ending { printed: Some(expected.into()), fault: None };
            ending.differences(None, printed).pop().unwrap_or_default()
        };
        assert_eq!(differences("a\n b\n", "a\n b\n"), "");
        assert_eq!(differences("a\n b\n", "a\n  b\n"), r#"printed line 2: expected " b\n", found "  b\n""#);
        assert_eq!(differences("a\n", "a"), r#"printed line 1: expected "a\n", found "a""#);
        assert_eq!(differences("a\n", "a\nb"), r#"printed line 2: expected the end of the text, found "b""#);
        assert_eq!(differences("a\nb", "a\n"), r#"printed line 2: expected "b", found the end of the text"#);
        assert!(Ending::default().differences(None, "any text").is_empty());
    }
}
