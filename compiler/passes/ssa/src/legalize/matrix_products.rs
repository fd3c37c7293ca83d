//! Products of matrices that the target lacks become products that it has.
//!
//! | elements | target | becomes |
//! |---|---|---|
//! | floats of 8 bits | no `QMMA` | products of `f16`, which holds all their values |
//! | integers of 4 bits | no such `IMMA` | products of integers of 8 bits |
//! | bits, `xor` | no such `BMMA` | two products with `and`: bits of a alone, bits of b alone |
//! | 16 columns of `f16` | sm_75 | two products of 8 columns |
//! | 16 rows of integers | sm_75 | two products of 8 rows |
//!
//! ```text
//! v9, v10 = matrix_product.m8n8k32.s32.s4.s4 v1, v2, v3, v4
//!     =>   v5, v6 = the nibbles of v1 at even and odd places as bytes; v7, v8 those of v2
//!          v11, v12 = matrix_product.m8n8k16.s32.s8.s8 v5, v7, v3, v4
//!          v9, v10 = matrix_product.m8n8k16.s32.s8.s8 v6, v8, v11, v12
//! ```
//!
//! The order of the columns of a does not matter if the rows of b have the same order. So the even
//! nibbles of all words are one product, and the odd ones another. The two nibbles of a byte of a
//! sparse matrix are at the same place, so the places stay as they are. The places and the rows of
//! sparse floats of 8 bits move to other lanes: see `sparse_byte_floats`.

use ptxc_ir::matrix::{Element, Parts, Product, Size, Sum};
use ptxc_ir::{ByteFormat, Function, IntCond, Op, ShflMode, SpecialReg, Type, Value};
use ptxc_machine::{Arch, Feature};

use super::emitter::{Emitter, rewrite};

/// Replaces products that the target lacks.
pub fn matrix_products(func: &mut Function, arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        let Op::MatrixProduct(product) = data.op else { return false };
        if !lacks(&product, arch) {
            return false;
        }
        let args = data.args.to_vec();
        let Some(parts) = product.parts(&args) else { return false };
        let values = multiply(emitter, product, parts, arch);
        for (result, value) in emitter.func.results(inst).to_vec().into_iter().zip(values) {
            emitter.rename(result, value);
        }
        true
    })
}

/// Whether a target lacks a product that this rule replaces.
fn lacks(product: &Product, arch: Arch) -> bool {
    let Size { m, k, .. } = product.size;
    match product.a {
        Element::E4M3 | Element::E5M2 => !arch.has(Feature::ByteFloatProducts),
        Element::U4 | Element::S4 => !arch.has(Feature::NibbleProducts),
        Element::B1 => product.sum == Sum::Xor && !arch.has(Feature::XorProducts),
        _ if product.sparse.is_some() => false,
        Element::F16 => k == 16 && !arch.has(Feature::LongProducts),
        Element::U8 | Element::S8 => m == 16 && !arch.has(Feature::LongProducts),
        Element::BF16 | Element::TF32 | Element::F32 | Element::F64 | Element::S32 => false,
    }
}

/// A product that the target has or that becomes others.
fn multiply(emitter: &mut Emitter, product: Product, parts: Parts<'_, Value>, arch: Arch) -> Vec<Value> {
    if !lacks(&product, arch) {
        let mut args = [parts.a, parts.b, parts.c].concat();
        args.extend(parts.places);
        let inst = emitter.inst(Op::MatrixProduct(product), Type::B32, &args);
        return emitter.func.results(inst).to_vec();
    }
    match product.a {
        Element::U4 | Element::S4 => of_nibbles(emitter, product, parts, arch),
        Element::B1 => differing_bits(emitter, product, parts, arch),
        Element::F16 => by_columns(emitter, product, parts, arch),
        Element::U8 | Element::S8 => by_rows(emitter, product, parts, arch),
        _ if product.sparse.is_some() => sparse_byte_floats(emitter, product, parts, arch),
        _ => of_byte_floats(emitter, product, parts, arch),
    }
}

/// Products one after another: the sums of one are added to the next.
fn chain(
    emitter: &mut Emitter,
    product: Product,
    factors: impl IntoIterator<Item = (Vec<Value>, Vec<Value>)>,
    (c, places): (&[Value], Option<Value>),
    arch: Arch,
) -> Vec<Value> {
    factors.into_iter().fold(c.to_vec(), |sums, (a, b)| {
        multiply(emitter, product, Parts { a: &a, b: &b, c: &sums, places }, arch)
    })
}

/// Two products of half the columns.
fn by_columns(emitter: &mut Emitter, product: Product, parts: Parts<'_, Value>, arch: Arch) -> Vec<Value> {
    let half = Product { size: Size { k: product.size.k / 2, ..product.size }, ..product };
    let (a, b) = (parts.a.chunks(half.of_a()), parts.b.chunks(half.of_b()));
    let factors: Vec<_> = a.zip(b).map(|(a, b)| (a.to_vec(), b.to_vec())).collect();
    chain(emitter, half, factors, (parts.c, None), arch)
}

/// Two products of 8 rows, of 16 columns at a time.
fn by_rows(emitter: &mut Emitter, product: Product, parts: Parts<'_, Value>, arch: Arch) -> Vec<Value> {
    const COLUMNS: u16 = 16;
    let part = Product { size: Size { m: 8, n: 8, k: COLUMNS }, ..product };
    let mut results = Vec::new();
    for half in 0..2 {
        // Words of a alternate between the halves; sums of a half are neighbours.
        let a = parts.a.iter().skip(half).step_by(2);
        let factors: Vec<_> = a.zip(parts.b).map(|(&a, &b)| (vec![a], vec![b])).collect();
        let c = &parts.c[half * part.of_sum()..][..part.of_sum()];
        results.extend(chain(emitter, part, factors, (c, None), arch));
    }
    results
}

/// The bits that differ are those of a that b lacks and those of b that a lacks.
fn differing_bits(
    emitter: &mut Emitter,
    product: Product,
    parts: Parts<'_, Value>,
    arch: Arch,
) -> Vec<Value> {
    let mut complement = |words: &[Value]| -> Vec<Value> {
        words.iter().map(|&word| emitter.value(Op::Not, Type::B32, &[word])).collect()
    };
    let factors = [(parts.a.to_vec(), complement(parts.b)), (complement(parts.a), parts.b.to_vec())];
    chain(emitter, Product { sum: Sum::And, ..product }, factors, (parts.c, None), arch)
}

/// A pair of `f16` of the two bytes of a word from bit `shift` on.
fn halves(emitter: &mut Emitter, word: Value, shift: Option<Value>, element: Element) -> Value {
    let format = if element == Element::E4M3 { ByteFormat::E4m3 } else { ByteFormat::E5m2 };
    let bytes = match shift {
        Some(shift) => emitter.value(Op::Shr, Type::B32, &[word, shift]),
        None => word,
    };
    let pair = emitter.value(Op::BytesToHalves { format, relu: false }, Type::F16x2, &[bytes]);
    emitter.value(Op::Bitcast, Type::B32, &[pair])
}

/// Floats of 8 bits: one product of the lower halves of all words, one of the upper halves.
fn of_byte_floats(
    emitter: &mut Emitter,
    product: Product,
    parts: Parts<'_, Value>,
    arch: Arch,
) -> Vec<Value> {
    let sixteen = emitter.constant(Type::B32, 16);
    let factors = [None, Some(sixteen)].map(|shift| {
        let mut each = |words: &[Value], element| -> Vec<Value> {
            words.iter().map(|&word| halves(emitter, word, shift, element)).collect()
        };
        (each(parts.a, product.a), each(parts.b, product.b))
    });
    let size = Size { k: product.size.k / 2, ..product.size };
    let half = Product { size, a: Element::F16, b: Element::F16, ..product };
    chain(emitter, half, factors, (parts.c, None), arch)
}

/// A sparse matrix of floats of 8 bits with 64 columns: two products of 32 columns of `f16`.
///
/// Four neighbouring columns of a form a *group*, and two of them are stored. Lane `t` of four has
/// groups `2 t` and `2 t + 1` of a in a word, and group `4 n + t` of b in word `n`. As `f16` it has groups `t` and
/// `4 + t` of a, and half of group `2 n + t / 2` of b in word `n`. So group `2 q` becomes group `q`,
/// group `2 q + 1` becomes group `4 + q`, and b comes from the lanes that have these groups.
///
/// Of the places, lanes 0 and 2 have a word for row g, lanes 1 and 3 one for row g + 8, with four
/// bits for each group. As `f16`, lanes 0 and 2 have the even groups of both rows, the others the
/// odd ones.
fn sparse_byte_floats(
    emitter: &mut Emitter,
    product: Product,
    parts: Parts<'_, Value>,
    arch: Arch,
) -> Vec<Value> {
    let lane = emitter.value(Op::SpecialReg(SpecialReg::LaneId), Type::B32, &[]);
    let [one, two, four, sixteen] = [1, 2, 4, 16].map(|bits| emitter.constant(Type::B32, bits));
    let odd = emitter.value(Op::And, Type::B32, &[lane, one]);
    let shift = emitter.value(Op::Shl, Type::B32, &[odd, four]);
    // The lane whose number has no bit 0, and the one after it.
    let first = emitter.value(Op::Xor, Type::B32, &[lane, odd]);
    let second = emitter.value(Op::Or, Type::B32, &[lane, one]);
    let places = parts.places.map(|word| {
        let shift = emitter.value(Op::Shl, Type::B32, &[odd, two]);
        let [of_g, of_other] = [first, second].map(|lane| {
            let word = shuffled(emitter, word, lane);
            let word = emitter.value(Op::Shr, Type::B32, &[word, shift]);
            even_nibbles(emitter, word)
        });
        let upper = emitter.value(Op::Shl, Type::B32, &[of_other, sixteen]);
        emitter.value(Op::Or, Type::B32, &[of_g, upper])
    });
    let size = Size { k: product.size.k / 2, ..product.size };
    let mut sums = parts.c.to_vec();
    for (half, (a, b)) in (0..).zip(parts.a.chunks(2).zip(parts.b.chunks(2))) {
        let mut pairs =
            |shift| -> Vec<Value> { a.iter().map(|&word| halves(emitter, word, shift, product.a)).collect() };
        let a = [pairs(None), pairs(Some(sixteen))].concat();
        let b: Vec<Value> = [first, second]
            .into_iter()
            .flat_map(|lane| b.iter().map(move |&word| (lane, word)))
            .map(|(lane, word)| {
                let word = shuffled(emitter, word, lane);
                halves(emitter, word, Some(shift), product.b)
            })
            .collect();
        let part = Product { size, a: Element::F16, b: Element::F16, sparse: Some(half), ..product };
        sums = multiply(emitter, part, Parts { a: &a, b: &b, c: &sums, places }, arch);
    }
    sums
}

/// A word of another lane of the warp.
fn shuffled(emitter: &mut Emitter, word: Value, lane: Value) -> Value {
    let (clamp, all) = (emitter.constant(Type::B32, 31), emitter.constant(Type::B32, u32::MAX.into()));
    emitter.pair(Op::Shfl(ShflMode::Idx), Type::B32, &[word, lane, clamp, all]).0
}

/// The nibbles at even places, one after another.
fn even_nibbles(emitter: &mut Emitter, word: Value) -> Value {
    let kept = [0x0f0f_0f0f, 0x00ff_00ff, 0x0000_ffff].map(|bits| emitter.constant(Type::B32, bits));
    let steps = [4, 8].map(|bits| emitter.constant(Type::B32, bits));
    let mut word = emitter.value(Op::And, Type::B32, &[word, kept[0]]);
    for (step, kept) in steps.into_iter().zip(&kept[1..]) {
        let moved = emitter.value(Op::Shr, Type::B32, &[word, step]);
        let both = emitter.value(Op::Or, Type::B32, &[word, moved]);
        word = emitter.value(Op::And, Type::B32, &[both, *kept]);
    }
    word
}

/// Integers of 4 bits: one product of the even nibbles, one of the odd ones.
fn of_nibbles(emitter: &mut Emitter, product: Product, parts: Parts<'_, Value>, arch: Arch) -> Vec<Value> {
    let (a, b) = (nibbles(emitter, parts.a, product.a), nibbles(emitter, parts.b, product.b));
    let byte = |element: Element| if element.is_signed() { Element::S8 } else { Element::U8 };
    let size = Size { k: product.size.k / 2, ..product.size };
    let part = Product { size, a: byte(product.a), b: byte(product.b), sum: Sum::Plain, ..product };
    let factors = a.into_iter().zip(b);
    if product.sum != Sum::Saturating {
        return chain(emitter, part, factors, (parts.c, parts.places), arch);
    }
    // Sums of products are far from the ends of the range, so only the last sum may leave it.
    let zeros = vec![emitter.constant(Type::B32, 0); parts.c.len()];
    let sums = chain(emitter, part, factors, (&zeros, parts.places), arch);
    sums.iter().zip(parts.c).map(|(&sum, &c)| saturating_sum(emitter, sum, c)).collect()
}

/// The nibbles at even and at odd places of words, as bytes.
fn nibbles(emitter: &mut Emitter, words: &[Value], element: Element) -> [Vec<Value>; 2] {
    let [four, three] = [4, 3].map(|bits| emitter.constant(Type::B32, bits));
    let low = emitter.constant(Type::B32, 0x0f0f_0f0f);
    let (ones, upper) = (emitter.constant(Type::B32, 0x0101_0101), emitter.constant(Type::B32, 0xf0));
    [false, true].map(|odd| {
        let each = words.iter().map(|&word| {
            let word = if odd { emitter.value(Op::Shr, Type::B32, &[word, four]) } else { word };
            let bytes = emitter.value(Op::And, Type::B32, &[word, low]);
            if !element.is_signed() {
                return bytes;
            }
            // The sign bit of each nibble, times 0xf0.
            let signs = emitter.value(Op::Shr, Type::B32, &[bytes, three]);
            let signs = emitter.value(Op::And, Type::B32, &[signs, ones]);
            let signs = emitter.value(Op::Imul, Type::B32, &[signs, upper]);
            emitter.value(Op::Or, Type::B32, &[bytes, signs])
        });
        each.collect()
    })
}

/// The sum of two numbers of 32 bits in the range of its type.
fn saturating_sum(emitter: &mut Emitter, a: Value, b: Value) -> Value {
    let sum = emitter.value(Op::Iadd, Type::B32, &[a, b]);
    // The sum left the range if its sign is that of neither number.
    let [of_a, of_b] = [a, b].map(|part| emitter.value(Op::Xor, Type::B32, &[part, sum]));
    let left = emitter.value(Op::And, Type::B32, &[of_a, of_b]);
    let zero = emitter.constant(Type::B32, 0);
    let has_left = emitter.value(Op::Icmp(IntCond::Slt), Type::B32, &[left, zero]);
    let is_negative = emitter.value(Op::Icmp(IntCond::Slt), Type::B32, &[a, zero]);
    let (least, greatest) =
        (emitter.constant(Type::B32, 1 << 31), emitter.constant(Type::B32, (1 << 31) - 1));
    let end = emitter.value(Op::Select, Type::B32, &[is_negative, least, greatest]);
    emitter.value(Op::Select, Type::B32, &[has_left, end, sum])
}
