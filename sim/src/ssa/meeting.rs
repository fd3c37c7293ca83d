//! Brings lanes together for an operation with a mask.
//!
//! In: the lanes that have reached such an operation, with the mask that each names. Out: the
//! operation is executed for each set of lanes with one mask that is complete, and the others wait.
//!
//! PTX lets lanes wait for those that execute *an* operation "with the same qualifiers" and the
//! same mask, at any place. So lanes that wait elsewhere for the same mask at an operation of the
//! same kind count as present:
//!
//! ```text
//! block1: v3 = vote.any v1, all        lanes 0 to 15 wait here,
//! block2: v4 = vote.any v2, all        and continue when lanes 16 to 31 arrive here
//! ```
//! The operation is executed once, where the last lanes arrived. Lanes from elsewhere supply their
//! operands, and take the results to their own slots. Operations on matrices are for all lanes of
//! the warp, which PTX wants at the same place.

use smallvec::SmallVec;

use super::Values;
use super::code::{Action, Code, SlotIndex};
use crate::engine::Step;
use crate::error::Fault;
use crate::warp::{Flow, Group, LANES, Wait, lanes_of};

/// A word per lane.
pub(super) type Words = [u64; LANES];

/// An operation for the lanes of a mask.
#[derive(Clone, Debug)]
struct Exchange {
    /// Its kind, by its qualifiers.
    kind: (&'static str, &'static str),
    /// Its operands except the mask.
    args: SmallVec<[SlotIndex; 4]>,
    /// The lanes that it is for.
    lanes: Named,
    results: SmallVec<[SlotIndex; 2]>,
}

/// The lanes that an operation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    /// The active lanes.
    Active,
    /// Those of the mask in a slot, wherever they are.
    Mask(SlotIndex),
    /// All lanes of the warp, at the same place.
    Warp,
}

impl Named {
    /// The lanes that a lane names.
    fn of(self, values: &Values, lane: u32) -> u32 {
        match self {
            Named::Mask(slot) => values.get(slot, lane) as u32,
            Named::Active | Named::Warp => u32::MAX,
        }
    }
}

/// The exchange that an action is, if it is one.
fn exchange(action: &Action) -> Option<Exchange> {
    let of = |kind, args: &[SlotIndex], mask: &Option<SlotIndex>, results: &[SlotIndex]| {
        let (args, results) = (SmallVec::from_slice(args), SmallVec::from_slice(results));
        Some(Exchange { kind, args, lanes: mask.map_or(Named::Active, Named::Mask), results })
    };
    match action {
        Action::Vote { d, mode, p, mask } => of(("vote", mode.name()), &[*p], mask, &[*d]),
        Action::Shfl { d, p, mode, args, mask } => of(("shfl", mode.name()), args, mask, &[*d, *p]),
        Action::Match { d, all: None, a, mask } => of(("match", "any"), &[*a], mask, &[*d]),
        Action::Match { d, all: Some(all), a, mask } => of(("match", "all"), &[*a], mask, &[*d, *all]),
        Action::Redux { d, op, a, mask } => of(("redux", op.name()), &[*a], mask, &[*d]),
        Action::Elect { d, p, mask } => of(("elect", ""), &[], mask, &[*d, *p]),
        Action::WarpSync { mask } => of(("warpsync", ""), &[], &Some(*mask), &[]),
        Action::Matrix { matrix, d, args } => Some(Exchange {
            kind: (matrix.name(), ""),
            args: SmallVec::from_slice(args),
            lanes: Named::Warp,
            results: SmallVec::from_slice(d),
        }),
        _ => None,
    }
}

/// Executes an operation with a mask of lanes for each set of lanes with one mask that is complete;
/// the other lanes wait for the missing ones. Without a mask it is executed for the active lanes.
/// `f` gets the operand values of the lanes, not slots: operands that share a slot in one operation
/// may be in different slots of another.
pub(super) fn gather(
    code: &Code,
    values: &mut Values,
    step: &mut Step<'_>,
    mut f: impl FnMut(&mut Values, &mut Step<'_>, &[Words], u32) -> Result<(), Fault>,
) -> Result<Flow, Fault> {
    let Some(own) = exchange(&code.nodes[step.pc as usize].action) else { return Ok(Flow::Next) };
    if own.lanes == Named::Active {
        f(values, step, &operands(values, &own, &[]), step.lanes)?;
        return Ok(Flow::Next);
    }
    let (mut left, mut waiting, mut awaited) = (step.lanes, 0, 0);
    while left != 0 {
        let lane = left.trailing_zeros();
        let named = own.lanes.of(values, lane);
        if named >> lane & 1 == 0 {
            return Err(Fault::new(lane, format!("is not in its own mask {named:#010x}")));
        }
        let same = lanes_of(left).filter(|&other| own.lanes.of(values, other) == named);
        let together = same.fold(0, |set, other| set | 1 << other);
        left &= !together;
        let missing = named & step.control.live & !together;
        if missing == 0 {
            f(values, step, &operands(values, &own, &[]), together)?;
            step.memory.meet(together);
        } else if let Some(others) = elsewhere(code, values, step, &own, named, missing) {
            let saved = save(values, &own, &others);
            f(values, step, &operands(values, &own, &others), together | missing)?;
            take_back(values, &own, &others, saved);
            step.memory.meet(together | missing);
            let done = others.iter().map(|(group, lanes, _)| (*group, *lanes));
            go_on(step, done);
        } else {
            waiting |= together;
            awaited |= named;
        }
    }
    Ok(if waiting == 0 { Flow::Next } else { Flow::Wait(waiting, Wait::Gather(awaited)) })
}

/// Lanes of another group with the exchange at which they wait.
type Others = SmallVec<[(usize, u32, Exchange); 2]>;

/// The missing lanes, if they wait at operations of the same kind for the same mask.
fn elsewhere(
    code: &Code,
    values: &Values,
    step: &Step<'_>,
    own: &Exchange,
    named: u32,
    missing: u32,
) -> Option<Others> {
    let mut others = Others::new();
    let mut found = 0;
    for (index, group) in step.control.groups.iter().enumerate() {
        if !matches!(group.wait, Wait::Gather(_)) || group.lanes & missing == 0 {
            continue;
        }
        let Some(theirs) = exchange(&code.nodes[group.pc as usize].action) else { continue };
        let is_same_kind = theirs.kind == own.kind && theirs.lanes != Named::Active;
        if !is_same_kind || (own.lanes == Named::Warp && group.pc != step.pc) {
            continue;
        }
        let alike = |&lane: &u32| theirs.lanes.of(values, lane) == named;
        let lanes = lanes_of(group.lanes & missing).filter(alike).fold(0, |set, lane| set | 1 << lane);
        if lanes != 0 {
            found |= lanes;
            others.push((index, lanes, theirs));
        }
    }
    (found == missing).then_some(others)
}

/// The previous content of slots, by slot and lane.
type Saved = Vec<(SlotIndex, u32, u64)>;

/// The operands of the lanes of an operation, each from its own place.
fn operands(values: &Values, own: &Exchange, others: &[(usize, u32, Exchange)]) -> SmallVec<[Words; 4]> {
    let read = |(index, &slot): (usize, &SlotIndex)| {
        let mut words = values.words[slot as usize];
        for (_, lanes, theirs) in others {
            for lane in lanes_of(*lanes) {
                words[lane as usize] = values.get(theirs.args[index], lane);
            }
        }
        words
    };
    own.args.iter().enumerate().map(read).collect()
}

/// The content of the result slots for lanes from elsewhere.
fn save(values: &Values, own: &Exchange, others: &Others) -> Saved {
    let mut saved = Saved::new();
    for (_, lanes, _) in others {
        for lane in lanes_of(*lanes) {
            saved.extend(own.results.iter().map(|&slot| (slot, lane, values.get(slot, lane))));
        }
    }
    saved
}

/// Moves the results of lanes from elsewhere into their own slots, and restores the previous
/// content of the result slots.
fn take_back(values: &mut Values, own: &Exchange, others: &Others, saved: Saved) {
    let mut results = Saved::new();
    for (_, lanes, theirs) in others {
        for lane in lanes_of(*lanes) {
            let pairs = own.results.iter().zip(&theirs.results);
            results.extend(pairs.map(|(&from, &to)| (to, lane, values.get(from, lane))));
        }
    }
    for (slot, lane, word) in saved.into_iter().rev().chain(results) {
        values.set(slot, lane, word);
    }
}

/// Lets lanes of waiting groups continue after their operations.
fn go_on(step: &mut Step<'_>, done: impl Iterator<Item = (usize, u32)>) {
    for (index, lanes) in done {
        let group = step.control.groups[index];
        let next = Group { pc: group.pc + 1, lanes, wait: Wait::Ready };
        if group.lanes == lanes {
            step.control.groups[index] = next;
        } else {
            step.control.groups[index].lanes &= !lanes;
            step.control.groups.push(next);
        }
    }
}
