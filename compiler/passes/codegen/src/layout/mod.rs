//! Block order and the branches that realise it.
//!
//! In: `Mir<PReg>`, allocated. Out: [`Code`], in which blocks are in their final order and every
//! `BRA` and `EXIT` is an instruction. Five steps:
//!
//! 1. Jump threading (`threading`): edges into empty blocks go to the targets of these.
//! 2. Order (`chains`): chains along likely edges; hot edges fall through, cold blocks go last.
//! 3. Branches: a conditional branch is inverted so that its likelier or following target falls
//!    through; a branch to a block that only exits becomes `@P EXIT`, a jump to one becomes `EXIT`.
//! 4. Labels of `BSSY` follow their blocks, and name the instruction right after the `BSYNC`
//!    (`resume`).
//! 5. Calls end their blocks and get their return addresses (`calls`); fences end their blocks and
//!    are removed (`fences`). Calls that an architecture replaces by a copy of their routine are
//!    left to [`inline_collectives`], after the routine has been compiled.
//!
//! ```text
//! mb0: …; branch P0, mb2, mb1            block 0: …
//! mb1: …; exit                     =>             @P0 EXIT
//! mb2: exit                              block 1: …; EXIT
//! ```
//! Unreachable blocks are dropped. [`check_convergence`] re-checks afterwards that convergence
//! barriers nest along every path. Cost: `O(e log e)` in the edges.

mod aligned_stack;
mod arrivals;
mod calls;
mod chains;
mod code;
mod collectives;
mod convergence_check;
mod copy_spacing;
mod descriptors;
mod fences;
mod resume;
mod text;
mod threading;

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use ptxc_ir::SourceLoc;
use ptxc_machine::{Arch, Feature};
use ptxc_sass::{Inst, Label, Op, Operand, OperandKind, PReg, RegFile, Register, choice, slot};
use smallvec::SmallVec;

use crate::mir::is_call;
use crate::mir::{MBlock, MBlockId, MInst, Mir, Term};
use chains::Arc;
pub use code::{Code, CodeBlock, Graph, Way};
pub use collectives::inline_collectives;
pub use convergence_check::{ConvergenceError, check as check_convergence};
pub use copy_spacing::space_copies;
pub use text::parse;

/// Orders the blocks and makes the branches explicit.
///
/// # Panics
/// If the function has no blocks.
pub fn layout(mir: Mir<PReg>, arch: Arch) -> Code {
    let destination = threading::destinations(&mir);
    let target = |block: MBlockId| destination[block].expand().unwrap_or(block);
    let ends: SecondaryMap<MBlockId, End> = {
        let mut ends = SecondaryMap::with_default(End::Exit);
        for &block in &mir.layout {
            ends[block] = End::of(&mir, &mir.blocks[block], target);
        }
        ends
    };

    let kept = reachable(&mir, &ends, target(mir.entry()), target);
    let mut position: SecondaryMap<MBlockId, PackedOption<Position>> = SecondaryMap::new();
    for (index, &block) in kept.iter().enumerate() {
        position[block] = Some(Position(index as u32)).into();
    }
    let arcs = arcs(&mir, &ends, &kept, |block| position[block].map(|p| p.0 as usize));
    let order: Vec<MBlockId> = chains::order(kept.len(), &arcs).into_iter().map(|i| kept[i]).collect();

    let mut number: SecondaryMap<MBlockId, u32> = SecondaryMap::new();
    for (index, &block) in order.iter().enumerate() {
        number[block] = index as u32;
    }
    let mut mir = mir;
    let mut blocks = Vec::with_capacity(order.len());
    let mut found = Found::default();
    for (index, &block) in order.iter().enumerate() {
        let data = &mut mir.blocks[block];
        let mut insts = std::mem::take(&mut data.insts);
        for (place, minst) in insts.iter_mut().enumerate() {
            ptxc_interrupt::poll();
            found.note((index, place), minst);
            let mut names_code = false;
            for label in minst.inst.labels_mut() {
                label.0 = number[target(MBlockId::from_u32(label.0))];
                names_code = true;
            }
            if names_code {
                found.naming.push((index, place));
            }
        }
        let body = insts.len() - usize::from(ends[block] == End::Return);
        let next = order.get(index + 1).copied();
        write_end(&mut insts, &ends[block], next, data.term_loc, &number, arch);
        let table = match ends[block] {
            End::Table { offset, .. } => Some(offset),
            _ => None,
        };
        blocks.push(CodeBlock { insts, body, table, frequency: data.frequency });
    }
    let mut code = Code { header: mir.header, blocks };
    resume::name_resumptions(&mut code, &found);
    if found.calls {
        calls::split_at_calls(&mut code);
    }
    // The instruction with the parameters is a fence, which tells where they are.
    aligned_stack::align_stack(&mut code);
    if found.fences {
        fences::split_at_fences(&mut code);
    }
    if found.products {
        arrivals::arrive(&mut code);
    }
    if code.header.platform {
        descriptors::load_descriptors(&mut code);
    }
    code
}

/// An instruction: block and position in it.
type Site = (usize, usize);

/// The instructions that the steps need from the bodies of blocks, found in one walk, since reading
/// every instruction from memory is slow.
#[derive(Debug, Default)]
struct Found {
    /// The instructions that open or close a convergence barrier, in order.
    brackets: Vec<resume::Bracket>,
    /// The instructions that name places in the code.
    naming: Vec<Site>,
    /// Whether there are calls.
    calls: bool,
    /// Whether there are [fences](fences::is_fence).
    fences: bool,
    /// Whether there are products of a warpgroup.
    products: bool,
}

impl Found {
    /// Records an instruction, except for whether it names a place.
    fn note(&mut self, site: Site, minst: &MInst<PReg>) {
        self.brackets.extend(resume::Bracket::of(site, &minst.inst));
        self.calls |= is_call(minst.inst.op);
        self.fences |= fences::is_fence(minst);
        self.products |= minst.inst.op == Op::WARPGROUP_DEPBAR;
    }
}

/// The place of a block among those that are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Position(u32);

impl cranelift_entity::packed_option::ReservedValue for Position {
    fn reserved_value() -> Position {
        Position(u32::MAX)
    }

    fn is_reserved_value(&self) -> bool {
        self.0 == u32::MAX
    }
}

/// A predicate with its sense, as a branch reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Condition {
    pred: PReg,
    negated: bool,
}

impl Condition {
    fn inverted(self) -> Condition {
        Condition { negated: !self.negated, ..self }
    }
}

/// The end of a block after its edges are threaded and branches to an exit are exits.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Exit,
    Return,
    Jump(MBlockId),
    Branch {
        condition: Condition,
        then: MBlockId,
        other: MBlockId,
    },
    /// Exit under the condition, else go to the target.
    ExitIf {
        condition: Condition,
        other: MBlockId,
    },
    /// Go to one block if all lanes of the mask are together, else to the other; without a mask,
    /// all lanes of the warp.
    Together {
        mask: Option<PReg>,
        here: MBlockId,
        apart: MBlockId,
    },
    Table {
        address: PReg,
        offset: u32,
        targets: Vec<MBlockId>,
    },
}

impl End {
    fn of(mir: &Mir<PReg>, block: &MBlock<PReg>, target: impl Fn(MBlockId) -> MBlockId) -> End {
        let only_exits =
            |block: MBlockId| mir.blocks[block].insts.is_empty() && mir.blocks[block].term == Term::Exit;
        match &block.term {
            Term::Exit => End::Exit,
            Term::Return => End::Return,
            Term::Jump(edge) => match target(edge.block) {
                to if only_exits(to) => End::Exit,
                to => End::Jump(to),
            },
            Term::Branch { pred, negated, then, other } => {
                let condition = Condition { pred: *pred, negated: *negated };
                let (then, other) = (target(then.block), target(other.block));
                // A guard is a predicate of the lane; a uniform predicate is an operand of BRA.
                let can_guard = !pred.file().is_uniform();
                match (only_exits(then), only_exits(other)) {
                    (true, true) => End::Exit,
                    _ if then == other => End::Jump(then),
                    (true, false) if can_guard => End::ExitIf { condition, other },
                    (false, true) if can_guard => {
                        End::ExitIf { condition: condition.inverted(), other: then }
                    }
                    _ => End::Branch { condition, then, other },
                }
            }
            Term::Together { mask, here, apart } => match (target(here.block), target(apart.block)) {
                (here, apart) if here == apart => End::Jump(here),
                (here, apart) => End::Together { mask: *mask, here, apart },
            },
            Term::Table { address, offset, edges } => {
                let targets = edges.iter().map(|edge| target(edge.block)).collect();
                End::Table { address: *address, offset: *offset, targets }
            }
        }
    }

    fn targets(&self) -> SmallVec<[MBlockId; 2]> {
        match self {
            End::Exit | End::Return => SmallVec::new(),
            End::Jump(to) | End::ExitIf { other: to, .. } => SmallVec::from_slice(&[*to]),
            End::Branch { then, other, .. } | End::Together { here: then, apart: other, .. } => {
                SmallVec::from_slice(&[*then, *other])
            }
            End::Table { targets, .. } => SmallVec::from_slice(targets),
        }
    }
}

/// The blocks that are still reached, by edges or as the label of a `BSSY`, in their old order,
/// except for the entry, which is first.
fn reachable(
    mir: &Mir<PReg>,
    ends: &SecondaryMap<MBlockId, End>,
    entry: MBlockId,
    target: impl Fn(MBlockId) -> MBlockId,
) -> Vec<MBlockId> {
    let mut seen: SecondaryMap<MBlockId, bool> = SecondaryMap::new();
    let mut stack = vec![entry];
    seen[entry] = true;
    while let Some(block) = stack.pop() {
        ptxc_interrupt::poll();
        let labels =
            mir.blocks[block].insts.iter().flat_map(|minst| &minst.inst.operands).filter_map(|operand| {
                match operand.kind {
                    OperandKind::Label(label) => Some(target(MBlockId::from_u32(label.0))),
                    _ => None,
                }
            });
        for next in ends[block].targets().into_iter().chain(labels) {
            if !std::mem::replace(&mut seen[next], true) {
                stack.push(next);
            }
        }
    }
    let rest = mir.layout.iter().copied().filter(|&block| block != entry && seen[block]);
    std::iter::once(entry).chain(rest).collect()
}

/// The edges with their weights: the weight of the only edge into a block is the block's frequency;
/// the rest of the source's frequency goes to its other edge.
fn arcs(
    mir: &Mir<PReg>,
    ends: &SecondaryMap<MBlockId, End>,
    kept: &[MBlockId],
    position: impl Fn(MBlockId) -> Option<usize>,
) -> Vec<Arc> {
    let mut preds: SecondaryMap<MBlockId, u32> = SecondaryMap::new();
    for &block in kept {
        for to in ends[block].targets() {
            preds[to] += 1;
        }
    }
    let frequency = |block: MBlockId| mir.blocks[block].frequency;
    let mut arcs = Vec::new();
    for (from, &block) in kept.iter().enumerate() {
        let mut arc = |to: MBlockId, weight: u64| {
            if let Some(to) = position(to) {
                arcs.push(Arc { from, to, weight });
            }
        };
        match &ends[block] {
            End::Exit | End::Return => {}
            End::Table { targets, .. } => {
                targets.iter().for_each(|&to| arc(to, frequency(block) / targets.len() as u64));
            }
            &End::Jump(to) => arc(to, frequency(block)),
            &End::ExitIf { other, .. } => arc(other, frequency(block).min(frequency(other))),
            &End::Branch { then, other, .. } | &End::Together { here: then, apart: other, .. } => {
                let total = frequency(block);
                let to_then = if preds[then] == 1 {
                    frequency(then).min(total)
                } else if preds[other] == 1 {
                    total.saturating_sub(frequency(other))
                } else {
                    let (t, o) = (u128::from(frequency(then)), u128::from(frequency(other)));
                    (u128::from(total) * t / (t + o).max(1)) as u64
                };
                arc(then, to_then);
                arc(other, total - to_then);
            }
        }
    }
    arcs
}

/// Appends the branches that realise an end, given the block that follows.
fn write_end(
    insts: &mut Vec<MInst<PReg>>,
    end: &End,
    next: Option<MBlockId>,
    loc: SourceLoc,
    number: &SecondaryMap<MBlockId, u32>,
    arch: Arch,
) {
    let mut push = |inst: Inst<PReg>| insts.push(MInst::new(inst, loc));
    let label = |block: MBlockId| Label(number[block]);
    match *end {
        End::Exit => push(Inst::new(Op::EXIT)),
        End::Table { address, ref targets, .. } => {
            let op = if address.file().is_uniform() { Op::BRXU } else { Op::BRX };
            // The offset is the distance back to the first instruction, known when all instructions
            // have their places.
            let branch = Inst::new(op).ops([Operand::reg(address), Operand::imm(0)]);
            push(branch.targets(targets.iter().map(|&block| label(block))));
        }
        // The block has its RET.
        End::Return => {}
        End::Jump(to) => {
            if next != Some(to) {
                push(branch(None, label(to)));
            }
        }
        End::ExitIf { condition, other } => {
            if next == Some(other) {
                push(Inst::new(Op::EXIT).guarded(condition.pred, condition.negated));
            } else {
                push(branch(Some(condition.inverted()), label(other)));
                push(Inst::new(Op::EXIT));
            }
        }
        End::Together { mask, here, apart } => {
            if next == Some(apart) && arch.has(Feature::ConvergenceTest) {
                push(test_together(true, mask, label(here), arch));
            } else {
                push(test_together(false, mask, label(apart), arch));
                if next != Some(here) {
                    push(branch(None, label(here)));
                }
            }
        }
        End::Branch { condition, then, other } => {
            if next == Some(then) {
                push(branch(Some(condition.inverted()), label(other)));
            } else {
                push(branch(Some(condition), label(then)));
                if next != Some(other) {
                    push(branch(None, label(other)));
                }
            }
        }
    }
}

/// A `BRA.CONV`, which is taken if all lanes of the mask are together, or a `BRA.DIV`, which is
/// taken if not. The mask of all lanes is written as the complement of no lanes, or omitted.
fn test_together(conv: bool, mask: Option<PReg>, target: Label, arch: Arch) -> Inst<PReg> {
    let (with_mask, without) =
        if conv { (Op::BRA_CONV, Op::BRA_CONV_WARP) } else { (Op::BRA_DIV, Op::BRA_DIV_WARP) };
    let target = Operand::label(target);
    if without.row().archs.contains(arch) {
        return Inst::new(without).slot(slot!(BRA_CONV_WARP | BRA_DIV_WARP, "target"), target);
    }
    let mask = mask.map_or(Operand::zero(RegFile::Ugpr).not(), Operand::reg);
    Inst::new(with_mask)
        .slot(slot!(BRA_CONV | BRA_DIV, "mask"), mask)
        .slot(slot!(BRA_CONV | BRA_DIV, "target"), target)
}

/// A `BRA`, under a guard or, for a uniform predicate, with that as its operand.
fn branch(condition: Option<Condition>, label: Label) -> Inst<PReg> {
    let bra = Inst::new(Op::BRA).slot(slot!(BRA, "target"), Operand::label(label));
    match condition {
        None => bra,
        Some(Condition { pred, negated }) if pred.file().is_uniform() => {
            let operand = Operand::reg(pred);
            bra.with(choice!(BRA, ".U")).slot(slot!(BRA, "ps"), if negated { operand.not() } else { operand })
        }
        Some(Condition { pred, negated }) => bra.guarded(pred, negated),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use cranelift_entity::PrimaryMap;
    use ptxc_sass::RegFile;
    use smallvec::SmallVec;

    use super::*;

    pub(crate) fn layout_of(mir: Mir<PReg>) -> Code {
        layout(mir, Arch::Sm90)
    }
    use crate::mir::{Edge, Header};

    pub(crate) fn edge(block: u32) -> Edge<PReg> {
        Edge { block: MBlockId::from_u32(block), args: SmallVec::new() }
    }

    pub(crate) fn cond(then: u32, other: u32) -> Term<PReg> {
        Term::Branch { pred: PReg::p(0), negated: false, then: edge(then), other: edge(other) }
    }

    /// A block with one NOP for each text.
    pub(crate) fn block(insts: &[&str], term: Term<PReg>) -> MBlock<PReg> {
        MBlock {
            params: Vec::new(),
            insts: insts.iter().map(|_| MInst::new(Inst::new(Op::NOP), SourceLoc::NONE)).collect(),
            term,
            term_loc: SourceLoc::NONE,
            frequency: 1024,
            divergent: false,
        }
    }

    pub(crate) fn mir(list: Vec<MBlock<PReg>>) -> Mir<PReg> {
        let mut blocks = PrimaryMap::new();
        let layout = list.into_iter().map(|block| blocks.push(block)).collect();
        Mir { header: Header::new("k", Arch::Sm90), blocks, layout, vregs: PrimaryMap::new() }
    }

    pub(crate) fn text(code: &Code) -> String {
        let mut text = String::new();
        for (index, block) in code.blocks.iter().enumerate() {
            for (at, minst) in block.insts.iter().enumerate() {
                let lead = if at == 0 { format!("{index}: ") } else { String::new() };
                text += &format!("{lead}{}; ", minst.inst);
            }
        }
        text.trim_end().to_string()
    }

    #[test]
    fn a_branch_to_an_exit_is_an_exit() {
        let code = layout_of(mir(vec![
            block(&["x"], cond(2, 1)),
            block(&["y"], Term::Jump(edge(2))),
            block(&[], Term::Exit),
        ]));
        assert_eq!(text(&code), "0: NOP; @P0 EXIT; 1: NOP; EXIT;");
    }

    #[test]
    fn a_bottom_tested_loop_branches_once() {
        let mut blocks = vec![
            block(&["x"], Term::Jump(edge(1))),
            block(&["y"], Term::Jump(edge(2))),
            block(&["z"], cond(1, 3)),
            block(&["w"], Term::Exit),
        ];
        blocks[1].frequency = 10240;
        blocks[2].frequency = 10240;
        assert_eq!(text(&layout_of(mir(blocks))), "0: NOP; 1: NOP; 2: NOP; @P0 BRA `(.L_x_1); 3: NOP; EXIT;");
    }

    #[test]
    fn a_loop_that_exits_branches_back_under_its_guard() {
        let code = layout_of(mir(vec![
            block(&["x"], Term::Jump(edge(1))),
            block(&["y"], cond(2, 1)),
            block(&[], Term::Exit),
        ]));
        assert_eq!(text(&code), "0: NOP; 1: NOP; @!P0 BRA `(.L_x_1); EXIT;");
    }

    #[test]
    fn the_likelier_arm_falls_through() {
        let mut blocks = vec![
            block(&["x"], cond(1, 2)),
            block(&["cold"], Term::Jump(edge(3))),
            block(&["hot"], Term::Jump(edge(3))),
            block(&["w"], Term::Exit),
        ];
        blocks[1].frequency = 24;
        blocks[2].frequency = 1000;
        let code = layout_of(mir(blocks));
        assert_eq!(text(&code), "0: NOP; @P0 BRA `(.L_x_3); 1: NOP; 2: NOP; EXIT; 3: NOP; BRA `(.L_x_2);");
    }

    #[test]
    fn a_uniform_predicate_is_an_operand() {
        let branch =
            Term::Branch { pred: PReg::new(RegFile::Upred, 0), negated: true, then: edge(2), other: edge(1) };
        let code = layout_of(mir(vec![
            block(&["x"], branch),
            block(&["y"], Term::Jump(edge(2))),
            block(&[], Term::Exit),
        ]));
        assert_eq!(text(&code), "0: NOP; BRA.U UP0, `(.L_x_2); 1: EXIT; 2: NOP; EXIT;");
        assert_eq!(code.ways(0).len(), 2);
    }
}
