//! The barrier of a cluster: threads of several CTAs arrive, and later wait for all others.
//!
//! Each thread arrives once per phase and waits once for the phase. Between the two it may run
//! while other threads have not arrived yet. A phase is complete when all threads of the cluster
//! that have not exited have arrived.
//!
//! ```text
//! cluster_arrive.release; …; cluster_wait.acquire
//! ```
//!
//! The state of a thread is a bit in its warp ([`ClusterArrivals`](crate::warp::ClusterArrivals)).
//! To check whether a phase is complete takes time linear in the warps of the cluster.

use crate::checks::Race;
use crate::cta::Cta;
use crate::engine::Step;
use crate::error::Fault;
use crate::warp::{Flow, Wait};

/// Records the arrival of lanes.
///
/// # Errors
/// A lane has arrived already.
pub(crate) fn arrive(step: &mut Step<'_>) -> Result<Flow, Fault> {
    let cluster = &mut step.control.cluster;
    let again = step.lanes & (cluster.arrived | cluster.passed);
    if again != 0 {
        let what = "arrives a second time at the barrier of the cluster, without having waited";
        return Err(Fault::new(again.trailing_zeros(), what));
    }
    cluster.arrived |= step.lanes;
    step.arrived_at_cluster = true;
    if let Some(race) = step.memory.race() {
        let warp = race.order.warp_of(step.rank as usize, step.warp as usize);
        race.order.arrive_at_cluster(warp, step.lanes);
    }
    Ok(Flow::Next)
}

/// Makes lanes wait for the others.
///
/// # Errors
/// A lane has not arrived.
pub(crate) fn wait(step: &mut Step<'_>) -> Result<Flow, Fault> {
    let cluster = &mut step.control.cluster;
    let absent = step.lanes & !(cluster.arrived | cluster.passed);
    if absent != 0 {
        let what = "waits at the barrier of the cluster without having arrived";
        return Err(Fault::new(absent.trailing_zeros(), what));
    }
    let waiting = step.lanes & cluster.arrived;
    let passing = step.lanes & cluster.passed;
    cluster.passed &= !step.lanes;
    if let Some(race) = step.memory.race() {
        let warp = race.order.warp_of(step.rank as usize, step.warp as usize);
        race.order.release_from_cluster(warp, passing);
    }
    Ok(if waiting == 0 { Flow::Next } else { Flow::Wait(waiting, Wait::Cluster) })
}

/// Ends the phase of a cluster of `size` CTAs if all of its threads have arrived.
pub(crate) fn complete<R>(cluster: &mut [Cta<R>], size: usize, mut race: Option<&mut Race>) {
    let mut controls = cluster.iter().flat_map(|cta| &cta.warps).map(|warp| &warp.control);
    let came = controls.clone().any(|control| control.cluster.arrived != 0);
    let whole = cluster.len() == size && controls.all(|control| control.live & !control.cluster.arrived == 0);
    if !came || !whole {
        return;
    }
    if let Some(race) = &mut race {
        race.order.finish_cluster();
    }
    for (rank, cta) in cluster.iter_mut().enumerate() {
        for (index, warp) in cta.warps.iter_mut().enumerate() {
            if let Some(race) = &mut race {
                let waiting = warp.control.waiting_at(Wait::Cluster);
                race.order.release_from_cluster(race.order.warp_of(rank, index), waiting);
            }
            warp.control.release_cluster();
        }
    }
}

/// The state of the barrier, for a report.
pub(crate) fn describe<R>(cluster: &[Cta<R>]) -> String {
    let mut missing = Vec::new();
    for cta in cluster {
        let threads: u32 = cta
            .warps
            .iter()
            .map(|warp| (warp.control.live & !warp.control.cluster.arrived).count_ones())
            .sum();
        if threads > 0 {
            missing.push(format!("{threads} threads of CTA {}", cta.rank));
        }
    }
    format!("the barrier of the cluster: missing: {}", missing.join(", "))
}
