//! [`Name`]: an identifier, a modifier or the raw text of a string literal.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

use ecow::EcoString;

/// An immutable piece of source text that is cheap to clone and to compare.
///
/// Up to 15 bytes are stored in place, which covers almost every register, opcode and label; a
/// longer name (a mangled C++ symbol) is one reference-counted allocation. Two names are equal when
/// their characters are equal, so trees of different parses can be compared.
///
/// ```
/// let name = ptxc_syntax::Name::new("%tid.x");
/// assert_eq!(name, "%tid.x");
/// assert!(name.starts_with('%'));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Name(EcoString);

impl Name {
    /// The name spelled `text`.
    pub fn new(text: &str) -> Self {
        Name(EcoString::from(text))
    }

    /// The characters.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Name::new(text)
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
