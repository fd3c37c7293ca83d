//! Loads and stores, and the addresses of all accesses.
//!
//! ```text
//! v4 = load.global.b32 v3 +8            =>   LDG.E %r4, desc[%ur0][%r3.64+0x8]
//! v5 = iadd &s, v2; store.shared v5, v4 =>   STS [%r2+%ur1+0x10], %r4        // s lies at offset 0x10
//! ```
//!
//! Constants that are added to an address go into its 24-bit offset, and the base of the shared
//! window goes into its uniform part. A global access names the [descriptor](super::cache_policy)
//! that the driver leaves in the constant bank, or the descriptor of its cache policy.

use ptxc_ir::op::SpecialReg;
use ptxc_ir::{
    Access, CacheOp, Eviction, Inst as IrInst, LineAction, MemType, Op as IrOp, Order, Prefetch, Scope,
    Space, Type, Value,
};
use ptxc_machine::Feature;
use ptxc_sass::{Address, Choices, Inst, Op, Operand, RegFile, choice};

use super::lower::{CONST_BANK, Lower, width_of};
use super::pool::BankPlace;
use super::source::Src;
use crate::mir::VReg;

/// Offsets that an address holds: 24 bits with sign.
const OFFSETS: std::ops::Range<i64> = -(1 << 23)..1 << 23;
/// The offsets that may be added to an index into a constant bank: 16 bits with sign, minus the
/// size that the second part of a vector adds.
const CONST_OFFSETS: std::ops::Range<i64> = -(1 << 15)..(1 << 15) - 8;

/// The size of an access.
macro_rules! size {
    ($text:literal) => {
        choice!(LD | LDG | LDS | LDL | LDC | ST | STG | STS | STL, Size = $text)
    };
}

/// The order, the scope or a cache hint of an access.
macro_rules! hint {
    ($text:literal) => {
        choice!(LD | LDG | ST | STG, $text)
    };
}

impl Lower<'_> {
    pub(super) fn lower_load(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let IrOp::Load(access) = data.op else { return };
        let results = self.func.results(inst);
        let Some(size) = self.size_text(&data.op, access, data.ty) else { return };
        let op = match access.space {
            Space::Global => Op::LDG,
            Space::Generic => Op::LD,
            Space::Shared => Op::LDS,
            Space::Local => Op::LDL,
            Space::Param => return self.lower_param_load(inst, size),
            Space::Const => return self.lower_const_load(inst, size),
            other => return self.unsupported(&data.op, format!("a load from {other} memory")),
        };
        let needed = results.iter().any(|&result| self.is_needed(result));
        let to = if needed { Operand::reg(self.reg_of(results[0])) } else { Operand::rz() };
        let address = self.address(access, data.args[0]);
        let load = Inst::new(op).with(size).ops([to, Operand::mem(address)]);
        self.emit_access(&data.op, load, access, data.args[0]);
    }

    /// Loads a part of the parameter block, which no update can change.
    fn lower_param_load(&mut self, inst: IrInst, size: Choices) {
        let data = &self.func.insts[inst];
        let IrOp::Load(access) = data.op else { return };
        let base = self.arch.facts().banks.param_base;
        let known = match self.src(data.args[0]) {
            Src::Imm(place) => {
                let start = i64::from(place as i32) + i64::from(access.offset);
                let end = self.func.params.iter().map(|param| param.offset + param.size).max().unwrap_or(0);
                let is_inside = start >= 0 && start + i64::from(access.bytes()) <= i64::from(end);
                if !is_inside || start % i64::from(access.elem.bytes()) != 0 {
                    return self.unsupported(&data.op, "an address at which there is no parameter");
                }
                Some(BankPlace::launch(base + start as u32))
            }
            _ => None,
        };
        self.lower_bank_load(inst, size, known, 0, base as i32);
    }

    /// Loads from constant memory.
    fn lower_const_load(&mut self, inst: IrInst, size: Choices) {
        let data = &self.func.insts[inst];
        let IrOp::Load(access) = data.op else { return };
        let known = self.const_place(access, data.args[0]);
        self.lower_bank_load(inst, size, known, CONST_BANK, 0);
    }

    /// Loads from a constant bank: from a known place if the word is not an operand of its users, or
    /// from an address in a register, to which the start of the space in the bank is added. An
    /// instruction loads 8 bytes at most.
    fn lower_bank_load(
        &mut self,
        inst: IrInst,
        size: Choices,
        known: Option<BankPlace>,
        bank: u8,
        start: i32,
    ) {
        let data = &self.func.insts[inst];
        let IrOp::Load(access) = data.op else { return };
        let results = self.func.results(inst);
        if !results.iter().any(|&result| self.is_needed(result)) {
            return;
        }
        let (parts, size) = if access.bytes() == 16 { (2, choice!(LDC, Size = ".64")) } else { (1, size) };
        let base = match known {
            Some(_) => None,
            None => {
                let from_start = i64::from(access.offset) + i64::from(start);
                let within = CONST_OFFSETS.contains(&from_start);
                let offset = if within { from_start } else { 0 };
                let mut base = self.narrow_address(access.space, data.args[0], offset);
                if let (false, Some(index)) = (within, base.base) {
                    let sum = self.temp();
                    let rest = Operand::imm(from_start as u32);
                    let add = [Operand::reg(sum), Operand::reg(index), rest, Operand::rz()];
                    self.emit(Inst::new(Op::IADD3).ops(add));
                    base.base = Some(sum);
                }
                Some(base)
            }
        };
        for part in 0..parts {
            let source = match (known, base) {
                (Some(at), _) => at.plus(8 * part).operand(),
                (None, Some(Address { base: Some(index), offset, .. })) => {
                    Operand::indexed_constant(bank, index, offset + 8 * part as i32)
                }
                _ => {
                    let why = "an address that is misaligned or outside of the constant bank";
                    return self.unsupported(&data.op, why);
                }
            };
            let to = match access.elem.bytes() {
                8 => self.reg_of(results[part as usize]),
                _ => self.reg_of(results[0]).offset(2 * part as u8),
            };
            let to = Operand::reg(to);
            self.emit(Inst::new(Op::LDC).with(size).ops([to, source]));
        }
    }

    pub(super) fn lower_store(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let IrOp::Store(access) = data.op else { return };
        let Some(size) = self.size_text(&data.op, access, data.ty) else { return };
        let op = match access.space {
            Space::Global => Op::STG,
            Space::Generic => Op::ST,
            Space::Shared => Op::STS,
            Space::Local => Op::STL,
            other => return self.unsupported(&data.op, format!("a store to {other} memory")),
        };
        let content = self.stored_values(data.ty, &data.args[1..]);
        let address = self.address(access, data.args[0]);
        let store = Inst::new(op).with(size).ops([Operand::mem(address), content]);
        self.emit_access(&data.op, store, access, data.args[0]);
    }

    /// The values of a store or an update, in neighbouring registers.
    pub(super) fn stored_values(&mut self, ty: Type, values: &[Value]) -> Operand<VReg> {
        if let &[value] = values {
            return self.stored(value);
        }
        let each = width_of(ty);
        let tuple = self.mir.new_vreg(RegFile::Gpr, each * values.len() as u8);
        for (n, &value) in values.iter().enumerate() {
            self.place(value, tuple.offset(n as u8 * each));
        }
        Operand::reg(tuple)
    }

    /// A value to be stored, in registers.
    pub(super) fn stored(&mut self, value: Value) -> Operand<VReg> {
        let wide_constant = self.func.ty(value).bits() > 32
            && self.func.constant(self.resolve(value)).is_some_and(|bits| bits != 0);
        if wide_constant {
            let pair = self.mir.new_vreg(RegFile::Gpr, 2);
            self.place(value, pair);
            return Operand::reg(pair);
        }
        self.tuple(value)
    }

    /// The size modifier of an access; `None`, with a message, if no instruction has that size.
    fn size_text(&mut self, op: &IrOp, access: Access, ty: Type) -> Option<Choices> {
        let narrow = access.elem.bytes() < 4;
        let suits = if narrow { ty.bits() <= 32 } else { ty.bytes() == Some(access.elem.bytes()) };
        if !suits || (narrow && access.lanes > 1) {
            let Access { lanes, elem, .. } = access;
            self.unsupported(op, format!("{lanes} elements of {elem} as {ty}"));
            return None;
        }
        Some(match (access.elem, access.bytes()) {
            (MemType::B8, _) => size!(".U8"),
            (MemType::S8, _) => size!(".S8"),
            (MemType::B16, _) => size!(".U16"),
            (MemType::S16, _) => size!(".S16"),
            (_, 4) => size!(""),
            (_, 8) => size!(".64"),
            (_, 16) => choice!(LD | LDG | LDS | LDL | ST | STG | STS | STL, Size = ".128"),
            (_, bytes) => {
                self.unsupported(op, format!("an access of {bytes} bytes"));
                return None;
            }
        })
    }

    /// Moves a line between the caches. The address is in registers, without a constant part.
    pub(super) fn lower_cache_line(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let IrOp::CacheLine { action, space } = data.op else { return };
        let local = match action {
            LineAction::FetchL1 => Some(choice!(CCTLL, ".PF1")),
            LineAction::FetchL2 => Some(choice!(CCTLL, ".PF2")),
            LineAction::FetchL2Last | LineAction::Demote | LineAction::Discard => None,
        };
        let made = match (space, local) {
            (Space::Global | Space::Generic, _) => {
                let mode = match action {
                    LineAction::FetchL1 => choice!(CCTL, ".PF1"),
                    LineAction::FetchL2 => choice!(CCTL, ".PF2"),
                    LineAction::FetchL2Last => choice!(CCTL, ".PML2"),
                    LineAction::Demote => choice!(CCTL, ".DML2"),
                    LineAction::Discard => choice!(CCTL, ".RML2"),
                };
                let address = self.wide_address(data.args[0], 0, None);
                Inst::new(Op::CCTL).with(choice!(CCTL, ".E")).with(mode).ops([Operand::mem(address)])
            }
            (Space::Local, Some(mode)) => {
                let base = self.gpr_value(data.args[0]).as_reg();
                let address = Operand::mem(Address::narrow(base, 0));
                Inst::new(Op::CCTLL).with(mode).ops([address])
            }
            (other, _) => return self.unsupported(&data.op, format!("a line of {other} memory")),
        };
        self.emit(made);
    }

    /// Adds order, scope and cache hints.
    fn emit_access(&mut self, op: &IrOp, mut inst: Inst<VReg>, access: Access, address: Value) {
        if !matches!(access.space, Space::Global | Space::Generic) {
            // Shared and local memory are in order, and their instructions have no hints.
            if !matches!(access.order, Order::Weak | Order::Volatile | Order::Relaxed | Order::Mmio) {
                return self.unsupported(op, format!("order {}", access.order));
            }
            return self.emit(inst);
        }
        let strong = match access.order {
            Order::Weak => match access.cache {
                CacheOp::Ca => Some(hint!(".SM")),
                CacheOp::Cg => Some(hint!(".GPU")),
                CacheOp::Cv | CacheOp::Wt => Some(hint!(".SYS")),
                _ => None,
            },
            Order::Volatile => Some(hint!(".SYS")),
            Order::Relaxed => Some(scope_choice(access.scope)),
            Order::Mmio => Some(hint!(".SYS")),
            other => return self.unsupported(op, format!("order {other}")),
        };
        // sm_75 is only known to combine an eviction with the scope of the system.
        let is_special = access.eviction != Eviction::Normal && self.arch.has(Feature::SysOnWeakAccesses);
        let strong = if is_special { strong.map(|_| hint!(".SYS")) } else { strong };
        match (strong, access.cache) {
            (Some(scope), _) if access.order == Order::Mmio => inst = inst.with(hint!(".MMIO")).with(scope),
            (Some(scope), _) => inst = inst.with(hint!(".STRONG")).with(scope),
            (None, CacheOp::Nc) => inst = inst.with(choice!(LD | LDG, ".CONSTANT")),
            (None, CacheOp::Lu) => inst = inst.with(hint!(".LU")),
            _ => {}
        }
        match access.eviction {
            Eviction::Normal if access.cache == CacheOp::Cs => inst = inst.with(hint!(".EF")),
            Eviction::Normal => {}
            Eviction::Unchanged => inst = inst.with(hint!(".EU")),
            Eviction::First => inst = inst.with(hint!(".EF")),
            Eviction::Last => inst = inst.with(hint!(".EL")),
            Eviction::NoAllocate => inst = inst.with(hint!(".NA")),
        }
        if matches!(op, IrOp::Load(_)) {
            match access.prefetch {
                Prefetch::Needed => {}
                Prefetch::L64 => inst = inst.with(choice!(LD | LDG, ".LTC64B")),
                Prefetch::L128 => inst = inst.with(choice!(LD | LDG, ".LTC128B")),
                Prefetch::L256 => inst = inst.with(choice!(LD | LDG, ".LTC256B")),
            }
        }
        if strong.is_none() && self.arch.has(Feature::SysOnWeakAccesses) {
            inst = inst.with(hint!(".SYS"));
        }
        let inst = self.with_policy(inst, address);
        self.emit(inst);
    }

    pub(super) fn address(&mut self, access: Access, address: Value) -> Address<VReg> {
        if access.space.address_type() == Type::B64 {
            // Registers of devices are not in the memory that a descriptor describes.
            let described = access.order != Order::Mmio && !self.is_in_shared_window(self.resolve(address));
            let descriptor = if described { self.descriptor(address) } else { None };
            self.wide_address(address, access.offset.into(), descriptor)
        } else {
            self.narrow_address(access.space, address, access.offset.into())
        }
    }

    /// `desc[…][base.64+offset]`.
    pub(super) fn wide_address(
        &mut self,
        address: Value,
        offset: i64,
        descriptor: Option<VReg>,
    ) -> Address<VReg> {
        let base = self.resolve(address);
        let mut offset = offset;
        let extra = if OFFSETS.contains(&offset) { 0 } else { std::mem::take(&mut offset) };
        let made = match self.func.constant(base) {
            Some(_) => None,
            None => self.tuple(base).as_reg(),
        };
        // A constant or undefined value has no register yet.
        let mut reg = made.unwrap_or_else(|| {
            let pair = self.mir.new_vreg(RegFile::Gpr, 2);
            self.place(base, pair);
            pair
        });
        if extra != 0 {
            // IMAD.WIDE adds the part that the offset can't hold.
            let sum = self.mir.new_vreg(RegFile::Gpr, 2);
            let factor = self.gpr(Src::Imm(extra as u32));
            let one = Operand::imm(1);
            self.emit(Inst::new(Op::IMAD_WIDE).ops([Operand::reg(sum), factor, one, Operand::reg(reg)]));
            reg = sum;
        }
        Address::global(reg, offset as i32, descriptor)
    }

    /// Whether a generic address was made for the shared window, which the descriptor of global
    /// memory does not cover.
    fn is_in_shared_window(&self, address: Value) -> bool {
        let high = self.def_data(address).filter(|data| data.op == IrOp::Pack).map(|data| data.args[1]);
        let high = high.and_then(|high| self.def_data(high));
        self.arch.has(Feature::SharedWindowUndescribed)
            && high.is_some_and(|high| high.op == IrOp::SpecialReg(SpecialReg::SharedWindowHigh))
    }

    /// `[base+uniform+offset]`.
    pub(super) fn narrow_address(&mut self, space: Space, address: Value, offset: i64) -> Address<VReg> {
        let (mut at, mut offset) = (Some(self.resolve(address)), offset);
        let in_bank = matches!(space, Space::Const | Space::Param);
        let limits = if in_bank { CONST_OFFSETS } else { OFFSETS };
        let mut uniform = None;
        while let Some(value) = at {
            match self.src(value) {
                Src::Imm(bits) if limits.contains(&(offset + i64::from(bits as i32))) => {
                    offset += i64::from(bits as i32);
                    at = None;
                    break;
                }
                Src::Shared(base) if uniform.is_none() && limits.contains(&(offset + i64::from(base))) => {
                    offset += i64::from(base);
                    uniform = Some(Src::Shared(0));
                    at = None;
                    break;
                }
                _ => {}
            }
            let Some(data) = self.def_data(value).filter(|data| data.op == IrOp::Iadd) else { break };
            let (a, b) = (data.args[0], data.args[1]);
            let constant = |value: Value| match self.src(value) {
                Src::Imm(bits) => Some(i64::from(bits as i32)).filter(|c| limits.contains(&(offset + c))),
                _ => None,
            };
            let base = |value: Value| match self.src(value) {
                Src::Shared(base) => Some(i64::from(base)).filter(|c| limits.contains(&(offset + c))),
                _ => None,
            };
            let alone = self.foldable(value).is_some();
            let next = if self.is_needed(value) {
                None
            } else if let Some(constant) = constant(b) {
                Some((a, constant))
            } else if let Some(constant) = constant(a) {
                Some((b, constant))
            } else if let Some(base) = base(b).filter(|_| alone && uniform.is_none()) {
                uniform = Some(Src::Shared(0));
                Some((a, base))
            } else if let Some(base) = base(a).filter(|_| alone && uniform.is_none()) {
                uniform = Some(Src::Shared(0));
                Some((b, base))
            } else {
                None
            };
            let Some((rest, constant)) = next else { break };
            offset += constant;
            at = Some(self.resolve(rest));
        }
        let base = at.and_then(|value| self.gpr_value(value).as_reg());
        let uniform = uniform.filter(|_| space == Space::Shared).and_then(|src| self.any(src).as_reg());
        let made = Address { uniform, ..Address::narrow(base, offset as i32) };
        let is_uniform = uniform.is_none_or(|reg| reg.file().is_uniform());
        if is_uniform { made } else { self.without_uniform_part(made) }
    }
}

/// The scope of a strong access.
pub(super) fn scope_choice(scope: Scope) -> Choices {
    macro_rules! scope {
        ($text:literal) => {
            choice!(LD | LDG | ST | STG | ATOM | ATOMG | REDG | ATOM_CAS | ATOMG_CAS, $text)
        };
    }
    match scope {
        Scope::Cta => scope!(".SM"),
        Scope::Cluster | Scope::Gpu => scope!(".GPU"),
        Scope::Sys => scope!(".SYS"),
    }
}
