//! The operations: what a function can compute.
//!
//! Every instruction has an [`Op`], a controlling [`Type`] `ty`, arguments, results and, for a
//! terminator, targets. The tables below say for each operation what its arguments and results are;
//! `T` stands for the controlling type. [`Op::results`] and [`Op::effects`] are the same knowledge
//! for programs.
//!
//! Shift counts of [`Op::Shl`], [`Op::Shr`] and [`Op::Sar`] clamp: a count of the width or more gives
//! zero, or the sign in every bit for `sar`. Division by zero does not trap.

use crate::condition::{FloatCond, IntCond};
use crate::entities::{Block, FuncRef, Symbol};
use crate::memory::{Access, AtomicOp, Order, Scope, Space, spelled};
use crate::types::Type;

spelled! {
    /// An IEEE rounding mode.
    Rounding {
        /// To nearest, ties to even.
        Nearest = "rn",
        /// Towards zero.
        Zero = "rz",
        /// Towards minus infinity.
        Down = "rm",
        /// Towards plus infinity.
        Up = "rp",
    }
}

spelled! {
    /// How a funnel shift reads its count, and what comes in from beyond the two words.
    Funnel {
        /// Modulo 32 (PTX `.wrap`).
        Wrap = "wrap",
        /// At most 32 (PTX `.clamp`).
        Clamp = "clamp",
        /// At most 64, zeros in: one word of a 64-bit shift; made by legalization.
        Wide = "wide",
        /// At most 64, signs in: one word of a signed 64-bit shift; made by legalization.
        WideSigned = "wide.s",
    }
}

spelled! {
    /// Which of the eight bytes of a pair of words become the four of a result (PTX `prmt`).
    BytePick {
        /// One nibble of the selector a byte: its number, and with bit 3 its sign instead of it.
        Index = "index",
        /// Four bytes upwards from the selected one.
        Upwards = "f4e",
        /// Four bytes downwards from the selected one.
        Downwards = "b4e",
        /// The selected byte of the first word, four times.
        Byte = "rc8",
        /// Each byte of the first word, but none below the selected one.
        ClampLeft = "ecl",
        /// Each byte of the first word, but none above the selected one.
        ClampRight = "ecr",
        /// The selected half of the first word, twice.
        Half = "rc16",
    }
}

spelled! {
    /// Which lanes a match finds.
    MatchMode {
        /// Those with the same value.
        Any = "any",
        /// All, if they have the same value, else none.
        All = "all",
    }
}

spelled! {
    /// What a reduction over the lanes of a warp computes.
    ReduxOp {
        /// The sum.
        Add = "add",
        /// The sum of signed numbers: the same bits, by an instruction of its own.
        Sadd = "sadd",
        /// The least signed number.
        Smin = "smin",
        /// The greatest signed number.
        Smax = "smax",
        /// The least unsigned number.
        Umin = "umin",
        /// The greatest unsigned number.
        Umax = "umax",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
    }
}

spelled! {
    /// A hardware approximation (PTX `.approx`, SASS `MUFU`).
    Approx {
        /// `1 / x`.
        Rcp = "rcp",
        /// `1 / sqrt(x)`.
        Rsq = "rsq",
        /// `sqrt(x)`.
        Sqrt = "sqrt",
        /// Sine of radians.
        Sin = "sin",
        /// Cosine of radians.
        Cos = "cos",
        /// Base-2 logarithm.
        Lg2 = "lg2",
        /// Base-2 exponential.
        Ex2 = "ex2",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// Sine of whole turns; made by legalization.
        SinTurns = "sin_turns",
        /// Cosine of whole turns; made by legalization.
        CosTurns = "cos_turns",
    }
}

spelled! {
    /// What a vote computes over the participating threads of the warp.
    VoteMode {
        /// Whether all hold.
        All = "all",
        /// Whether one holds.
        Any = "any",
        /// Whether all agree.
        Uni = "uni",
        /// A bit for each lane that holds.
        Ballot = "ballot",
    }
}

spelled! {
    /// How a shuffle finds the source lane.
    ShflMode {
        /// The lane of that number.
        Idx = "idx",
        /// That many lanes below.
        Up = "up",
        /// That many lanes above.
        Down = "down",
        /// The lane's own number exclusive-or'ed.
        Bfly = "bfly",
    }
}

spelled! {
    /// What a CTA barrier does.
    BarrierKind {
        /// Arrive and wait.
        Sync = "sync",
        /// Arrive only.
        Arrive = "arrive",
        /// Arrive, wait, and count the threads whose predicate holds.
        RedPopc = "red.popc",
        /// Arrive, wait, and learn whether all predicates hold.
        RedAnd = "red.and",
        /// Arrive, wait, and learn whether one predicate holds.
        RedOr = "red.or",
    }
}

impl BarrierKind {
    /// Whether it combines predicates and has a result.
    pub const fn is_reduction(self) -> bool {
        matches!(self, BarrierKind::RedPopc | BarrierKind::RedAnd | BarrierKind::RedOr)
    }
}

spelled! {
    /// What an operation without a result does to an mbarrier.
    MbarrierUpdate {
        /// Makes one that expects so many arrivals a phase.
        Init = "init",
        /// Expects so many more bytes of asynchronous copies in this phase.
        ExpectTx = "expect_tx",
        /// Takes note of so many bytes that have come.
        CompleteTx = "complete_tx",
    }
}

spelled! {
    /// How threads arrive at an mbarrier.
    MbarrierArrive {
        /// So many arrivals.
        Count = "count",
        /// The same, which must not complete the phase.
        NoComplete = "no_complete",
        /// One arrival, after so many more bytes are expected.
        ExpectTx = "expect_tx",
        /// So many arrivals, which later phases do not expect.
        Drop = "drop",
        /// The same, which must not complete the phase.
        DropNoComplete = "drop_no_complete",
        /// One arrival that later phases do not expect, after so many more bytes are expected.
        DropExpectTx = "drop_expect_tx",
    }
}

spelled! {
    /// How the completion of an mbarrier's phase is asked for.
    MbarrierWait {
        /// At once.
        Test = "test",
        /// After a while, if that is what it takes.
        Try = "try",
        /// The same, after so many nanoseconds at most: one argument more.
        TryFor = "try_for",
    }
}

spelled! {
    /// Between which ways to memory a proxy fence keeps accesses in order (PTX ISA, "Proxies"). Those that say
    /// less than a fence of the compiler's order need no instruction, and stay as that.
    Proxy {
        /// Between addresses that are other names of the same memory.
        Alias = "alias",
        /// Between accesses of the thread and asynchronous copies, in all memory.
        Async = "async",
        /// The same in global memory.
        AsyncGlobal = "async_global",
        /// The same in the CTA's shared memory.
        AsyncShared = "async_shared",
        /// The same in shared memory of the cluster.
        AsyncSharedCluster = "async_shared_cluster",
        /// Accesses of the thread to the CTA's shared memory come before asynchronous ones of the cluster.
        ReleaseShared = "release_shared",
        /// Asynchronous accesses to shared memory of the cluster come before what follows.
        AcquireSharedCluster = "acquire_shared_cluster",
        /// Mbarriers that the thread has made come before what other CTAs of the cluster do to them.
        MbarrierInit = "mbarrier_init",
    }
}

spelled! {
    /// How much around an element an asynchronous copy brings into the second-level cache: a hint.
    Prefetch {
        /// What the copy needs.
        Needed = "needed",
        /// 64 bytes.
        L64 = "l2_64",
        /// 128 bytes.
        L128 = "l2_128",
        /// 256 bytes.
        L256 = "l2_256",
    }
}

spelled! {
    /// What a kernel says to the kernels that were launched around it.
    GridDependency {
        /// Those that wait for it may start.
        Launch = "launch",
        /// It waits for those that it depends on, and for their memory.
        Wait = "wait",
    }
}

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
        /// 1 if the launch named a cluster size, else 0.
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
        /// The address behind the local memory that belongs to a thread in this call: of a kernel, all of it; of a
        /// device function, what its callers leave. Made by legalization.
        LocalTop = "local_top",
        /// The low word of the generic address of the local window; made by legalization.
        LocalWindow = "local_window",
        /// Its high word.
        LocalWindowHigh = "local_window_high",
        /// The low word of the generic address of the module's constant variables; made by legalization.
        ConstWindow = "const_window",
        /// Its high word.
        ConstWindowHigh = "const_window_high",
        /// The low word of the generic address of the shared window, which is zero from sm_90 on; made by
        /// legalization.
        SharedWindow = "shared_window",
        /// Its high word.
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

/// A hardware convergence barrier, B0 to B15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConvergenceBarrier(pub u8);

/// How a float operation rounds and clamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FloatMode {
    /// Rounding of the result.
    pub round: Rounding,
    /// Whether subnormal operands and results become zero (`.ftz`).
    pub ftz: bool,
    /// Whether the result is clamped to 0 through 1 (`.sat`).
    pub sat: bool,
    /// Whether a multiplication and an addition may still be fused (PTX gives no rounding modifier).
    pub contract: bool,
}

impl FloatMode {
    /// To nearest even, subnormals kept, not clamped, not fusable.
    pub const RN: FloatMode = FloatMode { round: Rounding::Nearest, ftz: false, sat: false, contract: false };
}

/// An operation. In the variants' comments `a`, `b`, `c` are the arguments in order, `T` the
/// controlling type, and `->` shows the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `() -> T`: a constant; bits above the width of `T` are zero. `b128` constants do not exist.
    Const(u64),
    /// `() -> T`: some value, any value (a PTX register that is read before it is written).
    Undef,
    /// `() -> T`: the parameter at this byte offset of the kernel's parameter block.
    Param {
        /// The offset in bytes.
        offset: u32,
    },
    /// `() -> T`: the address of a variable in its space.
    SymbolAddr(Symbol),
    /// `() -> T`: a special register; all have 32 bits, and the clocks also 64.
    SpecialReg(SpecialReg),

    /// `(a: T, b: T) -> T`: sum.
    Iadd,
    /// `(a: T, b: T) -> T`: difference.
    Isub,
    /// `(a: T) -> T`: two's complement negation.
    Ineg,
    /// `(a: T) -> T`: absolute value of a signed number.
    Iabs,
    /// `(a: T, b: T) -> T`: low half of the product.
    Imul,
    /// `(a: T, b: T) -> T`: high half of the product of unsigned numbers.
    Umulh,
    /// `(a: T, b: T) -> T`: high half of the product of signed numbers.
    Smulh,
    /// `(a: T, b: T) -> 2T`: whole product of unsigned numbers; `T` is `b16` or `b32`.
    UmulWide,
    /// `(a: T, b: T) -> 2T`: whole product of signed numbers; `T` is `b16` or `b32`.
    SmulWide,
    /// `(a: b32, b: b32, c: b64) -> b64`: unsigned `a * b + c`; made by legalization. `T` is `b32`.
    UmadWide,
    /// `(a: b32, b: b32, c: b64) -> b64`: signed `a * b + c`; made by legalization. `T` is `b32`.
    SmadWide,
    /// `(a: T, b: T) -> T`: quotient of unsigned numbers.
    Udiv,
    /// `(a: T, b: T) -> T`: quotient of signed numbers, towards zero.
    Sdiv,
    /// `(a: T, b: T) -> T`: remainder of unsigned numbers.
    Urem,
    /// `(a: T, b: T) -> T`: remainder of signed numbers, with the sign of the dividend.
    Srem,
    /// `(a: T, b: T) -> T`: signed minimum.
    Smin,
    /// `(a: T, b: T) -> T`: signed maximum.
    Smax,
    /// `(a: T, b: T) -> T`: unsigned minimum.
    Umin,
    /// `(a: T, b: T) -> T`: unsigned maximum.
    Umax,
    /// `(a: T, b: T) -> T, pred`: sum and carry; made by legalization.
    IaddCarryOut,
    /// `(a: T, b: T, c: pred) -> T`: sum with a carry; made by legalization.
    IaddCarryIn,
    /// `(a: T, b: T, c: pred) -> T, pred`: sum with a carry, and the next carry.
    IaddCarryInOut,
    /// `(a: T, b: T) -> T, pred`: `a - b`, and the carry of `a + !b + 1` (set where nothing is borrowed).
    IsubCarryOut,
    /// `(a: T, b: T, c: pred) -> T`: `a + !b + c`.
    IsubCarryIn,
    /// `(a: T, b: T, c: pred) -> T, pred`: `a + !b + c`, and its carry.
    IsubCarryInOut,

    /// `(a: T, b: T) -> T`: bitwise and, also on predicates.
    And,
    /// `(a: T, b: T) -> T`: bitwise or, also on predicates.
    Or,
    /// `(a: T, b: T) -> T`: bitwise exclusive or, also on predicates.
    Xor,
    /// `(a: T) -> T`: complement, also of predicates.
    Not,
    /// `(a: T, b: b32) -> T`: shift left.
    Shl,
    /// `(a: T, b: b32) -> T`: shift right, zeros in.
    Shr,
    /// `(a: T, b: b32) -> T`: shift right, signs in.
    Sar,
    /// `(a: T) -> b32`: number of ones.
    Popc,
    /// `(a: T) -> b32`: number of zeros above the highest one; the width if there is none.
    Clz,
    /// `(a: T) -> T`: bits in reverse order.
    Brev,
    /// `(a: T) -> b32`: position of the highest one (with the first flag and a negative number, of the highest
    /// zero), or with the second flag the left shift that brings it to the top; all ones if there is none.
    /// PTX `bfind`.
    Bfind {
        /// Whether to look for the highest zero of a negative number.
        signed: bool,
        /// Whether the result is the left shift that brings the bit to the top.
        shift: bool,
    },
    /// `(a: b32, b: b32) -> b32`: `b` ones from bit `a` on. Both are at most 32, or with the flag taken modulo
    /// 32. PTX `bmsk`.
    Bmsk {
        /// Whether both numbers count modulo 32.
        wrap: bool,
    },
    /// `(a: b32, b: b32) -> b32`: the low `b` bits of `a`, extended by their sign (first flag) or zeros. A
    /// length from 32 on means all bits, or with the second flag counts modulo 32. PTX `szext`.
    Szext {
        /// Whether the sign extends the bits, instead of zeros.
        signed: bool,
        /// Whether the length counts modulo 32.
        wrap: bool,
    },
    /// `(a: b32, b: b32, c: b32) -> b32`: four bytes of `b:a` (`a` is bytes 0 to 3) chosen by `c`. PTX `prmt`.
    Prmt(BytePick),
    /// `(a: b32, b: b32, c: b32) -> b32`: the bitwise function with this truth table: what it gives for 0xf0,
    /// 0xcc and 0xaa. PTX `lop3`.
    Lop3 {
        /// The truth table.
        table: u8,
    },
    /// `(a: b32, b: b32, c: b32) -> b32`: `c` plus the products of the four bytes of `a` and of `b`; the flags
    /// say whether those of `a`, those of `b` have signs. PTX `dp4a`.
    Dp4a {
        /// Whether the elements of `a` are signed.
        a_signed: bool,
        /// Whether the elements of `b` are signed.
        b_signed: bool,
    },
    /// `(a: b32, b: b32, c: b32) -> b32`: `c` plus the products of the halves of `a` and the two lower (with
    /// the third flag upper) bytes of `b`; flags as in [`Op::Dp4a`]. PTX `dp2a`.
    Dp2a {
        /// Whether the elements of `a` are signed.
        a_signed: bool,
        /// Whether the elements of `b` are signed.
        b_signed: bool,
        /// Whether the upper two bytes of `b` are used, instead of the lower two.
        high: bool,
    },

    /// `(a: b32, b: b32, c: b32) -> b32`: the high word of `b:a` (`a` is the low word) shifted left by `c`.
    FunnelShl(Funnel),
    /// `(a: b32, b: b32, c: b32) -> b32`: the low word of `b:a` (`a` is the low word) shifted right by `c`.
    FunnelShr(Funnel),

    /// `(a: T, b: T) -> pred`: integer comparison.
    Icmp(IntCond),
    /// `(a: T, b: T) -> pred`: float comparison; the flag flushes subnormal operands.
    Fcmp {
        /// The comparison.
        cond: FloatCond,
        /// Whether subnormals become zero.
        ftz: bool,
    },
    /// `(a: T, b: T) -> pred, pred`: comparison of the low halves and of the high ones; the flag flushes
    /// subnormal operands.
    FcmpPair {
        /// The comparison.
        cond: FloatCond,
        /// Whether subnormals become zero.
        ftz: bool,
    },
    /// `(a: T, b: T) -> T`: where a half compares so the number 1, or with the second flag all bits set; else
    /// zero. The first flag flushes subnormal operands.
    Fset {
        /// The comparison.
        cond: FloatCond,
        /// Whether subnormals become zero.
        ftz: bool,
        /// Whether true is all bits set, instead of the number 1.
        ones: bool,
    },
    /// `(a: pred, b: T, c: T) -> T`: `a ? b : c`, also of predicates.
    Select,

    /// `(a: T, b: T) -> T`: float sum.
    Fadd(FloatMode),
    /// `(a: T, b: T) -> T`: float difference.
    Fsub(FloatMode),
    /// `(a: T, b: T) -> T`: float product.
    Fmul(FloatMode),
    /// `(a: T, b: T, c: T) -> T`: `a * b + c`, rounded once.
    Ffma(FloatMode),
    /// `(a: T) -> T`: the sign turned; the flag flushes a subnormal.
    Fneg {
        /// Whether subnormals become zero.
        ftz: bool,
    },
    /// `(a: T) -> T`: the sign cleared; the flag flushes a subnormal.
    Fabs {
        /// Whether subnormals become zero.
        ftz: bool,
    },
    /// `(a: T, b: T) -> T`: the lesser; a NaN loses against a number, or with the second flag wins. The first
    /// flag flushes subnormals. With the third the magnitudes are compared, and the result has the sign of the
    /// product (PTX `.xorsign.abs`; not for `f64`).
    Fmin {
        /// Whether subnormals become zero.
        ftz: bool,
        /// Whether a NaN wins against a number.
        nan: bool,
        /// Whether the magnitudes are compared, and the result has the sign of the product.
        xorsign: bool,
    },
    /// `(a: T, b: T) -> T`: the greater; flags as in [`Op::Fmin`].
    Fmax {
        /// Whether subnormals become zero.
        ftz: bool,
        /// Whether a NaN wins against a number.
        nan: bool,
        /// Whether the magnitudes are compared, and the result has the sign of the product.
        xorsign: bool,
    },
    /// `(a: T, b: T) -> T`: quotient, rounded once; with `a` = 1 a reciprocal.
    Fdiv(FloatMode),
    /// `(a: T) -> T`: square root, rounded once.
    Fsqrt(FloatMode),
    /// `(a: T, b: T) -> T`: quotient by an approximate reciprocal. The first flag asks for the whole range of
    /// divisors (PTX `.full`), the second flushes subnormals.
    FdivApprox {
        /// Whether the whole range of divisors is needed (PTX `.full`).
        full: bool,
        /// Whether subnormals become zero.
        ftz: bool,
    },
    /// `(a: T, b: T) -> pred`: whether `a / b` may need more than one reciprocal, a quotient and one remainder,
    /// because an operand or an intermediate result is no normal number (SASS `FCHK`); made by legalization.
    FdivCheck,
    /// `(a: T) -> T`: a hardware approximation; the flag flushes subnormals. For `f64` with the flag it takes the
    /// upper word of `a` and gives the upper word of the result, zeros below; without it `rsq` alone exists, and is
    /// rounded to nearest.
    Fapprox {
        /// The function.
        function: Approx,
        /// Whether subnormals become zero.
        ftz: bool,
    },

    /// `(a: narrower integer) -> T`: extended with zeros.
    Zext,
    /// `(a: narrower integer) -> T`: extended by the sign.
    Sext,
    /// `(a: wider integer) -> T`: the low bits.
    Trunc,
    /// `(a: type of equal width) -> T`: the same bits.
    Bitcast,
    /// `(a: integer) -> T`: a signed number rounded to a float.
    SintToFloat(Rounding),
    /// `(a: integer) -> T`: an unsigned number rounded to a float.
    UintToFloat(Rounding),
    /// `(a: float) -> T`: rounded to a signed integer, saturating; NaN as PTX `cvt` has it: 0, or the top bit
    /// alone from `f64` and to 64 bits. The flag flushes subnormals.
    FloatToSint {
        /// How the result is rounded.
        round: Rounding,
        /// Whether subnormals become zero.
        ftz: bool,
    },
    /// `(a: float) -> T`: rounded to an unsigned integer, saturating; NaN as PTX `cvt` has it: 0, or the top
    /// bit alone from `f64` and to 64 bits. The flag flushes subnormals.
    FloatToUint {
        /// How the result is rounded.
        round: Rounding,
        /// Whether subnormals become zero.
        ftz: bool,
    },
    /// `(a: float of another width) -> T`: rounded to another format.
    FloatToFloat(FloatMode),
    /// `(a: f32) -> T`: rounded; with the first flag negative results are zero (PTX `.relu`), with the second
    /// the largest finite number stands for what is beyond it (`.satfinite`).
    FloatToHalf {
        /// How the result is rounded.
        round: Rounding,
        /// Whether a negative result becomes zero (PTX `.relu`).
        relu: bool,
        /// Whether the largest finite number replaces a greater result (PTX `.satfinite`).
        finite: bool,
    },
    /// `(a: f32, b: f32) -> T`: both rounded as in [`Op::FloatToHalf`], `a` to the low half, `b` to the high.
    FloatsToHalves {
        /// How the result is rounded.
        round: Rounding,
        /// Whether a negative result becomes zero (PTX `.relu`).
        relu: bool,
        /// Whether the largest finite number replaces a greater result (PTX `.satfinite`).
        finite: bool,
    },
    /// `(a: T) -> T`: rounded to an integral value; the flag flushes subnormals.
    RoundToIntegral {
        /// How the result is rounded.
        round: Rounding,
        /// Whether subnormals become zero.
        ftz: bool,
    },
    /// `(a: half of T, b: half of T) -> T`: `a` in the low bits, `b` in the high.
    Pack,
    /// `(a: T) -> half of T, half of T`: the low bits, then the high.
    Unpack,

    /// `(a: address) -> T × lanes`: load; `T` is at least as wide as the element.
    Load(Access),
    /// `(a: address, T × lanes)`: store of the low bits of each value.
    Store(Access),
    /// `(a: address, b: T × lanes [, c: T]) -> T × lanes`: atomic update that returns the old value; `c` for `cas`. Of
    /// a vector each element is updated atomically by itself; its type is a float, and it has no `cas`.
    Atomic {
        /// What is done to memory.
        op: AtomicOp,
        /// Where and how memory is accessed.
        access: Access,
    },
    /// `(a: address, b: T × lanes)`: atomic update without a result.
    Red {
        /// What is done to memory.
        op: AtomicOp,
        /// Where and how memory is accessed.
        access: Access,
    },
    /// `(a: generic or cluster address, b: T [, c: T]) -> T, pred`: atomic update where the memory that the address
    /// lies in does it; the old value, and whether it was done. Where it was not, nothing has changed and the value
    /// means nothing. Legalization makes it.
    TryAtomic {
        /// What is done to memory.
        op: AtomicOp,
        /// Where and how memory is accessed.
        access: Access,
    },
    /// `()`: memory fence; the space limits a proxy fence.
    Fence {
        /// How strong the fence is.
        order: Order,
        /// The threads that observe the order.
        scope: Scope,
    },
    /// `(a: address in the space) -> b64`: as a generic address.
    ToGeneric(Space),
    /// `(a: b64) -> address in the space`: a generic address that lies in the space.
    FromGeneric(Space),
    /// `(a: b64) -> b64`: a cache policy where accesses can name it. The machine has one for the warp; whose it is where
    /// threads differ is not said, since a policy is advice.
    CachePolicy,
    /// `(a: b64, b: b64) -> b64`: the global or generic address `a`; accesses to it follow the [policy](Op::CachePolicy)
    /// `b`, which changes no value.
    CacheHint,
    /// `(a: b64) -> pred`: whether a generic address lies in the space.
    IsSpace(Space),

    /// `(a: pred [, m: b32]) -> pred`, or `-> b32` for a ballot: vote among the threads in the mask `m`, which wait for
    /// each other; without a mask among those that execute this together. So with all operations that take one.
    Vote(VoteMode),
    /// `(a: b32, b: b32 lane, c: b32 clamp [, m: b32]) -> b32, pred`: a value of another lane, and whether that lane
    /// was in range.
    Shfl(ShflMode),
    /// `() -> b32`: the lanes that execute this together.
    ActiveMask,
    /// `(a: T [, m: b32]) -> b32`, and `pred` for all: the threads of the mask `m` with the same value, and
    /// whether all have it.
    Match(MatchMode),
    /// `(a: b32 [, m: b32]) -> b32`: the reduction of the values of the threads in the mask `m`.
    Redux(ReduxOp),
    /// `([m: b32]) -> b32, pred`: the lane of one thread of the mask `m`, and whether it is this one.
    Elect,
    /// `(a: b32)`: the thread sleeps for about so many nanoseconds.
    Nanosleep,
    /// `()`: the thread stops for a debugger and goes on when the debugger lets it; without a debugger it raises the same
    /// error as [`Op::Trap`].
    Breakpoint,
    /// `(m: b32)`: wait for the threads in the mask (`bar.warp.sync`).
    WarpSync,
    /// `()`: what threads of the warp wrote before, others of it see behind. Made by the gather pass where they run
    /// together anyway, so that nobody has to wait.
    WarpFence,
    /// `(name: b32 [, count: b32] [, p: pred])`, reductions `-> b32` or `pred`: PTX `bar`, which every
    /// thread of the warp executes together; legalization turns it into [`Op::Barrier`].
    Bar(BarrierKind),
    /// As [`Op::Bar`], PTX `barrier`; the first flag is `.aligned`. With the second, `.packed`, the arguments are
    /// `(packed: b32 [, p: pred])`: one word has the name in bits 3:0 and the count in bits 27:16, of which 0 stands
    /// for all threads; made by legalization.
    Barrier {
        /// What the thread does at the barrier.
        kind: BarrierKind,
        /// Whether all threads of the warp execute it together (PTX `.aligned`).
        aligned: bool,
        /// Whether one word has the name and the count.
        packed: bool,
    },

    /// `()`: the thread arrives at the barrier of its cluster; the order is `release` or `relaxed`. With the flag,
    /// `.aligned`, all threads of the warp execute it together.
    ClusterArrive {
        /// `release` or `relaxed`.
        order: Order,
        /// Whether all threads of the warp execute it together (PTX `.aligned`).
        aligned: bool,
    },
    /// `()`: the thread waits until all threads of its cluster have arrived; the order is `acquire` or, behind
    /// legalization, `relaxed`. The flag is as that of [`Op::ClusterArrive`].
    ClusterWait {
        /// `acquire` or, after legalization, `relaxed`.
        order: Order,
        /// Whether all threads of the warp execute it together (PTX `.aligned`).
        aligned: bool,
    },
    /// `()`: to and from kernels that run before and after this one.
    GridDependency(GridDependency),

    /// `(a: b32, n: b32)`: changes the mbarrier at the address `a` in the space, that of the CTA or of the cluster.
    MbarrierUpdate {
        /// The change.
        update: MbarrierUpdate,
        /// The memory of the CTA or of the cluster.
        space: Space,
    },
    /// `(a: b32)`: there is no mbarrier any more at this shared address.
    MbarrierInval,
    /// `(a: b32, n: b32) -> b64`, in another CTA's memory `-> `: arrives at an mbarrier; the result is its state
    /// before. The order is `release` or `relaxed`.
    MbarrierArrive {
        /// How the thread arrives.
        kind: MbarrierArrive,
        /// The memory of the CTA or of the cluster.
        space: Space,
        /// `release` or `relaxed`.
        order: Order,
        /// The threads that observe the order.
        scope: Scope,
    },
    /// `(a: b32, s: b64 [, t: b32]) -> pred`: whether the phase of the state `s` is complete. The order is `acquire` or
    /// `relaxed`.
    MbarrierState {
        /// How long the thread waits.
        wait: MbarrierWait,
        /// `acquire` or `relaxed`.
        order: Order,
        /// The threads that observe the order.
        scope: Scope,
    },
    /// `(a: b32, n: b32 [, t: b32]) -> pred`: whether the last phase with the parity `n` is complete.
    MbarrierParity {
        /// How long the thread waits.
        wait: MbarrierWait,
        /// `acquire` or `relaxed`.
        order: Order,
        /// The threads that observe the order.
        scope: Scope,
    },
    /// `(s: b64) -> b32`: the arrivals that the phase of a state awaited.
    MbarrierPending,
    /// `(a: b64, b: b32, n: b32)`: copies an element from global memory at `a` to shared memory at `b` at some time; only the
    /// first `n` bytes, with zeros behind.
    AsyncCopy {
        /// The element in global memory.
        access: Access,
        /// How much is brought into the second-level cache.
        prefetch: Prefetch,
    },
    /// `(a: b64, b: b32, p: pred)`: the same of the whole element, or of nothing where `p` does not hold. With the flag
    /// the address is as many bytes above that of the element as its end has zeros; made by legalization.
    AsyncFill {
        /// The element in global memory.
        access: Access,
        /// How much is brought into the second-level cache.
        prefetch: Prefetch,
        /// Whether the address is that of the element plus the number of zeros at its end.
        zfill: bool,
    },
    /// `(a: b32)`: arrives at an mbarrier once the thread's earlier copies have been made. Without the flag the phase
    /// expects one arrival more for it.
    AsyncArrive {
        /// Whether the phase already expects this arrival (PTX `.noinc`).
        noinc: bool,
    },
    /// `()`: the thread's copies since the last commit are a group.
    AsyncCommit,
    /// `(n: b32)`: waits until at most the last `n` groups of the thread are under way.
    AsyncWait,
    /// `()`: waits for all copies of the thread.
    AsyncWaitAll,
    /// `(a: b32, b: b64, n: b32, c: b32)`: copies `n` bytes from global memory at `b` to shared memory at `a` at some time, and
    /// tells the mbarrier at `c`.
    BulkLoad,
    /// `(a: b64, b: b32, n: b32)`: copies `n` bytes from shared memory at `b` to global memory at `a` at some time.
    BulkStore,
    /// `(a: b32, b: b32, n: b32, c: b32)`: copies `n` bytes from the CTA's shared memory at `b` to shared memory of the cluster at `a`
    /// at some time, and tells the mbarrier at `c`.
    BulkShare,
    /// `(a: b64, n: b32)`: brings `n` bytes of global memory at `a` into the second-level cache: a hint.
    BulkPrefetch,
    /// `()`: the thread's bulk stores since the last commit are a group.
    BulkCommit,
    /// `(n: b32)`: waits until at most the last `n` groups of bulk stores of the thread are under way, or with the flag
    /// still have to read.
    BulkWait {
        /// Whether it is enough that the sources have been read.
        read: bool,
    },
    /// `()`: accesses by different ways keep their order across it.
    ProxyFence(Proxy),
    /// `(a: b64)`: what the hardware holds of the tensor map of 128 bytes at the generic address is read again. The order is
    /// that of an acquire at the scope.
    TensormapAcquire(Scope),
    /// `()`: what the thread has written to tensor maps comes first, for those that acquire them.
    TensormapRelease(Scope),

    /// `(parameters of the callee) -> results of the callee`: a call. The flag says that the callee is a
    /// runtime routine which computes its results from its arguments and does nothing else; those in which lanes of a
    /// warp meet do more.
    Call {
        /// The function.
        callee: FuncRef,
        /// Whether the callee only computes results from its arguments.
        pure: bool,
    },
    /// `(target: b64, parameters of the prototype) -> results of the prototype`: a call of the device function at
    /// an address, which has just those parameters and results.
    CallIndirect(FuncRef),
    /// `() -> b64`: the address of a device function.
    FuncAddr(FuncRef),

    /// `()`: threads that go on together from here meet again at `bsync` of the same barrier, whose
    /// continuation is the block. Made by the converge pass.
    Bssy {
        /// The barrier.
        barrier: ConvergenceBarrier,
        /// Where the threads meet again.
        join: Block,
    },
    /// `()`: wait for all threads that took part in `bssy` and neither left by `break` nor exited.
    Bsync(ConvergenceBarrier),
    /// `()`: leave the region of a barrier.
    Break(ConvergenceBarrier),
    /// `() -> b32`: what a barrier holds for the function's callers or for a region around, so that another region can
    /// open the barrier. Made by the converge pass.
    SaveBarrier(ConvergenceBarrier),
    /// `(a: b32)`: a barrier holds what it did when `a` was saved.
    RestoreBarrier(ConvergenceBarrier),

    /// Terminator, 1 target: go there.
    Jump,
    /// Terminator, `(a: pred)`, 2 targets: the first if `a` holds, else the second. The flag is PTX's
    /// promise that all threads of the warp agree (`bra.uni`).
    Branch {
        /// Whether PTX promises that all threads of the warp agree (`bra.uni`).
        uni: bool,
    },
    /// Terminator, `(m: b32)`, 2 targets: the first if all threads in the mask execute this together, else the second.
    /// Those that execute it together all go the same way. Made by the gather pass.
    BranchTogether,
    /// Terminator, `(a: b32)`, n targets: the one of that number. Without one the behaviour is undefined.
    Switch,
    /// Terminator, `(results of the function)`: return from a function.
    Return,
    /// Terminator: end the thread.
    Exit,
    /// Terminator: raise an error that ends the grid.
    Trap,
}

/// The types of an operation's results, as far as the operation and its controlling type tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// None.
    None,
    /// One of this type.
    One(Type),
    /// Two.
    Two(Type, Type),
    /// That many of one type.
    Many(Type, u8),
    /// Those of the callee; [`Function::result_types`](crate::Function::result_types) knows them.
    OfCallee(FuncRef),
    /// The controlling type does not suit the operation.
    Invalid,
}

/// What an operation does besides computing its results from its arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// It may read memory that others write.
    pub reads_memory: bool,
    /// It may write memory, or order writes of others.
    pub writes_memory: bool,
    /// It depends on which threads execute it together, so that no pass may make it depend on more or
    /// fewer branches.
    pub convergent: bool,
    /// It must stay, and stay in order, even if its results are unused.
    pub side_effect: bool,
    /// It ends a block.
    pub terminator: bool,
}

impl Effects {
    /// Whether the operation is a function of its arguments alone: it may be merged, moved and removed.
    pub const fn is_pure(self) -> bool {
        !(self.reads_memory || self.writes_memory || self.convergent || self.side_effect || self.terminator)
    }
}

impl Op {
    /// The types of the results, given the controlling type.
    pub const fn results(&self, ty: Type) -> Results {
        match self {
            Op::Const(_) | Op::Undef | Op::Param { .. } | Op::SymbolAddr(_) => Results::One(ty),
            Op::ActiveMask => Results::One(Type::B32),
            Op::Popc | Op::Clz | Op::Bfind { .. } => Results::One(Type::B32),
            Op::Match(MatchMode::Any) => Results::One(Type::B32),
            Op::Match(MatchMode::All) | Op::Elect => Results::Two(Type::B32, Type::Pred),
            Op::UmulWide | Op::SmulWide => match Type::int(ty.bits() * 2) {
                Some(wide) if ty.is_int() => Results::One(wide),
                _ => Results::Invalid,
            },
            Op::UmadWide | Op::SmadWide => Results::One(Type::B64),
            Op::IaddCarryOut | Op::IaddCarryInOut | Op::IsubCarryOut | Op::IsubCarryInOut => {
                Results::Two(ty, Type::Pred)
            }
            Op::Icmp(_) | Op::Fcmp { .. } | Op::FdivCheck => Results::One(Type::Pred),
            Op::FcmpPair { .. } => Results::Two(Type::Pred, Type::Pred),
            Op::Unpack => match Type::int(ty.bits() / 2) {
                Some(half) => Results::Two(half, half),
                None => Results::Invalid,
            },
            Op::Load(access) => Results::Many(ty, access.lanes),
            Op::Atomic { access, .. } => Results::Many(ty, access.lanes),
            Op::TryAtomic { .. } => Results::Two(ty, Type::Pred),
            Op::IsSpace(_) => Results::One(Type::Pred),
            Op::ToGeneric(_) | Op::CachePolicy | Op::CacheHint => Results::One(Type::B64),
            Op::FromGeneric(space) => Results::One(space.address_type()),
            Op::Vote(VoteMode::Ballot) => Results::One(Type::B32),
            Op::Vote(_) => Results::One(Type::Pred),
            Op::Shfl(_) => Results::Two(Type::B32, Type::Pred),
            Op::Bar(kind) | Op::Barrier { kind, .. } => match kind {
                BarrierKind::Sync | BarrierKind::Arrive => Results::None,
                BarrierKind::RedPopc => Results::One(Type::B32),
                BarrierKind::RedAnd | BarrierKind::RedOr => Results::One(Type::Pred),
            },
            Op::MbarrierArrive { space: Space::SharedCluster, .. } => Results::None,
            Op::MbarrierArrive { .. } => Results::One(Type::B64),
            Op::MbarrierState { .. } | Op::MbarrierParity { .. } => Results::One(Type::Pred),
            Op::MbarrierPending => Results::One(Type::B32),
            Op::MbarrierUpdate { .. } | Op::MbarrierInval => Results::None,
            Op::ClusterArrive { .. } | Op::ClusterWait { .. } | Op::GridDependency(_) => Results::None,
            Op::AsyncCopy { .. } | Op::AsyncFill { .. } | Op::AsyncArrive { .. } | Op::AsyncCommit => {
                Results::None
            }
            Op::AsyncWait | Op::AsyncWaitAll => Results::None,
            Op::BulkLoad | Op::BulkStore | Op::BulkShare | Op::BulkPrefetch => Results::None,
            Op::BulkCommit | Op::BulkWait { .. } => Results::None,
            Op::ProxyFence(_) | Op::TensormapAcquire(_) | Op::TensormapRelease(_) => Results::None,
            Op::Call { callee, .. } | Op::CallIndirect(callee) => Results::OfCallee(*callee),
            Op::FuncAddr(_) => Results::One(Type::B64),
            Op::Store(_) | Op::Red { .. } | Op::Fence { .. } | Op::WarpSync | Op::WarpFence => Results::None,
            Op::Nanosleep | Op::Breakpoint | Op::BranchTogether => Results::None,
            Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) | Op::RestoreBarrier(_) => Results::None,
            Op::SaveBarrier(_) => Results::One(Type::B32),
            Op::Jump | Op::Branch { .. } | Op::Switch | Op::Return | Op::Exit | Op::Trap => Results::None,
            _ => Results::One(ty),
        }
    }

    /// Whether the operation becomes several slow instructions, so that it should not run needlessly; a cache policy is
    /// that of one of the threads that make it, and must not be made by others.
    pub const fn is_expensive(&self) -> bool {
        matches!(
            self,
            Op::Udiv
                | Op::Sdiv
                | Op::Urem
                | Op::Srem
                | Op::Fdiv(_)
                | Op::Fsqrt(_)
                | Op::FdivApprox { .. }
                | Op::CachePolicy
                | Op::Fapprox { .. }
                | Op::Call { .. }
                | Op::CallIndirect(_)
        )
    }

    /// Whether the operation ends a block: [`Effects::terminator`] without the rest.
    #[inline]
    pub const fn is_terminator(&self) -> bool {
        matches!(
            self,
            Op::Jump | Op::Branch { .. } | Op::BranchTogether | Op::Switch | Op::Return | Op::Exit | Op::Trap
        )
    }

    /// What the operation does besides computing.
    pub fn effects(&self) -> Effects {
        let none = Effects::default();
        match self {
            Op::SpecialReg(reg) => Effects { side_effect: reg.is_volatile(), ..none },
            Op::Load(access) => Effects {
                reads_memory: !matches!(access.space, Space::Const | Space::Param),
                side_effect: access.order != Order::Weak,
                ..none
            },
            Op::Store(_) | Op::Red { .. } => Effects { writes_memory: true, side_effect: true, ..none },
            Op::Atomic { .. } | Op::TryAtomic { .. } | Op::Fence { .. } => {
                Effects { reads_memory: true, writes_memory: true, side_effect: true, ..none }
            }
            Op::Bar(_)
            | Op::Barrier { .. }
            | Op::ClusterArrive { .. }
            | Op::ClusterWait { .. }
            | Op::WarpSync
            | Op::Call { pure: false, .. }
            | Op::CallIndirect(_) => Effects {
                reads_memory: true,
                writes_memory: true,
                convergent: true,
                side_effect: true,
                ..none
            },
            Op::Vote(_) | Op::Shfl(_) | Op::ActiveMask | Op::Match(_) | Op::Redux(_) | Op::Elect => {
                Effects { convergent: true, side_effect: true, ..none }
            }
            Op::WarpFence | Op::Breakpoint => {
                Effects { reads_memory: true, writes_memory: true, side_effect: true, ..none }
            }
            Op::BranchTogether => Effects { convergent: true, side_effect: true, terminator: true, ..none },
            Op::Nanosleep => Effects { side_effect: true, ..none },
            Op::MbarrierUpdate { .. }
            | Op::MbarrierInval
            | Op::MbarrierArrive { .. }
            | Op::MbarrierState { .. }
            | Op::MbarrierParity { .. }
            | Op::GridDependency(_)
            | Op::AsyncCopy { .. }
            | Op::AsyncFill { .. }
            | Op::AsyncArrive { .. }
            | Op::AsyncCommit
            | Op::AsyncWait
            | Op::AsyncWaitAll
            | Op::BulkLoad
            | Op::BulkStore
            | Op::BulkShare
            | Op::BulkPrefetch
            | Op::BulkCommit
            | Op::BulkWait { .. }
            | Op::ProxyFence(_)
            | Op::TensormapAcquire(_)
            | Op::TensormapRelease(_) => {
                Effects { reads_memory: true, writes_memory: true, side_effect: true, ..none }
            }
            Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) | Op::SaveBarrier(_) | Op::RestoreBarrier(_) => {
                Effects { convergent: true, side_effect: true, ..none }
            }
            Op::Jump | Op::Branch { .. } | Op::Switch | Op::Return | Op::Exit | Op::Trap => {
                Effects { side_effect: true, terminator: true, ..none }
            }
            _ => none,
        }
    }
}
