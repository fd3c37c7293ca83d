//! SIMD video instructions: the same operation on two halves or four bytes.
//!
//! The selectors of the sources name an element of `a` or `b` for each lane. The mask of the
//! destination names the lanes that count. The other lanes keep the elements of `c`, or add nothing
//! to it.

use ptxc_ir::{Op, Type, Value};

use super::{Number, Operation, Part, Written, destination, holds, pick_bytes};
use crate::build_ssa::form::{Form, Translated, Unsupported};
use crate::build_ssa::translator::Translator;
use crate::check::table::{Modifier, modifiers};

/// The operation of a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::build_ssa) enum Lane {
    /// One of the operations of scalar instructions.
    Scalar(Operation),
    /// The mean, rounded away from zero.
    Average,
    /// 1 if the comparison among the modifiers holds, else 0.
    Set,
}

/// The number of an element for each lane; only the first `count` lanes exist.
type Elements = [u32; 4];

/// The sources of an instruction.
struct Sources {
    /// The number of lanes: 2 or 4.
    count: u32,
    a: Value,
    b: Value,
    /// For each lane, the element of its first and second number.
    elements: [Elements; 2],
    /// Whether the first and second numbers are signed.
    signed: [bool; 2],
}

impl Sources {
    /// The bits of an element.
    fn bits(&self) -> u32 {
        32 / self.count
    }

    /// The part of a word that is the element with that number.
    fn part(&self, element: u32) -> Part {
        Part { byte: element % self.count * self.bits() / 8, bits: self.bits() }
    }

    /// The first or second number of a lane.
    fn number(&self, t: &mut Translator, which: usize, lane: usize) -> Number {
        let element = self.elements[which][lane];
        let word = if element < self.count { self.a } else { self.b };
        self.part(element).extract(t, word, self.signed[which])
    }

    /// The word that has the first or second element of each lane.
    fn gather(&self, t: &mut Translator, which: usize) -> Value {
        let elements = self.elements[which];
        let count = self.count as usize;
        if elements[..count] == default_elements(self.count, 0)[..count] {
            return self.a;
        }
        if elements[..count] == default_elements(self.count, 1)[..count] {
            return self.b;
        }
        let bytes = self.bits() / 8;
        let digit = |place: u32| elements[(place / bytes) as usize] * bytes + place % bytes;
        pick_bytes(t, self.a, self.b, [digit(0), digit(1), digit(2), digit(3)])
    }
}

/// The elements of the first or second source without a selector.
fn default_elements(count: u32, which: u32) -> Elements {
    [0, 1, 2, 3].map(|lane| lane + which * count)
}

/// The digits of a selector such as `b3210` or `h32`, from lane 0 on: the last digit comes first.
fn digits(selector: &str, count: u32) -> Translated<impl Iterator<Item = u32>> {
    let digits = selector.strip_prefix(if count == 2 { 'h' } else { 'b' }).ok_or(Unsupported)?;
    let all = digits.bytes().all(|digit| digit.is_ascii_digit());
    if all { Ok(digits.bytes().rev().map(|digit| u32::from(digit - b'0'))) } else { Err(Unsupported) }
}

/// The elements that the selector of the first or second source names.
fn elements(selector: Option<&str>, count: u32, which: u32) -> Translated<Elements> {
    let Some(selector) = selector else { return Ok(default_elements(count, which)) };
    let mut elements = [0; 4];
    let mut lanes = 0;
    for digit in digits(selector, count)? {
        if lanes == count || digit >= 2 * count {
            return Err(Unsupported);
        }
        elements[lanes as usize] = digit;
        lanes += 1;
    }
    if lanes == count { Ok(elements) } else { Err(Unsupported) }
}

/// One bit for each lane that the mask of the destination names.
fn mask(selector: Option<&str>, count: u32) -> Translated<u32> {
    let Some(selector) = selector else { return Ok((1 << count) - 1) };
    let mut mask = 0;
    for digit in digits(selector, count)? {
        // The greatest number comes first in the selector, and last here.
        if digit >= count || mask >> digit != 0 {
            return Err(Unsupported);
        }
        mask |= 1 << digit;
    }
    if mask == 0 { Err(Unsupported) } else { Ok(mask) }
}

/// `vadd2` to `vset4`: `count` lanes.
pub(in crate::build_ssa) fn lanes(t: &mut Translator, form: &mut Form, lane: Lane, count: u32) -> Translated {
    form.expect_operands(4)?;
    let comparison = if lane == Lane::Set { form.choose::<modifiers::Comparison>() } else { None };
    let (to_signed, x, y) = match (lane, form.types) {
        (Lane::Set, &[x, y]) => (false, x, y),
        (Lane::Scalar(_) | Lane::Average, &[to, x, y]) => (to.is_signed(), x, y),
        _ => return Err(Unsupported),
    };
    let saturate = form.take(Modifier::Sat);
    let accumulate = form.take(Modifier::Add);
    let a = Written::read(t, form.operand(1)?)?;
    let b = Written::read(t, form.operand(2)?)?;
    let c = Written::read(t, form.operand(3)?)?;
    if a.negated || b.negated || c.negated || c.selector.is_some() || (saturate && accumulate) {
        return Err(Unsupported);
    }
    let (to, selector) = destination(t, form.operand(0)?);
    let mask = mask(selector, count)?;
    let sources = Sources {
        count,
        a: a.word,
        b: b.word,
        elements: [elements(a.selector, count, 0)?, elements(b.selector, count, 1)?],
        signed: [x.is_signed(), y.is_signed()],
    };
    let limits = saturate.then_some(to_signed);
    let value = match lane {
        Lane::Scalar(Operation::Plus) if accumulate => accumulated(t, &sources, mask, c.word, false),
        Lane::Scalar(Operation::Minus) if accumulate => accumulated(t, &sources, mask, c.word, true),
        Lane::Scalar(_) | Lane::Average | Lane::Set => {
            let every_lane = mask == (1 << count) - 1;
            let mut result = if every_lane && !accumulate { None } else { Some(c.word) };
            for index in (0..count as usize).filter(|&index| mask >> index & 1 == 1) {
                let number = result_of_lane(t, &sources, lane, comparison, index)?;
                let number = limits.map_or(number, |signed| number.clamp(t, sources.bits(), signed));
                let value = number.in_32_bits(t);
                result = Some(match result {
                    Some(sum) if accumulate => t.emit(Op::Iadd, Type::B32, &[sum, value]),
                    Some(word) => sources.part(index as u32).merge(t, value, word),
                    // The lanes above replace the bits above those of lane 0.
                    None => value,
                });
            }
            result.ok_or(Unsupported)?
        }
    };
    t.write(&to, value)
}

/// The result of one lane.
fn result_of_lane(
    t: &mut Translator,
    sources: &Sources,
    lane: Lane,
    comparison: Option<modifiers::Comparison>,
    index: usize,
) -> Translated<Number> {
    let x = sources.number(t, 0, index);
    let y = sources.number(t, 1, index);
    match lane {
        Lane::Scalar(operation) => Ok(operation.apply(t, x, y)),
        Lane::Average => Ok(average(t, x, y)),
        Lane::Set => holds(t, comparison.ok_or(Unsupported)?, x, y),
    }
}

/// The mean of two numbers; a half is rounded away from zero.
fn average(t: &mut Translator, x: Number, y: Number) -> Number {
    let sum = x.plus(t, y);
    let one = Number::word(t.constant(Type::B32, 1), 2, false);
    let mut rounded = sum.plus(t, one);
    if !sum.is_unsigned() {
        // One less for a negative sum.
        let count = t.constant(Type::B32, 31);
        let word = sum.in_32_bits(t);
        let sign = Number::word(t.emit(Op::Sar, Type::B32, &[word, count]), 1, true);
        rounded = rounded.plus(t, sign);
    }
    rounded.shifted_right(t, 1)
}

/// `c` plus the sums or differences of the lanes, by dot products with 1 and -1.
fn accumulated(t: &mut Translator, sources: &Sources, mask: u32, c: Value, subtract: bool) -> Value {
    let mut sum = c;
    for which in [1, 0] {
        let word = sources.gather(t, which);
        let negative = subtract && which == 1;
        let factor = if negative { 0xff } else { 1 };
        let factors = (0..4).filter(|lane| mask >> lane & 1 == 1).map(|lane| factor << (8 * lane)).sum();
        let factors = t.constant(Type::B32, factors);
        let (a_signed, b_signed) = (sources.signed[which], negative);
        let op = match sources.count {
            2 => Op::Dp2a { a_signed, b_signed, high: false },
            _ => Op::Dp4a { a_signed, b_signed },
        };
        sum = t.emit(op, Type::B32, &[word, factors, sum]);
    }
    sum
}
