//! Reductions of what several devices have at a multicast address.
//!
//! ```text
//! v1 = load_reduce.add.global.relaxed.b32 [v0]       =>   LDGMC.E.ADD.32.STRONG.SYS %r1, [%r0.64+URZ]
//! ```

use ptxc_ir::{AtomicOp, Inst as IrInst, Op as IrOp, Space, Type};
use ptxc_machine::Feature;
use ptxc_sass::{Inst, ModValue, Op, Operand, value};

use super::atomic::{doubles_or_halves, unflushed};
use super::lower::{Lower, width_of};

impl Lower<'_> {
    pub(super) fn load_from_all(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let IrOp::LoadReduce { op, wide, access } = data.op else { return };
        if !self.arch.has(Feature::BulkCopies) {
            return self.unsupported(&data.op, "sm_90 is the first to have it");
        }
        let (Some(combine), Some(elements)) = (combine(op, wide), elements(op, data.ty, access.lanes)) else {
            let what = format!("no instruction for it at {} elements of type {}", access.lanes, data.ty);
            return self.unsupported(&data.op, what);
        };
        if access.space != Space::Global {
            return self.unsupported(&data.op, format!("a multicast address in {} memory", access.space));
        }
        let results = self.func.results(inst);
        let to = match results.iter().find(|&&result| self.is_needed(result)) {
            Some(_) => Operand::reg(self.reg_of(results[0])),
            None => self.unread(&data.op, width_of(data.ty) * access.lanes),
        };
        // The instruction has a uniform part of the address in the place of a descriptor.
        let mut address = self.address(access, data.args[0]);
        address.descriptor = None;
        let mut made = Inst::new(Op::LDGMC).ops([to, Operand::mem(address)]);
        if !made.set(combine) || !made.set(elements) {
            return self.unsupported(&data.op, format!("no such reduction of {}", data.ty));
        }
        self.emit(made);
    }
}

fn combine(op: AtomicOp, wide: bool) -> Option<ModValue> {
    Some(match op {
        AtomicOp::Fadd if wide => value!(Atomic = ".F32ADD"),
        AtomicOp::Add | AtomicOp::Fadd => value!(Atomic = ".ADD"),
        AtomicOp::Smin | AtomicOp::Umin | AtomicOp::Fmin => value!(Atomic = ".MIN"),
        AtomicOp::Smax | AtomicOp::Umax | AtomicOp::Fmax => value!(Atomic = ".MAX"),
        AtomicOp::And => value!(Atomic = ".AND"),
        AtomicOp::Or => value!(Atomic = ".OR"),
        AtomicOp::Xor => value!(Atomic = ".XOR"),
        AtomicOp::FaddNoftz | AtomicOp::Inc | AtomicOp::Dec => return None,
        AtomicOp::Exch | AtomicOp::Cas | AtomicOp::Cast => return None,
    })
}

fn elements(op: AtomicOp, ty: Type, lanes: u8) -> Option<ModValue> {
    let signed = matches!(op, AtomicOp::Smin | AtomicOp::Smax);
    Some(match (ty, lanes) {
        (Type::B32, 1) if signed => value!(DataType = ".S32"),
        (Type::B32, 1) => value!(DataType = ".32"),
        (Type::B64, 1) if signed => value!(DataType = ".S64"),
        (Type::B64, 1) => value!(DataType = ".64"),
        _ => return unflushed(ty, lanes).or_else(|| doubles_or_halves(ty, lanes)),
    })
}
