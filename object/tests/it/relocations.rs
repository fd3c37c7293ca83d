//! Operands that a loader fills in: text, program and file agree, and malformed operands are
//! errors.

use proptest::prelude::*;
use ptxc_machine::Arch;
use ptxc_object::cubin::{
    Abi, Cubin, CubinError, Module, Relocation, RelocationKind, Source, assemble, program, read, write,
};
use ptxc_sass::text::{ReadOptions, Style, parse_programs, write_program};
use ptxc_sass::{Addend, Program, SymbolBits, SymbolValue};

const TEXT: &str = "// k: sm_90, 22 registers, 0 bytes shared, 0 barriers, 0 spills
.target sm_90
.resources registers=22, uniform=7
.parameters
.text.k:
[B------:R-:W-:-:S01]  /*0000*/  UMOV UR4, 32@lo(list) ;
[B------:R-:W-:-:S01]  /*0010*/  UMOV UR5, 32@hi(list-0x8) ;
[B------:R-:W-:-:S01]  /*0020*/  UMOV UR6, 16@(table+0x4) ;
[B------:R-:W-:-:S01]  /*0030*/  MOV R4, `(table) ;
[B------:R-:W-:-:S01]  /*0040*/  MOV R5, 24@(table) ;
[B------:R-:W-:-:S01]  /*0050*/  LOP3.LUT R6, R5, 32@lo(fun@fdesc(f)), RZ, 0xc0, !PT ;
[B------:R-:W-:-:S01]  /*0060*/  IADD3 R7, R6, 32@hi(fun@unified($k$g)), RZ ;
[B------:R-:W-:-:S01]  /*0070*/  MOV R20, 32@lo((k + .L_x_0@srel)) ;
[B------:R-:W-:-:S01]  /*0080*/  MOV R21, 32@hi((k + .L_x_0@srel)) ;
[B------:R-:W-:-:S05]  /*0090*/  CALL.ABS.NOINC `(vprintf) ;
.L_x_0:
[B------:R-:W-:-:S05]  /*00a0*/  CALL.ABS.NOINC R4 `(offset) ;
[B------:R-:W-:-:S05]  /*00b0*/  CALL.ABS.NOINC R4 ;
[B------:R-:W-:-:S05]  /*00c0*/  EXIT ;
[B------:R-:W-:-:S05]  /*00d0*/  NOP ;
[B------:R-:W-:-:S05]  /*00e0*/  NOP ;
[B------:R-:W-:-:S05]  /*00f0*/  NOP ;
";

fn parsed(text: &str) -> Program {
    parse_programs(text, &ReadOptions::default()).unwrap().remove(0).program
}

fn written(program: &Program) -> String {
    let mut text = String::new();
    write_program(program, &Style::default(), None, &mut text).unwrap();
    text
}

fn assembled(program: &Program) -> Result<Cubin, CubinError> {
    let module = Module::of(program.arch, Abi::V8);
    assemble(&[Source { program, lines: Vec::new() }], module)
}

#[test]
fn text_program_and_file_say_the_same() {
    let own = parsed(TEXT);
    assert_eq!(own.relocations.len(), 11);
    assert_eq!(written(&own), TEXT);
    let cubin = assembled(&own).unwrap();
    let kinds: Vec<u32> = cubin.functions[0].relocations.iter().map(|one| one.kind.0).collect();
    assert_eq!(kinds, [56, 57, 59, 55, 60, 62, 113, 56, 57, 75, 114]);
    assert_eq!(cubin.functions[0].relocations[7].addend, 0xa0);
    let bytes = write(&cubin).unwrap();
    let back = read(&bytes).unwrap();
    assert_eq!(back, cubin);
    assert_eq!(program(&back, "k").unwrap(), own);
}

#[test]
fn calls_have_another_kind_before_sm_90() {
    let text = ".target sm_80\n.text.k:\n[B------:R-:W-:-:S05] CALL.ABS.NOINC `(f) ;\n";
    let cubin = assembled(&parsed(text)).unwrap();
    assert_eq!(cubin.functions[0].relocations[0].kind, RelocationKind(58));
    let text = ".target sm_80\n.text.k:\n[B------:R-:W-:-:S05] CALL.ABS.NOINC R4 `(f) ;\n";
    assert!(matches!(assembled(&parsed(text)), Err(CubinError::Unsupported(_))));
}

/// A name in a file ends at a zero.
#[test]
fn a_name_with_a_zero_is_refused() {
    let text = TEXT
        .replace("list-0x8", "list")
        .replace(".text.k:", ".text.k\0k:")
        .replace("(k + .L_x_0", "(f + .L_x_0");
    let cubin = assembled(&parsed(&text)).unwrap();
    assert!(matches!(write(&cubin), Err(CubinError::Unsupported(_))));
}

/// A device function stays a device function and cannot be launched.
#[test]
fn functions_are_told_from_kernels() {
    let text = "// f: sm_90, 0 registers, 0 bytes shared, 0 barriers, 0 spills
.target sm_90
.function
.resources
.parameters
.text.f:
[B------:R-:W-:-:S05]  /*0000*/  RET.ABS.NODEC R20 0x0 ;
";
    let own = parsed(text);
    assert!(own.device_function);
    assert_eq!(written(&own), text);
    let cubin = assembled(&own).unwrap();
    assert!(!cubin.functions[0].is_kernel && cubin.functions[0].bank(0).is_none());
    let back = read(&write(&cubin).unwrap()).unwrap();
    assert!(program(&back, "f").unwrap().device_function);
}

/// `number_labels` keeps the labels that only relocations name.
#[test]
fn labels_of_relocations_are_kept() {
    let mut own = parsed(TEXT);
    own.labels = vec![3, 10, 0];
    for one in &mut own.relocations {
        if let Addend::Label(label) = &mut one.symbol.addend {
            label.0 = 1;
        }
    }
    own.number_labels();
    assert_eq!(own.labels, [10]);
    assert_eq!(written(&own), TEXT);
}

#[test]
fn symbols_in_wrong_operands_are_refused() {
    for line in [
        // The operand is a register, a shift of 8 bits, the table of LOP3, a distance, or one
        // operand too many.
        "IADD3 32@lo(x), R1, R2, RZ",
        "LOP3.LUT R1, R2, R3, RZ, 32@lo(x), !PT",
        "BRA 32@lo(x)",
        "MOV R1, -32@lo(x)",
        "MOV R1, 32@lo(x).reuse",
        "MOV R1, 32@lo(x",
        "MOV R1, 32@lo((k + 0x10@srel)",
        "RET.ABS.NODEC R20 `(x)",
    ] {
        let text = format!(".target sm_90\n.text.k:\n[B------:R-:W-:-:S05] {line} ;\n");
        assert!(parse_programs(&text, &ReadOptions::default()).is_err(), "{line}");
    }
    let text = ".target sm_90\n.text.k:\n[B------:R-:W-:-:S05] MOV R1, 32@lo((k + .L_x_5@srel)) ;\n";
    assert!(parse_programs(text, &ReadOptions::default()).is_err(), "an undefined label");
}

/// Reads a file after `change` has modified its relocations and its code.
fn broken(change: impl FnOnce(&mut Vec<Relocation>, &mut Vec<u8>)) -> Result<Program, CubinError> {
    let mut cubin = assembled(&parsed(TEXT)).unwrap();
    let function = &mut cubin.functions[0];
    change(&mut function.relocations, &mut function.code);
    let cubin = read(&write(&cubin).unwrap()).unwrap();
    program(&cubin, "k")
}

#[test]
fn broken_ones_are_errors() {
    let malformed = |result| matches!(result, Err(CubinError::Malformed(_)));
    let unsupported = |result| matches!(result, Err(CubinError::Unsupported(_)));
    for at in [8, 0x100, 0x1_0000, u64::MAX, u64::MAX - 15] {
        assert!(malformed(broken(|list, _| list[0].at = at)), "{at:#x}");
    }
    assert!(malformed(broken(|list, _| list[1].at = 0)), "two in one instruction");
    assert!(malformed(broken(|_, code| code[4] = 1)), "the operand is not zero");
    // Relocations that no operand shows are kept as they are.
    let kept = |result: Result<Program, CubinError>| {
        result
            .is_ok_and(|program| program.kept_relocations.len() == 1 && parsed(&written(&program)) == program)
    };
    assert!(kept(broken(|list, _| list[0].at = 0xc0)), "EXIT has no such operand");
    for kind in [0, 2, 58, 64, 75, 115, 130, u32::MAX] {
        assert!(kept(broken(|list, _| list[0].kind = RelocationKind(kind))), "{kind}");
    }
    assert!(kept(broken(|list, _| list[9].kind = RelocationKind(56))), "a call has its own kind");
    for name in ["", "a b", "a)", "x+0x8", "//", "\u{e9}", "a;"] {
        assert!(unsupported(broken(|list, _| list[0].target = name.into())), "{name}");
    }
    // An addend that is not a place in the kernel is a number.
    for addend in [8, 0x1000, -16, i64::MIN, i64::MAX] {
        let program = broken(|list, _| list[7].addend = addend).unwrap();
        assert_eq!(program.relocations[7].symbol.addend, Addend::Bytes(addend));
        assert_eq!(parsed(&written(&program)), program);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Any relocations give an error, or a program whose text reads back as the same program.
    #[test]
    fn any_relocations_are_read_or_refused(
        list in prop::collection::vec(
            (0u64..0x120, 0u32..132, "[a-z$.(+ ]{0,4}", prop::sample::select(vec![0, 16, -8, i64::MIN])), 0..6,
        ),
    ) {
        let result = broken(|relocations, _| {
            let at = |at: u64| if at < 0x100 { at & !15 } else { at };
            *relocations = list.into_iter().map(|(place, kind, target, addend)| {
                Relocation { at: at(place), kind: RelocationKind(kind), target, addend }
            }).collect();
        });
        if let Ok(program) = result {
            prop_assert_eq!(&parsed(&written(&program)), &program);
            prop_assert!(assembled(&program).is_ok());
        }
    }

    /// In a file with relocations and some bytes changed, each kernel gives a program with a text,
    /// or an error.
    #[test]
    fn changed_files_are_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        words in prop::collection::vec((any::<prop::sample::Index>(), 0u64..0x200), 0..4),
    ) {
        let mut bytes = write(&assembled(&parsed(TEXT)).unwrap()).unwrap();
        for (place, value) in changes {
            let place = place.index(bytes.len() - 20) + 20;
            bytes[place] = value;
        }
        for (place, value) in words {
            let place = 64 + place.index(bytes.len() / 8 - 8) * 8;
            bytes[place..place + 8].copy_from_slice(&value.to_le_bytes());
        }
        if let Ok(cubin) = read(&bytes) {
            for function in &cubin.functions {
                if let Ok(program) = program(&cubin, &function.name) {
                    prop_assert!(!written(&program).is_empty());
                    if let Ok(cubin) = assembled(&program) {
                        let _ = write(&cubin);
                    }
                }
            }
        }
    }
}

#[test]
fn bits_and_values_have_kinds() {
    let parts = [
        (SymbolValue::Address, SymbolBits::Low, 56),
        (SymbolValue::Descriptor, SymbolBits::High, 63),
        (SymbolValue::Unified, SymbolBits::Low, 112),
    ];
    for (value, bits, kind) in parts {
        let op = ptxc_sass::Op::MOV;
        assert_eq!(RelocationKind::of_code(value, bits, op, Arch::Sm90), Some(RelocationKind(kind)));
    }
}
