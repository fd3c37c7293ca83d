//! Replaces the Parquet writer if the feature `parquet` is off. `decode` refuses the format before
//! it calls this module.

use std::io::{Error, ErrorKind, Result, Write};

use ptxc_container::Function;

use super::row::{Source, Undecoded};

/// A file that can never be opened.
pub(super) enum Frame {}

impl Frame {
    /// An error that names the feature.
    pub(super) fn begin() -> Result<Frame> {
        Err(Error::new(ErrorKind::Unsupported, super::NO_PARQUET))
    }

    pub(super) fn image(
        &mut self,
        _: &Source<'_>,
        _: &[Function<'_>],
        _: &mut dyn Write,
        _: &mut dyn FnMut(&Function<'_>, Undecoded),
    ) -> Result<()> {
        match *self {}
    }

    pub(super) fn finish(self, _: &mut dyn Write) -> Result<()> {
        match self {}
    }
}
