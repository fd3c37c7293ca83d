//! JSON lines: an object an instruction.
//!
//! Written by hand, since the fields and their types are known: what rows of a function have in common is made once,
//! numbers go without `write!`, and nothing is allocated for a row.

use ptxc_sass::text::number::{decimal, hex};

use super::row::{Fields, Piece, Source, Undecoded};

/// Writes a string in quotes.
fn string(out: &mut String, text: &str) {
    out.push('"');
    // Instructions hardly ever have such a character.
    let mut kept = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[kept..at]);
        kept = at + 1;
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            _ => {
                out.push_str("\\u");
                let _ = hex(out, u128::from(byte), 4);
            }
        }
    }
    out.push_str(&text[kept..]);
    out.push('"');
}

fn number(out: &mut String, name: &str, value: u32) {
    out.push_str(name);
    let _ = decimal(out, u64::from(value));
}

fn scoreboard(out: &mut String, name: &str, value: Option<u8>) {
    out.push_str(name);
    out.push(match value {
        Some(index) => char::from(b'0' + index),
        None => return out.push_str("null"),
    });
}

/// Writes the rows of a piece.
pub(super) fn rows(source: &Source<'_>, piece: &Piece<'_>, out: &mut String) -> Undecoded {
    let mut head = String::from("{\"file\":");
    string(&mut head, source.file);
    if let Some(member) = &source.place.member {
        head.push_str(",\"member\":");
        string(&mut head, member);
    }
    number(&mut head, ",\"image\":", source.place.number);
    head.push_str(",\"arch\":\"");
    head.push_str(&source.arch.to_string());
    head.push_str("\",\"function\":");
    string(&mut head, &piece.function.name);
    head.push_str(",\"offset\":");
    piece.rows(source.arch, |row| {
        out.push_str(&head);
        let _ = decimal(out, u64::from(row.offset));
        out.push_str(",\"instruction\":");
        string(out, row.text);
        let Fields { stall, yields, read, write, wait, reuse, batch } = row.fields;
        number(out, ",\"stall\":", u32::from(stall));
        out.push_str(if yields { ",\"yield\":true" } else { ",\"yield\":false" });
        scoreboard(out, ",\"read\":", read);
        scoreboard(out, ",\"write\":", write);
        number(out, ",\"wait\":", u32::from(wait));
        number(out, ",\"reuse\":", u32::from(reuse));
        number(out, ",\"batch\":", u32::from(batch));
        out.push_str(",\"word\":\"0x");
        let _ = hex(out, row.word, 32);
        match row.note {
            None => out.push_str("\"}\n"),
            Some(note) => {
                out.push_str("\",\"note\":");
                string(out, note);
                out.push_str("}\n");
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_read_back() {
        for text in ["", "a", "\"x\\\n\u{1f}é\"", "BRX R2 (*\"BRANCH_TARGETS .L_x_0\"*)"] {
            let mut out = String::new();
            string(&mut out, text);
            assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
        }
    }
}
