//! Whole programs survive being written and read, in every notation, and errors in a text are
//! found.

use proptest::prelude::*;
use ptxc_machine::Arch;
use ptxc_sass::text::{
    ErrorCode, Kernel, Notation, ReadOptions, Style, TextError, parse_programs, write_program,
    write_variables,
};
use ptxc_sass::variable::{Pointer, Section, Variable};
use ptxc_sass::{
    Coded, Control, FunctionIndex, HalfSelect, Inst, JumpTable, Kinds, Label, Literals, Op, Operand, PReg,
    Program, ProgramFunction, Register, Role, encode,
};

fn written(program: &Program, control: Notation) -> String {
    let mut text = String::new();
    write_program(program, &Style { control, ..Style::default() }, None, &mut text).unwrap();
    write_variables(&ptxc_sass::variable::union([&program.variables[..]]), &program.kept, &mut text).unwrap();
    text
}

fn read(text: &str) -> Result<Vec<Kernel>, Vec<TextError>> {
    parse_programs(text, &ReadOptions::default())
}

/// An operand that may fill a slot, chosen by a number.
fn operand(op: Op, slot: usize, choice: u32, labels: u32) -> Operand<PReg> {
    let slot = &op.row().slots[slot];
    let index = (choice >> 8) as u8;
    let address = |uniform| ptxc_sass::Address {
        base: Some(PReg::r(index & 0xfe)),
        wide: false,
        scale: 1,
        uniform,
        offset: (choice >> 4) as i32 % (1 << 20) - (1 << 19),
        descriptor: None,
    };
    let candidates = [
        (Kinds::R, Operand::reg(PReg::r(index % 248))),
        (Kinds::UR, Operand::reg(PReg::ur(index % 56))),
        (Kinds::P, Operand::reg(PReg::p(index % 7))),
        (Kinds::UP, Operand::reg(PReg::up(index % 7))),
        (
            Kinds::IMM,
            Operand::imm(match op {
                _ if op.row().cta_barrier => choice % 16,
                // A set of scoreboards.
                Op::DEPBAR_ALL => 1 + choice % 63,
                Op::DEPBAR_LE => choice % 6,
                _ => 0x3f80_0000,
            }),
        ),
        (Kinds::CONST, Operand::constant(0, choice >> 8 & 0xfffc)),
        (Kinds::CONST_AT_R, Operand::indexed_constant(3, PReg::r(index % 255), choice as i32 >> 20)),
        (Kinds::MEM, Operand::mem(address(None))),
        (Kinds::MEM_AT_UR, Operand::mem(address(Some(PReg::ur(index % 63))))),
        (Kinds::LABEL, Operand::label(Label((choice >> 8) % labels))),
        (Kinds::FUNCTION, Operand::function(FunctionIndex(choice >> 8 & 1))),
        (
            Kinds::SPECIAL,
            Operand::special(ptxc_sass::SpecialReg::ALL[index as usize % ptxc_sass::SpecialReg::ALL.len()]),
        ),
        (Kinds::CONVERGENCE, Operand::convergence(index % 16)),
        (Kinds::PREDICATES, Operand::predicates()),
    ];
    let fitting: Vec<_> = candidates.iter().filter(|(kind, _)| slot.accepts(*kind, Arch::Sm90)).collect();
    let mut operand = fitting[choice as usize % fitting.len()].1;
    let is_register = operand.as_reg().is_some();
    if slot.role == Role::Use && is_register {
        let is_predicate = operand.as_reg().is_some_and(|reg| reg.file().is_predicate());
        operand.flags.neg = slot.neg && choice & 1 << 20 != 0;
        operand.flags.abs = slot.abs && choice & 1 << 21 != 0;
        operand.flags.not = slot.not && choice & 1 << 22 != 0 && (is_predicate || !operand.flags.neg);
        let takes: Vec<_> = HalfSelect::ALL.into_iter().filter(|&half| slot.halves.takes(half)).collect();
        operand.flags.half = takes[(choice >> 23) as usize % takes.len()];
    } else if !matches!(operand.kind, ptxc_sass::OperandKind::Imm(_)) {
        operand.flags.half = slot.halves.default_half();
    }
    operand
}

prop_compose! {
    fn control()(
        stall in 1u8..=15, yields: bool, write in 0u8..=6, read in 0u8..=6, wait_mask in 0u8..64,
    ) -> Control {
        let scoreboard = |n| (n < 6).then_some(n);
        Control {
            stall,
            yield_hint: yields || stall > Control::MAX_STALL_WITHOUT_YIELD,
            write_barrier: scoreboard(write),
            read_barrier: scoreboard(read),
            wait_mask,
            ..Control::plain()
        }
    }
}

/// Instructions without addresses, which depend on modifiers in ways that the table's own tests
/// cover.
fn inst(labels: u32) -> impl Strategy<Value = Coded> {
    let ops: Vec<Op> = Op::ALL
        .iter()
        .copied()
        .filter(|op| op.row().archs.contains(Arch::Sm90))
        .filter(|op| !op.row().slots.iter().any(|slot| slot.kinds.contains(Kinds::MEM) || slot.repeated))
        .collect();
    let parts = (
        prop::sample::select(ops),
        prop::collection::vec(any::<u32>(), 10),
        any::<u64>(),
        prop::option::of((0u8..7, any::<bool>())),
        control(),
    );
    parts
        .prop_map(move |(op, choices, mods, guard, mut control)| {
            let mut inst: Inst<PReg> = Inst::new(op);
            for (position, modifier) in op.row().mods.iter().enumerate() {
                let exists = |value: &u8| modifier.exists(modifier.values[usize::from(*value)], Arch::Sm90);
                let values: Vec<u8> = (0..modifier.values.len() as u8).filter(exists).collect();
                inst.mods
                    .set(position, values[(mods >> (8 * (position % 8)) & 0xff) as usize % values.len()]);
            }
            for (index, choice) in choices.into_iter().enumerate().take(op.row().slots.len()) {
                if op.row().slots[index].hidden_with.is_none() {
                    inst.operands[index] = operand(op, index, choice, labels);
                }
            }
            if let Some((index, negated)) = guard.filter(|_| !op.row().never) {
                inst = inst.guarded(PReg::p(index), negated);
            }
            // A flag for the first operand that can have one.
            let first = op.row().slots.iter().zip(&inst.operands).find_map(|(slot, operand)| {
                let general = operand.as_reg().filter(|reg| reg.file() == ptxc_sass::RegFile::Gpr);
                slot.reuse.filter(|_| general.is_some())
            });
            if let Some(bit) = first.filter(|_| !control.yield_hint) {
                control.reuse = 1 << bit;
            }
            Coded { inst, control, loc: u32::MAX }
        })
        .prop_filter("has no bits", |coded| encode(coded, 0, Arch::Sm90, |_| Some(0)).is_ok())
}

fn program() -> impl Strategy<Value = Program> {
    let labels = 4u32;
    (prop::collection::vec(inst(labels), 1..12), prop::collection::vec(0u32..12, labels as usize), 0u32..12)
        .prop_map(|(insts, labels, second)| {
            let end = insts.len() as u32;
            let mut program = sample();
            program.labels = labels.into_iter().map(|place| place.min(end)).collect();
            program.functions[1].start = Some(second.min(end));
            program.insts = insts;
            program
        })
}

/// A program with every part except code.
fn sample() -> Program {
    let function = |name: &str, start| ProgramFunction { name: name.into(), start: Some(start) };
    let mut program = parse_programs(".target sm_90\n.resources registers=9, barriers=2, local=8\n.parameters n b32 +0, p b8[12] +4\n.text.k:\n", &ReadOptions::default()).unwrap().remove(0).program;
    program.functions = vec![function("k", 0), function("$f.g", 0)];
    let variable = |section, place, name: &str, size, bytes: &[u8]| Variable {
        section,
        place,
        name: name.into(),
        size,
        align: 8,
        bytes: bytes.to_vec(),
        pointers: Vec::new(),
    };
    let mut list = variable(Section::Global, 8, "list", 32, &[1, 2, 3, 4, 0, 0, 7]);
    let pointer =
        |at, bytes, shift, generic, addend| Pointer { at, bytes, shift, target: "t".into(), generic, addend };
    list.pointers = vec![
        pointer(8, 8, 0, true, -4),
        pointer(16, 4, 0, false, 8),
        pointer(21, 1, 16, false, 1),
        pointer(22, 1, 0, true, 0),
    ];
    program.variables = vec![
        variable(Section::Constant, 16, "t", 7, &[9; 7]),
        variable(Section::Constant, 64, "u", 100, &[]),
        list,
    ];
    program
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn programs_survive(program in program()) {
        for notation in [Notation::Bracket, Notation::Nv, Notation::Hex] {
            let text = written(&program, notation);
            let kernels = read(&text).map_err(|errors| TestCaseError::fail(format!("{text}\n{errors:?}")))?;
            let back = &kernels[0].program;
            for (got, expected) in back.insts.iter().zip(&program.insts) {
                prop_assert_eq!(got, expected, "{}", text);
            }
            prop_assert_eq!(&kernels[0].program, &program, "{}", text);
            prop_assert_eq!(&written(&kernels[0].program, notation), &text);
            for (span, coded) in kernels[0].spans.iter().zip(&program.insts) {
                prop_assert!(text[span.clone()].contains(coded.inst.row().mnemonic));
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(\\.text\\.k:|\\.L_x_0:|BRA `\\(\\.L_x_0\\)|\\[B------:R-:W-:-:S01\\]|FADD R1, R2, |;|\n|[ -~]|/\\*0010\\*/|\\.nv\\.constant3:|\\.zero 9|x:|\\.word 4){0,40}") {
        if let Err(errors) = read(&text) {
            prop_assert!(!errors.is_empty());
            prop_assert!(errors.iter().all(|error| error.span.start <= error.span.end && error.span.end <= text.len()));
        }
    }
}

#[test]
fn a_trap_handler_is_written_as_it_is_read() {
    let text = "// h: sm_80, 2 registers, 0 bytes shared, 16 barriers, 0 spills
.target sm_80
.trap_handler
.resources registers=2, barriers=16
.parameters
.text.h:
[B------:R-:W-:-:S08]  /*0000*/  BAR.SYNCALL ;
[B------:R-:W-:-:S08]  /*0010*/  BAR.SYNCALL.DEFER_BLOCKING ;
[B------:R-:W-:-:S06]  /*0020*/  BAR.SCAN R1, 0x60, !P0 ;
[B------:R-:W0:-:S02]  /*0030*/  B2R.RESULT R0, P1 ;
[B0-----:R-:W-:-:S05]  /*0040*/  R2B.WARP 0x5, R0 ;
[B------:R-:W-:-:S05]  /*0050*/  EXIT ;
";
    let program = read(text).unwrap().remove(0).program;
    assert!(program.trap_handler);
    assert_eq!(written(&program, Notation::Bracket), text);
    let counted = text.replace(".resources registers=2, barriers=16\n", "");
    assert_eq!(read(&counted).unwrap().remove(0).program, program, "registers and barriers are counted");
}

/// The codes of the errors in a kernel's body whose surroundings are correct.
fn codes(body: &str) -> Vec<ErrorCode> {
    let text = format!(".target sm_90\n.text.k:\n{body}\n");
    read(&text).err().into_iter().flatten().map(|error| error.code).collect()
}

#[test]
fn jump_tables_find_their_branches() {
    let mut program = sample();
    program.variables.clear();
    let branch = |labels: [u32; 2]| {
        let inst = Inst::new(Op::BRX).ops([Operand::reg(PReg::r(2)), Operand::imm(0)]);
        Coded { inst: inst.targets(labels.map(Label)), control: Control::plain(), loc: u32::MAX }
    };
    program.insts = vec![branch([0, 1]), branch([1, 1]), branch([0, 1]), branch([1, 0])];
    program.labels = vec![0, 3];
    let table = |offset, branch| JumpTable { offset, branch };
    program.tables = vec![table(0, 3), table(8, 0), table(24, 1), table(32, 2)];
    let literals = |offset, words: &[u32]| Literals { offset, words: words.to_vec() };
    program.literals = vec![literals(16, &[0, 7]), literals(40, &[u32::MAX, 1, 2, 3, 0])];
    let back = &read(&written(&program, Notation::Bracket)).unwrap()[0].program;
    assert_eq!((&back.tables, back.table_bank()), (&program.tables, program.table_bank()));
    assert_eq!(back.literals, program.literals);
}

#[test]
fn contradictions_are_found() {
    let plain = "[B------:R-:W-:-:S01]";
    assert_eq!(codes(&format!("{plain} NOP ; /* 0x0000000000007918 */\n/* 0x000fe20000000000 */")), []);
    let other = format!("{plain} NOP ; /* 0x0000000000007918 */\n/* 0x000fc00000000000 */");
    assert_eq!(codes(&other), [ErrorCode::Contradiction]);
    let reuse = "FADD R1, R2, R3 ; /* 0x0000000000007221 */ /* 0x040fe40000000000 */";
    assert_eq!(codes(reuse), [ErrorCode::Contradiction]);
    let table = ".L_x_0:\n.nv.constant2.k:\n/*0000*/ .L_table_0:\n.word .L_x_0-.text.k";
    assert_eq!(codes(table), [ErrorCode::Contradiction]);
}

#[test]
fn data_has_a_variable_and_a_place() {
    let data = |lines: &str| codes(&format!(".nv.constant3:\n{lines}"));
    assert_eq!(data("/*0004*/ x:\n.word 1, 0x2\n.zero 3\n.byte 255"), []);
    for wrong in [
        ".word 1",
        "x:\n.word nine",
        "x:\n.byte 256",
        "x:\n.align 3",
        "x:\n.zero 500000000000000",
        "x:\nFADD",
    ] {
        assert_eq!(data(wrong), [ErrorCode::Data], "{wrong}");
    }
    assert_eq!(data("x:\n.zero 99999999\n.word 1"), [ErrorCode::Data], "memory is bounded by the text");
    assert_eq!(codes(".nv.global:\nx:\n.word 1"), [ErrorCode::Data], "its address is nowhere");
}

#[test]
fn texts_without_code_or_control() {
    for text in ["", ".target sm_90", "/* open", "NOP ;", "\u{fffd}", ".text.k:\nNOP ;\n.text.k:\nNOP ;"] {
        assert!(read(text).is_err(), "{text}");
    }
    let options = ReadOptions { without_control: true, ..ReadOptions::default() };
    let text = ".target sm_90\n.text.k:\nLDS R1, [R2] ;\nSTS [R2], R1 ;\nEXIT ;";
    let program = parse_programs(text, &options).unwrap().remove(0).program;
    assert_eq!(ptxc_sass::verify::check(&program), Ok(()));
}
