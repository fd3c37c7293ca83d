//! Moves values that are the same for all lanes of a warp to the uniform datapath if that frees a
//! general register.
//!
//! ```text
//! mb0: LDC %r5, c[0x0][0x22c]                     mb0: ULDC %ur1, c[0x0][0x22c]
//!      SHF.L.U32 %r6, %r5, 0x4, RZ        =>           USHF.L.U32 %ur2, %ur1, 0x4, URZ
//! mb1: … IADD3 %r9, %r8, %r6, RZ   (a loop)       mb1: … IADD3 %r9, %r8, %ur2, RZ
//! ```
//!
//! A *candidate* is an unguarded instruction in a block that the warp executes together, whose row
//! has a counterpart on the uniform datapath, and which reads only constants, uniform registers and
//! other candidates. It can move if each of its readers moves too, or takes a uniform register in
//! that place. Candidates that depend on one that cannot move cannot move either; the rest form
//! groups that read each other. A group moves if it *pays*: one of its results is read in a block
//! that runs more often than the one that computes it, so that a general register would be occupied
//! throughout a loop. A group that does not pay stays, since a uniform result takes two cycles
//! longer to reach its readers (6 or 9 instead of 4 or 5, docs/facts/latency.md), and there is one
//! uniform pipe for four of the other kind. Loads of constants are no obstacle: if another reader
//! needs one in a general register, it is loaded twice.
//!
//! Cost: linear in the operands, except for the look-up of equal constants.

use std::collections::BTreeMap;

use cranelift_entity::SecondaryMap;
use petgraph::unionfind::UnionFind;
use ptxc_machine::Arch;
use ptxc_sass::{Inst, ModKind, Op, OperandKind, RegFile};
use smallvec::SmallVec;

use super::uniform_forms::{counterpart, reading_uniform, uniform};
use crate::mir::liveness::for_each_term_use;
use crate::mir::{Cfg, MBlockId, MInst, Mir, VReg, VRegId};

/// The number of a candidate in its list.
type Index = usize;

/// An instruction that might move.
struct Candidate {
    block: MBlockId,
    /// Its place in the block.
    number: usize,
    /// The counterpart, which still names general registers.
    inst: Inst<VReg>,
    /// Candidates that it reads.
    sources: SmallVec<[Index; 3]>,
    /// Candidates that read it.
    users: SmallVec<[Index; 2]>,
    /// Whether it is a constant or loads one; it may then be made twice, once in each file.
    constant: bool,
    /// Whether it can move.
    moves: bool,
    /// Whether a reader runs more often.
    pays: bool,
}

impl Candidate {
    /// Whether it can move and is more than a constant.
    fn joins(&self) -> bool {
        self.moves && !self.constant
    }
}

/// Moves the groups that pay.
pub fn uniform_datapath(mir: &mut Mir<VReg>, _arch: Arch) -> bool {
    let cfg = Cfg::new(mir);
    let (mut list, of_reg) = candidates(mir, &cfg);
    // Constants alone are not worth moving.
    if !list.iter().any(Candidate::joins) {
        return false;
    }
    visit_readers(mir, &mut list, &of_reg);
    settle(mir, &mut list, &of_reg);
    let moving = choose(&list);
    let any = moving.contains(&true);
    if any {
        rewrite(mir, &cfg, &list, &of_reg, &moving);
    }
    any
}

fn candidates(mir: &Mir<VReg>, cfg: &Cfg) -> (Vec<Candidate>, SecondaryMap<VRegId, Option<Index>>) {
    let mut list: Vec<Candidate> = Vec::new();
    let mut of_reg: SecondaryMap<VRegId, Option<Index>> = SecondaryMap::new();
    for &block in cfg.order() {
        if mir.blocks[block].divergent {
            continue;
        }
        for (number, inst) in mir.blocks[block].insts.iter().enumerate() {
            ptxc_interrupt::poll();
            let Some((to, made)) = uniform_form(mir, inst, &of_reg) else { continue };
            let sources: SmallVec<[Index; 3]> =
                inst.inst.uses().filter_map(|access| of_reg[access.reg.id()]).collect();
            let index = list.len();
            for &source in &sources {
                list[source].users.push(index);
            }
            of_reg[to.id()] = Some(index);
            let constant = match inst.inst.op {
                Op::LDC => true,
                Op::MOV => matches!(inst.inst.operands[1].kind, OperandKind::Imm(_)),
                _ => false,
            };
            list.push(Candidate {
                block,
                number,
                inst: made,
                sources,
                users: SmallVec::new(),
                constant,
                moves: true,
                pays: false,
            });
        }
    }
    (list, of_reg)
}

/// The general register that an instruction writes and its uniform form, whose operands keep their
/// numbers but are of the uniform file.
fn uniform_form(
    mir: &Mir<VReg>,
    inst: &MInst<VReg>,
    of_reg: &SecondaryMap<VRegId, Option<Index>>,
) -> Option<(VReg, Inst<VReg>)> {
    inst.inst.op.row().uniform?;
    let is_one_word = |to: &VReg| to.file() == RegFile::Gpr && mir.vregs[to.id()].width == 1;
    let to = only_def(&inst.inst).filter(is_one_word)?;
    let made = counterpart(&inst.inst, |reg| reg == to || of_reg[reg.id()].is_some())?;
    // A load with a size would fill neighbouring registers.
    let whole = made.op != Op::ULDC || made.modifier(ModKind::Size).is_empty();
    whole.then_some((to, made))
}

/// The register that an instruction writes, if it is the only one.
fn only_def(inst: &Inst<VReg>) -> Option<VReg> {
    let (mut count, mut first) = (0, None);
    inst.for_each_def(|access| {
        count += 1;
        first = first.or(Some(access.reg));
    });
    first.filter(|_| count == 1)
}

/// Checks all readers that are not candidates: whether they take a uniform register, and whether
/// they make the move pay.
fn visit_readers(mir: &Mir<VReg>, list: &mut [Candidate], of_reg: &SecondaryMap<VRegId, Option<Index>>) {
    for &block in &mir.layout {
        for inst in &mir.blocks[block].insts {
            ptxc_interrupt::poll();
            let mut is_candidate = false;
            inst.inst.for_each_def(|access| is_candidate |= of_reg[access.reg.id()].is_some());
            if !is_candidate {
                visit_reader(mir, block, inst, list, of_reg);
            }
            for (_, old) in &inst.tied {
                if let Some(index) = of_reg[old.id()] {
                    list[index].moves = false;
                }
            }
            // A call passes its arguments in general registers. Constants stay there in any case.
            for arg in inst.call.iter().flat_map(|call| &call.args) {
                if let Some(index) = of_reg[arg.value.reg.id()].filter(|&index| !list[index].constant) {
                    list[index].moves = false;
                }
            }
        }
        for_each_term_use(mir, block, |reg, _| {
            if let Some(index) = of_reg[reg.id()] {
                list[index].moves = false;
            }
        });
    }
}

/// Checks a reader that will not move: its operands may move if it takes all of them from uniform
/// registers.
fn visit_reader(
    mir: &Mir<VReg>,
    block: MBlockId,
    inst: &MInst<VReg>,
    list: &mut [Candidate],
    of_reg: &SecondaryMap<VRegId, Option<Index>>,
) {
    let mut read: SmallVec<[Index; 3]> = SmallVec::new();
    inst.inst.for_each_use(|access| {
        if let Some(index) = of_reg[access.reg.id()].filter(|&index| !list[index].constant) {
            read.push(index);
        }
    });
    if !read.iter().any(|&index| list[index].moves) {
        return;
    }
    let moved = |reg: VReg| of_reg[reg.id()].filter(|&index| list[index].joins()).map(|_| uniform(reg));
    let takes = reading_uniform(&inst.inst, moved).is_some();
    for index in read {
        if takes {
            let home = list[index].block;
            list[index].pays |= mir.blocks[block].frequency > mir.blocks[home].frequency;
        } else {
            list[index].moves = false;
        }
    }
}

/// Keeps candidates in place that read one which stays, and those whose reader stays and needs a
/// general register.
fn settle(mir: &Mir<VReg>, list: &mut [Candidate], of_reg: &SecondaryMap<VRegId, Option<Index>>) {
    let mut work: Vec<Index> = (0..list.len()).filter(|&index| !list[index].moves).collect();
    while let Some(index) = work.pop() {
        for user in list[index].users.clone() {
            if std::mem::replace(&mut list[user].moves, false) {
                work.push(user);
            }
        }
        let (block, number) = (list[index].block, list[index].number);
        let sources = list[index].sources.clone();
        let moved_before: SmallVec<[bool; 3]> = sources.iter().map(|&source| list[source].moves).collect();
        visit_reader(mir, block, &mir.blocks[block].insts[number], list, of_reg);
        for (source, before) in sources.into_iter().zip(moved_before) {
            if before && !list[source].moves {
                work.push(source);
            }
        }
    }
}

/// The candidates that move: whole groups, and the constants that they read.
fn choose(list: &[Candidate]) -> Vec<bool> {
    let mut groups = UnionFind::<Index>::new(list.len());
    let members = || list.iter().enumerate().filter(|(_, candidate)| candidate.joins());
    for (index, candidate) in members() {
        for &source in candidate.sources.iter().filter(|&&source| list[source].joins()) {
            groups.union(index, source);
        }
    }
    let mut pays = vec![false; list.len()];
    for (index, candidate) in members() {
        pays[groups.find(index)] |= candidate.pays;
    }
    let mut moving = vec![false; list.len()];
    for (index, candidate) in members() {
        if pays[groups.find(index)] {
            moving[index] = true;
            candidate.sources.iter().for_each(|&source| moving[source] = true);
        }
    }
    moving
}

/// Replaces instructions by their uniform counterparts, and lets all readers read these. The
/// removal of dead code later removes general registers with constants.
fn rewrite(
    mir: &mut Mir<VReg>,
    cfg: &Cfg,
    list: &[Candidate],
    of_reg: &SecondaryMap<VRegId, Option<Index>>,
    moving: &[bool],
) {
    // The uniform registers of the instructions that have moved so far; readers come after the
    // definitions that they read.
    let mut new: Vec<Option<VReg>> = vec![None; list.len()];
    let mut known: BTreeMap<(u8, u32), (MBlockId, VReg)> = BTreeMap::new();
    for &block in cfg.order() {
        let insts = std::mem::take(&mut mir.blocks[block].insts);
        let mut out = Vec::with_capacity(insts.len());
        for mut inst in insts {
            if let Some((place, reg)) = uniform_constant(&inst.inst) {
                known.entry(place).or_insert((block, reg));
            }
            let defined = inst.inst.defs().next().and_then(|access| of_reg[access.reg.id()]);
            let Some(index) = defined.filter(|&index| moving[index]) else {
                let moved = |reg: VReg| {
                    of_reg[reg.id()].filter(|&index| !list[index].constant).and_then(|index| new[index])
                };
                if inst.inst.uses().any(|access| moved(access.reg).is_some())
                    && let Some(made) = reading_uniform(&inst.inst, moved)
                {
                    inst.inst = made;
                }
                out.push(inst);
                continue;
            };
            let candidate = &list[index];
            let place = constant_place(&candidate.inst);
            let again =
                place.and_then(|place| known.get(&place)).filter(|(home, _)| cfg.dominates(*home, block));
            if let Some(&(_, reg)) = again {
                new[index] = Some(reg);
            } else {
                let to = mir.new_vreg(RegFile::Ugpr, 1);
                new[index] = Some(to);
                let made =
                    candidate.inst.map(|reg| of_reg[reg.id()].and_then(|index| new[index]).unwrap_or(reg));
                if let Some(place) = place {
                    known.insert(place, (block, to));
                }
                out.push(MInst::new(made, inst.loc));
            }
            if candidate.constant {
                out.push(inst);
            }
        }
        mir.blocks[block].insts = out;
    }
}

/// The place that an unguarded load of one word into a uniform register reads, and the register.
fn uniform_constant(inst: &Inst<VReg>) -> Option<((u8, u32), VReg)> {
    let whole = inst.guard.is_none() && inst.op == Op::ULDC && inst.slot_width(0) == 1;
    Some((constant_place(inst).filter(|_| whole)?, inst.operands[0].as_reg()?))
}

/// The place in a constant bank that a load reads.
fn constant_place(inst: &Inst<VReg>) -> Option<(u8, u32)> {
    match inst.operands.get(1)?.kind {
        OperandKind::Const { bank, offset } => Some((bank, offset)),
        _ => None,
    }
}
