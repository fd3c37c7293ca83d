//! The meanings of the names and opcodes of a function: the check has found them, and later readers
//! of the text would otherwise have to find them again.
//!
//! The register that an operand names is stored under the node of the operand, so the construction
//! of SSA only looks up other names. Instructions with equally spelled opcodes share one number,
//! and the [decoded opcode](Decoded) is stored here once.

use ptxc_syntax::NodeId;
use ptxc_syntax::ast::{Statement, Type};

use super::decoded::Decoded;
use super::scope::Register;

/// The number of bits for the type in an entry of the list.
const TYPE_BITS: u32 = 5;

/// Registers by the nodes that name them, and opcodes by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// By node, the number of the register and its type; 0 if unknown.
    named: Vec<u32>,
    /// The number of each instruction's opcode.
    numbers: Vec<u32>,
    /// The opcodes by number; `None` for an opcode that is not a form of any instruction.
    opcodes: Vec<Option<Decoded>>,
    /// See [`register_count`](Self::register_count).
    register_count: u32,
}

impl Resolved {
    /// Room for the nodes of a body.
    pub(super) fn of(body: &[Statement]) -> Resolved {
        // The operands of the last statement, often a `ret`, may be looked up.
        let nodes = body.last().map_or(0, |last| last.id.0 as usize + 1);
        Resolved {
            named: vec![0; nodes],
            numbers: Vec::with_capacity(body.len()),
            opcodes: Vec::new(),
            register_count: 1,
        }
    }

    /// Enters the register that a node names.
    pub(super) fn set_register(&mut self, node: NodeId, register: Register, ty: Type) {
        let fits = register.0 >> (32 - TYPE_BITS) == 0;
        if let Some(place) = self.named.get_mut(node.0 as usize).filter(|_| fits) {
            *place = register.0 << TYPE_BITS | ty as u32;
        }
    }

    /// Enters the number of the next instruction's opcode.
    pub(super) fn add_opcode(&mut self, number: usize) {
        self.numbers.push(number as u32);
    }

    /// Enters the decoded opcodes, by number.
    pub(super) fn set_opcodes(&mut self, opcodes: Vec<Option<Decoded>>) {
        self.opcodes = opcodes;
    }

    /// Enters the number of registers.
    pub(super) fn set_register_count(&mut self, count: u32) {
        self.register_count = count;
    }

    /// The scalar register that an operand, address or guard names, with its declared type. A node
    /// without an entry may name a register, too.
    pub fn register(&self, node: NodeId) -> Option<(Register, Type)> {
        let place = *self.named.get(node.0 as usize)?;
        let ty = *Type::ALL.get((place & ((1 << TYPE_BITS) - 1)) as usize)?;
        // Declared registers are numbered from 1.
        (place != 0).then_some((Register(place >> TYPE_BITS), ty))
    }

    /// The opcode of an instruction of the body, if it is a form of any instruction.
    pub fn opcode(&self, instruction: usize) -> Option<&Decoded> {
        let number = *self.numbers.get(instruction)?;
        self.opcodes.get(number as usize)?.as_ref()
    }

    /// The opcodes of the body, each once.
    pub fn opcodes(&self) -> impl Iterator<Item = &Decoded> {
        self.opcodes.iter().flatten()
    }

    /// One more than the greatest register number.
    pub fn register_count(&self) -> u32 {
        self.register_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_name_the_entered_registers() {
        let mut resolved = Resolved { named: vec![0; Type::ALL.len()], ..Resolved::default() };
        for (node, ty) in (0..).zip(Type::ALL) {
            assert_eq!(resolved.register(NodeId(node)), None);
            resolved.set_register(NodeId(node), Register(1 << 24 | node), ty);
        }
        for (node, ty) in (0..).zip(Type::ALL) {
            assert_eq!(resolved.register(NodeId(node)), Some((Register(1 << 24 | node), ty)));
        }
        // A register that does not fit an entry is looked up instead.
        resolved.set_register(NodeId(u32::MAX), Register(1), Type::B32);
        resolved.set_register(NodeId(0), Register(1 << 27), Type::B64);
        assert_eq!(resolved.register(NodeId(u32::MAX)), None);
        assert_eq!(resolved.register(NodeId(0)), Some((Register(1 << 24), Type::B8)));
    }
}
