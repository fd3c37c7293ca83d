//! Turns words of constant banks into operands of their readers, if arithmetic takes them.
//!
//! ```text
//! LDC.64 %r4, c[0x0][0x160]
//! ULDC %ur1, c[0x0][0x16c]                   FFMA %r9, %r8, c[0x0][0x16c], %r7
//! FFMA %r9, %r8, %ur1, %r7             =>    MOV %r4, c[0x0][0x160]
//! LDG.E %r3, desc[%ur0][%r4.64]              MOV %r4.1, c[0x0][0x164]
//!                                            LDG.E %r3, desc[%ur0][%r4.64]
//! ```
//!
//! On most architectures an operand of arithmetic may be a word of a constant bank, or two for a
//! 64-bit operand, which must be at a multiple of eight. That takes no register and no instruction.
//! A word that is read in another place, such as an address, is moved into general registers. The
//! move takes a fixed time, while a load would occupy a scoreboard. The removal of dead code later
//! removes loads without readers. On architectures where NVIDIA's compiler has no such operands
//! ([`Feature::ConstantOperands`]), the rule does nothing. Cost: linear in the operands.

use cranelift_entity::SecondaryMap;
use ptxc_machine::{Arch, Feature};
use ptxc_sass::{Halves, Inst, Kinds, Op, Operand, OperandKind, Role, value};

use crate::mir::{MBlockId, MInst, Mir, VReg, VRegId, takes_operands};

/// A place in a constant bank: the bank and the byte offset.
type Place = (u8, u32);

/// For each register that a load fills, the place of its first word.
type Places = SecondaryMap<VRegId, Option<Place>>;

/// Replaces loaded words by operands, and the loads that stay by moves.
pub fn constant_operands(mir: &mut Mir<VReg>, arch: Arch) -> bool {
    if !arch.has(Feature::ConstantOperands) {
        return false;
    }
    let mut places: Places = SecondaryMap::new();
    // The blocks with loads into general registers.
    let mut loading = Vec::new();
    for &block in &mir.layout {
        for part in ptxc_interrupt::parts(&mir.blocks[block].insts) {
            for inst in part {
                let Some((reg, place)) = loaded(mir, &inst.inst) else { continue };
                places[reg.id()] = Some(place);
                if inst.inst.op == Op::LDC && loading.last() != Some(&block) {
                    loading.push(block);
                }
            }
        }
    }
    if places.is_empty() {
        return false;
    }
    let mut any = false;
    for &block in &mir.layout {
        for inst in &mut mir.blocks[block].insts {
            ptxc_interrupt::poll();
            any |= read_banks(inst, &places, arch);
        }
    }
    for block in loading {
        put_moves(mir, block);
    }
    any
}

/// The register that an unguarded load of words fills as a whole, and the place of the words.
fn loaded(mir: &Mir<VReg>, inst: &Inst<VReg>) -> Option<(VReg, Place)> {
    if !matches!(inst.op, Op::LDC | Op::ULDC) || inst.guard.is_some() || is_narrow(inst) {
        return None;
    }
    let OperandKind::Const { bank, offset } = inst.operands[1].kind else { return None };
    let reg = inst.operands[0].as_reg()?;
    (mir.vregs[reg.id()].width == inst.slot_width(0)).then_some((reg, (bank, offset)))
}

/// Whether a load reads less than a word.
fn is_narrow(inst: &Inst<VReg>) -> bool {
    [value!(Size = ".U8"), value!(Size = ".S8"), value!(Size = ".U16"), value!(Size = ".S16")]
        .into_iter()
        .any(|size| inst.is(size))
}

/// Lets an instruction read its operands from the banks where possible.
fn read_banks(inst: &mut MInst<VReg>, places: &Places, arch: Arch) -> bool {
    let loaded = |kind: OperandKind<VReg>| match kind {
        OperandKind::Reg(reg) => places[reg.id()].map(|place| (reg, place)),
        _ => None,
    };
    // Most instructions read no loaded word.
    if !inst.inst.operands.iter().any(|operand| loaded(operand.kind).is_some()) {
        return false;
    }
    let mut any = false;
    for (index, slot) in inst.inst.row().slots.iter().enumerate().take(inst.inst.operands.len()) {
        let old = inst.inst.operands[index];
        let Some((reg, (bank, first))) = loaded(old.kind) else { continue };
        if slot.role != Role::Use || !slot.accepts(Kinds::CONST, arch) || slot.halves != Halves::None {
            continue;
        }
        let offset = first + 4 * u32::from(reg.component());
        if inst.inst.slot_width(index) == 2 && !offset.is_multiple_of(8) {
            continue;
        }
        inst.inst.operands[index] = Operand { kind: OperandKind::Const { bank, offset }, ..old };
        if takes_operands(&inst.inst) {
            any = true;
        } else {
            inst.inst.operands[index] = old;
        }
    }
    any
}

/// Replaces the loads of a block that fill general registers by moves.
fn put_moves(mir: &mut Mir<VReg>, block: MBlockId) {
    let insts = std::mem::take(&mut mir.blocks[block].insts);
    let load = |inst: &MInst<VReg>| loaded(mir, &inst.inst).filter(|_| inst.inst.op == Op::LDC);
    let loads = insts.iter().filter(|inst| load(inst).is_some());
    let added: usize = loads.map(|inst| usize::from(inst.inst.slot_width(0)) - 1).sum();
    let mut made = Vec::with_capacity(insts.len() + added);
    for inst in insts {
        ptxc_interrupt::poll();
        match load(&inst) {
            Some((to, place)) => made.extend(moves(&inst, to, place)),
            None => made.push(inst),
        }
    }
    mir.blocks[block].insts = made;
}

/// The moves that replace an unguarded load of words into general registers.
fn moves(inst: &MInst<VReg>, to: VReg, (bank, offset): Place) -> impl Iterator<Item = MInst<VReg>> {
    let loc = inst.loc;
    (0..inst.inst.slot_width(0)).map(move |n| {
        let from = Operand::constant(bank, offset + 4 * u32::from(n));
        MInst::new(Inst::new(Op::MOV).ops([Operand::reg(to.offset(n)), from]), loc)
    })
}

#[cfg(test)]
mod tests {
    use ptxc_ssa::converge::converge;
    use ptxc_ssa::frequency::block_frequencies;
    use ptxc_ssa::uniformity::Uniformity;

    use super::*;
    use crate::mir::verify;
    use crate::select::select;

    /// The selected code of a function with parameters at 0, 8, 12 and 16, and the same after this
    /// rule alone.
    fn before_and_after(body: &str, arch: Arch) -> [String; 2] {
        let text = format!(
            "func @k entry {{\n param \"p\" 8 +0\n param \"n\" 4 +8\n param \"m\" 4 +12\n param \"w\" 8 +16\n\
             block0:\n v0 = param.b64 +0\n v1 = param.b32 +8\n v2 = param.b32 +12\n v3 = sreg.b32 tid.x\n{body}\n exit\n}}\n"
        );
        let mut func = ptxc_ir::text::parse_function(&text).expect("the test's function reads");
        converge(&mut func);
        let frequency = block_frequencies(&func);
        let selected = select(&func, arch, &Uniformity::compute(&func), &frequency);
        let mut mir = selected.expect("the test's function is selected");
        let before = mir.to_string();
        constant_operands(&mut mir, arch);
        verify(&mir).expect("the rule leaves what it should");
        [before, mir.to_string()]
    }

    /// The operands of the only instruction with a mnemonic.
    #[track_caller]
    fn only<'a>(text: &'a str, mnemonic: &str) -> &'a str {
        let mut lines = text.lines().filter_map(|line| line.trim().strip_prefix(mnemonic));
        match (lines.next(), lines.next()) {
            (Some(operands), None) => operands.trim(),
            _ => panic!("not one {mnemonic} in\n{text}"),
        }
    }

    #[test]
    fn a_word_becomes_the_operand_of_its_reader() {
        let body = " v4 = iadd.b32 v3, v1\n store.global.b32 [v0], v4";
        for arch in [Arch::Sm75, Arch::Sm80, Arch::Sm86, Arch::Sm89] {
            let [before, after] = before_and_after(body, arch);
            assert!(!only(&before, "IADD3").contains("c[0x0]"), "{before}");
            assert!(only(&after, "IADD3").contains("c[0x0][0x168]"), "{after}");
        }
        let [before, after] = before_and_after(body, Arch::Sm90);
        assert_eq!(before, after);
    }

    #[test]
    fn an_instruction_takes_one_word_and_a_move_makes_the_other() {
        let [_, after] = before_and_after(" v4 = imul.b32 v1, v2\n store.global.b32 [v0], v4", Arch::Sm80);
        assert_eq!(only(&after, "IMAD").matches("c[0x0]").count(), 1, "{after}");
    }

    #[test]
    fn an_address_is_moved_word_by_word() {
        let [before, after] = before_and_after(" store.global.b32 [v0], v3", Arch::Sm80);
        assert!(before.contains("LDC.64") && !before.contains("MOV"), "{before}");
        assert!(!after.contains("LDC.64 %r"), "{after}");
        let moved: Vec<&str> = after.lines().filter(|line| line.contains("MOV %r")).collect();
        let [low, high] = moved[..] else { panic!("{after}") };
        assert!(low.ends_with("c[0x0][0x160]") && high.ends_with("c[0x0][0x164]"), "{after}");
    }
}
