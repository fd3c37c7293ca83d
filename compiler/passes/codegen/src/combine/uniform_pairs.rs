//! Loads neighbouring constants into uniform registers together.
//!
//! ```text
//! ULDC %ur1, c[0x0][0x218]
//! …                                =>     ULDC.64 %ur3, c[0x0][0x218]      // %ur1 is %ur3, %ur2 is %ur3.1
//! ULDC %ur2, c[0x0][0x21c]
//! ```
//!
//! Both must be loaded in one block, the first at a multiple of eight. The pair is loaded in the
//! place of the earlier load. Cost: linear, except for sorting a block's loads.

use std::collections::BTreeMap;

use ptxc_machine::Arch;
use ptxc_sass::{Inst, Op, Operand, OperandKind, RegFile, choice};

use crate::mir::{Mir, Renames, VReg};

/// Joins loads of neighbouring words.
pub fn uniform_pairs(mir: &mut Mir<VReg>, _arch: Arch) -> bool {
    let mut renames = Renames::default();
    for block in mir.layout.clone() {
        let mut loads: BTreeMap<(u8, u32), (usize, VReg)> = BTreeMap::new();
        for (number, inst) in mir.blocks[block].insts.iter().enumerate() {
            ptxc_interrupt::poll();
            if let Some((place, reg)) = single_load(&inst.inst) {
                loads.insert(place, (number, reg));
            }
        }
        let mut gone = Vec::new();
        for (&(bank, offset), &(low_number, low)) in &loads {
            let Some(&(high_number, high)) = loads.get(&(bank, offset + 4)) else { continue };
            if !offset.is_multiple_of(8) || mir.vregs[low.id()].width > 1 || mir.vregs[high.id()].width > 1 {
                continue;
            }
            let pair = mir.new_vreg(RegFile::Ugpr, 2);
            renames.add(low, pair, 1);
            renames.add(high, pair.offset(1), 1);
            let first = low_number.min(high_number);
            mir.blocks[block].insts[first].inst = Inst::new(Op::ULDC)
                .with(choice!(ULDC, ".64"))
                .ops([Operand::reg(pair), Operand::constant(bank, offset)]);
            gone.push(low_number.max(high_number));
        }
        if gone.is_empty() {
            continue;
        }
        gone.sort_unstable();
        let mut number = 0;
        mir.blocks[block].insts.retain(|_| {
            number += 1;
            gone.binary_search(&(number - 1)).is_err()
        });
    }
    renames.apply(mir);
    !renames.is_empty()
}

/// The place and the register of an unguarded load of one word.
fn single_load(inst: &Inst<VReg>) -> Option<((u8, u32), VReg)> {
    if inst.op != Op::ULDC || inst.guard.is_some() || inst.slot_width(0) != 1 {
        return None;
    }
    match inst.operands[1].kind {
        OperandKind::Const { bank, offset } => Some(((bank, offset), inst.operands[0].as_reg()?)),
        _ => None,
    }
}
