//! Named-barrier packing: puts a name and a count that are both in registers into one register.
//!
//! `BAR` has room for one register. If both of its numbers are in registers, they share one, with
//! the name in bits 3:0 and the count in bits 27:16:
//!
//! ```text
//! barrier.sync.aligned v1, v2   =>   v3 = prmt.index.b32 v1, v2, 0x5410    // name in 15:0, count in 31:16
//!                                    barrier.sync.aligned.packed v3
//! ```
//!
//! One `PRMT` is enough, since PTX demands a name from 0 to 15 and a count of at most the threads
//! of a CTA. The bits between the fields are therefore zero in every valid program, so it does not
//! matter whether the hardware reads them. NVIDIA's assembler uses two instructions and relies on
//! the same: it passes a register name without a count to the hardware unchanged, with any upper
//! bits.
//!
//! Barriers with at most one number in a register are left unchanged: a register name (bits 3:0 of
//! its register) with or without an immediate count, or an immediate name with a register count
//! (bits 11:0 of its register). A known constant counts as an immediate. A name and a count in the
//! same register are packed like any others. Value numbering merges repeated packing of the same
//! pair.

use ptxc_ir::op::BytePick;
use ptxc_ir::{Function, Op, Type};
use ptxc_machine::Arch;

use super::emitter::rewrite;

/// The selector that puts the low half of the second word above the low half of the first.
const LOW_HALVES: u64 = 0x5410;

/// The greatest barrier name.
const LAST_NAME: u64 = 15;

/// Packs the numbers of every barrier with two numbers in registers.
pub fn named_barrier_packing(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        let Op::Barrier { kind, aligned, packed: false } = data.op else { return false };
        let predicate = if kind.is_reduction() { data.args.last().copied() } else { None };
        let numbers = data.args.len() - usize::from(predicate.is_some());
        let [name, count, ..] = data.args[..] else { return false };
        let is_register = |value| emitter.func.constant(value).is_none();
        // A known name that is too great must not become an immediate, which would name another barrier.
        let is_wrong = |name| emitter.func.constant(name).is_some_and(|name| name > LAST_NAME);
        if numbers != 2 || !(is_register(name) || is_wrong(name)) || !is_register(count) {
            return false;
        }
        let selector = emitter.constant(Type::B32, LOW_HALVES);
        let packed = emitter.value(Op::Prmt(BytePick::Index), Type::B32, &[name, count, selector]);
        let data = &mut emitter.func.insts[inst];
        data.op = Op::Barrier { kind, aligned, packed: true };
        data.args.clear();
        data.args.push(packed);
        data.args.extend(predicate);
        emitter.keep(inst);
        true
    })
}
