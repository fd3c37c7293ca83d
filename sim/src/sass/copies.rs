//! Asynchronous copies: they are made as late as the program allows, see
//! [`asynchronous`](crate::asynchronous).
//!
//! A wait waits for the groups of the waiting lanes. The hardware counts the groups of the whole
//! warp, so it waits for more, never for less: a program that is right here is right on the
//! hardware.

use ptxc_ir::AtomicOp;
use ptxc_machine::Arch;
use ptxc_sass::{ModKind, value};
use smallvec::SmallVec;

use super::fields::{Decoded, Fields};
use super::memory::Place;
use super::registers::Source;
use crate::asynchronous::{
    Bulk, Stored, copy_element, copy_in_bulk, filled, store_asynchronously, update_asynchronously,
};
use crate::copies::{Destination, Kind};
use crate::engine::Step;
use crate::error::Fault;
use crate::memory::{AccessKind, Space};
use crate::phase::wait_for_groups;
use crate::tensor_copy::destinations;
use crate::warp::{Flow, lanes_of};

/// `LDGSTS`.
pub(super) fn ldgsts(i: &Fields<'_>) -> Decoded {
    let (from, to) = (Place::new(i, Space::Global)?, Place::of(i, "to", Space::Shared)?);
    let copies = i.pred("ps")?;
    let size = match i.modifier(ModKind::Size) {
        "" => 4,
        ".64" => 8,
        ".128" => 16,
        _ => return i.unknown(ModKind::Size),
    };
    let zfill = i.is(value!(Mode = ".ZFILL"));
    Ok(Box::new(move |registers, step| {
        let (from, to) = (from.resolve(registers, step)?, to.resolve(registers, step)?);
        let copies = registers.pred(copies);
        step.log_access(AccessKind::Read, Space::Global, size, &from);
        for lane in lanes_of(step.lanes) {
            let (at, bytes) = filled(from[lane as usize], size, zfill, copies >> lane & 1 == 1);
            let thread = step.memory.first_thread + lane;
            copy_element(&mut step.memory, (thread, lane), at, to[lane as usize], (bytes, size))?;
        }
        Ok(Flow::Next)
    }))
}

/// `LDGDEPBAR`.
pub(super) fn ldgdepbar(_: &Fields<'_>) -> Decoded {
    commit(Kind::Element)
}

/// `UTMACMDFLUSH`.
pub(super) fn utmacmdflush(_: &Fields<'_>) -> Decoded {
    commit(Kind::BulkStore)
}

fn commit(kind: Kind) -> Decoded {
    Ok(Box::new(move |_, step| {
        for lane in lanes_of(step.lanes) {
            let thread = step.memory.first_thread + lane;
            step.memory.cta().copies.commit(thread, kind);
        }
        Ok(Flow::Next)
    }))
}

/// The size in the lower half of the word, in units of 16 bytes, converted to bytes.
pub(super) fn bytes(word: u32) -> u32 {
    (word & 0xffff) << 4
}

/// An address in shared memory of the cluster, in memory's numbering.
pub(super) fn cluster_address(arch: Arch, word: u32) -> u64 {
    u64::from(word.wrapping_sub(arch.facts().limits.reserved_shared))
}

/// The address of remote data and that of its mbarrier.
fn remote_places(i: &Fields<'_>) -> Result<[Source; 2], String> {
    let address = i.address("addr")?;
    let barrier = address.base_high.ok_or("the address of the mbarrier is missing")?;
    Ok([address.base, barrier])
}

/// `STAS`.
pub(super) fn stas(i: &Fields<'_>) -> Decoded {
    let (places, arch) = (remote_places(i)?, i.arch);
    let data = match i.modifier(ModKind::Size) {
        "" => vec![i.word("data")?],
        ".64" => i.words::<2>("data")?.to_vec(),
        ".128" => i.words::<4>("data")?.to_vec(),
        _ => return i.unknown(ModKind::Size),
    };
    Ok(Box::new(move |registers, step| {
        let places = places.map(|source| registers.int(source));
        let data: SmallVec<[_; 4]> = data.iter().map(|&source| registers.int(source)).collect();
        for lane in lanes_of(step.lanes) {
            let [to, tell] = places.map(|words| cluster_address(arch, words[lane as usize]));
            let mut stored = Stored::default();
            data.iter().for_each(|words| stored.push(words[lane as usize].into(), 4));
            store_asynchronously(&mut step.memory, lane, (to, tell), stored)?;
        }
        Ok(Flow::Next)
    }))
}

/// `REDAS`.
pub(super) fn redas(i: &Fields<'_>) -> Decoded {
    let (places, arch) = (remote_places(i)?, i.arch);
    let is_wide = i.is(value!(Size = ".64"));
    let is_signed = i.is(value!(Size = ".S32"));
    let op = match (i.modifier(ModKind::Atomic), is_signed) {
        (".ADD", _) => AtomicOp::Add,
        (".MIN", true) => AtomicOp::Smin,
        (".MIN", false) => AtomicOp::Umin,
        (".MAX", true) => AtomicOp::Smax,
        (".MAX", false) => AtomicOp::Umax,
        (".INC", _) => AtomicOp::Inc,
        (".DEC", _) => AtomicOp::Dec,
        (".AND", _) => AtomicOp::And,
        (".OR", _) => AtomicOp::Or,
        (".XOR", _) => AtomicOp::Xor,
        _ => return i.unknown(ModKind::Atomic),
    };
    let data = if is_wide { i.words::<2>("data")?.to_vec() } else { vec![i.word("data")?] };
    let bytes = 4 * data.len() as u32;
    Ok(Box::new(move |registers, step| {
        let places = places.map(|source| registers.int(source));
        let data: SmallVec<[_; 2]> = data.iter().map(|&source| registers.int(source)).collect();
        for lane in lanes_of(step.lanes) {
            let [to, tell] = places.map(|words| cluster_address(arch, words[lane as usize]));
            let words = data.iter().rev();
            let operand = words.fold(0, |all, words| all << 32 | u64::from(words[lane as usize]));
            update_asynchronously(&mut step.memory, lane, (to, tell), (op, bytes), operand)?;
        }
        Ok(Flow::Next)
    }))
}

/// `UBLKCP.S.G`: one copy for the warp.
pub(super) fn ublkcp_s_g(i: &Fields<'_>) -> Decoded {
    let (to, from, size) = (i.words::<2>("to")?, i.words::<2>("addr")?, i.word("bytes")?);
    let arch = i.arch;
    let multicast = i.is(value!(Variant = ".MULTICAST"));
    Ok(Box::new(move |registers, step| {
        let word = |source| registers.int(source)[0];
        let from = u64::from(word(from[1])) << 32 | u64::from(word(from[0]));
        let [to, barrier] = to.map(|source| cluster_address(arch, word(source)));
        let size = word(size);
        for Destination { to, tell } in destinations(to, barrier, multicast.then_some(size >> 16)) {
            let (to, from) = ((Space::Cluster, to), (Space::Global, from));
            once(step, Bulk { from, to, bytes: bytes(size), tell: Some(tell) })?;
        }
        Ok(Flow::Next)
    }))
}

/// `UBLKCP.S.S`: one copy for the warp.
pub(super) fn ublkcp_s_s(i: &Fields<'_>) -> Decoded {
    let (to, from, size) = (i.words::<2>("to")?, i.word("addr")?, i.word("bytes")?);
    let arch = i.arch;
    Ok(Box::new(move |registers, step| {
        let word = |source| registers.int(source)[0];
        let [to, barrier] = to.map(|source| cluster_address(arch, word(source)));
        let from = (Space::Shared, cluster_address(arch, word(from)));
        let bulk = Bulk { from, to: (Space::Cluster, to), bytes: bytes(word(size)), tell: Some(barrier) };
        once(step, bulk)?;
        Ok(Flow::Next)
    }))
}

/// Requests a copy that one mbarrier counts once.
fn once(step: &mut Step<'_>, bulk: Bulk) -> Result<(), Fault> {
    let by = first(step);
    copy_in_bulk(&mut step.memory, by, Kind::Signalled, bulk)
}

/// The thread and lane that an instruction is executed for once.
pub(super) fn first(step: &Step<'_>) -> (u32, u32) {
    let lane = step.lanes.trailing_zeros();
    (step.memory.first_thread + lane, lane)
}

/// `UBLKCP.G.S`: one copy, in the group of each lane.
pub(super) fn ublkcp_g_s(i: &Fields<'_>) -> Decoded {
    let (to, from, size) = (i.words::<2>("to")?, i.word("addr")?, i.word("bytes")?);
    let arch = i.arch;
    Ok(Box::new(move |registers, step| {
        let word = |source| registers.int(source)[0];
        let to = (Space::Global, u64::from(word(to[1])) << 32 | u64::from(word(to[0])));
        let from = (Space::Shared, cluster_address(arch, word(from)));
        for lane in lanes_of(step.lanes) {
            let bulk = Bulk { from, to, bytes: bytes(word(size)), tell: None };
            let thread = step.memory.first_thread + lane;
            copy_in_bulk(&mut step.memory, (thread, lane), Kind::BulkStore, bulk)?;
        }
        Ok(Flow::Next)
    }))
}

/// `DEPBAR.LE`: waits for groups of all kinds, because one scoreboard counts them.
pub(super) fn depbar_le(i: &Fields<'_>) -> Decoded {
    let most = i.imm("n")?;
    Ok(Box::new(move |registers, step| {
        wait_for_groups(step, &mut registers.random, most)?;
        Ok(Flow::Next)
    }))
}
