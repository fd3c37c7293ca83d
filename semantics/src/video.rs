//! The video instructions of PTX: arithmetic on parts of 32-bit registers, exact and then narrowed.
//!
//! In: words, and a description of the parts that count. Out: a word. Every source becomes an exact
//! number ([`Source::number`]). The operation computes an exact number from these. The PTX ISA keeps
//! 34 bits of it, which only [`shift`] can exceed. Saturation comes next, and a second operation or
//! a merge with operand `c` last.
//!
//! ```
//! use ptxc_semantics::video::{self, Destination, Operation, Part, Source, Then};
//! let a = Source { word: 0x0000_f000, part: Part::Byte(1), signed: true };
//! let b = Source { word: 3, part: Part::Word, signed: false };
//! let plain = Destination { signed: true, saturate: false, then: Then::Keep };
//! assert_eq!(video::scalar(Operation::Add, a, b, plain), (-16 + 3) as u32);
//! ```

use crate::bits::Limit;
use crate::int::{self, IntCmp, S64};

/// A part of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Part {
    /// All 32 bits.
    Word,
    /// `.h0` or `.h1`; the number counts modulo 2.
    Half(u8),
    /// `.b0` to `.b3`; the number counts modulo 4.
    Byte(u8),
}

impl Part {
    /// The width, in bits.
    pub const fn bits(self) -> u32 {
        match self {
            Part::Word => 32,
            Part::Half(_) => 16,
            Part::Byte(_) => 8,
        }
    }

    /// The position of the lowest bit.
    pub const fn position(self) -> u32 {
        match self {
            Part::Word => 0,
            Part::Half(index) => (index & 1) as u32 * 16,
            Part::Byte(index) => (index & 3) as u32 * 8,
        }
    }

    /// The number in this part of a word.
    pub const fn number(self, word: u32, signed: bool) -> i64 {
        let unused = 64 - self.bits();
        let bits = ((word >> self.position()) as u64) << unused;
        if signed { bits as i64 >> unused } else { (bits >> unused) as i64 }
    }

    /// The word `into` with the low bits of `value` in this part.
    pub const fn merge(self, value: u32, into: u32) -> u32 {
        let mask = (u32::MAX >> (32 - self.bits())) << self.position();
        into & !mask | value << self.position() & mask
    }
}

/// A source operand: a part of a word, sign-extended or zero-extended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Source {
    /// The register.
    pub word: u32,
    /// The part of it that counts.
    pub part: Part,
    /// Whether the part is in two's complement.
    pub signed: bool,
}

impl Source {
    /// The exact number.
    pub const fn number(self) -> i64 {
        self.part.number(self.word, self.signed)
    }
}

/// The operation of a scalar instruction on two sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Operation {
    /// `a + b`: `vadd`.
    Add,
    /// `a - b`: `vsub`.
    Sub,
    /// `|a - b|`: `vabsdiff`.
    AbsDiff,
    /// The lesser number: `vmin`.
    Min,
    /// The greater number: `vmax`.
    Max,
}

impl Operation {
    const fn apply(self, a: i64, b: i64) -> i64 {
        match self {
            Operation::Add => a + b,
            Operation::Sub => a - b,
            Operation::AbsDiff => (a - b).abs(),
            Operation::Min => least(a, b),
            Operation::Max => greatest(a, b),
        }
    }
}

/// The second operation, on the first result and `c`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Second {
    /// The sum, modulo 2^32.
    Add,
    /// The lesser number.
    Min,
    /// The greater number.
    Max,
}

/// What follows the operation of a scalar instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Then {
    /// Nothing: the low 32 bits are the result.
    Keep,
    /// A second operation with the word `c`.
    Combine(Second, u32),
    /// The low bits replace that part of the word `c`.
    Merge(Part, u32),
}

/// The destination of a scalar instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Destination {
    /// Whether its type is `.s32`.
    pub signed: bool,
    /// Whether the result is clamped to the numbers of the destination, or of the merged part.
    pub saturate: bool,
    /// What follows.
    pub then: Then,
}

impl Destination {
    /// The result of an intermediate number of 34 bits.
    const fn finish(self, number: i64) -> u32 {
        let part = match self.then {
            Then::Merge(part, _) => part,
            Then::Keep | Then::Combine(..) => Part::Word,
        };
        // A second operation gets 33 bits of a number that is not clamped.
        let number = if self.saturate { clamp(number, part.bits(), self.signed) } else { low(number, 33) };
        match self.then {
            Then::Keep => number as u32,
            Then::Merge(part, c) => part.merge(number as u32, c),
            Then::Combine(second, word) => {
                let c = Part::Word.number(word, self.signed);
                (match second {
                    Second::Add => number + c,
                    Second::Min => least(number, c),
                    Second::Max => greatest(number, c),
                }) as u32
            }
        }
    }
}

const fn least(a: i64, b: i64) -> i64 {
    if a < b { a } else { b }
}

const fn greatest(a: i64, b: i64) -> i64 {
    if a > b { a } else { b }
}

/// The low bits of a number, in two's complement.
const fn low(number: i64, bits: u32) -> i64 {
    number << (64 - bits) >> (64 - bits)
}

/// The number of that width nearest to `number`.
const fn clamp(number: i64, bits: u32, signed: bool) -> i64 {
    let (bottom, top) =
        if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1i64 << bits) - 1) };
    least(greatest(number, bottom), top)
}

/// `vadd`, `vsub`, `vabsdiff`, `vmin` and `vmax`.
pub const fn scalar(operation: Operation, a: Source, b: Source, to: Destination) -> u32 {
    to.finish(operation.apply(a.number(), b.number()))
}

/// `vshl` and `vshr`: `a` shifted by `count`, which is unsigned. A count above 32 is 32, or with
/// [`Limit::Wrap`] only its low five bits count. A shift to the left keeps 34 bits.
pub const fn shift(left: bool, limit: Limit, a: Source, count: Source, to: Destination) -> u32 {
    let count = Part::number(count.part, count.word, false);
    let count = match limit {
        Limit::Clamp => least(count, 32),
        Limit::Wrap => count & 31,
    };
    to.finish(if left { a.number() << 30 << count >> 30 } else { a.number() >> count })
}

/// `vset`: 1 if the comparison holds, else 0. The destination is unsigned.
pub const fn set(cmp: IntCmp, a: Source, b: Source, then: Then) -> u32 {
    let to = Destination { signed: false, saturate: false, then };
    to.finish(holds(cmp, a.number(), b.number()) as i64)
}

/// Whether a comparison of exact numbers holds; they are numbers of `.s64`.
const fn holds(cmp: IntCmp, a: i64, b: i64) -> bool {
    int::compare(S64, cmp, a as u64, b as u64)
}

/// The modifiers of [`mad`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct Mad {
    /// Whether the product is negated: exactly one of the factors has a minus sign.
    pub negated_product: bool,
    /// Whether `c` is negated.
    pub negated_addend: bool,
    /// Whether 1 is added: `.po`.
    pub plus_one: bool,
    /// How far the sum is shifted to the right: 0, 7 or 15.
    pub scale: u32,
    /// Whether the result is clamped.
    pub saturate: bool,
}

/// `vmad`: `a * b + c`. The result is unsigned if both factors are and nothing is negated. That
/// decides how `c` is extended, and the limits of saturation; the type of the destination does not.
pub const fn mad(a: Source, b: Source, c: u32, how: Mad) -> u32 {
    let signed = a.signed || b.signed || how.negated_product || how.negated_addend;
    let product = a.number() as i128 * b.number() as i128;
    let (product, c, one) = if how.plus_one {
        (product, c, 1)
    } else if how.negated_product {
        (!product, c, 1)
    } else if how.negated_addend {
        (product, !c, 1)
    } else {
        (product, c, 0)
    };
    let sum = (product + Part::Word.number(c, signed) as i128 + one) >> (how.scale & 127);
    if !how.saturate {
        return sum as u32;
    }
    let (bottom, top) = if signed { (i32::MIN as i128, i32::MAX as i128) } else { (0, u32::MAX as i128) };
    (if sum < bottom {
        bottom
    } else if sum > top {
        top
    } else {
        sum
    }) as u32
}

/// The operation of a SIMD instruction on an element of each source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum LaneOperation {
    /// One of the operations of scalar instructions.
    Scalar(Operation),
    /// The mean, where one half is rounded away from zero: `vavrg2` and `vavrg4`.
    Average,
    /// 1 if the comparison holds, else 0: `vset2` and `vset4`.
    Set(IntCmp),
}

/// The elements of a SIMD instruction. `LANES` is 2 for halves and 4 for bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Lanes<const LANES: usize> {
    /// For each lane its element of the first source: first those of `a`, then those of `b`.
    pub a: [u8; LANES],
    /// The same for the second source.
    pub b: [u8; LANES],
    /// Whether the elements of the first source are in two's complement.
    pub a_signed: bool,
    /// The same for the second source.
    pub b_signed: bool,
    /// The lanes that count.
    pub mask: [bool; LANES],
}

/// What follows the operation of a SIMD instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum LanesThen {
    /// The result has the low bits of each number, and the elements of `c` in the other lanes.
    Merge,
    /// The same with clamped numbers; with the flag to signed ones.
    Saturate(bool),
    /// The numbers of all lanes that count are added to `c`, modulo 2^32.
    Accumulate,
}

/// `vadd2` to `vmax2`, `vset2`, and the same for four bytes.
pub fn simd<const LANES: usize>(
    operation: LaneOperation,
    lanes: Lanes<LANES>,
    [a, b, c]: [u32; 3],
    then: LanesThen,
) -> u32 {
    let bits = 32 / LANES.clamp(1, 32) as u32;
    let element = |index: u8, signed: bool| {
        let word = if usize::from(index) < LANES { a } else { b };
        let place = usize::from(index) % LANES;
        let part = if bits == 16 { Part::Half(place as u8) } else { Part::Byte(place as u8) };
        part.number(word, signed)
    };
    let mut result = c;
    for lane in (0..LANES).filter(|&lane| lanes.mask[lane]) {
        let x = element(lanes.a[lane], lanes.a_signed);
        let y = element(lanes.b[lane], lanes.b_signed);
        let number = match operation {
            LaneOperation::Scalar(operation) => operation.apply(x, y),
            LaneOperation::Average => (x + y + i64::from(x + y >= 0)) >> 1,
            LaneOperation::Set(cmp) => i64::from(holds(cmp, x, y)),
        };
        let number = match then {
            LanesThen::Saturate(signed) => clamp(number, bits, signed),
            LanesThen::Merge | LanesThen::Accumulate => number,
        };
        let place = lane as u8;
        let part = if bits == 16 { Part::Half(place) } else { Part::Byte(place) };
        result = match then {
            LanesThen::Accumulate => result.wrapping_add(number as u32),
            LanesThen::Merge | LanesThen::Saturate(_) => part.merge(number as u32, result),
        };
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(word: u32, signed: bool) -> Source {
        Source { word, part: Part::Word, signed }
    }

    const fn to(signed: bool, saturate: bool, then: Then) -> Destination {
        Destination { signed, saturate, then }
    }

    #[test]
    fn parts_are_extended_and_merged() {
        let number = |part, signed| Source { word: 0x80ff_7f81, part, signed }.number();
        assert_eq!(number(Part::Byte(0), false), 0x81);
        assert_eq!(number(Part::Byte(0), true), -127);
        assert_eq!(number(Part::Byte(3), true), -128);
        assert_eq!(number(Part::Half(0), true), 0x7f81);
        assert_eq!(number(Part::Half(1), true), -32513);
        assert_eq!(number(Part::Word, true), 0x80ff_7f81_u32 as i32 as i64);
        assert_eq!(number(Part::Word, false), 0x80ff_7f81);
        assert_eq!(Part::Byte(2).merge(0x1234, 0xaabb_ccdd), 0xaa34_ccdd);
        assert_eq!(Part::Half(1).merge(0x1234, 0xaabb_ccdd), 0x1234_ccdd);
        assert_eq!(Part::Half(0).merge(0x51234, 0xaabb_ccdd), 0xaabb_1234);
        assert_eq!(Part::Word.merge(7, 1), 7);
    }

    #[test]
    fn sums_are_exact_before_they_are_clamped() {
        let (most, one) = (word(u32::MAX, false), word(1, false));
        let add = |a, b, to| scalar(Operation::Add, a, b, to);
        assert_eq!(add(most, one, to(false, false, Then::Keep)), 0);
        assert_eq!(add(most, one, to(false, true, Then::Keep)), u32::MAX);
        assert_eq!(add(most, one, to(true, true, Then::Keep)), i32::MAX as u32);
        assert_eq!(add(most, word(u32::MAX, true), to(false, true, Then::Keep)), u32::MAX - 1);
        let sub = |a, b, to| scalar(Operation::Sub, a, b, to);
        assert_eq!(sub(one, most, to(false, true, Then::Keep)), 0);
        assert_eq!(sub(one, most, to(true, true, Then::Keep)), i32::MIN as u32);
        let lowest = word(0x8000_0000, true);
        assert_eq!(scalar(Operation::AbsDiff, lowest, most, to(false, true, Then::Keep)), u32::MAX);
        assert_eq!(scalar(Operation::Min, lowest, most, to(true, false, Then::Keep)), 0x8000_0000);
        assert_eq!(scalar(Operation::Max, lowest, most, to(true, true, Then::Keep)), i32::MAX as u32);
    }

    #[test]
    fn a_second_operation_compares_33_bits() {
        let (half, zero) = (word(0x8000_0000, false), word(0, false));
        let then = |second, c| to(false, false, Then::Combine(second, c));
        assert_eq!(scalar(Operation::Add, half, zero, then(Second::Max, 0x9000_0000)), 0x9000_0000);
        assert_eq!(scalar(Operation::Add, half, zero, then(Second::Min, 0x9000_0000)), 0x8000_0000);
        // 2^32 is negative in 33 bits.
        assert_eq!(scalar(Operation::Add, half, half, then(Second::Max, 5)), 5);
        assert_eq!(scalar(Operation::Add, half, half, then(Second::Add, 5)), 5);
        let signed = to(true, true, Then::Combine(Second::Min, -7i32 as u32));
        assert_eq!(scalar(Operation::Add, half, half, signed), -7i32 as u32);
    }

    #[test]
    fn saturation_before_a_merge_has_the_limits_of_the_part() {
        let a = word(-200i32 as u32, true);
        let merged = |signed, part| {
            scalar(Operation::Add, a, word(0, true), to(signed, true, Then::Merge(part, 0x1122_3344)))
        };
        assert_eq!(merged(true, Part::Byte(1)), 0x1122_8044);
        assert_eq!(merged(false, Part::Byte(1)), 0x1122_0044);
        assert_eq!(merged(true, Part::Half(1)), 0xff38_3344);
    }

    #[test]
    fn shifts_keep_34_bits() {
        let keep = |saturate| to(false, saturate, Then::Keep);
        let left = |a, count, limit, to| shift(true, limit, word(a, false), word(count, false), to);
        assert_eq!(left(0x8000_0001, 1, Limit::Clamp, keep(false)), 2);
        assert_eq!(left(0x8000_0001, 1, Limit::Clamp, keep(true)), u32::MAX);
        // Bit 33 is the sign.
        assert_eq!(left(0x8000_0001, 2, Limit::Clamp, keep(true)), 0);
        assert_eq!(left(0x8000_0001, 3, Limit::Clamp, keep(true)), 8);
        assert_eq!(left(1, 33, Limit::Wrap, keep(true)), 2);
        assert_eq!(left(1, 33, Limit::Clamp, keep(true)), u32::MAX);
        assert_eq!(left(4, 40, Limit::Clamp, keep(true)), 0);
        let right = |a, count, limit| shift(false, limit, word(a, true), word(count, false), keep(false));
        assert_eq!(right(0x8000_0000, 99, Limit::Clamp), u32::MAX);
        assert_eq!(right(0x8000_0000, 33, Limit::Wrap), 0xc000_0000);
    }

    #[test]
    fn comparisons_are_of_exact_numbers() {
        let minus = word(u32::MAX, true);
        let most = word(u32::MAX, false);
        assert_eq!(set(IntCmp::Eq, minus, most, Then::Keep), 0);
        assert_eq!(set(IntCmp::Lt, minus, most, Then::Keep), 1);
        assert_eq!(set(IntCmp::Ge, minus, most, Then::Combine(Second::Add, 7)), 7);
        assert_eq!(set(IntCmp::Le, minus, most, Then::Merge(Part::Byte(3), 0)), 1 << 24);
    }

    #[test]
    fn products_are_exact() {
        let (most, lowest) = (word(u32::MAX, false), word(0x8000_0000, true));
        let how = Mad { saturate: true, ..Mad::default() };
        assert_eq!(mad(most, most, 0, how), u32::MAX);
        assert_eq!(mad(most, most, 0, Mad { negated_product: true, ..how }), 0x8000_0000);
        assert_eq!(mad(most, lowest, 0, how), 0x8000_0000);
        assert_eq!(mad(lowest, lowest, 0, how), i32::MAX as u32);
        let scaled = Mad { scale: 15, ..Mad::default() };
        assert_eq!(mad(word(1 << 10, false), word(1 << 10, false), 0, scaled), 32);
        assert_eq!(mad(word(1, false), word(0x7fff, false), 0, Mad { plus_one: true, ..scaled }), 1);
        // Without a sign, `c` is zero-extended.
        assert_eq!(mad(word(0, false), word(0, false), 0x8000_0000, scaled), 0x1_0000);
        assert_eq!(mad(word(0, true), word(0, false), 0x8000_0000, scaled), 0xffff_0000);
        assert_eq!(mad(word(5, false), word(3, false), 7, Mad { negated_addend: true, ..how }), 8);
        assert_eq!(
            mad(word(5, false), word(3, false), 7, Mad { negated_product: true, ..how }),
            -8i32 as u32
        );
    }

    #[test]
    fn lanes_are_selected_and_masked() {
        let all =
            Lanes { a: [0, 1, 2, 3], b: [4, 5, 6, 7], a_signed: false, b_signed: false, mask: [true; 4] };
        let words = [0x01ff_8003, 0x0202_0304, 0xaabb_ccdd];
        let run = |operation, lanes, then| simd(operation, lanes, words, then);
        let add = LaneOperation::Scalar(Operation::Add);
        assert_eq!(run(add, all, LanesThen::Merge), 0x0301_8307);
        assert_eq!(run(add, all, LanesThen::Saturate(false)), 0x03ff_8307);
        assert_eq!(run(add, all, LanesThen::Saturate(true)), 0x037f_7f07);
        assert_eq!(run(add, all, LanesThen::Accumulate), 0xaabb_ccdd + 3 + 0x101 + 0x83 + 7);
        let some = Lanes { a: [3, 7, 0, 0], mask: [true, false, true, false], ..all };
        assert_eq!(run(add, some, LanesThen::Merge), 0xaa05_cc05);
        let difference = LaneOperation::Scalar(Operation::AbsDiff);
        assert_eq!(run(difference, all, LanesThen::Merge), 0x01fd_7d01);
        assert_eq!(run(LaneOperation::Set(IntCmp::Lt), all, LanesThen::Merge), 0x0100_0001);
        let signed = Lanes { a_signed: true, b_signed: true, ..all };
        assert_eq!(run(LaneOperation::Set(IntCmp::Lt), signed, LanesThen::Merge), 0x0101_0101);
    }

    #[test]
    fn means_round_a_half_away_from_zero() {
        let lanes = Lanes { a: [0, 1], b: [2, 3], a_signed: true, b_signed: true, mask: [true; 2] };
        let mean = |a: i16, b: i16| {
            let words = [a as u16 as u32, b as u16 as u32, 0];
            simd(LaneOperation::Average, lanes, words, LanesThen::Merge) as i16
        };
        assert_eq!(mean(1, 2), 2);
        assert_eq!(mean(-1, -2), -2);
        assert_eq!(mean(-1, 0), -1);
        assert_eq!(mean(i16::MAX, i16::MAX), i16::MAX);
        assert_eq!(mean(i16::MIN, i16::MIN), i16::MIN);
    }
}
