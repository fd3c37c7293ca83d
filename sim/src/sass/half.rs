//! Two halves in a register: arithmetic, comparison, extremes; and the functions of one half.
//!
//! A source operand is read as a word of two halves: those of the register, or one of them twice.
//! Signs are applied after that.

use ptxc_sass::{HalfSelect, ModKind, value};
use ptxc_semantics::float::NanRule;
use ptxc_semantics::packed::{self, Truth};
use ptxc_semantics::{F16, F32, Format, Mode, Rounding, convert, float, mufu};

use super::alu::{combine, set_where};
use super::fields::{Decoded, Fields};
use super::fma::{comparison, ftz, nan_rule, xorsign};
use super::registers::{Lanes, Origin, Registers, Source};
use crate::warp::{Flow, LANES};

/// The halves of a word that are read.
#[derive(Clone, Copy)]
enum Part {
    Both,
    Low,
    High,
}

/// A source operand of two halves.
#[derive(Clone, Copy)]
struct Halves {
    /// The word, without signs.
    word: Source,
    half: Part,
    abs: bool,
    neg: bool,
}

impl Halves {
    fn new(i: &Fields<'_>, name: &str) -> Result<Halves, String> {
        let source = i.word(name)?;
        let half = match i.half(name)? {
            HalfSelect::Both => Part::Both,
            HalfSelect::Low => Part::Low,
            HalfSelect::High => Part::High,
            HalfSelect::Single | HalfSelect::Byte1 | HalfSelect::Byte2 | HalfSelect::Byte3 => {
                return Err(format!("{name} is not a pair of halves"));
            }
        };
        let word = Source { abs: false, neg: false, ..source };
        Ok(Halves { word, half, abs: source.abs, neg: source.neg })
    }

    fn read(self, registers: &Registers) -> Lanes {
        registers.int(self.word).map(|word| {
            let [low, high] = packed::split(word);
            let mut halves = match self.half {
                Part::Both => word,
                Part::Low => packed::join(low, low),
                Part::High => packed::join(high, high),
            };
            if self.abs {
                halves &= 0x7fff_7fff;
            }
            if self.neg {
                halves ^= 0x8000_8000;
            }
            halves
        })
    }
}

fn mode(i: &Fields<'_>) -> Mode {
    Mode::IEEE.with_ftz(ftz(i)).with_sat(i.is(value!(Sat = ".SAT")))
}

/// `d = f(a, b)`.
fn map2(i: &Fields<'_>, f: impl Fn(u32, u32) -> u32 + 'static) -> Decoded {
    let (d, a, b) = (i.dest("d")?, Halves::new(i, "a")?, Halves::new(i, "b")?);
    Ok(Box::new(move |registers, step| {
        let (a, b) = (a.read(registers), b.read(registers));
        registers.write(d, step.lanes, |n| f(a[n], b[n]));
        Ok(Flow::Next)
    }))
}

/// `HADD2`.
pub(super) fn hadd2(format: Format, i: &Fields<'_>) -> Decoded {
    let mode = mode(i);
    map2(i, move |a, b| packed::add(format, a, b, mode))
}

/// `HADD2.F32` of one half of each operand.
pub(super) fn hadd2_f32_halves(i: &Fields<'_>) -> Decoded {
    let mode = mode(i);
    let wide = |half: u32| convert::float_to_float(F16, F32, u64::from(half & 0xffff), Mode::IEEE);
    map2(i, move |a, b| float::add(F32, wide(a), wide(b), mode) as u32)
}

/// `HADD2` of a binary32 and zero, which narrows it towards zero, for both halves: ptxas compiles
/// `cvt.rz.f16.f32` to it on sm_75, and `cvt.rn` to `F2F`. The bits of other sums are not known.
pub(super) fn hadd2_narrow(single: &str, other: &str, i: &Fields<'_>) -> Decoded {
    let (d, single, other) = (i.dest("d")?, i.word(single)?, i.word(other)?);
    if !(matches!(other.origin, Origin::Value(0)) && other.neg) {
        return Err("a sum".to_string());
    }
    let mode = Mode { rounding: Rounding::Zero, ..mode(i) };
    Ok(Box::new(move |registers, step| {
        let single = registers.float(single);
        registers.write(d, step.lanes, |n| {
            let half = convert::float_to_float(F32, F16, single[n].into(), mode) as u16;
            packed::join(half, half)
        });
        Ok(Flow::Next)
    }))
}

/// `HMUL2`.
pub(super) fn hmul2(format: Format, i: &Fields<'_>) -> Decoded {
    let mode = mode(i);
    map2(i, move |a, b| packed::mul(format, a, b, mode))
}

/// `HFMA2`, `HFMA2.MMA`.
pub(super) fn hfma2(format: Format, i: &Fields<'_>) -> Decoded {
    let outside = i.is(value!(Ftz = ".OOB"));
    if outside && i.is(value!(Sat = ".SAT")) {
        return i.unknown(ModKind::Sat);
    }
    let (mode, relu) = (mode(i), i.is(value!(Sat = ".RELU")));
    let (d, sources) = (i.dest("d")?, [Halves::new(i, "a")?, Halves::new(i, "b")?, Halves::new(i, "c")?]);
    Ok(Box::new(move |registers, step| {
        let [a, b, c] = sources.map(|source| source.read(registers));
        registers.write(d, step.lanes, |n| {
            let sum = match outside {
                true => packed::fma_oob(format, a[n], b[n], c[n]),
                false => packed::fma(format, a[n], b[n], c[n], mode),
            };
            if relu { packed::relu(format, sum) } else { sum }
        });
        Ok(Flow::Next)
    }))
}

/// The lanes in which the comparison holds for the low halves of `a` and `b`, and those in which it
/// holds for the high halves.
fn compared(format: Format, i: &Fields<'_>) -> Result<impl Fn(&Registers) -> [u32; 2] + use<>, String> {
    let (a, b, ftz) = (Halves::new(i, "a")?, Halves::new(i, "b")?, ftz(i));
    let comparison = comparison(i)?;
    Ok(move |registers: &Registers| {
        let (a, b) = (a.read(registers), b.read(registers));
        let holds: [[bool; 2]; LANES] = std::array::from_fn(|n| match comparison {
            Ok(cmp) => packed::compare(format, cmp, a[n], b[n], ftz),
            Err(always) => [always; 2],
        });
        [0, 1].map(|half| set_where(|n| holds[n][half]))
    })
}

/// `HSETP2`.
pub(super) fn hsetp2(format: Format, i: &Fields<'_>) -> Decoded {
    let (pd, pe, ps) = (i.pred_dest("pd")?, i.pred_dest("pe")?, i.pred("ps")?);
    let (combine, compared) = (combine(i)?, compared(format, i)?);
    Ok(Box::new(move |registers, step| {
        let ([low, high], other) = (compared(registers), registers.pred(ps));
        registers.write_pred(pd, step.lanes, combine(low, other));
        registers.write_pred(pe, step.lanes, combine(high, other));
        Ok(Flow::Next)
    }))
}

/// `HSET2`.
pub(super) fn hset2(format: Format, i: &Fields<'_>) -> Decoded {
    let truth = if i.is(value!(Mode = ".BF")) { Truth::One } else { Truth::Ones };
    let (d, ps) = (i.dest("d")?, i.pred("ps")?);
    let (combine, compared) = (combine(i)?, compared(format, i)?);
    Ok(Box::new(move |registers, step| {
        let other = registers.pred(ps);
        let [low, high] = compared(registers).map(|holds| combine(holds, other));
        registers.write(d, step.lanes, |n| truth.word(format, [low, high].map(|holds| holds >> n & 1 == 1)));
        Ok(Flow::Next)
    }))
}

/// A minimum or maximum of [`packed`].
type Extreme = fn(Format, u32, u32, NanRule, bool) -> u32;

/// `HMNMX2`. With `.XORSIGN` the operands are magnitudes whose signs still count.
pub(super) fn hmnmx2(format: Format, i: &Fields<'_>) -> Decoded {
    let (mut a, mut b) = (Halves::new(i, "a")?, Halves::new(i, "b")?);
    let (mut least, mut greatest): (Extreme, Extreme) = (packed::min, packed::max);
    if xorsign(i) {
        if !(a.abs && b.abs) || a.neg || b.neg {
            return Err(".XORSIGN of other operands than magnitudes".to_string());
        }
        (least, greatest) = (packed::min_xorsign, packed::max_xorsign);
        (a.abs, b.abs) = (false, false);
    }
    let (d, ps, nan, ftz) = (i.dest("d")?, i.pred("ps")?, nan_rule(i), ftz(i));
    Ok(Box::new(move |registers, step| {
        let (a, b, chooses_least) = (a.read(registers), b.read(registers), registers.pred(ps));
        registers.write(d, step.lanes, |n| {
            let choose = if chooses_least >> n & 1 == 1 { least } else { greatest };
            choose(format, a[n], b[n], nan, ftz)
        });
        Ok(Flow::Next)
    }))
}

/// `VHMNMX`: the least or greatest of three.
pub(super) fn vhmnmx(format: Format, i: &Fields<'_>) -> Decoded {
    if xorsign(i) {
        return Err(".XORSIGN of three operands".to_string());
    }
    let sources = [Halves::new(i, "a")?, Halves::new(i, "b")?, Halves::new(i, "c")?];
    let (d, ps, nan, ftz) = (i.dest("d")?, i.pred("ps")?, nan_rule(i), ftz(i));
    Ok(Box::new(move |registers, step| {
        let [a, b, c] = sources.each_ref().map(|source| source.read(registers));
        let chooses_least = registers.pred(ps);
        registers.write(d, step.lanes, |n| {
            let choose = if chooses_least >> n & 1 == 1 { packed::min } else { packed::max };
            choose(format, choose(format, a[n], b[n], nan, ftz), c[n], nan, ftz)
        });
        Ok(Flow::Next)
    }))
}

/// `d = f(b)` of one half; the upper half of the result is zero.
pub(super) fn map_half(i: &Fields<'_>, f: impl Fn(u64) -> u64 + 'static) -> Decoded {
    let (d, b) = (i.dest("d")?, Halves::new(i, "b")?);
    Ok(Box::new(move |registers, step| {
        let b = b.read(registers);
        registers.write(d, step.lanes, |n| f(u64::from(b[n] & 0xffff)) as u32);
        Ok(Flow::Next)
    }))
}

/// `MUFU.EX2.F16` and its like. Exponentials of bfloat16 flush.
pub(super) fn mufu_half(i: &Fields<'_>) -> Decoded {
    let format = format(i, ModKind::DataType)?;
    let ftz = format == ptxc_semantics::BF16;
    match i.modifier(ModKind::Mode) {
        ".EX2" => map_half(i, move |b| mufu::half_ex2(format, b, ftz)),
        ".TANH" => map_half(i, move |b| mufu::half_tanh(format, b)),
        _ => i.unknown(ModKind::Mode),
    }
}

/// The float format that a modifier names.
pub(super) fn format(i: &Fields<'_>, kind: ModKind) -> Result<Format, String> {
    Ok(match i.modifier(kind) {
        ".F16" => ptxc_semantics::F16,
        ".BF16" => ptxc_semantics::BF16,
        ".F32" => ptxc_semantics::F32,
        _ => return i.unknown(kind),
    })
}
