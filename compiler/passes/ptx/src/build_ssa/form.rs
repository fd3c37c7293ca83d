//! One instruction as the families see it: its types, and its modifiers, which they take one by
//! one.

use ptxc_ir::matrix::Size;
use ptxc_syntax::ast::Operand;

use super::dialect::Dialect;
use crate::check::decoded::Decoded;
use crate::check::scalar::Scalar;
use crate::check::table::Modifier;
use crate::check::table::names::Class;

/// The instruction can't be lowered yet; the caller adds its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unsupported;

/// The result of translating an instruction or a part of it.
pub(super) type Translated<T = ()> = Result<T, Unsupported>;

/// An instruction with its opcode as the check decoded it.
///
/// A family takes the modifiers that it understands. If some modifiers are left in the end, the
/// instruction is unsupported, so no modifier is ever dropped silently.
pub(super) struct Form<'a> {
    /// The types in the order written.
    pub types: &'a [Scalar],
    /// The operands in the order written.
    pub operands: &'a [Operand],
    modifiers: &'a [Modifier],
    /// One bit for each modifier that has not been taken. The build script rejects rows with more
    /// modifiers than bits.
    left: u32,
    /// Whether numbers of single precision are flushed without `.ftz`.
    flushes: bool,
}

impl<'a> Form<'a> {
    /// `dialect` holds what the module's version and target make of its instructions.
    pub fn new(opcode: &'a Decoded, operands: &'a [Operand], dialect: Dialect) -> Form<'a> {
        let left = u32::MAX.checked_shr(u32::BITS - opcode.modifiers.len() as u32).unwrap_or(0);
        let flushes = dialect.flushes(opcode);
        Form { types: &opcode.types, operands, modifiers: &opcode.modifiers, left, flushes }
    }

    /// Takes the first modifier that `read` maps to a value.
    fn read<T>(&mut self, read: impl Fn(Modifier) -> Option<T>) -> Option<T> {
        let mut rest = self.left;
        while rest != 0 {
            if let Some(meaning) = read(self.modifiers[rest.trailing_zeros() as usize]) {
                self.left &= !(rest & rest.wrapping_neg());
                return Some(meaning);
            }
            rest &= rest - 1;
        }
        None
    }

    /// Takes a modifier, if it is there.
    pub fn take(&mut self, modifier: Modifier) -> bool {
        self.read(|other| (other == modifier).then_some(())).is_some()
    }

    /// Takes `.ftz`, if it is there. Returns whether the instruction flushes subnormal numbers: it
    /// says so, or its target has no others.
    pub fn flushes(&mut self) -> bool {
        self.take(Modifier::Ftz) || self.flushes
    }

    /// Takes the first modifier of a kind.
    pub fn choose<C: Class>(&mut self) -> Option<C> {
        self.read(C::of)
    }

    /// Takes the size of a product of matrices.
    pub fn size(&mut self) -> Option<Size> {
        self.read(|modifier| Size::parse(modifier.name()))
    }

    /// Whether every modifier was taken.
    pub fn is_done(&self) -> bool {
        self.left == 0
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

    /// Rejects the instruction unless it has `count` operands.
    pub fn expect_operands(&self, count: usize) -> Translated {
        if self.operands.len() == count { Ok(()) } else { Err(Unsupported) }
    }
}
