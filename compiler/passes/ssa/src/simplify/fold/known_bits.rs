//! Which bits of a value may be set.

use ptxc_ir::{MemType, Op, SpecialReg, Value};

use super::Folder;
use crate::simplify::evaluate::ones;

/// The depth of definitions that the search visits.
const DEPTH: u32 = 6;

impl Folder<'_> {
    /// A mask of the bits of a value that may be one; all bits of its type if nothing is known.
    /// Visits a bounded number of definitions. The value is at most 64 bits wide.
    pub(super) fn possible_bits(&self, value: Value) -> u64 {
        self.possible_bits_to(value, DEPTH)
    }

    fn possible_bits_to(&self, value: Value, depth: u32) -> u64 {
        let all = ones(self.func.ty(value));
        let Some((op, ty, args)) = self.def(value) else { return all };
        if depth == 0 {
            return all;
        }
        let of = |arg: Value| self.possible_bits_to(arg, depth - 1);
        let count = |arg: Value| self.constant(arg).filter(|&count| count < u64::from(ty.bits()));
        let known = match (op, args) {
            (Op::Const(bits), _) => bits,
            (Op::And, &[a, b]) => match self.constant(b) {
                Some(mask) => mask & of(a),
                None => of(a) & of(b),
            },
            (Op::Zext | Op::Trunc | Op::Bitcast, &[a]) if self.func.ty(a).bits() <= 64 => of(a),
            (Op::Shl, &[a, by]) => count(by).map_or(all, |by| of(a) << by),
            (Op::Shr, &[a, by]) => count(by).map_or(all, |by| of(a) >> by),
            (Op::Or | Op::Xor, &[a, b]) | (Op::Select, &[_, a, b]) => of(a) | of(b),
            (Op::Popc | Op::Clz, _) => 0x7f,
            (Op::Load(access), _) => match access.elem {
                MemType::B8 => 0xff,
                MemType::B16 => 0xffff,
                _ => all,
            },
            (Op::SpecialReg(register), _) => register_bits(register),
            _ => all,
        };
        known & all
    }
}

/// The bits that a special register may have: a CTA has at most 1024 threads, 64 of them in z, a
/// warp has 32 lanes, and a grid less than 2^31 CTAs in x and 2^16 in y and z (CUDA programming
/// guide, "Features and technical specifications").
fn register_bits(register: SpecialReg) -> u64 {
    match register {
        SpecialReg::TidX | SpecialReg::TidY => 0x3ff,
        SpecialReg::TidZ => 0x3f,
        SpecialReg::NtidX | SpecialReg::NtidY => 0x7ff,
        SpecialReg::NtidZ => 0x7f,
        SpecialReg::LaneId => 0x1f,
        SpecialReg::CtaidX | SpecialReg::NctaidX => 0x7fff_ffff,
        SpecialReg::CtaidY | SpecialReg::CtaidZ | SpecialReg::NctaidY | SpecialReg::NctaidZ => 0xffff,
        _ => u64::MAX,
    }
}
