//! Features of machines, by name.
//!
//! A feature is one property of the machine or of NVIDIA's code for it. If two places in the
//! compiler ask for different reasons, there are two features, even if today's architectures have
//! both or neither. Most features are stated so that code for an architecture without the feature
//! is still correct.

macro_rules! features {
    ($($(#[$meta:meta])* $feature:ident = $field:ident,)*) => {
        /// A property that some architectures have and others do not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Feature {
            $($(#[$meta])* $feature,)*
        }

        impl Feature {
            /// Every feature.
            pub const ALL: &'static [Feature] = &[$(Feature::$feature,)*];
        }

        /// Whether an architecture has each feature. An architecture's file fills in every field.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Features {
            $($(#[$meta])* pub $field: bool,)*
        }

        impl Features {
            /// Whether the feature is set.
            #[inline]
            pub const fn has(&self, feature: Feature) -> bool {
                match feature {
                    $(Feature::$feature => self.$field,)*
                }
            }
        }
    };
}

features! {
    // Memory.

    /// Shared memory can be reached from other CTAs of a cluster, and kernels are launched in
    /// clusters. Source: PTX ISA.
    Clusters = clusters,
    /// The upper bits of a shared address are the rank of a CTA in its cluster, so that the address
    /// of a shared variable is not a constant. Source: ptxas.
    RankedSharedAddresses = ranked_shared_addresses,
    /// The descriptor of global memory does not cover the shared window: a generic access that is
    /// known to be to shared memory omits the descriptor. Source: ptxas.
    SharedWindowUndescribed = shared_window_undescribed,
    /// Weak accesses of global memory carry `.SYS`. Source: ptxas.
    SysOnWeakAccesses = sys_on_weak_accesses,
    /// Arithmetic reads words of constant banks as operands. The encodings exist on later
    /// architectures too, but NVIDIA's code there does not use them. Source: ptxas.
    ConstantOperands = constant_operands,
    /// The handles of textures and surfaces are in uniform registers, that of a sampler in the one
    /// after its texture's. Otherwise they are also in constant banks and general registers, and
    /// the handle of a sampler is in the upper 12 bits of a texture's. Source: ptxas.
    UniformHandles = uniform_handles,

    // Atomics.

    /// Global memory updates vectors of up to 16 bytes. Source: ptxas.
    VectorAtomics = vector_atomics,
    /// Global memory adds pairs of `bf16`. Source: ptxas.
    BrainPairSumAtomics = brain_pair_sum_atomics,
    /// Global memory adds `f32` and keeps subnormals. Source: ptxas.
    SubnormalSumAtomics = subnormal_sum_atomics,
    /// Global memory takes the least and the greatest of pairs of `f16` and `bf16`. Source: ptxas.
    HalfPairExtremeAtomics = half_pair_extreme_atomics,
    /// Memory exchanges, and compares and swaps, 128 bits. Source: ptxas.
    WideSwaps = wide_swaps,
    /// A compare-and-swap may compare with `RZ`. Source: ptxas.
    SwapsCompareZero = swaps_compare_zero,
    /// An update whose result goes to `RZ` is announced by its scoreboard, so that an acquire may
    /// wait for it. Whether this holds on architectures without the feature is not known. Source:
    /// ptxas.
    UnreadUpdatesAnnounced = unread_updates_announced,

    // Asynchronous copies and mbarriers.

    /// Threads copy from global to shared memory asynchronously: `LDGSTS`. Source: PTX ISA.
    AsyncCopies = async_copies,
    /// Copies in bulk, by `UBLKCP` and tensor maps. Source: PTX ISA.
    BulkCopies = bulk_copies,
    /// A separate unit, `SYNCS`, works on mbarriers and orders memory in the CTA. Without it
    /// mbarriers are shared atomics. Source: ptxas.
    SyncUnit = sync_unit,
    /// `ARRIVES` names the count of an mbarrier that it is for: arrivals or transactions. Source:
    /// ptxas.
    ArrivalKinds = arrival_kinds,
    /// New mbarriers, tensor maps and bulk copies are instructions that a warp executes once, on
    /// uniform registers. Lanes with different operands take turns. Source: ptxas.
    OncePerWarpOperations = once_per_warp_operations,
    /// The queue of the memory unit has room when a kernel begins, so that the first `LDGSTS` needs
    /// no loads before it. Source: ptxas.
    RoomAtKernelEntry = room_at_kernel_entry,
    /// A `MEMBAR` in code with `LDGSTS` needs no load before it. Source: ptxas.
    RoomBeforeFences = room_before_fences,

    // Fences.

    /// A fence is followed by `CGAERRBAR`, which waits for errors of the cluster. Source: ptxas.
    ClusterErrorBarrier = cluster_error_barrier,
    /// A fence between two addresses of one memory has device scope; on other architectures it has
    /// system scope. Source: ptxas.
    AliasFenceOfDevice = alias_fence_of_device,

    // Barriers of the CTA.

    /// Barriers that wait may have `.DEFER_BLOCKING`. Source: ptxas.
    DeferredBlocking = deferred_blocking,
    /// `barrier.sync` without `.aligned` also has `.DEFER_BLOCKING`. Source: ptxas.
    DeferredBlockingUnaligned = deferred_blocking_unaligned,
    /// The result of a barrier's reduction may stay unread. On other architectures NVIDIA's code
    /// reads it even if the result is unused. Source: ptxas.
    UnreadBarrierResults = unread_barrier_results,

    // Convergence.

    /// `BSSY` finds no lanes of an earlier join in its barrier. On other architectures code clears
    /// the barrier first. Source: ptxas.
    CleanConvergenceBarriers = clean_convergence_barriers,
    /// Lanes from different places meet in a `WARPSYNC.COLLECTIVE`. Source: ptxas.
    Collectives = collectives,
    /// `BRA.DIV` tests the lanes of a mask in a uniform register. On other architectures it tests
    /// either the whole warp or nothing. Source: ptxas.
    MaskedDivergenceTest = masked_divergence_test,
    /// `BRA.DIV` tests all lanes without a register for their mask. Source: ptxas.
    UnmaskedDivergenceTest = unmasked_divergence_test,
    /// NVIDIA's code has `BRA.CONV`, the opposite test. Source: ptxas.
    ConvergenceTest = convergence_test,

    // Warps.

    /// `REDUX` reduces the values of a warp's lanes. Source: PTX ISA, `redux.sync`.
    Redux = redux,
    /// `VOTE` and `MATCH.ALL` give their answer in a predicate. Source: ptxas.
    VotePredicates = vote_predicates,

    // Matrices.

    /// `QMMA` multiplies matrices of floats of 8 bits. Source: ptxas.
    ByteFloatProducts = byte_float_products,
    /// `IMMA` multiplies matrices of integers of 4 bits. Source: ptxas.
    NibbleProducts = nibble_products,
    /// `BMMA` counts the bits that differ. Source: ptxas.
    XorProducts = xor_products,
    /// `HMMA` has products of 16 columns, `IMMA` and `BMMA` of 16 rows. Source: ptxas.
    LongProducts = long_products,

    // Arithmetic on halves.

    /// The least and the greatest of pairs of `f16`: `HMNMX2`. Source: ptxas.
    HalfPairExtremes = half_pair_extremes,
    /// The least and the greatest of pairs of `bf16`. Source: ptxas.
    BrainPairExtremes = brain_pair_extremes,
    /// Products with sums of pairs of `bf16`: `HFMA2.BF16`. Source: ptxas.
    BrainPairProducts = brain_pair_products,
    /// Sums of pairs of `bf16`: `HADD2.BF16`. Source: ptxas.
    BrainPairSums = brain_pair_sums,
    /// Multiply-adds of halves that give zero if an operand is outside of the bounds of a tensor:
    /// `HFMA2.OOB`. Source: ptxas.
    BoundedMultiplyAdds = bounded_multiply_adds,

    // Latencies.

    /// Double precision has a fixed latency. On other architectures a scoreboard announces its
    /// results. Source: ptxas.
    FixedDoubles = fixed_doubles,
    /// Moves from general to uniform registers have a fixed latency. Source: ptxas.
    FixedMovesToUniform = fixed_moves_to_uniform,
    /// Products of matrices have a fixed latency. Source: ptxas.
    FixedMatrixProducts = fixed_matrix_products,

    // Encoding and text.

    /// If the control field has no place for the reuse flag of an operand, the flag is in the
    /// instruction: bit 50. Source: nvdisasm.
    ReuseFlagInWord = reuse_flag_in_word,
    /// `RZ` next to a uniform register counts as a pair if addresses have 64 bits. Source:
    /// nvdisasm.
    ZeroBaseIsPair = zero_base_is_pair,
    /// An address without a general register is written with `RZ` next to a pair of uniform
    /// registers. Source: nvdisasm.
    ZeroBaseIsWritten = zero_base_is_written,
    /// NVIDIA's tools may omit the descriptor of an address. Source: cuobjdump.
    HiddenDescriptors = hidden_descriptors,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Arch;

    #[test]
    fn the_invented_architecture_has_no_feature() {
        assert!(Feature::ALL.iter().all(|&feature| !Arch::Invented.has(feature)));
    }

    #[test]
    fn each_feature_parts_the_architectures() {
        for &feature in Feature::ALL {
            let count = Arch::ALL.into_iter().filter(|arch| arch.has(feature)).count();
            assert!(count > 0 && count < Arch::ALL.len(), "{feature:?} decides nothing");
        }
    }

    #[test]
    fn features_agree_with_those_that_they_build_on() {
        for arch in Arch::ALL {
            let implies =
                |one, other| assert!(!arch.has(one) || arch.has(other), "{arch}: {one:?} needs {other:?}");
            implies(Feature::RankedSharedAddresses, Feature::Clusters);
            implies(Feature::ClusterErrorBarrier, Feature::Clusters);
            implies(Feature::BulkCopies, Feature::AsyncCopies);
            implies(Feature::BulkCopies, Feature::SyncUnit);
            implies(Feature::DeferredBlockingUnaligned, Feature::DeferredBlocking);
        }
    }
}
