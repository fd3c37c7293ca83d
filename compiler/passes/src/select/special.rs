//! Parameters, addresses of variables and special registers.
//!
//! Words of the parameter block, the CTA's size and the grid's size lie in constant bank 0 and are operands
//! of their users (`ULDC`, `LDC`), as is the address of a variable in shared memory. What is left is read
//! with `S2R`.

use ptxc_ir::{Inst as IrInst, Op as IrOp, SpecialReg as IrReg};
use ptxc_sass::{Arch, Inst, Op, Operand, SpecialReg};

use super::lower::Lower;
use super::pool::Pooled;

/// The byte offset in constant bank 0 of a special register that lies there.
pub(super) fn bank_offset(reg: IrReg, arch: Arch) -> Option<u32> {
    Some(match reg {
        IrReg::NtidX => 0x0,
        IrReg::NtidY => 0x4,
        IrReg::NtidZ => 0x8,
        IrReg::NctaidX => 0xc,
        IrReg::NctaidY => 0x10,
        IrReg::NctaidZ => 0x14,
        IrReg::LocalTop => arch.stack_top(),
        IrReg::LocalWindow => arch.local_window(),
        IrReg::LocalWindowHigh => arch.local_window() + 4,
        IrReg::ConstWindow => arch.constant_window(),
        IrReg::ConstWindowHigh => arch.constant_window() + 4,
        _ => return None,
    })
}

fn special_register(reg: IrReg) -> Option<SpecialReg> {
    Some(match reg {
        IrReg::TidX => SpecialReg::TidX,
        IrReg::TidY => SpecialReg::TidY,
        IrReg::TidZ => SpecialReg::TidZ,
        IrReg::CtaidX => SpecialReg::CtaidX,
        IrReg::CtaidY => SpecialReg::CtaidY,
        IrReg::CtaidZ => SpecialReg::CtaidZ,
        IrReg::LaneId => SpecialReg::LaneId,
        IrReg::LanemaskEq => SpecialReg::EqMask,
        IrReg::LanemaskLt => SpecialReg::LtMask,
        IrReg::LanemaskLe => SpecialReg::LeMask,
        IrReg::LanemaskGt => SpecialReg::GtMask,
        IrReg::LanemaskGe => SpecialReg::GeMask,
        IrReg::SharedWindowHigh => SpecialReg::SharedWindowHigh,
        _ => return None,
    })
}

impl Lower<'_> {
    pub(super) fn lower_special(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let result = self.func.result(inst);
        if !self.is_needed(result) {
            return;
        }
        match data.op {
            IrOp::SpecialReg(reg) => match special_register(reg) {
                Some(reg) => {
                    let to = self.def(result);
                    self.emit(Inst::new(Op::S2R).ops([to, Operand::special(reg)]));
                }
                None => self.unsupported(&data.op, format!("%{reg} is not read by S2R alone")),
            },
            IrOp::Param(offset) if data.ty.bits() == 16 => {
                let at = self.param(offset);
                let from = self.pooled(Pooled::NarrowBank { at, bytes: 2 });
                let to = self.def(result);
                self.emit(Inst::new(Op::MOV).ops([to, Operand::reg(from)]));
            }
            IrOp::SymbolAddr(symbol) => {
                let symbol = &self.func.symbols[symbol];
                let why = format!("the address of `{}` in {} memory", symbol.name, symbol.space);
                self.unsupported(&data.op, why);
            }
            _ => self.unsupported(&data.op, format!("a parameter of type {}", data.ty)),
        }
    }
}
