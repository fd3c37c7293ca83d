//! Counts for single instructions: the stalls after them, the scoreboards that they set, and how
//! soon they follow a CTA barrier.

use std::collections::BTreeMap;

use ptxc_sass::Op;

use super::code::Issued;

/// The number of cycles after a `BAR` that are examined.
const AFTER_BARRIER: u32 = 12;

/// The counts of one row of the instruction table.
#[derive(Clone, Debug, Default)]
pub(super) struct Spacing {
    pub(super) seen: u32,
    /// How often each stall count was seen.
    pub(super) stalls: [u32; 16],
    /// How many set only a write scoreboard, only a read scoreboard, both.
    pub(super) scoreboards: [u32; 3],
    /// How often it was issued that many cycles after a `BAR`, as the first of its kind.
    pub(super) after_barrier: [u32; AFTER_BARRIER as usize],
    /// How often the first wait for a scoreboard that it sets followed after that many cycles.
    pub(super) first_wait: [u32; 8],
}

/// Adds the counts of a line.
pub(super) fn observe(line: &[Issued], found: &mut BTreeMap<Op, Spacing>) {
    let mut barrier: Option<u32> = None;
    let mut setters: [Option<(Op, u32)>; 8] = [None; 8];
    for here in line {
        let (op, control) = (here.inst.op, &here.control);
        for scoreboard in control.waits() {
            if let Some((setter, time)) = setters[usize::from(scoreboard)].take() {
                let distance = (here.time - time) as usize;
                if let Some(count) = found.entry(setter).or_default().first_wait.get_mut(distance) {
                    *count += 1;
                }
            }
        }
        let spacing = found.entry(op).or_default();
        spacing.seen += 1;
        spacing.stalls[usize::from(control.stall)] += 1;
        match (control.write_barrier, control.read_barrier) {
            (Some(_), None) => spacing.scoreboards[0] += 1,
            (None, Some(_)) => spacing.scoreboards[1] += 1,
            (Some(_), Some(_)) => spacing.scoreboards[2] += 1,
            (None, None) => {}
        }
        for scoreboard in control.write_barrier.into_iter().chain(control.read_barrier) {
            setters[usize::from(scoreboard)] = Some((op, here.time));
        }
        if control.wait_mask != 0 {
            barrier = None;
        }
        if let Some(distance) = barrier.map(|time| here.time - time)
            && let Some(count) = spacing.after_barrier.get_mut(distance as usize)
        {
            *count += 1;
        }
        if op.row().cta_barrier {
            barrier = Some(here.time);
        }
    }
}
