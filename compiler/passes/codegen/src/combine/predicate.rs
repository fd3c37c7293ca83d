//! Turns short branches into guards.
//!
//! ```text
//! mb0: BSSY B0, mb3                               mb0: MOV %r4, 0x0
//!      branch %p0, mb2(0x0), mb1                       IMAD.WIDE %r2, %r1, 0x4, %r8
//! mb1: IMAD.WIDE %r2, %r1, 0x4, %r8       =>           @!%p0 LDG.E %r3, [%r2.64] tied(%r4)
//!      LDG.E %r3, [%r2.64]                             STS [%r7], %r3
//!      jump mb2(%r3)                                   …
//! mb2(%r5): BSYNC B0; jump mb3
//! mb3: STS [%r7], %r5; …
//! ```
//!
//! A branch around one block, or to one of two blocks that meet again, is removed if those blocks
//! hold at most [`LIMIT`] instructions, and none of these is convergent, a fence, already guarded,
//! or takes the value of one lane (`R2UR`). Instructions that touch memory, and those that read
//! their results, get the guard. Other instructions only compute and run for all lanes, so they
//! need not wait for the predicate. An instruction whose value replaces one of the other path gets
//! the guard, and leaves the other path's value in place. A value that no such instruction makes is
//! chosen by `SEL`. The convergence barrier of the branch is removed, too, if nothing else is in
//! its region. A branch to the end of the thread stays: it is one instruction.
//!
//! (Allen, Kennedy, Porterfield and Warren, *Conversion of Control Dependence to Data Dependence*,
//! POPL 1983.) Inner branches come first, and a block that has absorbed its arms is visited again.
//! Cost: near-linear, since every conversion removes a block, and merging two blocks moves only the
//! shorter one.

use std::collections::VecDeque;

use cranelift_entity::SecondaryMap;
use ptxc_machine::Arch;
use ptxc_sass::{Access, Inst, Label, Op, Operand, OperandKind, RegFile};
use smallvec::SmallVec;

use super::merge::{constant, goes_on_in};
use crate::mir::{Cfg, Edge, EdgeArg, MBlockId, MInst, Mir, Renames, Term, Tuple, VReg, VRegId};

/// The most instructions that are guarded for one branch. NVIDIA's compiler guards arms of up
/// to 18. Limits from 6 to 40 were tried on the execution cases: their cycles fall with each step
/// up to 16, and not beyond.
pub const LIMIT: usize = 16;

/// Turns short branches into guards.
pub fn predicate(mir: &mut Mir<VReg>, _arch: Arch) -> bool {
    let cfg = Cfg::new(mir);
    ptxc_interrupt::poll();
    let mut code: SecondaryMap<MBlockId, VecDeque<MInst<VReg>>> = SecondaryMap::new();
    for &block in &mir.layout {
        ptxc_interrupt::poll();
        code[block] = std::mem::take(&mut mir.blocks[block].insts).into();
    }
    let mut state = State {
        mir,
        code,
        edges_in: SecondaryMap::new(),
        names: SecondaryMap::new(),
        gone: SecondaryMap::new(),
        renames: Renames::default(),
    };
    state.count();
    let mut changed = false;
    for &block in cfg.order().iter().rev() {
        ptxc_interrupt::poll();
        while !state.gone[block] && state.convert(block) {
            changed = true;
            state.swallow_successors(block);
        }
    }
    let State { gone, renames, mut code, .. } = state;
    mir.layout.retain(|&block| !gone[block]);
    for &block in &mir.layout {
        ptxc_interrupt::poll();
        mir.blocks[block].insts = std::mem::take(&mut code[block]).into();
    }
    renames.apply(mir);
    changed
}

/// A branch that can be converted.
struct Shape {
    /// The block that runs if the predicate holds, or if it fails, and which of the two.
    arm: MBlockId,
    on_true: bool,
    /// The block that runs otherwise, if there is one.
    other_arm: Option<MBlockId>,
    /// The block where both paths meet.
    join: MBlockId,
}

struct State<'a> {
    mir: &'a mut Mir<VReg>,
    /// The instructions of each block. Blocks are visited from the last to the first, so a short
    /// block is often followed by a long one: the short one is moved to the front of it.
    code: SecondaryMap<MBlockId, VecDeque<MInst<VReg>>>,
    /// The number of edges into each block.
    edges_in: SecondaryMap<MBlockId, u32>,
    /// The number of instructions that name each block.
    names: SecondaryMap<MBlockId, u32>,
    gone: SecondaryMap<MBlockId, bool>,
    renames: Renames,
}

impl State<'_> {
    fn count(&mut self) {
        for &block in &self.mir.layout {
            for edge in self.mir.blocks[block].term.edges() {
                self.edges_in[edge.block] += 1;
            }
            for inst in &self.code[block] {
                ptxc_interrupt::poll();
                if let Some(label) = label(&inst.inst) {
                    self.names[label] += 1;
                }
            }
        }
    }

    fn convert(&mut self, head: MBlockId) -> bool {
        let Some(shape) = self.shape(head) else { return false };
        let Term::Branch { pred, negated, then, other } = self.mir.blocks[head].term.clone() else {
            return false;
        };
        // The guard under which the arm runs.
        let negated = negated == shape.on_true;
        let direct = match shape.other_arm {
            Some(block) => self.args_of_jump(block),
            None if shape.on_true => other.args.to_vec(),
            None => then.args.to_vec(),
        };
        let through_arm = self.args_of_jump(shape.arm);
        let params = self.mir.blocks[shape.join].params.clone();
        let mut insts = Vec::new();
        if let Some(block) = shape.other_arm {
            insts.extend(std::mem::take(&mut self.code[block]));
            self.guard(&mut insts, (pred, !negated));
        }
        let mut arm = Vec::from(std::mem::take(&mut self.code[shape.arm]));
        self.guard(&mut arm, (pred, negated));
        let loc = self.mir.blocks[head].term_loc;
        let mut selects = Vec::new();
        let mut args = Vec::new();
        let whole = match shape.other_arm {
            // The other path's values may not exist, so they cannot be copied into a tuple.
            Some(_) => SmallVec::new(),
            None => self.tie_tuples(&mut arm, (pred, negated), [&direct, &through_arm], &mut insts),
        };
        for (number, ((param, old), new)) in params.iter().zip(direct).zip(through_arm).enumerate() {
            let merged = if old == new {
                old
            } else if whole.contains(&number) {
                new
            } else if let Some((number, slot)) = self.maker(&arm, new, *param) {
                let inst = &mut arm[number];
                inst.inst = inst.inst.clone().guarded(pred, negated);
                if old != EdgeArg::Undef {
                    let old = self.in_register(*param, old, &mut insts, loc);
                    inst.tied.push((slot, old));
                }
                new
            } else {
                EdgeArg::Reg(self.select(*param, (pred, negated), new, old, &mut selects, loc))
            };
            args.push(merged);
        }
        insts.append(&mut arm);
        insts.append(&mut selects);
        self.code[head].extend(insts);
        self.mir.blocks[head].term = Term::Jump(Edge { block: shape.join, args: args.into_iter().collect() });
        self.gone[shape.arm] = true;
        if let Some(block) = shape.other_arm {
            self.gone[block] = true;
        }
        self.edges_in[shape.join] -= 1;
        self.drop_barrier(head, shape.join);
        true
    }

    /// Guards the instructions of an arm that may not run for all lanes, and the readers of their
    /// results, which do not exist without the guard.
    fn guard(&self, arm: &mut [MInst<VReg>], (pred, negated): (VReg, bool)) {
        let mut made: SmallVec<[VRegId; 2 * LIMIT]> = SmallVec::new();
        for inst in arm {
            let named = |access: Access<VReg>| self.renames.get(access.reg).id();
            if !is_pure(inst) || inst.inst.uses().any(|access| made.contains(&named(access))) {
                made.extend(inst.inst.defs().map(named));
                inst.inst = inst.inst.clone().guarded(pred, negated);
            }
        }
    }

    fn shape(&self, head: MBlockId) -> Option<Shape> {
        let Term::Branch { pred, then, other, .. } = &self.mir.blocks[head].term else { return None };
        if pred.file() != RegFile::Pred || then.block == other.block {
            return None;
        }
        let leads = |block: MBlockId| match &self.mir.blocks[block].term {
            Term::Jump(edge) if self.edges_in[block] == 1 && self.names[block] == 0 && block != head => {
                Some(edge.block)
            }
            _ => None,
        };
        let (then_leads, other_leads) = (leads(then.block), leads(other.block));
        let shape = if then_leads == Some(other.block) {
            Shape { arm: then.block, on_true: true, other_arm: None, join: other.block }
        } else if other_leads == Some(then.block) {
            Shape { arm: other.block, on_true: false, other_arm: None, join: then.block }
        } else if then_leads.is_some() && then_leads == other_leads {
            let join = then_leads?;
            Shape { arm: then.block, on_true: true, other_arm: Some(other.block), join }
        } else {
            return None;
        };
        let arms = [Some(shape.arm), shape.other_arm];
        let mut size = 0;
        for arm in arms.into_iter().flatten() {
            let insts = &self.code[arm];
            size += insts.len();
            if size > LIMIT || !insts.iter().all(|inst| self.may_be_guarded(head, inst)) {
                return None;
            }
        }
        let join = &self.mir.blocks[shape.join];
        let ends = self.code[shape.join].is_empty() && join.term == Term::Exit;
        (shape.join != head && !ends && size + join.params.len() <= 2 * LIMIT).then_some(shape)
    }

    fn may_be_guarded(&self, head: MBlockId, inst: &MInst<VReg>) -> bool {
        let effects = inst.inst.row().effects;
        let uniform = inst.inst.defs().any(|access| access.reg.file().is_uniform());
        // `R2UR` takes no valid value from a lane without the guard.
        inst.inst.op != Op::R2UR
            && inst.inst.guard.is_none()
            && inst.call.is_none()
            && !(effects.convergent || effects.fence || effects.branch || effects.exit)
            && !(uniform && (self.mir.blocks[head].divergent || !is_pure(inst)))
    }

    fn args_of_jump(&self, block: MBlockId) -> Vec<EdgeArg<VReg>> {
        match &self.mir.blocks[block].term {
            Term::Jump(edge) => edge.args.to_vec(),
            _ => Vec::new(),
        }
    }

    /// Guards each instruction of an arm that makes a whole tuple of arguments, such as a vector load, and
    /// ties it to the other path's arguments, which are copied into a tuple before. Returns the numbers of
    /// these arguments. Without this, a `SEL` for each of them would wait for the load.
    fn tie_tuples(
        &mut self,
        arm: &mut [MInst<VReg>],
        (pred, negated): (VReg, bool),
        [old, new]: [&[EdgeArg<VReg>]; 2],
        insts: &mut Vec<MInst<VReg>>,
    ) -> SmallVec<[usize; 4]> {
        let mut tied = SmallVec::new();
        for inst in arm {
            let defs: SmallVec<[Access<VReg>; 2]> = inst.inst.defs().collect();
            let &[def] = &defs[..] else { continue };
            let reg = self.renames.get(def.reg);
            let width = self.mir.vregs[reg.id()].width;
            if reg.file() != RegFile::Gpr || !(2..=4).contains(&def.width) || width != def.width {
                continue;
            }
            // By component, the number of the argument.
            let part = |n: u8| {
                let is_it = |arg: &EdgeArg<VReg>| match *arg {
                    EdgeArg::Reg(other) => self.renames.get(other) == reg.offset(n),
                    _ => false,
                };
                let mut numbers = (0..new.len()).filter(|&number| is_it(&new[number]));
                numbers.next().filter(|_| numbers.next().is_none())
            };
            let Some(parts) = (0..width).map(part).collect::<Option<SmallVec<[usize; 4]>>>() else {
                continue;
            };
            let olds: SmallVec<[EdgeArg<VReg>; 4]> = parts.iter().map(|&number| old[number]).collect();
            inst.inst = inst.inst.clone().guarded(pred, negated);
            tied.extend(parts);
            if olds.iter().all(|&old| old == EdgeArg::Undef) {
                continue;
            }
            let tuple = self.mir.new_vreg(RegFile::Gpr, width);
            for (n, &old) in (0..).zip(&olds) {
                let to = Tuple { reg: tuple.offset(n), width: 1 };
                let made = match old {
                    EdgeArg::Reg(old) => vec![Inst::new(Op::MOV).ops([to.reg, old].map(Operand::reg))],
                    other => constant(to, other),
                };
                insts.extend(made.into_iter().map(|made| MInst::new(made, inst.loc)));
            }
            inst.tied.push((def.slot, tuple));
        }
        tied
    }

    /// The instruction of an arm, and its slot, that makes exactly the value of an argument and is
    /// not yet guarded for another argument.
    fn maker(&self, arm: &[MInst<VReg>], arg: EdgeArg<VReg>, param: Tuple<VReg>) -> Option<(usize, u8)> {
        let EdgeArg::Reg(reg) = arg else { return None };
        let reg = self.renames.get(reg);
        if self.mir.vregs[reg.id()].width != param.width {
            return None;
        }
        arm.iter().enumerate().find_map(|(number, inst)| {
            let access = inst.inst.defs().find(|access| self.renames.get(access.reg) == reg)?;
            let taken = inst.tied.iter().any(|&(slot, _)| slot == access.slot);
            let alone = inst.inst.defs().count() == 1;
            (access.width == param.width && !taken && alone).then_some((number, access.slot))
        })
    }

    fn in_register(
        &mut self,
        param: Tuple<VReg>,
        arg: EdgeArg<VReg>,
        insts: &mut Vec<MInst<VReg>>,
        loc: ptxc_ir::SourceLoc,
    ) -> VReg {
        if let EdgeArg::Reg(reg) = arg {
            return reg;
        }
        let reg = self.mir.new_vreg(param.reg.file(), param.width);
        let made = constant(Tuple { reg, ..param }, arg);
        insts.extend(made.into_iter().map(|inst| MInst::new(inst, loc)));
        reg
    }

    /// Selects `new` if the guard holds, else `old`.
    fn select(
        &mut self,
        param: Tuple<VReg>,
        (pred, negated): (VReg, bool),
        new: EdgeArg<VReg>,
        old: EdgeArg<VReg>,
        insts: &mut Vec<MInst<VReg>>,
        loc: ptxc_ir::SourceLoc,
    ) -> VReg {
        let to = self.mir.new_vreg(param.reg.file(), param.width);
        let guard = if negated { Operand::reg(pred).not() } else { Operand::reg(pred) };
        if param.reg.file() == RegFile::Pred {
            let truth = |arg: EdgeArg<VReg>| match arg {
                EdgeArg::Reg(reg) => Operand::reg(reg),
                EdgeArg::Imm(bits) if bits & 1 == 0 => Operand::pt().not(),
                _ => Operand::pt(),
            };
            let [table, none] = [0xca, 0].map(Operand::imm);
            let operands = [Operand::reg(to), guard, truth(new), truth(old), table, none];
            insts.push(MInst::new(Inst::new(Op::PLOP3).ops(operands), loc));
            return to;
        }
        for n in 0..param.width {
            let word = |arg: EdgeArg<VReg>| match arg {
                EdgeArg::Reg(reg) => Operand::reg(reg.offset(n)),
                EdgeArg::Imm(bits) if (bits >> (32 * n)) as u32 != 0 => {
                    Operand::imm((bits >> (32 * n)) as u32)
                }
                _ => Operand::rz(),
            };
            let to = Operand::reg(to.offset(n));
            let (mut a, mut b, mut guard) = (word(new), word(old), guard);
            if matches!(a.kind, OperandKind::Imm(_)) {
                (a, b, guard) = (b, a, guard.not());
            }
            if let OperandKind::Imm(_) = a.kind {
                let moved = Operand::reg(self.mir.new_vreg(RegFile::Gpr, 1));
                insts.push(MInst::new(Inst::new(Op::MOV).ops([moved, a]), loc));
                a = moved;
            }
            insts.push(MInst::new(Inst::new(Op::SEL).ops([to, a, b, guard]), loc));
        }
        to
    }

    /// Removes the convergence barrier that `head` opened for a removed branch.
    fn drop_barrier(&mut self, head: MBlockId, join: MBlockId) {
        if self.edges_in[join] != 1 {
            return;
        }
        let Some(meet) = self.code[join].front().filter(|inst| inst.inst.op == Op::BSYNC) else {
            return;
        };
        let barrier = meet.inst.operands[0];
        let opens = |inst: &MInst<VReg>| inst.inst.op == Op::BSSY && inst.inst.operands[0] == barrier;
        let Some(open) = self.code[head].iter().rposition(opens) else { return };
        let goes_on = match &self.mir.blocks[join].term {
            Term::Jump(edge) => Some(edge.block),
            _ => None,
        };
        if label(&self.code[head][open].inst) != goes_on {
            return;
        }
        self.code[head].remove(open);
        let mut at = open;
        // sm_75 clears the barrier before it opens it.
        if let Some(clear) = self.clear_before(head, at, barrier)
            && self.code[head][clear].inst.operands[0] == Operand::rz()
        {
            self.code[head].remove(clear);
            at = clear;
        }
        // A region that took the barrier of an outer region gives it back at its end.
        if let Some(save) = self.clear_before(head, at, barrier)
            && let Some(block) = goes_on
            && let Some(first) = self.code[block].front()
            && first.inst.op == Op::BMOV
            && first.inst.operands[1] == self.code[head][save].inst.operands[0]
        {
            self.code[block].pop_front();
            self.code[head].remove(save);
        }
        self.code[join].pop_front();
        // Every lane that reaches this block came through the head.
        self.mir.blocks[join].divergent = self.mir.blocks[head].divergent;
        if let Some(block) = goes_on {
            self.names[block] -= 1;
        }
    }

    /// The place of a `BMOV.32.CLEAR` of a barrier directly before another instruction of a block.
    fn clear_before(&self, block: MBlockId, at: usize, barrier: Operand<VReg>) -> Option<usize> {
        let at = at.checked_sub(1)?;
        let inst = &self.code[block][at].inst;
        (inst.op == Op::BMOV_CLEAR && inst.operands[1] == barrier).then_some(at)
    }

    /// Appends the blocks that now follow in a straight line.
    fn swallow_successors(&mut self, block: MBlockId) {
        while let Term::Jump(edge) = &self.mir.blocks[block].term {
            let next = edge.block;
            let same = self.mir.blocks[block].divergent == self.mir.blocks[next].divergent;
            if next == block || self.edges_in[next] != 1 || self.names[next] != 0 || !same {
                break;
            }
            let mut made = Vec::new();
            goes_on_in(self.mir, block, next, &mut made, &mut self.renames);
            let mut front = std::mem::take(&mut self.code[block]);
            front.extend(made);
            let back = std::mem::take(&mut self.code[next]);
            self.code[block] = joined(front, back);
            self.gone[next] = true;
        }
    }
}

/// Concatenates two lists; only the shorter one is moved.
fn joined<T>(mut front: VecDeque<T>, mut back: VecDeque<T>) -> VecDeque<T> {
    if front.len() < back.len() {
        front.into_iter().rev().for_each(|inst| back.push_front(inst));
        return back;
    }
    front.extend(back);
    front
}

/// Whether an instruction only computes registers.
fn is_pure(inst: &MInst<VReg>) -> bool {
    inst.inst.row().effects.is_none()
}

fn label(inst: &Inst<VReg>) -> Option<MBlockId> {
    inst.labels().next().map(|Label(number)| MBlockId::from_u32(number))
}
