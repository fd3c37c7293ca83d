//! Attributes that are kept as they are, as text.
//!
//! ```text
//! .module_attributes 0x53 none, 0x11 of $__internal_0_f 0x8
//! .compatibility 0x0b words 0x0 0x0
//! .attributes 0x6b half 0x1, 0x66 words 0x3, 0x0f symbols vprintf, 0x17 parameter 0x0 0x1f400
//! .mark 0x44 0xfff
//! ```
//!
//! An attribute is its code, the form of its value, and the value. A mark before an instruction is
//! an entry of an attribute that lists places in the code, so it moves with the instruction.

use std::fmt;

use super::symbol::is_name;
use crate::kept::{Attribute, AttributeValue, Binding, Kept, KeptSymbol, Mark};

/// The directive for the attributes of the next kernel.
pub(super) const OF_KERNEL: &str = ".attributes";
/// The directive for the attributes of the file.
pub(super) const OF_MODULE: &str = ".module_attributes";
/// The directive for the attributes about architectures that can run the file.
pub(super) const OF_COMPATIBILITY: &str = ".compatibility";
/// The directive for a symbol that only debug information names.
pub(super) const SYMBOL: &str = ".symbol";
/// The directive for a texture, sampler or surface of the file.
pub(super) const IMAGE: &str = ".image";
/// The directive for a mark of the next instruction.
pub(super) const MARK: &str = ".mark";

/// Writes the attributes of a file, if it has any.
///
/// # Errors
/// If the writer fails.
pub fn write_module_attributes(kept: &Kept, out: &mut impl fmt::Write) -> fmt::Result {
    write_list(OF_MODULE, &kept.attributes, out)?;
    write_list(OF_COMPATIBILITY, &kept.compatibility, out)?;
    for KeptSymbol { name, section, value, size, binding } in &kept.symbols {
        match binding {
            Binding::Local => writeln!(out, ".local {name}")?,
            Binding::Weak => writeln!(out, ".weak {name}")?,
            Binding::Global => {}
        }
        writeln!(out, "{SYMBOL} {name} {section} {value:#x} {size}")?;
    }
    for (kind, name) in &kept.images {
        writeln!(out, "{IMAGE} {} {name}", kind.name())?;
    }
    Ok(())
}

/// Reads a symbol: its name, its section, its offset and its size. Its binding is read elsewhere.
pub(super) fn symbol(text: &str) -> Result<KeptSymbol, String> {
    let read = || {
        let mut words = text.split_whitespace();
        let mut name = || words.next().filter(|name| is_name(name)).map(str::to_string);
        let (name, section) = (name()?, name()?);
        let value = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
        let size = words.next()?.parse().ok()?;
        let binding = Binding::default();
        words.next().is_none().then_some(KeptSymbol { name, section, value, size, binding })
    };
    read().ok_or_else(|| "a symbol is `.symbol NAME SECTION 0x0 16`: its offset and its size".to_string())
}

/// A line of attributes; nothing if there are none.
pub(super) fn write_list(directive: &str, list: &[Attribute], out: &mut impl fmt::Write) -> fmt::Result {
    let mut separator = directive;
    for Attribute { code, value } in list {
        write!(out, "{separator} {code:#04x}")?;
        separator = ",";
        match value {
            AttributeValue::Absent => out.write_str(" absent")?,
            AttributeValue::None => out.write_str(" none")?,
            AttributeValue::Byte(byte) => write!(out, " byte {byte:#x}")?,
            AttributeValue::Half(half) => write!(out, " half {half:#x}")?,
            AttributeValue::Words(words) => {
                out.write_str(" words")?;
                words.iter().try_for_each(|word| write!(out, " {word:#x}"))?;
            }
            AttributeValue::Bytes(bytes) => {
                out.write_str(" bytes")?;
                bytes.iter().try_for_each(|byte| write!(out, " {byte:#x}"))?;
            }
            AttributeValue::Symbols(names) => {
                out.write_str(" symbols")?;
                names.iter().try_for_each(|name| write!(out, " {name}"))?;
            }
            AttributeValue::Of(name, word) => write!(out, " of {name} {word:#x}")?,
            AttributeValue::Parameter(number, word) => write!(out, " parameter {number:#x} {word:#x}")?,
        }
    }
    if list.is_empty() { Ok(()) } else { out.write_char('\n') }
}

pub(super) fn write_mark(mark: &Mark, out: &mut impl fmt::Write) -> fmt::Result {
    write!(out, "{MARK} {:#04x}", mark.code)?;
    mark.words.iter().try_for_each(|word| write!(out, " {word:#x}"))?;
    out.write_char('\n')
}

/// Reads a list of attributes.
pub(super) fn list(text: &str) -> Result<Vec<Attribute>, String> {
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    let read =
        |item: &str| one(item).ok_or_else(|| format!("`{item}` is not an attribute such as `0x6b half 0x1`"));
    items.map(read).collect()
}

fn one(text: &str) -> Option<Attribute> {
    let mut words = text.split_whitespace();
    let code = number(words.next()?)?.try_into().ok()?;
    let form = words.next()?;
    let rest: Vec<&str> = words.collect();
    let numbers = || rest.iter().map(|word| number(word)).collect::<Option<Vec<u32>>>();
    let name = |name: &str| is_name(name).then(|| name.to_string());
    let value = match (form, &rest[..]) {
        ("absent", []) => AttributeValue::Absent,
        ("none", []) => AttributeValue::None,
        ("byte", [byte]) => AttributeValue::Byte(number(byte)?.try_into().ok()?),
        ("half", [half]) => AttributeValue::Half(number(half)?.try_into().ok()?),
        ("words", _) => AttributeValue::Words(numbers()?),
        ("bytes", _) => {
            let bytes: Result<_, _> = numbers()?.into_iter().map(u8::try_from).collect();
            AttributeValue::Bytes(bytes.ok()?)
        }
        ("symbols", names) => {
            AttributeValue::Symbols(names.iter().map(|one| name(one)).collect::<Option<_>>()?)
        }
        ("of", [symbol, word]) => AttributeValue::Of(name(symbol)?, number(word)?),
        ("parameter", [ordinal, word]) => AttributeValue::Parameter(number(ordinal)?, number(word)?),
        _ => return None,
    };
    Some(Attribute { code, value })
}

/// Reads a mark of the instruction with an index: its code, and the words after the place.
pub(super) fn mark(text: &str, inst: u32) -> Result<Mark, String> {
    let numbers: Option<Vec<u32>> = text.split_whitespace().map(number).collect();
    let mark = numbers.and_then(|numbers| {
        let (&code, words) = numbers.split_first()?;
        Some(Mark { code: code.try_into().ok()?, inst, words: words.to_vec() })
    });
    mark.ok_or_else(|| "a mark is the code of an attribute and words, such as `.mark 0x44 0xfff`".to_string())
}

fn number(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_back() {
        let text = "0x53 none, 0x6d byte 0x0, 0x6b half 0x101, 0x66 words 0x3 0xffffffff, 0x70 bytes 0x1, \
                    0x0f symbols vprintf $f.g, 0x11 of k 0x8, 0x17 parameter 0x1 0x1f400, 0x35 absent";
        let read = list(text).unwrap();
        assert_eq!(read.len(), 9);
        let mut out = String::new();
        write_list(OF_KERNEL, &read, &mut out).unwrap();
        assert_eq!(out, format!(".attributes {text}\n"));
        for wrong in ["0x53", "0x153 none", "0x53 byte", "0x53 byte 0x100", "0x53 of a,b 0x1", "53 none"] {
            assert!(list(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn marks_read_back() {
        let read = mark("0x44 0xfff", 7).unwrap();
        assert_eq!(read, Mark { code: 0x44, inst: 7, words: vec![0xfff] });
        let mut out = String::new();
        write_mark(&read, &mut out).unwrap();
        assert_eq!(out, ".mark 0x44 0xfff\n");
        assert!(mark("", 0).is_err() && mark("0x44 k", 0).is_err());
    }
}
