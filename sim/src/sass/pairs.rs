//! Several integers in one register: two of 16 bits, four of 8.

use ptxc_sass::{ModKind, value};
use ptxc_semantics::IntType;
use ptxc_semantics::int;
use ptxc_semantics::packed::{join, split};
use ptxc_semantics::pairs;

use super::fields::{Decoded, Fields, map2, map3};
use super::registers::{Origin, Registers, Source};
use crate::warp::{Flow, has};

/// The type of both halves, and the smallest result: zero with `.RELU`.
fn halves(i: &Fields<'_>) -> Result<(IntType, u64), String> {
    let ty = match i.modifier(ModKind::Sign) {
        ".U16x2" => IntType::new(16, false),
        ".S16x2" => IntType::new(16, true),
        _ => return i.unknown(ModKind::Sign),
    };
    match i.modifier(ModKind::Sat) {
        "" => Ok((ty, ty.wrap(ty.least()))),
        ".RELU" if ty.is_signed() => Ok((ty, 0)),
        _ => i.unknown(ModKind::Sat),
    }
}

/// For each half, the minimum or maximum of the results of `make`, as the predicate says.
fn extreme<const N: usize>(
    i: &Fields<'_>,
    names: [&str; N],
    made: impl Fn(IntType, [u64; N]) -> Vec<u64> + 'static,
) -> Decoded {
    let (d, ps, (ty, floor)) = (i.dest("d")?, i.pred("ps")?, halves(i)?);
    let mut sources = [Source { origin: Origin::Value(0), neg: false, abs: false, not: false }; N];
    for (source, name) in sources.iter_mut().zip(names) {
        *source = i.word(name)?;
    }
    let signs = sources.map(|source| source.neg);
    if sources.iter().any(|source| source.abs || source.not) {
        return Err("signs of an operand".to_string());
    }
    let sources = sources.map(|source| Source { neg: false, ..source });
    Ok(Box::new(move |registers, step| {
        let (words, least) = (sources.map(|source| registers.int(source)), registers.pred(ps));
        registers.write(d, step.lanes, |n| {
            let half = |half: usize| {
                let mut operands = words.map(|word| u64::from(split(word[n])[half]));
                for (operand, negated) in operands.iter_mut().zip(signs) {
                    *operand = if negated { int::neg(ty, *operand) } else { *operand };
                }
                let choose = if has(least, n) { int::min } else { int::max };
                let result = made(ty, operands).into_iter().reduce(|a, b| choose(ty, a, b));
                int::max(ty, result.unwrap_or_default(), floor) as u16
            };
            join(half(0), half(1))
        });
        Ok(Flow::Next)
    }))
}

/// `VIADD` of pairs.
pub(super) fn viadd(i: &Fields<'_>) -> Decoded {
    let (a, b) = (i.word("a")?, i.word("b")?);
    let function = if b.neg { pairs::sub } else { pairs::add };
    map2(i.dest("d")?, Registers::int, [a, Source { neg: false, ..b }], function)
}

/// `VIMNMX` of pairs.
pub(super) fn vimnmx(i: &Fields<'_>) -> Decoded {
    extreme(i, ["a", "b"], |_, operands| operands.to_vec())
}

/// `VIMNMX3` of pairs.
pub(super) fn vimnmx3(i: &Fields<'_>) -> Decoded {
    extreme(i, ["a", "b", "c"], |_, operands| operands.to_vec())
}

/// `VIADDMNMX` of pairs.
pub(super) fn viaddmnmx(i: &Fields<'_>) -> Decoded {
    extreme(i, ["a", "b", "c"], |ty, [a, b, c]| vec![int::add(ty, a, b), c])
}

/// `VABSDIFF4`. It is not known how a third operand would be added to each byte.
pub(super) fn vabsdiff4(i: &Fields<'_>) -> Decoded {
    let ty = IntType::new(8, !i.is(value!(Sign = ".U8")));
    let sums = match i.modifier(ModKind::Variant) {
        "" => false,
        ".ACC" => true,
        _ => return i.unknown(ModKind::Variant),
    };
    let sources = [i.word("a")?, i.word("b")?, i.word("c")?];
    if !sums && !matches!(sources[2].origin, Origin::Value(0)) {
        return Err("a third operand".to_string());
    }
    map3(i.dest("d")?, Registers::int, sources, move |a, b, c| {
        let differences: [u8; 4] = std::array::from_fn(|n| {
            int::sad(ty, a.to_le_bytes()[n].into(), b.to_le_bytes()[n].into(), 0) as u8
        });
        match sums {
            true => differences.iter().fold(c, |sum, &one| sum.wrapping_add(one.into())),
            false => u32::from_le_bytes(differences),
        }
    })
}
