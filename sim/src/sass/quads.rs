//! `HMMA.884`: a step of four products at once, each of 8×4 and 4×8 halves by eight lanes.
//!
//! A product belongs to the lanes `4 q + t` and `16 + 4 q + t`. Each step computes the elements of d that fit
//! in its two registers: two of binary32 or four of binary16 in each lane, the first ones in the first step. The
//! positions of elements are those of `mma.m8n8k4` in the PTX ISA; ptxas translates that instruction to
//! these steps on sm_75.
//!
//! | fragment | element `i` of lane `16 h + 4 q + t` |
//! |---|---|
//! | a by rows, b by columns | outer index `4 h + t`, inner index `i` |
//! | a by columns, b by rows | outer index `4 h + i`, inner index `t` |
//! | sums, binary16 | row `4 h + t`, column `i` |
//! | sums, binary32 | row `4 h + (i & 2) + (t & 1)`, column `(i & 4) + (t & 2) + (i & 1)` |

use ptxc_sass::ModKind;
use ptxc_semantics::convert::float_to_float;
use ptxc_semantics::matrix::{Multiply, Number, Packing, Sum, addend};
use ptxc_semantics::{F16, F32, Mode};

use super::fields::{Decoded, Fields};
use super::tensor::float_sum;
use crate::matrix::whole_warp;
use crate::warp::{Flow, LANES};

/// Rows of a and columns of b in a product.
const SIDE: usize = 8;
/// Columns of a and rows of b.
const DEPTH: usize = 4;
/// The product of halves that a tensor core of another shape computes; its last columns of a are zero here.
const HALVES: usize = 2;

/// A position of a lane: which product, which half of it, which of four.
fn parts(lane: usize) -> (usize, usize, usize) {
    (lane / 4 % 4, lane / 16, lane % 4)
}

/// The row and column in d and c of element `i` of a lane.
fn sum_place(number: Number, lane: usize, i: usize) -> (usize, usize) {
    let (_, h, t) = parts(lane);
    match number {
        Number::HALF => (4 * h + t, i),
        _ => (4 * h + (i & 2) + (t & 1), (i & 4) + (t & 2) + (i & 1)),
    }
}

/// A half of a register of each lane.
fn half(words: &[[u32; LANES]; 2], lane: usize, i: usize) -> u64 {
    u64::from(words[i / HALVES][lane] >> (16 * (i % HALVES)) & 0xffff)
}

/// The factors of a product by outer and inner index.
fn factor(words: &[[u32; LANES]; 2], by_lanes: bool, quad: usize) -> [[u64; DEPTH]; SIDE] {
    let mut found = [[0; DEPTH]; SIDE];
    for lane in (0..LANES).filter(|&lane| parts(lane).0 == quad) {
        let (_, h, t) = parts(lane);
        for i in 0..DEPTH {
            let (outer, inner) = if by_lanes { (4 * h + t, i) } else { (4 * h + i, t) };
            found[outer][inner] = half(words, lane, i);
        }
    }
    found
}

/// Rows of halves as registers of a product of 8×8 and 8×8 elements: lane `4 outer + inner / 2`.
fn fragment(rows: &[[u64; DEPTH]; SIDE]) -> [[u64; LANES]; 1] {
    let mut words = [0; LANES];
    for (outer, row) in rows.iter().enumerate() {
        for (inner, &value) in row.iter().enumerate() {
            words[4 * outer + inner / HALVES] |= value << (16 * (inner % HALVES));
        }
    }
    [words]
}

/// `HMMA.884`.
pub(super) fn hmma_884(i: &Fields<'_>) -> Decoded {
    let sum_type = float_sum(i)?;
    let c_type = match i.modifier(ModKind::SourceType) {
        ".F16" => Number::HALF,
        ".F32" => Number::SINGLE,
        _ => return i.unknown(ModKind::SourceType),
    };
    let step = match i.modifier(ModKind::Mode) {
        ".STEP0" => 0,
        ".STEP1" => 1,
        ".STEP2" => 2,
        ".STEP3" => 3,
        _ => return i.unknown(ModKind::Mode),
    };
    if !i.modifier(ModKind::Sat).is_empty() {
        return i.unknown(ModKind::Sat);
    }
    let [a_by_rows, b_by_rows] = [ModKind::LayoutA, ModKind::LayoutB].map(|kind| i.modifier(kind) == ".ROW");
    let (a, b, c) = (i.words::<2>("a")?, i.words::<2>("b")?, i.words::<2>("c")?);
    let d = i.dests("d", 2)?;
    // The elements of a step: as many as two registers hold.
    let of_d = 2 * Packing::of(sum_type.bits()).count;
    let elements = step * of_d..(step + 1) * of_d;
    let multiply =
        Multiply { rows: SIDE, a: Number::HALF, b: Number::HALF, sum_type, sum: Sum::Plain, sparse: None };
    Ok(Box::new(move |registers, step| {
        whole_warp(step.lanes, "multiplies matrices")?;
        let [a, b, c] = [a, b, c].map(|words| words.map(|word| registers.int(word)));
        let mut result = [[0u32; LANES]; 2];
        for quad in 0..4 {
            let lanes = || (0..LANES).filter(|&lane| parts(lane).0 == quad);
            let mut addends = vec![[0; LANES]; 2 / Packing::of(sum_type.bits()).count];
            for (lane, i) in lanes().flat_map(|lane| elements.clone().map(move |i| (lane, i))) {
                let (row, column) = sum_place(sum_type, lane, i);
                let value = match c_type {
                    // The pair has four columns of the lane's row, wherever d has the element.
                    Number::HALF => {
                        let home = 16 * (row / 4) + 4 * quad + row % 4;
                        widened(half(&c, home, column % 4), sum_type)
                    }
                    _ => u64::from(c[i % 2][lane]),
                };
                let (register, at, index) = addend(Packing::of(sum_type.bits()), row, column);
                addends[register][at] |= value << (16 * index);
            }
            let [a, b] = [(&a, a_by_rows), (&b, !b_by_rows)]
                .map(|(words, by_lanes)| fragment(&factor(words, by_lanes, quad)));
            let sums = multiply.run([&a, &b, &addends], None);
            for (lane, i) in lanes().flat_map(|lane| elements.clone().map(move |i| (lane, i))) {
                let (row, column) = sum_place(sum_type, lane, i);
                let (register, at, index) = addend(Packing::of(sum_type.bits()), row, column);
                let value = (sums[register][at] >> (16 * index)) as u32;
                let place = i - elements.start;
                match sum_type {
                    Number::HALF => {
                        result[place / HALVES][lane] |= (value & 0xffff) << (16 * (place % HALVES));
                    }
                    _ => result[place][lane] = value,
                }
            }
        }
        for (&d, values) in d.iter().zip(&result) {
            registers.write(d, step.lanes, |lane| values[lane]);
        }
        Ok(Flow::Next)
    }))
}

/// A half as a number of the type of the sums.
fn widened(half: u64, sum_type: Number) -> u64 {
    match sum_type {
        Number::HALF => half,
        _ => float_to_float(F16, F32, half, Mode::IEEE),
    }
}
