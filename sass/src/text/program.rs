//! A whole program as text.
//!
//! ```text
//! // saxpy: sm_90, 10 registers, 0 bytes shared, 0 barriers, 0 spills; 61 static cycles a warp
//! .target sm_90
//! .resources registers=10, uniform=4
//! .parameters n b32 +0, a b32 +4, x b64 +8, y b64 +16     // at c[0x0][0x210]
//! .text.saxpy:
//! [B------:R-:W0:-:S07]  /*0000*/  S2R R5, SR_TID.X ;           // sets SB0
//! .L_x_0:
//! [B0-----:R-:W-:Y:S05]  /*0010*/  IMAD R5, R0, R2, R5 ;
//! ```
//!
//! The first line is for people; [`parse_programs`](super::parse_programs) reads the rest back.
//! Labels are printed at the places of the program's [`Label`](crate::Label)s, in the order of
//! their numbers, and the name of a function at the start of its code. Cost: linear in the length
//! of the program, plus sorting the labels.

use std::fmt::{self, Write};

use super::attribute::{OF_KERNEL, write_list, write_mark};
use super::debug::shown;
use super::inst::{add_loaded, write_loaded};
use super::line::{Line, Sink, Writer};
use super::notation::{Notation, bracket_head, bracket_tail};
use super::number::hex_digits;
use super::read::{SHARED_ALIGN, WORD};
use crate::kept::{Binding, KeptRelocation};
use crate::program::{JUMP_TABLE_BANK, ParamInfo, Program, ProgramFunction, Resources, UnknownWord};

/// The style of a program's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// The notation of control fields.
    pub control: Notation,
    /// Whether the first lines list the resources of the kernel.
    pub header: bool,
    /// Whether each line has its byte offset.
    pub offsets: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style { control: Notation::Bracket, header: true, offsets: true }
    }
}

/// The column at which comments begin, counted from the start of the instruction.
const COMMENT_COLUMN: usize = 48;

/// Writes a program. `explain` has a comment for each instruction, which may be empty; instructions
/// past the end of `explain` have none.
///
/// # Errors
/// If the writer fails.
pub fn write_program(
    program: &Program,
    style: &Style,
    explain: Option<&[String]>,
    out: &mut impl fmt::Write,
) -> fmt::Result {
    if style.header {
        header(program, out)?;
    }
    let mut lines = program.lines.iter().peekable();
    files(program, out)?;
    writeln!(out, ".text.{}:", program.name)?;
    let mut labels: Vec<(u32, usize)> =
        program.labels.iter().enumerate().map(|(number, &index)| (index, number)).collect();
    labels.sort_unstable();
    let mut labels = labels.into_iter().peekable();
    let mut functions: Vec<&ProgramFunction> = program.functions.iter().skip(1).collect();
    functions.sort_by_key(|function| function.start);
    let mut functions = functions.into_iter().filter(|function| function.start.is_some()).peekable();
    let mut text = String::new();
    let mut relocations = program.relocations.iter().peekable();
    let mut unknown = program.unknown.iter().peekable();
    let mut kept = program.kept_relocations.iter().peekable();
    let notes = program.kept.kernels.get(&program.name);
    let mut marks = notes.map_or(&[][..], |notes| &notes.marks).iter().peekable();
    for (index, coded) in program.insts.iter().enumerate() {
        while let Some(function) = functions.next_if(|function| function.start <= Some(index as u32)) {
            writeln!(out, "{}:", function.name)?;
        }
        while let Some((_, number)) = labels.next_if(|&(at, _)| at as usize <= index) {
            writeln!(out, ".L_x_{number}:")?;
        }
        while let Some(line) = lines.next_if(|line| line.inst as usize <= index) {
            writeln!(out, ".loc {} {}", line.file + 1, line.line)?;
        }
        let end = index as u64 * u64::from(Program::INST_BYTES);
        while let Some(KeptRelocation { kind, symbol, addend, .. }) = kept.next_if(|one| one.at <= end) {
            writeln!(out, ".reloc {kind} {} {addend}", shown(symbol))?;
        }
        while let Some(mark) = marks.next_if(|mark| mark.inst as usize <= index) {
            write_mark(mark, out)?;
        }
        if let Some(word) = unknown.next_if(|unknown| unknown.inst as usize == index) {
            unknown_word(word, index as u32, style, out)?;
            continue;
        }
        let loaded = relocations.next_if(|one| one.inst as usize == index);
        let comment = explain.and_then(|comments| comments.get(index)).filter(|comment| !comment.is_empty());
        let mut writer = Writer(out);
        let mut line = Line::new(&mut writer);
        match style.control {
            Notation::Bracket => {
                line.bytes(&bracket_head(&coded.control));
                bracket_tail(&mut line, &coded.control)?;
                line.str("  ");
            }
            control if control.is_prefix() => {
                control.write(&mut line, &coded.control)?;
                line.str("  ");
            }
            _ => line.str("        "),
        }
        if style.offsets {
            offset(&mut line, index as u32 * Program::INST_BYTES)?;
        }
        if comment.is_none() && style.control != Notation::Nv {
            add_loaded(&mut line, coded, program, loaded);
            line.str(" ;\n");
            line.finish()?;
            continue;
        }
        line.finish()?;
        text.clear();
        write_loaded(&mut text, coded, program, loaded)?;
        text.push(' ');
        if style.control == Notation::Nv {
            style.control.write(&mut text, &coded.control)?;
            text.push(' ');
        }
        text.push(';');
        match comment {
            Some(comment) => writeln!(out, "{text:<COMMENT_COLUMN$}  // {comment}")?,
            None => {
                text.push('\n');
                out.write_str(&text)?;
            }
        }
    }
    for function in functions {
        writeln!(out, "{}:", function.name)?;
    }
    for (_, number) in labels {
        writeln!(out, ".L_x_{number}:")?;
    }
    table_bank(program, out)
}

/// The names of the source files that lines name.
fn files(program: &Program, out: &mut impl fmt::Write) -> fmt::Result {
    if program.lines.is_empty() {
        return Ok(());
    }
    for (index, name) in program.files.iter().enumerate() {
        // A name ends at the next quotation mark of its line.
        let plain = |c: char| if c.is_control() || c == '"' { '?' } else { c };
        let name: String = name.chars().map(plain).collect();
        writeln!(out, ".file {} \"{name}\"", index + 1)?;
    }
    Ok(())
}

/// A line with a word that is not a known instruction. The word includes its control field, so the
/// line has spaces in its place.
fn unknown_word(
    UnknownWord { word, .. }: &UnknownWord,
    index: u32,
    style: &Style,
    out: &mut impl fmt::Write,
) -> fmt::Result {
    let mut writer = Writer(out);
    let mut line = Line::new(&mut writer);
    match style.control {
        Notation::Bracket => line.str("                       "),
        Notation::Hex => line.str("            "),
        Notation::Nv | Notation::None => line.str("        "),
    }
    if style.offsets {
        offset(&mut line, index * Program::INST_BYTES)?;
    }
    line.finish()?;
    writeln!(out, "{WORD} {word:#034x} ;")
}

/// `/*01f0*/  `: at least four digits.
fn offset<W: Sink>(line: &mut Line<'_, W>, bytes: u32) -> fmt::Result {
    if bytes >> 16 != 0 {
        return write!(line, "/*{bytes:x}*/  ");
    }
    let mut text = *b"/*0000*/  ";
    text[2..6].copy_from_slice(&hex_digits(bytes).to_be_bytes()[4..]);
    line.bytes(&text);
    Ok(())
}

/// Literals, a few to a line, and the jump tables, with their words and comments about them.
fn table_bank(program: &Program, out: &mut impl fmt::Write) -> fmt::Result {
    const WORDS_A_LINE: usize = 4;
    let content = match (&program.literals[..], &program.tables[..]) {
        ([], []) => return Ok(()),
        ([], _) => "jump tables",
        (_, []) => "literals",
        _ => "literals and jump tables",
    };
    let what = format!(".nv.constant{JUMP_TABLE_BANK}.{}:", program.name);
    writeln!(out, "{what:<COMMENT_COLUMN$}// constant bank {JUMP_TABLE_BANK}: {content}")?;
    for (number, literals) in program.literals.iter().enumerate() {
        writeln!(out, "/*{:04x}*/  .L_literals_{number}:", literals.offset)?;
        for words in literals.words.chunks(WORDS_A_LINE) {
            let words: Vec<String> = words.iter().map(|word| format!("{word:#010x}")).collect();
            writeln!(out, "        .word {}", words.join(", "))?;
        }
    }
    for (number, &table) in program.tables.iter().enumerate() {
        writeln!(out, "/*{:04x}*/  .L_table_{number}:", table.offset)?;
        let branch = program.insts.get(table.branch as usize);
        let labels = branch.into_iter().flat_map(|coded| coded.inst.labels());
        for (word, label) in program.table_words(table).zip(labels) {
            let text = format!("        .word .L_x_{}-.text.{}", label.0, program.name);
            writeln!(out, "{text:<COMMENT_COLUMN$}// {word:#x}")?;
        }
    }
    Ok(())
}

fn header(program: &Program, out: &mut impl fmt::Write) -> fmt::Result {
    let needs = &program.resources;
    write!(out, "// {}: {}, {}", program.name, program.arch, count(needs.registers, "register"))?;
    write!(out, ", {} bytes shared, {}", needs.shared_bytes, count(needs.barriers, "barrier"))?;
    if needs.local_bytes != 0 {
        write!(out, ", {} bytes local", needs.local_bytes)?;
    }
    if needs.open_stack != 0 {
        out.write_str(", stack by recursion")?;
    }
    write!(out, ", {}", count(needs.spills, "spill"))?;
    if program.frequency.is_empty() {
        // The program was read from text, which does not tell how often an instruction runs.
        writeln!(out)?;
    } else {
        writeln!(out, "; {} static cycles a warp", program.static_cycles())?;
    }
    writeln!(out, ".target {}{}", program.arch, if program.accelerated { "a" } else { "" })?;
    if program.trap_handler {
        writeln!(out, ".trap_handler")?;
    }
    if program.device_function {
        writeln!(out, ".function")?;
    }
    let mut needs = needs.clone();
    let mut separator = ".resources ";
    for name in Resources::NAMES {
        if let Some(number) = needs.by_name(name).filter(|number| **number != 0) {
            write!(out, "{separator}{name}={number}")?;
            separator = ", ";
        }
    }
    // The directive may be empty, too: the reader counts the resources that are not listed.
    writeln!(out, "{}", if separator == ", " { "" } else { separator.trim_end() })?;
    if let Some(notes) = program.kept.kernels.get(&program.name) {
        write_list(OF_KERNEL, &notes.attributes, out)?;
        if let Some(align) = notes.shared_align {
            writeln!(out, "{SHARED_ALIGN} {align}")?;
        }
        match notes.binding {
            Binding::Local => writeln!(out, ".local {}", program.name)?,
            Binding::Weak => writeln!(out, ".weak {}", program.name)?,
            Binding::Global => {}
        }
    }
    for (position, word) in program.image_words.iter().enumerate() {
        let separator = if position == 0 { ".images " } else { ", " };
        write!(out, "{separator}{} {} +{}", word.kind.name(), word.name, word.offset)?;
    }
    if !program.image_words.is_empty() {
        out.write_char('\n')?;
    }
    let mut line = String::from(".parameters");
    for (position, param) in program.params.iter().enumerate() {
        let separator = if position == 0 { " " } else { ", " };
        match param.image {
            Some(image) => write!(line, "{separator}{} {}", param.name, image.name())?,
            None => write!(line, "{separator}{} {} +{}", param.name, type_by_size(param), param.offset)?,
        }
    }
    if program.params.is_empty() {
        return writeln!(out, "{line}");
    }
    writeln!(out, "{line:<COMMENT_COLUMN$}  // at c[0x0][{:#x}]", program.arch.facts().banks.param_base)
}

fn count(number: u32, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn type_by_size(param: &ParamInfo) -> String {
    match param.size {
        1 | 2 | 4 | 8 | 16 => format!("b{}", param.size * 8),
        bytes => format!("b8[{bytes}]"),
    }
}

#[cfg(test)]
mod tests {
    use ptxc_machine::Arch;

    use super::*;
    use crate::program::{Coded, JumpTable, Resources};
    use crate::{Control, Inst, Label, Op, Operand, PReg, SpecialReg};

    fn sample() -> Program {
        let r = |n| Operand::reg(PReg::r(n));
        let insts = [
            (
                Inst::new(Op::S2R).ops([r(5), Operand::special(SpecialReg::TidX)]),
                Control { stall: 7, write_barrier: Some(0), ..Control::plain() },
            ),
            (
                Inst::new(Op::IMAD).ops([r(5), r(0), r(2), r(5)]),
                Control { wait_mask: 1, stall: 5, reuse: 1, ..Control::plain() },
            ),
            (
                Inst::new(Op::BRA).ops([Operand::label(Label(0))]).guarded(PReg::p(0), true),
                Control { stall: 5, ..Control::plain() },
            ),
        ];
        let insts: Vec<_> =
            insts.into_iter().map(|(inst, control)| Coded { inst, control, loc: u32::MAX }).collect();
        Program {
            name: "k".into(),
            arch: Arch::Sm90,
            accelerated: false,
            trap_handler: false,
            device_function: false,
            frequency: vec![1024, 2048, 2048],
            insts,
            labels: vec![1],
            functions: Vec::new(),
            resources: Resources { registers: 6, barriers: 1, ..Resources::default() },
            params: vec![ParamInfo { name: "n".into(), size: 4, offset: 0, image: None }],
            image_words: Vec::new(),
            variables: Vec::new(),
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

    fn text(style: Style, explain: Option<&[String]>) -> String {
        let mut out = String::new();
        write_program(&sample(), &style, explain, &mut out).unwrap();
        out
    }

    #[test]
    fn bracket_style_with_comments() {
        let comments = ["sets SB0".to_string(), String::new()];
        assert_eq!(
            text(Style::default(), Some(&comments)),
            "// k: sm_90, 6 registers, 0 bytes shared, 1 barrier, 0 spills; 27 static cycles a warp\n\
             .target sm_90\n\
             .resources registers=6, barriers=1\n\
             .parameters n b32 +0                              // at c[0x0][0x210]\n\
             .text.k:\n\
             [B------:R-:W0:-:S07]  /*0000*/  S2R R5, SR_TID.X ;                                // sets SB0\n\
             .L_x_0:\n\
             [B0-----:R-:W-:-:S05]  /*0010*/  IMAD R5, R0.reuse, R2, R5 ;\n\
             [B------:R-:W-:-:S05]  /*0020*/  @!P0 BRA `(.L_x_0) ;\n"
        );
    }

    #[test]
    fn jump_tables_follow_the_code() {
        let mut program = sample();
        let branch = Inst::new(Op::BRX).ops([Operand::reg(PReg::r(2)), Operand::imm(-0x40i32 as u32)]);
        let inst = branch.targets([Label(0), Label(1)]);
        program.insts.push(Coded { inst, control: Control::plain(), loc: u32::MAX });
        program.labels.push(0);
        program.tables.push(JumpTable { offset: 8, branch: 3 });
        assert_eq!(program.table_bank(), [0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0]);
        let mut text = String::new();
        write_program(&program, &Style { offsets: false, ..Style::default() }, None, &mut text).unwrap();
        let tail = "BRX R2 -0x40 (*\"BRANCH_TARGETS .L_x_0,.L_x_1\"*) ;\n\
                    .nv.constant2.k:                                // constant bank 2: jump tables\n\
                    /*0008*/  .L_table_0:\n\
                    \x20       .word .L_x_0-.text.k                    // 0x10\n\
                    \x20       .word .L_x_1-.text.k                    // 0x0\n";
        assert!(text.ends_with(tail), "{text}");
    }

    #[test]
    fn control_after_the_instruction_or_nowhere() {
        let nv = text(Style { control: Notation::Nv, header: false, offsets: true }, None);
        assert!(nv.contains("        /*0010*/  IMAD R5, R0.reuse, R2, R5 &req={0} ?trans5 ;\n"), "{nv}");
        let none = text(Style { control: Notation::None, header: false, offsets: false }, None);
        assert!(none.contains("\n        IMAD R5, R0.reuse, R2, R5 ;\n"), "{none}");
    }
}
