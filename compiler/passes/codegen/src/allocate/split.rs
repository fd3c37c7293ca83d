//! Rewrites a function so that values are in registers and in memory where
//! [`residence`](super::residence) wants them, back into SSA form.
//!
//! In: a function and its [`Residence`]. Out: the function with stores, reloads under new names,
//! and block parameters where names meet:
//!
//! ```text
//! mb0: %r0 = …                      mb0: %r0 = …; STL [%frame], %r0
//! mb1: …                      =>    mb1: …
//! mb2: FADD …, %r0, %r0             mb2: LDL %r9, [%frame]; FADD …, %r9, %r9
//!      … %r0 …                           … %r9 …
//! ```
//!
//! - A value is stored once, so that its slot holds it at every reload: after its definition, or at
//!   the start of a block that dominates all reloads and runs less often.
//! - A parameter that is not in a register at the start of its block stops being a parameter: its
//!   slot receives the arguments. Arguments that do not interfere share the slot, and are then
//!   stored where they are defined.
//! - A reloaded value gets a name that holds until it is evicted again ([`names`](super::names)).
//! - A value that can be rematerialized is brought back by its definition, which is removed if
//!   nothing else reads it.
//!
//! Cost: linear in the function and the names.

use std::collections::BTreeMap;

use cranelift_entity::{EntityRef, SecondaryMap};
use ptxc_ir::SourceLoc;
use ptxc_sass::RegFile;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::live::LiveRanges;
use super::moves;
use super::names::Names;
use super::pressure::Plan;
use super::residence::Residence;
use super::rewrite::end_of_body;
use super::spill::{Home, copy_slots, fill_slot, fill_slot_with, place_slots};
use super::work::{self, Origin, Rebuilt, Work};
use crate::mir::liveness::for_each_term_use;
use crate::mir::{Cfg, Edge, EdgeArg, MBlockId, MInst, Tuple, VReg, VRegId};

/// The place where a value is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StoreAt {
    /// Nowhere.
    Never,
    /// After each of its definitions.
    Definition,
    /// At the start of a block.
    Block(MBlockId),
}

/// A block whose edge passes an argument in a register to a parameter in memory: block, parameter,
/// argument.
type SharedEdge = (MBlockId, VReg, VReg);

struct Splitter<'a, 'm> {
    work: &'a mut Work<'m>,
    live: &'a LiveRanges<'a>,
    cfg: &'a Cfg,
    residence: &'a Residence,
    homes: Vec<Option<Home>>,
    store_at: Vec<StoreAt>,
    names: Names,
    /// The new parameters of each block: a value, its name, and its components, neighbours
    /// together.
    params: SecondaryMap<MBlockId, Vec<(u32, Tuple<VReg>)>>,
}

/// The parameters of a block that are in memory, by their number.
fn evicted_params(
    residence: &Residence,
    work: &Work<'_>,
    block: MBlockId,
) -> impl Iterator<Item = (usize, Tuple<VReg>)> {
    let entry = &residence.entry[block];
    let params = work.mir.blocks[block].params.iter().copied().enumerate();
    params.filter(move |(_, param)| {
        param.reg.file() == RegFile::Gpr && entry.binary_search(&param.reg.id().as_u32()).is_err()
    })
}

/// The reloads on the edges of a block: values, and arguments of parameters in registers.
fn missing(residence: &Residence, work: &Work<'_>, block: MBlockId) -> impl Iterator<Item = u32> {
    let edges = work.mir.blocks[block].term.edges();
    let args = edges.into_iter().flat_map(move |edge| residence.missing_args(work, block, edge));
    residence.missing[block].iter().map(|&(_, vreg)| vreg).chain(args)
}

/// Rewrites the function; returns how many virtual registers went to local memory.
pub(super) fn split(work: &mut Work<'_>, live: &LiveRanges<'_>, cfg: &Cfg, residence: &Residence) -> u32 {
    let homes = vec![None; work.mir.vregs.len()];
    let mut splitter = Splitter {
        store_at: vec![StoreAt::Never; homes.len()],
        work,
        live,
        cfg,
        residence,
        homes,
        names: Names::default(),
        params: SecondaryMap::new(),
    };
    let stored = splitter.find_homes();
    if stored > 0 {
        splitter.work.frame();
    }
    splitter.names = Names::new(splitter.work, cfg, residence);
    for &block in cfg.order() {
        splitter.params[block] = splitter.new_params(block);
    }
    let blocks = splitter.work.mir.layout.clone();
    let mut layout = Vec::with_capacity(blocks.len());
    for &block in &blocks {
        splitter.body(block);
        layout.push(block);
        splitter.end(block, &mut layout);
    }
    for &block in &blocks {
        splitter.replace_params(block);
    }
    splitter.work.mir.to_mut().layout = layout;
    splitter.drop_unread();
    stored
}

impl Splitter<'_, '_> {
    /// Decides which values have a slot or are rematerialized, and where they are stored.
    fn find_homes(&mut self) -> u32 {
        let (work, residence) = (&*self.work, self.residence);
        // By virtual register, the blocks in which its slot must hold it.
        let mut needed: BTreeMap<u32, SmallVec<[MBlockId; 4]>> = BTreeMap::new();
        // Arguments in registers for parameters in memory: they are stored on the edge unless they
        // share the parameter's slot.
        let mut shared: BTreeMap<u32, Vec<SharedEdge>> = BTreeMap::new();
        let mut slots: Vec<u32> = Vec::new();
        for &block in self.cfg.order() {
            for (_, (vreg, _)) in &residence.reloads[block] {
                needed.entry(*vreg).or_default().push(block);
            }
            slots.extend(evicted_params(residence, work, block).map(|(_, param)| param.reg.id().as_u32()));
            for vreg in missing(residence, work, block) {
                needed.entry(vreg).or_default().push(block);
            }
            for edge in work.mir.blocks[block].term.edges() {
                for (number, param) in evicted_params(residence, work, edge.block) {
                    let EdgeArg::Reg(arg) = edge.args[number] else { continue };
                    let vreg = arg.id().as_u32();
                    if residence.exit[block].binary_search(&vreg).is_err() {
                        needed.entry(vreg).or_default().push(block);
                    } else if residence.plans[vreg as usize] == Some(Plan::Store) {
                        shared.entry(vreg).or_default().push((block, param.reg, arg));
                    }
                }
            }
        }
        for &vreg in needed.keys() {
            self.homes[vreg as usize] = Some(match residence.plans[vreg as usize] {
                Some(Plan::Remat(block, index)) => {
                    Home::Recompute(Box::new(work.mir.blocks[block].insts[index as usize].clone()))
                }
                _ => Home::Slot(0),
            });
        }
        for &vreg in slots.iter().chain(shared.keys()) {
            self.homes[vreg as usize].get_or_insert(Home::Slot(0));
        }
        let in_slot: FxHashSet<u32> = slots.iter().copied().collect();
        place_slots(self.work, self.live, &mut self.homes);
        for (vreg, edges) in shared {
            let offset = |reg: VReg| match self.homes[reg.id().index()] {
                Some(Home::Slot(offset)) => Some(offset + 4 * u32::from(reg.component())),
                _ => None,
            };
            let same: Vec<MBlockId> = edges
                .iter()
                .filter(|&&(_, param, arg)| offset(param) == offset(arg))
                .map(|&(block, ..)| block)
                .collect();
            if !same.is_empty() {
                needed.entry(vreg).or_default().extend(same);
            } else if !needed.contains_key(&vreg) && !in_slot.contains(&vreg) {
                self.homes[vreg as usize] = None;
            }
        }
        let definitions = self.definitions();
        for (vreg, blocks) in &needed {
            if matches!(self.homes[*vreg as usize], Some(Home::Slot(_))) && !in_slot.contains(vreg) {
                self.store_at[*vreg as usize] = self.store_place(*vreg, blocks, &definitions);
            }
        }
        self.homes.iter().filter(|home| matches!(home, Some(Home::Slot(_)))).count() as u32
    }

    /// By virtual register, the block of its only definition.
    fn definitions(&self) -> Vec<Option<MBlockId>> {
        let mut blocks = vec![None; self.homes.len()];
        let mut count = vec![0u8; self.homes.len()];
        for &block in self.cfg.order() {
            let data = &self.work.mir.blocks[block];
            let mut define = |reg: VReg| {
                blocks[reg.id().index()] = Some(block);
                count[reg.id().index()] = count[reg.id().index()].saturating_add(1);
            };
            data.params.iter().for_each(|param| define(param.reg));
            for inst in &data.insts {
                work::defs(inst).into_iter().for_each(|(reg, _)| define(reg));
            }
        }
        for (block, count) in blocks.iter_mut().zip(count) {
            *block = block.filter(|_| count == 1);
        }
        blocks
    }

    /// The cheapest place that dominates all blocks in which the slot must hold a value.
    fn store_place(&self, vreg: u32, needed: &[MBlockId], definitions: &[Option<MBlockId>]) -> StoreAt {
        let Some(definition) = definitions[vreg as usize] else { return StoreAt::Definition };
        let cfg = self.cfg;
        let frequency = |block: MBlockId| self.work.mir.blocks[block].frequency;
        let mut best = (frequency(definition), StoreAt::Definition);
        let mut common = needed[0];
        for &block in &needed[1..] {
            while !cfg.dominates(common, block) {
                let Some(up) = cfg.idom(common) else { return StoreAt::Definition };
                common = up;
            }
        }
        while common != definition {
            let resident = self.residence.entry[common].binary_search(&vreg).is_ok();
            if resident && frequency(common) < best.0 {
                best = (frequency(common), StoreAt::Block(common));
            }
            let Some(up) = cfg.idom(common) else { break };
            common = up;
        }
        best.1
    }

    /// Brings components of a value back under a name.
    fn reload(&mut self, vreg: u32, name: VReg, components: &[u8], loc: SourceLoc, out: &mut Rebuilt) {
        match self.homes[vreg as usize].clone() {
            Some(Home::Slot(offset)) => {
                let frame = self.work.frame();
                for (component, size) in runs(components) {
                    let at = offset + 4 * u32::from(component);
                    out.insert(moves::load(name.offset(component), size, frame, at), loc);
                }
            }
            Some(Home::Recompute(inst)) => {
                let renamed = inst.inst.map(|def| name.with_component(def.component()));
                let of = VReg::new(VRegId::new(vreg as usize), 0, RegFile::Gpr);
                out.push(MInst::new(renamed, loc), Origin::Remat(of));
            }
            _ => {}
        }
    }

    fn store(&mut self, from: VReg, components: &[u8], loc: SourceLoc, offset: u32, out: &mut Rebuilt) {
        let frame = self.work.frame();
        for (component, size) in runs(components) {
            let at = offset + 4 * u32::from(component);
            out.insert(moves::store(from.with_component(component), size, frame, at), loc);
        }
    }

    /// The components of a value that are live at the start of a block.
    fn live_at_start(&self, vreg: u32, block: MBlockId) -> SmallVec<[u8; 4]> {
        let entry = self.live.points.entry(block);
        let all = self.live.all(vreg as usize).enumerate();
        all.filter(|&(_, component)| !self.live.ends_by(component, entry + 1))
            .filter(|&(_, component)| self.live.covers(component, entry))
            .map(|(n, _)| n as u8)
            .collect()
    }

    fn name_at_start(&self, block: MBlockId, vreg: u32) -> VReg {
        self.names.at_start(self.residence, block, vreg).unwrap_or_else(|| own_name(vreg))
    }

    fn name_at_end(&self, block: MBlockId, vreg: u32) -> VReg {
        self.names.at_end(self.residence, block, vreg).unwrap_or_else(|| own_name(vreg))
    }

    fn body(&mut self, block: MBlockId) {
        let Rebuilt { insts, origins } = self.work.take_body(block);
        let residence = self.residence;
        let mut current: FxHashMap<u32, VReg> = FxHashMap::default();
        let mut out = Rebuilt::with_capacity(insts.len());
        let loc = insts.first().map_or(self.work.mir.blocks[block].term_loc, |inst| inst.loc);
        // Stores at the start of the block: of parameters, and of values that are stored here.
        for &vreg in &residence.entry[block] {
            let mut params = self.work.mir.blocks[block].params.iter();
            let here = match self.store_at[vreg as usize] {
                StoreAt::Block(other) => other == block,
                StoreAt::Definition => params.any(|param| param.reg.id().as_u32() == vreg),
                StoreAt::Never => false,
            };
            if here && let Some(Home::Slot(offset)) = self.homes[vreg as usize] {
                let (name, components) = (self.name_at_start(block, vreg), self.live_at_start(vreg, block));
                self.store(name, &components, loc, offset, &mut out);
            }
        }
        let mut reloads = residence.reloads[block].iter().enumerate().peekable();
        for (index, (inst, origin)) in insts.into_iter().zip(origins).enumerate() {
            while let Some((number, (_, (vreg, components)))) =
                reloads.next_if(|(_, (at, _))| *at as usize == index)
            {
                let name = self.names.reloads[block][number];
                self.reload(*vreg, name, components, inst.loc, &mut out);
                current.insert(*vreg, name);
            }
            let defs = work::defs(&inst);
            let inst = self.renamed(block, &current, inst);
            let loc = inst.loc;
            out.push(inst, origin);
            for (reg, width) in defs {
                if let Some(Home::Slot(offset)) = self.homes.get(reg.id().index()).cloned().flatten()
                    && self.store_at[reg.id().index()] == StoreAt::Definition
                {
                    let components: SmallVec<[u8; 4]> = (reg.component()..reg.component() + width).collect();
                    self.store(reg, &components, loc, offset, &mut out);
                }
            }
        }
        self.work.put_body(block, out);
    }

    /// An instruction with the present names of its operands.
    fn renamed(&self, block: MBlockId, current: &FxHashMap<u32, VReg>, inst: MInst<VReg>) -> MInst<VReg> {
        let defs = work::defs(&inst);
        inst.map(|reg| {
            if reg.file() != RegFile::Gpr || defs.iter().any(|(def, _)| def.id() == reg.id()) {
                return reg;
            }
            let vreg = reg.id().as_u32();
            let name = current.get(&vreg).copied().unwrap_or_else(|| self.name_at_start(block, vreg));
            reg.with_id(name.id())
        })
    }

    /// The edges of a block; blocks on edges join the layout.
    fn end(&mut self, block: MBlockId, layout: &mut Vec<MBlockId>) {
        let data = &self.work.mir.blocks[block];
        let loc = data.term_loc;
        let mut term = data.term.clone();
        let single = term.edges().len() == 1;
        for (number, edge) in term.edges_mut().into_iter().enumerate() {
            let mut code = Rebuilt::default();
            let args = self.edge(block, number as u32, edge, loc, &mut code);
            if code.insts.is_empty() {
                edge.args = args;
            } else if single {
                edge.args = args;
                let data = &mut self.work.mir.to_mut().blocks[block];
                let at = end_of_body(&data.insts);
                data.insts.splice(at..at, code.insts);
                self.work.origins[block].splice(at..at, code.origins);
            } else {
                layout.push(self.work.split_edge(block, edge, args, code));
            }
        }
        self.work.mir.to_mut().blocks[block].term = term;
    }

    /// The code of an edge, and its arguments: those of parameters that stay, then those of new
    /// ones.
    fn edge(
        &mut self,
        block: MBlockId,
        number: u32,
        edge: &Edge<VReg>,
        loc: SourceLoc,
        code: &mut Rebuilt,
    ) -> SmallVec<[EdgeArg<VReg>; 2]> {
        let residence = self.residence;
        let ends_with = |reg: VReg| residence.exit[block].binary_search(&reg.id().as_u32()).is_ok();
        let starts_with = |reg: VReg| residence.entry[edge.block].binary_search(&reg.id().as_u32()).is_ok();
        for &(_, vreg) in residence.missing[block].iter().filter(|&&(edge, _)| edge == number) {
            let Some(name) = self.names.on_edge(block, number, vreg) else { continue };
            let components = self.live_at_start(vreg, edge.block);
            self.reload(vreg, name, &components, loc, code);
        }
        let mut args: SmallVec<[EdgeArg<VReg>; 2]> = SmallVec::new();
        let mut between_slots: Vec<(u32, u32)> = Vec::new();
        let mut to_slots: Vec<(u32, u8, EdgeArg<VReg>)> = Vec::new();
        let params: SmallVec<[Tuple<VReg>; 4]> =
            self.work.mir.blocks[edge.block].params.iter().copied().collect();
        for (param, &arg) in params.iter().zip(&edge.args) {
            let stays = param.reg.file() != RegFile::Gpr || starts_with(param.reg);
            match arg {
                EdgeArg::Reg(reg) if reg.file() == RegFile::Gpr => {
                    let from = match self.homes.get(reg.id().index()).cloned().flatten() {
                        Some(Home::Slot(offset)) => Some(offset + 4 * u32::from(reg.component())),
                        _ => None,
                    };
                    let to = match self.homes[param.reg.id().index()] {
                        Some(Home::Slot(offset)) if !stays => Some(offset),
                        _ => None,
                    };
                    if !stays && from.is_some() && from == to {
                        continue;
                    }
                    if let (false, false, Some(to), Some(from)) = (stays, ends_with(reg), to, from) {
                        let words = (0..u32::from(param.width)).map(|word| (to + 4 * word, from + 4 * word));
                        between_slots.extend(words);
                        continue;
                    }
                    let name = if ends_with(reg) {
                        reg.with_id(self.name_at_end(block, reg.id().as_u32()).id())
                    } else {
                        let data = self.work.mir.vregs[reg.id()];
                        let name = self.work.new_short(data.file, data.width);
                        let components: SmallVec<[u8; 4]> =
                            (reg.component()..reg.component() + param.width).collect();
                        self.reload(reg.id().as_u32(), name, &components, loc, code);
                        reg.with_id(name.id())
                    };
                    match to {
                        Some(to) => to_slots.push((to, param.width, EdgeArg::Reg(name))),
                        None if stays => args.push(EdgeArg::Reg(name)),
                        None => {}
                    }
                }
                _ if stays => args.push(arg),
                EdgeArg::Imm(_) => {
                    if let Some(Home::Slot(to)) = self.homes[param.reg.id().index()] {
                        to_slots.push((to, param.width, arg));
                    }
                }
                _ => {}
            }
        }
        copy_slots(self.work, &between_slots, loc, code);
        for (to, width, arg) in to_slots {
            match arg {
                EdgeArg::Reg(reg) => fill_slot_with(self.work, to, width, reg, loc, code),
                EdgeArg::Imm(bits) => fill_slot(self.work, to, width, bits, loc, code),
                EdgeArg::Undef => {}
            }
        }
        let mut known: Option<(u32, VReg)> = None;
        for &(vreg, param) in &self.params[edge.block] {
            let (_, from) = known.filter(|&(other, _)| other == vreg).unwrap_or_else(|| {
                let from = self.names.on_edge(block, number, vreg);
                (vreg, from.unwrap_or_else(|| self.name_at_end(block, vreg)))
            });
            known = Some((vreg, from));
            args.push(EdgeArg::Reg(from.offset(param.reg.component())));
        }
        args
    }

    fn new_params(&self, block: MBlockId) -> Vec<(u32, Tuple<VReg>)> {
        let mut params = Vec::new();
        for &(vreg, name) in &self.names.params[block] {
            for (component, width) in runs(&self.live_at_start(vreg, block)) {
                params.push((vreg, Tuple { reg: name.offset(component), width }));
            }
        }
        params
    }

    fn replace_params(&mut self, block: MBlockId) {
        let entry = &self.residence.entry[block];
        let mut params = std::mem::take(&mut self.work.mir.to_mut().blocks[block].params);
        params.retain(|param| {
            param.reg.file() != RegFile::Gpr || entry.binary_search(&param.reg.id().as_u32()).is_ok()
        });
        params.extend(self.params[block].iter().map(|&(_, param)| param));
        self.work.mir.to_mut().blocks[block].params = params;
    }

    /// Removes definitions that are rematerialized wherever they are needed.
    fn drop_unread(&mut self) {
        let mir = &self.work.mir;
        let mut read = vec![false; mir.vregs.len()];
        for &block in &mir.layout {
            for inst in &mir.blocks[block].insts {
                inst.for_each_use(|reg, _| read[reg.id().index()] = true);
            }
            for_each_term_use(mir, block, |reg, _| read[reg.id().index()] = true);
        }
        for position in 0..self.work.mir.layout.len() {
            let block = self.work.mir.layout[position];
            let Rebuilt { insts, origins } = self.work.take_body(block);
            let mut out = Rebuilt::with_capacity(insts.len());
            for (inst, origin) in insts.into_iter().zip(origins) {
                let gone = work::defs(&inst).first().is_some_and(|(reg, _)| {
                    let home = self.homes.get(reg.id().index()).and_then(Option::as_ref);
                    matches!(home, Some(Home::Recompute(_))) && !read[reg.id().index()]
                });
                if !gone {
                    out.push(inst, origin);
                }
            }
            self.work.put_body(block, out);
        }
    }
}

/// The name of a value from its definition on.
fn own_name(vreg: u32) -> VReg {
    VReg::new(VRegId::from_u32(vreg), 0, RegFile::Gpr)
}

/// Neighbouring components as aligned tuples of 4, 2 or 1.
fn runs(components: &[u8]) -> SmallVec<[(u8, u8); 4]> {
    let mut list = SmallVec::new();
    let mut rest = components;
    while let Some(&first) = rest.first() {
        let size = [4u8, 2].into_iter().find(|&size| {
            let tuple = rest.get(..usize::from(size));
            first.is_multiple_of(size)
                && tuple.is_some_and(|tuple| tuple[usize::from(size) - 1] == first + size - 1)
        });
        let size = size.unwrap_or(1);
        list.push((first, size));
        rest = &rest[usize::from(size)..];
    }
    list
}
