//! Products of the matrices of a [warpgroup](crate::warpgroup).

use std::sync::Arc;

use ptxc_sass::{ModKind, value};
use ptxc_semantics::matrix::{Multiply, Number, Sum};
use ptxc_semantics::narrow::ByteFormat;
use ptxc_semantics::{IntType, S32};

use super::fields::{Decoded, Fields};
use super::registers::{Dest, Origin, Registers, Source};
use super::tensor;
use crate::error::Fault;
use crate::matrix::whole_warp;
use crate::products::{Product, Word};
use crate::warp::{Flow, LANES, Wait};
use crate::warpgroup::{Flight, complete, issue};

/// Where a product's sums go, and where its factor a is if that is in registers.
#[derive(Clone, Debug)]
pub(super) struct Places {
    d: Vec<Dest>,
    a: Option<Vec<Source>>,
}

/// The content of the registers of sums that do not exist yet.
const POISON: u32 = 0xffc5_a5a5;

fn read(registers: &Registers, sources: &[Source]) -> Vec<Word> {
    sources.iter().map(|&source| registers.int(source).map(u64::from)).collect()
}

/// The columns of b.
fn columns(i: &Fields<'_>) -> Result<usize, String> {
    let columns = ptxc_sass::issue::columns(i.inst).and_then(|columns| usize::try_from(columns).ok());
    columns.map_or_else(|| i.unknown(ModKind::Shape), Ok)
}

/// The instructions of this family by their mnemonic: `HGMMA`, `QGMMA`, `IGMMA`, `BGMMA`.
pub(super) fn product(i: &Fields<'_>) -> Decoded {
    let byte = |kind| match i.modifier(kind) {
        ".E4M3" => Ok(Number::Byte(ByteFormat::E4m3)),
        ".E5M2" => Ok(Number::Byte(ByteFormat::E5m2)),
        ".U8" => Ok(Number::Int(IntType::new(8, false))),
        ".S8" => Ok(Number::Int(IntType::new(8, true))),
        _ => i.unknown(kind),
    };
    let mnemonic = i.inst.row().mnemonic;
    let (a, b, sum_type) = match mnemonic.as_bytes() {
        [b'H', ..] => {
            let number = match i.modifier(ModKind::SourceType) {
                "" => Number::HALF,
                ".BF16" => Number::BFLOAT,
                ".TF32" => Number::Tf32,
                _ => return i.unknown(ModKind::SourceType),
            };
            (number, number, tensor::float_sum(i)?)
        }
        [b'Q', ..] => (byte(ModKind::SourceType)?, byte(ModKind::SecondType)?, tensor::float_sum(i)?),
        [b'I', ..] => (byte(ModKind::SourceType)?, byte(ModKind::SecondType)?, Number::Int(S32)),
        _ => (Number::Bit, Number::Bit, Number::Int(S32)),
    };
    let sum = match (i.is(value!(Sat = ".SAT")), a) {
        (true, _) => Sum::Saturating,
        (false, Number::Bit) => Sum::And,
        (false, _) => Sum::Plain,
    };
    let columns = columns(i)?;
    let (meta, sparse) = match mnemonic.contains(".SP") {
        true => (Some(i.word("meta")?), Some(i.imm("selector")? as u8)),
        false => (None, None),
    };
    // The descriptors of both factors, or only of b.
    let is_in_registers = i.inst.row().slot("a").is_some();
    let of_sums = columns * sum_type.bits() as usize / 64;
    let (from, descriptors, negated_a) = if is_in_registers {
        // The sign belongs to the elements of a.
        let plain = |source: Source| Source { neg: false, ..source };
        let words = i.words::<4>("a")?;
        (Some(words.map(plain).to_vec()), i.words::<4>("b")?.to_vec(), words[0].neg)
    } else {
        (None, i.words::<4>("ab")?.to_vec(), i.is(value!(NegativeA = ".negA")))
    };
    let product = Product {
        multiply: Multiply { rows: 16, a, b, sum_type, sum, sparse },
        columns,
        negated: negated_a != i.is(value!(NegativeB = ".negB")),
        turned_a: i.is(value!(LayoutA = ".tnspA")),
        turned_b: i.is(value!(LayoutB = ".tnspB")),
    };
    let (c, d) = (i.some_words("c", of_sums)?, i.dests("d", of_sums as u8)?);
    let accumulate = i.pred("accumulate")?;
    let ends_group = i.is(value!(Group = "gsb0"));
    let reserved = i.arch.facts().limits.reserved_shared;
    Ok(Box::new(move |registers, step| {
        whole_warp(step.lanes, "multiplies matrices")?;
        let word = |n: usize| u64::from(registers.int(descriptors[n])[0]);
        let pair = |n: usize| word(n) | word(n + 1) << 32;
        let descriptors = [if is_in_registers { 0 } else { pair(0) }, pair(2)];
        let adds = registers.pred(accumulate) & 1 == 1;
        let c = match adds {
            true => sums(registers, &c),
            false => vec![[0; LANES]; c.len()],
        };
        let words = from.as_ref().map(|from| read(registers, from));
        let factors = Arc::new(product.read(step, step.warp, reserved, words.as_deref(), descriptors)?);
        let places = meta.map(|meta| registers.int(meta).map(u64::from));
        let result = product.result(&factors, &c, places.as_ref());
        for &dest in &d {
            registers.write(dest, step.lanes, |_| POISON);
        }
        registers.flights.0.push(Flight {
            number: issue(step, product, (descriptors, reserved), &factors, is_in_registers),
            factors,
            result,
            commits: 0,
            places: Places { d: d.clone(), a: from.clone() },
        });
        if ends_group {
            registers.flights.commit();
        }
        Ok(Flow::Next)
    }))
}

/// The sums to which a product adds: those of the latest product that is under way with these
/// registers, or their content.
fn sums(registers: &Registers, c: &[Source]) -> Vec<Word> {
    let first = c.first().map(|source| source.origin);
    let same = |flight: &&Flight<Places>| flight.places.first() == first && flight.result.len() == c.len();
    let flying = registers.flights.0.iter().rfind(same);
    flying.map_or_else(|| read(registers, c), |flight| flight.result.clone())
}

impl Places {
    /// The first register of the sums.
    fn first(&self) -> Option<Origin> {
        match self.d.first() {
            Some(&Dest::Lane(index)) => Some(Origin::Lane(index)),
            _ => None,
        }
    }
}

/// `WARPGROUP.ARRIVE`.
pub(super) fn arrive(_: &Fields<'_>) -> Decoded {
    Ok(Box::new(|_, step| {
        whole_warp(step.lanes, "multiplies matrices")?;
        Ok(Flow::Next)
    }))
}

/// `WARPGROUP.DEPBAR`: the sums of complete groups exist.
pub(super) fn wait(i: &Fields<'_>) -> Decoded {
    let pending = i.imm("n")?;
    Ok(Box::new(move |registers, step| -> Result<Flow, Fault> {
        whole_warp(step.lanes, "waits for products")?;
        if let Some(last) = registers.flights.last_to_land(pending)
            && !complete(step, last)?
        {
            return Ok(Flow::Wait(step.lanes, Wait::Warpgroup));
        }
        for flight in registers.flights.land(pending) {
            if let Some(a) = &flight.places.a {
                flight.check_registers(step, &read(registers, a))?;
            }
            // A product that is still under way has taken the sums over.
            let first = flight.places.first();
            if registers.flights.0.iter().any(|other| other.places.first() == first) {
                continue;
            }
            for (&dest, words) in flight.places.d.iter().zip(&flight.result) {
                registers.write(dest, step.lanes, |lane| words[lane] as u32);
            }
        }
        Ok(Flow::Next)
    }))
}
