//! The figures of the model, from one data file per architecture.

use std::sync::LazyLock;

use ptxc_machine::{Arch, PerArch, per_arch};

use crate::random::Random;

/// A figure in the best, typical and worst case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The best case.
    pub best: u32,
    /// The typical case.
    pub typical: u32,
    /// The worst case.
    pub worst: u32,
}

/// A line of a data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its figures.
    pub range: Range,
    /// Its unit; empty for a plain number.
    pub unit: String,
    /// Its source.
    pub source: String,
}

/// Which of the possible latencies instructions of variable latency have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Latencies {
    /// Always the best case.
    Best,
    /// Always the typical case.
    #[default]
    Typical,
    /// Always the worst case.
    Worst,
    /// Any case from best to worst, from a random sequence with this seed.
    Random(u64),
}

/// Draws figures from their ranges.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    latencies: Latencies,
    random: Random,
}

impl Draw {
    pub fn new(latencies: Latencies) -> Draw {
        let seed = if let Latencies::Random(seed) = latencies { seed } else { 0 };
        Draw { latencies, random: Random::new(seed) }
    }

    /// A figure.
    pub fn pick(&mut self, range: Range) -> u64 {
        u64::from(match self.latencies {
            Latencies::Best => range.best,
            Latencies::Typical => range.typical,
            Latencies::Worst => range.worst,
            Latencies::Random(_) if range.best == range.worst => range.best,
            Latencies::Random(_) => range.best + self.random.below(range.worst - range.best + 1),
        })
    }
}

macro_rules! params {
    (ranges { $($(#[$meta:meta])* $field:ident = $name:literal,)* }
     numbers { $($(#[$number_meta:meta])* $number:ident = $number_name:literal,)* }) => {
        /// The figures of an architecture.
        #[derive(Clone, Debug)]
        pub(super) struct Params {
            $($(#[$meta])* pub $field: Range,)*
            $($(#[$number_meta])* pub $number: u32,)*
        }

        impl Params {
            /// The names of all figures.
            #[cfg(test)]
            const NAMES: &'static [&'static str] = &[$($name,)* $($number_name,)*];

            /// The names of the figures that are not drawn from a range.
            #[cfg(test)]
            const NUMBERS: &'static [&'static str] = &[$($number_name,)*];

            fn read(params: &[Param]) -> Params {
                let find = |name: &str| {
                    let found = params.iter().find(|param| param.name == name);
                    found.unwrap_or_else(|| panic!("timing data: {name} is missing")).range
                };
                Params {
                    $($field: find($name),)*
                    $($number: find($number_name).typical,)*
                }
            }
        }
    };
}

params! {
    ranges {
        /// Instruction lines from the cache that sub-cores share, in cycles.
        fetch_l1 = "fetch-l1",
        /// Instruction lines from the second-level cache, in cycles.
        fetch_l2 = "fetch-l2",
        /// An operand that misses the constant cache, in cycles.
        constant_miss = "constant-miss",
        /// The time from issue to the result of a load from shared memory, in cycles, as for the
        /// next figures.
        shared_load = "shared-load",
        /// An atomic of shared memory.
        shared_atomic = "shared-atomic",
        /// A load that hits the first-level cache.
        l1_hit = "l1-hit",
        /// A load that hits the second-level cache.
        l2_hit = "l2-hit",
        /// A load from device memory.
        dram = "dram",
        /// A load from shared memory of another CTA of the cluster.
        cluster_load = "cluster-load",
        /// The time from the issue of a bulk copy to its first request.
        bulk_start = "bulk-start",
        /// The time from the issue of a copy of a box of a tensor to its first request.
        tensor_start = "tensor-start",
        /// `LDC`.
        constant_load = "constant-load",
        /// Other operations of the memory pipe: shuffles, matches, reductions.
        shuffle = "shuffle",
        /// Conversions and approximations.
        special = "special",
        /// `S2R`.
        special_register = "special-register",
        /// Double precision, if a scoreboard signals the result.
        double = "double",
        /// Fixed-latency instructions, if they name a scoreboard.
        fixed = "fixed",
        /// Results of control instructions.
        control = "control",
        /// Matrix instructions.
        tensor = "tensor",
        /// The time from the last arrival at a CTA barrier to the first issue after it.
        barrier_release = "barrier-release",
        /// The time from the last arrival at the barrier of a cluster to the first issue after it.
        cluster_release = "cluster-release",
        /// The time from the last arrival at an mbarrier, or the last byte that it counts, to the next test.
        mbarrier_release = "mbarrier-release",
        /// The time from the last arrival at `BSYNC` or `WARPSYNC` to the first issue after it.
        converge_release = "converge-release",
        /// A fence of the CTA.
        fence_cta = "fence-cta",
        /// A wider fence.
        fence_gpu = "fence-gpu",
        /// A sleep of unknown length.
        sleep = "sleep",
    }
    numbers {
        /// Sub-cores.
        sub_cores = "sub-cores",
        /// Resident warps.
        warps = "warps",
        /// Resident CTAs.
        ctas = "ctas",
        /// Registers, 32 bits each.
        registers = "registers",
        /// The unit in which a warp gets registers.
        register_unit = "register-unit",
        /// Shared memory, in bytes.
        shared_bytes = "shared-bytes",
        /// The part of it that the system reserves for each CTA, in bytes.
        shared_reserved = "shared-reserved",
        /// The unit in which a CTA gets it, in bytes.
        shared_unit = "shared-unit",
        /// Shared memory and first-level cache together, in bytes.
        data_bytes = "data-bytes",
        /// The unit in which they are divided, in bytes.
        carve_unit = "carve-unit",
        /// A line of instructions, in bytes.
        fetch_line = "fetch-line",
        /// The instruction cache of a sub-core, in bytes.
        fetch_l0_bytes = "fetch-l0-bytes",
        /// The instruction cache of the SM, in bytes.
        fetch_l1_bytes = "fetch-l1-bytes",
        /// The ways of both caches.
        fetch_ways = "fetch-ways",
        /// Lines that are fetched ahead.
        fetch_stream = "fetch-stream",
        /// A line of constants, in bytes.
        constant_line = "constant-line",
        /// Cycles of sleep per nanosecond.
        sleep_cycles = "sleep-cycles",
        /// Cycles until a load has read its operands.
        load_read = "load-read",
        /// Cycles until a store has read its operands.
        store_read = "store-read",
        /// More cycles for 64 bits.
        store_read_64 = "store-read-64",
        /// More cycles for 128 bits.
        store_read_128 = "store-read-128",
        /// The transfer rate between sub-cores and memory, in bytes per cycle.
        port_bytes = "port-bytes",
        /// The minimum number of cycles of a request.
        port_least = "port-least",
        /// Banks of shared memory.
        banks = "banks",
        /// Their width, in bytes.
        bank_bytes = "bank-bytes",
        /// Ways of the first-level cache.
        l1_ways = "l1-ways",
        /// A line of the data caches, in bytes.
        cache_line = "cache-line",
        /// A sector of a line, in bytes.
        sector = "sector",
        /// Lines that the first-level cache looks up in a cycle.
        tags = "tags",
        /// The second-level cache, in bytes.
        l2_bytes = "l2-bytes",
        /// Its ways.
        l2_ways = "l2-ways",
        /// Its transfer rate to one SM, in bytes per cycle.
        l2_bandwidth = "l2-bandwidth",
        /// The transfer rate of device memory to one SM, in bytes per cycle.
        dram_bandwidth = "dram-bandwidth",
        /// The transfer rate of an SM to the others of its cluster, in bytes per cycle.
        cluster_bandwidth = "cluster-bandwidth",
        /// Cycles for each further lane of an atomic at one address.
        atomic_same = "atomic-same",
        /// Instructions after which another path of a diverged warp gets a turn.
        divergence_turn = "divergence-turn",
    }
}

struct Data {
    lines: Vec<Param>,
    params: Params,
}

static ALL: PerArch<LazyLock<Data>> =
    per_arch!(ARCH => LazyLock::new(|| Data::read(ARCH.facts().data.timing)));

fn data(arch: Arch) -> &'static Data {
    ALL.get(arch)
}

/// The figures of an architecture.
pub(super) fn params(arch: Arch) -> &'static Params {
    &data(arch).params
}

/// Every figure of an architecture with its source, in the order of its file.
pub fn parameters(arch: Arch) -> &'static [Param] {
    &data(arch).lines
}

impl Data {
    /// Reads a file.
    ///
    /// # Panics
    /// If a line is malformed or a figure is missing. A test of the crate excludes this: the files
    /// are part of the crate.
    fn read(text: &str) -> Data {
        let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
        let lines: Vec<Param> =
            lines.map(|line| param(line).unwrap_or_else(|| panic!("timing data: {line}"))).collect();
        let params = Params::read(&lines);
        Data { lines, params }
    }
}

fn param(line: &str) -> Option<Param> {
    let mut fields = line.splitn(6, ',');
    let name = fields.next()?.to_string();
    let mut figure = || fields.next()?.parse().ok();
    let range = Range { best: figure()?, typical: figure()?, worst: figure()? };
    let (unit, source) = (fields.next()?.to_string(), fields.next()?.to_string());
    Some(Param { name, range, unit, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_every_figure_once_with_a_source() {
        for arch in Arch::ALL {
            let mut names: Vec<&str> = parameters(arch).iter().map(|param| param.name.as_str()).collect();
            let mut known = Params::NAMES.to_vec();
            names.sort_unstable();
            known.sort_unstable();
            assert_eq!(names, known, "{arch}");
            for Param { name, range, source, .. } in parameters(arch) {
                assert!(range.best <= range.typical && range.typical <= range.worst, "{arch} {name}");
                assert!(!source.is_empty(), "{arch} {name}");
                let is_number = Params::NUMBERS.contains(&name.as_str());
                assert!(!is_number || range.best == range.worst, "{arch} {name}: nothing is drawn for it");
            }
        }
    }

    #[test]
    fn latencies_come_from_their_range() {
        let range = Range { best: 3, typical: 5, worst: 9 };
        assert_eq!(Draw::new(Latencies::Best).pick(range), 3);
        assert_eq!(Draw::new(Latencies::Worst).pick(range), 9);
        let mut draw = Draw::new(Latencies::Random(1));
        let drawn: Vec<u64> = (0..200).map(|_| draw.pick(range)).collect();
        assert!(
            (3..=9).all(|value| drawn.contains(&value)) && drawn.iter().all(|value| (3..=9).contains(value))
        );
    }
}
