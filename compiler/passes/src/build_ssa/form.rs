//! One instruction as the families see it: mnemonic, types, and modifiers to be taken one by one.

use ptxc_syntax::ast::{Instruction, Operand};
use smallvec::SmallVec;

use super::scalar::Scalar;

/// Says that the instruction can't be lowered yet; the caller names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unsupported;

/// What the translation of an instruction or of a part of it gives.
pub(super) type Translated<T = ()> = Result<T, Unsupported>;

/// An instruction with its opcode taken apart.
///
/// A family takes the modifiers that it understands. What nobody took in the end makes the instruction
/// unsupported, so that no modifier is ever dropped silently.
pub(super) struct Form<'a> {
    /// The first part of the opcode.
    pub mnemonic: &'a str,
    /// The types in the order written.
    pub types: SmallVec<[Scalar; 3]>,
    /// The operands in the order written.
    pub operands: &'a [Operand],
    modifiers: SmallVec<[&'a str; 8]>,
}

impl<'a> Form<'a> {
    pub fn new(instruction: &'a Instruction) -> Form<'a> {
        let mut form = Form {
            mnemonic: instruction.opcode.mnemonic(),
            types: SmallVec::new(),
            operands: &instruction.operands,
            modifiers: SmallVec::new(),
        };
        for part in instruction.opcode.modifiers() {
            match Scalar::parse(part) {
                Some(scalar) => form.types.push(scalar),
                None => form.modifiers.push(part),
            }
        }
        form
    }

    /// Takes a modifier, if it is there.
    pub fn take(&mut self, modifier: &str) -> bool {
        match self.modifiers.iter().position(|&part| part == modifier) {
            Some(index) => {
                self.modifiers.remove(index);
                true
            }
            None => false,
        }
    }

    /// Takes the first modifier that the table has a meaning for.
    pub fn choose<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        table.iter().find(|(name, _)| self.take(name)).map(|&(_, meaning)| meaning)
    }

    /// Takes the first modifier for which `read` has a meaning.
    pub fn read<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let index = self.modifiers.iter().position(|part| read(part).is_some())?;
        read(self.modifiers.remove(index))
    }

    /// Whether every modifier was taken.
    pub fn is_done(&self) -> bool {
        self.modifiers.is_empty()
    }

    /// The only type.
    pub fn ty(&self) -> Translated<Scalar> {
        match self.types[..] {
            [ty] => Ok(ty),
            _ => Err(Unsupported),
        }
    }

    /// Operand number `index`, destinations first.
    pub fn operand(&self, index: usize) -> Translated<&'a Operand> {
        self.operands.get(index).ok_or(Unsupported)
    }

    /// Refuses the instruction unless it has `count` operands.
    pub fn expect_operands(&self, count: usize) -> Translated {
        if self.operands.len() == count { Ok(()) } else { Err(Unsupported) }
    }
}
