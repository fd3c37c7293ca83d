//! The instructions of a kernel.

use ptxc_codegen::func_code::FuncCode;
use ptxc_sass::blocks::Block;
use ptxc_sass::table::Role;
use ptxc_sass::text::{is_shown, write_loaded, write_operand};
use ptxc_sass::{Coded, Control, Label, Program, bits};
use serde::{Serialize, Serializer};

use super::explanation::Explanation;

/// The instructions of a kernel. Each is looked at when it is written.
pub(super) struct Instructions<'a> {
    pub(super) code: &'a FuncCode,
    pub(super) blocks: Vec<Block>,
}

impl Serialize for Instructions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let program = &self.code.program;
        let mut relocations = program.relocations.iter().peekable();
        let places = self
            .blocks
            .iter()
            .enumerate()
            .flat_map(|(number, block)| block.range().map(move |index| (number, index)));
        serializer.collect_seq(places.map(|(block, index)| {
            let coded = &program.insts[index];
            let mut text = String::new();
            let loaded = relocations.next_if(|one| one.inst as usize == index);
            // Writing to a string fails only if a formatter fails, and these formatters do not.
            let written = write_loaded(&mut text, coded, program, loaded);
            debug_assert!(written.is_ok());
            Instruction::new(self.code, index, block, text)
        }))
    }
}

#[derive(Serialize)]
struct Instruction {
    index: usize,
    offset: u32,
    block: usize,
    instruction: String,
    opcode: &'static str,
    modifiers: Vec<&'static str>,
    guard: Option<Guard>,
    operands: Vec<Operand>,
    control: Fields,
    word: Option<String>,
    explanations: Vec<Explanation>,
}

#[derive(Serialize)]
struct Guard {
    register: String,
    negated: bool,
}

#[derive(Serialize)]
struct Operand {
    slot: &'static str,
    role: &'static str,
    text: String,
    registers: Vec<String>,
}

/// The control field; the names are those of `ptxc decode`.
#[derive(Serialize)]
struct Fields {
    stall: u8,
    #[serde(rename = "yield")]
    yields: bool,
    read: Option<u8>,
    write: Option<u8>,
    wait: u8,
    reuse: u8,
    batch: u8,
    pm: u8,
}

impl Instruction {
    fn new(code: &FuncCode, index: usize, block: usize, text: String) -> Instruction {
        let program = &code.program;
        let coded = &program.insts[index];
        let row = coded.inst.row();
        let offset = index as u32 * Program::INST_BYTES;
        let chosen = row
            .mods
            .iter()
            .enumerate()
            .map(|(place, modifier)| modifier.values[usize::from(coded.inst.mods.get(place))]);
        let guard = coded.inst.guard;
        Instruction {
            index,
            offset,
            block,
            instruction: text,
            opcode: row.mnemonic_on(program.arch),
            modifiers: chosen.filter(|text| !text.is_empty()).collect(),
            guard: guard.map(|guard| Guard { register: guard.reg.to_string(), negated: guard.negated }),
            operands: operands(program, coded),
            control: fields(&coded.control),
            word: word(program, coded, offset),
            explanations: code.explain.notes(index).iter().map(Explanation::new).collect(),
        }
    }
}

/// The operands as the text shows them.
fn operands(program: &Program, coded: &Coded) -> Vec<Operand> {
    let inst = &coded.inst;
    let accesses = inst.accesses();
    let slots = inst.row().slots.iter().enumerate().filter(|(index, _)| is_shown(inst, *index, program.arch));
    let operand = |(index, slot): (usize, &ptxc_sass::table::Slot)| {
        let mut text = String::new();
        let written = write_operand(&mut text, inst, index, &program.functions, program.arch);
        debug_assert!(written.is_ok());
        let own = accesses.iter().filter(|access| usize::from(access.slot) == index);
        let registers = own.flat_map(|access| (0..access.width).filter_map(|n| access.reg.offset(n)));
        Operand {
            slot: slot.name,
            role: if slot.role == Role::Def { "write" } else { "read" },
            text,
            registers: registers.map(|register| register.to_string()).collect(),
        }
    };
    slots.map(operand).collect()
}

fn fields(control: &Control) -> Fields {
    Fields {
        stall: control.stall,
        yields: control.yield_hint,
        read: control.read_barrier,
        write: control.write_barrier,
        wait: control.wait_mask,
        reuse: control.reuse,
        batch: control.batch,
        pm: control.pm,
    }
}

/// The bits, as 32 hexadecimal digits; `None` if the instruction has no encoding yet.
fn word(program: &Program, coded: &Coded, offset: u32) -> Option<String> {
    let label = |label: Label| program.labels.get(label.0 as usize).map(|at| at * Program::INST_BYTES);
    let word = bits::encode(coded, offset, program.arch, label).ok()?;
    Some(format!("{word:#034x}"))
}
