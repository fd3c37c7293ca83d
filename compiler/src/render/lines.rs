//! Lines of a text, with the numbers that line markers give them.

use ptxc_syntax::{LineMarker, line_markers};

/// The starts of the lines of a text.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
    markers: Vec<LineMarker>,
}

/// A place as messages show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position<'l> {
    /// The file that a line marker names; `None` if no marker precedes the place.
    pub file: Option<&'l str>,
    /// The line, from 1 in the text itself; a marker may name any number.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
}

impl<'a> Lines<'a> {
    /// Finds the lines of a text.
    pub fn new(text: &'a str) -> Lines<'a> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Lines { text, starts, markers: line_markers(text) }
    }

    /// The position of a byte offset.
    pub fn position(&self, offset: u32) -> Position<'_> {
        let mut offset = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let index = self.index(offset);
        let column = self.text[self.starts[index]..offset].chars().count() + 1;
        Position { file: self.file(offset), line: self.number(index), column }
    }

    /// The file that a line marker before this offset names.
    pub(super) fn file(&self, offset: usize) -> Option<&str> {
        self.marker(self.starts[self.index(offset)]).map(|marker| &*marker.file)
    }

    /// The number that messages show for a line, which is given by its index from 0.
    pub(super) fn number(&self, index: usize) -> usize {
        match self.marker(self.starts[index]) {
            Some(marker) => {
                let after = index - self.index(marker.span.start as usize);
                (marker.line as usize).saturating_add(after - 1)
            }
            None => index + 1,
        }
    }

    /// The last marker before the start of a line.
    fn marker(&self, start: usize) -> Option<&LineMarker> {
        let before = self.markers.partition_point(|marker| (marker.span.start as usize) < start);
        before.checked_sub(1).map(|last| &self.markers[last])
    }

    /// The index of the line that holds an offset, from 0.
    pub(super) fn index(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset) - 1
    }

    /// The start of a line, and of the line after it.
    pub(super) fn range(&self, index: usize) -> std::ops::Range<usize> {
        self.starts[index]..self.starts.get(index + 1).copied().unwrap_or(self.text.len())
    }

    /// The number of lines.
    pub(super) fn count(&self) -> usize {
        self.starts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let lines = Lines::new("ab\né x\n");
        let places = [0, 1, 2, 3, 4, 5, 7, 99].map(|offset| lines.position(offset));
        let places = places.map(|place| (place.line, place.column));
        assert_eq!(places, [(1, 1), (1, 2), (1, 3), (2, 1), (2, 1), (2, 2), (2, 4), (3, 1)]);
    }

    #[test]
    fn markers_rename_the_lines_after_them() {
        let text = "a\n# 7 \"f.cu\"\nb\nc # 0 \"g.cu\"\nd\n";
        let lines = Lines::new(text);
        let place = |word: &str| {
            let place = lines.position(text.find(word).unwrap_or_default() as u32);
            (place.file, place.line, place.column)
        };
        assert_eq!(place("a"), (None, 1, 1));
        assert_eq!(place("b"), (Some("f.cu"), 7, 1));
        assert_eq!(place("c #"), (Some("f.cu"), 8, 1));
        assert_eq!(place("d"), (Some("g.cu"), 0, 1));
    }
}
