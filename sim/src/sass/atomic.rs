//! Atomic updates of memory.

use ptxc_sass::ModKind;
use ptxc_semantics::float::{self, NanRule};
use ptxc_semantics::{BF16, F16, F32, F64, Mode, S32, S64, U32, U64, int, packed};

use super::fields::{Action, Decoded, Fields};
use super::memory::Place;
use super::registers::{Registers, Source};
use crate::access::AccessKind;
use crate::memory::{Space, read_le, write_le};
use crate::warp::{Flow, LANES, lanes_of};

/// The new content of a location, from the old one and the data.
type Update = fn(u64, u64) -> u64;

/// What an instruction does to a location, and its size in bytes.
fn update(i: &Fields<'_>) -> Result<(Update, u32), String> {
    let wide = i.modifier(ModKind::Size) == ".64";
    let (op, ty) = (i.modifier(ModKind::Atomic), i.modifier(ModKind::DataType));
    let bytes = if wide || matches!(ty, ".S64" | ".F64.RN") { 8 } else { 4 };
    let update: Update = match (op, ty, bytes) {
        (".POPC.INC.32", "", 4) => |old, _| int::add(U32, old, 1),
        (".ADD", "" | ".S32", 4) => |old, b| int::add(U32, old, b),
        (".ADD", "" | ".S64", 8) => |old, b| int::add(U64, old, b),
        (".ADD", ".F32.FTZ.RN", 4) => |old, b| float::add(F32, old, b, Mode::IEEE.with_ftz(true)),
        (".ADD", ".F64.RN", 8) => |old, b| float::add(F64, old, b, Mode::IEEE),
        (".MIN", "", 4) => |old, b| int::min(U32, old, b),
        (".MIN", ".S32", 4) => |old, b| int::min(S32, old, b),
        (".MIN", "", 8) => |old, b| int::min(U64, old, b),
        (".MIN", ".S64", 8) => |old, b| int::min(S64, old, b),
        (".MAX", "", 4) => |old, b| int::max(U32, old, b),
        (".MAX", ".S32", 4) => |old, b| int::max(S32, old, b),
        (".MAX", "", 8) => |old, b| int::max(U64, old, b),
        (".MAX", ".S64", 8) => |old, b| int::max(S64, old, b),
        (".INC", "", 4) => |old, limit| int::increment(U32, old, limit),
        (".DEC", "", 4) => |old, limit| int::decrement(U32, old, limit),
        (".AND", "", _) => |old, b| old & b,
        (".OR", "", _) => |old, b| old | b,
        (".XOR", "", _) => |old, b| old ^ b,
        (".EXCH", "", _) => |_, b| b,
        _ => return Err(format!("{op} of {:?}", format!("{ty}{}", i.modifier(ModKind::Size)))),
    };
    Ok((update, bytes))
}

/// What a vector instruction does to each word of a location, and the number of words; `None` for a scalar one.
fn word_update(i: &Fields<'_>) -> Option<(Update, usize)> {
    fn halves(op: &str, add: Update, [min, max]: [Update; 2]) -> Option<Update> {
        match op {
            ".ADD" => Some(add),
            ".MIN" => Some(min),
            ".MAX" => Some(max),
            _ => None,
        }
    }
    let (op, ty) = (i.modifier(ModKind::Atomic), i.modifier(ModKind::DataType));
    let words = match ty {
        ".F16x2.RN" | ".BF16x2.RN" => 1,
        ".F32x2.FTZ.RN" | ".F16x4.RN" | ".BF16x4.RN" => 2,
        ".F32x4.FTZ.RN" | ".F16x8.RN" | ".BF16x8.RN" => 4,
        _ => return None,
    };
    let update = if ty.starts_with(".F16") {
        let extremes: [Update; 2] = [
            |old, b| packed::min(F16, old as u32, b as u32, NanRule::Number, false).into(),
            |old, b| packed::max(F16, old as u32, b as u32, NanRule::Number, false).into(),
        ];
        halves(op, |old, b| packed::add(F16, old as u32, b as u32, Mode::IEEE).into(), extremes)
    } else if ty.starts_with(".BF16") {
        let extremes: [Update; 2] = [
            |old, b| packed::min(BF16, old as u32, b as u32, NanRule::Number, false).into(),
            |old, b| packed::max(BF16, old as u32, b as u32, NanRule::Number, false).into(),
        ];
        halves(op, |old, b| packed::add(BF16, old as u32, b as u32, Mode::IEEE).into(), extremes)
    } else {
        let add: Update = |old, b| float::add(F32, old, b, Mode::IEEE.with_ftz(true));
        (op == ".ADD").then_some(add)
    };
    Some((update?, words))
}

/// Updates words of a location, each by itself, for each lane in turn.
fn vector<const N: usize>(i: &Fields<'_>, space: Space, update: Update) -> Decoded {
    if i.inst.get("pd").is_some() && i.pred_dest("pd")?.is_some() {
        return Err("the predicate result".to_string());
    }
    let (place, data, bytes) = (Place::new(i, space)?, i.words::<N>("data")?, 4 * N as u32);
    let d = if i.inst.get("d").is_some() { i.dests("d", N as u8)? } else { Vec::new() };
    Ok(Box::new(move |registers: &mut Registers, step| {
        let addresses = place.resolve(registers, step)?;
        step.log_access(AccessKind::Atomic, place.space, bytes, &addresses);
        let data = data.map(|word| registers.int(word));
        let mut old = [[0; LANES]; N];
        for lane in lanes_of(step.lanes) {
            let n = lane as usize;
            let slice = step.memory.access(place.space, lane, addresses[n], bytes, AccessKind::Atomic)?;
            for ((old, data), word) in old.iter_mut().zip(&data).zip(slice.chunks_mut(4)) {
                old[n] = read_le(word) as u32;
                write_le(word, update(old[n].into(), data[n].into()));
            }
        }
        for (&d, old) in d.iter().zip(&old) {
            registers.write(d, step.lanes, |n| old[n]);
        }
        Ok(Flow::Next)
    }))
}

/// An operand of 4 or 8 bytes, as a pair.
fn operand(i: &Fields<'_>, name: &str, bytes: u32) -> Result<[Source; 2], String> {
    match bytes {
        8 => i.words::<2>(name),
        _ => {
            let low = i.word(name)?;
            Ok([low, Source { origin: super::registers::Origin::Value(0), ..low }])
        }
    }
}

/// Updates a location for each lane in turn: `update` gets the old content and the operands of the lane.
fn atomic(
    i: &Fields<'_>,
    space: Space,
    bytes: u32,
    operands: [[Source; 2]; 2],
    update: impl Fn(u64, u64, u64) -> u64 + 'static,
) -> Decoded {
    if i.inst.get("pd").is_some() && i.pred_dest("pd")?.is_some() {
        return Err("the predicate result".to_string());
    }
    let place = Place::new(i, space)?;
    let d = if i.inst.get("d").is_some() { i.dests("d", (bytes / 4) as u8)? } else { Vec::new() };
    let action: Action = Box::new(move |registers: &mut Registers, step| {
        let addresses = place.resolve(registers, step)?;
        step.log_access(AccessKind::Atomic, place.space, bytes, &addresses);
        let [a, b] = operands.map(|pair| registers.wide(pair));
        let mut old = [0; LANES];
        for lane in lanes_of(step.lanes) {
            let n = lane as usize;
            let slice = step.memory.access(place.space, lane, addresses[n], bytes, AccessKind::Atomic)?;
            old[n] = read_le(slice);
            write_le(slice, update(old[n], a[n], b[n]));
        }
        registers.write_wide(&d, step.lanes, |n| old[n]);
        Ok(Flow::Next)
    });
    Ok(action)
}

fn read_modify_write(i: &Fields<'_>, space: Space) -> Decoded {
    match word_update(i) {
        Some((update, 1)) => return vector::<1>(i, space, update),
        Some((update, 2)) => return vector::<2>(i, space, update),
        Some((update, _)) => return vector::<4>(i, space, update),
        None => {}
    }
    let (update, bytes) = update(i)?;
    let data = operand(i, "data", bytes)?;
    atomic(i, space, bytes, [data, data], move |old, data, _| update(old, data))
}

fn compare_and_swap(i: &Fields<'_>, space: Space) -> Decoded {
    let bytes = if i.modifier(ModKind::Size) == ".64" { 8 } else { 4 };
    let operands = [operand(i, "compare", bytes)?, operand(i, "data", bytes)?];
    atomic(i, space, bytes, operands, |old, expected, new| if old == expected { new } else { old })
}

/// `ATOMG`, `REDG`.
pub(super) fn atomg(i: &Fields<'_>) -> Decoded {
    read_modify_write(i, Space::Global)
}

/// `ATOMS`.
pub(super) fn atoms(i: &Fields<'_>) -> Decoded {
    read_modify_write(i, Space::Shared)
}

/// `ATOM`.
pub(super) fn atom(i: &Fields<'_>) -> Decoded {
    read_modify_write(i, Space::Generic)
}

/// `ATOMG.CAS`.
pub(super) fn atomg_cas(i: &Fields<'_>) -> Decoded {
    compare_and_swap(i, Space::Global)
}

/// `ATOMS.CAS`.
pub(super) fn atoms_cas(i: &Fields<'_>) -> Decoded {
    compare_and_swap(i, Space::Shared)
}

/// `ATOM.CAS`.
pub(super) fn atom_cas(i: &Fields<'_>) -> Decoded {
    compare_and_swap(i, Space::Generic)
}
