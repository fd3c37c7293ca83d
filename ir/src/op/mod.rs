//! The operations: what a function can compute.
//!
//! Every instruction has an [`Op`], a controlling [`Type`] `ty`, arguments, results and, for a
//! terminator, targets. Each operation has one declaration, in the file of its family. The
//! declaration says everything that holds for the operation by itself:
//!
//! ```text
//! /// `(a: T, b: T) -> T`: the lesser.              documentation
//! Fmin {                                            variant of Op
//!     /// Whether subnormals become zero.
//!     ftz: bool,                                    a named, documented payload
//! } = "fmin" [T (ftz)] [] FLOATS (T, T) -> (T) {};
//!     ^text  ^modifiers   ^types ^args     ^results, effects, mark
//! ```
//!
//! | part | meaning |
//! |---|---|
//! | variant | One payload whose type tells its meaning stays nameless, as in `Load(access: Access)`. Flags, numbers and several payloads have names. |
//! | text | The first word of the operation in the text form. |
//! | modifiers | Dotted words after it: a payload by name, `T` for the controlling type, `(name)` for a flag that is spelled as its name where it is set. |
//! | operands | The second pair of brackets: payloads that are written before the arguments (`param.b32 +8`, `bssy b0, block3`). |
//! | types | The controlling types that the operation takes: a constant of [`Types`](crate::signature::Types). |
//! | args | The arguments, each an [`Arg`](crate::signature::Arg). [`arguments`](crate::signature::arguments) adds those that depend on the payload. |
//! | results | `()`, `(T)`, `(T, Pred)`, `(T; count)` for that many, or an expression of the payload in brackets. |
//! | effects | The fields of [`Effects`] that are set, each with an optional condition on the payload. |
//! | mark | `slow` for an expensive operation, `terminator` for one that ends a block, or nothing. |
//!
//! A macro of each family passes its declarations on to the next, and `operations` passes all of
//! them to a consumer: here to the enumeration, in [`signature`](crate::signature) to the table of
//! rows, in [`text`](mod@crate::text) to the printer and the reader. Matches over operations in
//! the evaluators, the folder, the selector and the analyses have no default arm, so that the
//! compiler names each place that a new operation needs. [`arithmetic`](crate::arithmetic) and
//! [`not_arithmetic`](crate::not_arithmetic) are patterns for all families of one kind.
//!
//! In the comments on operations, `a`, `b`, `c` are the arguments in order, `T` is the controlling
//! type, and `->` precedes the results.
//!
//! Shift counts of [`Op::Shl`], [`Op::Shr`] and [`Op::Sar`] clamp: a count of the width or more
//! gives zero, or the sign in every bit for `sar`. Division by zero does not trap.
#![deny(clippy::wildcard_enum_match_arm)]

#[macro_use]
mod constant;
#[macro_use]
mod integer;
#[macro_use]
mod bits;
#[macro_use]
mod compare;
#[macro_use]
mod float;
#[macro_use]
mod convert;
#[macro_use]
mod memory;
#[macro_use]
mod image;
#[macro_use]
mod warp;
#[macro_use]
mod matrix;
#[macro_use]
mod warpgroup;
#[macro_use]
mod barrier;
#[macro_use]
mod mbarrier;
#[macro_use]
mod copies;
#[macro_use]
mod proxy;
#[macro_use]
mod call;
#[macro_use]
mod convergence;
#[macro_use]
mod terminator;

mod effects;
mod results;
mod special_reg;

pub use barrier::{BarrierKind, GridDependency};
pub use bits::{BytePick, Funnel, NarrowInt};
pub use convergence::ConvergenceBarrier;
pub use convert::ByteFormat;
pub use effects::Effects;
pub use float::{Approx, FloatMode, Rounding};
pub use integer::PairFunction;
pub use mbarrier::{MbarrierArrive, MbarrierUpdate, MbarrierWait};
pub use proxy::Proxy;
pub use results::Results;
pub use special_reg::SpecialReg;
pub use warp::{MatchMode, ReduxOp, ShflMode, VoteMode};

use crate::condition::{FloatCond, IntCond};
use crate::entities::{Block, FuncRef, Symbol};
use crate::image::{Dimension, Sampling, SurfaceAccess};
use crate::matrix::Product;
pub use crate::memory::Prefetch;
use crate::memory::{Access, AtomicOp, LineAction, Order, Scope, Space};
use crate::tensor_copy::{TensorBox, TensorUpdate};
use crate::types::Type;
use crate::warpgroup::{Count, GroupProduct, Groups};
use effects::effects;
use mbarrier::arrival_results;
use results::results;

/// Passes the declarations of all operations to a macro.
macro_rules! operations {
    ($consumer:ident) => {
        constant_operations! {
            integer_operations bits_operations compare_operations float_operations
            convert_operations memory_operations image_operations warp_operations matrix_operations
            warpgroup_operations barrier_operations mbarrier_operations copies_operations proxy_operations call_operations
            convergence_operations terminator_operations $consumer {}
        }
    };
}

/// Whether an operation has a mark.
macro_rules! is_marked {
    (slow slow) => {
        true
    };
    (terminator terminator) => {
        true
    };
    ($wanted:ident slow) => {
        false
    };
    ($wanted:ident terminator) => {
        false
    };
    ($wanted:ident) => {
        false
    };
}

macro_rules! enumeration {
    ({ $($(#[$doc:meta])* $variant:ident
        $(($payload:ident: $payload_type:ty))?
        $({ $($(#[$field_doc:meta])* $field:ident: $field_type:ty,)* })?
        = $mnemonic:literal [$($modifier:tt)*] [$($operand:ident)*] $types:ident ($($arg:ident),*)
        -> $results:tt $effects:tt $($mark:ident)?;)* }) => {
        /// An operation. The [module](self) explains the comments on the variants.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Op {
            $($(#[$doc])* $variant
                $(($payload_type))?
                $({ $($(#[$field_doc])* $field: $field_type,)* })?,)*
        }

        impl Op {
            /// The types of the results, given the controlling type.
            #[allow(unused_variables)]
            pub const fn results(&self, ty: Type) -> Results {
                match *self {
                    $(Op::$variant $(($payload))? $({ $($field),* })? => results!(ty $results),)*
                }
            }

            /// The effects of the operation besides computing.
            #[allow(unused_variables)]
            pub const fn effects(&self) -> Effects {
                match *self {
                    $(Op::$variant $(($payload))? $({ $($field),* })? => effects!($effects),)*
                }
            }

            /// Whether the operation becomes several slow instructions, so that it should not run
            /// needlessly. A cache policy also belongs to the threads that make it, and other
            /// threads must not make it.
            pub const fn is_expensive(&self) -> bool {
                match self {
                    $(Op::$variant { .. } => is_marked!(slow $($mark)?),)*
                }
            }

            /// Whether the operation ends a block.
            #[inline]
            pub const fn is_terminator(&self) -> bool {
                match self {
                    $(Op::$variant { .. } => is_marked!(terminator $($mark)?),)*
                }
            }
        }
    };
}

operations!(enumeration);

// A function holds an operation for each instruction, so that a greater size slows every pass down.
const _: () = assert!(size_of::<Op>() == 16);

// Only operations without effects match: these families are functions of their arguments.
macro_rules! arithmetic_pattern {
    ({ $($(#[$doc:meta])* $variant:ident
        $(($payload:ident: $payload_type:ty))?
        $({ $($(#[$field_doc:meta])* $field:ident: $field_type:ty,)* })?
        = $mnemonic:literal [$($modifier:tt)*] [$($operand:ident)*] $types:ident ($($arg:ident),*)
        -> $results:tt {} $($mark:ident)?;)* }) => {
        /// A pattern for the operations that compute their results from their arguments: integers,
        /// bits, comparisons, floats and conversions.
        #[macro_export]
        macro_rules! arithmetic {
            () => { $($crate::Op::$variant { .. })|* };
        }
    };
}

macro_rules! not_arithmetic_pattern {
    ({ $($(#[$doc:meta])* $variant:ident
        $(($payload:ident: $payload_type:ty))?
        $({ $($(#[$field_doc:meta])* $field:ident: $field_type:ty,)* })?
        = $mnemonic:literal [$($modifier:tt)*] [$($operand:ident)*] $types:ident ($($arg:ident),*)
        -> $results:tt $effects:tt $($mark:ident)?;)* }) => {
        /// A pattern for the operations that [`arithmetic`](crate::arithmetic) leaves: constants,
        /// memory, other threads, calls and control flow.
        #[macro_export]
        macro_rules! not_arithmetic {
            () => { $($crate::Op::$variant { .. })|* };
        }
    };
}

integer_operations! {
    bits_operations compare_operations float_operations convert_operations arithmetic_pattern {}
}
constant_operations! {
    memory_operations image_operations warp_operations matrix_operations warpgroup_operations
    barrier_operations mbarrier_operations copies_operations proxy_operations call_operations convergence_operations
    terminator_operations not_arithmetic_pattern {}
}
