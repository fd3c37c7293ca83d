//! The functions of a cubin.
//!
//! In: the bytes of a cubin. Out: its functions, each with its code. Only the code, its sections
//! and symbols are read, so code can be shown even if the rest is malformed or has an unknown
//! layout; `ptxc_object::cubin::read` is for files that are run or written again. A section
//! `.text.K` holds a kernel and copies of functions that it calls. Symbols give the start of each
//! function; a function ends where the next one starts. Linear in the file, except for sorting the
//! symbols of code.

use std::borrow::Cow;

use object::LittleEndian as LE;
use object::elf::{EM_CUDA, FileHeader64, SHT_NOBITS, SHT_SYMTAB, STT_FUNC};
use object::read::elf::{FileHeader, SectionHeader, Sym};
use ptxc_machine::Arch;
use ptxc_sass::program::Program;
use rustc_hash::FxHashMap;

use crate::error::ContainerError;
use crate::image::{Function, Image, MAX_NAME};

type Header = FileHeader64<LE>;

/// The first interface with the architecture's number in bits 8 to 15 of the flags; the earlier one
/// has it in bits 0 to 7. The version of the interface does not tell: it is 2 in both for code
/// without a stack.
const NEW_OS_ABI: u8 = 0x41;

/// Whether the bytes start like a cubin.
pub(crate) fn is_cubin(bytes: &[u8]) -> bool {
    Header::parse(bytes).is_ok_and(|header| header.is_little_endian() && header.e_machine(LE) == EM_CUDA)
}

/// A section of code.
struct Section<'a> {
    name: &'a str,
    code: &'a [u8],
    /// The starts of functions, and their names.
    starts: Vec<(u32, &'a str)>,
}

fn malformed(what: impl std::fmt::Display) -> ContainerError {
    ContainerError::Malformed(what.to_string())
}

fn name(bytes: object::read::Result<&[u8]>) -> Result<&str, ContainerError> {
    let bytes = bytes.map_err(malformed)?;
    if bytes.len() > MAX_NAME {
        return Err(malformed(format!("a name has {} bytes", bytes.len())));
    }
    std::str::from_utf8(bytes).map_err(|_| malformed("a name is not UTF-8"))
}

/// The functions of a cubin.
pub(crate) fn image(bytes: &[u8]) -> Result<Image<'_>, ContainerError> {
    let header = Header::parse(bytes).map_err(malformed)?;
    let flags = header.e_flags(LE);
    let number = if header.e_ident.os_abi >= NEW_OS_ABI { flags >> 8 & 0xff } else { flags & 0xff };
    let arch = Arch::of_number(number);
    let arch = arch.ok_or(ContainerError::Arch(number))?;
    let table = header.sections(LE, bytes).map_err(malformed)?;

    let mut sections: Vec<(usize, Section<'_>)> = Vec::new();
    let mut ranges = Vec::new();
    for (index, section) in table.enumerate() {
        if section.sh_type(LE) == SHT_NOBITS {
            continue;
        }
        let Some(name) = name(table.section_name(LE, section))?.strip_prefix(".text.") else { continue };
        let code = section.data(LE, bytes).map_err(|_| ContainerError::Truncated("a section of code"))?;
        if u32::try_from(code.len()).is_err() {
            return Err(malformed(format!("`{name}` has more code than there are addresses")));
        }
        ranges.push((section.sh_offset(LE), section.sh_size(LE)));
        sections.push((index.0, Section { name, code, starts: Vec::new() }));
    }
    ranges.sort_unstable();
    let overlap = |pair: &[(u64, u64)]| pair[0].1 > 0 && pair[0].0.saturating_add(pair[0].1) > pair[1].0;
    if ranges.windows(2).any(overlap) {
        return Err(ContainerError::Overlapping("sections of code"));
    }

    let by_index: FxHashMap<usize, usize> =
        sections.iter().enumerate().map(|(position, &(index, _))| (index, position)).collect();
    let symbols = table.symbols(LE, bytes, SHT_SYMTAB).map_err(malformed)?;
    for (index, symbol) in symbols.enumerate() {
        if symbol.st_type() != STT_FUNC {
            continue;
        }
        // The index of a section that does not fit into 16 bits is in a separate table.
        let section = symbols.symbol_section(LE, symbol, index).map_err(malformed)?;
        let Some(&position) = section.and_then(|section| by_index.get(&section.0)) else { continue };
        let section = &mut sections[position].1;
        let name = name(symbols.symbol_name(LE, symbol))?;
        let start = symbol.st_value(LE);
        if start >= section.code.len() as u64 || start % u64::from(Program::INST_BYTES) != 0 {
            return Err(malformed(format!("the function `{name}` does not begin at an instruction")));
        }
        section.starts.push((start as u32, name));
    }

    let mut functions = Vec::new();
    for (_, mut section) in sections {
        if section.code.len() % Program::INST_BYTES as usize != 0 {
            return Err(malformed(format!("the code of `{}` ends inside of an instruction", section.name)));
        }
        // If one place has several names, the section's own name is shown.
        section.starts.sort_by_key(|&(start, name)| (start, name != section.name));
        section.starts.dedup_by_key(|&mut (start, _)| start);
        if section.starts.first().is_none_or(|&(start, _)| start != 0) {
            section.starts.insert(0, (0, section.name));
        }
        let ends = section.starts.iter().skip(1).map(|&(start, _)| start as usize);
        let ends = ends.chain([section.code.len()]);
        functions.extend(section.starts.iter().zip(ends).map(|(&(start, name), end)| Function {
            name: Cow::Borrowed(name),
            start,
            code: Cow::Borrowed(&section.code[start as usize..end]),
        }));
    }
    Ok(Image { arch: Some(arch), functions, cubin: bytes })
}
