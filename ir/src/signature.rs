//! The signature of every operation: its spelling, its controlling types and its arguments.
//!
//! The rows are parts of the declarations in [`op`](mod@crate::op). The printer, the reader and the
//! verifier work from them. The arguments of stores, atomics and barriers vary with the payload;
//! [`arguments`] completes the row for them. Those of calls and `ret` are typed by the function:
//! [`Function::value_arguments`](crate::Function::value_arguments).
#![deny(clippy::wildcard_enum_match_arm)]

use smallvec::SmallVec;

use crate::matrix::Element;
use crate::memory::{Access, AtomicOp, Space};
use crate::op::{BarrierKind, MbarrierWait, Op};
use crate::types::Type;
use crate::warpgroup::{GroupOptions, GroupProduct};

/// The type that an argument must have, in terms of the controlling type `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// `T` itself.
    T,
    /// `pred`.
    Pred,
    /// `b32`.
    B32,
    /// `b64`.
    B64,
    /// An address in the operation's space.
    Address,
    /// An integer narrower than `T`.
    Narrower,
    /// An integer wider than `T`.
    Wider,
    /// Any type of the width of `T`.
    SameWidth,
    /// An integer of half the width of `T`.
    Half,
    /// Any integer of 16 to 64 bits.
    Int,
    /// Any float that is not a pair.
    Float,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// `f16x2`.
    F16x2,
}

impl Arg {
    /// Whether an argument of type `actual` suits an operation in `space` with controlling type
    /// `ty`.
    pub fn accepts(self, actual: Type, ty: Type, space: Option<Space>) -> bool {
        match self {
            Arg::T => actual == ty,
            Arg::Pred => actual == Type::Pred,
            Arg::B32 => actual == Type::B32,
            Arg::B64 => actual == Type::B64,
            Arg::Address => space.is_some_and(|space| actual == space.address_type()),
            Arg::Narrower => actual.is_int() && actual.bits() < ty.bits(),
            Arg::Wider => actual.is_int() && actual.bits() > ty.bits(),
            Arg::SameWidth => actual.bits() == ty.bits(),
            Arg::Half => Type::int(ty.bits() / 2) == Some(actual),
            Arg::Int => Types::INT.contains(actual),
            Arg::Float => Types::FLOAT.contains(actual),
            Arg::F32 => actual == Type::F32,
            Arg::F64 => actual == Type::F64,
            Arg::F16x2 => actual == Type::F16x2,
        }
    }

    /// A description for error messages.
    pub fn describe(self, ty: Type, space: Option<Space>) -> String {
        match self {
            Arg::T => ty.to_string(),
            Arg::Pred => "pred".to_string(),
            Arg::B32 => "b32".to_string(),
            Arg::B64 => "b64".to_string(),
            Arg::Address => match space {
                Some(space) => format!("{} (an address in {space})", space.address_type()),
                None => "an address".to_string(),
            },
            Arg::Narrower => format!("an integer narrower than {ty}"),
            Arg::Wider => format!("an integer wider than {ty}"),
            Arg::SameWidth => format!("a type of {} bits", ty.bits()),
            Arg::Half => format!("an integer of half the width of {ty}"),
            Arg::Int => "an integer".to_string(),
            Arg::Float => "a float".to_string(),
            Arg::F32 => "f32".to_string(),
            Arg::F64 => "f64".to_string(),
            Arg::F16x2 => "f16x2".to_string(),
        }
    }
}

/// A set of controlling types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types(u16);

impl Types {
    /// The operation has no controlling type; the instruction has `b32`, and the text omits it.
    pub const NONE: Types = Types(0);
    /// Every type.
    pub const ANY: Types = Types::of(&Type::ALL);
    /// Every type except `b128`, which has no constants.
    pub const CONST: Types = Types(Types::ANY.0 & !Types::of(&[Type::B128]).0);
    /// Every type that memory can hold.
    pub const MEMORY: Types = Types(Types::ANY.0 & !Types::of(&[Type::Pred]).0);
    /// Addresses.
    pub const ADDRESS: Types = Types::of(&[Type::B32, Type::B64]);
    /// Integers of one or two registers.
    pub const WORDS: Types = Types::of(&[Type::B32, Type::B64]);
    /// Types of one register.
    pub const WORD: Types = Types::of(&[Type::B32, Type::F32]);
    /// `b32` alone.
    pub const B32: Types = Types::of(&[Type::B32]);
    /// Integers that have a product of twice their width.
    pub const NARROW: Types = Types::of(&[Type::B16, Type::B32]);
    /// Integers with arithmetic.
    pub const INT: Types = Types::of(&[Type::B16, Type::B32, Type::B64]);
    /// The types with bitwise logic.
    pub const BITS: Types = Types::of(&[Type::Pred, Type::B16, Type::B32, Type::B64, Type::B128]);
    /// `f32` alone.
    pub const F32: Types = Types::of(&[Type::F32]);
    /// Floats that are not pairs.
    pub const FLOAT: Types = Types::of(&[Type::F16, Type::BF16, Type::F32, Type::F64]);
    /// Floats and pairs of floats.
    pub const FLOATS: Types = Types(Types::FLOAT.0 | Types::of(&[Type::F16x2, Type::BF16x2]).0);
    /// Floats of 16 bits.
    pub const HALF: Types = Types::of(&[Type::F16, Type::BF16]);
    /// Floats of 16 bits and pairs of them.
    pub const HALVES: Types = Types(Types::HALF.0 | Types::HALF_PAIR.0);
    /// `f16x2` alone.
    pub const F16X2: Types = Types::of(&[Type::F16x2]);
    /// Pairs of floats of 16 bits.
    pub const HALF_PAIR: Types = Types::of(&[Type::F16x2, Type::BF16x2]);
    /// The types that two integers can be packed into.
    pub const PAIR: Types = Types::of(&[Type::B32, Type::B64, Type::B128, Type::F16x2, Type::BF16x2]);

    const fn of(types: &[Type]) -> Types {
        let mut set = 0;
        let mut i = 0;
        while i < types.len() {
            set |= 1 << types[i] as u16;
            i += 1;
        }
        Types(set)
    }

    /// Whether a type is in the set.
    pub const fn contains(self, ty: Type) -> bool {
        self.0 >> ty as u16 & 1 == 1
    }
}

/// The row of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The first word of its spelling.
    pub mnemonic: &'static str,
    /// The controlling types that it accepts; [`Types::NONE`] if it has no controlling type.
    pub types: Types,
    /// Its arguments, as far as they do not depend on the payload.
    pub args: &'static [Arg],
}

macro_rules! rows {
    ({ $($(#[$doc:meta])* $variant:ident
        $(($payload:ident: $payload_type:ty))?
        $({ $($(#[$field_doc:meta])* $field:ident: $field_type:ty,)* })?
        = $mnemonic:literal [$($modifier:tt)*] [$($operand:ident)*] $types:ident ($($arg:ident),*)
        -> $results:tt $effects:tt $($mark:ident)?;)* }) => {
        /// The first words of all operations, in the order of the enumeration.
        pub const MNEMONICS: &[&str] = &[$($mnemonic),*];

        /// The row of an operation.
        pub fn row(op: &Op) -> &'static Row {
            match op {
                $(Op::$variant { .. } => {
                    const ROW: Row =
                        Row { mnemonic: $mnemonic, types: Types::$types, args: &[$(Arg::$arg),*] };
                    &ROW
                })*
            }
        }
    };
}

operations!(rows);

/// The arguments of an operation that has `count` of them. If `count` is wrong, the list has
/// another length, and the caller can report the expected number.
pub fn arguments(op: &Op, count: usize) -> SmallVec<[Arg; 8]> {
    let mut args = SmallVec::from_slice(row(op).args);
    match op {
        Op::Store(access) => args.extend(std::iter::repeat_n(Arg::T, access.lanes as usize)),
        Op::Atomic { op: AtomicOp::Cas | AtomicOp::Cast, .. } | Op::TryAtomic { op: AtomicOp::Cas, .. } => {
            args.push(Arg::T)
        }
        Op::TryAtomic { .. } | Op::LoadReduce { .. } | Op::RemoteRed { .. } => {}
        Op::BulkLoad { multicast } => args.extend(multicast.then_some(Arg::B32)),
        Op::BulkRed { .. } | Op::BulkShareRed { .. } => {}
        Op::TensorLoad { tile, multicast } => {
            let more = u8::from(tile.im2col) + u8::from(*multicast);
            args.extend(std::iter::repeat_n(Arg::B32, (tile.dimensions + more).into()));
        }
        Op::TensorPrefetch(tile) => {
            args.extend(std::iter::repeat_n(Arg::B32, (tile.dimensions + u8::from(tile.im2col)).into()));
        }
        Op::TensorStore(tile) | Op::TensorRed { tile, .. } => {
            args.extend(std::iter::repeat_n(Arg::B32, tile.dimensions.into()));
        }
        Op::RemoteStore => args.extend(std::iter::repeat_n(Arg::T, count.saturating_sub(args.len()))),
        Op::Atomic { access, .. } | Op::Red { access, .. } => {
            args.extend(std::iter::repeat_n(Arg::T, (access.lanes as usize).saturating_sub(1)));
        }
        Op::Texture(sampling) => {
            args.extend(sampling.sampler.then_some(Arg::B64));
            args.extend(std::iter::repeat_n(Arg::B32, sampling.words_after_handles()));
        }
        Op::SurfaceLoad(surface) => args.extend(std::iter::repeat_n(Arg::B32, surface.place_arguments())),
        Op::SurfaceStore(surface) => {
            let count = surface.place_arguments() + usize::from(surface.words());
            args.extend(std::iter::repeat_n(Arg::B32, count));
            args.extend(surface.guarded.then_some(Arg::Pred));
        }
        Op::SurfaceRed { surface, .. } => {
            args.extend(std::iter::repeat_n(Arg::B32, surface.place_arguments()));
            args.push(Arg::T);
            args.extend(surface.guarded.then_some(Arg::Pred));
        }
        Op::MbarrierState { wait, .. } | Op::MbarrierParity { wait, .. } => {
            if *wait == MbarrierWait::TryFor {
                args.push(Arg::B32);
            }
        }
        // The mask is optional.
        Op::Vote(_) | Op::Shfl(_) | Op::Match(_) | Op::Redux(_) | Op::Elect => {
            if count > args.len() {
                args.push(Arg::B32);
            }
        }
        Op::Bar(kind) | Op::Barrier { kind, .. } => {
            let reduction = kind.is_reduction();
            let packed = matches!(op, Op::Barrier { packed: true, .. });
            let counted = *kind == BarrierKind::Arrive || count > 1 + usize::from(reduction);
            if counted && !packed {
                args.push(Arg::B32);
            }
            if reduction {
                args.push(Arg::Pred);
            }
        }
        Op::MatrixStore { access, .. } => {
            args.extend(std::iter::repeat_n(Arg::B32, access.lanes.into()));
        }
        Op::MatrixProduct(product) => {
            let component = |element: Element| if element == Element::F64 { Arg::F64 } else { Arg::B32 };
            let sum = if product.sum_type == Element::F32 { Arg::F32 } else { component(product.sum_type) };
            args.extend(std::iter::repeat_n(component(product.a), product.of_a()));
            args.extend(std::iter::repeat_n(component(product.b), product.of_b()));
            args.extend(std::iter::repeat_n(sum, product.of_sum()));
            args.extend(product.sparse.map(|_| Arg::B32));
        }
        Op::WarpgroupProduct(GroupProduct { product, options }) => {
            match options.has(GroupOptions::REGISTERS) {
                true => args.extend(std::iter::repeat_n(Arg::B32, product.of_a())),
                false => args.push(Arg::B64),
            }
            args.push(Arg::B64);
            if options.has(GroupOptions::ADD) {
                args.extend(std::iter::repeat_n(Arg::T, product.of_sum()));
                args.push(Arg::Pred);
            }
            args.extend(product.sparse.map(|_| Arg::B32));
        }
        Op::Lend { count } | Op::Settle { count } | Op::Release { count } => {
            args.extend(std::iter::repeat_n(Arg::T, count.0.into()));
        }
        arithmetic!() => {}
        Op::Const(_) | Op::Undef | Op::Param { .. } | Op::SymbolAddr(_) | Op::SpecialReg(_) => {}
        Op::Load(_) | Op::Fence { .. } | Op::ToGeneric(_) | Op::FromGeneric(_) | Op::CachePolicy => {}
        Op::CacheHint | Op::IsSpace(_) | Op::ImageSize(_) => {}
        Op::MatrixLoad { .. } | Op::MatrixTranspose => {}
        Op::WarpgroupArrive | Op::WarpgroupCommit | Op::WarpgroupWait { .. } => {}
        Op::ReturnRegisters { .. } | Op::TryRegisters { .. } => {}
        Op::ActiveMask
        | Op::Nanosleep
        | Op::PmEvent { .. }
        | Op::CacheLine { .. }
        | Op::Breakpoint
        | Op::WarpSync
        | Op::WarpFence => {}
        Op::ClusterArrive { .. } | Op::ClusterWait { .. } | Op::GridDependency(_) => {}
        Op::MbarrierUpdate { .. } | Op::MbarrierInval | Op::MbarrierArrive { .. } => {}
        Op::MbarrierPending => {}
        Op::AsyncCopy { .. } | Op::AsyncFill { .. } | Op::AsyncArrive { .. } | Op::AsyncCommit => {}
        Op::AsyncWait | Op::AsyncWaitAll | Op::BulkStore | Op::BulkShare => {}
        Op::BulkPrefetch | Op::BulkCommit | Op::BulkWait { .. } => {}
        Op::ProxyFence(_) | Op::TensormapAcquire(_) | Op::TensormapPrefetch | Op::TensormapRelease(_) => {}
        Op::Call { .. } | Op::CallIndirect(_) | Op::FuncAddr(_) => {}
        Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) | Op::SaveBarrier(_) | Op::RestoreBarrier(_) => {}
        Op::Jump | Op::Branch { .. } | Op::BranchTogether | Op::Switch | Op::Return | Op::Exit => {}
        Op::Trap => {}
    }
    args
}

/// The access of an operation, as a shared or mutable reference like the operation's.
macro_rules! access {
    ($op:expr) => {
        match $op {
            Op::Load(access)
            | Op::Store(access)
            | Op::Atomic { access, .. }
            | Op::Red { access, .. }
            | Op::TryAtomic { access, .. }
            | Op::LoadReduce { access, .. }
            | Op::AsyncCopy { access, .. }
            | Op::MatrixLoad { access, .. }
            | Op::MatrixStore { access, .. }
            | Op::AsyncFill { access, .. } => Some(access),
            arithmetic!() => None,
            Op::Const(_) | Op::Undef | Op::Param { .. } | Op::SymbolAddr(_) | Op::SpecialReg(_) => None,
            Op::Fence { .. } | Op::ToGeneric(_) | Op::FromGeneric(_) | Op::CachePolicy => None,
            Op::CacheHint | Op::IsSpace(_) => None,
            Op::Texture(_) | Op::ImageSize(_) => None,
            Op::SurfaceLoad(_) | Op::SurfaceStore(_) | Op::SurfaceRed { .. } => None,
            Op::Vote(_) | Op::Shfl(_) | Op::ActiveMask | Op::Match(_) | Op::Redux(_) | Op::Elect => None,
            Op::MatrixTranspose | Op::MatrixProduct(_) => None,
            Op::Lend { .. } | Op::Settle { .. } | Op::Release { .. } => None,
            Op::WarpgroupArrive | Op::WarpgroupCommit | Op::WarpgroupWait { .. } => None,
            Op::ReturnRegisters { .. } | Op::TryRegisters { .. } => None,
            Op::WarpgroupProduct(_) => None,
            Op::Nanosleep
            | Op::PmEvent { .. }
            | Op::CacheLine { .. }
            | Op::Breakpoint
            | Op::WarpSync
            | Op::WarpFence => None,
            Op::Bar(_) | Op::Barrier { .. } | Op::ClusterArrive { .. } | Op::ClusterWait { .. } => None,
            Op::GridDependency(_) => None,
            Op::MbarrierUpdate { .. } | Op::MbarrierInval | Op::MbarrierArrive { .. } => None,
            Op::MbarrierState { .. } | Op::MbarrierParity { .. } | Op::MbarrierPending => None,
            Op::AsyncArrive { .. } | Op::AsyncCommit | Op::AsyncWait | Op::AsyncWaitAll => None,
            Op::BulkLoad { .. } | Op::BulkStore | Op::BulkShare | Op::BulkPrefetch | Op::BulkCommit => None,
            Op::BulkWait { .. } | Op::RemoteStore | Op::RemoteRed { .. } => None,
            Op::BulkRed { .. } | Op::BulkShareRed { .. } => None,
            Op::TensorLoad { .. } | Op::TensorStore(_) | Op::TensorRed { .. } | Op::TensorPrefetch(_) => None,
            Op::ProxyFence(_) | Op::TensormapAcquire(_) | Op::TensormapPrefetch | Op::TensormapRelease(_) => {
                None
            }
            Op::Call { .. } | Op::CallIndirect(_) | Op::FuncAddr(_) => None,
            Op::Bssy { .. } | Op::Bsync(_) | Op::Break(_) | Op::SaveBarrier(_) => None,
            Op::RestoreBarrier(_) => None,
            Op::Jump | Op::Branch { .. } | Op::BranchTogether | Op::Switch | Op::Return | Op::Exit => None,
            Op::Trap => None,
        }
    };
}

impl Op {
    /// The access of a load, store, atomic, reduction, or asynchronous copy of an element.
    pub const fn access(&self) -> Option<&Access> {
        access!(self)
    }

    /// As [`access`](Self::access), but mutable.
    pub const fn access_mut(&mut self) -> Option<&mut Access> {
        access!(self)
    }

    /// The space that an address among the arguments belongs to.
    pub const fn address_space(&self) -> Option<Space> {
        if let Op::ToGeneric(space) | Op::CacheLine { space, .. } = self {
            return Some(*space);
        }
        match self.access() {
            Some(access) => Some(access.space),
            None => None,
        }
    }

    /// The first word of the operation in the text form.
    pub fn mnemonic(&self) -> &'static str {
        row(self).mnemonic
    }
}
