//! One cause, one finding: drops findings that only repeat what another one says.
//!
//! | cause | findings that follow from it |
//! |---|---|
//! | a line for a preprocessor | all others: what it defines or leaves out is not known |
//! | an unknown `.target` | that the target lacks something |
//! | a name with dots in a declaration | those about the uses of this name |

use ptxc_ptx::check::codes::{TARGET_TOO_OLD, UNKNOWN_TARGET};
use ptxc_syntax::codes::{Code, DOTTED_NAME, PREPROCESSOR};
use rustc_hash::FxHashSet;

use crate::render::Located;

/// Keeps the findings in a text that do not follow from another one.
pub(crate) fn only(text: &str, mut found: Vec<Located>) -> Vec<Located> {
    let is = |located: &Located, code: Code| located.code == code.to_string();
    // Most files have no findings at all, and most findings have other codes.
    let has = |code: Code| found.iter().any(|located| is(located, code));
    let (preprocessor, target, dotted) = (has(PREPROCESSOR), has(UNKNOWN_TARGET), has(DOTTED_NAME));
    if preprocessor {
        let first = found.iter().filter(|located| is(located, PREPROCESSOR));
        return first.min_by_key(|located| located.primary.0).cloned().into_iter().collect();
    }
    if target {
        found.retain(|located| !is(located, TARGET_TOO_OLD));
    }
    if dotted {
        let names: FxHashSet<&str> = found
            .iter()
            .filter(|located| is(located, DOTTED_NAME))
            .filter_map(|located| text.get(located.primary.0.range()))
            .collect();
        found.retain(|located| is(located, DOTTED_NAME) || !names.contains(word_at(text, located)));
    }
    found
}

/// The word with dots that holds the start of a finding's place.
fn word_at<'t>(text: &'t str, located: &Located) -> &'t str {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.');
    let bytes = text.as_bytes();
    let mut place = (located.primary.0.start as usize).min(bytes.len());
    // The place of an address begins at its bracket.
    place += usize::from(matches!(bytes.get(place), Some(b'[')));
    let before = bytes[..place].iter().rev().take_while(|byte| is_part(byte)).count();
    let after = bytes[place..].iter().take_while(|byte| is_part(byte)).count();
    // All these bytes are ASCII.
    text.get(place - before..place + after).unwrap_or_default()
}
