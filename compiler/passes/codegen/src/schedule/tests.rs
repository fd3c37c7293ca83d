//! Orders of small blocks, and of random ones under every heuristic.

use ptxc_ir::SourceLoc;
use ptxc_sass::{Address, Inst, Kinds, Operand, PReg, choice};
use smallvec::SmallVec;

use super::*;
use crate::control::tests::{Writer, code, run_randomly};
use crate::control::{self, Options};
use crate::mir::{Edge, EdgeArg, MBlock, MBlockId, Term, Tuple};
use crate::schedule::random::SplitMix;

fn r(n: u8) -> Operand<PReg> {
    Operand::reg(PReg::r(n))
}

fn load(d: u8, base: u8, offset: i32) -> Inst<PReg> {
    Inst::new(Op::LDS).ops([r(d), Operand::mem(Address::narrow(Some(PReg::r(base)), offset))])
}

fn store(base: u8, offset: i32, data: u8) -> Inst<PReg> {
    Inst::new(Op::STS).ops([Operand::mem(Address::narrow(Some(PReg::r(base)), offset)), r(data)])
}

fn fadd(d: u8, a: u8, b: u8) -> Inst<PReg> {
    Inst::new(Op::FADD).ops([r(d), r(a), r(b)])
}

fn bar() -> Inst<PReg> {
    Inst::new(Op::BAR_SYNC).ops([Operand::imm(0)])
}

#[test]
fn special_registers_are_read_by_nothing_else() {
    for &op in Op::ALL {
        let reads_special = op.row().slots.iter().any(|slot| slot.kinds.meets(Kinds::SPECIAL));
        assert_eq!(reads_special, build::READ_SPECIAL.contains(&op), "{op:?}");
    }
}

fn scheduled(insts: Vec<Inst<PReg>>, heuristic: &str) -> Vec<String> {
    let mut insts = insts;
    insts.push(Inst::new(Op::EXIT));
    let mut code = code(vec![insts]);
    let mut heuristic = heuristic_by_name(heuristic).unwrap();
    post_ra(&mut code, Arch::Sm90, heuristic.as_mut()).unwrap();
    code.blocks[0].insts.iter().map(|minst| minst.inst.to_string()).collect()
}

fn broken(insts: &[Inst<PReg>], order: &[usize]) -> Option<DepKind> {
    let insts: Vec<_> = insts.iter().map(|inst| MInst::new(inst.clone(), SourceLoc::NONE)).collect();
    match legal::Checker::new(PReg::COUNT).check(&insts, &Physical, order) {
        Ok(()) => None,
        Err(Broken::Dependence { kind, .. }) => Some(kind),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn the_critical_path_puts_loads_first() {
    let insts = vec![load(0, 2, 0), fadd(4, 0, 5), load(1, 2, 4), fadd(4, 4, 1)];
    let got = scheduled(insts.clone(), "critical-path");
    assert_eq!(got[..2], ["LDS R0, [R2]", "LDS R1, [R2+0x4]"]);
    let source: Vec<String> = insts.iter().map(Inst::to_string).collect();
    assert_eq!(scheduled(insts, "source-order")[..4], source[..]);
}

#[test]
fn pressure_uses_a_value_before_it_makes_the_next() {
    let insts = vec![
        load(10, 2, 0),
        load(11, 2, 4),
        load(12, 2, 8),
        fadd(4, 4, 10),
        fadd(4, 4, 11),
        fadd(4, 4, 12),
        store(2, 12, 4),
    ];
    let got = scheduled(insts, "pressure");
    let loads: Vec<usize> = (0..got.len()).filter(|&i| got[i].starts_with("LDS")).collect();
    assert_eq!(loads, [0, 2, 4]);
}

#[test]
fn loads_pass_stores_to_other_places_only() {
    let chain = |offset: i32| {
        let insts = vec![fadd(0, 7, 8), store(2, 0, 0), load(1, 2, offset), fadd(3, 1, 1), fadd(4, 3, 3)];
        let got = scheduled(insts, "critical-path");
        let place = |name: &str| got.iter().position(|text| text.starts_with(name)).unwrap();
        place("LDS") < place("STS")
    };
    assert!(chain(4));
    assert!(!chain(0));
    // The base is a different one after it is overwritten.
    let insts =
        vec![fadd(0, 7, 8), store(2, 0, 0), fadd(2, 2, 2), load(1, 2, 4), fadd(3, 1, 1), fadd(4, 3, 3)];
    let got = scheduled(insts, "critical-path");
    assert!(
        got.iter().position(|text| text.starts_with("STS")) < got.iter().position(|t| t.starts_with("LDS"))
    );
}

#[test]
fn memory_stays_on_its_side_of_a_barrier() {
    for seed in 0..20 {
        let insts = vec![store(2, 0, 0), fadd(5, 6, 7), bar(), load(1, 3, 0), fadd(8, 6, 7)];
        let got = scheduled(insts, &format!("random:{seed}"));
        let place = |name: &str| got.iter().position(|text| text.starts_with(name)).unwrap();
        assert!(place("STS") < place("BAR") && place("BAR") < place("LDS"));
    }
}

#[test]
fn illegal_orders_are_named() {
    assert_eq!(broken(&[fadd(0, 1, 1), fadd(2, 0, 0)], &[1, 0]), Some(DepKind::Raw));
    assert_eq!(broken(&[fadd(2, 0, 0), fadd(0, 1, 1)], &[1, 0]), Some(DepKind::War));
    assert_eq!(broken(&[fadd(0, 2, 2), fadd(0, 1, 1)], &[1, 0]), Some(DepKind::Waw));
    assert_eq!(broken(&[store(2, 0, 0), load(1, 3, 0)], &[1, 0]), Some(DepKind::Memory));
    assert_eq!(broken(&[bar(), bar()], &[1, 0]), Some(DepKind::Order));
    // The barrier result is read after the reduction and before the next barrier.
    let reduction = Inst::new(Op::BAR_RED).ops([Operand::imm(0), Operand::pt()]);
    let result = Inst::new(Op::B2R).ops([r(0)]);
    let barriers = [reduction, result, bar()];
    for order in [[1, 0, 2], [0, 2, 1]] {
        assert_eq!(broken(&barriers, &order), Some(DepKind::Order), "{order:?}");
    }
    // A thread that only arrives may continue with later instructions.
    let arrival = Inst::new(Op::BAR_ARV).ops([Operand::imm(0), Operand::imm(64)]);
    assert_eq!(broken(&[store(2, 0, 0), arrival.clone()], &[1, 0]), Some(DepKind::Memory));
    assert_eq!(broken(&[arrival, load(1, 3, 0)], &[1, 0]), None);
    assert_eq!(broken(&[store(2, 0, 0), load(1, 2, 4)], &[1, 0]), None);
    assert_eq!(broken(&[fadd(0, 1, 1), fadd(2, 1, 1)], &[1, 0]), None);
    // If the guard fails, the old content stays.
    let kept = fadd(0, 2, 2).guarded(PReg::p(0), false);
    assert_eq!(broken(&[fadd(0, 1, 1), kept], &[1, 0]), Some(DepKind::Waw));
    let insts: Vec<_> = [fadd(0, 1, 1)].map(|inst| MInst::new(inst, SourceLoc::NONE)).into();
    let mut checker = legal::Checker::new(PReg::COUNT);
    assert_eq!(checker.check(&insts, &Physical, &[]), Err(Broken::NotAnInstruction(0)));
    assert_eq!(checker.check(&insts, &Physical, &[0, 0]), Err(Broken::NotAnInstruction(0)));
}

/// Always picks the last instruction of the region.
struct Backwards;

impl Heuristic for Backwards {
    fn name(&self) -> &str {
        "backwards"
    }

    fn pick(&mut self, region: &Region, _: &[Node], _: Cycle) -> Node {
        Node::new(region.len() - 1)
    }
}

#[test]
fn a_pick_that_is_not_ready_is_an_error() {
    let mut code = code(vec![vec![fadd(0, 1, 1), fadd(2, 0, 0), Inst::new(Op::EXIT)]]);
    let error = post_ra(&mut code, Arch::Sm90, &mut Backwards).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the order of heuristic `backwards` for block 0 is illegal: \
         `FADD R2, R0, R0` comes before `FADD R0, R1, R1` (RAW)"
    );
}

#[test]
fn every_heuristic_gives_code_that_runs() {
    for seed in 0..60 {
        let source = Writer(SplitMix::new(seed)).code();
        for name in ["balanced", "source-order", "critical-path", "pressure", "random:1", "random:2"] {
            let mut code = source.clone();
            let mut heuristic = heuristic_by_name(name).unwrap();
            post_ra(&mut code, Arch::Sm90, heuristic.as_mut()).unwrap();
            if name == "source-order" {
                assert_eq!(code, source);
            }
            let (program, _) = control::assign(code, Arch::Sm90, Options::default());
            let mut random = SplitMix::new(seed);
            for _ in 0..5 {
                run_randomly(&program, &mut random)
                    .unwrap_or_else(|why| panic!("seed {seed}, {name}: {why}"));
            }
        }
    }
}

/// Neighbours without an edge in the graph may change places; the check must come to the same
/// result on its own.
#[test]
fn the_check_and_the_graph_agree_on_neighbours() {
    let mut illegal = 0;
    for seed in 0..200 {
        let mut writer = Writer(SplitMix::new(seed));
        let insts: Vec<_> = (0..20).map(|_| MInst::new(writer.inst(), SourceLoc::NONE)).collect();
        let mut live_after = LiveSet::new(PReg::COUNT);
        (0..8).for_each(|n| live_after.insert(Physical.number(PReg::r(n)), RegFile::Gpr));
        let mut region = Region::default();
        Tables::new(PReg::COUNT).build(
            &insts,
            &Physical,
            &Surroundings {
                arch: Arch::Sm90,
                accesses: &Accesses::new(insts.iter(), insts.len(), &Physical),
                first: 0,
                live_after: &live_after,
                edge_arguments: &[],
                branch_guard: None,
                frequency: 1024,
                pressure_limit: 32,
            },
            &mut region,
        );
        let mut checker = legal::Checker::new(PReg::COUNT);
        for first in 0..insts.len() - 1 {
            let mut order: Vec<usize> = (0..insts.len()).collect();
            order.swap(first, first + 1);
            let tied = region.graph().contains_edge(Node::new(first), Node::new(first + 1));
            if let Err(broken) = checker.check(&insts, &Physical, &order) {
                illegal += 1;
                assert!(tied, "seed {seed}: {broken:?} is no edge");
            }
        }
    }
    assert!(illegal > 500, "only {illegal} illegal orders were tried");
}

#[test]
fn virtual_registers_keep_what_a_guarded_definition_leaves() {
    let mut mir: Mir<VReg> = Mir::new("k", ptxc_machine::Arch::Sm90);
    let [old, new, sum] = [0; 3].map(|_| mir.new_vreg(RegFile::Gpr, 1));
    let pred = mir.new_vreg(RegFile::Pred, 1);
    let mov = |d: VReg, n: u32| Inst::new(Op::MOV).ops([Operand::reg(d), Operand::imm(n)]);
    let reg = |v: VReg| Operand::reg(v);
    let mut guarded = MInst::new(mov(new, 2).guarded(pred, false), SourceLoc::NONE);
    guarded.tied.push((0, old));
    let plain = |inst| MInst::new(inst, SourceLoc::NONE);
    let insts = vec![
        plain(
            Inst::new(Op::ISETP).ops([reg(pred), Operand::rz(), Operand::imm(3)]).with(choice!(ISETP, ".LT")),
        ),
        plain(mov(old, 1)),
        plain(Inst::new(Op::FADD).ops([reg(sum), reg(old), reg(old)])),
        guarded,
        plain(Inst::new(Op::STS).ops([Operand::mem(Address::narrow(Some(sum), 0)), reg(new)])),
    ];
    let block = only_block(&mut mir, insts);
    for seed in 0..20 {
        let mut mir = mir.clone();
        let live = Liveness::new(&mir);
        pre_ra(&mut mir, &live, Arch::Sm90, 255, &mut Random::new(seed)).unwrap();
        let texts: SmallVec<[String; 8]> =
            mir.blocks[block].insts.iter().map(|minst| minst.inst.to_string()).collect();
        let place = |start: &str| texts.iter().position(|text| text.contains(start)).unwrap();
        assert!(place("MOV %r0") < place("FADD") && place("FADD") < place("MOV %r1"));
    }
}

#[test]
fn the_limit_stays_within_a_step_of_occupancy() {
    assert_eq!(pressure_limit(10), 18);
    assert_eq!(pressure_limit(31), 32);
    assert_eq!(pressure_limit(32), 32);
    assert_eq!(pressure_limit(33), 40);
}

#[test]
fn names_give_heuristics() {
    for name in ["balanced", "source-order", "critical-path", "pressure", "random:7"] {
        assert_eq!(heuristic_by_name(name).unwrap().name(), name);
    }
    assert!(heuristic_by_name("random:x").is_none() && heuristic_by_name("best").is_none());
}

#[test]
fn the_next_content_of_a_parameter_comes_after_the_last_use_of_the_present_one() {
    let mut mir: Mir<VReg> = Mir::new("k", ptxc_machine::Arch::Sm90);
    let [start, pointer, next, data] = [0; 4].map(|_| mir.new_vreg(RegFile::Gpr, 1));
    let reg = |v: VReg| Operand::reg(v);
    let plain = |inst| MInst::new(inst, SourceLoc::NONE);
    let block = |params, insts, term| MBlock {
        params,
        insts,
        term,
        term_loc: SourceLoc::NONE,
        frequency: 1024,
        divergent: false,
    };
    let body = MBlockId::from_u32(1);
    let to = |v| Edge { block: body, args: SmallVec::from_iter([EdgeArg::Reg(v)]) };
    let entry = vec![plain(Inst::new(Op::MOV).ops([reg(start), Operand::imm(0)]))];
    let address = |offset| Operand::mem(Address::narrow(Some(pointer), offset));
    let round = vec![
        plain(Inst::new(Op::LDS).ops([reg(data), address(0)])),
        plain(Inst::new(Op::STS).ops([address(4), reg(data)])),
        plain(Inst::new(Op::IADD3).ops([reg(next), reg(pointer), Operand::imm(8), Operand::rz()])),
    ];
    mir.blocks.push(block(Vec::new(), entry, Term::Jump(to(start))));
    mir.blocks.push(block(vec![Tuple { reg: pointer, width: 1 }], round, Term::Jump(to(next))));
    mir.layout.extend(mir.blocks.keys());
    for name in ["critical-path", "random:1", "random:2", "random:3"] {
        let mut mir = mir.clone();
        let live = Liveness::new(&mir);
        pre_ra(&mut mir, &live, Arch::Sm90, 255, heuristic_by_name(name).unwrap().as_mut()).unwrap();
        let last = &mir.blocks[body].insts[2].inst;
        assert_eq!(last.op, Op::IADD3, "{name}: {last}");
    }
}

/// Adds a block of these instructions that ends the function.
fn only_block(mir: &mut Mir<VReg>, insts: Vec<MInst<VReg>>) -> MBlockId {
    let block = mir.blocks.push(MBlock {
        params: Vec::new(),
        insts,
        term: Term::Exit,
        term_loc: SourceLoc::NONE,
        frequency: 1024,
        divergent: false,
    });
    mir.layout.push(block);
    block
}

/// Thirty loads that are summed up one after the other: all of them go first if there are enough
/// registers, otherwise as many as the limit allows.
#[test]
fn no_order_needs_more_registers_than_there_are_if_another_needs_fewer() {
    let reg = |v: VReg| Operand::reg(v);
    let plain = |inst| MInst::new(inst, SourceLoc::NONE);
    let mut mir = Mir::new("k", ptxc_machine::Arch::Sm90);
    let mut sum = mir.new_vreg(RegFile::Gpr, 1);
    let mut insts = vec![plain(Inst::new(Op::MOV).ops([reg(sum), Operand::imm(0)]))];
    for n in 0..30 {
        let (data, next) = (mir.new_vreg(RegFile::Gpr, 1), mir.new_vreg(RegFile::Gpr, 1));
        let address = Operand::mem(Address::narrow(None, 4 * n));
        insts.push(plain(Inst::new(Op::LDS).ops([reg(data), address])));
        insts.push(plain(Inst::new(Op::IADD3).ops([reg(next), reg(sum), reg(data), Operand::rz()])));
        sum = next;
    }
    let address = Operand::mem(Address::narrow(None, 0));
    insts.push(plain(Inst::new(Op::STS).ops([address, reg(sum)])));
    let block = only_block(&mut mir, insts);
    let needed = |name: &str, max_regs: u32| {
        let mut mir = mir.clone();
        let live = Liveness::new(&mir);
        pre_ra(&mut mir, &live, Arch::Sm90, max_regs, heuristic_by_name(name).unwrap().as_mut()).unwrap();
        let liveness = Liveness::new(&mir);
        liveness.pressure(&mir, block, &mut liveness.point()).of(RegFile::Gpr)
    };
    for name in ["critical-path", "random:1"] {
        assert!(needed(name, 255) > 16 && needed(name, 16) < 16, "{name}");
    }
    assert!(needed("balanced", 16) < 16);
}

/// As the code that Triton writes: first all addresses, then all loads, then all sums. Neither the source
/// order nor one that frees registers where it can keeps few in use.
#[test]
fn operands_are_computed_where_results_demand_them() {
    let reg = |v: VReg| Operand::reg(v);
    let plain = |inst| MInst::new(inst, SourceLoc::NONE);
    let mut mir = Mir::new("k", ptxc_machine::Arch::Sm90);
    let base = mir.new_vreg(RegFile::Gpr, 1);
    let mut insts = vec![plain(Inst::new(Op::MOV).ops([reg(base), Operand::imm(64)]))];
    let [addresses, data] = [(); 2].map(|()| [(); 30].map(|()| mir.new_vreg(RegFile::Gpr, 1)));
    for (n, &address) in (0..).zip(&addresses) {
        let ops = [reg(address), reg(base), Operand::imm(4 * n), Operand::rz()];
        insts.push(plain(Inst::new(Op::IADD3).ops(ops)));
    }
    for (&data, &address) in data.iter().zip(&addresses) {
        let address = Operand::mem(Address::narrow(Some(address), 0));
        insts.push(plain(Inst::new(Op::LDS).ops([reg(data), address])));
    }
    // From the last one back, so that no sum is ready early in source order.
    let mut sum = mir.new_vreg(RegFile::Gpr, 1);
    insts.push(plain(Inst::new(Op::MOV).ops([reg(sum), Operand::imm(0)])));
    for &data in data.iter().rev() {
        let next = mir.new_vreg(RegFile::Gpr, 1);
        insts.push(plain(Inst::new(Op::IADD3).ops([reg(next), reg(sum), reg(data), Operand::rz()])));
        sum = next;
    }
    insts.push(plain(Inst::new(Op::STS).ops([Operand::mem(Address::narrow(None, 0)), reg(sum)])));
    let block = only_block(&mut mir, insts);
    let live = Liveness::new(&mir);
    pre_ra(&mut mir, &live, Arch::Sm90, 16, heuristic_by_name("critical-path").unwrap().as_mut()).unwrap();
    let liveness = Liveness::new(&mir);
    assert_eq!(liveness.pressure(&mir, block, &mut liveness.point()).of(RegFile::Gpr), 3);
}
