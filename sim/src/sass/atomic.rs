//! Atomic updates of memory, and tests of the memory that a generic address lies in.

use ptxc_sass::{ModKind, slot_name, value};
use ptxc_semantics::float::{self, NanRule};
use ptxc_semantics::{BF16, F16, F32, F64, Mode, S32, S64, U32, U64, int, packed};

use super::alu::set_where;
use super::fields::{Action, Decoded, Fields};
use super::memory::Place;
use super::registers::{Dest, PredDest, Registers, Source};
use crate::engine::Step;
use crate::error::Fault;
use crate::generic_atomic::{self, NOT_DONE, Update as UpdateKind};
use crate::memory::{self, AccessKind, Space, read_le, write_le};
use crate::warp::{Flow, LANES, lanes_of};

/// The new content of a location, from the old one and the data.
type Update = fn(u64, u64) -> u64;

/// The update of a location by an instruction, and its size in bytes.
fn update(i: &Fields<'_>) -> Result<(Update, u32), String> {
    let wide = i.is(value!(Size = ".64"));
    let (op, ty) = (i.modifier(ModKind::Atomic), i.modifier(ModKind::DataType));
    let bytes = if wide || matches!(ty, ".S64" | ".F64.RN") { 8 } else { 4 };
    let update: Update = match (op, ty, bytes) {
        (".POPC.INC.32", "", 4) => |old, _| int::add(U32, old, 1),
        (".ADD", "" | ".S32", 4) => |old, b| int::add(U32, old, b),
        (".ADD", "" | ".S64", 8) => |old, b| int::add(U64, old, b),
        (".ADD", ".F32.FTZ.RN", 4) => |old, b| float::add(F32, old, b, Mode::IEEE.with_ftz(true)),
        (".ADD", ".F32.RN", 4) => |old, b| float::add(F32, old, b, Mode::IEEE),
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

/// The update of each word of a location by a vector instruction, and the number of words; `None`
/// for a scalar instruction.
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
        ".F32x2.FTZ.RN" | ".F32x2.RN" | ".F16x4.RN" | ".BF16x4.RN" => 2,
        ".F32x4.FTZ.RN" | ".F32x4.RN" | ".F16x8.RN" | ".BF16x8.RN" => 4,
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
        let add: Update = match ty.contains(".FTZ") {
            true => |old, b| float::add(F32, old, b, Mode::IEEE.with_ftz(true)),
            false => |old, b| float::add(F32, old, b, Mode::IEEE),
        };
        (op == ".ADD").then_some(add)
    };
    Some((update?, words))
}

/// The space of an update, its kind, and the operands for its results.
struct Target {
    place: Place,
    kind: UpdateKind,
    bytes: u32,
    d: Vec<Dest>,
    pd: PredDest,
}

impl Target {
    fn new(i: &Fields<'_>, space: Space, kind: UpdateKind, bytes: u32) -> Result<Target, String> {
        let d =
            if i.inst.get(slot_name!("d")).is_some() { i.dests("d", (bytes / 4) as u8)? } else { Vec::new() };
        let pd = if i.inst.get(slot_name!("pd")).is_some() { i.pred_dest("pd")? } else { None };
        Ok(Target { place: Place::new(i, space)?, kind, bytes, d, pd })
    }

    /// Calls `update` with the location of each lane, lane by lane, and writes the words that it
    /// returns. A lane whose memory does not support the update changes nothing, and its predicate
    /// is false. It is a fault if the program does not read the predicate.
    fn each<const N: usize>(
        &self,
        registers: &mut Registers,
        step: &mut Step<'_>,
        mut update: impl FnMut(usize, &mut [u8]) -> [u32; N],
    ) -> Result<Flow, Fault> {
        let Target { place, kind, bytes, d, pd } = self;
        let addresses = place.resolve(registers, step)?;
        step.log_access(AccessKind::Atomic, place.space, *bytes, &addresses);
        let mut old = [[0; LANES]; N];
        let mut done = 0;
        for lane in lanes_of(step.lanes) {
            let n = lane as usize;
            let (memory, _) = memory::resolve(place.space, addresses[n]);
            let words = if place.space != Space::Generic || generic_atomic::is_done(memory, *kind, *bytes) {
                done |= 1 << lane;
                let location =
                    step.memory.access(place.space, lane, addresses[n], *bytes, AccessKind::Atomic)?;
                update(n, location)
            } else if pd.is_some() {
                [NOT_DONE as u32; N]
            } else {
                let what =
                    format!("{memory:?} memory does not support this update, and no predicate reports it");
                return Err(Fault::new(lane, what));
            };
            for (old, word) in old.iter_mut().zip(words) {
                old[n] = word;
            }
        }
        for (&d, old) in d.iter().zip(&old) {
            registers.write(d, step.lanes, |n| old[n]);
        }
        registers.write_pred(*pd, step.lanes, done);
        Ok(Flow::Next)
    }
}

/// Updates words of a location, each separately, for each lane in turn.
fn vector<const N: usize>(i: &Fields<'_>, space: Space, update: Update) -> Decoded {
    let data = i.words::<N>("data")?;
    let target = Target::new(i, space, UpdateKind::Float, 4 * N as u32)?;
    Ok(Box::new(move |registers: &mut Registers, step| {
        let data = data.map(|word| registers.int(word));
        target.each(registers, step, |n, location| {
            let mut old = [0; N];
            for ((old, data), word) in old.iter_mut().zip(&data).zip(location.chunks_mut(4)) {
                *old = read_le(word) as u32;
                write_le(word, update((*old).into(), data[n].into()));
            }
            old
        })
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

/// Updates a location for each lane in turn: `update` gets the old content and the operands of the
/// lane, and returns the new content and the result.
fn atomic(
    i: &Fields<'_>,
    space: Space,
    (kind, bytes): (UpdateKind, u32),
    operands: [[Source; 2]; 2],
    update: impl Fn(u64, u64, u64) -> [u64; 2] + 'static,
) -> Decoded {
    let target = Target::new(i, space, kind, bytes)?;
    let action: Action = Box::new(move |registers: &mut Registers, step| {
        let [a, b] = operands.map(|pair| registers.wide(pair));
        target.each(registers, step, |n, location| {
            let [new, result] = update(read_le(location), a[n], b[n]);
            write_le(location, new);
            [result as u32, (result >> 32) as u32]
        })
    });
    Ok(action)
}

/// Exchanges 128 bits for the first operand, or for the second operand if they equal the first.
fn swap_wide(i: &Fields<'_>, space: Space, operands: [&'static str; 2], compare: bool) -> Decoded {
    let target = Target::new(i, space, UpdateKind::Swap, 16)?;
    let [expected, new] = [i.words::<4>(operands[0])?, i.words::<4>(operands[1])?];
    Ok(Box::new(move |registers: &mut Registers, step| {
        let [expected, new] = [expected, new].map(|words| words.map(|word| registers.int(word)));
        target.each(registers, step, |n, location| {
            let mut old = [0; 4];
            for (old, word) in old.iter_mut().zip(location.chunks(4)) {
                *old = read_le(word) as u32;
            }
            if !compare || old.iter().zip(&expected).all(|(&old, expected)| old == expected[n]) {
                for (word, new) in location.chunks_mut(4).zip(&new) {
                    write_le(word, new[n].into());
                }
            }
            old
        })
    }))
}

fn read_modify_write(i: &Fields<'_>, space: Space) -> Decoded {
    if i.is(value!(Size = ".128")) {
        return match i.modifier(ModKind::Atomic) {
            ".EXCH" => swap_wide(i, space, ["data", "data"], false),
            op => Err(format!("{op} of 128 bits")),
        };
    }
    match word_update(i) {
        Some((update, 1)) => return vector::<1>(i, space, update),
        Some((update, 2)) => return vector::<2>(i, space, update),
        Some((update, _)) => return vector::<4>(i, space, update),
        None => {}
    }
    let (update, bytes) = update(i)?;
    let kind = match (i.modifier(ModKind::Atomic), i.modifier(ModKind::DataType)) {
        (".EXCH", _) => UpdateKind::Swap,
        (_, ty) if ty.starts_with(".F") => UpdateKind::Float,
        _ => UpdateKind::Integer,
    };
    let data = operand(i, "data", bytes)?;
    atomic(i, space, (kind, bytes), [data, data], move |old, data, _| [update(old, data), old])
}

fn compare_and_swap(i: &Fields<'_>, space: Space) -> Decoded {
    let bytes = match i.modifier(ModKind::Size) {
        ".128" => return swap_wide(i, space, ["compare", "data"], true),
        ".64" => 8,
        _ => 4,
    };
    let operands = [operand(i, "compare", bytes)?, operand(i, "data", bytes)?];
    let tells = i.is(value!(Atomic = ".CAST.SPIN"));
    atomic(i, space, (UpdateKind::Swap, bytes), operands, move |old, expected, new| {
        let same = old == expected;
        [if same { new } else { old }, if tells { same.into() } else { old }]
    })
}

/// `QSPC`: whether a generic address lies in the memory of the mode.
pub(super) fn qspc(i: &Fields<'_>) -> Decoded {
    let asked = match i.modifier(ModKind::Mode) {
        ".S" => Space::Shared,
        ".D" => Space::Cluster,
        ".L" => Space::Local,
        ".G" => Space::Global,
        _ => return i.unknown(ModKind::Mode),
    };
    if i.is_register(slot_name!("d")) && !i.dests("d", 1)?.is_empty() {
        return Err("the register result".to_string());
    }
    let (place, pd) = (Place::new(i, Space::Generic)?, i.pred_dest("pd")?);
    Ok(Box::new(move |registers: &mut Registers, step| {
        let addresses = place.resolve(registers, step)?;
        let holds = set_where(|n| generic_atomic::lies_in(&step.memory, asked, addresses[n]));
        registers.write_pred(pd, step.lanes, holds);
        Ok(Flow::Next)
    }))
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
