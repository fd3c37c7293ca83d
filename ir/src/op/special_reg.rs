//! The special registers.

use crate::memory::spelled;

spelled! {
    /// A special register.
    SpecialReg {
        /// Thread index in the CTA, x.
        TidX = "tid.x",
        /// Thread index in the CTA, y.
        TidY = "tid.y",
        /// Thread index in the CTA, z.
        TidZ = "tid.z",
        /// CTA size, x.
        NtidX = "ntid.x",
        /// CTA size, y.
        NtidY = "ntid.y",
        /// CTA size, z.
        NtidZ = "ntid.z",
        /// CTA index in the grid, x.
        CtaidX = "ctaid.x",
        /// CTA index in the grid, y.
        CtaidY = "ctaid.y",
        /// CTA index in the grid, z.
        CtaidZ = "ctaid.z",
        /// Grid size, x.
        NctaidX = "nctaid.x",
        /// Grid size, y.
        NctaidY = "nctaid.y",
        /// Grid size, z.
        NctaidZ = "nctaid.z",
        /// Lane in the warp, 0 to 31.
        LaneId = "laneid",
        /// Warp in the CTA.
        WarpId = "warpid",
        /// Lanes equal to this one, as a mask of one bit.
        LanemaskEq = "lanemask_eq",
        /// Lanes below this one.
        LanemaskLt = "lanemask_lt",
        /// Lanes up to this one.
        LanemaskLe = "lanemask_le",
        /// Lanes above this one.
        LanemaskGt = "lanemask_gt",
        /// Lanes from this one on.
        LanemaskGe = "lanemask_ge",
        /// Rank of the CTA in its cluster.
        ClusterCtaRank = "cluster_ctarank",
        /// CTAs in the cluster.
        ClusterNctaRank = "cluster_nctarank",
        /// CTA index in the cluster, x.
        ClusterCtaidX = "cluster_ctaid.x",
        /// CTA index in the cluster, y.
        ClusterCtaidY = "cluster_ctaid.y",
        /// CTA index in the cluster, z.
        ClusterCtaidZ = "cluster_ctaid.z",
        /// Cluster size, x.
        ClusterNctaidX = "cluster_nctaid.x",
        /// Cluster size, y.
        ClusterNctaidY = "cluster_nctaid.y",
        /// Cluster size, z.
        ClusterNctaidZ = "cluster_nctaid.z",
        /// Cluster index in the grid, x.
        ClusteridX = "clusterid.x",
        /// Cluster index in the grid, y.
        ClusteridY = "clusterid.y",
        /// Cluster index in the grid, z.
        ClusteridZ = "clusterid.z",
        /// Clusters in the grid, x.
        NclusteridX = "nclusterid.x",
        /// Clusters in the grid, y.
        NclusteridY = "nclusterid.y",
        /// Clusters in the grid, z.
        NclusteridZ = "nclusterid.z",
        /// 1 if the launch gave a cluster size, else 0.
        ExplicitCluster = "is_explicit_cluster",
        /// The cycle counter, or as 32 bits its low half.
        Clock = "clock",
        /// The high half of the cycle counter.
        ClockHi = "clock_hi",
        /// The wall clock in nanoseconds, or as 32 bits its low half.
        GlobalTimer = "globaltimer",
        /// The high half of the wall clock.
        GlobalTimerHi = "globaltimer_hi",
        /// The multiprocessor.
        SmId = "smid",
        /// How many warps the multiprocessor has room for.
        NumWarps = "nwarpid",
        /// How many multiprocessors the GPU has.
        SmCount = "nsmid",
        /// The number of the launch, the low word.
        GridId = "gridid",
        /// The number of the launch, the high word.
        GridIdHigh = "gridid_hi",
        /// The bytes of shared memory that the launch gives a CTA in addition to its variables.
        DynamicShared = "dynamic_smem_size",
        /// The bytes of shared memory of a CTA, without those that the system reserves.
        TotalShared = "total_smem_size",
        /// The end address of the local memory that belongs to a thread in this call: in a kernel,
        /// the end of all local memory; in a device function, the end of the part that its callers
        /// leave. Made by legalization.
        LocalTop = "local_top",
        /// The low word of the generic address of the local window; made by legalization.
        LocalWindow = "local_window",
        /// The high word of the generic address of the local window.
        LocalWindowHigh = "local_window_high",
        /// The low word of the generic address of the module's constant variables; made by legalization.
        ConstWindow = "const_window",
        /// The high word of the generic address of the module's constant variables.
        ConstWindowHigh = "const_window_high",
        /// The low word of the generic address of the first kernel parameter; made by legalization.
        ParamWindow = "param_window",
        /// The high word of the generic address of the first kernel parameter.
        ParamWindowHigh = "param_window_high",
        /// The low word of the generic address at which the kernel parameters end; made by legalization.
        ParamEnd = "param_end",
        /// The high word of the generic address at which the kernel parameters end.
        ParamEndHigh = "param_end_high",
        /// The low word of the generic address of the shared window, which is zero from sm_90 on; made by
        /// legalization.
        SharedWindow = "shared_window",
        /// The high word of the generic address of the shared window.
        SharedWindowHigh = "shared_window_high",
    }
}

impl SpecialReg {
    /// Whether every thread of a warp reads the same value.
    pub const fn is_uniform(self) -> bool {
        !matches!(
            self,
            SpecialReg::TidX
                | SpecialReg::TidY
                | SpecialReg::TidZ
                | SpecialReg::LaneId
                | SpecialReg::LanemaskEq
                | SpecialReg::LanemaskLt
                | SpecialReg::LanemaskLe
                | SpecialReg::LanemaskGt
                | SpecialReg::LanemaskGe
        ) && !self.is_volatile()
    }

    /// Whether two reads by one thread may differ.
    pub const fn is_volatile(self) -> bool {
        matches!(
            self,
            SpecialReg::Clock | SpecialReg::ClockHi | SpecialReg::GlobalTimer | SpecialReg::GlobalTimerHi
        )
    }
}
