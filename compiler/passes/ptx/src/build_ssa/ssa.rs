//! Registers to values: SSA construction by dominance frontiers, on demand.
//!
//! The translator writes and reads registers while it fills blocks in source order. Blocks that
//! control enters only from the block before them form a chain. A read finds the last write in its
//! chain. If there is none, the read adds a placeholder, a parameter of the chain's first block
//! whose arguments are not known yet.
//!
//! After all blocks are filled, [`Ssa::finish`] resolves the placeholders of one register after
//! another ([`resolve`](super::resolve)). It then adds the arguments to the edges and renames the
//! placeholders that stand for other values.
//!
//! ```text
//! block0: r = v1; brif v0, block1, block2      block0: brif v0, block1, block2
//! block1: r = v2; jump block3                  block1: jump block3(v2)
//! block2: jump block3                    =>    block2: jump block3(v1)
//! block3: reads r: v3                          block3(v3): brif v4, block4, block5
//!         brif v4, block4, block5              block4: …          // v5 is v3
//! block4: reads r: v5
//! ```
//!
//! Cost: reads and writes take constant time. Resolving takes the reads, the writes and the
//! parameters with their arguments, times a logarithm; blocks through which a register is only live
//! cost nothing.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use ptxc_ir::{Block, Cfg, Dominators, Function, Type, Value};

use super::meetings::Meetings;
use super::resolve::{Access, Resolver, undef};
use crate::check::scope::Register;

/// How control reaches a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Above {
    /// From several blocks, or from later ones.
    Join,
    /// Only from this block, the last one of its chain.
    Single(Block),
    /// From these two blocks: the last block of a chain, and a short block after it that ends here
    /// or leaves the function.
    Around(Block, Block),
    /// The block is the entry.
    Nothing,
}

/// The place of a block in its chain.
#[derive(Clone, Copy, Default)]
struct Place {
    /// The first block of the chain; `None` if the block has not been entered.
    head: PackedOption<Block>,
    /// For a short block that control may bypass: the block where both ways meet, once that has
    /// been entered.
    meets_at: PackedOption<Block>,
}

/// The knowledge of the last chain that accessed a register.
#[derive(Clone, Copy)]
struct Variable {
    /// The block that has the value at its end.
    block: PackedOption<Block>,
    value: Value,
    /// Whether the block wrote the value; otherwise it has the value from its start.
    is_written: bool,
}

/// The state of the construction.
pub(super) struct Ssa {
    /// By register.
    variables: Vec<Variable>,
    places: SecondaryMap<Block, Place>,
    /// The last write of each block to a register, except for those in `variables`.
    writes: Vec<Access>,
    /// The placeholders, in the order of their creation.
    placeholders: Vec<Access>,
    /// The entry. It starts the only chain that needs no placeholders.
    entry: PackedOption<Block>,
}

impl Ssa {
    /// The construction of an empty function.
    pub fn new() -> Ssa {
        Ssa {
            variables: Vec::new(),
            places: SecondaryMap::new(),
            writes: Vec::new(),
            placeholders: Vec::new(),
            entry: None.into(),
        }
    }

    /// Starts a block. All later reads and writes are in this block, until the next one starts.
    pub fn enter(&mut self, block: Block, above: Above) {
        let head = match above {
            Above::Join => block.into(),
            Above::Nothing => {
                self.entry = block.into();
                block.into()
            }
            Above::Single(before) => self.places[before].head,
            Above::Around(before, short) => {
                self.places[short].meets_at = block.into();
                self.places[before].head
            }
        };
        self.places[block].head = head;
    }

    /// The place of a register in the list.
    fn variable(&mut self, register: Register) -> &mut Variable {
        let index = register.0 as usize;
        if self.variables.len() <= index {
            let none = Variable { block: None.into(), value: Value::from_u32(0), is_written: false };
            self.variables.resize(index + 1, none);
        }
        &mut self.variables[index]
    }

    /// Replaces the knowledge about a register; a write of another block moves to the list of
    /// writes.
    fn set(&mut self, register: Register, block: Block, value: Value, is_written: bool) {
        let new = Variable { block: block.into(), value, is_written };
        let old = std::mem::replace(self.variable(register), new);
        if let Some(before) = old.block.expand().filter(|&before| old.is_written && before != block) {
            self.writes.push(Access { register, block: before, value: old.value });
        }
    }

    /// Sets the value of a register from this point to the next write in the block.
    pub fn write(&mut self, block: Block, register: Register, value: Value) {
        self.set(register, block, value, true);
    }

    /// The value of a register at the end of the block as far as it is filled; `ty` is the
    /// register's type.
    pub fn read(&mut self, func: &mut Function, block: Block, register: Register, ty: Type) -> Value {
        let Place { head, .. } = self.places[block];
        let Variable { block: known, value, .. } = *self.variable(register);
        let mut at = head;
        if let Some(known) = known.expand() {
            let place = self.places[known];
            if place.head == head {
                match place.meets_at.expand() {
                    None => return value,
                    // Control may have bypassed the write.
                    Some(meeting) => at = meeting.into(),
                }
            }
        }
        let at = at.expand().unwrap_or(block);
        let value = if self.entry == at.into() {
            undef(func, ty)
        } else {
            let value = func.add_block_param(at, ty);
            self.placeholders.push(Access { register, block: at, value });
            value
        };
        self.set(register, at, value, false);
        value
    }

    /// Completes the function: all blocks of its layout are filled and reachable, and its edges
    /// have arguments only for parameters that the construction did not add.
    pub fn finish(mut self, func: &mut Function) {
        if self.placeholders.is_empty() {
            return;
        }
        for (number, variable) in (0..).zip(&self.variables) {
            if let Some(block) = variable.block.expand().filter(|_| variable.is_written) {
                self.writes.push(Access { register: Register(number), block, value: variable.value });
            }
        }
        let cfg = Cfg::compute(func);
        let meetings = Meetings::new(&cfg, &Dominators::compute(&cfg));
        let (names, arguments) = Resolver::new(func, meetings).resolve(&self.writes, &self.placeholders);
        for index in 0..func.layout.len() {
            ptxc_interrupt::poll();
            let block = func.layout[index];
            if func.blocks[block].params.iter().any(|&param| names.has(param)) {
                let params = func.blocks[block].params.clone();
                func.retain_block_params(block, |index| !names.has(params[index]));
            }
        }
        // The number of edges into each block that have their arguments. Edges come in the order in
        // which the graph lists them.
        let mut filled: SecondaryMap<Block, usize> = SecondaryMap::new();
        for &block in cfg.rpo() {
            ptxc_interrupt::poll();
            let Some(inst) = func.terminator(block) else { continue };
            for edge in &mut func.insts[inst].targets {
                let number = &mut filled[edge.block];
                let params = &func.blocks[edge.block].params;
                let known = edge.args.len();
                edge.args.extend(params[known..].iter().map(|&param| arguments.of(param, *number)));
                *number += 1;
            }
        }
        func.rewrite_uses(|value| names.last(value));
    }
}
