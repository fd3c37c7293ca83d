//! Double precision.

use ptxc_sass::{ModKind, value};
use ptxc_semantics::float::{self, NanRule};
use ptxc_semantics::{F64, Format, Mode};

use super::alu::{set_predicates, set_where};
use super::fields::{Action, Decoded, Fields};
use super::fma::{comparison, rounding};
use crate::warp::Flow;

/// `d = f(a, b, c)` on pairs; operands that a row does not have are ignored.
fn map(i: &Fields<'_>, names: [&str; 3], f: fn(u64, u64, u64, Mode) -> u64) -> Decoded {
    let (d, mode) = (i.dests("d", 2)?, Mode::new(rounding(i)?));
    let [a, b, c] = [i.double(names[0])?, i.double(names[1])?, i.double(names[2])?];
    let action: Action = Box::new(move |registers, step| {
        let (a, b, c) = (registers.double(a), registers.double(b), registers.double(c));
        let result: [u64; crate::warp::LANES] = std::array::from_fn(|n| f(a[n], b[n], c[n], mode));
        registers.write_wide(&d, step.lanes, |n| result[n]);
        Ok(Flow::Next)
    });
    Ok(action)
}

/// `DADD`.
pub(super) fn dadd(i: &Fields<'_>) -> Decoded {
    map(i, ["a", "c", "c"], |a, c, _, mode| float::add(F64, a, c, mode))
}

/// `DMUL`.
pub(super) fn dmul(i: &Fields<'_>) -> Decoded {
    map(i, ["a", "b", "b"], |a, b, _, mode| float::mul(F64, a, b, mode))
}

/// `DFMA`.
pub(super) fn dfma(i: &Fields<'_>) -> Decoded {
    map(i, ["a", "b", "c"], |a, b, c, mode| float::fma(F64, a, b, c, mode))
}

/// `DSETP`. With `.MIN` and `.MAX` the first predicate is true if `a` is the result, and the second
/// if both operands are NaNs: the sequences that ptxas emits for PTX `min` and `max` read them so.
pub(super) fn dsetp(i: &Fields<'_>) -> Decoded {
    let (a, b) = (i.double("a")?, i.double("b")?);
    let extreme: fn(Format, u64, u64, NanRule, bool) -> u64 = match i.modifier(ModKind::Compare) {
        ".MIN" => float::min,
        ".MAX" => float::max,
        _ => {
            let comparison = comparison(i)?;
            return set_predicates(i, move |registers| {
                let (a, b) = (registers.double(a), registers.double(b));
                set_where(|n| match comparison {
                    Ok(cmp) => float::compare(F64, cmp, a[n], b[n], false),
                    Err(always) => always,
                })
            });
        }
    };
    let (pd, pe, ps) = (i.pred_dest("pd")?, i.pred_dest("pe")?, i.pred("ps")?);
    if !i.is(value!(Combine = ".AND")) {
        return i.unknown(ModKind::Combine);
    }
    Ok(Box::new(move |registers, step| {
        let (a, b, ps) = (registers.double(a), registers.double(b), registers.pred(ps));
        let first = set_where(|n| extreme(F64, a[n], b[n], NanRule::Number, false) == a[n]);
        let nans = set_where(|n| F64.is_nan(a[n]) && F64.is_nan(b[n]));
        registers.write_pred(pd, step.lanes, first & !nans & ps);
        registers.write_pred(pe, step.lanes, nans & ps);
        Ok(Flow::Next)
    }))
}
