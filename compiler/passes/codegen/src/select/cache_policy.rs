//! The descriptor that a global access names: the driver's, or its cache policy.
//!
//! ```text
//! v3 = cache_policy v2               =>    R2UR %ur4, %r2; R2UR %ur4.1, %r2.1
//! v4 = cache_hint v1, v3
//! v5 = load.global.b32 [v4]          =>    LDG.E %r5, desc[%ur4][%r1.64]
//! ```
//!
//! The pool makes a policy that is constant or a parameter. Any other policy is made in its own
//! place, even where threads of a warp have parted. If threads want different policies, the access
//! of a warp uses that of one thread, as in ptxas's code: a policy is advice, and no value depends
//! on it. A device function has [registers](abi::policies) for four policies, which it shares with
//! all others. After a call they may hold those of the callee, and accesses by a fifth policy use
//! the driver's descriptor. sm_75 has no descriptors.

use ptxc_ir::{FunctionKind, Inst as IrInst, Op as IrOp, Type, Value, ValueDef};
use ptxc_sass::{Inst, Op, OpSlots, Operand, RegFile, choice};

use super::lower::Lower;
use super::pool::{BankPlace, Pooled};
use super::source::Src;
use crate::abi;
use crate::mir::VReg;

impl Lower<'_> {
    /// The pair that an access to a 64-bit address names.
    pub(super) fn descriptor(&mut self, address: Value) -> Option<VReg> {
        let offset = self.arch.facts().banks.global_descriptor?;
        let policy = self.policy_of(address).and_then(|policy| self.policy_pair(policy));
        Some(policy.unwrap_or_else(|| {
            let at = BankPlace::launch(offset);
            self.pooled(Pooled::UniformBank { at, width: 2 })
        }))
    }

    /// Marks the descriptor of an access as that of a policy, on architectures whose instructions
    /// do so: from sm_80 to sm_89.
    pub(super) fn with_policy(&mut self, inst: Inst<VReg>, address: Value) -> Inst<VReg> {
        let marked =
            inst.clone().with(choice!(ATOM | ATOMG | REDG | LD | LDG | LDGSTS | ST | STG, ".POLICY"));
        if !marked.exists_on(self.arch) {
            return inst;
        }
        let policy = self.policy_of(address).and_then(|policy| self.policy_pair(policy));
        if policy.is_some() { marked } else { inst }
    }

    /// Names the policy of an address in an instruction of uniform registers, if it has one.
    pub(super) fn with_uniform_policy(
        &mut self,
        inst: Inst<VReg>,
        slot: OpSlots,
        address: Value,
    ) -> Inst<VReg> {
        match self.policy_of(address).and_then(|policy| self.policy_pair(policy)) {
            Some(policy) => inst.slot(slot, Operand::reg(policy)),
            None => inst,
        }
    }

    /// The policy of an address; the last one, if there are several.
    fn policy_of(&self, mut address: Value) -> Option<Value> {
        loop {
            let data = self.def_data(address)?;
            match data.op {
                IrOp::CacheHint => return Some(data.args[1]),
                IrOp::Bitcast | IrOp::ToGeneric(_) | IrOp::FromGeneric(_) => address = data.args[0],
                _ => return None,
            }
        }
    }

    /// The uniform pair with a policy, if the policy has one.
    fn policy_pair(&mut self, policy: Value) -> Option<VReg> {
        let ValueDef::Result(inst, _) = self.func.def(policy) else { return None };
        let data = &self.func.insts[inst];
        // In a function of the platform's convention no uniform register lives as long as a policy.
        if data.op != IrOp::CachePolicy || self.func.platform.is_some() {
            return None;
        }
        if self.func.kind == FunctionKind::Device {
            if !self.policies.contains(&policy) {
                if self.policies.len() == abi::policies().len() / 2 {
                    return None;
                }
                self.policies.push(policy);
            }
            return Some(self.uniform_pair_of(policy));
        }
        let word = self.resolve(data.args[0]);
        if let Some(bits) = self.func.constant(word) {
            return Some(self.pooled(Pooled::UniformLong(bits)));
        }
        if let Some(at) = self.bank_place(word).filter(|_| self.func.ty(word) == Type::B64) {
            return Some(self.pooled(Pooled::UniformBank { at, width: 2 }));
        }
        self.home(inst)?;
        Some(self.uniform_pair_of(policy))
    }

    pub(super) fn lower_cache_policy(&mut self, inst: IrInst) {
        let policy = self.func.insts[inst].args[0];
        let pair = self.reg_of(self.func.results(inst)[0]);
        debug_assert_eq!(pair.file(), RegFile::Ugpr);
        for n in 0..2 {
            let half = self.half(policy, n);
            let to = Operand::reg(pair.offset(n));
            let made = match half {
                Src::Imm(bits) => Inst::new(Op::UMOV).ops([to, Operand::imm(bits)]),
                other => {
                    let from = self.gpr(other);
                    Inst::new(Op::R2UR).ops([to, from])
                }
            };
            self.emit(made);
        }
    }
}
