//! The parts of a file that a program keeps without using them: debug sections, attributes, and the
//! places of variables in the file.
//!
//! A disassembler fills a [`Kept`], the text shows it, and an assembler writes it again. A program
//! of the compiler has an empty one.

use std::collections::BTreeMap;

use crate::image_kind::ImageKind;

/// The kept parts of a file; all programs of the file share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Whether the file is an object for a linker instead of a program.
    pub relocatable: bool,
    /// Its debug sections that are not interpreted.
    pub sections: Vec<DebugSection>,
    /// The places of variables in the file, by name.
    pub homes: BTreeMap<String, Home>,
    /// The addresses in constant bank 4 that do not belong to a variable of the file.
    pub addresses: Vec<KeptRelocation>,
    /// Attributes of the whole file.
    pub attributes: Vec<Attribute>,
    /// Attributes about the architectures that can run it.
    pub compatibility: Vec<Attribute>,
    /// Symbols of variables in shared memory, which only debug information names.
    pub symbols: Vec<KeptSymbol>,
    /// Textures, samplers and surfaces that no kernel names, or whose addresses variables hold.
    pub images: Vec<(ImageKind, String)>,
    /// Attributes of kernels and functions, by name.
    pub kernels: BTreeMap<String, Notes>,
}

/// A debug section that is kept as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugSection {
    /// Its name, such as `.nv_debug_ptx_txt`.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The number of its zeros that are not in the file.
    pub zeros: u64,
    /// The addresses in it.
    pub relocations: Vec<KeptRelocation>,
}

/// A relocation that is kept as it is, in a debug section or in code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRelocation {
    /// Its offset in bytes.
    pub at: u64,
    /// The kind, by its number in ELF.
    pub kind: u32,
    /// The symbol.
    pub symbol: String,
    /// The number that is added to the address of the symbol.
    pub addend: i64,
}

impl KeptRelocation {
    /// The kind of a relocation that writes the place of a word of constant bank 0 into an access to a
    /// texture or surface. The linker makes the word and lets the driver write the number of the texture,
    /// sampler or surface there.
    pub const IMAGE_WORD: u32 = 65;
    /// The same in another instruction that reads a word of the bank.
    pub const LOADED_IMAGE_WORD: u32 = 66;
    /// The kind of a relocation that writes the 64 bits of an address.
    pub const ADDRESS: u32 = 2;

    /// Whether it writes the whole address of the symbol.
    pub fn is_whole(&self) -> bool {
        self.kind == KeptRelocation::ADDRESS && self.addend == 0
    }
}

/// The place of a variable in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Home {
    /// Whether the file has its content; only for global memory, because constants always have it.
    pub has_content: bool,
    /// Its offset among the global variables with or without content; `None` for a constant, whose
    /// place is its offset.
    pub offset: Option<u64>,
    /// Whether constant bank 4 holds its address.
    pub has_address: bool,
    /// How other files see it.
    pub binding: Binding,
}

/// A symbol of a variable that code does not name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptSymbol {
    /// Its name.
    pub name: String,
    /// The name of its section.
    pub section: String,
    /// Its offset in the section.
    pub value: u64,
    /// Its size in bytes.
    pub size: u64,
    /// How other files see it.
    pub binding: Binding,
}

/// How other files see a variable or function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Binding {
    /// Not at all.
    Local,
    /// By its name.
    #[default]
    Global,
    /// By its name, unless another file defines that name.
    Weak,
}

/// The attributes of a kernel or function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Attributes that do not depend on places in the code.
    pub attributes: Vec<Attribute>,
    /// Marks of instructions, by ascending index.
    pub marks: Vec<Mark>,
    /// How other files see it.
    pub binding: Binding,
    /// The alignment of its shared memory in bytes, or 0 if the file has no section for it; `None`
    /// if the code and its resources tell.
    pub shared_align: Option<u64>,
}

/// An attribute by its code in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its code.
    pub code: u8,
    /// Its value.
    pub value: AttributeValue,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeValue {
    /// The file lacks the attribute.
    Absent,
    /// No value.
    None,
    /// Eight bits.
    Byte(u8),
    /// Sixteen bits.
    Half(u16),
    /// Words.
    Words(Vec<u32>),
    /// Bytes whose number is not a multiple of four.
    Bytes(Vec<u8>),
    /// The names of symbols.
    Symbols(Vec<String>),
    /// A symbol and a word.
    Of(String, u32),
    /// The number of a parameter, and the facts about it besides its place and size.
    Parameter(u32, u32),
}

/// A mark of an instruction: an entry of an attribute that lists places in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The code of the attribute.
    pub code: u8,
    /// The index of the instruction.
    pub inst: u32,
    /// The words after the place.
    pub words: Vec<u32>,
}
