//! Global value numbering: of two equal computations, the one that dominates stays.
//!
//! The dominator tree is walked in preorder with a table from (operation, type, arguments) to the last
//! instruction that computes it; an instruction whose entry dominates it is renamed to that entry, else it
//! becomes the entry. Only pure operations take part, among them reads of parameters, constants and
//! special registers; what depends on the threads that execute together does not. Linear, apart from
//! dominance queries, which are O(1). (Briggs, Cooper, Simpson: Value Numbering, 1997, with the hash table
//! scoped by dominance.)

use cranelift_entity::SecondaryMap;
use ptxc_ir::cfg::Cfg;
use ptxc_ir::dominators::Dominators;
use ptxc_ir::{Block, Function, Inst, Op, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

type Key = (Op, Type, SmallVec<[Value; 4]>);

/// Merges equal computations; whether there were any.
pub fn number_values(func: &mut Function) -> bool {
    let cfg = Cfg::compute(func);
    let dominators = Dominators::compute(&cfg);
    let mut renamed: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let resolve = |renamed: &SecondaryMap<Value, Option<Value>>, value: Value| renamed[value].unwrap_or(value);
    let mut table: FxHashMap<Key, (Inst, Block)> = FxHashMap::default();
    let mut changed = false;
    for block in dominators.preorder() {
        for position in 0..func.blocks[block].insts.len() {
            let inst = func.blocks[block].insts[position];
            for n in 0..func.insts[inst].args.len() {
                let arg = func.insts[inst].args[n];
                func.insts[inst].args[n] = resolve(&renamed, arg);
            }
            let data = &func.insts[inst];
            if !data.op.effects().is_pure() || data.op == Op::Undef {
                continue;
            }
            let key: Key = (data.op, data.ty, data.args.clone());
            match table.get(&key) {
                Some(&(first, home)) if dominators.dominates(home, block) => {
                    for n in 0..func.results(inst).len() {
                        let (old, new) = (func.results(inst)[n], func.results(first)[n]);
                        renamed[old] = Some(new);
                    }
                    changed = true;
                }
                _ => {
                    table.insert(key, (inst, block));
                }
            }
        }
    }
    if changed {
        func.rewrite_uses(|value| resolve(&renamed, value));
    }
    changed
}
