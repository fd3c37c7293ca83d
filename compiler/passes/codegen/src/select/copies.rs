//! Asynchronous copies and the waits for them.
//!
//! ```text
//! async_fill.global.cg.b128 [v1 + 64], v2, true   =>   LDGSTS.E.BYPASS.128 [%r2], desc[%ur0][%r1.64+0x40]
//! async_commit                                    =>   LDGDEPBAR
//! async_wait 1                                    =>   DEPBAR.LE SB0, 0x1
//! async_wait_all                                  =>   LDGDEPBAR; DEPBAR.LE SB0, 0x0
//! bulk_load v1, v2, 0x400, v3                     =>   R2UR %ur0, %r1; R2UR %ur0.1, %r3; UMOV %ur2, 0x40
//!                                                      UBLKCP.S.G [%ur0], [%ur1], %ur2
//! tensor_load.2d v1, v2, v3, v4, v5               =>   UTMALDG.2D [%ur0], [%ur1]
//! bulk_commit                                     =>   UTMACMDFLUSH
//! bulk_wait 0                                     =>   DEPBAR.LE SB0, 0x0; CCTL.IVALL
//! ```
//!
//! One scoreboard, [`COPY_GROUPS`], counts the groups of a warp; the control pass reserves it for
//! them. It counts the groups of all lanes, so a wait may wait for more than a lane's own groups,
//! but never for fewer. [`copied_bytes`](ptxc_ssa::legalize::copied_bytes) has legalized the sizes.
//! Bulk copies take only uniform registers, and lanes take [turns](ptxc_ssa::legalize::lane_turns).
//! After a wait for the data of bulk copies, the first-level cache is emptied.

use ptxc_ir::op::Prefetch;
use ptxc_ir::{
    Access, AtomicOp, CacheOp, FunctionKind, Inst as IrInst, MemType, Op as IrOp, Space, Type, Value,
};
use ptxc_machine::Feature;
use ptxc_sass::{Address, Inst, Op, Operand, OperandKind, RegFile, choice, slot};

use super::lower::Lower;
use super::pool::Pooled;
use super::source::Src;
use crate::control::COPY_GROUPS;
use crate::mir::VReg;

/// The highest count of a scoreboard.
const MOST_GROUPS: u64 = 63;

impl Lower<'_> {
    pub(super) fn lower_copy(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        match data.op {
            ref op if !self.arch.has(Feature::AsyncCopies) => {
                self.unsupported(op, "sm_80 is the first to have it")
            }
            IrOp::AsyncFill { access, prefetch, zfill } => self.copy_element(inst, access, prefetch, zfill),
            IrOp::AsyncCommit => self.emit(Inst::new(Op::LDGDEPBAR)),
            IrOp::AsyncWaitAll => {
                self.emit(Inst::new(Op::LDGDEPBAR));
                self.wait_for_groups(0);
            }
            IrOp::AsyncWait => match self.known_groups(data.args[0]) {
                Some(most) => self.wait_for_groups(most),
                None => self.unsupported(&data.op, "a number of groups that is not known"),
            },
            ref op if !self.arch.has(Feature::BulkCopies) => {
                self.unsupported(op, "sm_90 is the first to have it")
            }
            IrOp::BulkCommit => self.emit(Inst::new(Op::UTMACMDFLUSH)),
            IrOp::BulkWait { read } => match self.known_groups(data.args[0]) {
                Some(most) => {
                    self.wait_for_groups(most);
                    if !read {
                        self.emit(Inst::new(Op::CCTL_IVALL));
                    }
                }
                None => self.unsupported(&data.op, "a number of groups that is not known"),
            },
            IrOp::RemoteStore => {
                let (to, content) = (self.remote_place(inst), self.stored_values(data.ty, &data.args[2..]));
                let bytes = (data.args.len() as u32 - 2) * data.ty.bits() / 8;
                let size = match bytes {
                    4 => choice!(STAS, Size = ""),
                    8 => choice!(STAS, ".64"),
                    _ => choice!(STAS, ".128"),
                };
                self.emit(Inst::new(Op::STAS).with(size).ops([to, content]));
            }
            IrOp::RemoteRed { op } => self.update_remotely(inst, op),
            _ => self.copy_in_bulk(inst),
        }
    }

    fn known_groups(&self, value: Value) -> Option<u64> {
        self.func.constant(self.resolve(value))
    }

    fn wait_for_groups(&mut self, most: u64) {
        let most = Operand::imm(most.min(MOST_GROUPS) as u32);
        self.emit(Inst::new(Op::DEPBAR_LE).ops([Operand::imm(COPY_GROUPS.into()), most]));
    }

    /// The address of remote data and that of its mbarrier, in neighbouring registers.
    fn remote_place(&mut self, inst: IrInst) -> Operand<VReg> {
        let args = &self.func.insts[inst].args;
        let pair = self.stored_values(Type::B32, &args[..2]).as_reg();
        Operand::mem(Address { wide: true, ..Address::narrow(pair, 0) })
    }

    fn update_remotely(&mut self, inst: IrInst, op: AtomicOp) {
        let data = &self.func.insts[inst];
        let update = match op {
            AtomicOp::Add => choice!(REDAS, ".ADD"),
            AtomicOp::Inc => choice!(REDAS, ".INC"),
            AtomicOp::Dec => choice!(REDAS, ".DEC"),
            AtomicOp::Smin | AtomicOp::Umin => choice!(REDAS, ".MIN"),
            AtomicOp::Smax | AtomicOp::Umax => choice!(REDAS, ".MAX"),
            AtomicOp::And => choice!(REDAS, ".AND"),
            AtomicOp::Or => choice!(REDAS, ".OR"),
            AtomicOp::Xor => choice!(REDAS, ".XOR"),
            other => return self.unsupported(&data.op, format!("no remote update {other}")),
        };
        let size = match (op, data.ty) {
            (_, Type::B64) => choice!(REDAS, ".64"),
            (AtomicOp::Smin | AtomicOp::Smax, _) => choice!(REDAS, ".S32"),
            _ => choice!(REDAS, Size = ""),
        };
        let (to, operand) = (self.remote_place(inst), self.stored_values(data.ty, &data.args[2..]));
        self.emit(Inst::new(Op::REDAS).with(update).with(size).ops([to, operand]));
    }

    fn copy_in_bulk(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        if !self.may_do_once_a_warp() {
            return self.unsupported(&data.op, "a bulk copy in a function that is called");
        }
        if !data.args.iter().all(|&arg| self.lanes_agree(arg)) {
            return self.unsupported(&data.op, "a bulk copy for which lanes have no turns");
        }
        let made = match (data.op, &data.args[..]) {
            (IrOp::BulkLoad { .. }, &[to, from, bytes, barrier, ref ctas @ ..]) => {
                let place = self.uniform_words(&[to, barrier]);
                let copy = Inst::new(Op::UBLKCP_S_G);
                let copy = match *ctas {
                    [ctas] => copy.with(choice!(UBLKCP_S_G, ".MULTICAST")).ops([
                        place,
                        self.uniform_address(from),
                        self.uniform_size(bytes, Some(ctas)),
                    ]),
                    _ => copy.ops([place, self.uniform_address(from), self.uniform_size(bytes, None)]),
                };
                self.with_uniform_policy(copy, slot!(UBLKCP_S_G, "policy"), from)
            }
            (IrOp::BulkShare, &[to, from, bytes, barrier]) => {
                let (to, from) = (self.uniform_words(&[to, barrier]), self.uniform_value(from));
                Inst::new(Op::UBLKCP_S_S).ops([to, from, self.uniform_size(bytes, None)])
            }
            (IrOp::BulkShareRed { op }, &[to, from, bytes, barrier]) => {
                let (place, from) = (self.uniform_words(&[to, barrier]), self.uniform_value(from));
                let update = Inst::new(Op::UBLKRED_S_S).ops([place, from, self.uniform_size(bytes, None)]);
                return self.emit_update(update, op, data.ty);
            }
            (IrOp::BulkStore, &[to, from, bytes]) => {
                let (place, from) = (self.uniform_address(to), self.uniform_value(from));
                let copy = Inst::new(Op::UBLKCP_G_S).ops([place, from, self.uniform_size(bytes, None)]);
                self.with_uniform_policy(copy, slot!(UBLKCP_G_S, "policy"), to)
            }
            (IrOp::BulkRed { op, multicast }, &[to, from, bytes]) => {
                let (place, from) = (self.uniform_address(to), self.uniform_value(from));
                let update = Inst::new(Op::UBLKRED_G_S).ops([place, from, self.uniform_size(bytes, None)]);
                let update = self.with_uniform_policy(update, slot!(UBLKRED_G_S, "policy"), to);
                let update =
                    if multicast { update.with(choice!(UBLKRED_G_S, ".STRONG.SYS")) } else { update };
                return self.emit_update(update, op, data.ty);
            }
            (IrOp::BulkPrefetch, &[from, bytes]) => {
                let place = self.uniform_address(from);
                let prefetch = Inst::new(Op::UBLKPF_L2).ops([place, self.uniform_size(bytes, None)]);
                self.with_uniform_policy(prefetch, slot!(UBLKPF_L2, "policy"), from)
            }
            _ => return self.copy_tensor(inst),
        };
        self.emit(made);
    }

    /// Emits an update in bulk of elements of a type.
    fn emit_update(&mut self, update: Inst<VReg>, op: AtomicOp, ty: Type) {
        let is_wide = ty.bits() == 64;
        let combine = match op {
            AtomicOp::Add | AtomicOp::Fadd => choice!(UBLKRED_G_S | UBLKRED_S_S, ".ADD"),
            AtomicOp::Smin | AtomicOp::Umin | AtomicOp::Fmin => choice!(UBLKRED_G_S | UBLKRED_S_S, ".MIN"),
            AtomicOp::Smax | AtomicOp::Umax | AtomicOp::Fmax => choice!(UBLKRED_G_S | UBLKRED_S_S, ".MAX"),
            AtomicOp::Inc => choice!(UBLKRED_G_S | UBLKRED_S_S, ".INC"),
            AtomicOp::Dec => choice!(UBLKRED_G_S | UBLKRED_S_S, ".DEC"),
            AtomicOp::And => choice!(UBLKRED_G_S | UBLKRED_S_S, ".AND"),
            AtomicOp::Or => choice!(UBLKRED_G_S | UBLKRED_S_S, ".OR"),
            AtomicOp::Xor => choice!(UBLKRED_G_S | UBLKRED_S_S, ".XOR"),
            other => {
                return self.unsupported(
                    &IrOp::BulkRed { op, multicast: false },
                    format!("no update {other} in bulk"),
                );
            }
        };
        let is_signed = matches!(op, AtomicOp::Smin | AtomicOp::Smax);
        let elements = match (ty, is_signed) {
            (Type::F16, _) => choice!(UBLKRED_G_S | UBLKRED_S_S, ".F16.RN"),
            (Type::BF16, _) => choice!(UBLKRED_G_S | UBLKRED_S_S, ".BF16.RN"),
            (Type::F32, _) => choice!(UBLKRED_G_S | UBLKRED_S_S, ".F32.RN"),
            (Type::F64, _) => choice!(UBLKRED_G_S | UBLKRED_S_S, ".F64.RN"),
            (_, true) if is_wide => choice!(UBLKRED_G_S | UBLKRED_S_S, ".S64"),
            (_, false) if is_wide => choice!(UBLKRED_G_S | UBLKRED_S_S, ".U64"),
            (_, true) => choice!(UBLKRED_G_S | UBLKRED_S_S, ".S32"),
            (_, false) => choice!(UBLKRED_G_S | UBLKRED_S_S, DataType = ""),
        };
        self.emit(update.with(combine).with(elements));
    }

    /// Words that are the same in all lanes, in neighbouring uniform registers.
    pub(super) fn uniform_words(&mut self, values: &[Value]) -> Operand<VReg> {
        let tuple = self.mir.new_vreg(RegFile::Ugpr, values.len() as u8);
        for (n, &value) in (0..).zip(values) {
            let from = self.src(value);
            self.uniform_word(tuple.offset(n), from);
        }
        Operand::reg(tuple)
    }

    /// Sources that are the same in all lanes, in neighbouring uniform registers.
    pub(super) fn uniform_sources(&mut self, sources: &[Src]) -> Operand<VReg> {
        // A device function has no values in uniform registers for longer than a block.
        if self.func.kind != FunctionKind::Device {
            if let [only] = *sources
                && let Some(word) = self.pooled_word(only)
            {
                return word;
            }
            if let [Src::Bank(at), Src::Imm(0)] = *sources {
                return Operand::reg(self.pooled(Pooled::UniformHandle(at)));
            }
        }
        let tuple = self.mir.new_vreg(RegFile::Ugpr, sources.len() as u8);
        for (n, &source) in (0..).zip(sources) {
            self.uniform_word(tuple.offset(n), source);
        }
        Operand::reg(tuple)
    }

    fn uniform_word(&mut self, to: VReg, from: Src) {
        let to = Operand::reg(to);
        if self.mir.blocks[self.block].divergent || self.func.kind == FunctionKind::Device {
            // The result of `R2UR` need not be protected from other arms of the branch, so many
            // copies take few registers.
            let from = match from {
                Src::Imm(bits) => Operand::reg(self.pooled(Pooled::Const(bits))),
                other => self.gpr(other),
            };
            return self.emit(Inst::new(Op::R2UR).ops([to, from]));
        }
        let made = match (from, self.pooled_word(from)) {
            (Src::Imm(bits), _) => Inst::new(Op::UMOV).ops([to, Operand::imm(bits)]),
            (_, Some(from)) => Inst::new(Op::UMOV).ops([to, from]),
            (other, None) => {
                let from = self.gpr(other);
                Inst::new(Op::R2UR).ops([to, from])
            }
        };
        self.emit(made);
    }

    /// The uniform register of a source that exists once for all lanes.
    fn pooled_word(&mut self, from: Src) -> Option<Operand<VReg>> {
        let is_pooled = matches!(from, Src::Shared(_) | Src::Bank(_));
        let made = if is_pooled { self.any(from) } else { return None };
        made.as_reg().filter(|reg| reg.file().is_uniform()).map(Operand::reg)
    }

    /// A word that is the same in all lanes, in a uniform register.
    pub(super) fn uniform_value(&mut self, value: Value) -> Operand<VReg> {
        let from = self.src(value);
        match self.pooled_word(from) {
            Some(word) => word,
            None => self.uniform_words(&[value]),
        }
    }

    /// A global address that is the same in all lanes.
    pub(super) fn uniform_address(&mut self, address: Value) -> Operand<VReg> {
        if let Some(address) = self.uniform_tuple(address) {
            return address;
        }
        let pair = self.mir.new_vreg(RegFile::Ugpr, 2);
        for n in 0..2 {
            let half = self.half(address, n);
            self.uniform_word(pair.offset(n), half);
        }
        Operand::reg(pair)
    }

    /// The size of a bulk copy in the machine's format: in the lower half, in units of 16 bytes. The
    /// upper half is a set of CTAs.
    fn uniform_size(&mut self, bytes: Value, ctas: Option<Value>) -> Operand<VReg> {
        let units = match self.src(bytes) {
            Src::Imm(bytes) => Operand::imm(bytes >> 4),
            from => {
                let (from, units) = (self.gpr(from), Operand::reg(self.temp()));
                let shift = Inst::new(Op::SHF).with(choice!(SHF, ".R", ".U32", ".HI"));
                self.emit(shift.ops([units, Operand::rz(), Operand::imm(4), from]));
                units
            }
        };
        self.uniform_halves(units, ctas)
    }

    /// The low halves of two words in a uniform register: of a constant or register, and of a value,
    /// without which the upper half is 0.
    pub(super) fn uniform_halves(&mut self, low: Operand<VReg>, high: Option<Value>) -> Operand<VReg> {
        let to = self.mir.new_vreg(RegFile::Ugpr, 1);
        match (low.kind, high.map_or(Src::Imm(0), |high| self.src(high))) {
            (OperandKind::Imm(low), Src::Imm(high)) => {
                self.uniform_word(to, Src::Imm(low & 0xffff | high << 16));
            }
            (kind, high) => {
                let low = if let OperandKind::Imm(low) = kind { self.gpr(Src::Imm(low)) } else { low };
                let (high, both) = (self.gpr(high), Operand::reg(self.temp()));
                self.emit(Inst::new(Op::PRMT).ops([both, low, Operand::imm(0x5410), high]));
                self.emit(Inst::new(Op::R2UR).ops([Operand::reg(to), both]));
            }
        }
        Operand::reg(to)
    }

    fn copy_element(&mut self, inst: IrInst, access: Access, prefetch: Prefetch, zfill: bool) {
        let data = &self.func.insts[inst];
        let size = match access.elem {
            MemType::B64 => choice!(LDGSTS, ".64"),
            MemType::B128 => choice!(LDGSTS, ".128"),
            _ => choice!(LDGSTS, Size = ""),
        };
        let prefetch = match prefetch {
            Prefetch::Needed => choice!(LDGSTS, Variant = ""),
            Prefetch::L64 => choice!(LDGSTS, ".LTC64B"),
            Prefetch::L128 => choice!(LDGSTS, ".LTC128B"),
            Prefetch::L256 => choice!(LDGSTS, ".LTC256B"),
        };
        let to = self.narrow_address(Space::Shared, data.args[1], 0);
        let to = Operand::mem(self.without_uniform_part(to));
        let from = Operand::mem(self.address(access, data.args[0]));
        let copies = self.pred(data.args[2]);
        let copy = Inst::new(Op::LDGSTS)
            .with(if access.cache == CacheOp::Cg {
                choice!(LDGSTS, Cache = ".BYPASS")
            } else {
                choice!(LDGSTS, Cache = "")
            })
            .with(prefetch)
            .with(size)
            .with(if zfill { choice!(LDGSTS, Mode = ".ZFILL") } else { choice!(LDGSTS, Mode = "") });
        let copy = self.with_policy(copy, data.args[0]);
        self.emit(copy.ops([to, from]).slot(slot!(LDGSTS, "ps"), copies));
    }
}
