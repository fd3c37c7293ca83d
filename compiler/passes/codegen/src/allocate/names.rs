//! Names of values whose live ranges are split.
//!
//! In: a function and the places of its values ([`Residence`]). Out: a virtual register for each
//! reload of a value, and the name of each value at the start of each block:
//!
//! ```text
//! mb0: %r0 = …           mb1: back as %r8         mb2 (from mb0 and mb1): parameter %r9(%r0, %r8)
//! ```
//!
//! Names are propagated forward over the blocks in sweeps of reverse postorder until nothing
//! changes. Where two names arrive, a parameter takes both and is the name from then on (the
//! parameters of Braun et al., "Simple and efficient construction of static single assignment
//! form", CC 2013, placed before the rewriting). A parameter stays once it has been made, so each
//! value changes its name in a block only a few times. The names at the borders of a block are
//! lists beside its [`Residence::entry`] and [`Residence::exit`]. Cost: linear in the sizes of
//! these.

use cranelift_entity::{EntityRef, SecondaryMap};
use smallvec::SmallVec;

use super::residence::Residence;
use super::work::Work;
use crate::mir::{Cfg, MBlockId, VReg, VRegId, for_blocks};

/// A reload on an edge: the number of the edge in its block, the virtual register, the name.
type OnEdge = (u32, u32, VReg);

/// The names.
#[derive(Default)]
pub(super) struct Names {
    /// The names of reloads before instructions, in the order of [`Residence::reloads`].
    pub reloads: SecondaryMap<MBlockId, Vec<VReg>>,
    /// The names of reloads on the edges of a block, ascending.
    edges: SecondaryMap<MBlockId, Vec<OnEdge>>,
    /// The names at the start of a block, one for each of [`Residence::entry`]; `None` if nothing
    /// was ever written to the virtual register.
    at_start: SecondaryMap<MBlockId, Vec<Option<VReg>>>,
    /// The names at the end of a block, one for each of [`Residence::exit`].
    at_end: SecondaryMap<MBlockId, Vec<Option<VReg>>>,
    /// New parameters where names meet: the virtual registers and the names.
    pub params: SecondaryMap<MBlockId, Vec<(u32, VReg)>>,
}

/// The name of a virtual register in a list of names, which has one for each of `vregs`, ascending.
fn find(vregs: &[u32], names: &[Option<VReg>], vreg: u32) -> Option<VReg> {
    vregs.binary_search(&vreg).ok().and_then(|at| *names.get(at)?)
}

impl Names {
    /// Gives names to reloads, and finds the names that reach each block.
    pub fn new(work: &mut Work<'_>, cfg: &Cfg, residence: &Residence) -> Names {
        let mut names = Names {
            reloads: for_blocks(&work.mir, Vec::new()),
            edges: for_blocks(&work.mir, Vec::new()),
            at_start: for_blocks(&work.mir, Vec::new()),
            at_end: for_blocks(&work.mir, Vec::new()),
            params: for_blocks(&work.mir, Vec::new()),
        };
        // By virtual register, whether it is reloaded somewhere.
        let mut several = vec![false; work.mir.vregs.len()];
        for &block in cfg.order() {
            for &(_, (vreg, _)) in &residence.reloads[block] {
                names.reloads[block].push(rename(work, vreg));
                several[vreg as usize] = true;
            }
            for &(number, vreg) in &residence.missing[block] {
                names.edges[block].push((number, vreg, rename(work, vreg)));
                several[vreg as usize] = true;
            }
        }
        Propagation::new(work, cfg, residence, &several, names).run()
    }

    /// The name of a virtual register at the start of a block, if that is not its own.
    pub fn at_start(&self, residence: &Residence, block: MBlockId, vreg: u32) -> Option<VReg> {
        find(&residence.entry[block], &self.at_start[block], vreg)
    }

    /// The same at the end of a block.
    pub fn at_end(&self, residence: &Residence, block: MBlockId, vreg: u32) -> Option<VReg> {
        find(&residence.exit[block], &self.at_end[block], vreg)
    }

    /// The name of a virtual register that is reloaded on an edge of a block.
    pub fn on_edge(&self, block: MBlockId, number: u32, vreg: u32) -> Option<VReg> {
        let edges = &self.edges[block];
        let found = edges.binary_search_by_key(&(number, vreg), |&(number, vreg, _)| (number, vreg));
        found.ok().map(|at| edges[at].2)
    }
}

/// Names on their way through the blocks.
struct Propagation<'a, 'm> {
    work: &'a mut Work<'m>,
    cfg: &'a Cfg,
    residence: &'a Residence,
    names: Names,
    /// For each of [`Residence::entry`], whether its name at the start of the block can change.
    is_open: SecondaryMap<MBlockId, Vec<bool>>,
    /// The last names in a block of the virtual registers that it defines or reloads, ascending.
    given: SecondaryMap<MBlockId, Vec<(u32, VReg)>>,
    /// The edges into a block: the source block, and the number of the edge there.
    edges_into: SecondaryMap<MBlockId, SmallVec<[(MBlockId, u32); 2]>>,
}

impl<'a, 'm> Propagation<'a, 'm> {
    fn new(
        work: &'a mut Work<'m>,
        cfg: &'a Cfg,
        residence: &'a Residence,
        several: &[bool],
        mut names: Names,
    ) -> Propagation<'a, 'm> {
        let mir = &work.mir;
        let mut is_open = for_blocks(mir, Vec::new());
        let mut given = for_blocks(mir, Vec::new());
        let mut edges_into: SecondaryMap<MBlockId, SmallVec<[(MBlockId, u32); 2]>> =
            for_blocks(mir, SmallVec::new());
        // By virtual register, the block that has it as a parameter.
        let mut param_of: Vec<Option<MBlockId>> = vec![None; several.len()];
        for &block in cfg.order() {
            ptxc_interrupt::poll();
            let data = &mir.blocks[block];
            data.params.iter().for_each(|param| param_of[param.reg.id().index()] = Some(block));
            is_open[block] = residence.entry[block]
                .iter()
                .map(|&vreg| several[vreg as usize] && param_of[vreg as usize] != Some(block))
                .collect();
            names.at_start[block] = vec![None; residence.entry[block].len()];
            names.at_end[block] = vec![None; residence.exit[block].len()];
            let back = residence.reloads[block].iter().zip(&names.reloads[block]);
            let mut last: Vec<(u32, bool, VReg)> =
                back.map(|(&(_, (vreg, _)), &name)| (vreg, false, name)).rev().collect();
            // The value itself, if it is defined here and not reloaded.
            let mut define = |reg: VReg| {
                if several[reg.id().index()] {
                    last.push((reg.id().as_u32(), true, reg.with_component(0)));
                }
            };
            data.params.iter().for_each(|param| define(param.reg));
            data.insts.iter().for_each(|inst| inst.for_each_def(|reg, _| define(reg)));
            last.sort_by_key(|&(vreg, is_own, _)| (vreg, is_own));
            last.dedup_by_key(|&mut (vreg, ..)| vreg);
            given[block] = last.into_iter().map(|(vreg, _, name)| (vreg, name)).collect();
            for (number, edge) in data.term.edges().iter().enumerate() {
                edges_into[edge.block].push((block, number as u32));
            }
        }
        Propagation { work, cfg, residence, names, is_open, given, edges_into }
    }

    /// Sweeps until nothing changes. After the first sweep a block is visited only if names at the
    /// end of a predecessor have changed.
    fn run(mut self) -> Names {
        let cfg = self.cfg;
        for &block in cfg.order() {
            self.end(block);
        }
        let mut is_due = for_blocks(&self.work.mir, true);
        loop {
            let mut changed = false;
            for &block in cfg.order() {
                if !std::mem::replace(&mut is_due[block], false) {
                    continue;
                }
                ptxc_interrupt::poll();
                if self.start(block) && self.end(block) {
                    for edge in self.work.mir.blocks[block].term.edges() {
                        is_due[edge.block] = true;
                    }
                    changed = true;
                }
            }
            if !changed {
                return self.names;
            }
        }
    }

    /// Finds the names at the start of a block; returns whether any has changed.
    fn start(&mut self, block: MBlockId) -> bool {
        let entry = &self.residence.entry[block];
        if !self.is_open[block].contains(&true) {
            return false;
        }
        let mut arriving: Vec<Option<VReg>> = vec![None; entry.len()];
        let mut meets = vec![false; entry.len()];
        for &(pred, number) in &self.edges_into[block] {
            let mut exit = self.residence.exit[pred].iter().zip(&self.names.at_end[pred]).peekable();
            for (at, &vreg) in entry.iter().enumerate() {
                while exit.next_if(|&(&other, _)| other < vreg).is_some() {}
                if !self.is_open[block][at] {
                    continue;
                }
                let name = match exit.peek() {
                    Some(&(&other, &name)) if other == vreg => name,
                    _ => self.names.on_edge(pred, number, vreg),
                };
                meets[at] |= name.is_some() && arriving[at].is_some() && name != arriving[at];
                arriving[at] = arriving[at].or(name);
            }
        }
        let mut changed = false;
        for (at, &vreg) in entry.iter().enumerate() {
            if !self.is_open[block][at] {
                continue;
            }
            let mut name = arriving[at];
            if meets[at] {
                let param = rename(self.work, vreg);
                self.names.params[block].push((vreg, param));
                self.is_open[block][at] = false;
                name = Some(param);
            }
            if name.is_some() && name != self.names.at_start[block][at] {
                self.names.at_start[block][at] = name;
                changed = true;
            }
        }
        changed
    }

    /// Finds the names at the end of a block; returns whether any has changed.
    fn end(&mut self, block: MBlockId) -> bool {
        let Names { at_start, at_end, .. } = &mut self.names;
        let mut starts = self.residence.entry[block].iter().zip(&at_start[block]).peekable();
        let mut given = self.given[block].iter().peekable();
        let mut changed = false;
        for (&vreg, name) in self.residence.exit[block].iter().zip(&mut at_end[block]) {
            while starts.next_if(|&(&other, _)| other < vreg).is_some() {}
            while given.next_if(|&&(other, _)| other < vreg).is_some() {}
            let found = match (given.peek(), starts.peek()) {
                (Some(&&(other, name)), _) if other == vreg => Some(name),
                (_, Some(&(&other, &name))) if other == vreg => name,
                _ => None,
            };
            changed |= found != *name;
            *name = found;
        }
        changed
    }
}

/// A new name of a virtual register.
fn rename(work: &mut Work<'_>, vreg: u32) -> VReg {
    let data = work.mir.vregs[VRegId::from_u32(vreg)];
    work.mir.to_mut().new_vreg(data.file, data.width)
}
