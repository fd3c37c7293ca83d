//! Writes the contents of a cubin as ELF.
//!
//! In: a [`Cubin`]. Out: its file. Sections have the order of NVIDIA's compiler for sm_90: names
//! and symbols, debug information, notes, attributes, the call graph, relocations, and then the
//! sections that a loader puts into memory. These are constants, code, variables, and the constant
//! bank 0 of each kernel. Linear in the file's size, except for sorting its symbols by name.

mod call_graph;
mod symbols;

pub(in crate::cubin) use symbols::{image_of_kind, part_symbol};

use ptxc_sass::variable::Section as Space;
use rustc_hash::{FxHashMap, FxHashSet};

use super::attribute::{self as eiattr, Attributes};
use super::contents::{Abi, Cubin, Function, GlobalVariable};
use super::elf::{Data, Elf, Entry, Header, Reference, Section, SectionId, Segment, SymbolId};
use super::error::CubinError;
use super::kernel_info::{compatibility, kernel_attributes, toolkit};
use super::read::LINE_TABLE;
use super::relocation::{Relocation, RelocationKind};
use super::{frame, line, note, notes};

/// Kinds of sections, and bits of `sh_flags` and `st_other`, that ELF leaves to the machine.
pub(super) mod cuda {
    pub(crate) const INFO: u32 = 0x7000_0000;
    pub(crate) const CALLGRAPH: u32 = 0x7000_0001;
    pub(crate) const SHARED: u32 = 0x7000_000a;
    pub(crate) const PROTOTYPE: u32 = 0x7000_0002;
    pub(crate) const COMPAT: u32 = 0x7000_0086;
    /// The types that constant banks may have, from bank 0 on.
    pub(crate) const FIRST_BANK: u32 = 0x7000_0064;
    pub(crate) const LAST_BANK: u32 = 0x7000_0075;
    /// A symbol that can be launched.
    pub(crate) const ENTRY: u8 = 0x10;
    /// The place of the number of barriers in the flags of code, in the older layout.
    pub(crate) const BARRIERS_SHIFT: u64 = 20;
    /// The flags of the first of the notes.
    pub(crate) const TOOL_NOTE: u64 = 0x0200_0000;
    pub(crate) const INFO_NOTE: u64 = 0x0100_0000;
    /// 64-bit addresses, in the older layout's header flags, and one way to name textures.
    pub(crate) const OLD_FLAGS: u32 = 0x500;
    pub(crate) const OLD_ACCELERATED: u32 = 0x800;
    /// The newer layout's header flags without the architecture.
    pub(crate) const NEW_FLAGS: u32 = 0x0600_0004;
    pub(crate) const OLD_OS_ABI: u8 = 0x33;
    pub(crate) const NEW_OS_ABI: u8 = 0x41;
    /// The version of both layouts for code without a stack.
    pub(crate) const NO_STACK_VERSION: u8 = 2;
}

const PROGBITS: u32 = object::elf::SHT_PROGBITS;
const NOBITS: u32 = object::elf::SHT_NOBITS;
const NOTE: u32 = object::elf::SHT_NOTE;
const RELA: u32 = object::elf::SHT_RELA;
const WRITE: u64 = object::elf::SHF_WRITE as u64;
const ALLOC: u64 = object::elf::SHF_ALLOC as u64;
const EXECUTE: u64 = object::elf::SHF_EXECINSTR as u64;
const INFO_LINK: u64 = object::elf::SHF_INFO_LINK as u64;

/// The alignment of code, in bytes: a line of the instruction cache.
pub(super) const CODE_ALIGN: usize = 128;
/// The section of an object for shared variables that the linker places.
const SHARED_SECTION: &str = ".nv_debug.shared";
/// The usual alignment of a kernel's shared memory.
pub(super) const SHARED_ALIGN: u64 = 16;
/// Writes a cubin.
///
/// # Errors
/// Contents that the format cannot hold, and an architecture for which no file is known.
pub fn write(cubin: &Cubin) -> Result<Vec<u8>, CubinError> {
    let Some(facts) = &cubin.arch.facts().cubin else {
        return Err(CubinError::NoFormat(cubin.arch));
    };
    cubin.check_names()?;
    let mut writer = Writer {
        cubin,
        facts,
        elf: Elf::default(),
        sections: FxHashMap::default(),
        symbols: FxHashMap::default(),
        locals: FxHashMap::default(),
        image_parameters: FxHashMap::default(),
        called: cubin.functions.iter().flat_map(|function| function.calls(cubin.arch)).collect(),
        kernels: Vec::new(),
        banks: Vec::new(),
    };
    writer.plan();
    writer.name_symbols();
    writer.name_images();
    writer.name_other_symbols();
    writer.describe()?;
    writer.fill()?;
    let header = header(cubin);
    writer.elf.finish(&header)
}

fn header(cubin: &Cubin) -> Header {
    let sm = cubin.arch.number();
    match cubin.abi {
        Abi::V7 => Header {
            os_abi: cuda::OLD_OS_ABI,
            abi_version: 7,
            version: toolkit(cubin.abi),
            flags: sm << 16
                | cuda::OLD_FLAGS
                | sm
                | if cubin.accelerated { cuda::OLD_ACCELERATED } else { 0 },
            relocatable: cubin.relocatable,
        },
        Abi::V8 => {
            let flags = cuda::NEW_FLAGS | sm << 8;
            let relocatable = cubin.relocatable;
            Header { os_abi: cuda::NEW_OS_ABI, abi_version: 8, version: 1, flags, relocatable }
        }
    }
}

/// A file under construction.
struct Writer<'a> {
    cubin: &'a Cubin,
    /// The constants of its architecture.
    facts: &'static ptxc_machine::Cubin,
    elf: Elf,
    sections: FxHashMap<String, SectionId>,
    /// The symbols that relocations can name.
    symbols: FxHashMap<String, SymbolId>,
    /// The other symbols that they can name: sections, and functions after kernels.
    locals: FxHashMap<String, SymbolId>,
    /// The symbols of parameters that are textures, samplers or surfaces, by function and name.
    image_parameters: FxHashMap<(usize, &'a str), SymbolId>,
    /// The functions that others call and that are not part of their code.
    called: FxHashSet<&'a str>,
    /// The symbol of each function.
    kernels: Vec<SymbolId>,
    /// The section symbol of each function's constant bank 0.
    banks: Vec<Option<SymbolId>>,
}

impl<'a> Writer<'a> {
    fn add(&mut self, section: Section) -> SectionId {
        let name = section.name.clone();
        let id = self.elf.section(section);
        self.sections.insert(name, id);
        id
    }

    fn fill_section(&mut self, name: &str, data: Data) {
        if let Some(&SectionId(number)) = self.sections.get(name) {
            self.elf.sections[number].data = data;
        }
    }

    /// Adds all sections, empty except for sizes that other sections need.
    fn plan(&mut self) {
        let cubin = self.cubin;
        let functions = &cubin.functions;
        if !functions.is_empty() {
            self.add(Section::new(frame::NAME, PROGBITS, 0, 1));
        }
        // Tools refuse a table of the lines of PTX without this section.
        let has_lines = functions.iter().any(|function| !function.lines.is_empty());
        let has_table = cubin.debug.iter().any(|debug| debug.name == LINE_TABLE);
        if has_lines || !cubin.debug.is_empty() {
            self.add(Section::new(LINE_TABLE, PROGBITS, 0, 1));
        }
        if cubin.abi == Abi::V8 {
            self.add(Section::new(".note.nv.tkinfo", NOTE, cuda::TOOL_NOTE, 4));
            self.add(Section::new(".note.nv.cuinfo", NOTE, cuda::INFO_NOTE, 4));
        }
        self.add(Section { link: Reference::Symbols, ..Section::new(".nv.info", cuda::INFO, 0, 4) });
        if cubin.abi == Abi::V8 && self.facts.compatible_version.is_some() {
            self.add(Section::new(".nv.compat", cuda::COMPAT, 0, 4));
        }
        // NVIDIA's tools refuse ptxc's files if these sections come before the notes.
        for debug in cubin.debug.iter().filter(|debug| ![LINE_TABLE, frame::NAME].contains(&&*debug.name)) {
            // Shared memory that only debug information names is not in the file.
            let kind = if debug.bytes.is_empty() { NOBITS } else { PROGBITS };
            let (flags, align) = if kind == NOBITS { (ALLOC | WRITE, SHARED_ALIGN) } else { (0, 1) };
            self.add(Section::new(debug.name.clone(), kind, flags, align));
        }
        let infos: Vec<SectionId> = functions
            .iter()
            .map(|function| {
                let name = format!(".nv.info.{}", function.name);
                let link = Reference::Symbols;
                self.add(Section { link, ..Section::new(name, cuda::INFO, INFO_LINK, 4) })
            })
            .collect();
        let graph = Section::new(".nv.callgraph", cuda::CALLGRAPH, 0, 4);
        self.add(Section { link: Reference::Symbols, entry_size: 8, ..graph });
        if !cubin.prototypes.is_empty() {
            let prototypes = Section::new(".nv.prototype", cuda::PROTOTYPE, 0, 4);
            self.add(Section { link: Reference::Symbols, entry_size: 8, ..prototypes });
        }
        let relocated = self.plan_relocations(has_lines && !has_table);
        self.plan_constants();
        let codes: Vec<SectionId> = functions
            .iter()
            .map(|function| {
                let name = format!(".text.{}", function.name);
                let section = Section::new(name, PROGBITS, ALLOC | EXECUTE, CODE_ALIGN as u64);
                self.add(Section { link: Reference::Symbols, segment: Segment::Code, ..section })
            })
            .collect();
        self.plan_variables(&codes);
        for (function, &code) in functions.iter().zip(&codes) {
            if function.bank(0).is_some() {
                let name = format!(".nv.constant0.{}", function.name);
                let section = Section::new(name, PROGBITS, ALLOC | INFO_LINK, 4);
                self.add(Section { info: Reference::Section(code), segment: Segment::Banks, ..section });
            }
        }
        // The targets of sections are known only now.
        for (&info, &code) in infos.iter().zip(&codes) {
            self.elf.sections[info.0].info = Reference::Section(code);
        }
        for (function, &code) in functions.iter().zip(&codes) {
            for bank in function.banks.iter().filter(|bank| bank.number != 0) {
                if let Some(id) = self.sections.get(&bank_name(bank.number, function)) {
                    self.elf.sections[id.0].info = Reference::Section(code);
                }
            }
        }
        for name in relocated {
            let target = self.sections.get(&name).copied();
            if let (Some(&id), Some(target)) = (self.sections.get(&format!(".rela{name}")), target) {
                self.elf.sections[id.0].info = Reference::Section(target);
            }
        }
    }

    /// Adds the relocation sections; returns the names of the sections that they change.
    fn plan_relocations(&mut self, has_lines: bool) -> Vec<String> {
        let cubin = self.cubin;
        let has_code = !cubin.functions.is_empty();
        let mut names: Vec<String> = has_code.then(|| frame::NAME.to_string()).into_iter().collect();
        names.extend(has_lines.then(|| LINE_TABLE.to_string()));
        let others = cubin.debug.iter().filter(|debug| debug.name != frame::NAME);
        let debug = others.filter(|debug| !debug.relocations.is_empty());
        names.extend(debug.map(|debug| debug.name.clone()));
        for function in &cubin.functions {
            if !function.relocations.is_empty() {
                names.push(format!(".text.{}", function.name));
            }
            let banks = function.banks.iter().filter(|bank| !bank.relocations.is_empty());
            names.extend(banks.map(|bank| bank_name(bank.number, function)));
        }
        let has = |space, content| {
            let mut variables = cubin.variables.iter();
            variables.any(|one| place(one) == (space, content) && !one.relocations.is_empty())
        };
        names.extend(has(Space::Constant, true).then(|| ".nv.constant3".to_string()));
        names.extend((!cubin.addresses.is_empty()).then(|| ".nv.constant4".to_string()));
        names.extend(has(Space::Global, true).then(|| ".nv.global.init".to_string()));
        for name in &names {
            let section = Section::new(format!(".rela{name}"), RELA, INFO_LINK, 8);
            self.add(Section { link: Reference::Symbols, entry_size: 24, ..section });
        }
        names
    }

    /// Adds the constant banks except bank 0.
    fn plan_constants(&mut self) {
        let constants = |name: String, flags, align| Section {
            segment: Segment::Constants,
            ..Section::new(name, PROGBITS, ALLOC | flags, align)
        };
        if self.has_variables(Space::Constant, true) {
            let align = self.alignment(Space::Constant, true);
            self.add(constants(".nv.constant3".into(), 0, align));
        }
        if self.cubin.address_bytes > 0 {
            self.add(constants(".nv.constant4".into(), 0, 8));
        }
        for function in &self.cubin.functions {
            for bank in function.banks.iter().filter(|bank| bank.number != 0) {
                // Its literals may have 64 bits.
                let align = if bank.bytes.len().is_multiple_of(8) { 8 } else { 4 };
                self.add(constants(bank_name(bank.number, function), INFO_LINK, align));
            }
        }
    }

    /// Adds global variables and shared memory.
    fn plan_variables(&mut self, codes: &[SectionId]) {
        let writable = |name: String, kind, flags, align| Section {
            segment: Segment::Writable,
            ..Section::new(name, kind, ALLOC | WRITE | flags, align)
        };
        if self.has_variables(Space::Global, true) {
            let align = self.alignment(Space::Global, true);
            self.add(writable(".nv.global.init".into(), PROGBITS, 0, align));
        }
        let reserved = u64::from(self.cubin.arch.facts().limits.reserved_shared);
        for (function, &code) in self.cubin.functions.iter().zip(codes) {
            let Some(bytes) = function.shared_bytes else { continue };
            let align = if function.shared_align > 0 { function.shared_align } else { SHARED_ALIGN };
            let section = writable(format!(".nv.shared.{}", function.name), NOBITS, INFO_LINK, align);
            let data = Data::Zeros(reserved + bytes);
            self.add(Section { info: Reference::Section(code), data, ..section });
        }
        if self.has_variables(Space::Shared, false) {
            // Named as in the objects of NVIDIA's compiler.
            let align = self.alignment(Space::Shared, false);
            let size = self.variables(Space::Shared, false).map(|one| one.size.next_multiple_of(align)).sum();
            let section = writable(SHARED_SECTION.into(), cuda::SHARED, 0, align);
            self.add(Section { data: Data::Zeros(size), ..section });
        }
        if self.has_variables(Space::Global, false) {
            let align = self.alignment(Space::Global, false);
            self.add(writable(".nv.global".into(), NOBITS, 0, align));
        }
    }

    fn variables(&self, space: Space, content: bool) -> impl Iterator<Item = &'a GlobalVariable> {
        self.cubin.variables.iter().filter(move |one| place(one) == (space, content))
    }

    fn has_variables(&self, space: Space, content: bool) -> bool {
        self.variables(space, content).next().is_some()
    }

    fn alignment(&self, space: Space, content: bool) -> u64 {
        self.variables(space, content).map(|one| one.align).max().unwrap_or(1)
    }

    /// The symbol of a function's parameter, if it is a texture, sampler or surface.
    fn image_parameter(&self, function: usize, name: &str) -> Option<SymbolId> {
        self.image_parameters.get(&(function, name)).copied()
    }

    fn entries(&mut self, base: u64, relocations: &'a [Relocation], entries: &mut Vec<Entry>) {
        for one in relocations {
            let symbol = self.target(&one.target);
            entries.push(Entry { at: base + one.at, symbol, kind: one.kind, addend: one.addend });
        }
    }

    /// Writes debug information, notes and attributes.
    fn describe(&mut self) -> Result<(), CubinError> {
        let cubin = self.cubin;
        let mut described = Vec::new();
        for (function, &symbol) in cubin.functions.iter().zip(&self.kernels) {
            let end = function.code.len() as u32;
            let first = function.parts.first().map_or(end, |part| part.offset);
            described.push(frame::Described { symbol, offset: 0, size: first });
            let parts = function.parts.iter();
            described.extend(parts.map(|part| frame::Described {
                symbol,
                offset: part.offset,
                size: part.size,
            }));
        }
        if cubin.debug.iter().all(|debug| debug.name != frame::NAME) {
            let (frames, relocations) = frame::write(&described);
            self.fill_section(frame::NAME, Data::Bytes(frames));
            self.fill_section(".rela.debug_frame", Data::Relocations(relocations));
        }
        self.describe_lines()?;
        for debug in cubin.debug.iter() {
            let mut entries = Vec::new();
            for one in &debug.relocations {
                let (symbol, kind) = (self.target(&one.symbol), RelocationKind(one.kind));
                entries.push(Entry { at: one.at, symbol, kind, addend: one.addend });
            }
            let data = match debug.bytes.is_empty() {
                true => Data::Zeros(debug.zeros),
                false => Data::Bytes(debug.bytes.clone()),
            };
            self.fill_section(&debug.name, data);
            self.fill_section(&format!(".rela{}", debug.name), Data::Relocations(entries));
        }
        self.fill_section(".note.nv.tkinfo", Data::Bytes(note::tool_info()));
        let info = note::cuda_info(cubin.arch.number(), toolkit(cubin.abi));
        self.fill_section(".note.nv.cuinfo", Data::Bytes(info));
        if let Some(version) = self.facts.compatible_version {
            let list = compatibility(cubin, version);
            let list = notes::merge(list, &cubin.compatibility, &[], &mut |_| SymbolId::Null);
            self.fill_section(".nv.compat", Data::Bytes(list.bytes));
        }
        let (graph, prototypes) = self.call_graph();
        for (name, pairs) in [(".nv.callgraph", graph), (".nv.prototype", prototypes)] {
            if let Some(&SectionId(number)) = self.sections.get(name) {
                self.elf.sections[number].texts = pairs.texts;
            }
            self.fill_attributes(name, pairs.attributes);
        }

        let mut module = Attributes::default();
        for (function, &symbol) in cubin.functions.iter().zip(&self.kernels) {
            module.symbol_word(eiattr::REGCOUNT, symbol, function.registers);
            module.symbol_word(eiattr::FRAME_SIZE, symbol, function.frame_bytes);
            if function.is_kernel {
                module.symbol_word(eiattr::MIN_STACK_SIZE, symbol, function.stack_bytes);
            }
        }
        let module = notes::merge(module, &cubin.attributes, &[], &mut |name| self.target(name));
        self.fill_attributes(".nv.info", module);
        for (number, function) in cubin.functions.iter().enumerate() {
            let image = |name: &str| self.image_parameter(number, name).unwrap_or(SymbolId::Null);
            let attributes = kernel_attributes(cubin, self.facts, function, self.banks[number], &image);
            let (kept, marks) = (&function.attributes, &function.marks);
            let attributes = notes::merge(attributes, kept, marks, &mut |name| self.target(name));
            self.fill_attributes(&format!(".nv.info.{}", function.name), attributes);
        }
        Ok(())
    }

    fn fill_attributes(&mut self, name: &str, attributes: Attributes) {
        if let Some(&SectionId(number)) = self.sections.get(name) {
            self.elf.sections[number].data = Data::Bytes(attributes.bytes);
            self.elf.sections[number].symbols = attributes.symbols;
        }
    }

    fn describe_lines(&mut self) -> Result<(), CubinError> {
        let lines = line::of_functions(&self.cubin.functions);
        if lines.is_empty() || self.cubin.debug.iter().any(|debug| debug.name == LINE_TABLE) {
            return Ok(());
        }
        let (bytes, addresses) = line::write(&self.cubin.files, &lines)?;
        let entry = |(at, kernel): (u64, usize)| Entry {
            at,
            symbol: self.kernels[kernel],
            kind: RelocationKind::ABS_64,
            addend: 0,
        };
        let entries = addresses.into_iter().map(entry).collect();
        self.fill_section(LINE_TABLE, Data::Bytes(bytes));
        self.fill_section(".rela.debug_line", Data::Relocations(entries));
        Ok(())
    }

    /// Writes the sections that a loader puts into memory.
    fn fill(&mut self) -> Result<(), CubinError> {
        let cubin = self.cubin;
        for (number, function) in cubin.functions.iter().enumerate() {
            self.fill_function(number, function)?;
        }
        for (space, content, name) in [
            (Space::Constant, true, ".nv.constant3"),
            (Space::Global, true, ".nv.global.init"),
            (Space::Global, false, ".nv.global"),
        ] {
            let variables: Vec<_> = self.variables(space, content).collect();
            let size = variables.iter().map(|one| one.offset.saturating_add(one.size)).max().unwrap_or(0);
            if !content {
                self.fill_section(name, Data::Zeros(size));
                continue;
            }
            let too_large = |_| CubinError::Unsupported(format!("{size} bytes of variables"));
            let mut bytes = vec![0; usize::try_from(size).map_err(too_large)?];
            let mut entries = Vec::new();
            for variable in variables {
                let start = variable.offset as usize;
                bytes[start..start + variable.bytes.len()].copy_from_slice(&variable.bytes);
                self.entries(variable.offset, &variable.relocations, &mut entries);
            }
            self.fill_section(name, Data::Bytes(bytes));
            self.fill_section(&format!(".rela{name}"), Data::Relocations(entries));
        }
        let mut entries = Vec::new();
        self.entries(0, &cubin.addresses, &mut entries);
        self.fill_section(".nv.constant4", Data::Bytes(vec![0; cubin.address_bytes as usize]));
        self.fill_section(".rela.nv.constant4", Data::Relocations(entries));
        Ok(())
    }

    fn fill_function(&mut self, number: usize, function: &'a Function) -> Result<(), CubinError> {
        let name = format!(".text.{}", function.name);
        if let Some(&SectionId(section)) = self.sections.get(&name) {
            let registers =
                if self.facts.registers_in_section { function.registers.min(255) as u8 } else { 0 };
            let section = &mut self.elf.sections[section];
            section.info = Reference::Symbol(self.kernels[number], registers);
            if self.cubin.abi == Abi::V7 {
                section.flags |= u64::from(function.barriers) << cuda::BARRIERS_SHIFT;
            }
            section.data = Data::Bytes(function.code.clone());
        }
        let mut entries = Vec::new();
        for one in &function.relocations {
            let own = self.image_parameter(number, &one.target).filter(|_| one.kind.names_image_word());
            let symbol = own.unwrap_or_else(|| self.target(&one.target));
            entries.push(Entry { at: one.at, symbol, kind: one.kind, addend: one.addend });
        }
        self.fill_section(&format!(".rela{name}"), Data::Relocations(entries));
        for bank in &function.banks {
            let name = bank_name(bank.number, function);
            let mut entries = Vec::new();
            for one in &bank.relocations {
                let own = self.image_parameter(number, &one.target);
                let symbol = own.unwrap_or_else(|| self.target(&one.target));
                entries.push(Entry { at: one.at, symbol, kind: one.kind, addend: one.addend });
            }
            self.fill_section(&name, Data::Bytes(bank.bytes.clone()));
            self.fill_section(&format!(".rela{name}"), Data::Relocations(entries));
        }
        Ok(())
    }
}

/// The section name of a kernel's bank.
fn bank_name(number: u8, function: &Function) -> String {
    format!(".nv.constant{number}.{}", function.name)
}

/// A constant variable always has its place in the file.
fn place(variable: &GlobalVariable) -> (Space, bool) {
    match variable.section {
        Space::Constant => (Space::Constant, true),
        Space::Shared => (Space::Shared, false),
        Space::Global | Space::External => (Space::Global, variable.has_content),
    }
}
