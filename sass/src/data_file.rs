//! Reads the lines of data files at compile time.
//!
//! The compiler interprets this, so each step takes its time: slices are taken apart by patterns,
//! because a call of `split_at` takes as long as hundreds of other steps. A malformed line does not
//! compile.

/// The unread rest of a data file.
pub(crate) struct Reader {
    text: &'static [u8],
}

impl Reader {
    /// Starts after the comments and the heading.
    pub(crate) const fn new(text: &'static [u8]) -> Reader {
        let mut reader = Reader { text };
        while let [b'#', ..] = reader.text {
            reader.skip_line();
        }
        reader.skip_line();
        reader
    }

    /// Whether no line is left.
    pub(crate) const fn is_at_end(&self) -> bool {
        self.text.is_empty()
    }

    const fn skip_line(&mut self) {
        while let [byte, rest @ ..] = self.text {
            self.text = rest;
            if *byte == b'\n' {
                return;
            }
        }
    }

    /// The word before the next comma, packed; skips both.
    pub(crate) const fn word(&mut self) -> u128 {
        let (word, has_more) = self.part();
        assert!(!has_more, "one word expected, found a list");
        word
    }

    /// The word before the next comma or slash, packed, and whether a slash follows it; skips both.
    pub(crate) const fn part(&mut self) -> (u128, bool) {
        let mut word = 0;
        while let [byte, rest @ ..] = self.text {
            self.text = rest;
            match *byte {
                end @ (b',' | b'/') => return (word, end == b'/'),
                byte => word = append(word, byte),
            }
        }
        panic!("the file ends within a line")
    }

    /// The number before the next `end`; skips both.
    pub(crate) const fn number(&mut self, end: u8) -> u32 {
        let mut value = 0;
        while let [byte, rest @ ..] = self.text {
            self.text = rest;
            match *byte {
                digit @ b'0'..=b'9' => value = value * 10 + (digit - b'0') as u32,
                other if other == end => return value,
                _ => panic!("no number"),
            }
        }
        panic!("the file ends within a line")
    }

    /// The number below 256 before the next comma; skips both.
    pub(crate) const fn byte(&mut self) -> u8 {
        let value = self.number(b',');
        assert!(value < 256, "a number of more than 8 bits");
        value as u8
    }

    /// The rest of the line; skips it.
    pub(crate) const fn rest_of_line(&mut self) -> &'static str {
        let text = self.text;
        self.skip_line();
        let [line @ .., b'\n'] = text.split_at(text.len() - self.text.len()).0 else {
            panic!("the file ends within a line")
        };
        match std::str::from_utf8(line) {
            Ok(line) => line,
            Err(_) => panic!("the file is not UTF-8"),
        }
    }
}

/// A word of a data file, packed into an integer, which constants compare in one step.
///
/// # Panics
///
/// A word of more than 16 bytes does not compile.
pub(crate) const fn packed(text: &str) -> u128 {
    let (mut word, mut rest) = (0, text.as_bytes());
    while let [byte, tail @ ..] = rest {
        word = append(word, *byte);
        rest = tail;
    }
    word
}

/// A packed word with one more byte.
const fn append(word: u128, byte: u8) -> u128 {
    assert!(word >> 120 == 0, "a word of more than 16 bytes");
    word << 8 | byte as u128
}
