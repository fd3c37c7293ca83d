//! The verifier of machine IR in SSA form.
//!
//! In: a `Mir<VReg>`. Out: nothing, or every broken rule with its place. The rules:
//!
//! - **Definitions.** Each component of a virtual register that is read is defined exactly once, by
//!   an instruction or as a block parameter, and no component is defined twice. A definition
//!   dominates its uses; an edge argument is used at the end of the block that the edge leaves.
//! - **Registers.** A register operand names components that its virtual register has, in the file
//!   that its virtual register has. A tuple of general or uniform registers that one operand covers
//!   starts at a component divisible by its width.
//! - **Edges.** An edge carries one argument for each parameter of its target, of the same file and
//!   width. A block in the layout goes to blocks in the layout. The entry has no parameters and no
//!   predecessors.
//! - **Straight lines.** No instruction of a block branches or exits, except for `BSYNC` and
//!   `BREAK`, and `BSSY` names a block in the layout.
//! - **Calls.** A call has no guard; its values fit their places, which are in the same file and do
//!   not overlap. It leaves R1, the stack pointer, alone.
//! - **Guards.** A tied old content belongs to a definition of a guarded instruction and is in the
//!   file of that definition.
//! - **Forms.** Operands fit the slots of their row, and at most one of them is neither a general
//!   register nor a predicate: an immediate, a uniform register or a constant. (Addresses, moves
//!   into and instructions of the uniform datapath and barriers, which name such operands by
//!   nature, are exempt.)
//! - **Uniform registers** are defined where the warp is converged, or hold constants or a result
//!   that the lanes of a mask, which are together, find once.
//!
//! Cost: linear in the instructions.

use cranelift_entity::SecondaryMap;
use ptxc_sass::{Inst, Op, Operand, OperandKind, PReg, Pipe, RegFile, Register, Role};

use super::liveness::Components;
use super::{CallSite, Cfg, EdgeArg, MBlockId, MInst, Mir, RegSet, Term, Tuple, VReg};

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirError {
    /// The block.
    pub block: MBlockId,
    /// The number of the instruction in its block; `None` for parameters, the terminator and its
    /// edges.
    pub inst: Option<usize>,
    /// The error.
    pub message: String,
}

impl std::fmt::Display for MirError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.inst {
            Some(inst) => write!(f, "{} instruction {inst}: {}", self.block, self.message),
            None => write!(f, "{}: {}", self.block, self.message),
        }
    }
}

/// The place of a definition: the block and the number of the instruction plus one, 0 for
/// parameters.
type Place = (MBlockId, usize);

/// Checks all rules.
///
/// # Errors
/// Every broken rule, in the order of the layout.
pub fn verify(mir: &Mir<VReg>) -> Result<(), Vec<MirError>> {
    let cfg = Cfg::new(mir);
    let mut in_layout: SecondaryMap<MBlockId, bool> = SecondaryMap::new();
    for &block in &mir.layout {
        in_layout[block] = true;
    }
    let mut verifier = Verifier {
        mir,
        components: Components::new(mir),
        cfg,
        in_layout,
        defs: Vec::new(),
        errors: Vec::new(),
        block: MBlockId::from_u32(0),
        inst: None,
    };
    if mir.layout.is_empty() {
        verifier.error("there is no entry block");
    } else {
        verifier.check();
    }
    if verifier.errors.is_empty() { Ok(()) } else { Err(verifier.errors) }
}

struct Verifier<'a> {
    mir: &'a Mir<VReg>,
    components: Components,
    cfg: Cfg,
    in_layout: SecondaryMap<MBlockId, bool>,
    defs: Vec<Option<Place>>,
    errors: Vec<MirError>,
    block: MBlockId,
    inst: Option<usize>,
}

impl Verifier<'_> {
    fn error(&mut self, message: impl Into<String>) {
        self.errors.push(MirError { block: self.block, inst: self.inst, message: message.into() });
    }

    fn check(&mut self) {
        let mir = self.mir;
        self.defs = vec![None; self.components.len()];
        for &block in &mir.layout {
            (self.block, self.inst) = (block, None);
            for param in &mir.blocks[block].params {
                self.define(param.reg, param.width, 0);
            }
            for (number, inst) in mir.blocks[block].insts.iter().enumerate() {
                self.inst = Some(number);
                inst.for_each_def(|reg, width| self.define(reg, width, number + 1));
            }
        }
        (self.block, self.inst) = (mir.entry(), None);
        if !mir.blocks[mir.entry()].params.is_empty() || !self.cfg.preds(mir.entry()).is_empty() {
            self.error("the entry has parameters or predecessors");
        }
        for &block in &mir.layout {
            self.block = block;
            for (number, inst) in mir.blocks[block].insts.iter().enumerate() {
                self.inst = Some(number);
                self.check_inst(inst);
                let mut uses = Vec::new();
                inst.for_each_use(|reg, width| uses.push((reg, width)));
                for (reg, width) in uses {
                    self.check_use(reg, width, number);
                }
            }
            self.inst = None;
            self.check_term(&mir.blocks[block].term, mir.blocks[block].insts.len());
        }
    }

    fn exists(&mut self, reg: VReg, width: u8) -> bool {
        let Some(data) = self.mir.vregs.get(reg.id()) else {
            self.error(format!("{reg} is no register"));
            return false;
        };
        let fits = reg.component().checked_add(width).is_some_and(|end| end <= data.width);
        if !fits || data.file != reg.file() {
            self.error(format!("{reg}:{width} is no part of a {:?} of {} components", data.file, data.width));
        }
        fits && data.file == reg.file()
    }

    fn define(&mut self, reg: VReg, width: u8, number: usize) {
        if !self.exists(reg, width) {
            return;
        }
        for index in self.components.range(reg, width) {
            if self.defs[index].is_some() {
                self.error(format!("{} is defined twice", self.components.reg(index)));
            }
            self.defs[index] = Some((self.block, number));
        }
    }

    fn check_use(&mut self, reg: VReg, width: u8, number: usize) {
        if !self.exists(reg, width) {
            return;
        }
        if !reg.file().is_predicate() && !reg.component().is_multiple_of(width.next_power_of_two().min(4)) {
            self.error(format!("{reg}:{width} is not aligned"));
        }
        for index in self.components.range(reg, width) {
            let name = self.components.reg(index);
            match self.defs[index] {
                None => self.error(format!("{name} is never defined")),
                Some((block, place)) => {
                    let reaches = if block == self.block {
                        place <= number
                    } else {
                        self.cfg.rank(self.block).is_none() || self.cfg.dominates(block, self.block)
                    };
                    if !reaches {
                        self.error(format!("{name} is defined in {block}, which does not dominate this use"));
                    }
                }
            }
        }
    }

    fn check_inst(&mut self, inst: &MInst<VReg>) {
        let row = inst.inst.row();
        // Linking turns the address of a function and the end of shared memory into immediates.
        let mut form = inst.inst.clone();
        for operand in form.operands.iter_mut().filter(|_| form.op == Op::MOV) {
            if matches!(operand.kind, OperandKind::Function(_) | OperandKind::SharedEnd(_)) {
                *operand = Operand::imm(0);
            }
        }
        if let Err(why) = form.check_form() {
            self.error(why);
            return;
        }
        let op = inst.inst.op;
        let convergence = matches!(op, Op::BSSY | Op::BSYNC | Op::BREAK);
        if let Some(call) = &inst.call {
            self.check_call(inst, call);
        } else if (row.effects.branch || row.effects.exit) && !convergence {
            self.error(format!("{} ends a block", row.mnemonic));
        }
        for operand in &inst.inst.operands {
            if let OperandKind::Label(label) = operand.kind
                && !(self.mir.blocks.is_valid(MBlockId::from_u32(label.0))
                    && self.in_layout[MBlockId::from_u32(label.0)])
            {
                self.error("the label names no block");
            }
        }
        if !takes_operands(&inst.inst) {
            self.error(format!("{inst} has more than one operand that is no general register"));
        }
        let defs: Vec<_> = inst.inst.defs().collect();
        for &(slot, old) in &inst.tied {
            let fits = defs.iter().any(|access| access.slot == slot && access.reg.file() == old.file());
            if inst.inst.guard.is_none() || !fits {
                self.error(format!("{inst}: {old} is tied to no guarded definition of its file"));
            }
        }
        if self.mir.blocks[self.block].divergent
            && (defs.iter().any(|access| access.reg.file().is_uniform())
                || inst
                    .call
                    .iter()
                    .any(|call| call.results.iter().any(|fixed| fixed.value.reg.file().is_uniform())))
            && !matches!(
                op,
                Op::UMOV | Op::ULDC | Op::REDUX | Op::ELECT | Op::R2UR | Op::VOTEU | Op::USETMAXREG_TRY_ALLOC
            )
        {
            self.error(format!("{inst} defines a uniform register where the warp may have diverged"));
        }
    }

    fn check_call(&mut self, inst: &MInst<VReg>, call: &CallSite<VReg>) {
        if inst.inst.guard.is_some() {
            self.error("a call has a guard");
        }
        for list in [&call.args[..], &call.results[..]] {
            let mut taken = RegSet::default();
            for fixed in list {
                let (Tuple { reg, width }, place) = (fixed.value, fixed.place);
                let aligned = reg.file().is_predicate()
                    || place.index().is_multiple_of(width.max(1).next_power_of_two().min(4));
                if reg.file() != place.file() || !aligned || width == 0 || place.offset(width - 1).is_none() {
                    self.error(format!("{reg}:{width} cannot be in {place}"));
                    continue;
                }
                let mut own = RegSet::default();
                own.insert_tuple(place, width);
                if own.iter().any(|reg| taken.contains(reg)) {
                    self.error(format!("{reg} is in the place of another value, {place}"));
                }
                taken = taken.union(own);
            }
        }
        // A function may use its stack pointer, or its caller's, as a value.
        let takes_stack = inst.inst.op == Op::NOP;
        if call.destroyed().contains(PReg::r(1)) && !takes_stack {
            self.error("a call destroys R1, the stack pointer");
        }
    }

    fn check_term(&mut self, term: &Term<VReg>, number: usize) {
        if let Some((&selector, width)) = term.selector() {
            match term {
                Term::Table { edges, .. } if selector.file().is_predicate() || edges.is_empty() => {
                    self.error(format!("{selector} is no address of one of {} targets", edges.len()));
                }
                Term::Branch { .. } if !selector.file().is_predicate() => {
                    self.error(format!("{selector} is no predicate"));
                }
                Term::Together { .. } if selector.file() != RegFile::Ugpr => {
                    self.error(format!("{selector} is no uniform register"));
                }
                _ => {}
            }
            self.check_use(selector, width, number);
        }
        for edge in term.edges() {
            if !self.mir.blocks.is_valid(edge.block) || !self.in_layout[edge.block] {
                self.error(format!("{} is not in the layout", edge.block));
                continue;
            }
            let params = &self.mir.blocks[edge.block].params;
            if params.len() != edge.args.len() {
                self.error(format!(
                    "{} takes {} arguments, not {}",
                    edge.block,
                    params.len(),
                    edge.args.len()
                ));
            }
            for (param, arg) in params.iter().zip(&edge.args) {
                if let EdgeArg::Reg(reg) = *arg {
                    if reg.file() != param.reg.file() {
                        self.error(format!("{reg} is in another file than {}", param.reg));
                    }
                    self.check_use(reg, param.width, number);
                }
            }
        }
    }
}

/// Whether an instruction can have its operands together: arithmetic takes only one operand that is
/// neither a general register nor a predicate. Truth tables and shift counts that every form of an
/// instruction has do not count.
pub fn takes_operands(inst: &Inst<VReg>) -> bool {
    let row = inst.row();
    let arithmetic = matches!(row.pipe, Pipe::Alu | Pipe::Fma | Pipe::FmaHeavy | Pipe::Half | Pipe::Fp64)
        && !matches!(inst.op, Op::PLOP3 | Op::R2UR | Op::CS2R);
    if !arithmetic {
        return true;
    }
    let slots = row.slots.iter().zip(&inst.operands);
    let special = slots
        .filter(|(slot, _)| slot.role == Role::Use && slot.kinds.contains(ptxc_sass::Kinds::R))
        .filter(|(_, operand)| match operand.kind {
            OperandKind::Imm(_) | OperandKind::Const { .. } => true,
            OperandKind::Reg(reg) => reg.file() == RegFile::Ugpr,
            _ => false,
        })
        .count();
    special <= 1
}

#[cfg(test)]
mod tests {
    use ptxc_ir::SourceLoc;
    use ptxc_sass::{Inst, Operand};

    use super::*;
    use crate::mir::{Edge, MBlock};

    fn block(mir: &mut Mir<VReg>) -> MBlockId {
        let block = mir.blocks.push(MBlock {
            params: Vec::new(),
            insts: Vec::new(),
            term: Term::Exit,
            term_loc: SourceLoc::NONE,
            frequency: 1024,
            divergent: false,
        });
        mir.layout.push(block);
        block
    }

    fn message(mir: &Mir<VReg>) -> String {
        verify(mir).map_or_else(|errors| errors[0].message.clone(), |()| "fine".to_string())
    }

    /// Each step breaks another rule and repairs it.
    #[test]
    fn rules_can_be_broken() {
        let mut mir = Mir::new("k", ptxc_machine::Arch::Sm90);
        let (head, tail) = (block(&mut mir), block(&mut mir));
        let reg = mir.new_vreg(RegFile::Gpr, 1);
        let pred = mir.new_vreg(RegFile::Pred, 1);
        let mov = Inst::new(Op::MOV).ops([Operand::reg(reg), Operand::imm(1)]);
        mir.blocks[head].term = Term::Jump(Edge { block: tail, args: Default::default() });
        mir.blocks[tail].insts.push(MInst::new(mov.clone(), SourceLoc::NONE));
        assert_eq!(message(&mir), "fine");

        mir.blocks[head].insts.push(MInst::new(mov.clone(), SourceLoc::NONE));
        assert_eq!(message(&mir), "%r0 is defined twice");
        mir.blocks[head].insts.clear();

        let compare = Inst::new(Op::ISETP).ops([Operand::reg(pred), Operand::reg(reg), Operand::imm(2)]);
        mir.blocks[head].insts.push(MInst::new(compare, SourceLoc::NONE));
        assert_eq!(message(&mir), "%r0 is defined in mb1, which does not dominate this use");
        mir.blocks[tail].insts.clear();
        assert_eq!(message(&mir), "%r0 is never defined");
        mir.blocks[head].insts.insert(0, MInst::new(mov.clone(), SourceLoc::NONE));
        assert_eq!(message(&mir), "fine");

        let other = mir.new_vreg(RegFile::Gpr, 1);
        let guarded = Inst::new(Op::MOV).ops([Operand::reg(other), Operand::imm(3)]).guarded(pred, true);
        mir.blocks[tail].insts.push(MInst::new(guarded, SourceLoc::NONE));
        mir.blocks[tail].insts[0].tied.push((1, reg));
        assert!(message(&mir).ends_with("%r0 is tied to no guarded definition of its file"));
        mir.blocks[tail].insts[0].tied[0].0 = 0;
        assert_eq!(message(&mir), "fine");

        let sum = mir.new_vreg(RegFile::Gpr, 1);
        let operands = [Operand::reg(sum), Operand::reg(reg), Operand::imm(3), Operand::imm(4)];
        mir.blocks[tail].insts.push(MInst::new(Inst::new(Op::IMAD).ops(operands), SourceLoc::NONE));
        assert!(message(&mir).ends_with("more than one operand that is no general register"));
        mir.blocks[tail].insts.pop();

        mir.blocks[tail].params.push(crate::mir::Tuple { reg: sum, width: 1 });
        assert_eq!(message(&mir), "mb1 takes 1 arguments, not 0");
    }
}
