//! Which values are the same in every thread of a warp, which branches diverge, and which blocks
//! the warp executes together.
//!
//! In: a function. Out: a [`Uniformity`]. A value is *divergent* if two threads of a warp that
//! execute its definition together may see different bits. Sources of divergence are thread
//! indices, lane masks, shuffles, atomics and calls of device functions. Divergence spreads
//!
//! - by data: a result of a divergent argument is divergent;
//! - by control: a parameter of a block where the paths of a divergent branch join is divergent;
//! - in time: a value that changes from iteration to iteration of a loop is divergent outside the loop, if
//!   threads leave the loop in different iterations.
//!
//! ```text
//! block0:                                   the branch of block0 is divergent;
//!     v0 = sreg.b32 tid.x                   block1 is not convergent, block2 is;
//! v1 = icmp.eq.b32 v0, v9               v2 is uniform: all threads that compute it agree;
//!     brif v1, block1, block2(v9)           v3 is divergent
//! block1:
//!     v2 = iadd.b32 v9, v9
//!     jump block2(v2)
//! block2(v3: b32):
//! ```
//!
//! A block in the [influence region](influence) of a divergent branch is not *convergent*: part of
//! the warp may be elsewhere, so a resource that exists once for each warp must not be written
//! there. A branch to a block that only exits has no influence, because no thread waits for ended
//! threads.
//!
//! Votes, `activemask`, shuffles that read one lane, and weak loads of global and shared memory from
//! a uniform address give one answer for all threads that ask together. They count as uniform in convergent blocks, where that
//! is the whole warp. (A weak load that races with a store has no meaning in PTX, so its lanes may
//! be assumed to agree.) Loads of memory that is never written are as uniform as their addresses in
//! every block. A local address means different memory in each thread. Part of a warp may call a
//! device function, so in a device function all blocks may be executed by part of the warp, and all
//! parameters are divergent.
//!
//! (After Coutinho et al., *Divergence Analysis and Optimizations*, PACT 2011, and Rosemann et al.,
//! POPL 2021.) Values and blocks become divergent once. The propagation is linear in uses, except
//! for the regions, see [`influence`], and for loops that threads leave in different iterations:
//! each such loop costs its size once.
#![deny(clippy::wildcard_enum_match_arm)]

mod exits;
mod influence;

use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};
use petgraph::algo::kosaraju_scc;
use ptxc_ir::{
    Block, CacheOp, Cfg, Function, FunctionKind, Inst, Lists, Loop, Loops, Op, Order, PostDominators,
    ShflMode, Space, Value, ValueDef, arithmetic,
};

use crate::analyses::Analyses;
use crate::lanes::is_parting_call;
pub(crate) use exits::is_exit;
pub use exits::live_graph;
use influence::Influence;

/// The result of the analysis for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sameness {
    /// All threads that define it together see the same bits at every use.
    Uniform,
    /// It is the same in all threads of one iteration, but used after a loop that threads leave in
    /// different iterations.
    LeftApart,
    /// Threads that define it together may see different bits.
    Divergent,
}

/// The result of the analysis.
#[derive(Clone, Debug)]
pub struct Uniformity {
    /// By number; values that are made later count as uniform.
    values: Vec<Sameness>,
    divergent_branches: EntitySet<Block>,
    divergent_blocks: EntitySet<Block>,
}

impl Uniformity {
    /// Whether all threads that define a value together see the same bits at every use.
    pub fn is_uniform(&self, value: Value) -> bool {
        self.values.get(value.index()).is_none_or(|&sameness| sameness == Sameness::Uniform)
    }

    /// Whether threads of a warp may leave a block by different edges.
    pub fn is_divergent_branch(&self, block: Block) -> bool {
        self.divergent_branches.contains(block)
    }

    /// Whether all threads of a warp that have not exited execute a block together.
    pub fn is_convergent_block(&self, block: Block) -> bool {
        !self.divergent_blocks.contains(block)
    }

    /// Analyses a function. If it has convergence barriers, threads that diverged are together
    /// again where the barriers say so; if it has none yet, at the post-dominators of divergent
    /// branches.
    pub fn compute(func: &Function) -> Uniformity {
        let known = Analyses::default();
        Uniformity::solve(func, &known, Influence::new(func, known.cfg(func), false, None), true)
    }

    /// Whether no branch is divergent. Then no result depends on where threads come together again,
    /// and [`compute`](Self::compute) and [`compute_converged`](Self::compute_converged) give the
    /// same result.
    pub(crate) fn has_no_divergent_branch(&self) -> bool {
        self.divergent_branches.is_empty()
    }

    /// Like [`compute`](Self::compute), for the converge pass, which brings lanes together after
    /// calls; uses cached analyses of the function's graph. The post-dominators are those of its
    /// [live graph](live_graph).
    pub(crate) fn compute_in(
        func: &Function,
        known: &Analyses,
        postdominators: &PostDominators,
    ) -> Uniformity {
        let influence = Influence::new(func, known.cfg(func), false, Some(postdominators));
        Uniformity::solve(func, known, influence, false)
    }

    /// Analyses a function after the converge pass: threads that diverged are together again only
    /// where a convergence barrier says so, even if the function has none.
    pub fn compute_converged(func: &Function) -> Uniformity {
        Uniformity::compute_converged_in(func, &Analyses::default())
    }

    /// Like [`compute_converged`](Self::compute_converged), with cached analyses of the function's
    /// graph.
    pub fn compute_converged_in(func: &Function, known: &Analyses) -> Uniformity {
        Uniformity::solve(func, known, Influence::new(func, known.cfg(func), true, None), true)
    }

    /// `calls_part` says that lanes that a call has separated stay separate unless a barrier brings
    /// them together.
    fn solve(func: &Function, known: &Analyses, influence: Influence, calls_part: bool) -> Uniformity {
        let (cfg, loops) = (known.cfg(func), known.loops(func));
        ptxc_interrupt::poll();
        let mut solver = Solver {
            func,
            cfg,
            loops,
            influence,
            result: Uniformity {
                values: vec![Sameness::Uniform; func.num_values()],
                divergent_branches: EntitySet::new(),
                divergent_blocks: EntitySet::new(),
            },
            uses: &Uses::compute(func, cfg),
            tangles: tangles(cfg, loops),
            left_apart: SecondaryMap::new(),
            work: Vec::new(),
            varying: EntitySet::new(),
            calls_part,
        };
        solver.run();
        solver.result
    }
}

/// The users of each value.
struct Uses {
    /// Instructions that have it as an argument, with their blocks.
    insts: Lists<Value, (Inst, Block)>,
    /// Block parameters that an edge passes it to, with the edge's source.
    params: Lists<Value, (Value, Block)>,
}

impl Uses {
    fn compute(func: &Function, cfg: &Cfg) -> Uses {
        let (mut insts, mut params) = (Vec::with_capacity(2 * func.insts.len()), Vec::new());
        for &block in cfg.rpo() {
            for &inst in ptxc_interrupt::parts(&func.blocks[block].insts).flatten() {
                let data = &func.insts[inst];
                for &arg in data.args.as_slice() {
                    insts.push((arg, (inst, block)));
                }
                for edge in &data.targets {
                    for (&arg, &param) in edge.args.iter().zip(&func.blocks[edge.block].params) {
                        params.push((arg, (param, block)));
                    }
                }
            }
        }
        let count = func.num_values();
        Uses { insts: Lists::new(count, &insts), params: Lists::new(count, &params) }
    }
}

/// The blocks of cycles with several entries, which are not loops: for each such block the blocks
/// of its strongly connected component.
fn tangles(cfg: &Cfg, loops: &Loops) -> SecondaryMap<Block, Vec<Block>> {
    let mut tangles = SecondaryMap::new();
    if loops.irreducible_edges().is_empty() {
        return tangles;
    }
    let graph = cfg.to_petgraph();
    let mut entangled: EntitySet<Block> = EntitySet::new();
    for &(_, target) in loops.irreducible_edges() {
        entangled.insert(target);
    }
    for component in kosaraju_scc(&graph) {
        let blocks: Vec<Block> = component.into_iter().map(|node| graph[node]).collect();
        // The list is stored at one of its blocks; the other blocks point to that one.
        let Some(&first) = blocks.iter().find(|&&block| entangled.contains(block)) else { continue };
        for &block in &blocks {
            tangles[block] = vec![first];
        }
        tangles[first] = blocks;
    }
    tangles
}

struct Solver<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    loops: &'a Loops,
    influence: Influence,
    result: Uniformity,
    uses: &'a Uses,
    tangles: SecondaryMap<Block, Vec<Block>>,
    /// Loops that threads leave in different iterations.
    left_apart: SecondaryMap<Loop, bool>,
    work: Vec<Value>,
    /// Empty, except while the values of a loop are searched.
    varying: EntitySet<Value>,
    calls_part: bool,
}

impl Solver<'_> {
    fn run(&mut self) {
        if self.func.kind == FunctionKind::Device {
            // Part of a warp may call the function, with arguments of its own.
            for &block in self.cfg.rpo() {
                self.enter_region(block);
            }
            self.diverge_params(self.func.entry());
        }
        for &block in self.cfg.rpo() {
            for &inst in ptxc_interrupt::parts(&self.func.blocks[block].insts).flatten() {
                if is_source(&self.func.insts[inst].op) && !self.is_broadcast(inst) {
                    self.diverge_results(inst);
                }
            }
            if self.calls_part {
                self.part_at_call(block);
            }
        }
        let uses = self.uses;
        while let Some(value) = self.work.pop() {
            ptxc_interrupt::poll();
            for &(param, _) in uses.params.of(value) {
                self.diverge(param);
            }
            for &(inst, block) in uses.insts.of(value) {
                self.diverge_user(inst, block);
            }
        }
    }

    /// Handles an instruction that has a divergent argument.
    fn diverge_user(&mut self, inst: Inst, block: Block) {
        match self.func.insts[inst].op {
            Op::Branch { uni: false } | Op::Switch => self.diverge_branch(block),
            Op::Branch { uni: true } | Op::BranchTogether => {}
            // All threads that ask together get one answer. The region handles threads that ask
            // separately, and the mask handles threads that ask about different lanes.
            Op::Vote(_) => {
                let mask = self.func.insts[inst].args.get(1);
                if mask.is_some_and(|&mask| !self.result.is_uniform(mask)) {
                    self.diverge_results(inst);
                }
            }
            // The whole CTA gets one answer.
            Op::Barrier { .. } | Op::Bar(_) => {}
            arithmetic!() => self.diverge_results(inst),
            Op::Const(_) | Op::Undef | Op::Param { .. } | Op::SymbolAddr(_) => self.diverge_results(inst),
            Op::SpecialReg(_) => self.diverge_results(inst),
            Op::Load(_) | Op::Store(_) | Op::Atomic { .. } | Op::Red { .. } => self.diverge_results(inst),
            Op::TryAtomic { .. } | Op::LoadReduce { .. } | Op::Fence { .. } | Op::ToGeneric(_) => {
                self.diverge_results(inst)
            }
            Op::FromGeneric(_) | Op::CachePolicy | Op::CacheHint => self.diverge_results(inst),
            Op::IsSpace(_) => self.diverge_results(inst),
            Op::Texture(_) | Op::ImageSize(_) => self.diverge_results(inst),
            Op::SurfaceLoad(_) | Op::SurfaceStore(_) => self.diverge_results(inst),
            Op::SurfaceRed { .. } => self.diverge_results(inst),
            Op::Shfl(_) if self.is_broadcast(inst) => {}
            Op::Shfl(_) | Op::ActiveMask | Op::Match(_) | Op::Redux(_) => self.diverge_results(inst),
            Op::MatrixLoad { .. } | Op::MatrixStore { .. } => self.diverge_results(inst),
            Op::MatrixTranspose | Op::MatrixProduct(_) => self.diverge_results(inst),
            Op::Lend { .. } | Op::Settle { .. } | Op::Release { .. } => self.diverge_results(inst),
            // All lanes get the same answer.
            Op::ReturnRegisters { .. } | Op::TryRegisters { .. } => {}
            Op::WarpgroupArrive
            | Op::WarpgroupCommit
            | Op::WarpgroupWait { .. }
            | Op::WarpgroupProduct(_) => self.diverge_results(inst),
            Op::Elect
            | Op::Nanosleep
            | Op::PmEvent { .. }
            | Op::CacheLine { .. }
            | Op::Breakpoint
            | Op::WarpSync => self.diverge_results(inst),
            Op::WarpFence => self.diverge_results(inst),
            Op::ClusterArrive { .. } | Op::ClusterWait { .. } => self.diverge_results(inst),
            Op::GridDependency(_) => self.diverge_results(inst),
            Op::MbarrierUpdate { .. } | Op::MbarrierInval => self.diverge_results(inst),
            Op::MbarrierArrive { .. } | Op::MbarrierState { .. } => self.diverge_results(inst),
            Op::MbarrierParity { .. } | Op::MbarrierPending => self.diverge_results(inst),
            Op::AsyncCopy { .. } | Op::AsyncFill { .. } => self.diverge_results(inst),
            Op::AsyncArrive { .. } | Op::AsyncCommit | Op::AsyncWait => self.diverge_results(inst),
            Op::AsyncWaitAll | Op::BulkLoad { .. } | Op::BulkStore | Op::BulkShare => {
                self.diverge_results(inst)
            }
            Op::BulkPrefetch | Op::BulkCommit | Op::BulkWait { .. } => self.diverge_results(inst),
            Op::RemoteStore | Op::RemoteRed { .. } => self.diverge_results(inst),
            Op::BulkRed { .. } | Op::BulkShareRed { .. } | Op::TensorLoad { .. } | Op::TensorStore(_) => {
                self.diverge_results(inst)
            }
            Op::TensorRed { .. } | Op::TensorPrefetch(_) => self.diverge_results(inst),
            Op::ProxyFence(_) | Op::TensormapAcquire(_) | Op::TensormapPrefetch => self.diverge_results(inst),
            Op::TensormapRelease(_) => self.diverge_results(inst),
            Op::Call { .. } | Op::CallIndirect(_) | Op::FuncAddr(_) => self.diverge_results(inst),
            Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) => self.diverge_results(inst),
            Op::SaveBarrier(_) | Op::RestoreBarrier(_) => self.diverge_results(inst),
            Op::Jump | Op::Return | Op::Exit | Op::Trap => self.diverge_results(inst),
        }
    }

    /// Lanes may have diverged after a call at the end of a block, although they continue on the
    /// same way.
    fn part_at_call(&mut self, block: Block) {
        let insts = &self.func.blocks[block].insts;
        if insts.iter().any(|&inst| is_parting_call(self.func, inst)) {
            for inside in self.influence.parted_blocks(self.cfg, block) {
                self.enter_region(inside);
            }
        }
    }

    fn diverge(&mut self, value: Value) {
        let sameness = &mut self.result.values[value.index()];
        if *sameness != Sameness::Divergent {
            *sameness = Sameness::Divergent;
            self.work.push(value);
        }
    }

    /// Handles a value that is used after threads have left a loop in different iterations.
    fn leave_apart(&mut self, value: Value) {
        let sameness = &mut self.result.values[value.index()];
        if *sameness == Sameness::Uniform {
            *sameness = Sameness::LeftApart;
        }
    }

    fn diverge_results(&mut self, inst: Inst) {
        for &result in self.func.results(inst) {
            self.diverge(result);
        }
    }

    /// Handles a branch that turns out to be divergent.
    fn diverge_branch(&mut self, block: Block) {
        if !self.result.divergent_branches.insert(block) {
            return;
        }
        let region = self.influence.region(self.func, self.cfg, block);
        for &inside in &region.blocks {
            self.enter_region(inside);
        }
        for join in region.joins {
            self.diverge_params(join);
        }
        if region.blocks.is_empty() {
            return;
        }
        let end = self.influence.end(block);
        let mut around = self.loops.innermost(block);
        while let Some(this) = around.filter(|&this| end.is_none_or(|end| !self.loops.contains(this, end))) {
            if !std::mem::replace(&mut self.left_apart[this], true) {
                let loops = self.loops;
                let varying = self.varying_values(this);
                for value in varying {
                    self.diverge_live_out(value, |user| !loops.contains(this, user));
                }
            }
            around = self.loops.parent(this);
        }
        if let Some(&first) = self.tangles[block].first() {
            self.diverge_tangle(first, block);
        }
    }

    fn diverge_params(&mut self, block: Block) {
        for &param in &self.func.blocks[block].params {
            self.diverge(param);
        }
    }

    /// Whether an instruction gives all threads that execute it the value of one lane: a shuffle with
    /// a constant lane of the whole warp. A lane that has exited has no value, and PTX says nothing
    /// about the result then.
    fn is_broadcast(&self, inst: Inst) -> bool {
        let data = &self.func.insts[inst];
        let [_, lane, clamp, ref mask @ ..] = *data.args.as_slice() else { return false };
        let is_constant = |&value: &Value| self.func.constant(value).is_some();
        // The mask of segments, bits 8 to 12, is zero: there is one segment.
        data.op == Op::Shfl(ShflMode::Idx)
            && is_constant(&lane)
            && self.func.constant(clamp) == Some(31)
            && mask.iter().all(is_constant)
    }

    /// Marks a block as executed by part of the warp.
    fn enter_region(&mut self, block: Block) {
        if !self.result.divergent_blocks.insert(block) {
            return;
        }
        for &inst in &self.func.blocks[block].insts {
            if needs_whole_warp(&self.func.insts[inst].op) {
                self.diverge_results(inst);
            }
        }
    }

    /// The values of a loop that may differ between its iterations: all except those computed from constants
    /// and from values from outside.
    fn varying_values(&mut self, this: Loop) -> Vec<Value> {
        let (func, loops) = (self.func, self.loops);
        let mut found: Vec<Value> = Vec::new();
        for &block in loops.blocks(this) {
            let changing = func.blocks[block].insts.iter().filter(|&&inst| may_change(&func.insts[inst].op));
            let results = changing.flat_map(|&inst| func.results(inst));
            found.extend(func.blocks[block].params.iter().chain(results));
        }
        for &value in &found {
            self.varying.insert(value);
        }
        let mut next = 0;
        while let Some(&value) = found.get(next) {
            next += 1;
            for &(inst, user) in self.uses.insts.of(value) {
                if loops.contains(this, user) {
                    let results = func.results(inst).iter().copied();
                    found.extend(results.filter(|&result| self.varying.insert(result)));
                }
            }
        }
        for &value in &found {
            self.varying.remove(value);
        }
        found
    }

    /// A value counts as divergent if it is used outside: each thread keeps the value that it computed
    /// last.
    fn diverge_live_out(&mut self, value: Value, is_outside: impl Fn(Block) -> bool) {
        let (func, uses) = (self.func, self.uses);
        for &(inst, user) in uses.insts.of(value) {
            if is_outside(user) {
                self.leave_apart(value);
                self.diverge_user(inst, user);
            }
        }
        for &(param, source) in uses.params.of(value) {
            let home = match func.def(param) {
                ValueDef::Param(home, _) => home,
                ValueDef::Result(..) => source,
            };
            if is_outside(source) || is_outside(home) {
                self.leave_apart(value);
                self.diverge(param);
            }
        }
    }

    /// Threads go around in a cycle that is not a loop: all values that cross from block to block
    /// diverge.
    fn diverge_tangle(&mut self, first: Block, branch: Block) {
        let anchor = if self.tangles[branch].len() > 1 { branch } else { first };
        for block in std::mem::take(&mut self.tangles[anchor]) {
            self.enter_region(block);
            self.diverge_params(block);
            let results = self.func.blocks[block].insts.iter().flat_map(|&inst| self.func.results(inst));
            for &value in self.func.blocks[block].params.iter().chain(results) {
                self.diverge_live_out(value, |user| user != block);
            }
        }
    }
}

/// Whether an instruction may give a thread another value in another iteration of a loop, for the same
/// arguments.
fn may_change(op: &Op) -> bool {
    if let Op::SpecialReg(reg) = op {
        return reg.is_volatile();
    }
    !matches!(op, arithmetic!() | Op::Const(_) | Op::Param { .. } | Op::SymbolAddr(_) | Op::FuncAddr(_))
}

/// Whether an instruction's results differ between threads for all arguments.
fn is_source(op: &Op) -> bool {
    match op {
        Op::SpecialReg(reg) => !reg.is_uniform(),
        Op::Atomic { .. }
        | Op::TryAtomic { .. }
        | Op::LoadReduce { .. }
        | Op::Shfl(_)
        | Op::Elect
        | Op::SaveBarrier(_)
        | Op::Call { pure: false, .. }
        | Op::CallIndirect(_) => true,
        // Each lane has its own elements.
        Op::MatrixLoad { .. } | Op::MatrixTranspose | Op::MatrixProduct(_) => true,
        Op::Lend { .. } | Op::Settle { .. } | Op::WarpgroupProduct(_) => true,
        Op::Release { .. } => false,
        Op::WarpgroupArrive | Op::WarpgroupCommit | Op::WarpgroupWait { .. } => false,
        Op::ReturnRegisters { .. } | Op::TryRegisters { .. } => false,
        Op::MatrixStore { .. } => false,
        // Threads arrive one after another, and each may find a different state.
        Op::MbarrierArrive { .. } | Op::MbarrierState { .. } | Op::MbarrierParity { .. } => true,
        Op::Load(access) => {
            !(is_read_only(op) || access.order == Order::Weak && is_shared_space(access.space))
        }
        Op::Call { pure: true, .. } => false,
        arithmetic!() => false,
        Op::Const(_) | Op::Undef | Op::Param { .. } | Op::SymbolAddr(_) => false,
        Op::Store(_) | Op::Red { .. } | Op::Fence { .. } | Op::ToGeneric(_) | Op::FromGeneric(_) => false,
        Op::CachePolicy | Op::CacheHint | Op::IsSpace(_) => false,
        Op::Texture(_) | Op::ImageSize(_) | Op::SurfaceStore(_) | Op::SurfaceRed { .. } => false,
        Op::SurfaceLoad(_) => false,
        Op::Vote(_) | Op::ActiveMask | Op::Match(_) | Op::Redux(_) | Op::Nanosleep => false,
        Op::PmEvent { .. } | Op::CacheLine { .. } => false,
        Op::Breakpoint | Op::WarpSync | Op::WarpFence => false,
        Op::Bar(_) | Op::Barrier { .. } | Op::ClusterArrive { .. } | Op::ClusterWait { .. } => false,
        Op::GridDependency(_) => false,
        Op::MbarrierUpdate { .. } | Op::MbarrierInval | Op::MbarrierPending => false,
        Op::AsyncCopy { .. } | Op::AsyncFill { .. } | Op::AsyncArrive { .. } | Op::AsyncCommit => false,
        Op::AsyncWait | Op::AsyncWaitAll | Op::BulkLoad { .. } | Op::BulkStore | Op::BulkShare => false,
        Op::BulkPrefetch | Op::BulkCommit | Op::BulkWait { .. } => false,
        Op::RemoteStore | Op::RemoteRed { .. } => false,
        Op::BulkRed { .. } | Op::BulkShareRed { .. } | Op::TensorLoad { .. } | Op::TensorStore(_) => false,
        Op::TensorRed { .. } | Op::TensorPrefetch(_) => false,
        Op::ProxyFence(_) | Op::TensormapAcquire(_) | Op::TensormapPrefetch | Op::TensormapRelease(_) => {
            false
        }
        Op::FuncAddr(_) => false,
        Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) | Op::RestoreBarrier(_) => false,
        Op::Jump | Op::Branch { .. } | Op::BranchTogether | Op::Switch | Op::Return | Op::Exit => false,
        Op::Trap => false,
    }
}

/// Whether a load reads memory that is never written.
fn is_read_only(op: &Op) -> bool {
    op.access().is_some_and(|access| {
        matches!(access.space, Space::Const | Space::Param) || access.cache == CacheOp::Nc
    })
}

/// Whether an address means the same memory in every thread of a warp.
fn is_shared_space(space: Space) -> bool {
    matches!(space, Space::Global | Space::Shared | Space::SharedCluster)
}

/// Whether results of uniform arguments are uniform only if the whole warp executes the operation.
fn needs_whole_warp(op: &Op) -> bool {
    match op {
        Op::Vote(_) | Op::ActiveMask | Op::Match(_) | Op::Redux(_) => true,
        // Only a broadcast is uniform elsewhere.
        Op::Shfl(_) => true,
        Op::Load(_) => !is_read_only(op),
        Op::Texture(_) | Op::SurfaceLoad(_) => true,
        Op::ImageSize(_) | Op::SurfaceStore(_) | Op::SurfaceRed { .. } => false,
        arithmetic!() => false,
        Op::Const(_) | Op::Undef | Op::Param { .. } | Op::SymbolAddr(_) | Op::SpecialReg(_) => false,
        Op::Store(_) | Op::Atomic { .. } | Op::Red { .. } | Op::TryAtomic { .. } => false,
        Op::LoadReduce { .. } => false,
        Op::Fence { .. } | Op::ToGeneric(_) | Op::FromGeneric(_) | Op::CachePolicy | Op::CacheHint => false,
        Op::IsSpace(_) => false,
        Op::MatrixLoad { .. } | Op::MatrixStore { .. } => false,
        Op::MatrixTranspose | Op::MatrixProduct(_) => false,
        Op::Lend { .. } | Op::Settle { .. } | Op::Release { .. } => false,
        Op::ReturnRegisters { .. }
        | Op::TryRegisters { .. }
        | Op::WarpgroupArrive
        | Op::WarpgroupCommit
        | Op::WarpgroupWait { .. }
        | Op::WarpgroupProduct(_) => false,
        Op::Elect
        | Op::Nanosleep
        | Op::PmEvent { .. }
        | Op::CacheLine { .. }
        | Op::Breakpoint
        | Op::WarpSync
        | Op::WarpFence => false,
        Op::Bar(_) | Op::Barrier { .. } | Op::ClusterArrive { .. } | Op::ClusterWait { .. } => false,
        Op::GridDependency(_) => false,
        Op::MbarrierUpdate { .. } | Op::MbarrierInval | Op::MbarrierArrive { .. } => false,
        Op::MbarrierState { .. } | Op::MbarrierParity { .. } | Op::MbarrierPending => false,
        Op::AsyncCopy { .. } | Op::AsyncFill { .. } | Op::AsyncArrive { .. } | Op::AsyncCommit => false,
        Op::AsyncWait | Op::AsyncWaitAll | Op::BulkLoad { .. } | Op::BulkStore | Op::BulkShare => false,
        Op::BulkPrefetch | Op::BulkCommit | Op::BulkWait { .. } => false,
        Op::RemoteStore | Op::RemoteRed { .. } => false,
        Op::BulkRed { .. } | Op::BulkShareRed { .. } | Op::TensorLoad { .. } | Op::TensorStore(_) => false,
        Op::TensorRed { .. } | Op::TensorPrefetch(_) => false,
        Op::ProxyFence(_) | Op::TensormapAcquire(_) | Op::TensormapPrefetch | Op::TensormapRelease(_) => {
            false
        }
        Op::Call { .. } | Op::CallIndirect(_) | Op::FuncAddr(_) => false,
        Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) | Op::SaveBarrier(_) | Op::RestoreBarrier(_) => false,
        Op::Jump | Op::Branch { .. } | Op::BranchTogether | Op::Switch | Op::Return | Op::Exit => false,
        Op::Trap => false,
    }
}

#[cfg(test)]
mod tests;
