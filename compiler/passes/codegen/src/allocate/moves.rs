//! The instructions that the allocator adds, over virtual and physical registers alike.

use ptxc_sass::{
    Address, Inst, Op, Operand, OperandKind, Pipe, RegFile, Register, SlotName, SpecialReg, choice, slot,
    slot_name,
};

/// `dst = src`, in one file. There is no such instruction for uniform predicates; callers reject
/// these first.
pub(super) fn copy<R: Register>(dst: R, src: R) -> Inst<R> {
    let (to, from) = (Operand::reg(dst), Operand::reg(src));
    match dst.file() {
        RegFile::Gpr => Inst::new(Op::MOV).ops([to, from]),
        RegFile::Ugpr => Inst::new(Op::UMOV).ops([to, from]),
        RegFile::Pred | RegFile::Upred => predicate(to, from, Operand::pt(), 0x80),
    }
}

/// `dst = bits`; for a predicate, whether `bits` is not zero.
pub(super) fn constant<R: Register>(dst: R, bits: u32) -> Inst<R> {
    let to = Operand::reg(dst);
    match dst.file() {
        RegFile::Gpr if bits == 0 => Inst::new(Op::MOV).ops([to, Operand::rz()]),
        RegFile::Gpr => Inst::new(Op::MOV).ops([to, Operand::imm(bits)]),
        RegFile::Ugpr => Inst::new(Op::UMOV).ops([to, Operand::imm(bits)]),
        // The conjunction of three PT is the table's entry 7.
        RegFile::Pred | RegFile::Upred => {
            predicate(to, Operand::pt(), Operand::pt(), if bits == 0 { 0x08 } else { 0x80 })
        }
    }
}

/// Clears an aligned pair of general registers.
pub(super) fn zero_pair<R: Register>(first: R) -> Inst<R> {
    Inst::new(Op::CS2R).ops([Operand::reg(first), Operand::special(SpecialReg::Zero)])
}

fn predicate<R: Register>(dst: Operand<R>, a: Operand<R>, b: Operand<R>, lut: u32) -> Inst<R> {
    Inst::new(Op::PLOP3).ops([dst, a, b, Operand::pt(), Operand::imm(lut), Operand::imm(0)])
}

/// Exchanges two registers of one file without a third.
///
/// Predicates: one `PLOP3` with two results, whose truth tables select the other operand (the first
/// of three operands is the high bit of the index: `0xf0` is the first, `0xcc` the second). Others:
/// three exclusive ors.
pub(super) fn swap<R: Register>(a: R, b: R) -> Vec<Inst<R>> {
    let (ra, rb) = (Operand::reg(a), Operand::reg(b));
    match a.file() {
        RegFile::Pred | RegFile::Upred => vec![
            Inst::new(Op::PLOP3)
                .ops([ra, ra, rb, Operand::pt(), Operand::imm(0xcc), Operand::imm(0xf0)])
                .slot(slot!(PLOP3, "pe"), rb),
        ],
        RegFile::Gpr => {
            let xor = |d| Inst::new(Op::LOP3).ops([d, ra, rb, Operand::rz(), Operand::imm(0x3c)]);
            vec![xor(ra), xor(rb), xor(ra)]
        }
        RegFile::Ugpr => {
            let zero = Operand::zero(RegFile::Ugpr);
            let xor = |d| Inst::new(Op::ULOP3).ops([d, ra, rb, zero, Operand::imm(0x3c)]);
            vec![xor(ra), xor(rb), xor(ra)]
        }
    }
}

/// `dst = src` from a uniform to a general register.
pub(super) fn from_uniform<R: Register>(dst: R, src: R) -> Inst<R> {
    Inst::new(Op::MOV).ops([Operand::reg(dst), Operand::reg(src)])
}

/// `dst = src` from a general register that is the same in every lane to a uniform one.
pub(super) fn to_uniform<R: Register>(dst: R, src: R) -> Inst<R> {
    Inst::new(Op::R2UR).ops([Operand::reg(dst), Operand::reg(src)])
}

/// `dst = src ? 1 : 0`: a predicate spilled to a general register.
pub(super) fn from_predicate<R: Register>(dst: R, src: R) -> Inst<R> {
    Inst::new(Op::SEL).ops([Operand::reg(dst), Operand::rz(), Operand::imm(1), Operand::reg(src).not()])
}

/// `dst = src != 0`: a predicate reloaded from a general register.
pub(super) fn to_predicate<R: Register>(dst: R, src: R) -> Inst<R> {
    Inst::new(Op::ISETP)
        .ops([Operand::reg(dst), Operand::reg(src), Operand::rz()])
        .with(choice!(ISETP, ".NE"))
}

/// A spill slot: bytes above the stack pointer.
fn slot_address<R: Register>(frame: R, offset: u32) -> Operand<R> {
    Operand::mem(Address::narrow(Some(frame), offset as i32))
}

fn sized<R: Register>(inst: Inst<R>, width: u8) -> Inst<R> {
    match width {
        2 => inst.with(choice!(LDL | STL, ".64")),
        4 => inst.with(choice!(LDL | STL, ".128")),
        _ => inst,
    }
}

/// Loads 1, 2 or 4 words from a spill slot.
pub(super) fn load<R: Register>(dst: R, width: u8, frame: R, offset: u32) -> Inst<R> {
    sized(Inst::new(Op::LDL).ops([Operand::reg(dst), slot_address(frame, offset)]), width)
}

/// Stores 1, 2 or 4 words to a spill slot.
pub(super) fn store<R: Register>(src: R, width: u8, frame: R, offset: u32) -> Inst<R> {
    sized(Inst::new(Op::STL).ops([slot_address(frame, offset), Operand::reg(src)]), width)
}

/// Sets up the stack pointer: the top from the driver minus the frame.
pub(super) fn enter<R: Register>(frame: R, stack_top: u32, bytes: u32) -> [Inst<R>; 2] {
    let top = Inst::new(Op::LDC).ops([Operand::reg(frame), Operand::constant(0, stack_top)]);
    [top, move_stack(frame, bytes.wrapping_neg())]
}

/// Moves the stack pointer by `bytes` bytes.
pub(super) fn move_stack<R: Register>(frame: R, bytes: u32) -> Inst<R> {
    let r1 = Operand::reg(frame);
    Inst::new(Op::IADD3).ops([r1, r1, Operand::imm(bytes), Operand::rz()])
}

/// The first registers of the sums that a matrix product writes and adds to, and their number, if
/// both may be the same registers.
pub(super) fn accumulates<R: Register>(inst: &Inst<R>) -> Option<(R, R, u8)> {
    if inst.row().pipe != Pipe::Tensor || inst.guard.is_some() {
        return None;
    }
    let [d, c] = [inst.slot_index(slot_name!("d"))?, inst.slot_index(slot_name!("c"))?];
    let (to, from) = (inst.operands[d].as_reg()?, inst.operands[c].as_reg()?);
    let width = inst.slot_width(d);
    (width == inst.slot_width(c)).then_some((to, from, width))
}

/// The operands of a plain copy within one file: `(dst, src)`. Only registers count as sources.
pub(super) fn as_copy<R: Register>(inst: &Inst<R>) -> Option<(R, R)> {
    if inst.guard.is_some() {
        return None;
    }
    let plain = |name: SlotName| {
        let operand = inst.get(name)?;
        match (operand.kind, operand.flags) {
            (OperandKind::Reg(reg), flags) if flags == Default::default() => Some(reg),
            _ => None,
        }
    };
    let (dst, src) = match inst.op {
        Op::MOV | Op::UMOV => (plain(slot_name!("d"))?, plain(slot_name!("b"))?),
        Op::PLOP3 => {
            let unused =
                |name: SlotName, bits| inst.get(name).is_some_and(|op| op.kind == OperandKind::Imm(bits));
            let pt = |name: SlotName| inst.get(name) == Some(&Operand::pt());
            if !(pt(slot_name!("pe"))
                && pt(slot_name!("pb"))
                && pt(slot_name!("pc"))
                && unused(slot_name!("lut"), 0x80))
            {
                return None;
            }
            (plain(slot_name!("pd"))?, plain(slot_name!("pa"))?)
        }
        _ => return None,
    };
    (dst.file() == src.file()).then_some((dst, src))
}
