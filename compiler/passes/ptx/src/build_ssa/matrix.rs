//! Matrices that the lanes of a warp hold together.
//!
//! ```text
//! ldmatrix.sync.aligned.m8n8.x4.shared.b16                 {a, b, c, d}, [address];
//! mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32        {d…}, {a…}, {b…}, {c…};
//! ```

use ptxc_ir::matrix::{Element, Product, Sum};
use ptxc_ir::{Access, MemType, Op, Space, Type, Value};
use ptxc_syntax::ast::Operand;
use smallvec::SmallVec;

use super::form::{Form, Translated, Unsupported};
use super::memory::{address, constant};
use super::quads;
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::Modifier;
use crate::check::table::modifiers::{MatrixCount, MatrixLayout, MatrixShape, Rounding};

/// Takes the modifiers that all these instructions have.
pub(super) fn aligned(form: &mut Form) -> Translated {
    if form.take(Modifier::Sync) && form.take(Modifier::Aligned) { Ok(()) } else { Err(Unsupported) }
}

/// The access of a load or store of matrices, its address, and whether they are transposed. Without
/// a space the address is generic.
fn access(t: &mut Translator, form: &mut Form, at: usize) -> Translated<(Access, Value, bool)> {
    aligned(form)?;
    if form.ty()? != Scalar::B16 || !form.take(Modifier::M8n8) {
        return Err(Unsupported);
    }
    let count = match form.choose::<MatrixCount>().ok_or(Unsupported)? {
        MatrixCount::X1 => 1,
        MatrixCount::X2 => 2,
        MatrixCount::X4 => 4,
    };
    let transposed = form.take(Modifier::Trans);
    let (address, offset) = shared_address(t, form, at)?;
    let access = Access { lanes: count, offset, ..Access::weak(Space::Shared, MemType::B128) };
    Ok((access, address, transposed))
}

/// An address in shared memory, and its offset.
fn shared_address(t: &mut Translator, form: &mut Form, at: usize) -> Translated<(Value, i32)> {
    let is_shared = form.take(Modifier::Shared) || form.take(Modifier::SharedCta);
    let space = if is_shared { Space::Shared } else { Space::Generic };
    let mut access = Access::weak(space, MemType::B128);
    let base = address(t, form.operand(at)?, &mut access)?;
    let base = match space {
        Space::Shared => base,
        _ => t.emit(Op::FromGeneric(Space::Shared), Type::B32, &[base]),
    };
    Ok((base, access.offset))
}

/// `ldmatrix`.
pub(super) fn load(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    let (access, address, transposed) = access(t, form, 1)?;
    let inst = t.inst(Op::MatrixLoad { access, transposed }, Type::B32, &[address]);
    let words: SmallVec<[Value; 4]> = t.function.results(inst).iter().copied().collect();
    write_all(t, form.operand(0)?, &words)
}

/// `stmatrix`.
pub(super) fn store(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    let (access, address, transposed) = access(t, form, 0)?;
    let mut args = vec![address];
    args.extend(t.read_all(form.operand(1)?, Scalar::B32)?);
    t.inst(Op::MatrixStore { access, transposed }, Type::B32, &args);
    Ok(())
}

/// `movmatrix`.
pub(super) fn transpose(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    aligned(form)?;
    if form.ty()? != Scalar::B16 || !form.take(Modifier::M8n8) || !form.take(Modifier::Trans) {
        return Err(Unsupported);
    }
    let a = t.read(form.operand(1)?, Scalar::B32)?;
    let value = t.emit(Op::MatrixTranspose, Type::B32, &[a]);
    t.write(form.operand(0)?, value)
}

/// Whether the next matrix is stored by rows.
pub(super) fn by_rows(form: &mut Form) -> Translated<bool> {
    Ok(matches!(form.choose::<MatrixLayout>().ok_or(Unsupported)?, MatrixLayout::Row))
}

/// Writes values to the elements of a vector.
pub(super) fn write_all(t: &mut Translator, operand: &Operand, values: &[Value]) -> Translated {
    let destinations = t.elements(operand);
    if destinations.len() != values.len() {
        return Err(Unsupported);
    }
    for (destination, &value) in destinations.iter().zip(values) {
        t.write(destination, value)?;
    }
    Ok(())
}

/// `mma` and `mma.sp`. Rows of a and columns of b are stored one after another.
pub(super) fn multiply(t: &mut Translator, form: &mut Form) -> Translated {
    // Places in order are also places that any sparse product takes.
    let is_sparse = form.take(Modifier::Sp) || form.take(Modifier::SpOrderedMetadata);
    form.expect_operands(if is_sparse { 6 } else { 4 })?;
    aligned(form)?;
    let size = form.choose::<MatrixShape>().ok_or(Unsupported)?.into();
    if size == quads::SIZE && form.types.contains(&Scalar::F16) {
        return quads::multiply(t, form);
    }
    if !by_rows(form)? || by_rows(form)? {
        return Err(Unsupported);
    }
    let [d, a, b, c] = form.types[..] else { return Err(Unsupported) };
    if d != c {
        return Err(Unsupported);
    }
    let sum = sum(form);
    let sparse = match is_sparse {
        true => Some(u8::try_from(constant(form.operand(5)?)?).map_err(|_| Unsupported)?),
        false => None,
    };
    let product = Product { size, sum_type: element(d)?, a: element(a)?, b: element(b)?, sum, sparse };
    let mut args = Vec::new();
    for (at, element) in [(1, product.a), (2, product.b), (3, product.sum_type)] {
        args.extend(t.read_all(form.operand(at)?, component(element))?);
    }
    if is_sparse {
        args.push(t.read(form.operand(4)?, Scalar::B32)?);
    }
    let values = emit(t, product, &args)?;
    write_all(t, form.operand(0)?, &values)
}

/// Emits a product; returns its results.
pub(super) fn emit(t: &mut Translator, product: Product, args: &[Value]) -> Translated<SmallVec<[Value; 8]>> {
    if product.parts(args).is_none() {
        return Err(Unsupported);
    }
    let inst = t.inst(Op::MatrixProduct(product), Type::B32, args);
    Ok(t.function.results(inst).iter().copied().collect())
}

/// How elements are computed, by the modifiers.
pub(super) fn sum(form: &mut Form) -> Sum {
    if form.take(Modifier::Popc) {
        let is_and = form.take(Modifier::And);
        form.take(Modifier::Xor);
        return if is_and { Sum::And } else { Sum::Xor };
    }
    if form.take(Modifier::Satfinite) {
        return Sum::Saturating;
    }
    match form.choose::<Rounding>() {
        Some(Rounding::Rz) => Sum::TowardZero,
        Some(Rounding::Rm) => Sum::Down,
        Some(Rounding::Rp) => Sum::Up,
        Some(Rounding::Rn) | None => Sum::Plain,
    }
}

/// The type in which a component of a fragment is read.
pub(super) fn component(element: Element) -> Scalar {
    match element.component() {
        Type::F64 => Scalar::F64,
        Type::F32 => Scalar::F32,
        _ => Scalar::B32,
    }
}

/// The type of elements.
pub(super) fn element(scalar: Scalar) -> Translated<Element> {
    Ok(match scalar {
        Scalar::F16 => Element::F16,
        Scalar::Bf16 => Element::BF16,
        Scalar::Tf32 => Element::TF32,
        Scalar::F32 => Element::F32,
        Scalar::F64 => Element::F64,
        Scalar::E4m3 => Element::E4M3,
        Scalar::E5m2 => Element::E5M2,
        Scalar::U8 => Element::U8,
        Scalar::S8 => Element::S8,
        Scalar::U4 => Element::U4,
        Scalar::S4 => Element::S4,
        Scalar::B1 => Element::B1,
        Scalar::S32 => Element::S32,
        _ => return Err(Unsupported),
    })
}
