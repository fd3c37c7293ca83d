//! Operands that are known only when code is loaded: addresses of functions and variables in
//! instructions.
//!
//! Such an operand is an immediate of zero in its [instruction](crate::Inst), and code that is not
//! a loader treats it as one. The [program](crate::Program) has a list of the values that the
//! loader puts there.

use crate::operand::Label;

/// The symbol of the table of unified functions. A linker adds its address to each call through the address of
/// a function, which may also be a number in the table.
pub const FUNCTION_TABLE: &str = "__UFT_OFFSET";

/// The property of a symbol that is put into the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SymbolValue {
    /// Its address, in its own space.
    Address,
    /// The address of the descriptor through which a function is called.
    Descriptor,
    /// The number of a function in the table of unified functions.
    Unified,
}

/// The bits of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SymbolBits {
    /// Bits 0 to 31, of a value that may have more.
    Low,
    /// Bits 32 to 63.
    High,
    /// The whole value, which has no more than 32 bits.
    Word,
    /// The whole value, which has no more than 24 bits.
    Short24,
    /// The whole value, which has no more than 16 bits.
    Short16,
    /// The address that a call goes to, as many bits of it as the field holds.
    Target,
}

impl SymbolBits {
    /// These bits of a value, moved to the lower end; `None` if the value has bits beyond those
    /// that it may have.
    pub fn of(self, value: u64) -> Option<u32> {
        let within = |bits: u32| u32::try_from(value).ok().filter(|value| u64::from(*value) >> bits == 0);
        match self {
            SymbolBits::Low => Some(value as u32),
            SymbolBits::High => Some((value >> 32) as u32),
            SymbolBits::Word | SymbolBits::Target => within(32),
            SymbolBits::Short24 => within(24),
            SymbolBits::Short16 => within(16),
        }
    }
}

/// A number that is added to the address of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Addend {
    /// This number of bytes.
    Bytes(i64),
    /// The distance of the label from the start of the program that the symbol names.
    Label(Label),
}

/// A value that a loader knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Symbol {
    /// The name of a function or variable, of the file or of another.
    pub name: String,
    /// The number that is added.
    pub addend: Addend,
    /// The property of the symbol.
    pub value: SymbolValue,
    /// The bits of the value.
    pub bits: SymbolBits,
}

/// An operand that the loader fills in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodeRelocation {
    /// The index of the instruction.
    pub inst: u32,
    /// The slot of the operand.
    pub slot: u8,
    /// The value that is put there.
    pub symbol: Symbol,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_whole_or_parts() {
        let value = 0x1234_5678_9abc;
        assert_eq!(SymbolBits::Low.of(value), Some(0x5678_9abc));
        assert_eq!(SymbolBits::High.of(value), Some(0x1234));
        assert_eq!(SymbolBits::Word.of(value), None);
        assert_eq!(SymbolBits::Word.of(0xffff_ffff), Some(0xffff_ffff));
        assert_eq!((SymbolBits::Short16.of(0x1_0000), SymbolBits::Short16.of(0xffff)), (None, Some(0xffff)));
        assert_eq!(SymbolBits::Short24.of(0x100_0000), None);
    }
}
