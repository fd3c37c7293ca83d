//! Names of values whose live ranges are split.
//!
//! In: a function and where its values are ([`Residence`]). Out: a virtual register for each time that one comes
//! back, and the name under which each block begins with it:
//!
//! ```text
//! mb0: %r0 = …           mb1: back as %r8         mb2 (from mb0 and mb1): parameter %r9(%r0, %r8)
//! ```
//!
//! Names are propagated forward over the blocks in sweeps of reverse postorder until nothing changes. Where two
//! names arrive a parameter takes both and is the name from there on (the parameters of Braun et al., "Simple and
//! efficient construction of static single assignment form", CC 2013, placed ahead of the rewriting). A parameter
//! once made stays, so each value changes its name in a block a few times at most. Cost: linear in the blocks that a
//! value that comes back is in a register in.

use cranelift_entity::SecondaryMap;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::residence::Residence;
use super::work::{self, Work};
use crate::mir::{Cfg, MBlockId, VReg, VRegId};

/// The names.
#[derive(Default)]
pub(super) struct Names {
    /// Of what comes back before instructions, in the order of [`Residence::reloads`].
    pub reloads: SecondaryMap<MBlockId, Vec<VReg>>,
    /// Of what comes back on an edge: block, number of the edge, virtual register.
    pub edges: FxHashMap<(MBlockId, u32, u32), VReg>,
    /// At the start of blocks, of virtual registers that have several.
    pub present: FxHashMap<(MBlockId, u32), VReg>,
    /// New parameters: names that meet, with what they are names of.
    pub params: SecondaryMap<MBlockId, Vec<(u32, VReg)>>,
}

impl Names {
    /// Gives reloads their names, and blocks those that reach them.
    pub fn new(work: &mut Work<'_>, cfg: &Cfg, residence: &Residence) -> Names {
        let mut names = Names::default();
        let mut several: FxHashSet<u32> = FxHashSet::default();
        let mut last: FxHashMap<(MBlockId, u32), VReg> = FxHashMap::default();
        for &block in cfg.order() {
            for &(_, (vreg, _)) in &residence.reloads[block] {
                let name = rename(work, vreg);
                names.reloads[block].push(name);
                last.insert((block, vreg), name);
                several.insert(vreg);
            }
            let edges: SmallVec<[MBlockId; 2]> =
                work.mir.blocks[block].term.edges().iter().map(|edge| edge.block).collect();
            for (number, &target) in edges.iter().enumerate() {
                for vreg in missing_values(work, residence, block, target) {
                    let name = rename(work, vreg);
                    names.edges.insert((block, number as u32, vreg), name);
                    several.insert(vreg);
                }
            }
        }
        // What a block hands on of its own: the last name in it, or the value itself where it is defined.
        for &block in cfg.order() {
            let data = &work.mir.blocks[block];
            let mut define = |reg: VReg| {
                if several.contains(&reg.id().as_u32()) {
                    last.entry((block, reg.id().as_u32())).or_insert(reg.with_component(0));
                }
            };
            data.params.iter().for_each(|param| define(param.reg));
            data.insts.iter().flat_map(work::defs).for_each(|(reg, _)| define(reg));
        }
        let mut edges_into: SecondaryMap<MBlockId, SmallVec<[(MBlockId, u32); 2]>> = SecondaryMap::new();
        for &block in cfg.order() {
            for (number, edge) in work.mir.blocks[block].term.edges().iter().enumerate() {
                edges_into[edge.block].push((block, number as u32));
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &block in cfg.order() {
                for &vreg in &residence.entry[block] {
                    let own = || work.mir.blocks[block].params.iter().any(|p| p.reg.id().as_u32() == vreg);
                    if !several.contains(&vreg) || own() {
                        continue;
                    }
                    let known = names.present.get(&(block, vreg)).copied();
                    if known.is_some_and(|name| names.params[block].iter().any(|&(_, param)| param == name)) {
                        continue;
                    }
                    let mut arriving: Option<VReg> = None;
                    let mut meets = false;
                    for &(pred, number) in &edges_into[block] {
                        let name = match names.edges.get(&(pred, number, vreg)) {
                            Some(&name) => Some(name),
                            None => {
                                last.get(&(pred, vreg)).or_else(|| names.present.get(&(pred, vreg))).copied()
                            }
                        };
                        meets |= name.is_some() && arriving.is_some() && name != arriving;
                        arriving = arriving.or(name);
                    }
                    let name = if meets {
                        let name = rename(work, vreg);
                        names.params[block].push((vreg, name));
                        Some(name)
                    } else {
                        arriving
                    };
                    if name != known
                        && let Some(name) = name
                    {
                        names.present.insert((block, vreg), name);
                        changed = true;
                    }
                }
            }
        }
        names
    }
}

/// A new name of a virtual register.
fn rename(work: &mut Work<'_>, vreg: u32) -> VReg {
    let data = work.mir.vregs[VRegId::from_u32(vreg)];
    work.mir.to_mut().new_vreg(data.file, data.width)
}

/// The values, not arguments, that must come back on an edge.
pub(super) fn missing_values(
    work: &Work<'_>,
    residence: &Residence,
    block: MBlockId,
    target: MBlockId,
) -> Vec<u32> {
    let exit = &residence.exit[block];
    let params = &work.mir.blocks[target].params;
    let entry = residence.entry[target].iter().copied();
    let absent = entry.filter(|vreg| exit.binary_search(vreg).is_err());
    absent.filter(|&vreg| !params.iter().any(|param| param.reg.id().as_u32() == vreg)).collect()
}
