//! Rewriting a function block by block: the rules decide what becomes of each instruction.
//!
//! [`rewrite`] walks the blocks in layout order and hands every instruction to a rule, which either keeps
//! it or emits others in its place through the [`Emitter`]. New instructions take the source location of
//! the one they stand for. Constants are made once a block. A rule may put a part of its work aside, in a block
//! that rarely runs ([`Emitter::slow_path`]).
use std::collections::BTreeMap;

use ptxc_ir::{Block, BlockCall, BlockData, Function, Inst, InstData, Op, SourceLoc, Type, Value};

/// Where a rule puts what it makes.
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

    /// Puts an instruction that exists already.
    pub fn keep(&mut self, inst: Inst) {
        self.out.push(inst);
    }

    /// Drops an instruction's result in favour of a value that exists already. Uses are renamed when the
    /// walk is over; until then arguments still show the old name.
    pub fn rename(&mut self, result: Value, value: Value) {
        self.renames.push((result, value));
    }

    /// Ends the block in hand by a branch: where `condition` holds, `slow` computes the instruction's result in a
    /// block of its own; elsewhere the result is `fast`. What comes next goes to the block where both meet again.
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

    /// Ends the block in hand by a branch: where `condition` holds, what `aside` emits runs in a block of its own.
    /// What comes next goes to the block where both meet again; it has the value that `aside` gives, or `otherwise`
    /// where the condition does not hold, as its parameter, if there is one.
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

    /// Emits the end of the block in hand.
    pub fn end(&mut self, op: Op, args: &[Value], targets: &[BlockCall]) {
        let end = self.inst(op, Type::B32, args);
        self.func.insts[end].targets.extend_from_slice(targets);
    }

    /// Closes the block in hand and goes on with another one, which the constants so far may not dominate.
    pub fn go_on(&mut self, block: Block) {
        self.constants.clear();
        self.begin(block);
    }

    /// Ends the block in hand by a branch that all threads of the warp take alike: what one of the two arms does, in
    /// blocks of their own, comes before what is next.
    pub fn either(
        &mut self,
        condition: Value,
        then: impl FnOnce(&mut Emitter),
        otherwise: impl FnOnce(&mut Emitter),
    ) {
        let [first, second, join] = [(); 3].map(|()| self.func.blocks.push(BlockData::default()));
        let branch = self.inst(Op::Branch { uni: true }, Type::B32, &[condition]);
        self.func.insts[branch].targets.extend([first, second].map(|block| BlockCall::new(block, &[])));
        // What is made in one arm does not dominate what follows.
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

    /// Closes the block in hand and goes on with another one.
    fn begin(&mut self, block: Block) {
        self.func.blocks[self.block].insts = std::mem::take(&mut self.out);
        self.block = block;
        self.order.push(block);
    }

    /// Turns an instruction into another one with the same result and puts it: its users see the new
    /// value without being touched.
    pub fn become_op(&mut self, inst: Inst, op: Op, ty: Type, args: &[Value]) {
        self.func.replace(inst, op, ty, args);
        self.out.push(inst);
    }
}

/// Gives each instruction to `rule`, in layout order. A rule that returns `false` leaves the instruction as
/// it is; one that returns `true` has put what replaces it. Returns whether anything was replaced.
pub(super) fn rewrite(func: &mut Function, mut rule: impl FnMut(&mut Emitter, Inst) -> bool) -> bool {
    let mut changed = false;
    let mut renames = Vec::new();
    let mut order = Vec::with_capacity(func.layout.len());
    // The list of a block that has been walked is room for the next one.
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

/// Renames the uses of the first of each pair to the second, which may be renamed in its turn.
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
        // Shorten the chain for the next one who comes along.
        let mut at = value;
        while at != last {
            at = std::mem::replace(&mut name[at.as_u32() as usize], last);
        }
        last
    });
}

/// How often each value is used as an argument of an instruction or of an edge.
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
