//! The calls of each lane: a stack of frames, each with a part of the lane's local memory.
//!
//! ```text
//! call @f        enter: a frame below that of the caller; a recursive call saves the values of f
//! ret v1         leave: the results go to the caller, and the saved values come back
//! ```
//! The values of a function have one place per warp, so only recursion has to save any.

use super::code::{Action, SlotIndex};
use super::{Ssa, Values};
use crate::error::Fault;
use crate::warp::{LANES, lanes_of};

/// The largest depth of calls of a thread.
const MOST_FRAMES: usize = 1 << 12;

/// An active call of a lane.
pub(super) struct Frame {
    /// The node of the call.
    pub(super) call: u32,
    /// The function.
    pub(super) callee: usize,
    /// The lower end of its part of local memory. Stacks grow down.
    pub(super) base: u32,
    /// The values of the outer call of the same function.
    pub(super) saved: Vec<u64>,
}

impl Values {
    /// The lower end of the part of local memory that belongs to the running call of a lane.
    pub(super) fn base(&self, lane: u32) -> u32 {
        self.frames[lane as usize].last().map_or(self.base_of_kernel, |frame| frame.base)
    }
}

impl Ssa<'_> {
    /// Gives the lanes a frame for a call at the current node.
    pub(super) fn enter(
        &self,
        values: &mut Values,
        call: u32,
        lanes: u32,
        callee: usize,
        stack: Option<SlotIndex>,
    ) -> Result<(), Fault> {
        let slots = self.code.functions[callee].slots.clone();
        for lane in lanes_of(lanes) {
            let frames = &values.frames[lane as usize];
            if frames.len() == MOST_FRAMES {
                return Err(Fault::new(lane, format!("is in more than {MOST_FRAMES} calls")));
            }
            let top = stack.map_or(values.base(lane), |stack| values.get(stack, lane) as u32);
            let base = top.checked_sub(self.code.functions[callee].frame);
            let base = base.ok_or_else(|| Fault::new(lane, "has no more stack".to_string()))?;
            let again = values.active[callee][lane as usize] > 0;
            let saved =
                if again { slots.clone().map(|slot| values.get(slot, lane)).collect() } else { Vec::new() };
            values.active[callee][lane as usize] += 1;
            values.frames[lane as usize].push(Frame { call, callee, base, saved });
        }
        Ok(())
    }

    /// Returns the lanes to their calls with these results. The result is the nodes where they
    /// continue.
    pub(super) fn leave(&self, values: &mut Values, lanes: u32, words: &[SlotIndex]) -> [u32; LANES] {
        let mut targets = [0; LANES];
        for lane in lanes_of(lanes) {
            let Some(frame) = values.frames[lane as usize].pop() else { continue };
            let returned: Vec<u64> = words.iter().map(|&word| values.get(word, lane)).collect();
            let unwritten: Vec<_> = words.iter().map(|&word| values.unwritten.get(word, lane)).collect();
            for (slot, word) in self.code.functions[frame.callee].slots.clone().zip(frame.saved) {
                values.set(slot, lane, word);
                values.unwritten.clear(slot, 1 << lane);
            }
            values.active[frame.callee][lane as usize] -= 1;
            if let Action::Call { results, .. } | Action::CallIndirect { results, .. } =
                &self.code.nodes[frame.call as usize].action
            {
                for (&slot, word) in results.iter().zip(returned) {
                    values.set(slot, lane, word);
                }
                for (&slot, bits) in results.iter().zip(unwritten) {
                    values.unwritten.set(slot, lane, bits);
                }
            }
            targets[lane as usize] = frame.call + 1;
        }
        targets
    }
}
