//! The kinds of operations in a function: a rule that starts from none of them need not walk it.
//!
//! Most functions have nothing that most rules rewrite. One walk finds the kinds that a function
//! has, and a rule is applied only to a function that has one of the kinds that it starts from; see
//! [`RULES`](super::RULES).
#![deny(clippy::wildcard_enum_match_arm)]

use std::ops::BitOr;

use ptxc_ir::{Function, InstData, Op, Order, Space, SpecialReg, Type};

/// A set of kinds of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u32);

impl Kinds {
    /// `bar`.
    pub const BAR: Kinds = Kinds(1 << 0);
    /// `barrier`.
    pub const BARRIER: Kinds = Kinds(1 << 1);
    /// Barriers of the cluster.
    pub const CLUSTER_BARRIER: Kinds = Kinds(1 << 2);
    /// Indices in and of clusters.
    pub const CLUSTER_INDEX: Kinds = Kinds(1 << 3);
    /// Accesses to shared memory of the cluster.
    pub const CLUSTER_ACCESS: Kinds = Kinds(1 << 4);
    /// Ordered accesses.
    pub const ORDERED_ACCESS: Kinds = Kinds(1 << 5);
    /// Loads and stores of several elements.
    pub const VECTOR_ACCESS: Kinds = Kinds(1 << 6);
    /// Atomic updates and reductions.
    pub const ATOMIC: Kinds = Kinds(1 << 7);
    /// Operations on an mbarrier.
    pub const MBARRIER: Kinds = Kinds(1 << 8);
    /// Asynchronous copies by threads, and their arrivals.
    pub const ASYNC_COPY: Kinds = Kinds(1 << 9);
    /// Operations that the machine does once for each warp: bulk copies, new mbarriers, tensor
    /// maps.
    pub const ONCE_A_WARP: Kinds = Kinds(1 << 10);
    /// Conversions from and to generic addresses, and tests of them.
    pub const GENERIC_ADDRESS: Kinds = Kinds(1 << 11);
    /// Addresses of local variables.
    pub const LOCAL_ADDRESS: Kinds = Kinds(1 << 12);
    /// Jump tables.
    pub const SWITCH: Kinds = Kinds(1 << 13);
    /// Sums, minima and maxima of two halves at once.
    pub const HALVES: Kinds = Kinds(1 << 14);
    /// Approximations of functions and quotients.
    pub const APPROXIMATION: Kinds = Kinds(1 << 15);
    /// Exact quotients of floats.
    pub const FLOAT_DIVISION: Kinds = Kinds(1 << 16);
    /// Exact square roots.
    pub const SQUARE_ROOT: Kinds = Kinds(1 << 17);
    /// Quotients and remainders of integers.
    pub const DIVISION: Kinds = Kinds(1 << 18);
    /// Integers of 16 bits, and operations that split words into them.
    pub const NARROW: Kinds = Kinds(1 << 19);
    /// Operations on integers of 64 bits, other than moves and comparisons, and operations that use
    /// their results.
    pub const WIDE: Kinds = Kinds(1 << 20);
    /// Sums of integers.
    pub const SUM: Kinds = Kinds(1 << 21);
    /// Products of integers.
    pub const PRODUCT: Kinds = Kinds(1 << 22);
    /// The upper halves of products.
    pub const HIGH_PRODUCT: Kinds = Kinds(1 << 23);
    /// Products of twice the width.
    pub const WIDE_PRODUCT: Kinds = Kinds(1 << 24);
    /// Extensions of integers.
    pub const EXTENSION: Kinds = Kinds(1 << 25);
    /// Shifts to the left.
    pub const LEFT_SHIFT: Kinds = Kinds(1 << 26);
    /// Shifts to the right that shift in zeros.
    pub const RIGHT_SHIFT: Kinds = Kinds(1 << 27);
    /// A read of a texture.
    pub const IMAGE: Kinds = Kinds(1 << 28);
    /// The address of a texture, sampler or surface that has a name.
    pub const IMAGE_NAME: Kinds = Kinds(1 << 29);
    /// Products of matrices.
    pub const MATRIX_PRODUCT: Kinds = Kinds(1 << 30);

    /// Operations that concern the order of memory: accesses, and barriers that order others.
    pub const ORDERED: Kinds = Kinds(Kinds::ORDERED_ACCESS.0 | Kinds::CLUSTER_BARRIER.0 | Kinds::MBARRIER.0);
    /// Operations on an mbarrier, directly or by its generic address.
    pub const MBARRIER_OR_ADDRESS: Kinds = Kinds(Kinds::MBARRIER.0 | Kinds::GENERIC_ADDRESS.0);
    /// Addresses in windows of the generic space.
    pub const WINDOW: Kinds =
        Kinds(Kinds::GENERIC_ADDRESS.0 | Kinds::LOCAL_ADDRESS.0 | Kinds::CLUSTER_ACCESS.0);
    /// Integers of 64 bits, including results.
    pub const LOW_BY_LOW: Kinds = Kinds(Kinds::WIDE.0 | Kinds::WIDE_PRODUCT.0);
    /// Operations that a 64-bit multiply-add can absorb.
    pub const FACTOR: Kinds = Kinds(Kinds::WIDE_PRODUCT.0 | Kinds::EXTENSION.0);

    const NONE: Kinds = Kinds(0);

    /// The kinds in a function.
    pub(super) fn in_function(func: &Function) -> Kinds {
        let mut kinds = Kinds::NONE;
        for &block in &func.layout {
            ptxc_interrupt::poll();
            for &inst in &func.blocks[block].insts {
                kinds = kinds | Kinds::of(func, &func.insts[inst]);
            }
        }
        kinds
    }

    /// Whether the set has no kind.
    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the set has a kind of each of these sets.
    pub(super) fn has_each(self, wanted: &[Kinds]) -> bool {
        wanted.iter().all(|any| self.0 & any.0 != 0)
    }

    /// The kinds of one instruction.
    fn of(func: &Function, data: &InstData) -> Kinds {
        let only_if = |holds: bool, kinds: Kinds| if holds { kinds } else { Kinds::NONE };
        let of_type = match data.ty {
            Type::B16 => Kinds::NARROW,
            Type::B64 => Kinds::WIDE,
            Type::Pred | Type::B32 | Type::B128 => Kinds::NONE,
            Type::F16 | Type::BF16 | Type::F16x2 | Type::BF16x2 | Type::F32 | Type::F64 => Kinds::NONE,
        };
        let of_argument = || data.args.first().map_or(Type::B32, |&arg| func.ty(arg));
        match data.op {
            Op::Const(_) | Op::Undef | Op::Param { .. } => only_if(data.ty == Type::B16, Kinds::NARROW),
            Op::SymbolAddr(symbol) => {
                let space = func.symbols[symbol].space;
                only_if(space == Space::Local, Kinds::LOCAL_ADDRESS)
                    | only_if(space.is_image(), Kinds::IMAGE_NAME)
            }
            Op::Load(access) | Op::Store(access) => {
                only_if(data.ty == Type::B16, Kinds::NARROW)
                    | only_if(access.space == Space::SharedCluster, Kinds::CLUSTER_ACCESS)
                    | only_if(is_ordered(access.order), Kinds::ORDERED_ACCESS)
                    | only_if(access.lanes > 1, Kinds::VECTOR_ACCESS)
            }
            Op::LoadReduce { .. } => Kinds::NONE,
            Op::Atomic { access, .. } | Op::Red { access, .. } | Op::TryAtomic { access, .. } => {
                of_type
                    | Kinds::ATOMIC
                    | only_if(access.space == Space::SharedCluster, Kinds::CLUSTER_ACCESS)
                    | only_if(is_ordered(access.order), Kinds::ORDERED_ACCESS)
            }
            Op::AsyncCopy { access, .. } | Op::AsyncFill { access, .. } => {
                Kinds::ASYNC_COPY | only_if(access.space == Space::SharedCluster, Kinds::CLUSTER_ACCESS)
            }
            Op::AsyncArrive { .. } => Kinds::ASYNC_COPY | Kinds::MBARRIER,
            Op::SpecialReg(register) => {
                let is_index = matches!(
                    register,
                    SpecialReg::ClusteridX
                        | SpecialReg::ClusteridY
                        | SpecialReg::ClusteridZ
                        | SpecialReg::ClusterCtaidX
                        | SpecialReg::ClusterCtaidY
                        | SpecialReg::ClusterCtaidZ
                );
                only_if(is_index, Kinds::CLUSTER_INDEX)
            }
            Op::Bar(_) => Kinds::BAR,
            Op::Barrier { .. } => Kinds::BARRIER,
            Op::ClusterArrive { .. } | Op::ClusterWait { .. } => Kinds::CLUSTER_BARRIER,
            Op::MbarrierUpdate { .. } => Kinds::MBARRIER | Kinds::ONCE_A_WARP,
            Op::MbarrierInval
            | Op::MbarrierArrive { .. }
            | Op::MbarrierState { .. }
            | Op::MbarrierParity { .. }
            | Op::MbarrierPending => Kinds::MBARRIER,
            Op::BulkLoad { .. } | Op::BulkStore | Op::BulkShare | Op::BulkPrefetch => Kinds::ONCE_A_WARP,
            Op::RemoteStore | Op::RemoteRed { .. } => Kinds::NONE,
            Op::BulkRed { .. } | Op::BulkShareRed { .. } | Op::TensorLoad { .. } | Op::TensorStore(_) => {
                Kinds::ONCE_A_WARP
            }
            Op::TensorRed { .. } | Op::TensorPrefetch(_) => Kinds::ONCE_A_WARP,
            Op::TensormapAcquire(_) | Op::TensormapPrefetch => Kinds::ONCE_A_WARP,
            Op::Texture(_) => Kinds::ONCE_A_WARP | Kinds::IMAGE,
            Op::ImageSize(_) => Kinds::ONCE_A_WARP,
            Op::SurfaceLoad(_) | Op::SurfaceStore(_) => Kinds::ONCE_A_WARP,
            Op::SurfaceRed { .. } => Kinds::ONCE_A_WARP,
            Op::ToGeneric(_) | Op::FromGeneric(_) | Op::IsSpace(_) => Kinds::GENERIC_ADDRESS,
            Op::Switch => Kinds::SWITCH,
            Op::Fadd(_) | Op::Fmin { .. } | Op::Fmax { .. } => {
                only_if(matches!(data.ty, Type::F16x2 | Type::BF16x2), Kinds::HALVES)
            }
            Op::Fapprox { .. } | Op::FdivApprox { .. } => Kinds::APPROXIMATION,
            Op::Fdiv(_) => Kinds::FLOAT_DIVISION,
            Op::Fsqrt(_) => Kinds::SQUARE_ROOT,
            Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem => of_type | Kinds::DIVISION,
            Op::Iadd => of_type | Kinds::SUM,
            Op::Imul => of_type | Kinds::PRODUCT,
            Op::Umulh | Op::Smulh => of_type | Kinds::HIGH_PRODUCT,
            Op::UmulWide | Op::SmulWide => of_type | Kinds::WIDE_PRODUCT,
            Op::Shl => of_type | Kinds::LEFT_SHIFT,
            Op::Shr => of_type | Kinds::RIGHT_SHIFT,
            Op::Sext | Op::Zext => of_type | Kinds::EXTENSION,
            Op::Trunc => of_type | only_if(of_argument() == Type::B64, Kinds::WIDE),
            Op::Unpack => of_type | only_if(data.ty.bits() == 32, Kinds::NARROW),
            Op::SintToFloat(_) | Op::UintToFloat(_) => only_if(of_argument() == Type::B16, Kinds::NARROW),
            // A pack of two words is what legalization makes of wider types, so it does not count.
            Op::Icmp(_) | Op::Pack => only_if(data.ty == Type::B16, Kinds::NARROW),
            Op::Isub | Op::Ineg | Op::Iabs | Op::UmadWide | Op::SmadWide | Op::Smin | Op::Smax => of_type,
            Op::Ipair(_) => of_type,
            Op::Umin | Op::Umax | Op::IaddCarryOut | Op::IaddCarryIn | Op::IaddCarryInOut => of_type,
            Op::IsubCarryOut | Op::IsubCarryIn | Op::IsubCarryInOut => of_type,
            Op::And | Op::Or | Op::Xor | Op::Not | Op::Sar | Op::Popc | Op::Clz | Op::Brev => of_type,
            Op::Bfind { .. } | Op::Bmsk { .. } | Op::Szext { .. } | Op::Prmt(_) => of_type,
            Op::Lop3 { .. } | Op::Dp4a { .. } | Op::Dp2a { .. } | Op::FunnelShl(_) => of_type,
            Op::FunnelShr(_) => of_type,
            Op::PackSaturated(_) => of_type,
            Op::Fcmp { .. } | Op::FcmpPair { .. } | Op::Fset { .. } | Op::Select => of_type,
            Op::Fsub(_) | Op::Fmul(_) | Op::Ffma(_) | Op::Fneg { .. } | Op::Fabs { .. } => of_type,
            Op::FdivCheck | Op::FfmaOob => of_type,
            Op::Bitcast | Op::FloatToSint { .. } | Op::FloatToUint { .. } | Op::FloatToFloat(_) => of_type,
            Op::FloatToTf32 { .. } | Op::FloatsToBytes { .. } | Op::HalvesToBytes { .. } => of_type,
            Op::BytesToHalves { .. } => of_type,
            Op::FloatToHalf { .. } | Op::FloatsToHalves { .. } | Op::RoundToIntegral { .. } => of_type,
            Op::Fence { .. } | Op::CachePolicy | Op::CacheHint => of_type,
            Op::Vote(_) | Op::Shfl(_) | Op::ActiveMask | Op::Match(_) | Op::Redux(_) | Op::Elect => of_type,
            Op::MatrixLoad { .. } | Op::MatrixStore { .. } => Kinds::NONE,
            Op::MatrixTranspose => Kinds::NONE,
            Op::MatrixProduct(_) => Kinds::MATRIX_PRODUCT,
            Op::Lend { .. } | Op::Settle { .. } | Op::Release { .. } => Kinds::NONE,
            Op::WarpgroupArrive
            | Op::ReturnRegisters { .. }
            | Op::TryRegisters { .. }
            | Op::WarpgroupCommit
            | Op::WarpgroupWait { .. }
            | Op::WarpgroupProduct(_) => Kinds::NONE,
            Op::Nanosleep
            | Op::PmEvent { .. }
            | Op::CacheLine { .. }
            | Op::Breakpoint
            | Op::WarpSync
            | Op::WarpFence => of_type,
            Op::GridDependency(_) => of_type,
            Op::AsyncCommit | Op::AsyncWait | Op::AsyncWaitAll | Op::BulkCommit => of_type,
            Op::BulkWait { .. } => of_type,
            Op::ProxyFence(_) | Op::TensormapRelease(_) => of_type,
            Op::Call { .. } | Op::CallIndirect(_) | Op::FuncAddr(_) => of_type,
            Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) | Op::SaveBarrier(_) => of_type,
            Op::RestoreBarrier(_) => of_type,
            Op::Jump | Op::Branch { .. } | Op::BranchTogether | Op::Return | Op::Exit | Op::Trap => of_type,
        }
    }
}

impl BitOr for Kinds {
    type Output = Kinds;

    fn bitor(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }
}

fn is_ordered(order: Order) -> bool {
    matches!(order, Order::Acquire | Order::Release | Order::AcqRel)
}
