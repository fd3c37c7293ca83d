//! Maps the types and modes of the IR to those of `ptxc-semantics`, for code that folds or executes
//! operations.

use ptxc_semantics::bits::PrmtMode;
use ptxc_semantics::float::FloatCmp;
use ptxc_semantics::int::IntCmp;
use ptxc_semantics::{Format, IntType, Mode, narrow, pairs};

use crate::condition::{FloatCond, IntCond};
use crate::op::{ByteFormat, BytePick, FloatMode, NarrowInt, PairFunction, Rounding};
use crate::types::Type;

impl Type {
    /// The float format of a value of the type; `None` for integers, predicates and packed pairs.
    pub const fn float_format(self) -> Option<Format> {
        match self {
            Type::F16 => Some(ptxc_semantics::F16),
            Type::BF16 => Some(ptxc_semantics::BF16),
            Type::F32 => Some(ptxc_semantics::F32),
            Type::F64 => Some(ptxc_semantics::F64),
            _ => None,
        }
    }

    /// The float format of the halves of a packed pair; `None` for all other types.
    pub const fn pair_format(self) -> Option<Format> {
        match self {
            Type::F16x2 => Some(ptxc_semantics::F16),
            Type::BF16x2 => Some(ptxc_semantics::BF16),
            _ => None,
        }
    }
}

impl From<Rounding> for ptxc_semantics::Rounding {
    fn from(round: Rounding) -> Self {
        match round {
            Rounding::Nearest => ptxc_semantics::Rounding::Nearest,
            Rounding::Zero => ptxc_semantics::Rounding::Zero,
            Rounding::Down => ptxc_semantics::Rounding::Down,
            Rounding::Up => ptxc_semantics::Rounding::Up,
        }
    }
}

impl From<BytePick> for PrmtMode {
    fn from(pick: BytePick) -> Self {
        match pick {
            BytePick::Index => PrmtMode::Index,
            BytePick::Upwards => PrmtMode::F4e,
            BytePick::Downwards => PrmtMode::B4e,
            BytePick::Byte => PrmtMode::Rc8,
            BytePick::ClampLeft => PrmtMode::Ecl,
            BytePick::ClampRight => PrmtMode::Ecr,
            BytePick::Half => PrmtMode::Rc16,
        }
    }
}

impl From<ByteFormat> for narrow::ByteFormat {
    fn from(format: ByteFormat) -> Self {
        match format {
            ByteFormat::E4m3 => narrow::ByteFormat::E4m3,
            ByteFormat::E5m2 => narrow::ByteFormat::E5m2,
        }
    }
}

impl From<NarrowInt> for IntType {
    fn from(ty: NarrowInt) -> Self {
        match ty {
            NarrowInt::U2 => IntType::new(2, false),
            NarrowInt::S2 => IntType::new(2, true),
            NarrowInt::U4 => IntType::new(4, false),
            NarrowInt::S4 => IntType::new(4, true),
            NarrowInt::U8 => IntType::new(8, false),
            NarrowInt::S8 => IntType::new(8, true),
            NarrowInt::U16 => IntType::new(16, false),
            NarrowInt::S16 => IntType::new(16, true),
        }
    }
}

impl PairFunction {
    /// The result of the function for the halves of two words.
    pub fn of(self, a: u32, b: u32) -> u32 {
        match self {
            PairFunction::Add => pairs::add(a, b),
            PairFunction::Smin => pairs::min(true, a, b),
            PairFunction::Smax => pairs::max(true, a, b),
            PairFunction::Umin => pairs::min(false, a, b),
            PairFunction::Umax => pairs::max(false, a, b),
        }
    }
}

impl From<FloatMode> for Mode {
    fn from(mode: FloatMode) -> Self {
        Mode::new(mode.round.into()).with_ftz(mode.ftz).with_sat(mode.sat)
    }
}

impl From<FloatCond> for FloatCmp {
    fn from(cond: FloatCond) -> Self {
        match cond {
            FloatCond::Eq => FloatCmp::Eq,
            FloatCond::Ne => FloatCmp::Ne,
            FloatCond::Lt => FloatCmp::Lt,
            FloatCond::Le => FloatCmp::Le,
            FloatCond::Gt => FloatCmp::Gt,
            FloatCond::Ge => FloatCmp::Ge,
            FloatCond::Equ => FloatCmp::Equ,
            FloatCond::Neu => FloatCmp::Neu,
            FloatCond::Ltu => FloatCmp::Ltu,
            FloatCond::Leu => FloatCmp::Leu,
            FloatCond::Gtu => FloatCmp::Gtu,
            FloatCond::Geu => FloatCmp::Geu,
            FloatCond::Num => FloatCmp::Num,
            FloatCond::Nan => FloatCmp::Nan,
        }
    }
}

impl IntCond {
    /// How the condition compares values of that many bits: the integer type, which carries the
    /// signedness, and the relation.
    pub fn comparison(self, bits: u32) -> (IntType, IntCmp) {
        let cmp = match self {
            IntCond::Eq => IntCmp::Eq,
            IntCond::Ne => IntCmp::Ne,
            IntCond::Slt | IntCond::Ult => IntCmp::Lt,
            IntCond::Sle | IntCond::Ule => IntCmp::Le,
            IntCond::Sgt | IntCond::Ugt => IntCmp::Gt,
            IntCond::Sge | IntCond::Uge => IntCmp::Ge,
        };
        (IntType::new(bits, self.is_signed()), cmp)
    }
}
