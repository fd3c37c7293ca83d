//! Copies of boxes of tensors, and updates in bulk: each is executed once for the warp. Stores that
//! all lanes share are in the group of each lane.

use ptxc_ir::{AtomicOp, TensorBox, TensorUpdate, Type};
use ptxc_sass::{ModKind, Op, value};

use super::copies::{bytes, cluster_address, first};
use super::fields::{Decoded, Fields};
use super::registers::Source;
use crate::copies::{Action, BulkUpdate, Tile};
use crate::element_update::Update;
use crate::memory::Space;
use crate::tensor_copy::{copy_box, destinations, update_in_bulk};
use crate::warp::{Flow, lanes_of};

/// The operands of a copy: the words of `place` before the coordinates, the coordinates, the address
/// of the map, and the word after them.
struct Operands {
    tile: TensorBox,
    before: Vec<Source>,
    coordinates: Vec<Source>,
    map: [Source; 2],
    extra: Option<Source>,
}

impl Operands {
    fn new(i: &Fields<'_>, before: usize, has_extra: bool) -> Result<Operands, String> {
        let dimensions = match i.modifier(ModKind::Shape) {
            ".1D" => 1,
            ".2D" => 2,
            ".3D" => 3,
            ".4D" => 4,
            ".5D" => 5,
            _ => return i.unknown(ModKind::Shape),
        };
        let tile = TensorBox { dimensions, im2col: i.is(value!(Mode = ".IM2COL")) };
        let mut words = i.some_words("place", before + usize::from(dimensions))?;
        let coordinates = words.split_off(before);
        let extra = if has_extra { i.optional_word("extra")? } else { None };
        Ok(Operands { tile, before: words, coordinates, map: i.words::<2>("map")?, extra })
    }

    /// The box, from the content of uniform registers.
    fn tile(&self, word: impl Fn(Source) -> u32) -> Tile {
        Tile {
            tile: self.tile,
            map: u64::from(word(self.map[1])) << 32 | u64::from(word(self.map[0])),
            coordinates: self.coordinates.iter().map(|&source| word(source) as i32).collect(),
            offsets: self.extra.map_or(0, |extra| word(extra) & 0xffff),
        }
    }
}

/// `UTMALDG`.
pub(super) fn utmaldg(i: &Fields<'_>) -> Decoded {
    let operands = Operands::new(i, 2, true)?;
    let multicast = i.is(value!(Variant = ".MULTICAST"));
    let arch = i.arch;
    Ok(Box::new(move |registers, step| {
        let word = |source| registers.int(source)[0];
        let place = |n: usize| cluster_address(arch, word(operands.before[n]));
        let ctas = operands.extra.filter(|_| multicast).map(|extra| word(extra) >> 16);
        let action = Action::Load(destinations(place(0), place(1), ctas));
        let by = first(step);
        copy_box(&mut step.memory, by, operands.tile(word), action)?;
        Ok(Flow::Next)
    }))
}

/// `UTMASTG`.
pub(super) fn utmastg(i: &Fields<'_>) -> Decoded {
    let operands = Operands::new(i, 1, false)?;
    let arch = i.arch;
    Ok(Box::new(move |registers, step| {
        let word = |source| registers.int(source)[0];
        let from = cluster_address(arch, word(operands.before[0]));
        for lane in lanes_of(step.lanes) {
            let thread = step.memory.first_thread + lane;
            copy_box(&mut step.memory, (thread, lane), operands.tile(word), Action::Store(from))?;
        }
        Ok(Flow::Next)
    }))
}

/// `UTMAREDG`.
pub(super) fn utmaredg(i: &Fields<'_>) -> Decoded {
    let operands = Operands::new(i, 1, false)?;
    let arch = i.arch;
    let op = combine(i)?;
    Ok(Box::new(move |registers, step| {
        let word = |source| registers.int(source)[0];
        let from = cluster_address(arch, word(operands.before[0]));
        let by = first(step);
        copy_box(&mut step.memory, by, operands.tile(word), Action::Update(from, op))?;
        Ok(Flow::Next)
    }))
}

/// `UBLKRED.G.S` and `UBLKRED.S.S`.
pub(super) fn ublkred(i: &Fields<'_>) -> Decoded {
    let (to, from, size) = (i.words::<2>("to")?, i.word("addr")?, i.word("bytes")?);
    let is_shared = i.inst.op == Op::UBLKRED_S_S;
    let arch = i.arch;
    let update = update(i)?;
    Ok(Box::new(move |registers, step| {
        let word = |source| registers.int(source)[0];
        let from = cluster_address(arch, word(from));
        let [low, high] = to.map(word);
        let (to, tell) = match is_shared {
            true => ((Space::Cluster, cluster_address(arch, low)), Some(cluster_address(arch, high))),
            false => ((Space::Global, u64::from(high) << 32 | u64::from(low)), None),
        };
        let by = first(step);
        let bulk = BulkUpdate { from, to, bytes: bytes(word(size)), update, tell };
        update_in_bulk(&mut step.memory, by, bulk)?;
        Ok(Flow::Next)
    }))
}

fn combine(i: &Fields<'_>) -> Result<TensorUpdate, String> {
    Ok(match i.modifier(ModKind::Atomic) {
        ".ADD" => TensorUpdate::Add,
        ".MIN" => TensorUpdate::Min,
        ".MAX" => TensorUpdate::Max,
        ".INC" => TensorUpdate::Inc,
        ".DEC" => TensorUpdate::Dec,
        ".AND" => TensorUpdate::And,
        ".OR" => TensorUpdate::Or,
        ".XOR" => TensorUpdate::Xor,
        _ => return i.unknown(ModKind::Atomic),
    })
}

fn update(i: &Fields<'_>) -> Result<Update, String> {
    let (ty, op) = match i.modifier(ModKind::DataType) {
        "" => (Type::B32, AtomicOp::Umin),
        ".S32" => (Type::B32, AtomicOp::Smin),
        ".U64" => (Type::B64, AtomicOp::Umin),
        ".S64" => (Type::B64, AtomicOp::Smin),
        ".F16.RN" => (Type::F16, AtomicOp::Fmin),
        ".F32.RN" => (Type::F32, AtomicOp::Fmin),
        ".F64.RN" => (Type::F64, AtomicOp::Fmin),
        ".BF16.RN" => (Type::BF16, AtomicOp::Fmin),
        _ => return i.unknown(ModKind::DataType),
    };
    let least = Update::of(op, ty).ok_or("a type without updates")?;
    Ok(Update { op: combine(i)?, ..least })
}
