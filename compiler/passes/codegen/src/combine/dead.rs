//! Removes instructions whose results are not read.
//!
//! ```text
//! LDC %r3, c[0x0][0x220]        // %r3 unused     =>   (nothing)
//! ```
//!
//! An instruction is dead if it only computes registers, or loads data that may be loaded at any
//! time, and none of its components is live. Liveness of components spreads backwards from the
//! instructions with effects and the terminators; parameters of blocks are live if their component
//! is. One walk from the last instruction to the first finds nearly all live instructions, since
//! most readers come after the definitions that they read. Definitions that only a later iteration
//! of a loop reads are put on a list and visited after the walk. Cost: linear in the operands.

use cranelift_entity::{EntityRef, SecondaryMap};
use ptxc_machine::Arch;

use crate::mir::liveness::Components;
use crate::mir::{Edge, EdgeArg, MBlockId, MInst, Mir, VReg};

/// Removes dead instructions and dead block parameters.
pub fn dead(mir: &mut Mir<VReg>, _arch: Arch) -> bool {
    let Needed { components, live, firsts, kept, .. } = Needed::new(mir);
    let is_live = |reg: VReg, width: u8| components.range(reg, width).any(|index| live[index]);
    let params_changed = remove_params(mir, is_live);
    let mut insts_changed = false;
    for &block in &mir.layout {
        let insts = &mut mir.blocks[block].insts;
        let kept = &kept[firsts[block.index()] as usize..][..insts.len()];
        if kept.contains(&false) {
            insts_changed = true;
            let mut kept = kept.iter();
            insts.retain(|_| {
                ptxc_interrupt::poll();
                kept.next() == Some(&true)
            });
        }
    }
    params_changed || insts_changed
}

/// Marks a missing edge or place.
const NONE: u32 = u32::MAX;

/// The definition of a component.
#[derive(Clone, Copy)]
struct Origin {
    /// The number of the block; [`NONE`] until the walk has reached it, and for definitions that
    /// stay in any case.
    block: u32,
    /// The number of the parameter, or of the instruction, counted after all parameters.
    place: u32,
}

/// An edge with arguments, and the next older one to the same block.
struct Way<'a> {
    edge: &'a Edge<VReg>,
    older: u32,
}

/// The needed parts of a function.
struct Needed<'a> {
    mir: &'a Mir<VReg>,
    components: Components,
    live: Vec<bool>,
    origins: Vec<Origin>,
    /// Live components whose origin the walk has already passed.
    work: Vec<u32>,
    ways: Vec<Way<'a>>,
    /// For each block the newest of the edges that reach it with arguments.
    newest: Vec<u32>,
    /// For each block the number of its first instruction among those of the function.
    firsts: Vec<u32>,
    /// For each instruction whether it stays.
    kept: Vec<bool>,
}

impl<'a> Needed<'a> {
    fn new(mir: &'a Mir<VReg>) -> Needed<'a> {
        let components = Components::new(mir);
        let mut firsts = vec![0; mir.blocks.len()];
        let mut count = 0;
        for &block in &mir.layout {
            firsts[block.index()] = count as u32;
            count += mir.blocks[block].insts.len();
        }
        let mut needed = Needed {
            mir,
            live: vec![false; components.len()],
            origins: vec![Origin { block: NONE, place: 0 }; components.len()],
            components,
            work: Vec::new(),
            ways: Vec::new(),
            newest: vec![NONE; mir.blocks.len()],
            firsts,
            kept: vec![false; count],
        };
        needed.find_ways();
        for &block in mir.layout.iter().rev() {
            needed.walk(block);
        }
        while let Some(index) = needed.work.pop() {
            needed.follow(needed.origins[index as usize]);
        }
        needed
    }

    fn find_ways(&mut self) {
        for &block in &self.mir.layout {
            for edge in self.mir.blocks[block].term.edges() {
                if !edge.args.is_empty() {
                    let number = self.ways.len() as u32;
                    let older = std::mem::replace(&mut self.newest[edge.block.index()], number);
                    self.ways.push(Way { edge, older });
                }
            }
        }
    }

    /// Walks a block from its end to its start.
    fn walk(&mut self, block: MBlockId) {
        let data = &self.mir.blocks[block];
        if let Some((&selector, width)) = data.term.selector() {
            self.mark(selector, width);
        }
        let first = self.firsts[block.index()] as usize;
        for (number, inst) in data.insts.iter().enumerate().rev() {
            ptxc_interrupt::poll();
            let place = (data.params.len() + number) as u32;
            self.kept[first + number] = self.is_needed(inst, Origin { block: block.as_u32(), place });
        }
        for (number, param) in data.params.iter().enumerate() {
            let range = self.components.range(param.reg, param.width);
            self.origins[range.clone()].fill(Origin { block: block.as_u32(), place: number as u32 });
            if self.live[range].contains(&true) {
                self.mark_args(block, number);
            }
        }
    }

    /// Whether an instruction stays, as far as the walk knows; if so, marks its operands as live.
    fn is_needed(&mut self, inst: &MInst<VReg>, here: Origin) -> bool {
        if must_stay(inst) {
            inst.for_each_use(|reg, width| self.mark(reg, width));
            return true;
        }
        let Needed { components, live, origins, .. } = self;
        // An instruction that writes nothing has another purpose.
        let (mut writes, mut is_live) = (false, false);
        inst.inst.for_each_def(|access| {
            writes = true;
            for index in components.range(access.reg, access.width) {
                is_live |= live[index];
                origins[index] = here;
            }
        });
        let is_needed = is_live || !writes;
        if is_needed {
            inst.for_each_use(|reg, width| self.mark(reg, width));
        }
        is_needed
    }

    fn mark(&mut self, reg: VReg, width: u8) {
        for index in self.components.range(reg, width) {
            if !std::mem::replace(&mut self.live[index], true) && self.origins[index].block != NONE {
                self.work.push(index as u32);
            }
        }
    }

    /// Marks the arguments of a parameter as live.
    fn mark_args(&mut self, block: MBlockId, number: usize) {
        let width = self.mir.blocks[block].params[number].width;
        let mut next = self.newest[block.index()];
        while let Some(&Way { edge, older }) = self.ways.get(next as usize) {
            if let Some(&EdgeArg::Reg(reg)) = edge.args.get(number) {
                self.mark(reg, width);
            }
            next = older;
        }
    }

    /// Marks the definition of a live component as needed.
    fn follow(&mut self, origin: Origin) {
        let block = MBlockId::from_u32(origin.block);
        let (data, place) = (&self.mir.blocks[block], origin.place as usize);
        let Some(number) = place.checked_sub(data.params.len()) else {
            return self.mark_args(block, place);
        };
        let kept = &mut self.kept[self.firsts[block.index()] as usize + number];
        if !std::mem::replace(kept, true) {
            data.insts[number].for_each_use(|reg, width| self.mark(reg, width));
        }
    }
}

/// Whether an instruction stays even if nothing reads its results.
fn must_stay(inst: &MInst<VReg>) -> bool {
    let effects = inst.inst.row().effects;
    effects.writes_memory
        || effects.fence
        || effects.convergent
        || effects.branch
        || effects.exit
        || inst.call.is_some()
}

/// Removes the parameters without live components, and their arguments. Returns whether there are
/// any.
fn remove_params(mir: &mut Mir<VReg>, is_live: impl Fn(VReg, u8) -> bool) -> bool {
    let mut kept: SecondaryMap<MBlockId, Vec<bool>> = SecondaryMap::new();
    let mut changed = false;
    for &block in &mir.layout {
        let params = &mut mir.blocks[block].params;
        if !params.iter().all(|param| is_live(param.reg, param.width)) {
            changed = true;
            kept[block] = params.iter().map(|param| is_live(param.reg, param.width)).collect();
            params.retain(|param| is_live(param.reg, param.width));
        }
    }
    if changed {
        for &block in &mir.layout {
            for edge in mir.blocks[block].term.edges_mut() {
                let kept = &kept[edge.block];
                if !kept.is_empty() {
                    let mut kept = kept.iter();
                    edge.args.retain(|_| kept.next() == Some(&true));
                }
            }
        }
    }
    changed
}
