//! Turns atomic updates without an instruction into loops around compare-and-swap.
//!
//! ```text
//!                                                   jump block1
//!                                                block1:
//! v3 = atomic.fadd.shared.relaxed.cta.f32    =>     v4 = load.shared.relaxed.cta.b32 [v1]
//!          [v1], v2                                 v5 = fadd.f32.rn v4, v2       // bitcasts are not shown
//!                                                   v6 = atomic.cast.shared.relaxed.cta.b32 [v1], v4, v5
//!                                                   v7 = icmp.eq.b32 v6, 1
//!                                                   brif v7, block2, block1
//!                                                block2:                          // v3 is v4
//! ```
//!
//! Shared memory lacks every operation on 64 bits except for exchange and compare-and-swap, and all
//! operations on floats. Global memory lacks some operations on pairs of halves: see
//! `native_atomics`. Values are compared as bits, so a NaN in memory also ends the loop. A read
//! that another thread's update makes stale costs one more iteration. A minimum or maximum that is
//! already in memory is not written again.
//!
//! The compare-and-swap that reports whether it stored (`atomic.cast`) exists for shared and
//! generic memory: `ATOMG` has no such form on any architecture, according to nvdisasm. In global
//! memory the loop continues with the value that it found instead:
//!
//! ```text
//! block1(v4: b32):                                   // the word as last seen
//!     v5 = fmax.f16x2 v4, v2
//!     v6 = atomic.cas.global.relaxed.gpu.b32 [v1], v4, v5
//!     v7 = icmp.eq.b32 v6, v4
//!     brif v7, block2, block1(v6)
//! ```
//!
//! Single halves have no instruction in any memory. The loop computes both halves of the word
//! around them, and `prmt` keeps the other half unchanged:
//!
//! ```text
//! block1(v4: b32):                                   // the word as last seen
//!     v5 = fadd.f16x2.rn v4, v2 in both halves
//!     v6 = prmt.b32 v4, v5, selector                 // 0x3254 for the low half, 0x7610 for the high one
//!     v7 = atomic.cas.global.relaxed.gpu.b32 [word], v4, v6
//!     v8 = icmp.eq.b32 v7, v4
//!     brif v8, block2, block1(v7)
//! ```
//!
//! A compare-and-swap of 16 bits inserts the expected half and the new half into the word. The
//! value that it finds is its result unless the other half has changed in between.
//!
//! A loop that continues with the word that its swap found needs no fresh word at the start: a
//! stale word costs one more iteration. So that load is weak and may hit the first-level cache. A
//! loop that loads in each iteration needs the relaxed load.
//!
//! Each loop splits its block in two. Linear in the function.

use ptxc_ir::op::BytePick;
use ptxc_ir::{
    Access, AtomicOp, Block, BlockCall, FloatMode, Function, Inst, IntCond, MemType, Op, Order, Scope, Space,
    Type, Value,
};
use ptxc_machine::Arch;

use super::emitter::{Emitter, rewrite};
use super::native_atomics::{in_global, in_shared};

/// Turns the atomic updates that the target lacks into loops.
pub fn atomic_loops(func: &mut Function, arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let Some((op, access)) = needs_loop(emitter.func, inst, arch) else { return false };
        let data = emitter.func.insts[inst].clone();
        let access = Access { order: Order::Relaxed, ..access };
        let old = match (data.ty.bits(), op) {
            (16, AtomicOp::Cas) => swap_half(emitter, access, &data.args),
            (16, _) => update_half(emitter, op, access, data.ty, &data.args),
            _ if access.space == Space::Global => {
                update_global_word(emitter, op, access, data.ty, &data.args)
            }
            _ => update_word(emitter, op, access, data.ty, &data.args),
        };
        if let Some(&result) = emitter.func.results(inst).first() {
            emitter.rename(result, old);
        }
        true
    })
}

/// The update, if it needs a loop.
pub(super) fn needs_loop(func: &Function, inst: Inst, arch: Arch) -> Option<(AtomicOp, Access)> {
    let data = &func.insts[inst];
    let (Op::Atomic { op, access } | Op::Red { op, access }) = data.op else { return None };
    let native = match access.space {
        // Trials at generic addresses were inserted before, so a remaining generic update has a
        // loop only if global memory lacks it; vectors are global.
        Space::Global | Space::Generic => in_global(op, data.ty, arch),
        _ => in_shared(op, data.ty, arch),
    };
    // Swaps of 128 bits, which older machines lack, and vectors have no loops.
    (!native && access.lanes == 1 && data.ty.bits() <= 64).then_some((op, access))
}

/// The loop of an update of one or two whole words; returns the old content.
fn update_word(e: &mut Emitter, op: AtomicOp, access: Access, ty: Type, args: &[Value]) -> Value {
    let word = ty.as_int();
    let [turn, after] = [e.block(), e.block()];
    e.end(Op::Jump, &[], &[BlockCall::new(turn, &[])]);
    e.go_on(turn);
    let seen = e.value(Op::Load(access), word, &[args[0]]);
    let old = cast(e, seen, ty);
    let new = changed(e, op, ty, old, &args[1..]);
    let new = cast(e, new, word);
    if matches!(op, AtomicOp::Smin | AtomicOp::Smax | AtomicOp::Umin | AtomicOp::Umax) {
        let store = e.block();
        let settled = e.value(Op::Icmp(IntCond::Eq), word, &[new, seen]);
        e.end(
            Op::Branch { uni: false },
            &[settled],
            &[BlockCall::new(after, &[]), BlockCall::new(store, &[])],
        );
        e.go_on(store);
    }
    let stored = e.value(Op::Atomic { op: AtomicOp::Cast, access }, word, &[args[0], seen, new]);
    let one = e.constant(word, 1);
    let done = e.value(Op::Icmp(IntCond::Eq), word, &[stored, one]);
    e.end(Op::Branch { uni: false }, &[done], &[BlockCall::new(after, &[]), BlockCall::new(turn, &[])]);
    e.go_on(after);
    old
}

/// Does the same in global memory, where a swap returns the value that it found.
fn update_global_word(e: &mut Emitter, op: AtomicOp, access: Access, ty: Type, args: &[Value]) -> Value {
    let word = ty.as_int();
    let [turn, after] = [e.block(), e.block()];
    let first = e.value(Op::Load(guess(access)), word, &[args[0]]);
    let seen = e.func.add_block_param(turn, word);
    e.end(Op::Jump, &[], &[BlockCall::new(turn, &[first])]);
    e.go_on(turn);
    let old = cast(e, seen, ty);
    let new = changed(e, op, ty, old, &args[1..]);
    let new = cast(e, new, word);
    let found = e.value(Op::Atomic { op: AtomicOp::Cas, access }, word, &[args[0], seen, new]);
    let done = e.value(Op::Icmp(IntCond::Eq), word, &[found, seen]);
    e.end(Op::Branch { uni: false }, &[done], &[BlockCall::new(after, &[]), BlockCall::new(turn, &[found])]);
    e.go_on(after);
    old
}

/// The load of the word that a swap in the same loop checks.
fn guess(access: Access) -> Access {
    Access { order: Order::Weak, scope: Scope::Sys, ..access }
}

/// The word around a half in memory.
struct Around {
    address: Value,
    access: Access,
    /// The half: 0 for the low half, 2 for the high half.
    upper: Value,
}

fn around(e: &mut Emitter, access: Access, address: Value) -> Around {
    let ty = e.func.ty(address);
    let mut exact = address;
    if access.offset != 0 {
        let offset = e.constant(ty, access.offset as u64);
        exact = e.value(Op::Iadd, ty, &[address, offset]);
    }
    let mask = e.constant(ty, !3);
    let word = e.value(Op::And, ty, &[exact, mask]);
    let low = if ty == Type::B64 { e.value(Op::Trunc, Type::B32, &[exact]) } else { exact };
    let two = e.constant(Type::B32, 2);
    let upper = e.value(Op::And, Type::B32, &[low, two]);
    Around { address: word, access: Access { offset: 0, elem: MemType::B32, ..access }, upper }
}

impl Around {
    /// One number for the low half and another for the high half.
    fn choose(&self, e: &mut Emitter, low: u64, high: u64) -> Value {
        let zero = e.constant(Type::B32, 0);
        let is_low = e.value(Op::Icmp(IntCond::Eq), Type::B32, &[self.upper, zero]);
        let [low, high] = [low, high].map(|selector| e.constant(Type::B32, selector));
        e.value(Op::Select, Type::B32, &[is_low, low, high])
    }

    /// Begins the loop; returns its header and the word as last seen.
    fn begin(&self, e: &mut Emitter) -> (Block, Value) {
        let seen = e.value(Op::Load(guess(self.access)), Type::B32, &[self.address]);
        let turn = e.block();
        let word = e.func.add_block_param(turn, Type::B32);
        e.end(Op::Jump, &[], &[BlockCall::new(turn, &[seen])]);
        e.go_on(turn);
        (turn, word)
    }

    /// Swaps the word.
    fn swap(&self, e: &mut Emitter, expected: Value, new: Value) -> Value {
        e.value(
            Op::Atomic { op: AtomicOp::Cas, access: self.access },
            Type::B32,
            &[self.address, expected, new],
        )
    }

    /// Ends the loop if two words are equal, and otherwise goes back with the word that was found;
    /// returns the half of a word.
    fn finish(
        &self,
        e: &mut Emitter,
        turn: Block,
        same: [Value; 2],
        found: Value,
        word: Value,
        ty: Type,
    ) -> Value {
        let after = e.block();
        let done = e.value(Op::Icmp(IntCond::Eq), Type::B32, &same);
        e.end(
            Op::Branch { uni: false },
            &[done],
            &[BlockCall::new(after, &[]), BlockCall::new(turn, &[found])],
        );
        e.go_on(after);
        let three = e.constant(Type::B32, 3);
        let shift = e.value(Op::Shl, Type::B32, &[self.upper, three]);
        let low = e.value(Op::Shr, Type::B32, &[word, shift]);
        let half = e.value(Op::Trunc, Type::B16, &[low]);
        cast(e, half, ty)
    }
}

/// The loop of an update of a half; returns its old content.
fn update_half(e: &mut Emitter, op: AtomicOp, access: Access, ty: Type, args: &[Value]) -> Value {
    let pair = if ty == Type::BF16 { Type::BF16x2 } else { Type::F16x2 };
    let place = around(e, access, args[0]);
    let selector = place.choose(e, 0x3254, 0x7610);
    let half = cast(e, args[1], Type::B16);
    let both = e.value(Op::Pack, Type::B32, &[half, half]);
    let operand = cast(e, both, pair);
    let (turn, word) = place.begin(e);
    let old = cast(e, word, pair);
    let new = changed(e, op, pair, old, &[operand]);
    let new = cast(e, new, Type::B32);
    let new = e.value(Op::Prmt(BytePick::Index), Type::B32, &[word, new, selector]);
    let found = place.swap(e, word, new);
    place.finish(e, turn, [found, word], found, word, ty)
}

/// The loop of a compare-and-swap of a half; returns its old content.
fn swap_half(e: &mut Emitter, access: Access, args: &[Value]) -> Value {
    let place = around(e, access, args[0]);
    let selector = place.choose(e, 0x3254, 0x5410);
    let others = place.choose(e, 0xffff_0000, 0x0000_ffff);
    let [expected, new] = [args[1], args[2]].map(|half| e.value(Op::Zext, Type::B32, &[half]));
    let (turn, word) = place.begin(e);
    let put = |e: &mut Emitter, half| e.value(Op::Prmt(BytePick::Index), Type::B32, &[word, half, selector]);
    let [expected, new] = [put(e, expected), put(e, new)];
    let found = place.swap(e, expected, new);
    // If the other half has not changed, this half was compared.
    let same = [found, expected].map(|word| e.value(Op::And, Type::B32, &[word, others]));
    place.finish(e, turn, same, found, found, Type::B16)
}

fn cast(e: &mut Emitter, from: Value, to: Type) -> Value {
    if e.func.ty(from) == to { from } else { e.value(Op::Bitcast, to, &[from]) }
}

/// The new content of a location, from the old content and the operands.
pub(super) fn changed(e: &mut Emitter, op: AtomicOp, ty: Type, old: Value, operands: &[Value]) -> Value {
    let compute = match op {
        AtomicOp::Exch => return operands[0],
        AtomicOp::Cas | AtomicOp::Cast => {
            // If the content is not as expected, it is written back unchanged.
            let same = e.value(Op::Icmp(IntCond::Eq), ty, &[old, operands[0]]);
            return e.value(Op::Select, ty, &[same, operands[1], old]);
        }
        AtomicOp::Inc | AtomicOp::Dec => unreachable!("only words are counted, and every memory does that"),
        AtomicOp::Add => Op::Iadd,
        AtomicOp::Fadd | AtomicOp::FaddNoftz => Op::Fadd(FloatMode::RN),
        AtomicOp::Fmin => Op::Fmin { ftz: false, nan: false, xorsign: false },
        AtomicOp::Fmax => Op::Fmax { ftz: false, nan: false, xorsign: false },
        AtomicOp::Smin => Op::Smin,
        AtomicOp::Smax => Op::Smax,
        AtomicOp::Umin => Op::Umin,
        AtomicOp::Umax => Op::Umax,
        AtomicOp::And => Op::And,
        AtomicOp::Or => Op::Or,
        AtomicOp::Xor => Op::Xor,
    };
    e.value(compute, ty, &[old, operands[0]])
}
