//! The signature of every operation: one row each.
//!
//! A row says how an operation is spelled, which controlling types it takes and what its arguments are.
//! The printer, the reader and the verifier are all driven by it, so that adding an operation means a
//! variant of [`Op`] and a row here.
//!
//! ```text
//! Icmp(cond)    = "icmp"  [cond T]    []      INT       (T, T);
//! ^variant        ^word   ^modifiers  ^other  ^types    ^arguments
//! ```
//!
//! *Modifiers* are dotted words behind the mnemonic: a payload of the variant by name, `T` the controlling
//! type, `(name)` a flag that is spelled as its name where it is set. *Other* payloads stand in front of
//! the arguments (`param.b32 +8`, `bssy b0, block3`). The arguments of stores, atomics and barriers vary
//! with the payload; [`arguments`] completes the row for them. Those of calls and `ret` are typed by the
//! function: [`Function::value_arguments`](crate::Function::value_arguments).

use smallvec::SmallVec;

use crate::memory::{Access, AtomicOp, Space};
use crate::op::{BarrierKind, MbarrierWait, Op};
use crate::text::ParseError;
use crate::text::field::{OpReader, OpWriter};
use crate::types::Type;

/// What an argument must be, in terms of the controlling type `T`.
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
    /// Any float that is no pair.
    Float,
    /// `f32`.
    F32,
}

impl Arg {
    /// Whether an argument of type `actual` suits an operation with controlling type `ty` that works in
    /// `space`.
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
        }
    }

    /// In words, for error messages.
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
        }
    }
}

/// A set of controlling types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types(u16);

impl Types {
    /// The operation has no controlling type; `b32` stands in the instruction and not in the text.
    pub const NONE: Types = Types(0);
    /// Every type.
    pub const ANY: Types = Types::of(&Type::ALL);
    /// Every type but `b128`, which has no constants.
    pub const CONST: Types = Types(Types::ANY.0 & !Types::of(&[Type::B128]).0);
    /// Every type that lies in memory.
    pub const MEMORY: Types = Types(Types::ANY.0 & !Types::of(&[Type::Pred]).0);
    /// Addresses.
    pub const ADDRESS: Types = Types::of(&[Type::B32, Type::B64]);
    /// Integers of one or two registers.
    pub const WORDS: Types = Types::of(&[Type::B32, Type::B64]);
    /// `b32` alone.
    pub const B32: Types = Types::of(&[Type::B32]);
    /// Integers that have a product of twice their width.
    pub const NARROW: Types = Types::of(&[Type::B16, Type::B32]);
    /// Integers with arithmetic.
    pub const INT: Types = Types::of(&[Type::B16, Type::B32, Type::B64]);
    /// What bitwise logic works on.
    pub const BITS: Types = Types::of(&[Type::Pred, Type::B16, Type::B32, Type::B64, Type::B128]);
    /// `f32` alone.
    pub const F32: Types = Types::of(&[Type::F32]);
    /// Floats that are no pairs.
    pub const FLOAT: Types = Types::of(&[Type::F16, Type::BF16, Type::F32, Type::F64]);
    /// Floats and pairs of floats.
    pub const FLOATS: Types = Types(Types::FLOAT.0 | Types::of(&[Type::F16x2, Type::BF16x2]).0);
    /// Floats of 16 bits.
    pub const HALF: Types = Types::of(&[Type::F16, Type::BF16]);
    /// Pairs of those.
    pub const HALF_PAIR: Types = Types::of(&[Type::F16x2, Type::BF16x2]);
    /// What two integers can be packed into.
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
    /// The controlling types it takes; [`Types::NONE`] where it has none.
    pub types: Types,
    /// Its arguments, as far as they do not depend on the payload.
    pub args: &'static [Arg],
}

/// Writes or reads one modifier: `T`, `(flag)` or a payload.
macro_rules! modifier {
    (write $out:ident T) => {
        $out.controlling_type()
    };
    (write $out:ident ($flag:ident)) => {
        if *$flag {
            $out.word(stringify!($flag))
        }
    };
    (write $out:ident $field:ident) => {
        $out.modifier($field)
    };
    (read $input:ident T) => {
        $input.controlling_type()?
    };
    (read $input:ident ($flag:ident)) => {
        $flag = $input.flag(stringify!($flag))
    };
    (read $input:ident $field:ident) => {
        $field = $input.modifier()?
    };
}

macro_rules! op_table {
    ($($variant:ident $(($payload:ident))? $({ $($field:ident),* })? = $mnemonic:literal [$($modifier:tt)*] [$($operand:ident)*]
       $types:ident ($($arg:ident),*);)*) => {
        /// The first words of all operations, in the order of the table.
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

        /// Writes an operation up to its arguments.
        pub(crate) fn write_op(op: &Op, out: &mut OpWriter<'_>) {
            match op {
                $(Op::$variant $(($payload))? $({ $($field),* })? => {
                    out.mnemonic($mnemonic);
                    $(modifier!(write out $modifier);)*
                    $(out.operand($operand);)*
                })*
            }
        }

        /// Reads an operation up to its arguments.
        pub(crate) fn read_op(input: &mut OpReader<'_, '_>) -> Result<Op, ParseError> {
            match input.mnemonic() {
                $($mnemonic => {
                    $(let $payload;)?
                    $($(let $field;)*)?
                    $(modifier!(read input $modifier);)*
                    input.end_of_modifiers()?;
                    $($operand = input.operand()?;)*
                    Ok(Op::$variant $(($payload))? $({ $($field),* })?)
                })*
                other => Err(input.error(format!("there is no operation `{other}`"))),
            }
        }
    };
}

op_table! {
    Const(bits) = "const" [T] [bits] CONST ();
    Undef = "undef" [T] [] ANY ();
    Param { offset } = "param" [T] [offset] MEMORY ();
    SymbolAddr(symbol) = "symbol" [T] [symbol] ADDRESS ();
    SpecialReg(register) = "sreg" [T] [register] WORDS ();

    Iadd = "iadd" [T] [] INT (T, T);
    Isub = "isub" [T] [] INT (T, T);
    Ineg = "ineg" [T] [] INT (T);
    Iabs = "iabs" [T] [] INT (T);
    Imul = "imul" [T] [] INT (T, T);
    Umulh = "umulh" [T] [] INT (T, T);
    Smulh = "smulh" [T] [] INT (T, T);
    UmulWide = "umul_wide" [T] [] NARROW (T, T);
    SmulWide = "smul_wide" [T] [] NARROW (T, T);
    UmadWide = "umad_wide" [T] [] B32 (T, T, B64);
    SmadWide = "smad_wide" [T] [] B32 (T, T, B64);
    Udiv = "udiv" [T] [] INT (T, T);
    Sdiv = "sdiv" [T] [] INT (T, T);
    Urem = "urem" [T] [] INT (T, T);
    Srem = "srem" [T] [] INT (T, T);
    Smin = "smin" [T] [] INT (T, T);
    Smax = "smax" [T] [] INT (T, T);
    Umin = "umin" [T] [] INT (T, T);
    Umax = "umax" [T] [] INT (T, T);
    IaddCarryOut = "iadd_cout" [T] [] INT (T, T);
    IaddCarryIn = "iadd_cin" [T] [] INT (T, T, Pred);
    IaddCarryInOut = "iadd_cinout" [T] [] INT (T, T, Pred);
    IsubCarryOut = "isub_cout" [T] [] INT (T, T);
    IsubCarryIn = "isub_cin" [T] [] INT (T, T, Pred);
    IsubCarryInOut = "isub_cinout" [T] [] INT (T, T, Pred);

    And = "and" [T] [] BITS (T, T);
    Or = "or" [T] [] BITS (T, T);
    Xor = "xor" [T] [] BITS (T, T);
    Not = "not" [T] [] BITS (T);
    Shl = "shl" [T] [] INT (T, B32);
    Shr = "shr" [T] [] INT (T, B32);
    Sar = "sar" [T] [] INT (T, B32);
    Popc = "popc" [T] [] INT (T);
    Clz = "clz" [T] [] INT (T);
    Brev = "brev" [T] [] INT (T);
    Bfind { signed, shift } = "bfind" [T (signed) (shift)] [] WORDS (T);
    Bmsk { wrap } = "bmsk" [T (wrap)] [] B32 (T, T);
    Szext { signed, wrap } = "szext" [T (signed) (wrap)] [] B32 (T, T);
    Prmt(pick) = "prmt" [pick T] [] B32 (T, T, T);
    Lop3 { table } = "lop3" [T] [table] B32 (T, T, T);
    Dp4a { a_signed, b_signed } = "dp4a" [T (a_signed) (b_signed)] [] B32 (T, T, T);
    Dp2a { a_signed, b_signed, high } = "dp2a" [T (a_signed) (b_signed) (high)] [] B32 (T, T, T);
    FunnelShl(limit) = "funnel_shl" [limit T] [] B32 (T, T, T);
    FunnelShr(limit) = "funnel_shr" [limit T] [] B32 (T, T, T);

    Icmp(cond) = "icmp" [cond T] [] INT (T, T);
    Fcmp { cond, ftz } = "fcmp" [cond T (ftz)] [] FLOAT (T, T);
    FcmpPair { cond, ftz } = "fcmp_pair" [cond T (ftz)] [] HALF_PAIR (T, T);
    Fset { cond, ftz, ones } = "fset" [cond T (ftz) (ones)] [] HALF_PAIR (T, T);
    Select = "select" [T] [] ANY (Pred, T, T);

    Fadd(mode) = "fadd" [T mode] [] FLOATS (T, T);
    Fsub(mode) = "fsub" [T mode] [] FLOATS (T, T);
    Fmul(mode) = "fmul" [T mode] [] FLOATS (T, T);
    Ffma(mode) = "ffma" [T mode] [] FLOATS (T, T, T);
    Fneg { ftz } = "fneg" [T (ftz)] [] FLOATS (T);
    Fabs { ftz } = "fabs" [T (ftz)] [] FLOATS (T);
    Fmin { ftz, nan, xorsign } = "fmin" [T (ftz) (nan) (xorsign)] [] FLOATS (T, T);
    Fmax { ftz, nan, xorsign } = "fmax" [T (ftz) (nan) (xorsign)] [] FLOATS (T, T);
    Fdiv(mode) = "fdiv" [T mode] [] FLOAT (T, T);
    Fsqrt(mode) = "fsqrt" [T mode] [] FLOAT (T);
    FdivApprox { full, ftz } = "fdiv_approx" [T (full) (ftz)] [] F32 (T, T);
    FdivCheck = "fdiv_check" [T] [] F32 (T, T);
    Fapprox { function, ftz } = "fapprox" [function T (ftz)] [] FLOATS (T);

    Zext = "zext" [T] [] INT (Narrower);
    Sext = "sext" [T] [] INT (Narrower);
    Trunc = "trunc" [T] [] INT (Wider);
    Bitcast = "bitcast" [T] [] MEMORY (SameWidth);
    SintToFloat(round) = "sint_to_float" [T round] [] FLOAT (Int);
    UintToFloat(round) = "uint_to_float" [T round] [] FLOAT (Int);
    FloatToSint { round, ftz } = "float_to_sint" [T round (ftz)] [] INT (Float);
    FloatToUint { round, ftz } = "float_to_uint" [T round (ftz)] [] INT (Float);
    FloatToFloat(mode) = "float_to_float" [T mode] [] FLOAT (Float);
    FloatToHalf { round, relu, finite } = "float_to_half" [T round (relu) (finite)] [] HALF (F32);
    FloatsToHalves { round, relu, finite } = "floats_to_halves" [T round (relu) (finite)] [] HALF_PAIR (F32, F32);
    RoundToIntegral { round, ftz } = "round" [T round (ftz)] [] FLOAT (T);
    Pack = "pack" [T] [] PAIR (Half, Half);
    Unpack = "unpack" [T] [] PAIR (T);

    Load(access) = "load" [access T] [] MEMORY (Address);
    Store(access) = "store" [access T] [] MEMORY (Address);
    Atomic { op, access } = "atomic" [op access T] [] MEMORY (Address, T);
    Red { op, access } = "red" [op access T] [] MEMORY (Address, T);
    TryAtomic { op, access } = "try_atomic" [op access T] [] MEMORY (Address, T);
    Fence { order, scope } = "fence" [order scope] [] NONE ();
    ToGeneric(space) = "to_generic" [space] [] NONE (Address);
    FromGeneric(space) = "from_generic" [space] [] NONE (B64);
    CachePolicy = "cache_policy" [] [] NONE (B64);
    CacheHint = "cache_hint" [] [] NONE (B64, B64);
    IsSpace(space) = "is_space" [space] [] NONE (B64);

    Vote(mode) = "vote" [mode] [] NONE (Pred);
    Shfl(mode) = "shfl" [mode] [] NONE (B32, B32, B32);
    ActiveMask = "activemask" [] [] NONE ();
    Match(mode) = "match" [mode T] [] WORDS (T);
    Redux(op) = "redux" [op] [] NONE (B32);
    Elect = "elect" [] [] NONE ();
    Nanosleep = "nanosleep" [] [] NONE (B32);
    Breakpoint = "breakpoint" [] [] NONE ();
    WarpSync = "warpsync" [] [] NONE (B32);
    WarpFence = "warp_fence" [] [] NONE ();
    Bar(kind) = "bar" [kind] [] NONE (B32);
    Barrier { kind, aligned, packed } = "barrier" [kind (aligned) (packed)] [] NONE (B32);

    ClusterArrive { order, aligned } = "cluster_arrive" [order (aligned)] [] NONE ();
    ClusterWait { order, aligned } = "cluster_wait" [order (aligned)] [] NONE ();
    GridDependency(what) = "grid_dependency" [what] [] NONE ();

    MbarrierUpdate { update, space } = "mbarrier_update" [update space] [] NONE (B32, B32);
    MbarrierInval = "mbarrier_inval" [] [] NONE (B32);
    MbarrierArrive { kind, space, order, scope } = "mbarrier_arrive" [kind space order scope] [] NONE (B32, B32);
    MbarrierState { wait, order, scope } = "mbarrier_state" [wait order scope] [] NONE (B32, B64);
    MbarrierParity { wait, order, scope } = "mbarrier_parity" [wait order scope] [] NONE (B32, B32);
    MbarrierPending = "mbarrier_pending" [] [] NONE (B64);
    AsyncCopy { access, prefetch } = "async_copy" [access prefetch] [] NONE (Address, B32, B32);
    AsyncFill { access, prefetch, zfill } = "async_fill" [access prefetch (zfill)] [] NONE (Address, B32, Pred);
    AsyncArrive { noinc } = "async_arrive" [(noinc)] [] NONE (B32);
    AsyncCommit = "async_commit" [] [] NONE ();
    AsyncWait = "async_wait" [] [] NONE (B32);
    AsyncWaitAll = "async_wait_all" [] [] NONE ();
    BulkLoad = "bulk_load" [] [] NONE (B32, B64, B32, B32);
    BulkStore = "bulk_store" [] [] NONE (B64, B32, B32);
    BulkShare = "bulk_share" [] [] NONE (B32, B32, B32, B32);
    BulkPrefetch = "bulk_prefetch" [] [] NONE (B64, B32);
    BulkCommit = "bulk_commit" [] [] NONE ();
    BulkWait { read } = "bulk_wait" [(read)] [] NONE (B32);
    ProxyFence(proxy) = "proxy_fence" [proxy] [] NONE ();
    TensormapAcquire(scope) = "tensormap_acquire" [scope] [] NONE (B64);
    TensormapRelease(scope) = "tensormap_release" [scope] [] NONE ();

    Call { callee, pure } = "call" [(pure)] [callee] NONE ();
    CallIndirect(prototype) = "call_indirect" [] [prototype] NONE ();
    FuncAddr(callee) = "function" [] [callee] NONE ();

    Bssy { barrier, join } = "bssy" [] [barrier join] NONE ();
    Bsync(barrier) = "bsync" [] [barrier] NONE ();
    Break(barrier) = "break" [] [barrier] NONE ();
    SaveBarrier(barrier) = "bsave" [] [barrier] NONE ();
    RestoreBarrier(barrier) = "brestore" [] [barrier] NONE (B32);

    Jump = "jump" [] [] NONE ();
    Branch { uni } = "brif" [(uni)] [] NONE (Pred);
    BranchTogether = "brtogether" [] [] NONE (B32);
    Switch = "switch" [] [] NONE (B32);
    Return = "ret" [] [] NONE ();
    Exit = "exit" [] [] NONE ();
    Trap = "trap" [] [] NONE ();
}

/// The arguments of an operation that has `count` of them; of another length where `count` is wrong, so
/// that the caller can say how many there should be.
pub fn arguments(op: &Op, count: usize) -> SmallVec<[Arg; 8]> {
    let mut args = SmallVec::from_slice(row(op).args);
    match op {
        Op::Store(access) => args.extend(std::iter::repeat_n(Arg::T, access.lanes as usize)),
        Op::Atomic { op: AtomicOp::Cas | AtomicOp::Cast, .. } | Op::TryAtomic { op: AtomicOp::Cas, .. } => {
            args.push(Arg::T)
        }
        Op::Atomic { access, .. } | Op::Red { access, .. } => {
            args.extend(std::iter::repeat_n(Arg::T, (access.lanes as usize).saturating_sub(1)));
        }
        Op::MbarrierState { wait: MbarrierWait::TryFor, .. }
        | Op::MbarrierParity { wait: MbarrierWait::TryFor, .. } => {
            args.push(Arg::B32);
        }
        // The mask may be left out.
        Op::Vote(_) | Op::Shfl(_) | Op::Match(_) | Op::Redux(_) | Op::Elect if count > args.len() => {
            args.push(Arg::B32);
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
        _ => {}
    }
    args
}

impl Op {
    /// The access of a load, store, atomic, reduction, or asynchronous copy of an element.
    pub const fn access(&self) -> Option<&Access> {
        match self {
            Op::Load(access)
            | Op::Store(access)
            | Op::Atomic { access, .. }
            | Op::Red { access, .. }
            | Op::TryAtomic { access, .. }
            | Op::AsyncCopy { access, .. }
            | Op::AsyncFill { access, .. } => Some(access),
            _ => None,
        }
    }

    /// The same, to change.
    pub const fn access_mut(&mut self) -> Option<&mut Access> {
        match self {
            Op::Load(access)
            | Op::Store(access)
            | Op::Atomic { access, .. }
            | Op::Red { access, .. }
            | Op::TryAtomic { access, .. }
            | Op::AsyncCopy { access, .. }
            | Op::AsyncFill { access, .. } => Some(access),
            _ => None,
        }
    }

    /// The space that an address among the arguments belongs to.
    pub const fn address_space(&self) -> Option<Space> {
        match self {
            Op::ToGeneric(space) => Some(*space),
            _ => match self.access() {
                Some(access) => Some(access.space),
                None => None,
            },
        }
    }

    /// The first word of the operation in the text form.
    pub fn mnemonic(&self) -> &'static str {
        row(self).mnemonic
    }
}
