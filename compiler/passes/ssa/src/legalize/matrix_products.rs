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
//! nibbles, or the lower bytes of halves, of all words stay together.

use ptxc_ir::matrix::{Element, Parts, Product, Size, Sum};
use ptxc_ir::{ByteFormat, Function, IntCond, Op, Type, Value};
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
    if product.sparse.is_some() {
        return false;
    }
    match product.a {
        Element::E4M3 | Element::E5M2 => !arch.has(Feature::ByteFloatProducts),
        Element::U4 | Element::S4 => !arch.has(Feature::NibbleProducts),
        Element::B1 => product.sum == Sum::Xor && !arch.has(Feature::XorProducts),
        Element::F16 => k == 16 && !arch.has(Feature::LongProducts),
        Element::U8 | Element::S8 => m == 16 && !arch.has(Feature::LongProducts),
        Element::BF16 | Element::TF32 | Element::F32 | Element::F64 | Element::S32 => false,
    }
}

/// A product that the target has or that becomes others.
fn multiply(emitter: &mut Emitter, product: Product, parts: Parts<'_, Value>, arch: Arch) -> Vec<Value> {
    if !lacks(&product, arch) {
        let args = [parts.a, parts.b, parts.c].concat();
        let inst = emitter.inst(Op::MatrixProduct(product), Type::B32, &args);
        return emitter.func.results(inst).to_vec();
    }
    match product.a {
        Element::U4 | Element::S4 => of_nibbles(emitter, product, parts, arch),
        Element::B1 => differing_bits(emitter, product, parts, arch),
        Element::F16 => by_columns(emitter, product, parts, arch),
        Element::U8 | Element::S8 => by_rows(emitter, product, parts, arch),
        _ => of_byte_floats(emitter, product, parts, arch),
    }
}

/// Products one after another: the sums of one are added to the next.
fn chain(
    emitter: &mut Emitter,
    product: Product,
    factors: impl IntoIterator<Item = (Vec<Value>, Vec<Value>)>,
    c: &[Value],
    arch: Arch,
) -> Vec<Value> {
    factors.into_iter().fold(c.to_vec(), |sums, (a, b)| {
        multiply(emitter, product, Parts { a: &a, b: &b, c: &sums, places: None }, arch)
    })
}

/// Two products of half the columns.
fn by_columns(emitter: &mut Emitter, product: Product, parts: Parts<'_, Value>, arch: Arch) -> Vec<Value> {
    let half = Product { size: Size { k: product.size.k / 2, ..product.size }, ..product };
    let (a, b) = (parts.a.chunks(half.of_a()), parts.b.chunks(half.of_b()));
    let factors: Vec<_> = a.zip(b).map(|(a, b)| (a.to_vec(), b.to_vec())).collect();
    chain(emitter, half, factors, parts.c, arch)
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
        results.extend(chain(emitter, part, factors, c, arch));
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
    chain(emitter, Product { sum: Sum::And, ..product }, factors, parts.c, arch)
}

/// Floats of 8 bits as pairs of `f16`.
fn of_byte_floats(
    emitter: &mut Emitter,
    product: Product,
    parts: Parts<'_, Value>,
    arch: Arch,
) -> Vec<Value> {
    // The lower and the upper halves of words.
    let mut halves = |words: &[Value], element: Element| -> [Vec<Value>; 2] {
        let format = if element == Element::E4M3 { ByteFormat::E4m3 } else { ByteFormat::E5m2 };
        let sixteen = emitter.constant(Type::B32, 16);
        [false, true].map(|upper| {
            let each = words.iter().map(|&word| {
                let bytes = match upper {
                    true => emitter.value(Op::Shr, Type::B32, &[word, sixteen]),
                    false => word,
                };
                let pair = emitter.value(Op::BytesToHalves { format, relu: false }, Type::F16x2, &[bytes]);
                emitter.value(Op::Bitcast, Type::B32, &[pair])
            });
            each.collect()
        })
    };
    let (a, b) = (halves(parts.a, product.a), halves(parts.b, product.b));
    let size = Size { k: 16, ..product.size };
    let half = Product { size, a: Element::F16, b: Element::F16, ..product };
    let factors = spread(&a, &b, parts.a.len() / parts.b.len());
    chain(emitter, half, factors, parts.c, arch)
}

/// The factors of products with as many columns as a word of a and b has: `rows` words of a, and one
/// of b, in both parts.
fn spread(a: &[Vec<Value>; 2], b: &[Vec<Value>; 2], rows: usize) -> Vec<(Vec<Value>, Vec<Value>)> {
    let of = |n: usize| {
        let a = a.iter().flat_map(|part| part[n * rows..][..rows].to_vec()).collect();
        let b = b.iter().map(|part| part[n]).collect();
        (a, b)
    };
    (0..b[0].len()).map(of).collect()
}

/// Integers of 4 bits as integers of 8 bits.
fn of_nibbles(emitter: &mut Emitter, product: Product, parts: Parts<'_, Value>, arch: Arch) -> Vec<Value> {
    let (a, b) = (nibbles(emitter, parts.a, product.a), nibbles(emitter, parts.b, product.b));
    let byte = |element: Element| if element.is_signed() { Element::S8 } else { Element::U8 };
    let rows = parts.a.len() / parts.b.len();
    let columns = if rows == 1 { 16 } else { 32 };
    let size = Size { k: columns, ..product.size };
    let part = Product { size, a: byte(product.a), b: byte(product.b), sum: Sum::Plain, ..product };
    let mut factors = spread(&a, &b, rows);
    if rows == 1 {
        // There is no product of 8 rows and 32 columns.
        let split = |(a, b): (Vec<Value>, Vec<Value>)| a.into_iter().zip(b).map(|(a, b)| (vec![a], vec![b]));
        factors = factors.into_iter().flat_map(split).collect();
    }
    if product.sum != Sum::Saturating {
        return chain(emitter, part, factors, parts.c, arch);
    }
    // Sums of products are far from the ends of the range, so only the last sum may leave it.
    let zeros = vec![emitter.constant(Type::B32, 0); parts.c.len()];
    let sums = chain(emitter, part, factors, &zeros, arch);
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
