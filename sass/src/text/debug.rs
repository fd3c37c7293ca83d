//! Debug sections that ptxc does not interpret, as text.
//!
//! ```text
//! .debug_section .nv_debug_line_sass
//! .reloc 0x20 2 k 0
//! .byte 0x43, 0x00, 0x00, 0x00
//! ```
//!
//! A line `.reloc` has the offset of an address that a loader or debugger fills in, its kind, the
//! symbol (`-` if there is none) and the number that is added. A line `.zero` has the number of
//! zeros that are not in the file.

use std::fmt;

use super::symbol::is_name;
use crate::kept::{DebugSection, KeptRelocation};

/// The directive that begins such a section.
pub(super) const SECTION: &str = ".debug_section";

/// Stands for the symbol of a relocation that has none.
const NO_SYMBOL: &str = "-";

/// The symbol of a relocation as text.
pub(super) fn shown(symbol: &str) -> &str {
    if symbol.is_empty() { NO_SYMBOL } else { symbol }
}

/// The bytes of a line.
const BYTES_A_LINE: usize = 16;

/// Writes debug sections.
///
/// # Errors
/// If the writer fails.
pub fn write_debug(sections: &[DebugSection], out: &mut impl fmt::Write) -> fmt::Result {
    for DebugSection { name, bytes, zeros, relocations } in sections {
        writeln!(out, "{SECTION} {name}")?;
        for KeptRelocation { at, kind, symbol, addend } in relocations {
            writeln!(out, ".reloc {at:#x} {kind} {} {addend}", shown(symbol))?;
        }
        for bytes in bytes.chunks(BYTES_A_LINE) {
            out.write_str(".byte ")?;
            for (index, byte) in bytes.iter().enumerate() {
                write!(out, "{}{byte:#04x}", if index == 0 { "" } else { ", " })?;
            }
            out.write_str("\n")?;
        }
        if *zeros > 0 {
            writeln!(out, ".zero {zeros}")?;
        }
    }
    Ok(())
}

/// The empty section that a line begins, if it does.
pub(super) fn begin(code: &str) -> Option<DebugSection> {
    let name = code.strip_prefix(SECTION)?.strip_prefix([' ', '\t'])?.trim();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    ([".nv_debug", ".debug_"].iter().any(|start| name.starts_with(start)) && name.bytes().all(is_plain)).then(
        || DebugSection { name: name.to_string(), bytes: Vec::new(), zeros: 0, relocations: Vec::new() },
    )
}

/// Reads a line of a section. `None` if it is neither bytes nor a relocation.
pub(super) fn line(code: &str, section: &mut DebugSection) -> Option<()> {
    if let Some(list) = code.strip_prefix(".byte") {
        for byte in list.split(',') {
            section.bytes.push(u8::from_str_radix(byte.trim().strip_prefix("0x")?, 16).ok()?);
        }
        return Some(());
    }
    if let Some(zeros) = code.strip_prefix(".zero") {
        section.zeros = zeros.trim().parse().ok()?;
        return Some(());
    }
    let (at, rest) = code.strip_prefix(".reloc")?.trim_start().split_once(char::is_whitespace)?;
    let at = u64::from_str_radix(at.strip_prefix("0x")?, 16).ok()?;
    section.relocations.push(relocation(rest, at)?);
    Some(())
}

/// Reads the kind, the symbol and the addend of a relocation at a place.
pub(super) fn relocation(text: &str, at: u64) -> Option<KeptRelocation> {
    let mut words = text.split_whitespace();
    let kind = words.next()?.parse().ok()?;
    let symbol = words.next().filter(|name| is_name(name) || *name == NO_SYMBOL)?;
    let symbol = if symbol == NO_SYMBOL { String::new() } else { symbol.to_string() };
    let addend = words.next()?.parse().ok()?;
    words.next().is_none().then_some(KeptRelocation { at, kind, symbol, addend })
}
