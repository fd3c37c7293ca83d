//! Video instructions: arithmetic on parts of registers.
//!
//! A scalar instruction computes with an exact number of each source, clamps the result or not, and
//! then combines it with operand `c` or puts it into a part of `c`. A SIMD instruction does the same
//! with two halves or four bytes of each source. The module `video` of `ptxc-semantics` defines the
//! results.
//!
//! ```text
//! vadd.s32.u32.s32.sat  d.h1, a.b0, b, c;     scalar: a part of each source, a part of the result
//! vadd4.u32.u32.u32     d.b10, a.b3210, b.b7654, c;     SIMD: bytes of `a` and `b`, a mask
//! ```

mod multiply;
mod number;
mod simd;

use ptxc_ir::{BytePick, Op, Type, Value};
use ptxc_syntax::ast::{Operand, OperandKind};

pub(super) use self::multiply::multiply_add;
use self::number::Number;
pub(super) use self::simd::{Lane, lanes};
use super::form::{Form, Translated, Unsupported};
use super::modifiers::integer_condition;
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::scope::Meaning;
use crate::check::table::{Modifier, modifiers};

/// The operation of an instruction on two numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operation {
    Plus,
    Minus,
    Distance,
    Min,
    Max,
}

impl Operation {
    fn apply(self, t: &mut Translator, a: Number, b: Number) -> Number {
        match self {
            Operation::Plus => a.plus(t, b),
            Operation::Minus => a.minus(t, b),
            Operation::Distance => a.distance(t, b),
            Operation::Min => a.extreme(t, b, false),
            Operation::Max => a.extreme(t, b, true),
        }
    }
}

/// A part of a word: a byte or half, or the whole word.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    /// The number of its lowest byte.
    byte: u32,
    bits: u32,
}

impl Part {
    const WORD: Part = Part { byte: 0, bits: 32 };

    /// The part that a selector names; `None` for selectors of other instructions.
    fn of(selector: &str) -> Option<Part> {
        Some(match selector {
            "b0" => Part { byte: 0, bits: 8 },
            "b1" => Part { byte: 1, bits: 8 },
            "b2" => Part { byte: 2, bits: 8 },
            "b3" => Part { byte: 3, bits: 8 },
            "h0" => Part { byte: 0, bits: 16 },
            "h1" => Part { byte: 2, bits: 16 },
            _ => return None,
        })
    }

    /// The number in this part of a word.
    fn extract(self, t: &mut Translator, word: Value, signed: bool) -> Number {
        let (byte, last) = (self.byte, self.byte + self.bits / 8 - 1);
        if self.bits == 32 {
            return Number::word(word, 32, signed);
        }
        // Bytes 4 to 7 are zero, and bit 3 of a digit repeats the byte's sign.
        let above = if signed { 8 | last } else { 4 };
        let digit = |place: u32| if byte + place <= last { byte + place } else { above };
        let zero = t.constant(Type::B32, 0);
        let value = pick_bytes(t, word, zero, [digit(0), digit(1), digit(2), digit(3)]);
        Number::word(value, self.bits, signed)
    }

    /// The word `into` with the low bits of `value` in this part.
    fn merge(self, t: &mut Translator, value: Value, into: Value) -> Value {
        if self.bits == 32 {
            return value;
        }
        let inside = |place: u32| (self.byte..self.byte + self.bits / 8).contains(&place);
        let digit = |place: u32| if inside(place) { 4 + place - self.byte } else { place };
        pick_bytes(t, into, value, [digit(0), digit(1), digit(2), digit(3)])
    }
}

/// Four bytes of `a` (0 to 3) and `b` (4 to 7), the lowest first.
fn pick_bytes(t: &mut Translator, a: Value, b: Value, digits: [u32; 4]) -> Value {
    let digits = digits.iter().rev().fold(0, |all, &digit| all << 4 | u64::from(digit));
    let digits = t.constant(Type::B32, digits);
    t.emit(Op::Prmt(BytePick::Index), Type::B32, &[a, b, digits])
}

/// A source as it is written: the whole register, its selector, and whether it has a minus sign.
struct Written<'a> {
    word: Value,
    selector: Option<&'a str>,
    negated: bool,
}

impl<'a> Written<'a> {
    fn read(t: &mut Translator, operand: &'a Operand) -> Translated<Written<'a>> {
        match &operand.kind {
            OperandKind::Minus(inner) => {
                let written = Written::read(t, inner)?;
                Ok(Written { negated: !written.negated, ..written })
            }
            OperandKind::Selected(selected) => {
                let (name, selector) = &**selected;
                let is_scalar = matches!(t.scopes.lookup(name), Some(Meaning::Register { vector: None, .. }));
                let word = if is_scalar { t.named(operand.id, name)? } else { t.any(operand)? };
                let selector = is_scalar.then_some(selector.as_str());
                if t.ty(word) != Type::B32 {
                    Err(Unsupported)
                } else {
                    Ok(Written { word, selector, negated: false })
                }
            }
            _ => Ok(Written { word: t.read(operand, Scalar::B32)?, selector: None, negated: false }),
        }
    }

    /// The part that a scalar instruction names.
    fn part(&self) -> Translated<Part> {
        self.selector.map_or(Some(Part::WORD), Part::of).ok_or(Unsupported)
    }
}

/// The number in a source of a scalar instruction.
fn source(t: &mut Translator, form: &Form, index: usize, scalar: Scalar) -> Translated<Number> {
    let written = Written::read(t, form.operand(index)?)?;
    if written.negated || scalar.bits() != 32 {
        return Err(Unsupported);
    }
    Ok(written.part()?.extract(t, written.word, scalar.is_signed()))
}

/// The destination as it is written: the operand to write to, and its selector.
fn destination<'a>(t: &Translator, operand: &'a Operand) -> (Operand, Option<&'a str>) {
    if let OperandKind::Selected(selected) = &operand.kind
        && matches!(t.scopes.lookup(&selected.0), Some(Meaning::Register { vector: None, .. }))
    {
        let whole = Operand { id: operand.id, kind: OperandKind::Symbol(selected.0.clone()) };
        return (whole, Some(&selected.1));
    }
    (operand.clone(), None)
}

/// What an instruction does with its first result.
struct Rest {
    signed: bool,
    saturate: bool,
    /// The part of the destination that it writes.
    part: Part,
    to: Operand,
    second: Option<Modifier>,
}

impl Rest {
    fn take(t: &Translator, form: &mut Form, signed: bool) -> Translated<Rest> {
        let saturate = form.take(Modifier::Sat);
        let second =
            [Modifier::Add, Modifier::Min, Modifier::Max].into_iter().find(|&second| form.take(second));
        let (to, selector) = destination(t, form.operand(0)?);
        let part = selector.map_or(Some(Part::WORD), Part::of).ok_or(Unsupported)?;
        let combines = second.is_some();
        let count = form.operands.len();
        if !(3..=4).contains(&count)
            || (count == 3 && (combines || part != Part::WORD))
            || (combines && part != Part::WORD)
        {
            return Err(Unsupported);
        }
        Ok(Rest { signed, saturate, part, to, second })
    }

    /// Whether only the low 32 bits of the first result count.
    fn keeps_low_bits(&self) -> bool {
        !self.saturate && !matches!(self.second, Some(Modifier::Min | Modifier::Max))
    }

    /// Clamps the result, combines it or puts it into its part, and writes it.
    fn finish(self, t: &mut Translator, form: &Form, mut number: Number) -> Translated {
        if self.saturate {
            number = number.clamp(t, self.part.bits, self.signed);
        }
        let value = match self.second {
            Some(second) => {
                let c = t.read(form.operand(3)?, Scalar::B32)?;
                if second == Modifier::Add {
                    let value = number.in_32_bits(t);
                    t.emit(Op::Iadd, Type::B32, &[value, c])
                } else {
                    let c = Number::word(c, 32, self.signed);
                    let number = number.truncate(t, 33);
                    number.extreme(t, c, second == Modifier::Max).in_32_bits(t)
                }
            }
            None if self.part == Part::WORD => number.in_32_bits(t),
            None => {
                let c = t.read(form.operand(3)?, Scalar::B32)?;
                let value = number.in_32_bits(t);
                self.part.merge(t, value, c)
            }
        };
        t.write(&self.to, value)
    }
}

/// `vadd`, `vsub`, `vabsdiff`, `vmin` and `vmax`.
pub(super) fn arithmetic(t: &mut Translator, form: &mut Form, operation: Operation) -> Translated {
    let &[to, x, y] = form.types else { return Err(Unsupported) };
    let rest = Rest::take(t, form, to.is_signed())?;
    let a = source(t, form, 1, x)?;
    let b = source(t, form, 2, y)?;
    let number = match operation {
        Operation::Plus | Operation::Minus if rest.keeps_low_bits() => {
            let op = if operation == Operation::Plus { Op::Iadd } else { Op::Isub };
            let args = [a.in_32_bits(t), b.in_32_bits(t)];
            Number::low_bits(t.emit(op, Type::B32, &args))
        }
        _ => operation.apply(t, a, b),
    };
    rest.finish(t, form, number)
}

/// `vshl` and `vshr`. A shift to the left keeps 34 bits.
pub(super) fn shift(t: &mut Translator, form: &mut Form, left: bool) -> Translated {
    let &[to, x, count] = form.types else { return Err(Unsupported) };
    let limit = form.choose::<modifiers::Limit>().ok_or(Unsupported)?;
    let rest = Rest::take(t, form, to.is_signed())?;
    let a = source(t, form, 1, x)?;
    let mut count = source(t, form, 2, count)?;
    if limit == modifiers::Limit::Wrap {
        let (mask, value) = (t.constant(Type::B32, 31), count.in_32_bits(t));
        count = Number::word(t.emit(Op::And, Type::B32, &[value, mask]), 5, false);
    }
    let number = if !left {
        a.shifted_right_by(t, count)
    } else if rest.keeps_low_bits() {
        // A count of 32 or more gives zero.
        let args = [a.in_32_bits(t), count.in_32_bits(t)];
        Number::low_bits(t.emit(Op::Shl, Type::B32, &args))
    } else {
        if limit == modifiers::Limit::Clamp {
            let most = Number::word(t.constant(Type::B32, 32), 6, false);
            count = count.extreme(t, most, false);
        }
        let args = [a.in_64_bits(t), count.in_32_bits(t)];
        let value = t.emit(Op::Shl, Type::B64, &args);
        Number::wide(value, i64::MIN, i64::MAX).truncate(t, 34)
    };
    rest.finish(t, form, number)
}

/// `vset`: 1 if the comparison holds, else 0.
pub(super) fn set(t: &mut Translator, form: &mut Form) -> Translated {
    let &[x, y] = form.types else { return Err(Unsupported) };
    let comparison = form.choose::<modifiers::Comparison>().ok_or(Unsupported)?;
    let rest = Rest::take(t, form, false)?;
    let a = source(t, form, 1, x)?;
    let b = source(t, form, 2, y)?;
    let number = holds(t, comparison, a, b)?;
    rest.finish(t, form, number)
}

/// 1 if a comparison holds, else 0.
fn holds(t: &mut Translator, comparison: modifiers::Comparison, a: Number, b: Number) -> Translated<Number> {
    let condition = |signed| integer_condition(comparison, if signed { Scalar::S32 } else { Scalar::U32 });
    let (signed, unsigned) = (condition(true).ok_or(Unsupported)?, condition(false).ok_or(Unsupported)?);
    let holds = a.compare(t, b, |is_signed| if is_signed { signed } else { unsigned });
    let (one, zero) = (t.constant(Type::B32, 1), t.constant(Type::B32, 0));
    let value = t.emit(Op::Select, Type::B32, &[holds, one, zero]);
    Ok(Number::word(value, 1, false))
}
