//! The registers that called functions may write.
//!
//! In: a program and its blocks. Out: for each function the registers that it or its callees may
//! write. A call through an address may lead to any function of the program. The sets grow until no
//! function gains a register from its callees.

use std::collections::{BTreeMap, BTreeSet};

use super::flow::Block;
use super::lanes::{Registers, covers, insert, unite};
use crate::inst::Inst;
use crate::operand::{FunctionIndex, OperandKind};
use crate::program::Program;
use crate::register::PReg;
use crate::table::Op;

/// The registers of functions, by their first instructions.
pub(super) struct Writes {
    functions: BTreeMap<u32, Registers>,
    /// The registers of all functions together.
    any: Registers,
}

/// The registers of a function whose code is not part of the program.
const UNKNOWN: &Registers = &[u64::MAX; _];

impl Writes {
    /// Computes the sets of all functions that begin at `entries`; the first is the program's
    /// entry.
    pub(super) fn of(program: &Program, blocks: &[Block], entries: &[u32]) -> Writes {
        let mut calls = BTreeMap::new();
        let mut writes = Writes { functions: BTreeMap::new(), any: Registers::default() };
        for &entry in entries.iter().skip(1) {
            let start = blocks[entry as usize].insts.start;
            let (own, called) = own(program, blocks, entry);
            unite(&mut writes.any, &own);
            writes.functions.insert(start, own);
            calls.insert(start, called);
        }
        loop {
            let before = writes.functions.clone();
            // A function comes after its first caller in the code.
            for (start, called) in calls.iter().rev() {
                let mut all = writes.functions[start];
                called.iter().for_each(|&callee| unite(&mut all, writes.of_callee(callee)));
                writes.functions.insert(*start, all);
            }
            if writes.functions == before {
                return writes;
            }
        }
    }

    /// The registers that a call may write.
    pub(super) fn of_call(&self, program: &Program, inst: &Inst<PReg>) -> &Registers {
        self.of_callee(Callee::of(program, inst))
    }

    fn of_callee(&self, callee: Callee) -> &Registers {
        match callee {
            Callee::Any => &self.any,
            Callee::At(start) => self.functions.get(&start).unwrap_or(UNKNOWN),
            Callee::Elsewhere => UNKNOWN,
        }
    }
}

/// The target of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Callee {
    /// The function that begins at that instruction.
    At(u32),
    /// A function whose code is not part of the program.
    Elsewhere,
    /// Any function, through an address.
    Any,
}

impl Callee {
    pub(super) fn of(program: &Program, call: &Inst<PReg>) -> Callee {
        if call.op == Op::CALL_INDIRECT {
            return Callee::Any;
        }
        let number = call.operands.iter().find_map(|operand| match operand.kind {
            OperandKind::Function(FunctionIndex(number)) => Some(number as usize),
            _ => None,
        });
        let start = number.and_then(|number| program.functions.get(number)?.start);
        start.map_or(Callee::Elsewhere, Callee::At)
    }
}

/// The registers that a function writes itself, and its callees.
fn own(program: &Program, blocks: &[Block], entry: u32) -> (Registers, BTreeSet<Callee>) {
    let (mut own, mut called) = (Registers::default(), BTreeSet::new());
    let mut seen = BTreeSet::from([entry]);
    let mut stack = vec![entry];
    while let Some(block) = stack.pop() {
        let Block { insts, successors, .. } = &blocks[block as usize];
        for index in insts.clone() {
            let inst = &program.insts[index as usize].inst;
            if matches!(inst.op, Op::CALL | Op::CALL_INDIRECT) {
                called.insert(Callee::of(program, inst));
            }
            inst.defs()
                .flat_map(|access| covers(access.reg, access.width))
                .for_each(|reg| insert(&mut own, reg));
        }
        stack.extend(successors.iter().filter(|&&next| seen.insert(next)));
    }
    (own, called)
}
