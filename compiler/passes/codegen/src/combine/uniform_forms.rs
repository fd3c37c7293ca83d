//! Forms of instructions with uniform registers.
//!
//! ```text
//! SHF.L.U32 %r4, %r3, 0xb, RZ             counterpart         USHF.L.U32 %ur4, %ur3, 0xb, URZ
//! IADD3 %r9, %r4, %r8, RZ                 with %r4 moved      IADD3 %r9, %r8, %ur4, RZ
//! ```

use ptxc_sass::{Address, Inst, ModKind, Op, Operand, OperandKind, RegFile, SpecialReg, slot_name};

use crate::mir::{VReg, takes_operands};

/// The instruction of the uniform datapath that computes the same. `moves` tells which registers
/// are in the uniform files then, results included; they keep their numbers. The instruction has no
/// guard.
pub(super) fn counterpart(from: &Inst<VReg>, moves: impl Fn(VReg) -> bool) -> Option<Inst<VReg>> {
    let op = from.op.row().uniform?;
    if from.guard.is_some() {
        return None;
    }
    let kind = |kind: OperandKind<VReg>| {
        Some(match kind {
            OperandKind::Zero(RegFile::Gpr) => OperandKind::Zero(RegFile::Ugpr),
            OperandKind::Zero(RegFile::Pred) => OperandKind::Zero(RegFile::Upred),
            OperandKind::Reg(reg) if reg.file().is_uniform() => OperandKind::Reg(reg),
            OperandKind::Reg(reg) if moves(reg) => OperandKind::Reg(uniform(reg)),
            OperandKind::Imm(bits) => OperandKind::Imm(bits),
            OperandKind::Const { bank, offset } if op == Op::ULDC => OperandKind::Const { bank, offset },
            OperandKind::Special(reg @ (SpecialReg::CtaidX | SpecialReg::CtaidY | SpecialReg::CtaidZ)) => {
                OperandKind::Special(reg)
            }
            _ => return None,
        })
    };
    // Most instructions read an operand that differs between lanes.
    if from.operands.iter().any(|operand| kind(operand.kind).is_none()) {
        return None;
    }
    let mut made = Inst::new(op);
    for (slot, operand) in from.row().slots.iter().zip(&from.operands) {
        let place = made.row().slot(slot.name)?;
        made.operands[place] = Operand { kind: kind(operand.kind)?, ..*operand };
    }
    for modifier in from.row().mods {
        let text = from.modifier(modifier.kind);
        if made.modifier(modifier.kind) != text && !made.set_kind(modifier.kind, text) {
            return None;
        }
    }
    made.check_form().is_ok().then_some(made)
}

/// The same register in the uniform file.
pub(super) fn uniform(reg: VReg) -> VReg {
    let file = if reg.file().is_predicate() { RegFile::Upred } else { RegFile::Ugpr };
    VReg::new(reg.id(), reg.component(), file)
}

/// An instruction with some general registers replaced by uniform ones, if there is such a form.
pub(super) fn reading_uniform(inst: &Inst<VReg>, moved: impl Fn(VReg) -> Option<VReg>) -> Option<Inst<VReg>> {
    let mut made = inst.clone();
    // A copy to shared memory has two addresses and one field for a uniform register.
    let taken = inst.operands.iter().any(|operand| match operand.kind {
        OperandKind::Mem(address) => address.uniform.or(address.descriptor).is_some(),
        _ => false,
    });
    for (slot, operand) in inst.row().slots.iter().zip(&mut made.operands) {
        match &mut operand.kind {
            OperandKind::Reg(reg) => {
                if let Some(to) = moved(*reg) {
                    *reg = to;
                }
            }
            OperandKind::Mem(address) => {
                if let Some(to) = address.base.and_then(&moved) {
                    if address.wide || taken || slot.role == ptxc_sass::Role::Def {
                        return None;
                    }
                    *address = Address { base: None, uniform: Some(to), ..*address };
                }
            }
            _ => {}
        }
    }
    // The index into a constant bank, for example, is a general register in any form.
    let stays = made.uses().any(|access| access.reg.file() == RegFile::Gpr && moved(access.reg).is_some());
    if stays {
        return None;
    }
    let holds = |made: &Inst<VReg>| made.check_form().is_ok() && takes_operands(made);
    if holds(&made) {
        return Some(made);
    }
    if made.op == Op::ISETP {
        return mirrored(&made).filter(holds);
    }
    // Only the middle operand takes other kinds. Of two negated operands of a sum, one must be the last.
    let orders: &[[usize; 3]] = match made.op {
        Op::IADD3 => &[[1, 0, 2], [2, 0, 1], [0, 2, 1], [1, 2, 0]],
        Op::IMAD => &[[1, 0, 2]],
        _ => return None,
    };
    let sources = [slot_name!("a"), slot_name!("b"), slot_name!("c")].map(|name| made.slot_index(name));
    let [Some(a), Some(b), Some(c)] = sources else { return None };
    let operands = [a, b, c].map(|index| made.operands[index]);
    orders.iter().find_map(|order| {
        let mut turned = made.clone();
        for (index, &from) in [a, b, c].into_iter().zip(order) {
            turned.operands[index] = operands[from];
        }
        holds(&turned).then_some(turned)
    })
}

/// A comparison with its operands exchanged.
fn mirrored(inst: &Inst<VReg>) -> Option<Inst<VReg>> {
    let mut made = inst.clone();
    let (a, b) = (inst.slot_index(slot_name!("a"))?, inst.slot_index(slot_name!("b"))?);
    made.operands.swap(a, b);
    let mirror = match inst.modifier(ModKind::Compare) {
        ".LT" => ".GT",
        ".GT" => ".LT",
        ".LE" => ".GE",
        ".GE" => ".LE",
        same => same,
    };
    made.set_kind(ModKind::Compare, mirror).then_some(made)
}
