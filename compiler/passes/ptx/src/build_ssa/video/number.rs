//! Exact numbers: values with the range of the numbers that they can be.
//!
//! Video instructions compute with 33 and 34 bits. Most operands are parts of words, whose sums and
//! differences fit in 32 bits, so the range decides whether an operation needs 64 bits.

use ptxc_ir::{IntCond, Op, Type, Value};

use crate::build_ssa::translator::Translator;

/// A number and its least and greatest possible value.
///
/// It is a word if all its possible values are numbers of `.s32`, or all of `.u32`. Otherwise it
/// has 64 bits, in two's complement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    value: Value,
    is_word: bool,
    least: i64,
    greatest: i64,
}

/// The least and the greatest number of a width.
pub(super) fn limits(bits: u32, signed: bool) -> (i64, i64) {
    if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// Whether all numbers of a range are numbers of `.s32`.
fn is_signed(least: i64, greatest: i64) -> bool {
    least >= i32::MIN.into() && greatest <= i32::MAX.into()
}

/// Whether all numbers of a range are numbers of `.u32`.
fn is_unsigned(least: i64, greatest: i64) -> bool {
    least >= 0 && greatest <= u32::MAX.into()
}

/// The signedness in which two words can be compared; `None` if they have none in common.
fn common(a: Number, b: Number) -> Option<bool> {
    let all = |test: fn(i64, i64) -> bool| {
        test(a.least, a.greatest) && test(b.least, b.greatest) && a.is_word && b.is_word
    };
    if all(is_signed) {
        Some(true)
    } else if all(is_unsigned) {
        Some(false)
    } else {
        None
    }
}

impl Number {
    /// The number that a word represents, with the limits of a type of that many bits.
    pub fn word(value: Value, bits: u32, signed: bool) -> Number {
        let (least, greatest) = limits(bits, signed);
        Number { value, is_word: true, least, greatest }
    }

    /// The low 32 bits of a number, if nothing else of it counts.
    pub fn low_bits(value: Value) -> Number {
        Number::word(value, 32, false)
    }

    /// The number of 64 bits with that range.
    pub fn wide(value: Value, least: i64, greatest: i64) -> Number {
        Number { value, is_word: false, least, greatest }
    }

    /// The least and the greatest possible value.
    pub fn range(self) -> (i64, i64) {
        (self.least, self.greatest)
    }

    /// Whether it is never negative.
    pub fn is_unsigned(self) -> bool {
        self.least >= 0
    }

    /// Whether it is a number of `.s32`.
    pub fn is_signed(self) -> bool {
        is_signed(self.least, self.greatest)
    }

    /// The number in 64 bits.
    pub fn in_64_bits(self, t: &mut Translator) -> Value {
        if !self.is_word {
            return self.value;
        }
        t.emit(if self.least < 0 { Op::Sext } else { Op::Zext }, Type::B64, &[self.value])
    }

    /// The low 32 bits.
    pub fn in_32_bits(self, t: &mut Translator) -> Value {
        if self.is_word { self.value } else { t.emit(Op::Trunc, Type::B32, &[self.value]) }
    }

    /// The result of an operation on two numbers that has the same low 32 bits in any width.
    fn modular(t: &mut Translator, op: Op, a: Number, b: Number, (least, greatest): (i64, i64)) -> Number {
        if is_signed(least, greatest) || is_unsigned(least, greatest) {
            let args = [a.in_32_bits(t), b.in_32_bits(t)];
            return Number { value: t.emit(op, Type::B32, &args), is_word: true, least, greatest };
        }
        let args = [a.in_64_bits(t), b.in_64_bits(t)];
        Number::wide(t.emit(op, Type::B64, &args), least, greatest)
    }

    /// `a + b`.
    pub fn plus(self, t: &mut Translator, b: Number) -> Number {
        Number::modular(t, Op::Iadd, self, b, (self.least + b.least, self.greatest + b.greatest))
    }

    /// `a - b`.
    pub fn minus(self, t: &mut Translator, b: Number) -> Number {
        Number::modular(t, Op::Isub, self, b, (self.least - b.greatest, self.greatest - b.least))
    }

    /// `|a - b|`.
    pub fn distance(self, t: &mut Translator, b: Number) -> Number {
        let most = (self.greatest - b.least).max(b.greatest - self.least);
        if is_signed(self.least - b.greatest, self.greatest - b.least) {
            let difference = self.minus(t, b).in_32_bits(t);
            let value = t.emit(Op::Iabs, Type::B32, &[difference]);
            return Number { value, is_word: true, least: 0, greatest: most };
        }
        if common(self, b).is_some() {
            let greater = self.extreme(t, b, true);
            let lesser = self.extreme(t, b, false);
            let args = [greater.in_32_bits(t), lesser.in_32_bits(t)];
            let value = t.emit(Op::Isub, Type::B32, &args);
            return Number { value, is_word: true, least: 0, greatest: most };
        }
        let args = [self.in_64_bits(t), b.in_64_bits(t)];
        let difference = t.emit(Op::Isub, Type::B64, &args);
        Number::wide(t.emit(Op::Iabs, Type::B64, &[difference]), 0, most)
    }

    /// The greater of two numbers, or the lesser one.
    pub fn extreme(self, t: &mut Translator, b: Number, greater: bool) -> Number {
        let (least, greatest) = if greater {
            (self.least.max(b.least), self.greatest.max(b.greatest))
        } else {
            (self.least.min(b.least), self.greatest.min(b.greatest))
        };
        let signed = common(self, b);
        let op = match (greater, signed != Some(false)) {
            (true, true) => Op::Smax,
            (true, false) => Op::Umax,
            (false, true) => Op::Smin,
            (false, false) => Op::Umin,
        };
        if signed.is_some() {
            let value = t.emit(op, Type::B32, &[self.value, b.value]);
            return Number { value, is_word: true, least, greatest };
        }
        let args = [self.in_64_bits(t), b.in_64_bits(t)];
        Number::wide(t.emit(op, Type::B64, &args), least, greatest)
    }

    /// Whether a comparison holds. The function has the condition for numbers with a sign, and for
    /// numbers without.
    pub fn compare(self, t: &mut Translator, b: Number, condition: impl Fn(bool) -> IntCond) -> Value {
        match common(self, b) {
            Some(signed) => t.emit(Op::Icmp(condition(signed)), Type::B32, &[self.value, b.value]),
            None => {
                let args = [self.in_64_bits(t), b.in_64_bits(t)];
                t.emit(Op::Icmp(condition(true)), Type::B64, &args)
            }
        }
    }

    /// The nearest number with that many bits. At most 32 bits give a word.
    pub fn clamp(self, t: &mut Translator, bits: u32, signed: bool) -> Number {
        let (bottom, top) = limits(bits, signed);
        let (least, greatest) = (self.least.clamp(bottom, top), self.greatest.clamp(bottom, top));
        let ty = if self.is_word { Type::B32 } else { Type::B64 };
        // A word that is not a number of `.s32` is never negative.
        let min = if self.is_word && !self.is_signed() { Op::Umin } else { Op::Smin };
        let mut value = self.value;
        if self.least < bottom {
            let bound = t.constant(ty, bottom as u64);
            value = t.emit(Op::Smax, ty, &[value, bound]);
        }
        if self.greatest > top {
            let bound = t.constant(ty, top as u64);
            value = t.emit(min, ty, &[value, bound]);
        }
        if !self.is_word {
            value = t.emit(Op::Trunc, Type::B32, &[value]);
        }
        Number { value, is_word: true, least, greatest }
    }

    /// The number that its low bits represent in two's complement; more than 32 bits.
    pub fn truncate(self, t: &mut Translator, bits: u32) -> Number {
        let (least, greatest) = limits(bits, true);
        if self.least >= least && self.greatest <= greatest {
            return self;
        }
        let value = self.in_64_bits(t);
        let unused = t.constant(Type::B32, u64::from(64 - bits));
        let value = t.emit(Op::Shl, Type::B64, &[value, unused]);
        Number::wide(t.emit(Op::Sar, Type::B64, &[value, unused]), least, greatest)
    }

    /// The number shifted to the right by a constant.
    pub fn shifted_right(self, t: &mut Translator, count: u32) -> Number {
        let (least, greatest) = (self.least >> count, self.greatest >> count);
        let ty = if self.is_word { Type::B32 } else { Type::B64 };
        let op = if self.least < 0 { Op::Sar } else { Op::Shr };
        let count = t.constant(Type::B32, count.into());
        Number { value: t.emit(op, ty, &[self.value, count]), is_word: self.is_word, least, greatest }
    }

    /// The number shifted to the right by an unsigned count; a count of 32 or more is 32.
    pub fn shifted_right_by(self, t: &mut Translator, count: Number) -> Number {
        let ty = if self.is_word { Type::B32 } else { Type::B64 };
        let op = if self.least < 0 { Op::Sar } else { Op::Shr };
        let count = count.in_32_bits(t);
        let value = t.emit(op, ty, &[self.value, count]);
        Number { value, is_word: self.is_word, least: self.least.min(0), greatest: self.greatest.max(-1) }
    }
}
