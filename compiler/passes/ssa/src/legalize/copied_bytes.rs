//! The number of bytes of an element that an asynchronous copy reads.
//!
//! `LDGSTS` reads the whole element, or nothing if its predicate fails: then zeros are written.
//! With `.ZFILL` it reads fewer bytes. The low bits of the address, which are free in an aligned
//! address, then give the number of zeros that follow.
//!
//! ```text
//! async_copy.global.ca.b32 [v1], v2, 4       =>   async_fill.global.ca.b32 [v1], v2, true
//! async_copy.global.cg.b128 [v1], v2, 0      =>   async_fill.global.cg.b128 [v1], v2, false
//! v4 = select.b32 v3, 0, 4                        v5 = not.pred v3
//! async_copy.global.ca.b32 [v1], v2, v4      =>   async_fill.global.ca.b32 [v1], v2, v5
//! async_copy.global.cg.b128 [v1], v2, 12     =>   async_fill.global.cg.b128.zfill [v1 + 4], v2, true
//!                                                 v4 = isub.b32 16, v3
//!                                                 v5 = and.b32 v4, 15
//!                                                 v6 = zext.b64 v5
//! async_copy.global.cg.b128 [v1], v2, v3     =>   v7 = iadd.b64 v1, v6
//!                                                 v8 = icmp.ne.b32 v3, 0
//!                                                 async_fill.global.cg.b128.zfill [v7], v2, v8
//! ```
//!
//! ptxas does the same. A count above the size of the element is undefined. Linear.

use ptxc_ir::{Function, IntCond, Op, Type, Value, ValueDef};
use ptxc_machine::Arch;

use super::address_offsets::COPY_OFFSETS;
use super::emitter::{Emitter, rewrite};

/// Moves the number of copied bytes into predicate and address. The part that does not fit the
/// instruction's offset also goes into the address.
pub fn copied_bytes(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        if !matches!(data.op, Op::AsyncCopy { .. }) {
            return false;
        }
        let data = data.clone();
        let Op::AsyncCopy { mut access, prefetch } = data.op else { return false };
        let (from, to, bytes) = (data.args[0], data.args[1], data.args[2]);
        let size = u64::from(access.elem.bytes());
        let (from, copies, zfill) = match emitter.func.constant(bytes) {
            Some(bytes) if bytes == 0 || bytes >= size => {
                (from, emitter.constant(Type::Pred, (bytes != 0).into()), false)
            }
            Some(bytes) => {
                access.offset = access.offset.wrapping_add((size - bytes) as i32);
                (from, emitter.constant(Type::Pred, 1), true)
            }
            None => match none_or_all(emitter, bytes, size) {
                Some(ignored) => (from, emitter.value(Op::Not, Type::Pred, &[ignored]), false),
                None => {
                    let [whole, mask] = [size, size - 1].map(|bits| emitter.constant(Type::B32, bits));
                    let zeros = emitter.value(Op::Isub, Type::B32, &[whole, bytes]);
                    let zeros = emitter.value(Op::And, Type::B32, &[zeros, mask]);
                    let zeros = emitter.value(Op::Zext, Type::B64, &[zeros]);
                    let from = above(emitter, from, zeros);
                    let none = emitter.constant(Type::B32, 0);
                    let some = emitter.value(Op::Icmp(IntCond::Ne), Type::B32, &[bytes, none]);
                    (from, some, true)
                }
            },
        };
        let mut from = from;
        if !COPY_OFFSETS.contains(&access.offset.into()) {
            let distance = emitter.constant(Type::B64, i64::from(access.offset) as u64);
            from = above(emitter, from, distance);
            access.offset = 0;
        }
        emitter.inst(Op::AsyncFill { access, prefetch, zfill }, data.ty, &[from, to, copies]);
        true
    })
}

/// The address that is a number of bytes above another one, with the same cache policy.
fn above(emitter: &mut Emitter, address: Value, bytes: Value) -> Value {
    if let ValueDef::Result(inst, _) = emitter.func.def(address)
        && emitter.func.insts[inst].op == Op::CacheHint
    {
        let (base, policy) = (emitter.func.insts[inst].args[0], emitter.func.insts[inst].args[1]);
        let sum = emitter.value(Op::Iadd, Type::B64, &[base, bytes]);
        return emitter.value(Op::CacheHint, Type::B64, &[sum, policy]);
    }
    emitter.value(Op::Iadd, Type::B64, &[address, bytes])
}

/// The predicate that chooses between no bytes and all bytes, if one does.
fn none_or_all(emitter: &Emitter, bytes: Value, size: u64) -> Option<Value> {
    let ValueDef::Result(inst, _) = emitter.func.def(bytes) else { return None };
    let data = &emitter.func.insts[inst];
    let is = |value: Value, bits: u64| emitter.func.constant(value) == Some(bits);
    (data.op == Op::Select && is(data.args[1], 0) && is(data.args[2], size)).then(|| data.args[0])
}
