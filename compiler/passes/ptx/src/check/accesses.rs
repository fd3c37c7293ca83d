//! Which registers each instruction of a function reads and writes, by number.
//!
//! The check looks up every name and finds the form of every opcode. Its results about registers
//! are kept for [`flow`](crate::flow), which would otherwise have to repeat that work.

use std::ops::Range;

use ptxc_syntax::ast::{Instruction, Operand, OperandKind};
use ptxc_syntax::{Name, NodeId};
use smallvec::{SmallVec, smallvec};

use super::forms::Form;
use super::scope::{Meaning, Register, Scopes};
use super::signature::beside;
use super::table::{Kind, Mnemonic};

/// A register that an instruction reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The register; for a vector register its first lane.
    pub register: Register,
    /// The operand.
    pub node: NodeId,
    /// Whether it is written.
    pub is_write: bool,
}

/// The accesses of a function's instructions, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    list: Vec<Access>,
    /// The end of each instruction's accesses.
    ends: Vec<u32>,
}

impl Accesses {
    /// The accesses of some instructions, by their numbers in the body; in each instruction, reads
    /// before writes.
    pub fn of_all(&self, instructions: Range<usize>) -> &[Access] {
        let end = |count: usize| count.checked_sub(1).map_or(0, |last| self.ends[last] as usize);
        &self.list[end(instructions.start)..end(instructions.end)]
    }

    pub(super) fn add(&mut self, register: Register, node: NodeId, is_write: bool) {
        self.list.push(Access { register, node, is_write });
    }

    /// Ends the accesses of an instruction.
    pub(super) fn end(&mut self) {
        self.ends.push(self.list.len() as u32);
    }

    /// Adds the registers of an instruction with these forms; the scopes give the meaning of names.
    pub(super) fn add_instruction(&mut self, instruction: &Instruction, forms: &[Form], scopes: &Scopes) {
        let operands = &instruction.operands[..];
        let mut operand = |operand, is_write| {
            visit(operand, is_write, &mut |name, node, is_write| {
                if let Some(Meaning::Register { register, .. }) = scopes.lookup(name) {
                    self.add(register, node, is_write);
                }
            });
        };
        let is_call = forms.iter().any(|form| form.row.operands.iter().any(|spec| spec.kind == Kind::Call));
        if is_call {
            // Results come first, in parentheses, if the next operand is not in parentheses.
            let has_results = matches!(
                operands,
                [Operand { kind: OperandKind::Arguments(_), .. }, callee, ..]
                    if !matches!(callee.kind, OperandKind::Arguments(_))
            );
            let (results, rest) = operands.split_at(usize::from(has_results));
            rest.iter().for_each(|argument| operand(argument, false));
            results.iter().for_each(|result| operand(result, true));
            return;
        }
        let written = Written::of(forms, operands);
        let clears = clears(forms.first().map(|form| form.row.instruction), operands);
        for writes in [false, true] {
            for (index, one) in operands.iter().enumerate() {
                if written.has(index) == writes && (writes || !clears) {
                    operand(one, writes);
                }
            }
        }
    }
}

/// Whether an instruction always leaves 0 in its register: an exclusive or of a register with
/// itself.
pub(super) fn clears(instruction: Option<Mnemonic>, operands: &[Operand]) -> bool {
    instruction == Some(Mnemonic::Xor)
        && matches!(operands, [_, a, b] if a.as_symbol().is_some() && a.as_symbol() == b.as_symbol())
}

/// Which operands an instruction writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written(u64);

impl Written {
    /// Uses the first form that takes as many operands. An instruction outside the table may write
    /// any operand.
    pub fn of(forms: &[Form], operands: &[Operand]) -> Written {
        match forms.iter().find_map(|form| beside(form, operands).ok()) {
            Some(pairs) => Written(
                pairs
                    .iter()
                    .enumerate()
                    .fold(0, |all, (index, (spec, _))| all | u64::from(spec.written) << index),
            ),
            None => Written(u64::MAX),
        }
    }

    /// Whether the `index`-th operand is written. Every form takes fewer than 64 operands.
    pub fn has(self, index: usize) -> bool {
        self.0 >> index.min(63) & 1 == 1
    }
}

/// Calls `see` for each name in an operand that may be a register's, with its node and whether it
/// is written. Registers of an address count as read, even if the memory there is written.
pub(crate) fn visit<'o>(operand: &'o Operand, is_write: bool, see: &mut impl FnMut(&'o Name, NodeId, bool)) {
    let mut rest: SmallVec<[(&Operand, bool); 8]> = smallvec![(operand, is_write)];
    while let Some((operand, is_write)) = rest.pop() {
        let node = operand.id;
        match &operand.kind {
            OperandKind::Symbol(name) => see(name, node, is_write),
            OperandKind::Selected(selected) => see(&selected.0, node, is_write),
            OperandKind::SymbolOffset(sum) => sum.base.iter().for_each(|name| see(name, node, is_write)),
            OperandKind::Element(element) => element.1.base.iter().for_each(|name| see(name, node, false)),
            OperandKind::Address(address) => {
                address.place.base.iter().for_each(|name| see(name, node, false));
                rest.extend(address.rest.iter().map(|operand| (operand, false)));
            }
            OperandKind::Vector(list) | OperandKind::Arguments(list) => {
                rest.extend(list.iter().rev().map(|operand| (operand, is_write)));
            }
            OperandKind::Pair(pair) => rest.extend([(&pair.1, is_write), (&pair.0, is_write)]),
            OperandKind::Not(inner) | OperandKind::Minus(inner) => rest.push((inner, is_write)),
            OperandKind::Sink | OperandKind::Immediate(_) | OperandKind::String(_) => {}
        }
    }
}
