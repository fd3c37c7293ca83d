//! Renaming of virtual registers: a rule records each replacement of a register here, and applies
//! all of them in one walk.
//!
//! ```text
//! %r5 -> %r3, %r7 -> %r9.1     IADD3 %r8, %r5, %r7, RZ   =>   IADD3 %r8, %r3, %r9.1, RZ
//! ```
//!
//! Names are by component, and chains are followed. Cost: linear in the function.
use rustc_hash::FxHashMap;

use super::{EdgeArg, Mir, Tuple, VReg};

/// New names for components.
#[derive(Clone, Debug, Default)]
pub struct Renames(FxHashMap<VReg, VReg>);

impl Renames {
    /// Replaces `width` components from `from` on by those from `to` on.
    pub fn add(&mut self, from: VReg, to: VReg, width: u8) {
        for n in 0..width {
            self.0.insert(from.offset(n), to.offset(n));
        }
    }

    /// Whether there is nothing to rename.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The last name of a component.
    pub fn get(&self, reg: VReg) -> VReg {
        let mut reg = reg;
        while let Some(&next) = self.0.get(&reg) {
            reg = next;
        }
        reg
    }

    /// Renames everything in a function, definitions included.
    pub fn apply(&self, mir: &mut Mir<VReg>) {
        if self.is_empty() {
            return;
        }
        for &block in &mir.layout {
            let data = &mut mir.blocks[block];
            for param in &mut data.params {
                *param = Tuple { reg: self.get(param.reg), ..*param };
            }
            for inst in &mut data.insts {
                ptxc_interrupt::poll();
                inst.rename(|reg| self.get(reg));
            }
            if let Some(selector) = data.term.selector_mut() {
                *selector = self.get(*selector);
            }
            for edge in data.term.edges_mut() {
                for arg in &mut edge.args {
                    if let EdgeArg::Reg(reg) = arg {
                        *reg = self.get(*reg);
                    }
                }
            }
        }
    }
}
