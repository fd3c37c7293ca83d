//! The registers that are occupied during a whole loop because it reads values that it does not
//! define.
//!
//! Out: for each loop the registers that it adds to those of the loops around it, in words of 32
//! bits. Values that a loop carries around, and short-lived values of its blocks, are not counted,
//! so this needs no liveness. It counts exactly the part that changes when a computation moves out
//! of the loop or back into it.
//!
//! One walk over the function; for each value it visits the loops around its first use: O(values ×
//! loop depth).

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Cfg, Function, Loop, Loops, Op, Type, Value};

/// The most words of registers that values may occupy that a loop reads and does not define, before
/// cheap values are computed in the loop: a fifth of the registers of a thread. The rest is for the
/// values that the loop computes.
pub(super) const ROOM: u32 = 48;

/// The values that each loop reads and does not define.
pub(super) struct LoopPressure {
    /// The innermost loop around the place where a value is defined.
    pub(super) home: SecondaryMap<Value, Option<Loop>>,
    /// For each loop the values that it reads and that are defined in the loop around it or further
    /// out, except for values that a loop around it reads already; in the order in which they are
    /// read.
    pub(super) entering: SecondaryMap<Loop, Vec<Value>>,
    /// The words of these values.
    words: SecondaryMap<Loop, u32>,
}

impl LoopPressure {
    pub(super) fn new(func: &Function, cfg: &Cfg, loops: &Loops) -> LoopPressure {
        let mut home: SecondaryMap<Value, Option<Loop>> = SecondaryMap::new();
        home.resize(func.num_values());
        let mut entering: SecondaryMap<Loop, Vec<Value>> = SecondaryMap::new();
        let mut words: SecondaryMap<Loop, u32> = SecondaryMap::new();
        // The loop that a value was last seen to enter.
        let mut seen: SecondaryMap<Value, Option<Loop>> = SecondaryMap::new();
        for &block in cfg.rpo() {
            ptxc_interrupt::poll();
            let innermost = loops.innermost(block);
            for &param in &func.blocks[block].params {
                home[param] = innermost;
            }
            for &inst in ptxc_interrupt::parts(&func.blocks[block].insts).flatten() {
                let data = &func.insts[inst];
                let passed = data.targets.iter().flat_map(|target| target.args.as_slice());
                for &arg in data.args.as_slice().iter().chain(passed).filter(|_| innermost.is_some()) {
                    if seen[arg].is_some_and(|this| loops.contains(this, block)) {
                        continue;
                    }
                    if let Some(this) = entered(loops, home[arg], innermost) {
                        seen[arg] = Some(this);
                        let needed = words_of(func, arg);
                        if needed > 0 {
                            words[this] += needed;
                            entering[this].push(arg);
                        }
                    }
                }
                for &result in func.results(inst) {
                    home[result] = innermost;
                }
            }
        }
        LoopPressure { home, entering, words }
    }

    /// The words that a loop reads and does not define, including those of the loops around it.
    pub(super) fn of(&self, loops: &Loops, this: Loop) -> u32 {
        std::iter::successors(Some(this), |&this| loops.parent(this)).map(|this| self.words[this]).sum()
    }

    /// Adds and removes words that a loop reads.
    pub(super) fn change(&mut self, this: Loop, more: u32, fewer: u32) {
        self.words[this] = (self.words[this] + more).saturating_sub(fewer);
    }
}

/// The weight of a predicate. There are seven predicate registers, and a spilled predicate goes to
/// a general register and back.
const PREDICATE: u32 = 8;

/// The registers that a value occupies, in words; constants and kernel parameters are operands and
/// occupy none.
pub(super) fn words_of(func: &Function, value: Value) -> u32 {
    match func.ty(value) {
        _ if is_operand(func, value) => 0,
        Type::Pred => PREDICATE,
        ty => ty.bits().div_ceil(32),
    }
}

/// Whether instructions use a value as an operand that is not a register.
pub(super) fn is_operand(func: &Function, value: Value) -> bool {
    func.def_inst(value).is_some_and(|data| matches!(data.op, Op::Const(_) | Op::Param { .. }))
}

/// Whether `inner` is `outer` or inside it.
pub(super) fn is_inside(loops: &Loops, inner: Option<Loop>, outer: Loop) -> bool {
    inner.is_some_and(|inner| inner == outer || loops.contains(outer, loops.header(inner)))
}

/// The outermost loop around a place that is not around the definition of the value.
fn entered(loops: &Loops, home: Option<Loop>, place: Option<Loop>) -> Option<Loop> {
    let around = std::iter::successors(place, |&this| loops.parent(this));
    around.take_while(|&this| !is_inside(loops, home, this)).last()
}
