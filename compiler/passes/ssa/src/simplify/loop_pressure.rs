//! The registers that are in use all through a loop because it reads values that it does not define.
//!
//! Out: for each loop those that it adds to the loops around it, in words of 32 bits. What a loop carries around and what its blocks
//! need for a while is not counted, so that this takes no liveness; it is the part that moving a computation out of the loop, or
//! back into it, changes.
//!
//! One walk over the function, in which a value asks the loops around its first use: O(values × loop depth).

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Cfg, Function, Loop, Loops, Op, Type, Value};

/// So many words of registers may values take that a loop reads and does not define, before what is cheap is computed in it: a fifth of
/// what a thread can have. The rest is for what the loop is about.
pub(super) const ROOM: u32 = 48;

/// What each loop reads and does not define.
pub(super) struct LoopPressure {
    /// The innermost loop around the place where a value is defined.
    pub(super) home: SecondaryMap<Value, Option<Loop>>,
    /// For each loop the values that it reads and that are defined in the loop around it or further out, if no loop around it
    /// has them already; in the order in which they are read.
    pub(super) entering: SecondaryMap<Loop, Vec<Value>>,
    /// The words of these.
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

    /// The words that a loop reads and does not define, those of the loops around it included.
    pub(super) fn of(&self, loops: &Loops, this: Loop) -> u32 {
        std::iter::successors(Some(this), |&this| loops.parent(this)).map(|this| self.words[this]).sum()
    }

    /// A loop reads more words, and fewer.
    pub(super) fn change(&mut self, this: Loop, more: u32, fewer: u32) {
        self.words[this] = (self.words[this] + more).saturating_sub(fewer);
    }
}

/// What a predicate counts for. There are seven; one that has to make room for others goes to a general register and back.
const PREDICATE: u32 = 8;

/// The registers that a value takes, in words; constants and kernel parameters are operands.
pub(super) fn words_of(func: &Function, value: Value) -> u32 {
    match func.ty(value) {
        _ if is_operand(func, value) => 0,
        Type::Pred => PREDICATE,
        ty => ty.bits().div_ceil(32),
    }
}

/// Whether instructions have a value as an operand that is no register.
pub(super) fn is_operand(func: &Function, value: Value) -> bool {
    func.def_inst(value).is_some_and(|data| matches!(data.op, Op::Const(_) | Op::Param { .. }))
}

/// Whether `inner` is `outer` or inside it.
pub(super) fn is_inside(loops: &Loops, inner: Option<Loop>, outer: Loop) -> bool {
    inner.is_some_and(|inner| inner == outer || loops.contains(outer, loops.header(inner)))
}

/// The outermost loop around a place that is not around where a value is defined.
fn entered(loops: &Loops, home: Option<Loop>, place: Option<Loop>) -> Option<Loop> {
    let around = std::iter::successors(place, |&this| loops.parent(this));
    around.take_while(|&this| !is_inside(loops, home, this)).last()
}
