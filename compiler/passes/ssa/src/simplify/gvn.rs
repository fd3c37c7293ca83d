//! Global value numbering: of two equal computations, removes the second if the first dominates it.
//!
//! In: a function. Out: the same function, with the results of such instructions renamed to those
//! of the first.
//!
//! ```text
//! block0:                          block0:
//!     v2 = iadd.b32 v0, v1             v2 = iadd.b32 v0, v1
//!     jump block1                =>    jump block1
//! block1:                          block1:
//!     v3 = iadd.b32 v1, v0             store.global.b32 [v4], v2
//!     store.global.b32 [v4], v3
//! ```
//!
//! Two instructions are equal if their operations, types and (renamed) arguments are equal. Pure
//! operations take part, and weak loads of memory that is not written while the kernel runs:
//! constants, parameters, and `.nc` loads. Convergent operations never take part.
//!
//! One walk over the dominator tree in preorder with one hash table. An entry whose block does not
//! dominate the present block never will again, and is dropped when it is found (dominator-based
//! value numbering, Briggs, Cooper and Simpson, "Value Numbering", 1997). Linear except for the
//! tree.

use std::hash::{Hash, Hasher};

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use ptxc_ir::{Block, CacheOp, Function, Inst, InstData, Op, Order, Type, Value};
use rustc_hash::FxHasher;

use super::fold::is_commutative;
use crate::analyses::Analyses;

/// Name of the pass.
pub const NAME: &str = "gvn";

/// Merges equal computations; returns whether there were any.
pub fn gvn(func: &mut Function, known: &mut Analyses) -> bool {
    let (cfg, dominators) = (known.cfg(func), known.dominators(func));
    let mut table = Table::new(cfg.rpo().iter().map(|&block| func.blocks[block].insts.len()).sum());
    let mut renamed: SecondaryMap<Value, PackedOption<Value>> = SecondaryMap::new();
    let mut changed = false;
    for block in dominators.preorder() {
        let mut insts = std::mem::take(&mut func.blocks[block].insts);
        let mut kept = 0;
        for at in 0..insts.len() {
            if at % 64 == 63 {
                ptxc_interrupt::poll();
            }
            let inst = insts[at];
            if changed {
                let data = &mut func.insts[inst];
                let rename = |arg: &mut Value| *arg = renamed[*arg].expand().unwrap_or(*arg);
                data.args.iter_mut().for_each(rename);
                for target in &mut data.targets {
                    target.args.iter_mut().for_each(rename);
                }
            }
            let data = &func.insts[inst];
            if is_repeatable(&data.op) {
                let entry = table.entry(func, &Key::of(data));
                match entry.inst.expand() {
                    Some(first) if entry.home == block || dominators.dominates(entry.home, block) => {
                        if !changed {
                            renamed.resize(func.num_values());
                        }
                        for (&result, &by) in func.results(inst).iter().zip(func.results(first)) {
                            renamed[result] = by.into();
                        }
                        changed = true;
                        continue;
                    }
                    _ => (entry.inst, entry.home) = (inst.into(), block),
                }
            }
            insts[kept] = inst;
            kept += 1;
        }
        insts.truncate(kept);
        func.blocks[block].insts = insts;
        ptxc_interrupt::poll();
    }
    // Definitions come before uses, except in unreachable code.
    if changed && cfg.rpo().len() < func.layout.len() {
        func.rewrite_uses(|value| renamed[value].expand().unwrap_or(value));
    }
    changed
}

/// The key that equal instructions share: operation, type and arguments. The first two arguments
/// are sorted if they may be swapped.
#[derive(PartialEq)]
struct Key<'a> {
    op: Op,
    ty: Type,
    arity: usize,
    first: [Value; 2],
    args: &'a [Value],
}

impl Key<'_> {
    #[inline]
    fn of(data: &InstData) -> Key<'_> {
        let (op, ty, arity) = (data.op, data.ty, data.args.len());
        match data.args[..] {
            [a, b] if b < a && (is_commutative(&op) || matches!(op, Op::Icmp(_))) => {
                let op = if let Op::Icmp(condition) = op { Op::Icmp(condition.swap()) } else { op };
                Key { op, ty, arity, first: [b, a], args: &[] }
            }
            [a, b, ref args @ ..] => Key { op, ty, arity, first: [a, b], args },
            [a] => Key { op, ty, arity, first: [a; 2], args: &[] },
            [] => Key { op, ty, arity, first: [Value::from_u32(0); 2], args: &[] },
        }
    }

    fn hash(&self) -> u32 {
        let mut hasher = FxHasher::default();
        self.op.hash(&mut hasher);
        let [a, b] = self.first;
        hasher.write_u64(u64::from(a.as_u32()) << 32 | u64::from(b.as_u32()));
        self.args.iter().for_each(|arg| hasher.write_u32(arg.as_u32()));
        // The type hardly ever makes a difference, so it is not hashed.
        hasher.finish() as u32
    }
}

/// A computation that the walk has passed: the instruction and its block. Equal computations have
/// equal hashes.
#[derive(Clone)]
struct Entry {
    inst: PackedOption<Inst>,
    home: Block,
    hash: u32,
}

/// A hash table with linear probing. The keys are in the function, so an entry takes three words.
struct Table {
    places: Vec<Entry>,
}

impl Table {
    /// Has at least twice as many entries as there are instructions.
    fn new(insts: usize) -> Table {
        let none = Entry { inst: None.into(), home: Block::from_u32(0), hash: 0 };
        Table { places: vec![none; (2 * insts).next_power_of_two()] }
    }

    /// The entry of a key: that of an equal instruction, or a free one, which the caller fills.
    fn entry(&mut self, func: &Function, key: &Key<'_>) -> &mut Entry {
        let hash = key.hash();
        let mask = self.places.len() - 1;
        let mut place = hash as usize & mask;
        while let Some(other) = self.places[place].inst.expand() {
            if self.places[place].hash == hash && Key::of(&func.insts[other]) == *key {
                break;
            }
            place = (place + 1) & mask;
        }
        let entry = &mut self.places[place];
        entry.hash = hash;
        entry
    }
}

/// Whether a second execution gives the same results as the first, whatever happens in between.
pub(super) fn is_repeatable(op: &Op) -> bool {
    match op {
        // The most frequent operations first.
        Op::Const(_) | Op::Iadd | Op::Imul | Op::Fadd(_) | Op::Fmul(_) | Op::Ffma(_) | Op::Icmp(_) => true,
        Op::Store(_) => false,
        Op::Load(access) if access.order == Order::Weak => access.cache == CacheOp::Nc || !op.effects().reads,
        _ => op.effects().is_pure(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simplify::testing::{check, check_unchanged};

    #[test]
    fn along_the_dominator_tree_only() {
        check(
            gvn,
            "block0:\n v0 = param.b32 +0\n v1 = param.b32 +0\n v2 = undef.pred\n v3 = iadd.b32 v0, v1\n\
             brif v2, block1, block2\n\
             block1:\n v4 = iadd.b32 v1, v0\n v5 = ineg.b32 v4\n jump block3(v5)\n\
             block2:\n v6 = ineg.b32 v3\n jump block3(v6)\n\
             block3(v7: b32):\n v8 = ineg.b32 v3\n v9 = icmp.slt.b32 v7, v8\n v10 = icmp.sgt.b32 v8, v7\n\
             brif v10, block4, block5\nblock4:\n exit\nblock5:\n exit",
            "block0:\n v0 = param.b32 +0\n v2 = undef.pred\n v3 = iadd.b32 v0, v0\n\
             brif v2, block1, block2\n\
             block1:\n v5 = ineg.b32 v3\n jump block3(v5)\n\
             block2:\n v6 = ineg.b32 v3\n jump block3(v6)\n\
             block3(v7: b32):\n v8 = ineg.b32 v3\n v9 = icmp.slt.b32 v7, v8\n\
             brif v9, block4, block5\nblock4:\n exit\nblock5:\n exit",
        );
    }

    #[test]
    fn memory_and_convergence_stay() {
        check_unchanged(
            gvn,
            "block0:\n v0 = param.b64 +0\n v1 = load.global.b32 [v0]\n v2 = load.global.b32 [v0]\n\
             v3 = activemask\n v4 = activemask\n v5 = sreg.b32 clock\n v6 = sreg.b32 clock\n exit",
        );
    }

    #[test]
    fn read_only_loads_merge() {
        check(
            gvn,
            "block0:\n v0 = param.b64 +0\n v1 = load.global.nc.b32 [v0]\n v2 = load.global.nc.b32 [v0]\n\
             store.global.b32 [v0], v2\n exit",
            "block0:\n v0 = param.b64 +0\n v1 = load.global.nc.b32 [v0]\n\
             store.global.b32 [v0], v1\n exit",
        );
    }
}
