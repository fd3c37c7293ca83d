//! Instruction selection: SSA IR to machine IR.
//!
//! In: a legalized [`Function`] with its convergence barriers, and the known facts about its
//! blocks. Out: a [`Mir<VReg>`] with the same blocks, or the list of operations that could not be
//! selected.
//!
//! ```text
//! v3 = imul.b32 v1, v2                      ULDC %ur0, c[0x0][0x0]
//! v4 = iadd.b32 v3, v0         =>           IMAD %r4, %r1, %ur0, %r0
//! v6 = icmp.sge.b32 v4, v5                  ISETP.GE.AND %p6, PT, %r4, %ur1, PT
//! brif v6, block2, block1                   branch %p6, mb2, mb1
//! ```
//!
//! Algorithm: tree matching while walking backwards over the SSA graph, as in Cranelift's lowering.
//! The instructions of a block are visited from the last to the first, and the blocks in an order
//! in which each follows those that it dominates, so that all users come before their definition. A
//! user either folds the definition into itself, if nothing else uses the value, or asks for its
//! register. A definition whose register no user has asked for is skipped. The row of an
//! instruction in the instruction table tells the operands that fit its slots; an instruction takes
//! only one immediate, uniform register or constant. Constants and parameters have no place of
//! their own: see [`pool`]. One pass, linear in the function.
//!
//! One file per family: [`integer`], [`logic`], [`wide`] for 64 bits, [`float`], [`double`],
//! [`half`], [`compare`] with predicates and selects, [`memory`], [`fence`], [`mbarrier`],
//! [`warp`], [`lane_groups`], [`control`], [`call`], [`special`]. [`lower`] keeps the state.
//!
//! [`combine`](crate::combine) later does the fusions that show only in machine code, and replaces
//! short branches by guards.

mod atomic;
mod cache_policy;
mod call;
mod compare;
mod control;
mod convert;
mod copies;
mod double;
mod fence;
mod float;
mod half;
mod integer;
mod integer_pairs;
mod lane_groups;
mod logic;
mod lower;
mod matrix;
mod mbarrier;
mod memory;
mod multicast;
mod narrow;
mod pool;
mod source;
mod special;
mod surface;
mod tensor_copy;
#[cfg(test)]
mod tests;
mod texture;
mod warp;
mod warpgroup;
mod wide;

use cranelift_entity::SecondaryMap;
use ptxc_ir::{
    Block, Callee, CalleeKind, Function, FunctionKind, Inst as IrInst, Op, Order, SourceLoc, Space,
    SymbolData, Type, Value,
};
use ptxc_machine::{Arch, Feature};
use ptxc_sass::RegFile;
use ptxc_sass::program::{ImageKind, ImageWord};
use ptxc_sass::variable::Variable;
use ptxc_ssa::uniformity::Uniformity;

use crate::mir::{Cfg, Edge, MBlock, MBlockId, Mir, Term, Tuple, VReg};
use crate::variables::{shared_variable, variable};
use lower::Lower;

/// An operation that selection knows no instructions for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The operation.
    pub op: String,
    /// Its source location.
    pub loc: SourceLoc,
    /// The reason.
    pub why: String,
}

/// The most virtual registers after selection: a quarter of the registers that can be named. The
/// rest is left for the later passes, which split and spill registers.
pub const MOST_REGISTERS: usize = VReg::MOST / 4;

/// Selects instructions for a function, given the blocks that a warp executes together and the
/// frequency of each block, in units of 1/1024 of the entry.
///
/// # Errors
/// Every operation that could not be selected, in source order.
pub fn select(
    func: &Function,
    arch: Arch,
    uniformity: &Uniformity,
    frequency: &SecondaryMap<Block, u64>,
) -> Result<Mir<VReg>, Vec<Unsupported>> {
    select_within(func, arch, uniformity, frequency, MOST_REGISTERS)
}

/// The same, with at most `most` virtual registers.
fn select_within(
    func: &Function,
    arch: Arch,
    uniformity: &Uniformity,
    frequency: &SecondaryMap<Block, u64>,
    most: usize,
) -> Result<Mir<VReg>, Vec<Unsupported>> {
    let (mir, block_map) = skeleton(func, uniformity, frequency, arch);
    ptxc_interrupt::poll();
    let cfg = Cfg::new(&mir);
    let order = cfg.order().to_vec();
    let mut source: SecondaryMap<MBlockId, Option<Block>> = SecondaryMap::new();
    for (block, mblock) in block_map.iter() {
        if let Some(mblock) = *mblock {
            source[mblock] = Some(block);
        }
    }
    let mut lower = Lower::new(func, arch, uniformity, mir, cfg, block_map);
    lower.place_lent_parameters();
    for &mblock in order.iter().rev() {
        if let Some(block) = source[mblock] {
            lower.lower_block(block, mblock, most);
        }
    }
    if !lower.unsupported.is_empty() {
        lower.unsupported.sort_by_key(|unsupported| unsupported.loc);
        return Err(lower.unsupported);
    }
    ptxc_interrupt::poll();
    lower.mark_brought_values();
    let Lower { pool, mut mir, cfg, .. } = lower;
    pool.insert(&mut mir, &cfg, arch);
    Ok(mir)
}

/// The blocks with their edges, without instructions, parameters and arguments. Unreachable blocks
/// are left out.
fn skeleton(
    func: &Function,
    uniformity: &Uniformity,
    frequency: &SecondaryMap<Block, u64>,
    arch: Arch,
) -> (Mir<VReg>, SecondaryMap<Block, Option<MBlockId>>) {
    let mut mir = Mir::new(func.name.clone(), arch);
    mir.header.kind = func.kind;
    mir.header.params = func.params.clone();
    mir.header.local_bytes = func.local_bytes();
    mir.header.outgoing_bytes = func.outgoing_bytes();
    mir.header.bounds = func.bounds.clone();
    mir.header.platform = func.platform.is_some();
    let is_linked = |callee: &Callee| matches!(&callee.kind, CalleeKind::External(external) if external.address.is_none());
    let is_relocatable = mir.header.platform
        || func.callees.values().any(is_linked)
        || func
            .symbols
            .values()
            .any(|one| matches!(one.space, Space::Global | Space::Const) && one.offset.is_none())
        || func.symbols.values().any(SymbolData::is_linked_word);
    let mut linked: Vec<_> = func.symbols.values().filter(|one| one.is_linked_word()).collect();
    linked.retain(|one| one.offset.is_some());
    linked.sort_by_key(|one| one.offset);
    mir.header.functions.extend(linked.iter().map(|one| one.name.clone()));
    for symbol in func.symbols.values() {
        let end = symbol.end_from(symbol.offset.unwrap_or(0));
        match symbol.space {
            // A linker places it. The file has those of the module once.
            Space::Shared if is_relocatable && symbol.offset.is_none() => {
                let is_own = symbol.name.starts_with('$');
                mir.header.variables.extend(is_own.then(|| shared_variable(symbol)));
            }
            Space::Shared => {
                mir.header.shared_bytes = mir.header.shared_bytes.max(end);
                mir.header.dynamic_shared |= symbol.size == 0;
            }
            Space::Local | Space::Texture | Space::Sampler | Space::Surface => {}
            Space::Generic | Space::Global | Space::SharedCluster | Space::Const | Space::Param => {
                mir.header.variables.extend(variable(symbol));
            }
        }
    }
    mir.header.image_words.extend(func.image_words.iter().filter_map(|word| {
        let symbol = &func.symbols[word.symbol];
        let kind = match symbol.space {
            Space::Texture => ImageKind::Texture,
            Space::Sampler if arch.has(Feature::UniformHandles) => ImageKind::Sampler,
            Space::Sampler => ImageKind::UpperSampler,
            Space::Surface => ImageKind::Surface,
            _ => return None,
        };
        Some(ImageWord { offset: word.offset, kind, name: symbol.name.clone() })
    }));
    for callee in func.callees.values() {
        let CalleeKind::External(external) = &callee.kind else { continue };
        let known = external.address.map(|place| Variable::external(&callee.name, place));
        mir.header.variables.extend(known);
    }
    if mir.header.platform {
        let locals = func.symbols.values().filter(|symbol| symbol.space == Space::Local);
        mir.header.stack_align = locals.map(|symbol| symbol.align).max().unwrap_or(0);
    }
    mir.header.relocatable = is_relocatable;
    mir.header.leaves_module = func.callees.values().any(|callee| !callee.lanes.inside);
    let mut block_map: SecondaryMap<Block, Option<MBlockId>> = SecondaryMap::new();
    let blocks = reachable(func);
    mir.blocks.reserve(blocks.len());
    mir.layout.reserve(blocks.len());
    for block in blocks {
        ptxc_interrupt::poll();
        let mblock = mir.blocks.push(MBlock {
            params: Vec::new(),
            insts: Vec::new(),
            term: Term::Exit,
            term_loc: func.terminator(block).map_or(SourceLoc::NONE, |inst| func.insts[inst].loc),
            frequency: frequency[block],
            divergent: !uniformity.is_convergent_block(block),
        });
        block_map[block] = Some(mblock);
        mir.layout.push(mblock);
    }
    for (block, &mblock) in block_map.iter() {
        let Some(mblock) = mblock else { continue };
        let targets: Vec<MBlockId> = func.successors(block).filter_map(|target| block_map[target]).collect();
        let edge = |block| Edge { block, args: Default::default() };
        mir.blocks[mblock].term = match targets[..] {
            [only] => Term::Jump(edge(only)),
            [_, _, _, ..] => {
                // The address is filled in when the terminator is selected.
                let address = VReg::new(cranelift_entity::EntityRef::new(0), 0, RegFile::Gpr);
                Term::Table {
                    address,
                    offset: 0,
                    edges: targets.iter().map(|&target| edge(target)).collect(),
                }
            }
            [then, other] => {
                // The predicate is filled in when the terminator is selected.
                let pred = VReg::new(cranelift_entity::EntityRef::new(0), 0, RegFile::Pred);
                Term::Branch { pred, negated: false, then: edge(then), other: edge(other) }
            }
            _ => Term::Exit,
        };
    }
    (mir, block_map)
}

fn reachable(func: &Function) -> Vec<Block> {
    let mut seen: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut stack = vec![func.entry()];
    while let Some(block) = stack.pop() {
        if !std::mem::replace(&mut seen[block], true) {
            stack.extend(func.successors(block));
        }
    }
    func.layout.iter().copied().filter(|&block| seen[block]).collect()
}

impl Lower<'_> {
    /// Selects instructions for a block, unless there are too many registers by now.
    fn lower_block(&mut self, block: Block, mblock: MBlockId, most: usize) {
        self.block = mblock;
        let func = self.func;
        self.is_acquired = false;
        for &inst in func.blocks[block].insts.iter().rev() {
            ptxc_interrupt::poll();
            self.loc = func.insts[inst].loc;
            if self.mir.vregs.len() > most {
                if self.unsupported.is_empty() {
                    self.unsupported(
                        &func.insts[inst].op,
                        format!("its function takes more than {most} virtual registers"),
                    );
                }
                return;
            }
            let (known, start) = (self.unsupported.len(), self.seq.len());
            self.lower_inst(inst);
            if self.unsupported.len() > known {
                // The operands of an unsupported operation are selected nevertheless, so that one
                // run reports all unsupported operations. Values that are operands of their users
                // are not: they would be made without need.
                let operand = |op: Op| {
                    matches!(op, Op::Const(_) | Op::Undef | Op::Bitcast | Op::Unpack)
                        || matches!(op, Op::Param { .. } | Op::SymbolAddr(_) | Op::SpecialReg(_))
                };
                let computed = |&arg: &Value| !func.def_inst(arg).is_some_and(|data| operand(data.op));
                for &arg in func.insts[inst].args.iter().filter(|arg| computed(arg)) {
                    self.reg_of(arg);
                }
            }
            self.seq[start..].reverse();
            self.is_acquired |= matches!(func.insts[inst].op, Op::Fence { order: Order::Acquire, .. });
        }
        let start = self.seq.len();
        self.start_of_block();
        self.seq[start..].reverse();
        if func.kind == FunctionKind::Device && block == func.entry() {
            let parameters = self.parameters();
            self.mir.blocks[mblock].insts = parameters.into_iter().chain(self.seq.drain(..).rev()).collect();
            return;
        }
        let params = func.blocks[block].params.iter();
        let params: Vec<Tuple<VReg>> = params
            .filter_map(|&param| {
                let width = match self.warpgroups.params[param] {
                    None => lower::width_of(func.ty(param)),
                    Some(0) => return None,
                    Some(width) => width,
                };
                Some(Tuple { reg: self.reg_of(param), width })
            })
            .collect();
        if self.uniformity.is_convergent_block(block) {
            for &param in &func.blocks[block].params {
                if self.uniformity.is_uniform(param) {
                    let reg = self.reg_of(param);
                    self.mir.vregs[reg.id()].agrees = true;
                }
            }
        }
        let data = &mut self.mir.blocks[mblock];
        data.insts = self.seq.drain(..).rev().collect();
        data.params = params;
    }

    /// Marks the results of shuffles and loads that all lanes of the warp share where it is together.
    fn mark_brought_values(&mut self) {
        let func = self.func;
        for &block in func.layout.iter().filter(|&&block| self.uniformity.is_convergent_block(block)) {
            for &inst in &func.blocks[block].insts {
                if !matches!(func.insts[inst].op, Op::Shfl(_) | Op::Load(_)) {
                    continue;
                }
                for &result in func.results(inst) {
                    if !self.has_reg(result) || !self.uniformity.is_uniform(result) {
                        continue;
                    }
                    let reg = self.reg_of(result);
                    let whole = lower::width_of(func.ty(result)) == self.mir.vregs[reg.id()].width;
                    self.mir.vregs[reg.id()].agrees |= whole && reg.component() == 0;
                }
            }
        }
    }

    #[deny(clippy::wildcard_enum_match_arm)]
    fn lower_inst(&mut self, inst: IrInst) {
        let func = self.func;
        let data = &func.insts[inst];
        let effects = data.op.effects();
        let stays = effects.ordered || effects.writes;
        if !stays && !func.results(inst).iter().any(|&result| self.is_needed(result)) {
            return;
        }
        let ty = data.ty;
        match data.op {
            // These are operands of their users.
            Op::Bitcast | Op::Unpack => {}
            Op::Const(_) | Op::Undef => self.lower_constant(inst),
            Op::Param { .. } | Op::SymbolAddr(_) | Op::SpecialReg(_) => self.lower_special(inst),

            Op::Iadd | Op::Isub | Op::Ineg if ty == Type::B32 => self.lower_sum(inst),
            Op::Imul | Op::Umulh | Op::Smulh if ty == Type::B32 => self.lower_product(inst),
            Op::Iabs | Op::Smin | Op::Smax | Op::Umin | Op::Umax if ty == Type::B32 => {
                self.lower_minmax(inst);
            }
            Op::Ipair(_) => self.lower_integer_pair(inst),
            Op::Shl | Op::Shr | Op::Sar if ty == Type::B32 => self.lower_shift(inst),
            Op::Popc | Op::Clz | Op::Brev | Op::Bfind { .. } if ty == Type::B32 => self.lower_bits(inst),
            Op::Prmt(_) | Op::Bmsk { .. } | Op::Szext { .. } => self.lower_bits(inst),
            Op::PackSaturated(_) => self.lower_packed_integers(inst),
            Op::Dp4a { .. } | Op::Dp2a { .. } => self.lower_dot_product(inst),
            Op::FunnelShl(_) | Op::FunnelShr(_) => self.lower_funnel(inst),
            Op::Zext | Op::Sext | Op::Trunc => self.lower_extension(inst),

            Op::And | Op::Or | Op::Xor | Op::Not if ty == Type::Pred => self.lower_pred_logic(inst),
            Op::And | Op::Or | Op::Xor | Op::Not if ty == Type::B32 => self.lower_logic(inst),
            Op::Lop3 { .. } => self.lower_logic(inst),

            Op::IaddCarryOut
            | Op::IaddCarryIn
            | Op::IaddCarryInOut
            | Op::IsubCarryOut
            | Op::IsubCarryIn
            | Op::IsubCarryInOut => self.lower_carry(inst),
            Op::UmulWide | Op::SmulWide | Op::UmadWide | Op::SmadWide => self.lower_wide_product(inst),
            Op::Pack => self.lower_pack(inst),

            Op::Icmp(_) => self.lower_icmp(inst),
            Op::Fcmp { .. } => self.lower_fcmp(inst),
            Op::FcmpPair { .. } | Op::Fset { .. } => self.lower_half_pair_comparison(inst),
            Op::Select => self.lower_select(inst),

            Op::Fadd(_) | Op::Fsub(_) | Op::Fmul(_) | Op::Ffma(_) if ty == Type::F32 => {
                self.lower_float_arithmetic(inst);
            }
            Op::Fadd(_) | Op::Fsub(_) | Op::Fmul(_) | Op::Ffma(_) if half::is_half(ty) => {
                self.lower_half_arithmetic(inst);
            }
            Op::Fneg { .. } | Op::Fabs { .. } | Op::Fmin { .. } | Op::Fmax { .. } | Op::Fapprox { .. }
                if half::is_half(ty) =>
            {
                self.lower_half_unary(inst);
            }
            Op::FfmaOob if half::is_half(ty) => self.lower_bounded_multiply_add(inst),
            Op::FdivCheck => self.lower_division_check(inst),
            Op::Fneg { .. } | Op::Fabs { .. } | Op::Fmin { .. } | Op::Fmax { .. } | Op::Fapprox { .. }
                if ty == Type::F32 =>
            {
                self.lower_float_unary(inst);
            }
            Op::Fadd(_) | Op::Fsub(_) | Op::Fmul(_) | Op::Ffma(_) if ty == Type::F64 => {
                self.lower_double_arithmetic(inst);
            }
            Op::Fneg { .. }
            | Op::Fabs { .. }
            | Op::Fmin { .. }
            | Op::Fmax { .. }
            | Op::Fapprox { .. }
            | Op::RoundToIntegral { .. }
                if ty == Type::F64 =>
            {
                self.lower_double_unary(inst);
            }
            Op::SintToFloat(_)
            | Op::UintToFloat(_)
            | Op::FloatToSint { .. }
            | Op::FloatToUint { .. }
            | Op::FloatToFloat(_)
                if ty == Type::F64 || func.ty(data.args[0]) == Type::F64 =>
            {
                self.lower_double_conversion(inst);
            }
            Op::SintToFloat(_) | Op::UintToFloat(_) | Op::FloatToSint { .. } | Op::FloatToUint { .. } => {
                self.lower_conversion(inst);
            }
            Op::FloatToFloat(_) | Op::FloatToHalf { .. } | Op::FloatsToHalves { .. } => {
                self.lower_conversion(inst)
            }
            Op::FloatToTf32 { .. } | Op::FloatsToBytes { .. } => self.lower_narrow_float(inst),
            Op::HalvesToBytes { .. } | Op::BytesToHalves { .. } => self.lower_narrow_float(inst),
            Op::RoundToIntegral { .. } if ty.bits() <= 32 => self.lower_conversion(inst),

            Op::Load(_) => self.lower_load(inst),
            Op::Store(_) => self.lower_store(inst),
            Op::Atomic { .. } | Op::Red { .. } | Op::TryAtomic { .. } => self.lower_atomic(inst),
            Op::LoadReduce { .. } => self.load_from_all(inst),
            Op::IsSpace(_) => self.lower_space_query(inst),
            Op::Texture(_) => self.lower_texture(inst),
            Op::ImageSize(_) => self.lower_image_size(inst),
            Op::SurfaceLoad(_) | Op::SurfaceStore(_) | Op::SurfaceRed { .. } => self.lower_surface(inst),
            Op::Fence { .. }
            | Op::ProxyFence(_)
            | Op::TensormapAcquire(_)
            | Op::TensormapPrefetch
            | Op::TensormapRelease(_) => {
                self.lower_fence(inst);
            }
            Op::ClusterArrive { .. } | Op::ClusterWait { .. } | Op::GridDependency(_) => {
                self.lower_fence(inst)
            }
            Op::MbarrierUpdate { .. } | Op::MbarrierInval | Op::MbarrierArrive { .. } => {
                self.lower_mbarrier(inst)
            }
            Op::MbarrierState { .. } | Op::MbarrierParity { .. } | Op::AsyncArrive { .. } => {
                self.lower_mbarrier(inst)
            }

            Op::AsyncFill { .. } | Op::AsyncCommit | Op::AsyncWait | Op::AsyncWaitAll => {
                self.lower_copy(inst)
            }
            Op::BulkLoad { .. } | Op::BulkStore | Op::BulkShare | Op::BulkPrefetch => self.lower_copy(inst),
            Op::BulkCommit | Op::BulkWait { .. } => self.lower_copy(inst),
            Op::RemoteStore | Op::RemoteRed { .. } => self.lower_copy(inst),
            Op::BulkRed { .. } | Op::BulkShareRed { .. } | Op::TensorLoad { .. } | Op::TensorStore(_) => {
                self.lower_copy(inst)
            }
            Op::TensorRed { .. } | Op::TensorPrefetch(_) => self.lower_copy(inst),

            Op::Vote(_) | Op::Shfl(_) | Op::ActiveMask | Op::WarpSync | Op::WarpFence => {
                self.lower_warp(inst)
            }
            Op::Match(_) | Op::Redux(_) | Op::Elect | Op::Nanosleep => self.lower_warp(inst),
            Op::MatrixLoad { .. } | Op::MatrixStore { .. } => self.lower_matrix(inst),
            Op::MatrixTranspose | Op::MatrixProduct(_) => self.lower_matrix(inst),
            Op::Lend { .. } | Op::Settle { .. } | Op::Release { .. } => self.lower_warpgroup(inst),
            Op::WarpgroupArrive
            | Op::ReturnRegisters { .. }
            | Op::TryRegisters { .. }
            | Op::WarpgroupCommit
            | Op::WarpgroupWait { .. }
            | Op::WarpgroupProduct(_) => self.lower_warpgroup(inst),
            Op::PmEvent { .. } => self.lower_warp(inst),
            Op::CacheLine { .. } => self.lower_cache_line(inst),
            Op::Barrier { .. } => self.lower_barrier(inst),
            Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) | Op::SaveBarrier(_) | Op::RestoreBarrier(_) => {
                self.lower_convergence(inst)
            }
            Op::Call { .. } | Op::CallIndirect(_) => self.lower_call(inst),
            Op::FuncAddr(_) => self.lower_function_address(inst),
            Op::Trap | Op::Breakpoint => self.lower_trap(),
            Op::Return if func.kind == FunctionKind::Device => self.lower_return(inst),
            Op::Jump | Op::Branch { .. } | Op::Switch | Op::Return | Op::Exit | Op::BranchTogether => {
                self.lower_terminator(inst);
            }

            Op::ToGeneric(Space::Global) | Op::FromGeneric(Space::Global) | Op::CacheHint => {}
            Op::CachePolicy => self.lower_cache_policy(inst),
            // Legalization leaves none of these, or only those at the types above.
            Op::Iadd | Op::Isub | Op::Ineg | Op::Iabs | Op::Imul | Op::Umulh => self.no_instruction(inst),
            Op::Smulh | Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem | Op::Smin => self.no_instruction(inst),
            Op::Smax | Op::Umin | Op::Umax => self.no_instruction(inst),
            Op::And | Op::Or | Op::Xor | Op::Not | Op::Shl | Op::Shr | Op::Sar => self.no_instruction(inst),
            Op::Popc | Op::Clz | Op::Brev | Op::Bfind { .. } => self.no_instruction(inst),
            Op::Fadd(_) | Op::Fsub(_) | Op::Fmul(_) | Op::Ffma(_) => self.no_instruction(inst),
            Op::FfmaOob => self.no_instruction(inst),
            Op::Fneg { .. } | Op::Fabs { .. } | Op::Fmin { .. } => self.no_instruction(inst),
            Op::Fmax { .. } | Op::Fdiv(_) | Op::Fsqrt(_) => self.no_instruction(inst),
            Op::FdivApprox { .. } | Op::Fapprox { .. } => self.no_instruction(inst),
            Op::RoundToIntegral { .. } => self.no_instruction(inst),
            Op::ToGeneric(_) | Op::FromGeneric(_) => self.no_instruction(inst),
            Op::Bar(_) => self.no_instruction(inst),
            Op::MbarrierPending => self.no_instruction(inst),
            Op::AsyncCopy { .. } => self.no_instruction(inst),
        }
    }

    /// Reports an operation that has no instruction at its type.
    fn no_instruction(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        self.unsupported(&data.op, format!("no instruction for it at type {}", data.ty));
    }
}
