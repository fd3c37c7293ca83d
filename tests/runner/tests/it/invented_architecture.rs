//! A new architecture gets nothing by default: the result of the code for `Arch::Invented`.
//!
//! No row, no value and no limit of the instruction table applies to it; nothing is decoded, parsed
//! or compiled for it; and the figures that it gets are its own.

use ptxc_compiler::{Database, Options, SourceFile, compile_ir, stages};
use ptxc_ir::Function;
use ptxc_machine::{Arch, Archs};
use ptxc_object::cubin::{self, Abi, CubinError};
use ptxc_passes::{CodeSettings, Context, Silent, Span, UNSUPPORTED_ARCH, run};
use ptxc_sass::latency::{self, Ahead, Dependence, Latency, Side};
use ptxc_sass::table::{Fixed, Form, Joint, Place};
use ptxc_sass::text::parse_inst;
use ptxc_sass::{Completion, Inst, Kinds, Op, Operand, PReg, Pipe, RegFile, SpecialReg, bits, issue};

const KERNEL: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    add.u32 %r2, %r1, 1;
    st.global.u32 [%rd1], %r2;
    ret;
}
";

/// The table entries for the architecture, each with a name for the message.
fn claims(op: Op) -> Vec<(String, Archs)> {
    let row = op.row();
    let mut claims = vec![("the row".to_string(), row.archs)];
    let mut claim = |what: &str, archs: Archs| claims.push((what.to_string(), archs));
    for spelling in row.spellings {
        claim(spelling.mnemonic, spelling.archs);
    }
    row.min_stalls_on.iter().for_each(|&(archs, _)| claim("a stall", archs));
    for modifier in row.mods {
        modifier.values.iter().for_each(|value| claim(value, modifier.archs(value)));
        modifier.limits.iter().for_each(|&(value, archs)| claim(value, archs));
        modifier.spellings.iter().for_each(|&(value, archs, _)| claim(value, archs));
        modifier.codes_on.iter().for_each(|&(archs, _)| claim("codes of a modifier", archs));
    }
    for slot in row.slots {
        claim(slot.name, slot.archs(slot.kinds));
        slot.limits.iter().for_each(|&(_, archs)| claim(slot.name, archs));
        for archs in [slot.reuse_on, slot.shown_on, slot.never_zero, slot.signed_alone] {
            claim(slot.name, archs);
        }
        place_claims(slot.place, &mut claim);
    }
    fixed_claims(row.fixed, &mut claim);
    joint_claims(row.joint, &mut claim);
    for Form { archs, fixed, places, joint, .. } in row.forms {
        claim("a form", *archs);
        fixed_claims(fixed, &mut claim);
        joint_claims(joint, &mut claim);
        places.iter().for_each(|&(_, place)| place_claims(place, &mut claim));
    }
    claims
}

fn fixed_claims(list: &[Fixed], claim: &mut impl FnMut(&str, Archs)) {
    list.iter().for_each(|fixed| claim("fixed bits", fixed.archs));
}

fn joint_claims(list: &[Joint], claim: &mut impl FnMut(&str, Archs)) {
    list.iter().for_each(|joint| claim("a joint field", joint.archs));
}

fn place_claims(place: Place, claim: &mut impl FnMut(&str, Archs)) {
    if let Place::Address(address) = place {
        claim("an address", address.needs_base);
    }
}

#[test]
fn no_entry_of_the_table_claims_it() {
    for &op in Op::ALL {
        for (what, archs) in claims(op) {
            assert!(!archs.contains(Arch::Invented), "{op:?}: {what}");
        }
        let inst = Inst::<PReg>::new(op);
        assert!(!inst.exists_on(Arch::Invented), "{op:?}");
        assert!(inst.check_arch(Arch::Invented).is_err_and(|why| why.contains("invented")), "{op:?}");
        assert!(op.row().slots.iter().all(|slot| !slot.accepts(Kinds::R, Arch::Invented)), "{op:?}");
        assert!(bits::forms(op, Arch::Invented).is_empty(), "{op:?}");
    }
    for code in 0..=u8::MAX {
        let register = SpecialReg::from_code(code);
        assert_eq!(register.name(Arch::Invented), "");
    }
}

#[test]
fn no_word_and_no_text_is_its_instruction() {
    let kernel = compiled(Arch::Sm90).expect("it compiles for an architecture that exists");
    assert!(kernel.program.insts.len() > 4);
    for (coded, offset) in kernel.program.insts.iter().zip((0..).step_by(16)) {
        let label = |_| Some(0);
        let word = bits::encode(coded, offset, Arch::Sm90, label).expect("it has bits");
        assert!(bits::decode(word, offset, Arch::Invented).is_err(), "{}", coded.inst);
        assert!(bits::encode(coded, offset, Arch::Invented, label).is_err(), "{}", coded.inst);
        let text = coded.inst.to_string();
        assert!(parse_inst(&text, Arch::Invented).is_err(), "{text}");
    }
    for opcode in 0..1 << 12 {
        assert!(bits::decode(opcode, 0, Arch::Invented).is_err(), "{opcode:#x}");
    }
}

/// The SSA form of the kernel.
fn ssa() -> Function {
    let db = Database::default();
    let file = SourceFile::new(&db, "k.ptx".into(), KERNEL.into());
    let options = Options::new(&db, Some(Arch::Sm90), 3, true, "balanced".into(), 255, false);
    let [(func, _)] = ptxc_compiler::output::kernels(&db, file, options)[..] else { panic!("no kernel") };
    stages::ssa(&db, func, options).value.clone().expect("the kernel has SSA")
}

/// The kernel's code.
fn compiled(arch: Arch) -> Result<ptxc_codegen::func_code::FuncCode, Vec<ptxc_ptx::diagnostic::Diagnostic>> {
    compile_ir(ssa(), arch, &ptxc_compiler::Settings::default())
}

fn settings(opt: u8) -> CodeSettings {
    CodeSettings { arch: Arch::Invented, opt, max_regs: 64, ..CodeSettings::default() }
}

#[test]
fn the_pipeline_refuses_it_by_name() {
    let errors = compiled(Arch::Invented).expect_err("there is no code for it");
    assert_eq!(errors[0].code, UNSUPPORTED_ARCH);
    assert!(errors[0].message.contains("invented"), "{}", errors[0].message);
}

#[test]
fn there_is_no_code_past_the_gate() {
    for opt in 0..=3 {
        // The check is in the legalize pass, whose rules run here without it.
        let mut func = ssa();
        ptxc_ssa::legalize::legalize(&mut func, Arch::Invented);
        let settings = settings(opt);
        let span = Span::between("simplify-legal", "combine").expect("they exist").expect("in this order");
        let errors = run(func.into(), span, &mut Context::new(&settings), &mut Silent)
            .expect_err("the architecture has no rows");
        assert!(!errors.is_empty());
        for error in errors {
            let said = [&error.message].into_iter().chain(&error.notes).any(|text| text.contains("invented"));
            assert!(said, "{error:?}");
        }
    }
    // Machine IR that was selected for another architecture must not become code for this one.
    let hopper = CodeSettings { arch: Arch::Sm90, ..settings(2) };
    let mir =
        run(ssa().into(), Span::MACHINE, &mut Context::new(&hopper), &mut Silent).expect("it is selected");
    assert!(run(mir, Span::CODE, &mut Context::new(&settings(2)), &mut Silent).is_err());
}

#[test]
fn there_is_no_cubin_for_it() {
    for abi in [Abi::V7, Abi::V8] {
        let empty = cubin::Cubin {
            images: Vec::new(),
            outside: Default::default(),
            prototypes: Default::default(),
            outside_variables: Default::default(),
            arch: Arch::Invented,
            accelerated: false,
            abi,
            functions: Vec::new(),
            variables: Vec::new(),
            address_bytes: 0,
            addresses: Vec::new(),
            files: Vec::new(),
            debug: Default::default(),
            relocatable: false,
            attributes: Vec::new(),
            symbols: Vec::new(),
            compatibility: Vec::new(),
        };
        let error = cubin::write(&empty).expect_err("the contents of its cubins are not known");
        assert_eq!(error, CubinError::NoFormat(Arch::Invented));
        assert!(error.to_string().contains("invented"));
    }
    let mut program = compiled(Arch::Sm90).expect("it compiles").program;
    program.arch = Arch::Invented;
    assert!(cubin::encode(&program).is_err());
}

#[test]
fn no_latency_is_that_of_another() {
    assert!(latency::entries(Arch::Invented).is_empty());
    let registers = |op: Op| {
        let mut inst = Inst::<PReg>::new(op);
        for (slot, operand) in op.row().slots.iter().zip(&mut inst.operands) {
            if let Some(file) =
                RegFile::ALL.into_iter().find(|&file| slot.kinds.contains(Kinds::of_file(file)))
            {
                *operand = Operand::reg(PReg::new(file, 0));
            }
        }
        inst
    };
    let insts: Vec<Inst<PReg>> = Op::ALL.iter().map(|&op| registers(op)).collect();
    let figures = |found: Latency| [found.safe, found.legal];
    let known = [Latency::UNKNOWN, Latency::SCOREBOARD].map(figures);
    for producer in &insts {
        let from = Side { inst: producer, slot: 0, component: 0 };
        for written in [false, true] {
            assert!(known.contains(&figures(latency::settled(Arch::Invented, from, written))));
        }
        for consumer in insts.iter().step_by(7) {
            let to = Side { inst: consumer, slot: 0, component: 0 };
            for dependence in [Dependence::Raw, Dependence::War, Dependence::Waw] {
                let found = latency::latency(Arch::Invented, dependence, from, to);
                assert!(known.contains(&figures(found)), "{:?} {:?}", producer.op, consumer.op);
            }
        }
        assert_eq!(
            issue::pipe_timing(Arch::Invented, producer.row().pipe).source,
            "invented",
            "{:?}",
            producer.op
        );
    }
    for &pipe in Pipe::ALL {
        let own = issue::pipe_timing(Arch::Invented, pipe);
        assert!(Arch::ALL.into_iter().all(|arch| issue::pipe_timing(arch, pipe).interval != own.interval));
    }
}

#[test]
fn distances_after_barriers_are_its_own() {
    let barrier = Inst::<PReg>::new(Op::BAR_SYNC);
    let ahead = Ahead::of(&barrier).expect("others keep away from it");
    for op in [Op::BAR_SYNC, Op::NOP, Op::CS2R, Op::LDS, Op::IADD3] {
        let distance = |arch| ahead.distance(arch, &Inst::<PReg>::new(op));
        let own = distance(Arch::Invented);
        assert!(Arch::ALL.into_iter().all(|arch| distance(arch) != own), "{op:?}: {own}");
    }
}

#[test]
fn completions_are_the_careful_ones() {
    for &op in Op::ALL {
        let inst = Inst::<PReg>::new(op);
        let [own, fixed] = [Arch::Invented, Arch::Sm90].map(|arch| inst.completion(arch));
        assert!(own == fixed || own == Completion::Variable, "{op:?}");
    }
}
