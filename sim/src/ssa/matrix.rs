//! Operations on matrices that the lanes of a warp hold together.

use ptxc_ir::matrix::{Element, Product, Sum};
use ptxc_semantics::matrix::{Multiply, Number, Sum as Rule};
use ptxc_semantics::narrow::ByteFormat;
use ptxc_semantics::{IntType, Rounding, S32};

use super::Values;
use super::arith::Words;
use super::code::{Matrix, Place, SlotIndex};
use crate::engine::Step;
use crate::error::Fault;
use crate::matrix::{ROW, Rows, rows_of, rows_of_words, transposed_word, word_of_rows};
use crate::memory::AccessKind;
use crate::warp::LANES;

impl Matrix {
    /// The types and the rule of a product.
    pub(super) fn multiply(product: &Product) -> Multiply {
        let sum = match product.sum {
            Sum::Plain => Rule::Plain,
            Sum::Saturating => Rule::Saturating,
            Sum::TowardZero => Rule::Directed(Rounding::Zero),
            Sum::Down => Rule::Directed(Rounding::Down),
            Sum::Up => Rule::Directed(Rounding::Up),
            Sum::Xor => Rule::Xor,
            Sum::And => Rule::And,
        };
        Multiply {
            rows: product.size.m.into(),
            a: number(product.a),
            b: number(product.b),
            sum_type: number(product.sum_type),
            sum,
            sparse: product.sparse,
        }
    }

    /// The action of a product.
    pub(super) fn product(product: &Product) -> Matrix {
        let multiply = Matrix::multiply(product);
        Matrix::Product { multiply, of_a: product.of_a(), of_b: product.of_b() }
    }

    /// Executes the operation for the whole warp with these operands.
    pub(super) fn run(
        &self,
        values: &mut Values,
        step: &mut Step<'_>,
        d: &[SlotIndex],
        operands: &[Words],
    ) -> Result<(), Fault> {
        match self {
            Matrix::Load { place, transposed } => {
                let rows = load(step, place, &operands[0], d.len())?;
                for (matrix, &d) in d.iter().enumerate() {
                    values.write(d, u32::MAX, |lane| word_of_rows(&rows, matrix, lane, *transposed).into());
                }
            }
            Matrix::Store { place, transposed } => {
                let rows = rows_of_words(operands[1..].iter().map(words), *transposed);
                store(step, place, &operands[0], operands.len() - 1, &rows)?;
            }
            Matrix::Transpose => {
                let a = words(&operands[0]);
                values.write(d[0], u32::MAX, |lane| transposed_word(&a, lane).into());
            }
            Matrix::Group(group, _) => group.run(values, step, d, operands)?,
            Matrix::Product { multiply, of_a, of_b } => {
                let (a, rest) = operands.split_at(*of_a);
                let (b, rest) = rest.split_at(*of_b);
                let (c, places) = rest.split_at(d.len());
                for (&d, words) in d.iter().zip(multiply.run([a, b, c], places.first())) {
                    values.write(d, u32::MAX, |lane| words[lane]);
                }
            }
        }
        Ok(())
    }
}

const fn number(element: Element) -> Number {
    match element {
        Element::F16 => Number::HALF,
        Element::BF16 => Number::BFLOAT,
        Element::TF32 => Number::Tf32,
        Element::F32 => Number::SINGLE,
        Element::F64 => Number::DOUBLE,
        Element::E4M3 => Number::Byte(ByteFormat::E4m3),
        Element::E5M2 => Number::Byte(ByteFormat::E5m2),
        Element::B1 => Number::Bit,
        Element::S32 => Number::Int(S32),
        Element::U8 | Element::S8 | Element::U4 | Element::S4 => {
            Number::Int(IntType::new(element.bits(), element.is_signed()))
        }
    }
}

/// The operand as words of 32 bits.
fn words(operand: &Words) -> [u32; LANES] {
    operand.map(|word| word as u32)
}

/// The rows of that many matrices.
fn load(step: &mut Step<'_>, place: &Place, bases: &Words, count: usize) -> Result<Rows, Fault> {
    place.announce(step);
    let mut rows = [[0u8; ROW]; LANES];
    let addresses = place.addresses(bases);
    step.memory.each(
        place.space,
        rows_of(count),
        &addresses,
        AccessKind::Read,
        |lane, bytes: &mut [u8; ROW]| rows[lane] = *bytes,
    )?;
    Ok(rows)
}

fn store(step: &mut Step<'_>, place: &Place, bases: &Words, count: usize, rows: &Rows) -> Result<(), Fault> {
    place.announce(step);
    let addresses = place.addresses(bases);
    step.memory.each(
        place.space,
        rows_of(count),
        &addresses,
        AccessKind::Write,
        |lane, bytes: &mut [u8; ROW]| *bytes = rows[lane],
    )
}
