//! Variables of the module: the content of constant banks 3 and 4 and of global memory when a grid
//! starts.
//!
//! A program reads a constant variable at its place in bank 3. The address of a global variable is
//! at the variable's place in bank 4, where the loader writes it.

/// The most bytes of variables in global memory: the address space of the machine.
pub const MOST_BYTES: u64 = 1 << 47;

/// The section of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Section {
    /// Constant bank 3.
    Constant,
    /// Global memory.
    Global,
    /// Outside of the module: a function that another module or the driver defines. The module has
    /// only its address.
    External,
    /// The shared memory of a CTA, in an object, whose linker places the variable.
    Shared,
}

/// A variable of the module.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variable {
    /// Its section.
    pub section: Section,
    /// The offset of a constant in bank 3, or else that of the address in bank 4, in bytes.
    pub place: u32,
    /// Its PTX name.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u32,
    /// Its first bytes at the start; the rest is zero.
    pub bytes: Vec<u8>,
    /// Addresses in it, by ascending offset.
    pub pointers: Vec<Pointer>,
}

impl Variable {
    /// A function that another module or the driver defines, with the place of its address in bank
    /// 4, in bytes.
    pub fn external(name: impl Into<String>, place: u32) -> Variable {
        let (bytes, pointers) = Default::default();
        Variable { section: Section::External, place, name: name.into(), size: 0, align: 1, bytes, pointers }
    }
}

/// The address of a variable or function in the content of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer {
    /// Offset in the variable that holds it, in bytes.
    pub at: u32,
    /// Its size in bytes: 8, 4, or 1 for a single byte of it.
    pub bytes: u8,
    /// The number of bits by which the address is first shifted to the right.
    pub shift: u8,
    /// The name of its target.
    pub target: String,
    /// Whether it is a generic address instead of one in the target's space.
    pub generic: bool,
    /// The number that is added to the address.
    pub addend: i64,
}

/// The variables of several programs of one module: each once, by section and place.
pub fn union<'a>(programs: impl IntoIterator<Item = &'a [Variable]>) -> Vec<&'a Variable> {
    let mut all: Vec<&Variable> = programs.into_iter().flatten().collect();
    all.sort_unstable();
    all.dedup();
    all
}
