//! Standard output: it remembers its first error, and protects a terminal from the input's bytes.

use std::io::{Error, ErrorKind, Result, Write};

use ptxc_compiler::render::plain;

/// Standard output of a command.
///
/// Most writers cannot do anything about an error here. So they may ignore it, and the command line
/// reports it once, at the end.
pub(crate) struct StandardOutput<'a> {
    stream: &'a mut dyn Write,
    /// Whether text is escaped, because it goes to a terminal and may contain bytes of the input.
    escapes: bool,
    /// Whether nothing can be written. That is an error only once something is written.
    is_closed: bool,
    /// The first error.
    error: Option<Error>,
}

impl<'a> StandardOutput<'a> {
    pub(crate) fn new(stream: &'a mut dyn Write, escapes: bool, is_closed: bool) -> StandardOutput<'a> {
        StandardOutput { stream, escapes, is_closed, error: None }
    }

    /// Writes the rest, and returns the first error. A reader that has left (`ptxc … | head`) has
    /// everything that it wants, so this is no error.
    pub(crate) fn end(mut self) -> Result<()> {
        // An error is kept.
        let _ = self.flush();
        match self.error {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }

    /// After an error nothing is written, so that what arrives is the beginning of the output.
    fn check(&self) -> Result<()> {
        match &self.error {
            Some(error) => Err(error.kind().into()),
            None => Ok(()),
        }
    }

    fn keep<T>(&mut self, result: Result<T>) -> Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            if kind != ErrorKind::Interrupted {
                self.error.get_or_insert(error);
            }
            kind.into()
        })
    }
}

impl Write for StandardOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.check()?;
        let result = match self.escapes {
            _ if self.is_closed && !bytes.is_empty() => Err(Error::other("it is closed")),
            false => self.stream.write(bytes),
            true => {
                let text = String::from_utf8_lossy(bytes);
                self.stream.write_all(plain(&text).as_bytes()).map(|()| bytes.len())
            }
        };
        self.keep(result)
    }

    fn flush(&mut self) -> Result<()> {
        self.check()?;
        let result = self.stream.flush();
        self.keep(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that accepts some bytes and then fails.
    struct Limited(usize, ErrorKind);

    impl Write for Limited {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            match self.0.checked_sub(bytes.len()) {
                Some(rest) => self.0 = rest,
                None => return Err(self.1.into()),
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_first_error_is_kept_and_a_reader_may_leave() {
        for (kind, is_error) in [(ErrorKind::StorageFull, true), (ErrorKind::BrokenPipe, false)] {
            let mut stream = Limited(4, kind);
            let mut out = StandardOutput::new(&mut stream, false, false);
            assert!(out.write_all(b"abc").is_ok());
            assert!(out.write_all(b"def").is_err());
            assert!(out.write_all(b"g").is_err(), "nothing follows the gap");
            assert_eq!(out.end().is_err(), is_error);
        }
    }

    #[test]
    fn a_closed_output_fails_once_it_is_used() {
        let mut bytes = Vec::new();
        assert!(StandardOutput::new(&mut bytes, false, true).end().is_ok());
        let mut out = StandardOutput::new(&mut bytes, false, true);
        assert!(out.write_all(b"a").is_err());
        assert!(out.end().is_err());
    }

    #[test]
    fn a_terminal_gets_no_control_characters() {
        let mut bytes = Vec::new();
        let mut out = StandardOutput::new(&mut bytes, true, false);
        assert!(out.write_all("a\x1b]0;b\x07\n\tc\u{9b}".as_bytes()).is_ok());
        assert!(out.end().is_ok());
        assert_eq!(String::from_utf8_lossy(&bytes), "a\\u{1b}]0;b\\u{7}\n\tc\\u{9b}");
    }
}
