//! Computes cheap values at their uses instead of keeping them in registers during a whole loop.
//!
//! In: a function. Out: the same function, in which loops that keep many values in registers
//! recompute those values inside that a few operations make from constants and kernel parameters.
//!
//! ```text
//! block0:                              block0:
//!     v3 = iadd.b64 v1, 8                  jump block1
//!     jump block1                      block1:
//! block1:                       =>         …
//!     …                                block2:
//! block2:                                  v4 = iadd.b64 v1, 8
//!     atomic … [v3], v2                    atomic … [v4], v2
//! ```
//!
//! Such values come from the program, whose compiler did not know the number of registers, from
//! equal computations that `gvn` merged, and from [`licm`](super::licm()). If there are many, the
//! allocator would spill them, and a reload costs more than the computation. Most are addresses,
//! which accesses compute for free.
//!
//! Runs once, after all passes that would hoist the values again. The least used values go first,
//! where a use in an inner loop counts as [`TRIPS`] uses. Linear, except for the depth of loops.

use cranelift_entity::{EntityRef, SecondaryMap};
use ptxc_ir::{Block, Function, Loop, Loops, Op, Value};

use super::again::{Again, replace_operands};
use super::dce::dce;
use super::loop_pressure::{LoopPressure, ROOM, is_operand, words_of};
use crate::analyses::Analyses;
use crate::frequency::TRIPS;

/// Name of the pass.
pub const NAME: &str = "rematerialize";

/// If a loop occupies more than [`ROOM`] words during the whole loop, values are recomputed until
/// this many words are left, if enough of them can be.
const FEW: u32 = 24;

/// The most operations that make a value.
const MOST_OPERATIONS: u32 = 3;

/// Recomputes values in loops that have too many; returns whether there were any.
pub fn rematerialize(func: &mut Function, known: &mut Analyses) -> bool {
    // No loop reads more words than the function has.
    let all: u32 = (0..func.num_values()).map(|n| words_of(func, Value::new(n))).sum();
    if all <= ROOM || known.loops(func).iter().next().is_none() {
        return false;
    }
    let (cfg, loops) = (known.cfg(func), known.loops(func));
    let chosen = choose(func, loops, LoopPressure::new(func, cfg, loops));
    if chosen.values().all(Option::is_none) {
        return false;
    }
    let blocks: Vec<(Block, Loop)> =
        cfg.rpo().iter().filter_map(|&block| Some((block, loops.innermost(block)?))).collect();
    for (block, innermost) in blocks {
        ptxc_interrupt::poll();
        let is_inside = |this: Loop| this == innermost || loops.contains(this, block);
        replace_operands(func, block, |again, arg| match chosen[arg].is_some_and(is_inside) {
            true => compute(again, arg),
            false => arg,
        });
    }
    known.take_uses();
    dce(func, known);
    true
}

/// For each value the loop in which it is recomputed.
fn choose(func: &Function, loops: &Loops, mut pressure: LoopPressure) -> SecondaryMap<Value, Option<Loop>> {
    let mut chosen = SecondaryMap::new();
    let costs = Costs::new(func, loops);
    // Loops come after the loops around them.
    for this in loops.iter() {
        let words = pressure.of(loops, this);
        if words <= ROOM {
            continue;
        }
        let mut candidates: Vec<(u64, Value)> = pressure.entering[this]
            .iter()
            .filter_map(|&value| Some((costs.of(func, value, loops.depth(loops.header(this)))?, value)))
            .collect();
        candidates.sort();
        let mut left = words;
        for (_, value) in candidates {
            if left <= FEW {
                break;
            }
            let fewer = words_of(func, value);
            left -= fewer;
            pressure.change(this, 0, fewer);
            chosen[value] = Some(this);
        }
    }
    chosen
}

/// The cost of computing values at their uses.
struct Costs {
    /// The number of uses of each value, where uses in loops are weighted by their trips from
    /// outside all loops.
    uses: Vec<u64>,
}

impl Costs {
    fn new(func: &Function, loops: &Loops) -> Costs {
        let mut uses = vec![0u64; func.num_values()];
        for &block in &func.layout {
            let trips = TRIPS.saturating_pow(loops.depth(block));
            for &inst in ptxc_interrupt::parts(&func.blocks[block].insts).flatten() {
                let data = &func.insts[inst];
                let passed = data.targets.iter().flat_map(|target| target.args.as_slice());
                for &arg in data.args.as_slice().iter().chain(passed) {
                    uses[arg.index()] = uses[arg.index()].saturating_add(trips);
                }
            }
        }
        Costs { uses }
    }

    /// The number of operations of a value times its uses; `None` if a few operations can't make it
    /// from operands. The loops have this depth.
    fn of(&self, func: &Function, value: Value, depth: u32) -> Option<u64> {
        let uses = self.uses[value.index()] / TRIPS.saturating_pow(depth);
        Some(uses.saturating_mul(u64::from(operations(func, value, MOST_OPERATIONS)?)))
    }
}

/// The number of operations that make a value from operands that are not registers, if there are at
/// most `most`.
fn operations(func: &Function, value: Value, most: u32) -> Option<u32> {
    if is_operand(func, value) {
        return Some(0);
    }
    let data = func.def_inst(value)?;
    let is_cheap = match data.op {
        Op::SmulWide | Op::UmulWide | Op::Zext | Op::Sext | Op::Trunc | Op::SymbolAddr(_) => true,
        Op::Iadd | Op::Isub | Op::Shl | Op::And | Op::Or | Op::Xor | Op::Icmp(_) => data.ty.bits() <= 64,
        _ => false,
    };
    let mut count = 1;
    for &arg in data.args.as_slice() {
        count += operations(func, arg, most.checked_sub(count)?)?;
    }
    (is_cheap && count <= most).then_some(count)
}

/// The value, computed in this block.
fn compute(again: &mut Again<'_>, value: Value) -> Value {
    if let Some(made) = again.made(value) {
        return made;
    }
    if is_operand(again.func, value) {
        return value;
    }
    let Some(data) = again.func.def_inst(value) else { return value };
    let mut data = data.clone();
    for arg in data.args.as_mut_slice() {
        *arg = compute(again, *arg);
    }
    again.add(value, data)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    /// A loop that updates memory at a number of addresses, each the sum of a parameter and a
    /// constant, added before the loop.
    fn text(addresses: usize) -> String {
        let mut text =
            "func @f entry {\n param \"p\" 8 +0\nblock0:\n v0 = param.b64 +0\n v1 = undef.pred\n".to_string();
        let first = |n: usize| 10 + 2 * n;
        for n in 0..addresses {
            let at = first(n);
            writeln!(text, " v{at} = const.b64 {:#x}\n v{} = iadd.b64 v0, v{at}", 8 * n + 8, at + 1).unwrap();
        }
        text += " jump block1\nblock1:\n";
        for n in 0..addresses {
            writeln!(text, " store.global.b64 [v{}], v{}", first(n) + 1, first(n) + 1).unwrap();
        }
        text + " brif v1, block1, block2\nblock2:\n exit\n}\n"
    }

    fn sums_before_the_loop(addresses: usize) -> usize {
        let mut func = ptxc_ir::text::parse_function(&text(addresses)).unwrap();
        rematerialize(&mut func, &mut Analyses::default());
        assert_eq!(ptxc_ir::verify(&func, ptxc_ir::Level::Built), Ok(()));
        let entry = func.entry();
        func.blocks[entry].insts.iter().filter(|&&inst| func.insts[inst].op == Op::Iadd).count()
    }

    #[test]
    fn sums_go_into_a_loop_of_many() {
        assert_eq!(sums_before_the_loop(20), 20);
        assert_eq!(sums_before_the_loop(21), 8);
        assert_eq!(sums_before_the_loop(200), 8);
    }
}
