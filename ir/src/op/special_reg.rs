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
        /// The bytes of shared memory of a CTA, with those that the system reserves.
        AllShared = "all_smem_size",
        /// The most bytes that `%aggr_smem_size` can be.
        AggregateLimit = "aggr_smem_limit",
        /// The graph that launched the kernel, the low word.
        GraphExec = "current_graph_exec",
        /// The graph that launched the kernel, the high word.
        GraphExecHigh = "current_graph_exec_hi",
        /// The start of the shared memory that the system reserves.
        ReservedBegin = "reserved_smem_offset_begin",
        /// The end of the shared memory that the system reserves.
        ReservedEnd = "reserved_smem_offset_end",
        /// The limit of the shared memory that the system reserves.
        ReservedCap = "reserved_smem_offset_cap",
        /// The first object in the shared memory that the system reserves.
        Reserved0 = "reserved_smem_offset_0",
        /// The second object in the shared memory that the system reserves.
        Reserved1 = "reserved_smem_offset_1",
        /// Performance counter 0, or as 32 bits its low half.
        Pm0 = "pm0",
        /// Performance counter 1, or as 32 bits its low half.
        Pm1 = "pm1",
        /// Performance counter 2, or as 32 bits its low half.
        Pm2 = "pm2",
        /// Performance counter 3, or as 32 bits its low half.
        Pm3 = "pm3",
        /// Performance counter 4, or as 32 bits its low half.
        Pm4 = "pm4",
        /// Performance counter 5, or as 32 bits its low half.
        Pm5 = "pm5",
        /// Performance counter 6, or as 32 bits its low half.
        Pm6 = "pm6",
        /// Performance counter 7, or as 32 bits its low half.
        Pm7 = "pm7",
        /// Word 0 that the driver sets.
        EnvReg0 = "envreg0",
        /// Word 1 that the driver sets.
        EnvReg1 = "envreg1",
        /// Word 2 that the driver sets.
        EnvReg2 = "envreg2",
        /// Word 3 that the driver sets.
        EnvReg3 = "envreg3",
        /// Word 4 that the driver sets.
        EnvReg4 = "envreg4",
        /// Word 5 that the driver sets.
        EnvReg5 = "envreg5",
        /// Word 6 that the driver sets.
        EnvReg6 = "envreg6",
        /// Word 7 that the driver sets.
        EnvReg7 = "envreg7",
        /// Word 8 that the driver sets.
        EnvReg8 = "envreg8",
        /// Word 9 that the driver sets.
        EnvReg9 = "envreg9",
        /// Word 10 that the driver sets.
        EnvReg10 = "envreg10",
        /// Word 11 that the driver sets.
        EnvReg11 = "envreg11",
        /// Word 12 that the driver sets.
        EnvReg12 = "envreg12",
        /// Word 13 that the driver sets.
        EnvReg13 = "envreg13",
        /// Word 14 that the driver sets.
        EnvReg14 = "envreg14",
        /// Word 15 that the driver sets.
        EnvReg15 = "envreg15",
        /// Word 16 that the driver sets.
        EnvReg16 = "envreg16",
        /// Word 17 that the driver sets.
        EnvReg17 = "envreg17",
        /// Word 18 that the driver sets.
        EnvReg18 = "envreg18",
        /// Word 19 that the driver sets.
        EnvReg19 = "envreg19",
        /// Word 20 that the driver sets.
        EnvReg20 = "envreg20",
        /// Word 21 that the driver sets.
        EnvReg21 = "envreg21",
        /// Word 22 that the driver sets.
        EnvReg22 = "envreg22",
        /// Word 23 that the driver sets.
        EnvReg23 = "envreg23",
        /// Word 24 that the driver sets.
        EnvReg24 = "envreg24",
        /// Word 25 that the driver sets.
        EnvReg25 = "envreg25",
        /// Word 26 that the driver sets.
        EnvReg26 = "envreg26",
        /// Word 27 that the driver sets.
        EnvReg27 = "envreg27",
        /// Word 28 that the driver sets.
        EnvReg28 = "envreg28",
        /// Word 29 that the driver sets.
        EnvReg29 = "envreg29",
        /// Word 30 that the driver sets.
        EnvReg30 = "envreg30",
        /// Word 31 that the driver sets.
        EnvReg31 = "envreg31",
        /// The end address of the local memory that belongs to a thread in this call: in a kernel,
        /// the end of all local memory; in a device function, the end of the part that its callers
        /// leave. Made by legalization.
        LocalTop = "local_top",
        /// The stack pointer that the caller of a device function left: the address of the parameters that
        /// are on the stack. It differs from `local_top` if the function aligns its stack.
        CallerStack = "caller_stack",
        /// The lower end of the function's part of local memory, below which a function that takes memory
        /// as it runs finds it.
        LocalBottom = "local_bottom",
        /// The same address, as that of the parameters on the stack of functions that it calls.
        Outgoing = "outgoing",
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
        /// The low word of the address of the driver's table of textures.
        TextureTable = "texture_table",
        /// The high word of the address of the driver's table of textures.
        TextureTableHigh = "texture_table_high",
        /// The low word of the address of the driver's table of samplers.
        SamplerTable = "sampler_table",
        /// The high word of the address of the driver's table of samplers.
        SamplerTableHigh = "sampler_table_high",
        /// The low word of the address of the driver's table of surfaces.
        SurfaceTable = "surface_table",
        /// The high word of the address of the driver's table of surfaces.
        SurfaceTableHigh = "surface_table_high",
        /// The bytes of a texture in the table of textures, which has their samplers too.
        SampledTextureBytes = "sampled_texture_bytes",
        /// The bytes of a texture in the table of a module with separate samplers.
        TextureBytes = "texture_bytes",
        /// The bytes of a sampler in the table of samplers.
        SamplerBytes = "sampler_bytes",
        /// The bytes of a surface in the table of surfaces.
        SurfaceBytes = "surface_bytes",
    }
}

impl SpecialReg {
    /// The registers that a loader replaces with the value of a symbol.
    const LOADED: [(SpecialReg, &'static str); 4] = [
        (SpecialReg::SampledTextureBytes, ".nv.unified.texrefDescSize"),
        (SpecialReg::TextureBytes, ".nv.independent.texrefDescSize"),
        (SpecialReg::SamplerBytes, ".nv.independent.samplerrefDescSize"),
        (SpecialReg::SurfaceBytes, ".nv.surfrefDescSize"),
    ];

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
                | SpecialReg::CallerStack
                | SpecialReg::LocalBottom
                | SpecialReg::Outgoing
        ) && !self.is_volatile()
    }

    /// Whether two reads by one thread may differ.
    pub const fn is_volatile(self) -> bool {
        matches!(
            self,
            SpecialReg::Clock | SpecialReg::ClockHi | SpecialReg::GlobalTimer | SpecialReg::GlobalTimerHi
        ) || self.counter().is_some()
    }

    /// The number of the performance counter that this is.
    pub const fn counter(self) -> Option<u8> {
        self.number_from(SpecialReg::Pm0, SpecialReg::Pm7)
    }

    /// The symbol whose value a loader puts into the code instead of the register: an undefined name
    /// of four bytes.
    pub fn loaded_symbol(self) -> Option<&'static str> {
        Self::LOADED.iter().find(|(register, _)| *register == self).map(|(_, symbol)| *symbol)
    }

    /// The number among `%envreg0` to `%envreg31`.
    pub const fn environment(self) -> Option<u8> {
        self.number_from(SpecialReg::EnvReg0, SpecialReg::EnvReg31)
    }

    /// The number of a register in a range of the enumeration.
    const fn number_from(self, first: SpecialReg, last: SpecialReg) -> Option<u8> {
        let (first, last, own) = (first as u8, last as u8, self as u8);
        if first <= own && own <= last { Some(own - first) } else { None }
    }
}
