//! The symbols of a file: of its sections, functions and variables, and of what it leaves open.
//!
//! Linear in the number of symbols.

use ptxc_sass::kept::KeptSymbol;
use ptxc_sass::program::ImageKind;
use ptxc_sass::symbol::FUNCTION_TABLE;
use ptxc_sass::variable::Section as Space;

use super::{NOTE, PROGBITS, SHARED_SECTION, Writer, cuda, place};
use crate::cubin::contents::{Binding, OutsideVariable};
use crate::cubin::elf::{SectionId, Segment, Symbol, SymbolId};

const LOCAL_SECTION: u8 = object::elf::STT_SECTION;
const LOCAL_FUNCTION: u8 = object::elf::STT_FUNC;
const GLOBAL: u8 = object::elf::STB_GLOBAL << 4;
const GLOBAL_FUNCTION: u8 = GLOBAL | object::elf::STT_FUNC;
const GLOBAL_OBJECT: u8 = GLOBAL | object::elf::STT_OBJECT;
const WEAK_FUNCTION: u8 = object::elf::STB_WEAK << 4 | object::elf::STT_FUNC;
const WEAK_OBJECT: u8 = object::elf::STB_WEAK << 4 | object::elf::STT_OBJECT;

impl Writer<'_> {
    /// Adds the symbols: of sections and of the functions after kernels, then of kernels and
    /// variables.
    pub(super) fn name_symbols(&mut self) {
        let cubin = self.cubin;
        for number in 0..self.elf.sections.len() {
            let section = &self.elf.sections[number];
            let is_named =
                section.segment != Segment::None || section.kind == PROGBITS || section.kind == NOTE;
            if !is_named && section.kind != cuda::CALLGRAPH {
                continue;
            }
            let name = section.name.clone();
            let symbol = self.elf.local(Symbol {
                name: name.clone(),
                kind: LOCAL_SECTION,
                other: 0,
                section: Some(SectionId(number)),
                value: 0,
                size: 0,
            });
            if name.starts_with(".nv.constant0.") {
                self.banks.push(Some(symbol));
            }
            self.locals.insert(name, symbol);
        }
        let mut own = std::mem::take(&mut self.banks).into_iter();
        self.banks =
            cubin.functions.iter().map(|one| one.bank(0).and_then(|_| own.next().flatten())).collect();
        for (number, function) in cubin.functions.iter().enumerate() {
            let section = self.sections.get(&format!(".text.{}", function.name)).copied();
            for part in &function.parts {
                // Named as in the copies of NVIDIA's compiler: unique in the file, with the
                // kernel's name before the function's.
                let name = part_symbol(&function.name, &part.name);
                let symbol = self.elf.local(Symbol {
                    name: name.clone(),
                    kind: LOCAL_FUNCTION,
                    other: 0,
                    section,
                    value: u64::from(part.offset),
                    size: u64::from(part.size),
                });
                self.locals.insert(name, symbol);
            }
            for (kind, name) in function.params.iter().filter_map(|param| param.image.as_ref()) {
                let (name_of, kind) = (name.clone(), image_kind(*kind));
                let symbol = Symbol { name: name_of, kind, other: 0, section, value: 0, size: 0 };
                self.image_parameters.insert((number, name), self.elf.local(symbol));
            }
            let symbol = Symbol {
                name: function.name.clone(),
                kind: match function.binding {
                    Binding::Local => LOCAL_FUNCTION,
                    Binding::Global => GLOBAL_FUNCTION,
                    Binding::Weak => WEAK_FUNCTION,
                },
                other: if function.is_kernel { cuda::ENTRY } else { 0 },
                section,
                value: 0,
                size: function.code.len() as u64,
            };
            let symbol = match function.binding {
                Binding::Local => self.elf.local(symbol),
                _ => self.elf.global(symbol),
            };
            self.symbols.insert(function.name.clone(), symbol);
            self.kernels.push(symbol);
        }
        for variable in &cubin.variables {
            let section = match place(variable) {
                (Space::Constant, _) => ".nv.constant3",
                (Space::Global | Space::External, true) => ".nv.global.init",
                (Space::Global | Space::External, false) => ".nv.global",
                (Space::Shared, _) => SHARED_SECTION,
            };
            let (kind, other) = match (self.cubin.relocatable, variable.section) {
                (false, _) => (object_kind(variable.binding), 0),
                (true, Space::Constant) => (linked_kind(variable.binding), IN_CONSTANT),
                (true, Space::Shared) => (linked_kind(variable.binding), IN_SHARED),
                (true, _) => (linked_kind(variable.binding), IN_GLOBAL),
            };
            let symbol = Symbol {
                name: variable.name.clone(),
                kind,
                other,
                section: self.sections.get(section).copied(),
                // The linker wants to know the alignment of a variable without a place.
                value: if variable.section == Space::Shared { variable.align } else { variable.offset },
                size: variable.size,
            };
            let symbol = match variable.binding {
                Binding::Local => self.elf.local(symbol),
                _ => self.elf.global(symbol),
            };
            self.symbols.entry(variable.name.clone()).or_insert(symbol);
        }
    }

    /// Adds the textures, samplers and surfaces. The driver has them.
    pub(super) fn name_images(&mut self) {
        for image in &self.cubin.images {
            let (name, kind) = (image.name.clone(), GLOBAL | image_kind(image.kind));
            let symbol = self.elf.global(Symbol { name, kind, other: 0, section: None, value: 0, size: 0 });
            self.symbols.entry(image.name.clone()).or_insert(symbol);
        }
    }

    /// Adds the symbols that only debug information names.
    pub(super) fn name_other_symbols(&mut self) {
        for KeptSymbol { name, section, value, size, binding } in &self.cubin.symbols {
            let section = self.sections.get(section).copied();
            if section.is_none() || self.symbols.contains_key(name) {
                continue;
            }
            let kind = object_kind(*binding);
            let symbol = Symbol { name: name.clone(), kind, other: 0, section, value: *value, size: *size };
            let symbol = match binding {
                Binding::Local => self.elf.local(symbol),
                _ => self.elf.global(symbol),
            };
            self.symbols.insert(name.clone(), symbol);
        }
    }

    fn is_called(&self, name: &str) -> bool {
        !self.cubin.relocatable || self.cubin.outside.contains(name) || self.called.contains(name)
    }

    /// The symbol of a relocation's target; a name that the file does not define is left to the
    /// loader.
    pub(super) fn target(&mut self, name: &str) -> SymbolId {
        if let Some(&symbol) = self.symbols.get(name).or_else(|| self.locals.get(name)) {
            return symbol;
        }
        if name.is_empty() {
            return SymbolId::Null;
        }
        // A program leaves only functions of the system open, such as `vprintf`, and numbers of the
        // driver; an object also variables.
        let variable = self.cubin.outside_variables.get(name);
        let shared = variable.filter(|variable| variable.section == Space::Shared);
        let of_variable = |variable: &OutsideVariable| match variable.section {
            Space::Shared => (linked_kind(Binding::Global), IN_SHARED, 0),
            Space::Constant => (linked_kind(Binding::Global), IN_CONSTANT, variable.size),
            Space::Global | Space::External => (linked_kind(Binding::Global), IN_GLOBAL, variable.size),
        };
        let (kind, other, size) = match self.is_called(name) {
            _ if name == FUNCTION_TABLE => (WEAK_OBJECT, 0, 8),
            _ if name.starts_with(".nv.") => (WEAK_OBJECT, 0, NUMBER_BYTES),
            true if variable.is_none() => (GLOBAL_FUNCTION, 0, 0),
            _ => variable.map_or((linked_kind(Binding::Global), IN_GLOBAL, 0), of_variable),
        };
        let value = shared.map_or(0, |shared| shared.align).into();
        let name_of = name.to_string();
        let symbol = self.elf.global(Symbol { name: name_of, kind, other, section: None, value, size });
        self.symbols.insert(name.to_string(), symbol);
        symbol
    }
}

/// The symbol of a function after a kernel's code.
pub(in crate::cubin) fn part_symbol(kernel: &str, part: &str) -> String {
    // The names of these are unique in the file without the kernel's.
    if part.starts_with("$__internal_") {
        return part.to_string();
    }
    format!("${kernel}${part}")
}

/// The kinds of the symbols of textures, samplers and surfaces.
const TEXTURE: u8 = 10;
const SAMPLER: u8 = 11;
const SURFACE: u8 = 12;

/// The kind of the symbol of a texture, sampler or surface.
fn image_kind(kind: ImageKind) -> u8 {
    match kind {
        ImageKind::Texture => TEXTURE,
        ImageKind::Sampler | ImageKind::UpperSampler => SAMPLER,
        ImageKind::Surface => SURFACE,
    }
}

/// What a symbol of a kind is, if it is a texture, sampler or surface.
pub(in crate::cubin) fn image_of_kind(kind: u8) -> Option<ImageKind> {
    match kind {
        TEXTURE => Some(ImageKind::Texture),
        SAMPLER => Some(ImageKind::Sampler),
        SURFACE => Some(ImageKind::Surface),
        _ => None,
    }
}

/// The size of a number of the driver, such as `.nv.surfrefDescSize`.
const NUMBER_BYTES: u64 = 4;

/// The kind of a variable's symbol in an object, whose linker wants to know the memory that it is in.
const LINKED_OBJECT: u8 = 13;
/// That memory, in the symbol's other bits.
const IN_GLOBAL: u8 = 0x20;
const IN_SHARED: u8 = 0x40;
const IN_CONSTANT: u8 = 0x80;

/// The kind and the binding of a variable's symbol in an object.
fn linked_kind(binding: Binding) -> u8 {
    let binding = match binding {
        Binding::Local => object::elf::STB_LOCAL,
        Binding::Global => object::elf::STB_GLOBAL,
        Binding::Weak => object::elf::STB_WEAK,
    };
    binding << 4 | LINKED_OBJECT
}

/// The kind and the binding of a variable's symbol.
fn object_kind(binding: Binding) -> u8 {
    match binding {
        Binding::Local => object::elf::STT_OBJECT,
        Binding::Global => GLOBAL_OBJECT,
        Binding::Weak => WEAK_OBJECT,
    }
}
