//! Computes operands of the uniform datapath there, instead of moving them to it at each use.
//!
//! ```text
//! mb1(%r3): freq=5120                        mb1(%ur9): freq=5120
//!     SHF.L.U32 %r4, %r3, 0xb, RZ                USHF.L.U32 %ur10, %ur9, 0xb, URZ
//!     R2UR %ur5, %r4                      =>     UMOV %ur5, %ur10
//!     HGMMA.64x8x16.F32 …, gdesc[%ur5], …        HGMMA.64x8x16.F32 …, gdesc[%ur5], …
//!     IADD3 %r6, %r3, 0x1, RZ                    UIADD3 %ur11, %ur9, 0x1, URZ
//!     …                                          MOV %r6, %ur11
//!     ISETP.LT.AND %p7, PT, %r6, %r8, PT         ISETP.LT.AND %p7, PT, %r6, %r8, PT
//!     branch %p7, mb1(%r6), mb2                  branch %p7, mb1(%ur11), mb2
//! ```
//!
//! The uniform datapath reads the result of an `R2UR` 13 cycles later, and that of its own
//! arithmetic sooner. A *value* is a virtual register of one or two components that all lanes of
//! the warp share. Each of its definitions is an instruction with a counterpart on the uniform
//! datapath, in a block that the warp executes together; or it is a parameter of such a block. It may
//! also be the result of a shuffle or a load there, if selection found that all lanes
//! [agree](crate::mir::VRegData::agrees) on it; an `R2UR` brings such a result.
//!
//! 1. *Demand*: the values that an `R2UR` reads, and all that they are computed from.
//! 2. *Spread*: values that are computed from those, if all their readers take uniform registers.
//! 3. *Weigh*: values that depend on each other move together if the `R2UR` in loops that they save are
//!    worth more than the moves back to general registers for readers that need one, each times the
//!    frequency of its block, and if they leave uniform registers for others.
//! 4. *Rewrite*. A moved value keeps its general register, by a `MOV`; the removal of dead code drops
//!    it where nobody reads it. Constants, and results that come with a predicate, are computed in
//!    both files instead.
//!
//! Where lanes have parted, instructions go on reading general registers: a uniform register that is
//! read there is occupied wherever other lanes of the warp may be.
//!
//! Linear in the operands, if there is an `R2UR`.

mod rewrite;

use std::cmp::Reverse;

use cranelift_entity::SecondaryMap;
use petgraph::unionfind::UnionFind;
use ptxc_machine::Arch;
use ptxc_sass::{Inst, Op, RegFile};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::uniform_forms::{counterpart, reading_uniform, uniform};
use crate::mir::{EdgeArg, MBlockId, MInst, Mir, VReg, VRegId};

/// What an `R2UR` is worth, in moves back to general registers: its reader waits for it.
const WORTH: u64 = 3;

/// The most words of moving values that live in several blocks: half of the uniform registers.
const ROOM: u32 = 32;

/// The most components of a value.
const WIDEST: u8 = 2;

/// An instruction that defines values.
struct Candidate {
    block: MBlockId,
    number: usize,
    defs: SmallVec<[VRegId; 2]>,
    uses: SmallVec<[VRegId; 3]>,
}

/// What is known of a virtual register.
#[derive(Clone, Default)]
struct Known {
    /// Whether it is a value, as far as is known.
    is_value: bool,
    /// Whether it has another definition than those of a value.
    is_other: bool,
    /// The block and number of a parameter.
    param: Option<(MBlockId, usize)>,
    /// The block of a shuffle or load whose result an `R2UR` can bring.
    brought: Option<MBlockId>,
    /// The candidates that define it, and those that read it.
    made_by: SmallVec<[u32; 1]>,
    read_by: SmallVec<[u32; 2]>,
    /// Whether it moves.
    moves: bool,
}

/// The values of a function.
struct Values<'a> {
    mir: &'a Mir<VReg>,
    list: Vec<Candidate>,
    known: SecondaryMap<VRegId, Known>,
    /// By block, the blocks and numbers of the edges that lead to it.
    ways: SecondaryMap<MBlockId, SmallVec<[(MBlockId, usize); 2]>>,
}

/// Moves the values that are worth it.
pub fn uniform_operands(mir: &mut Mir<VReg>, _arch: Arch) -> bool {
    if !mir.insts().any(|inst| moved_to_uniform(inst).is_some()) {
        return false;
    }
    let mut values = Values::new(mir);
    values.settle();
    values.demand();
    values.spread();
    values.weigh();
    let moving: SecondaryMap<VRegId, bool> = {
        let mut moving = SecondaryMap::with_default(false);
        for (reg, known) in values.known.iter().filter(|(_, known)| known.moves) {
            moving[reg] = known.is_value;
        }
        moving
    };
    if !moving.values().any(|&moves| moves) {
        return false;
    }
    rewrite::rewrite(mir, &moving);
    true
}

/// The registers of an instruction that only moves a general register to the uniform datapath: the
/// uniform and the general one.
fn transfer(inst: &MInst<VReg>) -> Option<(VReg, VReg)> {
    if inst.inst.op != Op::R2UR || inst.inst.guard.is_some() {
        return None;
    }
    let (mut defs, mut uses) = (inst.inst.defs(), inst.inst.uses());
    let (Some(to), None, Some(from), None) = (defs.next(), defs.next(), uses.next(), uses.next()) else {
        return None;
    };
    Some((to.reg, from.reg))
}

/// The general register that an instruction only moves to the uniform datapath.
fn moved_to_uniform(inst: &MInst<VReg>) -> Option<VReg> {
    transfer(inst).map(|(_, from)| from)
}

/// Whether an instruction takes a value from a uniform register in every place.
fn takes(inst: &Inst<VReg>, value: VRegId) -> bool {
    reading_uniform(inst, |reg| (reg.id() == value).then(|| uniform(reg))).is_some()
}

/// Whether an instruction only has constants and may be made again.
fn is_constant(inst: &Inst<VReg>) -> bool {
    matches!(inst.op, Op::LDC | Op::MOV) && inst.uses().next().is_none()
}

impl<'a> Values<'a> {
    /// Finds the definitions that may be those of values.
    fn new(mir: &'a Mir<VReg>) -> Values<'a> {
        let mut values =
            Values { mir, list: Vec::new(), known: SecondaryMap::new(), ways: SecondaryMap::new() };
        for &block in &mir.layout {
            for (number, edge) in mir.blocks[block].term.edges().into_iter().enumerate() {
                values.ways[edge.block].push((block, number));
            }
        }
        for &block in &mir.layout {
            let data = &mir.blocks[block];
            let is_together = |block: MBlockId| !mir.blocks[block].divergent;
            let is_entered_together = values.ways[block].iter().all(|&(from, _)| is_together(from));
            for (number, param) in data.params.iter().enumerate() {
                let one = mir.vregs[param.reg.id()];
                let known = &mut values.known[param.reg.id()];
                let fits = one.agrees && one.file == RegFile::Gpr && one.width == param.width;
                known.param = Some((block, number));
                known.is_value = fits && one.width <= WIDEST && is_together(block) && is_entered_together;
                known.is_other = !known.is_value;
            }
            for (number, inst) in data.insts.iter().enumerate() {
                ptxc_interrupt::poll();
                values.add(block, number, inst);
            }
        }
        for known in values.known.values_mut() {
            let ways = [known.param.is_some(), known.brought.is_some(), !known.made_by.is_empty()];
            known.is_value = !known.is_other && ways.into_iter().filter(|&way| way).count() == 1;
        }
        values
    }

    /// Adds an instruction that may define values.
    fn add(&mut self, block: MBlockId, number: usize, inst: &MInst<VReg>) {
        let mut defs: SmallVec<[VRegId; 2]> = SmallVec::new();
        let mut is_candidate = !self.mir.blocks[block].divergent
            && inst.inst.op.row().uniform.is_some()
            && inst.inst.guard.is_none()
            && inst.call.is_none();
        inst.for_each_def(|reg, _| {
            let one = self.mir.vregs[reg.id()];
            is_candidate &= matches!(one.file, RegFile::Gpr | RegFile::Pred) && one.width <= WIDEST;
            if !defs.contains(&reg.id()) {
                defs.push(reg.id());
            }
        });
        if !is_candidate {
            let is_plain =
                inst.inst.guard.is_none() && inst.call.is_none() && !self.mir.blocks[block].divergent;
            for &reg in &defs {
                let one = self.mir.vregs[reg];
                let fits = one.agrees && one.file == RegFile::Gpr && one.width <= WIDEST && is_plain;
                let known = &mut self.known[reg];
                known.is_other |= !fits || known.brought.is_some();
                known.brought = Some(block);
            }
            return;
        }
        let mut uses: SmallVec<[VRegId; 3]> = SmallVec::new();
        inst.inst.for_each_use(|access| uses.push(access.reg.id()));
        let index = self.list.len() as u32;
        defs.iter().for_each(|&reg| self.known[reg].made_by.push(index));
        uses.iter().for_each(|&reg| self.known[reg].read_by.push(index));
        self.list.push(Candidate { block, number, defs, uses });
    }

    fn inst(&self, index: u32) -> &'a MInst<VReg> {
        let Candidate { block, number, .. } = self.list[index as usize];
        &self.mir.blocks[block].insts[number]
    }

    fn frequency(&self, index: u32) -> u64 {
        self.mir.blocks[self.list[index as usize].block].frequency
    }

    /// Whether a value is a constant, which may be in both files.
    fn is_constant(&self, reg: VRegId) -> bool {
        let made_by = &self.known[reg].made_by;
        !made_by.is_empty() && made_by.iter().all(|&index| is_constant(&self.inst(index).inst))
    }

    /// Finds out which registers are values: no definition reads anything else.
    fn settle(&mut self) {
        let mut work: Vec<u32> = (0..self.list.len() as u32).collect();
        while let Some(index) = work.pop() {
            ptxc_interrupt::poll();
            if self.list[index as usize].defs.iter().all(|&reg| !self.known[reg].is_value) {
                continue;
            }
            if counterpart(&self.inst(index).inst, |reg| self.known[reg.id()].is_value).is_some() {
                continue;
            }
            for reg in self.list[index as usize].defs.clone() {
                if std::mem::take(&mut self.known[reg].is_value) {
                    // Its other definitions stay, and so do all that read it.
                    work.extend(&self.known[reg].made_by);
                    work.extend(&self.known[reg].read_by);
                }
            }
        }
    }

    /// The arguments of a parameter, with the blocks that pass them.
    fn arguments(&self, block: MBlockId, number: usize) -> impl Iterator<Item = (MBlockId, EdgeArg<VReg>)> {
        let ways = self.ways[block].iter();
        ways.map(move |&(from, edge)| (from, self.mir.blocks[from].term.edge(edge).args[number]))
    }

    /// Marks what moves with some values: all that they are computed from, and what is computed with
    /// them by one instruction.
    fn need(&mut self, mut work: Vec<VRegId>) {
        while let Some(reg) = work.pop() {
            ptxc_interrupt::poll();
            if !self.known[reg].is_value || std::mem::replace(&mut self.known[reg].moves, true) {
                continue;
            }
            if let Some((block, number)) = self.known[reg].param {
                work.extend(self.arguments(block, number).filter_map(|(_, arg)| match arg {
                    EdgeArg::Reg(arg) => Some(arg.id()),
                    EdgeArg::Imm(_) | EdgeArg::Undef => None,
                }));
            }
            for &index in &self.known[reg].made_by {
                let candidate = &self.list[index as usize];
                work.extend(candidate.uses.iter().chain(&candidate.defs));
            }
        }
    }

    fn demand(&mut self) {
        self.need(self.roots().map(|(_, reg)| reg).collect());
    }

    /// Adds what is computed from moving values alone and read only by those that take it.
    fn spread(&mut self) {
        let mut needs_general = self.known_needs();
        for index in (0..self.list.len() as u32).rev() {
            ptxc_interrupt::poll();
            let candidate = &self.list[index as usize];
            if candidate.defs.iter().all(|&reg| self.known[reg].moves) {
                continue;
            }
            let reg = candidate.defs[0];
            let known = &self.known[reg];
            let moves_anyway = |&used: &VRegId| {
                self.known[used].moves || self.mir.vregs[used].file.is_uniform() || self.is_constant(used)
            };
            let is_from_moving = candidate.uses.iter().any(|&used| self.known[used].moves);
            if known.is_value
                && candidate.defs.len() == 1
                && known.made_by.len() == 1
                && self.mir.vregs[reg].file == RegFile::Gpr
                && is_from_moving
                && candidate.uses.iter().all(moves_anyway)
                && !needs_general[reg]
            {
                self.need(vec![reg]);
            } else {
                // Its operands have a reader that stays, but that may take one of them.
                let inst = &self.inst(index).inst;
                for &used in &self.list[index as usize].uses {
                    needs_general[used] |= self.known[used].is_value && !takes(inst, used);
                }
            }
        }
    }

    /// The registers that an instruction or edge reads that is no candidate and takes no uniform
    /// register in that place.
    fn known_needs(&self) -> SecondaryMap<VRegId, bool> {
        let mut needs = SecondaryMap::with_default(false);
        self.each_reader(|reader| match reader {
            Reader::Inst(_, inst) => {
                let mut is_candidate = true;
                inst.for_each_def(|reg, _| is_candidate &= self.known[reg.id()].is_value);
                if is_candidate && inst.inst.op.row().uniform.is_some() || moved_to_uniform(inst).is_some() {
                    return;
                }
                inst.inst.for_each_use(|access| {
                    let used = access.reg.id();
                    needs[used] |= self.known[used].is_value && !takes(&inst.inst, used);
                });
            }
            Reader::Register(reg) => needs[reg] = true,
        });
        needs
    }

    /// Visits all instructions of blocks that the warp executes together, and the registers that other
    /// instructions, call sites, old contents and edges read. An edge does not count if it passes the
    /// register to a parameter that moves.
    fn each_reader(&self, mut visit: impl FnMut(Reader<'a>)) {
        for &block in &self.mir.layout {
            let data = &self.mir.blocks[block];
            for inst in &data.insts {
                ptxc_interrupt::poll();
                match data.divergent {
                    true => inst.inst.for_each_use(|access| visit(Reader::Register(access.reg.id()))),
                    false => visit(Reader::Inst(block, inst)),
                }
                inst.tied.iter().for_each(|(_, old)| visit(Reader::Register(old.id())));
                if let Some(call) = &inst.call {
                    let held = call.held.iter().map(|held| held.reg);
                    let read = call.args.iter().map(|arg| arg.value.reg).chain(held);
                    read.for_each(|reg| visit(Reader::Register(reg.id())));
                }
            }
            if let Some((reg, _)) = data.term.selector() {
                visit(Reader::Register(reg.id()));
            }
            for edge in data.term.edges() {
                for (arg, param) in edge.args.iter().zip(&self.mir.blocks[edge.block].params) {
                    if let EdgeArg::Reg(reg) = arg
                        && !self.known[param.reg.id()].moves
                    {
                        visit(Reader::Register(reg.id()));
                    }
                }
            }
        }
    }

    /// Keeps values in place that are not worth the move.
    fn weigh(&mut self) {
        let mut groups = UnionFind::<usize>::new(self.mir.vregs.len());
        let number = |reg: VRegId| reg.as_u32() as usize;
        for (reg, known) in self.known.iter().filter(|(_, known)| known.moves) {
            if let Some((block, place)) = known.param {
                for (_, arg) in self.arguments(block, place) {
                    if let EdgeArg::Reg(arg) = arg
                        && self.known[arg.id()].moves
                        && !self.is_constant(arg.id())
                    {
                        groups.union(number(reg), number(arg.id()));
                    }
                }
            }
            for &index in &known.made_by {
                let Candidate { uses, defs, .. } = &self.list[index as usize];
                let together = uses.iter().filter(|&&used| self.known[used].moves && !self.is_constant(used));
                together.chain(defs).for_each(|&other| {
                    groups.union(number(reg), number(other));
                });
            }
        }
        let (mut gains, mut costs) = (vec![0_u64; self.mir.vregs.len()], vec![0_u64; self.mir.vregs.len()]);
        let once = self.mir.blocks[self.mir.entry()].frequency;
        for (block, root) in self.roots().filter(|(_, root)| self.known[*root].moves) {
            let frequency = self.mir.blocks[block].frequency;
            if frequency > once {
                gains[groups.find(number(root))] += WORTH * frequency;
            }
        }
        for (reg, _) in self.needs_general().iter().filter(|&(_, &needs)| needs) {
            let known = &self.known[reg];
            if !known.moves || self.is_constant(reg) || known.brought.is_some() {
                continue;
            }
            let of_param = known.param.map(|(block, _)| self.mir.blocks[block].frequency);
            let made = known.made_by.iter().map(|&index| self.frequency(index)).chain(of_param);
            costs[groups.find(number(reg))] += made.sum::<u64>();
        }
        for (reg, known) in self.known.iter().filter(|(_, known)| known.moves) {
            if let Some(block) = known.brought {
                let words = u64::from(self.mir.vregs[reg].width);
                costs[groups.find(number(reg))] += WORTH * words * self.mir.blocks[block].frequency;
            }
            let Some((block, place)) = known.param else { continue };
            for (from, arg) in self.arguments(block, place) {
                if matches!(arg, EdgeArg::Reg(arg) if arg.file() == RegFile::Gpr && !self.known[arg.id()].moves)
                {
                    costs[groups.find(number(reg))] += WORTH * self.mir.blocks[from].frequency;
                }
            }
        }
        let mut words = vec![0_u32; self.mir.vregs.len()];
        for reg in self.long() {
            words[groups.find(number(reg))] += u32::from(self.mir.vregs[reg].width);
        }
        let moving: Vec<VRegId> =
            self.known.iter().filter(|(_, known)| known.moves).map(|(reg, _)| reg).collect();
        let mut found: Vec<usize> = moving.iter().map(|&reg| groups.find(number(reg))).collect();
        found.retain(|&group| gains[group] > costs[group]);
        found.sort_by_key(|&group| (Reverse(gains[group] - costs[group]), group));
        found.dedup();
        let mut room = ROOM;
        found.retain(|&group| {
            let fits = words[group] <= room;
            room -= if fits { words[group] } else { 0 };
            fits
        });
        let found: FxHashSet<usize> = found.into_iter().collect();
        for reg in moving {
            self.known[reg].moves = found.contains(&groups.find(number(reg))) || self.is_constant(reg);
        }
    }

    /// The moving values that are live in several blocks.
    fn long(&self) -> Vec<VRegId> {
        let mut is_long: SecondaryMap<VRegId, bool> = SecondaryMap::with_default(false);
        self.each_reader(|reader| {
            if let Reader::Inst(block, inst) = reader {
                inst.for_each_use(|reg, _| {
                    let made_by = &self.known[reg.id()].made_by;
                    is_long[reg.id()] |=
                        made_by.iter().any(|&index| self.list[index as usize].block != block);
                });
            }
        });
        let moving = self.known.iter().filter(|(_, known)| known.moves);
        let long = moving.filter(|&(reg, known)| {
            let crosses = known.param.is_some() || known.brought.is_some();
            crosses || is_long[reg] && !self.is_constant(reg)
        });
        long.map(|(reg, _)| reg).collect()
    }

    /// The registers that an `R2UR` reads where the warp is together, with its block.
    fn roots(&self) -> impl Iterator<Item = (MBlockId, VRegId)> {
        self.mir.layout.iter().filter(|&&block| !self.mir.blocks[block].divergent).flat_map(move |&block| {
            let insts = self.mir.blocks[block].insts.iter();
            insts.filter_map(moved_to_uniform).map(move |reg| (block, reg.id()))
        })
    }

    /// The moving values that someone reads in a general register after the move.
    fn needs_general(&self) -> SecondaryMap<VRegId, bool> {
        let moves = |inst: &MInst<VReg>| {
            let mut moves = false;
            inst.for_each_def(|reg, _| moves |= self.known[reg.id()].moves);
            moves
        };
        // The predicates with readers that stay: their instructions stay, too.
        let mut stays = SecondaryMap::with_default(false);
        self.each_reader(|reader| match reader {
            Reader::Inst(_, inst) if moves(inst) => {}
            Reader::Inst(_, inst) => inst.inst.for_each_use(|access| stays[access.reg.id()] = true),
            Reader::Register(reg) => stays[reg] = true,
        });
        let mut needs = SecondaryMap::with_default(false);
        let moved = |reg: VReg| self.known[reg.id()].moves.then(|| uniform(reg));
        self.each_reader(|reader| match reader {
            Reader::Inst(_, inst) => {
                let mut is_reader = !moves(inst);
                inst.for_each_def(|reg, _| is_reader |= reg.file() == RegFile::Pred && stays[reg.id()]);
                if is_reader
                    && moved_to_uniform(inst).is_none()
                    && reading_uniform(&inst.inst, moved).is_none()
                {
                    inst.inst.for_each_use(|access| needs[access.reg.id()] = true);
                }
            }
            Reader::Register(reg) => needs[reg] = true,
        });
        needs
    }
}

/// Who reads a register.
enum Reader<'a> {
    /// An instruction that may read it in a uniform register.
    Inst(MBlockId, &'a MInst<VReg>),
    /// Something else reads this register.
    Register(VRegId),
}
