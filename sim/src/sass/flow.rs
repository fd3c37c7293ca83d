//! Branches, exits and convergence barriers.

use super::fields::{Decoded, Fields};
use crate::warp::{Flow, Wait};

/// `BRA`.
pub(super) fn bra(i: &Fields<'_>) -> Decoded {
    let (ps, target) = (i.pred("ps")?, i.target("target")?);
    Ok(Box::new(move |registers, step| {
        let taken = registers.pred(ps) & step.lanes;
        Ok(Flow::Branch { taken, target })
    }))
}

/// `BRA.DIV`: taken unless the live lanes of the mask are all here.
pub(super) fn bra_div(i: &Fields<'_>) -> Decoded {
    let (mask, target) = (i.word("mask")?, i.target("target")?);
    Ok(Box::new(move |registers, step| {
        let mask = registers.int(mask)[0];
        let apart = mask & step.control.live & !step.lanes != 0;
        Ok(Flow::Branch { taken: if apart { step.lanes } else { 0 }, target })
    }))
}

/// `EXIT`.
pub(super) fn exit(_: &Fields<'_>) -> Decoded {
    Ok(Box::new(|_, step| Ok(Flow::Exit(step.lanes))))
}

/// `BSSY`.
pub(super) fn bssy(i: &Fields<'_>) -> Decoded {
    let (barrier, target) = (i.convergence("barrier")?, i.target("target")?);
    Ok(Box::new(move |_, step| {
        step.control.bssy(step.lanes, barrier, target);
        Ok(Flow::Next)
    }))
}

/// `BSYNC`.
pub(super) fn bsync(i: &Fields<'_>) -> Decoded {
    let barrier = i.convergence("barrier")?;
    Ok(Box::new(move |_, step| Ok(Flow::Wait(step.lanes, Wait::Converge(barrier)))))
}

/// `BREAK`.
pub(super) fn break_(i: &Fields<'_>) -> Decoded {
    let barrier = i.convergence("barrier")?;
    Ok(Box::new(move |_, step| {
        step.control.leave(step.lanes, barrier);
        Ok(Flow::Next)
    }))
}

/// `NOP`, and what has nothing to order, end or wait for here: fences, `ENDCOLLECTIVE`, `NANOSLEEP`.
pub(super) fn nop(_: &Fields<'_>) -> Decoded {
    Ok(Box::new(|_, _| Ok(Flow::Next)))
}
