//! Folds constants and applies algebraic identities, one instruction at a time.
//!
//! In: a function. Out: the same function, in which no rule applies any more to the values seen in
//! one walk. Instructions that lost their users stay until [`dce`](mod@super::dce).
//!
//! ```text
//! v3 = select.b32 v0, one, zero
//! v4 = icmp.ne.b32 v3, zero          =>  brif v0, block2, block1
//! v5 = not.pred v4
//! brif v5, block1, block2
//! ```
//!
//! The walk goes in reverse postorder, so arguments are simplified first; a rewritten instruction
//! is visited again, at most a few times. Rules see definitions through the renamings so far. They
//! only look at a bounded depth of definitions, so the pass is linear in the function.
//!
//! The rules are grouped by subject: [`integer`], [`logic`], [`compare`], [`convert`], [`control`].
//! Each maps an instruction to a [`Rewrite`]. On legal code ([`Target::Legal`]) a rule emits no
//! operation on 16, 64 or 128 bits that the instruction was not already: legalization may have
//! removed that very operation.

mod compare;
mod control;
mod convert;
mod divide;
mod forms;
mod integer;
mod known_bits;
mod logic;
mod warpgroup;

use std::mem::discriminant;

use cranelift_entity::{EntityRef, SecondaryMap};
use ptxc_ir::{BlockCall, Function, Inst, InstData, Op, SourceLoc, Type, Value, ValueDef};
use smallvec::SmallVec;

use super::evaluate::evaluate;
use crate::analyses::Analyses;
use forms::Forms;

/// Name of the pass.
pub const NAME: &str = "fold";

/// The operations that rules may emit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// All operations.
    Any,
    /// Only operations that are legal after legalization.
    Legal,
}

/// The replacement of an instruction.
enum Rewrite {
    /// Its results are other values.
    Values(SmallVec<[Value; 2]>),
    /// Its result is a constant of the result's type.
    Constant(u64),
    /// It becomes another operation with results of the same types.
    Op(Op, Type, SmallVec<[Value; 4]>),
    /// A terminator with other arguments and edges.
    Terminator(Op, SmallVec<[Value; 4]>, Vec<BlockCall>),
}

/// The most rewrites of one instruction in one walk.
const MOST_REWRITES: usize = 8;

/// Folds a function; returns whether anything changed.
pub fn fold(func: &mut Function, known: &mut Analyses, target: Target) -> bool {
    let uses = known.take_uses().unwrap_or_else(|| count_uses(func));
    debug_assert_eq!(uses, count_uses(func), "the counts are not those of the function");
    let cfg = known.cfg(func);
    let mut folder = Folder {
        uses,
        forms: vec![Forms::default(); func.num_values()],
        func,
        target,
        renamed: SecondaryMap::new(),
        out: Vec::new(),
        loc: SourceLoc::NONE,
        changed: false,
        changed_flow: false,
    };
    for &block in cfg.rpo() {
        let mut insts = std::mem::take(&mut folder.func.blocks[block].insts);
        folder.out.reserve(insts.len());
        for part in ptxc_interrupt::parts(&insts) {
            part.iter().for_each(|&inst| folder.visit(inst));
        }
        insts.clear();
        // The list that was walked is reused for the next block.
        folder.func.blocks[block].insts = std::mem::replace(&mut folder.out, insts);
    }
    let Folder { renamed, uses, changed, changed_flow, .. } = folder;
    // Definitions come before uses, except in unreachable code.
    if changed && cfg.rpo().len() < func.layout.len() {
        func.rewrite_uses(|value| renamed[value].unwrap_or(value));
    }
    if changed_flow {
        known.forget();
    }
    if !changed {
        known.leave_uses(uses);
    }
    changed
}

/// The number of uses of each value.
pub(super) fn count_uses(func: &Function) -> Vec<u32> {
    let mut uses = vec![0; func.num_values()];
    for &block in &func.layout {
        for part in ptxc_interrupt::parts(&func.blocks[block].insts) {
            for &inst in part {
                let data = &func.insts[inst];
                for &arg in data.args.as_slice() {
                    uses[arg.index()] += 1;
                }
                for target in &data.targets {
                    for &arg in target.args.as_slice() {
                        uses[arg.index()] += 1;
                    }
                }
            }
        }
    }
    uses
}

struct Folder<'f> {
    func: &'f mut Function,
    target: Target,
    /// The value that replaces a value whose definition is gone. It is defined further up and
    /// stays.
    renamed: SecondaryMap<Value, Option<Value>>,
    /// The number of uses of each value before the walk; values that the walk makes are not
    /// counted.
    uses: Vec<u32>,
    /// The forms of the values that the walk has passed. Arguments come before their users, except
    /// for parameters, which have no form.
    forms: Vec<Forms>,
    /// The instructions of the block so far.
    out: Vec<Inst>,
    loc: SourceLoc,
    changed: bool,
    /// Whether edges have changed.
    changed_flow: bool,
}

impl Folder<'_> {
    fn visit(&mut self, inst: Inst) {
        let data = &mut self.func.insts[inst];
        if self.changed {
            let renamed = &self.renamed;
            let rename = |arg: &mut Value| *arg = renamed[*arg].unwrap_or(*arg);
            data.args.iter_mut().for_each(rename);
            for target in &mut data.targets {
                target.args.iter_mut().for_each(rename);
            }
        }
        self.loc = data.loc;
        for _ in 0..MOST_REWRITES {
            let Some(rewrite) = self.rules(inst) else { break };
            self.changed = true;
            match rewrite {
                Rewrite::Values(values) => {
                    let results: SmallVec<[Value; 2]> = SmallVec::from_slice(self.func.results(inst));
                    for (result, value) in results.into_iter().zip(values) {
                        self.renamed[result] = Some(value);
                    }
                    return;
                }
                Rewrite::Constant(bits) => {
                    let ty = self.func.ty(self.func.result(inst));
                    self.func.replace(inst, Op::Const(bits), ty, &[]);
                    break;
                }
                Rewrite::Op(op, ty, args) => self.func.replace(inst, op, ty, &args),
                Rewrite::Terminator(op, args, targets) => {
                    let ty = self.func.insts[inst].ty;
                    self.func.replace(inst, op, ty, &args);
                    self.func.insts[inst].targets = targets;
                    self.changed_flow = true;
                }
            }
        }
        self.put(inst);
    }

    /// Puts an instruction into the block.
    fn put(&mut self, inst: Inst) {
        let form = Forms::of_result(&self.func.insts[inst].op);
        if form != Forms::default() {
            for &result in self.func.results(inst) {
                self.forms[result.index()] = form;
            }
        }
        self.out.push(inst);
    }

    /// The first rule that applies.
    fn rules(&mut self, inst: Inst) -> Option<Rewrite> {
        let data = &self.func.insts[inst];
        let (op, ty) = (data.op, data.ty);
        if op.is_terminator() {
            return control::rule(self, inst);
        }
        if op.access().is_some() {
            return control::memory(self, inst);
        }
        // An operation without arguments can't be folded.
        if data.args.is_empty() || self.func.results(inst).is_empty() {
            return None;
        }
        let forms = Forms::of_arguments(&data.args, &self.forms);
        if !forms.meets(Forms::wanted(&op)) {
            debug_assert!(
                self.by_operation(inst, op, ty, forms).is_none(),
                "{op:?} has rules for other forms"
            );
            return None;
        }
        self.by_operation(inst, op, ty, forms)
    }

    /// The rules for all operations with a constant argument or a select between constants, and
    /// then those for the operation itself. The arguments have these forms.
    #[deny(clippy::wildcard_enum_match_arm)]
    fn by_operation(&mut self, inst: Inst, op: Op, ty: Type, forms: Forms) -> Option<Rewrite> {
        // Rules don't read the instruction itself again.
        let args = std::mem::take(&mut self.func.insts[inst].args);
        let rewrite = self.on_constants(&op, ty, &args, forms).or_else(|| match op {
            Op::And | Op::Or | Op::Xor => {
                integer::rule(self, &op, ty, &args).or_else(|| logic::rule(self, &op, ty, &args))
            }
            Op::Not | Op::Select => logic::rule(self, &op, ty, &args),
            Op::Icmp(_) => compare::rule(self, &op, ty, &args),
            Op::Udiv | Op::Urem | Op::Sdiv | Op::Srem => divide::rule(self, &op, ty, &args),
            Op::Zext
            | Op::Sext
            | Op::Trunc
            | Op::Bitcast
            | Op::Pack
            | Op::Unpack
            | Op::ToGeneric(_)
            | Op::FromGeneric(_) => convert::rule(self, &op, ty, &args),
            Op::Iadd | Op::Isub | Op::Ineg | Op::Iabs | Op::Imul => integer::rule(self, &op, ty, &args),
            Op::Umulh | Op::Smulh | Op::UmulWide | Op::SmulWide => integer::rule(self, &op, ty, &args),
            Op::UmadWide | Op::SmadWide | Op::Smin | Op::Smax => integer::rule(self, &op, ty, &args),
            Op::Umin | Op::Umax | Op::Ipair(_) | Op::IaddCarryOut => integer::rule(self, &op, ty, &args),
            Op::IaddCarryIn | Op::IaddCarryInOut => integer::rule(self, &op, ty, &args),
            Op::IsubCarryOut | Op::IsubCarryIn => integer::rule(self, &op, ty, &args),
            Op::IsubCarryInOut => integer::rule(self, &op, ty, &args),
            Op::Shl | Op::Shr | Op::Sar | Op::Popc | Op::Clz => integer::rule(self, &op, ty, &args),
            Op::Brev | Op::Bfind { .. } | Op::Bmsk { .. } => integer::rule(self, &op, ty, &args),
            Op::Szext { .. } | Op::Prmt(_) | Op::Lop3 { .. } => integer::rule(self, &op, ty, &args),
            Op::Dp4a { .. } | Op::Dp2a { .. } | Op::FunnelShl(_) => integer::rule(self, &op, ty, &args),
            Op::FunnelShr(_) | Op::PackSaturated(_) => integer::rule(self, &op, ty, &args),
            Op::Fcmp { .. } | Op::FcmpPair { .. } => integer::rule(self, &op, ty, &args),
            Op::Fset { .. } => integer::rule(self, &op, ty, &args),
            Op::Fadd(_) | Op::Fsub(_) | Op::Fmul(_) => integer::rule(self, &op, ty, &args),
            Op::FfmaOob => integer::rule(self, &op, ty, &args),
            Op::Ffma(_) | Op::Fneg { .. } | Op::Fabs { .. } => integer::rule(self, &op, ty, &args),
            Op::Fmin { .. } | Op::Fmax { .. } | Op::Fdiv(_) => integer::rule(self, &op, ty, &args),
            Op::Fsqrt(_) | Op::FdivApprox { .. } | Op::FdivCheck => integer::rule(self, &op, ty, &args),
            Op::Fapprox { .. } => integer::rule(self, &op, ty, &args),
            Op::SintToFloat(_) | Op::UintToFloat(_) => integer::rule(self, &op, ty, &args),
            Op::FloatToSint { .. } | Op::FloatToUint { .. } => integer::rule(self, &op, ty, &args),
            Op::FloatToFloat(_) | Op::FloatToHalf { .. } => integer::rule(self, &op, ty, &args),
            Op::FloatToTf32 { .. } | Op::FloatsToBytes { .. } => integer::rule(self, &op, ty, &args),
            Op::HalvesToBytes { .. } | Op::BytesToHalves { .. } => integer::rule(self, &op, ty, &args),
            Op::FloatsToHalves { .. } => integer::rule(self, &op, ty, &args),
            Op::RoundToIntegral { .. } => integer::rule(self, &op, ty, &args),
            // These have no rules, or their rules are in `control`.
            Op::Const(_) | Op::Undef | Op::Param { .. } | Op::SymbolAddr(_) | Op::SpecialReg(_) => None,
            Op::Load(_) | Op::Store(_) | Op::Atomic { .. } | Op::Red { .. } => None,
            Op::TryAtomic { .. }
            | Op::LoadReduce { .. }
            | Op::Fence { .. }
            | Op::CachePolicy
            | Op::CacheHint => None,
            Op::IsSpace(_) => None,
            Op::Texture(_) | Op::ImageSize(_) => None,
            Op::SurfaceLoad(_) | Op::SurfaceStore(_) | Op::SurfaceRed { .. } => None,
            Op::Vote(_) | Op::Shfl(_) | Op::ActiveMask | Op::Match(_) | Op::Redux(_) => None,
            Op::MatrixLoad { .. } | Op::MatrixStore { .. } => None,
            Op::MatrixTranspose | Op::MatrixProduct(_) => None,
            Op::Lend { .. } | Op::Settle { .. } | Op::Release { .. } => None,
            Op::WarpgroupArrive | Op::WarpgroupCommit | Op::WarpgroupWait { .. } => None,
            Op::ReturnRegisters { .. } | Op::TryRegisters { .. } => None,
            Op::WarpgroupProduct(product) => warpgroup::rule(self, &product, ty, &args),
            Op::Elect
            | Op::Nanosleep
            | Op::PmEvent { .. }
            | Op::CacheLine { .. }
            | Op::Breakpoint
            | Op::WarpSync
            | Op::WarpFence => None,
            Op::Bar(_) | Op::Barrier { .. } | Op::ClusterArrive { .. } | Op::ClusterWait { .. } => None,
            Op::GridDependency(_) => None,
            Op::MbarrierUpdate { .. } | Op::MbarrierInval | Op::MbarrierArrive { .. } => None,
            Op::MbarrierState { .. } | Op::MbarrierParity { .. } | Op::MbarrierPending => None,
            Op::AsyncCopy { .. } | Op::AsyncFill { .. } | Op::AsyncArrive { .. } => None,
            Op::AsyncCommit | Op::AsyncWait | Op::AsyncWaitAll | Op::BulkLoad { .. } | Op::BulkStore => None,
            Op::BulkShare | Op::BulkPrefetch | Op::BulkCommit | Op::BulkWait { .. } => None,
            Op::RemoteStore | Op::RemoteRed { .. } => None,
            Op::BulkRed { .. } | Op::BulkShareRed { .. } | Op::TensorLoad { .. } | Op::TensorStore(_) => None,
            Op::TensorRed { .. } | Op::TensorPrefetch(_) => None,
            Op::ProxyFence(_) | Op::TensormapAcquire(_) | Op::TensormapPrefetch | Op::TensormapRelease(_) => {
                None
            }
            Op::Call { .. } | Op::CallIndirect(_) | Op::FuncAddr(_) => None,
            Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) | Op::SaveBarrier(_) => None,
            Op::RestoreBarrier(_) => None,
            Op::Jump | Op::Branch { .. } | Op::BranchTogether | Op::Switch | Op::Return => None,
            Op::Exit | Op::Trap => None,
        });
        self.func.insts[inst].args = args;
        rewrite
    }

    /// The rules for all operations with a constant argument or a select between constants.
    fn on_constants(&mut self, op: &Op, ty: Type, args: &[Value], forms: Forms) -> Option<Rewrite> {
        if !forms.meets(Forms::CONSTANT | Forms::CHOICE) {
            return None;
        }
        let (mut constants, mut choices) = (0, 0);
        for &arg in args {
            match self.func.def_inst(arg).map(|data| &data.op) {
                Some(Op::Const(_)) => constants += 1,
                Some(Op::Select) => choices += 1,
                _ => {}
            }
        }
        if constants == args.len() {
            return self.constants(op, ty, args);
        }
        let turned = if constants > 0 { self.constant_to_the_right(op, ty, args) } else { None };
        turned.or_else(|| match constants + choices == args.len() {
            true => self.through_select(op, ty, args),
            false => None,
        })
    }

    /// All arguments are constants.
    fn constants(&self, op: &Op, ty: Type, args: &[Value]) -> Option<Rewrite> {
        if !op.effects().is_pure() {
            return None;
        }
        let constants: Option<SmallVec<[(Type, u64); 4]>> =
            args.iter().map(|&arg| Some((self.func.ty(arg), self.constant(arg)?))).collect();
        evaluate(op, ty, &constants?).map(Rewrite::Constant)
    }

    /// The constant of a commutative operation or a comparison comes second.
    fn constant_to_the_right(&self, op: &Op, ty: Type, args: &[Value]) -> Option<Rewrite> {
        let &[a, b] = args else { return None };
        if self.constant(a).is_none() || self.constant(b).is_some() {
            return None;
        }
        let op = match *op {
            Op::Icmp(condition) => Op::Icmp(condition.swap()),
            op if is_commutative(&op) => op,
            _ => return None,
        };
        Some(Rewrite::Op(op, ty, SmallVec::from_slice(&[b, a])))
    }

    /// An operation on a constant and a select between constants becomes a select between results.
    fn through_select(&mut self, op: &Op, ty: Type, args: &[Value]) -> Option<Rewrite> {
        if !op.effects().is_pure() || matches!(op, Op::Select) {
            return None;
        }
        let mut choice = None;
        for &arg in args {
            match (self.constant(arg), self.select_of_constants(arg)) {
                (Some(_), _) => {}
                (None, Some(select)) if choice.is_none() => choice = Some((arg, select)),
                _ => return None,
            }
        }
        let (chosen, (condition, if_true, if_false)) = choice?;
        let value = |bits| {
            let args: SmallVec<[(Type, u64); 4]> = args
                .iter()
                .map(|&arg| {
                    (self.func.ty(arg), if arg == chosen { bits } else { self.constant(arg).unwrap_or(0) })
                })
                .collect();
            evaluate(op, ty, &args)
        };
        let (if_true, if_false) = (value(if_true)?, value(if_false)?);
        let ty = *self.func.result_types(op, ty).first()?;
        if if_true == if_false {
            return Some(Rewrite::Constant(if_true));
        }
        if ty == Type::Pred {
            return match if_true {
                0 => self.op(Op::Not, Type::Pred, &[condition]),
                _ => Some(value_of(condition)),
            };
        }
        if self.target == Target::Legal && ty.bits() != 32 {
            return None;
        }
        let args = [condition, self.emit_constant(ty, if_true), self.emit_constant(ty, if_false)];
        self.op(Op::Select, ty, &args)
    }

    fn select_of_constants(&self, value: Value) -> Option<(Value, u64, u64)> {
        let (Op::Select, _, args) = self.def(value)? else { return None };
        Some((args[0], self.constant(args[1])?, self.constant(args[2])?))
    }

    /// The operation that defines a value, with its type and arguments.
    fn def(&self, value: Value) -> Option<(Op, Type, &[Value])> {
        let data = self.func.def_inst(value)?;
        Some((data.op, data.ty, &data.args))
    }

    /// The arguments of a value that this operation defines.
    fn args_of<const N: usize>(&self, value: Value, op: Op) -> Option<[Value; N]> {
        let data = self.func.def_inst(value)?;
        // Most operations are of another kind, which this comparison finds quickly.
        let is_same = discriminant(&data.op) == discriminant(&op) && data.op == op;
        if is_same { data.args[..].try_into().ok() } else { None }
    }

    /// Whether only the current instruction uses the value, so that the value is dead if the
    /// instruction stops using it.
    fn single_use(&self, value: Value) -> bool {
        self.uses.get(value.index()).is_none_or(|&uses| uses <= 1)
    }

    fn constant(&self, value: Value) -> Option<u64> {
        self.func.constant(value)
    }

    /// The instruction of a value, with the number of the result.
    fn result_number(&self, value: Value) -> Option<(Inst, u16)> {
        match self.func.def(value) {
            ValueDef::Result(inst, number) => Some((inst, number)),
            ValueDef::Param(..) => None,
        }
    }

    /// Whether an operation may be emitted.
    fn may_make(&self, op: &Op, ty: Type) -> bool {
        self.target == Target::Any
            || matches!(ty.bits(), 1 | 32)
            || matches!(op, Op::Const(_) | Op::Pack | Op::Unpack | Op::Bitcast)
    }

    /// Another operation, if it may be emitted.
    fn op(&self, op: Op, ty: Type, args: &[Value]) -> Option<Rewrite> {
        self.may_make(&op, ty).then(|| Rewrite::Op(op, ty, SmallVec::from_slice(args)))
    }

    /// Emits an instruction before the current one; the caller knows that it is allowed.
    fn emit(&mut self, op: Op, ty: Type, args: &[Value]) -> Value {
        let inst = self.func.make_inst(InstData::new(op, ty, args).at(self.loc));
        self.forms.resize(self.func.num_values(), Forms::default());
        self.put(inst);
        self.func.result(inst)
    }

    fn emit_constant(&mut self, ty: Type, bits: u64) -> Value {
        self.emit(Op::Const(bits & super::evaluate::ones(ty)), ty, &[])
    }
}

fn value_of(value: Value) -> Rewrite {
    Rewrite::Values(SmallVec::from_slice(&[value]))
}

/// Whether the two arguments may be swapped.
pub(super) fn is_commutative(op: &Op) -> bool {
    matches!(
        op,
        Op::Iadd
            | Op::Imul
            | Op::Umulh
            | Op::Smulh
            | Op::UmulWide
            | Op::SmulWide
            | Op::Smin
            | Op::Smax
            | Op::Umin
            | Op::Umax
            | Op::Ipair(_)
            | Op::IaddCarryOut
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Fadd(_)
            | Op::Fmul(_)
    )
}

#[cfg(test)]
mod tests;
