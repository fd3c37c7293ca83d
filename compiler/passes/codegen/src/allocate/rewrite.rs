//! Replaces virtual by physical registers, and edge arguments by copies.
//!
//! In: a function and the register of each virtual register. Out: a function without block
//! parameters. The copies of an edge go to the end of its source if that has one target, to the
//! start of its target if that has one source, else before the branch if the other edges allow it
//! (`hoist`), else into a new block on the edge. At the end of a block they go before a `BSYNC`,
//! since lanes continue at the label of its `BSSY`. Copies from a register to itself vanish.
//!
//! A cycle of copies borrows a register that is free on the edge and below the highest one in use,
//! so that it does not cost a register; if there is none, registers are exchanged pairwise. An
//! aligned pair that becomes zero takes one `CS2R`.

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use ptxc_ir::{FunctionKind, SourceLoc};
use ptxc_sass::{Inst, Op, Operand, PReg, RegFile, Register, slot};
use smallvec::SmallVec;

use super::assign::{Assignment, Budget};
use super::live::{LiveRanges, diverges_after};
use super::parallel_copy::order;
use super::save::{self, AtCall, Saves};
use super::work::{Origin, Work};
use super::{AllocError, hoist, moves};
use crate::abi;
use crate::mir::{Edge, EdgeArg, MBlock, MBlockId, MInst, Mir, RegSet, Term, VReg, for_blocks};

/// The function with physical registers.
pub(super) struct Rewritten {
    pub mir: Mir<PReg>,
    pub origins: SecondaryMap<MBlockId, Vec<Origin>>,
    /// Copies on edges.
    pub copies: u32,
    /// The highest register that it names plus one, by file.
    pub registers: [u8; 4],
}

/// The content that a register receives on an edge.
#[derive(Clone, Copy)]
enum Source {
    Reg(PReg),
    Imm(u32),
}

struct Rewriter<'a> {
    work: &'a Work<'a>,
    live: &'a LiveRanges<'a>,
    assignment: &'a Assignment<'a>,
    /// One more than the highest register in use, by file.
    used: [u8; 4],
    budget: &'a Budget,
    copies: u32,
    /// Words of the frame in which calls save registers.
    saved_words: u32,
    /// The registers that instructions of the input name.
    named: Named,
}

/// Rewrites a function. `stack_top` is the place in constant bank 0 where the driver leaves the
/// stack pointer. `None` if the function needs a frame but has none.
pub(super) fn rewrite(
    work: &Work<'_>,
    live: &LiveRanges<'_>,
    assignment: &Assignment,
    budget: &Budget,
    stack_top: u32,
) -> Result<Option<Rewritten>, AllocError> {
    let used = highest(work, assignment);
    let named = Named::default();
    let mut rewriter = Rewriter { work, live, assignment, used, budget, copies: 0, saved_words: 0, named };
    let mut blocks: PrimaryMap<MBlockId, MBlock<PReg>> = PrimaryMap::with_capacity(work.mir.blocks.len());
    let mut origins: SecondaryMap<MBlockId, Vec<Origin>> = for_blocks(&work.mir, Vec::new());
    let mut is_laid_out = vec![false; work.mir.blocks.len()];
    work.mir.layout.iter().for_each(|&block| is_laid_out[block.index()] = true);
    for (id, block) in work.mir.blocks.iter() {
        let (insts, origin) = match is_laid_out[id.index()] {
            true => rewriter.block(id, block),
            false => Default::default(),
        };
        origins[id] = origin;
        blocks.push(MBlock {
            params: Vec::new(),
            insts,
            term: rewriter.term(&block.term),
            term_loc: block.term_loc,
            frequency: block.frequency,
            divergent: block.divergent,
        });
    }
    let mut entered: SecondaryMap<MBlockId, u32> = for_blocks(&work.mir, 0);
    for &id in &work.mir.layout {
        work.mir.blocks[id].term.edges().iter().for_each(|edge| entered[edge.block] += 1);
    }
    let mut layout = Vec::with_capacity(work.mir.layout.len());
    for &id in &work.mir.layout {
        ptxc_interrupt::poll();
        layout.push(id);
        let source = &work.mir.blocks[id];
        let edges = source.term.edges();
        if edges.iter().all(|edge| edge.args.is_empty()) {
            continue;
        }
        let mut codes = Vec::with_capacity(edges.len());
        for edge in &edges {
            codes.push(rewriter.edge(id, edge)?);
        }
        for (index, edge) in edges.iter().enumerate() {
            let target = &work.mir.blocks[edge.block];
            let alone = entered[edge.block] == 1;
            let selector = blocks[id].term.selector().map(|(&selector, _)| selector);
            let moves_up = edges.len() == 1
                || !alone && hoist::moves_up((work, live, assignment), id, &edges, &codes, selector, index);
            // Hoisted copies no longer belong to the edge when the next edge is checked.
            let insts = if moves_up { std::mem::take(&mut codes[index]) } else { codes[index].clone() };
            if insts.is_empty() {
                continue;
            }
            let loc = source.term_loc;
            let count = insts.len();
            let insts = insts.into_iter().map(|inst| MInst::new(inst, loc));
            if moves_up {
                let at = end_of_body(&blocks[id].insts);
                blocks[id].insts.splice(at..at, insts);
                origins[id].splice(at..at, std::iter::repeat_n(Origin::Inserted, count));
            } else if alone {
                blocks[edge.block].insts.splice(0..0, insts);
                origins[edge.block].splice(0..0, std::iter::repeat_n(Origin::Inserted, count));
            } else {
                let jump = Edge { block: edge.block, args: SmallVec::new() };
                let split = blocks.push(MBlock {
                    params: Vec::new(),
                    insts: insts.collect(),
                    term: Term::Jump(jump),
                    term_loc: loc,
                    frequency: source.frequency.min(target.frequency),
                    divergent: diverges_after(&work.mir, id),
                });
                origins[split] = vec![Origin::Inserted; count];
                blocks[id].term.edge_mut(index).block = split;
                layout.push(split);
            }
        }
    }
    if rewriter.saved_words > 0 && !work.is_framed() {
        return Ok(None);
    }
    let kept = if work.mir.header.platform { preserved(&blocks) } else { Vec::new() };
    let kept_at = work.spill_bytes.next_multiple_of(16) + 4 * rewriter.saved_words;
    let bytes = work.frame_bytes(4 * (rewriter.saved_words + kept.len().next_multiple_of(4) as u32));
    let minst = |inst| MInst::new(inst, SourceLoc::NONE);
    let entry = work.mir.entry();
    match work.mir.header.kind {
        FunctionKind::Entry if work.is_framed() => {
            let frame = moves::enter(PReg::r(1), stack_top, bytes);
            blocks[entry].insts.splice(0..0, frame.map(minst));
            origins[entry].splice(0..0, [Origin::Inserted; 2]);
        }
        FunctionKind::Device if bytes > 0 => {
            // Goes after the copy of the caller's stack pointer, which the function uses to find
            // its variables.
            let copies_stack = |minst: &MInst<PReg>| {
                minst.call.is_none()
                    && moves::as_copy(&minst.inst).is_some_and(|(_, from)| from == PReg::r(1))
            };
            let takes_stack = |minst: &MInst<PReg>| {
                minst.call.as_ref().is_some_and(|site| site.results.iter().any(|one| one.place == PReg::r(1)))
            };
            let insts = &blocks[entry].insts;
            let copy = insts.iter().position(copies_stack).filter(|_| insts.first().is_some_and(takes_stack));
            let at = copy.map_or(0, |copy| copy + 1);
            let places = || kept.iter().zip((kept_at..).step_by(4));
            // The register of the copy is saved before the copy, in the frame that does not exist yet.
            let copied = copy.and_then(|copy| moves::as_copy(&insts[copy].inst)).map(|(to, _)| to);
            let first = places().find(|(reg, _)| Some(**reg) == copied);
            let first = first.map(|(&reg, at)| moves::store(reg, 1, PReg::r(1), at.wrapping_sub(bytes)));
            let stores = places().filter(|(reg, _)| Some(**reg) != copied);
            let stores = stores.map(|(&reg, at)| moves::store(reg, 1, PReg::r(1), at));
            let enter = std::iter::once(moves::move_stack(PReg::r(1), bytes.wrapping_neg())).chain(stores);
            let mut put = |at: usize, insts: Vec<Inst<PReg>>| {
                origins[entry].splice(at..at, insts.iter().map(|_| Origin::Inserted));
                blocks[entry].insts.splice(at..at, insts.into_iter().map(minst));
            };
            put(at, enter.collect());
            put(copy.unwrap_or(0), first.into_iter().collect());
            for (block, data) in blocks.iter_mut().filter(|(_, data)| data.term == Term::Return) {
                let ret = data.insts.len() - 1;
                let loads = places().map(|(&reg, at)| moves::load(reg, 1, PReg::r(1), at));
                let leave = loads.chain([moves::move_stack(PReg::r(1), bytes)]);
                data.insts.splice(ret..ret, leave.map(minst));
                origins[block].splice(ret..ret, std::iter::repeat_n(Origin::Inserted, 1 + kept.len()));
            }
        }
        _ => {}
    }
    if work.mir.header.platform {
        // The address is also in its place of the convention, which nothing is loaded into.
        let [back, _] = abi::platform::return_address().map(Operand::reg);
        for ret in blocks.values_mut().filter_map(|block| block.insts.last_mut()) {
            if ret.inst.op == Op::RET_ABSOLUTE {
                ret.inst = ret.inst.clone().slot(slot!(RET_ABSOLUTE, "a"), back);
            }
        }
    }
    let mut header = work.mir.header.clone();
    header.local_bytes = bytes;
    header.spills += rewriter.saved_words;
    let mir = Mir { header, blocks, layout, vregs: work.mir.vregs.clone() };
    let mut named = rewriter.named;
    named.add_inserted(&mir, &origins);
    let registers = named.end.map(|end| end.min(255) as u8);
    Ok(Some(Rewritten { mir, origins, copies: rewriter.copies, registers }))
}

/// The registers that the platform's convention preserves and that these blocks or the routines that
/// they call write, in order.
fn preserved(blocks: &PrimaryMap<MBlockId, MBlock<PReg>>) -> Vec<PReg> {
    let mut written = RegSet::default();
    for minst in blocks.values().flat_map(|block| &block.insts) {
        minst.inst.defs().for_each(|def| written.insert_tuple(def.reg, def.width));
        if let Some(site) = &minst.call {
            written = written.union(site.destroyed());
        }
    }
    let scratch = abi::platform::clobbers();
    let is_kept =
        |reg: &PReg| reg.file() == RegFile::Gpr && *reg != abi::stack_pointer() && !scratch.contains(*reg);
    written.iter().filter(is_kept).collect()
}

/// The place for code that must run at the end of a block: before a final `BSYNC`, through which
/// lanes leave.
pub(super) fn end_of_body<R: Register>(insts: &[MInst<R>]) -> usize {
    match insts.last() {
        Some(last) if last.inst.op == Op::BSYNC => insts.len() - 1,
        _ => insts.len(),
    }
}

fn highest(work: &Work<'_>, assignment: &Assignment) -> [u8; 4] {
    let mut used = [0; 4];
    for ((_, data), first) in work.mir.vregs.iter().zip(&assignment.first) {
        if let Some(first) = first {
            let used = &mut used[data.file as usize];
            *used = (*used).max(first + data.width.max(1));
        }
    }
    used
}

impl Rewriter<'_> {
    /// The physical register, if the virtual one is ever live.
    fn register(&self, reg: VReg) -> Option<PReg> {
        if Some(reg) == self.work.frame {
            return Some(PReg::r(1));
        }
        self.assignment.first[reg.id().index()].map(|first| PReg::new(reg.file(), first + reg.component()))
    }

    fn block(&mut self, id: MBlockId, block: &MBlock<VReg>) -> (Vec<MInst<PReg>>, Vec<Origin>) {
        // Leaves room for the branch that layout adds to most blocks.
        let mut insts: Vec<MInst<PReg>> = Vec::with_capacity(block.insts.len() + 1);
        let mut kept = Vec::with_capacity(block.insts.len());
        for (index, (inst, &origin)) in block.insts.iter().zip(&self.work.origins[id]).enumerate() {
            ptxc_interrupt::poll();
            // Every operand of an instruction is live at the instruction, so the register exists.
            let mut is_higher = false;
            let renamed = inst.map(|reg| {
                let place = self.register(reg).unwrap_or(PReg::new(reg.file(), 0));
                let end = u16::from(place.index()) + u16::from(self.work.mir.vregs[reg.id()].width);
                is_higher |= end > self.named.end[place.file() as usize];
                place
            });
            if moves::as_copy(&renamed.inst).is_some_and(|(to, from)| to == from) {
                continue;
            }
            if is_higher {
                self.named.add(&renamed);
            }
            if renamed.call.is_some() {
                self.around_call(id, index, (renamed, origin), &mut insts, &mut kept);
            } else {
                insts.push(renamed);
                kept.push(origin);
            }
        }
        (insts, kept)
    }

    /// A call with the instructions that save registers around it.
    fn around_call(
        &mut self,
        block: MBlockId,
        index: usize,
        (call, origin): (MInst<PReg>, Origin),
        insts: &mut Vec<MInst<PReg>>,
        origins: &mut Vec<Origin>,
    ) {
        let saves = self.saves(block, index, &call);
        self.saved_words = self.saved_words.max(saves.words.next_multiple_of(4));
        let loc = call.loc;
        origins.extend(std::iter::repeat_n(Origin::Inserted, saves.before.len()));
        insts.extend(saves.before.into_iter().map(|inst| MInst::new(inst, loc)));
        insts.push(call);
        origins.push(origin);
        origins.extend(std::iter::repeat_n(Origin::Inserted, saves.after.len()));
        insts.extend(saves.after.into_iter().map(|inst| MInst::new(inst, loc)));
    }

    fn saves(&self, block: MBlockId, index: usize, inst: &MInst<PReg>) -> Saves {
        let late = self.live.points.late(block, index);
        let calls = &self.live.calls;
        let call = calls.binary_search_by_key(&late, |call| call.point).ok().map(|at| &calls[at]);
        let (Some(call), Some(site)) = (call, &inst.call) else { return Saves::default() };
        let limit = self.budget[RegFile::Gpr as usize];
        save::saves(&AtCall {
            call,
            early: self.assignment.occupancy.at(RegFile::Gpr, self.live.points.early(block, index)),
            late: self.assignment.occupancy.at(RegFile::Gpr, late),
            results: site.result_places().mask(RegFile::Gpr),
            limit: self.assignment.granted_at(late).map_or(limit, |granted| granted.min(limit)),
            frame: self.work.spill_bytes.next_multiple_of(16),
        })
    }

    fn term(&self, term: &Term<VReg>) -> Term<PReg> {
        let bare = |edge: &Edge<VReg>| Edge { block: edge.block, args: SmallVec::new() };
        match term {
            Term::Jump(edge) => Term::Jump(bare(edge)),
            Term::Branch { pred, negated, then, other } => Term::Branch {
                pred: self.register(*pred).unwrap_or(PReg::new(pred.file(), 0)),
                negated: *negated,
                then: bare(then),
                other: bare(other),
            },
            Term::Together { mask, here, apart } => Term::Together {
                mask: mask.map(|mask| self.register(mask).unwrap_or(PReg::new(mask.file(), 0))),
                here: bare(here),
                apart: bare(apart),
            },
            Term::Table { address, offset, edges } => Term::Table {
                address: self.register(*address).unwrap_or(PReg::new(address.file(), 0)),
                offset: *offset,
                edges: edges.iter().map(bare).collect(),
            },
            Term::Exit => Term::Exit,
            Term::Return => Term::Return,
        }
    }

    /// The copies of an edge.
    fn edge(&mut self, source: MBlockId, edge: &Edge<VReg>) -> Result<Vec<Inst<PReg>>, AllocError> {
        let mut copies: Vec<(PReg, Source)> = Vec::new();
        for (param, &arg) in self.work.mir.blocks[edge.block].params.iter().zip(&edge.args) {
            for component in 0..param.width {
                let Some(to) = self.register(param.reg.offset(component)) else { continue };
                match arg {
                    EdgeArg::Reg(reg) => {
                        if let Some(from) = self.register(reg.offset(component))
                            && from != to
                        {
                            copies.push((to, Source::Reg(from)));
                        }
                    }
                    EdgeArg::Imm(bits) => {
                        let word = if component < 2 { (bits >> (32 * component)) as u32 } else { 0 };
                        copies.push((to, Source::Imm(word)));
                    }
                    EdgeArg::Undef => {}
                }
            }
        }
        if copies.is_empty() {
            return Ok(Vec::new());
        }
        if copies.iter().any(|(to, _)| to.file() == RegFile::Upred) {
            return Err(AllocError::UniformPredicateCopy { loc: self.work.mir.blocks[source].term_loc });
        }
        self.copies += copies.len() as u32;
        let mut insts = Vec::new();
        for file in RegFile::ALL {
            if !copies.iter().any(|(to, _)| to.file() == file) {
                continue;
            }
            let moved: Vec<(PReg, PReg)> = copies
                .iter()
                .filter(|(to, _)| to.file() == file)
                .filter_map(|&(to, from)| if let Source::Reg(from) = from { Some((to, from)) } else { None })
                .collect();
            let order = order(&moved);
            insts.extend(order.moves.iter().map(|&(to, from)| moves::copy(to, from)));
            let scratch =
                if order.cycles.is_empty() { None } else { self.scratch(file, source, edge.block, &copies) };
            for cycle in &order.cycles {
                rotate(cycle, scratch, &mut insts);
            }
        }
        let mut constants = copies
            .iter()
            .filter_map(|&(to, from)| if let Source::Imm(bits) = from { Some((to, bits)) } else { None })
            .peekable();
        while let Some((to, bits)) = constants.next() {
            let clears_pair = to.file() == RegFile::Gpr && bits == 0 && to.index() % 2 == 0;
            if clears_pair
                && constants.next_if(|&(next, bits)| bits == 0 && Some(next) == to.offset(1)).is_some()
            {
                insts.push(moves::zero_pair(to));
            } else {
                insts.push(moves::constant(to, bits));
            }
        }
        Ok(insts)
    }

    /// A register that is free on the edge.
    fn scratch(
        &self,
        file: RegFile,
        source: MBlockId,
        target: MBlockId,
        copies: &[(PReg, Source)],
    ) -> Option<PReg> {
        let exit = self.live.points.exit(source, self.work.mir.blocks[source].insts.len());
        let at_exit = self.assignment.occupancy.at(file, exit);
        let at_entry = self.assignment.occupancy.at(file, self.live.points.entry(target));
        let in_copy = |reg: PReg| {
            copies.iter().any(|&(to, from)| to == reg || matches!(from, Source::Reg(from) if from == reg))
        };
        (0..self.used[file as usize])
            .filter(|&index| {
                (at_exit[index as usize / 64] | at_entry[index as usize / 64]) >> (index % 64) & 1 == 0
            })
            .map(|index| PReg::new(file, index))
            .find(|&reg| !in_copy(reg))
    }
}

/// Each register of the cycle receives the content of the next one, the last one that of the first.
fn rotate(cycle: &[PReg], scratch: Option<PReg>, insts: &mut Vec<Inst<PReg>>) {
    match scratch {
        Some(scratch) => {
            insts.push(moves::copy(scratch, cycle[0]));
            insts.extend(cycle.windows(2).map(|pair| moves::copy(pair[0], pair[1])));
            insts.push(moves::copy(cycle[cycle.len() - 1], scratch));
        }
        None => insts.extend(cycle.windows(2).flat_map(|pair| moves::swap(pair[0], pair[1]))),
    }
}

/// The highest register that is named plus one, by file.
#[derive(Default)]
struct Named {
    end: [u16; 4],
}

impl Named {
    fn name(&mut self, reg: PReg, width: u8) {
        let end = &mut self.end[reg.file() as usize];
        *end = (*end).max(u16::from(reg.index()) + u16::from(width));
    }

    /// Adds the registers that an instruction reads and writes.
    fn add(&mut self, inst: &MInst<PReg>) {
        inst.for_each_access(|reg, width, _| self.name(reg, width));
    }

    /// Adds the registers of the instructions that the allocator added, those that calls destroy,
    /// and those that terminators read.
    fn add_inserted(&mut self, mir: &Mir<PReg>, origins: &SecondaryMap<MBlockId, Vec<Origin>>) {
        for &block in &mir.layout {
            let data = &mir.blocks[block];
            for (inst, origin) in data.insts.iter().zip(&origins[block]) {
                if !matches!(origin, Origin::Inst(_)) {
                    self.add(inst);
                }
                if let Some(call) = &inst.call {
                    call.clobbers.iter().for_each(|reg| self.name(reg, 1));
                }
            }
            if let Some((&selector, width)) = data.term.selector() {
                self.name(selector, width);
            }
        }
    }
}
