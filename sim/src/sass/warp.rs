//! Exchange between the lanes of a warp, CTA barriers and warp synchronization.
//!
//! A vote or shuffle includes only the lanes that execute it together, as on the hardware.

use ptxc_ir::op::{ReduxOp, ShflMode};
use ptxc_sass::{ModKind, Op, slot_name, value};

use super::alu::set_where;
use super::fields::{Decoded, Fields};
use super::registers::{Origin, Registers, Source};
use crate::barrier::{ARRIVES_WITHOUT_COUNT, Reduction};
use crate::collective::{matching, reduce};
use crate::engine::CTA_BARRIERS;
use crate::error::Fault;
use crate::shuffle::source_lane;
use crate::warp::{Flow, LANES, Wait, lanes_of};

/// `SHFL`. A lane that reads a lane outside the executing group gets a random value.
pub(super) fn shfl(i: &Fields<'_>) -> Decoded {
    let mode = match i.modifier(ModKind::Mode) {
        ".IDX" => ShflMode::Idx,
        ".UP" => ShflMode::Up,
        ".DOWN" => ShflMode::Down,
        ".BFLY" => ShflMode::Bfly,
        _ => return i.unknown(ModKind::Mode),
    };
    let (d, pd) = (i.dest("d")?, i.pred_dest("pd")?);
    let (a, b, c) = (i.word("a")?, i.word("lane")?, i.word("clamp")?);
    Ok(Box::new(move |registers, step| {
        let (a, b, c) = (registers.int(a), registers.int(b), registers.int(c));
        let mut result = [0; LANES];
        let mut valid = 0;
        for lane in lanes_of(step.lanes) {
            let n = lane as usize;
            let (from, in_range) = source_lane(mode, lane, b[n], c[n]);
            result[n] = match step.lanes >> from & 1 {
                1 => a[from as usize],
                _ => registers.random.next() as u32,
            };
            valid |= u32::from(in_range) << lane;
        }
        registers.write(d, step.lanes, |lane| result[lane]);
        registers.write_pred(pd, step.lanes, valid);
        Ok(Flow::Next)
    }))
}

/// `VOTE`, `VOTEU`.
pub(super) fn vote(i: &Fields<'_>) -> Decoded {
    let test: fn(u32, u32) -> bool = match i.modifier(ModKind::Mode) {
        ".ALL" => |holds, lanes| holds == lanes,
        ".ANY" => |holds, _| holds != 0,
        ".EQ" => |holds, lanes| holds == lanes || holds == 0,
        _ => return i.unknown(ModKind::Mode),
    };
    let (d, pd, ps) = (i.dest("d")?, i.pred_dest("pd")?, i.pred("ps")?);
    Ok(Box::new(move |registers, step| {
        let holds = registers.pred(ps) & step.lanes;
        registers.write(d, step.lanes, |_| holds);
        registers.write_pred(pd, step.lanes, if test(holds, step.lanes) { u32::MAX } else { 0 });
        Ok(Flow::Next)
    }))
}

/// The lanes' values of an operand of one or two words.
fn values<const N: usize>(registers: &Registers, sources: [Source; N]) -> [u64; LANES] {
    let words = sources.map(|source| registers.int(source));
    std::array::from_fn(|n| words.iter().rev().fold(0, |value, word| value << 32 | u64::from(word[n])))
}

/// `MATCH.ANY`.
pub(super) fn match_any<const N: usize>(i: &Fields<'_>) -> Decoded {
    let (d, a) = (i.dest("d")?, i.words::<N>("a")?);
    Ok(Box::new(move |registers, step| {
        let found = matching(&values(registers, a), step.lanes);
        registers.write(d, step.lanes, |lane| found[lane]);
        Ok(Flow::Next)
    }))
}

/// `MATCH.ALL`.
pub(super) fn match_all<const N: usize>(i: &Fields<'_>) -> Decoded {
    let (d, pd, a) = (i.dest("d")?, i.pred_dest("pd")?, i.words::<N>("a")?);
    Ok(Box::new(move |registers, step| {
        let lanes = step.lanes;
        let all = matching(&values(registers, a), lanes)[lanes.trailing_zeros() as usize] == lanes;
        registers.write(d, lanes, |_| if all { lanes } else { 0 });
        registers.write_pred(pd, lanes, if all { u32::MAX } else { 0 });
        Ok(Flow::Next)
    }))
}

/// `REDUX`.
pub(super) fn redux(i: &Fields<'_>) -> Decoded {
    let (d, a) = (i.dest("d")?, i.word("a")?);
    let signed = i.is(value!(Sign = ".S32"));
    let op = match (i.modifier(ModKind::Reduction), signed) {
        ("", _) => ReduxOp::And,
        (".OR", _) => ReduxOp::Or,
        (".XOR", _) => ReduxOp::Xor,
        (".SUM", false) => ReduxOp::Add,
        (".SUM", true) => ReduxOp::Sadd,
        (".MIN", false) => ReduxOp::Umin,
        (".MAX", false) => ReduxOp::Umax,
        (".MIN", true) => ReduxOp::Smin,
        (".MAX", true) => ReduxOp::Smax,
        _ => return i.unknown(ModKind::Reduction),
    };
    Ok(Box::new(move |registers, step| {
        let result = reduce(op, &registers.int(a), step.lanes);
        registers.write(d, step.lanes, |_| result);
        Ok(Flow::Next)
    }))
}

/// `ELECT`: the lowest lane whose `ps` holds.
pub(super) fn elect(i: &Fields<'_>) -> Decoded {
    let (d, pd, ps) = (i.dest("d")?, i.pred_dest("pd")?, i.pred("ps")?);
    Ok(Box::new(move |registers, step| {
        let candidates = registers.pred(ps) & step.lanes;
        let elected = candidates & candidates.wrapping_neg();
        registers.write(d, step.lanes, |_| elected.trailing_zeros());
        registers.write_pred(pd, step.lanes, elected);
        Ok(Flow::Next)
    }))
}

/// The value of an operand, which all lanes must agree on.
fn agreed(registers: &Registers, source: Source, lanes: u32, what: &str) -> Result<u32, Fault> {
    let values = registers.int(source);
    let value = values[lanes.trailing_zeros() as usize];
    match lanes_of(lanes).find(|&lane| values[lane as usize] != value) {
        Some(lane) => Err(Fault::new(lane, format!("names another {what} than {value} of its warp"))),
        None => Ok(value),
    }
}

/// The bits of a barrier name and a count in one register.
const PACKED: u32 = 0x0fff_000f;

/// `BAR`. If name and count are in one register (both operands are registers), they are packed: the
/// name in bits 3:0, the count in bits 27:16. No experiment has shown that the hardware ignores the
/// other bits, so they must be zero here. A count of 0 means all threads. The warp's previous
/// barrier result is lost. The hardware raises an illegal instruction if the launch did not allocate
/// the barrier, that is, if its number is not below the number of barriers that the kernel states.
pub(super) fn bar(i: &Fields<'_>) -> Decoded {
    let reduction = match i.modifier(ModKind::Reduction) {
        "" => None,
        ".POPC" => Some(Reduction::Popc),
        ".AND" => Some(Reduction::And),
        ".OR" => Some(Reduction::Or),
        _ => return i.unknown(ModKind::Reduction),
    };
    let (name, count) = (i.word("name")?, i.optional_word("count")?);
    let ps = if reduction.is_some() { Some(i.pred("ps")?) } else { None };
    let packed = i.is_register(slot_name!("name")) && i.is_register(slot_name!("count"));
    let arrive_only = i.inst.op == Op::BAR_ARV;
    let allocated = i.program.resources.barriers;
    Ok(Box::new(move |registers, step| {
        let lanes = step.lanes;
        let name = agreed(registers, name, lanes, "barrier")?;
        let count = match count {
            Some(count) => agreed(registers, count, lanes, "count")?,
            None => 0,
        };
        if packed && name & !PACKED != 0 {
            let what = format!("{name:#010x} has bits that belong neither to a name nor to a count");
            return Err(Fault::new(lanes.trailing_zeros(), what));
        }
        let (name, count) = if packed { (name & 0xf, count >> 16) } else { (name, count) };
        if (allocated..CTA_BARRIERS as u32).contains(&name) {
            let plural = if allocated == 1 { "" } else { "s" };
            let what =
                format!("illegal instruction: barrier {name} of a kernel with {allocated} barrier{plural}");
            return Err(Fault::new(lanes.trailing_zeros(), what));
        }
        if arrive_only && count == 0 {
            return Err(Fault::new(lanes.trailing_zeros(), ARRIVES_WITHOUT_COUNT));
        }
        step.control.reduction = [None; LANES];
        let holds = ps.map_or(0, |ps| registers.pred(ps));
        let count = (count != 0).then_some(count);
        step.arrive(name, lanes, count, reduction.map(|reduction| (reduction, holds)))?;
        Ok(if arrive_only { Flow::Next } else { Flow::Wait(lanes, Wait::Cta(name as u8)) })
    }))
}

/// `B2R.RESULT`.
pub(super) fn b2r(i: &Fields<'_>) -> Decoded {
    let (d, pd) = (i.dest("d")?, i.pred_dest("pd")?);
    Ok(Box::new(move |registers, step| {
        let results = step.control.reduction;
        if let Some(lane) = lanes_of(step.lanes).find(|&lane| results[lane as usize].is_none()) {
            return Err(Fault::new(lane, "reads a barrier result that does not exist or has been lost"));
        }
        let result = results.map(Option::unwrap_or_default);
        registers.write(d, step.lanes, |lane| result[lane]);
        let holds = lanes_of(step.lanes).filter(|&lane| result[lane as usize] != 0);
        registers.write_pred(pd, step.lanes, holds.fold(0, |set, lane| set | 1 << lane));
        Ok(Flow::Next)
    }))
}

/// `WARPSYNC` with a mask; each lane may have its own.
pub(super) fn warpsync(i: &Fields<'_>) -> Decoded {
    let mask = i.word("mask")?;
    Ok(Box::new(move |registers, step| {
        let masks = own_masks(registers, mask, step.lanes)?;
        Ok(Flow::Meet(Box::new(masks.map(Wait::Lanes))))
    }))
}

/// `WARPSYNC.EXCLUSIVE`: lanes of one mask meet, and own the warp's uniform registers until they go
/// elsewhere than to the next instruction.
pub(super) fn warpsync_exclusive(i: &Fields<'_>) -> Decoded {
    let mask = i.word("mask")?;
    Ok(Box::new(move |registers, step| {
        let masks = own_masks(registers, mask, step.lanes)?;
        Ok(Flow::Meet(Box::new(masks.map(Wait::Exclusive))))
    }))
}

/// The mask of each lane, which must contain the lane.
fn own_masks(registers: &Registers, mask: Source, lanes: u32) -> Result<[u32; LANES], Fault> {
    let masks = registers.int(mask);
    match lanes_of(lanes).find(|&lane| masks[lane as usize] >> lane & 1 == 0) {
        Some(lane) => Err(Fault::new(lane, format!("is not in its own mask {:#010x}", masks[lane as usize]))),
        None => Ok(masks),
    }
}

/// `WARPSYNC.ALL`.
pub(super) fn warpsync_all(_: &Fields<'_>) -> Decoded {
    Ok(Box::new(|_, step| Ok(Flow::Wait(step.lanes, Wait::Lanes(u32::MAX)))))
}

/// `WARPSYNC.COLLECTIVE`: lanes that name the same mask meet, even from different places. Hardware
/// reads the masks of all waiting lanes in the register that the last lanes name, so a lane that has
/// its mask elsewhere is a fault.
pub(super) fn warpsync_collective(i: &Fields<'_>) -> Decoded {
    let (mask, target) = (i.word("mask")?, i.target("target")?);
    let register = i.inst.get(slot_name!("mask")).and_then(|operand| operand.as_reg());
    Ok(Box::new(move |registers, step| {
        let masks = own_masks(registers, mask, step.lanes)?;
        if let Some(other) = step.control.names_mask_register(register) {
            let own = register.map_or("RZ".to_string(), |register| register.to_string());
            let what = format!("has its mask in {own}, but lanes that wait have theirs in {other}");
            return Err(Fault::new(step.lanes.trailing_zeros(), what));
        }
        step.control.goes_on_at(step.lanes, target);
        Ok(Flow::Meet(Box::new(masks.map(Wait::Collective))))
    }))
}

/// `WARPSYNC.COLLECTIVE.ALL`.
pub(super) fn warpsync_collective_all(i: &Fields<'_>) -> Decoded {
    let target = i.target("target")?;
    Ok(Box::new(move |_, step| {
        step.control.goes_on_at(step.lanes, target);
        Ok(Flow::Wait(step.lanes, Wait::Collective(u32::MAX)))
    }))
}

/// `ENDCOLLECTIVE`: each lane continues at the target of its `WARPSYNC.COLLECTIVE`.
pub(super) fn endcollective(_: &Fields<'_>) -> Decoded {
    Ok(Box::new(|_, step| match step.control.leave_collective(step.lanes) {
        Ok(targets) => Ok(Flow::Spread(Box::new(targets))),
        Err(lane) => Err(Fault::new(lane, "ends a collective that it has not started")),
    }))
}

/// `R2UR`: the value of the first active lane; the predicate marks the lanes with another value.
/// NVIDIA's compiler uses it in functions that parts of a warp call at any time, and in both arms
/// of a branch with the same destination. So no other group may execute between it and the
/// instructions after it in its block that read the result.
pub(super) fn r2ur(i: &Fields<'_>) -> Decoded {
    let (d, pd, a) = (i.dest("d")?, i.pred_dest("pd")?, i.word("a")?);
    // `.OR` keeps the lanes in which the predicate holds.
    let kept = if i.inst.op == Op::R2UR_OR { Some(i.pred("pd")?) } else { None };
    if !matches!(a.origin, Origin::Lane(_) | Origin::Value(0)) {
        return Err("its source".to_string());
    }
    Ok(Box::new(move |registers, step| {
        let a = registers.int(a);
        let taken = a[step.lanes.trailing_zeros() as usize];
        registers.write(d, step.lanes, |lane| a[lane]);
        let kept = kept.map_or(0, |kept| registers.pred(kept));
        registers.write_pred(pd, step.lanes, kept | set_where(|lane| a[lane] != taken));
        step.control.held = step.lanes;
        Ok(Flow::Next)
    }))
}
