//! The state of selection, and how an IR value becomes an operand.
//!
//! Blocks and their instructions are visited backwards, so that every use of a value is known
//! before its definition is reached. A value that has a register must be computed; a value without
//! one has been folded into all of its users or is dead. A value gets its register from the first
//! user that asks.
//!
//! Conventions for values in registers:
//! - `b16`, `f16` and `bf16` are in the low half of a 32-bit register; the upper half is undefined.
//! - `b64` and `f64` are pairs, low word first; the results of a vector load are one tuple.
//! - A predicate may be kept as its complement if only that takes one instruction; see
//!   [`Lower::pred`].

use cranelift_entity::{EntitySet, SecondaryMap};
use ptxc_ir::op::MbarrierUpdate;
use ptxc_ir::{
    Access, Block, Function, FunctionKind, Inst as IrInst, InstData, MemType, Op as IrOp, SourceLoc, Space,
    SpecialReg as IrReg, Type, Value, ValueDef,
};
use ptxc_machine::{Arch, Feature};
use ptxc_sass::{Inst, Kinds, Op, Operand, RegFile, slot_name};
use ptxc_ssa::legalize::blocks_of_one_lane;
use ptxc_ssa::uniformity::Uniformity;

use super::Unsupported;
use super::pool::{BankPlace, Pool, Pooled};
use super::source::Src;
use super::special::linked_word;
use super::warpgroup::Warpgroups;
use crate::mir::{Cfg, EdgeArg, MBlockId, MInst, Mir, VReg};

/// The constant bank of the module's constant variables.
pub(super) const CONST_BANK: u8 = 3;
/// The constant bank of the addresses of global variables.
pub(super) const ADDRESS_BANK: u8 = 4;
/// The greatest size of a constant bank, in bytes.
const CONST_BYTES: i64 = 1 << 16;

/// The state of the selection of one function.
pub(super) struct Lower<'a> {
    /// The function.
    pub(super) func: &'a Function,
    /// The target.
    pub(super) arch: Arch,
    /// The values that are the same in all threads of a warp.
    pub(super) uniformity: &'a Uniformity,
    /// The result so far.
    pub(super) mir: Mir<VReg>,
    /// The graph of `mir`.
    pub(super) cfg: Cfg,
    /// The machine block of each block.
    pub(super) block_map: SecondaryMap<Block, Option<MBlockId>>,
    /// The operations that could not be selected.
    pub(super) unsupported: Vec<Unsupported>,
    /// The number of instructions so far that answer in uniform registers where lanes may be apart.
    pub(super) uniform_answers: u32,
    /// Constants that are made where they are needed.
    pub(super) pool: Pool,
    /// The current block.
    pub(super) block: MBlockId,
    /// Source location of the current instruction.
    pub(super) loc: SourceLoc,
    /// Whether an acquire follows the current instruction in its block.
    pub(super) is_acquired: bool,
    /// Machine instructions of the current block: first those of the later IR instructions, from
    /// the last to the first, then those of the current one, in order.
    pub(super) seq: Vec<MInst<VReg>>,
    /// The return address of a device function.
    pub(super) return_address: VReg,
    /// The stack pointer at the entry of a device function, if it is needed.
    pub(super) stack_pointer: Option<VReg>,
    /// The same before a function of the platform's convention aligns its stack, if its parameters are there.
    pub(super) incoming: Option<VReg>,
    /// The cache policies that a device function has registers for.
    pub(super) policies: Vec<Value>,
    regs: SecondaryMap<Value, Option<VReg>>,
    uses: SecondaryMap<Value, u32>,
    home: SecondaryMap<IrInst, Option<MBlockId>>,
    /// What is lent to products of a warpgroup.
    pub(super) warpgroups: Warpgroups,
    /// The elections after a `warpsync` of their block.
    pub(super) met: EntitySet<IrInst>,
    /// Whether the function may load, store or update shared memory, or calls a function that may.
    pub(super) accesses_shared: bool,
    /// New mbarriers that only computations part from another one in their block.
    pub(super) after_mbarrier: EntitySet<IrInst>,
    /// The blocks that one lane of a warp executes at a time.
    pub(super) of_one_lane: EntitySet<MBlockId>,
}

/// Whether an operation may load, store or update shared memory, or calls a function that may.
fn may_access_shared(op: &IrOp) -> bool {
    let space = op.access().map(|access| access.space);
    matches!(op, IrOp::Call { .. } | IrOp::CallIndirect(_))
        || matches!(space, Some(Space::Shared | Space::SharedCluster | Space::Generic))
}

impl<'a> Lower<'a> {
    /// Starts with the blocks and edges of the function in `mir`, and everything else empty.
    pub(super) fn new(
        func: &'a Function,
        arch: Arch,
        uniformity: &'a Uniformity,
        mut mir: Mir<VReg>,
        cfg: Cfg,
        block_map: SecondaryMap<Block, Option<MBlockId>>,
    ) -> Lower<'a> {
        let mut uses = SecondaryMap::new();
        let mut home = SecondaryMap::new();
        let mut regs = SecondaryMap::new();
        uses.resize(func.num_values());
        home.resize(func.insts.len());
        regs.resize(func.num_values());
        let (mut met, mut after_mbarrier) = (EntitySet::new(), EntitySet::new());
        let (mut longest, mut accesses_shared) = (0, false);
        let mut has_group_products = false;
        for (block, &mblock) in block_map.iter() {
            let Some(mblock) = mblock else { continue };
            longest = longest.max(func.blocks[block].insts.len());
            let (mut meets, mut follows_mbarrier) = (false, false);
            for &inst in &func.blocks[block].insts {
                home[inst] = Some(mblock);
                let data = &func.insts[inst];
                meets |= data.op == IrOp::WarpSync;
                has_group_products |= matches!(data.op, IrOp::WarpgroupProduct(_));
                if meets && data.op == IrOp::Elect {
                    met.insert(inst);
                }
                accesses_shared |= may_access_shared(&data.op);
                if matches!(data.op, IrOp::MbarrierUpdate { update: MbarrierUpdate::Init, .. }) {
                    if follows_mbarrier {
                        after_mbarrier.insert(inst);
                    }
                    follows_mbarrier = true;
                } else if !data.op.effects().is_pure() {
                    follows_mbarrier = false;
                }
                let args = data.targets.iter().flat_map(|target| &target.args);
                for &arg in data.args.iter().chain(args) {
                    uses[arg] += 1;
                }
            }
        }
        let mut of_one_lane = EntitySet::new();
        of_one_lane.extend(blocks_of_one_lane(func).iter().filter_map(|block| block_map[block]));
        Lower {
            func,
            arch,
            uniformity,
            block: mir.entry(),
            return_address: mir.new_vreg(RegFile::Gpr, if func.platform.is_some() { 2 } else { 1 }),
            stack_pointer: None,
            incoming: None,
            pool: Pool::new(&mir, &cfg),
            policies: Vec::new(),
            mir,
            cfg,
            block_map,
            unsupported: Vec::new(),
            uniform_answers: 0,
            loc: SourceLoc::NONE,
            is_acquired: false,
            seq: Vec::with_capacity(longest),
            regs,
            uses,
            home,
            warpgroups: Warpgroups::new(has_group_products),
            met,
            accesses_shared,
            after_mbarrier,
            of_one_lane,
        }
    }

    /// Records that an operation can't be selected.
    pub(super) fn unsupported(&mut self, op: &IrOp, why: impl Into<String>) {
        self.unsupported.push(Unsupported { op: op.mnemonic().to_string(), loc: self.loc, why: why.into() });
    }

    /// Adds a machine instruction.
    pub(super) fn emit(&mut self, inst: Inst<VReg>) {
        self.seq.push(MInst::new(inst, self.loc));
    }

    /// A fresh general register.
    pub(super) fn temp(&mut self) -> VReg {
        self.mir.new_vreg(RegFile::Gpr, 1)
    }

    /// Copies a source into a general register. An undefined value becomes zero: something has to
    /// be written, since the register is read.
    pub(super) fn copy_to(&mut self, to: VReg, src: Src) {
        let from = self.any(src);
        self.emit(Inst::new(Op::MOV).ops([Operand::reg(to), from]));
    }

    /// The operation that defines a value, if it may be computed in the user's place: nothing else
    /// uses the value, it has no effects, and the user's block does not run more often.
    pub(super) fn foldable(&self, value: Value) -> Option<&'a InstData> {
        self.foldable_in(value, self.block)
    }

    /// The same for a user in a given block.
    pub(super) fn foldable_in(&self, value: Value, user: MBlockId) -> Option<&'a InstData> {
        if self.uses[value] != 1 {
            return None;
        }
        let (below, made) = self.resolved(value);
        // Renamings in between must have no other user either.
        let mut at = value;
        while at != below {
            if self.uses[at] != 1 {
                return None;
            }
            at = self.def_data(at)?.args[0];
        }
        let Some((inst, 0, data)) = made else { return None };
        let home = self.home[inst]?;
        let cheap = home == user || self.mir.blocks[user].frequency <= self.mir.blocks[home].frequency;
        (self.uses[below] == 1 && self.regs[below].is_none() && data.op.effects().is_pure() && cheap)
            .then_some(data)
    }

    /// The number of uses of a value in the IR.
    pub(super) fn use_count(&self, value: Value) -> u32 {
        self.uses[value]
    }

    /// The block of an instruction.
    pub(super) fn home(&self, inst: IrInst) -> Option<MBlockId> {
        self.home[inst]
    }

    /// The operation that defines a value.
    pub(super) fn def_data(&self, value: Value) -> Option<&'a InstData> {
        match self.func.def(value) {
            ValueDef::Result(inst, _) => Some(&self.func.insts[inst]),
            ValueDef::Param(..) => None,
        }
    }

    /// Whether a user asked for the register of a value.
    pub(super) fn is_needed(&self, value: Value) -> bool {
        self.regs[value].is_some()
    }

    /// Follows operations that change only the name or the type of a value.
    pub(super) fn resolve(&self, value: Value) -> Value {
        self.resolved(value).0
    }

    /// The same, with the operation that defines it and the number of the result; `None` for a
    /// parameter of a block.
    fn resolved(&self, mut value: Value) -> (Value, Option<(IrInst, u16, &'a InstData)>) {
        while let ValueDef::Result(inst, number) = self.func.def(value) {
            let data = &self.func.insts[inst];
            let same = match data.op {
                IrOp::Bitcast | IrOp::CacheHint => true,
                IrOp::ToGeneric(space) | IrOp::FromGeneric(space) => space == ptxc_ir::Space::Global,
                _ => false,
            };
            if !same {
                return (value, Some((inst, number, data)));
            }
            value = data.args[0];
        }
        (value, None)
    }

    /// The source of a value of at most 32 bits.
    pub(super) fn src(&self, value: Value) -> Src {
        let (mut value, mut made) = self.resolved(value);
        loop {
            let Some((_, number, data)) = made else { return Src::Word(value, 0) };
            match data.op {
                IrOp::Undef => return Src::Undef,
                IrOp::Const(bits) => return Src::Imm(bits as u32),
                IrOp::Param { .. } | IrOp::Load(_) if data.ty.bits() == 32 => {
                    return self.bank_place(value).map_or(Src::Word(value, 0), Src::Bank);
                }
                IrOp::SpecialReg(IrReg::LocalTop) if self.func.kind == FunctionKind::Device => {
                    return Src::Word(value, 0);
                }
                IrOp::SpecialReg(reg) => {
                    return super::special::bank_offset(reg, self.arch)
                        .map_or(Src::Word(value, 0), |offset| Src::Bank(BankPlace::launch(offset)));
                }
                IrOp::SymbolAddr(symbol) => {
                    let symbol = &self.func.symbols[symbol];
                    if let Some(at) = linked_word(symbol).filter(|_| data.ty.bits() == 32) {
                        return Src::Bank(at);
                    }
                    return match (symbol.offset, symbol.space) {
                        (Some(offset), ptxc_ir::Space::Shared)
                            if !self.arch.has(Feature::RankedSharedAddresses) =>
                        {
                            Src::Imm(self.arch.facts().limits.reserved_shared + offset)
                        }
                        (Some(offset), ptxc_ir::Space::Shared) => Src::Shared(offset),
                        (Some(offset), ptxc_ir::Space::Const) => Src::Imm(offset),
                        _ => Src::Word(value, 0),
                    };
                }
                IrOp::Trunc if self.func.ty(data.args[0]).bits() == 64 => return self.half(data.args[0], 0),
                IrOp::Trunc => (value, made) = self.resolved(data.args[0]),
                IrOp::Unpack if data.ty.bits() == 64 => {
                    return self.half(data.args[0], u8::from(number == 1));
                }
                _ => return Src::Word(value, 0),
            }
        }
    }

    /// The source of the low (0) or high (1) word of a 64-bit value.
    pub(super) fn half(&self, value: Value, n: u8) -> Src {
        let (value, made) = self.resolved(value);
        if let Some(at) = self.bank_place(value) {
            return Src::Bank(at.plus(4 * u32::from(n)));
        }
        let Some((_, number, data)) = made else { return Src::Word(value, n) };
        match data.op {
            IrOp::Undef => Src::Undef,
            IrOp::Const(bits) => Src::Imm((bits >> (32 * n)) as u32),
            IrOp::Pack if data.ty.bits() == 64 => self.src(data.args[n as usize]),
            IrOp::Pack if data.ty.bits() == 128 => self.half(data.args[usize::from(n / 2)], n % 2),
            IrOp::Unpack if data.ty.bits() == 128 => self.half(data.args[0], 2 * u8::from(number == 1) + n),
            IrOp::Zext if n == 1 => Src::Imm(0),
            IrOp::Zext if self.func.ty(data.args[0]) == Type::B32 => self.src(data.args[0]),
            IrOp::Sext if n == 0 && self.func.ty(data.args[0]) == Type::B32 => self.src(data.args[0]),
            _ => Src::Word(value, n),
        }
    }

    /// The uniform pair of a value that is kept in uniform registers; makes one on the first call.
    pub(super) fn uniform_pair_of(&mut self, value: Value) -> VReg {
        let mir = &mut self.mir;
        *self.regs[value].get_or_insert_with(|| mir.new_vreg(RegFile::Ugpr, 2))
    }

    /// The register of a value that is computed or a block parameter; makes one on the first call.
    pub(super) fn reg_of(&mut self, value: Value) -> VReg {
        if let Some(reg) = self.regs[value] {
            return reg;
        }
        let ty = self.func.ty(value);
        if let ValueDef::Result(inst, number) = self.func.def(value) {
            let data = &self.func.insts[inst];
            if data.op == IrOp::Unpack && data.ty == Type::B128 {
                // Each half of four registers is a pair.
                let whole = self.resolve(data.args[0]);
                return self.reg_of(whole).offset(2 * u8::from(number == 1));
            }
            let results = self.func.results(inst);
            if let IrOp::Texture(sampling) = data.op
                && ty != Type::Pred
            {
                self.components(inst, sampling);
                return self.regs[value].expect("the value is used");
            }
            if self.is_part_of_tuple(value) {
                let each = width_of(ty);
                let tuple = self.mir.new_vreg(RegFile::Gpr, each * results.len() as u8);
                for (n, &result) in results.iter().enumerate() {
                    self.regs[result] = Some(tuple.offset(n as u8 * each));
                }
                return self.regs[value].expect("the value is among its results");
            }
        }
        let reg = if ty == Type::Pred {
            self.mir.new_vreg(RegFile::Pred, 1)
        } else {
            self.mir.new_vreg(RegFile::Gpr, width_of(ty))
        };
        self.regs[value] = Some(reg);
        reg
    }

    /// Whether a value has a register already.
    pub(super) fn has_reg(&self, value: Value) -> bool {
        self.regs[value].is_some()
    }

    /// Gives a value its register.
    pub(super) fn set_reg(&mut self, value: Value, reg: VReg) {
        self.regs[value] = Some(reg);
    }

    /// The operand for a result: its register, or the constant register if it is not read.
    pub(super) fn def(&self, value: Value) -> Operand<VReg> {
        match self.regs[value] {
            Some(reg) => Operand::reg(reg),
            None if self.func.ty(value) == Type::Pred => Operand::pt(),
            None => Operand::rz(),
        }
    }

    /// A source as a general register.
    pub(super) fn gpr(&mut self, src: Src) -> Operand<VReg> {
        match src {
            Src::Undef | Src::Imm(0) => Operand::rz(),
            Src::Imm(bits) => Operand::reg(self.pooled(Pooled::Const(bits))),
            Src::Bank(at) => Operand::reg(self.pooled(Pooled::Bank { at, width: 1 })),
            Src::Shared(offset) => Operand::reg(self.pooled(Pooled::SharedCopy(offset))),
            Src::Word(value, component) => Operand::reg(self.reg_of(value).offset(component)),
        }
    }

    /// A source in any form: immediate, uniform or general register.
    pub(super) fn any(&mut self, src: Src) -> Operand<VReg> {
        match src {
            Src::Imm(bits) if bits != 0 => Operand::imm(bits),
            Src::Bank(at) => Operand::reg(self.pooled(Pooled::UniformBank { at, width: 1 })),
            Src::Shared(offset) => Operand::reg(self.pooled(Pooled::Shared(offset))),
            _ => self.gpr(src),
        }
    }

    /// A value of at most 32 bits in a general register.
    pub(super) fn gpr_value(&mut self, value: Value) -> Operand<VReg> {
        self.gpr(self.src(value))
    }

    /// A value of at most 32 bits in any form.
    pub(super) fn any_value(&mut self, value: Value) -> Operand<VReg> {
        self.any(self.src(value))
    }

    /// A value of at most 32 bits in any form that the row takes as b.
    pub(super) fn value_for(&mut self, op: Op, value: Value) -> Operand<VReg> {
        let operand = self.any_value(value);
        if op.row().accepts(slot_name!("b"), Kinds::of(&operand), self.arch) {
            return operand;
        }
        let to = Operand::reg(self.temp());
        self.emit(Inst::new(Op::MOV).ops([to, operand]));
        to
    }

    /// Sources of a commutative operation: the first in a general register, the second in any form.
    pub(super) fn commuted(&mut self, a: Src, b: Src) -> (Operand<VReg>, Operand<VReg>) {
        let (a, b) = if a.claims_slot(b) { (b, a) } else { (a, b) };
        (self.gpr(a), self.any(b))
    }

    /// A value of any type as a register or a tuple of registers; zero and undefined values in RZ.
    pub(super) fn tuple(&mut self, value: Value) -> Operand<VReg> {
        if self.func.ty(value).bits() <= 32 {
            return self.gpr_value(value);
        }
        let value = self.resolve(value);
        if let Some(at) = self.bank_place(value) {
            return Operand::reg(self.pooled(Pooled::Bank { at, width: 2 }));
        }
        match self.def_data(value).map(|data| data.op) {
            Some(IrOp::Undef | IrOp::Const(0)) => Operand::rz(),
            _ => Operand::reg(self.reg_of(value)),
        }
    }

    /// Constants and undefined values of more than 32 bits get registers of their own if a user
    /// asks for these, such as the address of an access; otherwise they are operands of their
    /// users.
    pub(super) fn lower_constant(&mut self, inst: IrInst) {
        let value = self.func.result(inst);
        let Some(to) = self.regs[value].filter(|reg| reg.file() == RegFile::Gpr) else { return };
        let bits = match self.func.insts[inst].op {
            IrOp::Const(bits) => bits,
            _ => 0,
        };
        for n in 0..width_of(self.func.ty(value)) {
            let word = bits.checked_shr(32 * u32::from(n)).unwrap_or(0) as u32;
            self.copy_to(to.offset(n), Src::Imm(word));
        }
    }

    /// The same for a user that also takes a pair of uniform registers.
    pub(super) fn uniform_tuple(&mut self, value: Value) -> Option<Operand<VReg>> {
        let at = self.bank_place(self.resolve(value))?;
        Some(Operand::reg(self.pooled(Pooled::UniformBank { at, width: 2 })))
    }

    /// The place of a parameter in its constant bank.
    pub(super) fn param(&self, offset: u32) -> BankPlace {
        BankPlace::launch(self.arch.facts().banks.param_base + offset)
    }

    /// The place of a value of 32 or 64 bits in a constant bank, if it has one: a parameter, a
    /// constant variable at a known place, the address of a global variable.
    pub(super) fn bank_place(&self, value: Value) -> Option<BankPlace> {
        let ValueDef::Result(inst, lane) = self.func.def(value) else { return None };
        let data = &self.func.insts[inst];
        match data.op {
            IrOp::Param { offset } if matches!(data.ty.bits(), 32 | 64) => Some(self.param(offset)),
            IrOp::SymbolAddr(symbol) if self.func.symbols[symbol].space == ptxc_ir::Space::Global => {
                Some(BankPlace { bank: ADDRESS_BANK, offset: self.func.symbols[symbol].offset? })
            }
            IrOp::SymbolAddr(symbol) if data.ty.bits() == 32 => linked_word(&self.func.symbols[symbol]),
            IrOp::Load(access) if matches!(access.elem, MemType::B32 | MemType::B64) => {
                let place = self.const_place(access, data.args[0])?;
                Some(place.plus(u32::from(lane) * access.elem.bytes()))
            }
            _ => None,
        }
    }

    /// The place that a load from constant memory names, if it is known and aligned.
    pub(super) fn const_place(&self, access: Access, address: Value) -> Option<BankPlace> {
        let Src::Imm(base) = self.src(address) else { return None };
        let offset = i64::from(base) + i64::from(access.offset);
        let end = offset + i64::from(access.bytes());
        let aligned = offset % i64::from(access.elem.bytes()) == 0;
        let found = access.space == ptxc_ir::Space::Const && aligned && offset >= 0 && end <= CONST_BYTES;
        found.then_some(BankPlace { bank: CONST_BANK, offset: offset as u32 })
    }

    /// A predicate operand, complemented if kept as its complement or under an odd number of `not`s.
    pub(super) fn pred(&mut self, value: Value) -> Operand<VReg> {
        let (value, complement) = self.strip_not(value);
        let operand = match self.def_data(value).map(|data| data.op) {
            Some(IrOp::Const(bits)) => {
                if bits & 1 == 0 {
                    Operand::pt().not()
                } else {
                    Operand::pt()
                }
            }
            Some(IrOp::Undef) => Operand::pt(),
            _ => {
                let reg = Operand::reg(self.reg_of(value));
                if self.kept_complemented(value) { reg.not() } else { reg }
            }
        };
        if complement { operand.not() } else { operand }
    }

    /// The value below any number of `not`s, and whether that number is odd.
    pub(super) fn strip_not(&self, mut value: Value) -> (Value, bool) {
        let mut complement = false;
        while let Some(data) = self.def_data(value) {
            match data.op {
                IrOp::Not if data.ty == Type::Pred => {
                    value = data.args[0];
                    complement = !complement;
                }
                IrOp::Bitcast => value = data.args[0],
                _ => break,
            }
        }
        (value, complement)
    }

    /// The argument of an edge.
    pub(super) fn edge_arg(&mut self, value: Value) -> EdgeArg<VReg> {
        let ty = self.func.ty(value);
        if ty == Type::Pred {
            let operand = self.pred(value);
            return match operand.as_reg() {
                Some(reg) if !operand.flags.not => EdgeArg::Reg(reg),
                Some(_) => {
                    let reg = self.mir.new_vreg(RegFile::Pred, 1);
                    self.emit(super::compare::plop3(reg, operand, Operand::pt(), 0xc0));
                    EdgeArg::Reg(reg)
                }
                None => EdgeArg::Imm(u64::from(!operand.flags.not)),
            };
        }
        match self.def_data(self.resolve(value)).map(|data| data.op) {
            Some(IrOp::Const(bits)) => return EdgeArg::Imm(bits),
            Some(IrOp::Undef) => return EdgeArg::Undef,
            _ => {}
        }
        let operand = self.tuple(value);
        operand.as_reg().map_or(EdgeArg::Imm(0), EdgeArg::Reg)
    }

    /// Brings a value into given registers: its definition writes them if possible, else copies do.
    pub(super) fn place(&mut self, value: Value, to: VReg) {
        let width = width_of(self.func.ty(value));
        let resolved = self.resolve(value);
        if width == 1 {
            match self.src(value) {
                Src::Word(word, 0) if self.may_write_to(word) && width_of(self.func.ty(word)) == 1 => {
                    self.regs[word] = Some(to);
                }
                src => self.copy_to(to, src),
            }
        } else if self.may_write_to(resolved) && self.is_computed_wide(resolved) {
            self.regs[resolved] = Some(to);
        } else {
            for n in 0..width {
                let half = self.half(value, n);
                self.copy_to(to.offset(n), half);
            }
        }
    }

    fn is_computed_wide(&self, value: Value) -> bool {
        let data = self.def_data(value);
        data.is_some_and(|data| !matches!(data.op, IrOp::Undef | IrOp::Const(_)))
            && self.bank_place(value).is_none()
    }

    /// Whether a value is one of several results of an instruction in neighbouring registers.
    pub(super) fn is_part_of_tuple(&self, value: Value) -> bool {
        let ValueDef::Result(inst, _) = self.func.def(value) else { return false };
        let op = self.func.insts[inst].op;
        let is_tuple = matches!(op, IrOp::Load(_) | IrOp::Atomic { .. } | IrOp::SurfaceLoad(_))
            || matches!(op, IrOp::LoadReduce { .. } | IrOp::MatrixLoad { .. } | IrOp::MatrixProduct(_))
            || matches!(op, IrOp::Lend { .. } | IrOp::WarpgroupProduct(_));
        // A constant bank gives 8 bytes at once, so that the allocator can load each part again.
        let is_in_parts = matches!(op, IrOp::Load(access) if matches!(access.space, Space::Const | Space::Param) && access.elem.bytes() == 8);
        is_tuple && !is_in_parts && self.func.results(inst).len() > 1
    }

    /// Whether the definition of a value can write a register that its user chooses: it has none
    /// yet, is in the same block, and is not part of a tuple of its own.
    fn may_write_to(&self, value: Value) -> bool {
        let ValueDef::Result(inst, _) = self.func.def(value) else { return false };
        let op = self.func.insts[inst].op;
        let part = matches!(op, IrOp::Unpack | IrOp::Texture(_)) && self.func.results(inst).len() > 1;
        let part = part || self.is_part_of_tuple(value);
        self.regs[value].is_none() && self.home[inst] == Some(self.block) && !part
    }

    /// Whether a linker puts the address of a variable into the code.
    pub(super) fn is_linked(&self, symbol: ptxc_ir::Symbol) -> bool {
        let data = &self.func.symbols[symbol];
        let is_placed = match data.space {
            ptxc_ir::Space::Global | ptxc_ir::Space::Const => data.offset.is_some(),
            ptxc_ir::Space::Shared => data.offset.is_some() || !self.mir.header.relocatable,
            _ => true,
        };
        !is_placed
    }

    /// The register of a pooled value.
    pub(super) fn pooled(&mut self, what: Pooled) -> VReg {
        let what = if self.func.kind == FunctionKind::Device { self.without_uniform(what) } else { what };
        self.pool.request(what, self.block, &mut self.mir, &self.cfg)
    }

    /// The same in general registers: a device function has no uniform registers except those of
    /// the descriptor.
    fn without_uniform(&self, what: Pooled) -> Pooled {
        let descriptor = self.arch.facts().banks.global_descriptor.map(BankPlace::launch);
        match what {
            Pooled::UniformBank { at, .. } if Some(at) == descriptor => what,
            Pooled::UniformBank { at, width } => Pooled::Bank { at, width },
            Pooled::UniformLong(bits) => Pooled::Long(bits),
            Pooled::Shared(offset) | Pooled::SharedCopy(offset) => Pooled::SharedAlone(offset),
            other => other,
        }
    }
}

/// The number of registers of a value.
pub(super) fn width_of(ty: Type) -> u8 {
    ty.bits().div_ceil(32) as u8
}
