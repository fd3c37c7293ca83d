//! Liveness of `Mir<VReg>`, by component.
//!
//! In: a `Mir<VReg>` in SSA form. Out: for each block the components that are live at its start and
//! at its end, and, on request, the components that are live at every instruction, and their number
//! of registers in each file.
//!
//! ```text
//! mb0:  %r0 = S2R SR_TID.X            live out of mb0: %r0
//!       jump mb1(RZ)                  live into mb1:   %r0        (its parameter %r1 is defined there)
//! mb1(%r1):  …  @%p0 mb1(%r2), mb2    live out of mb1: %r0        (%r2 is read by the terminator)
//! ```
//!
//! Conventions: a block's parameters are defined at its start, so they are not live into it. The
//! predicate and the edge arguments of a terminator are read at the end of its block: they are not
//! live out unless a successor needs them, too.
//!
//! **Once per warp.** All lanes share a uniform register. After a divergent branch the warp runs
//! both arms in some order, so a value that one arm reads must survive the other. The divergent
//! blocks therefore form regions: blocks that are joined by edges, or that are targets of one
//! branch. A uniform component that is live into one block of a region, or into a sibling of such a
//! block (another target of the same branch), is live through the whole region.
//!
//! Algorithm: for each use walk up to the definition (Appel and Palsberg, "Modern Compiler
//! Implementation", 19.6; Boissinot et al., "Computing Liveness Sets for SSA-Form Programs", 2011).
//! The components are taken in the order of their numbers, so that each set comes out sorted, and
//! its last element tells whether it already has the component. A component that is read only in
//! its defining block, after the definition, is not live across borders and needs no walk. Cost and
//! space: the components and the sum of the sizes of the sets.

mod regions;

use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use ptxc_sass::RegFile;

use self::regions::Regions;
use super::{Cfg, EdgeArg, MBlockId, Mir, VReg, VRegId};

/// The dense numbering of the components of all virtual registers.
#[derive(Clone, Debug, Default)]
pub struct Components {
    starts: Vec<u32>,
    regs: Vec<VReg>,
}

impl Components {
    /// Numbers the components in the order of their registers.
    pub fn new(mir: &Mir<VReg>) -> Components {
        let count = mir.vregs.values().map(|data| usize::from(data.width)).sum();
        let mut components =
            Components { starts: Vec::with_capacity(mir.vregs.len()), regs: Vec::with_capacity(count) };
        components.extend(mir);
        components
    }

    /// Numbers the components of virtual registers that have been added to a function since.
    pub fn extend(&mut self, mir: &Mir<VReg>) {
        for (number, data) in mir.vregs.as_values_slice().iter().enumerate().skip(self.starts.len()) {
            let id = VRegId::new(number);
            self.starts.push(self.regs.len() as u32);
            for component in 0..data.width {
                self.regs.push(VReg::new(id, component, data.file));
            }
        }
    }

    /// The number of components.
    pub fn len(&self) -> usize {
        self.regs.len()
    }

    /// Whether there are no components.
    pub fn is_empty(&self) -> bool {
        self.regs.is_empty()
    }

    /// The number of a component.
    pub fn index(&self, reg: VReg) -> usize {
        self.starts[reg.id().index()] as usize + reg.component() as usize
    }

    /// The numbers of a component and its neighbours, `width` in all.
    pub fn range(&self, reg: VReg, width: u8) -> std::ops::Range<usize> {
        let first = self.index(reg);
        first..first + width as usize
    }

    /// The component of a number.
    pub fn reg(&self, index: usize) -> VReg {
        self.regs[index]
    }

    /// The number of a register's first component.
    pub fn start(&self, id: VRegId) -> usize {
        self.starts[id.index()] as usize
    }
}

/// Registers of each file, in 32-bit registers or predicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure([u32; 4]);

impl Pressure {
    /// The registers of one file.
    pub const fn of(self, file: RegFile) -> u32 {
        self.0[file as usize]
    }

    /// The greater of both, file by file.
    pub fn max(self, other: Pressure) -> Pressure {
        Pressure(std::array::from_fn(|file| self.0[file].max(other.0[file])))
    }
}

/// The live components at one point of a block, during a walk.
#[derive(Clone, Debug)]
pub struct LivePoint<'a> {
    components: &'a Components,
    live: Vec<u64>,
    counts: Pressure,
}

impl<'a> LivePoint<'a> {
    /// A point for [`Liveness::walk_block`] in a function with these components.
    pub fn new(components: &'a Components) -> LivePoint<'a> {
        LivePoint { components, live: vec![0; components.len().div_ceil(64)], counts: Pressure::default() }
    }

    /// Whether a component is live here.
    pub fn contains(&self, reg: VReg) -> bool {
        let index = self.components.index(reg);
        self.live[index / 64] >> (index % 64) & 1 != 0
    }

    /// The number of registers of each file that are live here.
    pub fn pressure(&self) -> Pressure {
        self.counts
    }

    fn clear(&mut self) {
        self.live.fill(0);
        self.counts = Pressure::default();
    }

    fn insert(&mut self, index: usize) {
        let bit = 1 << (index % 64);
        if self.live[index / 64] & bit == 0 {
            self.live[index / 64] |= bit;
            self.counts.0[self.components.reg(index).file() as usize] += 1;
        }
    }

    fn remove(&mut self, index: usize) {
        let bit = 1 << (index % 64);
        if self.live[index / 64] & bit != 0 {
            self.live[index / 64] &= !bit;
            self.counts.0[self.components.reg(index).file() as usize] -= 1;
        }
    }
}

/// The components that are live at the borders of each block.
#[derive(Clone, Debug)]
pub struct Liveness {
    components: Components,
    live_in: Sets,
    /// The components that are live at the end of a block of a divergent region, even if they are
    /// not live at the start of a successor.
    kept: Sets,
}

/// A set of components for each block, ascending.
#[derive(Clone, Debug)]
struct Sets {
    /// By block, the start of its components in the list.
    starts: Vec<u32>,
    list: Vec<u32>,
}

impl Sets {
    fn of(&self, block: MBlockId) -> &[u32] {
        match self.starts.get(block.index()..block.index() + 2) {
            Some(&[start, end]) => &self.list[start as usize..end as usize],
            _ => &[],
        }
    }
}

/// Sets to which components are added in ascending order, in any order of blocks.
struct GrowingSets {
    /// By block, the component that was added last.
    last: Vec<u32>,
    /// The blocks of each component, one component after another.
    blocks: Vec<MBlockId>,
    /// The components, with the place of their first block.
    starts: Vec<(u32, u32)>,
}

impl GrowingSets {
    fn new(blocks: usize) -> GrowingSets {
        GrowingSets { last: vec![NONE; blocks], blocks: Vec::new(), starts: Vec::new() }
    }

    /// Continues with the next component.
    fn begin(&mut self, component: u32) {
        self.starts.push((component, self.blocks.len() as u32));
    }

    /// Adds the component to the set of a block; returns whether it is new there.
    fn add(&mut self, block: MBlockId, component: u32) -> bool {
        let is_new = std::mem::replace(&mut self.last[block.index()], component) != component;
        if is_new {
            self.blocks.push(block);
        }
        is_new
    }

    /// Adds the next component to all sets that have the previous one.
    fn repeat(&mut self, component: u32) {
        let start = self.starts.last().map_or(0, |&(_, start)| start as usize);
        self.begin(component);
        self.blocks.extend_from_within(start..);
    }

    /// The sets.
    fn sort(self) -> Sets {
        let mut starts = vec![0; self.last.len() + 1];
        for &block in &self.blocks {
            starts[block.index() + 1] += 1;
        }
        for block in 0..self.last.len() {
            starts[block + 1] += starts[block];
        }
        let mut next = starts.clone();
        let mut list = vec![0; self.blocks.len()];
        let ends = self.starts.iter().skip(1).map(|&(_, start)| start as usize).chain([self.blocks.len()]);
        for (&(component, start), end) in self.starts.iter().zip(ends) {
            for block in &self.blocks[start as usize..end] {
                let next = &mut next[block.index()];
                list[*next as usize] = component;
                *next += 1;
            }
        }
        Sets { starts, list }
    }
}

impl Liveness {
    /// Computes the liveness of a function in SSA form.
    pub fn new(mir: &Mir<VReg>) -> Liveness {
        let cfg = Cfg::new(mir);
        let components = Components::new(mir);
        let blocks = mir.blocks.len();
        let (mut live_in, mut kept) = (GrowingSets::new(blocks), GrowingSets::new(blocks));
        // Nothing crosses the borders of the only block.
        if let [block] = mir.layout[..]
            && cfg.preds(block).is_empty()
        {
            return Liveness { components, live_in: live_in.sort(), kept: kept.sort() };
        }
        let uses = Uses::new(mir, &components);
        let mut regions = None;
        let mut stack = Vec::new();
        // The last component that was made live through each region, so that this is not repeated.
        let mut through: Vec<Option<u32>> = Vec::new();
        for index in 0..components.len() as u32 {
            if uses.newest[index as usize] == NONE {
                continue;
            }
            let def = uses.defs[index as usize].expand();
            let uniform = components.reg(index as usize).file().is_uniform();
            // Most tuples are read as a whole.
            if !uniform && uses.is_like_the_one_before(index as usize, &components) {
                live_in.repeat(index);
                continue;
            }
            live_in.begin(index);
            kept.begin(index);
            uses.of(index as usize).filter(|&block| def != Some(block)).for_each(|block| stack.push(block));
            ptxc_interrupt::poll();
            while let Some(block) = stack.pop() {
                if !live_in.add(block, index) {
                    continue;
                }
                stack.extend(cfg.preds(block).iter().filter(|&&pred| def != Some(pred)));
                if !uniform {
                    continue;
                }
                let regions = regions.get_or_insert_with(|| {
                    let regions = Regions::new(mir, &cfg);
                    through.resize(regions.len(), None);
                    regions
                });
                for &region in regions.touching(block) {
                    if through[region as usize].replace(index) == Some(index) {
                        continue;
                    }
                    for &member in regions.members(region) {
                        kept.add(member, index);
                        if def != Some(member) {
                            stack.push(member);
                        }
                    }
                }
            }
        }
        Liveness { components, live_in: live_in.sort(), kept: kept.sort() }
    }

    /// The numbering of the components.
    pub fn components(&self) -> &Components {
        &self.components
    }

    /// The numbers of the components that are live at the start of a block, ascending; its
    /// parameters are not among them.
    pub fn live_in(&self, block: MBlockId) -> &[u32] {
        self.live_in.of(block)
    }

    /// The numbers of the components that are live at the end of a block, in no particular order: a
    /// component that several successors need occurs several times.
    pub fn live_out(&self, mir: &Mir<VReg>, block: MBlockId) -> impl Iterator<Item = u32> {
        let edges = mir.blocks[block].term.edges();
        let next = edges.into_iter().map(|edge| edge.block);
        next.flat_map(|next| self.live_in(next)).chain(self.kept.of(block)).copied()
    }

    /// A point for [`walk_block`](Self::walk_block), to be made once and used for many blocks.
    pub fn point(&self) -> LivePoint<'_> {
        LivePoint::new(&self.components)
    }

    /// Walks a block from its end to its start. `visit` sees the components that are live just
    /// after each instruction (including results that are read later, but no unread ones) and its
    /// number. At the end it sees the start of the block, where the parameters are live if they are
    /// read, with the number `None`.
    ///
    /// The point is cleared first; clearing costs one word for each 64 components. It may have more
    /// components than were numbered here: those that are live only within blocks.
    pub fn walk_block<'a>(
        &'a self,
        mir: &Mir<VReg>,
        block: MBlockId,
        point: &mut LivePoint<'a>,
        mut visit: impl FnMut(Option<usize>, &LivePoint<'a>),
    ) {
        point.clear();
        let components = point.components;
        for index in self.live_out(mir, block) {
            point.insert(index as usize);
        }
        for_each_term_use(mir, block, |reg, width| {
            components.range(reg, width).for_each(|index| point.insert(index));
        });
        for (number, inst) in mir.blocks[block].insts.iter().enumerate().rev() {
            ptxc_interrupt::poll();
            visit(Some(number), point);
            inst.for_each_def(|reg, width| {
                components.range(reg, width).for_each(|index| point.remove(index));
            });
            inst.for_each_use(|reg, width| {
                components.range(reg, width).for_each(|index| point.insert(index));
            });
        }
        visit(None, point);
    }

    /// The greatest number of registers that are live at once in a block, file by file. An unread
    /// result counts at its instruction.
    pub fn pressure<'a>(&'a self, mir: &Mir<VReg>, block: MBlockId, point: &mut LivePoint<'a>) -> Pressure {
        let mut greatest = Pressure::default();
        self.walk_block(mir, block, point, |number, live| {
            let mut here = live.pressure();
            if let Some(number) = number {
                mir.blocks[block].insts[number].for_each_def(|reg, width| {
                    let dead = (0..width).filter(|&n| !live.contains(reg.offset(n)));
                    here.0[reg.file() as usize] += dead.count() as u32;
                });
            }
            greatest = greatest.max(here);
        });
        greatest
    }
}

/// Calls `visit` for each register that a block's terminator reads: the predicate and edge
/// arguments.
pub fn for_each_term_use(mir: &Mir<VReg>, block: MBlockId, mut visit: impl FnMut(VReg, u8)) {
    let term = &mir.blocks[block].term;
    if let Some((&selector, width)) = term.selector() {
        visit(selector, width);
    }
    for edge in term.edges() {
        if edge.args.is_empty() {
            continue;
        }
        for (arg, param) in edge.args.iter().zip(&mir.blocks[edge.block].params) {
            if let EdgeArg::Reg(reg) = arg {
                visit(*reg, param.width);
            }
        }
    }
}

/// The blocks that define components, and the other blocks that read them.
struct Uses {
    defs: Vec<PackedOption<MBlockId>>,
    /// For each component, its newest place in `readers`.
    newest: Vec<u32>,
    /// Blocks that read a component, each with the place of the next older one.
    readers: Vec<(MBlockId, u32)>,
}

/// Marks a missing place.
const NONE: u32 = u32::MAX;

impl Uses {
    fn new(mir: &Mir<VReg>, components: &Components) -> Uses {
        let mut uses = Uses {
            defs: vec![PackedOption::default(); components.len()],
            newest: vec![NONE; components.len()],
            readers: Vec::new(),
        };
        for &block in &mir.layout {
            let data = &mir.blocks[block];
            for param in &data.params {
                uses.defs[components.range(param.reg, param.width)].fill(block.into());
            }
            for inst in &data.insts {
                ptxc_interrupt::poll();
                inst.for_each_access(|reg, width, is_def| {
                    let range = components.range(reg, width);
                    if is_def {
                        uses.defs[range].fill(block.into());
                    } else {
                        range.for_each(|index| uses.read(index, block));
                    }
                });
            }
            for_each_term_use(mir, block, |reg, width| {
                components.range(reg, width).for_each(|index| uses.read(index, block));
            });
        }
        uses
    }

    fn read(&mut self, index: usize, block: MBlockId) {
        let newest = self.newest[index];
        let is_known = self.readers.get(newest as usize).is_some_and(|&(reader, _)| reader == block);
        if !is_known && self.defs[index] != block.into() {
            self.newest[index] = self.readers.len() as u32;
            self.readers.push((block, newest));
        }
    }

    /// Whether a component belongs to the same register as the previous one, and is defined and
    /// read in the same blocks.
    fn is_like_the_one_before(&self, index: usize, components: &Components) -> bool {
        components.reg(index).component() > 0
            && self.defs[index] == self.defs[index - 1]
            && self.of(index).eq(self.of(index - 1))
    }

    /// The blocks that read a component, except the one that defines it.
    fn of(&self, index: usize) -> impl Iterator<Item = MBlockId> {
        let reader = |place: u32| self.readers.get(place as usize);
        std::iter::successors(reader(self.newest[index]), move |&&(_, older)| reader(older))
            .map(|&(block, _)| block)
    }
}

#[cfg(test)]
mod tests {
    use ptxc_ir::SourceLoc;
    use ptxc_sass::{Inst, Op, Operand, choice};

    use super::*;
    use crate::mir::{Edge, MBlock, MInst, Term};

    fn block(mir: &mut Mir<VReg>, divergent: bool) -> MBlockId {
        let block = mir.blocks.push(MBlock {
            params: Vec::new(),
            insts: Vec::new(),
            term: Term::Exit,
            term_loc: SourceLoc::NONE,
            frequency: 1024,
            divergent,
        });
        mir.layout.push(block);
        block
    }

    fn push(mir: &mut Mir<VReg>, block: MBlockId, inst: Inst<VReg>) {
        mir.blocks[block].insts.push(MInst::new(inst, SourceLoc::NONE));
    }

    fn edge(block: MBlockId) -> Edge<VReg> {
        Edge { block, args: Default::default() }
    }

    /// A divergent diamond: a uniform register that one arm reads must survive the other arm; a
    /// general register need not.
    #[test]
    fn uniform_registers_live_through_both_arms() {
        let mut mir = Mir::new("k", ptxc_machine::Arch::Sm90);
        let [head, left, right, join] = [false, true, true, false].map(|d| block(&mut mir, d));
        let uniform = mir.new_vreg(RegFile::Ugpr, 1);
        let general = mir.new_vreg(RegFile::Gpr, 1);
        let copy = mir.new_vreg(RegFile::Gpr, 1);
        let pred = mir.new_vreg(RegFile::Pred, 1);
        push(&mut mir, head, Inst::new(Op::UMOV).ops([Operand::reg(uniform), Operand::imm(1)]));
        push(&mut mir, head, Inst::new(Op::MOV).ops([Operand::reg(general), Operand::imm(1)]));
        push(
            &mut mir,
            head,
            Inst::new(Op::ISETP).with(choice!(ISETP, ".NE")).ops([
                Operand::reg(pred),
                Operand::reg(general),
                Operand::imm(0),
            ]),
        );
        mir.blocks[head].term = Term::Branch { pred, negated: false, then: edge(left), other: edge(right) };
        push(
            &mut mir,
            left,
            Inst::new(Op::IADD3).ops([
                Operand::reg(copy),
                Operand::reg(general),
                Operand::reg(uniform),
                Operand::rz(),
            ]),
        );
        mir.blocks[left].term = Term::Jump(edge(join));
        mir.blocks[right].term = Term::Jump(edge(join));
        let cfg = Cfg::new(&mir);
        let live = Liveness::new(&mir);
        let number = |reg: VReg| live.components().index(reg) as u32;
        let is_live_in = |block: MBlockId, reg: VReg| live.live_in(block).contains(&number(reg));
        let is_live_out = |block: MBlockId, reg: VReg| live.live_out(&mir, block).any(|at| at == number(reg));
        assert!(is_live_in(right, uniform) && is_live_out(right, uniform));
        assert!(!is_live_in(right, general));
        assert!(!is_live_in(join, uniform));
        assert!(is_live_out(head, uniform) && !is_live_in(head, uniform));
        let pressure = live.pressure(&mir, head, &mut live.point());
        assert_eq!((pressure.of(RegFile::Gpr), pressure.of(RegFile::Pred)), (1, 1));
        assert_eq!(cfg.idom(join), Some(head));
        assert!(cfg.dominates(head, join) && !cfg.dominates(left, join) && !cfg.dominates(join, head));
    }

    /// The second component may live on alone; parameters are defined in their block.
    #[test]
    fn components_and_parameters() {
        let mut mir = Mir::new("k", ptxc_machine::Arch::Sm90);
        let [head, body, end] = [false; 3].map(|d| block(&mut mir, d));
        let pair = mir.new_vreg(RegFile::Gpr, 2);
        let param = mir.new_vreg(RegFile::Gpr, 1);
        let pred = mir.new_vreg(RegFile::Pred, 1);
        let load = Inst::new(Op::LDC)
            .with(choice!(LDC, ".64"))
            .ops([Operand::reg(pair), Operand::constant(0, 0x210)]);
        push(&mut mir, head, load);
        let args = smallvec::smallvec![EdgeArg::Reg(pair)];
        mir.blocks[head].term = Term::Jump(Edge { block: body, args });
        mir.blocks[body].params.push(crate::mir::Tuple { reg: param, width: 1 });
        push(
            &mut mir,
            body,
            Inst::new(Op::ISETP).with(choice!(ISETP, ".LT")).ops([
                Operand::reg(pred),
                Operand::reg(param),
                Operand::reg(pair.offset(1)),
            ]),
        );
        let back = Edge { block: body, args: smallvec::smallvec![EdgeArg::Reg(param)] };
        mir.blocks[body].term = Term::Branch { pred, negated: false, then: back, other: edge(end) };
        let live = Liveness::new(&mir);
        let names = |list: &[u32]| -> Vec<String> {
            list.iter().map(|&index| live.components().reg(index as usize).to_string()).collect()
        };
        assert_eq!(names(live.live_in(body)), ["%r0#1"]);
        assert_eq!(names(&live.live_out(&mir, body).collect::<Vec<_>>()), ["%r0#1"]);
        assert_eq!(names(&live.live_out(&mir, head).collect::<Vec<_>>()), ["%r0#1"]);
        assert!(live.live_in(head).is_empty() && live.live_in(end).is_empty());
    }
}
