//! The code for the control passes: one flat list of instructions with their accesses.
//!
//! In: [`Code`]. Out: a [`Stream`], in which every instruction has a list of [`Touch`]es, one for
//! each single register that it reads or writes. Besides the registers there are two units that
//! stand for order instead of a value. A memory barrier holds [`FENCE`] until it is done, and every
//! memory access overwrites it. A read of memory holds [`ARRIVAL`] until its result is there, used
//! or not, and `CCTL.IVALL` reads it. The warp's barrier result is not a unit: `B2R` and the next
//! `BAR` keep their order and a distance ([`ptxc_sass::latency::Ahead::BarrierResult`]).
//!
//! ```text
//! LDG.E.64 R4, desc[UR6][R2.64]     writes R4 R5; reads R2 R3 UR6 UR7; writes FENCE and ARRIVAL
//! ```

use std::ops::Range;

use ptxc_machine::Arch;
use ptxc_sass::latency::Ahead;
use ptxc_sass::latency::reads_at_issue;
use ptxc_sass::{AccessRole, Completion, Inst, Op, PReg, RegFile, Register, Role};
use smallvec::SmallVec;

use super::units::Units;
use crate::layout::{Code, Way};

/// The unit of memory barriers that are not finished yet.
pub(super) const FENCE: u16 = PReg::COUNT as u16;
/// The unit of reads of memory that have not arrived yet. An acquire depends on it even if the
/// value is not used: ptxas, too, gives `ATOMG.E.ADD.STRONG.GPU PT, RZ, …` a scoreboard before
/// `CCTL.IVALL`.
pub(super) const ARRIVAL: u16 = FENCE + 1;
/// Number of units: registers by their dense number, then the two above.
pub(super) const UNITS: usize = PReg::COUNT + 2;

/// A single register, or other unit, that an instruction reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Touch {
    /// The unit.
    pub(super) unit: u16,
    /// The slot; the number of slots for the guard, and for units without an operand.
    pub(super) slot: u8,
    /// The number of the register among the slot's neighbouring registers.
    pub(super) component: u8,
    /// Whether it is written.
    pub(super) write: bool,
    /// Whether a scoreboard announces the end of it: a result of variable latency, or an operand
    /// that is read at an unknown time.
    pub(super) late: bool,
}

impl Touch {
    /// Whether it must come after earlier accesses to its unit. Reads of memory do not wait for
    /// each other's arrival.
    pub(super) fn comes_after(self) -> bool {
        !(self.unit == ARRIVAL && self.write)
    }

    /// The register; `None` for the units that are not registers.
    pub(super) fn reg(self) -> Option<PReg> {
        PReg::from_dense(usize::from(self.unit))
    }

    /// A bit for its unit, which some units share: two instructions without a common bit have no
    /// common unit.
    pub(super) fn mark(self) -> u64 {
        1 << (self.unit % 64)
    }
}

/// A flat instruction.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    /// The instruction.
    pub(super) inst: &'a Inst<PReg>,
    /// The [marks](Touch::mark) of its accesses that must come after earlier ones.
    pub(super) marks: u64,
    /// The place of its accesses among those of the stream.
    touches: Range<u32>,
    /// A copy of the instruction's row: most queries need only this, and the instructions are
    /// scattered in memory.
    pub(super) op: Op,
    /// Whether its writes replace the old content in every lane.
    pub(super) kills: bool,
    /// Whether a scoreboard announces the end of any of its accesses.
    pub(super) is_late: bool,
    /// Whether it goes to another function, where nothing may be under way.
    pub(super) leaves_function: bool,
}

/// A block of the stream.
#[derive(Debug)]
pub(super) struct Block {
    /// Its instructions.
    pub(super) range: Range<usize>,
    /// The number of its instructions before the branches.
    pub(super) body: usize,
    /// The ways out.
    pub(super) ways: SmallVec<[Way; 2]>,
    /// The blocks that lead to it.
    pub(super) preds: SmallVec<[usize; 2]>,
    /// How often it runs.
    pub(super) frequency: u64,
    /// The marks of all its instructions.
    pub(super) marks: u64,
    /// Whether any of them goes to another function.
    pub(super) leaves_function: bool,
}

/// The flat code.
#[derive(Debug)]
pub(super) struct Stream<'a> {
    /// The architecture.
    pub(super) arch: Arch,
    /// The instructions of all blocks in order.
    pub(super) entries: Vec<Entry<'a>>,
    /// The accesses of all instructions in order.
    touches: Vec<Touch>,
    /// The blocks in order.
    pub(super) blocks: Vec<Block>,
    /// The blocks that the entry reaches, in reverse postorder.
    pub(super) order: Vec<usize>,
    /// The place of each block in the order; 0 for those that the entry does not reach.
    pub(super) rank: Vec<usize>,
    /// Whether a scoreboard counts the groups of asynchronous copies.
    pub(super) counts_groups: bool,
    /// Whether there are instructions that others must keep away from, whatever registers they
    /// touch.
    pub(super) has_ahead: bool,
}

impl<'a> Stream<'a> {
    /// Flattens the code.
    pub(super) fn new(code: &'a Code, arch: Arch) -> Stream<'a> {
        let count = code.len();
        let mut entries: Vec<Entry<'_>> = Vec::with_capacity(count);
        let mut touches = Vec::with_capacity(4 * count);
        let mut blocks = Vec::with_capacity(code.blocks.len());
        let graph = code.graph();
        let (mut counts_groups, mut has_ahead) = (false, false);
        let named = end_of_returned(code);
        for ((index, block), preds) in code.blocks.iter().enumerate().zip(graph.predecessors()) {
            let start = entries.len();
            let (mut block_marks, mut block_leaves) = (0, false);
            for minst in &block.insts {
                let first = touches.len();
                push_touches(&minst.inst, arch, &mut touches);
                // As if it wrote them: accesses to them must be complete.
                let returned = minst.inst.returned_registers();
                touches.extend((returned.start..returned.end.min(named)).filter_map(|register| {
                    let unit = PReg::r(register as u8).dense() as u16;
                    let slot = minst.inst.row().slots.len() as u8;
                    (returned.start < named).then_some(Touch {
                        unit,
                        slot,
                        component: 0,
                        write: true,
                        late: false,
                    })
                }));
                // What is lent to products must exist at the arrival before them.
                for held in minst.call.iter().flat_map(|site| &site.held) {
                    let slot = minst.inst.row().slots.len() as u8;
                    let first = held.reg.dense() as u16;
                    touches.extend((0..held.width).map(|component| Touch {
                        unit: first + u16::from(component),
                        slot,
                        component,
                        write: false,
                        late: false,
                    }));
                }
                let (mut marks, mut is_late) = (0, false);
                for touch in &touches[first..] {
                    is_late |= touch.late;
                    if touch.comes_after() {
                        marks |= touch.mark();
                    }
                }
                let (inst, op) = (&minst.inst, minst.inst.op);
                let leaves_function = op.row().effects.boundary;
                block_marks |= marks;
                block_leaves |= leaves_function;
                counts_groups |= op.row().group.counts_copies();
                has_ahead |= Ahead::of(inst).is_some();
                let touches = first as u32..touches.len() as u32;
                let kills = inst.guard.is_none();
                entries.push(Entry { inst, marks, touches, op, kills, is_late, leaves_function });
            }
            blocks.push(Block {
                range: start..entries.len(),
                body: block.body,
                ways: SmallVec::from_slice(graph.ways(index)),
                preds,
                frequency: block.frequency,
                marks: block_marks,
                leaves_function: block_leaves,
            });
        }
        let order = graph.reverse_postorder();
        let mut rank = vec![0; blocks.len()];
        for (position, &block) in order.iter().enumerate() {
            rank[block] = position;
        }
        Stream { arch, entries, touches, blocks, order, rank, counts_groups, has_ahead }
    }

    /// The accesses of an instruction.
    pub(super) fn touches(&self, index: usize) -> &[Touch] {
        let Range { start, end } = self.entries[index].touches;
        &self.touches[start as usize..end as usize]
    }

    /// The accessed registers, each once.
    pub(super) fn registers(&self) -> impl Iterator<Item = PReg> {
        let mut units = Units::default();
        self.touches.iter().for_each(|touch| units.insert(touch.unit));
        (0..FENCE).filter(move |&unit| units.contains(unit)).filter_map(|unit| PReg::from_dense(unit.into()))
    }

    /// The most frequent successor of a block.
    pub(super) fn likely_successor(&self, block: usize) -> Option<usize> {
        let ways = self.blocks[block].ways.iter().map(|way| way.target);
        // The first of several equals: `max_by_key` takes the last, so the order is turned.
        ways.rev().max_by_key(|&target| self.blocks[target].frequency)
    }
}

/// One more than the greatest general register that the code names, if a warp returns registers; else 0.
fn end_of_returned(code: &Code) -> u16 {
    let insts = || code.blocks.iter().flat_map(|block| &block.insts);
    if !insts().any(|minst| !minst.inst.returned_registers().is_empty()) {
        return 0;
    }
    let mut end = 0;
    for minst in insts() {
        minst.inst.for_each_access(|access| {
            if access.reg.file() == RegFile::Gpr {
                end = end.max(u16::from(access.reg.index()) + u16::from(access.width));
            }
        });
    }
    end
}

/// Adds the accesses of an instruction.
fn push_touches(inst: &Inst<PReg>, arch: Arch, list: &mut Vec<Touch>) {
    let completion = inst.completion(arch);
    inst.for_each_access(|access| {
        let write = access.role == AccessRole::Def;
        let late = match access.role {
            AccessRole::Def => completion == Completion::Variable,
            // No scoreboard tells when a product of a warpgroup has read its registers: they are
            // held until a wait for its group.
            AccessRole::Use => {
                !matches!(completion, Completion::Fixed | Completion::Group)
                    && !reads_at_issue(arch, inst, access.reg.file())
            }
            AccessRole::Guard => false,
        };
        let (first, slot) = (access.reg.dense() as u16, access.slot);
        // Neighbours have neighbouring numbers.
        for component in 0..access.width.min(access.reg.file().count() - access.reg.index()) {
            list.push(Touch { unit: first + u16::from(component), slot, component, write, late });
        }
    });
    let row = inst.row();
    let slot = row.slots.len() as u8;
    let mut order = |unit, write, late| list.push(Touch { unit, slot, component: 0, write, late });
    let effects = row.effects;
    match inst.op {
        Op::MEMBAR => order(FENCE, false, true),
        // NVIDIA's assembler gives it a write scoreboard, although it writes no register.
        Op::FENCE_VIEW_ASYNC => order(FENCE, true, true),
        _ if effects.reads_memory || effects.writes_memory => order(FENCE, true, false),
        _ => {}
    }
    let has_result = || row.slots.iter().any(|slot| slot.role == Role::Def);
    if inst.op == Op::CCTL_IVALL {
        order(ARRIVAL, false, false);
    } else if effects.reads_memory && completion == Completion::Variable && has_result() {
        order(ARRIVAL, true, true);
    }
}
