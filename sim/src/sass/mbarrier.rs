//! The operations of `SYNCS` and shared atomics on mbarriers, and the barrier of the cluster.
//!
//! The word in memory has the layout of the architecture, because programs write it and extract
//! states from it ([`Layout`](crate::mbarrier::Layout)).

use ptxc_sass::{ModKind, value};

use super::fields::{Decoded, Fields};
use super::memory::Place;
use super::registers::{Dest, Registers};
use crate::cluster;
use crate::copies::{Effect, Kind};
use crate::engine::Step;
use crate::error::Fault;
use crate::mbarrier::Mbarrier;
use crate::memory::{AccessKind, Space, write_le};
use crate::phase::{self, Answer};
use crate::signal::change;
use crate::warp::{Flow, LANES, lanes_of};

/// `SYNCS.EXCH.64`: initializes an mbarrier, whatever the old content.
pub(super) fn exchange(i: &Fields<'_>) -> Decoded {
    let (place, data) = (Place::new(i, Space::Shared)?, i.words::<2>("data")?);
    if i.dests("d", 2)?.iter().any(|d| !matches!(d, Dest::Zero)) {
        return Err("a result".to_string());
    }
    Ok(Box::new(move |registers, step| {
        let addresses = place.resolve(registers, step)?;
        let words = data.map(|word| registers.int(word));
        for lane in lanes_of(step.lanes) {
            let n = lane as usize;
            let word = u64::from(words[1][n]) << 32 | u64::from(words[0][n]);
            let slice = step.memory.access(Space::Shared, lane, addresses[n], 8, AccessKind::Write)?;
            write_le(slice, word);
        }
        step.changed_mbarrier = true;
        Ok(Flow::Next)
    }))
}

/// `SYNCS.CCTL.IV`.
pub(super) fn invalidate(i: &Fields<'_>) -> Decoded {
    let place = Place::new(i, Space::Shared)?;
    Ok(Box::new(move |registers, step| {
        let addresses = place.resolve(registers, step)?;
        for lane in lanes_of(step.lanes) {
            let address = addresses[lane as usize];
            demand(step, lane, address)?;
            write_le(step.memory.access(Space::Shared, lane, address, 8, AccessKind::Write)?, 0);
        }
        Ok(Flow::Next)
    }))
}

/// Faults if there is no mbarrier.
fn demand(step: &mut Step<'_>, lane: u32, address: u64) -> Result<(), Fault> {
    change(&mut step.memory, lane, address, |_| Ok(())).map(|_| ())
}

/// Changes the mbarrier of each lane in turn, and returns its previous state to each lane.
fn change_each(
    registers: &mut Registers,
    step: &mut Step<'_>,
    d: &[Dest],
    addresses: &[u64; LANES],
    mut each: impl FnMut(&mut Mbarrier, usize) -> Result<(), String>,
) -> Result<Flow, Fault> {
    let layout = step.memory.grid.mbarriers;
    let mut before = [[0; LANES]; 2];
    for lane in lanes_of(step.lanes) {
        let n = lane as usize;
        let (_, old) = change(&mut step.memory, lane, addresses[n], |barrier| each(barrier, n))?;
        step.memory.publish_to_mbarrier(lane, addresses[n]);
        let bits = layout.bits(old);
        before[0][n] = bits as u32;
        before[1][n] = (bits >> 32) as u32;
    }
    for (&d, before) in d.iter().zip(&before) {
        registers.write(d, step.lanes, |lane| before[lane]);
    }
    step.changed_mbarrier = true;
    Ok(Flow::Next)
}

/// `SYNCS.ARRIVE.TRANS64`.
pub(super) fn arrive(i: &Fields<'_>) -> Decoded {
    let remote = i.is(value!(Reduction = ".RED"));
    let place = Place::new(i, if remote { Space::Cluster } else { Space::Shared })?;
    let (d, data) = (i.dests("d", 2)?, i.word("data")?);
    let drops = i.is(value!(Variant = ".OPTOUT"));
    let count_arrivals = move |barrier: &mut Mbarrier, count: u32| match drops {
        true => barrier.drop_out(count).map(|_| ()),
        false => barrier.arrive(count).map(|_| ()),
    };
    let mode = i.modifier(ModKind::Mode);
    if !matches!(mode, "" | ".A1T0" | ".ART0" | ".A0TR" | ".A0TX" | ".A0T1") {
        return i.unknown(ModKind::Mode);
    }
    if i.is(value!(Reduction = ".TMASK")) {
        let count_of =
            move |data: u32| if mode == ".A1T0" { Some(1) } else { (mode == ".ART0").then_some(data) };
        return Ok(Box::new(move |registers, step| {
            let addresses = place.resolve(registers, step)?;
            let counts = registers.int(data).map(count_of);
            arrive_in_groups(registers, step, &d, (&addresses, &counts), count_arrivals)
        }));
    }
    Ok(Box::new(move |registers, step| {
        let addresses = place.resolve(registers, step)?;
        let data = registers.int(data);
        change_each(registers, step, &d, &addresses, |barrier, n| match mode {
            ".A1T0" => count_arrivals(barrier, 1),
            ".ART0" => count_arrivals(barrier, data[n]),
            ".A0TR" => barrier.expect(data[n]),
            ".A0TX" => barrier.complete(data[n]),
            ".A0T1" => barrier.expect(1),
            _ => barrier.expect(data[n]).and_then(|()| count_arrivals(barrier, 1)),
        })
    }))
}

/// Lets lanes with the same mbarrier and count arrive together, and returns to each the upper word
/// from before and the set of these lanes. The hardware's behaviour for different counts at one
/// mbarrier is not known. Code that derives the state of its group and the lanes below it from a
/// lane's own state is right only for these groups.
fn arrive_in_groups(
    registers: &mut Registers,
    step: &mut Step<'_>,
    d: &[Dest],
    (addresses, counts): (&[u64; LANES], &[Option<u32>; LANES]),
    count_arrivals: impl Fn(&mut Mbarrier, u32) -> Result<(), String>,
) -> Result<Flow, Fault> {
    let layout = step.memory.grid.mbarriers;
    let mut given = [[0; LANES]; 2];
    let mut left = step.lanes;
    while left != 0 {
        let first = left.trailing_zeros();
        let key = |lane: u32| (addresses[lane as usize], counts[lane as usize]);
        let group =
            lanes_of(left).filter(|&lane| key(lane) == key(first)).fold(0, |lanes, lane| lanes | 1 << lane);
        let (address, count) = key(first);
        let Some(count) = count else {
            return Err(Fault::new(first, "adds up counts that are not arrivals"));
        };
        let all = count.saturating_mul(u32::count_ones(group));
        let (_, old) = change(&mut step.memory, first, address, |barrier| count_arrivals(barrier, all))?;
        for lane in lanes_of(group) {
            step.memory.publish_to_mbarrier(lane, address);
            given[0][lane as usize] = group;
            given[1][lane as usize] = (layout.bits(old) >> 32) as u32;
        }
        left &= !group;
    }
    for (&d, given) in d.iter().zip(&given) {
        registers.write(d, step.lanes, |lane| given[lane]);
    }
    step.changed_mbarrier = true;
    Ok(Flow::Next)
}

/// `ATOMS.ARRIVE.64`.
pub(super) fn arrive_by_atomic(i: &Fields<'_>) -> Decoded {
    let (place, d) = (Place::new(i, Space::Shared)?, i.dests("d", 2)?);
    Ok(Box::new(move |registers, step| {
        let addresses = place.resolve(registers, step)?;
        change_each(registers, step, &d, &addresses, |barrier, _| barrier.arrive(1).map(|_| ()))
    }))
}

/// `SYNCS.PHASECHK.TRANS64`.
pub(super) fn ask(i: &Fields<'_>) -> Decoded {
    let (place, pd, data) = (Place::new(i, Space::Shared)?, i.pred_dest("pd")?, i.word("data")?);
    let tries = i.is(value!(Mode = ".TRYWAIT"));
    Ok(Box::new(move |registers, step| {
        let addresses = place.resolve(registers, step)?;
        let data = registers.int(data);
        let odd = lanes_of(step.lanes).fold(0, |odd, lane| odd | (data[lane as usize] >> 31) << lane);
        match phase::ask(step, &mut registers.random, &addresses, odd, tries)? {
            Answer::Lanes(past) => registers.write_pred(pd, step.lanes, past),
            Answer::Flow(flow) => return Ok(flow),
        }
        Ok(Flow::Next)
    }))
}

/// `ARRIVES.LDGSTSBAR.64`.
pub(super) fn arrive_after_copies(i: &Fields<'_>) -> Decoded {
    let place = Place::new(i, Space::Shared)?;
    let effect = if i.is(value!(Mode = ".TRANSCNT")) { Effect::Complete } else { Effect::Arrive };
    Ok(Box::new(move |registers, step| {
        let addresses = place.resolve(registers, step)?;
        for lane in lanes_of(step.lanes) {
            let address = addresses[lane as usize];
            demand(step, lane, address)?;
            let thread = step.memory.first_thread + lane;
            step.memory.cta().copies.ask(thread, Kind::Element, effect(address));
        }
        Ok(Flow::Next)
    }))
}

/// `UCGABAR_ARV`.
pub(super) fn arrive_at_cluster(_: &Fields<'_>) -> Decoded {
    Ok(Box::new(|_, step| whole_warp(step).and_then(|()| cluster::arrive(step))))
}

/// `UCGABAR_WAIT`.
pub(super) fn wait_for_cluster(_: &Fields<'_>) -> Decoded {
    Ok(Box::new(|_, step| whole_warp(step).and_then(|()| cluster::wait(step))))
}

/// The barrier of the cluster counts warps: ptxas makes the lanes reconverge before it wherever
/// they may be apart.
fn whole_warp(step: &Step<'_>) -> Result<(), Fault> {
    match step.control.live & !step.lanes {
        0 => Ok(()),
        absent => {
            let what = format!(
                "is at the barrier of the cluster without lane {} of its warp",
                absent.trailing_zeros()
            );
            Err(Fault::new(step.lanes.trailing_zeros(), what))
        }
    }
}
