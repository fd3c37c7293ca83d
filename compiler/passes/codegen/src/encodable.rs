//! Checks that instructions can be encoded. The check asks the encoder itself, so that no text
//! shows an instruction that a cubin cannot hold.
//!
//! In: in debug builds, machine IR, with any register instead of each virtual one; in every build,
//! a function's code before linking. Out: the instructions that the encoder refuses, with its
//! reasons. Linear; the encoder doesn't allocate.

use ptxc_machine::Arch;
use ptxc_sass::control::Control;
use ptxc_sass::{Coded, Inst, Op, Operand, OperandKind, PReg, Program, Register, bits};

use crate::mir::VReg;

/// The most instructions that are reported.
const MOST: usize = 100;

/// Checks that an instruction of machine IR can be encoded with any registers.
///
/// # Errors
/// The encoder's reason.
pub fn check(inst: &Inst<VReg>, arch: Arch) -> Result<(), String> {
    let any = |reg: VReg| PReg::numbered(reg.file(), 0).expect("every file has a first register");
    let coded = Coded { inst: inst.map(any), control: Control::plain(), loc: u32::MAX };
    encode(&coded, 0, arch, |_| Some(0))
}

/// The instructions of a function's code that cannot be encoded, by index, each with the encoder's
/// reason.
pub fn refused(program: &Program) -> Vec<(usize, String)> {
    let label = |index: &u32| index * Program::INST_BYTES;
    let place = |number: ptxc_sass::Label| program.labels.get(number.0 as usize).map(label);
    let mut refused = Vec::new();
    for (index, coded) in program.insts.iter().enumerate() {
        ptxc_interrupt::poll();
        if let Err(why) = encode(coded, index as u32 * Program::INST_BYTES, program.arch, place) {
            refused.push((index, why));
            if refused.len() == MOST {
                break;
            }
        }
    }
    refused
}

fn encode(
    coded: &Coded,
    offset: u32,
    arch: Arch,
    label: impl Fn(ptxc_sass::Label) -> Option<u32>,
) -> Result<(), String> {
    // Linking turns the addresses of functions, return addresses and the end of shared memory into
    // immediates.
    let is_address = |operand: &Operand<PReg>| {
        matches!(operand.kind, OperandKind::Function(_) | OperandKind::Label(_) | OperandKind::SharedEnd(_))
    };
    let word = if coded.inst.op == Op::MOV && coded.inst.operands.iter().any(is_address) {
        let mut linked = coded.clone();
        for operand in linked.inst.operands.iter_mut().filter(|operand| is_address(operand)) {
            *operand = Operand::imm(0);
        }
        bits::encode(&linked, offset, arch, label)
    } else {
        bits::encode(coded, offset, arch, label)
    };
    word.map(drop).map_err(|error| error.to_string())
}
