//! Rewrites a function block by block: a rule decides the replacement of each instruction.
//!
//! [`rewrite`] walks the blocks in layout order and passes every instruction to a rule. The rule
//! either keeps the instruction or emits others in its place through the [`Emitter`]. New
//! instructions take the source location of the instruction that they replace. Constants are made
//! once for each block. A rule may move a part of its work into a block that rarely runs
//! ([`Emitter::slow_path`]).
use std::collections::BTreeMap;

use ptxc_ir::{Block, BlockCall, BlockData, Function, Inst, InstData, Op, SourceLoc, Type, Value};

/// The output of a rule.
pub(super) struct Emitter<'a> {
    /// The function.
    pub func: &'a mut Function,
    /// The block being rewritten.
    pub block: Block,
    out: Vec<Inst>,
    loc: SourceLoc,
    constants: BTreeMap<(Type, u64), Value>,
    renames: &'a mut Vec<(Value, Value)>,
    /// The blocks so far, in their new order.
    order: &'a mut Vec<Block>,
}

impl Emitter<'_> {
    /// Emits an instruction and returns it.
    pub fn inst(&mut self, op: Op, ty: Type, args: &[Value]) -> Inst {
        let inst = self.func.make_inst(InstData::new(op, ty, args).at(self.loc));
        self.out.push(inst);
        inst
    }

    /// Emits an instruction and returns its first result.
    pub fn value(&mut self, op: Op, ty: Type, args: &[Value]) -> Value {
        let inst = self.inst(op, ty, args);
        self.func.result(inst)
    }

    /// Emits an instruction with two results.
    pub fn pair(&mut self, op: Op, ty: Type, args: &[Value]) -> (Value, Value) {
        let inst = self.inst(op, ty, args);
        let results = self.func.results(inst);
        (results[0], results[1])
    }

    /// A constant; `bits` above the width of the type are dropped.
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        let bits = if ty.bits() < 64 { bits & ((1 << ty.bits()) - 1) } else { bits };
        if let Some(&value) = self.constants.get(&(ty, bits)) {
            return value;
        }
        let value = self.value(Op::Const(bits), ty, &[]);
        self.constants.insert((ty, bits), value);
        value
    }

    /// Appends an existing instruction.
    pub fn keep(&mut self, inst: Inst) {
        self.out.push(inst);
    }

    /// Drops an instruction's result in favour of an existing value. Uses are renamed after the
    /// walk; until then arguments still have the old name.
    pub fn rename(&mut self, result: Value, value: Value) {
        self.renames.push((result, value));
    }

    /// Ends the current block with a branch. If `condition` holds, `slow` computes the
    /// instruction's result in a block of its own; otherwise the result is `fast`. Later
    /// instructions go to the block where both ways meet.
    ///
    /// ```text
    /// block0: …                          block0: …
    ///     v3 = fdiv v1, v2                   brif condition, block1, block2(fast)
    ///     …                      =>      block1: …
    ///                                        jump block2(slow)
    ///                                    block2(v3):
    ///                                        …
    /// ```
    pub fn slow_path(
        &mut self,
        inst: Inst,
        condition: Value,
        fast: Value,
        slow: impl FnOnce(&mut Emitter) -> Value,
    ) {
        let result = self.func.result(inst);
        if let Some(value) = self.aside(condition, Some(fast), |emitter| Some(slow(emitter))) {
            self.rename(result, value);
        }
    }

    /// Ends the current block with a branch. If `condition` holds, the instructions that `aside`
    /// emits run in a block of their own. Later instructions go to the block where both ways meet.
    /// Its parameter, if there is one, is the value that `aside` returns, or `otherwise` if the
    /// condition fails.
    pub fn aside(
        &mut self,
        condition: Value,
        otherwise: Option<Value>,
        aside: impl FnOnce(&mut Emitter) -> Option<Value>,
    ) -> Option<Value> {
        let [away, join] = [self.block(), self.block()];
        let param = otherwise.map(|value| self.func.add_block_param(join, self.func.ty(value)));
        let targets = [BlockCall::new(away, &[]), BlockCall::new(join, otherwise.as_slice())];
        self.end(Op::Branch { uni: false }, &[condition], &targets);
        self.begin(away);
        let value = aside(self);
        self.end(Op::Jump, &[], &[BlockCall::new(join, value.as_slice())]);
        self.go_on(join);
        param
    }

    /// Makes a block, to be filled after [`go_on`](Self::go_on).
    pub fn block(&mut self) -> Block {
        self.func.blocks.push(BlockData::default())
    }

    /// Ends the current block.
    pub fn end(&mut self, op: Op, args: &[Value], targets: &[BlockCall]) {
        let end = self.inst(op, Type::B32, args);
        self.func.insts[end].targets.extend_from_slice(targets);
    }

    /// Closes the current block and continues with another one. The constants so far may not
    /// dominate the new block.
    pub fn go_on(&mut self, block: Block) {
        self.constants.clear();
        self.begin(block);
    }

    /// Ends the current block with a branch that all threads of the warp take alike. One of two
    /// arms runs, each in blocks of its own, before the instructions that follow.
    pub fn either(
        &mut self,
        condition: Value,
        then: impl FnOnce(&mut Emitter),
        otherwise: impl FnOnce(&mut Emitter),
    ) {
        let [first, second, join] = [(); 3].map(|()| self.func.blocks.push(BlockData::default()));
        let branch = self.inst(Op::Branch { uni: true }, Type::B32, &[condition]);
        self.func.insts[branch].targets.extend([first, second].map(|block| BlockCall::new(block, &[])));
        // Constants made in one arm do not dominate the code that follows.
        let known = self.constants.clone();
        self.begin(first);
        then(self);
        self.jump(join);
        self.constants.clone_from(&known);
        self.begin(second);
        otherwise(self);
        self.jump(join);
        self.constants = known;
        self.begin(join);
    }

    fn jump(&mut self, target: Block) {
        let jump = self.inst(Op::Jump, Type::B32, &[]);
        self.func.insts[jump].targets.push(BlockCall::new(target, &[]));
    }

    /// Closes the current block and continues with another one.
    fn begin(&mut self, block: Block) {
        self.func.blocks[self.block].insts = std::mem::take(&mut self.out);
        self.block = block;
        self.order.push(block);
    }

    /// Turns an instruction into another one with the same result and appends it: its users see the
    /// new value without changes.
    pub fn become_op(&mut self, inst: Inst, op: Op, ty: Type, args: &[Value]) {
        self.func.replace(inst, op, ty, args);
        self.out.push(inst);
    }
}

/// Passes each instruction to `rule`, in layout order. A rule that returns `false` leaves the
/// instruction unchanged; one that returns `true` has emitted the replacement. Returns whether
/// anything was replaced.
pub(super) fn rewrite(func: &mut Function, mut rule: impl FnMut(&mut Emitter, Inst) -> bool) -> bool {
    let mut changed = false;
    let mut renames = Vec::new();
    let mut order = Vec::with_capacity(func.layout.len());
    // The emptied list of one block is reused for the next.
    let mut room = Vec::new();
    for index in 0..func.layout.len() {
        let block = func.layout[index];
        order.push(block);
        let mut insts = std::mem::take(&mut func.blocks[block].insts);
        let mut out = std::mem::take(&mut room);
        out.reserve(insts.len());
        let mut emitter = Emitter {
            out,
            block,
            loc: SourceLoc::NONE,
            constants: BTreeMap::new(),
            renames: &mut renames,
            order: &mut order,
            func,
        };
        for &inst in ptxc_interrupt::parts(&insts).flatten() {
            emitter.loc = emitter.func.insts[inst].loc;
            if rule(&mut emitter, inst) {
                changed = true;
            } else {
                emitter.keep(inst);
            }
        }
        insts.clear();
        let (last, out) = (emitter.block, emitter.out);
        func.blocks[last].insts = out;
        room = insts;
    }
    func.layout = order;
    apply(func, &renames);
    changed
}

/// Renames the uses of the first value of each pair to the second, which may itself be renamed.
fn apply(func: &mut Function, renames: &[(Value, Value)]) {
    if renames.is_empty() {
        return;
    }
    let mut name: Vec<Value> = (0..func.num_values() as u32).map(Value::from_u32).collect();
    for &(old, new) in renames {
        name[old.as_u32() as usize] = new;
    }
    func.rewrite_uses(|value| {
        ptxc_interrupt::poll();
        let mut last = value;
        while name[last.as_u32() as usize] != last {
            last = name[last.as_u32() as usize];
        }
        // Shorten the chain for later look-ups.
        let mut at = value;
        while at != last {
            at = std::mem::replace(&mut name[at.as_u32() as usize], last);
        }
        last
    });
}

/// The number of uses of each value as an argument of an instruction or of an edge.
pub(super) fn use_counts(func: &Function) -> Vec<u32> {
    let mut counts = vec![0; func.num_values()];
    for &block in &func.layout {
        for &inst in ptxc_interrupt::parts(&func.blocks[block].insts).flatten() {
            let data = &func.insts[inst];
            for &arg in &data.args {
                counts[arg.as_u32() as usize] += 1;
            }
            for edge in &data.targets {
                for &arg in &edge.args {
                    counts[arg.as_u32() as usize] += 1;
                }
            }
        }
    }
    counts
}

#[cfg(test)]
pub(super) mod tests {
    use ptxc_ir::FunctionKind;

    use super::*;

    /// Builds a function of one block for the tests of the rules.
    pub(crate) struct Build {
        func: Function,
        block: Block,
    }

    impl Build {
        pub(crate) fn new() -> Build {
            let mut func = Function::new("test", FunctionKind::Entry);
            let block = func.add_block();
            Build { func, block }
        }

        pub(crate) fn inst(&mut self, op: Op, ty: Type, args: &[Value]) -> Inst {
            self.func.append(self.block, InstData::new(op, ty, args))
        }

        pub(crate) fn value(&mut self, op: Op, ty: Type, args: &[Value]) -> Value {
            let inst = self.inst(op, ty, args);
            self.func.result(inst)
        }

        pub(crate) fn finish(mut self) -> Function {
            self.inst(Op::Exit, Type::B32, &[]);
            self.func
        }
    }

    /// The operations of all blocks, in order.
    pub(crate) fn ops(func: &Function) -> Vec<Op> {
        let insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
        insts.map(|&inst| func.insts[inst].op).collect()
    }

    #[test]
    fn constants_are_made_once_a_block_and_cut_to_their_width() {
        let mut b = Build::new();
        b.value(Op::Const(1), Type::B32, &[]);
        let mut func = b.finish();
        rewrite(&mut func, |emitter, inst| {
            let first = emitter.constant(Type::B32, u64::MAX);
            assert_eq!(emitter.constant(Type::B32, 0xffff_ffff), first);
            emitter.keep(inst);
            true
        });
        assert_eq!(ops(&func), [Op::Const(0xffff_ffff), Op::Const(1), Op::Exit]);
    }
}
