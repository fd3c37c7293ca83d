//! Operations on values with unwritten bits: [`crate::unwritten`] has the idea.
//!
//! Loads and stores look after the bits of their data themselves, and edges, calls and returns after
//! those of the values that they move. Arithmetic is executed with several patterns. A shuffle moves
//! its first operand. All other operations use what they read; so do conditions of branches.

use ptxc_ir::Op;
use smallvec::SmallVec;

use super::code::{Action, Numbers, Place, SlotIndex};
use super::{Ssa, Values};
use crate::engine::Step;
use crate::error::Fault;
use crate::shuffle::source_lane;
use crate::unwritten::{Bits, PATTERNS, is_unwritten_whole, pattern, treatment};
use crate::warp::{Flow, LANES, lanes_of};

/// A list of slots.
type Slots = SmallVec<[SlotIndex; 8]>;

impl Ssa<'_> {
    /// Executes an operation when some value of the warp has unwritten bits.
    #[cold]
    pub(super) fn follow(&self, values: &mut Values, step: &mut Step<'_>) -> Result<Flow, Fault> {
        let lanes = step.lanes;
        let action = &self.code.nodes[step.pc as usize].action;
        match action {
            Action::Compute { d, d2, args, f } => {
                let is_comparison = self.is_comparison(step.pc);
                let mut moved = SmallVec::<[_; 2]>::new();
                if args.iter().any(|&slot| values.unwritten.lanes(slot, lanes) != 0) {
                    let read = |number: usize| {
                        let words = |operand: usize| {
                            let slot = args[operand];
                            let mut words = values.words[slot as usize];
                            for (lane, word) in (0..).zip(&mut words) {
                                let bits = values.unwritten.get(slot, lane).bits;
                                // An operand that occurs twice has the same pattern.
                                let first = args.iter().position(|&other| other == slot).unwrap_or(0);
                                if bits != 0 {
                                    *word = pattern(number, first, *word, bits);
                                }
                            }
                            words
                        };
                        let mut results = [[0; LANES]; 2];
                        f.all([&words(0), &words(1), &words(2)], lanes, &mut results);
                        results
                    };
                    let results: [_; PATTERNS] = std::array::from_fn(read);
                    let origin = |lane| args.iter().find_map(|&slot| values.unwritten.origin(slot, lane));
                    let mut uses = 0;
                    for lane in lanes_of(lanes) {
                        let is_whole = |&slot: &SlotIndex| {
                            let bits = values.unwritten.get(slot, lane).bits;
                            is_unwritten_whole(values.get(slot, lane), bits)
                        };
                        if is_comparison && args.iter().any(is_whole) {
                            uses |= 1 << lane;
                            continue;
                        }
                        let computed = args.iter().any(|&slot| values.unwritten.get(slot, lane).computed);
                        for (n, slot) in [Some(*d), *d2].into_iter().enumerate() {
                            let results = results.each_ref().map(|words| words[n][lane as usize]);
                            let bits = treatment(&results).bits(origin(lane));
                            let bits = Bits { computed: computed | bits.computed, ..bits };
                            moved.extend(slot.map(|slot| (slot, lane, bits)));
                        }
                    }
                    step.memory.report_uses(uses, origin)?;
                    args.iter().for_each(|&slot| values.unwritten.clear(slot, uses));
                }
                [Some(*d), *d2].into_iter().flatten().for_each(|slot| values.unwritten.clear(slot, lanes));
                moved.into_iter().for_each(|(slot, lane, bits)| values.unwritten.set(slot, lane, bits));
                self.act(values, step)
            }
            Action::Copy { words } => {
                words.iter().for_each(|&pair| values.unwritten.copy(&[pair], lanes));
                self.act(values, step)
            }
            Action::SelectWide { d, condition, a, b } => {
                used(values, step, &[*condition])?;
                for lane in lanes_of(lanes) {
                    let from = if values.get(*condition, lane) & 1 == 1 { a } else { b };
                    (0..2).for_each(|word| values.unwritten.copy(&[(from + word, d + word)], 1 << lane));
                }
                self.act(values, step)
            }
            Action::Shfl { d, p, mode, args: [a, b, c], mask } => {
                used(values, step, &[*b, *c])?;
                mask.iter().try_for_each(|&mask| used(values, step, &[mask]))?;
                [*d, *p].into_iter().for_each(|slot| values.unwritten.clear(slot, lanes));
                let flow = self.act(values, step)?;
                // Lanes that come from elsewhere, or wait, count as written.
                if flow == Flow::Next {
                    for lane in lanes_of(lanes) {
                        let (low, high) = (values.get(*b, lane) as u32, values.get(*c, lane) as u32);
                        let (from, _) = source_lane(*mode, lane, low, high);
                        if lanes >> from & 1 == 1 {
                            values.unwritten.set(*d, lane, values.unwritten.get(*a, from));
                        }
                    }
                }
                Ok(flow)
            }
            _ => {
                let (uses, defs) = slots(action);
                used(values, step, &uses)?;
                defs.iter().for_each(|&slot| values.unwritten.clear(slot, lanes));
                self.act(values, step)
            }
        }
    }

    /// Whether a node compares its operands.
    fn is_comparison(&self, pc: u32) -> bool {
        let node = &self.code.nodes[pc as usize];
        let op = self.functions[node.func].insts[node.inst].op;
        matches!(op, Op::Icmp(_) | Op::Fcmp { .. } | Op::FcmpPair { .. })
    }
}

/// Reports that the lanes use the unwritten bits of slots. From then on these count as written.
fn used(values: &mut Values, step: &mut Step<'_>, slots: &[SlotIndex]) -> Result<(), Fault> {
    let lanes = step.lanes;
    for &slot in slots {
        let unwritten = &values.unwritten;
        step.memory.report_uses(unwritten.lanes(slot, lanes), |lane| unwritten.origin(slot, lane))?;
        values.unwritten.clear(slot, lanes);
    }
    Ok(())
}

/// The slots that an action uses, other than those that it moves, and those that it writes.
fn slots(action: &Action) -> (Slots, Slots) {
    let of = |uses: &[SlotIndex], defs: &[SlotIndex]| (Slots::from_slice(uses), Slots::from_slice(defs));
    let access = |place: &Place, more: &[SlotIndex], defs: &[SlotIndex]| {
        let (mut uses, defs) = of(more, defs);
        uses.push(place.address);
        (uses, defs)
    };
    let masked = |args: &[SlotIndex], mask: &Option<SlotIndex>, defs: &[SlotIndex]| {
        let (mut uses, defs) = of(args, defs);
        uses.extend(*mask);
        (uses, defs)
    };
    match action {
        Action::Fill { d, words } => {
            let defs: Slots = (0..words.len() as u32).map(|word| d + word).collect();
            of(&[], &defs)
        }
        Action::Special { d, .. }
        | Action::ActiveMask { d }
        | Action::BarrierResult { d, .. }
        | Action::SharedAddr { d, .. }
        | Action::FrameAddr { d, .. } => of(&[], &[*d]),
        Action::Load { d, place, .. } => {
            // An element of 128 bits has two words.
            let defs: Slots =
                d.iter().flat_map(|&slot| slot..slot + place.elem.bytes().div_ceil(8)).collect();
            access(place, &[], &defs)
        }
        Action::Store { place, .. } => access(place, &[], &[]),
        Action::Atomic { d, args, place, .. } => access(place, args.as_flattened(), d),
        Action::CompareStore { d, args, place } => access(place, args, &[*d]),
        Action::TryAtomic { d, args, place, .. } => access(place, args, d),
        Action::AtomicWide { d, args: [a, b], place, .. } => {
            let defs: Slots = d.iter().flat_map(|&slot| [slot, slot + 1]).collect();
            access(place, &[*a, a + 1, *b, b + 1], &defs)
        }
        Action::Image { d, args, .. } | Action::Matrix { d, args, .. } => of(args, d),
        Action::IsSpace { d, address, .. } => of(&[*address], &[*d]),
        Action::Vote { d, p, mask, .. } => masked(&[*p], mask, &[*d]),
        Action::Match { d, all, a, mask } => {
            let defs: Slots = [Some(*d), *all].into_iter().flatten().collect();
            masked(&[*a], mask, &defs)
        }
        Action::Redux { d, a, mask, .. } => masked(&[*a], mask, &[*d]),
        Action::Elect { d, p, mask } => masked(&[], mask, &[*d, *p]),
        Action::WarpSync { mask } => of(&[*mask], &[]),
        Action::Barrier { numbers, p, .. } => match numbers {
            Numbers::Name(name) | Numbers::Packed(name) => masked(&[*name], p, &[]),
            Numbers::Both(name, count) => masked(&[*name, *count], p, &[]),
        },
        Action::AskPhase { d, address, of: asked, .. } => of(&[*address, *asked], &[*d]),
        Action::Asynchronous { d, args, .. } => of(args, &[*d]),
        Action::RemoteStore { args, .. } | Action::RemoteRed { args, .. } => of(args, &[]),
        Action::CallIndirect { target, .. } => of(&[*target], &[]),
        Action::Serve { words, d, .. } => {
            let defs: Slots = d.iter().copied().collect();
            of(words, &defs)
        }
        Action::Branch(condition, _) | Action::BranchTogether(condition, _) => of(&[*condition], &[]),
        Action::Switch(selector, _) => of(&[*selector], &[]),
        // Those of their own are followed elsewhere.
        Action::Compute { .. } | Action::Copy { .. } | Action::SelectWide { .. } | Action::Shfl { .. } => {
            of(&[], &[])
        }
        Action::Call { .. }
        | Action::Return { .. }
        | Action::Jump(_)
        | Action::ClusterArrive
        | Action::ClusterWait
        | Action::Fence
        | Action::Nothing
        | Action::Exit
        | Action::Trap => of(&[], &[]),
    }
}
