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
//! Content is written as little-endian words, or as bytes if there are fewer than four. Cost:
//! linear in the text.

use std::fmt;

use crate::variable::{Pointer, Section, Variable};

/// Bytes of content on a line.
const LINE: usize = 16;

/// Writes the sections of variables that are in ascending order, as
/// [`union`](crate::variable::union) leaves them.
///
/// # Errors
/// If the writer fails.
pub fn write_variables(variables: &[&Variable], out: &mut impl fmt::Write) -> fmt::Result {
    let split = variables.partition_point(|variable| variable.section == Section::Constant);
    let (constants, globals) = variables.split_at(split);
    if !constants.is_empty() {
        writeln!(out, "{:<48}// constant bank 3", ".nv.constant3:")?;
        for variable in constants {
            writeln!(out, "        .align {}", variable.align)?;
            write!(out, "/*{:04x}*/  ", variable.place)?;
            content(variable, 38, out)?;
        }
    }
    if !globals.is_empty() {
        writeln!(out, "{:<48}// constant bank 4: addresses of global variables", ".nv.constant4:")?;
        for variable in globals {
            writeln!(out, "/*{:04x}*/  .dword {}", variable.place, variable.name)?;
        }
        writeln!(out, "{:<48}// global memory", ".nv.global:")?;
        for variable in globals {
            writeln!(out, "        .align {}", variable.align)?;
            content(variable, 48, out)?;
        }
    }
    Ok(())
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
        write_variables(&union_of(&[list, table]), &mut out).unwrap();
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
