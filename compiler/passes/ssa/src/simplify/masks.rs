//! Computes conjunctions of predicates at their uses, if there are too many to keep.
//!
//! Compilers of tiles guard each element by the mask of its row and the mask of its column, for a
//! load at the start of a kernel and for a store at its end. In between, the conjunctions occupy far
//! more registers than the masks that they are made of. A general register that stands in for a
//! predicate costs a reload as well, so computing the conjunction again costs nothing.
//!
//! ```text
//! block0:                                    block0:
//!     v5 = and.pred v1, v3                       v5 = and.pred v1, v3
//!     v6 = and.pred v1, v4                       v6 = and.pred v1, v4
//!     brif v5, block1, block2                    brif v5, block1, block2
//! …                                     =>   …
//! block9:                                    block9:
//!     brif v6, block10, block11                  v20 = and.pred v1, v4
//!                                                brif v20, block10, block11
//! ```
//!
//! Runs after the last pass that merges equal computations. Linear.

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Block, Function, Inst, Op, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::again::replace_operands;
use super::dce::dce;
use crate::analyses::Analyses;

/// Name of the pass.
pub const NAME: &str = "repeat-masks";

/// Conjunctions are computed again if the predicates that they are made of are fewer by at least this
/// number: about as many as there are registers for predicates.
const FEWER: usize = 8;

/// Computes conjunctions again in the blocks that use them if there are many more than predicates
/// that they are made of; returns whether there were any.
pub fn repeat_masks(func: &mut Function, known: &mut Analyses) -> bool {
    let chosen = choose(func);
    if chosen.is_empty() {
        return false;
    }
    for index in 0..func.layout.len() {
        ptxc_interrupt::poll();
        let block = func.layout[index];
        replace_operands(func, block, |again, arg| match chosen.get(&arg) {
            Some(&(home, and)) if home != block => again.made(arg).unwrap_or_else(|| {
                let data = again.func.insts[and].clone();
                again.add(arg, data)
            }),
            _ => arg,
        });
    }
    known.take_uses();
    dce(func, known);
    true
}

/// The conjunctions that are computed again, each with its block and instruction. None of them is
/// made of another.
fn choose(func: &Function) -> FxHashMap<Value, (Block, Inst)> {
    let mut found: FxHashMap<Value, (Block, Inst)> = FxHashMap::default();
    let is_variable = |&arg: &Value| func.constant(arg).is_none();
    for &block in &func.layout {
        for &inst in ptxc_interrupt::parts(&func.blocks[block].insts).flatten() {
            let data = &func.insts[inst];
            if data.op == Op::And
                && data.ty == Type::Pred
                && data.args.iter().all(is_variable)
                && !data.args.iter().any(|arg| found.contains_key(arg))
            {
                found.insert(func.result(inst), (block, inst));
            }
        }
    }
    if found.len() < FEWER {
        return FxHashMap::default();
    }
    let mut is_away: SecondaryMap<Value, bool> = SecondaryMap::with_capacity(func.num_values());
    for &block in &func.layout {
        for &inst in ptxc_interrupt::parts(&func.blocks[block].insts).flatten() {
            let data = &func.insts[inst];
            let passed = data.targets.iter().flat_map(|target| target.args.as_slice());
            for &arg in data.args.as_slice().iter().chain(passed) {
                if found.get(&arg).is_some_and(|&(home, _)| home != block) {
                    is_away[arg] = true;
                }
            }
        }
    }
    found.retain(|&value, _| is_away[value]);
    let masks: FxHashSet<Value> =
        found.values().flat_map(|&(_, inst)| func.insts[inst].args.as_slice()).copied().collect();
    if found.len() < masks.len() + FEWER {
        return FxHashMap::default();
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    /// Guards the elements of a tile of some rows and columns in two places.
    fn tile(rows: usize, columns: usize) -> Function {
        let mut text = "func @f entry {\nblock0:\n v0 = sreg.b32 tid.x\n".to_string();
        let mask = |row: bool, n: usize| 2 * (n + if row { 0 } else { rows }) + 2;
        for n in 0..rows + columns {
            let at = mask(true, n);
            writeln!(text, " v{} = const.b32 {n}\n v{at} = icmp.ult.b32 v0, v{}", at - 1, at - 1).unwrap();
        }
        let first = 2 * (rows + columns) + 2;
        let element = |row: usize, column: usize| first + row * columns + column;
        for row in 0..rows {
            for column in 0..columns {
                let (at, a, b) = (element(row, column), mask(true, row), mask(false, column));
                writeln!(text, " v{at} = and.pred v{a}, v{b}").unwrap();
            }
        }
        text += " jump block1\n";
        for n in 0..2 * rows * columns {
            let (at, block) = (first + n % (rows * columns), 2 * n + 1);
            writeln!(text, "block{block}:\n brif v{at}, block{}, block{}", block + 1, block + 2).unwrap();
            writeln!(text, "block{}:\n store.shared.b32 [v0], v0\n jump block{}", block + 1, block + 2)
                .unwrap();
        }
        writeln!(text, "block{}:\n exit\n}}", 4 * rows * columns + 1).unwrap();
        ptxc_ir::text::parse_function(&text).unwrap()
    }

    /// The number of conjunctions in the first block, and in all others.
    fn conjunctions(rows: usize, columns: usize) -> (usize, usize) {
        let mut func = tile(rows, columns);
        repeat_masks(&mut func, &mut Analyses::default());
        assert_eq!(ptxc_ir::verify(&func, ptxc_ir::Level::Built), Ok(()));
        let count = |block: Block| {
            let insts = func.blocks[block].insts.iter();
            insts.filter(|&&inst| func.insts[inst].op == Op::And).count()
        };
        let all: usize = func.layout.iter().map(|&block| count(block)).sum();
        (count(func.entry()), all - count(func.entry()))
    }

    #[test]
    fn many_conjunctions_of_few_masks_are_computed_at_their_uses() {
        assert_eq!(conjunctions(4, 8), (0, 64));
        assert_eq!(conjunctions(2, 10), (0, 40));
        // The masks are not much fewer.
        assert_eq!(conjunctions(2, 9), (18, 0));
        assert_eq!(conjunctions(1, 100), (100, 0));
    }
}
