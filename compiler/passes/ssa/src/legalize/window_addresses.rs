//! Addresses in windows: those of local variables, and generic addresses of shared, local and
//! constant memory and of kernel parameters.
//!
//! | space | generic address |
//! |---|---|
//! | shared, of the CTA or the cluster, on sm_90 | low word: the address in the window; high word: that of the window |
//! | shared before sm_90, local, constant, parameters | the window's generic address plus the address in the window |
//!
//! ```text
//! v1 = symbol.b32 @array                   v4 = sreg.b32 local_top
//!                                    =>    v1 = iadd.b32 v4, -64             // 64 bytes in all
//! v2 = to_generic.shared v0          =>    v5 = sreg.b32 shared_window_high
//!                                          v2 = pack.b64 v0, v5
//! v4 = load.shared_cluster.b32 [v0]  =>    v8 = sreg.b32 shared_window_high
//!                                          v9 = pack.b64 v0, v8
//!                                          v4 = load.generic.b32 [v9]
//! v3 = from_generic.local v2         =>    v6 = trunc.b32 v2
//!                                          v7 = sreg.b32 local_window
//!                                          v3 = isub.b32 v6, v7
//! ```
//!
//! Whether a generic address lies in constant memory is a comparison with the window, which is 64
//! KiB long; the unit that knows the other windows takes it for global memory:
//!
//! ```text
//! v1 = is_space.const v0                   v4 = sreg.b32 const_window
//!                                          v5 = sreg.b32 const_window_high
//!                                          v6 = pack.b64 v4, v5
//!                                    =>    v7 = isub.b64 v0, v6
//!                                          v1 = icmp.ult.b64 v7, 0x10000
//! v2 = is_space.global v0            =>    v8 = is_space.global v0
//!                                          v2 = and.pred v8, !(the same)
//! ```
//!
//! Whether it is that of a kernel parameter is a comparison with the ends of the parameters. The window
//! of the parameters is part of the global window (ISA, `isspacep`).
//!
//! The local variables of a kernel lie at the end of the thread's local memory, after spilled
//! registers, so their addresses do not depend on the number of spills. Those of a device function
//! end where its caller's frame begins; `local_top` has that address there. ptxas uses the same
//! windows. Linear.

use ptxc_ir::{Function, IntCond, Op, Space, SpecialReg, Type, Value};
use ptxc_machine::Arch;

use super::emitter::{Emitter, rewrite};

/// The size of constant memory, in bytes.
const CONSTANT_BYTES: u64 = 1 << 16;

/// The widest access to local memory, in bytes; the size of a frame is a multiple of it.
const FRAME_ALIGN: u32 = 16;

/// Turns addresses in windows into sums with the addresses of the windows.
pub fn window_addresses(func: &mut Function, arch: Arch) -> bool {
    let is_high_word = arch.facts().banks.shared_window.is_none();
    let local_bytes = func.local_bytes().next_multiple_of(FRAME_ALIGN);
    rewrite(func, |emitter, inst| {
        let data = emitter.func.insts[inst].clone();
        match data.op {
            Op::SymbolAddr(symbol) => {
                let symbol = &emitter.func.symbols[symbol];
                let (Space::Local, Some(offset)) = (symbol.space, symbol.offset) else { return false };
                let top = special(emitter, SpecialReg::LocalTop);
                let below = emitter.constant(Type::B32, u64::from(offset.wrapping_sub(local_bytes)));
                emitter.become_op(inst, Op::Iadd, Type::B32, &[top, below]);
            }
            Op::IsSpace(Space::Const) => {
                let (distance, size) = from_constants(emitter, data.args[0]);
                emitter.become_op(inst, Op::Icmp(IntCond::Ult), Type::B64, &[distance, size]);
            }
            Op::IsSpace(Space::Param) => {
                let start = address(emitter, [SpecialReg::ParamWindow, SpecialReg::ParamWindowHigh]);
                let end = address(emitter, [SpecialReg::ParamEnd, SpecialReg::ParamEndHigh]);
                let distance = emitter.value(Op::Isub, Type::B64, &[data.args[0], start]);
                let size = emitter.value(Op::Isub, Type::B64, &[end, start]);
                emitter.become_op(inst, Op::Icmp(IntCond::Ule), Type::B64, &[distance, size]);
            }
            Op::IsSpace(Space::Global) => {
                let (distance, size) = from_constants(emitter, data.args[0]);
                let other = emitter.value(Op::Icmp(IntCond::Uge), Type::B64, &[distance, size]);
                let global = emitter.value(Op::IsSpace(Space::Global), Type::B32, &[data.args[0]]);
                emitter.become_op(inst, Op::And, Type::Pred, &[global, other]);
            }
            Op::ToGeneric(Space::Shared | Space::SharedCluster) if is_high_word => {
                let high = special(emitter, SpecialReg::SharedWindowHigh);
                emitter.become_op(inst, Op::Pack, Type::B64, &[data.args[0], high]);
            }
            Op::ToGeneric(space) => {
                let Some(window) = window(space) else { return false };
                let start = address(emitter, window);
                let offset = emitter.value(Op::Zext, Type::B64, &[data.args[0]]);
                emitter.become_op(inst, Op::Iadd, Type::B64, &[start, offset]);
            }
            Op::FromGeneric(Space::Shared | Space::SharedCluster) if is_high_word => {
                emitter.become_op(inst, Op::Trunc, Type::B32, &[data.args[0]]);
            }
            Op::FromGeneric(space) => {
                let Some([low, _]) = window(space) else { return false };
                let address = emitter.value(Op::Trunc, Type::B32, &[data.args[0]]);
                let start = special(emitter, low);
                emitter.become_op(inst, Op::Isub, Type::B32, &[address, start]);
            }
            mut op => {
                let Some(access) = op.access_mut().filter(|access| access.space == Space::SharedCluster)
                else {
                    return false;
                };
                access.space = Space::Generic;
                let high = special(emitter, SpecialReg::SharedWindowHigh);
                let mut args = data.args.clone();
                args[0] = emitter.value(Op::Pack, Type::B64, &[data.args[0], high]);
                emitter.become_op(inst, op, data.ty, &args);
            }
        }
        true
    })
}

/// The distance of a generic address from the start of constant memory, and the size of constant
/// memory.
fn from_constants(emitter: &mut Emitter, address: Value) -> (Value, Value) {
    let start = self::address(emitter, [SpecialReg::ConstWindow, SpecialReg::ConstWindowHigh]);
    let distance = emitter.value(Op::Isub, Type::B64, &[address, start]);
    (distance, emitter.constant(Type::B64, CONSTANT_BYTES))
}

/// A generic address in two special registers.
fn address(emitter: &mut Emitter, words: [SpecialReg; 2]) -> Value {
    let words = words.map(|word| special(emitter, word));
    emitter.value(Op::Pack, Type::B64, &words)
}

fn special(emitter: &mut Emitter, register: SpecialReg) -> Value {
    emitter.value(Op::SpecialReg(register), Type::B32, &[])
}

/// The words of a window's generic address.
fn window(space: Space) -> Option<[SpecialReg; 2]> {
    match space {
        Space::Shared => Some([SpecialReg::SharedWindow, SpecialReg::SharedWindowHigh]),
        Space::Local => Some([SpecialReg::LocalWindow, SpecialReg::LocalWindowHigh]),
        Space::Const => Some([SpecialReg::ConstWindow, SpecialReg::ConstWindowHigh]),
        Space::Param => Some([SpecialReg::ParamWindow, SpecialReg::ParamWindowHigh]),
        _ => None,
    }
}
