//! Integer addition, logic, shifts, comparison and selection.
//!
//! The rows of the uniform datapath with the same arithmetic (`UIADD3`, `ULEA`, `USHF`, `ULOP3`)
//! are here too: only their register files differ, and the operands know these.

use ptxc_sass::{ModKind, Op, PReg, RegFile, slot_name, value};
use ptxc_semantics::bits::{self, Funnel, Limit, PrmtMode};
use ptxc_semantics::int::{self, IntCmp};
use ptxc_semantics::{IntType, S32, S64, U32, U64};

use super::fields::{Action, Decoded, Fields, map1, map2, map3};
use super::registers::{Lanes, PredIndex, PredSource, Registers, Source};
use crate::warp::{BIT, Flow, LANES, has};

/// Signed unless the modifier says otherwise.
pub(super) fn sign(i: &Fields<'_>) -> IntType {
    if i.is(value!(Sign = ".U32")) { U32 } else { S32 }
}

/// The operation that combines the result of a comparison with a predicate.
pub(super) fn combine(i: &Fields<'_>) -> Result<fn(u32, u32) -> u32, String> {
    Ok(match i.modifier(ModKind::Combine) {
        ".AND" => |a, b| a & b,
        ".OR" => |a, b| a | b,
        ".XOR" => |a, b| a ^ b,
        _ => return i.unknown(ModKind::Combine),
    })
}

/// An addend: its bits, and the 1 that completes the two's complement of a negated addend and
/// counts in the carry.
fn addend(source: Source) -> (Source, u32) {
    match source.neg {
        true => (Source { neg: false, not: !source.not, ..source }, 1),
        false => (source, 0),
    }
}

/// `a + b + c` with carries in; the carries out are in `pd` (one or more) and `pe` (two or more).
fn add3<const N: usize>(i: &Fields<'_>, carries: [PredSource; N]) -> Decoded {
    let d = i.dest("d")?;
    let (pd, pe) = (i.pred_dest("pd")?, i.pred_dest("pe")?);
    let (a, more_a) = addend(i.word("a")?);
    let (b, more_b) = addend(i.word("b")?);
    let (c, more_c) = addend(i.word("c")?);
    let more = more_a + more_b + more_c;
    Ok(Box::new(move |registers, step| {
        let (a, b, c) = (registers.int(a), registers.int(b), registers.int(c));
        let carries = carries.map(|carry| registers.pred(carry));
        let sum = |n: usize| {
            let carry_in = carries.iter().fold(more, |sum, &carry| sum + u32::from(has(carry, n)));
            int::add3_carry(U32, a[n].into(), b[n].into(), c[n].into(), carry_in)
        };
        registers.write(d, step.lanes, |n| sum(n).0 as u32);
        if pd.is_some() {
            registers.write_pred(pd, step.lanes, set_where(|n| sum(n).1 >= 1));
        }
        if pe.is_some() {
            registers.write_pred(pe, step.lanes, set_where(|n| sum(n).1 >= 2));
        }
        Ok(Flow::Next)
    }))
}

/// `IADD3`, `UIADD3`.
pub(super) fn iadd3(i: &Fields<'_>) -> Decoded {
    add3(i, [])
}

/// `IADD3.X`, `UIADD3.X`.
pub(super) fn iadd3_x(i: &Fields<'_>) -> Decoded {
    add3(i, [i.pred("ps")?, i.pred("pt")?])
}

/// `UIADD3.64`, whose constant has a sign, without carries.
pub(super) fn uiadd3_64(i: &Fields<'_>) -> Decoded {
    let d = i.dests("d", 2)?;
    if i.pred_dest("pd")?.is_some() || i.pred_dest("pe")?.is_some() {
        return Err("carries of 64 bits".to_string());
    }
    let mut terms = Vec::new();
    for name in ["a", "b", "c"] {
        terms.push(i.signed_pair(name)?);
    }
    Ok(Box::new(move |registers, step| {
        let sum = terms.iter().fold([0u64; LANES], |sum, &term| {
            let term = registers.wide(term);
            std::array::from_fn(|lane| sum[lane].wrapping_add(term[lane]))
        });
        registers.write_wide(&d, step.lanes, |lane| sum[lane]);
        Ok(Flow::Next)
    }))
}

/// `LOP3.LUT`, `ULOP3.LUT`.
pub(super) fn lop3(i: &Fields<'_>) -> Decoded {
    let (d, pd, ps) = (i.dest("d")?, i.pred_dest("pd")?, i.pred("ps")?);
    let (a, b, c) = (i.word("a")?, i.word("b")?, i.word("c")?);
    let lut = i.imm("lut")? as u8;
    let both = match i.modifier(ModKind::Combine) {
        "" => false,
        ".PAND" => true,
        _ => return i.unknown(ModKind::Combine),
    };
    if pd.is_none() {
        return map3(d, Registers::int, [a, b, c], move |a, b, c| bits::lop3(a, b, c, lut));
    }
    Ok(Box::new(move |registers, step| {
        let (a, b, c) = (registers.int(a), registers.int(b), registers.int(c));
        let result: Lanes = std::array::from_fn(|n| bits::lop3(a[n], b[n], c[n], lut));
        let other = registers.pred(ps);
        let combined = |found: u32, other: u32| if both { found & other } else { found | other };
        registers.write(d, step.lanes, |lane| result[lane]);
        registers.write_pred(pd, step.lanes, combined(set_where(|n| result[n] != 0), other));
        Ok(Flow::Next)
    }))
}

/// The lanes in which a condition holds.
#[inline]
pub(super) fn set_where(holds: impl Fn(usize) -> bool) -> u32 {
    (0..LANES).fold(0, |set, n| set | if holds(n) { BIT[n] } else { 0 })
}

/// Two predicates from a comparison: the result and its complement, each combined with `ps`.
pub(super) fn set_predicates(i: &Fields<'_>, compare: impl Fn(&Registers) -> u32 + 'static) -> Decoded {
    let (pd, pe, ps) = (i.pred_dest("pd")?, i.pred_dest("pe")?, i.pred("ps")?);
    let combine = combine(i)?;
    Ok(Box::new(move |registers, step| {
        let (holds, other) = (compare(registers), registers.pred(ps));
        registers.write_pred(pd, step.lanes, combine(holds, other));
        registers.write_pred(pe, step.lanes, combine(!holds, other));
        Ok(Flow::Next)
    }))
}

/// An integer comparison, or the constant result of one that ignores its operands.
fn comparison(i: &Fields<'_>) -> Result<Result<IntCmp, bool>, String> {
    Ok(match i.modifier(ModKind::Compare) {
        ".F" => Err(false),
        ".T" => Err(true),
        ".LT" => Ok(IntCmp::Lt),
        ".EQ" => Ok(IntCmp::Eq),
        ".LE" => Ok(IntCmp::Le),
        ".GT" => Ok(IntCmp::Gt),
        ".NE" => Ok(IntCmp::Ne),
        ".GE" => Ok(IntCmp::Ge),
        _ => return i.unknown(ModKind::Compare),
    })
}

/// The lanes in which `a cmp b` holds. Each comparison has a loop of its own, so that it becomes
/// vector code.
fn compare_lanes(ty: IntType, cmp: IntCmp, a: &Lanes, b: &Lanes) -> u32 {
    #[inline(always)]
    fn lanes(ty: IntType, cmp: IntCmp, a: &Lanes, b: &Lanes) -> u32 {
        set_where(|n| int::compare(ty, cmp, a[n].into(), b[n].into()))
    }
    #[inline(always)]
    fn signed(cmp: IntCmp, ty: IntType, a: &Lanes, b: &Lanes) -> u32 {
        if ty.is_signed() { lanes(S32, cmp, a, b) } else { lanes(U32, cmp, a, b) }
    }
    match cmp {
        IntCmp::Eq => lanes(U32, IntCmp::Eq, a, b),
        IntCmp::Ne => lanes(U32, IntCmp::Ne, a, b),
        IntCmp::Lt => signed(IntCmp::Lt, ty, a, b),
        IntCmp::Le => signed(IntCmp::Le, ty, a, b),
        IntCmp::Gt => signed(IntCmp::Gt, ty, a, b),
        IntCmp::Ge => signed(IntCmp::Ge, ty, a, b),
    }
}

/// `ISETP`, `UISETP`.
pub(super) fn isetp(i: &Fields<'_>) -> Decoded {
    let (a, b, ty) = (i.word("a")?, i.word("b")?, sign(i));
    match comparison(i)? {
        Err(always) => set_predicates(i, move |_| if always { u32::MAX } else { 0 }),
        Ok(cmp) => set_predicates(i, move |registers| {
            let (a, b) = (registers.int(a), registers.int(b));
            compare_lanes(ty, cmp, &a, &b)
        }),
    }
}

/// `ISETP.EX`: the upper words decide, or if they are equal, the comparison of the lower words.
pub(super) fn isetp_ex(i: &Fields<'_>) -> Decoded {
    let (a, b, below, ty) = (i.word("a")?, i.word("b")?, i.pred("pt")?, sign(i));
    match comparison(i)? {
        Err(always) => set_predicates(i, move |_| if always { u32::MAX } else { 0 }),
        Ok(cmp) => set_predicates(i, move |registers| {
            let (a, b, below) = (registers.int(a), registers.int(b), registers.pred(below));
            let equal = compare_lanes(ty, IntCmp::Eq, &a, &b);
            equal & below | !equal & compare_lanes(ty, cmp, &a, &b)
        }),
    }
}

/// `SHF`, `USHF`.
pub(super) fn shf(i: &Fields<'_>) -> Decoded {
    let ty = match i.modifier(ModKind::DataType) {
        ".U32" => U32,
        ".S32" => S32,
        ".U64" => U64,
        ".S64" => S64,
        _ => return i.unknown(ModKind::DataType),
    };
    let funnel = Funnel {
        left: i.is(value!(Mode = ".L")),
        ty,
        high: i.is(value!(Variant = ".HI")),
        limit: if i.is(value!(Combine = ".W")) { Limit::Wrap } else { Limit::Clamp },
    };
    let sources = [i.word("a")?, i.word("b")?, i.word("c")?];
    // The shifts of words and the common shifts of pairs are constants here, so that they become
    // vector code.
    const WORD: Funnel = Funnel { left: true, ty: U32, high: false, limit: Limit::Clamp };
    const LEFT: Funnel = Funnel { left: true, ty: U64, high: true, limit: Limit::Clamp };
    const LOGICAL: Funnel = Funnel { left: false, ty: U32, high: true, limit: Limit::Clamp };
    const ARITHMETIC: Funnel = Funnel { left: false, ty: S32, high: true, limit: Limit::Clamp };
    const RIGHT: Funnel = Funnel { left: false, ty: U64, high: false, limit: Limit::Clamp };
    let d = i.dest("d")?;
    match funnel {
        WORD => map3(d, Registers::int, sources, |a, b, c| bits::shf(WORD, a, b, c)),
        LEFT => map3(d, Registers::int, sources, |a, b, c| bits::shf(LEFT, a, b, c)),
        LOGICAL => map3(d, Registers::int, sources, |a, b, c| bits::shf(LOGICAL, a, b, c)),
        ARITHMETIC => map3(d, Registers::int, sources, |a, b, c| bits::shf(ARITHMETIC, a, b, c)),
        RIGHT => map3(d, Registers::int, sources, |a, b, c| bits::shf(RIGHT, a, b, c)),
        other => map3(d, Registers::int, sources, move |a, b, c| bits::shf(other, a, b, c)),
    }
}

/// Adds `b` to a shifted value; `pd` is the carry.
fn shifted_add(
    i: &Fields<'_>,
    shifted: impl Fn(&Registers) -> Lanes + 'static,
    complete: bool,
    carry: Option<PredSource>,
) -> Decoded {
    let (d, pd) = (i.dest("d")?, i.pred_dest("pd")?);
    let (b, more_b) = addend(i.word("b")?);
    let complete = u32::from(complete) + more_b;
    Ok(Box::new(move |registers, step| {
        let (a, b) = (shifted(registers), registers.int(b));
        let carry_in = carry.map_or(0, |carry| registers.pred(carry));
        let sum = |n: usize| {
            let more = complete + u32::from(has(carry_in, n));
            int::add3_carry(U32, a[n].into(), b[n].into(), 0, more)
        };
        registers.write(d, step.lanes, |n| sum(n).0 as u32);
        if pd.is_some() {
            registers.write_pred(pd, step.lanes, set_where(|n| sum(n).1 != 0));
        }
        Ok(Flow::Next)
    }))
}

/// `LEA`, `ULEA`. A negated `a` is negated after the shift, which gives the same sum.
pub(super) fn lea(i: &Fields<'_>) -> Decoded {
    let (source, shift) = (i.word("a")?, i.imm("shift")? & 31);
    let a = Source { neg: false, ..source };
    let shifted = move |registers: &Registers| {
        registers.int(a).map(|a| if source.neg { !(a << shift) } else { a << shift })
    };
    shifted_add(i, shifted, source.neg, None)
}

/// `LEA.X`.
pub(super) fn lea_x(i: &Fields<'_>) -> Decoded {
    let (a, shift) = (i.word("a")?, i.imm("shift")? & 31);
    if a.neg {
        return Err("the sign of a".to_string());
    }
    shifted_add(i, move |registers| registers.int(a).map(|a| a << shift), false, Some(i.pred("ps")?))
}

/// `LEA.HI`.
pub(super) fn lea_hi(i: &Fields<'_>) -> Decoded {
    lea_high(i, None)
}

/// `LEA.HI.X`.
pub(super) fn lea_hi_x(i: &Fields<'_>) -> Decoded {
    lea_high(i, Some(i.pred("ps")?))
}

/// The upper word of the shifted `c:a`, plus `b`. With `.SX32` the sign of `a` replaces `c`.
fn lea_high(i: &Fields<'_>, carry: Option<PredSource>) -> Decoded {
    let (a, c, shift) = (i.word("a")?, i.word("c")?, i.imm("shift")? & 31);
    let extend = match i.modifier(ModKind::Variant) {
        "" => false,
        ".SX32" => true,
        _ => return i.unknown(ModKind::Variant),
    };
    if a.neg {
        return Err("the sign of a".to_string());
    }
    let shifted = move |registers: &Registers| -> Lanes {
        let a = registers.int(a);
        let c = if extend { a.map(|a| (a as i32 >> 31) as u32) } else { registers.int(c) };
        std::array::from_fn(|n| bits::shf_l(a[n], c[n], shift, Limit::Clamp))
    };
    shifted_add(i, shifted, false, carry)
}

/// `MOV`, `UMOV`.
pub(super) fn mov(i: &Fields<'_>) -> Decoded {
    map1(i.dest("d")?, Registers::int, i.word("b")?, |b| b)
}

/// Chooses between two vectors by a predicate.
pub(super) fn select(
    i: &Fields<'_>,
    read: impl Fn(&Registers, Source) -> Lanes + 'static,
    f: impl Fn(bool, u32, u32) -> u32 + 'static,
) -> Decoded {
    let (d, a, b, ps) = (i.dest("d")?, i.word("a")?, i.word("b")?, i.pred("ps")?);
    let action: Action = Box::new(move |registers, step| {
        let (a, b, holds) = (read(registers, a), read(registers, b), registers.pred(ps));
        registers.write(d, step.lanes, |lane| f(has(holds, lane), a[lane], b[lane]));
        Ok(Flow::Next)
    });
    Ok(action)
}

/// `SEL`, `USEL`.
pub(super) fn sel(i: &Fields<'_>) -> Decoded {
    select(i, Registers::int, |holds, a, b| if holds { a } else { b })
}

/// The smallest result of a signed instruction: zero with `.RELU`.
fn floor(i: &Fields<'_>) -> Result<i32, String> {
    match i.modifier(ModKind::Sat) {
        "" => Ok(i32::MIN),
        ".RELU" => Ok(0),
        _ => i.unknown(ModKind::Sat),
    }
}

/// `VIMNMX`.
pub(super) fn imnmx(i: &Fields<'_>) -> Decoded {
    #[inline(always)]
    fn extreme(ty: IntType, least: bool, a: u32, b: u32) -> u32 {
        let (min, max) = (int::min(ty, a.into(), b.into()), int::max(ty, a.into(), b.into()));
        (if least { min } else { max }) as u32
    }
    let floor = floor(i)?;
    match sign(i).is_signed() {
        true => {
            select(i, Registers::int, move |least, a, b| (extreme(S32, least, a, b) as i32).max(floor) as u32)
        }
        false => select(i, Registers::int, |least, a, b| extreme(U32, least, a, b)),
    }
}

/// `PRMT`, `UPRMT`; its selector is the second operand.
pub(super) fn prmt(i: &Fields<'_>) -> Decoded {
    let mode = match i.modifier(ModKind::Mode) {
        "" => PrmtMode::Index,
        ".F4E" => PrmtMode::F4e,
        ".B4E" => PrmtMode::B4e,
        ".RC8" => PrmtMode::Rc8,
        ".ECL" => PrmtMode::Ecl,
        ".ECR" => PrmtMode::Ecr,
        ".RC16" => PrmtMode::Rc16,
        _ => return i.unknown(ModKind::Mode),
    };
    let sources = [i.word("a")?, i.word("b")?, i.word("c")?];
    let d = i.dest("d")?;
    match mode {
        PrmtMode::Index => {
            map3(d, Registers::int, sources, |a, selector, c| bits::prmt(PrmtMode::Index, a, c, selector))
        }
        _ => map3(d, Registers::int, sources, move |a, selector, c| bits::prmt(mode, a, c, selector)),
    }
}

/// `IABS`.
pub(super) fn iabs(i: &Fields<'_>) -> Decoded {
    map1(i.dest("d")?, Registers::int, i.word("b")?, |b| int::abs(S32, b.into()) as u32)
}

/// `PLOP3.LUT`.
pub(super) fn plop3(i: &Fields<'_>) -> Decoded {
    let (pd, pe) = (i.pred_dest("pd")?, i.pred_dest("pe")?);
    let (a, b, c) = (i.pred("pa")?, i.pred("pb")?, i.pred("pc")?);
    let (lut, lut2) = (i.imm("lut")? as u8, i.imm("lut2")? as u8);
    Ok(Box::new(move |registers, step| {
        let (a, b, c) = (registers.pred(a), registers.pred(b), registers.pred(c));
        registers.write_pred(pd, step.lanes, bits::lop3(a, b, c, lut));
        registers.write_pred(pe, step.lanes, bits::lop3(a, b, c, lut2));
        Ok(Flow::Next)
    }))
}

/// `PLOP3.LUT` on signs.
pub(super) fn plop3_sign(i: &Fields<'_>) -> Decoded {
    let (pd, pe) = (i.pred_dest("pd")?, i.pred_dest("pe")?);
    let sources = [i.word("a")?, i.word("b")?, i.word("c")?];
    let (lut, lut2) = (i.imm("lut")? as u8, i.imm("lut2")? as u8);
    Ok(Box::new(move |registers, step| {
        let negative = |source| {
            let words = registers.int(source);
            set_where(|lane| (words[lane] as i32) < 0)
        };
        let [a, b, c] = sources.map(negative);
        registers.write_pred(pd, step.lanes, bits::lop3(a, b, c, lut));
        registers.write_pred(pe, step.lanes, bits::lop3(a, b, c, lut2));
        Ok(Flow::Next)
    }))
}

/// The predicates that a mask chooses, each with its bit in the register, and the mask of these
/// bits. Uniform predicates are in the byte that the modifier names.
fn chosen_predicates(i: &Fields<'_>, file: RegFile) -> Result<(u32, Vec<(PReg, u32)>), String> {
    let byte = match i.modifier(ModKind::Variant) {
        "" => 0,
        ".B1" => 1,
        ".B2" => 2,
        ".B3" => 3,
        _ => return i.unknown(ModKind::Variant),
    };
    // Without a mask all predicates are moved.
    let mask = if i.inst.get(slot_name!("mask")).is_some() { i.imm("mask")? } else { 0xff };
    let chosen = (0..file.count()).filter(|&n| has(mask, n.into()));
    Ok((mask << (8 * byte), chosen.map(|n| (PReg::new(file, n), 8 * byte + u32::from(n))).collect()))
}

/// `P2R`, `UP2UR`.
pub(super) fn p2r(i: &Fields<'_>) -> Decoded {
    let file = if i.inst.op == Op::P2R { RegFile::Pred } else { RegFile::Upred };
    let (d, a) = (i.dest("d")?, i.word("a")?);
    let (mask, chosen) = chosen_predicates(i, file)?;
    let chosen: Vec<_> =
        chosen.into_iter().map(|(reg, bit)| (PredSource::new(Some(reg), false), bit)).collect();
    Ok(Box::new(move |registers, step| {
        let mut words = registers.int(a).map(|a| a & !mask);
        for &(pred, bit) in &chosen {
            let holds = registers.pred(pred);
            for (lane, word) in words.iter_mut().enumerate() {
                *word |= u32::from(has(holds, lane)) << bit;
            }
        }
        registers.write(d, step.lanes, |lane| words[lane]);
        Ok(Flow::Next)
    }))
}

/// `R2P`, `UR2UP`.
pub(super) fn r2p(i: &Fields<'_>) -> Decoded {
    let file = if i.inst.op == Op::R2P { RegFile::Pred } else { RegFile::Upred };
    let a = i.word("a")?;
    let (_, chosen) = chosen_predicates(i, file)?;
    let chosen: Vec<_> =
        chosen.into_iter().map(|(reg, bit)| (Some(PredIndex::new(reg)), bit as usize)).collect();
    Ok(Box::new(move |registers, step| {
        let a = registers.int(a);
        for &(dest, bit) in &chosen {
            registers.write_pred(dest, step.lanes, set_where(|lane| has(a[lane], bit)));
        }
        Ok(Flow::Next)
    }))
}

/// `VIMNMX3`.
pub(super) fn vimnmx3(i: &Fields<'_>) -> Decoded {
    choose_extreme(i, |ty, choose, a, b| choose(ty, a, b))
}

/// `VIADDMNMX`.
pub(super) fn viaddmnmx(i: &Fields<'_>) -> Decoded {
    choose_extreme(i, |ty, _, a, b| int::add(ty, a, b))
}

/// The minimum or the maximum of two integers.
type Extreme = fn(IntType, u64, u64) -> u64;

/// The minimum or maximum, as the predicate says, of `c` and the result of `a` and `b`.
fn choose_extreme(
    i: &Fields<'_>,
    made: impl Fn(IntType, Extreme, u64, u64) -> u64 + Send + Sync + 'static,
) -> Decoded {
    let (d, ps, ty, floor) = (i.dest("d")?, i.pred("ps")?, sign(i), floor(i)?);
    let (a, b, c) = (i.word("a")?, i.word("b")?, i.word("c")?);
    Ok(Box::new(move |registers, step| {
        let (a, b, c) = (registers.int(a), registers.int(b), registers.int(c));
        let least = registers.pred(ps);
        registers.write(d, step.lanes, |n| {
            let choose: Extreme = if has(least, n) { int::min } else { int::max };
            let result = choose(ty, made(ty, choose, a[n].into(), b[n].into()), c[n].into()) as u32;
            if ty.is_signed() { (result as i32).max(floor) as u32 } else { result }
        });
        Ok(Flow::Next)
    }))
}

/// `VABSDIFF`.
pub(super) fn vabsdiff(i: &Fields<'_>) -> Decoded {
    let ty = sign(i);
    let sources = [i.word("a")?, i.word("b")?, i.word("c")?];
    map3(i.dest("d")?, Registers::int, sources, move |a, b, c| {
        int::sad(ty, a.into(), b.into(), c.into()) as u32
    })
}

/// `SGXT`.
pub(super) fn sgxt(i: &Fields<'_>) -> Decoded {
    let signed = sign(i).is_signed();
    let limit = if i.is(value!(Variant = ".W")) { Limit::Wrap } else { Limit::Clamp };
    let sources = [i.word("a")?, i.word("b")?];
    map2(i.dest("d")?, Registers::int, sources, move |a, b| bits::szext(signed, a, b, limit))
}

/// `BMSK`.
pub(super) fn bmsk(i: &Fields<'_>) -> Decoded {
    let limit = if i.is(value!(Variant = ".W")) { Limit::Wrap } else { Limit::Clamp };
    let sources = [i.word("a")?, i.word("b")?];
    map2(i.dest("d")?, Registers::int, sources, move |a, b| bits::bmsk(a, b, limit))
}

/// `VIADD`.
pub(super) fn viadd(i: &Fields<'_>) -> Decoded {
    map2(i.dest("d")?, Registers::int, [i.word("a")?, i.word("b")?], u32::wrapping_add)
}
