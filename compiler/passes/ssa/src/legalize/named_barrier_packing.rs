//! Named-barrier packing: a name and a count that are both in registers share one.
//!
//! `BAR` has room for one register. Where both of its numbers are registers, they are the same one, which has the name
//! in bits 3:0 and the count in bits 27:16:
//!
//! ```text
//! barrier.sync.aligned v1, v2   =>   v3 = prmt.index.b32 v1, v2, 0x5410    // name in 15:0, count in 31:16
//!                                    barrier.sync.aligned.packed v3
//! ```
//!
//! One `PRMT` is enough, since PTX demands a name from 0 to 15 and a count of at most the threads of a CTA: the bits
//! between the fields are zero in every program with a meaning, so that it does not matter whether the hardware reads
//! them. NVIDIA's assembler takes two instructions and relies on as much: a register name alone goes to the hardware
//! as it is, whatever its upper bits.
//!
//! What has one number or none in a register is left alone: a register name (bits 3:0 of its register) with an
//! immediate count or without one, an immediate name with a register count (bits 11:0 of its register). So is what
//! is known here: a constant is an immediate. A name and a count that are the same register are packed like any
//! others. Packing the same pair again is left to value numbering.

use ptxc_ir::op::BytePick;
use ptxc_ir::{Function, Op, Type};
use ptxc_machine::Arch;

use super::emitter::rewrite;

/// The selector that puts the low half of the second word above the low half of the first.
const LOW_HALVES: u64 = 0x5410;

/// Packs the numbers of every barrier that has two in registers.
pub fn named_barrier_packing(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        let Op::Barrier { kind, aligned, packed: false } = data.op else { return false };
        let predicate = if kind.is_reduction() { data.args.last().copied() } else { None };
        let numbers = data.args.len() - usize::from(predicate.is_some());
        let [name, count, ..] = data.args[..] else { return false };
        let is_register = |value| emitter.func.constant(value).is_none();
        if numbers != 2 || !is_register(name) || !is_register(count) {
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
