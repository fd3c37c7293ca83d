//! The instructions and modifiers of the table as enums.
//!
//! The build script makes them from the rows and from `modifiers.txt`, so a misspelt instruction or
//! modifier does not compile.
//!
//! ```text
//! mbarrier.test_wait.parity .sem:{acquire,relaxed}? …     Mnemonic::MbarrierTestWaitParity, Modifier::Acquire, …
//! Order = weak, relaxed, acquire, …                       enum Order { Weak, Relaxed, Acquire, … }
//! ```
//!
//! An instruction is a mnemonic with the words directly after it that all its forms have. A word
//! with alternatives or with a label is a modifier: `mul.{lo,hi}` and `mul.half:{wide}` are both
//! [`Mnemonic::Mul`].

/// A kind of modifiers.
pub trait Class: Copy {
    /// The modifier as one of this kind, if it is one.
    fn of(modifier: Modifier) -> Option<Self>;
}

include!(concat!(env!("OUT_DIR"), "/names.rs"));

#[cfg(test)]
impl Mnemonic {
    /// The instruction of that name. For rows that tests invent, any instruction, since no test
    /// asks for it.
    pub fn named(name: &str) -> Mnemonic {
        Mnemonic::ALL.iter().copied().find(|known| known.name() == name).unwrap_or(Mnemonic::Abs)
    }
}

#[cfg(test)]
impl Modifier {
    /// The modifier of that name; `None` for modifiers that tests invent.
    pub fn named(name: &str) -> Option<Modifier> {
        Modifier::ALL.iter().copied().find(|known| known.name() == name)
    }
}
