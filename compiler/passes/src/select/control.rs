//! Ends of blocks, convergence barriers and CTA barriers.
//!
//! A branch takes its predicate with any complement. A switch loads the distance of its target from a table in a
//! constant bank: `IMAD.SHL`, `LDC`, and `BRX` as the block's end. `BSSY` names the block where its lanes go on. A CTA
//! barrier takes its name and its count as immediates or registers, of which two are packed into one; the aligned forms, and those in
//! converged code, need nothing else, the others first bring the warp together.

use ptxc_ir::{BarrierKind, Inst as IrInst, Op as IrOp, Value};
use ptxc_sass::{Inst, JUMP_TABLE_BANK, Label, Op, Operand, RegFile};

use super::compare::plop3;
use super::lower::{Lower, Src};
use crate::mir::{Edge, Term, VReg};

impl Lower<'_> {
    pub(super) fn lower_terminator(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let mut edges = Vec::new();
        for target in &data.targets {
            let args = target.args.iter().map(|&arg| self.edge_arg(arg)).collect();
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
            (Some(then), Some(other)) => self.branch(data.args[0], then, other),
            (Some(edge), None) => Term::Jump(edge),
            _ => Term::Exit,
        };
        self.mir.blocks[self.block].term = term;
    }

    /// A jump by way of a table in a constant bank. Its words are distances from the kernel's first
    /// instruction, so that the upper half of the address is zero.
    fn table(&mut self, selector: Value, edges: Vec<Edge<VReg>>) -> Term<VReg> {
        let offset = self.mir.table_bytes;
        self.mir.table_bytes += 4 * edges.len() as u32;
        let address = self.mir.new_vreg(RegFile::Gpr, 2);
        let place = self.temp();
        let selector = self.gpr_value(selector);
        let scaled = Inst::new(Op::IMAD).with(".U32");
        self.emit(scaled.ops([Operand::reg(place), selector, Operand::imm(4), Operand::rz()]));
        let entry = Operand::indexed_constant(JUMP_TABLE_BANK, place, offset as i32);
        self.emit(Inst::new(Op::LDC).ops([Operand::reg(address), entry]));
        self.emit(Inst::new(Op::MOV).ops([Operand::reg(address.component(1)), Operand::rz()]));
        Term::Table { address, offset, edges }
    }

    fn branch(&mut self, condition: Value, then: Edge<VReg>, other: Edge<VReg>) -> Term<VReg> {
        let condition = self.pred(condition);
        match condition.as_reg() {
            Some(pred) => Term::Branch { pred, negated: condition.flags.not, then, other },
            None => {
                // The edges must stay as the graph has them, so that a constant goes through a register.
                let pred = self.mir.new_vreg(RegFile::Pred, 1);
                self.emit(plop3(pred, condition, Operand::pt(), 0xc0));
                Term::Branch { pred, negated: false, then, other }
            }
        }
    }

    pub(super) fn lower_convergence(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        match data.op {
            IrOp::Bssy(barrier, block) => {
                let Some(target) = self.block_map[block] else {
                    return self.unsupported(&data.op, "its continuation is never reached");
                };
                let label = Operand::label(Label(target.as_u32()));
                self.emit(Inst::new(Op::BSSY).ops([Operand::convergence(barrier.0), label]));
            }
            IrOp::Bsync(barrier) => self.emit(Inst::new(Op::BSYNC).ops([Operand::convergence(barrier.0)])),
            IrOp::Break(barrier) => self.emit(Inst::new(Op::BREAK).ops([Operand::convergence(barrier.0)])),
            _ => {}
        }
    }

    pub(super) fn lower_barrier(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let IrOp::Barrier(kind, aligned) = data.op else { return };
        let predicate = match kind {
            BarrierKind::Sync | BarrierKind::Arrive => None,
            _ => data.args.last().copied(),
        };
        let numbers = &data.args[..data.args.len() - predicate.iter().len()];
        let name = self.src(numbers[0]);
        match name {
            Src::Imm(name) => self.mir.barriers = self.mir.barriers.max(name + 1),
            _ => self.mir.barriers = 16,
        }
        if !aligned && self.mir.blocks[self.block].divergent {
            self.emit(Inst::new(Op::WARPSYNC_ALL));
        }
        let count = numbers.get(1).map(|&count| self.src(count));
        let bar = Inst::new(Op::BAR);
        let bar = match (name, count) {
            (Src::Imm(_), _) | (_, None | Some(Src::Imm(_))) => {
                let (name, count) = (self.barrier_operand(name), count.map(|src| self.barrier_operand(src)));
                let bar = bar.ops([name]);
                match count {
                    Some(count) => bar.slot("count", count),
                    None => bar,
                }
            }
            (name, Some(count)) => {
                // Two registers are one: the name in the low half, the count in the high.
                let packed = Operand::reg(self.temp());
                let (a, c) = (self.gpr(name), self.gpr(count));
                self.emit(Inst::new(Op::PRMT).ops([packed, a, Operand::imm(0x5410), c]));
                bar.ops([packed]).slot("count", packed)
            }
        };
        let bar = match kind {
            BarrierKind::Arrive => bar.with(".ARV"),
            _ => bar.with(".DEFER_BLOCKING"),
        };
        let Some(predicate) = predicate else { return self.emit(bar) };
        let reduction = match kind {
            BarrierKind::RedPopc => ".POPC",
            BarrierKind::RedAnd => ".AND",
            _ => ".OR",
        };
        let ps = self.pred(predicate);
        self.emit(bar.with(".RED").with(reduction).slot("ps", ps));
        let to = self.def(self.func.result(inst));
        let result = Inst::new(Op::B2R);
        match kind {
            BarrierKind::RedPopc => self.emit(result.ops([to])),
            _ => self.emit(result.ops([Operand::rz()]).slot("pd", to)),
        }
    }

    fn barrier_operand(&mut self, src: Src) -> Operand<VReg> {
        match src {
            Src::Imm(bits) => Operand::imm(bits),
            other => self.gpr(other),
        }
    }
}
