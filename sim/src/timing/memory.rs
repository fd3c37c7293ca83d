//! The path of a memory instruction after the sub-core: the port of the SM, shared memory, the network of
//! the cluster, caches, device memory.
//!
//! In: the time when an instruction leaves its sub-core, and the bytes that its lanes touch. Out:
//! the time of its result, and how long it uses the port. Nothing waits here: each request gets the
//! first cycle in which each part has room for it, in the order of the requests. So the time of a
//! result is known when the instruction issues.
//!
//! ```text
//! sub-core -> port -> shared memory                              passes by bank conflicts
//!                  -> shared memory of another CTA of the cluster   latency and bandwidth
//!                  -> first-level cache -> second-level -> DRAM  sectors; latency and bandwidth each
//! asynchronous copy -----------------> second-level -> DRAM
//! ```
//!
//! Each SM has its own shared memory, first-level cache, constants and connections. The second-level
//! cache and device memory are common to the SMs; device memory has the share of each of them.
//!
//! The first-level cache is write-through and tracks sectors in flight, so a second load of a
//! sector waits for the first. It holds all of local memory, and stores to it stay there. Accesses
//! that must be coherent beyond the CTA bypass it. Atomics are done at the second level. Constants
//! have a separate cache.

use std::ops::Range;

use rustc_hash::FxHashSet;
use serde::Serialize;

use super::cache::{Cache, Found};
use super::coalesce::{self, Sectors};
use super::params::{Draw, Params};
use crate::access::Access;
use crate::memory::{AccessKind, RANK_SHIFT, Space};
use crate::warp::lanes_of;

/// Statistics of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryCounts {
    /// Instructions that touched shared memory.
    pub shared_accesses: u64,
    /// Passes over shared memory.
    pub shared_passes: u64,
    /// Passes in addition to those that the width of the accesses needs.
    pub bank_conflicts: u64,
    /// Instructions that touched global or local memory.
    pub accesses: u64,
    /// Lines of 128 bytes that they touched.
    pub lines: u64,
    /// Sectors of 32 bytes that they touched.
    pub sectors: u64,
    /// Sectors that loads found in the first-level cache, or on their way there.
    pub l1_hits: u64,
    /// Sectors that loads did not find there.
    pub l1_misses: u64,
    /// Sectors that were found in the second-level cache, or on their way there.
    pub l2_hits: u64,
    /// Sectors that were not found there.
    pub l2_misses: u64,
    /// Operations of atomics on global memory that waited for another lane of their warp.
    pub atomic_conflicts: u64,
    /// Instructions that touched the shared memory of another CTA.
    pub remote_accesses: u64,
    /// Bytes of asynchronous copies in bulk and of boxes of tensors.
    pub bulk_bytes: u64,
}

/// The cache policy of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Policy {
    /// Whether it must see data that other SMs wrote, and so bypasses the first-level cache.
    pub coherent: bool,
}

/// The answer of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// The time when the result is available, or the store is done.
    pub done: u64,
    /// The cycles for which the port is busy.
    pub port: u64,
}

/// A channel with limited bandwidth.
#[derive(Debug, Default)]
struct Channel {
    /// The time when it is free, in bytes transferred since the start.
    free: u64,
}

impl Channel {
    /// Transfers bytes, not before `at`, and returns the cycle in which the transfer begins.
    fn pass(&mut self, at: u64, bytes: u64, bandwidth: u32) -> u64 {
        let bandwidth = u64::from(bandwidth.max(1));
        let begins = self.free.max(at * bandwidth);
        self.free = begins + bytes;
        begins / bandwidth
    }
}

/// What one SM has of its own.
#[derive(Debug)]
struct Near {
    l1: Cache,
    constants: FxHashSet<(u8, u64)>,
    to_l2: Channel,
    to_cluster: Channel,
}

/// The memory of the SMs.
#[derive(Debug)]
pub(super) struct MemorySystem {
    params: &'static Params,
    sms: Vec<Near>,
    l2: Cache,
    to_dram: Channel,
    dram_bandwidth: u32,
    /// Its statistics.
    pub counts: MemoryCounts,
}

/// A request to memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    /// The SM, which is the rank of its CTA in the cluster.
    pub sm: usize,
    /// The cycle from which latencies count: `at` minus the time that every instruction takes to get there.
    pub issued: u64,
    /// The cycle when it enters the port.
    pub at: u64,
}

impl MemorySystem {
    /// Empty caches of a number of SMs; `shared_bytes` of each SM are shared memory.
    pub fn new(params: &'static Params, sms: usize, shared_bytes: u32) -> MemorySystem {
        let carved = shared_bytes.next_multiple_of(params.carve_unit);
        let l1_bytes = params.data_bytes.saturating_sub(carved).max(params.cache_line * params.l1_ways);
        let sectors = params.cache_line / params.sector;
        let near = || Near {
            l1: Cache::new(l1_bytes, params.cache_line, sectors, params.l1_ways),
            constants: FxHashSet::default(),
            to_l2: Channel::default(),
            to_cluster: Channel::default(),
        };
        MemorySystem {
            params,
            sms: (0..sms).map(|_| near()).collect(),
            l2: Cache::new(params.l2_bytes, params.cache_line, sectors, params.l2_ways),
            to_dram: Channel::default(),
            dram_bandwidth: params.dram_bandwidth * sms as u32,
            counts: MemoryCounts::default(),
        }
    }

    /// The cycles for which a request without an address uses the port.
    pub fn least_port(&self) -> u64 {
        u64::from(self.params.port_least)
    }

    /// Empties the first-level cache of an SM.
    pub fn invalidate_l1(&mut self, sm: usize) {
        self.sms[sm].l1.clear();
    }

    /// Serves the accesses of an instruction in one space. `local` is the first byte of the warp's local
    /// memory.
    pub fn serve(
        &mut self,
        ticket: Ticket,
        access: &Access,
        policy: Policy,
        local: u64,
        draw: &mut Draw,
    ) -> Answer {
        let is_remote = |lane: u32| access.addresses[lane as usize] >> RANK_SHIFT != ticket.sm as u64;
        match access.space {
            Space::Cluster if lanes_of(access.lanes).any(is_remote) => self.remote(ticket, access, draw),
            Space::Shared | Space::Cluster => self.shared(ticket.issued, access, draw),
            Space::Constant(bank) => self.constant(ticket, bank, access, draw),
            // Parameters are in constant bank 0.
            Space::Param => self.constant(ticket, 0, access, draw),
            Space::Global | Space::Local | Space::Generic => self.cached(ticket, access, policy, local, draw),
        }
    }

    /// Moves bytes between the SM's port and shared memory of other SMs; returns the cycle when the
    /// last of them has arrived.
    pub fn cross(&mut self, ticket: Ticket, bytes: u64, draw: &mut Draw) -> u64 {
        let Ticket { sm, issued, at } = ticket;
        let bandwidth = self.params.cluster_bandwidth;
        let begins = self.sms[sm].to_cluster.pass(at, bytes, bandwidth);
        issued + draw.pick(self.params.cluster_load) + (begins - at)
    }

    fn remote(&mut self, ticket: Ticket, access: &Access, draw: &mut Draw) -> Answer {
        self.counts.remote_accesses += 1;
        let bytes = u64::from(access.lanes.count_ones() * access.bytes);
        let port = bytes.div_ceil(self.params.port_bytes.into()).max(self.params.port_least.into());
        Answer { done: self.cross(ticket, bytes, draw), port }
    }

    /// Serves an asynchronous copy of the bytes in some ranges of addresses of global memory, to or from shared
    /// memory; returns the cycle when it is done. It bypasses the first-level cache.
    pub fn bulk(
        &mut self,
        ticket: Ticket,
        runs: impl IntoIterator<Item = Range<u64>>,
        stores: bool,
        draw: &mut Draw,
    ) -> u64 {
        let Ticket { sm, issued, at } = ticket;
        let sector = u64::from(self.params.sector);
        let latency = draw.pick(self.params.l2_hit);
        let mut done = issued + latency;
        for run in runs.into_iter().filter(|run| !run.is_empty()) {
            self.counts.bulk_bytes += run.end - run.start;
            for sector in run.start / sector..=(run.end - 1) / sector {
                done = done.max(match stores {
                    true => issued + latency + (self.send(sm, sector, at) - at),
                    false => self.bring(ticket, sector, latency, draw),
                });
            }
        }
        done
    }

    fn shared(&mut self, issued: u64, access: &Access, draw: &mut Draw) -> Answer {
        let params = self.params;
        let atomic = access.kind == AccessKind::Atomic;
        let banks = [params.banks, params.bank_bytes];
        let passes = coalesce::passes(&access.addresses, access.lanes, access.bytes, atomic, banks);
        self.counts.shared_accesses += 1;
        self.counts.shared_passes += u64::from(passes.taken);
        self.counts.bank_conflicts += u64::from(passes.taken - passes.ideal);
        let width = u64::from((params.banks * params.bank_bytes).div_ceil(params.port_bytes));
        let port = (u64::from(passes.taken) * width).max(u64::from(params.port_least));
        let latency = if atomic { params.shared_atomic } else { params.shared_load };
        Answer { done: issued + draw.pick(latency) + (port - u64::from(params.port_least)), port }
    }

    /// Constants at addresses that lanes compute: different addresses take turns.
    fn constant(&mut self, ticket: Ticket, bank: u8, access: &Access, draw: &mut Draw) -> Answer {
        let params = self.params;
        let Ticket { sm, issued, .. } = ticket;
        let sectors = coalesce::sectors(&access.addresses, access.lanes, access.bytes, access.bytes.max(1));
        let mut done = issued + draw.pick(params.constant_load) + sectors.len() as u64 - 1;
        let per_line = u64::from(params.constant_line / access.bytes.max(1)).max(1);
        for number in &sectors {
            if self.sms[sm].constants.insert((bank, number / per_line)) {
                done += draw.pick(params.constant_miss);
            }
        }
        Answer { done, port: sectors.len() as u64 }
    }

    fn cached(
        &mut self,
        ticket: Ticket,
        access: &Access,
        policy: Policy,
        local: u64,
        draw: &mut Draw,
    ) -> Answer {
        let params = self.params;
        let issued = ticket.issued;
        let is_local = access.space == Space::Local;
        let Access { addresses, lanes, bytes, .. } = access;
        let sectors = match is_local {
            true => coalesce::local_sectors(local, addresses, *lanes, *bytes, params.sector),
            false => coalesce::sectors(addresses, *lanes, *bytes, params.sector),
        };
        let per_line = u64::from(params.cache_line / params.sector);
        let lines = sectors.chunk_by(|a, b| a / per_line == b / per_line).count() as u64;
        self.counts.accesses += 1;
        self.counts.lines += lines;
        self.counts.sectors += sectors.len() as u64;
        let moved = sectors.len() as u64 * u64::from(params.sector);
        let port = lines
            .div_ceil(u64::from(params.tags))
            .max(moved.div_ceil(u64::from(params.port_bytes)))
            .max(u64::from(params.port_least));
        let late = port - u64::from(params.port_least);
        let done = match access.kind {
            AccessKind::Read => {
                let hit = issued + draw.pick(params.l1_hit);
                self.load(ticket, &sectors, policy, hit, draw)
            }
            AccessKind::Write => self.store(ticket, &sectors, is_local, draw),
            AccessKind::Atomic | AccessKind::Mbarrier => {
                let waiting = u64::from(coalesce::sharers(addresses, *lanes).saturating_sub(1));
                self.counts.atomic_conflicts += waiting;
                let latency = draw.pick(params.l2_hit);
                let mut done = issued;
                for &sector in &sectors {
                    done = done.max(self.bring(ticket, sector, latency, draw));
                }
                done + waiting * u64::from(params.atomic_same)
            }
        };
        Answer { done: done + late, port }
    }

    fn load(&mut self, ticket: Ticket, sectors: &Sectors, policy: Policy, hit: u64, draw: &mut Draw) -> u64 {
        let per_line = u64::from(self.params.cache_line / self.params.sector);
        let mut done = hit;
        let mut l2_latency = None;
        for &sector in sectors {
            let (line, part) = (sector / per_line, (sector % per_line) as usize);
            let l1 = &mut self.sms[ticket.sm].l1;
            let found = if policy.coherent { Found::Missing } else { l1.look_up(line, part) };
            let arrival = match found {
                Found::At(cycle) => {
                    self.counts.l1_hits += 1;
                    cycle
                }
                Found::Missing => {
                    self.counts.l1_misses += 1;
                    let latency = *l2_latency.get_or_insert_with(|| draw.pick(self.params.l2_hit));
                    let arrival = self.bring(ticket, sector, latency, draw);
                    if !policy.coherent {
                        self.sms[ticket.sm].l1.fill(line, part, arrival);
                    }
                    arrival
                }
            };
            done = done.max(arrival);
        }
        done
    }

    /// Stores go through to the second level, except for stores to local memory, which stay in the
    /// first.
    fn store(&mut self, ticket: Ticket, sectors: &Sectors, is_local: bool, draw: &mut Draw) -> u64 {
        let params = self.params;
        let Ticket { sm, issued, at } = ticket;
        let per_line = u64::from(params.cache_line / params.sector);
        if is_local {
            for &sector in sectors {
                self.sms[sm].l1.fill(sector / per_line, (sector % per_line) as usize, issued);
            }
            return issued + draw.pick(params.l1_hit);
        }
        let begins = sectors.iter().fold(at, |_, &sector| self.send(sm, sector, at));
        issued + draw.pick(params.l2_hit) + (begins - at)
    }

    /// Sends a sector to the second level, and returns the cycle when the transfer begins.
    fn send(&mut self, sm: usize, sector: u64, at: u64) -> u64 {
        let params = self.params;
        let per_line = u64::from(params.cache_line / params.sector);
        let begins = self.sms[sm].to_l2.pass(at, params.sector.into(), params.l2_bandwidth);
        self.l2.fill(sector / per_line, (sector % per_line) as usize, begins);
        begins
    }

    /// Brings a sector from the second level or from device memory, and returns its arrival time.
    fn bring(&mut self, ticket: Ticket, sector: u64, latency: u64, draw: &mut Draw) -> u64 {
        let params = self.params;
        let Ticket { sm, issued, at } = ticket;
        let per_line = u64::from(params.cache_line / params.sector);
        let (line, part) = (sector / per_line, (sector % per_line) as usize);
        let begins = self.sms[sm].to_l2.pass(at, params.sector.into(), params.l2_bandwidth);
        let late = begins - at;
        match self.l2.look_up(line, part) {
            Found::At(cycle) => {
                self.counts.l2_hits += 1;
                (issued + latency + late).max(cycle)
            }
            Found::Missing => {
                self.counts.l2_misses += 1;
                let served = self.to_dram.pass(begins, params.sector.into(), self.dram_bandwidth);
                let arrival = issued + draw.pick(params.dram).max(latency) + (served - at);
                self.l2.fill(line, part, arrival);
                arrival
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ptxc_machine::Arch;

    use super::super::params::{Latencies, params};
    use super::*;
    use crate::warp::LANES;

    fn system() -> (MemorySystem, Draw) {
        (MemorySystem::new(params(Arch::Sm90), 1, 0), Draw::new(Latencies::Typical))
    }

    fn access(kind: AccessKind, space: Space, address: impl Fn(u64) -> u64) -> Access {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        Access { kind, space, bytes: 4, lanes: u32::MAX, addresses }
    }

    fn ticket(issued: u64) -> Ticket {
        Ticket { sm: 0, issued, at: issued + 11 }
    }

    fn at(issue: u64, access: &Access, system: &mut MemorySystem, draw: &mut Draw) -> u64 {
        system.serve(ticket(issue), access, Policy::default(), 0, draw).done - issue
    }

    #[test]
    fn each_level_has_its_latency() {
        let (mut system, mut draw) = system();
        let params = params(Arch::Sm90);
        let load = access(AccessKind::Read, Space::Global, |lane| 0x10000 + 4 * lane);
        let first = at(0, &load, &mut system, &mut draw);
        // Four sectors at 14 bytes per cycle.
        assert!(
            (u64::from(params.dram.typical)..=u64::from(params.dram.typical) + 9).contains(&first),
            "{first}"
        );
        assert_eq!(at(10, &load, &mut system, &mut draw), first - 10, "waits for the load in flight");
        assert_eq!(at(2000, &load, &mut system, &mut draw), u64::from(params.l1_hit.typical));
        system.invalidate_l1(0);
        let l2 = at(4000, &load, &mut system, &mut draw);
        assert!(
            (u64::from(params.l2_hit.typical)..=u64::from(params.l2_hit.typical) + 2).contains(&l2),
            "{l2}"
        );
        assert_eq!((system.counts.l1_hits, system.counts.l1_misses), (8, 8));
        assert_eq!((system.counts.l2_hits, system.counts.l2_misses), (4, 4));
    }

    #[test]
    fn bank_conflicts_take_the_port() {
        let (mut system, mut draw) = system();
        let load = access(AccessKind::Read, Space::Shared, |lane| lane * 128);
        let answer = system.serve(ticket(0), &load, Policy::default(), 0, &mut draw);
        assert_eq!((answer.port, answer.done), (32, 29 + 31));
        assert_eq!(system.counts.bank_conflicts, 31);
        let stored = access(AccessKind::Write, Space::Shared, |lane| lane * 4);
        assert_eq!(system.serve(ticket(0), &stored, Policy::default(), 0, &mut draw).port, 1);
    }

    #[test]
    fn bandwidth_limits_scattered_loads() {
        let (mut system, mut draw) = system();
        let mut last = 0;
        for n in 0..100 {
            let load = access(AccessKind::Read, Space::Global, |lane| n << 20 | lane << 10);
            last = at(0, &load, &mut system, &mut draw);
        }
        let bytes = 100 * LANES as u64 * 32;
        assert!(last > bytes / 14, "{last} cycles for {bytes} bytes");
    }

    #[test]
    fn coherent_loads_go_past_the_first_level() {
        let (mut system, mut draw) = system();
        let load = access(AccessKind::Read, Space::Global, |lane| 4 * lane);
        for issue in [0, 1000, 2000] {
            system.serve(ticket(issue), &load, Policy { coherent: true }, 0, &mut draw);
        }
        assert_eq!((system.counts.l1_hits, system.counts.l2_hits, system.counts.l2_misses), (0, 8, 4));
    }

    #[test]
    fn lanes_at_one_address_wait_for_each_other() {
        let (mut system, mut draw) = system();
        let one = access(AccessKind::Atomic, Space::Global, |_| 0x100);
        let many = access(AccessKind::Atomic, Space::Global, |lane| 0x100 + 4 * lane);
        at(0, &many, &mut system, &mut draw);
        let together = at(10_000, &one, &mut system, &mut draw);
        let apart = at(20_000, &many, &mut system, &mut draw);
        assert!(together > apart + 20, "{together} {apart}");
    }
}
