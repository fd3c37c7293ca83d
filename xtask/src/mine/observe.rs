//! Distances between dependent instructions of straight lines.
//!
//! In: a straight line. Out: for every two instructions that depend on each other through a
//! register, the sum of the stalls from the first to the second, counted by the classes of the two.
//! Pairs whose distance has no meaning are omitted:
//!
//! - pairs with a wait for a scoreboard after the first instruction, up to and in the second: the
//!   time is longer than the stalls;
//! - pairs where a scoreboard announces the end of the first instruction's access;
//! - pairs where the first writes and the second reads under complementary guards, so that only one
//!   has an effect. Results that overwrite each other in this way are counted, because the hazard
//!   check cannot distinguish them from others;
//! - pairs where the second, of variable latency, reads the first's result and overwrites it: the
//!   output dependence keeps them apart.
//!
//! A guarded write leaves the previous write visible, so a reader depends on both. The distance to
//! the older write does not show the reader's need, because the younger write is between them.
//!
//! Cost: linear in the instructions; a register remembers its accesses back to its last write
//! without a guard, for at most [`FARTHEST`] cycles.

use std::collections::{BTreeMap, HashMap};

use ptxc_machine::Arch;
use ptxc_sass::latency::{Dependence, Port, Side, reads_as_guard, reads_at_issue};
use ptxc_sass::{Access, AccessRole, Completion, Inst, Op, PReg, RegFile, Register};

use super::code::Issued;

/// Pairs with a greater distance, in cycles, are not counted.
pub(super) const FARTHEST: u32 = 40;

/// The key of a pair of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pair {
    pub(super) dependence: Dependence,
    /// Whether the second reads the register as a guard.
    pub(super) guard: bool,
    pub(super) file: RegFile,
    pub(super) producer: (Port, Op),
    pub(super) consumer: (Port, Op),
}

/// How often a pair was seen at each distance, and an example of the least distance.
#[derive(Clone, Debug)]
pub(super) struct Distances {
    pub(super) counts: [u32; FARTHEST as usize + 1],
    pub(super) example: String,
}

impl Distances {
    /// The least distance.
    pub(super) fn least(&self) -> u32 {
        self.counts.iter().position(|&count| count > 0).unwrap_or(FARTHEST as usize) as u32
    }

    /// The number of pairs.
    pub(super) fn total(&self) -> u32 {
        self.counts.iter().sum()
    }
}

/// Every pair that was seen.
pub(super) type Pairs = BTreeMap<Pair, Distances>;

/// An access of a register in a line.
#[derive(Clone, Copy)]
struct Touch {
    index: usize,
    slot: u8,
    component: u8,
    /// Whether a later write under a guard followed.
    is_covered: bool,
}

/// Counts the pairs of a line.
pub(super) fn observe(arch: Arch, line: &[Issued], pairs: &mut Pairs) {
    let mut written: HashMap<PReg, Vec<Touch>> = HashMap::new();
    let mut read: HashMap<PReg, Vec<Touch>> = HashMap::new();
    for (index, here) in line.iter().enumerate() {
        if here.control.wait_mask != 0 {
            written.clear();
            read.clear();
        }
        let mut count = |dependence, reg: PReg, before: &Touch, now: Touch| {
            let from = &line[before.index];
            let distance = here.time - from.time;
            let announced = match dependence {
                Dependence::Raw | Dependence::Waw => from.inst.completion(arch).is_unknown(),
                Dependence::War => !reads_at_issue(arch, &from.inst, reg.file()),
            };
            let is_read = dependence == Dependence::Raw;
            let never = is_read && are_complementary(&from.inst, &here.inst);
            let kept_apart = is_read && overwrites(arch, &here.inst, &from.inst);
            let hidden = is_read && before.is_covered;
            if announced || distance > FARTHEST || never || kept_apart || hidden {
                return;
            }
            let producer = Side { inst: &from.inst, slot: before.slot, component: before.component };
            let consumer = Side { inst: &here.inst, slot: now.slot, component: now.component };
            let pair = Pair {
                dependence,
                guard: is_read && reads_as_guard(consumer),
                file: reg.file(),
                producer: (Port::of_producer(producer), from.inst.op),
                consumer: (Port::of_consumer(consumer), here.inst.op),
            };
            let nothing = || Distances { counts: [0; FARTHEST as usize + 1], example: String::new() };
            let distances = pairs.entry(pair).or_insert_with(nothing);
            if distance < distances.least() || distances.example.is_empty() {
                distances.example = format!("{} -> {}", from.inst, here.inst);
            }
            distances.counts[distance as usize] += 1;
        };
        let accesses = here.inst.accesses();
        for (reg, now) in touches(&accesses, index, |role| role != AccessRole::Def) {
            for before in written.get(&reg).into_iter().flatten() {
                count(Dependence::Raw, reg, before, now);
            }
        }
        for (reg, now) in touches(&accesses, index, |role| role == AccessRole::Def) {
            for before in written.get(&reg).into_iter().flatten() {
                count(Dependence::Waw, reg, before, now);
            }
            for before in read.get(&reg).into_iter().flatten() {
                count(Dependence::War, reg, before, now);
            }
        }
        for (reg, now) in touches(&accesses, index, |role| role != AccessRole::Def) {
            remember(line, read.entry(reg).or_default(), now);
        }
        for (reg, now) in touches(&accesses, index, |role| role == AccessRole::Def) {
            let writes = written.entry(reg).or_default();
            if here.inst.guard.is_none() {
                writes.clear();
                read.remove(&reg);
            }
            writes.iter_mut().for_each(|write| write.is_covered = true);
            remember(line, writes, now);
        }
    }
}

/// Appends an access and drops accesses that are too far back.
fn remember(line: &[Issued], list: &mut Vec<Touch>, now: Touch) {
    let time = line[now.index].time;
    list.retain(|old| time - line[old.index].time <= FARTHEST);
    list.push(now);
}

/// The registers of the accesses in those roles.
fn touches(
    accesses: &[Access<PReg>],
    index: usize,
    wanted: impl Fn(AccessRole) -> bool,
) -> impl Iterator<Item = (PReg, Touch)> {
    accesses.iter().filter(move |access| wanted(access.role)).flat_map(move |access| {
        (0..access.width).filter_map(move |component| {
            let touch = Touch { index, slot: access.slot, component, is_covered: false };
            Some((access.reg.offset(component)?, touch))
        })
    })
}

/// Whether an instruction of variable latency overwrites the other's result.
fn overwrites(arch: Arch, inst: &Inst<PReg>, other: &Inst<PReg>) -> bool {
    let registers = |inst: &Inst<PReg>| {
        inst.defs()
            .flat_map(|access| (0..access.width).filter_map(move |n| access.reg.offset(n)))
            .collect::<Vec<_>>()
    };
    inst.completion(arch) == Completion::Variable
        && registers(inst).iter().any(|reg| registers(other).contains(reg))
}

/// Whether the guards of two instructions cannot both hold. If the predicate is written between
/// them, a pair is only skipped, not judged wrongly.
pub(super) fn are_complementary(a: &Inst<PReg>, b: &Inst<PReg>) -> bool {
    match (a.guard, b.guard) {
        (Some(a), Some(b)) => a.reg == b.reg && a.negated != b.negated,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use ptxc_sass::Control;
    use ptxc_sass::text::parse_inst;

    use super::*;

    fn seen(text: &[(&str, u8, u8)]) -> Vec<(Dependence, bool, Op, Op, u32)> {
        let mut time = 0;
        let mut line = Vec::new();
        for &(text, stall, wait_mask) in text {
            let (inst, _) = parse_inst(text, Arch::Sm90).expect(text);
            line.push(Issued { inst, control: Control { stall, wait_mask, ..Control::plain() }, time });
            time += u32::from(stall);
        }
        let mut pairs = Pairs::new();
        observe(Arch::Sm90, &line, &mut pairs);
        pairs.iter().map(|(p, d)| (p.dependence, p.guard, p.producer.1, p.consumer.1, d.least())).collect()
    }

    #[test]
    fn stalls_add_up_from_the_first_to_the_second() {
        let found = seen(&[
            ("ISETP.NE.AND P0, PT, R1, RZ, PT", 2, 0),
            ("FADD R2, R3, R4", 4, 0),
            ("@P0 FADD R3, R2, R2", 1, 0),
        ]);
        let expected = [
            (Dependence::Raw, false, Op::FADD, Op::FADD, 4),
            (Dependence::Raw, true, Op::ISETP, Op::FADD, 6),
            (Dependence::War, false, Op::FADD, Op::FADD, 4),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn pairs_with_waits_are_not_counted() {
        assert_eq!(seen(&[("FADD R2, R3, R4", 4, 0), ("FADD R5, R2, R2", 1, 1)]), []);
        assert_eq!(seen(&[("LDS R2, [R3]", 4, 0), ("FADD R5, R2, R2", 1, 0)]), []);
        assert_eq!(seen(&[("@P0 FADD R2, R3, R4", 1, 0), ("@!P0 FADD R5, R2, R2", 1, 0)]), []);
    }

    #[test]
    fn a_guarded_write_is_the_one_that_its_reader_waits_for() {
        let found =
            seen(&[("FADD R2, R3, R4", 1, 0), ("@P0 IADD3 R2, R6, R7, RZ", 4, 0), ("MOV R5, R2", 1, 0)]);
        let expected = [
            (Dependence::Raw, false, Op::IADD3, Op::MOV, 4),
            (Dependence::Waw, false, Op::FADD, Op::IADD3, 1),
        ];
        assert_eq!(found, expected);
    }
}
