//! Removal of instructions whose results nobody reads.
//!
//! ```text
//! LDC %r3, c[0x0][0x220]        // %r3 unused     =>   (nothing)
//! ```
//!
//! An instruction is dead if it does nothing but compute registers, or load what may be loaded at any time,
//! and none of its components is live. Liveness of components spreads backwards from the instructions with
//! effects and the terminators; parameters of blocks are live if their component is. Cost: linear in the
//! operands.

use ptxc_sass::Arch;

use crate::interrupt;
use crate::mir::liveness::Components;
use crate::mir::{EdgeArg, MBlockId, MInst, Mir, VReg};

/// Where a component comes from.
#[derive(Clone, Copy)]
enum Origin {
    Inst(MBlockId, usize),
    /// The parameter of that number.
    Param(MBlockId, usize),
}

/// Removes dead instructions and dead block parameters.
pub fn dead(mir: &mut Mir<VReg>, _arch: Arch) -> bool {
    let components = Components::new(mir);
    let mut origin: Vec<Option<Origin>> = vec![None; components.len()];
    let mut live = vec![false; components.len()];
    let mut work: Vec<usize> = Vec::new();
    let mut preds: cranelift_entity::SecondaryMap<MBlockId, Vec<MBlockId>> = Default::default();
    for &block in &mir.layout {
        let data = &mir.blocks[block];
        for (number, param) in data.params.iter().enumerate() {
            for index in components.range(param.reg, param.width) {
                origin[index] = Some(Origin::Param(block, number));
            }
        }
        for (number, inst) in data.insts.iter().enumerate() {
            interrupt::poll();
            inst.for_each_def(|reg, width| {
                components
                    .range(reg, width)
                    .for_each(|index| origin[index] = Some(Origin::Inst(block, number)));
            });
        }
        for edge in data.term.edges() {
            preds[edge.block].push(block);
        }
    }
    let mut mark = |reg: VReg, width: u8, work: &mut Vec<usize>| {
        for index in components.range(reg, width) {
            if !std::mem::replace(&mut live[index], true) {
                work.push(index);
            }
        }
    };
    for &block in &mir.layout {
        let data = &mir.blocks[block];
        for inst in data.insts.iter().filter(|inst| must_stay(inst)) {
            interrupt::poll();
            inst.for_each_use(|reg, width| mark(reg, width, &mut work));
        }
        if let Some((&selector, width)) = data.term.selector() {
            mark(selector, width, &mut work);
        }
    }
    while let Some(index) = work.pop() {
        match origin[index] {
            Some(Origin::Inst(block, number)) => {
                let inst = &mir.blocks[block].insts[number];
                inst.for_each_use(|reg, width| mark(reg, width, &mut work));
            }
            Some(Origin::Param(block, number)) => {
                let width = mir.blocks[block].params[number].width;
                for &pred in &preds[block] {
                    for edge in mir.blocks[pred].term.edges() {
                        if edge.block == block
                            && let Some(&EdgeArg::Reg(reg)) = edge.args.get(number)
                        {
                            mark(reg, width, &mut work);
                        }
                    }
                }
            }
            None => {}
        }
    }
    remove(mir, |reg, width| components.range(reg, width).any(|index| live[index]))
}

fn must_stay(inst: &MInst<VReg>) -> bool {
    let effects = inst.inst.row().effects;
    effects.writes_memory
        || effects.fence
        || effects.convergent
        || effects.branch
        || effects.exit
        || inst.call.is_some()
        || !any_def(inst, |_, _| true)
}

/// Whether one of the registers that it writes is such, with the number of neighbours.
fn any_def(inst: &MInst<VReg>, mut holds: impl FnMut(VReg, u8) -> bool) -> bool {
    let mut any = false;
    inst.inst.for_each_def(|access| any = any || holds(access.reg, access.width));
    any
}

fn remove(mir: &mut Mir<VReg>, is_live: impl Fn(VReg, u8) -> bool) -> bool {
    let mut changed = false;
    let mut kept: cranelift_entity::SecondaryMap<MBlockId, Vec<bool>> = Default::default();
    for &block in &mir.layout {
        let data = &mut mir.blocks[block];
        kept[block] = data.params.iter().map(|param| is_live(param.reg, param.width)).collect();
        let before = data.params.len() + data.insts.len();
        data.params.retain(|param| is_live(param.reg, param.width));
        data.insts.retain(|inst| {
            interrupt::poll();
            must_stay(inst) || any_def(inst, &is_live)
        });
        changed |= data.params.len() + data.insts.len() != before;
    }
    for &block in &mir.layout {
        for edge in mir.blocks[block].term.edges_mut() {
            let mut kept = kept[edge.block].iter();
            edge.args.retain(|_| kept.next() == Some(&true));
        }
    }
    changed
}
