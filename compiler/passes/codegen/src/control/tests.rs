//! Control codes of small kernels, and of random ones on a machine that is as slow as allowed.

use ptxc_ir::SourceLoc;
use ptxc_sass::latency::{Ahead, Dependence, Side, latency, reads_at_issue, settled};
use ptxc_sass::verify::{Hazard, HazardKind};
use ptxc_sass::{
    Access, AccessRole, Address, Completion, Label, Operand, PReg, Register, SpecialReg, choice, slot,
};

use super::*;
use crate::layout::CodeBlock;
use crate::mir::MInst;
use crate::schedule::random::SplitMix;

fn r(n: u8) -> Operand<PReg> {
    Operand::reg(PReg::r(n))
}

fn p(n: u8) -> Operand<PReg> {
    Operand::reg(PReg::p(n))
}

fn global(base: u8, offset: i32) -> Operand<PReg> {
    Operand::mem(Address::global(PReg::r(base), offset, Some(PReg::ur(4))))
}

fn iadd(d: u8, a: u8, b: u8) -> Inst<PReg> {
    Inst::new(Op::IADD3).ops([r(d), r(a), r(b), Operand::rz()])
}

fn load(d: u8, base: u8) -> Inst<PReg> {
    Inst::new(Op::LDG).ops([r(d), global(base, 0)])
}

fn store(base: u8, data: u8) -> Inst<PReg> {
    Inst::new(Op::STG).ops([global(base, 0), r(data)])
}

fn less(pred: u8, a: u8, b: u8) -> Inst<PReg> {
    Inst::new(Op::ISETP).ops([p(pred), r(a), r(b)]).with(choice!(ISETP, ".LT"))
}

fn bra(target: u32) -> Inst<PReg> {
    Inst::new(Op::BRA).slot(slot!(BRA, "target"), Operand::label(Label(target)))
}

fn exit() -> Inst<PReg> {
    Inst::new(Op::EXIT)
}

pub(crate) fn code(blocks: Vec<Vec<Inst<PReg>>>) -> Code {
    let blocks = blocks.into_iter().map(|insts| {
        let body = insts.iter().take_while(|inst| !matches!(inst.op, Op::BRA | Op::BRX | Op::EXIT)).count();
        let insts = insts.into_iter().map(|inst| MInst::new(inst, SourceLoc::NONE)).collect();
        CodeBlock { insts, body, table: None, frequency: 1024 }
    });
    Code { header: crate::mir::Header::new("k", Arch::Sm90), blocks: blocks.collect() }
}

fn controls(blocks: Vec<Vec<Inst<PReg>>>) -> Vec<Control> {
    let (program, _) = assign(code(blocks), Arch::Sm90, Options::default());
    ptxc_sass::verify::check(&program).unwrap();
    program.insts.into_iter().map(|coded| coded.control).collect()
}

fn stalls(blocks: Vec<Vec<Inst<PReg>>>) -> Vec<u8> {
    controls(blocks).into_iter().map(|control| control.stall).collect()
}

#[test]
fn a_guard_comes_thirteen_cycles_after_its_comparison() {
    assert_eq!(stalls(vec![vec![less(0, 1, 2), exit().guarded(PReg::p(0), false), exit()]]), [13, 5, 5]);
    // The instructions in between count, and are not held up.
    let blocks =
        vec![vec![less(0, 1, 2), iadd(3, 4, 5), iadd(6, 7, 8), exit().guarded(PReg::p(0), false), exit()]];
    assert_eq!(stalls(blocks), [1, 1, 11, 5, 5]);
}

#[test]
fn a_distance_spans_blocks_and_back_edges() {
    let forward = vec![
        vec![less(0, 1, 2), bra(1).guarded(PReg::p(1), false)],
        vec![iadd(3, 4, 5), iadd(6, 7, 8).guarded(PReg::p(0), false), exit()],
    ];
    assert_eq!(stalls(forward), [1, 11, 1, 1, 5]);
    // The next iteration adds to R1 4 cycles after this one.
    let around = vec![vec![iadd(1, 1, 2)], vec![iadd(3, 1, 3), iadd(1, 2, 2), bra(1)]];
    let got = stalls(around);
    assert_eq!((got[0], got[2], got[3]), (4, 1, 5));
    let tight = vec![
        vec![iadd(1, 1, 2), less(0, 2, 3).guarded(PReg::p(0), false)],
        vec![iadd(4, 1, 2), less(0, 4, 2), bra(1).guarded(PReg::p(0), false), exit()],
    ];
    assert_eq!(stalls(tight)[3], 13);
}

#[test]
fn a_load_stays_in_flight_over_branches_and_back_edges() {
    let got = controls(vec![
        vec![load(0, 2), less(0, 5, 6), bra(2).guarded(PReg::p(0), false)],
        vec![iadd(7, 8, 9)],
        vec![iadd(1, 0, 0), load(0, 2), less(0, 5, 6), bra(2).guarded(PReg::p(0), false)],
        vec![exit()],
    ]);
    let waits: Vec<usize> = (0..got.len()).filter(|&i| got[i].wait_mask != 0).collect();
    assert_eq!(waits, [4], "only the reader of R0 waits");
}

#[test]
fn operands_are_awaited_only_where_they_are_overwritten() {
    let got = controls(vec![vec![store(2, 0), iadd(2, 3, 4), exit()]]);
    assert_eq!(got[0].read_barrier, Some(0));
    assert_eq!((got[0].stall, got[1].wait_mask), (2, 1));
    let got = controls(vec![vec![store(2, 0), iadd(5, 3, 4), exit()]]);
    assert_eq!(got[0].read_barrier, None);
    // Overwritten in another block, after a branch that does not wait.
    let got = controls(vec![
        vec![store(2, 0), bra(2).guarded(PReg::p(0), false)],
        vec![iadd(5, 6, 7), exit()],
        vec![iadd(2, 3, 4), exit()],
    ]);
    assert_eq!((got[0].read_barrier, got[1].wait_mask, got[4].wait_mask), (Some(0), 0, 1));
}

#[test]
fn an_unused_result_waits_for_nothing_but_is_not_overwritten_early() {
    let got = controls(vec![vec![load(0, 2), exit()]]);
    assert_eq!((got[0].write_barrier, got[1].wait_mask), (None, 0));
    let got = controls(vec![vec![load(0, 2), iadd(0, 3, 4), exit()]]);
    assert_eq!((got[0].write_barrier, got[1].wait_mask), (Some(0), 1));
}

#[test]
fn what_is_awaited_together_shares_and_an_early_load_does_not_wait_for_a_slow_one() {
    let shared = |d: u8| Inst::new(Op::LDS).ops([r(d), Operand::mem(Address::narrow(Some(PReg::r(20)), 0))]);
    let got = controls(vec![vec![load(0, 2), load(1, 4), iadd(6, 0, 1), exit()]]);
    assert_eq!(got[0].write_barrier, got[1].write_barrier);
    let got = controls(vec![vec![load(0, 2), shared(8), iadd(9, 8, 8), iadd(6, 0, 1), exit()]]);
    assert_ne!(got[0].write_barrier, got[1].write_barrier);
    // Seven slow loads with waiters of their own, then a fast one: it shares with the last of them
    // at worst, and nothing waits too early.
    let mut insts: Vec<Inst<PReg>> = (0..8).map(|n| load(n, 30)).collect();
    insts.extend((0..8).map(|n| iadd(n + 8, n, n)));
    insts.push(exit());
    let got = controls(vec![insts]);
    assert!(got[..8].iter().all(|control| control.wait_mask == 0 && control.write_barrier.is_some()));
}

#[test]
fn barriers_keep_their_distance_and_their_result() {
    let bar = || Inst::new(Op::BAR_SYNC).ops([Operand::imm(0)]);
    let got = stalls(vec![vec![bar(), iadd(0, 1, 2), bar(), exit()]]);
    assert!(got[0] + got[1] >= 8);
    for (arch, distance) in Arch::ALL.into_iter().zip([4, 4, 4, 4, 2]) {
        let code = code(vec![vec![vote(), result(), bar(), iadd(1, 0, 0), exit()]]);
        let (program, explain) = assign(code.clone(), arch, Options::default());
        let got: Vec<Control> = program.insts.iter().map(|coded| coded.control).collect();
        assert_eq!(got[1].wait_mask, 0, "{arch}: B2R follows its barrier without a wait");
        assert_eq!((got[1].stall, got[2].wait_mask), (distance, 0), "{arch}: so does B2R the next barrier");
        assert_eq!(got[3].wait_mask, 1, "{arch}: who reads the result waits");
        // On sm_90 the previous barrier keeps the next one just as far away.
        let why = if arch == Arch::Sm90 { "8 after BAR" } else { "4 after B2R" };
        assert_eq!(explain.line(1), format!("sets SB0; {why}"));
    }
}

/// A reduction over all threads, by barrier 0.
fn vote() -> Inst<PReg> {
    Inst::new(Op::BAR_RED).ops([Operand::imm(0), Operand::pt()])
}

/// Reads the barrier result.
fn result() -> Inst<PReg> {
    Inst::new(Op::B2R).ops([r(0)])
}

#[test]
fn a_barrier_too_close_to_the_reading_of_a_result_is_found() {
    let sync = Inst::new(Op::BAR_SYNC).ops([Operand::imm(1)]);
    let arrive = Inst::new(Op::BAR_ARV).ops([Operand::imm(1), Operand::imm(64)]);
    for (arch, next) in Arch::ALL.into_iter().flat_map(|arch| [&sync, &arrive].map(|next| (arch, next))) {
        // In one block; after a branch; around a loop with the barrier at its head.
        let again = bra(0).guarded(PReg::p(0), false);
        for blocks in [
            vec![vec![vote(), result(), next.clone(), exit()]],
            vec![
                vec![vote(), result(), bra(2).guarded(PReg::p(0), false)],
                vec![exit()],
                vec![next.clone(), exit()],
            ],
            vec![vec![next.clone(), vote(), result(), again], vec![exit()]],
        ] {
            let (program, _) = assign(code(blocks), arch, Options::default());
            assert_eq!(ptxc_sass::verify::check(&program), Ok(()), "{arch} {next}");
            let at = program.insts.iter().position(|coded| coded.inst.op == Op::B2R).unwrap();
            let barrier = program.insts.iter().position(|coded| coded.inst.op == next.op).unwrap();

            let mut close = program.clone();
            close.insts[at].control.stall = 1;
            let branches = close.insts[at + 1].inst.op == Op::BRA;
            if branches {
                close.insts[at + 1].control.stall = 1;
            }
            // On sm_90 two cycles are enough.
            if !branches || arch != Arch::Sm90 {
                let found = ptxc_sass::verify::check(&close).unwrap_err();
                let (consumer, producer) = (barrier as u32, at as u32);
                let pair = |hazard: &Hazard| (hazard.consumer, hazard.producer) == (consumer, producer);
                assert!(
                    found.iter().any(|hazard| pair(hazard) && hazard.kind == HazardKind::AfterResult),
                    "{found:?}"
                );
            }

            let mut swapped = program.clone();
            (swapped.insts[at].inst, swapped.insts[barrier].inst) =
                (program.insts[barrier].inst.clone(), program.insts[at].inst.clone());
            if barrier > at {
                let found = ptxc_sass::verify::check(&swapped).unwrap_err();
                assert!(found.iter().any(|hazard| hazard.kind == HazardKind::LostResult), "{found:?}");
            }
        }
    }
}

#[test]
fn a_fence_holds_memory_up_but_not_arithmetic() {
    let fence = Inst::new(Op::MEMBAR).with(choice!(MEMBAR, ".SC"));
    let got = controls(vec![vec![fence, iadd(0, 1, 2), load(4, 6), exit()]]);
    assert_eq!(got[0].read_barrier, Some(0));
    assert_eq!((got[1].wait_mask, got[2].wait_mask), (0, 1));
}

#[test]
fn the_explanation_names_registers_and_scoreboards() {
    let tid = Inst::new(Op::S2R).ops([r(0), Operand::special(SpecialReg::TidX)]);
    let insts = vec![tid, less(0, 0, 2), exit().guarded(PReg::p(0), false), iadd(1, 1, 1), exit()];
    let (program, explain) = assign(code(vec![insts]), Arch::Sm90, Options::default());
    let lines: Vec<String> = (0..program.insts.len()).map(|index| explain.line(index)).collect();
    assert_eq!(lines, ["sets SB0; 2 to the wait for SB0", "waits SB0: R0; 13 to the guard P0", "", "", "",]);
    assert_eq!(program.resources.registers, 3);
}

#[test]
fn serial_code_waits_for_everything() {
    let insts = vec![load(0, 2), store(4, 0), iadd(2, 0, 0), exit()];
    let options = Options { sync: Sync::Serial };
    let (program, _) = assign(code(vec![insts]), Arch::Sm90, options);
    ptxc_sass::verify::check(&program).unwrap();
    assert!(program.insts.iter().all(|coded| coded.control.stall == 15 && coded.control.wait_mask == 3));
}

#[test]
fn a_stall_that_no_field_can_hold_is_padded() {
    assert_eq!(padding(15).count(), 0);
    assert_eq!(padding(16).collect::<Vec<_>>(), [1]);
    assert_eq!(padding(46).collect::<Vec<_>>(), [15, 15, 1]);
}

/// Writes random code: with few registers, so that dependences are frequent, and with branches to
/// any place.
pub(crate) struct Writer(pub(crate) SplitMix);

impl Writer {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    fn reg(&mut self) -> u8 {
        self.below(8) as u8
    }

    fn pair(&mut self) -> u8 {
        self.below(4) as u8 * 2
    }

    fn pred(&mut self) -> u8 {
        self.below(3) as u8
    }

    fn uniform(&mut self) -> Operand<PReg> {
        Operand::reg(PReg::ur(self.below(4) as u8))
    }

    pub(crate) fn inst(&mut self) -> Inst<PReg> {
        let (a, b, c, d) = (r(self.reg()), r(self.reg()), r(self.reg()), r(self.reg()));
        let (wide, address) = (self.pair(), self.pair());
        let memory = global(address, 8);
        let inst = match self.below(20) {
            0..=3 => Inst::new(Op::IADD3).ops([d, a, b, c]),
            4 => Inst::new(Op::FFMA).ops([d, a, b, c]),
            5 => Inst::new(Op::IMAD_WIDE).ops([r(wide), a, b, r(address)]),
            6 | 7 => Inst::new(Op::ISETP).ops([p(self.pred()), a, b]).with(choice!(ISETP, ".LT")),
            8 => Inst::new(Op::SEL).ops([d, a, b, p(self.pred())]),
            9 => Inst::new(Op::LDG).ops([d, memory]),
            10 => Inst::new(Op::LDG).ops([r(wide), memory]).with(choice!(LDG, ".64")),
            11 => Inst::new(Op::STG).ops([memory, a]),
            12 => Inst::new(Op::LDS).ops([d, Operand::mem(Address::narrow(Some(PReg::r(address)), 0))]),
            13 => Inst::new(Op::MUFU).ops([d, a]).with(choice!(MUFU, ".RCP")),
            14 => Inst::new(Op::S2R).ops([d, Operand::special(SpecialReg::TidX)]),
            15 => {
                Inst::new(Op::SHFL).slot(slot!(SHFL, "pd"), p(self.pred())).ops([d, a, b, Operand::imm(31)])
            }
            16 => Inst::new(Op::BAR_SYNC).ops([Operand::imm(0)]),
            17 => Inst::new(Op::R2UR).ops([self.uniform(), a]),
            18 => Inst::new(Op::UIADD3).ops([
                self.uniform(),
                self.uniform(),
                self.uniform(),
                Operand::zero(RegFile::Ugpr),
            ]),
            _ => Inst::new(Op::IADD3).ops([d, a, self.uniform(), b]),
        };
        if self.below(4) == 0 { inst.guarded(PReg::p(self.pred()), self.below(2) == 0) } else { inst }
    }

    pub(crate) fn code(&mut self) -> Code {
        let count = 1 + self.below(6);
        let mut blocks = Vec::new();
        for block in 0..count {
            let mut insts: Vec<Inst<PReg>> = (0..self.below(10)).map(|_| self.inst()).collect();
            if self.below(4) == 0 {
                insts.extend([vote(), result()]);
            }
            if self.below(3) > 0 {
                let target = bra(self.below(count) as u32);
                insts.push(target.guarded(PReg::p(self.pred()), false));
            }
            if self.below(6) == 0 {
                let targets = [0; 3].map(|_| Label(self.below(count) as u32));
                let address = 2 * self.below(4) as u8;
                insts.push(Inst::new(Op::BRX).ops([r(address), Operand::imm(0)]).targets(targets));
            } else if block + 1 == count {
                insts.push(exit());
            }
            blocks.push(insts);
        }
        code(blocks)
    }
}

/// A machine in which accesses of variable latency complete only when they are waited for, and all
/// others take as long as they may.
#[derive(Clone, Default)]
struct SlowMachine {
    time: u64,
    accesses: Vec<Running>,
    /// The issue of the last instruction of each [`Ahead`], by its number.
    ahead: [Option<u64>; Ahead::ALL.len()],
}

#[derive(Clone)]
struct Running {
    reg: PReg,
    inst: usize,
    slot: u8,
    component: u8,
    write: bool,
    /// Whether the access has a fixed latency; otherwise scoreboards end it.
    fixed: bool,
    scoreboards: u8,
    issued: u64,
}

impl SlowMachine {
    /// Issues an instruction; the error says what it is too early for.
    fn issue(&mut self, program: &Program, index: usize) -> Result<(), String> {
        let Coded { inst, control, .. } = &program.insts[index];
        let now = self.time;
        self.accesses.retain(|a| a.fixed || a.scoreboards & control.wait_mask == 0 || now < a.issued + 2);
        let accesses = inst.accesses();
        for access in &accesses {
            for component in 0..access.width {
                self.check(program, index, access, component)?;
            }
        }
        for ahead in Ahead::ALL {
            if let Some(issued) = self.ahead[ahead as usize]
                && now < issued + u64::from(ahead.distance(program.arch, inst))
            {
                return Err(format!("{index}: {inst} {} cycles after {ahead:?}", now - issued));
            }
        }
        if let Some(ahead) = Ahead::of(inst) {
            self.ahead[ahead as usize] = Some(now);
        }
        let mask = |sb: Option<u8>| sb.map_or(0, |sb| 1 << sb);
        for access in &accesses {
            for component in 0..access.width {
                let reg = access.reg.offset(component).unwrap();
                let write = access.role == AccessRole::Def;
                let late = inst.completion(program.arch) != Completion::Fixed
                    && access.role != AccessRole::Guard
                    && (write || !reads_at_issue(program.arch, inst, reg.file()));
                let scoreboards =
                    mask(control.write_barrier) | if write { 0 } else { mask(control.read_barrier) };
                if write && inst.guard.is_none() {
                    self.accesses.retain(|a| a.reg != reg || a.inst == index && a.issued == now);
                }
                let (inst, slot, fixed, issued) = (index, access.slot, !late, now);
                self.accesses.push(Running { reg, inst, slot, component, write, fixed, scoreboards, issued });
            }
        }
        self.time += u64::from(control.stall);
        Ok(())
    }

    fn check(
        &self,
        program: &Program,
        index: usize,
        access: &Access<PReg>,
        component: u8,
    ) -> Result<(), String> {
        let inst = &program.insts[index].inst;
        let write = access.role == AccessRole::Def;
        for running in &self.accesses {
            let dependence = match (running.write, write) {
                (true, false) => Dependence::Raw,
                (true, true) => Dependence::Waw,
                (false, true) => Dependence::War,
                (false, false) => continue,
            };
            if Some(running.reg) != access.reg.offset(component) {
                continue;
            }
            let producer = &program.insts[running.inst].inst;
            let from = Side { inst: producer, slot: running.slot, component: running.component };
            let to = Side { inst, slot: access.slot, component };
            let needed = u64::from(latency(program.arch, dependence, from, to).safe);
            if !running.fixed || self.time < running.issued + needed {
                let what = if running.fixed { "too soon for" } else { "without a wait for" };
                return Err(format!(
                    "{index}: {inst} comes {what} {} of {}: {producer}",
                    running.reg, running.inst
                ));
            }
        }
        Ok(())
    }
}

/// Runs a program along a random path; the error comes with the path's last part.
pub(crate) fn run_randomly(program: &Program, random: &mut SplitMix) -> Result<(), String> {
    let mut machine = SlowMachine::default();
    let mut index = 0;
    for _ in 0..200 {
        let inst = &program.insts[index].inst;
        machine.issue(program, index)?;
        let taken = inst.guard.is_none() || random.below(2) == 0;
        let targets: Vec<usize> =
            inst.labels().map(|label| program.labels[label.0 as usize] as usize).collect();
        match (inst.op, taken) {
            (Op::EXIT, true) => return Ok(()),
            (Op::BRA | Op::BRX, true) => index = targets[random.below(targets.len() as u64) as usize],
            _ => index += 1,
        }
    }
    Ok(())
}

#[test]
fn random_code_runs_on_a_slow_machine() {
    for seed in 0..150 {
        let code = Writer(SplitMix::new(seed)).code();
        for sync in [Sync::Dataflow, Sync::Serial] {
            let (program, _) = assign(code.clone(), Arch::Sm90, Options { sync });
            let mut random = SplitMix::new(seed ^ 0x5eed);
            for _ in 0..10 {
                if let Err(why) = run_randomly(&program, &mut random) {
                    let lines: Vec<String> = (program.insts.iter().enumerate())
                        .map(|(i, coded)| format!("{i}: {:?} {}", coded.control, coded.inst))
                        .collect();
                    panic!("seed {seed}, {sync:?}: {why}\n{}\n{:?}", lines.join("\n"), program.labels);
                }
            }
            if let Err(hazards) = ptxc_sass::verify::check(&program) {
                panic!("seed {seed}, {sync:?}: {}", hazards[0]);
            }
        }
    }
}

/// Runs every path from the start of a block for some instructions; returns whether all are free of
/// errors.
fn every_path_is_fine(program: &Program, start: usize) -> bool {
    let mut stack = vec![(SlowMachine::default(), start, 0)];
    while let Some((mut machine, mut index, mut steps)) = stack.pop() {
        while steps < 24 && index < program.insts.len() {
            if machine.issue(program, index).is_err() {
                return false;
            }
            let inst = &program.insts[index].inst;
            steps += 1;
            for label in inst.labels() {
                stack.push((machine.clone(), program.labels[label.0 as usize] as usize, steps));
            }
            if inst.guard.is_none() && matches!(inst.op, Op::BRA | Op::BRX | Op::EXIT) {
                break;
            }
            index += 1;
        }
    }
    true
}

#[test]
fn no_stall_for_a_fixed_latency_is_longer_than_some_path_needs() {
    let (mut tried, mut spare) = (0, 0);
    for seed in 0..60 {
        let code = Writer(SplitMix::new(seed)).code();
        let (program, explain) = assign(code.clone(), Arch::Sm90, Options::default());
        for index in 0..program.insts.len() {
            let forced = explain
                .notes(index)
                .iter()
                .any(|note| matches!(note, Note::Latency { .. } | Note::Overwrite { .. } | Note::Gap { .. }));
            if !forced {
                continue;
            }
            let mut weaker = program.clone();
            weaker.insts[index].control.stall -= 1;
            tried += 1;
            spare +=
                usize::from(weaker.labels.iter().all(|&start| every_path_is_fine(&weaker, start as usize)));
        }
    }
    assert!(tried > 200, "only {tried} stalls were tried");
    assert_eq!(spare, 0, "of {tried} stalls some could be shorter");
}

#[test]
fn long_code_takes_linear_time() {
    let mut writer = Writer(SplitMix::new(7));
    let mut blocks = Vec::new();
    for block in 0..2000u32 {
        let mut insts: Vec<Inst<PReg>> = (0..10).map(|_| writer.inst()).collect();
        let back = block.saturating_sub(writer.below(3) as u32);
        insts.push(bra(back).guarded(PReg::p(0), true));
        blocks.push(insts);
    }
    blocks.push(vec![exit()]);
    let (program, _) = assign(code(blocks), Arch::Sm90, Options::default());
    assert!(program.insts.len() > 22_000);
}

#[test]
fn nothing_is_under_way_where_another_function_begins() {
    let r = |n| Operand::reg(PReg::r(n));
    let load = Inst::new(Op::S2R).ops([r(4), Operand::special(SpecialReg::TidX)]);
    let compare = Inst::new(Op::ISETP).ops([Operand::reg(PReg::p(0)), r(6), r(7)]);
    let call = Inst::new(Op::CALL).ops([Operand::function(ptxc_sass::FunctionIndex(0))]);
    let result = Side { inst: &compare, slot: 0, component: 0 };
    let needed = settled(Arch::Sm90, result, true);
    // The cycles that the control pass keeps in addition to those that the check demands.
    let spare = needed.safe - needed.legal;
    let code = code(vec![vec![load, compare.clone(), call], vec![exit()]]);
    let (serial, _) = assign(code.clone(), Arch::Sm90, Options { sync: Sync::Serial });
    assert_eq!(ptxc_sass::verify::check(&serial), Ok(()));
    let (program, _) = assign(code.clone(), Arch::Sm90, Options::default());
    assert_eq!(ptxc_sass::verify::check(&program), Ok(()));
    let at = program.insts.iter().position(|coded| coded.inst.op == Op::CALL).unwrap();
    let control = program.insts[at].control;
    assert!(control.wait_mask != 0 && control.stall > 5, "{control:?}");
    let sooner = Control { stall: control.stall - spare - 1, ..control };
    for weakened in [Control { wait_mask: 0, ..control }, sooner] {
        let mut mutant = program.clone();
        mutant.insts[at].control = weakened;
        let found = ptxc_sass::verify::check(&mutant).unwrap_err();
        let is_boundary = |hazard: &ptxc_sass::verify::Hazard| {
            hazard.kind == ptxc_sass::verify::HazardKind::Boundary && hazard.consumer == at as u32
        };
        assert!(found.iter().all(is_boundary), "{found:?}");
    }
}
