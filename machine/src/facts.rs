//! The facts that every architecture has a value for.
//!
//! The comments name these sources: *ptxas* is the output of NVIDIA's assembler, *nvdisasm* is the
//! output of NVIDIA's disassembler, *guide* is the table of technical specifications in NVIDIA's
//! CUDA C++ programming guide, and *PTX ISA* is NVIDIA's manual of PTX.

use crate::feature::Features;

/// The facts about an architecture. No field has a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its name: `sm_90`.
    pub name: &'static str,
    /// The number in the name: 90.
    pub number: u32,
    /// The families that it belongs to, by the names of their targets: `sm_100f`. Code for a family
    /// runs on each of its members and on no other architecture. Source: PTX ISA, `.target`.
    pub families: &'static [&'static str],
    /// Places in constant bank 0.
    pub banks: Banks,
    /// Sizes of the register files.
    pub registers: Registers,
    /// Limits of launches and kernels.
    pub limits: Limits,
    /// Distances between instructions that are not caused by a register.
    pub distances: Distances,
    /// The layout of an mbarrier in memory; `None` if it is not known.
    pub mbarriers: Option<Mbarriers>,
    /// Its constants in files of machine code; `None` if no such file is known.
    pub cubin: Option<Cubin>,
    /// The data files.
    pub data: Data,
    /// The features that it has.
    pub features: Features,
}

/// Places in constant bank 0, in bytes from its start. Source: ptxas, by the places that it loads
/// for the PTX in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Banks {
    /// The first kernel parameter.
    pub param_base: u32,
    /// The 64-bit descriptor that global accesses name; `None` if they do not name a descriptor.
    pub global_descriptor: Option<u32>,
    /// The initial stack pointer.
    pub stack_top: u32,
    /// The generic address of the local window.
    pub local_window: u32,
    /// The generic address of the shared window; `None` if its high word is `SR_SWINHI` and its low
    /// word is zero.
    pub shared_window: Option<u32>,
    /// The generic address of constant bank 3, where the constant variables of a module lie:
    /// `cvta.const`.
    pub constant_window: u32,
    /// The generic addresses of the kernel parameters: `cvta.param`, `isspacep.param`.
    pub parameter_window: ParameterWindow,
    /// The size of the shared memory that the system reserves in a CTA, in bytes; `None` if
    /// `SR_SMEMSZ` does not count it.
    pub reserved_shared_size: Option<u32>,
    /// The ends of the two objects in the shared memory that the system reserves:
    /// `%reserved_smem_offset_end` and `%reserved_smem_offset_1`.
    pub reserved_shared_ends: Option<[u32; 2]>,
    /// The most bytes that `%aggr_smem_size` can be.
    pub aggregate_shared_limit: Option<u32>,
    /// The graph that launched the kernel, 64 bits: `%current_graph_exec`.
    pub graph_exec: u32,
    /// The addresses of the driver's tables of textures, samplers and surfaces, 64 bits each: `txq`
    /// and `suq` about properties other than sizes.
    pub image_tables: u32,
    /// `%envreg0`; the other 31 follow. On sm_90, ptxas also reads two of them as the ends of
    /// reserved shared memory.
    pub environment: u32,
    /// The cluster facts of a launch; `None` if there are no clusters.
    pub cluster: Option<ClusterPlaces>,
}

/// The places in constant bank 0 that have the generic addresses of the kernel parameters, in bytes
/// from its start. Source: ptxas, by the code that it generates for `cvta.param` and
/// `isspacep.param`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterWindow {
    /// The 64-bit address of the bank, and the 32-bit distance of the parameters' end from it.
    OfBank {
        /// The place of the address.
        start: u32,
        /// The place of the distance.
        end: u32,
    },
    /// The 64-bit addresses of the first parameter and of the parameters' end.
    OfParameters {
        /// The place of the first parameter's address.
        start: u32,
        /// The place of the end's address.
        end: u32,
    },
}

/// The places of the cluster facts in constant bank 0, in bytes from its start. Source: ptxas, by
/// the places that it reads for the special registers of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterPlaces {
    /// Whether the launch gave a cluster size: 1 or 0.
    pub is_explicit: u32,
    /// The cluster size in CTAs: three words.
    pub size: u32,
    /// The inverses of the cluster size along y and z: two numbers in single precision.
    pub inverses: u32,
    /// The grid size in clusters: three words.
    pub clusters: u32,
    /// The number of CTAs of a cluster.
    pub ranks: u32,
}

/// The number of registers of each kind that hold a value; the constant register is not counted.
/// Source: nvdisasm, by the greatest number that it shows as a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// 32-bit registers of a thread: R0 onwards.
    pub general: u8,
    /// 32-bit registers of a warp: UR0 onwards.
    pub uniform: u8,
    /// Predicates of a thread: P0 onwards.
    pub predicates: u8,
    /// Predicates of a warp: UP0 onwards.
    pub uniform_predicates: u8,
    /// Convergence barriers of a warp: B0 onwards.
    pub convergence_barriers: u8,
    /// Scoreboards of a warp: SB0 onwards.
    pub scoreboards: u8,
}

/// Limits of launches and kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The warps that a multiprocessor has room for, if that is a constant; `None` if code asks a
    /// special register for it. Sources: guide; ptxas for `%nwarpid`.
    pub warp_slots: Option<u32>,
    /// General registers of a multiprocessor for each of the 32 lanes of its warps. Source: guide.
    pub registers_a_lane: u32,
    /// The unit in which a thread gets general registers at launch. Source: guide.
    pub register_unit: u32,
    /// Bytes at the start of a CTA's shared window that the system reserves. Source: ptxas.
    pub reserved_shared: u32,
    /// The greatest static shared memory of a CTA, in bytes. ptxas refuses more; the rest is for
    /// `extern` arrays.
    pub static_shared: u32,
    /// Named barriers of a CTA. Source: PTX ISA, `barrier`.
    pub cta_barriers: u32,
}

/// Distances that are not caused by a register, in cycles from issue to issue. Source: ptxas, which
/// keeps them without exception; see `docs/facts/latency.md` and `docs/facts/barriers.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distances {
    /// After a `BAR`.
    pub after_barrier: AfterBarrier,
    /// From a `B2R`, which reads the barrier result of the warp, to an instruction that replaces
    /// the result.
    pub after_barrier_result: u8,
    /// The least such distance in NVIDIA's code if the result of the `B2R` is not used.
    pub after_unread_result: u8,
}

/// Distances after a `BAR`, in cycles, by the instruction that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AfterBarrier {
    /// Another `BAR`.
    pub barrier: u8,
    /// The least distance to another `BAR` in NVIDIA's code, if that `BAR` begins a block.
    pub barrier_at_start: u8,
    /// Memory, control, `ULDC`, `UMOV` and instructions with a scoreboard.
    pub announced: u8,
    /// `CS2R` of a register other than `SRZ`.
    pub clock: u8,
    /// Other arithmetic.
    pub arithmetic: u8,
    /// `NOP`.
    pub nothing: u8,
}

/// The state of an mbarrier. Source: ptxas, by the way its code splits a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mbarriers {
    /// The layout of the word in memory.
    pub layout: MbarrierLayout,
    /// The place of the count of a phase's arrivals in the upper word of a state, in bits from the
    /// right.
    pub arrivals_shift: u32,
    /// The width of the count in bits. The phase is complete when the count overflows.
    pub arrivals_bits: u32,
}

/// The layout of an mbarrier in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MbarrierLayout {
    /// Two words, which code changes by shared atomics. The lower word is 2^30 minus the arrivals
    /// that later phases expect. The upper word is 2^31 minus the arrivals that this phase awaits,
    /// with the parity in the top bit.
    Words,
    /// The word of the `SYNCS` unit, which also counts bytes.
    Unit,
}

/// The constants of an architecture in files of machine code. Source: ptxas, by its output for
/// small kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cubin {
    /// The version in `.nv.compat` of the newer layout; `None` if there is no such section.
    pub compatible_version: Option<u16>,
    /// The version of the instruction set, `EIATTR_MERCURY_ISA_VERSION`.
    pub mercury_version: u16,
    /// Whether the section of a function's code contains its number of registers. On other
    /// architectures only the attributes do.
    pub registers_in_section: bool,
    /// The word of `EIATTR_SW_WAR` that is a kernel's first attribute.
    pub first_workaround: Option<u32>,
    /// The word of `EIATTR_SW_WAR` that is a kernel's last attribute.
    pub last_workaround: Option<u32>,
    /// Whether kernels have `EIATTR_SW2861232_WAR`.
    pub has_workaround_2861232: bool,
    /// Whether kernels have `EIATTR_SPARSE_MMA_MASK`.
    pub has_sparse_mma_mask: bool,
    /// The number of the relocation for a call of the function whose address the loader fills in.
    pub call_loaded: u32,
    /// The same for a call of an absolute address; `None` if no such relocation is known.
    pub call_absolute: Option<u32>,
}

/// The text of the data files. Each file names its sources.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// Fixed latencies: `docs/facts/latency.md`.
    pub latencies: &'static str,
    /// How often each pipe accepts an instruction.
    pub issue: &'static str,
    /// The figures of the simulator's model of time: `docs/timing.md`.
    pub timing: &'static str,
}

impl std::fmt::Debug for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Data").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Arch;
    use crate::feature::Feature;

    /// The places in constant bank 0, each with its size in bytes.
    fn places(banks: &Banks) -> Vec<(u32, u32)> {
        let mut places = vec![(banks.stack_top, 4), (banks.local_window, 8), (banks.constant_window, 8)];
        places.extend(banks.global_descriptor.map(|at| (at, 8)));
        places.extend(banks.shared_window.map(|at| (at, 8)));
        places.extend(banks.reserved_shared_size.map(|at| (at, 4)));
        places.extend(banks.aggregate_shared_limit.map(|at| (at, 4)));
        places.push((banks.graph_exec, 8));
        places.push((banks.image_tables, 24));
        let ends = banks.reserved_shared_ends.into_iter().flatten();
        let environment = banks.environment..banks.environment + 4 * 32;
        places.extend(ends.filter(|at| !environment.contains(at)).map(|at| (at, 4)));
        places.push((banks.environment, 4 * 32));
        places.extend(match banks.parameter_window {
            ParameterWindow::OfBank { start, end } => [(start, 8), (end, 4)],
            ParameterWindow::OfParameters { start, end } => [(start, 8), (end, 8)],
        });
        if let Some(ClusterPlaces { is_explicit, size, inverses, clusters, ranks }) = banks.cluster {
            places.extend([(is_explicit, 4), (size, 12), (inverses, 8), (clusters, 12), (ranks, 4)]);
        }
        places.sort_unstable();
        places
    }

    #[test]
    fn facts_of_each_architecture_agree() {
        for arch in Arch::VARIANTS {
            let Facts { banks, limits, distances, cubin, mbarriers, .. } = arch.facts();
            let places = places(banks);
            assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{arch}");
            assert!(places.iter().all(|(at, bytes)| at + bytes <= banks.param_base), "{arch}");
            assert!(places.iter().all(|(at, bytes)| at % bytes.min(&4) == 0), "{arch}");
            let after = &distances.after_barrier;
            assert!(after.barrier_at_start <= after.barrier, "{arch}");
            assert!(distances.after_unread_result <= distances.after_barrier_result, "{arch}");
            assert!(limits.registers_a_lane >= limits.register_unit, "{arch}");
            assert!(mbarriers.is_none_or(|one| one.arrivals_shift + one.arrivals_bits <= 31));
            let version = cubin.and_then(|cubin| cubin.compatible_version);
            assert!(version.is_none_or(|version| Some(version) == cubin.map(|one| one.mercury_version)));
        }
    }

    #[test]
    fn features_agree_with_facts() {
        for arch in Arch::ALL {
            let facts = arch.facts();
            assert_eq!(arch.has(Feature::Clusters), facts.banks.cluster.is_some(), "{arch}");
            assert_eq!(
                arch.has(Feature::SyncUnit),
                facts.mbarriers.is_some_and(|one| one.layout == MbarrierLayout::Unit),
                "{arch}"
            );
        }
    }

    #[test]
    fn figures_of_the_invented_architecture_are_those_of_no_other() {
        let figures = |arch: Arch| {
            let Facts { number, banks, registers, limits, distances, .. } = arch.facts();
            let after = &distances.after_barrier;
            [
                Some(*number),
                Some(banks.param_base),
                banks.global_descriptor,
                Some(banks.stack_top),
                Some(banks.local_window),
                banks.shared_window,
                Some(banks.constant_window),
                Some(banks.graph_exec),
                Some(banks.image_tables),
                Some(banks.environment),
                banks.cluster.map(|one| one.is_explicit),
                banks.cluster.map(|one| one.size),
                banks.cluster.map(|one| one.clusters),
                banks.cluster.map(|one| one.ranks),
                Some(registers.general.into()),
                Some(registers.uniform.into()),
                Some(registers.predicates.into()),
                Some(registers.uniform_predicates.into()),
                Some(registers.convergence_barriers.into()),
                Some(registers.scoreboards.into()),
                limits.warp_slots,
                Some(limits.registers_a_lane),
                Some(limits.register_unit),
                Some(limits.reserved_shared),
                Some(limits.static_shared),
                Some(limits.cta_barriers),
                Some(after.barrier.into()),
                Some(after.barrier_at_start.into()),
                Some(after.announced.into()),
                Some(after.clock.into()),
                Some(after.arithmetic.into()),
                Some(after.nothing.into()),
                Some(distances.after_barrier_result.into()),
                Some(distances.after_unread_result.into()),
            ]
        };
        let own = figures(Arch::Invented);
        for arch in Arch::ALL {
            for (index, (one, other)) in own.iter().zip(figures(arch)).enumerate() {
                assert!(one.is_some() && *one != other, "{arch}: figure {index}");
            }
            assert_ne!(Arch::Invented.facts().mbarriers, arch.facts().mbarriers);
            assert_ne!(Arch::Invented.facts().cubin, arch.facts().cubin);
            assert_ne!(Arch::Invented.facts().data, arch.facts().data);
        }
    }
}
