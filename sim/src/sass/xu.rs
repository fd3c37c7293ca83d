//! The transcendental unit: approximations and bit counts.

use ptxc_sass::ModKind;
use ptxc_semantics::{S32, U32, bits, mufu};

use super::alu::set_where;
use super::fields::{Decoded, Fields, map1};
use super::registers::Registers;
use crate::warp::Flow;

/// `MUFU`. The unit flushes subnormals; ptxas scales around it where PTX keeps them.
pub(super) fn mufu(i: &Fields<'_>) -> Decoded {
    let function: fn(u32) -> u32 = match i.modifier(ModKind::Mode) {
        ".COS" => mufu::cos_turns,
        ".SIN" => mufu::sin_turns,
        ".EX2" => |a| mufu::ex2(a, true),
        ".LG2" => |a| mufu::lg2(a, true),
        ".RCP" => |a| mufu::rcp(a, true),
        ".RSQ" => |a| mufu::rsqrt(a, true),
        ".SQRT" => |a| mufu::sqrt(a, true),
        ".RCP64H" => mufu::rcp64h,
        ".RSQ64H" => mufu::rsqrt64h,
        ".TANH" => mufu::tanh,
        _ => return i.unknown(ModKind::Mode),
    };
    map1(i.dest("d")?, Registers::float, i.word("b")?, function)
}

/// `FCHK`.
pub(super) fn fchk(i: &Fields<'_>) -> Decoded {
    let (pd, a, b) = (i.pred_dest("pd")?, i.word("a")?, i.word("b")?);
    Ok(Box::new(move |registers, step| {
        let (a, b) = (registers.float(a), registers.float(b));
        registers.write_pred(pd, step.lanes, set_where(|n| mufu::division_check(a[n], b[n])));
        Ok(Flow::Next)
    }))
}

/// `POPC`, `UPOPC`.
pub(super) fn popc(i: &Fields<'_>) -> Decoded {
    map1(i.dest("d")?, Registers::int, i.word("b")?, |b| bits::popc(U32, b.into()))
}

/// `FLO`, `UFLO`.
pub(super) fn flo(i: &Fields<'_>) -> Decoded {
    if i.pred_dest("pd")?.is_some() {
        return Err("the predicate result".to_string());
    }
    let ty = if i.modifier(ModKind::Sign) == ".U32" { U32 } else { S32 };
    let shift = i.modifier(ModKind::Variant) == ".SH";
    map1(i.dest("d")?, Registers::int, i.word("b")?, move |b| bits::bfind(ty, b.into(), shift))
}

/// `BREV`.
pub(super) fn brev(i: &Fields<'_>) -> Decoded {
    map1(i.dest("d")?, Registers::int, i.word("b")?, u32::reverse_bits)
}
