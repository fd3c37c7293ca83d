//! Which values are the same in every thread of a warp, which branches diverge, and which blocks the warp
//! executes together.
//!
//! In goes a function, out comes a [`Uniformity`]. A value is *divergent* if two threads of a warp that
//! execute its definition together may see different bits. Sources of divergence are thread indices, lane
//! masks, atomics and loads; it spreads
//!
//! - by data: a result of a divergent argument is divergent;
//! - by control: a block parameter that paths from a divergent branch reach is divergent;
//! - in time: what a loop with a divergent exit computes differs outside the loop, since threads leave it
//!   after different iterations.
//!
//! The *influence region* of a divergent branch is what lies between it and its immediate post-dominator.
//! A block in some influence region is not convergent: part of the warp may be elsewhere, so that what
//! exists once a warp must not be written there. A branch to a block that does nothing but exit has no
//! influence: threads that have ended are not missed. Post-dominators are therefore those of the graph
//! without the edges to such blocks, see [`live_graph`].
//!
//! (After Coutinho et al., *Divergence Analysis and Optimizations*, PACT 2011, and Rosemann et al., *An
//! Abstract Interpretation for SPMD Divergence*, POPL 2021, coarser than both: all parameters in the
//! region count as divergent.) Values become divergent once, so the propagation is linear in uses; the
//! regions cost the sum of their sizes.

use cranelift_entity::{EntitySet, SecondaryMap};
use ptxc_ir::cfg::Cfg;
use ptxc_ir::postdominators::PostDominators;
use ptxc_ir::{Block, CacheOp, Function, Inst, Op, Space, Type, Value, ValueDef};

/// The result of the analysis.
#[derive(Clone, Debug)]
pub struct Uniformity {
    divergent_values: EntitySet<Value>,
    divergent_branches: EntitySet<Block>,
    divergent_blocks: EntitySet<Block>,
}

impl Uniformity {
    /// Whether all threads that define a value together see the same bits.
    pub fn is_uniform(&self, value: Value) -> bool {
        !self.divergent_values.contains(value)
    }

    /// Whether threads of a warp may leave a block by different edges.
    pub fn is_divergent_branch(&self, block: Block) -> bool {
        self.divergent_branches.contains(block)
    }

    /// Whether all threads of a warp that have not exited execute a block together.
    pub fn is_convergent_block(&self, block: Block) -> bool {
        !self.divergent_blocks.contains(block)
    }

    /// Analyses a function.
    pub fn compute(func: &Function) -> Uniformity {
        let cfg = &Cfg::compute(func);
        let postdominators = &PostDominators::compute(&live_graph(func));
        let mut solver = Solver {
            func,
            cfg,
            postdominators,
            result: Uniformity {
                divergent_values: EntitySet::new(),
                divergent_branches: EntitySet::new(),
                divergent_blocks: EntitySet::new(),
            },
            uses: Uses::compute(func, cfg),
            endless: EntitySet::new(),
            work: Vec::new(),
        };
        solver.run();
        solver.result
    }
}

/// Who reads each value.
struct Uses {
    /// Instructions that have it as an argument, with their blocks.
    insts: SecondaryMap<Value, Vec<(Inst, Block)>>,
    /// Block parameters that an edge hands it to.
    params: SecondaryMap<Value, Vec<Value>>,
    /// The block of each instruction.
    block: SecondaryMap<Inst, Option<Block>>,
}

impl Uses {
    fn compute(func: &Function, cfg: &Cfg) -> Uses {
        let mut uses =
            Uses { insts: SecondaryMap::new(), params: SecondaryMap::new(), block: SecondaryMap::new() };
        for &block in cfg.rpo() {
            for &inst in &func.blocks[block].insts {
                uses.block[inst] = Some(block);
                let data = &func.insts[inst];
                for &arg in &data.args {
                    uses.insts[arg].push((inst, block));
                }
                for edge in &data.targets {
                    for (&arg, &param) in edge.args.iter().zip(&func.blocks[edge.block].params) {
                        uses.params[arg].push(param);
                    }
                }
            }
        }
        uses
    }
}

struct Solver<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    postdominators: &'a PostDominators,
    result: Uniformity,
    uses: Uses,
    /// Blocks already reached by a region that no post-dominator ends.
    endless: EntitySet<Block>,
    work: Vec<Value>,
}

impl Solver<'_> {
    fn run(&mut self) {
        for &block in self.cfg.rpo() {
            for &inst in &self.func.blocks[block].insts {
                if is_source(self.func, inst) {
                    self.diverge_results(inst);
                }
            }
        }
        while let Some(value) = self.work.pop() {
            for n in 0..self.uses.params[value].len() {
                let param = self.uses.params[value][n];
                self.diverge(param);
            }
            for n in 0..self.uses.insts[value].len() {
                let (inst, block) = self.uses.insts[value][n];
                match self.func.insts[inst].op {
                    Op::Branch(false) | Op::Switch => self.diverge_branch(block),
                    // The warp's answer is the same for all of it, as long as all of it asks.
                    Op::Vote(_) if self.result.is_convergent_block(block) => {}
                    Op::Barrier(..) | Op::Bar(_) => {}
                    _ => self.diverge_results(inst),
                }
            }
        }
    }

    fn diverge(&mut self, value: Value) {
        if self.result.divergent_values.insert(value) {
            self.work.push(value);
        }
    }

    fn diverge_results(&mut self, inst: Inst) {
        for n in 0..self.func.results(inst).len() {
            self.diverge(self.func.results(inst)[n]);
        }
    }

    /// A branch turns out to be divergent: everything between it and its post-dominator is its region.
    fn diverge_branch(&mut self, block: Block) {
        let successors: Vec<Block> =
            self.func.successors(block).filter(|&successor| !is_exit(self.func, successor)).collect();
        if !self.result.divergent_branches.insert(block) || successors.len() < 2 {
            return;
        }
        let end = self.postdominators.immediate(block);
        let mut region: EntitySet<Block> = EntitySet::new();
        let mut members = Vec::new();
        let mut stack = successors;
        while let Some(next) = stack.pop() {
            if Some(next) == end || !region.insert(next) {
                continue;
            }
            if end.is_none() && !self.endless.insert(next) {
                continue;
            }
            members.push(next);
            stack.extend(self.cfg.succs(next));
        }
        for &member in &members {
            self.enter_region(member);
        }
        for &join in members.iter().chain(&end) {
            if self.cfg.preds(join).len() > 1 {
                for n in 0..self.func.blocks[join].params.len() {
                    self.diverge(self.func.blocks[join].params[n]);
                }
            }
        }
        // Threads leave a loop after different iterations, and take along what it computed last.
        if region.contains(block) {
            self.diverge_live_outs(&members, &region);
        }
    }

    /// Marks a block as executed by part of the warp.
    fn enter_region(&mut self, block: Block) {
        if !self.result.divergent_blocks.insert(block) {
            return;
        }
        for &inst in &self.func.blocks[block].insts {
            if matches!(self.func.insts[inst].op, Op::Vote(_) | Op::ActiveMask) {
                self.diverge_results(inst);
            }
        }
    }

    fn diverge_live_outs(&mut self, members: &[Block], region: &EntitySet<Block>) {
        for &member in members {
            let params = self.func.blocks[member].params.iter().copied();
            let results = self.func.blocks[member].insts.iter().flat_map(|&inst| self.func.results(inst)).copied();
            for value in params.chain(results).collect::<Vec<_>>() {
                let leaves = self.uses.insts[value].iter().any(|&(_, user)| !region.contains(user))
                    || self.uses.params[value].iter().any(|&param| match self.func.def(param) {
                        ValueDef::Param(home, _) => !region.contains(home),
                        ValueDef::Result(..) => false,
                    });
                if leaves {
                    self.diverge(value);
                }
            }
        }
    }
}

/// The control-flow graph without the edges by which threads only end: where a branch has one edge to a
/// block that does nothing but exit, only the other one counts.
pub fn live_graph(func: &Function) -> Cfg {
    let ends = func.layout.iter().any(|&block| is_early_exit(func, block));
    if !ends {
        return Cfg::compute(func);
    }
    let mut live = func.clone();
    for &block in &func.layout {
        let Some(inst) = func.terminator(block).filter(|_| is_early_exit(func, block)) else { continue };
        live.insts[inst].targets.retain(|edge| !is_exit(func, edge.block));
        live.replace(inst, Op::Jump, Type::B32, &[]);
    }
    Cfg::compute(&live)
}

/// Whether a block ends in a branch with exactly one edge to a block that only exits.
fn is_early_exit(func: &Function, block: Block) -> bool {
    let edges = func.edges(block);
    let branches = func.terminator(block).is_some_and(|inst| matches!(func.insts[inst].op, Op::Branch(_)));
    branches && edges.iter().filter(|edge| is_exit(func, edge.block)).count() == 1
}

/// Whether a block does nothing but end the thread.
pub(crate) fn is_exit(func: &Function, block: Block) -> bool {
    matches!(func.blocks[block].insts.as_slice(), &[only] if func.insts[only].op == Op::Exit)
}

/// Whether an instruction's results differ between threads whatever its arguments are.
fn is_source(func: &Function, inst: Inst) -> bool {
    match func.insts[inst].op {
        Op::SpecialReg(reg) => !reg.is_uniform(),
        Op::Atomic(..) | Op::Shfl(_) => true,
        // What others may write can change between the reads of two threads.
        Op::Load(access) => {
            !matches!(access.space, Space::Const | Space::Param) && access.cache != CacheOp::Nc
        }
        _ => false,
    }
}
