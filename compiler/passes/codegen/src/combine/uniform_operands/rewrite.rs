//! Moves the chosen values to the uniform datapath.

use cranelift_entity::SecondaryMap;
use ptxc_ir::SourceLoc;
use ptxc_sass::{Inst, Op, Operand, RegFile};
use smallvec::SmallVec;

use super::{is_constant, transfer};
use crate::combine::uniform_forms::{counterpart, reading_uniform};
use crate::mir::{EdgeArg, MInst, Mir, VReg, VRegId};

/// Moves values: their definitions, parameters and arguments, and all readers that take them.
pub(super) fn rewrite(mir: &mut Mir<VReg>, moving: &SecondaryMap<VRegId, bool>) {
    let mut new: SecondaryMap<VRegId, Option<VReg>> = SecondaryMap::new();
    for (reg, _) in moving.iter().filter(|&(_, &moves)| moves) {
        let one = mir.vregs[reg];
        let file = if one.file.is_predicate() { RegFile::Upred } else { RegFile::Ugpr };
        new[reg] = Some(mir.new_vreg(file, one.width));
    }
    let moved = |reg: VReg| new.get(reg.id()).copied().flatten().map(|to| to.offset(reg.component()));
    for block in mir.layout.clone() {
        let insts = std::mem::take(&mut mir.blocks[block].insts);
        let mut out = Vec::with_capacity(insts.len());
        for param in &mut mir.blocks[block].params {
            if let Some(to) = moved(param.reg) {
                let back = std::mem::replace(&mut param.reg, to);
                (0..param.width)
                    .for_each(|n| out.push(move_back(back.offset(n), to.offset(n), SourceLoc::NONE)));
            }
        }
        for mut inst in insts {
            ptxc_interrupt::poll();
            let mut defs: SmallVec<[(VReg, u8); 2]> = SmallVec::new();
            inst.for_each_def(|reg, width| defs.push((reg, width)));
            if defs.iter().any(|&(reg, _)| moved(reg).is_some())
                && let Some(made) = counterpart(&inst.inst, |reg| moved(reg).is_some())
            {
                let is_made_again =
                    is_constant(&inst.inst) || defs.iter().any(|(reg, _)| reg.file() == RegFile::Pred);
                // The numbers in the uniform form are still those of the general registers.
                let named = made.map(|reg| match reg.file() {
                    RegFile::Ugpr | RegFile::Upred => moved(reg).unwrap_or(reg),
                    RegFile::Gpr | RegFile::Pred => reg,
                });
                out.push(MInst::new(named, inst.loc));
                if !is_made_again {
                    for &(reg, width) in &defs {
                        let Some(to) = moved(reg) else { continue };
                        (0..width).for_each(|n| out.push(move_back(reg.offset(n), to.offset(n), inst.loc)));
                    }
                    continue;
                }
                defs.clear();
            }
            if mir.blocks[block].divergent {
                // It reads the general registers.
            } else if let Some((to, from)) = transfer(&inst)
                && let Some(from) = moved(from)
            {
                inst.inst = Inst::new(Op::UMOV).ops([to, from].map(Operand::reg));
            } else if inst.inst.uses().any(|access| moved(access.reg).is_some())
                && let Some(made) = reading_uniform(&inst.inst, moved)
            {
                inst.inst = made;
            }
            let loc = inst.loc;
            out.push(inst);
            for (reg, width) in defs {
                let Some(to) = moved(reg) else { continue };
                let bring = |n| Inst::new(Op::R2UR).ops([to, reg].map(|reg| Operand::reg(reg.offset(n))));
                out.extend((0..width).map(|n| MInst::new(bring(n), loc)));
            }
        }
        mir.blocks[block].insts = out;
    }
    pass(mir, &new);
}

/// Lets edges pass moved values to moved parameters.
fn pass(mir: &mut Mir<VReg>, new: &SecondaryMap<VRegId, Option<VReg>>) {
    for block in mir.layout.clone() {
        let mut brought = Vec::new();
        let edges = mir.blocks[block].term.edges().len();
        for index in 0..edges {
            ptxc_interrupt::poll();
            let target = mir.blocks[block].term.edge(index).block;
            for place in 0..mir.blocks[target].params.len() {
                let param = mir.blocks[target].params[place];
                let EdgeArg::Reg(from) = mir.blocks[block].term.edge(index).args[place] else { continue };
                if param.reg.file() != RegFile::Ugpr || from.file() == RegFile::Ugpr {
                    continue;
                }
                let to = match new[from.id()] {
                    Some(to) => to.offset(from.component()),
                    None => {
                        let to = mir.new_vreg(RegFile::Ugpr, param.width);
                        brought.extend((0..param.width).map(|n| {
                            let operands = [to, from].map(|reg| Operand::reg(reg.offset(n)));
                            Inst::new(Op::R2UR).ops(operands)
                        }));
                        to
                    }
                };
                mir.blocks[block].term.edge_mut(index).args[place] = EdgeArg::Reg(to);
            }
        }
        let loc = mir.blocks[block].term_loc;
        mir.blocks[block].insts.extend(brought.into_iter().map(|inst| MInst::new(inst, loc)));
    }
}

/// Moves a value back to its general register.
fn move_back(to: VReg, from: VReg, loc: SourceLoc) -> MInst<VReg> {
    MInst::new(Inst::new(Op::MOV).ops([Operand::reg(to), Operand::reg(from)]), loc)
}
