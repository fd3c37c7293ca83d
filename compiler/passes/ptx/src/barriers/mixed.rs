//! Reductions that can meet a `sync` or an `arrive` at one barrier.
//!
//! The result is then unpredictable (PTX ISA, `barrier`). A reduction after another use is fine,
//! because a reduction ends with all of its threads. Two cases mix them:
//!
//! - A thread arrives at a barrier without waiting and then gets to a reduction at it with no other
//!   use of the barrier in between: nothing ensures that the phase of the arrival is over.
//! - At a branch that threads of a CTA take differently, the next use of a barrier is a reduction
//!   on one way and something else on the other. One of the two uses comes before the join of the
//!   ways; uses after the join are the same for all threads.
//!
//! Both cases ask for the next uses of each barrier. A backward dataflow keeps two bits for each of
//! the sixteen names: whether a reduction comes before any other use of the name, and whether
//! anything else does. It is linear in the function except for the nesting of its loops. Barriers
//! whose names are unknown are skipped. Each name gets at most one warning.

use cranelift_entity::SecondaryMap;
use ptxc_ir::op::BarrierKind;
use ptxc_ir::{Block, Cfg, Function, Op, PostDominators, Value};
use ptxc_ssa::uniformity::Uniformity;
use rustc_hash::FxHashMap;

use super::threads::{Allowance, Outcomes};
use super::{Barrier, node};
use crate::check::codes;
use crate::diagnostic::Diagnostic;

/// The most branches whose ways are followed to their join; the others get no warning.
const MOST_LOOKS: usize = 256;

/// The uses of the sixteen barriers that may come next, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Next {
    reductions: u16,
    others: u16,
}

impl Next {
    fn or(self, other: Next) -> Next {
        Next { reductions: self.reductions | other.reductions, others: self.others | other.others }
    }

    /// The next uses at a point before a use of a barrier.
    fn before(self, barrier: &Barrier) -> Next {
        let Some(bit) = bit(barrier) else { return self };
        let (reductions, others) = (self.reductions & !bit, self.others & !bit);
        match barrier.kind.is_reduction() {
            true => Next { reductions: reductions | bit, others },
            false => Next { reductions, others: others | bit },
        }
    }
}

fn bit(barrier: &Barrier) -> Option<u16> {
    barrier.name.filter(|&name| name < 16).map(|name| 1 << name)
}

/// The barriers of each block, in order.
type Uses<'a> = FxHashMap<Block, Vec<&'a Barrier>>;

pub(super) fn check(func: &Function, uniformity: &Uniformity, barriers: &[Barrier]) -> Vec<Diagnostic> {
    let named = |reduction: bool| {
        let kind = barriers.iter().filter(move |barrier| barrier.kind.is_reduction() == reduction);
        kind.filter_map(bit).fold(0, |names, bit| names | bit)
    };
    let mut suspects = named(true) & named(false);
    if suspects == 0 {
        return Vec::new();
    }
    let cfg = Cfg::compute(func);
    let mut uses: Uses<'_> = FxHashMap::default();
    for barrier in barriers {
        uses.entry(barrier.block).or_default().push(barrier);
    }
    let entry = entries(&cfg, &uses);
    let at_end =
        |block: Block| cfg.succs(block).iter().fold(Next::default(), |next, &way| next.or(entry[way]));

    let mut allowance = Allowance::new();
    let mut postdominators = None;
    let mut looks = MOST_LOOKS;
    let mut found = Vec::new();
    for &block in cfg.rpo() {
        let list = uses.get(&block).map_or(&[][..], Vec::as_slice);
        let mut next = at_end(block);
        for (position, &barrier) in list.iter().enumerate().rev() {
            let bit = bit(barrier).unwrap_or(0) & suspects;
            if barrier.kind == BarrierKind::Arrive && next.reductions & bit != 0 {
                suspects &= !bit;
                let starts = list[position + 1..].iter().copied();
                let reduction = nearest(&cfg, &uses, starts, cfg.succs(block), None, bit, true);
                found.extend(reduction.map(|reduction| after_arrival(func, reduction, barrier)));
            }
            next = next.before(barrier);
        }
        let Some((condition, ways)) = branch(func, block) else { continue };
        for (one, other) in [(ways[0], ways[1]), (ways[1], ways[0])] {
            let mixed = entry[one].reductions & entry[other].others & suspects;
            let bit = mixed & mixed.wrapping_neg();
            if bit == 0 {
                continue;
            }
            // If the thread numbers decide the condition, its outcomes are known; otherwise ask
            // whether threads of a warp diverge.
            let parts = match Outcomes::of(func, condition, &mut allowance) {
                Some(outcomes) => !outcomes.agree(),
                None => uniformity.is_divergent_branch(block),
            };
            if !parts {
                continue;
            }
            let nearest = |way, meeting, reduction| {
                nearest(&cfg, &uses, std::iter::empty(), &[way], meeting, bit, reduction)
            };
            let meeting =
                postdominators.get_or_insert_with(|| PostDominators::compute(&cfg)).immediate(block);
            // Branches with the same join visit the same blocks.
            let Some(left) = looks.checked_sub(1) else { return found };
            looks = left;
            if nearest(one, meeting, true).or(nearest(other, meeting, false)).is_none() {
                continue;
            }
            suspects &= !bit;
            if let (Some(reduction), Some(partner)) = (nearest(one, None, true), nearest(other, None, false))
            {
                found.push(on_other_way(func, reduction, partner, block));
            }
        }
    }
    found
}

/// The next uses at the entry of each block.
fn entries(cfg: &Cfg, uses: &Uses<'_>) -> SecondaryMap<Block, Next> {
    let mut entry: SecondaryMap<Block, Next> = SecondaryMap::new();
    let mut changed = true;
    while changed {
        changed = false;
        for &block in cfg.rpo().iter().rev() {
            let end = cfg.succs(block).iter().fold(Next::default(), |next, &way| next.or(entry[way]));
            let list = uses.get(&block).map_or(&[][..], Vec::as_slice);
            let next = list.iter().rev().fold(end, |next, barrier| next.before(barrier));
            changed |= std::mem::replace(&mut entry[block], next) != next;
        }
    }
    entry
}

/// The condition and the two targets of a branch.
fn branch(func: &Function, block: Block) -> Option<(Value, [Block; 2])> {
    let data = &func.insts[func.terminator(block)?];
    match data.targets[..] {
        [ref then, ref other] if matches!(data.op, Op::Branch { .. }) => {
            Some((data.args[0], [then.block, other.block]))
        }
        _ => None,
    }
}

/// The nearest use of a barrier, in a list and then from some blocks on up to another one. The use
/// must be a reduction, or must not be one, as asked; no other use of the barrier comes before it.
fn nearest<'a>(
    cfg: &Cfg,
    uses: &Uses<'a>,
    mut list: impl Iterator<Item = &'a Barrier>,
    starts: &[Block],
    end: Option<Block>,
    bit: u16,
    reduction: bool,
) -> Option<&'a Barrier> {
    let is_use = |barrier: &&Barrier| self::bit(barrier) == Some(bit);
    if let Some(barrier) = list.find(is_use) {
        return Some(barrier).filter(|barrier| barrier.kind.is_reduction() == reduction);
    }
    let mut queue: std::collections::VecDeque<Block> = starts.iter().copied().collect();
    let mut seen: SecondaryMap<Block, bool> = SecondaryMap::new();
    while let Some(block) = queue.pop_front() {
        if Some(block) == end || std::mem::replace(&mut seen[block], true) {
            continue;
        }
        match uses.get(&block).and_then(|list| list.iter().copied().find(is_use)) {
            Some(barrier) if barrier.kind.is_reduction() == reduction => return Some(barrier),
            Some(_) => {}
            None => queue.extend(cfg.succs(block)),
        }
    }
    None
}

fn warning(func: &Function, reduction: &Barrier) -> Diagnostic {
    let name = reduction.name.unwrap_or_default();
    let message = format!("a reduction at barrier {name} may meet `sync` or `arrive` at the same barrier");
    Diagnostic::warning(codes::MIXED_BARRIER, reduction.node(func), message)
        .note("a barrier that is used for both at once behaves unpredictably (PTX ISA, `barrier`)")
        .help("use a separate barrier for the reduction; a CTA has sixteen")
}

fn after_arrival(func: &Function, reduction: &Barrier, arrival: &Barrier) -> Diagnostic {
    warning(func, reduction)
        .label("the thread gets here without having waited at the barrier")
        .also(arrival.node(func), "it only arrived here")
}

fn on_other_way(func: &Function, reduction: &Barrier, partner: &Barrier, branch: Block) -> Diagnostic {
    let warning = warning(func, reduction).label("some threads get here");
    let warning = warning.also(partner.node(func), "others may be here");
    match func.terminator(branch) {
        Some(inst) => warning.also(node(func, inst), "they diverge here"),
        None => warning,
    }
}
