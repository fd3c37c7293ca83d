//! Reasons why bits cannot be decoded and instructions cannot be encoded.

use std::fmt;

use ptxc_machine::Arch;

use crate::control::Illegal;
use crate::inst::sign_rule;
use crate::operand::Label;
use crate::table::Op;

/// Why a word is not an instruction of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// No row of the architecture has the opcode, bits 0 to 11.
    Opcode(u16, Arch),
    /// Rows have the opcode, but none has these modifiers or operands.
    Fields(u16, Arch),
    /// The control field is not legal.
    Control(Illegal),
    /// The hardware rejects the signs of the operands.
    Signs(Op),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Opcode(opcode, arch) => {
                write!(f, "no instruction of {arch} has the opcode {opcode:#05x}")
            }
            DecodeError::Fields(opcode, arch) => {
                write!(f, "no form of opcode {opcode:#05x} of {arch} has these bits")
            }
            DecodeError::Control(illegal) => write!(f, "the control field is not legal: {illegal}"),
            DecodeError::Signs(op) => write!(f, "illegal instruction: {}", sign_rule(*op)),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Why an instruction cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// The architecture lacks the row, or its encoding is not known.
    Row(&'static str, Arch),
    /// The row has no form for operands of these kinds.
    Form(&'static str, Arch),
    /// The operand in the slot of that name does not fit its field.
    Operand(&'static str, &'static str),
    /// The modifier of that text has no code.
    Modifier(&'static str, &'static str),
    /// The instruction is never executed, or has a guard of the wrong file.
    Guard(&'static str),
    /// The program does not say where the label is.
    Label(Label),
    /// The control field is not legal.
    Control(Illegal),
    /// The hardware rejects the signs of the operands.
    Signs(Op),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::Row(name, arch) => write!(f, "{arch} has no encoding of {name}"),
            EncodeError::Form(name, arch) => {
                write!(f, "{arch} has no form of {name} for operands of these kinds")
            }
            EncodeError::Operand(name, slot) => write!(f, "{name}: {slot} does not fit its field"),
            EncodeError::Modifier(name, text) => {
                write!(f, "{name} has no {text} together with its other modifiers")
            }
            EncodeError::Guard(name) => write!(f, "{name} does not take this guard"),
            EncodeError::Label(Label(number)) => write!(f, "label {number} is nowhere"),
            EncodeError::Control(illegal) => write!(f, "the control field is not legal: {illegal}"),
            EncodeError::Signs(op) => f.write_str(&sign_rule(*op)),
        }
    }
}

impl std::error::Error for EncodeError {}
