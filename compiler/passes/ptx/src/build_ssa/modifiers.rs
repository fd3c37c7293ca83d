//! The meaning of modifiers in the IR. Each kind is matched exhaustively, so a new modifier of a
//! kind needs an arm here.

use ptxc_ir::matrix::Size;
use ptxc_ir::op::Prefetch;
use ptxc_ir::{
    BytePick, CacheOp, Dimension, Eviction, Fetch, FloatCond, Funnel, IntCond, MatchMode, Op, Order, Outside,
    Rounding, Scope, Shape, ShflMode, Space, VoteMode,
};

use crate::check::scalar::Scalar;
use crate::check::table::modifiers as written;

/// Declares the IR meaning of each modifier of a kind.
macro_rules! meanings {
    ($($kind:ident => $type:ty { $($modifier:ident => $meaning:expr,)* })*) => {$(
        impl From<written::$kind> for $type {
            fn from(modifier: written::$kind) -> $type {
                match modifier {
                    $(written::$kind::$modifier => $meaning,)*
                }
            }
        }
    )*};
}

meanings! {
    Rounding => Rounding {
        Rn => Rounding::Nearest,
        Rz => Rounding::Zero,
        Rm => Rounding::Down,
        Rp => Rounding::Up,
    }
    IntegralRounding => Rounding {
        Rni => Rounding::Nearest,
        Rzi => Rounding::Zero,
        Rmi => Rounding::Down,
        Rpi => Rounding::Up,
    }
    MatrixShape => Size {
        M8n8k4 => Size { m: 8, n: 8, k: 4 },
        M8n8k16 => Size { m: 8, n: 8, k: 16 },
        M8n8k32 => Size { m: 8, n: 8, k: 32 },
        M8n8k128 => Size { m: 8, n: 8, k: 128 },
        M16n8k4 => Size { m: 16, n: 8, k: 4 },
        M16n8k8 => Size { m: 16, n: 8, k: 8 },
        M16n8k16 => Size { m: 16, n: 8, k: 16 },
        M16n8k32 => Size { m: 16, n: 8, k: 32 },
        M16n8k64 => Size { m: 16, n: 8, k: 64 },
        M16n8k128 => Size { m: 16, n: 8, k: 128 },
        M16n8k256 => Size { m: 16, n: 8, k: 256 },
        M16n16k8 => Size { m: 16, n: 16, k: 8 },
        M16n16k16 => Size { m: 16, n: 16, k: 16 },
        M8n32k16 => Size { m: 8, n: 32, k: 16 },
        M32n8k16 => Size { m: 32, n: 8, k: 16 },
    }
    Join => Op {
        And => Op::And,
        Or => Op::Or,
        Xor => Op::Xor,
    }
    Limit => Funnel {
        Wrap => Funnel::Wrap,
        Clamp => Funnel::Clamp,
    }
    Pick => BytePick {
        F4e => BytePick::Upwards,
        B4e => BytePick::Downwards,
        Rc8 => BytePick::Byte,
        Ecl => BytePick::ClampLeft,
        Ecr => BytePick::ClampRight,
        Rc16 => BytePick::Half,
    }
    Space => Space {
        Global => Space::Global,
        Shared => Space::Shared,
        SharedCta => Space::Shared,
        SharedCluster => Space::SharedCluster,
        Local => Space::Local,
        Const => Space::Const,
        Param => Space::Param,
        ParamEntry => Space::Param,
        ParamFunc => Space::Param,
    }
    Scope => Scope {
        Cta => Scope::Cta,
        Cluster => Scope::Cluster,
        Gpu => Scope::Gpu,
        Sys => Scope::Sys,
    }
    Level => Scope {
        Cta => Scope::Cta,
        Gl => Scope::Gpu,
        Sys => Scope::Sys,
    }
    Order => Order {
        Weak => Order::Weak,
        Volatile => Order::Volatile,
        Relaxed => Order::Relaxed,
        Acquire => Order::Acquire,
        Release => Order::Release,
        AcqRel => Order::AcqRel,
        Sc => Order::SeqCst,
    }
    Cache => CacheOp {
        Ca => CacheOp::Ca,
        Cg => CacheOp::Cg,
        Cs => CacheOp::Cs,
        Lu => CacheOp::Lu,
        Cv => CacheOp::Cv,
        Wb => CacheOp::Wb,
        Wt => CacheOp::Wt,
    }
    Prefetch => Prefetch {
        L2_64B => Prefetch::L64,
        L2_128B => Prefetch::L128,
        L2_256B => Prefetch::L256,
    }
    L1Eviction => Eviction {
        L1EvictNormal => Eviction::Normal,
        L1EvictUnchanged => Eviction::Unchanged,
        L1EvictFirst => Eviction::First,
        L1EvictLast => Eviction::Last,
        L1NoAllocate => Eviction::NoAllocate,
    }
    Vector => u8 {
        V2 => 2,
        V4 => 4,
        V8 => 8,
    }
    Shuffle => ShflMode {
        Up => ShflMode::Up,
        Down => ShflMode::Down,
        Bfly => ShflMode::Bfly,
        Idx => ShflMode::Idx,
    }
    Vote => VoteMode {
        All => VoteMode::All,
        Any => VoteMode::Any,
        Uni => VoteMode::Uni,
        Ballot => VoteMode::Ballot,
    }
    Match => MatchMode {
        Any => MatchMode::Any,
        All => MatchMode::All,
    }
    Geometry => Shape {
        X1d => Shape::Line,
        X2d => Shape::Plane,
        X3d => Shape::Volume,
        A1d => Shape::Lines,
        A2d => Shape::Planes,
        Cube => Shape::Cube,
        Acube => Shape::Cubes,
        X2dms => Shape::Samples,
        A2dms => Shape::SamplePlanes,
    }
    Outside => Outside {
        Trap => Outside::Trap,
        Clamp => Outside::Clamp,
        Zero => Outside::Zero,
    }
    Component => Fetch {
        R => Fetch::GatherR,
        G => Fetch::GatherG,
        B => Fetch::GatherB,
        A => Fetch::GatherA,
    }
}

/// The size that a query is about; `None` for other properties.
pub(super) fn dimension(query: written::Query) -> Option<Dimension> {
    match query {
        written::Query::Width => Some(Dimension::Width),
        written::Query::Height => Some(Dimension::Height),
        written::Query::Depth => Some(Dimension::Depth),
        _ => None,
    }
}

/// The comparison of integers of a type; `None` if the type has no such comparison.
pub(super) fn integer_condition(comparison: written::Comparison, scalar: Scalar) -> Option<IntCond> {
    use written::Comparison as C;
    let signed = scalar.is_signed();
    let pick =
        |if_signed, if_unsigned| scalar.is_number().then_some(if signed { if_signed } else { if_unsigned });
    let unsigned = |condition| (scalar.is_number() && !signed).then_some(condition);
    match comparison {
        C::Eq => Some(IntCond::Eq),
        C::Ne => Some(IntCond::Ne),
        C::Lt => pick(IntCond::Slt, IntCond::Ult),
        C::Le => pick(IntCond::Sle, IntCond::Ule),
        C::Gt => pick(IntCond::Sgt, IntCond::Ugt),
        C::Ge => pick(IntCond::Sge, IntCond::Uge),
        C::Lo => unsigned(IntCond::Ult),
        C::Ls => unsigned(IntCond::Ule),
        C::Hi => unsigned(IntCond::Ugt),
        C::Hs => unsigned(IntCond::Uge),
        C::Equ | C::Neu | C::Ltu | C::Leu | C::Gtu | C::Geu | C::Num | C::Nan => None,
    }
}

/// The comparison of floats; `None` for comparisons of unsigned integers.
pub(super) fn float_condition(comparison: written::Comparison) -> Option<FloatCond> {
    use written::Comparison as C;
    match comparison {
        C::Eq => Some(FloatCond::Eq),
        C::Ne => Some(FloatCond::Ne),
        C::Lt => Some(FloatCond::Lt),
        C::Le => Some(FloatCond::Le),
        C::Gt => Some(FloatCond::Gt),
        C::Ge => Some(FloatCond::Ge),
        C::Equ => Some(FloatCond::Equ),
        C::Neu => Some(FloatCond::Neu),
        C::Ltu => Some(FloatCond::Ltu),
        C::Leu => Some(FloatCond::Leu),
        C::Gtu => Some(FloatCond::Gtu),
        C::Geu => Some(FloatCond::Geu),
        C::Num => Some(FloatCond::Num),
        C::Nan => Some(FloatCond::Nan),
        C::Lo | C::Ls | C::Hi | C::Hs => None,
    }
}
