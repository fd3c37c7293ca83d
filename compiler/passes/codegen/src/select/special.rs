//! Parameters, addresses of variables and special registers.
//!
//! Words of the parameter block, the CTA's size and the grid's size are in constant bank 0 and are
//! operands of their users (`ULDC`, `LDC`), and so is the address of a variable in shared memory.
//! All other special registers are read with `S2R`.

use ptxc_ir::{Inst as IrInst, InstData, Op as IrOp, Space, SpecialReg as IrReg, SymbolData, Type, Value};
use ptxc_machine::{Arch, Feature, ParameterWindow};
use ptxc_sass::{HalfSelect, Inst, Op, Operand, RegFile, SpecialReg, choice, slot};

use super::integer::shift_right;
use super::lower::Lower;
use super::pool::{BankPlace, Pooled};
use super::source::Src;
use crate::mir::{LINKED_BANK, LINKED_STRIDE, VReg};

/// The place of a word that a linker places; the names of these follow that of the function.
pub(super) fn linked_word(symbol: &SymbolData) -> Option<BankPlace> {
    let number = symbol.offset.filter(|_| symbol.is_linked_word())?;
    Some(BankPlace { bank: LINKED_BANK, offset: LINKED_STRIDE * (1 + number) })
}

/// The byte offset in constant bank 0 of a special register that is there.
pub(super) fn bank_offset(reg: IrReg, arch: Arch) -> Option<u32> {
    let banks = &arch.facts().banks;
    Some(match reg {
        IrReg::NtidX => 0x0,
        IrReg::NtidY => 0x4,
        IrReg::NtidZ => 0x8,
        IrReg::NctaidX => 0xc,
        IrReg::NctaidY => 0x10,
        IrReg::NctaidZ => 0x14,
        IrReg::DynamicShared => 0x2c,
        IrReg::GridId => 0x30,
        IrReg::GridIdHigh => 0x34,
        IrReg::SmCount => 0x10c,
        IrReg::GraphExec => banks.graph_exec,
        IrReg::GraphExecHigh => banks.graph_exec + 4,
        IrReg::TextureTable => banks.image_tables,
        IrReg::TextureTableHigh => banks.image_tables + 4,
        IrReg::SamplerTable => banks.image_tables + 8,
        IrReg::SamplerTableHigh => banks.image_tables + 12,
        IrReg::SurfaceTable => banks.image_tables + 16,
        IrReg::SurfaceTableHigh => banks.image_tables + 20,
        IrReg::AggregateLimit => banks.aggregate_shared_limit?,
        IrReg::ReservedEnd => banks.reserved_shared_ends?[0],
        IrReg::Reserved1 => banks.reserved_shared_ends?[1],
        IrReg::ClusterNctaRank => banks.cluster?.ranks,
        IrReg::ClusterNctaidX => banks.cluster?.size,
        IrReg::ClusterNctaidY => banks.cluster?.size + 4,
        IrReg::ClusterNctaidZ => banks.cluster?.size + 8,
        IrReg::NclusteridX => banks.cluster?.clusters,
        IrReg::NclusteridY => banks.cluster?.clusters + 4,
        IrReg::NclusteridZ => banks.cluster?.clusters + 8,
        IrReg::ExplicitCluster => banks.cluster?.is_explicit,
        IrReg::LocalTop => banks.stack_top,
        IrReg::LocalWindow => banks.local_window,
        IrReg::LocalWindowHigh => banks.local_window + 4,
        IrReg::ConstWindow => banks.constant_window,
        IrReg::ConstWindowHigh => banks.constant_window + 4,
        IrReg::ParamWindow | IrReg::ParamWindowHigh | IrReg::ParamEnd | IrReg::ParamEndHigh => {
            let ParameterWindow::OfParameters { start, end } = banks.parameter_window else { return None };
            match reg {
                IrReg::ParamWindow => start,
                IrReg::ParamWindowHigh => start + 4,
                IrReg::ParamEnd => end,
                _ => end + 4,
            }
        }
        IrReg::SharedWindow => banks.shared_window?,
        IrReg::SharedWindowHigh => banks.shared_window? + 4,
        _ => banks.environment + 4 * u32::from(reg.environment()?),
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
        IrReg::SmId => SpecialReg::VirtualSmId,
        IrReg::ClusterCtaRank => SpecialReg::CgaCtaId,
        IrReg::SharedWindowHigh => SpecialReg::SharedWindowHigh,
        IrReg::AllShared => SpecialReg::SharedSize,
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
            IrOp::SpecialReg(reg) => self.lower_special_register(reg, data, result),
            IrOp::Param { offset } if data.ty.bits() == 16 => {
                let at = self.param(offset);
                let from = self.pooled(Pooled::NarrowBank { at, bytes: 2 });
                let to = self.def(result);
                self.emit(Inst::new(Op::MOV).ops([to, Operand::reg(from)]));
            }
            IrOp::SymbolAddr(symbol) if self.is_linked(symbol) => {
                let name = self.func.symbols[symbol].name.clone();
                let at = Operand::function(self.function_index(name));
                let to = self.reg_of(result);
                if self.func.symbols[symbol].space == Space::Shared {
                    return self.emit_linked_shared(to, at);
                }
                match data.ty.bits() {
                    64 => self.emit_linked_address(to, at),
                    _ => self.emit(Inst::new(Op::MOV).ops([Operand::reg(to), at])),
                }
            }
            IrOp::SymbolAddr(symbol) => {
                let symbol = &self.func.symbols[symbol];
                if symbol.space == Space::Shared && symbol.size == 0 {
                    return self.lower_open_array(symbol.align, result);
                }
                let why = format!("the address of `{}` in {} memory", symbol.name, symbol.space);
                self.unsupported(&data.op, why);
            }
            _ => self.unsupported(&data.op, format!("a parameter of type {}", data.ty)),
        }
    }

    fn lower_special_register(&mut self, reg: IrReg, data: &InstData, result: Value) {
        let to = self.def(result);
        if reg == IrReg::LocalTop {
            let stack = Operand::reg(self.caller_stack());
            return self.emit(Inst::new(Op::MOV).ops([to, stack]));
        }
        if let IrReg::CallerStack | IrReg::LocalBottom | IrReg::Outgoing = reg {
            return self.lower_stack_pointer(reg, result);
        }
        if let Some(symbol) = reg.loaded_symbol() {
            let at = Operand::function(self.function_index(symbol.to_string()));
            return self.emit(Inst::new(Op::MOV).ops([to, at]));
        }
        if let Some(clock) = clock(reg) {
            let op = if data.ty == Type::B64 { Op::CS2R } else { Op::CS2R_32 };
            return self.emit(Inst::new(op).ops([to, Operand::special(clock)]));
        }
        if let IrReg::ParamWindow | IrReg::ParamWindowHigh | IrReg::ParamEnd | IrReg::ParamEndHigh = reg {
            return self.lower_parameter_window(reg, data, to);
        }
        let kept = self.arch.facts().limits.reserved_shared;
        match reg {
            IrReg::TotalShared => return self.lower_total_shared(to),
            // The system's part comes first or last.
            IrReg::ReservedBegin | IrReg::Reserved0 if kept == 0 => return self.lower_total_shared(to),
            IrReg::ReservedBegin | IrReg::Reserved0 => {
                return self.emit(Inst::new(Op::MOV).ops([to, Operand::rz()]));
            }
            IrReg::ReservedCap if kept > 0 => {
                return self.emit(Inst::new(Op::MOV).ops([to, Operand::imm(kept)]));
            }
            IrReg::ReservedCap => {
                let size = Operand::special(SpecialReg::SharedSize);
                return self.emit(Inst::new(Op::S2R).ops([to, size]));
            }
            _ => {}
        }
        if let (IrReg::NumWarps, Some(slots)) = (reg, self.arch.facts().limits.warp_slots) {
            return self.emit(Inst::new(Op::MOV).ops([to, Operand::imm(slots)]));
        }
        let (from, bits) = match reg {
            IrReg::WarpId => (SpecialReg::WarpId, 7),
            IrReg::NumWarps => (SpecialReg::VirtCfg, 8),
            _ => match special_register(reg) {
                Some(reg) => return self.emit(Inst::new(Op::S2R).ops([to, Operand::special(reg)])),
                None => return self.unsupported(&data.op, format!("%{reg} is not read by S2R alone")),
            },
        };
        // A field above the low byte.
        let [whole, above] = [self.temp(), self.temp()].map(Operand::reg);
        self.emit(Inst::new(Op::S2R).ops([whole, Operand::special(from)]));
        self.emit(shift_right(above, whole, Operand::imm(8), false));
        self.emit(Inst::new(Op::SGXT).with(choice!(SGXT, ".U32")).ops([to, above, Operand::imm(bits)]));
    }
}

impl Lower<'_> {
    /// The address of a shared array of open size in a program of several functions. The static
    /// shared memory of the whole program lies before it, so only linking knows the address.
    /// The address of a variable in shared memory that a linker places, counted from the start of the memory
    /// that it knows.
    fn emit_linked_shared(&mut self, to: VReg, at: Operand<VReg>) {
        let at = at.half(HalfSelect::Low);
        if !self.arch.has(Feature::RankedSharedAddresses) {
            return self.emit(Inst::new(Op::MOV).ops([Operand::reg(to), at]));
        }
        let above = Operand::reg(self.temp());
        self.emit(Inst::new(Op::MOV).ops([above, at]));
        let start = self.any(Src::Shared(0));
        self.emit(Inst::new(Op::IADD3).ops([Operand::reg(to), above, start, Operand::rz()]));
    }

    fn lower_open_array(&mut self, align: u32, result: Value) {
        let to = self.def(result);
        let end = Operand::shared_end(align);
        if !self.arch.has(Feature::RankedSharedAddresses) {
            return self.emit(Inst::new(Op::MOV).ops([to, end]));
        }
        let above = Operand::reg(self.temp());
        self.emit(Inst::new(Op::MOV).ops([above, end]));
        let start = self.any(Src::Shared(0));
        self.emit(Inst::new(Op::IADD3).ops([to, above, start, Operand::rz()]));
    }

    /// The shared memory of the CTA without the system's.
    fn lower_total_shared(&mut self, to: Operand<VReg>) {
        let size = Operand::special(SpecialReg::SharedSize);
        let Some(reserved) = self.arch.facts().banks.reserved_shared_size else {
            return self.emit(Inst::new(Op::S2R).ops([to, size]));
        };
        let [all, system] = [self.temp(), self.temp()];
        self.emit(Inst::new(Op::S2R).ops([Operand::reg(all), size]));
        self.copy_to(system, Src::Bank(BankPlace::launch(reserved)));
        let difference = [to, Operand::reg(all), Operand::reg(system).neg(), Operand::rz()];
        self.emit(Inst::new(Op::IADD3).ops(difference));
    }

    /// A word of a generic address in the window of the parameters, if constant bank 0 has only its own
    /// address: the address of the bank plus a distance.
    fn lower_parameter_window(&mut self, reg: IrReg, data: &InstData, to: Operand<VReg>) {
        let banks = &self.arch.facts().banks;
        let ParameterWindow::OfBank { start, end } = banks.parameter_window else {
            return self.unsupported(&data.op, format!("%{reg} is a word of the constant bank"));
        };
        let distance = match reg {
            IrReg::ParamWindow | IrReg::ParamWindowHigh => Operand::imm(banks.param_base),
            _ => Operand::constant(0, end),
        };
        let copy = Operand::reg(self.temp());
        self.emit(Inst::new(Op::MOV).ops([copy, distance]));
        let low = [copy, Operand::constant(0, start), Operand::rz()];
        if let IrReg::ParamWindow | IrReg::ParamEnd = reg {
            return self.emit(Inst::new(Op::IADD3).ops([to, low[0], low[1], low[2]]));
        }
        let carry = Operand::reg(self.mir.new_vreg(RegFile::Pred, 1));
        let sum = Inst::new(Op::IADD3).ops([Operand::rz(), low[0], low[1], low[2]]);
        self.emit(sum.slot(slot!(IADD3, "pd"), carry));
        let high = [to, Operand::rz(), Operand::constant(0, start + 4), Operand::rz(), carry];
        self.emit(Inst::new(Op::IADD3_X).ops(high));
    }
}

/// The number of `SR_PM0`.
const FIRST_COUNTER: u8 = 100;

/// The clock or performance counter that a special register is, or whose low half it is.
fn clock(reg: IrReg) -> Option<SpecialReg> {
    Some(match reg {
        IrReg::Clock => SpecialReg::ClockLo,
        IrReg::ClockHi => SpecialReg::ClockHi,
        IrReg::GlobalTimer => SpecialReg::GlobalTimerLo,
        IrReg::GlobalTimerHi => SpecialReg::GlobalTimerHi,
        // The words of a counter have adjacent numbers.
        _ => SpecialReg::Numbered(FIRST_COUNTER + 2 * reg.counter()?),
    })
}
