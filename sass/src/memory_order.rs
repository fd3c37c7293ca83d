//! The order of a thread's memory operations: which of them may change places.
//!
//! In: two instructions in program order. Out: whether the second may go before the first as far as
//! memory is concerned, by what they do, where, and how strongly; addresses are ignored, so the
//! caller may allow more where it proves two addresses distinct ([`may_swap_if_disjoint`]).
//! Registers are another matter, see [`latency`](crate::latency).
//!
//! | first \ second | weak load | weak store | strong or atomic | `BAR.ARV` | other barrier, fence |
//! |---|---|---|---|---|---|
//! | weak load | yes | other spaces | other spaces | no | no |
//! | weak store | other spaces | other spaces | other spaces | no | no |
//! | strong or atomic | other spaces | other spaces | no | no | no |
//! | `BAR.ARV` | yes | yes | no | no | no |
//! | other barrier, fence | no | no | no | no | no |
//!
//! A *strong* access (`.STRONG`: volatile, relaxed, acquire and release accesses become strong
//! ones) keeps its place among strong accesses, even at other addresses, since other threads may
//! observe the order. A thread that only arrives at a barrier (`BAR.ARV`) promises that its earlier
//! accesses are done when the barrier is complete, and promises nothing about its later ones.
//! Barriers and fences order the accesses that other threads can observe. Accesses to local memory,
//! which belongs to the thread alone, move past them, and so do reads from constant memory or
//! marked `.CONSTANT`, since nothing writes there. The result that a barrier leaves to a warp is
//! read after that barrier and before the next one. Instructions that touch no memory move freely,
//! unless one of them decides which lanes run together, and the other one depends on that.

use crate::inst::Inst;
use crate::operand::OperandKind;
use crate::register::Register;
pub use crate::table::Space;
use crate::table::{BarrierResult, Lanes, Memory, Op};

impl Space {
    /// Whether an address in one may name a byte of the other.
    pub const fn may_overlap(self, other: Space) -> bool {
        match (self, other) {
            (Space::Constant, _) | (_, Space::Constant) => false,
            (Space::Generic, _) | (_, Space::Generic) => true,
            _ => self as u8 == other as u8,
        }
    }
}

/// The space of an instruction that touches memory; `None` for fences, for instructions that touch
/// no memory, and for asynchronous copies of elements, which read one space and write another.
pub fn space(op: Op) -> Option<Space> {
    match op.row().memory {
        Memory::In(space) => Some(space),
        Memory::None | Memory::Copy { .. } => None,
    }
}

/// The properties that decide the order of an instruction among others, computed once for many
/// comparisons. Each bit is something that an instruction does, see [`does`].
#[derive(Clone, Copy, Debug)]
pub struct MemoryUse {
    does: u16,
    /// The actions that keep a later instruction from moving before this one.
    holds: u16,
    /// The same where both may touch the same bytes.
    holds_at_address: u16,
}

/// The actions of instructions.
mod does {
    /// Every instruction does this.
    pub(super) const ANYTHING: u16 = 1;
    /// It depends on which lanes run together.
    pub(super) const CONVERGE: u16 = 1 << 1;
    /// The thread may go elsewhere.
    pub(super) const LEAVE: u16 = 1 << 2;
    /// Other threads may observe its place among the strong accesses of its thread.
    pub(super) const STRONG: u16 = 1 << 3;
    /// It orders other accesses.
    pub(super) const FENCE: u16 = 1 << 4;
    /// Fences and barriers order it: other threads may observe its effect, or write the memory that
    /// it reads. Local memory belongs to the thread alone, and nothing writes constant memory.
    pub(super) const FENCED: u16 = 1 << 5;
    /// A fence that orders only earlier accesses orders it, too.
    pub(super) const RELEASED: u16 = 1 << 6;
    /// It reads the barrier result of the warp.
    pub(super) const READ_RESULT: u16 = 1 << 7;
    /// It sets the barrier result, or may destroy it. A result is read after the barrier that set
    /// it and before the next one.
    pub(super) const SET_RESULT: u16 = 1 << 8;
    /// The lowest bit for the [spaces](super::spaces) that it reads, and that for those that it
    /// writes.
    pub(super) const READ: u32 = 9;
    pub(super) const WRITE: u32 = 12;
    /// It decides which lanes run together, or awaits other threads.
    pub(super) const MEET: u16 = 1 << 15;
}

impl MemoryUse {
    /// The properties of an instruction.
    pub fn of<R: Register>(inst: &Inst<R>) -> MemoryUse {
        let effects = &inst.row().effects;
        let (is_strong, leaves) = (is_strong(inst), effects.branch || effects.exit);
        let touches_memory = effects.reads_memory || effects.writes_memory;
        let is_invariant = touches_memory && is_invariant(inst);
        let is_own = is_invariant || matches!(space(inst.op), Some(Space::Local | Space::Constant));
        let is_fenced = effects.fence || (touches_memory && !is_own);
        let by_fence = if effects.release { does::RELEASED } else { does::FENCED };
        let (reads_result, sets_result) = match effects.barrier_result {
            BarrierResult::Untouched => (false, false),
            BarrierResult::Read => (true, false),
            BarrierResult::Set | BarrierResult::Lost => (false, true),
        };
        let (mut does, mut holds) = (does::ANYTHING, does::LEAVE);
        for (is_so, doing, held) in [
            (effects.convergent, does::CONVERGE, does::MEET),
            (effects.convergent && !only_depends_on_lanes(inst.op), does::MEET, does::CONVERGE),
            (leaves, does::LEAVE, does::ANYTHING),
            (is_strong, does::STRONG, does::STRONG),
            (effects.fence, does::FENCE, by_fence),
            (is_fenced, does::FENCED, does::FENCE),
            (is_fenced && (effects.fence || is_strong), does::RELEASED, 0),
            (reads_result, does::READ_RESULT, does::SET_RESULT),
            (sets_result, does::SET_RESULT, does::SET_RESULT | does::READ_RESULT),
        ] {
            if is_so {
                does |= doing;
                holds |= held;
            }
        }
        // Order caused by a fence does not depend on addresses.
        let has_address = touches_memory && !effects.fence && !is_invariant;
        let (read, written) = if has_address { spaces(inst.op) } else { (0, 0) };
        let (read, written) = (u16::from(read), u16::from(written));
        MemoryUse {
            does: does | read << does::READ | written << does::WRITE,
            holds,
            holds_at_address: written << does::READ | (read | written) << does::WRITE,
        }
    }

    /// Whether an instruction may change places with one that comes later in the program.
    #[inline]
    pub fn may_swap(self, later: MemoryUse) -> bool {
        (self.holds | self.holds_at_address) & later.does == 0
    }

    /// The same where the two are known to touch no byte in common: order that does not come from
    /// addresses.
    #[inline]
    pub fn may_swap_if_disjoint(self, later: MemoryUse) -> bool {
        self.holds & later.does == 0
    }
}

/// Whether two instructions, `first` before `second` in the program, may be issued in the other
/// order.
pub fn may_swap<R: Register>(first: &Inst<R>, second: &Inst<R>) -> bool {
    MemoryUse::of(first).may_swap(MemoryUse::of(second))
}

/// The same where the two are known to touch no byte in common: order that does not come from
/// addresses.
pub fn may_swap_if_disjoint<R: Register>(first: &Inst<R>, second: &Inst<R>) -> bool {
    MemoryUse::of(first).may_swap_if_disjoint(MemoryUse::of(second))
}

/// Whether it depends on which lanes run together, and changes nothing about that. It exchanges
/// values between the lanes that execute it, or it multiplies, loads or stores a matrix, and each
/// lane has a share of the matrix. Lanes part and meet only elsewhere. Between two such places, the
/// same lanes execute all of these instructions, so their order does not matter.
pub fn only_depends_on_lanes(op: Op) -> bool {
    let row = op.row();
    row.effects.convergent
        && !row.effects.fence
        && row.effects.barrier_result == BarrierResult::Untouched
        && matches!(row.lanes, Lanes::Exchange | Lanes::Share)
}

/// Whether other threads may observe its place among the strong accesses of its thread.
pub fn is_strong<R: Register>(inst: &Inst<R>) -> bool {
    let effects = &inst.row().effects;
    let atomic = effects.reads_memory && effects.writes_memory && !effects.fence && space(inst.op).is_some();
    atomic || inst.op.facts().is_strong(inst.mods)
}

/// Whether it reads memory that is not written while the kernel runs.
fn is_invariant<R: Register>(inst: &Inst<R>) -> bool {
    let is_constant = |kind| matches!(kind, OperandKind::Const { .. } | OperandKind::IndexedConst { .. });
    !inst.row().effects.writes_memory
        && (inst.op.facts().is_constant(inst.mods)
            || inst.operands.iter().any(|operand| is_constant(operand.kind)))
}

/// The spaces that an instruction reads and writes, a bit for each space that is written while a
/// kernel runs. An unknown space sets all bits.
fn spaces(op: Op) -> (u8, u8) {
    const fn bits(space: Space) -> u8 {
        match space {
            Space::Global => 1,
            Space::Shared => 2,
            Space::Local => 4,
            Space::Constant => 0,
            Space::Generic => 7,
        }
    }
    let row = op.row();
    let (read, written) = match row.memory {
        Memory::In(space) => (bits(space), bits(space)),
        Memory::Copy { from, to } => (bits(from), bits(to)),
        Memory::None => (bits(Space::Generic), bits(Space::Generic)),
    };
    let effects = &row.effects;
    (if effects.reads_memory { read } else { 0 }, if effects.writes_memory { written } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, Operand, PReg, choice};

    fn address() -> Operand<PReg> {
        Operand::mem(Address::global(PReg::r(2), 0, None))
    }

    fn near() -> Operand<PReg> {
        Operand::mem(Address::narrow(Some(PReg::r(2)), 0))
    }

    fn r(n: u8) -> Operand<PReg> {
        Operand::reg(PReg::r(n))
    }

    fn ldg() -> Inst<PReg> {
        Inst::new(Op::LDG).ops([r(0), address()])
    }

    fn stg() -> Inst<PReg> {
        Inst::new(Op::STG).ops([address(), r(0)])
    }

    fn strong(inst: Inst<PReg>) -> Inst<PReg> {
        inst.with(choice!(LDG | STG, ".STRONG")).with(choice!(LDG | STG, ".GPU"))
    }

    #[test]
    fn weak_accesses_follow_the_spaces() {
        let sts = Inst::new(Op::STS).ops([near(), r(0)]);
        let st = Inst::new(Op::ST).ops([address(), r(0)]);
        assert!(may_swap(&ldg(), &ldg()));
        assert!(!may_swap(&ldg(), &stg()) && !may_swap(&stg(), &ldg()) && !may_swap(&stg(), &stg()));
        assert!(may_swap(&ldg(), &sts) && may_swap(&sts, &stg()));
        assert!(!may_swap(&sts, &st) && !may_swap(&st, &ldg()));
        assert!(may_swap(&stg(), &ldg().with(choice!(LDG, ".CONSTANT"))));
        assert!(may_swap_if_disjoint(&ldg(), &stg()));
    }

    #[test]
    fn strong_accesses_keep_their_order() {
        let atom = Inst::new(Op::ATOMS).ops([r(0), near()]);
        assert!(!may_swap(&strong(ldg()), &strong(ldg())));
        assert!(!may_swap_if_disjoint(&strong(stg()), &atom));
        assert!(may_swap(&strong(ldg()), &ldg()));
    }

    fn bar(op: Op) -> Inst<PReg> {
        Inst::new(op).ops(op.row().slots.iter().filter(|slot| !slot.optional).map(|slot| match slot.name {
            "ps" => Operand::pt(),
            _ => Operand::imm(0),
        }))
    }

    const WAITING: [Op; 3] = [Op::BAR_SYNC, Op::BAR_RED, Op::BAR_SYNCALL];

    #[test]
    fn nothing_that_others_see_crosses_a_fence() {
        let add = Inst::new(Op::FADD).ops([r(0), r(1), r(2)]);
        for stop in WAITING.map(bar).iter().chain(&[Inst::new(Op::MEMBAR)]) {
            assert!(!may_swap(&ldg(), stop) && !may_swap(stop, &ldg()) && !may_swap(stop, stop), "{stop}");
            assert!(!may_swap(&stg(), stop) && !may_swap(stop, &stg()), "{stop}");
            assert!(may_swap(&add, stop) && may_swap(stop, &add), "{stop}");
        }
    }

    #[test]
    fn what_is_the_threads_own_crosses_a_fence() {
        let ldl = Inst::new(Op::LDL).ops([r(0), near()]);
        let stl = Inst::new(Op::STL).ops([near(), r(0)]);
        let ldc = Inst::new(Op::LDC).ops([r(0), Operand::constant(0, 0)]);
        let st = Inst::new(Op::ST).ops([address(), r(0)]);
        for stop in WAITING.map(bar).iter().chain(&[Inst::new(Op::MEMBAR)]) {
            for own in [&ldl, &stl, &ldc, &ldg().with(choice!(LDG, ".CONSTANT"))] {
                assert!(may_swap(own, stop) && may_swap(stop, own), "{own} {stop}");
            }
            assert!(!may_swap(&st, stop), "a generic address may be any");
        }
    }

    #[test]
    fn an_arrival_holds_back_what_comes_before_it() {
        let arrive = bar(Op::BAR_ARV);
        assert!(!may_swap(&stg(), &arrive) && !may_swap(&ldg(), &arrive));
        assert!(may_swap(&arrive, &stg()) && may_swap(&arrive, &ldg()));
        assert!(!may_swap(&arrive, &strong(ldg())) && !may_swap(&arrive, &Inst::new(Op::MEMBAR)));
        for other in [Op::BAR_SYNC, Op::BAR_ARV, Op::BAR_RED].map(bar) {
            assert!(!may_swap(&arrive, &other) && !may_swap(&other, &arrive), "{other}");
        }
    }

    #[test]
    fn a_barrier_result_is_read_between_its_barrier_and_the_next() {
        let read = Inst::new(Op::B2R).ops([r(0)]);
        for barrier in [Op::BAR_SYNC, Op::BAR_ARV, Op::BAR_RED, Op::BAR_SCAN, Op::BAR_SYNCALL].map(bar) {
            assert!(!may_swap(&barrier, &read) && !may_swap(&read, &barrier), "{barrier}");
        }
        assert!(may_swap(&read, &ldg()) && may_swap(&stg(), &read));
    }

    #[test]
    fn exchanges_keep_their_place_among_what_decides_about_lanes() {
        let shuffle = Inst::new(Op::SHFL).ops([r(0), r(1), Operand::imm(1), Operand::imm(31)]);
        for free in [shuffle.clone(), Inst::new(Op::HMMA), Inst::new(Op::VOTE), stg()] {
            assert!(may_swap(&shuffle, &free) && may_swap(&free, &shuffle), "{free}");
        }
        for other in [Op::WARPSYNC, Op::BSYNC, Op::BREAK, Op::NANOSLEEP, Op::BAR_SYNC, Op::B2R].map(Inst::new)
        {
            assert!(!may_swap(&shuffle, &other) && !may_swap(&other, &shuffle), "{other}");
        }
        assert!(!may_swap(&Inst::<PReg>::new(Op::EXIT), &stg()));
    }

    #[test]
    fn copies_are_ordered_as_reads_of_global_and_writes_of_shared_memory() {
        let copy = Inst::new(Op::LDGSTS).with(choice!(LDGSTS, ".128")).ops([near(), address()]);
        let [lds, sts] = [Op::LDS, Op::STS].map(|op| match op {
            Op::LDS => Inst::new(op).ops([r(0), near()]),
            _ => Inst::new(op).ops([near(), r(0)]),
        });
        let commit = Inst::new(Op::LDGDEPBAR);
        let wait = Inst::new(Op::DEPBAR_LE).ops([Operand::imm(0), Operand::imm(1)]);
        for other in [&lds, &sts, &stg(), &copy, &commit, &wait] {
            assert!(!may_swap(&copy, other) && !may_swap(other, &copy), "{other}");
        }
        assert!(may_swap(&copy, &ldg()) && may_swap(&ldg(), &copy));
        for own in [&lds, &sts, &commit, &wait] {
            assert!(!may_swap(&wait, own) && !may_swap(own, &wait), "{own}");
        }
        for free in [&ldg(), &stg(), &strong(ldg())] {
            assert!(may_swap(&wait, free) && may_swap(free, &wait), "{free}");
            assert!(may_swap(&commit, free) && may_swap(free, &commit), "{free}");
        }
        assert!(!may_swap(&copy, &Inst::new(Op::MEMBAR)) && !may_swap(&wait, &bar(Op::BAR_SYNC)));
    }

    #[test]
    fn every_memory_instruction_has_a_space_or_is_a_fence() {
        for &op in Op::ALL {
            let effects = op.row().effects;
            if (effects.reads_memory || effects.writes_memory) && !effects.fence {
                assert!(op.row().memory != Memory::None, "{op:?}");
            }
        }
    }
}
