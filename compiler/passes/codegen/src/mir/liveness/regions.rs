//! The parts of a function where lanes are apart, for [liveness](super): a value in a uniform
//! register for one arm of a branch has to survive the other arm.

use cranelift_entity::SecondaryMap;

use crate::mir::cfg::for_blocks;
use crate::mir::{Cfg, MBlockId, Mir, VReg};

/// The divergent regions, and for each block the regions that it touches as a member or as a
/// sibling of a member.
pub(super) struct Regions {
    members: Vec<Vec<MBlockId>>,
    touching: SecondaryMap<MBlockId, Vec<u32>>,
}

impl Regions {
    /// Finds the regions by union and find: blocks that edges join, or that are targets of one
    /// branch.
    pub(super) fn new(mir: &Mir<VReg>, cfg: &Cfg) -> Regions {
        let mut regions = Regions { members: Vec::new(), touching: for_blocks(mir, Vec::new()) };
        if !mir.layout.iter().any(|&block| mir.blocks[block].divergent) {
            return regions;
        }
        let mut group: SecondaryMap<MBlockId, u32> = for_blocks(mir, 0);
        let mut parent: Vec<u32> = Vec::new();
        for &block in &mir.layout {
            group[block] = parent.len() as u32;
            parent.push(group[block]);
        }
        let divergent = |block: MBlockId| mir.blocks[block].divergent;
        for &block in &mir.layout {
            let mut first = Some(block).filter(|&block| divergent(block));
            for edge in mir.blocks[block].term.edges() {
                if divergent(edge.block) {
                    match first {
                        Some(first) => unite(&mut parent, group[first], group[edge.block]),
                        None => first = Some(edge.block),
                    }
                }
            }
        }
        let mut number: Vec<Option<u32>> = vec![None; parent.len()];
        let mut region_of: SecondaryMap<MBlockId, Option<u32>> = for_blocks(mir, None);
        for &block in mir.layout.iter().filter(|&&block| divergent(block)) {
            let root = find(&mut parent, group[block]) as usize;
            let region = *number[root].get_or_insert_with(|| {
                regions.members.push(Vec::new());
                regions.members.len() as u32 - 1
            });
            regions.members[region as usize].push(block);
            regions.touching[block].push(region);
            region_of[block] = Some(region);
        }
        for &block in &mir.layout {
            let edges = mir.blocks[block].term.edges();
            // Targets of one branch that are in a region are all in the same one.
            let Some(region) = edges.iter().find_map(|edge| region_of[edge.block]) else { continue };
            for edge in &edges {
                let touching = &mut regions.touching[edge.block];
                if !touching.contains(&region) && cfg.rank(edge.block).is_some() {
                    touching.push(region);
                }
            }
        }
        regions
    }

    /// The number of regions.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// The blocks of a region.
    pub(super) fn members(&self, region: u32) -> &[MBlockId] {
        &self.members[region as usize]
    }

    /// The regions that a block touches.
    pub(super) fn touching(&self, block: MBlockId) -> &[u32] {
        &self.touching[block]
    }
}

fn find(parent: &mut [u32], mut at: u32) -> u32 {
    while parent[at as usize] != at {
        parent[at as usize] = parent[parent[at as usize] as usize];
        at = parent[at as usize];
    }
    at
}

fn unite(parent: &mut [u32], a: u32, b: u32) {
    let (a, b) = (find(parent, a), find(parent, b));
    parent[a.max(b) as usize] = a.min(b);
}
