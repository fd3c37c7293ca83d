//! The result of a compiler for a form.

use std::fmt;

use crate::signature::Signature;

/// The result of a compiler for a form.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// Code.
    Code(Signature),
    /// A refusal: ptxas's message without names and numbers, or our codes.
    Refused(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Code(signature) => write!(f, "{signature}"),
            Outcome::Refused(why) => write!(f, "refused: {why}"),
        }
    }
}

impl Outcome {
    /// Parses the text that [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Outcome {
        match text.strip_prefix("refused: ") {
            Some(why) => Outcome::Refused(why.to_string()),
            None if text == "-" => Outcome::Code(Signature::default()),
            None => Outcome::Code(Signature(text.split("; ").map(str::to_string).collect())),
        }
    }
}
