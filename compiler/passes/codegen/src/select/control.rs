//! Ends of blocks, traps, convergence barriers and CTA barriers.
//!
//! A branch takes its predicate with any complement. A switch loads the distance of its target from
//! a table in a constant bank: `IMAD.SHL`, `LDC`, and `BRX` as the block's end. `BSSY` names the
//! block where its lanes continue. A CTA barrier takes its name and its count as immediates or
//! registers; legalization packs two registers into one. A constant count of 0 stands for all
//! threads. The aligned forms, and those in converged code, need nothing else; the others first
//! bring the warp together. A reduction leaves its result for `B2R`, which follows directly.

use ptxc_ir::{BarrierKind, FunctionKind, Inst as IrInst, Op as IrOp, Value};
use ptxc_machine::Feature;
use ptxc_sass::{Inst, JUMP_TABLE_BANK, Label, Op, Operand, RegFile, choice, slot};

use super::compare::plop3;
use super::lower::Lower;
use super::pool::Pooled;
use super::source::Src;
use crate::mir::{Edge, Term, VReg};

/// The number of the trap that a program asks for.
const USER_TRAP: u32 = 1;

/// The bits of a barrier's name, also in a register.
const NAME_FIELD: u32 = 0xf;

/// The bits of a register with a name and a count that hold the name.
const LOW_HALF: u32 = 0xffff;

/// The bits of the count of threads that a barrier awaits.
const COUNT_FIELD: u32 = 0xfff;

impl Lower<'_> {
    pub(super) fn lower_terminator(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let mut edges = Vec::new();
        for target in &data.targets {
            let params = &self.func.blocks[target.block].params;
            let args = params.iter().zip(&target.args);
            let args = args.filter_map(|(&param, &arg)| self.argument(param, arg)).collect();
            if let Some(block) = self.block_map[target.block] {
                edges.push(Edge { block, args });
            }
        }
        if data.op == IrOp::Switch && edges.len() > 2 {
            let selector = data.args[0];
            self.mir.blocks[self.block].term = self.table(selector, edges);
            return;
        }
        let mut edges = edges.into_iter();
        let term = match (edges.next(), edges.next()) {
            (Some(here), Some(apart)) if data.op == IrOp::BranchTogether => {
                Term::Together { mask: self.tested_mask(data.args[0]), here, apart }
            }
            (Some(then), Some(other)) => self.branch(data.args[0], then, other),
            (Some(edge), None) => Term::Jump(edge),
            _ => Term::Exit,
        };
        self.mir.blocks[self.block].term = term;
    }

    /// A jump through a table in a constant bank. Its words are distances from the kernel's first
    /// instruction, so the upper half of the address is zero.
    fn table(&mut self, selector: Value, edges: Vec<Edge<VReg>>) -> Term<VReg> {
        let offset = self.mir.header.table_bytes;
        self.mir.header.table_bytes += 4 * edges.len() as u32;
        let address = self.mir.new_vreg(RegFile::Gpr, 2);
        let place = self.temp();
        let selector = self.gpr_value(selector);
        let scaled = Inst::new(Op::IMAD).with(choice!(IMAD, ".U32"));
        self.emit(scaled.ops([Operand::reg(place), selector, Operand::imm(4), Operand::rz()]));
        let entry = Operand::indexed_constant(JUMP_TABLE_BANK, place, offset as i32);
        self.emit(Inst::new(Op::LDC).ops([Operand::reg(address), entry]));
        self.emit(Inst::new(Op::MOV).ops([Operand::reg(address.offset(1)), Operand::rz()]));
        Term::Table { address, offset, edges }
    }

    /// The mask of a test whether its lanes run together, in a uniform register; `None` for all
    /// lanes if the instruction has a name for them, and if it takes no mask at all.
    fn tested_mask(&mut self, mask: Value) -> Option<VReg> {
        let lanes = match self.src(mask) {
            Src::Imm(lanes) => lanes,
            _ => u32::MAX,
        };
        let needs_none = !self.arch.has(Feature::MaskedDivergenceTest)
            || lanes == u32::MAX && self.arch.has(Feature::UnmaskedDivergenceTest);
        if needs_none {
            return None;
        }
        if self.func.kind != FunctionKind::Device {
            return Some(self.pooled(Pooled::UniformConst(lanes)));
        }
        // A device function may use uniform registers only if nothing comes in between.
        let mask = self.mir.new_vreg(RegFile::Ugpr, 1);
        self.emit(Inst::new(Op::UMOV).ops([Operand::reg(mask), Operand::imm(lanes)]));
        Some(mask)
    }

    fn branch(&mut self, condition: Value, then: Edge<VReg>, other: Edge<VReg>) -> Term<VReg> {
        let condition = self.pred(condition);
        match condition.as_reg() {
            Some(pred) => Term::Branch { pred, negated: condition.flags.not, then, other },
            None => {
                // The edges must stay as in the graph, so a constant goes through a register.
                let pred = self.mir.new_vreg(RegFile::Pred, 1);
                self.emit(plop3(pred, condition, Operand::pt(), 0xc0));
                Term::Branch { pred, negated: false, then, other }
            }
        }
    }

    /// A trap or a breakpoint: one instruction, as in NVIDIA's code. Control does not return from a
    /// trap, but the machine's instruction does not say so: the block ends in an `EXIT`.
    pub(super) fn lower_trap(&mut self) {
        self.emit(
            Inst::new(Op::BPT)
                .with(choice!(BPT, ".TRAP"))
                .slot(slot!(BPT, "number"), Operand::imm(USER_TRAP)),
        );
    }

    pub(super) fn lower_convergence(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        match data.op {
            IrOp::Bssy { barrier, join: block } => {
                let Some(target) = self.block_map[block] else {
                    return self.unsupported(&data.op, "its continuation is never reached");
                };
                let label = Operand::label(Label(target.as_u32()));
                // Without it, lanes of an earlier meeting may still be in the barrier.
                if !self.arch.has(Feature::CleanConvergenceBarriers) {
                    let barrier = Operand::convergence(barrier.0);
                    self.emit(Inst::new(Op::BMOV_CLEAR).ops([Operand::rz(), barrier]));
                }
                self.emit(Inst::new(Op::BSSY).ops([Operand::convergence(barrier.0), label]));
            }
            IrOp::Bsync(barrier) => self.emit(Inst::new(Op::BSYNC).ops([Operand::convergence(barrier.0)])),
            IrOp::Break(barrier) => self.emit(Inst::new(Op::BREAK).ops([Operand::convergence(barrier.0)])),
            IrOp::SaveBarrier(barrier) => {
                let to = self.def(self.func.result(inst));
                self.emit(Inst::new(Op::BMOV_CLEAR).ops([to, Operand::convergence(barrier.0)]));
            }
            IrOp::RestoreBarrier(barrier) => {
                let src = self.src(data.args[0]);
                let from = self.gpr(src);
                self.emit(Inst::new(Op::BMOV).ops([Operand::convergence(barrier.0), from]));
            }
            _ => {}
        }
    }

    pub(super) fn lower_barrier(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let IrOp::Barrier { kind, aligned, packed } = data.op else { return };
        let predicate = if kind.is_reduction() { data.args.last().copied() } else { None };
        let numbers = &data.args[..data.args.len() - predicate.iter().len()];
        // An undefined value may be zero; as a register it would be `RZ`, which these instructions
        // do not take.
        let number = |value| match self.src(value) {
            Src::Undef => Src::Imm(0),
            src => src,
        };
        let (name, count) = match (number(numbers[0]), numbers.get(1)) {
            // Folding has found both values.
            (Src::Imm(word), _) if packed => (Src::Imm(word & LOW_HALF), Some(Src::Imm(word >> 16))),
            (word, _) if packed => (word, Some(word)),
            (name, count) => (name, count.map(|&count| number(count))),
        };
        match name {
            Src::Imm(name) if name <= NAME_FIELD => {
                self.mir.header.barriers = self.mir.header.barriers.max(name + 1)
            }
            _ => self.mir.header.barriers = 16,
        }
        let op = match kind {
            BarrierKind::Sync => Op::BAR_SYNC,
            BarrierKind::Arrive => Op::BAR_ARV,
            _ => Op::BAR_RED,
        };
        let name_operand = match name {
            // There is no such barrier, and the field would name another one. (Legalization has packed
            // such a name with a count in a register.)
            Src::Imm(wrong) if wrong > NAME_FIELD && matches!(count, None | Some(Src::Imm(_))) => {
                self.gpr(name)
            }
            _ => self.barrier_operand(name, NAME_FIELD),
        };
        let ps = predicate.map(|predicate| self.pred(predicate));
        let count_operand = match count {
            // One register holds both.
            Some(_) if packed && !matches!(name, Src::Imm(_)) => Some(name_operand),
            // All threads: the count is omitted, but an arrival always has one.
            Some(Src::Imm(count)) if count & COUNT_FIELD == 0 && kind != BarrierKind::Arrive => None,
            count => count.map(|count| self.barrier_operand(count, COUNT_FIELD)),
        };
        let bar = match (kind, count_operand) {
            (BarrierKind::Arrive, count) => {
                Inst::new(op).ops([name_operand, count.unwrap_or_else(|| Operand::imm(0))])
            }
            (_, None) => Inst::new(op).ops([name_operand].into_iter().chain(ps)),
            (_, Some(count)) => Inst::new(op)
                .ops([name_operand].into_iter().chain(ps))
                .slot(slot!(BAR_SYNC | BAR_RED, "count"), count),
        };
        let bar = if self.defers_blocking(kind, aligned) {
            bar.with(choice!(BAR_SYNC | BAR_RED, ".DEFER_BLOCKING"))
        } else {
            bar
        };
        let reduction = match kind {
            BarrierKind::Sync | BarrierKind::Arrive => return self.emit(bar),
            BarrierKind::RedPopc => choice!(BAR_RED, ".POPC"),
            BarrierKind::RedAnd => choice!(BAR_RED, ".AND"),
            BarrierKind::RedOr => choice!(BAR_RED, ".OR"),
        };
        self.emit(bar.with(reduction));
        if self.arch.has(Feature::UnreadBarrierResults) && !self.is_needed(self.func.result(inst)) {
            return;
        }
        let to = self.def(self.func.result(inst));
        let result = Inst::new(Op::B2R);
        match kind {
            BarrierKind::RedPopc => self.emit(result.ops([to])),
            _ => self.emit(result.ops([Operand::rz()]).slot(slot!(B2R, "pd"), to)),
        }
    }

    /// Whether a barrier has `.DEFER_BLOCKING`. A barrier that only arrives never has it.
    fn defers_blocking(&self, kind: BarrierKind, aligned: bool) -> bool {
        match kind {
            BarrierKind::Arrive => false,
            BarrierKind::Sync if !aligned => self.arch.has(Feature::DeferredBlockingUnaligned),
            _ => self.arch.has(Feature::DeferredBlocking),
        }
    }

    /// A number of a barrier: an immediate, limited to the bits of `field`, or a register.
    fn barrier_operand(&mut self, src: Src, field: u32) -> Operand<VReg> {
        match src {
            Src::Imm(bits) => Operand::imm(bits & field),
            other => self.gpr(other),
        }
    }
}
