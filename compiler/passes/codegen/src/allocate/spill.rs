//! Spills the chosen values: to local memory, to general registers, or nowhere if they can be
//! rematerialized.
//!
//! In: a function and the virtual registers that lose their register
//! ([`pressure`](super::pressure)). Out: the function with short live ranges instead, still in SSA
//! form by component.
//!
//! ```text
//! general:    IADD3 %r9, …     =>  IADD3 %r20, …; STL [%frame+0x8], %r20
//!             FADD …, %r9, …   =>  LDL %r21, [%frame+0x8]; FADD …, %r21, …
//! predicate:  ISETP %p3, …     =>  ISETP %p8, …; SEL %r22, RZ, 0x1, !%p8
//!             @%p3 …           =>  ISETP.NE %p9, %r22, RZ; @%p9 …
//! uniform:    UIADD3 %ur4, …   =>  UIADD3 %ur6, …; MOV %r23, %ur6
//!             … %ur4           =>  … %r23                        // where the operand may be general
//!             … %ur4           =>  R2UR %ur7, %r23; … %ur7       // elsewhere
//! constant:   LDC %r5, c[…]    =>  (gone); the LDC again before each use
//! ```
//!
//! A block parameter that goes to memory stops being a parameter: each edge stores its argument
//! into the slot. Arguments and parameters that do not interfere share a slot, so that a
//! loop-carried value is stored where it is computed and the edge does nothing; if slots differ,
//! the copies between them happen at once, as copies between registers do. Predicates and uniform
//! registers become general ones before general ones are spilled. The cost is linear.

use std::collections::BTreeMap;

use cranelift_entity::EntityRef;
use ptxc_ir::SourceLoc;
use ptxc_sass::{Inst, OperandKind, RegFile};
use smallvec::SmallVec;

use super::coalesce::{Classes, alignment};
use super::live::LiveRanges;
use super::moves;
use super::parallel_copy::order;
use super::pressure::{Plan, Spilled};
use super::rewrite::end_of_body;
use super::work::{self, Origin, Rebuilt, Work};
use crate::mir::{Edge, EdgeArg, MBlockId, MInst, Tuple, VReg, VRegId};

/// The home of a spilled virtual register.
#[derive(Clone)]
pub(super) enum Home {
    /// The place of its first component, in bytes above the stack pointer.
    Slot(u32),
    /// General registers.
    General(VReg),
    /// Nowhere: this instruction, whose result is the virtual register, recomputes it.
    Recompute(Box<MInst<VReg>>),
}

/// Rewrites the function; returns how many virtual registers went to local memory.
pub(super) fn spill(work: &mut Work<'_>, live: &LiveRanges<'_>, file: RegFile, spilled: &Spilled) -> u32 {
    let mut homes = vec![None; spilled.len()];
    let mut stored = 0;
    for (vreg, plan) in spilled.iter().enumerate() {
        let id = VRegId::new(vreg);
        homes[vreg] = match *plan {
            None => None,
            Some(Plan::Remat(block, index)) => {
                Some(Home::Recompute(Box::new(work.mir.blocks[block].insts[index as usize].clone())))
            }
            Some(Plan::Store) if file == RegFile::Gpr => {
                stored += 1;
                Some(Home::Slot(0))
            }
            Some(Plan::Store) => {
                let width = work.mir.vregs[id].width;
                let general = work.mir.to_mut().new_vreg(RegFile::Gpr, width);
                work.general[id] = Some(general.id());
                Some(Home::General(general))
            }
        };
    }
    place_slots(work, live, &mut homes);
    if stored > 0 {
        work.frame();
    }
    let mut rewriter = Rewriter { work, homes };
    let blocks = rewriter.work.mir.layout.clone();
    let mut layout = Vec::with_capacity(blocks.len());
    for &block in &blocks {
        rewriter.body(block);
    }
    for &block in &blocks {
        layout.push(block);
        rewriter.end(block, &mut layout);
    }
    for &block in &blocks {
        rewriter.params(block);
    }
    work.mir.to_mut().layout = layout;
    stored
}

/// Gives each stored virtual register its slot: one slot for parameters and arguments that do not
/// interfere.
pub(super) fn place_slots(work: &mut Work<'_>, live: &LiveRanges<'_>, homes: &mut [Option<Home>]) {
    if !homes.iter().any(|home| matches!(home, Some(Home::Slot(_)))) {
        return;
    }
    let in_memory =
        |homes: &[Option<Home>], reg: VReg| matches!(homes[reg.id().index()], Some(Home::Slot(_)));
    let mut classes = Classes::separate(work, &RegFile::ALL.map(|file| u16::from(file.count())));
    for &block in &work.mir.layout {
        for edge in work.mir.blocks[block].term.edges() {
            for (param, arg) in work.mir.blocks[edge.block].params.iter().zip(&edge.args) {
                if let EdgeArg::Reg(arg) = *arg
                    && in_memory(homes, param.reg)
                    && in_memory(homes, arg)
                {
                    classes.merge(live, param.reg, arg);
                }
            }
        }
    }
    let mut origins: BTreeMap<usize, u32> = BTreeMap::new();
    for (vreg, home) in homes.iter_mut().enumerate() {
        let Some(Home::Slot(offset)) = home else { continue };
        let class = classes.of(vreg);
        let origin = *origins.entry(class).or_insert_with(|| {
            let class = &classes.list[class];
            // Lanes below the origin come first; the origin keeps its alignment.
            let align = 4 * class.align as u32;
            let below = (-class.low).max(0) as u32 * 4;
            let residue = 4 * class.residue as u32;
            let mut origin = work.spill_bytes + below;
            origin += (residue + align - origin % align) % align;
            work.spill_bytes = origin + 4 * class.high.max(0) as u32;
            origin
        });
        *offset = (origin as i64 + 4 * i64::from(classes.offset(vreg))) as u32;
    }
    // The function's own local memory begins at a multiple of the widest access.
    work.spill_bytes = work.spill_bytes.next_multiple_of(16);
}

/// Whether an instruction can read a general register in place of a uniform one.
fn can_read_in_place(inst: &MInst<VReg>, reg: VReg) -> bool {
    if reg.file() != RegFile::Ugpr || inst.call.is_some() || !inst.tied.is_empty() {
        return false;
    }
    // Any general register will do for this check.
    let general = VReg::new(reg.id(), reg.component(), RegFile::Gpr);
    let mut renamed = inst.inst.clone();
    for operand in &mut renamed.operands {
        if operand.kind == OperandKind::Reg(reg) {
            operand.kind = OperandKind::Reg(general);
        }
    }
    let is_left = renamed.accesses().iter().any(|access| access.reg == reg);
    !is_left && renamed.check_form().is_ok()
}

struct Rewriter<'a, 'm> {
    work: &'a mut Work<'m>,
    homes: Vec<Option<Home>>,
}

/// The names of reloaded operands while they are in registers.
type Reloaded = SmallVec<[(VReg, VReg); 4]>;

impl Rewriter<'_, '_> {
    fn home(&self, reg: VReg) -> Option<&Home> {
        self.homes.get(reg.id().index()).and_then(Option::as_ref)
    }

    /// Brings components of a spilled register into a fresh one.
    fn reload(&mut self, reg: VReg, width: u8, loc: SourceLoc, out: &mut Rebuilt) -> VReg {
        let Some(home) = self.home(reg).cloned() else { return reg };
        match home {
            Home::Slot(offset) => {
                let temp = self.work.new_short(reg.file(), width);
                let frame = self.work.frame();
                for (component, size) in pieces(reg.component(), width) {
                    let at = offset + 4 * (reg.component() + component) as u32;
                    out.insert(moves::load(temp.offset(component), size, frame, at), loc);
                }
                temp
            }
            Home::General(general) => {
                let temp = self.work.new_short(reg.file(), width);
                for component in 0..width {
                    let from = general.offset(reg.component() + component);
                    let to = temp.offset(component);
                    let inst = match reg.file() {
                        RegFile::Pred => moves::to_predicate(to, from),
                        _ => moves::to_uniform(to, from),
                    };
                    out.insert(inst, loc);
                }
                temp
            }
            Home::Recompute(inst) => {
                let whole = self.work.mir.vregs[reg.id()].width;
                let temp = self.work.new_short(reg.file(), whole);
                let renamed = inst.inst.map(|def| temp.with_component(def.component()));
                out.push(MInst::new(renamed, loc), Origin::Remat(reg.with_component(0)));
                temp.offset(reg.component())
            }
        }
    }

    /// The general registers of a spilled uniform one, if an instruction can read them instead.
    /// That also saves a uniform register: in a divergent region a reloaded value keeps its
    /// register as long as the region lasts.
    fn read_in_place(&self, inst: &MInst<VReg>, reg: VReg) -> Option<VReg> {
        let Some(Home::General(general)) = self.home(reg) else { return None };
        can_read_in_place(inst, reg).then(|| general.offset(reg.component()))
    }

    /// Stores a fresh definition of components of a spilled register.
    fn store(&mut self, reg: VReg, width: u8, temp: VReg, loc: SourceLoc, out: &mut Rebuilt) {
        match self.home(reg).cloned() {
            Some(Home::Slot(offset)) => {
                let frame = self.work.frame();
                for (component, size) in pieces(reg.component(), width) {
                    let at = offset + 4 * (reg.component() + component) as u32;
                    out.insert(moves::store(temp.offset(component), size, frame, at), loc);
                }
            }
            Some(Home::General(general)) => {
                for component in 0..width {
                    let to = general.offset(reg.component() + component);
                    out.insert(copy_to_general(to, temp.offset(component)), loc);
                }
            }
            Some(Home::Recompute(_)) | None => {}
        }
    }

    fn body(&mut self, block: MBlockId) {
        let Rebuilt { insts, origins } = self.work.take_body(block);
        let mut out = Rebuilt::with_capacity(insts.len());
        for (mut inst, origin) in insts.into_iter().zip(origins) {
            let (uses, defs) = (work::uses(&inst), work::defs(&inst));
            if defs.iter().any(|&(reg, _)| matches!(self.home(reg), Some(Home::Recompute(_)))) {
                continue;
            }
            let mut renamed = Reloaded::new();
            for &(reg, _) in &uses {
                if self.home(reg).is_none() || renamed.iter().any(|&(from, _)| from == reg) {
                    continue;
                }
                if let Some(general) = self.read_in_place(&inst, reg) {
                    renamed.push((reg, general));
                    continue;
                }
                let widest = uses.iter().filter(|&&(other, _)| other == reg).map(|&(_, width)| width).max();
                let temp = self.reload(reg, widest.unwrap_or(1), inst.loc, &mut out);
                renamed.push((reg, temp));
            }
            let mut stores: SmallVec<[(VReg, u8, VReg); 2]> = SmallVec::new();
            for &(reg, width) in &defs {
                if self.home(reg).is_some() {
                    let temp = self.work.new_short(reg.file(), width);
                    renamed.push((reg, temp));
                    stores.push((reg, width, temp));
                }
            }
            if !renamed.is_empty() {
                let rename =
                    |reg: VReg| renamed.iter().find(|&&(from, _)| from == reg).map_or(reg, |&(_, to)| to);
                inst = inst.map(rename);
            }
            let loc = inst.loc;
            out.push(inst, origin);
            for (reg, width, temp) in stores {
                self.store(reg, width, temp, loc, &mut out);
            }
        }
        self.work.put_body(block, out);
    }

    /// The terminator and the edges of a block; blocks on edges join the layout.
    fn end(&mut self, block: MBlockId, layout: &mut Vec<MBlockId>) {
        let data = &self.work.mir.blocks[block];
        let loc = data.term_loc;
        let mut term = data.term.clone();
        let single = term.edges().len() == 1;
        let mut at_end = Rebuilt::default();
        if let Some((&selector, width)) = term.selector()
            && let Some(place) = term.selector_mut()
        {
            *place = self.reload(selector, width, loc, &mut at_end);
        }
        for edge in term.edges_mut() {
            let mut code = Rebuilt::default();
            let mut args = SmallVec::new();
            self.edge(edge, loc, &mut args, &mut code);
            if single {
                edge.args = args;
                at_end = code;
            } else if code.insts.is_empty() {
                edge.args = args;
            } else {
                layout.push(self.work.split_edge(block, edge, args, code));
            }
        }
        let data = &mut self.work.mir.to_mut().blocks[block];
        data.term = term;
        let at = end_of_body(&data.insts);
        data.insts.splice(at..at, at_end.insts);
        self.work.origins[block].splice(at..at, at_end.origins);
    }

    /// The code of an edge, and the arguments of the parameters that stay.
    fn edge(
        &mut self,
        edge: &Edge<VReg>,
        loc: SourceLoc,
        args: &mut SmallVec<[EdgeArg<VReg>; 2]>,
        code: &mut Rebuilt,
    ) {
        let params: SmallVec<[Tuple<VReg>; 4]> =
            self.work.mir.blocks[edge.block].params.iter().copied().collect();
        let mut between_slots: Vec<(u32, u32)> = Vec::new();
        let mut to_slots: Vec<(u32, u8, EdgeArg<VReg>)> = Vec::new();
        for (param, &arg) in params.iter().zip(&edge.args) {
            match (self.home(param.reg).cloned(), arg) {
                (Some(Home::Slot(to)), EdgeArg::Reg(reg)) => match self.home(reg) {
                    Some(Home::Slot(from)) => {
                        let from = from + 4 * reg.component() as u32;
                        let words = (0..param.width as u32).map(|word| (to + 4 * word, from + 4 * word));
                        between_slots.extend(words);
                    }
                    _ => to_slots.push((to, param.width, arg)),
                },
                (Some(Home::Slot(to)), EdgeArg::Imm(_)) => to_slots.push((to, param.width, arg)),
                (Some(Home::Slot(_)), EdgeArg::Undef) => {}
                (Some(Home::General(_)), EdgeArg::Reg(reg)) => {
                    args.push(EdgeArg::Reg(self.as_general(reg, param.width, loc, code)));
                }
                (Some(Home::General(_)), EdgeArg::Imm(bits)) => {
                    let truth = param.reg.file() == RegFile::Pred && bits != 0;
                    args.push(EdgeArg::Imm(if truth { 1 } else { bits }));
                }
                (None, EdgeArg::Reg(reg)) => {
                    args.push(EdgeArg::Reg(self.reload(reg, param.width, loc, code)));
                }
                (_, arg) => args.push(arg),
            }
        }
        copy_slots(self.work, &between_slots, loc, code);
        for (to, width, arg) in to_slots {
            match arg {
                EdgeArg::Reg(reg) => {
                    let from = self.reload(reg, width, loc, code);
                    fill_slot_with(self.work, to, width, from, loc, code);
                }
                EdgeArg::Imm(bits) => fill_slot(self.work, to, width, bits, loc, code),
                EdgeArg::Undef => {}
            }
        }
    }

    /// An argument for a parameter that moved to general registers.
    fn as_general(&mut self, reg: VReg, width: u8, loc: SourceLoc, code: &mut Rebuilt) -> VReg {
        if let Some(Home::General(general)) = self.home(reg) {
            return general.offset(reg.component());
        }
        let from = self.reload(reg, width, loc, code);
        let to = self.work.new_short(RegFile::Gpr, width);
        for component in 0..width {
            code.insert(copy_to_general(to.offset(component), from.offset(component)), loc);
        }
        to
    }

    fn params(&mut self, block: MBlockId) {
        let homes = &self.homes;
        self.work.mir.to_mut().blocks[block].params.retain_mut(|param| {
            match homes.get(param.reg.id().index()).and_then(Option::as_ref) {
                Some(Home::Slot(_)) => false,
                Some(Home::General(general)) => {
                    param.reg = *general;
                    true
                }
                _ => true,
            }
        });
    }
}

/// Copies words between slots, all at once.
pub(super) fn copy_slots(work: &mut Work<'_>, copies: &[(u32, u32)], loc: SourceLoc, code: &mut Rebuilt) {
    let order = order(copies);
    if copies.is_empty() {
        return;
    }
    let frame = work.frame();
    for (to, from) in order.moves {
        let temp = work.new_short(RegFile::Gpr, 1);
        code.insert(moves::load(temp, 1, frame, from), loc);
        code.insert(moves::store(temp, 1, frame, to), loc);
    }
    for cycle in order.cycles {
        let first = work.new_short(RegFile::Gpr, 1);
        code.insert(moves::load(first, 1, frame, cycle[0]), loc);
        for pair in cycle.windows(2) {
            let temp = work.new_short(RegFile::Gpr, 1);
            code.insert(moves::load(temp, 1, frame, pair[1]), loc);
            code.insert(moves::store(temp, 1, frame, pair[0]), loc);
        }
        code.insert(moves::store(first, 1, frame, cycle[cycle.len() - 1]), loc);
    }
}

/// Stores a register into the slot of a parameter.
pub(super) fn fill_slot_with(
    work: &mut Work<'_>,
    to: u32,
    width: u8,
    from: VReg,
    loc: SourceLoc,
    code: &mut Rebuilt,
) {
    let frame = work.frame();
    for (component, size) in pieces(from.component(), width) {
        let at = to + 4 * component as u32;
        // A wide store needs an aligned slot, too; arguments may be parts of wider tuples.
        let words = if at.is_multiple_of(4 * u32::from(size)) { size } else { 1 };
        for word in (0..size).step_by(words as usize) {
            let at = at + 4 * word as u32;
            code.insert(moves::store(from.offset(component + word), words, frame, at), loc);
        }
    }
}

/// Stores a constant into the slot of a parameter.
pub(super) fn fill_slot(
    work: &mut Work<'_>,
    to: u32,
    width: u8,
    bits: u64,
    loc: SourceLoc,
    code: &mut Rebuilt,
) {
    let frame = work.frame();
    for word in 0..width {
        let value = if word < 2 { (bits >> (32 * word)) as u32 } else { 0 };
        let temp = work.new_short(RegFile::Gpr, 1);
        code.insert(moves::constant(temp, value), loc);
        code.insert(moves::store(temp, 1, frame, to + 4 * word as u32), loc);
    }
}

/// Copies a predicate or uniform register to a general one.
fn copy_to_general(to: VReg, from: VReg) -> Inst<VReg> {
    match from.file() {
        RegFile::Pred => moves::from_predicate(to, from),
        _ => moves::from_uniform(to, from),
    }
}

/// Cuts components into accesses of 4, 2 or 1 that are aligned both in their tuple, which begins
/// with component `start`, and in the register that they are loaded to.
fn pieces(start: u8, width: u8) -> SmallVec<[(u8, u8); 4]> {
    let mut list = SmallVec::new();
    let mut component = 0;
    while component < width {
        let fits = |size: u8| {
            width - component >= size
                && (start + component).is_multiple_of(size)
                && component.is_multiple_of(size)
                && alignment(RegFile::Gpr, width) >= size
        };
        let size = if fits(4) {
            4
        } else if fits(2) {
            2
        } else {
            1
        };
        list.push((component, size));
        component += size;
    }
    list
}
