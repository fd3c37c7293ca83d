//! The checker's numbering of the components of the input's virtual registers.

use std::ops::Range;

use cranelift_entity::EntityRef;

use crate::mir::{Mir, VReg};

/// Numbers for components, in the order of their registers.
pub(super) struct Components {
    /// The number of the first component of each virtual register.
    first: Vec<u32>,
    /// By component, whether it is a predicate.
    pub is_predicate: Vec<bool>,
}

impl Components {
    /// Numbers the components of a function.
    pub fn new(input: &Mir<VReg>) -> Components {
        let mut components = Components {
            first: Vec::with_capacity(input.vregs.len()),
            is_predicate: Vec::with_capacity(input.vregs.len()),
        };
        for data in input.vregs.values() {
            components.first.push(components.count());
            for _ in 0..data.width {
                components.is_predicate.push(data.file.is_predicate());
            }
        }
        components
    }

    /// The number of components.
    pub fn count(&self) -> u32 {
        self.is_predicate.len() as u32
    }

    /// The number of a component.
    pub fn number(&self, reg: VReg) -> u32 {
        self.first[reg.id().index()] + u32::from(reg.component())
    }

    /// The numbers of a component and its neighbours, `width` in all, or fewer if there are not so
    /// many.
    pub fn range(&self, reg: VReg, width: u8) -> Range<u32> {
        let start = self.number(reg);
        start..(start + u32::from(width)).min(self.count())
    }
}
