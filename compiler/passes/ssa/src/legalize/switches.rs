//! Turns switches with few targets into trees of comparisons; other switches keep their jump table.
//!
//! ```text
//! switch v0, block1, block1, block2, block3    =>        v1 = icmp.ult.b32 v0, 2
//!                                                        brif v1, block1, block4
//!                                                block4: v2 = icmp.ult.b32 v0, 3
//!                                                        brif v2, block2, block3
//! ```
//!
//! Neighbouring numbers with one target are a run. Binary search distinguishes up to [`MOST_RUNS`]
//! runs, with a comparison and a branch for each level. A jump table costs a shift, a load from a
//! constant bank and the branch, and the load alone takes longer than two levels. A divergent
//! selector diverges once for each level instead of once.
//!
//! The words of a jump table are relative to the start of the kernel, which a device function does
//! not know, so its switches always become trees.
//!
//! If a switch that stays passes arguments to a block more than once, its edges share a block of
//! their own, so the copies for the edge exist once. Linear in the targets.

use ptxc_ir::{
    Block, BlockCall, Function, FunctionKind, Inst, InstData, IntCond, Op, SourceLoc, Type, Value,
};
use ptxc_machine::Arch;
use rustc_hash::FxHashMap;

/// The most runs of equal targets that comparisons distinguish.
pub const MOST_RUNS: usize = 4;

/// Gives every switch the form in which it is selected.
pub fn switches(func: &mut Function, _arch: Arch) -> bool {
    let mut changed = false;
    for index in 0..func.layout.len() {
        let block = func.layout[index];
        let Some(inst) = func.terminator(block).filter(|&inst| func.insts[inst].op == Op::Switch) else {
            continue;
        };
        let mut runs: Vec<(u64, BlockCall)> = Vec::new();
        for (number, target) in (0..).zip(&func.insts[inst].targets) {
            if runs.last().is_none_or(|(_, last)| last != target) {
                runs.push((number, target.clone()));
            }
        }
        if runs.len() <= MOST_RUNS || func.kind == FunctionKind::Device {
            let tree = Tree { selector: func.insts[inst].args[0], loc: func.insts[inst].loc };
            func.blocks[block].insts.pop();
            tree.build(func, block, runs);
            changed = true;
        } else {
            changed |= share_edges(func, inst);
        }
    }
    changed
}

/// The comparisons for one switch.
struct Tree {
    selector: Value,
    loc: SourceLoc,
}

impl Tree {
    /// Ends a block with a jump to the run of the selector; each run comes with its first number.
    fn build(&self, func: &mut Function, block: Block, runs: Vec<(u64, BlockCall)>) {
        let mut work = vec![(block, runs)];
        while let Some((block, mut runs)) = work.pop() {
            if let [(_, only)] = &runs[..] {
                let targets = vec![only.clone()];
                func.append(
                    block,
                    InstData { targets, ..InstData::new(Op::Jump, Type::B32, &[]).at(self.loc) },
                );
                continue;
            }
            let above = runs.split_off(runs.len() / 2);
            let limit = self.append(func, block, Op::Const(above[0].0), &[]);
            let below = self.append(func, block, Op::Icmp(IntCond::Ult), &[self.selector, limit]);
            let targets = [runs, above].map(|runs| match &runs[..] {
                [(_, only)] => only.clone(),
                _ => {
                    let next = func.add_block();
                    work.push((next, runs));
                    BlockCall::new(next, &[])
                }
            });
            let branch = InstData::new(Op::Branch { uni: false }, Type::B32, &[below]).at(self.loc);
            func.append(block, InstData { targets: targets.to_vec(), ..branch });
        }
    }

    fn append(&self, func: &mut Function, block: Block, op: Op, args: &[Value]) -> Value {
        let inst = func.append(block, InstData::new(op, Type::B32, args).at(self.loc));
        func.result(inst)
    }
}

/// Lets edges that pass the same arguments to the same block share a block that does so.
fn share_edges(func: &mut Function, inst: Inst) -> bool {
    let mut times: FxHashMap<BlockCall, u32> = FxHashMap::default();
    for target in func.insts[inst].targets.iter().filter(|target| !target.args.is_empty()) {
        *times.entry(target.clone()).or_default() += 1;
    }
    let mut shared: FxHashMap<BlockCall, Block> = FxHashMap::default();
    let mut targets = std::mem::take(&mut func.insts[inst].targets);
    let loc = func.insts[inst].loc;
    for target in &mut targets {
        if times.get(target).is_none_or(|&times| times == 1) {
            continue;
        }
        let through = *shared.entry(target.clone()).or_insert_with(|| {
            let block = func.add_block();
            let jump = InstData::new(Op::Jump, Type::B32, &[]).at(loc);
            func.append(block, InstData { targets: vec![target.clone()], ..jump });
            block
        });
        *target = BlockCall::new(through, &[]);
    }
    func.insts[inst].targets = targets;
    !shared.is_empty()
}
