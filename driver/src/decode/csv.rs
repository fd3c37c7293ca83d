//! CSV: a line of column names, then one line per instruction.
//!
//! As in RFC 4180, a field with a comma, a quote or a line break stands in quotes. An absent
//! scoreboard is an empty field.

use ptxc_sass::text::number::{decimal, hex};

use super::row::{Fields, Piece, Source, Undecoded};

/// The first line.
pub(super) const NAMES: &str =
    "file,member,image,arch,function,offset,instruction,stall,yield,read,write,wait,reuse,batch,word,note\n";

fn text(out: &mut String, text: &str) {
    if !text.contains([',', '"', '\n', '\r']) {
        return out.push_str(text);
    }
    out.push('"');
    out.push_str(&text.replace('"', "\"\""));
    out.push('"');
}

/// Writes the rows of a piece.
pub(super) fn rows(source: &Source<'_>, piece: &Piece<'_>, out: &mut String) -> Undecoded {
    let mut head = String::new();
    text(&mut head, source.file);
    head.push(',');
    text(&mut head, source.place.member.as_deref().unwrap_or_default());
    head.push_str(&format!(",{},{},", source.place.number, source.arch));
    text(&mut head, &piece.function.name);
    head.push(',');
    piece.rows(source.arch, |row| {
        out.push_str(&head);
        let _ = decimal(out, u64::from(row.offset));
        out.push(',');
        text(out, row.text());
        let Fields { stall, yields, read, write, wait, reuse, batch } = row.fields;
        let (read, write) = (read.map(u64::from), write.map(u64::from));
        let [stall, wait, reuse, batch] = [stall, wait, reuse, batch].map(|value| Some(u64::from(value)));
        let number = |out: &mut String, field| {
            out.push(',');
            if let Some(value) = field {
                let _ = decimal(out, value);
            }
        };
        number(out, stall);
        out.push_str(if yields { ",true" } else { ",false" });
        for field in [read, write, wait, reuse, batch] {
            number(out, field);
        }
        out.push_str(",0x");
        let _ = hex(out, row.word, 32);
        out.push(',');
        text(out, row.note.unwrap_or_default());
        out.push('\n');
    })
}
