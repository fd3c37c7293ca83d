//! Messages above the progress bar.

use std::io::Write;

use crate::progress::Progress;

/// A stream whose output appears above the bar.
pub(super) struct Above<'a> {
    /// The bar.
    pub(super) progress: &'a Progress,
    /// The stream.
    pub(super) stream: &'a mut dyn Write,
}

impl Write for Above<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let Above { progress, stream } = self;
        progress.above(|| stream.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}
