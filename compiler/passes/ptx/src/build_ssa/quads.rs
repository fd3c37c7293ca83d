//! `mma.m8n8k4` of halves: four products at once, each by eight lanes.
//!
//! A product belongs to the lanes `4 q + t` and `16 + 4 q + t`. Only sm_70 has units for it. On all
//! targets each lane here gets the rows of a and the columns of b that it needs by shuffles, and
//! multiplies in binary32, as ptxas's code does from sm_80 on. (PTX ISA, matrix fragments for
//! `mma.m8n8k4`.)
//!
//! | fragment | element `i` of lane `16 h + 4 q + t` |
//! |---|---|
//! | a by rows, b by columns | outer index `4 h + t`, inner index `i` |
//! | a by columns, b by rows | outer index `4 h + i`, inner index `t` |
//! | sums, binary16 | row `4 h + t`, column `i` |
//! | sums, binary32 | row `4 h + (i & 2) + (t & 1)`, column `(i & 4) + (t & 2) + (i & 1)` |

use ptxc_ir::matrix::{Element, Size};
use ptxc_ir::{FloatMode, IntCond, Op, ShflMode, SpecialReg, Type, Value};

use super::form::{Form, Translated, Unsupported};
use super::matrix::{by_rows, component, element, write_all};
use super::translator::Translator;
use super::wmma::{narrowed, widened};
use crate::check::scalar::Scalar;

/// The size of each of the four products.
pub(super) const SIZE: Size = Size { m: 8, n: 8, k: 4 };

/// Columns of a and rows of b.
const DEPTH: usize = 4;

/// A factor: two words of each lane, and whether a lane has one outer index.
struct Factor {
    words: [Value; 2],
    by_lanes: bool,
}

/// The parts of a lane's number.
struct Lane {
    /// `4 q`.
    quad: Value,
    /// `t`.
    part: Value,
    /// `h`.
    half: Value,
}

/// `mma.m8n8k4` of halves, without the modifiers that all forms have.
pub(super) fn multiply(t: &mut Translator, form: &mut Form) -> Translated {
    let [d, a, b, c] = form.types[..] else { return Err(Unsupported) };
    if (a, b) != (Scalar::F16, Scalar::F16) {
        return Err(Unsupported);
    }
    let (d, c) = (element(d)?, element(c)?);
    // The layouts are written in the order of the matrices.
    let (a_by_rows, b_by_rows) = (by_rows(form)?, by_rows(form)?);
    let mut factor = |operand: usize, by_lanes: bool| {
        let words = t.read_all(form.operand(operand)?, Scalar::B32)?;
        let words = words.try_into().map_err(|_| Unsupported)?;
        Ok(Factor { words, by_lanes })
    };
    let (a, b) = (factor(1, a_by_rows)?, factor(2, !b_by_rows)?);
    let sums = t.read_all(form.operand(3)?, component(c))?;
    let lane = Lane::new(t);
    let places = places(t, &lane, d);
    let sums = if c == Element::F16 { widened(t, &sums) } else { sums };
    let sums = if c == d { sums } else { moved(t, &lane, &sums) };
    let (mut rows, mut columns) = (Cache::default(), Cache::default());
    let mut results = Vec::new();
    for (&(row, column), &c) in places.iter().zip(&sums) {
        let row = rows.get(row, |place| a.outer(t, &lane, place));
        let column = columns.get(column, |place| b.outer(t, &lane, place));
        results.push(sum(t, d, row, column, c));
    }
    let results = if d == Element::F16 { narrowed(t, &results) } else { results };
    write_all(t, form.operand(0)?, &results)
}

/// An element of the result, in the order of ptxas's code: for binary16 the sums of two products each
/// are added to c, for binary32 the sum of all four.
fn sum(t: &mut Translator, d: Element, row: [Value; DEPTH], column: [Value; DEPTH], c: Value) -> Value {
    let mode = FloatMode::RN;
    if d != Element::F16 {
        let zero = t.constant(Type::F32, 0);
        let pairs = row.into_iter().zip(column);
        let products = pairs.fold(zero, |sum, (a, b)| t.emit(Op::Ffma(mode), Type::F32, &[a, b, sum]));
        return t.emit(Op::Fadd(mode), Type::F32, &[c, products]);
    }
    [0, 2].into_iter().fold(c, |sum, k| {
        let product = t.emit(Op::Fmul(mode), Type::F32, &[row[k], column[k]]);
        let products = t.emit(Op::Ffma(mode), Type::F32, &[row[k + 1], column[k + 1], product]);
        t.emit(Op::Fadd(mode), Type::F32, &[sum, products])
    })
}

/// An outer index: a constant plus a part of the number of the lane.
type Place = (u32, Value);

/// The elements of rows or columns that were read already.
#[derive(Default)]
struct Cache(Vec<(Place, [Value; DEPTH])>);

impl Cache {
    fn get(&mut self, place: Place, read: impl FnOnce(Place) -> [Value; DEPTH]) -> [Value; DEPTH] {
        if let Some((_, known)) = self.0.iter().find(|known| known.0 == place) {
            return *known;
        }
        let made = read(place);
        self.0.push((place, made));
        made
    }
}

/// The row and the column of each sum of a lane.
fn places(t: &mut Translator, lane: &Lane, sum_type: Element) -> [(Place, Place); 8] {
    let [one, two, zero] = [1, 2, 0].map(|bits| t.constant(Type::B32, bits));
    let upper = t.emit(Op::Shl, Type::B32, &[lane.half, two]);
    if sum_type == Element::F16 {
        let row = t.emit(Op::Iadd, Type::B32, &[upper, lane.part]);
        return std::array::from_fn(|i| ((0, row), (i as u32, zero)));
    }
    let (odd, pair) =
        (t.emit(Op::And, Type::B32, &[lane.part, one]), t.emit(Op::And, Type::B32, &[lane.part, two]));
    let row = t.emit(Op::Iadd, Type::B32, &[upper, odd]);
    std::array::from_fn(|i| ((i as u32 & 2, row), (i as u32 & 5, pair)))
}

impl Lane {
    fn new(t: &mut Translator) -> Lane {
        let number = t.emit(Op::SpecialReg(SpecialReg::LaneId), Type::B32, &[]);
        let [quads, parts, four] = [0xc, 3, 4].map(|bits| t.constant(Type::B32, bits));
        Lane {
            quad: t.emit(Op::And, Type::B32, &[number, quads]),
            part: t.emit(Op::And, Type::B32, &[number, parts]),
            half: t.emit(Op::Shr, Type::B32, &[number, four]),
        }
    }
}

/// A word of another lane of the warp.
fn shuffled(t: &mut Translator, word: Value, lane: Value) -> Value {
    let (clamp, all) = (t.constant(Type::B32, 31), t.constant(Type::B32, u32::MAX.into()));
    t.emit_pair(Op::Shfl(ShflMode::Idx), Type::B32, &[word, lane, clamp, all]).0
}

/// The half of a word with a number, as binary32.
fn half_of(t: &mut Translator, word: Value, number: Value) -> Value {
    let four = t.constant(Type::B32, 4);
    let by = t.emit(Op::Shl, Type::B32, &[number, four]);
    let half = t.emit(Op::Shr, Type::B32, &[word, by]);
    let half = t.emit(Op::Trunc, Type::B16, &[half]);
    let half = t.emit(Op::Bitcast, Type::F16, &[half]);
    t.emit(Op::FloatToFloat(FloatMode::RN), Type::F32, &[half])
}

impl Factor {
    /// The elements of a row of a or a column of b.
    fn outer(&self, t: &mut Translator, lane: &Lane, (more, place): Place) -> [Value; DEPTH] {
        let more = t.constant(Type::B32, more.into());
        let outer = t.emit(Op::Iadd, Type::B32, &[place, more]);
        let [one, two, three] = [1, 2, 3].map(|bits| t.constant(Type::B32, bits));
        let low = t.emit(Op::And, Type::B32, &[outer, three]);
        // Lane `16 h + 4 q` of the outer indices from `4 h` on.
        let upper = t.emit(Op::Shr, Type::B32, &[outer, two]);
        let four = t.constant(Type::B32, 4);
        let upper = t.emit(Op::Shl, Type::B32, &[upper, four]);
        let first = t.emit(Op::Or, Type::B32, &[lane.quad, upper]);
        if self.by_lanes {
            let source = t.emit(Op::Or, Type::B32, &[first, low]);
            let words = self.words.map(|word| shuffled(t, word, source));
            return std::array::from_fn(|k| {
                let number = t.constant(Type::B32, k as u64 % 2);
                half_of(t, words[k / 2], number)
            });
        }
        let (number, is_second) = {
            let second = t.emit(Op::And, Type::B32, &[low, two]);
            let zero = t.constant(Type::B32, 0);
            let is_second = t.emit(Op::Icmp(IntCond::Ne), Type::B32, &[second, zero]);
            (t.emit(Op::And, Type::B32, &[low, one]), is_second)
        };
        std::array::from_fn(|k| {
            let k = t.constant(Type::B32, k as u64);
            let source = t.emit(Op::Or, Type::B32, &[first, k]);
            let [lower, upper] = self.words.map(|word| shuffled(t, word, source));
            let word = t.emit(Op::Select, Type::B32, &[is_second, upper, lower]);
            half_of(t, word, number)
        })
    }
}

/// Sums that lie as those of binary16 do, at the places of those of binary32.
fn moved(t: &mut Translator, lane: &Lane, sums: &[Value]) -> Vec<Value> {
    let [one, two, four, zero] = [1, 2, 4, 0].map(|bits| t.constant(Type::B32, bits));
    let odd = t.emit(Op::And, Type::B32, &[lane.part, one]);
    let pair = t.emit(Op::And, Type::B32, &[lane.part, two]);
    let is_pair = t.emit(Op::Icmp(IntCond::Ne), Type::B32, &[pair, zero]);
    let upper = t.emit(Op::Shl, Type::B32, &[lane.half, four]);
    let first = t.emit(Op::Or, Type::B32, &[lane.quad, upper]);
    let first = t.emit(Op::Or, Type::B32, &[first, odd]);
    let each = (0..8).map(|i: usize| {
        let row = t.constant(Type::B32, i as u64 & 2);
        let source = t.emit(Op::Or, Type::B32, &[first, row]);
        // The lane's column is one of two sums of the other lane.
        let [low, high] = [0, 2].map(|more| {
            let word = t.emit(Op::Bitcast, Type::B32, &[sums[(i & 5) + more]]);
            shuffled(t, word, source)
        });
        let word = t.emit(Op::Select, Type::B32, &[is_pair, high, low]);
        t.emit(Op::Bitcast, Type::F32, &[word])
    });
    each.collect()
}
