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

use ptxc_ir::{
    Callee, CalleeKind, External, FunctionKind, Inst as IrInst, Op as IrOp, SourceLoc, SpecialReg as IrReg,
    Type, Value,
};
use ptxc_sass::{FunctionIndex, HalfSelect, Inst, Op, Operand, PReg, RegFile};
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
        let (args, stack) = split_stack(callee, &data.args);
        let (values, types) = match callee.kind {
            // The address of the callee is an additional, last argument.
            CalleeKind::Prototype(_) => {
                let (target, args) = args.split_at(1);
                ([args, target].concat(), [&callee.params[..], &[Type::B64]].concat())
            }
            _ => (args.to_vec(), callee.params.clone()),
        };
        let params = abi::parameter_places(&callee.name, &types);
        let (Some(params), Some(places)) = (params, abi::places(&callee.results)) else {
            return self.unsupported(&data.op, "its parameters or results do not fit into registers");
        };
        let args = self.fixed(&values, &params);
        let stack = stack.map(|pointer| (pointer, callee.stack.bytes));
        let inst_of = |target| Inst::new(Op::CALL).ops([Operand::function(target)]);
        let made = match callee.kind {
            CalleeKind::External(_) => return,
            CalleeKind::Routine => inst_of(self.function_index(runtime::symbol(&callee.name))),
            CalleeKind::Device => inst_of(self.function_index(callee.name.clone())),
            CalleeKind::Prototype(_) => {
                let Some(target) = args.last() else { return };
                let own = Operand::function(FunctionIndex(0));
                Inst::new(Op::CALL_INDIRECT).ops([Operand::reg(target.value.reg), own])
            }
        };
        self.put_call(inst, made, args, &places, (abi::unknown_clobbers(), stack));
    }

    /// Lowers a call of a function outside of the module, by the convention of the platform. Constant
    /// bank 4 has its address, or a linker puts it into the instruction.
    fn lower_external_call(&mut self, inst: IrInst, callee: &Callee, external: &External) {
        let data = &self.func.insts[inst];
        let layouts = &external.layouts;
        let places = abi::platform::places(&layouts.params, &callee.params)
            .zip(abi::platform::places(&layouts.results, &callee.results));
        let Some((params, results)) = places else {
            let why = format!("`{}` has parameters or results on the stack", callee.name);
            return self.unsupported(&data.op, why);
        };
        let (args, stack) = split_stack(callee, &data.args);
        let (target, values) = match data.op {
            IrOp::CallIndirect(_) => args.split_first().map_or((None, &[][..]), |(t, rest)| (Some(*t), rest)),
            _ => (None, args),
        };
        let mut args = self.fixed(values, &params);
        let stack = stack.map(|pointer| (pointer, callee.stack.bytes));
        let [place, _] = abi::platform::target();
        let by_address = match (target, external.address) {
            (Some(target), _) => self.fixed(&[target], &[place]).pop(),
            (None, Some(offset)) => {
                let at = BankPlace { bank: ADDRESS_BANK, offset };
                let value = Tuple { reg: self.pooled(Pooled::Bank { at, width: 2 }), width: 2 };
                Some(Fixed { value, place })
            }
            (None, None) => None,
        };
        let mut clobbers = abi::platform::clobbers();
        let made = match by_address {
            Some(target) => {
                let made =
                    Inst::new(Op::CALL_ABSOLUTE).ops([Operand::reg(target.value.reg), Operand::imm(0)]);
                args.push(target);
                clobbers.insert_tuple(place, target.value.width);
                made
            }
            None => {
                let target = Operand::function(self.function_index(callee.name.clone()));
                Inst::new(Op::CALL).ops([target])
            }
        };
        self.put_call(inst, made, args, &results, (clobbers, stack));
    }

    fn put_call(
        &mut self,
        inst: IrInst,
        made: Inst<VReg>,
        mut args: SmallVec<[Fixed<VReg>; 4]>,
        places: &[PReg],
        (clobbers, stack): (RegSet, Option<(Value, u32)>),
    ) {
        if let Some((pointer, _)) = stack {
            args.extend(self.fixed(&[pointer], &[abi::moved_stack()]));
        }
        let mut results = SmallVec::new();
        for (&result, &place) in self.func.results(inst).iter().zip(places) {
            if self.is_needed(result) {
                results.push(Fixed { value: self.whole(result), place });
            }
        }
        let mut call = MInst::new(made, self.loc);
        let moved_stack = stack.map(|(_, bytes)| bytes);
        // A device function has no values in uniform registers at a call.
        let may_leave = match self.func.insts[inst].op {
            IrOp::Call { callee, .. } | IrOp::CallIndirect(callee) => {
                self.func.kind == FunctionKind::Entry && !self.func.callees[callee].lanes.inside
            }
            _ => false,
        };
        let clobbers = match may_leave {
            true => clobbers.union(abi::platform::uniform_of_others()),
            false => clobbers,
        };
        call.call = Some(Box::new(CallSite { args, results, clobbers, moved_stack, ..CallSite::default() }));
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
        let is_linked = match &self.func.callees[callee].kind {
            CalleeKind::External(external) if external.address.is_some() => {
                // Indirect calls have ptxc's own convention.
                let name = &self.func.callees[callee].name;
                let why =
                    format!("the address of `{name}`, which has the calling convention of the platform,");
                return self.unsupported(&self.func.insts[inst].op, why);
            }
            CalleeKind::External(_) => true,
            CalleeKind::Routine | CalleeKind::Device | CalleeKind::Prototype(_) => false,
        };
        let target = Operand::function(self.function_index(self.func.callees[callee].name.clone()));
        let to = self.reg_of(result);
        if is_linked {
            let name = self.func.callees[callee].name.clone();
            if !self.mir.header.pointed_to.contains(&name) {
                self.mir.header.pointed_to.push(name);
            }
            return self.emit_linked_address(to, target);
        }
        self.emit(Inst::new(Op::MOV).ops([Operand::reg(to), target]));
        self.emit(Inst::new(Op::MOV).ops([Operand::reg(to.offset(1)), Operand::rz()]));
    }

    /// The 64 bits of an address that a linker puts into the code.
    pub(super) fn emit_linked_address(&mut self, to: VReg, target: Operand<VReg>) {
        for (n, half) in [HalfSelect::Low, HalfSelect::High].into_iter().enumerate() {
            let to = Operand::reg(to.offset(n as u8));
            self.emit(Inst::new(Op::MOV).ops([to, target.half(half)]));
        }
    }

    /// Lowers a `ret` of a device function.
    pub(super) fn lower_return(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        self.mir.blocks[self.block].term = Term::Return;
        let places = match &self.func.platform {
            Some(layouts) => abi::platform::places(&layouts.results, &self.func.returns),
            None => abi::places(&self.func.returns),
        };
        let Some(places) = places else {
            return self.unsupported(&data.op, "the results do not fit into registers");
        };
        let mut args = self.fixed(&data.args, &places);
        if self.is_collective() {
            let mut end = MInst::new(Inst::new(Op::ENDCOLLECTIVE), self.loc);
            end.call = Some(Box::new(CallSite { args, ..CallSite::default() }));
            return self.seq.push(end);
        }
        let back = self.return_address;
        if self.func.platform.is_some() {
            let [place, _] = abi::platform::return_address();
            args.push(Fixed { value: Tuple { reg: back, width: 2 }, place });
            let mut ret =
                MInst::new(Inst::new(Op::RET_ABSOLUTE).ops([Operand::reg(back), Operand::imm(0)]), self.loc);
            ret.call = Some(Box::new(CallSite { args, ..CallSite::default() }));
            return self.seq.push(ret);
        }
        let pair = self.mir.new_vreg(RegFile::Gpr, 2);
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
        let places = match &self.func.platform {
            Some(layouts) => abi::platform::places(&layouts.params, &types),
            None => abi::parameter_places(&self.func.name, &types),
        };
        let Some(places) = places else {
            self.loc = SourceLoc::NONE;
            self.unsupported(&IrOp::Return, "the parameters do not fit into registers");
            return None;
        };
        let mut results: SmallVec<[Fixed<VReg>; 2]> = SmallVec::new();
        if let Some(reg) = self.stack_pointer {
            results.push(Fixed { value: Tuple { reg, width: 1 }, place: abi::stack_pointer() });
        }
        if let Some(reg) = self.incoming {
            results.push(Fixed { value: Tuple { reg, width: 1 }, place: abi::platform::incoming() });
        }
        for (&param, place) in params.iter().zip(places) {
            if self.is_needed(param) {
                results.push(Fixed { value: self.whole(param), place });
            }
        }
        let [back, _] = abi::platform::return_address();
        let (width, place) =
            if self.func.platform.is_some() { (2, back) } else { (1, abi::return_address()) };
        if !self.is_collective() {
            results.push(Fixed { value: Tuple { reg: self.return_address, width }, place });
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

    /// Lowers an address that depends on the stack pointer.
    pub(super) fn lower_stack_pointer(&mut self, reg: IrReg, result: Value) {
        let to = self.def(result);
        if reg == IrReg::CallerStack {
            let from = match self.func.platform {
                Some(_) => *self.incoming.get_or_insert_with(|| self.mir.new_vreg(RegFile::Gpr, 1)),
                None => self.caller_stack(),
            };
            return self.emit(Inst::new(Op::MOV).ops([to, Operand::reg(from)]));
        }
        self.mir.header.open_stack |= reg == IrReg::LocalBottom;
        // The stack pointer is no virtual register, but the result of a pseudo-instruction may be in it.
        let pointer = self.mir.new_vreg(RegFile::Gpr, 1);
        let value = Tuple { reg: pointer, width: 1 };
        let mut nop = MInst::new(Inst::new(Op::NOP), self.loc);
        let results = std::iter::once(Fixed { value, place: abi::stack_pointer() }).collect();
        nop.call = Some(Box::new(CallSite { results, ..CallSite::default() }));
        self.seq.push(nop);
        self.emit(Inst::new(Op::MOV).ops([to, Operand::reg(pointer)]));
    }

    /// The number of a function, or of a variable that a linker places, among the names of the code.
    pub(super) fn function_index(&mut self, symbol: String) -> FunctionIndex {
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

/// The arguments of a call, and the stack pointer after them if the call moves it.
fn split_stack<'v>(callee: &Callee, args: &'v [Value]) -> (&'v [Value], Option<Value>) {
    match args.split_last() {
        Some((&pointer, rest)) if callee.stack.moves => (rest, Some(pointer)),
        _ => (args, None),
    }
}
