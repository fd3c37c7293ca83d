//! Products of the matrices of a warpgroup.
//!
//! ```text
//! wgmma.fence.sync.aligned;
//! wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d…}, a-descriptor, b-descriptor, p, 1, 1, 0, 0;
//! wgmma.commit_group.sync.aligned;
//! wgmma.wait_group.sync.aligned 0;
//! ```
//!
//! Here every product takes and gives ordinary values. Once the function is complete,
//! [`lending`](super::lending) marks what is lent to products.

use ptxc_ir::matrix::Product;
use ptxc_ir::warpgroup::{GroupOptions, GroupProduct, Groups};
use ptxc_ir::{Op, Type};
use ptxc_syntax::ast::{Operand, OperandKind};

use super::form::{Form, Translated, Unsupported};
use super::matrix::{aligned, element, sum, write_all};
use super::memory::constant;
use super::translator::{Translator, integer};
use crate::check::scalar::Scalar;

/// The greatest number of groups that the hardware can leave incomplete when it waits.
const MOST_PENDING: u64 = 7;

/// `wgmma.fence`.
pub(super) fn fence(t: &mut Translator, form: &mut Form) -> Translated {
    order(t, form, Op::WarpgroupArrive)
}

/// `wgmma.commit_group`.
pub(super) fn commit(t: &mut Translator, form: &mut Form) -> Translated {
    order(t, form, Op::WarpgroupCommit)
}

fn order(t: &mut Translator, form: &mut Form, op: Op) -> Translated {
    aligned(form)?;
    form.expect_operands(0)?;
    t.inst(op, Type::B32, &[]);
    Ok(())
}

/// `wgmma.wait_group`. To wait for more groups than it asks for is correct.
pub(super) fn wait(t: &mut Translator, form: &mut Form) -> Translated {
    aligned(form)?;
    form.expect_operands(1)?;
    let pending = Groups(constant(form.operand(0)?)?.min(MOST_PENDING) as u8);
    t.inst(Op::WarpgroupWait { pending }, Type::B32, &[]);
    Ok(())
}

/// `wgmma.mma_async` and `wgmma.mma_async.sp`.
pub(super) fn multiply(t: &mut Translator, form: &mut Form, is_sparse: bool) -> Translated {
    aligned(form)?;
    let size = form.size().ok_or(Unsupported)?;
    let [d, a, b] = form.types[..] else { return Err(Unsupported) };
    let sum = sum(form);
    let mut rest = form.operands.iter();
    let mut next = || rest.next().ok_or(Unsupported);
    let [sums, first, second] = [next()?, next()?, next()?];
    let (places, sparse) = match is_sparse {
        true => (Some(next()?), Some(u8::try_from(constant(next()?)?).map_err(|_| Unsupported)?)),
        false => (None, None),
    };
    let accumulate = next()?;
    let product = Product { size, sum_type: element(d)?, a: element(a)?, b: element(b)?, sum, sparse };
    let in_registers = matches!(first.kind, OperandKind::Vector(_));
    let mut options = GroupOptions::default().with(GroupOptions::REGISTERS, in_registers);
    if let Some(negative_a) = rest.next() {
        let negative_b = rest.next().ok_or(Unsupported)?;
        options = options
            .with(GroupOptions::NEGATIVE_A, is_negative(negative_a)?)
            .with(GroupOptions::NEGATIVE_B, is_negative(negative_b)?);
    }
    // A factor in registers has one layout and no operand for it.
    let [turned_a, turned_b] = match [rest.next(), rest.next()] {
        [only, None] => [None, only],
        both => both,
    };
    for (option, operand) in [(GroupOptions::TURNED_A, turned_a), (GroupOptions::TURNED_B, turned_b)] {
        if let Some(operand) = operand {
            options = options.with(option, constant(operand)? != 0);
        }
    }
    // A constant predicate decides whether there is a c.
    let adds = !matches!(&accumulate.kind, OperandKind::Immediate(value) if integer(value)? == 0);
    options = options.with(GroupOptions::ADD, adds);
    let mut args = match in_registers {
        true => t.read_all(first, Scalar::B32)?,
        false => vec![t.read(first, Scalar::B64)?],
    };
    args.push(t.read(second, Scalar::B64)?);
    let ty = type_of_sums(t, sums)?;
    if adds {
        args.extend(t.read_all(sums, if ty == Type::F32 { Scalar::F32 } else { Scalar::B32 })?);
        args.push(t.read(accumulate, Scalar::Pred)?);
    }
    if let Some(places) = places {
        args.push(t.read(places, Scalar::B32)?);
    }
    let product = GroupProduct { product, options };
    if product.parts(&args).is_none() {
        return Err(Unsupported);
    }
    let inst = t.inst(Op::WarpgroupProduct(product), ty, &args);
    let results = t.function.results(inst).to_vec();
    t.has_group_products = true;
    write_all(t, sums, &results)
}

/// The type of the sums' registers, so that no conversion comes between two products.
fn type_of_sums(t: &mut Translator, sums: &Operand) -> Translated<Type> {
    let elements = t.elements(sums);
    let value = t.any(elements.first().ok_or(Unsupported)?)?;
    Ok(if t.function.ty(value) == Type::F32 { Type::F32 } else { Type::B32 })
}

/// Whether a factor of 1 or -1 is -1.
fn is_negative(operand: &Operand) -> Translated<bool> {
    match constant(operand)? as i64 {
        1 => Ok(false),
        -1 => Ok(true),
        _ => Err(Unsupported),
    }
}
