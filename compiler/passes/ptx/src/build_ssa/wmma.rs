//! `wmma`: loads and stores of whole matrices, and their products, as operations on
//! [fragments](super::fragments).
//!
//! | elements | loads of a and b |
//! |---|---|
//! | neighbours of a component are neighbours in memory | a word each |
//! | 16 bits, shared memory | up to four blocks by `matrix_load`, as in ptxas's code |
//! | 16 bits, other memory, the other way | a word each, which `matrix_transpose` turns |
//! | otherwise | each element |

use ptxc_ir::matrix::{Element, Product, Size, Sum};
use ptxc_ir::{Access, BytePick, FloatMode, MemType, Op, Rounding, Space, SpecialReg, Type, Value};
use smallvec::SmallVec;

use super::form::{Form, Translated, Unsupported};
use super::fragments::{Block, Fragment, Matrix, is_transposed};
use super::matrix::{by_rows, component, element, emit, sum, write_all};
use super::memory::address;
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::Modifier;
use crate::check::table::modifiers::{MatrixShape, Space as WrittenSpace};

/// A matrix in memory, and the lane that accesses it.
struct Place {
    space: Space,
    base: Value,
    /// The distance of rows or columns, in elements.
    stride: Value,
    lane: Value,
    bits: u32,
    /// Pointers to rows or columns of this number.
    known: SmallVec<[(u32, Value); 4]>,
}

impl Place {
    /// The type of addresses and distances.
    fn ty(&self) -> Type {
        self.space.address_type()
    }

    /// Bytes of elements, whose number is a value.
    fn bytes(&self, t: &mut Translator, elements: Value) -> Value {
        let ty = self.ty();
        let (op, by) = match self.bits {
            bits if bits >= 8 => (Op::Shl, (bits / 8).trailing_zeros()),
            bits => (Op::Shr, (8 / bits).trailing_zeros()),
        };
        let by = t.constant(Type::B32, by.into());
        t.emit(op, ty, &[elements, by])
    }

    /// A number of rows or columns times their distance, in elements.
    fn rows(&self, t: &mut Translator, rows: Value) -> Value {
        match self.ty() {
            Type::B64 => t.emit(Op::UmulWide, Type::B32, &[rows, self.stride]),
            ty => t.emit(Op::Imul, ty, &[rows, self.stride]),
        }
    }

    /// Makes the base the address of element `minor` of row or column `major`.
    fn start_at(&mut self, t: &mut Translator, major: Value, minor: Value) -> Translated {
        let rows = self.rows(t, major);
        let minor = t.extend(minor, self.ty(), false)?;
        let elements = t.emit(Op::Iadd, self.ty(), &[rows, minor]);
        let bytes = self.bytes(t, elements);
        self.base = t.emit(Op::Iadd, self.ty(), &[self.base, bytes]);
        Ok(())
    }

    /// The address of an element that many rows or columns, and elements, after the base: a value
    /// and an offset.
    fn after(&mut self, t: &mut Translator, major: u32, minor: u32) -> (Value, i32) {
        let offset = (minor * self.bits / 8) as i32;
        if let Some((_, base)) = self.known.iter().find(|known| known.0 == major) {
            return (*base, offset);
        }
        let number = t.constant(Type::B32, major.into());
        let rows = self.rows(t, number);
        let bytes = self.bytes(t, rows);
        let base = t.emit(Op::Iadd, self.ty(), &[self.base, bytes]);
        self.known.push((major, base));
        (base, offset)
    }

    fn access(&self, elem: MemType, lanes: u8, offset: i32) -> Access {
        Access { lanes, offset, ..Access::weak(self.space, elem) }
    }
}

/// The matrix that an instruction names.
fn matrix(form: &mut Form) -> Translated<Matrix> {
    let named = [
        (Modifier::A, Matrix::A),
        (Modifier::B, Matrix::B),
        (Modifier::C, Matrix::Sum),
        (Modifier::D, Matrix::Sum),
    ];
    named.into_iter().find_map(|(modifier, matrix)| form.take(modifier).then_some(matrix)).ok_or(Unsupported)
}

/// The fragment of a load or store, and the place of its matrix; the operands are numbered.
fn placed(t: &mut Translator, form: &mut Form, at: usize, stride: usize) -> Translated<(Fragment, Place)> {
    form.take(Modifier::Sync);
    form.take(Modifier::Aligned);
    let matrix = matrix(form)?;
    let size: Size = form.choose::<MatrixShape>().ok_or(Unsupported)?.into();
    let by_rows = by_rows(form)?;
    let fragment = Fragment::new(matrix, size, element(form.ty()?)?, by_rows);
    let space = form.choose::<WrittenSpace>().map_or(Space::Generic, Space::from);
    let mut access = Access::weak(space, MemType::B8);
    let mut base = address(t, form.operand(at)?, &mut access)?;
    if access.offset != 0 {
        let offset = t.constant(space.address_type(), access.offset as u64);
        base = t.emit(Op::Iadd, space.address_type(), &[base, offset]);
    }
    let stride = match form.operands.get(stride) {
        Some(operand) => t.read(operand, Scalar::U32)?,
        None => {
            let length = match (matrix, by_rows) {
                (Matrix::A, true) | (Matrix::B, false) => size.k,
                (Matrix::A | Matrix::Sum, false) => size.m.into(),
                (Matrix::B | Matrix::Sum, true) => size.n,
            };
            t.constant(Type::B32, length.into())
        }
    };
    let lane = t.emit(Op::SpecialReg(SpecialReg::LaneId), Type::B32, &[]);
    let bits = fragment.element.bits();
    Ok((fragment, Place { space, base, stride, lane, bits, known: SmallVec::new() }))
}

/// The parts `g` and `t` of the number of a lane, the second times a constant.
fn lane_parts(t: &mut Translator, lane: Value, times: u32) -> (Value, Value) {
    let [two, three] = [2, 3].map(|bits| t.constant(Type::B32, bits));
    let group = t.emit(Op::Shr, Type::B32, &[lane, two]);
    let part = t.emit(Op::And, Type::B32, &[lane, three]);
    let times = t.constant(Type::B32, times.into());
    (group, t.emit(Op::Imul, Type::B32, &[part, times]))
}

/// How the components of a fragment lie in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Each component is a word, or a double.
    Words,
    /// Each component is a word after its block has been transposed.
    Turned,
    /// Each element by itself.
    Elements,
}

impl Layout {
    fn of(fragment: &Fragment) -> Layout {
        match (fragment.inner_first, fragment.element.bits()) {
            (true, _) => Layout::Words,
            (false, 16) => Layout::Turned,
            (false, _) => Layout::Elements,
        }
    }

    /// The distances of a block from the first one: rows or columns, and elements.
    fn distances(self, block: Block) -> (u32, u32) {
        match self {
            Layout::Words => (block.outer, block.inner),
            Layout::Turned | Layout::Elements => (block.inner, block.outer),
        }
    }

    /// The blocks whose components one access moves: two sums that are neighbours in memory, else one.
    fn runs(self, fragment: &Fragment) -> impl Iterator<Item = &[Block]> {
        fragment.blocks.chunk_by(move |one, next| {
            self == Layout::Words && next.outer == one.outer && next.inner == one.inner + 1
        })
    }

    /// Moves the place to the elements of a lane.
    fn start(self, t: &mut Translator, place: &mut Place, fragment: &Fragment) -> Translated {
        let (group, part) = lane_parts(t, place.lane, fragment.step);
        match self {
            Layout::Words | Layout::Turned => place.start_at(t, group, part),
            Layout::Elements => place.start_at(t, part, group),
        }
    }
}

/// The elements in memory of a component that is a word or a double, and their type.
fn word_of(element: Element) -> (MemType, Type) {
    let elem = if element.bits() == 64 { MemType::B64 } else { MemType::B32 };
    (elem, element.component())
}

/// `wmma.load`.
pub(super) fn load(t: &mut Translator, form: &mut Form) -> Translated {
    let (fragment, mut place) = placed(t, form, 1, 2)?;
    let is_in_blocks = fragment.element.bits() == 16 && fragment.matrix != Matrix::Sum;
    let mut values = if place.space == Space::Shared && is_in_blocks {
        load_blocks(t, &fragment, &mut place)?
    } else {
        load_components(t, &fragment, &mut place)?
    };
    // Factors of binary16 have eight words, as many as on sm_70, where lanes share elements.
    let destinations = t.elements(form.operand(0)?).len();
    let filled = values.len();
    while values.len() < destinations && filled > 0 {
        values.push(values[values.len() - filled]);
    }
    write_all(t, form.operand(0)?, &values)
}

fn load_components(t: &mut Translator, fragment: &Fragment, place: &mut Place) -> Translated<Vec<Value>> {
    let layout = Layout::of(fragment);
    layout.start(t, place, fragment)?;
    let (elem, ty) = word_of(fragment.element);
    let mut values = Vec::new();
    for blocks in layout.runs(fragment) {
        let (major, minor) = layout.distances(blocks[0]);
        if layout == Layout::Elements && fragment.element.bits() == 8 {
            values.push(load_bytes(t, place, major, minor)?);
            continue;
        }
        let (base, offset) = place.after(t, major, minor);
        let access = place.access(elem, blocks.len() as u8, offset);
        let inst = t.inst(Op::Load(access), ty, &[base]);
        let loaded: SmallVec<[Value; 2]> = t.function.results(inst).iter().copied().collect();
        match layout {
            Layout::Turned => values.push(t.emit(Op::MatrixTranspose, Type::B32, &loaded)),
            Layout::Words | Layout::Elements => values.extend(loaded),
        }
    }
    Ok(values)
}

/// Loads four bytes of different rows or columns into a word.
fn load_bytes(t: &mut Translator, place: &mut Place, major: u32, minor: u32) -> Translated<Value> {
    let mut bytes = SmallVec::<[Value; 4]>::new();
    for n in 0..4 {
        let (base, offset) = place.after(t, major + n, minor);
        bytes.push(t.emit(Op::Load(place.access(MemType::B8, 1, offset)), Type::B32, &[base]));
    }
    let mut join = |low, high, selector| {
        let selector = t.constant(Type::B32, selector);
        t.emit(Op::Prmt(BytePick::Index), Type::B32, &[low, high, selector])
    };
    let (low, high) = (join(bytes[0], bytes[1], 0x0040), join(bytes[2], bytes[3], 0x0040));
    Ok(join(low, high, 0x5410))
}

/// Loads blocks of 8 by 8 halves from shared memory, up to four at once. Eight lanes have the
/// addresses of a block's rows.
fn load_blocks(t: &mut Translator, fragment: &Fragment, place: &mut Place) -> Translated<Vec<Value>> {
    let [one, three, four, seven] = [1, 3, 4, 7].map(|bits| t.constant(Type::B32, bits));
    let row = t.emit(Op::And, Type::B32, &[place.lane, seven]);
    // Bits 3 and 4 of a lane's number are the block: one is its place among outer indices, one
    // among inner indices.
    let bit_of = |t: &mut Translator, by: Value| {
        let shifted = t.emit(Op::Shr, Type::B32, &[place.lane, by]);
        let bit = t.emit(Op::And, Type::B32, &[shifted, one]);
        t.emit(Op::Shl, Type::B32, &[bit, three])
    };
    let (low, high) = (bit_of(t, three), bit_of(t, four));
    let (outer, inner) = if fragment.is_first { (low, high) } else { (high, low) };
    let (major, minor) = if fragment.inner_first { (outer, inner) } else { (inner, outer) };
    let major = t.emit(Op::Iadd, Type::B32, &[major, row]);
    place.start_at(t, major, minor)?;
    let transposed = !fragment.inner_first;
    let layout = Layout::of(fragment);
    let mut values = Vec::new();
    for blocks in fragment.blocks.chunks(4) {
        let (major, minor) = layout.distances(blocks[0]);
        let (base, offset) = place.after(t, major, minor);
        let access = place.access(MemType::B128, blocks.len() as u8, offset);
        let inst = t.inst(Op::MatrixLoad { access, transposed }, Type::B32, &[base]);
        values.extend(t.function.results(inst).iter().copied());
    }
    Ok(values)
}

/// `wmma.store`.
pub(super) fn store(t: &mut Translator, form: &mut Form) -> Translated {
    let (fragment, mut place) = placed(t, form, 0, 2)?;
    let values = t.read_all(form.operand(1)?, component(fragment.element))?;
    if values.len() != fragment.blocks.len() {
        return Err(Unsupported);
    }
    let layout = Layout::of(&fragment);
    layout.start(t, &mut place, &fragment)?;
    let (elem, ty) = word_of(fragment.element);
    let mut values = values.into_iter();
    for blocks in layout.runs(&fragment) {
        let (major, minor) = layout.distances(blocks[0]);
        let (base, offset) = place.after(t, major, minor);
        let mut args: SmallVec<[Value; 3]> = SmallVec::from_slice(&[base]);
        for value in values.by_ref().take(blocks.len()) {
            args.push(match layout {
                Layout::Turned => t.emit(Op::MatrixTranspose, Type::B32, &[value]),
                Layout::Words | Layout::Elements => value,
            });
        }
        t.inst(Op::Store(place.access(elem, blocks.len() as u8, offset)), ty, &args);
    }
    Ok(())
}

/// `wmma.mma`.
pub(super) fn multiply(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(4)?;
    let has_popc = form.types.contains(&Scalar::B1);
    let rule = sum(form);
    if has_popc != matches!(rule, Sum::Xor | Sum::And) {
        return Err(Unsupported);
    }
    form.take(Modifier::Sync);
    form.take(Modifier::Aligned);
    let size: Size = form.choose::<MatrixShape>().ok_or(Unsupported)?.into();
    // How the matrices lay in memory no longer matters.
    let (_, _) = (by_rows(form)?, by_rows(form)?);
    let (d, a, b, c) = match form.types[..] {
        [d, c] => (element(d)?, Element::F16, Element::F16, element(c)?),
        [d, a, b, c] => (element(d)?, element(a)?, element(b)?, element(c)?),
        _ => return Err(Unsupported),
    };
    if rule == Sum::Saturating && c != Element::S32 {
        return Err(Unsupported);
    }
    // Sums of different types are binary32 in between.
    let sum_type = if d == c { d } else { Element::F32 };
    let fragment = |matrix, element| Fragment::new(matrix, size, element, true).blocks.len();
    let mut factors = [(1, Matrix::A, a), (2, Matrix::B, b)].map(|(at, matrix, element)| {
        let operand = form.operand(at)?;
        let mut values = t.read_all(operand, component(element))?;
        values.truncate(fragment(matrix, element));
        Ok((values, element))
    });
    if is_transposed(size) {
        factors.swap(0, 1);
    }
    let [first, second] = factors;
    let ((first, a), (second, b)) = (first?, second?);
    let sums = t.read_all(form.operand(3)?, component(c))?;
    let sums = if c == sum_type { sums } else { widened(t, &sums) };
    let (rows, columns) = if is_transposed(size) { (size.n, size.m.into()) } else { (size.m.into(), size.n) };
    let product = Product {
        size: Size { m: rows.min(16) as u8, n: 8, k: size.k },
        sum_type,
        a,
        b,
        sum: rule,
        sparse: None,
    };
    let mut results = Vec::new();
    let mut sums = sums.chunks(product.of_sum());
    for first in first.chunks(product.of_a()).take(usize::from(rows).div_ceil(16)) {
        for second in second.chunks(product.of_b()).take(usize::from(columns / 8)) {
            let sums = sums.next().ok_or(Unsupported)?;
            results.extend(emit(t, product, &[first, second, sums].concat())?);
        }
    }
    let results = if d == sum_type { results } else { narrowed(t, &results) };
    write_all(t, form.operand(0)?, &results)
}

/// Pairs of binary16 as binary32.
pub(super) fn widened(t: &mut Translator, pairs: &[Value]) -> Vec<Value> {
    let mut wide = Vec::new();
    for &pair in pairs {
        let (low, high) = t.emit_pair(Op::Unpack, Type::B32, &[pair]);
        for half in [low, high] {
            let half = t.emit(Op::Bitcast, Type::F16, &[half]);
            wide.push(t.emit(Op::FloatToFloat(FloatMode::RN), Type::F32, &[half]));
        }
    }
    wide
}

/// Pairs of neighbouring binary32 as pairs of binary16.
pub(super) fn narrowed(t: &mut Translator, wide: &[Value]) -> Vec<Value> {
    let convert = Op::FloatsToHalves { round: Rounding::Nearest, relu: false, finite: false };
    let pairs = wide.as_chunks::<2>().0.iter().map(|pair| {
        let pair = t.emit(convert, Type::F16x2, pair);
        t.emit(Op::Bitcast, Type::B32, &[pair])
    });
    pairs.collect()
}
