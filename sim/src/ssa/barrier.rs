//! Arrivals at CTA barriers.

use ptxc_ir::op::BarrierKind;

use super::Values;
use super::code::{Numbers, SlotIndex};
use crate::barrier::{ARRIVES_WITHOUT_COUNT, Reduction};
use crate::engine::Step;
use crate::error::Fault;
use crate::warp::{Flow, Wait, lanes_of};

/// Makes the lanes arrive at a CTA barrier.
pub(super) fn arrive(
    values: &mut Values,
    step: &mut Step<'_>,
    kind: BarrierKind,
    numbers: Numbers,
    p: Option<SlotIndex>,
) -> Result<Flow, Fault> {
    let reduction = match kind {
        BarrierKind::RedPopc => Some(Reduction::Popc),
        BarrierKind::RedAnd => Some(Reduction::And),
        BarrierKind::RedOr => Some(Reduction::Or),
        BarrierKind::Sync | BarrierKind::Arrive => None,
    };
    let lanes = step.lanes;
    let key = |lane| match numbers {
        Numbers::Name(name) => (values.get(name, lane) as u32, None),
        Numbers::Both(name, count) => (values.get(name, lane) as u32, Some(values.get(count, lane) as u32)),
        Numbers::Packed(word) => {
            let word = values.get(word, lane) as u32;
            (word & 0xf, Some(word >> 16))
        }
    };
    let (number, threads) = key(lanes.trailing_zeros());
    if let Some(lane) = lanes_of(lanes).find(|&lane| key(lane) != (number, threads)) {
        return Err(Fault::new(lane, format!("names another barrier or count than {number} of its warp")));
    }
    let holds = p.map_or(0, |p| values.holds(p, lanes));
    if kind == BarrierKind::Arrive && threads == Some(0) {
        return Err(Fault::new(lanes.trailing_zeros(), ARRIVES_WITHOUT_COUNT));
    }
    step.arrive(
        number,
        lanes,
        threads.filter(|&threads| threads != 0),
        reduction.map(|reduction| (reduction, holds)),
    )?;
    Ok(match kind {
        BarrierKind::Arrive => Flow::Next,
        _ => Flow::Wait(lanes, Wait::Cta(number as u8)),
    })
}
