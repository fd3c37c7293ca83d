//! `vmad`: `a * b + c`, scaled and clamped.
//!
//! The result is unsigned if both factors are and nothing is negated, whatever the type of the
//! destination is. That decides how `c` is extended, and the limits of saturation.

use ptxc_ir::{IntCond, Op, Type, Value};

use super::{Number, Written};
use crate::build_ssa::form::{Form, Translated, Unsupported};
use crate::build_ssa::translator::Translator;
use crate::check::table::Modifier;

/// The signs of the terms of a sum.
#[derive(Clone, Copy, PartialEq)]
enum Signs {
    Sum,
    NegatedProduct,
    NegatedAddend,
}

/// `vmad`.
pub(in crate::build_ssa) fn multiply_add(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(4)?;
    let &[_, x, y] = form.types else { return Err(Unsupported) };
    let plus_one = form.take(Modifier::Po);
    let saturate = form.take(Modifier::Sat);
    let scale = if form.take(Modifier::Shr7) {
        7
    } else if form.take(Modifier::Shr15) {
        15
    } else {
        0
    };
    let a = Written::read(t, form.operand(1)?)?;
    let b = Written::read(t, form.operand(2)?)?;
    let c = Written::read(t, form.operand(3)?)?;
    let signs = match (a.negated != b.negated, c.negated) {
        (false, false) => Signs::Sum,
        (true, false) if !plus_one => Signs::NegatedProduct,
        (false, true) if !plus_one => Signs::NegatedAddend,
        _ => return Err(Unsupported),
    };
    if c.selector.is_some() || [x, y].iter().any(|ty| ty.bits() != 32) {
        return Err(Unsupported);
    }
    let signed = x.is_signed() || y.is_signed() || signs != Signs::Sum;
    let a = a.part()?.extract(t, a.word, x.is_signed());
    let b = b.part()?.extract(t, b.word, y.is_signed());
    let value = if scale == 0 && !saturate {
        low_bits(t, [a, b], c.word, signs, plus_one)
    } else {
        Exact { a, b, c: c.word, signs, plus_one, signed }.scaled(t, scale, saturate)
    };
    t.write(form.operand(0)?, value)
}

/// The low 32 bits of the sum.
fn low_bits(t: &mut Translator, factors: [Number; 2], c: Value, signs: Signs, plus_one: bool) -> Value {
    let ty = Type::B32;
    let factors = factors.map(|factor| factor.in_32_bits(t));
    let product = t.emit(Op::Imul, ty, &factors);
    let sum = match signs {
        Signs::Sum => t.emit(Op::Iadd, ty, &[product, c]),
        Signs::NegatedProduct => t.emit(Op::Isub, ty, &[c, product]),
        Signs::NegatedAddend => t.emit(Op::Isub, ty, &[product, c]),
    };
    if !plus_one {
        return sum;
    }
    let one = t.constant(ty, 1);
    t.emit(Op::Iadd, ty, &[sum, one])
}

/// A sum that is needed exactly.
struct Exact {
    a: Number,
    b: Number,
    c: Value,
    signs: Signs,
    plus_one: bool,
    signed: bool,
}

impl Exact {
    /// The product in 64 bits.
    fn product(&self, t: &mut Translator) -> Value {
        let op = if self.a.is_unsigned() && self.b.is_unsigned() {
            Op::UmulWide
        } else if self.a.is_signed() && self.b.is_signed() {
            Op::SmulWide
        } else {
            let args = [self.a.in_64_bits(t), self.b.in_64_bits(t)];
            return t.emit(Op::Imul, Type::B64, &args);
        };
        let args = [self.a.in_32_bits(t), self.b.in_32_bits(t)];
        t.emit(op, Type::B32, &args)
    }

    /// The least and the greatest possible sum.
    fn range(&self) -> (i128, i128) {
        let ((a, a_most), (b, b_most)) = (self.a.range(), self.b.range());
        let corners = [(a, b), (a, b_most), (a_most, b), (a_most, b_most)];
        let products = corners.map(|(a, b)| i128::from(a) * i128::from(b));
        let (least, greatest) =
            products.iter().fold((i128::MAX, i128::MIN), |(least, greatest), &product| {
                (least.min(product), greatest.max(product))
            });
        let (c, c_most) = super::number::limits(32, self.signed);
        let (c, c_most) = (i128::from(c), i128::from(c_most));
        match self.signs {
            Signs::Sum => (least + c, greatest + c_most + 1),
            Signs::NegatedProduct => (c - greatest, c_most - least),
            Signs::NegatedAddend => (least - c_most, greatest - c),
        }
    }

    /// Bits `scale` to `scale + 31` of the sum, or the nearest number to the shifted sum.
    fn scaled(&self, t: &mut Translator, scale: u32, saturate: bool) -> Value {
        let product = self.product(t);
        let c = Number::word(self.c, 32, self.signed).in_64_bits(t);
        let mut sum = match self.signs {
            Signs::Sum => t.emit(Op::Iadd, Type::B64, &[product, c]),
            Signs::NegatedProduct => t.emit(Op::Isub, Type::B64, &[c, product]),
            Signs::NegatedAddend => t.emit(Op::Isub, Type::B64, &[product, c]),
        };
        if self.plus_one {
            let one = t.constant(Type::B64, 1);
            sum = t.emit(Op::Iadd, Type::B64, &[sum, one]);
        }
        let (least, greatest) = self.range();
        if let (Ok(least), Ok(greatest)) = (i64::try_from(least), i64::try_from(greatest)) {
            let mut number = Number::wide(sum, least, greatest);
            if scale > 0 {
                number = number.shifted_right(t, scale);
            }
            if saturate {
                number = number.clamp(t, 32, self.signed);
            }
            return number.in_32_bits(t);
        }
        // The sum of a product of unsigned words: 64 bits without a sign, or 65 bits with one.
        if scale > 0 {
            let count = t.constant(Type::B32, scale.into());
            sum = t.emit(Op::Shr, Type::B64, &[sum, count]);
        }
        let low = t.emit(Op::Trunc, Type::B32, &[sum]);
        if !saturate {
            return low;
        }
        let limit = |t: &mut Translator, condition, bound, nearest| {
            let bound = t.constant(Type::B64, bound);
            let is_beyond = t.emit(Op::Icmp(condition), Type::B64, &[sum, bound]);
            let nearest = t.constant(Type::B32, nearest);
            t.emit(Op::Select, Type::B32, &[is_beyond, nearest, low])
        };
        if !self.signed {
            return limit(t, IntCond::Ugt, u32::MAX.into(), u32::MAX.into());
        }
        let negative = self.is_negative(t, product, c);
        let if_positive = limit(t, IntCond::Ugt, i32::MAX as u64, i32::MAX as u64);
        // The sum without its sign is 2^(64 - scale) greater.
        let bound = (u64::MAX >> scale) - (i32::MAX as u64);
        let if_negative = limit(t, IntCond::Ult, bound, i32::MIN as u64);
        t.emit(Op::Select, Type::B32, &[negative, if_negative, if_positive])
    }

    /// Whether the sum is negative, where the product is one of unsigned numbers.
    fn is_negative(&self, t: &mut Translator, product: Value, c: Value) -> Value {
        let zero = t.constant(Type::B64, 0);
        let c_negative = t.emit(Op::Icmp(IntCond::Slt), Type::B64, &[c, zero]);
        if self.signs == Signs::NegatedAddend {
            let less = t.emit(Op::Icmp(IntCond::Ult), Type::B64, &[product, c]);
            let positive = t.emit(Op::Not, Type::Pred, &[c_negative]);
            return t.emit(Op::And, Type::Pred, &[less, positive]);
        }
        let less = t.emit(Op::Icmp(IntCond::Ult), Type::B64, &[c, product]);
        t.emit(Op::Or, Type::Pred, &[less, c_negative])
    }
}
