//! Loads and stores vectors of 8- and 16-bit elements as words.
//!
//! ```text
//! v2, v3 = load.shared.b16.v2 [v1]          v4 = load.shared.b32 [v1]
//!                                    =>     v5 = prmt.b32 v4, 0, 0x4410      // trunc.b16 of it is v2
//!                                           v6 = prmt.b32 v4, 0, 0x4432
//! store.shared.b8.v4.b16 [v1],              v7 = pack.b32 v2, v3
//!     v2, v3, v8, v9                 =>     v10 = pack.b32 v8, v9
//!                                           v11 = prmt.b32 v7, v10, 0x6420
//!                                           store.shared.b32 [v1], v11
//! ```
//!
//! A vector is aligned to its size, so the words are aligned, too. A vector of two bytes is a
//! halfword. Linear.

use ptxc_ir::op::BytePick;
use ptxc_ir::{Access, Function, Inst, MemType, Op, Type, Value};
use ptxc_machine::Arch;

use super::emitter::{Emitter, rewrite};

/// Loads and stores vectors of narrow elements as words.
pub fn narrow_vectors(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| match emitter.func.insts[inst].op {
        Op::Load(access) if is_narrow(access) => load(emitter, inst, access),
        Op::Store(access) if is_narrow(access) => store(emitter, inst, access),
        _ => false,
    })
}

fn is_narrow(access: Access) -> bool {
    access.lanes > 1 && access.elem.bytes() < 4 && access.bytes() <= 16
}

/// The access of the same bytes in words, or in one halfword.
fn in_words(access: Access) -> Access {
    match access.bytes() {
        2 => Access { elem: MemType::B16, lanes: 1, ..access },
        bytes => Access { elem: MemType::B32, lanes: (bytes / 4) as u8, ..access },
    }
}

fn load(emitter: &mut Emitter, inst: Inst, access: Access) -> bool {
    let data = emitter.func.insts[inst].clone();
    let words = emitter.inst(Op::Load(in_words(access)), Type::B32, &data.args);
    let words: Vec<Value> = emitter.func.results(words).to_vec();
    let zero = emitter.constant(Type::B32, 0);
    let bytes = access.elem.bytes();
    let signed = matches!(access.elem, MemType::S8 | MemType::S16);
    for lane in 0..u32::from(access.lanes) {
        let result = emitter.func.results(inst)[lane as usize];
        let word = words[(lane * bytes / 4) as usize];
        let low = lane * bytes % 4;
        // The selector's nibbles: bytes of the word, and above them byte 4 (which is zero) or
        // copies of the sign.
        let high = low + bytes - 1;
        let above = if signed { 8 | high } else { 4 };
        let nibble = |n: u32| if n < bytes { low + n } else { above };
        let selector = (0..4).fold(0, |selector, n| selector | nibble(n) << (4 * n));
        let selector = emitter.constant(Type::B32, selector.into());
        let wide = emitter.value(Op::Prmt(BytePick::Index), Type::B32, &[word, zero, selector]);
        let value = if data.ty.bits() == 16 { emitter.value(Op::Trunc, Type::B16, &[wide]) } else { wide };
        let value = match data.ty == emitter.func.ty(value) {
            true => value,
            false => emitter.value(Op::Bitcast, data.ty, &[value]),
        };
        emitter.rename(result, value);
    }
    true
}

fn store(emitter: &mut Emitter, inst: Inst, access: Access) -> bool {
    let data = emitter.func.insts[inst].clone();
    let halves: Vec<Value> = data.args[1..]
        .iter()
        .map(|&value| {
            let bits = emitter.func.ty(value).as_int();
            let value = match bits == emitter.func.ty(value) {
                true => value,
                false => emitter.value(Op::Bitcast, bits, &[value]),
            };
            if bits == Type::B16 { value } else { emitter.value(Op::Trunc, Type::B16, &[value]) }
        })
        .collect();
    let pairs: Vec<Value> =
        halves.chunks(2).map(|pair| emitter.value(Op::Pack, Type::B32, &[pair[0], pair[1]])).collect();
    let mut args = vec![data.args[0]];
    if access.elem.bytes() == 2 {
        args.extend(pairs);
    } else {
        let selector = emitter.constant(Type::B32, 0x6420);
        for four in pairs.chunks(2) {
            let low = four[0];
            let high = four.get(1).copied().unwrap_or(low);
            args.push(emitter.value(Op::Prmt(BytePick::Index), Type::B32, &[low, high, selector]));
        }
    }
    emitter.inst(Op::Store(in_words(access)), Type::B32, &args);
    true
}
