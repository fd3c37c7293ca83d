//! An ELF file as a list of sections and symbols, written by `object`.
//!
//! In: sections in their final order, symbols, and the segment of each section. Out: bytes. While
//! the file is built, ids name sections and symbols. A relocation or a link gets the index of its
//! target at the end, when local symbols precede global ones, as ELF requires. Nothing depends on
//! addresses or the order of a map, so the same input gives the same bytes.

use std::ops::Range;

use object::Endianness;
use object::elf as abi;
use object::write::elf::{FileHeader, ProgramHeader, Rel, SectionHeader, SectionIndex, Sym, Writer};

use rustc_hash::FxHashMap;

use super::error::CubinError;
use super::relocation::RelocationKind;

/// A section, by its index in `Elf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SectionId(pub(super) usize);

/// A symbol, by its index among the local or the global symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SymbolId {
    /// None.
    Null,
    Local(u32),
    Global(u32),
}

/// The value of `sh_info` or `sh_link`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reference {
    #[default]
    Nothing,
    /// The symbol table.
    Symbols,
    Section(SectionId),
    /// A symbol's index in the low 24 bits, and 8 more bits.
    Symbol(SymbolId, u8),
}

/// An entry of a relocation section.
pub(super) struct Entry {
    pub(super) at: u64,
    pub(super) symbol: SymbolId,
    pub(super) kind: RelocationKind,
    pub(super) addend: i64,
}

/// The content of a section.
pub(super) enum Data {
    Bytes(Vec<u8>),
    /// That many zeros, which are not in the file.
    Zeros(u64),
    Relocations(Vec<Entry>),
}

impl Data {
    fn len(&self) -> u64 {
        match self {
            Data::Bytes(bytes) => bytes.len() as u64,
            Data::Zeros(size) => *size,
            Data::Relocations(entries) => entries.len() as u64 * RELA_BYTES,
        }
    }
}

const RELA_BYTES: u64 = 24;

/// The part of memory that a section belongs to; each part is a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    None,
    Constants,
    Code,
    Writable,
    Banks,
}

/// A section.
pub(super) struct Section {
    pub(super) name: String,
    pub(super) kind: u32,
    pub(super) flags: u64,
    pub(super) link: Reference,
    pub(super) info: Reference,
    pub(super) align: u64,
    pub(super) entry_size: u64,
    pub(super) segment: Segment,
    pub(super) data: Data,
    /// Words of the data that are indices of symbols.
    pub(super) symbols: Vec<(usize, SymbolId)>,
    /// The places in the data that hold the place of a text in the table of names.
    pub(super) texts: Vec<(usize, String)>,
}

impl Section {
    pub(super) fn new(name: impl Into<String>, kind: u32, flags: u64, align: u64) -> Section {
        Section {
            name: name.into(),
            kind,
            flags,
            link: Reference::Nothing,
            info: Reference::Nothing,
            align,
            entry_size: 0,
            segment: Segment::None,
            data: Data::Bytes(Vec::new()),
            symbols: Vec::new(),
            texts: Vec::new(),
        }
    }
}

/// A symbol.
pub(super) struct Symbol {
    pub(super) name: String,
    pub(super) kind: u8,
    pub(super) other: u8,
    pub(super) section: Option<SectionId>,
    pub(super) value: u64,
    pub(super) size: u64,
}

/// The fields of the header that the caller decides.
pub(super) struct Header {
    pub(super) os_abi: u8,
    pub(super) abi_version: u8,
    pub(super) version: u32,
    pub(super) flags: u32,
    /// Whether a linker completes the file; then it has no segments.
    pub(super) relocatable: bool,
}

/// A file under construction.
#[derive(Default)]
pub(super) struct Elf {
    pub(super) sections: Vec<Section>,
    locals: Vec<Symbol>,
    globals: Vec<Symbol>,
}

/// The sections before those in `Elf`: the null section and the tables of names and symbols.
const FIRST_SECTION: usize = 4;
/// The byte offset of `e_version` in the file.
const VERSION_AT: usize = 20;

impl Elf {
    /// Adds a section after the others.
    pub(super) fn section(&mut self, section: Section) -> SectionId {
        self.sections.push(section);
        SectionId(self.sections.len() - 1)
    }

    pub(super) fn local(&mut self, symbol: Symbol) -> SymbolId {
        self.locals.push(symbol);
        SymbolId::Local(self.locals.len() as u32 - 1)
    }

    pub(super) fn global(&mut self, symbol: Symbol) -> SymbolId {
        self.globals.push(symbol);
        SymbolId::Global(self.globals.len() as u32 - 1)
    }

    fn symbol_index(&self, id: SymbolId) -> u32 {
        match id {
            SymbolId::Null => 0,
            SymbolId::Local(number) => 1 + number,
            SymbolId::Global(number) => 1 + self.locals.len() as u32 + number,
        }
    }

    fn reference(&self, reference: Reference) -> u32 {
        match reference {
            Reference::Nothing => 0,
            Reference::Symbols => FIRST_SECTION as u32 - 1,
            Reference::Section(SectionId(number)) => (FIRST_SECTION + number) as u32,
            Reference::Symbol(id, high) => u32::from(high) << 24 | self.symbol_index(id),
        }
    }

    /// Writes the indices of symbols into the data that names them.
    fn resolve(&mut self) {
        let mut sections = std::mem::take(&mut self.sections);
        for section in &mut sections {
            let Data::Bytes(bytes) = &mut section.data else { continue };
            for &(at, id) in &section.symbols {
                bytes[at..at + 4].copy_from_slice(&self.symbol_index(id).to_le_bytes());
            }
        }
        self.sections = sections;
    }

    /// Writes the file.
    ///
    /// # Errors
    /// More sections than an ELF header can count, and a name that contains a zero.
    pub(super) fn finish(mut self, header: &Header) -> Result<Vec<u8>, CubinError> {
        if self.sections.len() + FIRST_SECTION >= usize::from(abi::SHN_LORESERVE) {
            return Err(CubinError::Unsupported("a module with so many kernels".into()));
        }
        let names = self.sections.iter().map(|section| &section.name);
        let symbols = self.locals.iter().chain(&self.globals).map(|symbol| &symbol.name);
        // A name ends at the first zero in the file.
        if let Some(name) = names.chain(symbols).find(|name| name.contains('\0')) {
            return Err(CubinError::Unsupported(format!("the name `{}`", name.escape_debug())));
        }
        self.resolve();
        let mut bytes = Vec::new();
        let mut writer = Writer::new(Endianness::Little, true, &mut bytes);
        writer.reserve_null_section_index();
        writer.reserve_shstrtab_section_index();
        writer.reserve_strtab_section_index();
        writer.reserve_symtab_section_index();
        let names: Vec<_> = self
            .sections
            .iter()
            .map(|section| {
                writer.reserve_section_index();
                writer.add_section_name(section.name.as_bytes())
            })
            .collect();
        for (_, text) in self.sections.iter().flat_map(|section| &section.texts) {
            writer.add_string(text.as_bytes());
        }
        writer.reserve_null_symbol_index();
        let symbols: Vec<_> = self
            .locals
            .iter()
            .chain(&self.globals)
            .map(|symbol| {
                let section =
                    symbol.section.map(|SectionId(number)| SectionIndex((FIRST_SECTION + number) as u32));
                writer.reserve_symbol_index(section);
                // The symbol of a section has the section's name.
                (section, (!symbol.name.is_empty()).then(|| writer.add_string(symbol.name.as_bytes())))
            })
            .collect();
        writer.reserve_file_header();
        writer.reserve_shstrtab();
        writer.reserve_strtab();
        writer.reserve_symtab();
        let offsets: Vec<usize> = self.sections.iter().map(|section| reserve(&mut writer, section)).collect();
        writer.reserve_section_headers();
        let segments = self.segments(&offsets);
        if !header.relocatable {
            writer.reserve_program_headers(segments.len() as u32 + 2);
        }

        let e_flags = header.flags;
        let (os_abi, abi_version) = (header.os_abi, header.abi_version);
        let file = FileHeader {
            os_abi,
            abi_version,
            e_type: if header.relocatable { abi::ET_REL } else { abi::ET_EXEC },
            e_machine: abi::EM_CUDA,
            e_entry: 0,
            e_flags,
        };
        writer.write_file_header(&file).map_err(|error| CubinError::Unsupported(error.to_string()))?;
        writer.write_shstrtab();
        writer.write_strtab();
        writer.write_null_symbol();
        for (symbol, &(section, name)) in self.locals.iter().chain(&self.globals).zip(&symbols) {
            writer.write_symbol(&Sym {
                name,
                section,
                st_info: symbol.kind,
                st_other: symbol.other,
                st_shndx: 0,
                st_value: symbol.value,
                st_size: symbol.size,
            });
        }
        for section in &self.sections {
            self.write_data(&mut writer, section);
        }
        writer.write_null_section_header();
        writer.write_shstrtab_section_header();
        writer.write_strtab_section_header();
        writer.write_symtab_section_header(1 + self.locals.len() as u32);
        for ((section, &name), &offset) in self.sections.iter().zip(&names).zip(&offsets) {
            writer.write_section_header(&SectionHeader {
                name: Some(name),
                sh_type: section.kind,
                sh_flags: section.flags,
                sh_addr: 0,
                sh_offset: offset as u64,
                sh_size: section.data.len(),
                sh_link: self.reference(section.link),
                sh_info: self.reference(section.info),
                sh_addralign: section.align,
                sh_entsize: section.entry_size,
            });
        }
        if !header.relocatable {
            writer.write_align_program_headers();
            let at = writer.len() as u64;
            let size = (segments.len() as u64 + 2) * PROGRAM_HEADER_BYTES;
            for p_type in [abi::PT_PHDR, abi::PT_LOAD] {
                writer.write_program_header(&segment(p_type, abi::PF_R, at, size, size));
            }
            segments.iter().for_each(|header| writer.write_program_header(header));
        }
        self.name_texts(&mut bytes, &offsets);
        // The writer knows only one version of ELF; NVIDIA's older files have the toolkit's version
        // here.
        bytes[VERSION_AT..VERSION_AT + 4].copy_from_slice(&header.version.to_le_bytes());
        Ok(bytes)
    }

    /// Writes the places of texts in the table of names into the data that names them.
    fn name_texts(&self, bytes: &mut [u8], offsets: &[usize]) {
        if self.sections.iter().all(|section| section.texts.is_empty()) {
            return;
        }
        let table = names_table(bytes).map_or_else(Vec::new, |table| bytes[table].to_vec());
        let mut places: FxHashMap<&[u8], usize> = FxHashMap::default();
        let mut start = 0;
        for name in table.split(|&byte| byte == 0) {
            places.entry(name).or_insert(start);
            start += name.len() + 1;
        }
        for (section, &offset) in self.sections.iter().zip(offsets) {
            for (at, text) in &section.texts {
                let place = *places.entry(text.as_bytes()).or_insert_with(|| {
                    // It is the end of another name.
                    let name = [text.as_bytes(), &[0]].concat();
                    table.windows(name.len()).position(|part| part == name).unwrap_or(0)
                });
                bytes[offset + at..offset + at + 4].copy_from_slice(&(place as u32).to_le_bytes());
            }
        }
    }

    fn write_data(&self, writer: &mut Writer<'_>, section: &Section) {
        match &section.data {
            Data::Bytes(bytes) => {
                writer.write_align(section.align.max(1) as usize);
                writer.write(bytes);
            }
            Data::Zeros(_) => {}
            Data::Relocations(entries) => {
                writer.write_align(section.align.max(1) as usize);
                for entry in entries {
                    let r_sym = self.symbol_index(entry.symbol);
                    let (r_type, r_addend) = (entry.kind.0, entry.addend);
                    writer.write_relocation(true, &Rel { r_offset: entry.at, r_sym, r_type, r_addend });
                }
            }
        }
    }

    /// The segments that are not empty, each from the start of its first section to the end of its
    /// last one.
    fn segments(&self, offsets: &[usize]) -> Vec<ProgramHeader> {
        let kinds = [
            (Segment::Constants, abi::PF_R),
            (Segment::Code, abi::PF_R | abi::PF_X),
            (Segment::Writable, abi::PF_R | abi::PF_W),
            (Segment::Banks, abi::PF_R),
        ];
        let mut headers = Vec::new();
        for (kind, flags) in kinds {
            let mut extent: Option<(u64, u64, u64)> = None;
            for (section, &offset) in self.sections.iter().zip(offsets) {
                if section.segment != kind {
                    continue;
                }
                let offset = offset as u64;
                let (start, end, memory) = extent.unwrap_or((offset, offset, 0));
                let size = section.data.len();
                extent = Some(match section.data {
                    Data::Zeros(_) => (start, end, memory + size),
                    _ => (start, offset + size, memory),
                });
            }
            let Some((start, end, zeros)) = extent else { continue };
            headers.push(segment(abi::PT_LOAD, flags, start, end - start, end - start + zeros));
        }
        headers
    }
}

const PROGRAM_HEADER_BYTES: u64 = 56;

fn segment(p_type: u32, p_flags: u32, offset: u64, in_file: u64, in_memory: u64) -> ProgramHeader {
    ProgramHeader {
        p_type,
        p_flags,
        p_offset: offset,
        p_vaddr: 0,
        p_paddr: 0,
        p_filesz: in_file,
        p_memsz: in_memory,
        p_align: 8,
    }
}

fn reserve(writer: &mut Writer<'_>, section: &Section) -> usize {
    match &section.data {
        Data::Bytes(bytes) => writer.reserve(bytes.len(), section.align.max(1) as usize),
        Data::Zeros(_) => writer.reserved_len(),
        Data::Relocations(entries) => {
            writer.reserve(entries.len() * RELA_BYTES as usize, section.align as usize)
        }
    }
}

/// The bytes of the table of the names of symbols, which is the second section after the null section.
fn names_table(bytes: &[u8]) -> Option<Range<usize>> {
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?) as usize);
    let header = word(SECTIONS_AT)? + 2 * SECTION_HEADER_BYTES;
    let (start, size) = (word(header + 0x18)?, word(header + 0x20)?);
    Some(start..start + size)
}

/// The place of the offset of the section headers in the file's header.
const SECTIONS_AT: usize = 0x28;
const SECTION_HEADER_BYTES: usize = 64;
