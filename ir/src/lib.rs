//! The SSA intermediate representation of ptxc.
//!
//! A [`Function`] is a control-flow graph of basic blocks in static single assignment form, with
//! block parameters instead of phi nodes. Operations are those of PTX, with each piece of syntax
//! resolved: sizes, signedness, rounding, state space, memory order. Nothing here knows a target,
//! the PTX grammar, or the incremental database.
//!
//! ```text
//! func @scale entry {
//!     param "n" 4 +0
//! block0:
//!     v0 = param.b32 +0
//!     v1 = sreg.b32 tid.x
//!     v2 = icmp.slt.b32 v1, v0
//!     brif v2, block1(v1), block2
//! block1(v3: b32):
//!     v4 = const.b32 0x1
//!     v5 = iadd.b32 v3, v4
//!     jump block2
//! block2:
//!     exit
//! }
//! ```
//!
//! The modules: [`types`] and [`entities`] name things, [`mod@op`] declares the operations,
//! [`memory`] describes memory accesses, [`signature`] has the types and the arguments of each
//! operation, [`function`] holds the graph, [`builder`] makes one, [`mod@text`] prints and reads
//! it.

// Its macros pass the declarations of operations to the modules after it.
#[macro_use]
pub mod op;

mod arithmetic;
pub mod builder;
pub mod cfg;
pub mod condition;
pub mod critical_edges;
mod dominator_tree;
pub mod dominators;
pub mod entities;
pub mod function;
pub mod image;
pub mod lists;
pub mod liveness;
pub mod loops;
pub mod matrix;
pub mod memory;
pub mod postdominators;
#[cfg(test)]
mod random_cfg;
pub mod signature;
pub mod symbol;
pub mod tensor_copy;
pub mod text;
pub mod types;
pub mod verify;
pub mod warpgroup;

pub use builder::Builder;
pub use cfg::Cfg;
pub use condition::{FloatCond, IntCond};
pub use dominators::Dominators;
pub use entities::{Block, FuncRef, Inst, Symbol, Value};
pub use function::{
    BlockCall, BlockData, Callee, CalleeKind, CalleeLanes, CalleeStack, External, Function, FunctionKind,
    InstData, LaunchBounds, Layout, Layouts, Param, SourceLoc, ValueDef,
};
pub use image::{Dimension, Fetch, Outside, Sampling, SamplingParts, Shape, SurfaceAccess, SurfaceParts};
pub use lists::Lists;
pub use liveness::Liveness;
pub use loops::{Loop, Loops};
pub use memory::{Access, AtomicOp, CacheOp, Eviction, LineAction, MemType, Order, Prefetch, Scope, Space};
pub use op::{
    Approx, BarrierKind, ByteFormat, BytePick, ConvergenceBarrier, Effects, FloatMode, Funnel, MatchMode,
    NarrowInt, Op, PairFunction, ReduxOp, Results, Rounding, ShflMode, SpecialReg, VoteMode,
};
pub use postdominators::PostDominators;
pub use symbol::{Initial, InitialAddress, SymbolData};
pub use tensor_copy::{TensorBox, TensorUpdate};
pub use types::Type;
pub use verify::{Level, verify};
