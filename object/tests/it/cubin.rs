//! Cubins: a written file can be read, and no bytes make the reader panic.

use std::sync::Arc;

use proptest::prelude::*;
use ptxc_container::{Found, visit};
use ptxc_machine::Arch;
use ptxc_object::cubin::{
    Abi, Bank, Binding, Cubin, CubinError, Function, GlobalVariable, IndirectBranch, Launch, Line, Module,
    Param, Part, Relocation, RelocationKind, Source, assemble, assemble_text, program, read, write,
    write_text,
};
use ptxc_sass::kept::{DebugSection, Kept, KeptRelocation};
use ptxc_sass::text::{ReadOptions, Style, parse_inst, parse_module, parse_programs};
use ptxc_sass::variable::{Pointer, Section, Variable};
use ptxc_sass::{Coded, Control, Inst, Op, Operand, PReg, ParamInfo, Program, ProgramFunction, Resources};

fn relocation(at: u64, kind: RelocationKind, target: &str, addend: i64) -> Relocation {
    Relocation { at, kind, target: target.into(), addend }
}

/// A module with some of everything.
fn sample(arch: Arch, abi: Abi) -> Cubin {
    let base = arch.facts().banks.param_base as usize;
    let bank = |number, bytes: Vec<u8>| Bank { number, bytes, relocations: Vec::new() };
    let first = Function {
        name: "first".into(),
        is_kernel: true,
        code: (0..=255).collect(),
        parts: vec![Part { name: "$u64.divrem".into(), offset: 0x80, size: 0x80 }],
        params: vec![Param { offset: 0, size: 8, image: None }, Param { offset: 8, size: 12, image: None }],
        registers: 24,
        max_registers: 40,
        barriers: 3,
        shared_bytes: Some(64),
        frame_bytes: 16,
        stack_bytes: 32,
        call_stack: Some(0),
        launch: Launch {
            threads: Some([128, 2, 1]),
            cluster: (arch == Arch::Sm90).then_some([2, 1, 1]),
            explicit_cluster: arch == Arch::Sm90,
            ..Launch::default()
        },
        banks: vec![bank(0, vec![0; base + 20]), bank(2, vec![0x50, 0, 0, 0, 0x70, 0, 0, 0])],
        exits: vec![0x20, 0x70],
        branches: vec![IndirectBranch { offset: 0x30, targets: vec![0x50, 0x70] }],
        relocations: vec![relocation(0x14, RelocationKind(56), "table", 4)],
        lines: vec![Line { offset: 0, file: 0, line: 3 }, Line { offset: 0x20, file: 1, line: 900 }],
        ..Function::default()
    };
    let second = Function {
        name: "second".into(),
        is_kernel: true,
        code: vec![7; 128],
        registers: 8,
        max_registers: 255,
        launch: Launch { max_threads: Some([256, 1, 1]), ..Launch::default() },
        banks: vec![bank(0, vec![0; base])],
        exits: vec![0],
        ..Function::default()
    };
    let variable = |section, has_content, offset, name: &str, bytes: Vec<u8>| GlobalVariable {
        section,
        has_content,
        offset,
        name: name.into(),
        binding: match (section, has_content) {
            (Section::Constant, _) => Binding::Weak,
            (_, true) => Binding::Global,
            (_, false) => Binding::Local,
        },
        size: 16,
        align: if offset == 0 { 8 } else { offset & offset.wrapping_neg() }.min(8),
        bytes,
        relocations: Vec::new(),
    };
    let mut list = variable(Section::Global, true, 0, "list", vec![1; 16]);
    list.relocations.push(relocation(8, RelocationKind::GENERIC_64, "weight", 4));
    Cubin {
        outside: std::collections::BTreeSet::new(),
        prototypes: Default::default(),
        outside_variables: Default::default(),
        arch,
        accelerated: arch == Arch::Sm90,
        abi,
        functions: vec![first, second],
        variables: vec![
            variable(Section::Constant, true, 0, "weight", vec![5; 16]),
            list,
            variable(Section::Global, false, 0, "buffer", Vec::new()),
            variable(Section::Global, false, 16, "table", Vec::new()),
        ],
        images: Vec::new(),
        address_bytes: 24,
        addresses: vec![
            relocation(0, RelocationKind::ABS_64, "list", 0),
            relocation(16, RelocationKind::ABS_64, "vprintf", 0),
        ],
        files: vec!["k.cu".into(), "dir/h.cuh".into()],
        debug: Default::default(),
        relocatable: false,
        attributes: Vec::new(),
        compatibility: Vec::new(),
        symbols: Vec::new(),
    }
}

#[test]
fn written_files_read_back() {
    for arch in Arch::ALL {
        for abi in [Abi::V7, Abi::V8] {
            let cubin = sample(arch, abi);
            let bytes = write(&cubin).unwrap();
            assert_eq!(read(&bytes).unwrap(), cubin, "{arch} {abi:?}");
            assert_eq!(write(&cubin).unwrap(), bytes);
        }
    }
}

/// NVIDIA's compiler writes version 2 of both layouts for code without a stack.
#[test]
fn code_without_a_stack_is_read() {
    for abi in [Abi::V7, Abi::V8] {
        let cubin = sample(Arch::Sm75, abi);
        let mut bytes = write(&cubin).unwrap();
        bytes[8] = 2;
        assert_eq!(read(&bytes).unwrap(), cubin, "{abi:?}");
        let mut arch = None;
        visit(&bytes, &mut |_, found| {
            if let Found::Image(image) = found {
                arch = image.arch;
            }
        });
        assert_eq!(arch, Some(Arch::Sm75), "{abi:?}");
        bytes[8] = 3;
        assert!(matches!(read(&bytes), Err(CubinError::NotACubin(_))), "{abi:?}");
    }
}

#[test]
fn truncated_files_are_errors() {
    let bytes = write(&sample(Arch::Sm80, Abi::V8)).unwrap();
    // The program headers are last, and are not read.
    let end = bytes.len() - 6 * 56;
    for length in 0..end {
        assert!(read(&bytes[..length]).is_err(), "{length} of {end} bytes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// A file with some bytes changed is read as a cubin or refused with an error.
    #[test]
    fn changed_files_are_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24),
        words in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 0..4),
        abi in prop::sample::select(vec![Abi::V7, Abi::V8]),
    ) {
        let mut bytes = write(&sample(Arch::Sm90, abi)).unwrap();
        for (place, value) in changes {
            let place = place.index(bytes.len() - 20) + 20;
            bytes[place] = value;
        }
        for (place, value) in words {
            let place = 64 + place.index(bytes.len() / 8 - 8) * 8;
            bytes[place..place + 8].copy_from_slice(&value.to_le_bytes());
        }
        if let Ok(cubin) = read(&bytes) {
            let _ = write(&cubin);
            if let Ok((text, _)) = write_text(&cubin, &[], &Style::default())
                && let Ok(module) = parse_module(&text, &ReadOptions::default())
            {
                let _ = assemble_text(&module, abi).and_then(|cubin| write(&cubin));
            }
        }
    }
}

/// A kernel of eight instructions, which fill a line of the instruction cache, with variables that
/// point to each other.
fn program_with_variables() -> Program {
    let r = |number| Operand::reg(PReg::r(number));
    let add = |number| Inst::new(Op::IADD3).ops([r(number), r(3), r(4), Operand::rz()]);
    let insts = (4..12).map(|number| Coded { inst: add(number), control: Control::plain(), loc: u32::MAX });
    let pointer = |at, bytes, shift, target: &str, generic, addend| Pointer {
        at,
        bytes,
        shift,
        target: target.into(),
        generic,
        addend,
    };
    let variable = |section, place, name: &str, bytes: Vec<u8>, pointers| Variable {
        section,
        place,
        name: name.into(),
        size: 32,
        align: 8,
        bytes,
        pointers,
    };
    let to_list = pointer(16, 1, 8, "list", true, 0);
    let to_weight = pointer(8, 8, 0, "weight", true, 4);
    Program {
        image_words: Vec::new(),
        name: "k".into(),
        arch: Arch::Sm90,
        accelerated: false,
        trap_handler: false,
        device_function: false,
        insts: insts.collect(),
        labels: Vec::new(),
        functions: vec![ProgramFunction { name: "k".into(), start: Some(0) }],
        frequency: Vec::new(),
        resources: Resources {
            registers: 12,
            barriers: 2,
            shared_bytes: 48,
            local_bytes: 16,
            threads_x: 128,
            threads_y: 1,
            threads_z: 1,
            max_registers: 40,
            ..Resources::default()
        },
        params: vec![ParamInfo { name: "p0".into(), size: 8, offset: 0, image: None }],
        variables: vec![
            variable(Section::Constant, 16, "weight", vec![1, 2], Vec::new()),
            variable(Section::Global, 0, "buffer", Vec::new(), Vec::new()),
            variable(Section::Global, 8, "list", vec![7], vec![to_weight, to_list]),
        ],
        tables: Vec::new(),
        literals: Vec::new(),
        relocations: Vec::new(),
        kept_relocations: Vec::new(),
        unknown: Vec::new(),
        lines: Vec::new(),
        files: Vec::new(),
        kept: Default::default(),
    }
}

fn assembled(program: &Program) -> Result<Cubin, CubinError> {
    let module = Module::of(program.arch, Abi::V8);
    assemble(&[Source { program, lines: Vec::new() }], module)
}

#[test]
fn programs_read_back() {
    let written = program_with_variables();
    let cubin = assembled(&written).unwrap();
    assert_eq!(cubin.functions[0].registers, 14);
    assert_eq!(cubin.address_bytes, 16);
    let read = read(&write(&cubin).unwrap()).unwrap();
    assert_eq!(read, cubin);
    assert_eq!(program(&read, "k").unwrap(), written);
    assert_eq!(program(&read, "other"), Err(CubinError::Missing("other".into())));
}

#[test]
fn registers_stay_within_the_launch_bounds() {
    let mut program = program_with_variables();
    for (threads, limit, registers, announced) in [
        (0, 0, 255, 255),
        (0, 0, 100, 102),
        (512, 0, 127, 128),
        (512, 0, 128, 128),
        (0, 40, 39, 40),
        (1024, 0, 64, 64),
    ] {
        program.resources.threads_x = threads;
        program.resources.max_registers = limit;
        program.resources.registers = registers;
        assert_eq!(assembled(&program).unwrap().functions[0].registers, announced, "{threads} {limit}");
    }
}

#[test]
fn addresses_that_no_relocation_writes_are_refused() {
    for (shift, target) in [(4, "weight"), (0, "nowhere")] {
        let mut program = program_with_variables();
        program.variables[2].pointers[0].shift = shift;
        program.variables[2].pointers[0].target = target.into();
        assert!(matches!(assembled(&program), Err(CubinError::Unsupported(_))), "{target}");
    }
    // The address of a function is known.
    let mut program = program_with_variables();
    program.functions.push(ProgramFunction { name: "f".into(), start: Some(6) });
    program.variables[2].pointers[0].target = "f".into();
    let cubin = assembled(&program).unwrap();
    let list = cubin.variables.iter().find(|one| one.name == "list").unwrap();
    assert_eq!((list.bytes[8], list.relocations.len()), (0x64, 1));
}

#[test]
fn only_kernels_with_shared_memory_claim_it() {
    let claims = |text: &str, (shared_bytes, dynamic_shared)| {
        let mut program = program_with_variables();
        let (inst, _) = parse_inst(text, program.arch).unwrap();
        program.insts[0].inst = inst;
        program.resources = Resources { shared_bytes, dynamic_shared, ..program.resources };
        assembled(&program).unwrap().functions[0].shared_bytes
    };
    // The generic atomic operations of a kernel without shared variables have these instructions, too.
    for text in ["ST.E desc[UR4][R2.64], R0", "STS [R2], R0", "S2R R3, SR_SWINHI"] {
        assert_eq!(claims(text, (0, 0)), None, "{text}");
        assert_eq!(claims(text, (48, 0)), Some(48), "{text}");
        assert_eq!(claims(text, (0, 1)), Some(0), "{text}");
    }
}

#[test]
fn malformed_code_is_refused() {
    let mut cubin = assembled(&program_with_variables()).unwrap();
    cubin.functions[0].code.truncate(40);
    assert!(matches!(program(&cubin, "k"), Err(CubinError::Malformed(_))));
    // Words that are no instructions are kept as they are.
    cubin.functions[0].code = vec![0; 32];
    let kept = program(&cubin, "k").unwrap();
    assert_eq!(
        kept.unknown.iter().map(|unknown| (unknown.inst, unknown.word)).collect::<Vec<_>>(),
        [(0, 0), (1, 0)]
    );
    assert_eq!(ptxc_object::cubin::encode(&kept), Ok(vec![0; 32]));
}

/// A kernel with a branch by a table, and another branch.
const BRANCHES: &str = "
.target sm_80
.resources registers=4
.text.k:
[B------:R-:W-:-:S05]  BRX R0 -0x10 (*\"BRANCH_TARGETS .L_x_0,.L_x_1\"*) ;
.L_x_0:
[B------:R-:W-:-:S05]  BRA `(.L_x_1) ;
.L_x_1:
[B------:R-:W-:-:S05]  EXIT ;
[B------:R-:W-:-:S05]  NOP ;
[B------:R-:W-:-:S05]  NOP ;
[B------:R-:W-:-:S05]  NOP ;
[B------:R-:W-:-:S05]  NOP ;
[B------:R-:W-:-:S05]  NOP ;
.nv.constant2.k:
/*0000*/ .L_table_0:
        .word .L_x_0-.text.k
        .word .L_x_1-.text.k
";

#[test]
fn branches_into_an_instruction_are_unknown_words() {
    let text = parse_programs(BRANCHES, &ReadOptions::default()).unwrap().remove(0).program;
    let cubin = assembled(&text).unwrap();
    let unknown = |change: &dyn Fn(&mut Function)| -> Vec<u32> {
        let mut cubin = cubin.clone();
        change(&mut cubin.functions[0]);
        let kept = program(&cubin, "k").unwrap();
        // The words are kept as they are.
        let words = ptxc_object::cubin::encode(&kept).unwrap();
        assert_eq!(words[..32], cubin.functions[0].code[..32]);
        kept.unknown.iter().map(|unknown| unknown.inst).collect()
    };
    assert_eq!(unknown(&|_| {}), []);
    // Bit 34 is the lowest of the distance, in words of four bytes.
    assert_eq!(unknown(&|function| function.code[16 + 4] ^= 4), [1]);
    assert_eq!(unknown(&|function| function.branches[0].targets[1] += 4), [0]);
    assert_eq!(unknown(&|function| function.branches[0].targets[1] = 0x1000), [0]);
    assert_eq!(unknown(&|function| function.code[0] ^= 0xff), [0]);
    let both = |function: &mut Function| {
        function.code[16 + 4] ^= 4;
        function.branches[0].targets[0] = 1;
    };
    assert_eq!(unknown(&both), [0, 1]);
}

/// A line table that says more than the lines is kept as long as it agrees with them.
#[test]
fn line_tables_are_kept_while_they_agree() {
    let program = program_with_variables();
    let table_of = |cubin: &Cubin| cubin.debug.iter().find(|section| section.name == ".debug_line").cloned();
    let line = |offset, line| Line { offset, file: 0, line };
    let with = |lines: Vec<Line>, kept: Kept| {
        let files = vec!["k.cu".to_string()];
        let module = Module { files, kept: Arc::new(kept), ..Module::of(Arch::Sm90, Abi::V8) };
        let cubin = assemble(&[Source { program: &program, lines }], module).unwrap();
        let back = read(&write(&cubin).unwrap()).unwrap();
        assert_eq!(back.functions, cubin.functions);
        assert_eq!(table_of(&back), table_of(&cubin));
        back
    };
    let lines = vec![line(0, 3), line(32, 9)];
    let own = with(lines.clone(), Kept::default());
    assert_eq!(table_of(&own), None, "the lines say all of ptxc's own table");
    let file = write(&own).unwrap();
    let start = file.windows(7).position(|bytes| bytes == [1, 1, 0xfb, 14, 13, 0, 1]);
    let start = start.expect("the header of the table") - 10;
    let size = u32::from_le_bytes(file[start..start + 4].try_into().unwrap()) as usize + 4;
    let mut bytes = file[start..start + size].to_vec();
    // The rows are no longer the starts of statements.
    bytes[11] = 0;
    let at = bytes.windows(3).position(|bytes| bytes == [0, 9, 2]).expect("an address") as u64 + 3;
    let relocation = KeptRelocation { at, kind: 2, symbol: "k".into(), addend: 0 };
    let table = DebugSection { name: ".debug_line".into(), bytes, zeros: 0, relocations: vec![relocation] };
    let kept = Kept { sections: vec![table.clone()], ..Kept::default() };
    assert_eq!(table_of(&with(lines, kept.clone())), Some(table));
    assert_eq!(table_of(&with(vec![line(0, 3), line(48, 9)], kept)), None, "the code has changed");
}
