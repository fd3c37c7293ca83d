//! Reads the contents of a cubin from ELF.
//!
//! In: any bytes. Out: a [`Cubin`], or an error that says what is wrong. Files of both layouts are
//! read, with relocations of both kinds. Every offset and size is checked where it is used. Names
//! and data are copied within a budget of a few times the file's size, so that sections with the
//! same bytes cannot cause much larger copies. There is no recursion. Linear in the file's size,
//! except for sorting its symbols.

mod attributes;

use std::sync::Arc;

use std::collections::{BTreeMap, BTreeSet};

use object::LittleEndian as LE;
use object::elf::{FileHeader64, STT_FUNC, STT_OBJECT, SectionHeader64, Sym64};
use object::read::elf::{FileHeader, Rel, Rela, SectionHeader, SectionTable, Sym, SymbolTable};
use object::{SectionIndex, SymbolIndex};
use ptxc_machine::Arch;
use ptxc_sass::kept::{DebugSection, KeptRelocation, KeptSymbol};
use ptxc_sass::program::ImageKind;
use ptxc_sass::variable::Section as Space;
use rustc_hash::FxHashMap;

use super::contents::{Abi, Bank, Binding, Cubin, Function, GlobalVariable, Image, Part};
use super::error::CubinError;
use super::relocation::{Relocation, RelocationKind};
use super::write::{SHARED_ALIGN, cuda, image_of_kind};
use super::{frame, line};

type Header = FileHeader64<LE>;
type Result<T> = std::result::Result<T, CubinError>;

/// Reads a cubin.
///
/// # Errors
/// A file that is not a cubin, is for an architecture with other instructions, is inconsistent, or
/// ends too early.
pub fn read(data: &[u8]) -> Result<Cubin> {
    let header = Header::parse(data).map_err(|_| CubinError::NotACubin("no ELF file of 64 bits".into()))?;
    if header.e_machine(LE) != object::elf::EM_CUDA {
        return Err(CubinError::NotACubin(format!("an ELF file of machine {}", header.e_machine(LE))));
    }
    let identity = &header.e_ident;
    let flags = header.e_flags(LE);
    let (abi, number) = match (identity.os_abi, identity.abi_version) {
        (cuda::OLD_OS_ABI, 7 | cuda::NO_STACK_VERSION) => (Abi::V7, flags & 0xff),
        // Version 2 says that the code has no stack: older PTX may put variables of threads and
        // registers outside of functions, and then NVIDIA's compiler does without calls.
        (cuda::NEW_OS_ABI, 8 | cuda::NO_STACK_VERSION) => (Abi::V8, flags >> 8 & 0xff),
        (_, version) => return Err(CubinError::NotACubin(format!("a layout of version {version}"))),
    };
    let arch = Arch::of_number(number).ok_or(CubinError::Arch(number))?;
    let sections = header.sections(LE, data).map_err(|error| CubinError::malformed(error.to_string()))?;
    let symbols = sections
        .symbols(LE, data, object::elf::SHT_SYMTAB)
        .map_err(|error| CubinError::malformed(error.to_string()))?;
    let cubin = Cubin {
        arch,
        accelerated: abi == Abi::V7 && flags & cuda::OLD_ACCELERATED != 0,
        abi,
        functions: Vec::new(),
        variables: Vec::new(),
        images: Vec::new(),
        address_bytes: 0,
        addresses: Vec::new(),
        outside: BTreeSet::new(),
        prototypes: BTreeMap::new(),
        outside_variables: BTreeMap::new(),
        files: Vec::new(),
        debug: Arc::default(),
        relocatable: header.e_type(LE) == object::elf::ET_REL,
        attributes: Vec::new(),
        compatibility: Vec::new(),
        symbols: Vec::new(),
    };
    let budget = data.len().saturating_mul(4).saturating_add(1 << 16);
    let mut reader = Reader {
        data,
        sections,
        symbols,
        cubin,
        places: Places::default(),
        debug: Vec::new(),
        budget,
        line_starts: Vec::new(),
    };
    reader.functions()?;
    reader.cubin.check_names()?;
    reader.function_symbols()?;
    reader.debug_sections()?;
    reader.function_sections()?;
    reader.variables()?;
    reader.images()?;
    reader.relocations()?;
    reader.lines()?;
    reader.drop_usual_attributes();
    reader.cubin.debug = Arc::new(reader.debug);
    Ok(reader.cubin)
}

/// The parts that sections belong to, by the sections' indices.
#[derive(Default)]
struct Places {
    /// The function of each section of code.
    code: FxHashMap<usize, usize>,
    /// The function, and the index of its bank.
    banks: FxHashMap<usize, (usize, usize)>,
    /// For each section of variables, the offsets of its variables, ascending, and their indices.
    variables: FxHashMap<usize, Vec<(u64, usize)>>,
    /// The debug sections that are kept.
    debug: FxHashMap<usize, usize>,
}

struct Reader<'a> {
    data: &'a [u8],
    sections: SectionTable<'a, Header>,
    symbols: SymbolTable<'a, Header>,
    cubin: Cubin,
    places: Places,
    /// The debug sections that are kept as they are.
    debug: Vec<DebugSection>,
    /// Bytes that may still be copied.
    budget: usize,
    /// The places of addresses in the line table, each with its function and an offset in it.
    line_starts: Vec<line::Start>,
}

/// The number of a constant bank, and the rest of its section's name.
fn bank_of(name: &[u8]) -> Option<(u8, &[u8])> {
    let rest = name.strip_prefix(b".nv.constant")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    Some((number, &rest[digits..]))
}

impl<'a> Reader<'a> {
    /// Takes bytes from the budget.
    fn spend(&mut self, bytes: usize) -> Result<()> {
        self.budget = self.budget.checked_sub(bytes).ok_or(CubinError::Overlapping)?;
        Ok(())
    }

    fn copy(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        self.spend(bytes.len())?;
        Ok(bytes.to_vec())
    }

    fn text(&mut self, bytes: &[u8]) -> Result<String> {
        self.spend(bytes.len())?;
        String::from_utf8(bytes.to_vec()).map_err(|_| CubinError::malformed("a name is not UTF-8"))
    }

    /// The sections except the null section, with their indices.
    fn all_sections(&self) -> impl Iterator<Item = (usize, &'a SectionHeader64<LE>)> + use<'a> {
        self.sections.iter().enumerate().skip(1)
    }

    fn section_name(&self, section: &'a SectionHeader64<LE>) -> Result<&'a [u8]> {
        let name = self.sections.section_name(LE, section);
        name.map_err(|_| CubinError::malformed("the name of a section lies outside of the file"))
    }

    fn section_data(&self, section: &'a SectionHeader64<LE>) -> Result<&'a [u8]> {
        section.data(LE, self.data).map_err(|_| {
            let name = self.section_name(section).unwrap_or_default();
            CubinError::malformed(format!(
                "section {} lies outside of the file",
                String::from_utf8_lossy(name)
            ))
        })
    }

    fn symbol_name(&self, index: usize) -> Result<&'a [u8]> {
        let symbol = self.symbols.symbol(SymbolIndex(index));
        let symbol = symbol.map_err(|_| CubinError::malformed(format!("there is no symbol {index}")))?;
        // A section's own symbol may be nameless.
        if symbol.st_name(LE) == 0 && symbol.st_type() == object::elf::STT_SECTION {
            let section = self.sections.section(SectionIndex(usize::from(symbol.st_shndx(LE))));
            let section =
                section.map_err(|_| CubinError::malformed(format!("symbol {index} has no section")))?;
            return self.section_name(section);
        }
        let name = self.symbols.symbol_name(LE, symbol);
        name.map_err(|_| {
            CubinError::malformed(format!("the name of symbol {index} lies outside of the file"))
        })
    }

    /// Finds the code of functions.
    fn functions(&mut self) -> Result<()> {
        for (index, section) in self.all_sections() {
            let Some(name) = self.section_name(section)?.strip_prefix(b".text.") else { continue };
            if section.sh_type(LE) != object::elf::SHT_PROGBITS {
                continue;
            }
            let name = self.text(name)?;
            let code = self.section_data(section)?;
            if u32::try_from(code.len()).is_err() {
                return Err(CubinError::malformed(format!(
                    "`{name}` has more code than there are addresses"
                )));
            }
            let code = self.copy(code)?;
            let high = section.sh_info(LE) >> 24;
            let barriers = match self.cubin.abi {
                Abi::V7 => (section.sh_flags(LE) >> cuda::BARRIERS_SHIFT & 0x7f) as u32,
                Abi::V8 => 0,
            };
            self.places.code.insert(index, self.cubin.functions.len());
            let max_registers = 255;
            self.cubin.functions.push(Function {
                name,
                code,
                registers: high,
                barriers,
                max_registers,
                ..Function::default()
            });
        }
        Ok(())
    }

    /// Copies the debug sections.
    fn debug_sections(&mut self) -> Result<()> {
        let mut has_info = false;
        for (_, section) in self.all_sections() {
            let name = self.section_name(section)?;
            has_info |= [&b".nv_debug_info"[..], b".debug_info"].iter().any(|start| name.starts_with(start));
        }
        for (index, section) in self.all_sections() {
            let name = self.section_name(section)?;
            let is_debug = [&b".nv_debug"[..], b".debug_"].iter().any(|start| name.starts_with(start));
            // Without other information, the frames of a compiler have nothing that cannot be made
            // again.
            if !is_debug || name == frame::NAME.as_bytes() && !has_info {
                continue;
            }
            let (bytes, zeros) = match section.sh_type(LE) {
                object::elf::SHT_PROGBITS => (self.copy(self.section_data(section)?)?, 0),
                object::elf::SHT_NOBITS => (Vec::new(), section.sh_size(LE)),
                _ => continue,
            };
            let name = self.text(name)?;
            self.places.debug.insert(index, self.debug.len());
            self.debug.push(DebugSection { name, bytes, zeros, relocations: Vec::new() });
        }
        Ok(())
    }

    /// Finds the functions in each section of code, and which of them can be launched.
    fn function_symbols(&mut self) -> Result<()> {
        for index in 1..self.symbols.len() {
            let Ok(symbol) = self.symbols.symbol(SymbolIndex(index)) else { continue };
            let section = usize::from(symbol.st_shndx(LE));
            let Some(&number) = self.places.code.get(&section).filter(|_| symbol.st_type() == STT_FUNC)
            else {
                continue;
            };
            let name = self.symbol_name(index)?;
            let function = &mut self.cubin.functions[number];
            if name == function.name.as_bytes() {
                function.is_kernel = symbol.st_other() & cuda::ENTRY != 0;
                function.binding = binding(symbol);
                continue;
            }
            let code = function.code.len() as u64;
            let (value, size) = (symbol.st_value(LE), symbol.st_size(LE));
            if value.checked_add(size).is_none_or(|end| end > code) {
                let name = String::from_utf8_lossy(name);
                return Err(CubinError::malformed(format!(
                    "the function `{name}` lies outside of its section"
                )));
            }
            // Copies of functions are named after the kernel that they belong to.
            let kernel = function.name.as_bytes();
            let own = name.strip_prefix(b"$").and_then(|rest| rest.strip_prefix(kernel)?.strip_prefix(b"$"));
            let name = self.text(own.unwrap_or(name))?;
            self.cubin.functions[number].parts.push(Part { name, offset: value as u32, size: size as u32 });
        }
        for function in &mut self.cubin.functions {
            function.parts.sort_by_key(|part| part.offset);
        }
        Ok(())
    }

    /// Reads attributes, constant banks and the sizes of shared and local memory.
    fn function_sections(&mut self) -> Result<()> {
        let mut stackless = Vec::new();
        for (index, section) in self.all_sections() {
            let name = self.section_name(section)?;
            let kind = section.sh_type(LE);
            let owner = self.places.code.get(&(section.sh_info(LE) as usize)).copied();
            match (kind, owner) {
                (cuda::INFO, None) => self.module_attributes(self.section_data(section)?)?,
                (cuda::INFO, Some(function)) => self.attributes_of(function, self.section_data(section)?)?,
                (cuda::COMPAT, _) => self.compatibility(self.section_data(section)?)?,
                (object::elf::SHT_NOBITS, Some(function)) if name.starts_with(b".nv.shared.") => {
                    let reserved = u64::from(self.cubin.arch.facts().limits.reserved_shared);
                    let bytes = section.sh_size(LE).saturating_sub(reserved);
                    self.cubin.functions[function].shared_bytes = Some(bytes);
                    let align = section.sh_addralign(LE);
                    if align != SHARED_ALIGN && align.is_power_of_two() && align <= 1 << 16 {
                        self.cubin.functions[function].shared_align = align;
                    }
                }
                // The local memory of a kernel that was compiled without a stack.
                (object::elf::SHT_NOBITS, Some(function)) if name.starts_with(b".nv.local.") => {
                    let bytes = u32::try_from(section.sh_size(LE)).map_err(|_| {
                        CubinError::malformed("a section of local memory is too large".to_string())
                    })?;
                    stackless.push((function, bytes));
                }
                // Some versions of NVIDIA's compiler have a type for the sections of each bank.
                (object::elf::SHT_PROGBITS | cuda::FIRST_BANK..=cuda::LAST_BANK, owner) => {
                    let Some((number, rest)) = bank_of(name) else { continue };
                    let data = self.section_data(section)?;
                    if let Some(function) = owner.filter(|_| rest.starts_with(b".")) {
                        let bytes = self.copy(data)?;
                        let banks = &mut self.cubin.functions[function].banks;
                        self.places.banks.insert(index, (function, banks.len()));
                        banks.push(Bank { number, bytes, relocations: Vec::new() });
                    } else if number == 4 && rest.is_empty() {
                        self.cubin.address_bytes = data.len() as u64;
                    }
                }
                _ => {}
            }
        }
        self.sort_banks();
        for (function, bytes) in stackless {
            let function = &mut self.cubin.functions[function];
            function.frame_bytes = function.frame_bytes.max(bytes);
            // The file states no stack, but the function needs this memory in a file that does.
            function.stack_bytes = function.stack_bytes.max(bytes);
        }
        for function in &mut self.cubin.functions {
            function.exits.sort_unstable();
        }
        Ok(())
    }

    /// Sorts banks by their numbers, and updates the indices that sections refer to them by.
    fn sort_banks(&mut self) {
        let mut moved: FxHashMap<(usize, usize), usize> = FxHashMap::default();
        for (number, function) in self.cubin.functions.iter_mut().enumerate() {
            let mut banks: Vec<_> = std::mem::take(&mut function.banks).into_iter().enumerate().collect();
            banks.sort_by_key(|(_, bank)| bank.number);
            let places = banks.iter().enumerate().map(|(new, (old, _))| ((number, *old), new));
            moved.extend(places);
            function.banks = banks.into_iter().map(|(_, bank)| bank).collect();
        }
        for (function, bank) in self.places.banks.values_mut() {
            *bank = moved.get(&(*function, *bank)).copied().unwrap_or(*bank);
        }
    }

    /// The function whose own code a symbol names.
    fn function_of(&self, symbol: u32) -> Option<usize> {
        let symbol = self.symbols.symbol(SymbolIndex(symbol as usize)).ok()?;
        let function = self.places.code.get(&usize::from(symbol.st_shndx(LE)))?;
        (symbol.st_value(LE) == 0).then_some(*function)
    }

    /// Finds variables, and copies their content.
    fn variables(&mut self) -> Result<()> {
        for index in 1..self.symbols.len() {
            let Ok(symbol) = self.symbols.symbol(SymbolIndex(index)) else { continue };
            if symbol.st_type() != STT_OBJECT {
                continue;
            }
            let number = usize::from(symbol.st_shndx(LE));
            let Ok(section) = self.sections.section(SectionIndex(number)) else { continue };
            let space = match self.section_name(section)? {
                b".nv.constant3" => Space::Constant,
                b".nv.global" | b".nv.global.init" => Space::Global,
                name => {
                    self.other_symbol(index, symbol, name)?;
                    continue;
                }
            };
            let has_content = section.sh_type(LE) != object::elf::SHT_NOBITS;
            let (offset, size) = (symbol.st_value(LE), symbol.st_size(LE));
            let end = offset.checked_add(size).filter(|end| *end <= section.sh_size(LE));
            let Some(end) = end else {
                let name = String::from_utf8_lossy(self.symbol_name(index)?).into_owned();
                return Err(CubinError::malformed(format!(
                    "the variable `{name}` lies outside of its section"
                )));
            };
            let bytes = if has_content {
                let data = self.section_data(section)?.get(offset as usize..end as usize);
                let outside = || CubinError::malformed("a variable lies outside of the file");
                self.copy(data.ok_or_else(outside)?)?
            } else {
                Vec::new()
            };
            let name = self.text(self.symbol_name(index)?)?;
            let binding = binding(symbol);
            let align = section.sh_addralign(LE).clamp(1, 1 << 16);
            let align = if offset == 0 { align } else { align.min(1 << offset.trailing_zeros()) };
            let place = (offset, self.cubin.variables.len());
            self.places.variables.entry(number).or_default().push(place);
            let relocations = Vec::new();
            self.cubin.variables.push(GlobalVariable {
                section: space,
                has_content,
                offset,
                name,
                binding,
                size,
                align,
                bytes,
                relocations,
            });
        }
        self.sort_variables();
        Ok(())
    }

    /// Keeps the symbol of a variable in shared memory, which only debug information names.
    fn other_symbol(&mut self, index: usize, symbol: &Sym64<LE>, section: &[u8]) -> Result<()> {
        if [&b".nv.shared."[..], b".nv_debug"].iter().any(|start| section.starts_with(start)) {
            let name = self.text(self.symbol_name(index)?)?;
            let section = self.text(section)?;
            let (value, size) = (symbol.st_value(LE), symbol.st_size(LE));
            self.cubin.symbols.push(KeptSymbol { name, section, value, size, binding: binding(symbol) });
        }
        Ok(())
    }

    /// Sorts variables by section and offset, and updates the indices that sections refer to them
    /// by.
    fn sort_variables(&mut self) {
        let mut variables: Vec<_> =
            std::mem::take(&mut self.cubin.variables).into_iter().enumerate().collect();
        variables.sort_by(|(_, a), (_, b)| {
            (a.section, !a.has_content, a.offset, &a.name).cmp(&(
                b.section,
                !b.has_content,
                b.offset,
                &b.name,
            ))
        });
        let mut moved = vec![0; variables.len()];
        for (new, (old, _)) in variables.iter().enumerate() {
            moved[*old] = new;
        }
        for places in self.places.variables.values_mut() {
            places.iter_mut().for_each(|(_, index)| *index = moved[*index]);
            places.sort_unstable();
        }
        self.cubin.variables = variables.into_iter().map(|(_, variable)| variable).collect();
    }

    /// Reads the names of textures, samplers and surfaces.
    fn images(&mut self) -> Result<()> {
        let found: Vec<(usize, ImageKind)> = self
            .symbols
            .iter()
            .enumerate()
            .filter(|(_, symbol)| symbol.st_bind() != object::elf::STB_LOCAL)
            .filter_map(|(index, symbol)| Some((index, image_of_kind(symbol.st_type())?)))
            .collect();
        for (index, kind) in found {
            self.spend(size_of::<Image>())?;
            let name = self.symbol_name(index)?;
            let name = self.text(name)?;
            self.cubin.images.push(Image { name, kind });
        }
        Ok(())
    }

    /// Reads the relocations of the loaded sections and of the line table.
    fn relocations(&mut self) -> Result<()> {
        for (_, section) in self.all_sections() {
            let target = section.sh_info(LE) as usize;
            let malformed = |error: object::Error| CubinError::malformed(format!("relocations: {error}"));
            if let Some((entries, _)) = section.rela(LE, self.data).map_err(malformed)? {
                for entry in entries {
                    let symbol = entry.r_sym(LE, false);
                    let (at, addend) = (entry.r_offset(LE), entry.r_addend(LE));
                    self.relocation(target, at, entry.r_type(LE, false), symbol, addend)?;
                }
            } else if let Some((entries, _)) = section.rel(LE, self.data).map_err(malformed)? {
                for entry in entries {
                    self.relocation(target, entry.r_offset(LE), entry.r_type(LE), entry.r_sym(LE), 0)?;
                }
            }
        }
        let sorted = |list: &mut Vec<Relocation>| list.sort_unstable();
        self.cubin.functions.iter_mut().for_each(|function| {
            sorted(&mut function.relocations);
            function.banks.iter_mut().for_each(|bank| sorted(&mut bank.relocations));
        });
        self.cubin.variables.iter_mut().for_each(|variable| sorted(&mut variable.relocations));
        sorted(&mut self.cubin.addresses);
        Ok(())
    }

    fn relocation(&mut self, target: usize, at: u64, kind: u32, symbol: u32, addend: i64) -> Result<()> {
        if let Some(&function) = self.places.code.get(&target) {
            let relocation = self.resolved(at, kind, symbol, addend)?;
            self.cubin.functions[function].relocations.push(relocation);
        } else if let Some(&(function, bank)) = self.places.banks.get(&target) {
            let relocation = self.resolved(at, kind, symbol, addend)?;
            self.cubin.functions[function].banks[bank].relocations.push(relocation);
        } else if let Some(places) = self.places.variables.get(&target) {
            let next = places.partition_point(|(offset, _)| *offset <= at);
            let holder = next.checked_sub(1).map(|before| places[before].1);
            let inside = holder.filter(|&index| {
                let variable = &self.cubin.variables[index];
                at - variable.offset < variable.size
            });
            let Some(index) = inside else {
                return Err(CubinError::malformed(format!("a relocation at {at:#x}, where no variable is")));
            };
            let within = at - self.cubin.variables[index].offset;
            let relocation = self.resolved(within, kind, symbol, addend)?;
            self.cubin.variables[index].relocations.push(relocation);
        } else if let Some(&section) = self.places.debug.get(&target) {
            let Relocation { kind, target, .. } = self.resolved(at, kind, symbol, addend)?;
            let relocation = KeptRelocation { at, kind: kind.0, symbol: target, addend };
            if self.debug[section].name == LINE_TABLE {
                // A loader or debugger decides where the rows of an unknown place are.
                self.line_starts.extend(self.line_start(at, symbol, addend));
            }
            self.debug[section].relocations.push(relocation);
        } else if let Ok(section) = self.sections.section(SectionIndex(target))
            && self.section_name(section)? == b".nv.constant4"
        {
            let relocation = self.resolved(at, kind, symbol, addend)?;
            self.cubin.addresses.push(relocation);
        }
        Ok(())
    }

    /// The place in the code at which a sequence of the line table starts.
    fn line_start(&self, at: u64, symbol: u32, addend: i64) -> Option<line::Start> {
        let symbol = self.symbols.symbol(SymbolIndex(symbol as usize)).ok()?;
        let function = *self.places.code.get(&usize::from(symbol.st_shndx(LE)))?;
        let offset = u32::try_from(symbol.st_value(LE).wrapping_add_signed(addend)).ok()?;
        Some(line::Start { at, function, offset })
    }

    fn resolved(&mut self, at: u64, kind: u32, symbol: u32, addend: i64) -> Result<Relocation> {
        self.spend(size_of::<Relocation>())?;
        // Some relocations of objects change an instruction and name no symbol.
        let name = if symbol == 0 { b"" } else { self.symbol_name(symbol as usize)? };
        let target = self.text(name)?;
        Ok(Relocation { at, kind: RelocationKind(kind), target, addend })
    }

    /// Reads the line table.
    fn lines(&mut self) -> Result<()> {
        let Some(place) = self.debug.iter().position(|section| section.name == LINE_TABLE) else {
            return Ok(());
        };
        let table = line::read(&self.debug[place].bytes, &self.line_starts)?;
        self.cubin.files = table.files;
        for (function, line) in table.lines {
            let Some(function) = self.cubin.functions.get_mut(function) else { continue };
            if line.offset as usize >= function.code.len() {
                return Err(CubinError::malformed(format!("a line beyond the code of `{}`", function.name)));
            }
            function.lines.push(line);
        }
        for function in &mut self.cubin.functions {
            function.lines.sort_by_key(|line| line.offset);
        }
        // A table is kept as it is only if the lines do not say all of it.
        let lines = line::of_functions(&self.cubin.functions);
        let again = line::write(&self.cubin.files, &lines);
        if !lines.is_empty() && again.is_ok_and(|(bytes, _)| bytes == self.debug[place].bytes) {
            self.debug.remove(place);
        }
        Ok(())
    }
}

/// How other files see a symbol.
fn binding(symbol: &Sym64<LE>) -> Binding {
    match symbol.st_bind() {
        object::elf::STB_LOCAL => Binding::Local,
        object::elf::STB_WEAK => Binding::Weak,
        _ => Binding::Global,
    }
}

/// The name of the section with the line table.
pub(super) const LINE_TABLE: &str = ".debug_line";
