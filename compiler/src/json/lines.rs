//! The layout: each element of a list of a kernel has its own line, and lists below that stay on
//! one line.

use std::io::{self, Write};

use serde_json::ser::Formatter;

/// The depth of the innermost lists whose elements have their own lines: the lists of a kernel, in
/// the list of kernels, in the document.
const DEEPEST: usize = 4;

/// The state of the layout.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    depth: usize,
    /// Whether the list or object that is being written has an element.
    has_value: bool,
}

impl Lines {
    fn begin<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.has_value = false;
        out.write_all(bracket)
    }

    fn end<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.has_value && self.depth < DEEPEST {
            self.line(out)?;
        }
        self.has_value = true;
        out.write_all(bracket)
    }

    fn element<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        if self.depth <= DEEPEST { self.line(out) } else { Ok(()) }
    }

    fn line<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        const INDENT: &[u8] = b"\n    ";
        out.write_all(&INDENT[..1 + self.depth.min(DEEPEST)])
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.element(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.element(out, first)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::json;

    use super::*;

    #[test]
    fn deep_values_stand_in_one_line() {
        let value = json!({"a": [], "b": [{"c": {}, "d": [{"e": [1, {"f": 2}]}, 3]}]});
        let mut text = Vec::new();
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, Lines::default());
        value.serialize(&mut serializer).unwrap();
        let text = String::from_utf8(text).unwrap();
        let expected = "{\n \"a\":[],\n \"b\":[\n  {\n   \"c\":{},\n   \"d\":[\n    {\"e\":[1,{\"f\":2}]},\n    3\n   ]\n  }\n ]\n}";
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
