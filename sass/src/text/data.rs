//! The variables of a module as text.
//!
//! ```text
//! .nv.constant3:                                  // constant bank 3
//!         .align 4
//! /*0010*/  weight:                               // 100 bytes
//!         .word 0x3f800000, 0x40800000, 0x40c00000, 0x40800000
//!         .zero 84
//! .nv.constant4:                                  // constant bank 4: addresses of global variables
//! /*0000*/  .dword counter
//! .nv.global:                                     // global memory
//!         .align 4
//! counter:                                        // 4 bytes
//!         .zero 4
//!         .align 8
//! list:                                           // 16 bytes
//!         .dword generic(counter)+0x8
//!         .zero 8
//! ```
//!
//! A variable of a file keeps its place there: `.nv.global.init:` begins the variables of global
//! memory with content and `.nv.global:` those without, and an offset precedes the name. `.local
//! NAME` and `.weak NAME` say how other files see it. Constant bank 4 may hold other addresses, such
//! as that of a function of another file, and lack that of a variable which no code names.
//!
//! Content is written as little-endian words, or as bytes if there are fewer than four. Cost:
//! linear in the text.

use std::fmt;

use super::debug::shown;
use crate::kept::{Binding, Home, Kept, KeptRelocation};
use crate::variable::{Pointer, Section, Variable};

/// Bytes of content on a line.
const LINE: usize = 16;

/// Writes the sections of variables that are in ascending order, as
/// [`union`](crate::variable::union) leaves them.
///
/// # Errors
/// If the writer fails.
pub fn write_variables(variables: &[&Variable], kept: &Kept, out: &mut impl fmt::Write) -> fmt::Result {
    let home = |variable: &Variable| kept.homes.get(&variable.name).copied();
    let split = variables.partition_point(|variable| variable.section == Section::Constant);
    let (constants, globals) = variables.split_at(split);
    if !constants.is_empty() {
        writeln!(out, "{:<48}// constant bank 3", ".nv.constant3:")?;
        for variable in constants {
            at_home(variable, u64::from(variable.place), home(variable), out)?;
        }
    }
    addresses(globals, kept, out)?;
    let split = globals.partition_point(|variable| variable.section == Section::Global);
    let globals = &globals[..split];
    let (placed, loose): (Vec<&Variable>, Vec<&Variable>) =
        globals.iter().partition(|variable| home(variable).is_some_and(|home| home.offset.is_some()));
    if !loose.is_empty() {
        writeln!(out, "{:<48}// global memory", ".nv.global:")?;
        for variable in loose {
            writeln!(out, "        .align {}", variable.align)?;
            content(variable, 48, out)?;
        }
    }
    let mut placed: Vec<(&Variable, Home)> =
        placed.into_iter().filter_map(|variable| Some((variable, home(variable)?))).collect();
    placed.sort_by_key(|(_, home)| (!home.has_content, home.offset));
    let mut section = None;
    for (variable, home) in placed {
        if section != Some(home.has_content) {
            section = Some(home.has_content);
            let name = if home.has_content { ".nv.global.init:" } else { ".nv.global:" };
            writeln!(out, "{name:<48}// global memory")?;
        }
        at_home(variable, home.offset.unwrap_or(0), Some(home), out)?;
    }
    Ok(())
}

/// The addresses in constant bank 4.
fn addresses(globals: &[&Variable], kept: &Kept, out: &mut impl fmt::Write) -> fmt::Result {
    let has_address =
        |variable: &&&Variable| kept.homes.get(&variable.name).is_none_or(|home| home.has_address);
    let mut list: Vec<(u64, String)> = globals
        .iter()
        .filter(has_address)
        .map(|variable| (u64::from(variable.place), format!(".dword {}", variable.name)))
        .collect();
    list.extend(kept.addresses.iter().map(|one| {
        let KeptRelocation { at, kind, symbol, addend } = one;
        let text = if one.is_whole() {
            format!(".dword {symbol}")
        } else {
            format!(".reloc {kind} {} {addend}", shown(symbol))
        };
        (*at, text)
    }));
    list.sort();
    if !list.is_empty() {
        writeln!(out, "{:<48}// constant bank 4: addresses of global variables", ".nv.constant4:")?;
    }
    list.iter().try_for_each(|(at, text)| writeln!(out, "/*{at:04x}*/  {text}"))
}

/// A variable at its offset in a section.
fn at_home(variable: &Variable, offset: u64, home: Option<Home>, out: &mut impl fmt::Write) -> fmt::Result {
    writeln!(out, "        .align {}", variable.align)?;
    match home.map(|home| home.binding) {
        Some(Binding::Local) => writeln!(out, "        .local {}", variable.name)?,
        Some(Binding::Weak) => writeln!(out, "        .weak {}", variable.name)?,
        Some(Binding::Global) | None => {}
    }
    write!(out, "/*{offset:04x}*/  ")?;
    content(variable, 38, out)
}

/// A variable's name, size and content.
fn content(variable: &Variable, column: usize, out: &mut impl fmt::Write) -> fmt::Result {
    let label = format!("{}:", variable.name);
    let size = variable.size;
    let unit = if size == 1 { "byte" } else { "bytes" };
    writeln!(out, "{label:<column$}// {size} {unit}")?;
    let mut at = 0;
    for pointer in &variable.pointers {
        bytes(variable, at, pointer.at.into(), out)?;
        self::pointer(pointer, out)?;
        at = u64::from(pointer.at) + u64::from(pointer.bytes);
    }
    bytes(variable, at, variable.size, out)
}

/// The content between two offsets with no pointer between them.
fn bytes(variable: &Variable, start: u64, end: u64, out: &mut impl fmt::Write) -> fmt::Result {
    let known = variable.bytes.len().clamp(start as usize, end as usize);
    let slice = variable.bytes.get(start as usize..known).unwrap_or(&[]);
    // Zeros at the end are written as a number of bytes; the content before them as whole words if
    // possible.
    let mut slice = slice.to_vec();
    let used = slice.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let used = used.next_multiple_of(4).min(end as usize - start as usize);
    slice.resize(used, 0);
    for line in slice.chunks(LINE) {
        let (words, rest) = line.as_chunks::<4>();
        list(".word", words.iter().map(|&word| u32::from_le_bytes(word)), 10, out)?;
        list(".byte", rest.iter().map(|&byte| byte.into()), 4, out)?;
    }
    let zeros = end as usize - start as usize - used;
    if zeros > 0 { writeln!(out, "        .zero {zeros}") } else { Ok(()) }
}

/// A line of numbers; nothing if there are none.
fn list(
    directive: &str,
    numbers: impl Iterator<Item = u32>,
    width: usize,
    out: &mut impl fmt::Write,
) -> fmt::Result {
    let mut separator = format!("        {directive} ");
    let mut any = false;
    for number in numbers {
        write!(out, "{separator}{number:#0width$x}")?;
        separator = ", ".to_string();
        any = true;
    }
    if any { writeln!(out) } else { Ok(()) }
}

fn pointer(pointer: &Pointer, out: &mut impl fmt::Write) -> fmt::Result {
    let directive = match pointer.bytes {
        8 => ".dword",
        4 => ".word",
        _ => ".byte",
    };
    let target = &pointer.target;
    let mut text = if pointer.generic { format!("generic({target})") } else { target.clone() };
    if pointer.addend != 0 {
        let sign = if pointer.addend < 0 { '-' } else { '+' };
        text = format!("{text}{sign}{:#x}", pointer.addend.unsigned_abs());
    }
    if pointer.bytes == 1 {
        text = format!("({text}) >> {} & 0xff", pointer.shift);
    }
    writeln!(out, "        {directive} {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(section: Section, name: &str, size: u64, bytes: &[u8]) -> Variable {
        let (name, bytes) = (name.to_string(), bytes.to_vec());
        Variable { section, place: 8, name, size, align: 4, bytes, pointers: Vec::new() }
    }

    #[test]
    fn words_bytes_zeros_and_pointers() {
        let to = |at, bytes, shift, addend| Pointer {
            at,
            bytes,
            shift,
            target: "other".into(),
            generic: bytes == 8,
            addend,
        };
        let mut list =
            variable(Section::Global, "list", 24, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        list.pointers = vec![to(4, 8, 0, -4), to(18, 1, 8, 0)];
        let table = variable(Section::Constant, "table", 7, &[1, 2, 3, 4, 5, 6, 7]);
        let mut out = String::new();
        write_variables(&union_of(&[list, table]), &Kept::default(), &mut out).unwrap();
        let lines: Vec<_> = out.lines().map(|line| line.split("//").next().unwrap().trim()).collect();
        let expected = [
            ".nv.constant3:",
            ".align 4",
            "/*0008*/  table:",
            ".word 0x04030201",
            ".byte 0x05, 0x06, 0x07",
            ".nv.constant4:",
            "/*0008*/  .dword list",
            ".nv.global:",
            ".align 4",
            "list:",
            ".word 0x00000001",
            ".dword generic(other)-0x4",
            ".word 0x00000000",
            ".byte 0x02, 0x00",
            ".byte (other) >> 8 & 0xff",
            ".zero 5",
        ];
        assert_eq!(lines, expected);
    }

    fn union_of(variables: &[Variable]) -> Vec<&Variable> {
        crate::variable::union([variables])
    }
}
