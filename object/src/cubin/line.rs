//! The line table: `.debug_line` according to DWARF 3, written and read by `gimli`.
//!
//! In: the source lines of each kernel. Out: one line program with a sequence for each kernel, and
//! a relocation for the address at the start of each sequence. The reader loads each kernel at a
//! separate address. Columns are dropped, as by NVIDIA's compiler.

use gimli::write::{
    Address, DebugLine, DebugLineStrOffsets, DebugStrOffsets, EndianVec, LineProgram, LineString, Writer,
};
use gimli::{Encoding, EndianSlice, Format, LineEncoding, LittleEndian};
use ptxc_sass::kept::{DebugSection, KeptRelocation};
use rustc_hash::FxHashMap;

use super::contents::{Cubin, Function, Line};
use super::error::CubinError;

/// The lines of a kernel.
pub(super) struct Lines<'a> {
    /// Its number, which identifies its symbol.
    pub(super) kernel: usize,
    /// Bytes of its code.
    pub(super) size: u64,
    pub(super) lines: &'a [Line],
}

/// A buffer that records the places of kernel addresses.
#[derive(Clone)]
struct Noting {
    bytes: EndianVec<LittleEndian>,
    addresses: Vec<(u64, usize)>,
}

impl Writer for Noting {
    type Endian = LittleEndian;

    fn endian(&self) -> LittleEndian {
        LittleEndian
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn write(&mut self, bytes: &[u8]) -> gimli::write::Result<()> {
        self.bytes.write(bytes)
    }

    fn write_at(&mut self, offset: usize, bytes: &[u8]) -> gimli::write::Result<()> {
        self.bytes.write_at(offset, bytes)
    }

    fn write_address(&mut self, address: Address, size: u8) -> gimli::write::Result<()> {
        match address {
            Address::Constant(value) => self.write_udata(value, size),
            Address::Symbol { symbol, .. } => {
                self.addresses.push((self.bytes.len() as u64, symbol));
                self.write_udata(0, size)
            }
        }
    }
}

/// A section, and the places of the kernels' addresses in it, with the kernels' numbers.
pub(super) type Section = (Vec<u8>, Vec<(u64, usize)>);

/// Writes the section. A file without a name is written as `?`.
///
/// # Errors
/// A table that the format cannot hold.
pub(super) fn write(files: &[String], kernels: &[Lines<'_>]) -> Result<Section, CubinError> {
    let encoding = Encoding { format: Format::Dwarf32, version: 3, address_size: 8 };
    let line_encoding = LineEncoding {
        minimum_instruction_length: 1,
        maximum_operations_per_instruction: 1,
        default_is_stmt: true,
        line_base: -5,
        line_range: 14,
    };
    let folder = LineString::String(b".".to_vec());
    let mut program = LineProgram::new(encoding, line_encoding, folder.clone(), None, folder, None);
    let folder = program.default_directory();
    let numbers: Vec<_> = files
        .iter()
        .map(|name| {
            let bytes: Vec<u8> = name.bytes().filter(|&byte| byte != 0).collect();
            let bytes = if bytes.is_empty() { b"?".to_vec() } else { bytes };
            program.add_file(LineString::String(bytes), folder, None)
        })
        .collect();
    for kernel in kernels {
        program.begin_sequence(Some(Address::Symbol { symbol: kernel.kernel, addend: 0 }));
        let mut after = 0;
        for line in kernel.lines {
            let Some(&file) = numbers.get(line.file as usize) else { continue };
            if line.offset < after || u64::from(line.offset) >= kernel.size {
                return Err(CubinError::malformed("lines out of order, or beyond the code"));
            }
            after = line.offset;
            let row = program.row();
            row.address_offset = u64::from(line.offset);
            row.file = file;
            row.line = u64::from(line.line);
            program.generate_row();
        }
        program.end_sequence(kernel.size);
    }
    let mut section = DebugLine(Noting { bytes: EndianVec::new(LittleEndian), addresses: Vec::new() });
    program
        .write(&mut section, encoding, &DebugLineStrOffsets::none(), &DebugStrOffsets::none())
        .map_err(|error| CubinError::Unsupported(format!("this line table ({error})")))?;
    let Noting { bytes, addresses } = section.0;
    Ok((bytes.into_vec(), addresses))
}

/// The content of a line table.
#[derive(Default)]
pub(super) struct Table {
    pub(super) files: Vec<String>,
    /// The lines of functions, by their numbers.
    pub(super) lines: Vec<(usize, Line)>,
}

/// A place in the section with the address of code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// The place.
    pub(super) at: u64,
    /// The number of the function.
    pub(super) function: usize,
    /// The distance of the address from the start of the function, in bytes.
    pub(super) offset: u32,
}

/// The lines of the functions that have any.
pub(super) fn of_functions(functions: &[Function]) -> Vec<Lines<'_>> {
    let with_lines = functions.iter().enumerate().filter(|(_, function)| !function.lines.is_empty());
    with_lines
        .map(|(kernel, function)| Lines { kernel, size: function.code.len() as u64, lines: &function.lines })
        .collect()
}

/// Whether a line table that is kept says the same as the lines of the functions, so that it still
/// describes the code.
pub(super) fn agrees(section: &DebugSection, cubin: &Cubin) -> bool {
    let numbers: FxHashMap<&str, usize> =
        cubin.functions.iter().enumerate().map(|(number, function)| (&*function.name, number)).collect();
    let start = |one: &KeptRelocation| {
        let function = *numbers.get(one.symbol.as_str())?;
        Some(Start { at: one.at, function, offset: u32::try_from(one.addend).ok()? })
    };
    let starts: Vec<Start> = section.relocations.iter().filter_map(start).collect();
    let Ok(table) = read(&section.bytes, &starts) else { return false };
    let mut theirs: Vec<(usize, u32, &str, u32)> = table
        .lines
        .iter()
        .filter_map(|(function, line)| {
            Some((*function, line.offset, &**table.files.get(line.file as usize)?, line.line))
        })
        .collect();
    theirs.sort_by_key(|&(function, offset, ..)| (function, offset));
    let own = cubin.functions.iter().enumerate().flat_map(|(number, function)| {
        let lines = function.lines.iter();
        lines.filter_map(move |line| {
            Some((number, line.offset, &**cubin.files.get(line.file as usize)?, line.line))
        })
    });
    theirs.into_iter().eq(own)
}

/// The bits of a code offset, below the number of its function.
const OFFSET_BITS: u32 = 32;

/// Reads a section. `starts` lists the places of addresses in it, each with its function. Each
/// function is loaded at a separate address, so that a row's address identifies its function. Rows
/// of no function are dropped.
///
/// # Errors
/// A malformed line table, and relocations outside of it.
pub(super) fn read(section: &[u8], starts: &[Start]) -> Result<Table, CubinError> {
    let wrong = |error: gimli::Error| CubinError::malformed(format!(".debug_line: {error}"));
    let mut section = section.to_vec();
    for &Start { at, function, offset } in starts {
        let place = usize::try_from(at).ok().and_then(|at| section.get_mut(at..)?.first_chunk_mut::<8>());
        let place = place.ok_or_else(|| CubinError::malformed("a relocation lies outside of .debug_line"))?;
        *place = ((function as u64 + 1) << OFFSET_BITS | u64::from(offset)).to_le_bytes();
    }
    let mut table = Table::default();
    let mut numbers: FxHashMap<Vec<u8>, u32> = FxHashMap::default();
    let data = gimli::DebugLine::new(&section, LittleEndian);
    let mut offset = 0;
    // Every file may name the same long folder.
    let mut budget = section.len().saturating_mul(4).saturating_add(1 << 16);
    while offset < section.len() {
        let program = data.program(gimli::DebugLineOffset(offset), 8, None, None).map_err(wrong)?;
        let header = program.header();
        let unit = header.unit_length().saturating_add(4);
        offset = offset.saturating_add(unit);
        let mut files = Vec::new();
        for file in header.file_names() {
            let name = name_of(header, file);
            budget = budget.checked_sub(name.len()).ok_or(CubinError::Overlapping)?;
            let next = table.files.len() as u32;
            let number = *numbers.entry(name.clone()).or_insert(next);
            if number == next {
                table.files.push(String::from_utf8_lossy(&name).into_owned());
            }
            files.push(number);
        }
        let mut rows = program.rows();
        while let Some((_, row)) = rows.next_row().map_err(wrong)? {
            let file = usize::try_from(row.file_index()).ok().and_then(|one| files.get(one.checked_sub(1)?));
            let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
            let function =
                usize::try_from(row.address() >> OFFSET_BITS).ok().and_then(|one| one.checked_sub(1));
            let (Some(&file), Some(line), Some(function)) = (file, line, function) else { continue };
            if !row.end_sequence() {
                table.lines.push((function, Line { offset: row.address() as u32, file, line }));
            }
        }
    }
    Ok(table)
}

type LineHeader<'a> = gimli::LineProgramHeader<EndianSlice<'a, LittleEndian>>;
type LineFile<'a> = gimli::FileEntry<EndianSlice<'a, LittleEndian>>;

/// The path of a file, with its folder.
fn name_of(header: &LineHeader<'_>, file: &LineFile<'_>) -> Vec<u8> {
    let string = |value: gimli::AttributeValue<EndianSlice<'_, LittleEndian>>| match value {
        gimli::AttributeValue::String(text) => text.slice().to_vec(),
        _ => Vec::new(),
    };
    let name = string(file.path_name());
    if file.directory_index() == 0 || name.starts_with(b"/") {
        return name;
    }
    let mut path = file.directory(header).map(string).unwrap_or_default();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend(name);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_tables_read_back() {
        let files = ["k.cu".to_string(), "dir/h.cuh".to_string()];
        let line = |offset, file, line| Line { offset, file, line };
        let first = [line(0, 0, 3), line(16, 1, 700), line(0x1230, 0, 2)];
        let second = [line(16, 1, 1)];
        let kernels = [
            Lines { kernel: 5, size: 0x2000, lines: &first },
            Lines { kernel: 2, size: 128, lines: &second },
        ];
        let (bytes, addresses) = write(&files, &kernels).unwrap();
        assert_eq!(addresses.iter().map(|(_, kernel)| *kernel).collect::<Vec<_>>(), [5, 2]);
        let start = |at, function| Start { at, function, offset: 0 };
        let starts: Vec<Start> = addresses.iter().map(|&(at, kernel)| start(at, kernel)).collect();
        let table = read(&bytes, &starts).unwrap();
        assert_eq!(table.files, files);
        let of = |kernel| table.lines.iter().filter(move |(own, _)| *own == kernel).map(|(_, line)| *line);
        assert_eq!(of(5).collect::<Vec<_>>(), first);
        assert_eq!(of(2).collect::<Vec<_>>(), second);
        assert!(read(&bytes, &[]).unwrap().lines.is_empty());
        assert!(read(&bytes, &[start(bytes.len() as u64 - 7, 0)]).is_err());
        assert!(read(&bytes[..bytes.len() - 3], &starts).is_err());
    }
}
