//! Float arithmetic and comparison, and the integer multiply-adds.

use ptxc_sass::{ModKind, value};
use ptxc_semantics::float::{self, FloatCmp, NanRule};
use ptxc_semantics::{F32, Format, Mode, Rounding, S32, U32, U64, bits, convert, int};

use super::alu::{combine, select, set_predicates, set_where, sign};
use super::fields::{Decoded, Fields, map1, map2, map3};
use super::registers::{PredDest, PredSource, Registers, Source};
use crate::warp::{Flow, LANES, has};

/// The rounding mode of arithmetic: `.RN` is not written.
pub(super) fn rounding(i: &Fields<'_>) -> Result<Rounding, String> {
    Ok(match i.modifier(ModKind::Round) {
        "" | ".RN" => Rounding::Nearest,
        ".RM" | ".FLOOR" => Rounding::Down,
        ".RP" | ".CEIL" => Rounding::Up,
        ".RZ" | ".TRUNC" => Rounding::Zero,
        _ => return i.unknown(ModKind::Round),
    })
}

/// Whether subnormals are flushed.
pub(super) fn ftz(i: &Fields<'_>) -> bool {
    i.is(value!(Ftz = ".FTZ"))
}

fn mode(i: &Fields<'_>) -> Result<Mode, String> {
    Ok(Mode::new(rounding(i)?).with_ftz(ftz(i)).with_sat(i.is(value!(Sat = ".SAT"))))
}

/// The mode of code that flushes subnormals.
const FLUSHING: Mode = Mode::IEEE.with_ftz(true);

/// `d = f(a, b)` on binary32. The common modes are constants where `f` is called, so that it
/// becomes vector code.
fn float2(i: &Fields<'_>, f: impl Fn(u64, u64, Mode) -> u64 + Copy + 'static) -> Decoded {
    let (d, mode, sources) = (i.dest("d")?, mode(i)?, [i.word("a")?, i.word("b")?]);
    match mode {
        Mode::IEEE => {
            map2(d, Registers::float, sources, move |a, b| f(a.into(), b.into(), Mode::IEEE) as u32)
        }
        FLUSHING => map2(d, Registers::float, sources, move |a, b| f(a.into(), b.into(), FLUSHING) as u32),
        _ => map2(d, Registers::float, sources, move |a, b| f(a.into(), b.into(), mode) as u32),
    }
}

/// `FADD`.
pub(super) fn fadd(i: &Fields<'_>) -> Decoded {
    float2(i, |a, b, mode| float::add(F32, a, b, mode))
}

/// `FMUL`.
pub(super) fn fmul(i: &Fields<'_>) -> Decoded {
    let scale = match i.modifier(ModKind::Scale) {
        "" => return float2(i, |a, b, mode| float::mul(F32, a, b, mode)),
        ".D8" => -3,
        ".D4" => -2,
        ".D2" => -1,
        ".M2" => 1,
        ".M4" => 2,
        ".M8" => 3,
        _ => return i.unknown(ModKind::Scale),
    };
    float2(i, move |a, b, mode| float::mul_scaled(F32, a, b, scale, mode))
}

/// `FFMA`.
pub(super) fn ffma(i: &Fields<'_>) -> Decoded {
    let (d, mode, sources) = (i.dest("d")?, mode(i)?, [i.word("a")?, i.word("b")?, i.word("c")?]);
    let fma = |a: u32, b: u32, c: u32, mode| float::fma(F32, a.into(), b.into(), c.into(), mode) as u32;
    match mode {
        Mode::IEEE => map3(d, Registers::float, sources, move |a, b, c| fma(a, b, c, Mode::IEEE)),
        FLUSHING => map3(d, Registers::float, sources, move |a, b, c| fma(a, b, c, FLUSHING)),
        _ => map3(d, Registers::float, sources, move |a, b, c| fma(a, b, c, mode)),
    }
}

/// A float comparison, or the constant result of one that ignores its operands.
pub(super) fn comparison(i: &Fields<'_>) -> Result<Result<FloatCmp, bool>, String> {
    Ok(Ok(match i.modifier(ModKind::Compare) {
        ".F" => return Ok(Err(false)),
        ".T" => return Ok(Err(true)),
        ".LT" => FloatCmp::Lt,
        ".EQ" => FloatCmp::Eq,
        ".LE" => FloatCmp::Le,
        ".GT" => FloatCmp::Gt,
        ".NE" => FloatCmp::Ne,
        ".GE" => FloatCmp::Ge,
        ".NUM" => FloatCmp::Num,
        ".NAN" => FloatCmp::Nan,
        ".LTU" => FloatCmp::Ltu,
        ".EQU" => FloatCmp::Equ,
        ".LEU" => FloatCmp::Leu,
        ".GTU" => FloatCmp::Gtu,
        ".NEU" => FloatCmp::Neu,
        ".GEU" => FloatCmp::Geu,
        _ => return i.unknown(ModKind::Compare),
    }))
}

/// The lanes in which the comparison of an instruction on binary32 holds.
fn compared(i: &Fields<'_>) -> Result<impl Fn(&Registers) -> u32 + use<>, String> {
    let (a, b, ftz, comparison) = (i.word("a")?, i.word("b")?, ftz(i), comparison(i)?);
    Ok(move |registers: &Registers| {
        let (a, b) = (registers.float(a), registers.float(b));
        set_where(|n| match comparison {
            Ok(cmp) => float::compare(F32, cmp, a[n].into(), b[n].into(), ftz),
            Err(always) => always,
        })
    })
}

/// `FSETP`.
pub(super) fn fsetp(i: &Fields<'_>) -> Decoded {
    set_predicates(i, compared(i)?)
}

/// `FSET.BF`.
pub(super) fn fset(i: &Fields<'_>) -> Decoded {
    let (d, ps, compared, combine) = (i.dest("d")?, i.pred("ps")?, compared(i)?, combine(i)?);
    Ok(Box::new(move |registers, step| {
        let holds = combine(compared(registers), registers.pred(ps));
        registers.write(d, step.lanes, |n| if has(holds, n) { F32.one() as u32 } else { 0 });
        Ok(Flow::Next)
    }))
}

/// `FSEL`.
pub(super) fn fsel(i: &Fields<'_>) -> Decoded {
    let mode = ftz(i);
    select(i, Registers::float, move |holds, a, b| {
        let chosen = if holds { a } else { b };
        if mode { F32.flush(chosen.into()) as u32 } else { chosen }
    })
}

/// `FMNMX`.
pub(super) fn fmnmx(i: &Fields<'_>) -> Decoded {
    let [least, greatest] = extremes(i)?;
    let (nan, ftz) = (nan_rule(i), ftz(i));
    let read = if xorsign(i) { Registers::int } else { Registers::float };
    select(i, read, move |chooses_least, a, b| {
        let choose = if chooses_least { least } else { greatest };
        choose(F32, a.into(), b.into(), nan, ftz) as u32
    })
}

/// A minimum or maximum of [`float`].
type Extreme = fn(Format, u64, u64, NanRule, bool) -> u64;

/// The minimum and maximum of an instruction. With `.XORSIGN` the operands are magnitudes whose
/// signs still count, so they must be read without the absolute value.
fn extremes(i: &Fields<'_>) -> Result<[Extreme; 2], String> {
    if !xorsign(i) {
        return Ok([float::min, float::max]);
    }
    let magnitude = |source: Source| source.abs && !source.neg;
    match magnitude(i.word("a")?) && magnitude(i.word("b")?) {
        true => Ok([float::min_xorsign, float::max_xorsign]),
        false => Err(".XORSIGN of other operands than magnitudes".to_string()),
    }
}

/// Whether the result of a minimum or maximum has the sign of the product.
pub(super) fn xorsign(i: &Fields<'_>) -> bool {
    i.is(value!(Sign = ".XORSIGN"))
}

/// The treatment of NaNs in a minimum or maximum.
pub(super) fn nan_rule(i: &Fields<'_>) -> NanRule {
    if i.is(value!(Mode = ".NAN")) { NanRule::Propagate } else { NanRule::Number }
}

/// `I2FP.F32`.
pub(super) fn i2fp(i: &Fields<'_>) -> Decoded {
    let from = if i.is(value!(SourceType = ".U32")) { U32 } else { S32 };
    let mode = Mode::new(rounding(i)?);
    map1(i.dest("d")?, Registers::int, i.word("b")?, move |b| {
        convert::int_to_float(from, F32, b.into(), mode) as u32
    })
}

/// `IMAD`. The low word is the same for both signs.
pub(super) fn imad(i: &Fields<'_>) -> Decoded {
    let sources = [i.word("a")?, i.word("b")?, i.word("c")?];
    map3(i.dest("d")?, Registers::int, sources, |a, b, c| {
        int::mad_lo(U32, a.into(), b.into(), c.into()) as u32
    })
}

/// The 64-bit `a * b + c`, plus one where the carry holds; and the lanes where `pd` gets a carry
/// out.
fn wide_sums(
    i: &Fields<'_>,
    carry: Option<PredSource>,
    pd: PredDest,
) -> Result<impl Fn(&Registers) -> ([u64; LANES], u32) + use<>, String> {
    let (a, b, c, signed) = (i.word("a")?, i.word("b")?, i.words::<2>("c")?, sign(i).is_signed());
    // A negated addend is its complement plus one, which counts in the carry.
    let (c, more) = match c[0].neg {
        true => (c.map(|word| Source { neg: false, not: true, ..word }), true),
        false => (c, false),
    };
    Ok(move |registers: &Registers| {
        let (a, b, c) = (registers.int(a), registers.int(b), registers.wide(c));
        let carry = carry.map_or(0, |carry| registers.pred(carry));
        let product = |ty, n: usize| int::mul_wide(ty, a[n].into(), b[n].into());
        let products: [u64; LANES] = match signed {
            true => std::array::from_fn(|n| product(S32, n)),
            false => std::array::from_fn(|n| product(U32, n)),
        };
        let sum = |n: usize| int::add_carry(U64, products[n], c[n], more || has(carry, n));
        let carries = if pd.is_some() { set_where(|n| sum(n).1) } else { 0 };
        (std::array::from_fn(|n| sum(n).0), carries)
    })
}

fn wide_multiply_add(i: &Fields<'_>, carry: Option<PredSource>) -> Decoded {
    let (d, pd) = (i.dests("d", 2)?, i.pred_dest("pd")?);
    let sums = wide_sums(i, carry, pd)?;
    Ok(Box::new(move |registers, step| {
        let (sums, carries) = sums(registers);
        registers.write_wide(&d, step.lanes, |n| sums[n]);
        registers.write_pred(pd, step.lanes, carries);
        Ok(Flow::Next)
    }))
}

/// `IMAD.WIDE`.
pub(super) fn imad_wide(i: &Fields<'_>) -> Decoded {
    wide_multiply_add(i, None)
}

/// `IMAD.WIDE.X`.
pub(super) fn imad_wide_x(i: &Fields<'_>) -> Decoded {
    wide_multiply_add(i, Some(i.pred("ps")?))
}

/// `IMAD.X`.
pub(super) fn imad_x(i: &Fields<'_>) -> Decoded {
    let (d, ps) = (i.dest("d")?, i.pred("ps")?);
    let (a, b, c) = (i.word("a")?, i.word("b")?, i.word("c")?);
    Ok(Box::new(move |registers, step| {
        let (a, b, c) = (registers.int(a), registers.int(b), registers.int(c));
        let carry = registers.pred(ps);
        registers.write(d, step.lanes, |n| {
            let sum = int::mad_lo(U32, a[n].into(), b[n].into(), c[n].into());
            int::add(U32, sum, has(carry, n).into()) as u32
        });
        Ok(Flow::Next)
    }))
}

/// `IMAD.HI`.
pub(super) fn imad_hi(i: &Fields<'_>) -> Decoded {
    high_multiply_add(i, None)
}

/// `IMAD.HI.X`.
pub(super) fn imad_hi_x(i: &Fields<'_>) -> Decoded {
    high_multiply_add(i, Some(i.pred("ps")?))
}

fn high_multiply_add(i: &Fields<'_>, carry: Option<PredSource>) -> Decoded {
    let (d, pd) = (i.dest("d")?, i.pred_dest("pd")?);
    let sums = wide_sums(i, carry, pd)?;
    Ok(Box::new(move |registers, step| {
        let (sums, carries) = sums(registers);
        registers.write(d, step.lanes, |n| (sums[n] >> 32) as u32);
        registers.write_pred(pd, step.lanes, carries);
        Ok(Flow::Next)
    }))
}

/// `IDP.4A`.
pub(super) fn idp_4a(i: &Fields<'_>) -> Decoded {
    let (a_signed, b_signed) = (i.is(value!(SourceType = ".S8")), i.is(value!(DataType = ".S8")));
    let sources = [i.word("a")?, i.word("b")?, i.word("c")?];
    map3(i.dest("d")?, Registers::int, sources, move |a, b, c| bits::dp4a(a_signed, b_signed, a, b, c))
}

/// `IDP.2A`.
pub(super) fn idp_2a(i: &Fields<'_>) -> Decoded {
    let (a_signed, b_signed) = (i.is(value!(SourceType = ".S16")), i.is(value!(DataType = ".S8")));
    let high = i.is(value!(Variant = ".HI"));
    let sources = [i.word("a")?, i.word("b")?, i.word("c")?];
    map3(i.dest("d")?, Registers::int, sources, move |a, b, c| bits::dp2a(a_signed, b_signed, high, a, b, c))
}
