//! The transcendental unit: approximations and bit counts.

use ptxc_sass::{ModKind, value};
use ptxc_semantics::{F32, F64, S32, U32, bits, mufu};

use super::alu::set_where;
use super::fields::{Decoded, Fields, map1};
use super::registers::Registers;
use crate::warp::{Flow, LANES};

/// `MUFU`. The unit flushes subnormals; ptxas scales around it where PTX keeps them.
pub(super) fn mufu(i: &Fields<'_>) -> Decoded {
    let mode = i.modifier(ModKind::Mode);
    let function: fn(u32) -> u32 = match mode {
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
    let (d, b) = (i.dest("d")?, i.word("b")?);
    let normal: fn(u32) -> bool = match mode {
        ".RCP" | ".RSQ" | ".SQRT" => |bits| F32.is_finite(bits.into()) && !F32.is_subnormal(bits.into()),
        // The upper word of a binary64.
        ".RCP64H" | ".RSQ64H" => |bits| F64.is_finite(u64::from(bits) << 32),
        _ => |_| false,
    };
    let error = u32::from(i.mufu_error);
    if error == 0 {
        return map1(d, Registers::float, b, function);
    }
    Ok(Box::new(move |registers, step| {
        let b = registers.float(b);
        let off: [u32; LANES] = std::array::from_fn(|_| registers.random.below(2 * error + 1));
        registers.write(d, step.lanes, |lane| {
            let exact = function(b[lane]);
            let moved = exact.wrapping_add(off[lane]).wrapping_sub(error);
            // Zeros and infinities stay exact.
            if exact << 1 != 0 && normal(exact) && normal(moved) { moved } else { exact }
        });
        Ok(Flow::Next)
    }))
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
    let ty = if i.is(value!(Sign = ".U32")) { U32 } else { S32 };
    let shift = i.is(value!(Variant = ".SH"));
    map1(i.dest("d")?, Registers::int, i.word("b")?, move |b| bits::bfind(ty, b.into(), shift))
}

/// `BREV`.
pub(super) fn brev(i: &Fields<'_>) -> Decoded {
    map1(i.dest("d")?, Registers::int, i.word("b")?, u32::reverse_bits)
}
