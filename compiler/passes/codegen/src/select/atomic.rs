//! Atomic updates.
//!
//! ```text
//! v6 = atomic.add.shared v2, 1          =>   ATOMS.POPC.INC.32 RZ, [%r2]     // nobody reads v6
//! v7 = atomic.cas.global v3, v4, v5     =>   ATOMG.E.CAS.STRONG.GPU PT, %r7, [%r3], %r4, %r5
//! v8, v9 = try_atomic.fadd.generic …    =>   ATOM.E.ADD.F32.FTZ.RN.STRONG.GPU %p9, %r8, desc[%ur0][%r3.64], %r5
//! v9 = is_space.shared v3               =>   QSPC.E.S %p9, RZ, [%r3]
//! ```
//!
//! A compare-and-swap of more than 32 bits, and a compare-and-store, take the expected and the new
//! value from neighbouring registers: ptxas copies them there, and it is not known whether other
//! registers would work. The address has neither a descriptor nor a uniform part. Legalization has
//! turned orders other than relaxed into fences.

use ptxc_ir::{Access, AtomicOp, Inst as IrInst, MemType, Op as IrOp, Order, Space, Type, Value};
use ptxc_machine::Feature;
use ptxc_sass::{Address, Inst, ModValue, Op, Operand, OperandKind, RegFile, choice, slot, value};

use super::lower::{Lower, width_of};
use super::memory::scope_choice;
use super::source::Src;
use crate::mir::VReg;

impl Lower<'_> {
    pub(super) fn lower_atomic(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let (IrOp::Atomic { op: atomic, access }
        | IrOp::Red { op: atomic, access }
        | IrOp::TryAtomic { op: atomic, access }) = data.op
        else {
            return;
        };
        let results = self.func.results(inst);
        let (results, done) = match data.op {
            IrOp::TryAtomic { .. } => (&results[..1], Some(results[1])),
            _ => (results, None),
        };
        let result = results.first().copied().filter(|_| results.iter().any(|&value| self.is_needed(value)));
        if !matches!(access.order, Order::Relaxed | Order::Volatile) {
            return self.unsupported(&data.op, format!("order {}", access.order));
        }
        let done = done.map(|done| self.def(done));
        if matches!(atomic, AtomicOp::Cas | AtomicOp::Cast) {
            return self.lower_compare_and_swap(inst, (atomic, access), result, done);
        }
        let Some((name, kind)) = atomic_text(atomic, data.ty, access.lanes) else {
            let what = format!("no instruction for it at {} elements of type {}", access.lanes, data.ty);
            return self.unsupported(&data.op, what);
        };
        let counts = Inst::<VReg>::new(Op::ATOMS).with(choice!(ATOMS, ".POPC.INC.32")).exists_on(self.arch);
        let is_plain = counts && access.space == Space::Shared && data.ty == Type::B32;
        if is_plain && result.is_none() && atomic == AtomicOp::Add && self.src(data.args[1]) == Src::Imm(1) {
            let address = Operand::mem(self.address(access, data.args[0]));
            let made =
                Inst::new(Op::ATOMS).with(choice!(ATOMS, ".POPC.INC.32")).ops([Operand::rz(), address]);
            return self.emit(made);
        }
        let content = self.stored_values(data.ty, &data.args[1..]);
        let address = Operand::mem(self.address(access, data.args[0]));
        let to = match result {
            Some(first) if access.lanes > 1 => Operand::reg(self.reg_of(first)),
            Some(result) => self.def(result),
            None => self.unread(&data.op, width_of(data.ty)),
        };
        let mut made = match access.space {
            // An acquire depends on the old value, even if that is not read.
            Space::Global if result.is_none() && atomic != AtomicOp::Exch && !self.must_arrive(&data.op) => {
                Inst::new(Op::REDG).ops([address, content])
            }
            Space::Global => Inst::new(Op::ATOMG).ops([to, address, content]),
            Space::Generic => Inst::new(Op::ATOM).ops([to, address, content]),
            Space::Shared => Inst::new(Op::ATOMS).ops([to, address]).slot(slot!(ATOMS, "data"), content),
            other => return self.unsupported(&data.op, format!("{} in {other} memory", data.ty)),
        };
        // Legalization leaves none of the operations that shared memory lacks, but text input may
        // have them.
        if !made.set(name) || !made.set(kind) {
            let what = format!("no instruction for type {} in {} memory", data.ty, access.space);
            return self.unsupported(&data.op, what);
        }
        // The names of the other types of 64 bits include the size.
        let made = if kind == value!(DataType = "") { with_size(made, data.ty) } else { made };
        let made = match done {
            Some(done) => made.slot(slot!(ATOM | ATOMG, "pd"), done),
            None => made,
        };
        let made = match access.space {
            Space::Shared => made,
            _ => self.with_policy(
                made.with(choice!(ATOM | ATOMG | REDG, ".STRONG")).with(scope_choice(access.scope)),
                data.args[0],
            ),
        };
        self.emit(made);
    }

    fn lower_compare_and_swap(
        &mut self,
        inst: IrInst,
        (atomic, access): (AtomicOp, Access),
        result: Option<Value>,
        done: Option<Operand<VReg>>,
    ) {
        let data = &self.func.insts[inst];
        let (width, stores) = (width_of(data.ty), atomic == AtomicOp::Cast);
        let values = if width == 1 && !stores {
            [self.compared(data.args[1]), self.gpr_value(data.args[2])]
        } else {
            let both = self.mir.new_vreg(RegFile::Gpr, 2 * width);
            self.place(data.args[1], both);
            self.place(data.args[2], both.offset(width));
            [Operand::reg(both), Operand::reg(both.offset(width))]
        };
        let address = Operand::mem(self.bare_address(access, data.args[0]));
        let to = match result {
            Some(result) => self.def(result),
            None => self.unread(&data.op, width),
        };
        let op = match access.space {
            Space::Global => Op::ATOMG_CAS,
            Space::Generic => Op::ATOM_CAS,
            Space::Shared => Op::ATOMS_CAS,
            other => return self.unsupported(&data.op, format!("{} in {other} memory", data.ty)),
        };
        let made = with_size(Inst::new(op).ops([to, address, values[0], values[1]]), data.ty);
        let made = if stores { made.with(choice!(ATOM_CAS | ATOMS_CAS, ".CAST.SPIN")) } else { made };
        let made = match done {
            Some(done) => made.slot(slot!(ATOM_CAS | ATOMG_CAS, "pd"), done),
            None => made,
        };
        self.emit(match access.space {
            Space::Shared => made,
            _ => made.with(choice!(ATOM_CAS | ATOMG_CAS, ".STRONG")).with(scope_choice(access.scope)),
        });
    }

    /// The value that a compare-and-swap compares with. Some architectures take it from any
    /// register except `RZ`.
    fn compared(&mut self, value: Value) -> Operand<VReg> {
        let operand = self.gpr_value(value);
        if !self.arch.has(Feature::SwapsCompareZero) && matches!(operand.kind, OperandKind::Zero(_)) {
            let register = self.mir.new_vreg(RegFile::Gpr, 1);
            self.place(value, register);
            return Operand::reg(register);
        }
        operand
    }

    /// Whether an acquire may depend on the old value of an update, so that a reduction is not
    /// enough.
    fn must_arrive(&self, op: &IrOp) -> bool {
        matches!(op, IrOp::Atomic { .. }) && self.is_acquired
    }

    /// The destination of an old value that is not read: registers if an acquire may depend on it
    /// and the scoreboard may never announce an update with `RZ` as its result; ptxas's code does
    /// the same.
    pub(super) fn unread(&mut self, op: &IrOp, width: u8) -> Operand<VReg> {
        if !self.arch.has(Feature::UnreadUpdatesAnnounced) && self.must_arrive(op) {
            return Operand::reg(self.mir.new_vreg(RegFile::Gpr, width));
        }
        Operand::rz()
    }

    /// Lowers a query for the memory that a generic address lies in.
    pub(super) fn lower_space_query(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let IrOp::IsSpace(space) = data.op else { return };
        let mode = match space {
            Space::Shared => choice!(QSPC, ".S"),
            Space::SharedCluster => choice!(QSPC, ".D"),
            Space::Global => choice!(QSPC, ".G"),
            Space::Local => choice!(QSPC, ".L"),
            other => return self.unsupported(&data.op, format!("no instruction asks for {other} memory")),
        };
        let to = self.def(self.func.result(inst));
        let generic = Access::weak(Space::Generic, MemType::B8);
        let address = Operand::mem(self.bare_address(generic, data.args[0]));
        self.emit(Inst::new(Op::QSPC).with(mode).ops([to, Operand::rz(), address]));
    }

    /// An address of general registers only.
    fn bare_address(&mut self, access: Access, address: Value) -> Address<VReg> {
        let made = match access.space.address_type() {
            Type::B64 => self.wide_address(address, access.offset.into(), None),
            _ => self.address(access, address),
        };
        self.without_uniform_part(made)
    }

    /// The same address with its uniform part moved to the base.
    pub(super) fn without_uniform_part(&mut self, address: Address<VReg>) -> Address<VReg> {
        let mut made = address;
        let Some(uniform) = made.uniform.take() else { return made };
        made.base = match made.base {
            // The window is the only uniform part, and has a copy in general registers outside of
            // loops.
            None => self.gpr(Src::Shared(0)).as_reg(),
            Some(base) => {
                let sum = self.temp();
                let terms = [Operand::reg(sum), Operand::reg(base), Operand::reg(uniform), Operand::rz()];
                self.emit(Inst::new(Op::IADD3).ops(terms));
                Some(sum)
            }
        };
        made
    }
}

/// The same with the size of its operand.
fn with_size(inst: Inst<VReg>, ty: Type) -> Inst<VReg> {
    match ty.bits() {
        64 => {
            inst.with(choice!(ATOM | ATOMG | REDG | ATOMS | ATOM_CAS | ATOMG_CAS | ATOMS_CAS, Size = ".64"))
        }
        128 => inst.with(choice!(ATOM | ATOMG | ATOMS | ATOM_CAS | ATOMG_CAS | ATOMS_CAS, Size = ".128")),
        _ => inst,
    }
}

/// The modifiers of an atomic: its operation and the type of its operand. The type of halves
/// includes their number.
fn atomic_text(atomic: AtomicOp, ty: Type, lanes: u8) -> Option<(ModValue, ModValue)> {
    let float = match (ty, lanes) {
        (Type::F32, 1) => value!(DataType = ".F32.FTZ.RN"),
        (Type::F32, 2) => value!(DataType = ".F32x2.FTZ.RN"),
        (Type::F32, 4) => value!(DataType = ".F32x4.FTZ.RN"),
        _ => doubles_or_halves(ty, lanes).unwrap_or(value!(DataType = "")),
    };
    let extremes = matches!(ty, Type::F16x2 | Type::BF16x2);
    match atomic {
        AtomicOp::FaddNoftz => return Some((value!(Atomic = ".ADD"), unflushed(ty, lanes)?)),
        AtomicOp::Fadd if float != value!(DataType = "") => return Some((value!(Atomic = ".ADD"), float)),
        AtomicOp::Fmin if extremes => return Some((value!(Atomic = ".MIN"), float)),
        AtomicOp::Fmax if extremes => return Some((value!(Atomic = ".MAX"), float)),
        _ if lanes > 1 => return None,
        _ => {}
    }
    if !matches!(ty.bits(), 32 | 64) && atomic != AtomicOp::Exch {
        return None;
    }
    let wide = ty.bits() == 64;
    let signed = if wide { value!(DataType = ".S64") } else { value!(DataType = ".S32") };
    Some(match atomic {
        AtomicOp::Add => (value!(Atomic = ".ADD"), value!(DataType = "")),
        AtomicOp::Smin => (value!(Atomic = ".MIN"), signed),
        AtomicOp::Smax => (value!(Atomic = ".MAX"), signed),
        AtomicOp::Umin => (value!(Atomic = ".MIN"), value!(DataType = "")),
        AtomicOp::Umax => (value!(Atomic = ".MAX"), value!(DataType = "")),
        AtomicOp::And => (value!(Atomic = ".AND"), value!(DataType = "")),
        AtomicOp::Or => (value!(Atomic = ".OR"), value!(DataType = "")),
        AtomicOp::Xor => (value!(Atomic = ".XOR"), value!(DataType = "")),
        AtomicOp::Inc if !wide => (value!(Atomic = ".INC"), value!(DataType = "")),
        AtomicOp::Dec if !wide => (value!(Atomic = ".DEC"), value!(DataType = "")),
        AtomicOp::Exch => (value!(Atomic = ".EXCH"), value!(DataType = "")),
        AtomicOp::Inc
        | AtomicOp::Dec
        | AtomicOp::Fadd
        | AtomicOp::FaddNoftz
        | AtomicOp::Fmin
        | AtomicOp::Fmax
        | AtomicOp::Cas
        | AtomicOp::Cast => return None,
    })
}

/// The type of a sum of doubles or halves, whose subnormals no instruction flushes.
pub(super) fn doubles_or_halves(ty: Type, lanes: u8) -> Option<ModValue> {
    Some(match (ty, lanes) {
        (Type::F64, 1) => value!(DataType = ".F64.RN"),
        (Type::F16x2, 1) => value!(DataType = ".F16x2.RN"),
        (Type::F16x2, 2) => value!(DataType = ".F16x4.RN"),
        (Type::F16x2, 4) => value!(DataType = ".F16x8.RN"),
        (Type::BF16x2, 1) => value!(DataType = ".BF16x2.RN"),
        (Type::BF16x2, 2) => value!(DataType = ".BF16x4.RN"),
        (Type::BF16x2, 4) => value!(DataType = ".BF16x8.RN"),
        _ => return None,
    })
}

/// The type of a sum that keeps subnormals: `.noftz` of PTX.
pub(super) fn unflushed(ty: Type, lanes: u8) -> Option<ModValue> {
    match (ty, lanes) {
        (Type::F32, 1) => Some(value!(DataType = ".F32.RN")),
        (Type::F32, 2) => Some(value!(DataType = ".F32x2.RN")),
        (Type::F32, 4) => Some(value!(DataType = ".F32x4.RN")),
        _ => None,
    }
}
