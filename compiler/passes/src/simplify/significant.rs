//! How many low bits of an integer may be set: a bound from its definition.

use ptxc_ir::{MemType, Op, SpecialReg, Type, Value};

use super::rewriter::Rewriter;

/// How deep definitions are followed.
const DEPTH: u32 = 6;

/// A number of bits such that all above it are zero; the width of the type if nothing is known.
pub(crate) fn significant_bits(rewriter: &Rewriter<'_>, value: Value) -> u32 {
    bound(rewriter, value, DEPTH)
}

fn bound(rewriter: &Rewriter<'_>, value: Value, depth: u32) -> u32 {
    let width = rewriter.func.ty(value).bits();
    let Some((op, ty, [a, b, c])) = rewriter.def(value).filter(|_| depth > 0) else { return width };
    let of = |value: Option<Value>| value.map_or(width, |value| bound(rewriter, value, depth - 1));
    let constant = |value: Option<Value>| value.and_then(|value| rewriter.func.constant(value));
    let bits = match op {
        Op::Const(bits) => 64 - bits.leading_zeros(),
        Op::And if ty != Type::Pred => of(a).min(of(b)),
        Op::Or | Op::Xor if ty != Type::Pred => of(a).max(of(b)),
        Op::Select if ty != Type::Pred => of(b).max(of(c)),
        Op::Shr => match constant(b) {
            Some(count) => of(a).saturating_sub(count.min(64) as u32),
            None => of(a),
        },
        Op::Shl => match constant(b) {
            Some(count) => of(a).saturating_add(count.min(64) as u32),
            None => width,
        },
        Op::Zext | Op::Trunc => of(a),
        Op::Popc | Op::Clz => 7,
        Op::Load(access) => match access.elem {
            MemType::B8 => 8,
            MemType::B16 => 16,
            _ => width,
        },
        Op::SpecialReg(reg) => match reg {
            // A CTA has at most 1024 threads, 64 of them in z; a warp 32 lanes.
            SpecialReg::TidX | SpecialReg::TidY => 10,
            SpecialReg::TidZ => 6,
            SpecialReg::NtidX | SpecialReg::NtidY => 11,
            SpecialReg::NtidZ => 7,
            SpecialReg::LaneId | SpecialReg::WarpId => 5,
            SpecialReg::CtaidY | SpecialReg::CtaidZ | SpecialReg::NctaidY | SpecialReg::NctaidZ => 16,
            SpecialReg::CtaidX | SpecialReg::NctaidX => 31,
            _ => width,
        },
        _ => width,
    };
    bits.min(width)
}
