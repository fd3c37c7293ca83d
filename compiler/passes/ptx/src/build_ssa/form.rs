//! One instruction as the families see it: mnemonic, types, and modifiers to be taken one by one.

use std::cell::Cell;

use ptxc_syntax::ast::{Opcode, Operand};
use smallvec::SmallVec;

use super::scalar::Scalar;

/// Says that the instruction can't be lowered yet; the caller names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unsupported;

/// What the translation of an instruction or of a part of it gives.
pub(super) type Translated<T = ()> = Result<T, Unsupported>;

/// An opcode taken apart: what is the same for all instructions that have it.
pub(super) struct Parts<'a> {
    mnemonic: &'a str,
    types: SmallVec<[Scalar; 3]>,
    modifiers: Vec<&'a str>,
    /// The number of the family that translates it, once one has.
    pub family: Cell<Option<usize>>,
}

impl<'a> Parts<'a> {
    fn of(opcode: &'a Opcode) -> Parts<'a> {
        let (mut types, mut modifiers) = (SmallVec::new(), Vec::new());
        for part in opcode.modifiers() {
            match Scalar::parse(part) {
                Some(scalar) => types.push(scalar),
                None => modifiers.push(part),
            }
        }
        Parts { mnemonic: opcode.mnemonic(), types, modifiers, family: Cell::new(None) }
    }
}

/// The opcodes of a function, taken apart once each.
#[derive(Default)]
pub(super) struct Opcodes<'a> {
    list: Vec<Parts<'a>>,
}

impl<'a> Opcodes<'a> {
    /// The parts of the next instruction's opcode, which has that number among those so far; a new one has the next number. Behind an
    /// instruction whose number is not known none is.
    pub fn get(&mut self, number: Option<usize>, opcode: &'a Opcode) -> &Parts<'a> {
        let number = number.filter(|&number| number < self.list.len()).unwrap_or_else(|| {
            self.list.push(Parts::of(opcode));
            self.list.len() - 1
        });
        &self.list[number]
    }
}

/// The most modifiers of an opcode that can be translated.
const MOST_MODIFIERS: usize = u64::BITS as usize;

/// An instruction with its opcode taken apart.
///
/// A family takes the modifiers that it understands. What nobody took in the end makes the instruction
/// unsupported, so that no modifier is ever dropped silently.
pub(super) struct Form<'a> {
    /// The first part of the opcode.
    pub mnemonic: &'a str,
    /// The types in the order written.
    pub types: &'a [Scalar],
    /// The operands in the order written.
    pub operands: &'a [Operand],
    /// What all instructions with the opcode have in common.
    pub parts: &'a Parts<'a>,
    /// A bit for each of the modifiers that nobody has taken.
    left: u64,
}

impl<'a> Form<'a> {
    pub fn new(parts: &'a Parts<'a>, operands: &'a [Operand]) -> Form<'a> {
        let left = u64::MAX.checked_shr((MOST_MODIFIERS - parts.modifiers.len().min(MOST_MODIFIERS)) as u32);
        Form { mnemonic: parts.mnemonic, types: &parts.types, operands, parts, left: left.unwrap_or(0) }
    }

    /// Takes the first modifier for which `read` has a meaning.
    pub fn read<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let mut rest = self.left;
        while rest != 0 {
            if let Some(meaning) = read(self.parts.modifiers[rest.trailing_zeros() as usize]) {
                self.left &= !(rest & rest.wrapping_neg());
                return Some(meaning);
            }
            rest &= rest - 1;
        }
        None
    }

    /// Takes a modifier, if it is there.
    pub fn take(&mut self, modifier: &str) -> bool {
        self.read(|part| (part == modifier).then_some(())).is_some()
    }

    /// Takes the first modifier that the table has a meaning for.
    pub fn choose<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        if self.left == 0 {
            return None;
        }
        table.iter().find(|(name, _)| self.take(name)).map(|&(_, meaning)| meaning)
    }

    /// Whether every modifier was taken.
    pub fn is_done(&self) -> bool {
        self.left == 0 && self.parts.modifiers.len() <= MOST_MODIFIERS
    }

    /// The only type.
    pub fn ty(&self) -> Translated<Scalar> {
        match *self.types {
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
