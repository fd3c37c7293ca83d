//! Tests the tables against the figures that every schedule depends on.

use std::collections::BTreeMap;

use super::*;
use crate::{Address, Op, Operand, PReg, choice, slot};

type R = Operand<PReg>;

fn r(n: u8) -> R {
    Operand::reg(PReg::r(n))
}

fn p(n: u8) -> R {
    Operand::reg(PReg::p(n))
}

fn ur(n: u8) -> R {
    Operand::reg(PReg::ur(n))
}

/// The first dependence of that kind between two instructions, and its safe distance.
fn safe(dependence: Dependence, first: &Inst<PReg>, second: &Inst<PReg>) -> Vec<u8> {
    let mut found = Vec::new();
    let [from, to]: [Vec<_>; 2] = match dependence {
        Dependence::Raw => [first.defs().collect(), second.uses().collect()],
        Dependence::War => [first.uses().collect(), second.defs().collect()],
        Dependence::Waw => [first.defs().collect(), second.defs().collect()],
    };
    for a in &from {
        for b in &to {
            for i in 0..a.width {
                for j in 0..b.width {
                    if a.reg.offset(i) == b.reg.offset(j) {
                        let producer = Side { inst: first, slot: a.slot, component: i };
                        let consumer = Side { inst: second, slot: b.slot, component: j };
                        found.push(latency(Arch::Sm90, dependence, producer, consumer).safe);
                    }
                }
            }
        }
    }
    found
}

fn iadd3(d: u8, a: u8) -> Inst<PReg> {
    Inst::new(Op::IADD3).ops([r(d), r(a), r(9), Operand::rz()])
}

fn imad_wide(d: u8, a: u8, c: u8) -> Inst<PReg> {
    Inst::new(Op::IMAD_WIDE).ops([r(d), r(a), Operand::imm(4), r(c)])
}

#[test]
fn registers_pass_from_unit_to_unit() {
    let fma = Inst::new(Op::FFMA).ops([r(1), r(0), r(8), r(8)]);
    assert_eq!(safe(Dependence::Raw, &iadd3(0, 2), &iadd3(1, 0)), [4]);
    assert_eq!(safe(Dependence::Raw, &iadd3(0, 2), &fma), [5]);
    assert_eq!(safe(Dependence::Raw, &fma, &iadd3(2, 1)), [5]);
    let load =
        Inst::new(Op::LDG).ops([r(6), Operand::mem(Address::global(PReg::r(4), 0, Some(PReg::ur(4))))]);
    assert_eq!(safe(Dependence::Raw, &imad_wide(4, 0, 2), &load), [5, 5]);
    assert_eq!(safe(Dependence::Raw, &iadd3(4, 0), &load), [5]);
}

#[test]
fn wide_products_arrive_in_halves_and_read_the_high_addend_late() {
    assert_eq!(safe(Dependence::Raw, &imad_wide(4, 0, 2), &iadd3(6, 4)), [3]);
    assert_eq!(safe(Dependence::Raw, &imad_wide(4, 0, 2), &iadd3(6, 5)), [5]);
    assert_eq!(safe(Dependence::Raw, &iadd3(2, 0), &imad_wide(4, 0, 2)), [5]);
    assert_eq!(safe(Dependence::Raw, &iadd3(3, 0), &imad_wide(4, 0, 2)), [3]);
}

#[test]
fn guards_read_late() {
    let compare = Inst::new(Op::ISETP).ops([p(0), r(0), r(1)]).with(choice!(ISETP, ".GE"));
    assert_eq!(safe(Dependence::Raw, &compare, &iadd3(2, 3).guarded(PReg::p(0), true)), [13]);
    let select = Inst::new(Op::SEL).ops([r(2), r(3), r(4), p(0)]);
    assert_eq!(safe(Dependence::Raw, &compare, &select), [4]);
    let barrier = Inst::new(Op::BAR_SYNC).ops([Operand::imm(0)]).guarded(PReg::p(0), false);
    assert_eq!(safe(Dependence::Raw, &compare, &barrier), [13]);
    let vote = Inst::new(Op::VOTE).slot(slot!(VOTE, "ps"), p(0));
    assert_eq!(safe(Dependence::Raw, &compare, &vote), [13]);
}

#[test]
fn uniform_values_cross_to_the_vector_side() {
    let add = Inst::new(Op::UIADD3).ops([ur(4), ur(5), ur(6), Operand::zero(RegFile::Ugpr)]);
    let vector = Inst::new(Op::IADD3).ops([r(0), r(1), ur(4), Operand::rz()]);
    assert_eq!(safe(Dependence::Raw, &add, &add.clone().slot(slot!(UIADD3, "a"), ur(4))), [4]);
    assert_eq!(safe(Dependence::Raw, &add, &vector), [6]);
    let constant = Inst::new(Op::ULDC).ops([ur(4), Operand::constant(0, 0x210)]);
    assert_eq!(safe(Dependence::Raw, &constant, &vector), [2]);
    let first = Inst::new(Op::R2UR).ops([ur(4), r(0)]);
    assert_eq!(safe(Dependence::Raw, &first, &vector), [13]);
}

#[test]
fn operands_are_read_at_issue() {
    assert_eq!(safe(Dependence::War, &iadd3(0, 2), &Inst::new(Op::FADD).ops([r(2), r(3), r(4)])), [1]);
    let load = Inst::new(Op::LDS).ops([r(2), Operand::mem(Address::narrow(Some(PReg::r(7)), 0))]);
    assert_eq!(safe(Dependence::War, &iadd3(0, 2), &load), [2]);
    // A load fetches its address late, its guard at once.
    assert_eq!(safe(Dependence::War, &load, &iadd3(7, 0)), [2]);
    assert!(!reads_at_issue(Arch::Sm90, &load, RegFile::Gpr));
    assert!(reads_at_issue(Arch::Sm90, &load, RegFile::Pred));
}

#[test]
fn older_architectures_have_figures_of_their_own() {
    let on = |arch, producer: &Inst<PReg>, consumer: &Inst<PReg>, slot: &str, component| {
        let slot = consumer.row().slot(slot).unwrap() as u8;
        let to = Side { inst: consumer, slot, component };
        latency(arch, Dependence::Raw, Side { inst: producer, slot: 0, component: 0 }, to).safe
    };
    let store = Inst::new(Op::STS).ops([Operand::mem(Address::narrow(Some(PReg::r(7)), 0)), r(0)]);
    let half = Inst::new(Op::HADD2).ops([r(0), r(1), r(2)]);
    let all = |producer: &Inst<PReg>, consumer: &Inst<PReg>, slot, component| {
        Arch::ALL.map(|arch| on(arch, producer, consumer, slot, component))
    };
    assert_eq!(all(&iadd3(0, 2), &iadd3(1, 0), "a", 0), [4, 4, 4, 4, 4]);
    assert_eq!(all(&iadd3(0, 2), &store, "data", 0), [8, 5, 5, 5, 5]);
    assert_eq!(all(&half, &iadd3(1, 0), "a", 0), [8, 5, 5, 5, 5]);
    // The high word of the addend is read late on sm_90 only.
    assert_eq!(all(&iadd3(3, 0), &imad_wide(4, 0, 2), "c", 1), [5, 5, 5, 5, 3]);
    let compare = Inst::new(Op::ISETP).ops([p(0), r(0), r(1)]).with(choice!(ISETP, ".GE"));
    let guarded = iadd3(2, 3).guarded(PReg::p(0), true);
    let guard = Side { inst: &guarded, slot: guarded.row().slots.len() as u8, component: 0 };
    let from = Side { inst: &compare, slot: 0, component: 0 };
    let found = Arch::ALL.map(|arch| latency(arch, Dependence::Raw, from, guard).safe);
    assert_eq!(found, [12, 13, 13, 13, 13]);
}

/// `HADD2.F32` is not a member of the class of packed sums: sm_90 reads the old value 4 cycles after a packed sum.
#[test]
fn sums_in_single_precision_are_apart_from_packed_ones() {
    let packed = Inst::new(Op::HADD2).ops([r(1), r(0), r(2)]);
    let single = Inst::new(Op::HADD2_F32).ops([r(1), Operand::rz().neg(), r(1)]);
    let least = Inst::new(Op::HMNMX2).ops([r(1), r(1), r(2)]);
    let on = |arch, producer: &Inst<PReg>, consumer: &Inst<PReg>, slot: &str| {
        let slot = consumer.row().slot(slot).unwrap() as u8;
        let to = Side { inst: consumer, slot, component: 0 };
        latency(arch, Dependence::Raw, Side { inst: producer, slot: 0, component: 0 }, to)
    };
    let safe = |producer, slot| Arch::ALL.map(|arch| on(arch, producer, &single, slot).safe);
    assert_eq!(safe(&packed, "b"), [6, 5, 5, 5, 5]);
    assert_eq!(safe(&single, "b"), [6, 5, 5, 5, 5]);
    assert_eq!(safe(&least, "b")[1..], [5, 5, 5, 5]);
    for (producer, consumer, slot) in
        [(&packed, &single, "b"), (&single, &packed, "a"), (&single, &single, "b"), (&least, &single, "b")]
    {
        let found = on(Arch::Sm90, producer, consumer, slot);
        assert_eq!((found.safe, found.legal), (5, 5), "{producer} -> {consumer}");
    }
    assert_eq!(on(Arch::Sm90, &packed, &packed, "a").safe, 4);
}

#[test]
fn scoreboards_announce_more_before_sm_90() {
    let first = Inst::<PReg>::new(Op::R2UR);
    let add = Inst::<PReg>::new(Op::DADD);
    for inst in [first, add] {
        let found = Arch::ALL.map(|arch| inst.completion(arch) == Completion::Variable);
        assert_eq!(found, [true, true, true, true, false], "{inst}");
    }
}

#[test]
fn a_barrier_is_followed_at_once_by_arithmetic_only() {
    let barrier = Inst::new(Op::BAR_SYNC).ops([Operand::imm(0)]);
    let load = Inst::new(Op::LDS).ops([r(2), Operand::mem(Address::narrow(Some(PReg::r(7)), 0))]);
    let clock = Inst::new(Op::CS2R);
    let ahead = Ahead::of(&barrier).unwrap();
    let all = |inst: &Inst<PReg>| Arch::ALL.map(|arch| ahead.distance(arch, inst));
    assert_eq!(all(&barrier), [5, 6, 6, 6, 8]);
    assert_eq!(all(&load), [5, 6, 6, 6, 6]);
    assert_eq!(all(&clock), [5, 6, 6, 6, 0]);
    assert_eq!(all(&iadd3(0, 1)), [0; 5]);
}

#[test]
fn a_barrier_keeps_away_from_the_errors_of_the_cluster() {
    let barrier = Inst::<PReg>::new(Op::BAR_SYNC).ops([Operand::imm(0)]);
    let arrival = Inst::<PReg>::new(Op::UCGABAR_ARV);
    let store = Inst::<PReg>::new(Op::CCTL_IVALL);
    let errors = Inst::<PReg>::new(Op::CGAERRBAR);
    let ahead = Ahead::of(&errors).unwrap();
    let found = [barrier, arrival, store].map(|inst| ahead.distance(Arch::Sm90, &inst));
    assert_eq!(found, [8, 8, 0]);
    assert_eq!(errors.op.min_stall(Arch::Sm90), 8);
}

#[test]
fn a_barrier_keeps_away_from_the_reading_of_a_result() {
    let result = Inst::new(Op::B2R).ops([r(0)]);
    let ahead = Ahead::of(&result).unwrap();
    let all = |inst: &Inst<PReg>| Arch::ALL.map(|arch| ahead.distance(arch, inst));
    for op in [Op::BAR_SYNC, Op::BAR_ARV, Op::BAR_RED, Op::BAR_SCAN, Op::BAR_SYNCALL, Op::R2B] {
        assert_eq!(all(&Inst::new(op)), [4, 4, 4, 4, 2], "{op:?}");
    }
    assert_eq!(all(&result), [0; 5]);
    assert_eq!(all(&iadd3(1, 2)), [0; 5]);
    let most = Op::ALL.iter().flat_map(|&op| {
        let inst = Inst::<PReg>::new(op);
        Ahead::ALL.map(|ahead| Arch::ALL.map(|arch| ahead.distance(arch, &inst))).concat()
    });
    assert_eq!(most.max(), Some(Ahead::MOST));
}

#[test]
fn files_are_well_formed() {
    for arch in Arch::ALL {
        let mut seen = std::collections::BTreeSet::new();
        for e in entries(arch) {
            assert!(1 <= e.latency.legal && e.latency.legal <= e.latency.safe, "{arch}: {e:?}");
            assert!(e.latency.safe <= Latency::UNKNOWN.safe, "{arch}: {e:?}");
            assert!(
                seen.insert((e.dependence, e.guard, e.file, e.producer, e.consumer)),
                "{arch}: twice {e:?}"
            );
        }
    }
}

#[test]
fn what_is_settled_is_old_enough_for_every_consumer() {
    for arch in Arch::ALL {
        for e in entries(arch) {
            let writes = e.dependence != Dependence::War;
            assert!(
                e.latency.legal <= table::settled(arch, writes, e.file, e.producer).legal,
                "{arch}: {e:?}"
            );
            assert!(writes || e.latency.legal <= until_overwritten(arch), "{arch}: {e:?}");
        }
    }
}

/// The pairs without known figures are listed in `machine/data/latency_bounds.txt`, so that a pair
/// that loses or gains a figure shows in review.
#[test]
fn bounds_are_listed() {
    let mut consumers: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for arch in Arch::ALL {
        for e in entries(arch).iter().filter(|e| e.latency.source == Source::Bound) {
            let guard = if e.guard { " guard" } else { "" };
            let pair = format!("{arch} {:?}{guard} {} {}", e.dependence, e.file.prefix(), e.producer.name());
            consumers.entry(pair).or_default().push(e.consumer.name());
        }
    }
    let found: Vec<String> =
        consumers.into_iter().map(|(producer, list)| format!("{producer} -> {}", list.join(" "))).collect();
    let known: Vec<&str> = include_str!("../../../machine/data/latency_bounds.txt").lines().collect();
    let missing: Vec<_> = found.iter().filter(|line| !known.contains(&line.as_str())).collect();
    let stale: Vec<_> = known.iter().filter(|line| !found.iter().any(|f| f == *line)).collect();
    assert!(missing.is_empty() && stale.is_empty(), "not listed: {missing:#?}\nno longer bounds: {stale:#?}");
}

#[test]
fn the_number_of_the_elected_lane_is_written_as_by_umov() {
    let elect = Inst::new(Op::ELECT).ops([p(0), ur(0), Operand::zero(RegFile::Pred)]);
    let to_vector = Inst::new(Op::MOV).ops([r(3), ur(0)]);
    let load = Inst::new(Op::ULDC).ops([ur(0), Operand::constant(0, 0x210)]);
    assert_eq!(safe(Dependence::Raw, &elect, &to_vector), [2]);
    assert_eq!(safe(Dependence::War, &to_vector, &elect), [1]);
    assert_eq!(safe(Dependence::Waw, &load, &elect), safe(Dependence::Waw, &elect, &load));
}
