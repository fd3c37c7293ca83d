//! Turns atomic updates of vectors of halves into updates of packed pairs.
//!
//! ```text
//!                                                  v10 = pack.b32 v2, v3      // bitcasts are not shown
//! v6, v7, v8, v9 =                                 v11 = pack.b32 v4, v5
//!     atomic.fadd.global…b16.v4.f16           =>   v12, v13 = atomic.fadd.global…b32.v2.f16x2 [v1], v10, v11
//!         [v1], v2, v3, v4, v5                     v6, v7 = unpack.b32 v12
//!                                                  v8, v9 = unpack.b32 v13
//! ```
//!
//! Each half is updated separately either way. Single halves are loops: see `atomic-loops`. Linear.

use ptxc_ir::{Access, Function, MemType, Op, Type, Value};
use ptxc_machine::Arch;

use super::emitter::rewrite;

/// Packs the halves of vector updates.
pub fn packed_atomics(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        if !matches!(data.op, Op::Atomic { .. } | Op::Red { .. }) {
            return false;
        }
        let data = data.clone();
        let (Op::Atomic { op, access } | Op::Red { op, access }) = data.op else { return false };
        let pair = match data.ty {
            Type::F16 if access.lanes > 1 => Type::F16x2,
            Type::BF16 if access.lanes > 1 => Type::BF16x2,
            _ => return false,
        };
        let mut args = vec![data.args[0]];
        for halves in data.args[1..].chunks_exact(2) {
            let bits: Vec<Value> =
                halves.iter().map(|&half| emitter.value(Op::Bitcast, Type::B16, &[half])).collect();
            let word = emitter.value(Op::Pack, Type::B32, &bits);
            args.push(emitter.value(Op::Bitcast, pair, &[word]));
        }
        let packed = Access { elem: MemType::B32, lanes: access.lanes / 2, ..access };
        if matches!(data.op, Op::Red { .. }) {
            emitter.inst(Op::Red { op, access: packed }, pair, &args);
            return true;
        }
        let made = emitter.inst(Op::Atomic { op, access: packed }, pair, &args);
        let words: Vec<Value> = emitter.func.results(made).to_vec();
        let results: Vec<Value> = emitter.func.results(inst).to_vec();
        for (word, halves) in words.into_iter().zip(results.chunks_exact(2)) {
            let bits = emitter.value(Op::Bitcast, Type::B32, &[word]);
            let (low, high) = emitter.pair(Op::Unpack, Type::B32, &[bits]);
            for (bits, &half) in [low, high].into_iter().zip(halves) {
                let value = emitter.value(Op::Bitcast, data.ty, &[bits]);
                emitter.rename(half, value);
            }
        }
        true
    })
}
