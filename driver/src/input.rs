//! The files that a command line names.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use ptxc_compiler::render::plain_line;

/// A file that a command reads; `-` is standard input. Its name need not be UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    path: PathBuf,
    /// The path for messages: text without control characters.
    shown: String,
}

impl Input {
    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path as messages show it.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Whether it is standard input.
    pub fn is_stream(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Whether its name has this extension.
    #[cfg(feature = "simulator")]
    pub fn has_extension(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|own| own == extension)
    }
}

impl<P: Into<PathBuf>> From<P> for Input {
    fn from(path: P) -> Input {
        let path = path.into();
        let shown = plain_line(&path.to_string_lossy()).into_owned();
        Input { path, shown }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// A parser of command lines for [`Input`].
pub(crate) fn parser() -> impl clap::builder::TypedValueParser<Value = Input> {
    use clap::builder::TypedValueParser;
    clap::builder::OsStringValueParser::new().map(|path: OsString| Input::from(path))
}
