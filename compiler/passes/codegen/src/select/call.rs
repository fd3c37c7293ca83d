//! Calls and returns, by the [ABI](crate::abi).
//!
//! A call is one instruction whose [`CallSite`] gives the places of arguments and results; the
//! allocator brings them there, and layout adds the return address. A callee clobbers everything,
//! until it has been compiled and [linking](crate::link) knows better.
//!
//! ```text
//! v3 = call.pure @u64.divrem, v1, v2     =>   CALL.REL.NOINC `($1) args(%r1:2 in R4, %r2:2 in R6) results(%r3:2 in R4) …
//! block0(v0: b64):                    =>   mb0: NOP results(%r0:2 in R4, %r9 in R2)
//! ret v4                              =>   MOV %r9.1, RZ
//!                                          RET.REL.NODEC %r9 `($0) args(%r4:2 in R4)
//! ```
//! A called function gets its parameters, and its return address, as the results of a
//! pseudo-instruction. The end of a routine that is copied instead of called
//! ([`warp`](ptxc_ssa::runtime::warp)) is `ENDCOLLECTIVE`.

use ptxc_ir::{Callee, CalleeKind, External, Inst as IrInst, Op as IrOp, SourceLoc, Type, Value};
use ptxc_sass::{FunctionIndex, Inst, Op, Operand, PReg, RegFile};
use ptxc_ssa::runtime;
use smallvec::SmallVec;

use super::compare::plop3;
use super::lower::{ADDRESS_BANK, Lower, width_of};
use super::pool::{BankPlace, Pooled};
use crate::abi;
use crate::mir::{CallSite, Fixed, MInst, RegSet, Term, Tuple, VReg};

impl Lower<'_> {
    pub(super) fn lower_call(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let (IrOp::Call { callee, .. } | IrOp::CallIndirect(callee)) = data.op else { return };
        let callee = &self.func.callees[callee];
        if let CalleeKind::External(external) = &callee.kind {
            return self.lower_external_call(inst, callee, external);
        }
        let (values, types) = match callee.kind {
            // The address of the callee is an additional, last argument.
            CalleeKind::Prototype => {
                let (target, args) = data.args.split_at(1);
                ([args, target].concat(), [&callee.params[..], &[Type::B64]].concat())
            }
            _ => (data.args.to_vec(), callee.params.clone()),
        };
        let params = abi::parameter_places(&callee.name, &types);
        let (Some(params), Some(places)) = (params, abi::places(&callee.results)) else {
            return self.unsupported(&data.op, "its parameters or results do not fit into registers");
        };
        let args = self.fixed(&values, &params);
        let inst_of = |target| Inst::new(Op::CALL).ops([Operand::function(target)]);
        let made = match callee.kind {
            CalleeKind::External(_) => return,
            CalleeKind::Routine => inst_of(self.function_index(runtime::symbol(&callee.name))),
            CalleeKind::Device => inst_of(self.function_index(callee.name.clone())),
            CalleeKind::Prototype => {
                let Some(target) = args.last() else { return };
                let own = Operand::function(FunctionIndex(0));
                Inst::new(Op::CALL_INDIRECT).ops([Operand::reg(target.value.reg), own])
            }
        };
        self.put_call(inst, made, args, &places, abi::unknown_clobbers());
    }

    /// Lowers a call of a function outside of the module, by the convention of the platform. Constant
    /// bank 4 has its address.
    fn lower_external_call(&mut self, inst: IrInst, callee: &Callee, external: &External) {
        let data = &self.func.insts[inst];
        let places = abi::platform::places(&external.params, &callee.params)
            .zip(abi::platform::places(&external.results, &callee.results));
        let Some((params, results)) = places else {
            let why = format!("`{}` has parameters or results on the stack", callee.name);
            return self.unsupported(&data.op, why);
        };
        let Some(offset) = external.address else {
            return self.unsupported(&data.op, format!("the address of `{}` has no place", callee.name));
        };
        let args = self.fixed(&data.args, &params);
        let at = BankPlace { bank: ADDRESS_BANK, offset };
        let target = self.pooled(Pooled::Bank { at, width: 2 });
        let made = Inst::new(Op::CALL_ABSOLUTE).ops([Operand::reg(target), Operand::imm(0)]);
        self.put_call(inst, made, args, &results, abi::platform::clobbers());
    }

    fn put_call(
        &mut self,
        inst: IrInst,
        made: Inst<VReg>,
        args: SmallVec<[Fixed<VReg>; 4]>,
        places: &[PReg],
        clobbers: RegSet,
    ) {
        let mut results = SmallVec::new();
        for (&result, &place) in self.func.results(inst).iter().zip(places) {
            if self.is_needed(result) {
                results.push(Fixed { value: self.whole(result), place });
            }
        }
        let mut call = MInst::new(made, self.loc);
        call.call = Some(Box::new(CallSite { args, results, clobbers, uses_stack: false }));
        self.seq.push(call);
    }

    /// Lowers the address of a device function: bytes from the start of the program, which linking
    /// knows.
    pub(super) fn lower_function_address(&mut self, inst: IrInst) {
        let IrOp::FuncAddr(callee) = self.func.insts[inst].op else { return };
        let result = self.func.result(inst);
        if !self.is_needed(result) {
            return;
        }
        let target = Operand::function(self.function_index(self.func.callees[callee].name.clone()));
        let to = self.reg_of(result);
        self.emit(Inst::new(Op::MOV).ops([Operand::reg(to), target]));
        self.emit(Inst::new(Op::MOV).ops([Operand::reg(to.offset(1)), Operand::rz()]));
    }

    /// Lowers a `ret` of a device function.
    pub(super) fn lower_return(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        self.mir.blocks[self.block].term = Term::Return;
        let Some(places) = abi::places(&self.func.returns) else {
            return self.unsupported(&data.op, "the results do not fit into registers");
        };
        let args = self.fixed(&data.args, &places);
        if self.is_collective() {
            let mut end = MInst::new(Inst::new(Op::ENDCOLLECTIVE), self.loc);
            end.call = Some(Box::new(CallSite { args, ..CallSite::default() }));
            return self.seq.push(end);
        }
        let pair = self.mir.new_vreg(RegFile::Gpr, 2);
        let back = self.return_address;
        let own = Operand::function(FunctionIndex(0));
        self.emit(Inst::new(Op::MOV).ops([Operand::reg(pair), Operand::reg(back)]));
        self.emit(Inst::new(Op::MOV).ops([Operand::reg(pair.offset(1)), Operand::rz()]));
        let mut ret = MInst::new(Inst::new(Op::RET).ops([Operand::reg(pair), own]), self.loc);
        ret.call = Some(Box::new(CallSite { args, ..CallSite::default() }));
        self.seq.push(ret);
    }

    /// The instruction at the start of a device function that defines its parameters. Parameters
    /// that are not needed stay in their places.
    pub(super) fn parameters(&mut self) -> Option<MInst<VReg>> {
        let params = &self.func.blocks[self.func.entry()].params;
        let types: Vec<Type> = params.iter().map(|&param| self.func.ty(param)).collect();
        let Some(places) = abi::parameter_places(&self.func.name, &types) else {
            self.loc = SourceLoc::NONE;
            self.unsupported(&IrOp::Return, "the parameters do not fit into registers");
            return None;
        };
        let mut results: SmallVec<[Fixed<VReg>; 2]> = SmallVec::new();
        if let Some(reg) = self.stack_pointer {
            results.push(Fixed { value: Tuple { reg, width: 1 }, place: abi::stack_pointer() });
        }
        for (&param, place) in params.iter().zip(places) {
            if self.is_needed(param) {
                results.push(Fixed { value: self.whole(param), place });
            }
        }
        let value = Tuple { reg: self.return_address, width: 1 };
        if !self.is_collective() {
            results.push(Fixed { value, place: abi::return_address() });
        }
        let mut nop = MInst::new(Inst::new(Op::NOP), ptxc_ir::SourceLoc::NONE);
        nop.call = Some(Box::new(CallSite { results, ..CallSite::default() }));
        Some(nop)
    }

    /// The stack pointer of the caller of a device function, which is the end of the function's own
    /// variables.
    pub(super) fn caller_stack(&mut self) -> VReg {
        match self.stack_pointer {
            Some(reg) => reg,
            None => *self.stack_pointer.insert(self.mir.new_vreg(RegFile::Gpr, 1)),
        }
    }

    fn function_index(&mut self, symbol: String) -> FunctionIndex {
        let functions = &mut self.mir.header.functions;
        let index = functions.iter().skip(1).position(|known| *known == symbol).map(|at| at + 1);
        let index = index.unwrap_or_else(|| {
            functions.push(symbol);
            functions.len() - 1
        });
        FunctionIndex(index as u32)
    }

    /// All registers of a value.
    fn whole(&mut self, value: Value) -> Tuple<VReg> {
        Tuple { reg: self.reg_of(value), width: width_of(self.func.ty(value)) }
    }

    /// Values in registers, each with its place.
    fn fixed(&mut self, values: &[Value], places: &[PReg]) -> SmallVec<[Fixed<VReg>; 4]> {
        let mut list = SmallVec::new();
        for (&value, &place) in values.iter().zip(places) {
            let ty = self.func.ty(value);
            let operand = if ty == Type::Pred { self.pred(value) } else { self.tuple(value) };
            let reg = match operand.as_reg() {
                Some(reg) if !operand.flags.not => reg,
                _ if ty == Type::Pred => {
                    let reg = self.mir.new_vreg(RegFile::Pred, 1);
                    self.emit(plop3(reg, operand, Operand::pt(), 0xc0));
                    reg
                }
                _ => {
                    let reg = self.mir.new_vreg(RegFile::Gpr, width_of(ty));
                    for n in 0..width_of(ty) {
                        self.emit(Inst::new(Op::MOV).ops([Operand::reg(reg.offset(n)), Operand::rz()]));
                    }
                    reg
                }
            };
            list.push(Fixed { value: Tuple { reg, width: width_of(ty) }, place });
        }
        list
    }
}
