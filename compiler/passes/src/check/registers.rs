//! Which registers the operands of a function name, by the nodes of its tree.
//!
//! The check looks up every name; what it learns of registers on the way is kept for the construction of SSA, which would
//! have to look up all of them again. A name that is not here may mean anything, a register too.

use ptxc_syntax::NodeId;
use ptxc_syntax::ast::{Statement, Type};

use super::scope::Register;

/// The bits of a type in a place of the list.
const TYPE_BITS: u32 = 5;

/// Registers, no vectors, by the nodes that name them: operands, addresses, guards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// By node, the number of the register and its type; 0 where none is known.
    named: Vec<u32>,
    /// See [`count`](Self::count).
    count: u32,
}

impl Registers {
    /// Room for the nodes of a body.
    pub(super) fn of(body: &[Statement]) -> Registers {
        // The operands of the last statement, mostly a `ret`, may be looked up.
        let nodes = body.last().map_or(0, |last| last.id.0 as usize + 1);
        Registers { named: vec![0; nodes], count: 1 }
    }

    /// Enters what a node names.
    pub(super) fn set(&mut self, node: NodeId, register: Register, ty: Type) {
        if let Some(place) =
            self.named.get_mut(node.0 as usize).filter(|_| register.0 >> (32 - TYPE_BITS) == 0)
        {
            *place = register.0 << TYPE_BITS | ty as u32;
        }
    }

    /// Enters how many registers there are.
    pub(super) fn set_count(&mut self, count: u32) {
        self.count = count;
    }

    /// The register that a node names, and the type that it is declared with, if that is known.
    pub fn get(&self, node: NodeId) -> Option<(Register, Type)> {
        let place = *self.named.get(node.0 as usize)?;
        let ty = *Type::ALL.get((place & ((1 << TYPE_BITS) - 1)) as usize)?;
        // Declared registers have the numbers from 1 on.
        (place != 0).then_some((Register(place >> TYPE_BITS), ty))
    }

    /// One more than the greatest register.
    pub fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_name_what_was_entered() {
        let mut registers = Registers { named: vec![0; Type::ALL.len()], count: 1 };
        for (node, ty) in (0..).zip(Type::ALL) {
            assert_eq!(registers.get(NodeId(node)), None);
            registers.set(NodeId(node), Register(1 << 24 | node), ty);
        }
        for (node, ty) in (0..).zip(Type::ALL) {
            assert_eq!(registers.get(NodeId(node)), Some((Register(1 << 24 | node), ty)));
        }
        // What has no room, or is too large, is looked up.
        registers.set(NodeId(u32::MAX), Register(1), Type::B32);
        registers.set(NodeId(0), Register(1 << 27), Type::B64);
        assert_eq!(registers.get(NodeId(u32::MAX)), None);
        assert_eq!(registers.get(NodeId(0)), Some((Register(1 << 24), Type::B8)));
    }
}
