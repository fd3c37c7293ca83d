//! The results of operations.

use crate::entities::FuncRef;
use crate::types::Type;

/// The types of an operation's results, as far as they follow from the operation and its
/// controlling type.
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
    /// That many of one type, then a predicate.
    Flagged(Type, u8),
    /// The results of the callee; see [`Function::result_types`](crate::Function::result_types).
    OfCallee(FuncRef),
    /// The controlling type does not suit the operation.
    Invalid,
}

/// The type of a result in a declaration, in terms of the controlling type `T`.
#[derive(Clone, Copy)]
pub(super) enum ResultType {
    /// `T` itself.
    T,
    /// `pred`.
    Pred,
    /// `b32`.
    B32,
    /// `b64`.
    B64,
    /// An integer of half the width of `T`.
    Half,
    /// An integer of twice the width of `T`, which is an integer.
    Double,
}

impl ResultType {
    const fn of(self, ty: Type) -> Option<Type> {
        match self {
            ResultType::T => Some(ty),
            ResultType::Pred => Some(Type::Pred),
            ResultType::B32 => Some(Type::B32),
            ResultType::B64 => Some(Type::B64),
            ResultType::Half => Type::int(ty.bits() / 2),
            ResultType::Double => {
                if ty.is_int() {
                    Type::int(ty.bits() * 2)
                } else {
                    None
                }
            }
        }
    }

    /// One result of this type.
    pub(super) const fn one(self, ty: Type) -> Results {
        match self.of(ty) {
            Some(result) => Results::One(result),
            None => Results::Invalid,
        }
    }

    /// Two results, of this type and another.
    pub(super) const fn and(self, second: ResultType, ty: Type) -> Results {
        match (self.of(ty), second.of(ty)) {
            (Some(first), Some(second)) => Results::Two(first, second),
            _ => Results::Invalid,
        }
    }

    /// That many results of this type.
    pub(super) const fn times(self, count: u8, ty: Type) -> Results {
        match self.of(ty) {
            Some(result) => Results::Many(result, count),
            None => Results::Invalid,
        }
    }
}

/// The results in a declaration.
macro_rules! results {
    ($ty:ident ()) => {
        Results::None
    };
    ($ty:ident ($one:ident)) => {
        $crate::op::results::ResultType::$one.one($ty)
    };
    ($ty:ident ($first:ident, $second:ident)) => {
        $crate::op::results::ResultType::$first.and($crate::op::results::ResultType::$second, $ty)
    };
    ($ty:ident ($each:ident; $count:expr)) => {
        $crate::op::results::ResultType::$each.times($count, $ty)
    };
    ($ty:ident [$results:expr]) => {
        $results
    };
}
pub(super) use results;
