//! The code of a program as bits.

use ptxc_sass::bits;
use ptxc_sass::control::Control;
use ptxc_sass::inst::Inst;
use ptxc_sass::operand::{FunctionIndex, Label, Operand, OperandKind};
use ptxc_sass::program::{CONSTANT_BANK_BYTES, Coded, Program};
use ptxc_sass::register::PReg;
use ptxc_sass::table::Op;

use super::super::error::CubinError;
use super::super::write::CODE_ALIGN;

/// The bits of a program's code: 16 bytes per instruction, in order.
///
/// # Errors
/// The first instruction without encoding.
pub fn encode(program: &Program) -> Result<Vec<u8>, CubinError> {
    let mut code = Vec::with_capacity((program.insts.len() * INST).next_multiple_of(CODE_ALIGN));
    for (index, coded) in (0..).zip(&program.insts) {
        match program.unknown_word(index) {
            Some(word) => code.extend(word.to_le_bytes()),
            None => encode_one(program, coded, &mut code)?,
        }
    }
    Ok(code)
}

/// Bytes of an instruction.
const INST: usize = Program::INST_BYTES as usize;

/// Adds the bits of an instruction.
fn encode_one(program: &Program, coded: &Coded, code: &mut Vec<u8>) -> Result<(), CubinError> {
    let offset = code.len() as u32;
    let arch = program.arch;
    let wrong = |why: String| CubinError::Code { function: program.name.clone(), offset, why };
    let label = |label: Label| program.labels.get(label.0 as usize).map(|index| index * Program::INST_BYTES);
    let names_function = |operand: &Operand<PReg>| matches!(operand.kind, OperandKind::Function(_));
    let word = if coded.inst.operands.iter().any(names_function) {
        let mut placed = coded.clone();
        for operand in &mut placed.inst.operands {
            let OperandKind::Function(FunctionIndex(index)) = operand.kind else { continue };
            let function = program.functions.get(index as usize);
            let start = function.and_then(|function| function.start).ok_or_else(|| {
                let name = function.map_or("?", |function| &function.name);
                wrong(format!("the function `{name}` is not part of the program"))
            })?;
            operand.kind = OperandKind::Code((start * Program::INST_BYTES) as i32);
        }
        bits::encode(&placed, offset, arch, label)
    } else {
        bits::encode(coded, offset, arch, label)
    };
    code.extend(word.map_err(|error| wrong(error.to_string()))?.to_le_bytes());
    Ok(())
}

/// Fills the last line of the instruction cache, and adds a line if a label is after the code.
pub(super) fn pad(program: &Program, code: &mut Vec<u8>) -> Result<(), CubinError> {
    let is_named = program.labels.iter().any(|&index| index as usize == program.insts.len());
    if code.len().is_multiple_of(CODE_ALIGN) && !is_named && !code.is_empty() {
        return Ok(());
    }
    let control = Control { stall: 0, yield_hint: true, ..Control::plain() };
    let here = Operand::code(code.len() as i32);
    let end = Coded { inst: Inst::new(Op::BRA).ops([here]), control, loc: u32::MAX };
    encode_one(program, &end, code)?;
    let nothing = Coded { inst: Inst::new(Op::NOP), control, loc: u32::MAX };
    while !code.len().is_multiple_of(CODE_ALIGN) {
        encode_one(program, &nothing, code)?;
    }
    Ok(())
}

/// Checks that data that ends at `end` fits into a constant bank.
pub(super) fn within_bank(what: &str, end: u64) -> Result<(), CubinError> {
    if end > CONSTANT_BANK_BYTES.into() {
        return Err(CubinError::Unsupported(format!(
            "{what} beyond {CONSTANT_BANK_BYTES} bytes of a constant bank"
        )));
    }
    Ok(())
}
