//! Strength reduction: products of an induction variable become sums that the loop carries.
//!
//! In: a function. Out: the same function. It replaces 64-bit products of a variable that a loop
//! steps by a fixed amount, and a factor that the loop does not change. Each becomes a variable of
//! the loop, stepped by the product of the two amounts.
//!
//! ```text
//! block0:                              block0:
//!     jump block1(v0)                      v7 = imul.b64 v0, v1
//! block1(v2: b64):                         v8 = imul.b64 v9, v1
//!     v3 = imul.b64 v2, v1      =>         jump block1(v0, v7)
//!     …                                block1(v2: b64, v3: b64):
//!     v4 = iadd.b64 v2, v9                 …
//!     brif …, block1(v4), …                v4 = iadd.b64 v2, v9
//!                                          v10 = iadd.b64 v3, v8
//!                                          brif …, block1(v4, v10), …
//! ```
//!
//! A 64-bit product takes three or four multiply-adds, and the sum takes two additions. Products of
//! 32 bits, and products of 64 bits whose factors are extended words, are one machine instruction,
//! and so is the address that absorbs them, so they stay: there the sum would only cost registers.
//! For the same reason at most [`MOST`] variables are added to a loop. Arithmetic is modulo 2⁶⁴, in
//! which the product distributes over the steps.
//!
//! (Allen, Cocke and Kennedy, *Reduction of Operator Strength*, 1981, without the replacement of
//! tests.) Inner loops come last; one walk over the instructions of each loop, O(instructions ×
//! loop depth).

use ptxc_ir::{Block, Function, Inst, InstData, Loop, Loops, Op, Type, Value, ValueDef};
use rustc_hash::FxHashMap;

use crate::analyses::Analyses;

/// Name of the pass.
pub const NAME: &str = "strength";

/// The most variables that are added to a loop.
pub const MOST: usize = 4;

/// Replaces products with sums; returns whether there were any.
pub fn strength(func: &mut Function, known: &mut Analyses) -> bool {
    let is_product = |&inst: &Inst| {
        let data = &func.insts[inst];
        matches!(data.op, Op::Imul) && data.ty == Type::B64
    };
    if !func.layout.iter().any(|&block| func.blocks[block].insts.iter().any(is_product)) {
        return false;
    }
    let (cfg, loops) = (known.cfg(func), known.loops(func));
    let mut home: FxHashMap<Inst, Block> = FxHashMap::default();
    for &block in cfg.rpo() {
        ptxc_interrupt::poll();
        home.extend(func.blocks[block].insts.iter().map(|&inst| (inst, block)));
    }
    let mut changed = false;
    for this in loops.iter() {
        ptxc_interrupt::poll();
        let (Some(preheader), &[latch]) = (loops.preheader(cfg, this), loops.latches(this)) else {
            continue;
        };
        let place = Place { loops, this, preheader, latch, header: loops.header(this) };
        let variables = place.variables(func, &home);
        if variables.is_empty() {
            continue;
        }
        let found: Vec<(Inst, Variable, Value)> = (loops.blocks(this).iter())
            .flat_map(|&block| &func.blocks[block].insts)
            .filter_map(|&inst| place.product(func, &home, &variables, inst))
            .take(MOST)
            .collect();
        for (inst, variable, factor) in found {
            place.reduce(func, inst, variable, factor);
            changed = true;
        }
    }
    changed
}

/// A variable that the loop steps by a fixed amount.
#[derive(Clone, Copy)]
struct Variable {
    value: Value,
    start: Value,
    step: Value,
}

/// A loop that is entered by one edge and has one edge back.
struct Place<'a> {
    loops: &'a Loops,
    this: Loop,
    preheader: Block,
    latch: Block,
    header: Block,
}

impl Place<'_> {
    /// Whether a value is the same in every iteration: a constant, or defined outside the loop.
    fn is_fixed(&self, func: &Function, home: &FxHashMap<Inst, Block>, value: Value) -> bool {
        let block = match func.def(value) {
            ValueDef::Param(block, _) => Some(block),
            ValueDef::Result(inst, _) => home.get(&inst).copied(),
        };
        func.constant(value).is_some() || block.is_some_and(|block| !self.loops.contains(self.this, block))
    }

    fn variables(&self, func: &Function, home: &FxHashMap<Inst, Block>) -> Vec<Variable> {
        let (Some(enter), Some(back)) =
            (self.arguments(func, self.preheader), self.arguments(func, self.latch))
        else {
            return Vec::new();
        };
        let mut list = Vec::new();
        for (number, &value) in func.blocks[self.header].params.iter().enumerate() {
            let Some(next) =
                func.def_inst(back[number]).filter(|data| (data.op, data.ty) == (Op::Iadd, Type::B64))
            else {
                continue;
            };
            let step = match next.args[..] {
                [a, step] | [step, a] if a == value && step != value => step,
                _ => continue,
            };
            if self.is_fixed(func, home, step) {
                list.push(Variable { value, start: enter[number], step });
            }
        }
        list
    }

    /// The arguments that the end of a block passes to the header, if only one edge leads there.
    fn arguments(&self, func: &Function, block: Block) -> Option<Vec<Value>> {
        let mut edges = func.edges(block).iter().filter(|edge| edge.block == self.header);
        let edge = edges.next()?;
        edges.next().is_none().then(|| edge.args.to_vec())
    }

    /// The variable and the fixed factor of a product that costs more than a sum.
    fn product(
        &self,
        func: &Function,
        home: &FxHashMap<Inst, Block>,
        variables: &[Variable],
        inst: Inst,
    ) -> Option<(Inst, Variable, Value)> {
        let data = &func.insts[inst];
        let &[a, b] = &data.args[..] else { return None };
        if (data.op, data.ty) != (Op::Imul, Type::B64) {
            return None;
        }
        let is_variable = |value: Value| variables.iter().find(|variable| variable.value == value);
        let (variable, factor) = is_variable(a).map(|v| (v, b)).or_else(|| is_variable(b).map(|v| (v, a)))?;
        // A product with a power of two is a shift, which an address absorbs.
        let cheap = func.constant(factor).is_some_and(|bits| bits.is_power_of_two());
        (!cheap && self.is_fixed(func, home, factor)).then_some((inst, *variable, factor))
    }

    fn reduce(&self, func: &mut Function, inst: Inst, variable: Variable, factor: Value) {
        let loc = func.insts[inst].loc;
        let make = |func: &mut Function, block: Block, op: Op, args: &[Value]| {
            let made = func.make_inst(InstData::new(op, Type::B64, args).at(loc));
            let end = func.blocks[block].insts.len() - 1;
            func.blocks[block].insts.insert(end, made);
            func.result(made)
        };
        // Constants may be defined inside the loop.
        let outside = |func: &mut Function, value: Value| match func.constant(value) {
            Some(bits) => make(func, self.preheader, Op::Const(bits), &[]),
            None => value,
        };
        let (factor, step) = (outside(func, factor), outside(func, variable.step));
        let start = make(func, self.preheader, Op::Imul, &[variable.start, factor]);
        let step = make(func, self.preheader, Op::Imul, &[step, factor]);
        let product = func.add_block_param(self.header, Type::B64);
        let next = make(func, self.latch, Op::Iadd, &[product, step]);
        for (block, value) in [(self.preheader, start), (self.latch, next)] {
            let Some(end) = func.terminator(block) else { continue };
            for target in func.insts[end].targets.iter_mut().filter(|target| target.block == self.header) {
                target.args.push(value);
            }
        }
        // The product stays as a copy, which folding removes.
        let zero = make(func, self.preheader, Op::Const(0), &[]);
        func.replace(inst, Op::Iadd, Type::B64, &[product, zero]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simplify::testing::{check_unchanged, function};

    fn kernel(product: &str) -> String {
        format!(
            "block0:\n v0 = param.b64 +0\n v1 = param.b64 +8\n v9 = const.b64 0x3\n v5 = undef.pred\n jump block1(v0)\n\
             block1(v2: b64):\n {product}\n store.global.b64 [v0], v3\n v4 = iadd.b64 v2, v9\n \
             brif v5, block1(v4), block2\nblock2:\n exit"
        )
    }

    #[test]
    fn a_product_of_an_induction_variable_is_carried_along() {
        let mut func = function(&kernel("v3 = imul.b64 v2, v1"));
        assert!(
            strength(&mut func, &mut Analyses::default()) && !strength(&mut func, &mut Analyses::default())
        );
        ptxc_ir::verify::verify(&func, ptxc_ir::verify::Level::Built).expect("it stays well-formed");
        let text = func.to_string();
        let (front, body) = text.split_once("block1(").expect("the loop");
        assert_eq!((front.matches("imul").count(), body.matches("imul").count()), (2, 0), "{text}");
    }

    #[test]
    fn cheap_and_variant_products_stay() {
        check_unchanged(strength, &kernel("v6 = const.b64 0x8\n v3 = imul.b64 v2, v6"));
        check_unchanged(strength, &kernel("v3 = imul.b64 v2, v2"));
        check_unchanged(strength, &kernel("v6 = load.global.b64 [v0]\n v3 = imul.b64 v2, v6"));
    }
}
