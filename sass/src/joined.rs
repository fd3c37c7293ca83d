//! A kernel and the device functions of its file, which have sections of their own, as one program.
//!
//! In: the programs of a linked file. Out: the kernel, followed by the functions that
//! relocations and variables name, directly or not; addresses in the code count from the start of the kernel. A simulator
//! runs this.
//!
//! ```text
//! .text.k: … CALL.ABS.NOINC `(f)        k:  … CALL.ABS.NOINC `(f)
//! .text.f: … RET.ABS.NODEC R20     =>   f:  … RET.ABS.NODEC R20
//! ```
//! Linear in the code, and in the number of functions times that of relocations.

use std::collections::{BTreeMap, BTreeSet};

use crate::inst::Inst;
use crate::operand::OperandKind;
use crate::program::{Program, ProgramFunction};
use crate::register::PReg;
use crate::symbol::Addend;

/// Joins a kernel with the device functions among these programs.
///
/// # Errors
/// A function with a jump table or literals, whose constant bank is another one than the kernel's.
pub fn joined<'a>(
    kernel: &Program,
    programs: impl IntoIterator<Item = &'a Program>,
) -> Result<Program, String> {
    let functions: BTreeMap<&str, &Program> = programs
        .into_iter()
        .filter(|program| program.device_function)
        .map(|program| (program.name.as_str(), program))
        .collect();
    let mut whole = kernel.clone();
    let mut wanted = named(kernel);
    // A variable may hold the address of any function.
    let pointers = kernel.variables.iter().flat_map(|variable| &variable.pointers);
    wanted.extend(pointers.map(|pointer| pointer.target.clone()));
    let mut seen = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        let Some(&function) = functions.get(name.as_str()) else { continue };
        if !seen.insert(name) {
            continue;
        }
        if !function.tables.is_empty() || !function.literals.is_empty() {
            return Err(format!("`{}` has a constant bank of its own", function.name));
        }
        wanted.extend(named(function));
        append(&mut whole, function);
    }
    Ok(whole)
}

/// The names in the relocations of a program.
fn named(program: &Program) -> Vec<String> {
    let mut names: Vec<String> = program.relocations.iter().map(|one| one.symbol.name.clone()).collect();
    names.dedup();
    names
}

fn append(whole: &mut Program, function: &Program) {
    let start = whole.insts.len() as u32;
    let (labels, functions) = (whole.labels.len() as u32, whole.functions.len() as u32);
    whole.insts.extend(function.insts.iter().cloned().map(|mut coded| {
        renumber(&mut coded.inst, labels, functions);
        coded
    }));
    whole.labels.extend(function.labels.iter().map(|label| label + start));
    whole.functions.extend(
        function
            .functions
            .iter()
            .map(|one| ProgramFunction { name: one.name.clone(), start: one.start.map(|own| own + start) }),
    );
    whole.relocations.extend(function.relocations.iter().cloned().map(|mut one| {
        one.inst += start;
        // The address of the function already has its start.
        if let Addend::Label(label) = one.symbol.addend {
            let place = function.labels.get(label.0 as usize).copied().unwrap_or_default();
            one.symbol.addend = Addend::Bytes((place * Program::INST_BYTES).into());
        }
        one
    }));
    whole.kept_relocations.extend(function.kept_relocations.iter().cloned().map(|mut one| {
        one.at += u64::from(start * Program::INST_BYTES);
        one
    }));
    whole.unknown.extend(function.unknown.iter().map(|&one| {
        let mut one = one;
        one.inst += start;
        one
    }));
    whole.frequency.extend(&function.frequency);
    let (needs, more) = (&mut whole.resources, &function.resources);
    needs.registers = needs.registers.max(more.registers);
    needs.uniform_registers = needs.uniform_registers.max(more.uniform_registers);
    needs.barriers = needs.barriers.max(more.barriers);
    needs.local_bytes = needs.local_bytes.saturating_add(more.local_bytes);
    // They may call each other any number of times.
    needs.open_stack = 1;
}

fn renumber(inst: &mut Inst<PReg>, labels: u32, functions: u32) {
    for operand in &mut inst.operands {
        match &mut operand.kind {
            OperandKind::Label(label) => label.0 += labels,
            OperandKind::Function(function) => function.0 += functions,
            _ => {}
        }
    }
}
