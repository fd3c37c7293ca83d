//! Operations that exchange values between the lanes of a warp, or make the lanes wait.

use super::results::Results;
use crate::memory::spelled;
use crate::types::Type;

spelled! {
    /// The function that a vote computes over the participating threads of the warp.
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
        /// The lane whose number is this lane's number exclusive-or the operand.
        Bfly = "bfly",
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
    /// The function of a reduction over the lanes of a warp.
    ReduxOp {
        /// The sum.
        Add = "add",
        /// The sum of signed numbers: the same bits, but a separate instruction.
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

impl VoteMode {
    /// The results of a vote of this mode.
    pub(super) const fn results(self) -> Results {
        match self {
            VoteMode::All | VoteMode::Any | VoteMode::Uni => Results::One(Type::Pred),
            VoteMode::Ballot => Results::One(Type::B32),
        }
    }
}

impl MatchMode {
    /// The results of a match of this mode.
    pub(super) const fn results(self) -> Results {
        match self {
            MatchMode::Any => Results::One(Type::B32),
            MatchMode::All => Results::Two(Type::B32, Type::Pred),
        }
    }
}

macro_rules! warp_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `(a: pred [, m: b32]) -> pred`, or `-> b32` for a ballot: vote among the threads in the
        /// mask `m`, which wait for each other. Without a mask the threads that execute this
        /// together vote. The same holds for all operations that take a mask.
        Vote(mode: VoteMode) = "vote" [mode] [] NONE (Pred)
            -> [mode.results()] { convergent, ordered };
        /// `(a: b32, b: b32 lane, c: b32 clamp [, m: b32]) -> b32, pred`: a value of another lane,
        /// and whether that lane was in range.
        Shfl(mode: ShflMode) = "shfl" [mode] [] NONE (B32, B32, B32)
            -> (B32, Pred) { convergent, ordered };
        /// `() -> b32`: the lanes that execute this together.
        ActiveMask = "activemask" [] [] NONE () -> (B32) { convergent, ordered };
        /// `(a: T [, m: b32]) -> b32`, and `pred` for `all`: the threads of the mask `m` with the
        /// same value, and whether all have it.
        Match(mode: MatchMode) = "match" [mode T] [] WORDS (T)
            -> [mode.results()] { convergent, ordered };
        /// `(a: b32 [, m: b32]) -> b32`: the reduction of the values of the threads in the mask
        /// `m`.
        Redux(op: ReduxOp) = "redux" [op] [] NONE (B32) -> (B32) { convergent, ordered };
        /// `([m: b32]) -> b32, pred`: the lane of one thread of the mask `m`, and whether it is
        /// this one.
        Elect = "elect" [] [] NONE () -> (B32, Pred) { convergent, ordered };
        /// `(a: b32)`: the thread sleeps for about that many nanoseconds.
        Nanosleep = "nanosleep" [] [] NONE (B32) -> () { ordered };
        /// `()`: the events of the mask count once for a profiler.
        PmEvent {
            /// One bit for each event.
            mask: u64,
        } = "pmevent" [] [mask] NONE () -> () { ordered };
        /// `()`: the thread stops for a debugger and continues when the debugger lets it. Without a
        /// debugger it raises the same error as [`Op::Trap`].
        Breakpoint = "breakpoint" [] [] NONE () -> () { reads, writes, ordered, traps };
        /// `(m: b32)`: wait for the threads in the mask (`bar.warp.sync`).
        WarpSync = "warpsync" [] [] NONE (B32) -> () { reads, writes, convergent, ordered };
        /// `()`: writes that the warp's threads made before it are visible to the warp's other
        /// threads after it. The gather pass inserts it where the threads already run together, so
        /// that no thread has to wait.
        WarpFence = "warp_fence" [] [] NONE () -> () { reads, writes, ordered };
    } } };
}
