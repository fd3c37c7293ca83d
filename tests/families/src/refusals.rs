//! The meaning of ptxas's messages in our codes.
//!
//! `refusals.txt` has a line for each message, with `…` instead of names, and the codes with the
//! same meaning:
//!
//! ```text
//! Arguments mismatch for instruction … => E0108 E0109 E0206
//! ```

/// The name of the list.
pub const FILE: &str = "refusals.txt";

/// A message with the codes that mean the same.
#[derive(Clone, Debug)]
pub struct Meaning {
    /// The message; `*` at its end is any text.
    pub message: String,
    codes: Vec<String>,
}

/// Reads the list.
///
/// # Errors
/// The line that is not valid.
pub fn parse(text: &str) -> Result<Vec<Meaning>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (message, codes) = line.split_once(" => ").ok_or_else(|| format!("refusals.txt: {line}"))?;
            Ok(Meaning {
                message: message.to_string(),
                codes: codes.split(' ').map(str::to_string).collect(),
            })
        })
        .collect()
}

/// The first line that matches a message of ptxas, and whether one of our errors
/// (`E0107: …; E0108: …`) has the same meaning.
pub fn means_the_same(meanings: &[Meaning], theirs: &str, ours: &str) -> (Option<usize>, bool) {
    let is = |meaning: &Meaning| match meaning.message.strip_suffix('*') {
        Some(start) => theirs.starts_with(start),
        None => theirs == meaning.message,
    };
    let found = meanings.iter().position(is);
    let codes = || ours.split("; ").filter_map(|error| error.split(':').next());
    (
        found,
        found
            .is_some_and(|index| codes().any(|code| meanings[index].codes.iter().any(|known| known == code))),
    )
}
